/* All kernels for one kind of processor, in both precisions. */

#include "exponentials.h"

#define REAL float
#define OF(name) NAME(name##_single)
#include "losses.h"
#include "rows.h"
#ifdef WITH_COLUMNS
#include "columns.h"
#endif
#undef REAL
#undef OF

#define REAL double
#define OF(name) NAME(name##_double)
#include "losses.h"
#include "rows.h"
#ifdef WITH_COLUMNS
#include "columns.h"
#endif
#undef REAL
#undef OF
