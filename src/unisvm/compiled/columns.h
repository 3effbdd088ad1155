/* Sweeps of several columns: both products of some rows with all columns, while the rows are in the cache.

   Included like rows.h, after it. BLAS would read the features twice and rearrange them each time. Here only the
   coefficients are rearranged, once, into panels of columns that lie side by side. */

/* columns of a panel; columns and features of the gradient that are summed up at a time: sums fill the registers.
   The last panel may be half as wide. */
enum { OF(PANEL) = 2 * OF(LANES), OF(TOGETHER) = 4, OF(BAND) = 3 * OF(LANES) };

static inline ptrdiff_t OF(up_to_whole)(ptrdiff_t n, ptrdiff_t of)
{
    return (n + of - 1) / of * of;
}

/* From one column of the gradient to the next: not a power of two, which would put all in the same place of a cache. */
static inline ptrdiff_t OF(stride_of)(ptrdiff_t r)
{
    return OF(up_to_whole)(r, OF(BAND)) + OF(LANES);
}

/* Bytes that a sweep of several columns needs: for panels, values, and gradients. */
static ptrdiff_t OF(scratch_of_columns)(ptrdiff_t r, ptrdiff_t q)
{
    ptrdiff_t width = OF(up_to_whole)(q, OF(LANES));
    return width * (r + CHUNK + OF(stride_of)(r)) * (ptrdiff_t)sizeof(REAL);
}

/* The products of `count` rows with a panel of so many vectors, for some of the features, added to what is in f if there
   is `more`. */
static inline __attribute__((always_inline)) void OF(panel_products)(int count, int vectors, const REAL *restrict rows,
                                                                     ptrdiff_t r, ptrdiff_t n_features,
                                                                     const REAL *restrict panel, REAL *restrict f,
                                                                     ptrdiff_t width, int more)
{
    OF(vector) sums[12][2];
    for (int i = 0; i < count; i++)
        for (int k = 0; k < vectors; k++)
            sums[i][k] = more ? *(OF(place))(f + i * width + k * OF(LANES)) : (OF(vector)){0};
    for (ptrdiff_t j = 0; j < n_features; j++, panel += vectors * OF(LANES)) {
        OF(vector) x[2];
        for (int k = 0; k < vectors; k++)
            x[k] = *(OF(place))(panel + k * OF(LANES));
        for (int i = 0; i < count; i++)
            for (int k = 0; k < vectors; k++)
                sums[i][k] += rows[i * r + j] * x[k];
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < vectors; k++)
            *(OF(vector) *)(f + i * width + k * OF(LANES)) = sums[i][k];
}

/* The same for any number of rows, in portions whose sums fill the registers. */
static inline __attribute__((always_inline)) void OF(products_with)(int vectors, const REAL *restrict rows, int n,
                                                                    ptrdiff_t r, ptrdiff_t n_features,
                                                                    const REAL *restrict panel, REAL *restrict f,
                                                                    ptrdiff_t width, int more)
{
    const int count = 12 / vectors;
    int i = 0;
    for (; i + count <= n; i += count)
        OF(panel_products)(count, vectors, rows + i * r, r, n_features, panel, f + i * width, width, more);
    for (; i < n; i++)
        OF(panel_products)(1, vectors, rows + i * r, r, n_features, panel, f + i * width, width, more);
}

/* The values of all columns at some rows, for a part of the features after the other: of a panel, that much stays in
   the nearest cache. */
static void OF(products_of_columns)(const REAL *rows, int n, ptrdiff_t r, const REAL *panels, ptrdiff_t width, REAL *f)
{
    for (ptrdiff_t low = 0; low < r; low += PART) {
        ptrdiff_t length = r - low < PART ? r - low : PART;
        ptrdiff_t c = 0;
        for (; c + OF(PANEL) <= width; c += OF(PANEL))
            OF(products_with)(2, rows + low, n, r, length, panels + c * r + low * OF(PANEL), f + c, width, low > 0);
        if (c < width)
            OF(products_with)(1, rows + low, n, r, length, panels + c * r + low * OF(LANES), f + c, width, low > 0);
    }
}

/* Some columns of a row, of which there may be one for all. */
static inline void OF(take_row)(const struct matrix *matrix, ptrdiff_t row, ptrdiff_t first, int n, REAL *restrict to)
{
    const REAL *from = (const REAL *)matrix->start + row * matrix->to_next_row + first * matrix->to_next_column;
    ptrdiff_t step = matrix->to_next_column;
    if (step == 0)
        for (int c = 0; c < n; c++)
            to[c] = *from;
    else
        for (int c = 0; c < n; c++)
            to[c] = from[c * step];
}

/* What some rows from `low` on pull in the columns of a loss, from `first` on, written over their values; adds to the
   sums of the pulls and of the risks. */
static void OF(pull_columns)(const struct sweep *sweep, const struct loss *loss, ptrdiff_t low, int n, ptrdiff_t first,
                             int n_columns, REAL *f, ptrdiff_t width)
{
    const REAL *intercept = (const REAL *)sweep->intercept + first;
    REAL u[PIECE], y[PIECE], weights[PIECE], value[PIECE], pull[MOST_TOGETHER] = {0}, risk[MOST_TOGETHER] = {0};
    int weighted = sweep->weights.start != NULL, at_once = PIECE / n_columns;
    for (int i = 0; i < n; i += at_once) {
        int end = n - i < at_once ? n : i + at_once, t = 0;
        for (int row = i; row < end; row++, t += n_columns) {
            for (int c = 0; c < n_columns; c++)
                u[t + c] = f[row * width + c] + intercept[c];
            OF(take_row)(&sweep->y, low + row, first, n_columns, y + t);
            if (weighted)
                OF(take_row)(&sweep->weights, low + row, first, n_columns, weights + t);
        }
        OF(pull)(loss, sweep->margins, t, y, weighted ? weights : NULL, u, value);
        t = 0;
        for (int row = i; row < end; row++, t += n_columns)
            for (int c = 0; c < n_columns; c++) {
                f[row * width + c] = u[t + c];
                pull[c] += u[t + c];
                risk[c] += value[t + c];
            }
    }
    for (int c = 0; c < n_columns; c++) {
        sweep->pulls[sweep->places[first + c]] += pull[c];
        sweep->risks[sweep->places[first + c]] += risk[c];
    }
}

/* Add what some rows pull at a band of features, in a few columns. */
static inline void OF(gather_band)(const REAL *restrict band, int n, const REAL *restrict pulls, ptrdiff_t width,
                                   REAL *restrict gradient, ptrdiff_t stride)
{
    OF(vector) sums[OF(TOGETHER)][3];
    for (int c = 0; c < OF(TOGETHER); c++)
        for (int k = 0; k < 3; k++)
            sums[c][k] = *(OF(place))(gradient + c * stride + k * OF(LANES));
    for (int i = 0; i < n; i++) {
        OF(vector) x[3];
        for (int k = 0; k < 3; k++)
            x[k] = *(OF(place))(band + i * OF(BAND) + k * OF(LANES));
        for (int c = 0; c < OF(TOGETHER); c++)
            for (int k = 0; k < 3; k++)
                sums[c][k] += pulls[i * width + c] * x[k];
    }
    for (int c = 0; c < OF(TOGETHER); c++)
        for (int k = 0; k < 3; k++)
            *(OF(vector) *)(gradient + c * stride + k * OF(LANES)) = sums[c][k];
}

/* Add what some rows pull at all features, in all columns. Meanwhile the rows that follow are fetched. */
static void OF(gather_columns)(const REAL *rows, int n, ptrdiff_t r, const REAL *pulls, ptrdiff_t width, ptrdiff_t q,
                               REAL *gradient, const REAL *ahead)
{
    REAL band[CHUNK * OF(BAND)];
    ptrdiff_t stride = OF(stride_of)(r);
    for (ptrdiff_t j = 0; j < r; j += OF(BAND)) {
        if (r - j >= OF(BAND))
            for (int i = 0; i < n; i++) {
                memcpy(band + i * OF(BAND), rows + i * r + j, OF(BAND) * sizeof(REAL));
                __builtin_prefetch(ahead + i * r + j);
                __builtin_prefetch(ahead + i * r + j + OF(BAND) / 2);
            }
        else
            for (int i = 0; i < n; i++)
                for (ptrdiff_t k = 0; k < OF(BAND); k++)
                    band[i * OF(BAND) + k] = j + k < r ? rows[i * r + j + k] : 0;
        for (ptrdiff_t c = 0; c < q; c += OF(TOGETHER))
            OF(gather_band)(band, n, pulls + c, width, gradient + c * stride + j, stride);
    }
}

/* What the rows add to the gradients of all columns, to those of their intercepts and to their risks. */
static void OF(sweep_columns)(const struct sweep *sweep)
{
    ptrdiff_t n = sweep->n, r = sweep->r, q = sweep->q;
    ptrdiff_t width = OF(up_to_whole)(q, OF(LANES)), stride = OF(stride_of)(r);
    const REAL *rows = sweep->features;
    REAL *panels = sweep->scratch, *f = panels + width * r, *partial = f + width * CHUNK;
    memset(panels, 0, width * r * sizeof(REAL));
    for (ptrdiff_t c = 0; c < q; c++) {
        ptrdiff_t first = c - c % OF(PANEL), wide = width - first < OF(PANEL) ? OF(LANES) : OF(PANEL);
        for (ptrdiff_t j = 0; j < r; j++)
            panels[first * r + j * wide + c - first] = OF(entry)(&sweep->dual, j, c);
    }
    memset(partial, 0, width * stride * sizeof(REAL));
    for (ptrdiff_t low = 0, unsummed = 0; low < n; low += CHUNK) {
        int length = (int)(n - low < CHUNK ? n - low : CHUNK);
        OF(products_of_columns)(rows + low * r, length, r, panels, width, f);
        ptrdiff_t c = 0;
        for (ptrdiff_t k = 0; k < sweep->n_losses; k++)
            for (ptrdiff_t end = c + sweep->losses[k].n_columns, some; c < end; c += some) {
                some = end - c < MOST_TOGETHER ? end - c : MOST_TOGETHER;
                OF(pull_columns)(sweep, &sweep->losses[k], low, length, c, (int)some, f + c, width);
            }
        /* in the end these rows are fetched again: there are no others */
        const REAL *ahead = rows + (low + 2 * CHUNK <= n ? low + CHUNK : low) * r;
        OF(gather_columns)(rows + low * r, length, r, f, width, q, partial, ahead);
        unsummed += length;
        /* long sums in double precision */
        if (unsummed >= MOST_UNSUMMED || low + CHUNK >= n) {
            for (c = 0; c < q; c++) {
                double *gradient = sweep->gradients + sweep->places[c] * r;
                for (ptrdiff_t j = 0; j < r; j++)
                    gradient[j] += partial[c * stride + j];
            }
            memset(partial, 0, width * stride * sizeof(REAL));
            unsummed = 0;
        }
    }
}
