/* Sweeps over rows of features.

   Included for each kind of processor and each precision: REAL is float or double, and NAME and OF tell them apart. */

typedef REAL OF(vector) __attribute__((vector_size(32), aligned(sizeof(REAL)), may_alias));

enum { OF(LANES) = 32 / sizeof(REAL) };

typedef const OF(vector) *OF(place);

/* The sum of n numbers in double precision, in four parts, since an addition waits for the one before. */
static inline double OF(total)(int n, const REAL *numbers)
{
    double sums[4] = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            sums[k] += numbers[i + k];
    for (; i < n; i++)
        sums[0] += numbers[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

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
static void OF(products)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual, REAL *restrict f,
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

static inline REAL OF(entry)(const struct matrix *matrix, ptrdiff_t row, ptrdiff_t column)
{
    return ((const REAL *)matrix->start)[row * matrix->to_next_row + column * matrix->to_next_column];
}

/* Bytes that a sweep of one column needs: for its coefficients and its gradient. */
static ptrdiff_t OF(scratch_of_one)(ptrdiff_t r, ptrdiff_t q)
{
    return 2 * q * r * (ptrdiff_t)sizeof(REAL);
}

/* One column: what the rows add to its gradient, to that of its intercept and to its risk. */
static void OF(sweep_one)(const struct sweep *sweep)
{
    ptrdiff_t n = sweep->n, r = sweep->r;
    const REAL *rows = sweep->features;
    REAL *dual = sweep->scratch, *partial = dual + r, intercept = *(const REAL *)sweep->intercept;
    REAL f[CHUNK], y[CHUNK], weights[CHUNK], value[CHUNK];
    double *gradient = sweep->gradients + *sweep->places * r;
    int weighted = sweep->weights.start != NULL;
    /* as many rows as stay in the nearest caches between the two products */
    ptrdiff_t tile = TILE_BYTES / (r * (ptrdiff_t)sizeof(REAL)) / ABREAST * ABREAST;
    tile = tile < ABREAST ? ABREAST : tile > CHUNK ? CHUNK : tile;
    for (ptrdiff_t j = 0; j < r; j++)
        dual[j] = OF(entry)(&sweep->dual, j, 0);
    memset(partial, 0, r * sizeof(REAL));
    for (ptrdiff_t low = 0, unsummed = 0; low < n; low += tile) {
        int length = (int)(n - low < tile ? n - low : tile);
        /* in the end the first rows are fetched again: there are no others */
        const REAL *ahead = rows + (low + 2 * tile <= n ? low + tile : 0) * r;
        OF(products)(rows + low * r, length, r, dual, f, ahead);
        for (int i = 0; i < length; i++) {
            f[i] += intercept;
            y[i] = OF(entry)(&sweep->y, low + i, 0);
            weights[i] = weighted ? OF(entry)(&sweep->weights, low + i, 0) : 1;
        }
        OF(pull)(sweep->losses, sweep->margins, length, y, weighted ? weights : NULL, f, value);
        sweep->pulls[*sweep->places] += OF(total)(length, f);
        sweep->risks[*sweep->places] += OF(total)(length, value);
        OF(gather)(rows + low * r, length, r, f, partial, ahead + length / 2 * r);
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

/* e to the power of numbers, of which those above 0 are taken as 0, written over them. */
static void OF(decay)(ptrdiff_t n, void *numbers)
{
    REAL *x = numbers;
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = OF(exp_of)(x[i] > 0 ? 0 : x[i]);
}
