/* All loops as one unit, which is what the compiler is given: a file may use those before it. */
#include "common.h"

#include "structure.c"
#include "windowed_demand.c"
#include "min_cost_flow.c"
#include "exchange_descent.c"
#include "douglas_rachford.c"
#include "ledger.c"
#include "cubes.c"
#include "cube_sums.c"
#include "integer_kernel.c"
#include "residue_tableau.c"
#include "cube_packing.c"
#include "flow_witness.c"
#include "flow_search.c"
#include "pivot_annealing.c"
#include "coalition_rooms.c"
#include "coalitions.c"
#include "annealed_imbalance.c"
#include "integers.c"

/* Of the sources, by which the loader knows that the library fits them. */
#ifndef SOURCE_DIGEST
#define SOURCE_DIGEST "none"
#endif
EXPORT const char source_digest[] = SOURCE_DIGEST;
