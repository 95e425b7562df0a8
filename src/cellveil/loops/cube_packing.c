/* Loops of cube packing: which sums of cubes to hide for a demand; ruin and recreate.
 *
 * See `cubes.c` for what a cube is, `cube_sums.c` for how the cheapest are found. */

/* Parameters that loops use, and their places in `Policy.tuning`. */
enum { NEARLY, HARDLY, CHEAPER };

/* Those that are counts, beam searches for one sum, entries of the ledger that one demand may need: places
 * in `Policy.limits`. */
enum { REPAIRS, FREE_MOVES, BEAMS, NEEDED };

/* The sum of cubes in the making, and what decides about it. */
typedef struct {
    Sums sums;
    Floats tuning;
    Ints limits;
} Policy;

/* Put newly hidden cells of a sum back to where they were, by one more cube that costs less than they do.
 *
 * Cells of little weight are left alone. Return how many cells are touched then. */
static int64_t refine(const LedgerArrays *restrict ledger, const Policy *restrict policy, int64_t cell,
                      int64_t touched, double spent) {
    const Sums *sums = &policy->sums;
    int64_t first = 0;
    const Beam *beam = &sums->beam;
    AT(sums->barred, cell) = true;
    while (first < touched) {
        const int64_t other = AT(sums->touched, first);
        first++;
        const int64_t moved = AT(sums->moved, other);
        const double weight = AT(ledger->weight, other);
        if (other == cell || moved == 0 || AT(ledger->hidden, other) ||
            weight < AT(policy->tuning, HARDLY) * spent) {
            continue;
        }
        const int64_t sign = moved > 0 ? -1 : 1;
        const double limit = weight * AT(policy->tuning, CHEAPER);
        if (!find_paid(ledger, sums, other, sign, absolute(moved), limit) ||
            AT(beam->caps, 0) < absolute(moved)) {
            continue;
        }
        const int64_t size =
            corners_without(&sums->grid, other, sign, int_row(beam->a, 0), int_row(beam->b, 0), -1);
        if (touched + size <= sums->touched.size)
            touched = add_to_sum(sums, size, absolute(moved), touched);
    }
    AT(sums->barred, cell) = false;
    return touched;
}

/* Move a cell by a sum of cubes, and hide what moves; return how many demands are met.
 *
 * Nothing is changed where the beams or the budget do not suffice. */
static int64_t pack(const LedgerArrays *restrict ledger, const Policy *restrict policy, int64_t cell,
                    int64_t sign, int64_t amount, double budget) {
    const double nearly = AT(policy->tuning, NEARLY);
    const int64_t beams = AT(policy->limits, BEAMS);
    const Gathered sum = gather_cubes(ledger, &policy->sums, cell, sign, amount, budget, nearly, beams);
    int64_t touched = sum.touched;
    if (0.0 < sum.cost && sum.cost < INFINITY)
        touched = refine(ledger, policy, cell, touched, sum.cost);
    return clear_sum(ledger, &policy->sums, touched, sum.cost < INFINITY && sum.cost <= budget, true);
}

/* Do without a cell in a witness: add cubes until it rests; return how many demands are met then. */
static int64_t repair_sum(const LedgerArrays *restrict ledger, const Policy *restrict policy, int64_t cell,
                          int64_t number, int64_t target, double limit) {
    const Sums *sums = &policy->sums;
    const int64_t begin = AT(ledger->starts, number);
    int64_t touched = AT(ledger->starts, number + 1) - AT(ledger->starts, number);
    if (AT(ledger->denominators, number) != 1 || touched > sums->touched.size)
        return 0;
    for (int64_t i = 0; i < touched; i++) {
        const int64_t corner = AT(ledger->cells, begin + i);
        AT(sums->touched, i) = corner;
        AT(sums->is_touched, corner) = true;
        AT(sums->moved, corner) = AT(ledger->numerators, begin + i);
    }
    AT(sums->barred, cell) = false;
    AT(sums->barred, target) = true;
    const Beam *beam = &sums->beam;
    for (int64_t turn = 0, turn_end = AT(policy->limits, REPAIRS); turn < turn_end; turn++) {
        const int64_t moved = AT(sums->moved, cell);
        const int64_t sign = moved > 0 ? -1 : 1;
        if (moved == 0 || !find_paid(ledger, sums, cell, sign, absolute(moved), limit))
            break;
        const int64_t size =
            corners_without(&sums->grid, cell, sign, int_row(beam->a, 0), int_row(beam->b, 0), -1);
        if (touched + size > sums->touched.size)
            break;
        touched = add_to_sum(sums, size, min_int(AT(beam->caps, 0), absolute(moved)), touched);
        limit -= AT(beam->costs, 0);
    }
    AT(sums->barred, cell) = true;
    AT(sums->barred, target) = false;
    return clear_sum(ledger, sums, touched, AT(sums->moved, cell) == 0, true);
}

/* Whether a witness that meets a demand moves the cell. */
static bool is_used(const LedgerArrays *restrict ledger, int64_t cell) {
    int64_t entry = AT(ledger->head, cell);
    while (entry >= 0 && AT(ledger->meets, AT(ledger->owner, entry)) == 0)
        entry = AT(ledger->following, entry);
    return entry >= 0;
}

/* Publish a cell, and what no witness needs any more then; return how many demands are open again. */
static int64_t ruin_cell(const LedgerArrays *restrict ledger, int64_t cell) {
    const int64_t first = AT(ledger->counts, TRAIL) + 1;
    const int64_t count = ledger_publish(ledger, cell);
    for (int64_t place = first; place < first + count; place++) {
        const int64_t number = AT2(ledger->trail, place, 2);
        if (place > first && AT2(ledger->trail, place - 1, 2) == number)
            continue;
        for (int64_t entry = AT(ledger->starts, number), entry_end = AT(ledger->starts, number + 1);
             entry < entry_end; entry++) {
            const int64_t other = AT(ledger->cells, entry);
            if (AT(ledger->hidden, other) && !AT(ledger->is_free, other) && !is_used(ledger, other))
                ledger_publish(ledger, other);
        }
    }
    return count;
}

/* Meet a demand by one free cube, else by a sum of cubes; return whether it is met.
 *
 * Where a cell was ruined, the witness `old` may be repaired, and no more is spent than down to `cost`. */
static bool meet_demand(const LedgerArrays *restrict ledger, const Policy *restrict policy, int64_t cell,
                        bool up, int64_t ruined, int64_t old, double cost) {
    const int64_t amount = required_amount(ledger, cell, up);
    double budget = INFINITY;
    if (amount > (up ? AT(ledger->room_up, cell) : AT(ledger->room_down, cell)))
        return false;
    if (prove_demand(ledger, &policy->sums.grid, cell, up, AT(policy->limits, FREE_MOVES)))
        return true;
    if (AT(policy->limits, BEAMS) == 0)
        return false;
    if (ruined >= 0) {
        budget = cost - AT(ledger->cost, 0);
        repair_sum(ledger, policy, ruined, old, cell, budget);
    }
    if (is_open(ledger, cell, up))
        pack(ledger, policy, cell, up ? 1 : -1, amount, budget);
    cubes_sync(ledger, &policy->sums.grid);
    return !is_open(ledger, cell, up);
}

/* Meet demands, from number `start` on; return where it stopped.
 *
 * It stops where the ledger needs more space or the work is done that one call may do.
 *
 * A demand is met by one free cube, else by a sum of cubes. Ruining, the cells are secondaries: each is
 * published, and the demands which that opens are served, the old witnesses repaired if possible; all of it
 * is undone unless they are met and the pattern costs no more. */
EXPORT int64_t cube_packing_serve(const LedgerArrays *restrict ledger, const Policy *restrict policy,
                                  Ints cells, Bools up, int64_t start, bool ruining) {
    const Sums *sums = &policy->sums;
    const Grid *grid = &policy->sums.grid;
    const int64_t needed = AT(policy->limits, NEEDED);
    for (int64_t i = start; i < cells.size; i++) {
        if (AT(grid->counts, WORK) > AT(grid->counts, MOST_WORK))
            return i;
        const int64_t trail = AT(ledger->counts, TRAIL);
        const int64_t witnesses = AT(ledger->counts, WITNESSES);
        const double cost = AT(ledger->cost, 0);
        const int64_t cell = AT(cells, i);
        int64_t count = 1;
        if (ruining) {
            if (!AT(ledger->hidden, cell) || AT(ledger->is_free, cell))
                continue;
            if (trail + 12 * needed > ledger->trail.rows)
                return i;
            count = ruin_cell(ledger, cell);
            cubes_sync(ledger, grid);
            AT(sums->barred, cell) = true;
        }
        bool fine = true;
        bool is_full = false;
        for (int64_t j = count; j > 0; j--) { // what the oldest witness met comes first: mostly the largest
            int64_t demanded = cell;
            bool rises = AT(up, i);
            int64_t ruined = UNSET;
            int64_t old = UNSET;
            if (ruining) {
                demanded = AT2(ledger->trail, trail + j, 1);
                rises = AT2(ledger->trail, trail + j, 0) == UP;
                ruined = cell;
                old = AT2(ledger->trail, trail + j, 2);
            }
            if (!is_open(ledger, demanded, rises))
                continue;
            is_full = !ledger_has_room(ledger, 4, needed);
            fine = !is_full && meet_demand(ledger, policy, demanded, rises, ruined, old, cost);
            if (!fine)
                break;
        }
        AT(sums->barred, cell) = false;
        if (ruining && !(fine && AT(ledger->cost, 0) <= cost))
            cubes_go_back(ledger, grid, trail, witnesses, cost);
        if (is_full)
            return i;
    }
    return cells.size;
}
