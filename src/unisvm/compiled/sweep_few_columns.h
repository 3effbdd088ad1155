/* Sweeps of q ≤ MAX_FEW_COLUMNS columns, with vectors along the features.

   A tile of rows stays in the L1 cache between the two products. Values f of a tile, and the pointwise gradients v that
   are written over them, lie column after column: f[c * n + i] is row i of n. */

/* 2 to 2.6 times faster than the sweep of many columns for two, and 1.5 times for five */
#define MAX_FEW_COLUMNS 9
/* most values f of a tile, in all columns */
#define TILE_VALUES 432
_Static_assert(TILE_VALUES <= LOSS_BLOCK, "losses of a tile are found in one go");
/* columns whose products with a row are found together, and rows that are added to a gradient together */
#define COLUMN_GROUP 3
#define ROW_GROUP 4
/* bytes of a tile in the L1 cache, and in the L2 cache where rows are long */
#define L1_TILE_BYTES (1 << 13)
#define L2_TILE_BYTES (3 << 16)
/* tiles between the rows that are used and those that are prefetched; at rank 62, 111 and 300 it gives 21, 23 and 23
   GB/s instead of 18, 15 and 20 */
#define PREFETCH_TILES 2

/* Σ x of n numbers in double precision; in four parts, since an addition waits for the one before. */
static inline double TYPED(total)(int n, const REAL *x)
{
    double sums[4] = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += x[i + k];
    for (; i < n; i++)
        sums[0] += x[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Σ of the lanes of a vector. */
static inline REAL TYPED(lane_sum)(const VECTOR *v)
{
    REAL total = 0;
    for (int k = 0; k < LANES; k += 2)
        total += (*v)[k] + (*v)[k + 1];
    return total;
}

/* The end of a row of r ≥ LANES features: those from `begin` on fill no vector of their own. The vector from `last` on,
   times `mask`, has them, and 0 for those before. */
struct TYPED(tail) {
    ptrdiff_t begin, last;
    VECTOR mask;
};

static inline struct TYPED(tail) TYPED(tail_of)(ptrdiff_t r)
{
    struct TYPED(tail) tail = {.begin = r - r % LANES, .last = r - LANES};
    for (int k = 0; k < LANES; k++)
        tail.mask[k] = tail.last + k >= tail.begin;
    return tail;
}

/* f = F a for n rows and q ≤ COLUMN_GROUP columns, without the intercepts; the columns of a follow each other.

   Row after row: the processor prefetches by itself what is read in the order of memory, and less of it the more rows
   are read side by side. Four at a time reached 15, 20 and 23 GB/s at rank 111, 500 and 1000, and this 26, 26 and 28. */
ALWAYS_INLINE void TYPED(products)(int q, const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual,
                                   REAL *restrict f)
{
    /* sums are in parts, since an addition waits for the one before */
    const int parts = q == 1 ? 4 : 2;
    struct TYPED(tail) tail = TYPED(tail_of)(r);
    VECTOR dual_tail[COLUMN_GROUP];
    for (int c = 0; c < q; c++)
        dual_tail[c] = tail.mask * LOAD(dual + c * r + tail.last);
    for (int i = 0; i < n; i++) {
        const REAL *row = rows + i * r;
        VECTOR sums[COLUMN_GROUP][4];
        for (int c = 0; c < q; c++) {
            sums[c][0] = dual_tail[c] * LOAD(row + tail.last);
            for (int k = 1; k < parts; k++)
                sums[c][k] = (VECTOR){0};
        }
        ptrdiff_t j = 0;
        for (; j + parts * LANES <= r; j += parts * LANES)
            for (int k = 0; k < parts; k++) {
                VECTOR x = LOAD(row + j + k * LANES);
                for (int c = 0; c < q; c++)
                    sums[c][k] += x * LOAD(dual + c * r + j + k * LANES);
            }
        for (; j < tail.begin; j += LANES)
            for (int c = 0; c < q; c++)
                sums[c][0] += LOAD(row + j) * LOAD(dual + c * r + j);
        for (int c = 0; c < q; c++) {
            for (int k = 1; k < parts; k++)
                sums[c][0] += sums[c][k];
            f[c * n + i] = TYPED(lane_sum)(&sums[c][0]);
        }
    }
}

/* gradient += Fᵀ v for n rows and q ≤ COLUMN_GROUP columns, which follow each other in the gradient.

   The rows are in the cache, so that several side by side save loads and stores of the gradient. Meanwhile memory would
   be idle: rows that are `ahead` numbers further on, if any, are prefetched into the L2 cache, from which the processor
   brings them into L1 by itself. */
ALWAYS_INLINE void TYPED(add_gradient)(int q, const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict v,
                                       REAL *restrict gradient, ptrdiff_t ahead)
{
    struct TYPED(tail) tail = TYPED(tail_of)(r);
    int i = 0;
    for (; i + ROW_GROUP <= n; i += ROW_GROUP) {
        const REAL *group = rows + i * r;
        REAL group_v[COLUMN_GROUP][ROW_GROUP];
        for (int c = 0; c < q; c++)
            memcpy(group_v[c], v + c * n + i, sizeof group_v[c]);
        if (ahead > 0)
            for (ptrdiff_t j = 0; j < ROW_GROUP * r; j += CACHE_LINE / (ptrdiff_t)sizeof(REAL))
                __builtin_prefetch(group + ahead + j, 0, 2);
        for (ptrdiff_t j = 0; j < tail.begin; j += LANES)
            for (int c = 0; c < q; c++) {
                VECTOR sum = LOAD(gradient + c * r + j);
                for (int k = 0; k < ROW_GROUP; k++)
                    sum += group_v[c][k] * LOAD(group + k * r + j);
                STORE(gradient + c * r + j, sum);
            }
        for (int c = 0; c < q; c++) {
            VECTOR sum = {0};
            for (int k = 0; k < ROW_GROUP; k++)
                sum += group_v[c][k] * LOAD(group + k * r + tail.last);
            STORE(gradient + c * r + tail.last, LOAD(gradient + c * r + tail.last) + tail.mask * sum);
        }
    }
    for (; i < n; i++)
        for (int c = 0; c < q; c++)
            for (ptrdiff_t j = 0; j < r; j++)
                gradient[c * r + j] += v[c * n + i] * rows[i * r + j];
}

/* Both products for q = 1, 2, 3 = COLUMN_GROUP, each a function of its own, so that the sums stay in registers. */
#define FOR_COLUMNS(q)                                                                                                 \
    static void TYPED(products_##q)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual,          \
                                    REAL *restrict f)                                                                  \
    {                                                                                                                  \
        TYPED(products)(q, rows, n, r, dual, f);                                                                       \
    }                                                                                                                  \
    static void TYPED(add_gradient_##q)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict v,         \
                                        REAL *restrict gradient, ptrdiff_t ahead)                                      \
    {                                                                                                                  \
        TYPED(add_gradient)(q, rows, n, r, v, gradient, ahead);                                                        \
    }
FOR_COLUMNS(1)
FOR_COLUMNS(2)
FOR_COLUMNS(3)
#undef FOR_COLUMNS

/* by the number of columns */
static void (*const TYPED(products_of)[])(const REAL *, int, ptrdiff_t, const REAL *, REAL *) = {
    NULL, TYPED(products_1), TYPED(products_2), TYPED(products_3)};
static void (*const TYPED(add_gradient_of)[])(const REAL *, int, ptrdiff_t, const REAL *, REAL *, ptrdiff_t) = {
    NULL, TYPED(add_gradient_1), TYPED(add_gradient_2), TYPED(add_gradient_3)};

/* Rows low … low + n - 1 of q columns, column after column: where they lie, or a copy if they lie otherwise; NULL of
   NULL. */
static inline const REAL *TYPED(by_columns)(const struct matrix *matrix, ptrdiff_t low, int n, int q, REAL *copy)
{
    if (matrix->data == NULL)
        return NULL;
    if (q == 1 && matrix->row_stride == 1)
        return (const REAL *)matrix->data + low;
    for (int c = 0; c < q; c++)
        for (int i = 0; i < n; i++)
            copy[c * n + i] = TYPED(entry)(matrix, low + i, c);
    return copy;
}

/* v of rows low … low + n - 1 in q columns, written over f; adds Σ v and Σ s ψ to the sums of the sweep. */
static inline void TYPED(few_pointwise_gradients)(const struct sweep *sweep, ptrdiff_t low, int n, int q, REAL *f)
{
    REAL value[TILE_VALUES], copies[2][TILE_VALUES];
    const REAL *y = TYPED(by_columns)(&sweep->y, low, n, q, copies[0]);
    const REAL *weights = TYPED(by_columns)(&sweep->weights, low, n, q, copies[1]);
    for (int c = 0; c < q; c++) {
        REAL intercept = ((const REAL *)sweep->intercept)[c];
        for (int i = 0; i < n; i++)
            f[c * n + i] += intercept;
    }
    for (ptrdiff_t k = 0, first = 0; k < sweep->n_losses; k++) {
        int length = (int)sweep->losses[k].n_columns * n;
        TYPED(pointwise_gradients)(&sweep->losses[k], sweep->is_margin, length, y + first,
                                   weights ? weights + first : NULL, f + first, value + first);
        first += length;
    }
    for (int c = 0; c < q; c++) {
        sweep->intercept_gradients[sweep->columns[c]] += TYPED(total)(n, f + c * n);
        sweep->risks[sweep->columns[c]] += TYPED(total)(n, value + c * n);
    }
}

/* Bytes of scratch memory: dual and partial gradients, q × r each. */
static ptrdiff_t TYPED(few_columns_scratch)(ptrdiff_t r, ptrdiff_t q)
{
    return 2 * q * r * (ptrdiff_t)sizeof(REAL);
}

/* Rows of a tile, which stay in the L1 cache between the two products, beside those that are prefetched. Where these
   are too few for losses to be found together, so many that stay in the L2 cache. */
static ptrdiff_t TYPED(tile_rows)(ptrdiff_t r, ptrdiff_t q)
{
    ptrdiff_t bytes = r * (ptrdiff_t)sizeof(REAL), n = (L1_TILE_BYTES / bytes + 2) / 8 * 8;
    if (n == 0)
        n = L2_TILE_BYTES / bytes < 16 ? 16 : L2_TILE_BYTES / bytes / 8 * 8;
    return MINIMUM(n, TILE_VALUES / q / 8 * 8);
}

/* A sweep of a few columns. */
static void TYPED(sweep_few_columns)(const struct sweep *sweep)
{
    ptrdiff_t n = sweep->n, r = sweep->r;
    int q = (int)sweep->q;
    REAL *dual = sweep->scratch, *partial = dual + q * r, f[TILE_VALUES];
    ptrdiff_t tile = TYPED(tile_rows)(r, q);
    /* long rows keep the processor busy prefetching by itself, and more at a time would drive each other out: from 500
       float32 on, 15 to 20 GB/s instead of 20 to 24 */
    ptrdiff_t ahead = r * (ptrdiff_t)sizeof(REAL) <= L1_TILE_BYTES / 5 ? PREFETCH_TILES * tile : 0;
    for (int c = 0; c < q; c++)
        for (ptrdiff_t j = 0; j < r; j++)
            dual[c * r + j] = TYPED(entry)(&sweep->dual, j, c);
    memset(partial, 0, q * r * sizeof(REAL));
    for (ptrdiff_t low = 0, n_summed = 0; low < n; low += tile) {
        const REAL *rows = (const REAL *)sweep->features + low * r;
        int length = (int)MINIMUM(n - low, tile);
        for (int c = 0; c < q; c += COLUMN_GROUP)
            TYPED(products_of)[MINIMUM(q - c, COLUMN_GROUP)](rows, length, r, dual + c * r, f + c * length);
        TYPED(few_pointwise_gradients)(sweep, low, length, q, f);
        for (int c = 0; c < q; c += COLUMN_GROUP)
            TYPED(add_gradient_of)[MINIMUM(q - c, COLUMN_GROUP)](rows, length, r, f + c * length, partial + c * r,
                                                                 c == 0 && low + ahead + tile <= n ? ahead * r : 0);
        n_summed += length;
        if (n_summed + tile > MAX_ROWS_PER_PARTIAL_SUM || low + tile >= n) {
            TYPED(add_partial_sums)(sweep, partial, r);
            memset(partial, 0, q * r * sizeof(REAL));
            n_summed = 0;
        }
    }
}
