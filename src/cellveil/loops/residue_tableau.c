/* Pivots of a null-space tableau modulo the prime 2³¹ − 1, column by column. */

#define PRIME INT64_C(2147483647)
#define HALF INT64_C(1073741824)

/* A number from 0 to 2^62 modulo the prime, by shifts: 2³¹ is 1. */
static int64_t residue(int64_t number) {
    number = (number & PRIME) + (number >> 31);
    number = (number & PRIME) + (number >> 31);
    return number >= PRIME ? number - PRIME : number;
}

/* 1 / number modulo the prime, by Euclid's algorithm. */
static int64_t inverse_residue(int64_t number) {
    if (number == 1 || number == PRIME - 1)
        return number;
    int64_t high = PRIME;
    int64_t low = number;
    int64_t above = 0;
    int64_t below = 1;
    while (low > 1) {
        const int64_t quotient = floor_div(high, low);
        const int64_t next_low = high - quotient * low;
        high = low;
        low = next_low;
        const int64_t next_below = above - quotient * below;
        above = below;
        below = next_below;
    }
    return below >= 0 ? below : below + PRIME;
}

/* Copy a column, and write down the places where it is not 0; returns how many they are. */
static int64_t list_moved(Int32s column, Ints entries, Ints moved) {
    int64_t count = 0;
    for (int64_t i = 0; i < column.size; i++) {
        AT(entries, i) = AT(column, i);
        if (AT(column, i) != 0) {
            AT(moved, count) = i;
            count++;
        }
    }
    return count;
}

/* Add a multiple of a column: where it is not 0 if that is at few places, or else several at once. */
static MANY_AT_ONCE void add_multiple(Int32s row, int64_t factor, Ints entries, Ints moved, int64_t count) {
    if (5 * count < row.size) {
        for (int64_t k = 0; k < count; k++) {
            const int64_t i = AT(moved, k);
            AT(row, i) = residue(AT(row, i) + factor * AT(entries, i));
        }
    } else {
        for (int64_t i = 0; i < row.size; i++)
            AT(row, i) = residue(AT(row, i) + factor * AT(entries, i));
    }
}

/* Set rows[pivot[k]] = −(Σ coefs · rows) / pivot_coef[k], one after the other. */
EXPORT void residue_tableau_follow(Int32Table rows, Ints pivot, Ints pivot_coef, Ints starts, Ints columns,
                                   Ints coefs) {
    for (int64_t k = 0; k < pivot.size; k++) {
        const int64_t scale = inverse_residue(floor_mod(AT(pivot_coef, k), PRIME));
        for (int64_t e = AT(starts, k), e_end = AT(starts, k + 1); e < e_end; e++) {
            const int64_t factor = residue(scale * floor_mod(-AT(coefs, e), PRIME));
            for (int64_t j = 0; j < rows.columns; j++) {
                if (AT2(rows, AT(columns, e), j) != 0) {
                    AT2(rows, AT(pivot, k), j) =
                        residue(AT2(rows, AT(pivot, k), j) + factor * AT2(rows, AT(columns, e), j));
                }
            }
        }
    }
}

/* Set the last column to the sum of the others with these factors. */
EXPORT MANY_AT_ONCE void residue_tableau_combine(Int32Table columns, Ints factors) {
    const int64_t last = columns.rows - 1;
    for (int64_t i = 0; i < columns.columns; i++)
        AT2(columns, last, i) = 0;
    const Int32s sum = int32_row(columns, last);
    for (int64_t column = 0; column < last; column++) {
        const Int32s row = int32_row(columns, column);
        const int64_t factor = AT(factors, column);
        for (int64_t i = 0; i < sum.size; i++)
            AT(sum, i) = residue(AT(sum, i) + factor * AT(row, i));
    }
}

/* The absolute value of a residue between −2³⁰ and 2³⁰. */
static int64_t size_of_residue(int64_t entry) { return entry < HALF ? entry : PRIME - entry; }

/* The column with the smallest entries that has ±1 at the cell: its own if it has one; −1 for none. */
static int64_t unit_column_of(Int32Table columns, int64_t cell, int64_t left, Ints basic, Ints sizes) {
    int64_t found = -1;
    for (int64_t column = 0; column < left; column++) {
        if (size_of_residue(AT2(columns, column, cell)) == 1) {
            if (AT(basic, column) == cell)
                return column;
            if (found < 0 || AT(sizes, column) < AT(sizes, found))
                found = column;
        }
    }
    return found;
}

/* The largest absolute value of a column. */
static int64_t largest_entry(Int32s column) {
    int64_t most = 0;
    for (int64_t i = 0; i < column.size; i++)
        most = max_int(most, size_of_residue(AT(column, i)));
    return most;
}

/* Take multiples of the column off all others in use, and off the last: they become 0 at the cell. */
static void use_up(Int32Table columns, int64_t column, int64_t cell, int64_t left, Ints sizes, Ints filled) {
    const Ints entries = new_ints(columns.columns);
    const int64_t count = list_moved(int32_row(columns, column), entries, filled);
    const bool turned = AT2(columns, column, cell) != 1;
    for (int64_t k = 0; k < left + 1; k++) {
        const int64_t other = k < left ? k : columns.rows - 1;
        const int64_t entry = AT2(columns, other, cell);
        if (other == column || entry == 0)
            continue;
        const int64_t factor = turned ? entry : PRIME - entry;
        add_multiple(int32_row(columns, other), factor, entries, filled, count);
        if (k < left)
            AT(sizes, other) = largest_entry(int32_row(columns, other));
    }
    free(entries.at);
}

/* Whether the last column, made 0 at the cell by a multiple of `column`, misses a primary. */
static bool would_miss_primary(Int32Table columns, int64_t column, int64_t cell, Ints primaries) {
    const int64_t last = columns.rows - 1;
    const int64_t here = AT2(columns, column, cell);
    const int64_t there = PRIME - AT2(columns, last, cell);
    for (int64_t k = 0; k < primaries.size; k++) {
        const int64_t p = AT(primaries, k);
        const int64_t entry = AT2(columns, column, p);
        if (entry != 0 && residue(residue(AT2(columns, last, p) * here) + there * entry) == 0)
            return true;
    }
    return false;
}

/* How large entries can become when the column is used up to publish the cell. */
static int64_t growth(Int32Table columns, int64_t column, int64_t cell, int64_t left, Ints sizes) {
    int64_t most = 0;
    for (int64_t other = 0; other < left; other++) {
        if (other != column && AT2(columns, other, cell) != 0) {
            most = max_int(most,
                           AT(sizes, other) + size_of_residue(AT2(columns, other, cell)) * AT(sizes, column));
        }
    }
    return most;
}

/* Publish cells in turn, each unless it would make the last column, which moves all, miss a primary.
 *
 * The last column is a generic deviation; `basic` are the cells that the others stand for, and `sizes`
 * their largest entries. A cell where the last one is 0 is given by published ones. To publish another,
 * multiples of a column that moves it are taken off the others: one with ±1 there, so that all stay whole,
 * and only while no entry passes `largest`. A column that is used up goes behind the others in use.
 *
 * Returns how many columns are left: these span all deviations of the cells that stay hidden. */
EXPORT int64_t residue_tableau_publish_in_turn(Int32Table columns, Ints order, Ints primaries, Ints basic,
                                               Ints sizes, int64_t largest, Ints filled) {
    const int64_t last = columns.rows - 1;
    int64_t left = last;
    for (int64_t k = 0; k < order.size; k++) {
        const int64_t cell = AT(order, k);
        if (AT2(columns, last, cell) == 0)
            continue;
        const int64_t column = unit_column_of(columns, cell, left, basic, sizes);
        if (column < 0 || would_miss_primary(columns, column, cell, primaries))
            continue;
        if (growth(columns, column, cell, left, sizes) > largest)
            continue;
        use_up(columns, column, cell, left, sizes, filled);
        left--;
        for (int64_t i = 0; i < columns.columns; i++) {
            const int64_t entry = AT2(columns, column, i);
            AT2(columns, column, i) = AT2(columns, left, i);
            AT2(columns, left, i) = entry;
        }
        AT(basic, column) = AT(basic, left);
        AT(basic, left) = cell;
        const int64_t size = AT(sizes, column);
        AT(sizes, column) = AT(sizes, left);
        AT(sizes, left) = size;
    }
    return left;
}
