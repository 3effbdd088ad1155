/* Sweeps over the rows in compiled code: between the two products of a row it stays in the nearest cache, and nobody
   waits for the interpreter. What it does is what unisvm.objective does with NumPy; and what kernels are made of,
   exponentials and distances. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
/* the processor's bits for results and for arguments that are too small to be normal */
#define FLUSHED 0x8040u
#else
#define FLUSHED 0
#endif

/* most rows and most losses at a time, and rows whose sum has the precision of the features */
enum { CHUNK = 96, PIECE = 512, MOST_UNSUMMED = 4 * CHUNK };

/* of a few columns: how many that is, most losses at a time, columns and rows side by side, bytes of features that are
   left in the nearest cache and in the next one, and how many times the former are fetched ahead */
enum { FEW = 9, MOST_OF_FEW = 432, SIDE_BY_SIDE = 3, ABREAST = 4, NEAREST = 1 << 13, NEXT = 3 << 16, TILES_AHEAD = 2 };

/* bytes that are fetched together */
enum { LINE = 64 };

/* of more columns: features at a time, and columns whose losses are found together */
enum { PART = 512, MOST_TOGETHER = 64 };

/* of distances: numbers of the points at a time, and bytes of as many points side by side */
enum { PART_OF_POINTS = 256, BYTES_OF_PANEL = LINE };

/* shorter rows do not fill a vector of single precision */
enum { LEAST_WIDTH = 8 };

enum form { PARABOLAS, SOFTPLUS, SATURATING, LOGARITHM, BIWEIGHT, N_FORMS };

/* The loss of so many columns. */
struct loss {
    int64_t form, n_columns, n_parameters;
    const double *parameters;
};

/* Numbers in rows and columns, wherever they lie; distances are counted in numbers. */
struct matrix {
    const void *start;
    ptrdiff_t to_next_row, to_next_column;
};

/* What a sweep of q columns over n rows of r features is given, all in the precision of the features but for what it
   adds to: gradients, pulls at the intercepts, and risks, of which each column has its place. The weights start at NULL
   if every row counts once. */
struct sweep {
    ptrdiff_t n, r, q, n_losses;
    int margins;
    const void *features, *intercept;
    struct matrix y, weights, dual;
    const struct loss *losses;
    const int64_t *places;
    void *scratch;
    double *gradients, *pulls, *risks;
};

/* Numbers of which only those that are not 0 are stored: of each of n parts, from where to where, at which places, and
   which numbers. */
struct sparse {
    ptrdiff_t n, n_stored;
    const int64_t *starts, *places;
    const void *stored;
};

static inline int up_to_side_by_side(int columns)
{
    return columns < SIDE_BY_SIDE ? columns : SIDE_BY_SIDE;
}

#define NAME(name) name##_anywhere
#include "kernels.h"
#undef NAME

#if defined(__x86_64__)
#define HAS_AVX2 1
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define NAME(name) name##_avx2
#define WITH_WIDE_VECTORS
#include "kernels.h"
#undef WITH_WIDE_VECTORS
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

struct kernels {
    ptrdiff_t (*scratch_of_few)(ptrdiff_t, ptrdiff_t);
    void (*sweep_few)(const struct sweep *);
    /* NULL without wide vectors: BLAS is used for several columns then, and SciPy for distances */
    ptrdiff_t (*scratch_of_columns)(ptrdiff_t, ptrdiff_t);
    void (*sweep_columns)(const struct sweep *);
    void (*distances)(ptrdiff_t, ptrdiff_t, ptrdiff_t, const void *, const void *, void *);
    void (*decay)(ptrdiff_t, void *);
    void (*shared)(int, ptrdiff_t, const struct sparse *, const struct sparse *, void *);
};

/* in single and in double precision */
static struct kernels kernels[2] = {
    {scratch_of_few_single_anywhere, sweep_few_single_anywhere, NULL, NULL, NULL, decay_single_anywhere,
     shared_single_anywhere},
    {scratch_of_few_double_anywhere, sweep_few_double_anywhere, NULL, NULL, NULL, decay_double_anywhere,
     shared_double_anywhere},
};

/* of each form; parabolas have three each, and a place where the second and the following begin */
static const ptrdiff_t fixed_parameters[N_FORMS] = {-1, 7, 4, 4, 1};

/* What Python gave, as buffers; `held` of them must be released. */
struct given {
    Py_buffer buffers[10];
    int held;
};

static void release(struct given *given)
{
    while (given->held > 0)
        PyBuffer_Release(&given->buffers[--given->held]);
}

/* The memory of an array until `release`, or NULL with an error. */
static Py_buffer *hold(struct given *given, PyObject *array, int flags)
{
    Py_buffer *buffer = &given->buffers[given->held];
    if (PyObject_GetBuffer(array, buffer, flags | PyBUF_FORMAT) < 0)
        return NULL;
    given->held++;
    return buffer;
}

static int wrong(const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s", what);
    return -1;
}

/* "f" or "d", or NULL with an error. */
static const char *precision_of(const Py_buffer *buffer)
{
    if (strcmp(buffer->format, "f") == 0)
        return "f";
    if (strcmp(buffer->format, "d") == 0)
        return "d";
    wrong("arrays must be float32 or float64");
    return NULL;
}

/* Take a contiguous array of so many numbers of a format; NULL with an error. */
static void *take(struct given *given, PyObject *array, int flags, ptrdiff_t n, const char *format)
{
    Py_buffer *buffer = hold(given, array, flags | PyBUF_C_CONTIGUOUS);
    if (buffer == NULL)
        return NULL;
    if (strcmp(buffer->format, format) != 0 || buffer->len != n * buffer->itemsize) {
        wrong("arrays do not fit each other");
        return NULL;
    }
    return buffer->buf;
}

static int take_matrix(struct given *given, struct matrix *matrix, PyObject *array, ptrdiff_t n_rows,
                       ptrdiff_t n_columns, const char *format)
{
    Py_buffer *buffer = hold(given, array, PyBUF_STRIDES);
    if (buffer == NULL)
        return -1;
    if (strcmp(buffer->format, format) != 0 || buffer->ndim != 2 || buffer->shape[0] != n_rows ||
        buffer->shape[1] != n_columns || buffer->strides[0] % buffer->itemsize || buffer->strides[1] % buffer->itemsize)
        return wrong("arrays do not fit each other");
    matrix->start = buffer->buf;
    matrix->to_next_row = buffer->strides[0] / buffer->itemsize;
    matrix->to_next_column = buffer->strides[1] / buffer->itemsize;
    return 0;
}

/* Whether a buffer is a matrix of int64 with so many columns. */
static int is_table(const Py_buffer *buffer, ptrdiff_t n_columns)
{
    return buffer->ndim == 2 && buffer->shape[1] == n_columns && buffer->itemsize == sizeof(int64_t) &&
           strchr("lq", *buffer->format) != NULL;
}

/* The losses of q columns, from a table of form, number of columns and number of parameters, and from the parameters
   of all; NULL with an error. They must be freed. */
static struct loss *take_losses(struct given *given, PyObject *table_, PyObject *parameters_, ptrdiff_t q,
                                ptrdiff_t *n_losses)
{
    Py_buffer *table = hold(given, table_, PyBUF_C_CONTIGUOUS), *parameters;
    if (table == NULL || (parameters = hold(given, parameters_, PyBUF_C_CONTIGUOUS)) == NULL)
        return NULL;
    if (!is_table(table, 3) || strcmp(parameters->format, "d") != 0) {
        wrong("unknown form of loss, or parameters that are not double");
        return NULL;
    }
    const int64_t *entry = table->buf;
    const double *next = parameters->buf;
    ptrdiff_t columns_left = q, parameters_left = parameters->len / (ptrdiff_t)sizeof(double);
    *n_losses = table->shape[0];
    struct loss *losses = PyMem_RawMalloc((*n_losses + 1) * sizeof(struct loss));
    if (losses == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (ptrdiff_t k = 0; k < *n_losses; k++, entry += 3) {
        struct loss loss = {entry[0], entry[1], entry[2], next};
        if (loss.form < 0 || loss.form >= N_FORMS)
            wrong("unknown form of loss");
        else if (loss.form == PARABOLAS ? loss.n_parameters < 3 || loss.n_parameters % 4 != 3
                                        : loss.n_parameters != fixed_parameters[loss.form])
            wrong("wrong number of parameters for this form of loss");
        else if (loss.n_columns < 1 || loss.n_columns > columns_left || loss.n_parameters > parameters_left)
            wrong("forms of losses do not fit the columns");
        if (PyErr_Occurred())
            goto failed;
        losses[k] = loss;
        next += loss.n_parameters;
        columns_left -= loss.n_columns;
        parameters_left -= loss.n_parameters;
    }
    if (columns_left == 0 && parameters_left == 0)
        return losses;
    wrong("forms of losses do not fit the columns");
failed:
    PyMem_RawFree(losses);
    return NULL;
}

/* Where gradients, pulls and risks of q columns are added to; -1 with an error. */
static int take_places(struct given *given, struct sweep *sweep, PyObject *places_, PyObject *gradients_, PyObject *sums_)
{
    Py_buffer *places = hold(given, places_, PyBUF_C_CONTIGUOUS), *gradients;
    if (places == NULL || (gradients = hold(given, gradients_, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) == NULL)
        return -1;
    if (!is_table(places, 1) || places->shape[0] != sweep->q || gradients->ndim != 2 ||
        gradients->shape[1] != sweep->r || strcmp(gradients->format, "d") != 0)
        return wrong("arrays do not fit each other");
    ptrdiff_t n_places = gradients->shape[0];
    sweep->places = places->buf;
    sweep->gradients = gradients->buf;
    for (ptrdiff_t c = 0; c < sweep->q; c++)
        if (sweep->places[c] < 0 || sweep->places[c] >= n_places)
            return wrong("columns do not fit the gradients");
    sweep->pulls = take(given, sums_, PyBUF_WRITABLE, 2 * n_places, "d");
    sweep->risks = sweep->pulls + n_places;
    return sweep->pulls == NULL ? -1 : 0;
}

PyDoc_STRVAR(sweep_doc,
             "sweep(features, y, weights, dual, intercept, losses, parameters, margins, gradients, sums, places)\n--\n\n"
             "Add what rows do to the gradients, pulls and risks of columns at their places.");

static PyObject *sweep(PyObject *self, PyObject *arguments)
{
    PyObject *features_, *y_, *weights_, *dual_, *intercept_, *table_, *parameters_, *gradients_, *sums_, *places_;
    PyObject *result = NULL;
    struct given given = {.held = 0};
    struct sweep sweep = {.scratch = NULL};
    struct loss *losses = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOpOOO", &features_, &y_, &weights_, &dual_, &intercept_, &table_,
                          &parameters_, &sweep.margins, &gradients_, &sums_, &places_))
        return NULL;
    Py_buffer *features = hold(&given, features_, PyBUF_C_CONTIGUOUS), *intercept;
    const char *precision = features == NULL ? NULL : precision_of(features);
    if (precision == NULL || (intercept = hold(&given, intercept_, PyBUF_C_CONTIGUOUS)) == NULL)
        goto done;
    if (features->ndim != 2 || features->shape[1] < LEAST_WIDTH || intercept->ndim != 1 ||
        strcmp(intercept->format, precision) != 0) {
        wrong("features must be a matrix, at least eight wide, and intercepts a vector");
        goto done;
    }
    const struct kernels *chosen = &kernels[*precision == 'd'];
    ptrdiff_t n = sweep.n = features->shape[0], r = sweep.r = features->shape[1], q = sweep.q = intercept->shape[0];
    if (q < 1 || (q > 1 && chosen->sweep_columns == NULL)) {
        wrong("so many columns are not swept here");
        goto done;
    }
    sweep.features = features->buf;
    sweep.intercept = intercept->buf;
    if (take_matrix(&given, &sweep.y, y_, n, q, precision) < 0 ||
        (weights_ != Py_None && take_matrix(&given, &sweep.weights, weights_, n, q, precision) < 0) ||
        take_matrix(&given, &sweep.dual, dual_, r, q, precision) < 0 ||
        (losses = take_losses(&given, table_, parameters_, q, &sweep.n_losses)) == NULL ||
        take_places(&given, &sweep, places_, gradients_, sums_) < 0)
        goto done;
    sweep.losses = losses;
    sweep.scratch = PyMem_RawMalloc((q > FEW ? chosen->scratch_of_columns : chosen->scratch_of_few)(r, q));
    if (sweep.scratch == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    (q > FEW ? chosen->sweep_columns : chosen->sweep_few)(&sweep);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    PyMem_RawFree(sweep.scratch);
    PyMem_RawFree(losses);
    release(&given);
    return result;
}

PyDoc_STRVAR(decay_doc, "decay(numbers)\n--\n\nWrite e to the power of min(x, 0) over every x.");

static PyObject *decay(PyObject *self, PyObject *numbers_)
{
    PyObject *result = NULL;
    struct given given = {.held = 0};
    Py_buffer *numbers = hold(&given, numbers_, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
    const char *precision = numbers == NULL ? NULL : precision_of(numbers);
    if (precision != NULL) {
        Py_BEGIN_ALLOW_THREADS
        kernels[*precision == 'd'].decay(numbers->len / numbers->itemsize, numbers->buf);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release(&given);
    return result;
}

PyDoc_STRVAR(flush_doc, "flush(bits)\n--\n\nSet whether numbers too small to be normal are 0 in this thread, by the bits of "
                        "FLUSHED; those that were set before.");

static PyObject *flush(PyObject *self, PyObject *bits_)
{
    long bits = PyLong_AsLong(bits_), before = 0;
    if (bits == -1 && PyErr_Occurred())
        return NULL;
#if FLUSHED
    unsigned int state = _mm_getcsr();
    before = state & FLUSHED;
    _mm_setcsr((state & ~FLUSHED) | (bits & FLUSHED));
#endif
    return PyLong_FromLong(before);
}

/* Points in panels, as many as the columns of what is written; d numbers each. NULL with an error. */
static const void *take_panels(struct given *given, PyObject *panels_, const Py_buffer *to, ptrdiff_t d)
{
    Py_buffer *panels = hold(given, panels_, PyBUF_C_CONTIGUOUS);
    if (panels == NULL)
        return NULL;
    ptrdiff_t wide = BYTES_OF_PANEL / to->itemsize;
    if (to->ndim == 2 && panels->ndim == 3 && strcmp(panels->format, to->format) == 0 && panels->shape[1] == d &&
        panels->shape[2] == wide && panels->shape[0] == (to->shape[1] + wide - 1) / wide)
        return panels->buf;
    wrong("panels do not fit the rows and what is written");
    return NULL;
}

PyDoc_STRVAR(distances_doc, "distances(rows, panels, to)\n--\n\nWrite the distances of rows to points in panels.");

static PyObject *distances(PyObject *self, PyObject *arguments)
{
    PyObject *rows_, *panels_, *to_, *result = NULL;
    struct given given = {.held = 0};
    if (!PyArg_ParseTuple(arguments, "OOO", &rows_, &panels_, &to_))
        return NULL;
    Py_buffer *to = hold(&given, to_, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS), *rows;
    const char *precision = to == NULL ? NULL : precision_of(to);
    if (precision == NULL || (rows = hold(&given, rows_, PyBUF_C_CONTIGUOUS)) == NULL)
        goto done;
    if (kernels[0].distances == NULL) {
        wrong("distances are not computed here");
        goto done;
    }
    if (rows->ndim != 2 || to->ndim != 2 || strcmp(rows->format, precision) != 0 || rows->shape[0] != to->shape[0] ||
        rows->shape[1] < 1) {
        wrong("rows do not fit what is written");
        goto done;
    }
    const void *panels = take_panels(&given, panels_, to, rows->shape[1]);
    if (panels == NULL)
        goto done;
    Py_BEGIN_ALLOW_THREADS
    kernels[*precision == 'd'].distances(to->shape[0], rows->shape[1], to->shape[1], rows->buf, panels, to->buf);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(&given);
    return result;
}

/* Take numbers of which some are stored; -1 with an error. */
static int take_sparse(struct given *given, struct sparse *sparse, PyObject *starts_, PyObject *places_,
                       PyObject *stored_, const char *precision)
{
    Py_buffer *starts = hold(given, starts_, PyBUF_C_CONTIGUOUS), *places;
    if (starts == NULL || (places = hold(given, places_, PyBUF_C_CONTIGUOUS)) == NULL)
        return -1;
    if (!is_table(starts, 1) || !is_table(places, 1) || starts->shape[0] < 1)
        return wrong("arrays do not fit each other");
    *sparse = (struct sparse){starts->shape[0] - 1, places->shape[0], starts->buf, places->buf, NULL};
    sparse->stored = take(given, stored_, 0, sparse->n_stored, precision);
    return sparse->stored == NULL ? -1 : 0;
}

/* Whether parts follow each other, with places below an end. */
static int is_in_order(const struct sparse *sparse, ptrdiff_t end)
{
    if (sparse->starts[0] != 0 || sparse->starts[sparse->n] != sparse->n_stored)
        return 0;
    for (ptrdiff_t i = 0; i < sparse->n; i++)
        if (sparse->starts[i] > sparse->starts[i + 1])
            return 0;
    for (ptrdiff_t t = 0; t < sparse->n_stored; t++)
        if (sparse->places[t] < 0 || sparse->places[t] >= end)
            return 0;
    return 1;
}

PyDoc_STRVAR(shared_doc,
             "shared(starts, columns, stored, column_starts, points, values, of_distances, to)\n--\n\n"
             "Write what entries in the same columns add to products or distances of sparse rows and points.");

static PyObject *shared(PyObject *self, PyObject *arguments)
{
    PyObject *starts_, *columns_, *stored_, *column_starts_, *points_, *values_, *to_, *result = NULL;
    struct given given = {.held = 0};
    struct sparse rows, points;
    int of_distances, fits;
    if (!PyArg_ParseTuple(arguments, "OOOOOOpO", &starts_, &columns_, &stored_, &column_starts_, &points_, &values_,
                          &of_distances, &to_))
        return NULL;
    Py_buffer *to = hold(&given, to_, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS);
    const char *precision = to == NULL ? NULL : precision_of(to);
    if (precision == NULL || take_sparse(&given, &rows, starts_, columns_, stored_, precision) < 0 ||
        take_sparse(&given, &points, column_starts_, points_, values_, precision) < 0)
        goto done;
    if (to->ndim != 2 || to->shape[0] != rows.n) {
        wrong("rows do not fit what is written");
        goto done;
    }
    ptrdiff_t r = to->shape[1];
    Py_BEGIN_ALLOW_THREADS
    fits = is_in_order(&rows, points.n) && is_in_order(&points, r);
    if (fits)
        kernels[*precision == 'd'].shared(of_distances, r, &rows, &points, to->buf);
    Py_END_ALLOW_THREADS
    if (fits)
        result = Py_NewRef(Py_None);
    else
        wrong("stored numbers do not fit");
done:
    release(&given);
    return result;
}

static PyMethodDef methods[] = {
    {"sweep", sweep, METH_VARARGS, sweep_doc},
    {"decay", decay, METH_O, decay_doc},
    {"flush", flush, METH_O, flush_doc},
    {"distances", distances, METH_VARARGS, distances_doc},
    {"shared", shared, METH_VARARGS, shared_doc},
    {NULL, NULL, 0, NULL},
};

static int choose(PyObject *module)
{
#ifdef HAS_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernels[0] = (struct kernels){scratch_of_few_single_avx2, sweep_few_single_avx2, scratch_of_columns_single_avx2,
                                      sweep_columns_single_avx2, distances_single_avx2, decay_single_avx2,
                                      shared_single_avx2};
        kernels[1] = (struct kernels){scratch_of_few_double_avx2, sweep_few_double_avx2, scratch_of_columns_double_avx2,
                                      sweep_columns_double_avx2, distances_double_avx2, decay_double_avx2,
                                      shared_double_avx2};
    }
#endif
    if (PyModule_AddIntConstant(module, "FLUSHED", FLUSHED) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "wide_vectors", kernels[0].sweep_columns == NULL ? Py_False : Py_True);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, choose},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "_sweeps", .m_size = 0, .m_methods = methods, .m_slots = slots,
};

PyMODINIT_FUNC PyInit__sweeps(void)
{
    return PyModuleDef_Init(&definition);
}
