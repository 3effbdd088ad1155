/* The compiled functions for each precision, for the instruction set of this processor. */

#pragma once

#include "types.h"

#define ARCH(name) name##_portable
#include "both_precisions.h"
#undef ARCH

#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define ARCH(name) name##_avx2
#define WITH_AVX2
#include "both_precisions.h"
#undef WITH_AVX2
#undef ARCH
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

struct routines {
    ptrdiff_t (*few_columns_scratch)(ptrdiff_t, ptrdiff_t);
    void (*sweep_few_columns)(const struct sweep *);
    void (*decay)(ptrdiff_t, void *);
    void (*sparse_products)(int, ptrdiff_t, const struct csr *, const struct csr *, void *);
    /* NULL without AVX2: BLAS is used for several columns then, and SciPy for distances */
    ptrdiff_t (*many_columns_scratch)(ptrdiff_t, ptrdiff_t);
    void (*sweep_many_columns)(const struct sweep *);
    void (*distances)(ptrdiff_t, ptrdiff_t, ptrdiff_t, const void *, const void *, void *);
};

#define ROUTINES(suffix) \
    few_columns_scratch_##suffix, sweep_few_columns_##suffix, decay_##suffix, sparse_products_##suffix
#define AVX2_ROUTINES(suffix) many_columns_scratch_##suffix, sweep_many_columns_##suffix, distances_##suffix

/* in single and in double precision */
static struct routines routines[2] = {{ROUTINES(float_portable), NULL, NULL, NULL},
                                      {ROUTINES(double_portable), NULL, NULL, NULL}};

/* Use AVX2 if the processor has it; whether it does. */
static int choose_routines(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        routines[0] = (struct routines){ROUTINES(float_avx2), AVX2_ROUTINES(float_avx2)};
        routines[1] = (struct routines){ROUTINES(double_avx2), AVX2_ROUTINES(double_avx2)};
        return 1;
    }
#endif
    return 0;
}
