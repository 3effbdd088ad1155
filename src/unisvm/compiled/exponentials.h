/* Exponentials and logarithms without branches, which the compiler turns into vector instructions.

   Included once for each instruction set; ARCH(name) stands for name_avx2 or name_portable. */

/* exp(x) for x ≤ 0; 0 below -708, before results become subnormal.

   With x = k log 2 + t, k whole and |t| ≤ log(2)/2, it is 2^k Σ tⁱ/i! for i ≤ 13. */
static inline double ARCH(exp_nonpositive_double)(double x)
{
    double clipped = x < -708.0 ? -708.0 : x;
    /* adding 1.5 * 2^52 rounds to a whole number, which is then in the lowest bits */
    double shifted = clipped * 1.4426950408889634 + 0x1.8p52;
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    double k = shifted - 0x1.8p52;
    /* log 2 in two parts, so that the difference is exact */
    double t = (clipped - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double high = 1 / 3628800.0 + t * (1 / 39916800.0 + t * (1 / 479001600.0 + t * (1 / 6227020800.0)));
    double middle = 1 / 120.0 + t * (1 / 720.0 + t * (1 / 5040.0 + t * (1 / 40320.0 + t * (1 / 362880.0 + t * high))));
    double sum = 1 + t * (1 + t * (0.5 + t * (1 / 6.0 + t * (1 / 24.0 + t * middle))));
    bits = (bits + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return x < -708.0 ? 0.0 : sum * power;
}

/* The same in single precision: 0 below -87, and i ≤ 7. */
static inline float ARCH(exp_nonpositive_float)(float x)
{
    float clipped = x < -87.0f ? -87.0f : x;
    float shifted = clipped * 1.44269504f + 0x1.8p23f;
    uint32_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    float k = shifted - 0x1.8p23f;
    float t = (clipped - k * 0.693359375f) + k * 2.12194440e-4f;
    float high = 1 / 120.0f + t * (1 / 720.0f + t * (1 / 5040.0f));
    float sum = 1 + t * (1 + t * (0.5f + t * (1 / 6.0f + t * (1 / 24.0f + t * high))));
    bits = (bits + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return x < -87.0f ? 0.0f : sum * power;
}

/* log(1 + x) for finite x ≥ 0.

   With 1 + x = 2^k m, √½ < m ≤ √2, and s = (m - 1)/(m + 1), it is k log 2 + 2 artanh s = k log 2 + 2 Σ sⁱ/i for odd
   i ≤ 21. */
static inline double ARCH(log1p_nonnegative_double)(double x)
{
    double y = 1 + x;
    /* the rounding error of y, to first order */
    double lost = (x - (y - 1)) / y;
    uint64_t bits;
    memcpy(&bits, &y, sizeof bits);
    uint64_t exponent = (bits >> 52) | 0x4330000000000000u;
    bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
    double k, m;
    memcpy(&k, &exponent, sizeof k);
    memcpy(&m, &bits, sizeof m);
    k -= 0x1p52 + 1023;
    double above = m > 1.4142135623730951 ? 1.0 : 0.0;
    m *= 1 - 0.5 * above;
    k += above;
    double s = (m - 1) / (m + 1), z = s * s;
    double high = 1 / 11.0 + z * (1 / 13.0 + z * (1 / 15.0 + z * (1 / 17.0 + z * (1 / 19.0 + z * (1 / 21.0)))));
    double sum = 1 + z * (1 / 3.0 + z * (1 / 5.0 + z * (1 / 7.0 + z * (1 / 9.0 + z * high))));
    return k * 6.93147180369123816490e-01 + (2 * s * sum + (k * 1.90821492927058770002e-10 + lost));
}

/* The same in single precision, for odd i ≤ 9. */
static inline float ARCH(log1p_nonnegative_float)(float x)
{
    float y = 1 + x;
    float lost = (x - (y - 1)) / y;
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    float k = (float)((int32_t)(bits >> 23) - 127), m;
    bits = (bits & 0x007fffffu) | 0x3f800000u;
    memcpy(&m, &bits, sizeof m);
    float above = m > 1.41421356f ? 1.0f : 0.0f;
    m *= 1 - 0.5f * above;
    k += above;
    float s = (m - 1) / (m + 1), z = s * s;
    float sum = 1 + z * (1 / 3.0f + z * (1 / 5.0f + z * (1 / 7.0f + z * (1 / 9.0f))));
    return k * 0.693359375f + (2 * s * sum + (k * -2.12194440e-4f + lost));
}

/* x ← exp(min(x, 0)) for n numbers. */
static void ARCH(decay_double)(ptrdiff_t n, void *numbers)
{
    double *x = numbers;
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = ARCH(exp_nonpositive_double)(x[i] > 0 ? 0 : x[i]);
}

static void ARCH(decay_float)(ptrdiff_t n, void *numbers)
{
    float *x = numbers;
    for (ptrdiff_t i = 0; i < n; i++)
        x[i] = ARCH(exp_nonpositive_float)(x[i] > 0 ? 0 : x[i]);
}
