/* All kernels for one kind of processor, in both precisions. */

#include "exponentials.h"

#define REAL float
#define BITS int32_t
#define OF(name) NAME(name##_single)
#include "losses.h"
#include "rows.h"
#include "shared.h"
#ifdef WITH_WIDE_VECTORS
#include "columns.h"
#include "distances.h"
#endif
#undef REAL
#undef BITS
#undef OF

#define REAL double
#define BITS int64_t
#define OF(name) NAME(name##_double)
#include "losses.h"
#include "rows.h"
#include "shared.h"
#ifdef WITH_WIDE_VECTORS
#include "columns.h"
#include "distances.h"
#endif
#undef REAL
#undef BITS
#undef OF
