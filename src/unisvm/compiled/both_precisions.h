/* All templates for one instruction set, in single and in double precision. */

#include "exponentials.h"

#define REAL float
#define INTEGER int32_t
#define TYPED(name) ARCH(name##_float)
#include "vectors.h"
#include "losses.h"
#include "sweep_few_columns.h"
#include "sparse_products.h"
#ifdef WITH_AVX2
#include "sweep_many_columns.h"
#include "distances.h"
#endif
#undef REAL
#undef INTEGER
#undef TYPED

#define REAL double
#define INTEGER int64_t
#define TYPED(name) ARCH(name##_double)
#include "vectors.h"
#include "losses.h"
#include "sweep_few_columns.h"
#include "sparse_products.h"
#ifdef WITH_AVX2
#include "sweep_many_columns.h"
#include "distances.h"
#endif
#undef REAL
#undef INTEGER
#undef TYPED
