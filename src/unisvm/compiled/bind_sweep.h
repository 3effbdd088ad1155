/* The Python function `sweep`: checks the arrays and sweeps without the interpreter's lock. */

#include "buffers.h"
#include "dispatch.h"

/* 0 if a loss has a known form with its number of parameters, and no more of them and of columns than are left; -1 with
   an error. */
static int check_loss(const struct loss *loss, ptrdiff_t columns_left, ptrdiff_t parameters_left)
{
    /* k parabolas have 4 k - 1: where all but the first begin, and three coefficients each */
    static const int64_t n_parameters[] = {[SOFTPLUS] = 7, [SATURATING] = 4, [LOGARITHM] = 4, [BIWEIGHT] = 1};
    if (loss->form < 0 || loss->form >= N_LOSS_FORMS)
        return refuse("unknown form of loss");
    if (loss->form == PARABOLAS ? loss->n_parameters < 3 || loss->n_parameters % 4 != 3
                                : loss->n_parameters != n_parameters[loss->form])
        return refuse("wrong number of parameters for this form of loss");
    if (loss->n_columns < 1 || loss->n_columns > columns_left || loss->n_parameters > parameters_left)
        return refuse("forms of losses do not fit the columns");
    return 0;
}

/* Set the losses of a sweep; -1 with an error. A row of the entries has the form, the number of columns and the number
   of parameters of a loss; the parameters of all losses follow each other. */
static int decode_losses(struct buffers *buffers, struct sweep *sweep, PyObject *entries_, PyObject *parameters_)
{
    Py_buffer *entries = acquire(buffers, entries_, PyBUF_C_CONTIGUOUS), *parameters;
    if (entries == NULL || (parameters = acquire(buffers, parameters_, PyBUF_C_CONTIGUOUS)) == NULL)
        return -1;
    if (!is_int64_matrix(entries, 3) || strcmp(parameters->format, "d") != 0)
        return refuse("unknown form of loss, or parameters that are not double");
    const int64_t *entry = entries->buf;
    const double *next = parameters->buf;
    ptrdiff_t columns_left = sweep->q, parameters_left = parameters->len / (ptrdiff_t)sizeof(double);
    sweep->n_losses = entries->shape[0];
    sweep->losses = PyMem_Malloc((sweep->n_losses + 1) * sizeof(struct loss));
    if (sweep->losses == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (struct loss *loss = sweep->losses; loss < sweep->losses + sweep->n_losses; loss++, entry += 3) {
        *loss = (struct loss){entry[0], entry[1], entry[2], next};
        if (check_loss(loss, columns_left, parameters_left) < 0)
            return -1;
        next += loss->n_parameters;
        columns_left -= loss->n_columns;
        parameters_left -= loss->n_parameters;
    }
    return columns_left == 0 && parameters_left == 0 ? 0 : refuse("forms of losses do not fit the columns");
}

/* Set the sums that a sweep adds to, and where its columns are among them; -1 with an error. */
static int acquire_sums(struct buffers *buffers, struct sweep *sweep, PyObject *gradients_, PyObject *sums_,
                        PyObject *columns_)
{
    Py_buffer *columns = acquire(buffers, columns_, PyBUF_C_CONTIGUOUS), *gradients;
    if (columns == NULL || (gradients = acquire(buffers, gradients_, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)) == NULL)
        return -1;
    if (!is_int64_matrix(columns, 1) || columns->shape[0] != sweep->q || gradients->ndim != 2 ||
        gradients->shape[1] != sweep->r || strcmp(gradients->format, "d") != 0)
        return refuse("arrays do not fit each other");
    ptrdiff_t n_all = gradients->shape[0];
    sweep->columns = columns->buf;
    sweep->gradients = gradients->buf;
    for (ptrdiff_t c = 0; c < sweep->q; c++)
        if (sweep->columns[c] < 0 || sweep->columns[c] >= n_all)
            return refuse("columns do not fit the gradients");
    sweep->intercept_gradients = acquire_numbers(buffers, sums_, PyBUF_WRITABLE, 2 * n_all, "d");
    sweep->risks = sweep->intercept_gradients + n_all;
    return sweep->intercept_gradients == NULL ? -1 : 0;
}

/* Set the features and the intercepts of a sweep, and so its shape; the format of all its arrays, or NULL with an
   error. */
static const char *acquire_features(struct buffers *buffers, struct sweep *sweep, PyObject *features_,
                                    PyObject *intercept_)
{
    Py_buffer *features = acquire_floats(buffers, features_, 0), *intercept;
    if (features == NULL || (intercept = acquire(buffers, intercept_, PyBUF_C_CONTIGUOUS)) == NULL)
        return NULL;
    if (features->ndim != 2 || features->shape[1] < MIN_FEATURES || intercept->ndim != 1 ||
        strcmp(intercept->format, features->format) != 0)
        return (const char *)PyErr_Format(
            PyExc_ValueError, "features must be a matrix, at least %d wide, and intercepts a vector", MIN_FEATURES);
    sweep->n = features->shape[0];
    sweep->r = features->shape[1];
    sweep->q = intercept->shape[0];
    sweep->features = features->buf;
    sweep->intercept = intercept->buf;
    return features->format;
}

PyDoc_STRVAR(sweep_doc,
             "sweep(features, y, weights, dual, intercept, entries, parameters, is_margin, gradients, sums, columns)\n"
             "--\n\nAdd sums over rows to the gradients, the gradients in the intercepts and the risks of columns.");

static PyObject *sweep(PyObject *Py_UNUSED(self), PyObject *arguments)
{
    PyObject *features, *y, *weights, *dual, *intercept, *entries, *parameters, *gradients, *sums, *columns;
    struct buffers buffers = {.n_held = 0};
    struct sweep sweep = {.n = 0};
    if (!PyArg_ParseTuple(arguments, "OOOOOOOpOOO", &features, &y, &weights, &dual, &intercept, &entries, &parameters,
                          &sweep.is_margin, &gradients, &sums, &columns))
        return NULL;
    const char *format = acquire_features(&buffers, &sweep, features, intercept);
    if (format == NULL)
        return finish(&buffers);
    const struct routines *chosen = &routines[*format == 'd'];
    int is_few = sweep.q <= MAX_FEW_COLUMNS;
    if (sweep.q < 1 || (sweep.q > 1 && chosen->sweep_many_columns == NULL))
        refuse("so many columns are not swept here");
    else if (acquire_matrix(&buffers, &sweep.y, y, sweep.n, sweep.q, format) == 0 &&
             (weights == Py_None || acquire_matrix(&buffers, &sweep.weights, weights, sweep.n, sweep.q, format) == 0) &&
             acquire_matrix(&buffers, &sweep.dual, dual, sweep.r, sweep.q, format) == 0 &&
             decode_losses(&buffers, &sweep, entries, parameters) == 0 &&
             acquire_sums(&buffers, &sweep, gradients, sums, columns) == 0) {
        sweep.scratch = PyMem_Malloc(
            (is_few ? chosen->few_columns_scratch : chosen->many_columns_scratch)(sweep.r, sweep.q));
        if (sweep.scratch == NULL) {
            PyErr_NoMemory();
        } else {
            Py_BEGIN_ALLOW_THREADS
            (is_few ? chosen->sweep_few_columns : chosen->sweep_many_columns)(&sweep);
            Py_END_ALLOW_THREADS
        }
    }
    PyMem_Free(sweep.scratch);
    PyMem_Free(sweep.losses);
    return finish(&buffers);
}
