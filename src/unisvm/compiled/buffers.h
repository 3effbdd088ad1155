/* Arrays of Python as C arrays, with checks of their type and shape. */

#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "types.h"

/* Buffers that a function holds until it returns; a sweep has the most arrays. */
struct buffers {
    Py_buffer held[10];
    int n_held;
};

/* None, or NULL if there is an error; releases all buffers. */
static PyObject *finish(struct buffers *buffers)
{
    while (buffers->n_held > 0)
        PyBuffer_Release(&buffers->held[--buffers->n_held]);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* -1, with a ValueError. */
static int refuse(const char *message)
{
    PyErr_SetString(PyExc_ValueError, message);
    return -1;
}

/* The buffer of an array; NULL with an error. */
static Py_buffer *acquire(struct buffers *buffers, PyObject *array, int flags)
{
    Py_buffer *buffer = &buffers->held[buffers->n_held];
    if (PyObject_GetBuffer(array, buffer, flags | PyBUF_FORMAT) < 0)
        return NULL;
    buffers->n_held++;
    /* arrays of NumPy have another format then, other buffers have not */
    if (buffer->len > 0 && (uintptr_t)buffer->buf % buffer->itemsize != 0) {
        PyErr_SetString(PyExc_ValueError, "arrays do not begin where their type allows");
        return NULL;
    }
    return buffer;
}

/* The buffer of a contiguous array of float32 (format "f") or float64 ("d"); NULL with an error. */
static Py_buffer *acquire_floats(struct buffers *buffers, PyObject *array, int flags)
{
    Py_buffer *buffer = acquire(buffers, array, flags | PyBUF_C_CONTIGUOUS);
    if (buffer != NULL && strcmp(buffer->format, "f") != 0 && strcmp(buffer->format, "d") != 0)
        return (Py_buffer *)PyErr_Format(PyExc_ValueError, "arrays must be float32 or float64");
    return buffer;
}

/* The n numbers of a contiguous array of this format; NULL with an error. */
static void *acquire_numbers(struct buffers *buffers, PyObject *array, int flags, ptrdiff_t n, const char *format)
{
    Py_buffer *buffer = acquire(buffers, array, flags | PyBUF_C_CONTIGUOUS);
    if (buffer == NULL)
        return NULL;
    if (strcmp(buffer->format, format) != 0 || buffer->len != n * buffer->itemsize)
        return PyErr_Format(PyExc_ValueError, "arrays do not fit each other");
    return buffer->buf;
}

/* Set a matrix of this shape and format, with any strides; -1 with an error. */
static int acquire_matrix(struct buffers *buffers, struct matrix *matrix, PyObject *array, ptrdiff_t n_rows,
                          ptrdiff_t n_columns, const char *format)
{
    Py_buffer *buffer = acquire(buffers, array, PyBUF_STRIDES);
    if (buffer == NULL)
        return -1;
    if (strcmp(buffer->format, format) != 0 || buffer->ndim != 2 || buffer->shape[0] != n_rows ||
        buffer->shape[1] != n_columns || buffer->strides[0] % buffer->itemsize || buffer->strides[1] % buffer->itemsize)
        return refuse("arrays do not fit each other");
    matrix->data = buffer->buf;
    matrix->row_stride = buffer->strides[0] / buffer->itemsize;
    matrix->column_stride = buffer->strides[1] / buffer->itemsize;
    return 0;
}

/* Whether a buffer is a matrix of int64 with n_columns columns. */
static int is_int64_matrix(const Py_buffer *buffer, ptrdiff_t n_columns)
{
    return buffer->ndim == 2 && buffer->shape[1] == n_columns && buffer->itemsize == sizeof(int64_t) &&
           strchr("lq", *buffer->format) != NULL;
}
