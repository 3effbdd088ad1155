/* All kernels for one kind of processor, in both precisions. */

#include "losses.h"

#define REAL float
#define OF(name) NAME(name##_single)
#include "rows.h"
#undef REAL
#undef OF

#define REAL double
#define OF(name) NAME(name##_double)
#include "rows.h"
#undef REAL
#undef OF
