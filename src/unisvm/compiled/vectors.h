/* Vectors of 32 bytes, which GCC and Clang compile for any processor; entries of matrices; sums in double precision.

   This header and all that follow it in both_precisions.h are templates, included for each instruction set and each
   precision: REAL is float or double, and TYPED(name) stands for name_float_avx2, name_double_portable, and so on. */

#define VECTOR TYPED(vector)
#define LANES ((int)(32 / sizeof(REAL)))
#define LOAD(address) (*(const VECTOR *)(address))
#define STORE(address, value) (*(VECTOR *)(address) = (value))
/* with constant arguments the loops over them are unrolled, and their sums stay in registers */
#define ALWAYS_INLINE static inline __attribute__((always_inline))

typedef REAL VECTOR __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));

/* Entry (row, column) of a matrix. */
static inline REAL TYPED(entry)(const struct matrix *matrix, ptrdiff_t row, ptrdiff_t column)
{
    return ((const REAL *)matrix->data)[row * matrix->row_stride + column * matrix->column_stride];
}

/* gradients[columns[c], j] += partial[c * stride + j] for all columns c and features j, in double precision. */
static void TYPED(add_partial_sums)(const struct sweep *sweep, const REAL *partial, ptrdiff_t stride)
{
    for (ptrdiff_t c = 0; c < sweep->q; c++) {
        double *gradient = sweep->gradients + sweep->columns[c] * sweep->r;
        for (ptrdiff_t j = 0; j < sweep->r; j++)
            gradient[j] += partial[c * stride + j];
    }
}
