/* The Python functions that kernels are made of: `decay`, `distances` and `sparse_products`. */

#include "buffers.h"
#include "dispatch.h"

PyDoc_STRVAR(decay_doc, "decay(numbers)\n--\n\nWrite exp(min(x, 0)) over every x.");

static PyObject *decay(PyObject *Py_UNUSED(self), PyObject *array)
{
    struct buffers buffers = {.n_held = 0};
    Py_buffer *numbers = acquire_floats(&buffers, array, PyBUF_WRITABLE);
    if (numbers != NULL) {
        Py_BEGIN_ALLOW_THREADS
        routines[*numbers->format == 'd'].decay(numbers->len / numbers->itemsize, numbers->buf);
        Py_END_ALLOW_THREADS
    }
    return finish(&buffers);
}

/* Panels of points of d coordinates, as many as `out` has columns; NULL with an error. */
static const void *acquire_panels(struct buffers *buffers, PyObject *array, const Py_buffer *out, ptrdiff_t d)
{
    Py_buffer *panels = acquire(buffers, array, PyBUF_C_CONTIGUOUS);
    if (panels == NULL)
        return NULL;
    ptrdiff_t width = PANEL_BYTES / out->itemsize;
    if (panels->ndim != 3 || strcmp(panels->format, out->format) != 0 || panels->shape[1] != d ||
        panels->shape[2] != width || panels->shape[0] != (out->shape[1] + width - 1) / width)
        return PyErr_Format(PyExc_ValueError, "panels do not fit the rows and what is written");
    return panels->buf;
}

PyDoc_STRVAR(distances_doc, "distances(rows, panels, out)\n--\n\nWrite ‖x − z‖₁ of rows x and points z in panels.");

static PyObject *distances(PyObject *Py_UNUSED(self), PyObject *arguments)
{
    PyObject *rows_, *panels_, *out_;
    struct buffers buffers = {.n_held = 0};
    if (!PyArg_ParseTuple(arguments, "OOO", &rows_, &panels_, &out_))
        return NULL;
    Py_buffer *out = acquire_floats(&buffers, out_, PyBUF_WRITABLE), *rows;
    if (out == NULL || (rows = acquire(&buffers, rows_, PyBUF_C_CONTIGUOUS)) == NULL)
        return finish(&buffers);
    const struct routines *chosen = &routines[*out->format == 'd'];
    const void *panels;
    if (chosen->distances == NULL)
        refuse("distances are not computed here");
    else if (rows->ndim != 2 || out->ndim != 2 || strcmp(rows->format, out->format) != 0 ||
             rows->shape[0] != out->shape[0] || rows->shape[1] < 1)
        refuse("rows do not fit what is written");
    else if ((panels = acquire_panels(&buffers, panels_, out, rows->shape[1])) != NULL) {
        Py_BEGIN_ALLOW_THREADS
        chosen->distances(out->shape[0], rows->shape[1], out->shape[1], rows->buf, panels, out->buf);
        Py_END_ALLOW_THREADS
    }
    return finish(&buffers);
}

/* Set a CSR matrix of this precision; -1 with an error. */
static int acquire_csr(struct buffers *buffers, struct csr *matrix, PyObject *indptr_, PyObject *indices_,
                       PyObject *data_, const char *precision)
{
    Py_buffer *indptr = acquire(buffers, indptr_, PyBUF_C_CONTIGUOUS), *indices;
    if (indptr == NULL || (indices = acquire(buffers, indices_, PyBUF_C_CONTIGUOUS)) == NULL)
        return -1;
    if (!is_int64_matrix(indptr, 1) || !is_int64_matrix(indices, 1) || indptr->shape[0] < 1)
        return refuse("arrays do not fit each other");
    *matrix = (struct csr){indptr->shape[0] - 1, indices->shape[0], indptr->buf, indices->buf, NULL};
    matrix->data = acquire_numbers(buffers, data_, 0, matrix->nnz, precision);
    return matrix->data == NULL ? -1 : 0;
}

/* Whether indptr rises from 0 to nnz, and all indices are among n_columns. */
static int is_valid(const struct csr *matrix, ptrdiff_t n_columns)
{
    if (matrix->indptr[0] != 0 || matrix->indptr[matrix->n_rows] != matrix->nnz)
        return 0;
    for (ptrdiff_t i = 0; i < matrix->n_rows; i++)
        if (matrix->indptr[i] > matrix->indptr[i + 1])
            return 0;
    for (ptrdiff_t t = 0; t < matrix->nnz; t++)
        if (matrix->indices[t] < 0 || matrix->indices[t] >= n_columns)
            return 0;
    return 1;
}

PyDoc_STRVAR(sparse_products_doc,
             "sparse_products(indptr, indices, data, points_indptr, points_indices, points_data, of_distances, out)\n"
             "--\n\nWrite x·z, or ‖x − z‖₁ − ‖x‖₁ − ‖z‖₁, of sparse rows x and points z, which are transposed.");

static PyObject *sparse_products(PyObject *Py_UNUSED(self), PyObject *arguments)
{
    PyObject *indptr, *indices, *data, *points_indptr, *points_indices, *points_data, *out_;
    struct buffers buffers = {.n_held = 0};
    struct csr rows, points;
    int of_distances, fits;
    if (!PyArg_ParseTuple(arguments, "OOOOOOpO", &indptr, &indices, &data, &points_indptr, &points_indices,
                          &points_data, &of_distances, &out_))
        return NULL;
    Py_buffer *out = acquire_floats(&buffers, out_, PyBUF_WRITABLE);
    if (out == NULL || acquire_csr(&buffers, &rows, indptr, indices, data, out->format) < 0 ||
        acquire_csr(&buffers, &points, points_indptr, points_indices, points_data, out->format) < 0)
        return finish(&buffers);
    if (out->ndim != 2 || out->shape[0] != rows.n_rows)
        refuse("rows do not fit what is written");
    else {
        Py_BEGIN_ALLOW_THREADS
        fits = is_valid(&rows, points.n_rows) && is_valid(&points, out->shape[1]);
        if (fits)
            routines[*out->format == 'd'].sparse_products(of_distances, out->shape[1], &rows, &points, out->buf);
        Py_END_ALLOW_THREADS
        if (!fits)
            refuse("stored numbers do not fit");
    }
    return finish(&buffers);
}
