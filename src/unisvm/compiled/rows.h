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

/* The products of some rows of at least one vector with the coefficients. Row after row: the processor fetches ahead
   what is read in the order of memory, and does less of it the more rows are read side by side. */
static void OF(products)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict dual, REAL *restrict f)
{
    struct OF(tail) tail = OF(tail_of)(r);
    OF(vector) rest = tail.fresh * *(OF(place))(dual + tail.last);
    for (int i = 0; i < n; i++) {
        const REAL *a = rows + i * r;
        /* in four parts, since an addition waits for the one before */
        OF(vector) sums[4] = {rest * *(OF(place))(a + tail.last)};
        ptrdiff_t j = 0;
        for (; j + 4 * OF(LANES) <= r; j += 4 * OF(LANES))
            for (int k = 0; k < 4; k++)
                sums[k] += *(OF(place))(dual + j + k * OF(LANES)) * *(OF(place))(a + j + k * OF(LANES));
        for (; j < tail.whole; j += OF(LANES))
            sums[0] += *(OF(place))(dual + j) * *(OF(place))(a + j);
        sums[0] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        f[i] = OF(sum)(&sums[0]);
    }
}

/* Add what some rows pull at the features. The rows are near, so that several side by side save sums. */
static void OF(gather)(const REAL *restrict rows, int n, ptrdiff_t r, const REAL *restrict pull, REAL *restrict sums)
{
    struct OF(tail) tail = OF(tail_of)(r);
    int i = 0;
    for (; i + ABREAST <= n; i += ABREAST) {
        const REAL *a = rows + i * r;
        for (ptrdiff_t j = 0; j < tail.whole; j += OF(LANES)) {
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

/* Some numbers of the first column of a matrix: where they lie, or a copy if that is not one after the other. */
static inline const REAL *OF(first_column)(const struct matrix *matrix, ptrdiff_t low, int n, REAL *copy)
{
    if (matrix->start == NULL)
        return NULL;
    if (matrix->to_next_row == 1)
        return (const REAL *)matrix->start + low;
    for (int i = 0; i < n; i++)
        copy[i] = OF(entry)(matrix, low + i, 0);
    return copy;
}

/* One column: what the rows add to its gradient, to that of its intercept and to its risk. */
static void OF(sweep_one)(const struct sweep *sweep)
{
    ptrdiff_t n = sweep->n, r = sweep->r;
    const REAL *rows = sweep->features;
    REAL *dual = sweep->scratch, *partial = dual + r, intercept = *(const REAL *)sweep->intercept;
    REAL f[CHUNK], value[CHUNK], copies[2][CHUNK];
    double *gradient = sweep->gradients + *sweep->places * r;
    /* as many rows as stay in the nearest cache between the two products, but enough for their losses */
    ptrdiff_t tile = TILE_BYTES / (r * (ptrdiff_t)sizeof(REAL)) / LEAST_ROWS * LEAST_ROWS;
    tile = tile < LEAST_ROWS ? LEAST_ROWS : tile > CHUNK ? CHUNK : tile;
    for (ptrdiff_t j = 0; j < r; j++)
        dual[j] = OF(entry)(&sweep->dual, j, 0);
    memset(partial, 0, r * sizeof(REAL));
    for (ptrdiff_t low = 0, unsummed = 0; low < n; low += tile) {
        int length = (int)(n - low < tile ? n - low : tile);
        const REAL *y = OF(first_column)(&sweep->y, low, length, copies[0]);
        const REAL *weights = OF(first_column)(&sweep->weights, low, length, copies[1]);
        OF(products)(rows + low * r, length, r, dual, f);
        for (int i = 0; i < length; i++)
            f[i] += intercept;
        OF(pull)(sweep->losses, sweep->margins, length, y, weights, f, value);
        sweep->pulls[*sweep->places] += OF(total)(length, f);
        sweep->risks[*sweep->places] += OF(total)(length, value);
        OF(gather)(rows + low * r, length, r, f, partial);
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
