/* Sweeps over the rows in compiled code: between the two products of a row it stays in the nearest cache, and nobody
   waits for the interpreter. What it does is what unisvm.objective does with NumPy; and exponentials for kernels. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* rows side by side, most rows and bytes of features at a time, and rows whose sum has the precision of the features */
enum { ABREAST = 4, CHUNK = 64, TILE_BYTES = 1 << 16, MOST_UNSUMMED = 256 };

/* shorter rows do not fill a vector of single precision */
enum { LEAST_WIDTH = 8 };

enum form { PARABOLAS, SOFTPLUS, SATURATING, LOGARITHM, BIWEIGHT, N_FORMS };

typedef double four __attribute__((vector_size(32), aligned(8), may_alias));

struct loss {
    int form;
    int margins;
    ptrdiff_t n_parameters;
    const double *parameters;
};

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
#include "kernels.h"
#undef NAME
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

typedef void (*sweep_function)(const struct loss *, ptrdiff_t, ptrdiff_t, const void *, const void *, const void *,
                               const void *, double, void *, double *, double *);
typedef void (*pulls_function)(const struct loss *, ptrdiff_t, ptrdiff_t, void *, const void *, int, const void *, int,
                               const void *, double *, double *);
typedef void (*decay_function)(ptrdiff_t, void *);

/* in single and in double precision */
static sweep_function sweeps[2] = {sweep_single_anywhere, sweep_double_anywhere};
static pulls_function many_pulls[2] = {pulls_single_anywhere, pulls_double_anywhere};
static decay_function decays[2] = {decay_single_anywhere, decay_double_anywhere};

/* of each form; parabolas have three each, and a place where the second and the following begin */
static const ptrdiff_t fixed_parameters[N_FORMS] = {-1, 7, 4, 4, 1};

/* What Python gave, as buffers; `held` of them must be released. */
struct given {
    Py_buffer buffers[7];
    int held;
};

static void release(struct given *given)
{
    while (given->held > 0)
        PyBuffer_Release(&given->buffers[--given->held]);
}

/* The memory of a contiguous array until `release`, or NULL with an error. */
static Py_buffer *hold(struct given *given, PyObject *array, int flags)
{
    Py_buffer *buffer = &given->buffers[given->held];
    if (PyObject_GetBuffer(array, buffer, flags | PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return NULL;
    given->held++;
    return buffer;
}

static int wrong(const char *what)
{
    PyErr_Format(PyExc_ValueError, "%s", what);
    return -1;
}

/* Whether a buffer has so many numbers of a format. */
static int has(const Py_buffer *buffer, ptrdiff_t n, const char *format)
{
    return strcmp(buffer->format, format) == 0 && buffer->len == n * buffer->itemsize;
}

static int take_loss(struct given *given, struct loss *loss, PyObject *parameters)
{
    Py_buffer *buffer = hold(given, parameters, PyBUF_SIMPLE);
    if (buffer == NULL)
        return -1;
    ptrdiff_t n = buffer->len / (ptrdiff_t)sizeof(double);
    if (loss->form < 0 || loss->form >= N_FORMS || !has(buffer, n, "d"))
        return wrong("unknown form of loss, or parameters that are not double");
    if (loss->form == PARABOLAS ? n < 3 || n % 4 != 3 : n != fixed_parameters[loss->form])
        return wrong("wrong number of parameters for this form of loss");
    loss->n_parameters = n;
    loss->parameters = buffer->buf;
    return 0;
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

PyDoc_STRVAR(sweep_doc, "sweep(features, y, weights, dual, intercept, form, parameters, margins, gradient)\n--\n\n"
                        "What rows add to the gradient of one column, written into `gradient`; their pull and risk.");

static PyObject *sweep(PyObject *self, PyObject *arguments)
{
    PyObject *features_, *y_, *weights_, *dual_, *parameters_, *gradient_, *result = NULL;
    double intercept, sums[2];
    struct loss loss;
    struct given given = {.held = 0};
    void *scratch = NULL;
    if (!PyArg_ParseTuple(arguments, "OOOOdiOpO", &features_, &y_, &weights_, &dual_, &intercept, &loss.form,
                          &parameters_, &loss.margins, &gradient_))
        return NULL;
    Py_buffer *features, *y, *dual, *gradient, *weights = NULL;
    if (take_loss(&given, &loss, parameters_) < 0 || (features = hold(&given, features_, PyBUF_SIMPLE)) == NULL ||
        (y = hold(&given, y_, PyBUF_SIMPLE)) == NULL || (dual = hold(&given, dual_, PyBUF_SIMPLE)) == NULL ||
        (gradient = hold(&given, gradient_, PyBUF_WRITABLE)) == NULL ||
        (weights_ != Py_None && (weights = hold(&given, weights_, PyBUF_SIMPLE)) == NULL))
        goto done;
    const char *precision = precision_of(features);
    if (precision == NULL)
        goto done;
    if (features->ndim != 2 || features->shape[1] < LEAST_WIDTH) {
        wrong("features must be a matrix, at least eight wide");
        goto done;
    }
    ptrdiff_t n = features->shape[0], r = features->shape[1];
    if (!has(y, n, precision) || !has(dual, r, precision) || !has(gradient, r, "d") ||
        (weights != NULL && !has(weights, n, precision))) {
        wrong("arrays do not fit each other");
        goto done;
    }
    scratch = PyMem_RawMalloc(r * sizeof(double));
    if (scratch == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    sweeps[*precision == 'd'](&loss, n, r, features->buf, y->buf, weights == NULL ? NULL : weights->buf, dual->buf,
                              intercept, scratch, gradient->buf, sums);
    Py_END_ALLOW_THREADS
    result = Py_BuildValue("dd", sums[0], sums[1]);
done:
    PyMem_RawFree(scratch);
    release(&given);
    return result;
}

PyDoc_STRVAR(pulls_doc, "pulls(values, y, weights, intercept, form, parameters, margins, pulls, risks)\n--\n\n"
                        "Write what rows pull over their values, a row of the matrix for each column, and the sums.");

static PyObject *pulls(PyObject *self, PyObject *arguments)
{
    PyObject *values_, *y_, *weights_, *intercept_, *parameters_, *pulls_, *risks_, *result = NULL;
    struct loss loss;
    struct given given = {.held = 0};
    if (!PyArg_ParseTuple(arguments, "OOOOiOpOO", &values_, &y_, &weights_, &intercept_, &loss.form, &parameters_,
                          &loss.margins, &pulls_, &risks_))
        return NULL;
    Py_buffer *values, *y, *intercept, *sums, *risks, *weights = NULL;
    if (take_loss(&given, &loss, parameters_) < 0 || (values = hold(&given, values_, PyBUF_WRITABLE)) == NULL ||
        (y = hold(&given, y_, PyBUF_SIMPLE)) == NULL || (intercept = hold(&given, intercept_, PyBUF_SIMPLE)) == NULL ||
        (sums = hold(&given, pulls_, PyBUF_WRITABLE)) == NULL ||
        (risks = hold(&given, risks_, PyBUF_WRITABLE)) == NULL ||
        (weights_ != Py_None && (weights = hold(&given, weights_, PyBUF_SIMPLE)) == NULL))
        goto done;
    const char *precision = precision_of(values);
    if (precision == NULL)
        goto done;
    if (values->ndim != 2) {
        wrong("values must be a matrix");
        goto done;
    }
    ptrdiff_t q = values->shape[0], n = values->shape[1];
    int y_is_shared = has(y, n, precision), weights_are_shared = weights != NULL && has(weights, n, precision);
    if (!(y_is_shared || has(y, q * n, precision)) || !has(intercept, q, precision) || !has(sums, q, "d") ||
        !has(risks, q, "d") || !(weights == NULL || weights_are_shared || has(weights, q * n, precision))) {
        wrong("arrays do not fit each other");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    many_pulls[*precision == 'd'](&loss, n, q, values->buf, y->buf, y_is_shared, weights == NULL ? NULL : weights->buf,
                                  weights_are_shared, intercept->buf, sums->buf, risks->buf);
    Py_END_ALLOW_THREADS
    result = Py_NewRef(Py_None);
done:
    release(&given);
    return result;
}

PyDoc_STRVAR(decay_doc, "decay(numbers)\n--\n\nWrite e to the power of min(x, 0) over every x.");

static PyObject *decay(PyObject *self, PyObject *numbers_)
{
    PyObject *result = NULL;
    struct given given = {.held = 0};
    Py_buffer *numbers = hold(&given, numbers_, PyBUF_WRITABLE);
    const char *precision = numbers == NULL ? NULL : precision_of(numbers);
    if (precision != NULL) {
        Py_BEGIN_ALLOW_THREADS
        decays[*precision == 'd'](numbers->len / numbers->itemsize, numbers->buf);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release(&given);
    return result;
}

static PyMethodDef methods[] = {
    {"sweep", sweep, METH_VARARGS, sweep_doc},
    {"pulls", pulls, METH_VARARGS, pulls_doc},
    {"decay", decay, METH_O, decay_doc},
    {NULL, NULL, 0, NULL},
};

static int choose(PyObject *module)
{
#ifdef HAS_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        sweeps[0] = sweep_single_avx2;
        sweeps[1] = sweep_double_avx2;
        many_pulls[0] = pulls_single_avx2;
        many_pulls[1] = pulls_double_avx2;
        decays[0] = decay_single_avx2;
        decays[1] = decay_double_avx2;
    }
#endif
    return 0;
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
