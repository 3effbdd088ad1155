/* What sparse rows and points share.

   Included like rows.h. */

static inline REAL OF(abs)(REAL x)
{
    return x < 0 ? -x : x;
}

/* What the entries add that sparse rows and points have in the same columns: x z to products, |x − z| − |x| − |z| to
   distances. The points lie by columns. */
static inline __attribute__((always_inline)) void OF(add_shared)(int of_distances, ptrdiff_t r,
                                                                 const struct sparse *rows,
                                                                 const struct sparse *points, REAL *to)
{
    const REAL *stored = rows->stored, *values = points->stored;
    for (ptrdiff_t i = 0; i < rows->n; i++, to += r)
        for (int64_t t = rows->starts[i]; t < rows->starts[i + 1]; t++) {
            int64_t end = points->starts[rows->places[t] + 1];
            REAL x = stored[t];
            for (int64_t u = points->starts[rows->places[t]]; u < end; u++) {
                REAL z = values[u];
                to[points->places[u]] += of_distances ? OF(abs)(x - z) - OF(abs)(x) - OF(abs)(z) : x * z;
            }
        }
}

static void OF(shared)(int of_distances, ptrdiff_t r, const struct sparse *rows, const struct sparse *points, void *to)
{
    memset(to, 0, rows->n * r * sizeof(REAL));
    if (of_distances)
        OF(add_shared)(1, r, rows, points, to);
    else
        OF(add_shared)(0, r, rows, points, to);
}
