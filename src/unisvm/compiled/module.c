/* The extension module unisvm.compiled._sweeps: sweeps over the rows, and the exponentials, distances and products that
   kernels are made of.

   A sweep computes the same as unisvm.sweep with NumPy; but between the two products of a row it stays in the L1 cache,
   and no thread waits for the interpreter's lock. */

#include "bind_kernels.h"
#include "bind_sweep.h"

#if FLUSHED
#include <xmmintrin.h>
#endif

PyDoc_STRVAR(set_flush_bits_doc,
             "set_flush_bits(bits)\n--\n\nBits of FLUSHED that were set in this thread before; sets them to `bits`.");

static PyObject *set_flush_bits(PyObject *Py_UNUSED(self), PyObject *bits_)
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

static PyMethodDef methods[] = {
    {"sweep", sweep, METH_VARARGS, sweep_doc},
    {"decay", decay, METH_O, decay_doc},
    {"distances", distances, METH_VARARGS, distances_doc},
    {"sparse_products", sparse_products, METH_VARARGS, sparse_products_doc},
    {"set_flush_bits", set_flush_bits, METH_O, set_flush_bits_doc},
    {NULL, NULL, 0, NULL},
};

/* Choose the routines, and add the constants that Python reads; -1 with an error. */
static int initialise(PyObject *module)
{
    if (PyModule_AddIntMacro(module, FLUSHED) < 0 || PyModule_AddIntMacro(module, MIN_FEATURES) < 0 ||
        PyModule_AddIntMacro(module, PANEL_BYTES) < 0 || PyModule_AddIntMacro(module, PARABOLAS) < 0 ||
        PyModule_AddIntMacro(module, SOFTPLUS) < 0 || PyModule_AddIntMacro(module, SATURATING) < 0 ||
        PyModule_AddIntMacro(module, LOGARITHM) < 0 || PyModule_AddIntMacro(module, BIWEIGHT) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "wide_vectors", choose_routines() ? Py_True : Py_False);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, initialise},
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
