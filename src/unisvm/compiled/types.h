/* Arguments of the compiled functions as plain C. */

#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MINIMUM(a, b) ((a) < (b) ? (a) : (b))

/* bytes that the processor fetches together */
#define CACHE_LINE 64

/* at most so many rows are summed in the precision of the features, before the sum is added to one in double */
#define MAX_ROWS_PER_PARTIAL_SUM 384

/* The constants from here to the losses are attributes of the module, from which Python takes them. */

/* shorter rows do not fill a vector of single precision */
#define MIN_FEATURES 8

/* bytes of one coordinate in a panel of points, in distances.h */
#define PANEL_BYTES CACHE_LINE

/* bits of the processor by which subnormal results (0x8000) and subnormal arguments (0x0040) are 0 */
#if defined(__x86_64__)
#define FLUSHED 0x8040u
#else
#define FLUSHED 0
#endif

/* Forms of losses, which losses.h computes. */
enum loss_form { PARABOLAS, SOFTPLUS, SATURATING, LOGARITHM, BIWEIGHT, N_LOSS_FORMS };

/* The loss of n_columns columns that follow each other. */
struct loss {
    int64_t form, n_columns, n_parameters;
    const double *parameters;
};

/* A matrix whose entry (i, j) is data[i * row_stride + j * column_stride]. */
struct matrix {
    const void *data;
    ptrdiff_t row_stride, column_stride;
};

/* A sparse matrix in CSR format, as in SciPy; indptr has n_rows + 1 entries, indices and data have nnz. */
struct csr {
    ptrdiff_t n_rows, nnz;
    const int64_t *indptr, *indices;
    const void *data;
};

/* A sweep over n rows of r features in q columns. With f = F a + b, and v = s y ψ'(1 - y f) for margins and
   v = s ψ'(y - f) otherwise, it adds

       Fᵀ v to gradients (n_all × r),  Σ v to intercept_gradients (n_all),  Σ s ψ to risks (n_all).

   F are the features (n × r), a is dual (r × q), b is intercept (q), y and the weights s are n × q; weights.data is
   NULL if all are 1. Column c adds to entry columns[c] of the n_all sums. These are double; all else has the precision
   of the features. */
struct sweep {
    ptrdiff_t n, r, q, n_losses;
    int is_margin;
    const void *features, *intercept;
    struct matrix y, weights, dual;
    struct loss *losses;
    const int64_t *columns;
    void *scratch;
    double *gradients, *intercept_gradients, *risks;
};
