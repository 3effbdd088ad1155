/* Values and slopes of the losses, for a few residuals at a time, in double precision.

   Included once for each kind of processor, with NAME to tell the functions apart. The loops have no branches, so that
   the compiler turns them into vector instructions. */

/* e to the power of x, for x of at most 0, and 0 where that would not be a normal number. */
static inline double NAME(exp_of_double)(double x)
{
    double most = x < -708.0 ? -708.0 : x;
    /* adding 1.5 * 2^52 rounds to a whole number, which is then in the lowest bits */
    double shifted = most * 1.4426950408889634 + 0x1.8p52;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    double whole = shifted - 0x1.8p52;
    /* log 2 in two parts, so that the difference is exact */
    double t = (most - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
    double sum = 1 / 6227020800.0;
    sum = sum * t + 1 / 479001600.0;
    sum = sum * t + 1 / 39916800.0;
    sum = sum * t + 1 / 3628800.0;
    sum = sum * t + 1 / 362880.0;
    sum = sum * t + 1 / 40320.0;
    sum = sum * t + 1 / 5040.0;
    sum = sum * t + 1 / 720.0;
    sum = sum * t + 1 / 120.0;
    sum = sum * t + 1 / 24.0;
    sum = sum * t + 1 / 6.0;
    sum = sum * t + 0.5;
    sum = sum * t + 1.0;
    sum = sum * t + 1.0;
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return x < -708.0 ? 0.0 : sum * power;
}

/* The same in single precision. */
static inline float NAME(exp_of_single)(float x)
{
    float most = x < -87.0f ? -87.0f : x;
    float shifted = most * 1.44269504f + 0x1.8p23f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    float whole = shifted - 0x1.8p23f;
    float t = (most - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float sum = 1 / 5040.0f;
    sum = sum * t + 1 / 720.0f;
    sum = sum * t + 1 / 120.0f;
    sum = sum * t + 1 / 24.0f;
    sum = sum * t + 1 / 6.0f;
    sum = sum * t + 0.5f;
    sum = sum * t + 1.0f;
    sum = sum * t + 1.0f;
    bits = (bits + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0f ? 0.0f : sum * power;
}

/* log(1 + x), for finite x of at least 0. */
static inline double NAME(log1p_of)(double x)
{
    double y = 1 + x;
    /* what rounding took from x, to first order */
    double lost = (x - (y - 1)) / y;
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    uint64_t exponent = (bits >> 52) | 0x4330000000000000u;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    double whole, m;
    memcpy(&whole, &exponent, sizeof whole);
    memcpy(&m, &bits, sizeof m);
    whole -= 0x1p52 + 1023;
    double above = m > 1.4142135623730951 ? 1.0 : 0.0;
    m *= 1 - 0.5 * above;
    whole += above;
    /* log m = 2 artanh s */
    double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1 / 21.0;
    sum = sum * z + 1 / 19.0;
    sum = sum * z + 1 / 17.0;
    sum = sum * z + 1 / 15.0;
    sum = sum * z + 1 / 13.0;
    sum = sum * z + 1 / 11.0;
    sum = sum * z + 1 / 9.0;
    sum = sum * z + 1 / 7.0;
    sum = sum * z + 1 / 5.0;
    sum = sum * z + 1 / 3.0;
    sum = sum * z + 1.0;
    return whole * 6.93147180369123816490e-01 + (2 * s * sum + (whole * 1.90821492927058770002e-10 + lost));
}

/* The sum of n numbers, in four parts, since an addition waits for the one before. */
static inline double NAME(total)(int n, const double *numbers)
{
    four sums = {0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        sums += *(const four *)(numbers + i);
    double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    for (; i < n; i++)
        sum += numbers[i];
    return sum;
}

/* Parabolas one after the other: where the second and the following begin, then three coefficients of each. */
static void NAME(parabolas)(const double *p, int n_parabolas, int n, double *restrict u, double *restrict value)
{
    double constant[CHUNK], linear[CHUNK], square[CHUNK];
    const double *c = p + n_parabolas - 1;
    for (int i = 0; i < n; i++) {
        constant[i] = c[0];
        linear[i] = c[1];
        square[i] = c[2];
    }
    for (int k = 1; k < n_parabolas; k++) {
        double begin = p[k - 1], c0 = c[3 * k], c1 = c[3 * k + 1], c2 = c[3 * k + 2];
        for (int i = 0; i < n; i++) {
            constant[i] = u[i] >= begin ? c0 : constant[i];
            linear[i] = u[i] >= begin ? c1 : linear[i];
            square[i] = u[i] >= begin ? c2 : square[i];
        }
    }
    for (int i = 0; i < n; i++) {
        value[i] = constant[i] + u[i] * (linear[i] + u[i] * square[i]);
        u[i] = linear[i] + 2 * u[i] * square[i];
    }
}

/* Add a softplus(p (u - s))/p, but of max(u - s, 0) in it b times what is at most `height`. */
static void NAME(add_softplus)(double p, double s, double a, double b, double height, int n, const double *restrict u,
                               double *restrict value, double *restrict slope)
{
    double share = a / p;
    for (int i = 0; i < n; i++) {
        double x = u[i] - s, above = x > 0 ? x : 0, e = NAME(exp_of_double)(-p * fabs(x)), low = e / (1 + e);
        value[i] += b * (above < height ? above : height) + share * NAME(log1p_of)(e);
        slope[i] += a * (x >= 0 ? 1 - low : low);
    }
}

/* c0 + c1 u + a softplus(p (u - s))/p + b softplus(p (u - t))/p, from p, s, a, t, b, c1, c0. */
static void NAME(softplus)(const double *parameters, int n, double *restrict u, double *restrict value)
{
    double p = parameters[0], s = parameters[1], a = parameters[2], t = parameters[3], b = parameters[4];
    double c1 = parameters[5], c0 = parameters[6], slope[CHUNK];
    for (int i = 0; i < n; i++) {
        value[i] = c0 + c1 * u[i];
        slope[i] = c1;
    }
    /* of a ramp, which is flat in the end, the difference of what is large must not be formed */
    int flat = a + b == 0;
    NAME(add_softplus)(p, s, a, a, flat ? t - s : HUGE_VAL, n, u, value, slope);
    if (b != 0)
        NAME(add_softplus)(p, t, b, flat ? 0 : b, HUGE_VAL, n, u, value, slope);
    for (int i = 0; i < n; i++)
        u[i] = slope[i];
}

/* With w = g^c/b and g = max(u, 0), or |u| if it is for both signs: a (1 - exp(-w)), or a log(1 + w). */
static void NAME(powers)(const double *parameters, int of_log, int n, double *restrict u, double *restrict value)
{
    double a = parameters[0], b = parameters[1], c = parameters[2], both = parameters[3], most = pow(1e250 * b, 1 / c);
    double slope[CHUNK], w[CHUNK], sign[CHUNK];
    for (int i = 0; i < n; i++) {
        double g = u[i] < 0 ? -both * u[i] : u[i];
        sign[i] = u[i] < 0 ? -both : 1.0;
        u[i] = g > most ? most : g;
    }
    if (c == 2)
        for (int i = 0; i < n; i++)
            slope[i] = u[i];
    else if (c == 4)
        for (int i = 0; i < n; i++)
            slope[i] = u[i] * u[i] * u[i];
    else
        for (int i = 0; i < n; i++)
            slope[i] = pow(u[i], c - 1);
    double scale = 1 / b;
    for (int i = 0; i < n; i++)
        w[i] = slope[i] * u[i] * scale;
    if (of_log)
        for (int i = 0; i < n; i++) {
            value[i] = a * NAME(log1p_of)(w[i]);
            u[i] = sign[i] * (a * c / b) * slope[i] / (1 + w[i]);
        }
    else
        for (int i = 0; i < n; i++) {
            double left = NAME(exp_of_double)(-w[i]);
            value[i] = a - a * left;
            u[i] = sign[i] * (a * c / b) * (slope[i] * left);
        }
}

/* (c^2/6) (1 - max(1 - u^2/c^2, 0)^3). */
static void NAME(biweight)(double c, int n, double *restrict u, double *restrict value)
{
    double scale = 1 / c, bound = c * c / 6;
    for (int i = 0; i < n; i++) {
        double x = u[i] > c ? c : u[i] < -c ? -c : u[i];
        double t = x * scale * (x * scale);
        value[i] = bound * (t * (3 - 3 * t + t * t));
        u[i] = x * (1 - t) * (1 - t);
    }
}

/* The losses of at most CHUNK residuals, whose slopes are written over them. */
static void NAME(evaluate)(const struct loss *loss, int n, double *restrict u, double *restrict value)
{
    for (int i = 0; i < n; i++) {
        /* so that squares are finite, and what is not a number remains so */
        u[i] = u[i] > 1e150 ? 1e150 : u[i];
        u[i] = u[i] < -1e150 ? -1e150 : u[i];
    }
    switch (loss->form) {
    case PARABOLAS:
        NAME(parabolas)(loss->parameters, (int)(loss->n_parameters + 1) / 4, n, u, value);
        break;
    case SOFTPLUS:
        NAME(softplus)(loss->parameters, n, u, value);
        break;
    case SATURATING:
        NAME(powers)(loss->parameters, 0, n, u, value);
        break;
    case LOGARITHM:
        NAME(powers)(loss->parameters, 1, n, u, value);
        break;
    case BIWEIGHT:
        NAME(biweight)(loss->parameters[0], n, u, value);
        break;
    }
}
