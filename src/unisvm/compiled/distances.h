/* Distances ‖x − z‖₁ between rows x and points z.

   Included like rows.h, after it; BITS is a whole number as wide as REAL. The points lie in panels: the first numbers of
   so many points side by side, then their second numbers, and so on, so that vectors run along the points and nothing
   has to be summed across a vector. */

/* points and vectors of a panel, and rows whose sums fill the registers */
enum { OF(WIDE) = BYTES_OF_PANEL / sizeof(REAL), OF(ACROSS) = OF(WIDE) / OF(LANES), OF(ROWS_AT_ONCE) = 4 };

typedef BITS OF(bits) __attribute__((vector_size(32), may_alias));

/* Add |x − z|: all bits of the difference but the first, which is the sign. */
static inline void OF(add_distance)(OF(vector) *sum, REAL x, const OF(vector) *z)
{
    const OF(bits) all_but_sign = (OF(bits)){0} + (sizeof(BITS) == 4 ? INT32_MAX : (BITS)INT64_MAX);
    *sum += (OF(vector))((OF(bits))(x - *z) & all_but_sign);
}

/* Write the sums of a panel, of which `room` points exist. */
static inline void OF(put)(const OF(vector) *sums, REAL *restrict to, ptrdiff_t room)
{
    if (room >= OF(WIDE))
        for (int k = 0; k < OF(ACROSS); k++)
            *(OF(vector) *)(to + k * OF(LANES)) = sums[k];
    else
        memcpy(to, sums, room * sizeof(REAL));
}

/* The distances of `count` rows to the points of a panel, by some of their numbers; added to what is there if there is
   `more`. */
static inline __attribute__((always_inline)) void OF(distances_of_rows)(int count, const REAL *restrict rows, ptrdiff_t d,
                                                                        ptrdiff_t length, const REAL *restrict panel,
                                                                        REAL *restrict to, ptrdiff_t r, ptrdiff_t room,
                                                                        int more)
{
    OF(vector) sums[OF(ROWS_AT_ONCE)][OF(ACROSS)] = {{{0}}};
    for (ptrdiff_t j = 0; j < length; j++, panel += OF(WIDE))
        for (int k = 0; k < OF(ACROSS); k++) {
            OF(vector) z = *(OF(place))(panel + k * OF(LANES));
            for (int i = 0; i < count; i++)
                OF(add_distance)(&sums[i][k], rows[i * d + j], &z);
        }
    for (int i = 0; i < count; i++) {
        if (more) {
            OF(vector) before[OF(ACROSS)] = {{0}};
            memcpy(before, to + i * r, (room < OF(WIDE) ? room : OF(WIDE)) * sizeof(REAL));
            for (int k = 0; k < OF(ACROSS); k++)
                sums[i][k] += before[k];
        }
        OF(put)(sums[i], to + i * r, room);
    }
}

/* The distances of n rows of d numbers to r points. A part of the numbers after the other: that much of a panel stays in
   the nearest cache. */
static void OF(distances)(ptrdiff_t n, ptrdiff_t d, ptrdiff_t r, const void *rows_, const void *panels_, void *to_)
{
    const REAL *rows = rows_, *panels = panels_;
    REAL *to = to_;
    for (ptrdiff_t low = 0; low < d; low += PART_OF_POINTS) {
        ptrdiff_t length = d - low < PART_OF_POINTS ? d - low : PART_OF_POINTS;
        for (ptrdiff_t c = 0; c < r; c += OF(WIDE)) {
            const REAL *panel = panels + c * d + low * OF(WIDE);
            ptrdiff_t i = 0;
            for (; i + OF(ROWS_AT_ONCE) <= n; i += OF(ROWS_AT_ONCE))
                OF(distances_of_rows)(OF(ROWS_AT_ONCE), rows + i * d + low, d, length, panel, to + i * r + c, r, r - c,
                                      low > 0);
            for (; i < n; i++)
                OF(distances_of_rows)(1, rows + i * d + low, d, length, panel, to + i * r + c, r, r - c, low > 0);
        }
    }
}
