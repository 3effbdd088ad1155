/* Values ψ(u) and derivatives ψ'(u) of the losses, a block of residuals at a time.

   The loops have no branches, so that the compiler turns them into vector instructions. */

/* most residuals of a block */
#define LOSS_BLOCK 512

/* c0 + c1 u + c2 u², with coefficients of the k-th parabola from p[k - 1] on; p has these starts, then c0, c1, c2 of
   each parabola. */
static void TYPED(parabolas)(int n_parabolas, const double *p, int n, REAL *restrict u, REAL *restrict value)
{
    REAL constant[LOSS_BLOCK], linear[LOSS_BLOCK], square[LOSS_BLOCK];
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

/* Add b min(max(u - s, 0), height) + (a/p) log(1 + exp(-p |u - s|)) to the values, and the derivative of
   a softplus(p (u - s))/p to the derivatives. With b = a and an infinite height, both are of that softplus. */
static void TYPED(add_softplus)(REAL p, REAL s, REAL a, REAL b, REAL height, int n, const REAL *restrict u,
                                REAL *restrict value, REAL *restrict derivative)
{
    REAL share = a / p;
    for (int i = 0; i < n; i++) {
        REAL x = u[i] - s, above = x > 0 ? x : 0, e = TYPED(exp_nonpositive)(x > 0 ? -p * x : p * x), low = e / (1 + e);
        value[i] += b * (above < height ? above : height) + share * TYPED(log1p_nonnegative)(e);
        derivative[i] += a * (x >= 0 ? 1 - low : low);
    }
}

/* c0 + c1 u + a softplus(p (u - s))/p + b softplus(p (u - t))/p; parameters p, s, a, t, b, c1, c0. */
static void TYPED(softplus)(const double *parameters, int n, REAL *restrict u, REAL *restrict value)
{
    REAL given[7], derivative[LOSS_BLOCK];
    for (int k = 0; k < 7; k++)
        given[k] = (REAL)parameters[k];
    REAL p = given[0], s = given[1], a = given[2], t = given[3], b = given[4], c1 = given[5], c0 = given[6];
    for (int i = 0; i < n; i++) {
        value[i] = c0 + c1 * u[i];
        derivative[i] = c1;
    }
    /* a ramp is flat in the end: the difference of max(u - s, 0) and max(u - t, 0) would cancel for large u, where
       min(max(u - s, 0), t - s) does not */
    int flat = a + b == 0;
    TYPED(add_softplus)(p, s, a, a, flat ? t - s : (REAL)HUGE_VAL, n, u, value, derivative);
    if (b != 0)
        TYPED(add_softplus)(p, t, b, flat ? 0 : b, (REAL)HUGE_VAL, n, u, value, derivative);
    for (int i = 0; i < n; i++)
        u[i] = derivative[i];
}

/* a (1 - exp(-w)), w = g^c/b, g = max(u, 0), or |u| if `both` is 1 and not 0; parameters a, b, c, both. */
static void TYPED(saturating)(const double *parameters, int n, REAL *restrict u, REAL *restrict value)
{
    double exact_c = parameters[2], largest_w = sizeof(REAL) == sizeof(float) ? 1e30 : 1e250;
    REAL a = (REAL)parameters[0], b = (REAL)parameters[1], c = (REAL)exact_c, both = (REAL)parameters[3];
    /* a power takes as long as the losses of several rows */
    double largest = largest_w * b;
    REAL most = (REAL)(exact_c == 2 ? sqrt(largest) : exact_c == 4 ? sqrt(sqrt(largest)) : pow(largest, 1 / exact_c));
    REAL scale = 1 / b, power[LOSS_BLOCK], sign[LOSS_BLOCK];
    for (int i = 0; i < n; i++) {
        REAL g = u[i] < 0 ? -both * u[i] : u[i];
        sign[i] = u[i] < 0 ? -both : 1;
        u[i] = g > most ? most : g;
    }
    /* g^(c - 1) */
    if (exact_c == 2)
        for (int i = 0; i < n; i++)
            power[i] = u[i];
    else if (exact_c == 4)
        for (int i = 0; i < n; i++)
            power[i] = u[i] * u[i] * u[i];
    else
        for (int i = 0; i < n; i++)
            power[i] = (REAL)pow(u[i], exact_c - 1);
    for (int i = 0; i < n; i++) {
        REAL left = TYPED(exp_nonpositive)(-power[i] * u[i] * scale);
        value[i] = a - a * left;
        u[i] = sign[i] * (a * c / b) * (power[i] * left);
    }
}

/* a log(1 + w) with w and the parameters of `saturating`; in double precision, since it grows on where w is too large
   for single. */
static void TYPED(logarithm)(const double *parameters, int n, REAL *restrict u, REAL *restrict value)
{
    double a = parameters[0], b = parameters[1], c = parameters[2], both = parameters[3], most = pow(1e250 * b, 1 / c);
    double g[LOSS_BLOCK], power[LOSS_BLOCK];
    for (int i = 0; i < n; i++) {
        double x = u[i] < 0 ? -both * u[i] : u[i];
        g[i] = x > most ? most : x;
    }
    /* g^(c - 1) */
    if (c == 2)
        for (int i = 0; i < n; i++)
            power[i] = g[i];
    else
        for (int i = 0; i < n; i++)
            power[i] = pow(g[i], c - 1);
    for (int i = 0; i < n; i++) {
        double w = power[i] * g[i] / b;
        value[i] = (REAL)(a * ARCH(log1p_nonnegative_double)(w));
        u[i] = (REAL)((u[i] < 0 ? -both : 1) * (a * c / b) * power[i] / (1 + w));
    }
}

/* (c²/6) (1 - max(1 - u²/c², 0)³). */
static void TYPED(biweight)(REAL c, int n, REAL *restrict u, REAL *restrict value)
{
    REAL scale = 1 / c, bound = c * c / 6;
    for (int i = 0; i < n; i++) {
        REAL x = u[i] > c ? c : u[i] < -c ? -c : u[i];
        REAL t = x * scale * (x * scale);
        value[i] = bound * (t * (3 - 3 * t + t * t));
        u[i] = x * (1 - t) * (1 - t);
    }
}

/* ψ(u) of n ≤ LOSS_BLOCK residuals; ψ'(u) is written over u. */
static void TYPED(evaluate_loss)(const struct loss *loss, int n, REAL *restrict u, REAL *restrict value)
{
    /* infinity times 0 would give NaN; NaN itself passes through both comparisons */
    const REAL most = (REAL)(sizeof(REAL) == sizeof(float) ? 1e38 : 1e150);
    for (int i = 0; i < n; i++) {
        u[i] = u[i] > most ? most : u[i];
        u[i] = u[i] < -most ? -most : u[i];
    }
    switch (loss->form) {
    case PARABOLAS:
        TYPED(parabolas)((int)(loss->n_parameters + 1) / 4, loss->parameters, n, u, value);
        break;
    case SOFTPLUS:
        TYPED(softplus)(loss->parameters, n, u, value);
        break;
    case SATURATING:
        TYPED(saturating)(loss->parameters, n, u, value);
        break;
    case LOGARITHM:
        TYPED(logarithm)(loss->parameters, n, u, value);
        break;
    case BIWEIGHT:
        TYPED(biweight)((REAL)loss->parameters[0], n, u, value);
        break;
    }
}

/* s ψ(u) of n ≤ LOSS_BLOCK rows, with u = 1 - y f for margins and u = y - f otherwise. The pointwise gradients
   v = s y ψ'(u) and v = s ψ'(u) are written over f. Weights of NULL are 1. */
static void TYPED(pointwise_gradients)(const struct loss *loss, int is_margin, int n, const REAL *restrict y,
                                       const REAL *restrict weights, REAL *restrict f, REAL *restrict value)
{
    if (is_margin)
        for (int i = 0; i < n; i++)
            f[i] = 1 - y[i] * f[i];
    else
        for (int i = 0; i < n; i++)
            f[i] = y[i] - f[i];
    TYPED(evaluate_loss)(loss, n, f, value);
    if (weights != NULL)
        for (int i = 0; i < n; i++) {
            value[i] *= weights[i];
            f[i] *= weights[i];
        }
    if (is_margin)
        for (int i = 0; i < n; i++)
            f[i] *= y[i];
}
