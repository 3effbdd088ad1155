/* Values and slopes of the losses, for a few residuals at a time.

   Included for each kind of processor and each precision, like rows.h. The loops have no branches, so that the compiler
   turns them into vector instructions. */

/* Parabolas one after the other: where the second and the following begin, then three coefficients of each. */
static void OF(parabolas)(int n_parabolas, const double *p, int n, REAL *restrict u, REAL *restrict value)
{
    REAL constant[PIECE], linear[PIECE], square[PIECE];
    const double *c = p + n_parabolas - 1;
    for (int i = 0; i < n; i++) {
        constant[i] = (REAL)c[0];
        linear[i] = (REAL)c[1];
        square[i] = (REAL)c[2];
    }
    for (int k = 1; k < n_parabolas; k++) {
        REAL begin = (REAL)p[k - 1], c0 = (REAL)c[3 * k], c1 = (REAL)c[3 * k + 1], c2 = (REAL)c[3 * k + 2];
        for (int i = 0; i < n; i++) {
            /* products, where a choice would become a branch or a slow kind of store */
            REAL begun = u[i] >= begin ? 1 : 0, before = 1 - begun;
            constant[i] = begun * c0 + before * constant[i];
            linear[i] = begun * c1 + before * linear[i];
            square[i] = begun * c2 + before * square[i];
        }
    }
    for (int i = 0; i < n; i++) {
        value[i] = constant[i] + u[i] * (linear[i] + u[i] * square[i]);
        u[i] = linear[i] + 2 * u[i] * square[i];
    }
}

/* Add a softplus(p (u - s))/p, but of max(u - s, 0) in it b times what is at most `height`. */
static void OF(add_softplus)(REAL p, REAL s, REAL a, REAL b, REAL height, int n, const REAL *restrict u,
                             REAL *restrict value, REAL *restrict slope)
{
    REAL share = a / p;
    for (int i = 0; i < n; i++) {
        REAL x = u[i] - s, above = x > 0 ? x : 0, e = OF(exp_of)(x > 0 ? -p * x : p * x), low = e / (1 + e);
        value[i] += b * (above < height ? above : height) + share * OF(log1p_of)(e);
        slope[i] += a * (x >= 0 ? 1 - low : low);
    }
}

/* c0 + c1 u + a softplus(p (u - s))/p + b softplus(p (u - t))/p, from p, s, a, t, b, c1, c0. */
static void OF(softplus)(const double *parameters, int n, REAL *restrict u, REAL *restrict value)
{
    REAL given[7], slope[PIECE];
    for (int k = 0; k < 7; k++)
        given[k] = (REAL)parameters[k];
    REAL p = given[0], s = given[1], a = given[2], t = given[3], b = given[4], c1 = given[5], c0 = given[6];
    for (int i = 0; i < n; i++) {
        value[i] = c0 + c1 * u[i];
        slope[i] = c1;
    }
    /* of a ramp, which is flat in the end, the difference of what is large must not be formed */
    int flat = a + b == 0;
    OF(add_softplus)(p, s, a, a, flat ? t - s : (REAL)HUGE_VAL, n, u, value, slope);
    if (b != 0)
        OF(add_softplus)(p, t, b, flat ? 0 : b, (REAL)HUGE_VAL, n, u, value, slope);
    for (int i = 0; i < n; i++)
        u[i] = slope[i];
}

/* a (1 - exp(-w)) with w = g^c/b and g = max(u, 0), or |u| if it is for both signs, from a, b, c and 1 for both. */
static void OF(saturating)(const double *parameters, int n, REAL *restrict u, REAL *restrict value)
{
    double exact_c = parameters[2], largest_w = sizeof(REAL) == sizeof(float) ? 1e30 : 1e250;
    REAL a = (REAL)parameters[0], b = (REAL)parameters[1], c = (REAL)exact_c, both = (REAL)parameters[3];
    /* a power takes as long as the losses of several rows */
    double largest = largest_w * b;
    REAL most = (REAL)(exact_c == 2 ? sqrt(largest) : exact_c == 4 ? sqrt(sqrt(largest)) : pow(largest, 1 / exact_c));
    REAL scale = 1 / b, slope[PIECE], sign[PIECE];
    for (int i = 0; i < n; i++) {
        REAL g = u[i] < 0 ? -both * u[i] : u[i];
        sign[i] = u[i] < 0 ? -both : 1;
        u[i] = g > most ? most : g;
    }
    if (exact_c == 2)
        for (int i = 0; i < n; i++)
            slope[i] = u[i];
    else if (exact_c == 4)
        for (int i = 0; i < n; i++)
            slope[i] = u[i] * u[i] * u[i];
    else
        for (int i = 0; i < n; i++)
            slope[i] = (REAL)pow(u[i], exact_c - 1);
    for (int i = 0; i < n; i++) {
        REAL left = OF(exp_of)(-slope[i] * u[i] * scale);
        value[i] = a - a * left;
        u[i] = sign[i] * (a * c / b) * (slope[i] * left);
    }
}

/* a log(1 + w) of the same w, in double precision: it grows on where w is too large for single. */
static void OF(logarithm)(const double *parameters, int n, REAL *restrict u, REAL *restrict value)
{
    double a = parameters[0], b = parameters[1], c = parameters[2], both = parameters[3], most = pow(1e250 * b, 1 / c);
    double g[PIECE], slope[PIECE];
    for (int i = 0; i < n; i++) {
        double x = u[i] < 0 ? -both * u[i] : u[i];
        g[i] = x > most ? most : x;
    }
    if (c == 2)
        for (int i = 0; i < n; i++)
            slope[i] = g[i];
    else
        for (int i = 0; i < n; i++)
            slope[i] = pow(g[i], c - 1);
    for (int i = 0; i < n; i++) {
        double w = slope[i] * g[i] / b;
        value[i] = (REAL)(a * NAME(log1p_of_double)(w));
        u[i] = (REAL)((u[i] < 0 ? -both : 1) * (a * c / b) * slope[i] / (1 + w));
    }
}

/* (c^2/6) (1 - max(1 - u^2/c^2, 0)^3). */
static void OF(biweight)(REAL c, int n, REAL *restrict u, REAL *restrict value)
{
    REAL scale = 1 / c, bound = c * c / 6;
    for (int i = 0; i < n; i++) {
        REAL x = u[i] > c ? c : u[i] < -c ? -c : u[i];
        REAL t = x * scale * (x * scale);
        value[i] = bound * (t * (3 - 3 * t + t * t));
        u[i] = x * (1 - t) * (1 - t);
    }
}

/* The losses of at most PIECE residuals, whose slopes are written over them. */
static void OF(evaluate)(const struct loss *loss, int n, REAL *restrict u, REAL *restrict value)
{
    /* nothing infinite, which times 0 would not be a number; and what is not a number remains so */
    const REAL most = (REAL)(sizeof(REAL) == sizeof(float) ? 1e38 : 1e150);
    for (int i = 0; i < n; i++) {
        u[i] = u[i] > most ? most : u[i];
        u[i] = u[i] < -most ? -most : u[i];
    }
    switch (loss->form) {
    case PARABOLAS:
        OF(parabolas)((int)(loss->n_parameters + 1) / 4, loss->parameters, n, u, value);
        break;
    case SOFTPLUS:
        OF(softplus)(loss->parameters, n, u, value);
        break;
    case SATURATING:
        OF(saturating)(loss->parameters, n, u, value);
        break;
    case LOGARITHM:
        OF(logarithm)(loss->parameters, n, u, value);
        break;
    case BIWEIGHT:
        OF(biweight)((REAL)loss->parameters[0], n, u, value);
        break;
    }
}

/* What at most PIECE rows with the values f pull, written over f, and what they cost. Without weights, which are then
   NULL, every row counts once. */
static void OF(pull)(const struct loss *loss, int margins, int n, const REAL *restrict y, const REAL *restrict weights,
                     REAL *restrict f, REAL *restrict value)
{
    if (margins)
        for (int i = 0; i < n; i++)
            f[i] = 1 - y[i] * f[i];
    else
        for (int i = 0; i < n; i++)
            f[i] = y[i] - f[i];
    OF(evaluate)(loss, n, f, value);
    if (weights != NULL)
        for (int i = 0; i < n; i++) {
            value[i] *= weights[i];
            f[i] *= weights[i];
        }
    if (margins)
        for (int i = 0; i < n; i++)
            f[i] *= y[i];
}
