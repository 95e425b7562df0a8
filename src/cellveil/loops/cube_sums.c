/* Loops of the beam search for cubes that cost least per unit moved, and of their sums.
 *
 * See `cubes.c` for what a cube is. */

/* Beginnings of cubes, the best first: leaves chosen so far, cost and capacity; and whence each came. */
typedef struct {
    IntTable a;
    IntTable b;
    Floats scores;
    Floats costs;
    Ints caps;
    Ints parents;
    Ints choices;
} Beam;

/* A sum of cubes in the making, and space for the beams that look for the next one.
 *
 * ``movable`` holds, as ``grid.bits`` does for hidden cells, which cells can be hidden; ``barred`` ones are
 * not to be moved. ``moved`` is the sum, ``touched`` its cells. ``toll`` is the fixed cost of a cube. */
typedef struct {
    Grid grid;
    Words movable;
    Bools barred;
    Ints moved;
    Bools is_touched;
    Int32s touched;
    Ints sum_moves;
    Ints unset;
    IntTable drawn;
    Beam beam;
    Beam old_beam;
    Floats toll;
    Words random;
} Sums;

/* A random number from 0 to below − 1. */
static int64_t draw_below(const Sums *restrict sums, int64_t below) {
    const uint64_t x = stirred(AT(sums->random, 0));
    AT(sums->random, 0) = x;
    return (int64_t)word_mod(x >> 11, (uint64_t)below);
}

/* How far a cell can still move beyond what was packed so far. */
static int64_t capacity_left(const LedgerArrays *restrict ledger, const Sums *restrict sums, int64_t cell,
                             int64_t sign) {
    if (sign > 0) {
        return AT(ledger->room_up, cell) == UNLIMITED ? UNLIMITED
                                                      : AT(ledger->room_up, cell) - AT(sums->moved, cell);
    }
    return AT(ledger->room_down, cell) == UNLIMITED ? UNLIMITED
                                                    : AT(ledger->room_down, cell) + AT(sums->moved, cell);
}

/* Codes of a dimension that a cube has for certain: the whole move once b is set, before only two. */
static int64_t certain_codes(const Grid *restrict grid, int64_t cell, int64_t axis, int64_t a, int64_t b,
                             Ints codes, Ints signs) {
    if (b != UNSET)
        return write_move(grid, axis, a, b, codes, signs);
    const int64_t own = AT2(grid->keys, cell, axis);
    AT(codes, 0) = own;
    AT(signs, 0) = 1;
    if (a == own)
        return 1;
    AT(codes, 1) = a;
    AT(signs, 1) = 1;
    return 2;
}

/* Write the corners so far, with code 0 along an axis (−1: as they are); return their number. */
static int64_t corners_without(const Grid *restrict grid, int64_t cell, int64_t sign, Ints a, Ints b,
                               int64_t axis) {
    AT(grid->cube_places, 0) = 0;
    AT(grid->cube_signs, 0) = sign;
    const Ints codes = int_row(grid->codes, 2);
    const Ints signs = int_row(grid->codes, 3);
    int64_t size = 1;
    for (int64_t k = 0; k < grid->sizes.size; k++) {
        if (k == axis)
            continue;
        const int64_t length = certain_codes(grid, cell, k, AT(a, k), AT(b, k), codes, signs);
        if (length == 0 || size * length > MAX_CUBE)
            return 0;
        for (int64_t j = length - 1; j >= 0; j--) { // the first code last, in place
            const int64_t shift = AT(codes, j) * AT(grid->strides, k);
            for (int64_t i = 0; i < size; i++) {
                AT(grid->cube_places, j * size + i) = AT(grid->cube_places, i) + shift;
                AT(grid->cube_signs, j * size + i) = AT(grid->cube_signs, i) * AT(signs, j);
            }
        }
        size *= length;
    }
    return size;
}

typedef struct {
    double cost;
    int64_t cap;
} Price;

/* Add the corners, shifted, to cost and capacity, which is 0 where one cannot move or the cost passes the
 * limit. */
static Price price_corners(const LedgerArrays *restrict ledger, const Sums *restrict sums, int64_t size,
                           int64_t shift, int64_t turn, double cost, int64_t cap, double limit) {
    const Grid *grid = &sums->grid;
    for (int64_t i = 0; i < size; i++) {
        const int64_t corner = AT(grid->number, AT(grid->cube_places, i) + shift);
        if (corner < 0 || AT(sums->barred, corner) || !AT(ledger->movable, corner))
            return (Price){cost, 0};
        if (!AT(ledger->hidden, corner) && AT(sums->moved, corner) == 0)
            cost += AT(ledger->weight, corner);
        cap = min_int(cap, capacity_left(ledger, sums, corner, AT(grid->cube_signs, i) * turn));
        if (cap <= 0 || cost > limit)
            return (Price){cost, 0};
    }
    return (Price){cost, cap};
}

/* Insert a candidate into the sorted list of the best, unless it is worse than all of them. */
static void keep_best(const Beam *restrict beam, double score, double cost, int64_t cap, int64_t parent,
                      int64_t b) {
    int64_t place = beam->scores.size - 1;
    if (score >= AT(beam->scores, place))
        return;
    while (place > 0 && score < AT(beam->scores, place - 1)) {
        AT(beam->scores, place) = AT(beam->scores, place - 1);
        AT(beam->costs, place) = AT(beam->costs, place - 1);
        AT(beam->caps, place) = AT(beam->caps, place - 1);
        AT(beam->parents, place) = AT(beam->parents, place - 1);
        AT(beam->choices, place) = AT(beam->choices, place - 1);
        place--;
    }
    AT(beam->scores, place) = score;
    AT(beam->costs, place) = cost;
    AT(beam->caps, place) = cap;
    AT(beam->parents, place) = parent;
    AT(beam->choices, place) = b;
}

/* Draw a leaf cell below a cell: one dimension after the other, along cells that are there. */
static void walk_down(const Sums *restrict sums, int64_t cell, Ints trial) {
    const Grid *grid = &sums->grid;
    const int64_t dims = sums->grid.sizes.size;
    int64_t place = home_of(grid, cell);
    const int64_t offset = draw_below(sums, dims);
    for (int64_t turn = 0; turn < dims; turn++) {
        const int64_t k = floor_mod(turn + offset, dims);
        const int64_t own = AT2(grid->keys, cell, k);
        const int64_t first = AT(grid->leaf_starts, AT(grid->first_code, k) + own);
        const int64_t choice = AT(grid->leaf_starts, AT(grid->first_code, k) + own + 1) - first;
        const int64_t begin = choice > 1 ? draw_below(sums, choice) : 0;
        AT(trial, k) = own;
        for (int64_t step = 0; step < choice; step++) {
            const int64_t code = AT(grid->leaf_codes, first + floor_mod(begin + step, choice));
            const int64_t there = place + (code - own) * AT(grid->strides, k);
            if (AT(grid->number, there) >= 0) {
                AT(trial, k) = code;
                place = there;
                break;
            }
        }
    }
}

/* Choose leaf cells below a cell to start from: the cell itself if it is one. */
static void begin_beam(const LedgerArrays *restrict ledger, const Sums *restrict sums, int64_t cell,
                       int64_t sign, int64_t amount, double limit) {
    const Grid *grid = &sums->grid;
    const Beam *beam = &sums->beam;
    const IntTable drawn = sums->drawn;
    const double toll = AT(sums->toll, 0);
    int64_t tries = 1;
    for (int64_t k = 0; k < grid->sizes.size; k++)
        if (!AT(grid->is_leaf, AT(grid->first_code, k) + AT2(grid->keys, cell, k)))
            tries = drawn.rows;
    fill_floats(beam->scores, INFINITY);
    fill_ints(beam->caps, 0);
    for (int64_t number = 0; number < tries; number++) {
        walk_down(sums, cell, int_row(drawn, number));
        const int64_t size = corners_without(grid, cell, sign, int_row(drawn, number), sums->unset, -1);
        const Price priced = price_corners(ledger, sums, size, 0, 1, 0.0, UNLIMITED, limit);
        if (priced.cap > 0) {
            const double score = (priced.cost + toll) / min_int(priced.cap, amount);
            keep_best(beam, score, priced.cost, priced.cap, number, UNSET);
        }
    }
    for (int64_t i = 0; i < beam->caps.size; i++) {
        if (AT(beam->caps, i) == 0)
            break;
        for (int64_t k = 0; k < grid->sizes.size; k++) {
            AT2(beam->a, i, k) = AT2(drawn, AT(beam->parents, i), k);
            AT2(beam->b, i, k) = UNSET;
        }
    }
}

/* Put the beam aside, to choose the next one from it. */
static void copy_beam(const Sums *restrict sums) {
    const Beam *beam = &sums->beam;
    const Beam *old = &sums->old_beam;
    for (int64_t i = 0; i < beam->caps.size; i++) {
        AT(old->costs, i) = AT(beam->costs, i);
        AT(old->caps, i) = AT(beam->caps, i);
        for (int64_t k = 0; k < sums->unset.size; k++) {
            AT2(old->a, i, k) = AT2(beam->a, i, k);
            AT2(old->b, i, k) = AT2(beam->b, i, k);
        }
        AT(beam->scores, i) = INFINITY;
        AT(beam->caps, i) = 0;
    }
}

/* Look for cubes through a cell that cost least per unit moved; the beam holds them, if there are any.
 *
 * A beam search: dimension by dimension the best of all extensions go on. */
static bool find_paid(const LedgerArrays *restrict ledger, const Sums *restrict sums, int64_t cell,
                      int64_t sign, int64_t amount, double limit) {
    const Grid *grid = &sums->grid;
    const double toll = AT(sums->toll, 0);
    const Beam *beam = &sums->beam;
    const Beam *old = &sums->old_beam;
    const int64_t dims = grid->sizes.size;
    const Ints codes = int_row(grid->codes, 0);
    const Ints signs = int_row(grid->codes, 1);
    begin_beam(ledger, sums, cell, sign, amount, limit);
    const int64_t offset = draw_below(sums, dims);
    const int64_t worst = beam->scores.size - 1;
    for (int64_t turn = 0; turn < dims; turn++) {
        const int64_t k = floor_mod(turn + offset, dims);
        const int64_t own = AT2(grid->keys, cell, k);
        copy_beam(sums);
        for (int64_t state = 0; state < old->caps.size; state++) {
            if (AT(old->caps, state) == 0)
                break;
            const int64_t size =
                corners_without(grid, cell, sign, int_row(old->a, state), int_row(old->b, state), k);
            if (size == 0)
                continue;
            const int64_t leaf = AT2(old->a, state, k);
            const Words row = word_row(grid->rows, 0);
            int64_t other = UNSET;
            fill_row(grid, sums->movable, k, size, row);
            while (other != OUTSIDE) {
                other = next_leaf(grid, k, row, max_int(other, OUTSIDE));
                if (other == leaf)
                    continue;
                const int64_t length = usable_move(grid, k, own, leaf, other, row, codes, signs);
                if (length == 0 || length * size > MAX_CUBE)
                    continue;
                double cost = AT(old->costs, state);
                int64_t cap = AT(old->caps, state);
                for (int64_t j = 0; j < length; j++) {
                    if (AT(codes, j) == own || AT(codes, j) == leaf)
                        continue;
                    const Price priced =
                        price_corners(ledger, sums, size, AT(codes, j) * AT(grid->strides, k), AT(signs, j),
                                      cost, cap, limit);
                    cost = priced.cost;
                    cap = priced.cap;
                    if (cap == 0 || (cost + toll) / min_int(cap, amount) >= AT(beam->scores, worst)) {
                        cap = 0;
                        break;
                    }
                }
                if (cap > 0)
                    keep_best(beam, (cost + toll) / min_int(cap, amount), cost, cap, state, other);
            }
        }
        for (int64_t i = 0; i < beam->caps.size; i++) {
            if (AT(beam->caps, i) == 0)
                break;
            for (int64_t j = 0; j < dims; j++) {
                AT2(beam->a, i, j) = AT2(old->a, AT(beam->parents, i), j);
                AT2(beam->b, i, j) = AT2(old->b, AT(beam->parents, i), j);
            }
            AT2(beam->b, i, k) = AT(beam->choices, i);
        }
    }
    return AT(beam->caps, 0) > 0;
}

/* Add a multiple of the cube to the sum; return how many cells are touched then. */
static int64_t add_to_sum(const Sums *restrict sums, int64_t size, int64_t step, int64_t touched) {
    const Grid *grid = &sums->grid;
    for (int64_t i = 0; i < size; i++) {
        const int64_t corner = AT(grid->number, AT(grid->cube_places, i));
        AT(sums->moved, corner) += AT(grid->cube_signs, i) * step;
        if (!AT(sums->is_touched, corner)) {
            AT(sums->is_touched, corner) = true;
            AT(sums->touched, touched) = corner;
            touched++;
        }
    }
    return touched;
}

typedef struct {
    int64_t touched;
    double cost;
} Gathered;

/* Add up cubes until a cell moves by the amount; return how many cells are touched, and the cost.
 *
 * Of each beam all cubes are taken that are nearly as good as the best. The cost is above the budget where
 * so many beams or the budget do not suffice. */
static Gathered gather_cubes(const LedgerArrays *restrict ledger, const Sums *restrict sums, int64_t cell,
                             int64_t sign, int64_t amount, double budget, double nearly, int64_t beams) {
    int64_t touched = 0;
    int64_t left = amount;
    double spent = 0.0;
    const Beam *beam = &sums->beam;
    const double toll = AT(sums->toll, 0);
    for (int64_t turn = 0; turn < beams; turn++) {
        if (!find_paid(ledger, sums, cell, sign, left, budget - spent))
            break;
        const double good = nearly * AT(beam->scores, 0);
        for (int64_t i = 0; i < beam->caps.size; i++) {
            if (AT(beam->caps, i) == 0 || AT(beam->scores, i) > good)
                break;
            const int64_t size =
                corners_without(&sums->grid, cell, sign, int_row(beam->a, i), int_row(beam->b, i), -1);
            const Price priced = price_corners(ledger, sums, size, 0, 1, 0.0, UNLIMITED, budget - spent);
            const double cost = priced.cost;
            const int64_t cap = priced.cap;
            if (cap == 0 || (i > 0 && (cost + toll) / min_int(cap, left) > good))
                continue;
            if (touched + size > sums->touched.size)
                return (Gathered){touched, INFINITY};
            touched = add_to_sum(sums, size, min_int(cap, left), touched);
            spent += cost;
            left -= min_int(cap, left);
            if (left == 0)
                return (Gathered){touched, spent};
        }
    }
    return (Gathered){touched, INFINITY};
}

/* Clear the sum away, and take it into the ledger if that is wanted; return how many demands it meets.
 *
 * Hiding, what it moves gets hidden. */
static int64_t clear_sum(const LedgerArrays *restrict ledger, const Sums *restrict sums, int64_t touched,
                         bool taken, bool hiding) {
    int64_t moving = 0;
    for (int64_t i = 0; i < touched; i++) {
        const int64_t corner = AT(sums->touched, i);
        if (AT(sums->moved, corner) != 0) {
            AT(sums->touched, moving) = corner;
            AT(sums->sum_moves, moving) = AT(sums->moved, corner);
            moving++;
        }
        AT(sums->moved, corner) = 0;
        AT(sums->is_touched, corner) = false;
    }
    if (!taken)
        return 0;
    return add(ledger, int32s_part(sums->touched, 0, moving), ints_part(sums->sum_moves, 0, moving), 1,
               hiding);
}

/* Meet demands by sums of cubes of hidden cells, from number `start` on; see `cubes_prove_all`. */
EXPORT int64_t cube_sums_prove_sums(const LedgerArrays *restrict ledger, const Sums *restrict sums,
                                    Ints cells, Bools up, int64_t start, double nearly, int64_t beams,
                                    int64_t most) {
    const Ints counts = sums->grid.counts;
    for (int64_t i = start; i < cells.size; i++) {
        const int64_t cell = AT(cells, i);
        const int64_t amount = required_amount(ledger, cell, AT(up, i));
        const int64_t sign = AT(up, i) ? 1 : -1;
        if (!is_open(ledger, cell, AT(up, i)) || amount > capacity_left(ledger, sums, cell, sign))
            continue;
        if (AT(counts, WORK) > AT(counts, MOST_WORK) || !ledger_has_room(ledger, 4, most))
            return i;
        const Gathered sum = gather_cubes(ledger, sums, cell, sign, amount, 0.0, nearly, beams);
        clear_sum(ledger, sums, sum.touched, sum.cost < INFINITY, false);
    }
    return cells.size;
}
