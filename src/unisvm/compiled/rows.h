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

/* The products of some rows of at least one vector with up to SIDE_BY_SIDE columns of coefficients, a column after the
   other. Row after row: the processor fetches ahead what is read in the order of memory, and less of it the more rows
   are read side by side. */
static inline __attribute__((always_inline)) void OF(products)(int q, const REAL *restrict rows, int n, ptrdiff_t r,
                                                               const REAL *restrict dual, REAL *restrict f)
{
    /* sums are in parts, since an addition waits for the one before */
    const int parts = q == 1 ? 4 : 2;
    struct OF(tail) tail = OF(tail_of)(r);
    OF(vector) rest[SIDE_BY_SIDE];
    for (int c = 0; c < q; c++)
        rest[c] = tail.fresh * *(OF(place))(dual + c * r + tail.last);
    for (int i = 0; i < n; i++) {
        const REAL *a = rows + i * r;
        OF(vector) sums[SIDE_BY_SIDE][4];
        for (int c = 0; c < q; c++) {
            sums[c][0] = rest[c] * *(OF(place))(a + tail.last);
            for (int k = 1; k < parts; k++)
                sums[c][k] = (OF(vector)){0};
        }
        ptrdiff_t j = 0;
        for (; j + parts * OF(LANES) <= r; j += parts * OF(LANES))
            for (int k = 0; k < parts; k++) {
                OF(vector) x = *(OF(place))(a + j + k * OF(LANES));
                for (int c = 0; c < q; c++)
                    sums[c][k] += x * *(OF(place))(dual + c * r + j + k * OF(LANES));
            }
        for (; j < tail.whole; j += OF(LANES))
            for (int c = 0; c < q; c++)
                sums[c][0] += *(OF(place))(a + j) * *(OF(place))(dual + c * r + j);
        for (int c = 0; c < q; c++) {
            for (int k = 1; k < parts; k++)
                sums[c][0] += sums[c][k];
            f[c * n + i] = OF(sum)(&sums[c][0]);
        }
    }
}

/* Add what some rows pull at the features in up to SIDE_BY_SIDE columns. The rows are near, so that several side by
   side save sums. Meanwhile memory would be idle: rows that are so far ahead, if any, are fetched into the next cache,
   from which the processor brings them into the nearest one by itself. */
static inline __attribute__((always_inline)) void OF(gather)(int q, const REAL *restrict rows, int n, ptrdiff_t r,
                                                             const REAL *restrict pull, REAL *restrict sums,
                                                             ptrdiff_t ahead)
{
    struct OF(tail) tail = OF(tail_of)(r);
    int i = 0;
    for (; i + ABREAST <= n; i += ABREAST) {
        const REAL *a = rows + i * r;
        REAL own[SIDE_BY_SIDE][ABREAST];
        for (int c = 0; c < q; c++)
            memcpy(own[c], pull + c * n + i, sizeof own[c]);
        if (ahead > 0)
            for (ptrdiff_t j = 0; j < ABREAST * r; j += LINE / (ptrdiff_t)sizeof(REAL))
                __builtin_prefetch(a + ahead + j, 0, 2);
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES))
            for (int c = 0; c < q; c++) {
                OF(vector) sum = *(OF(place))(sums + c * r + j);
                for (int k = 0; k < ABREAST; k++)
                    sum += own[c][k] * *(OF(place))(a + k * r + j);
                *(OF(vector) *)(sums + c * r + j) = sum;
            }
        for (int c = 0; c < q; c++) {
            OF(vector) rest = {0};
            for (int k = 0; k < ABREAST; k++)
                rest += own[c][k] * *(OF(place))(a + k * r + tail.last);
            *(OF(vector) *)(sums + c * r + tail.last) += tail.fresh * rest;
        }
    }
    for (; i < n; i++)
        for (int c = 0; c < q; c++)
            for (ptrdiff_t j = 0; j < r; j++)
                sums[c * r + j] += pull[c * n + i] * rows[i * r + j];
}

/* Both products, compiled for each number of columns, so that the sums stay in registers. */
#define FOR_COLUMNS(q)                                                                                                 \
    static void OF(products_##q)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual,             \
                                 REAL *restrict f)                                                                     \
    {                                                                                                                  \
        OF(products)(q, rows, n, r, dual, f);                                                                          \
    }                                                                                                                  \
    static void OF(gather_##q)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict pull,               \
                               REAL *restrict sums, ptrdiff_t ahead)                                                   \
    {                                                                                                                  \
        OF(gather)(q, rows, n, r, pull, sums, ahead);                                                                         \
    }
FOR_COLUMNS(1)
FOR_COLUMNS(2)
FOR_COLUMNS(3)
#undef FOR_COLUMNS

typedef void OF(product)(const REAL *restrict, int, ptrdiff_t, const REAL *restrict, REAL *restrict);
typedef void OF(gathering)(const REAL *restrict, int, ptrdiff_t, const REAL *restrict, REAL *restrict, ptrdiff_t);

/* by the number of columns */
static OF(product) *const OF(products_of)[] = {NULL, OF(products_1), OF(products_2), OF(products_3)};
static OF(gathering) *const OF(gather_of)[] = {NULL, OF(gather_1), OF(gather_2), OF(gather_3)};

static inline REAL OF(entry)(const struct matrix *matrix, ptrdiff_t row, ptrdiff_t column)
{
    return ((const REAL *)matrix->start)[row * matrix->to_next_row + column * matrix->to_next_column];
}

/* Some rows of q columns, a column after the other: where they lie, or a copy if they lie otherwise. */
static inline const REAL *OF(by_columns)(const struct matrix *matrix, ptrdiff_t low, int n, int q, REAL *copy)
{
    if (matrix->start == NULL)
        return NULL;
    if (q == 1 && matrix->to_next_row == 1)
        return (const REAL *)matrix->start + low;
    for (int c = 0; c < q; c++)
        for (int i = 0; i < n; i++)
            copy[c * n + i] = OF(entry)(matrix, low + i, c);
    return copy;
}

/* What n rows from `low` on pull in q columns, written over their values; adds to the sums of pulls and risks. */
static inline void OF(pull_few)(const struct sweep *sweep, ptrdiff_t low, int n, int q, REAL *f)
{
    REAL value[MOST_OF_FEW], copies[2][MOST_OF_FEW];
    const REAL *y = OF(by_columns)(&sweep->y, low, n, q, copies[0]);
    const REAL *weights = OF(by_columns)(&sweep->weights, low, n, q, copies[1]);
    for (int c = 0; c < q; c++) {
        REAL intercept = ((const REAL *)sweep->intercept)[c];
        for (int i = 0; i < n; i++)
            f[c * n + i] += intercept;
    }
    for (ptrdiff_t k = 0, first = 0; k < sweep->n_losses; k++) {
        int length = (int)sweep->losses[k].n_columns * n;
        OF(pull)(&sweep->losses[k], sweep->margins, length, y + first, weights ? weights + first : NULL, f + first,
                 value + first);
        first += length;
    }
    for (int c = 0; c < q; c++) {
        sweep->pulls[sweep->places[c]] += OF(total)(n, f + c * n);
        sweep->risks[sweep->places[c]] += OF(total)(n, value + c * n);
    }
}

/* Bytes that a sweep of a few columns needs: for their coefficients and their gradients. */
static ptrdiff_t OF(scratch_of_few)(ptrdiff_t r, ptrdiff_t q)
{
    return 2 * q * r * (ptrdiff_t)sizeof(REAL);
}

/* Rows that stay in the nearest cache between the two products, beside those that are fetched ahead. Where these are
   too few for losses to be found together, some that stay in the next cache. */
static ptrdiff_t OF(rows_at_a_time)(ptrdiff_t r, ptrdiff_t q)
{
    ptrdiff_t bytes = r * (ptrdiff_t)sizeof(REAL), most = MOST_OF_FEW / q / 8 * 8, n = (NEAREST / bytes + 2) / 8 * 8;
    if (n == 0)
        n = NEXT / bytes < 16 ? 16 : NEXT / bytes / 8 * 8;
    return n < most ? n : most;
}

/* What the rows add to the gradients of a few columns, to those of their intercepts and to their risks. */
static void OF(sweep_few)(const struct sweep *sweep)
{
    ptrdiff_t n = sweep->n, r = sweep->r;
    int q = (int)sweep->q;
    REAL *dual = sweep->scratch, *partial = dual + q * r, f[MOST_OF_FEW];
    ptrdiff_t tile = OF(rows_at_a_time)(r, q);
    /* long rows keep the processor busy fetching by itself, and more at a time would drive each other out */
    ptrdiff_t ahead = r * (ptrdiff_t)sizeof(REAL) <= NEAREST / 5 ? TILES_AHEAD * tile : 0;
    for (int c = 0; c < q; c++)
        for (ptrdiff_t j = 0; j < r; j++)
            dual[c * r + j] = OF(entry)(&sweep->dual, j, c);
    memset(partial, 0, q * r * sizeof(REAL));
    for (ptrdiff_t low = 0, unsummed = 0; low < n; low += tile) {
        const REAL *rows = (const REAL *)sweep->features + low * r;
        int length = (int)(n - low < tile ? n - low : tile);
        for (int c = 0; c < q; c += SIDE_BY_SIDE)
            OF(products_of)[up_to_side_by_side(q - c)](rows, length, r, dual + c * r, f + c * length);
        OF(pull_few)(sweep, low, length, q, f);
        for (int c = 0; c < q; c += SIDE_BY_SIDE)
            OF(gather_of)[up_to_side_by_side(q - c)](rows, length, r, f + c * length, partial + c * r,
                                                     c == 0 && low + ahead + tile <= n ? ahead * r : 0);
        unsummed += length;
        /* long sums in double precision */
        if (unsummed + tile > MOST_UNSUMMED || low + tile >= n) {
            for (int c = 0; c < q; c++) {
                double *gradient = sweep->gradients + sweep->places[c] * r;
                for (ptrdiff_t j = 0; j < r; j++)
                    gradient[j] += partial[c * r + j];
            }
            memset(partial, 0, q * r * sizeof(REAL));
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
