/* Sweeps of any number q of columns, with vectors along the columns: both products of a block of rows with all columns,
   while the rows are in the cache.

   BLAS would read the features twice and rearrange them each time: its products alone reach 35, 64 and 75 Gflop/s for
   12, 48 and 96 columns of rank 500, where this reaches 49, 72 and 77 with the losses. Here only the coefficients are
   rearranged, once, into panels of columns that lie side by side: entry (j, c) of a panel is
   panel[j * PANEL_COLUMNS + c]. The last panel may be half as wide. Values f of a block, and the pointwise gradients v
   that are written over them, are n × width, where width is q rounded up to whole vectors. */

/* rows of a block */
#define ROW_BLOCK 96
/* features at a time: so much of a panel stays in the L1 cache */
#define FEATURE_BLOCK 512
/* most columns whose losses are found together */
#define MAX_LOSS_COLUMNS 64
/* vectors of a panel, and vectors of sums that fill the registers */
#define PANEL_VECTORS 2
#define SUM_VECTORS 12
#define PANEL_COLUMNS (PANEL_VECTORS * LANES)
/* columns and features of the gradient that are summed together; 4 × 3 vectors of sums fill the registers, too */
#define BAND_COLUMNS 4
#define BAND_VECTORS 3
#define BAND (BAND_VECTORS * LANES)

/* The least multiple of `unit` that is at least n. */
static inline ptrdiff_t TYPED(round_up)(ptrdiff_t n, ptrdiff_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Stride between the columns of the partial gradients: not a power of two, which would put all of them in the same
   lines of a cache. */
static inline ptrdiff_t TYPED(gradient_stride)(ptrdiff_t r)
{
    return TYPED(round_up)(r, BAND) + LANES;
}

/* Bytes of scratch memory: panels, values of a block, and partial gradients. */
static ptrdiff_t TYPED(many_columns_scratch)(ptrdiff_t r, ptrdiff_t q)
{
    ptrdiff_t width = TYPED(round_up)(q, LANES);
    return width * (r + ROW_BLOCK + TYPED(gradient_stride)(r)) * (ptrdiff_t)sizeof(REAL);
}

/* f (+)= F a for `count` rows, `length` features and a panel of so many vectors; added to f if `add`. */
ALWAYS_INLINE void TYPED(panel_products)(int count, int vectors, const REAL *restrict rows, ptrdiff_t r,
                                         ptrdiff_t length, const REAL *restrict panel, REAL *restrict f,
                                         ptrdiff_t width, int add)
{
    VECTOR sums[SUM_VECTORS][PANEL_VECTORS];
    for (int i = 0; i < count; i++)
        for (int k = 0; k < vectors; k++)
            sums[i][k] = add ? LOAD(f + i * width + k * LANES) : (VECTOR){0};
    for (ptrdiff_t j = 0; j < length; j++, panel += vectors * LANES) {
        VECTOR x[PANEL_VECTORS];
        for (int k = 0; k < vectors; k++)
            x[k] = LOAD(panel + k * LANES);
        for (int i = 0; i < count; i++)
            for (int k = 0; k < vectors; k++)
                sums[i][k] += rows[i * r + j] * x[k];
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < vectors; k++)
            STORE(f + i * width + k * LANES, sums[i][k]);
}

/* The same for any number n of rows, as many at a time as their sums fill the registers. */
ALWAYS_INLINE void TYPED(block_panel_products)(int vectors, const REAL *restrict rows, int n, ptrdiff_t r,
                                               ptrdiff_t length, const REAL *restrict panel, REAL *restrict f,
                                               ptrdiff_t width, int add)
{
    const int count = SUM_VECTORS / vectors;
    int i = 0;
    for (; i + count <= n; i += count)
        TYPED(panel_products)(count, vectors, rows + i * r, r, length, panel, f + i * width, width, add);
    for (; i < n; i++)
        TYPED(panel_products)(1, vectors, rows + i * r, r, length, panel, f + i * width, width, add);
}

/* f = F a for n rows and all columns, without the intercepts; one block of features after the other. */
static void TYPED(block_products)(const REAL *rows, int n, ptrdiff_t r, const REAL *panels, ptrdiff_t width, REAL *f)
{
    for (ptrdiff_t low = 0; low < r; low += FEATURE_BLOCK) {
        ptrdiff_t length = MINIMUM(r - low, FEATURE_BLOCK), c = 0;
        for (; c + PANEL_COLUMNS <= width; c += PANEL_COLUMNS)
            TYPED(block_panel_products)(PANEL_VECTORS, rows + low, n, r, length, panels + c * r + low * PANEL_COLUMNS,
                                        f + c, width, low > 0);
        if (c < width)
            TYPED(block_panel_products)(1, rows + low, n, r, length, panels + c * r + low * LANES, f + c, width,
                                        low > 0);
    }
}

/* Entries first … first + n - 1 of a row; with a stride of 0, the columns share one entry. */
static inline void TYPED(copy_row)(const struct matrix *matrix, ptrdiff_t row, ptrdiff_t first, int n,
                                   REAL *restrict to)
{
    const REAL *from = (const REAL *)matrix->data + row * matrix->row_stride + first * matrix->column_stride;
    ptrdiff_t stride = matrix->column_stride;
    if (stride == 0)
        for (int c = 0; c < n; c++)
            to[c] = *from;
    else
        for (int c = 0; c < n; c++)
            to[c] = from[c * stride];
}

/* v of rows low … low + n - 1 in columns first … first + n_columns - 1, which have one loss, written over their f; adds
   Σ v and Σ s ψ to the sums of the sweep. */
static void TYPED(block_pointwise_gradients)(const struct sweep *sweep, const struct loss *loss, ptrdiff_t low, int n,
                                             ptrdiff_t first, int n_columns, REAL *f, ptrdiff_t width)
{
    const REAL *intercept = (const REAL *)sweep->intercept + first;
    REAL u[LOSS_BLOCK], y[LOSS_BLOCK], weights[LOSS_BLOCK], value[LOSS_BLOCK];
    REAL v_sum[MAX_LOSS_COLUMNS] = {0}, risk[MAX_LOSS_COLUMNS] = {0};
    int weighted = sweep->weights.data != NULL, n_together = LOSS_BLOCK / n_columns;
    for (int i = 0; i < n; i += n_together) {
        int end = n - i < n_together ? n : i + n_together, t = 0;
        for (int row = i; row < end; row++, t += n_columns) {
            for (int c = 0; c < n_columns; c++)
                u[t + c] = f[row * width + c] + intercept[c];
            TYPED(copy_row)(&sweep->y, low + row, first, n_columns, y + t);
            if (weighted)
                TYPED(copy_row)(&sweep->weights, low + row, first, n_columns, weights + t);
        }
        TYPED(pointwise_gradients)(loss, sweep->is_margin, t, y, weighted ? weights : NULL, u, value);
        t = 0;
        for (int row = i; row < end; row++, t += n_columns)
            for (int c = 0; c < n_columns; c++) {
                f[row * width + c] = u[t + c];
                v_sum[c] += u[t + c];
                risk[c] += value[t + c];
            }
    }
    for (int c = 0; c < n_columns; c++) {
        sweep->intercept_gradients[sweep->columns[first + c]] += v_sum[c];
        sweep->risks[sweep->columns[first + c]] += risk[c];
    }
}

/* gradient += Fᵀ v for n rows, a band of BAND features (n × BAND), and BAND_COLUMNS columns. */
static inline void TYPED(add_band_gradient)(const REAL *restrict band, int n, const REAL *restrict v, ptrdiff_t width,
                                            REAL *restrict gradient, ptrdiff_t stride)
{
    VECTOR sums[BAND_COLUMNS][BAND_VECTORS];
    for (int c = 0; c < BAND_COLUMNS; c++)
        for (int k = 0; k < BAND_VECTORS; k++)
            sums[c][k] = LOAD(gradient + c * stride + k * LANES);
    for (int i = 0; i < n; i++) {
        VECTOR x[BAND_VECTORS];
        for (int k = 0; k < BAND_VECTORS; k++)
            x[k] = LOAD(band + i * BAND + k * LANES);
        for (int c = 0; c < BAND_COLUMNS; c++)
            for (int k = 0; k < BAND_VECTORS; k++)
                sums[c][k] += v[i * width + c] * x[k];
    }
    for (int c = 0; c < BAND_COLUMNS; c++)
        for (int k = 0; k < BAND_VECTORS; k++)
            STORE(gradient + c * stride + k * LANES, sums[c][k]);
}

/* gradient += Fᵀ v for n rows, all features and q columns; rows from `ahead` on are prefetched meanwhile. */
static void TYPED(add_block_gradient)(const REAL *rows, int n, ptrdiff_t r, const REAL *v, ptrdiff_t width, ptrdiff_t q,
                                      REAL *gradient, const REAL *ahead)
{
    REAL band[ROW_BLOCK * BAND];
    ptrdiff_t stride = TYPED(gradient_stride)(r);
    for (ptrdiff_t j = 0; j < r; j += BAND) {
        if (r - j >= BAND)
            for (int i = 0; i < n; i++) {
                memcpy(band + i * BAND, rows + i * r + j, BAND * sizeof(REAL));
                __builtin_prefetch(ahead + i * r + j);
                __builtin_prefetch(ahead + i * r + j + BAND / 2);
            }
        else
            for (int i = 0; i < n; i++)
                for (ptrdiff_t k = 0; k < BAND; k++)
                    band[i * BAND + k] = j + k < r ? rows[i * r + j + k] : 0;
        for (ptrdiff_t c = 0; c < q; c += BAND_COLUMNS)
            TYPED(add_band_gradient)(band, n, v + c, width, gradient + c * stride + j, stride);
    }
}

/* The coefficients of all columns in panels. */
static void TYPED(fill_panels)(const struct sweep *sweep, ptrdiff_t width, REAL *panels)
{
    ptrdiff_t r = sweep->r;
    memset(panels, 0, width * r * sizeof(REAL));
    for (ptrdiff_t c = 0; c < sweep->q; c++) {
        ptrdiff_t first = c - c % PANEL_COLUMNS, panel_width = width - first < PANEL_COLUMNS ? LANES : PANEL_COLUMNS;
        for (ptrdiff_t j = 0; j < r; j++)
            panels[first * r + j * panel_width + c - first] = TYPED(entry)(&sweep->dual, j, c);
    }
}

/* A sweep of many columns. */
static void TYPED(sweep_many_columns)(const struct sweep *sweep)
{
    ptrdiff_t n = sweep->n, r = sweep->r, q = sweep->q;
    ptrdiff_t width = TYPED(round_up)(q, LANES), stride = TYPED(gradient_stride)(r);
    const REAL *rows = sweep->features;
    REAL *panels = sweep->scratch, *f = panels + width * r, *partial = f + width * ROW_BLOCK;
    TYPED(fill_panels)(sweep, width, panels);
    memset(partial, 0, width * stride * sizeof(REAL));
    for (ptrdiff_t low = 0, n_summed = 0; low < n; low += ROW_BLOCK) {
        int length = (int)MINIMUM(n - low, ROW_BLOCK);
        TYPED(block_products)(rows + low * r, length, r, panels, width, f);
        for (ptrdiff_t k = 0, c = 0; k < sweep->n_losses; k++)
            for (ptrdiff_t end = c + sweep->losses[k].n_columns, some; c < end; c += some) {
                some = MINIMUM(end - c, MAX_LOSS_COLUMNS);
                TYPED(block_pointwise_gradients)(sweep, &sweep->losses[k], low, length, c, (int)some, f + c, width);
            }
        /* in the end these rows are prefetched again: there are no others */
        const REAL *ahead = rows + (low + 2 * ROW_BLOCK <= n ? low + ROW_BLOCK : low) * r;
        TYPED(add_block_gradient)(rows + low * r, length, r, f, width, q, partial, ahead);
        n_summed += length;
        if (n_summed >= MAX_ROWS_PER_PARTIAL_SUM || low + ROW_BLOCK >= n) {
            TYPED(add_partial_sums)(sweep, partial, stride);
            memset(partial, 0, width * stride * sizeof(REAL));
            n_summed = 0;
        }
    }
}
