/* Simulated annealing of a kernel vector's support by pivots of a null-space tableau. */

/* Space of the loops: of the length of the cells, or a power of two at least twice as long. */
typedef struct {
    Ints filled;
    Ints keys;
    Floats sums;
    Ints first;
    Ints stamps;
    Ints trial;
    Ints entries;
} Space;

/* The state of an annealing: columns, the cells they stand for, the best vector so far.
 *
 * `costs` are weight and shortfall of the present vector, then of the best one, and what a group of cells
 * may weigh at most, as far as has been seen. */
typedef struct {
    Int32Table columns;
    Ints basic;
    Int32s best;
    Floats costs;
} Chain;

/* Weights, demands and capacities by the places of the cells; `places` are those with a demand. */
typedef struct {
    Floats weight;
    Bools is_primary;
    Ints places;
    Floats need_up;
    Floats need_down;
    Floats up;
    Floats down;
} Goal;

/* Make the cell basic in place of the one that `column` stands for: 1 there, 0 in all other columns.
 *
 * `filled` is space for the cells that the column moves. */
static void pivot(Int32Table columns, int64_t cell, int64_t column, Ints filled) {
    const int64_t scale = inverse_residue(AT2(columns, column, cell));
    for (int64_t i = 0; i < columns.columns; i++)
        AT2(columns, column, i) = residue(AT2(columns, column, i) * scale);
    const Ints entries = new_ints(columns.columns);
    const int64_t count = list_moved(int32_row(columns, column), entries, filled);
    for (int64_t other = 0; other < columns.rows; other++) {
        if (other != column && AT2(columns, other, cell) != 0) {
            add_multiple(int32_row(columns, other), PRIME - AT2(columns, other, cell), entries, filled,
                         count);
        }
    }
    free(entries.at);
}

/* A column that moves the cell and stands for a hidden one: its own if it has one; −1 for none. */
static int64_t column_of_hidden(Int32Table columns, int64_t cell, Ints basic) {
    const int64_t last = columns.rows - 1;
    int64_t found = -1;
    for (int64_t column = 0; column < last; column++) {
        if (AT2(columns, column, cell) != 0 && AT2(columns, last, AT(basic, column)) != 0) {
            if (AT(basic, column) == cell)
                return column;
            found = column;
        }
    }
    return found;
}

/* Publish cells in turn, each unless the last column would miss a primary; all columns are kept up.
 *
 * In the end every column but the last stands for a published cell, as far as there are any to publish. */
EXPORT void pivot_annealing_settle(Int32Table columns, Ints order, Ints primaries, Ints basic, Ints filled) {
    const int64_t last = columns.rows - 1;
    for (int64_t k = 0; k < order.size; k++) {
        const int64_t cell = AT(order, k);
        if (AT2(columns, last, cell) == 0)
            continue;
        const int64_t column = column_of_hidden(columns, cell, basic);
        if (column >= 0 && !would_miss_primary(columns, column, cell, primaries)) {
            pivot(columns, cell, column, filled);
            AT(basic, column) = cell;
        }
    }
}

/* The place of a ratio in the table of groups; a new one is empty. */
static int64_t slot_of(const Space *restrict space, int64_t key, int64_t stamp) {
    const int64_t mask = space->keys.size - 1;
    int64_t slot = (key * 40503) & mask;
    while (AT(space->stamps, slot) == stamp && AT(space->keys, slot) != key)
        slot = (slot + 1) & mask;
    if (AT(space->stamps, slot) != stamp) {
        AT(space->stamps, slot) = stamp;
        AT(space->keys, slot) = key;
        AT(space->sums, slot) = 0.0;
        AT(space->first, slot) = -1;
    }
    return slot;
}

/* The weight of the published cells that the column moves, or something above `most`. */
static double weight_added(Int32Table columns, int64_t column, Floats weight, double most) {
    const int64_t last = columns.rows - 1;
    double added = 0.0;
    for (int64_t i = 0; i < columns.columns; i++) {
        if (AT2(columns, last, i) == 0 && AT2(columns, column, i) != 0) {
            added += AT(weight, i);
            if (added > most)
                break;
        }
    }
    return added;
}

/* List the cells that the last column and another one move, and the ratios; returns how many.
 *
 * One inverse serves all: that of the product of the entries, from which those of the factors follow. */
static int64_t list_ratios(Int32Table columns, int64_t column, const Space *restrict space) {
    const int64_t last = columns.rows - 1;
    int64_t count = 0;
    int64_t product = 1;
    for (int64_t i = 0; i < columns.columns; i++) {
        if (AT2(columns, column, i) != 0 && AT2(columns, last, i) != 0) {
            AT(space->entries, count) = i;
            AT(space->trial, count) = product;
            product = residue(product * AT2(columns, column, i));
            count++;
        }
    }
    int64_t scale = inverse_residue(product);
    for (int64_t k = count - 1; k >= 0; k--) {
        const int64_t i = AT(space->entries, k);
        AT(space->trial, k) = residue(residue(scale * AT(space->trial, k)) * AT2(columns, last, i));
        scale = residue(scale * AT2(columns, column, i));
    }
    return count;
}

typedef struct {
    double weight;
    int64_t cell;
} Group;

/* The largest weight of hidden cells that vanish together with a multiple of the column; one of them.
 *
 * The cell is −1 where each group has a primary. */
static Group heaviest_group(Int32Table columns, int64_t column, const Goal *restrict goal,
                            const Space *restrict space) {
    int64_t count = 0;
    const int64_t met = list_ratios(columns, column, space);
    const int64_t stamp = AT(space->stamps, space->keys.size) + 1;
    AT(space->stamps, space->keys.size) = stamp;
    for (int64_t k = 0; k < met; k++) {
        const int64_t i = AT(space->entries, k);
        const int64_t slot = slot_of(space, AT(space->trial, k), stamp);
        if (AT(goal->is_primary, i))
            AT(space->sums, slot) = -INFINITY;
        else
            AT(space->sums, slot) += AT(goal->weight, i);
        if (AT(space->first, slot) < 0) {
            AT(space->filled, count) = slot;
            count++;
        }
        AT(space->first, slot) = i;
    }
    double most = -1.0;
    int64_t chosen = -1;
    for (int64_t k = 0; k < count; k++) {
        const int64_t slot = AT(space->filled, k);
        if (AT(space->sums, slot) > most) {
            most = AT(space->sums, slot);
            chosen = AT(space->first, slot);
        }
    }
    return (Group){most, chosen};
}

/* A published cell that can take the place of the column's own, expensive ones rather; −1 for none. */
static int64_t published_substitute(Int32Table columns, int64_t column, Floats weight, Ints basic,
                                    const Generator *rng) {
    const int64_t last = columns.rows - 1;
    int64_t chosen = -1;
    double most = AT(weight, AT(basic, column)) * next_random(rng);
    for (int64_t i = 0; i < columns.columns; i++) {
        if (AT2(columns, column, i) != 0 && AT2(columns, last, i) == 0 && AT(weight, i) > most &&
            i != AT(basic, column)) {
            const double key = AT(weight, i) * next_random(rng);
            if (key > most) {
                most = key;
                chosen = i;
            }
        }
    }
    return chosen;
}

/* Whether all residues of the trial, times the scale, are small numbers. */
static bool are_small(const Space *restrict space, int64_t count, int64_t scale) {
    int64_t k = 0;
    while (k < count && size_of_residue(residue(AT(space->trial, k) * scale)) <= 1048576)
        k++;
    return k == count;
}

/* A factor that turns the trial into small whole numbers, one of them 1; 0 where none was found. */
static int64_t scale_of(const Space *restrict space, int64_t count, const Generator *rng) {
    if (are_small(space, count, 1))
        return 1;
    for (int64_t turn = 0; turn < 24; turn++) {
        const int64_t scale = inverse_residue(AT(space->trial, (int64_t)(next_random(rng) * count)));
        if (are_small(space, count, scale))
            return scale;
    }
    return 0;
}

/* How far the last column, plus a multiple of another, falls short of the demands within the capacities.
 *
 * The factor that makes it small is written to the end of `space.trial`. */
static double shortfall_of_sum(Int32Table columns, int64_t column, int64_t factor, const Goal *restrict goal,
                               const Space *restrict space, const Generator *rng) {
    const int64_t last = columns.rows - 1;
    int64_t count = 0;
    for (int64_t i = 0; i < columns.columns; i++) {
        int64_t entry = AT2(columns, last, i);
        if (AT2(columns, column, i) != 0)
            entry = residue(entry + factor * AT2(columns, column, i));
        AT(space->entries, i) = entry;
        if (entry != 0) {
            AT(space->trial, count) = entry;
            AT(space->filled, count) = i;
            count++;
        }
    }
    const int64_t scale = scale_of(space, count, rng);
    AT(space->trial, columns.columns) = scale;
    if (scale == 0)
        return 2.0 * goal->places.size;
    double forwards = 1e30;
    double backwards = 1e30;
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = AT(space->filled, k);
        const int64_t entry = residue(AT(space->trial, k) * scale);
        const bool is_turned = entry >= HALF;
        const double size = (double)size_of_residue(entry);
        forwards = min_real(forwards, (is_turned ? AT(goal->down, i) : AT(goal->up, i)) / size);
        backwards = min_real(backwards, (is_turned ? AT(goal->up, i) : AT(goal->down, i)) / size);
    }
    double missing = 0.0;
    for (int64_t k = 0; k < goal->places.size; k++) {
        const int64_t i = AT(goal->places, k);
        const int64_t entry = residue(AT(space->entries, i) * scale);
        const bool is_turned = entry >= HALF;
        const double size = (double)size_of_residue(entry);
        const double rise = size * (is_turned ? backwards : forwards);
        const double fall = size * (is_turned ? forwards : backwards);
        if (rise < AT(goal->need_up, i))
            missing += 1.2 - rise / AT(goal->need_up, i);
        if (fall < AT(goal->need_down, i))
            missing += 1.2 - fall / AT(goal->need_down, i);
    }
    return missing;
}

/* One trial at each temperature; falling short of a demand has a price.
 * Returns how many exchanges were made. */
EXPORT int64_t pivot_annealing_anneal(const Chain *restrict chain, const Goal *restrict goal,
                                      const Space *restrict space, Floats heats, double turns, double price,
                                      const Generator *rng) {
    const Int32Table columns = chain->columns;
    const Ints basic = chain->basic;
    const Int32s best = chain->best;
    const Floats costs = chain->costs;
    const int64_t last = columns.rows - 1;
    int64_t made = 0;
    for (int64_t t = 0; t < heats.size; t++) {
        const int64_t column = (int64_t)(next_random(rng) * last);
        if (next_random(rng) < turns) {
            const int64_t cell = AT2(columns, last, AT(basic, column)) == 0
                                     ? published_substitute(columns, column, goal->weight, basic, rng)
                                     : -1;
            if (cell >= 0) {
                pivot(columns, cell, column, space->filled);
                AT(basic, column) = cell;
            }
        }
        const double heat = AT(heats, t);
        const double bearable = 20.0 * heat + price * AT(costs, 1);
        const double added = weight_added(columns, column, goal->weight, bearable + AT(costs, 4));
        if (added > bearable + AT(costs, 4))
            continue;
        const Group group = heaviest_group(columns, column, goal, space);
        const double gained = group.weight;
        const int64_t cell = group.cell;
        // what a group may weigh: more is rarely seen
        AT(costs, 4) = max_real(2.0 * gained, 0.999 * AT(costs, 4));
        double worse = added - gained;
        if (cell < 0 || worse > bearable)
            continue;
        const double weight = AT(costs, 0) + worse;
        double missing = 0.0;
        if (price > 0.0) {
            const int64_t factor =
                PRIME - residue(AT2(columns, last, cell) * inverse_residue(AT2(columns, column, cell)));
            missing = shortfall_of_sum(columns, column, factor, goal, space, rng);
            worse += price * (missing - AT(costs, 1));
        }
        if (worse > 0.0 && (worse > 20.0 * heat || next_random(rng) >= exp(-worse / heat)))
            continue;
        const int64_t scale = price > 0.0 ? AT(space->trial, columns.columns) : 1;
        pivot(columns, cell, column, space->filled);
        AT(basic, column) = cell;
        if (scale > 1)
            for (int64_t i = 0; i < columns.columns; i++)
                AT2(columns, last, i) = residue(AT2(columns, last, i) * scale);
        AT(costs, 0) = weight;
        AT(costs, 1) = missing;
        made++;
        if (weight + price * missing < AT(costs, 2) + price * AT(costs, 3) - 0.5) {
            AT(costs, 2) = weight;
            AT(costs, 3) = missing;
            for (int64_t i = 0; i < columns.columns; i++)
                AT(best, i) = AT2(columns, last, i);
        }
    }
    return made;
}

/* Of the last column as it is. */
EXPORT double pivot_annealing_shortfall(Int32Table columns, const Goal *restrict goal,
                                        const Space *restrict space, const Generator *rng) {
    return shortfall_of_sum(columns, 0, 0, goal, space, rng);
}

/* Put another deviation last, and let columns stand for cells that it does not move where they can. */
EXPORT void pivot_annealing_install(Int32Table columns, Int32s best, Ints basic, Ints filled) {
    const int64_t last = columns.rows - 1;
    for (int64_t i = 0; i < columns.columns; i++)
        AT2(columns, last, i) = AT(best, i);
    for (int64_t column = 0; column < last; column++) {
        if (AT2(columns, last, AT(basic, column)) == 0)
            continue;
        for (int64_t i = 0; i < columns.columns; i++) {
            if (AT2(columns, column, i) != 0 && AT2(columns, last, i) == 0) {
                pivot(columns, i, column, filled);
                AT(basic, column) = i;
                break;
            }
        }
    }
}
