/* Loops over generalised cubes of hidden cells: moves along dimensions, bits of lines, depth-first search.
 *
 * A cube is a product of one move per dimension; a move is given by a leaf a and a leaf b (or OUTSIDE): +1
 * on the codes that cover a but not b, −1 on those that cover b but not a. Places are positions in the
 * full table, in row-major order. */

/* In place of the second leaf: the move is the whole chain from the first leaf to the total. */
enum { OUTSIDE = -1 };

enum { UNSET = -2 };

#define UNLIMITED INT64_MAX

/* Places in `Grid.counts`: how far the bits follow the trail, the work since the loop was called, and the
 * work after which it returns. A unit of work is a corner whose line is looked at under one code. */
enum { SYNCED, WORK, MOST_WORK };

/* Cubes with more cells are not looked at. */
enum { MAX_CUBE = 2048 };

/* Most codes of a move that are looked at. */
enum { MAX_SUPPORT = 40 };

/* The full table and its dimensions, and space to work in.
 *
 * Codes of all dimensions are numbered through: code c of dimension k is ``first_code[k] + c``. Leaves are
 * covered by ``cover_codes[cover_starts[leaf]:cover_starts[leaf + 1]]`` (ascending, within the dimension),
 * codes consist of ``leaf_codes[leaf_starts[code]:leaf_starts[code + 1]]``. ``bits`` holds, dimension by
 * dimension and line by line, which cells of the line are hidden. */
typedef struct {
    Ints sizes;
    Ints strides;
    Ints first_code;
    Ints cover_starts;
    Int32s cover_codes;
    Ints leaf_starts;
    Int32s leaf_codes;
    Bools is_leaf;
    Int32Table keys;
    Int32s number;
    Words bits;
    Ints first_word;
    Ints words;
    Ints counts;
    Ints room_up;
    Ints room_down;
    Ints cube_places;
    Ints cube_signs;
    Int32s cube_cells;
    Ints cube_moves;
    IntTable stack;
    WordTable rows;
    IntTable codes;
} Grid;

/* Where the bits of the line through a place along an axis begin. */
static int64_t line_start(const Grid *restrict grid, int64_t place, int64_t axis) {
    const int64_t stride = AT(grid->strides, axis);
    const int64_t line = floor_div(place, stride * AT(grid->sizes, axis)) * stride + floor_mod(place, stride);
    return AT(grid->first_word, axis) + line * AT(grid->words, axis);
}

/* The place of a cell. */
static int64_t home_of(const Grid *restrict grid, int64_t cell) {
    int64_t place = 0;
    for (int64_t axis = 0; axis < grid->sizes.size; axis++)
        place += AT2(grid->keys, cell, axis) * AT(grid->strides, axis);
    return place;
}

/* Note in all lines of a cell whether it is hidden. */
static void set_bits(const Grid *restrict grid, int64_t cell, bool value) {
    const int64_t place = home_of(grid, cell);
    for (int64_t axis = 0; axis < grid->sizes.size; axis++) {
        const int64_t code = AT2(grid->keys, cell, axis);
        const int64_t word = line_start(grid, place, axis) + (code >> 6);
        const uint64_t bit = UINT64_C(1) << (code & 63);
        if (value)
            AT(grid->bits, word) |= bit;
        else
            AT(grid->bits, word) &= ~bit;
    }
}

/* Bring the bits up to the end of the trail. */
EXPORT void cubes_sync(const LedgerArrays *restrict ledger, const Grid *restrict grid) {
    for (int64_t place = AT(grid->counts, SYNCED), place_end = AT(ledger->counts, TRAIL); place < place_end;
         place++) {
        const int64_t kind = AT2(ledger->trail, place, 0);
        if (kind == HIDDEN || kind == PUBLISHED)
            set_bits(grid, AT2(ledger->trail, place, 1), kind == HIDDEN);
    }
    AT(grid->counts, SYNCED) = AT(ledger->counts, TRAIL);
}

/* Roll the ledger back, and the bits with it. */
EXPORT void cubes_go_back(const LedgerArrays *restrict ledger, const Grid *restrict grid, int64_t trail,
                          int64_t witnesses, double cost) {
    for (int64_t place = AT(grid->counts, SYNCED) - 1; place >= trail; place--) {
        const int64_t kind = AT2(ledger->trail, place, 0);
        if (kind == HIDDEN || kind == PUBLISHED)
            set_bits(grid, AT2(ledger->trail, place, 1), kind == PUBLISHED);
    }
    AT(grid->counts, SYNCED) = trail;
    ledger_roll_back(ledger, trail, witnesses, cost);
}

/* Write the codes and signs of a move; return how many there are, 0 if too many. */
static int64_t write_move(const Grid *restrict grid, int64_t axis, int64_t a, int64_t b, Ints codes,
                          Ints signs) {
    int64_t i = AT(grid->cover_starts, AT(grid->first_code, axis) + a);
    const int64_t end_i = AT(grid->cover_starts, AT(grid->first_code, axis) + a + 1);
    int64_t j = 0;
    int64_t end_j = 0;
    if (b != OUTSIDE) {
        j = AT(grid->cover_starts, AT(grid->first_code, axis) + b);
        end_j = AT(grid->cover_starts, AT(grid->first_code, axis) + b + 1);
    }
    int64_t found = 0;
    while (i < end_i || j < end_j) {
        const int64_t mine = i < end_i ? AT(grid->cover_codes, i) : AT(grid->sizes, axis);
        const int64_t theirs = j < end_j ? AT(grid->cover_codes, j) : AT(grid->sizes, axis);
        if (mine == theirs) {
            i++;
            j++;
            continue;
        }
        if (found == MAX_SUPPORT)
            return 0;
        if (mine < theirs) {
            AT(codes, found) = mine;
            AT(signs, found) = 1;
            i++;
        } else {
            AT(codes, found) = theirs;
            AT(signs, found) = -1;
            j++;
        }
        found++;
    }
    return found;
}

/* The next leaf after a code whose bit is set; OUTSIDE if there is none. */
static int64_t next_leaf(const Grid *restrict grid, int64_t axis, Words row, int64_t after) {
    int64_t code = after + 1;
    while (code < AT(grid->sizes, axis)) {
        uint64_t rest = AT(row, code >> 6) >> (code & 63);
        if (rest == 0) {
            code = ((code >> 6) + 1) << 6;
            continue;
        }
        while ((rest & 1) == 0) {
            rest >>= 1;
            code++;
        }
        if (AT(grid->is_leaf, AT(grid->first_code, axis) + code))
            return code;
        code++;
    }
    return OUTSIDE;
}

/* Whether the bit of a code is set. */
static bool is_set(Words row, int64_t code) { return ((AT(row, code >> 6) >> (code & 63)) & 1) == 1; }

/* Sort the dimensions: the one whose line through the place has the fewest hidden cells first. */
static void axes_by_choice(const Grid *restrict grid, int64_t place, Ints order) {
    const int64_t dims = grid->sizes.size;
    const Ints chosen = new_ints(dims);
    for (int64_t axis = 0; axis < dims; axis++) {
        AT(order, axis) = axis;
        const int64_t start = line_start(grid, place, axis);
        for (int64_t word = 0, word_end = AT(grid->words, axis); word < word_end; word++) {
            uint64_t rest = AT(grid->bits, start + word);
            while (rest) {
                rest &= rest - 1; // without the lowest bit that is set
                AT(chosen, axis)++;
            }
        }
    }
    for (int64_t i = 1; i < dims; i++) {
        int64_t j = i;
        while (j > 0 && AT(chosen, AT(order, j)) < AT(chosen, AT(order, j - 1))) {
            const int64_t other = AT(order, j);
            AT(order, j) = AT(order, j - 1);
            AT(order, j - 1) = other;
            j--;
        }
    }
    free(chosen.at);
}

/* The codes of an axis under which the bits of all corners so far are set. */
static void fill_row(const Grid *restrict grid, Words bits, int64_t axis, int64_t size, Words row) {
    AT(grid->counts, WORK) += size * AT(grid->sizes, axis);
    for (int64_t word = 0, word_end = AT(grid->words, axis); word < word_end; word++)
        AT(row, word) = ~UINT64_C(0);
    for (int64_t i = 0; i < size; i++) {
        const int64_t start = line_start(grid, AT(grid->cube_places, i), axis);
        for (int64_t word = 0, word_end = AT(grid->words, axis); word < word_end; word++)
            AT(row, word) &= AT(bits, start + word);
    }
}

/* Write a move if all its codes are usable and it moves the cell's own code; return its length or 0. */
static int64_t usable_move(const Grid *restrict grid, int64_t axis, int64_t own, int64_t a, int64_t b,
                           Words row, Ints codes, Ints signs) {
    const int64_t length = write_move(grid, axis, a, b, codes, signs);
    bool has_own = false;
    for (int64_t i = 0; i < length; i++) {
        has_own |= AT(codes, i) == own && AT(signs, i) > 0;
        if (!is_set(row, AT(codes, i)))
            return 0;
    }
    return has_own ? length : 0;
}

/* Put the corners so far under the other codes of a move too; return their number, 0 where they are too
 * many or a cell cannot move so far. */
static int64_t extend_cube(const Grid *restrict grid, int64_t axis, int64_t own, int64_t amount,
                           int64_t length, int64_t size) {
    int64_t total = size;
    const Ints codes = int_row(grid->codes, 0);
    const Ints signs = int_row(grid->codes, 1);
    if (length * size > MAX_CUBE)
        return 0;
    for (int64_t j = 0; j < length; j++) {
        if (AT(codes, j) == own)
            continue;
        const int64_t shift = (AT(codes, j) - own) * AT(grid->strides, axis);
        for (int64_t i = 0; i < size; i++) {
            const int64_t place = AT(grid->cube_places, i) + shift;
            const int64_t sign = AT(grid->cube_signs, i) * AT(signs, j);
            const int64_t corner = AT(grid->number, place);
            if ((sign > 0 ? AT(grid->room_up, corner) : AT(grid->room_down, corner)) < amount)
                return 0;
            AT(grid->cube_places, total) = place;
            AT(grid->cube_signs, total) = sign;
            total++;
        }
    }
    return total;
}

/* Look for a cube of hidden cells that moves a cell by the amount; return its size, 0 if none.
 *
 * Depth-first, dimension by dimension. The bits of all lines through the corners so far, taken together,
 * say which codes of the next dimension can be used at all. */
EXPORT int64_t cubes_find_free(const Grid *restrict grid, int64_t cell, int64_t sign, int64_t amount,
                               int64_t work) {
    const int64_t dims = grid->sizes.size;
    const int64_t home = home_of(grid, cell);
    const Ints order = int_row(grid->stack, 0);
    const Ints a_place = int_row(grid->stack, 1);
    const Ints b_code = int_row(grid->stack, 2);
    const Ints sizes = int_row(grid->stack, 3);
    axes_by_choice(grid, home, order);
    AT(grid->cube_places, 0) = home;
    AT(grid->cube_signs, 0) = sign;
    AT(sizes, 0) = 1;
    int64_t depth = 0;
    bool entering = true;
    while (true) {
        const int64_t axis = AT(order, depth);
        const Words row = word_row(grid->rows, depth);
        const int64_t own = AT2(grid->keys, cell, axis);
        const int64_t last = AT(grid->leaf_starts, AT(grid->first_code, axis) + own + 1);
        if (entering) {
            fill_row(grid, grid->bits, axis, AT(sizes, depth), row);
            AT(a_place, depth) = AT(grid->leaf_starts, AT(grid->first_code, axis) + own);
            AT(b_code, depth) = UNSET;
            entering = false;
        }
        // The next pair of leaves: b runs over the hidden ones, OUTSIDE last, then a goes on.
        int64_t found = 0;
        while (found == 0 && AT(a_place, depth) < last) {
            const int64_t a = AT(grid->leaf_codes, AT(a_place, depth));
            if (AT(b_code, depth) == OUTSIDE || !is_set(row, a)) {
                AT(a_place, depth)++;
                AT(b_code, depth) = UNSET;
                continue;
            }
            work--;
            if (work < 0)
                return 0;
            AT(b_code, depth) = next_leaf(grid, axis, row, max_int(AT(b_code, depth), OUTSIDE));
            if (AT(b_code, depth) != a) {
                found = usable_move(grid, axis, own, a, AT(b_code, depth), row, int_row(grid->codes, 0),
                                    int_row(grid->codes, 1));
            }
            if (found)
                found = extend_cube(grid, axis, own, amount, found, AT(sizes, depth));
        }
        if (found == 0) {
            depth--;
            if (depth < 0)
                return 0;
        } else if (depth + 1 == dims) {
            return found;
        } else {
            depth++;
            AT(sizes, depth) = found;
            entering = true;
        }
    }
}

/* Take the cube into the ledger, as far as it can be moved each way; return how many demands it meets. */
static int64_t add_cube(const LedgerArrays *restrict ledger, const Grid *restrict grid, int64_t size) {
    int64_t forward = UNLIMITED / 2;
    int64_t backward = forward;
    for (int64_t i = 0; i < size; i++) {
        const int64_t cell = AT(grid->number, AT(grid->cube_places, i));
        AT(grid->cube_cells, i) = cell;
        const int64_t rise = AT(grid->room_up, cell);
        const int64_t fall = AT(grid->room_down, cell);
        if (AT(grid->cube_signs, i) > 0) {
            forward = min_int(forward, rise);
            backward = min_int(backward, fall);
        } else {
            forward = min_int(forward, fall);
            backward = min_int(backward, rise);
        }
    }
    int64_t met = 0;
    const Int32s cells = int32s_part(grid->cube_cells, 0, size);
    const Ints moves = ints_part(grid->cube_moves, 0, size);
    for (int64_t turn = 0; turn < 3; turn++) {
        const int64_t amount = turn == 0 ? min_int(forward, backward) : turn == 1 ? forward : -backward;
        for (int64_t i = 0; i < size; i++)
            AT(moves, i) = AT(grid->cube_signs, i) * amount;
        met += add(ledger, cells, moves, 1, false);
    }
    return met;
}

/* Meet a demand by a cube of hidden cells, if there is one. */
static bool prove_demand(const LedgerArrays *restrict ledger, const Grid *restrict grid, int64_t cell,
                         bool up, int64_t work) {
    const int64_t size = cubes_find_free(grid, cell, up ? 1 : -1, required_amount(ledger, cell, up), work);
    if (size > 0)
        add_cube(ledger, grid, size);
    return !is_open(ledger, cell, up);
}

/* Meet demands by single cubes, from number `start` on; return where it stopped.
 *
 * It stops where the ledger is full or the work is done that one call may do. `most` are the entries that
 * one demand may need. */
EXPORT int64_t cubes_prove_all(const LedgerArrays *restrict ledger, const Grid *restrict grid, Ints cells,
                               Bools up, int64_t start, int64_t work, int64_t most) {
    for (int64_t i = start; i < cells.size; i++) {
        const int64_t cell = AT(cells, i);
        const int64_t capacity = AT(up, i) ? AT(grid->room_up, cell) : AT(grid->room_down, cell);
        if (!is_open(ledger, cell, AT(up, i)) || required_amount(ledger, cell, AT(up, i)) > capacity)
            continue;
        if (AT(grid->counts, WORK) > AT(grid->counts, MOST_WORK) || !ledger_has_room(ledger, 4, most))
            return i;
        prove_demand(ledger, grid, cell, AT(up, i), work);
    }
    return cells.size;
}
