/* Exponentials and logarithms without branches, which the compiler turns into vector instructions.

   Included once for each kind of processor, with NAME to tell the functions apart. */

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
static inline double NAME(log1p_of_double)(double x)
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

/* The same in single precision. */
static inline float NAME(log1p_of_single)(float x)
{
    float y = 1 + x;
    float lost = (x - (y - 1)) / y;
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    float whole = (float)((int32_t)(bits >> 23) - 127), m;
    bits = (bits & 0x007fffffu) | 0x3f800000u;
    memcpy(&m, &bits, sizeof m);
    float above = m > 1.41421356f ? 1.0f : 0.0f;
    m *= 1 - 0.5f * above;
    whole += above;
    float s = (m - 1) / (m + 1), z = s * s;
    float sum = 1 / 9.0f;
    sum = sum * z + 1 / 7.0f;
    sum = sum * z + 1 / 5.0f;
    sum = sum * z + 1 / 3.0f;
    sum = sum * z + 1.0f;
    return whole * 0.693359375f + (2 * s * sum + (whole * -2.12194440e-4f + lost));
}
