/* Distances ‖x - z‖₁ between rows x and points z, both of d coordinates.

   The points lie in panels of PANEL_POINTS: the first coordinates of these points side by side, then their second ones,
   and so on, so that vectors run along the points and nothing has to be summed across a vector. */

#define PANEL_POINTS ((int)(PANEL_BYTES / sizeof(REAL)))
#define POINT_VECTORS (PANEL_POINTS / LANES)
/* rows whose sums fill the registers */
#define DISTANCE_ROWS 4
/* coordinates at a time: so much of a panel stays in the L1 cache */
#define COORDINATE_BLOCK 256

typedef INTEGER TYPED(integers) __attribute__((vector_size(32), may_alias));

/* sum += |x - z|: all bits of the difference but the sign. */
static inline void TYPED(add_distance)(VECTOR *sum, REAL x, const VECTOR *z)
{
    const TYPED(integers) all_but_sign = (TYPED(integers)){0} + (sizeof(INTEGER) == 4 ? INT32_MAX : (INTEGER)INT64_MAX);
    *sum += (VECTOR)((TYPED(integers))(x - *z) & all_but_sign);
}

/* Write the sums of a panel, of which the first n_points are of points. */
static inline void TYPED(store_panel)(const VECTOR *sums, REAL *restrict out, ptrdiff_t n_points)
{
    if (n_points >= PANEL_POINTS)
        for (int k = 0; k < POINT_VECTORS; k++)
            STORE(out + k * LANES, sums[k]);
    else
        memcpy(out, sums, n_points * sizeof(REAL));
}

/* Distances of `count` rows to the points of a panel in `length` coordinates; added to `out` if `add`. */
ALWAYS_INLINE void TYPED(panel_distances)(int count, const REAL *restrict rows, ptrdiff_t d, ptrdiff_t length,
                                          const REAL *restrict panel, REAL *restrict out, ptrdiff_t out_stride,
                                          ptrdiff_t n_points, int add)
{
    VECTOR sums[DISTANCE_ROWS][POINT_VECTORS] = {{{0}}};
    for (ptrdiff_t j = 0; j < length; j++, panel += PANEL_POINTS)
        for (int k = 0; k < POINT_VECTORS; k++) {
            VECTOR z = LOAD(panel + k * LANES);
            for (int i = 0; i < count; i++)
                TYPED(add_distance)(&sums[i][k], rows[i * d + j], &z);
        }
    for (int i = 0; i < count; i++) {
        if (add) {
            VECTOR before[POINT_VECTORS] = {{0}};
            memcpy(before, out + i * out_stride, MINIMUM(n_points, PANEL_POINTS) * sizeof(REAL));
            for (int k = 0; k < POINT_VECTORS; k++)
                sums[i][k] += before[k];
        }
        TYPED(store_panel)(sums[i], out + i * out_stride, n_points);
    }
}

/* Distances (n × n_points) of n rows to the points; one block of coordinates after the other. */
static void TYPED(distances)(ptrdiff_t n, ptrdiff_t d, ptrdiff_t n_points, const void *rows_, const void *panels_,
                             void *out_)
{
    const REAL *rows = rows_, *panels = panels_;
    REAL *out = out_;
    for (ptrdiff_t low = 0; low < d; low += COORDINATE_BLOCK) {
        ptrdiff_t length = MINIMUM(d - low, COORDINATE_BLOCK);
        for (ptrdiff_t c = 0; c < n_points; c += PANEL_POINTS) {
            const REAL *panel = panels + c * d + low * PANEL_POINTS;
            ptrdiff_t i = 0;
            for (; i + DISTANCE_ROWS <= n; i += DISTANCE_ROWS)
                TYPED(panel_distances)(DISTANCE_ROWS, rows + i * d + low, d, length, panel, out + i * n_points + c,
                                       n_points, n_points - c, low > 0);
            for (; i < n; i++)
                TYPED(panel_distances)(1, rows + i * d + low, d, length, panel, out + i * n_points + c, n_points,
                                       n_points - c, low > 0);
        }
    }
}
