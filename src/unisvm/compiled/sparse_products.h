/* Sums over the columns in which a sparse row x and a sparse point z both have entries: Σ x z = x·z, or
   Σ |x - z| - |x| - |z| = ‖x - z‖₁ - ‖x‖₁ - ‖z‖₁. */

static inline REAL TYPED(abs)(REAL x)
{
    return x < 0 ? -x : x;
}

/* out (n_rows × n_points) += these sums. The points are transposed: row j of `points` has their entries in column j. */
ALWAYS_INLINE void TYPED(add_sparse_products)(int of_distances, ptrdiff_t n_points, const struct csr *rows,
                                              const struct csr *points, REAL *out)
{
    const REAL *row_data = rows->data, *point_data = points->data;
    for (ptrdiff_t i = 0; i < rows->n_rows; i++, out += n_points)
        for (int64_t t = rows->indptr[i]; t < rows->indptr[i + 1]; t++) {
            int64_t end = points->indptr[rows->indices[t] + 1];
            REAL x = row_data[t];
            for (int64_t u = points->indptr[rows->indices[t]]; u < end; u++) {
                REAL z = point_data[u];
                out[points->indices[u]] += of_distances ? TYPED(abs)(x - z) - TYPED(abs)(x) - TYPED(abs)(z) : x * z;
            }
        }
}

/* Write these sums into `out`. */
static void TYPED(sparse_products)(int of_distances, ptrdiff_t n_points, const struct csr *rows,
                                   const struct csr *points, void *out)
{
    memset(out, 0, rows->n_rows * n_points * sizeof(REAL));
    if (of_distances)
        TYPED(add_sparse_products)(1, n_points, rows, points, out);
    else
        TYPED(add_sparse_products)(0, n_points, rows, points, out);
}
