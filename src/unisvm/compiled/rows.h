/* Sweeps over rows of features, and what rows of many columns pull.

   Included for each kind of processor and each precision: REAL is float or double, and NAME and OF tell them apart. */

typedef REAL OF(vector) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));

enum { OF(LANES) = 32 / sizeof(REAL) };

typedef const OF(vector) *OF(place);

static inline REAL OF(sum)(OF(vector) v)
{
    REAL total = 0;
    for (int k = 0; k < OF(LANES); k += 2)
        total += v[k] + v[k + 1];
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

/* Fetch what lies at a place of two rows, if a line of the cache begins there in the j-th column. */
static inline void OF(fetch)(const REAL *soon, ptrdiff_t r, ptrdiff_t j)
{
    if (j % (64 / (ptrdiff_t)sizeof(REAL)) == 0) {
        __builtin_prefetch(soon);
        __builtin_prefetch(soon + r);
    }
}

/* The products of some rows of at least one vector with the coefficients.

   Meanwhile half as many rows are fetched from memory: the processor does not go on by itself to those that follow. */
static void OF(products)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual, double *restrict f,
                         const REAL *ahead)
{
    struct OF(tail) tail = OF(tail_of)(r);
    OF(vector) rest = tail.fresh * *(OF(place))(dual + tail.last);
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        const REAL *a = rows + i * r, *b = a + r, *c = b + r, *d = c + r;
        OF(vector) sa = rest * *(OF(place))(a + tail.last), sb = rest * *(OF(place))(b + tail.last);
        OF(vector) sc = rest * *(OF(place))(c + tail.last), sd = rest * *(OF(place))(d + tail.last);
        const REAL *soon = ahead + i / 2 * r;
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES)) {
            OF(fetch)(soon + j, r, j);
            OF(vector) x = *(OF(place))(dual + j);
            sa += x * *(OF(place))(a + j);
            sb += x * *(OF(place))(b + j);
            sc += x * *(OF(place))(c + j);
            sd += x * *(OF(place))(d + j);
        }
        f[i] = OF(sum)(sa);
        f[i + 1] = OF(sum)(sb);
        f[i + 2] = OF(sum)(sc);
        f[i + 3] = OF(sum)(sd);
    }
    for (; i < n; i++) {
        const REAL *a = rows + i * r;
        OF(vector) sa = rest * *(OF(place))(a + tail.last);
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES))
            sa += *(OF(place))(dual + j) * *(OF(place))(a + j);
        f[i] = OF(sum)(sa);
    }
}

/* Add what some rows pull at the features, and fetch half as many meanwhile. */
static void OF(gather)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict pull, REAL *restrict sums,
                       const REAL *ahead)
{
    struct OF(tail) tail = OF(tail_of)(r);
    OF(vector) *x = (OF(vector) *)(sums + tail.last);
    int i = 0;
    for (; i + 4 <= n; i += 4) {
        const REAL *a = rows + i * r, *b = a + r, *c = b + r, *d = c + r;
        REAL pa = pull[i], pb = pull[i + 1], pc = pull[i + 2], pd = pull[i + 3];
        const REAL *soon = ahead + i / 2 * r;
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES)) {
            OF(fetch)(soon + j, r, j);
            *(OF(vector) *)(sums + j) += pa * *(OF(place))(a + j) + pb * *(OF(place))(b + j) +
                                         (pc * *(OF(place))(c + j) + pd * *(OF(place))(d + j));
        }
        *x += tail.fresh * (pa * *(OF(place))(a + tail.last) + pb * *(OF(place))(b + tail.last) +
                            (pc * *(OF(place))(c + tail.last) + pd * *(OF(place))(d + tail.last)));
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
    ptrdiff_t tile = TILE_BYTES / (r * (ptrdiff_t)sizeof(REAL)) / 4 * 4;
    tile = tile < 4 ? 4 : tile > CHUNK ? CHUNK : tile;
    memset(partial, 0, r * sizeof(REAL));
    memset(gradient, 0, r * sizeof(double));
    sums[0] = sums[1] = 0;
    for (ptrdiff_t low = 0, unsummed = 0; low < n; low += tile) {
        int length = (int)(n - low < tile ? n - low : tile);
        const REAL *ahead = rows + (low + tile) * r;
        OF(products)(rows + low * r, length, r, dual, f, ahead);
        OF(pull_of)(loss, length, f, y + low, weights == NULL ? NULL : weights + low, intercept, sums, sums + 1);
        for (int i = 0; i < length; i++)
            own[i] = (REAL)f[i];
        OF(gather)(rows + low * r, length, r, own, partial, ahead + tile / 2 * r);
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
