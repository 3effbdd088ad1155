/* Sweeps over rows of features, and what rows of many columns pull.

   Included for each kind of processor and each precision: REAL is float or double, and NAME and OF tell them apart. */

typedef REAL OF(vector) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));

enum { OF(LANES) = 32 / sizeof(REAL) };

typedef const OF(vector) *OF(place);

static inline REAL OF(sum)(const OF(vector) *v)
{
    REAL total = 0;
    for (int k = 0; k < OF(LANES); k += 2)
        total += (*v)[k] + (*v)[k + 1];
    return total;
}

/* Where the numbers of a row lie that fill no vector of their own: the last vector of the row is taken again, times 0
   for what was counted before. Rows shorter than a vector have none. */
struct OF(tail) {
    ptrdiff_t whole, last;
    OF(vector) fresh;
};

static inline struct OF(tail) OF(tail_of)(ptrdiff_t r)
{
    struct OF(tail) tail = {.whole = r - r % OF(LANES), .last = r - OF(LANES)};
    for (int k = 0; k < OF(LANES); k++)
        tail.fresh[k] = tail.last + k >= tail.whole;
    return tail;
}

/* Fetch rows that are needed soon, half as many as are worked on: what lies in the j-th column, if a line of the cache
   begins there. The processor does not go on by itself to rows that follow. */
static inline void OF(fetch)(const REAL *soon, ptrdiff_t r, ptrdiff_t j)
{
    if (j % (64 / (ptrdiff_t)sizeof(REAL)) == 0)
        for (int k = 0; k < ABREAST / 2; k++)
            __builtin_prefetch(soon + k * r + j);
}

/* The products of some rows of at least one vector with the coefficients. */
static void OF(products)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual, double *restrict f,
                         const REAL *ahead)
{
    struct OF(tail) tail = OF(tail_of)(r);
    OF(vector) rest = tail.fresh * *(OF(place))(dual + tail.last);
    int i = 0;
    for (; i + ABREAST <= n; i += ABREAST) {
        const REAL *a = rows + i * r, *soon = ahead + i / 2 * r;
        OF(vector) sums[ABREAST];
        for (int k = 0; k < ABREAST; k++)
            sums[k] = rest * *(OF(place))(a + k * r + tail.last);
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES)) {
            OF(fetch)(soon, r, j);
            OF(vector) x = *(OF(place))(dual + j);
            for (int k = 0; k < ABREAST; k++)
                sums[k] += x * *(OF(place))(a + k * r + j);
        }
        for (int k = 0; k < ABREAST; k++)
            f[i + k] = OF(sum)(&sums[k]);
    }
    for (; i < n; i++) {
        const REAL *a = rows + i * r;
        OF(vector) sum = rest * *(OF(place))(a + tail.last);
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES))
            sum += *(OF(place))(dual + j) * *(OF(place))(a + j);
        f[i] = OF(sum)(&sum);
    }
}

/* Add what some rows pull at the features. */
static void OF(gather)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict pull, REAL *restrict sums,
                       const REAL *ahead)
{
    struct OF(tail) tail = OF(tail_of)(r);
    int i = 0;
    for (; i + ABREAST <= n; i += ABREAST) {
        const REAL *a = rows + i * r, *soon = ahead + i / 2 * r;
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES)) {
            OF(fetch)(soon, r, j);
            OF(vector) sum = *(OF(place))(sums + j);
            for (int k = 0; k < ABREAST; k++)
                sum += pull[i + k] * *(OF(place))(a + k * r + j);
            *(OF(vector) *)(sums + j) = sum;
        }
        OF(vector) rest = {0};
        for (int k = 0; k < ABREAST; k++)
            rest += pull[i + k] * *(OF(place))(a + k * r + tail.last);
        *(OF(vector) *)(sums + tail.last) += tail.fresh * rest;
    }
    for (; i < n; i++)
        for (ptrdiff_t j = 0; j < r; j++)
            sums[j] += pull[i] * rows[i * r + j];
}

/* The losses of at most CHUNK rows with the values f, over which what they pull is written; adds to pull and risk. */
static void OF(pull_of)(const struct loss *loss, int n, double *restrict f, const REAL *restrict y,
                        const REAL *restrict weights, double intercept, double *pull, double *risk)
{
    double value[CHUNK];
    if (loss->margins)
        for (int i = 0; i < n; i++)
            f[i] = 1 - y[i] * (f[i] + intercept);
    else
        for (int i = 0; i < n; i++)
            f[i] = y[i] - (f[i] + intercept);
    NAME(evaluate)(loss, n, f, value);
    if (weights != NULL)
        for (int i = 0; i < n; i++) {
            value[i] *= weights[i];
            f[i] *= weights[i];
        }
    if (loss->margins)
        for (int i = 0; i < n; i++)
            f[i] *= y[i];
    *risk += NAME(total)(n, value);
    *pull += NAME(total)(n, f);
}

/* One column: what n rows add to the gradient on the r features, to that of the intercept and to the risk. */
static void OF(sweep)(const struct loss *loss, ptrdiff_t n, ptrdiff_t r, const void *features, const void *targets,
                      const void *row_weights, const void *coefficients, double intercept, void *scratch,
                      double *gradient, double *sums)
{
    const REAL *rows = features, *y = targets, *weights = row_weights, *dual = coefficients;
    REAL *partial = scratch, own[CHUNK];
    double f[CHUNK];
    /* as many rows as stay in the nearest caches between the two products */
    ptrdiff_t tile = TILE_BYTES / (r * (ptrdiff_t)sizeof(REAL)) / ABREAST * ABREAST;
    tile = tile < ABREAST ? ABREAST : tile > CHUNK ? CHUNK : tile;
    memset(partial, 0, r * sizeof(REAL));
    memset(gradient, 0, r * sizeof(double));
    sums[0] = sums[1] = 0;
    for (ptrdiff_t low = 0, unsummed = 0; low < n; low += tile) {
        int length = (int)(n - low < tile ? n - low : tile);
        /* in the end the first rows are fetched again: there are no others */
        const REAL *ahead = rows + (low + 2 * tile <= n ? low + tile : 0) * r;
        OF(products)(rows + low * r, length, r, dual, f, ahead);
        OF(pull_of)(loss, length, f, y + low, weights == NULL ? NULL : weights + low, intercept, sums, sums + 1);
        for (int i = 0; i < length; i++)
            own[i] = (REAL)f[i];
        OF(gather)(rows + low * r, length, r, own, partial, ahead + length / 2 * r);
        unsummed += length;
        /* long sums in double precision */
        if (unsummed >= MOST_UNSUMMED || low + tile >= n) {
            for (ptrdiff_t j = 0; j < r; j++)
                gradient[j] += partial[j];
            memset(partial, 0, r * sizeof(REAL));
            unsummed = 0;
        }
    }
}

/* Several columns: what each of their rows pulls, over the values f, with the sums of the pulls and of the risks.

   Columns lie one after the other; those of the targets and of the weights may be shared by all. */
static void OF(pulls)(const struct loss *loss, ptrdiff_t n, ptrdiff_t q, void *values, const void *targets,
                      int targets_are_shared, const void *row_weights, int weights_are_shared,
                      const void *intercepts, double *pulls, double *risks)
{
    const REAL *intercept = intercepts;
    for (ptrdiff_t j = 0; j < q; j++) {
        REAL *f = (REAL *)values + j * n;
        const REAL *y = (const REAL *)targets + (targets_are_shared ? 0 : j * n);
        const REAL *weights = row_weights == NULL ? NULL : (const REAL *)row_weights + (weights_are_shared ? 0 : j * n);
        pulls[j] = risks[j] = 0;
        for (ptrdiff_t low = 0; low < n; low += CHUNK) {
            int length = (int)(n - low < CHUNK ? n - low : CHUNK);
            double u[CHUNK];
            for (int i = 0; i < length; i++)
                u[i] = f[low + i];
            OF(pull_of)(loss, length, u, y + low, weights == NULL ? NULL : weights + low, intercept[j], pulls + j,
                        risks + j);
            for (int i = 0; i < length; i++)
                f[low + i] = (REAL)u[i];
        }
    }
}

/* e to the power of numbers, of which those above 0 are taken as 0, written over them. */
static void OF(decay)(ptrdiff_t n, void *numbers)
{
    REAL *x = numbers;
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = OF(exp_of)(x[i] > 0 ? 0 : x[i]);
}
