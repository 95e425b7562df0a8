/* Loops of the ledger of witnesses: take in, find the users of a cell, publish, roll back.
 *
 * Numbers of witnesses grow as they are stored. The entries that move a cell are chained: ``head[cell]``
 * is the latest, ``following[entry]`` the one before it. Every change of a cell is noted in the trail as
 * (kind, cell, what was there before), so that undoing the trail backwards and cutting off the latest
 * witnesses brings back an earlier state. */

/* Places in `LedgerArrays.counts`. */
enum { WITNESSES, ENTRIES, TRAIL, OPEN };

/* Kinds of changes in the trail: a cell was hidden, published; its witness in a direction was changed. */
enum { HIDDEN, PUBLISHED, UP, DOWN };

/* All arrays of a ledger; those over witnesses, entries and the trail are longer than what they hold. */
typedef struct {
    Bools hidden;
    Bools movable;
    Bools is_free;
    Floats weight;
    Ints need_up;
    Ints need_down;
    Ints room_up;
    Ints room_down;
    Int32s witness_up;
    Int32s witness_down;
    Int32s head;
    Ints starts;
    Ints denominators;
    Int32s meets;
    Int32s cells;
    Ints numerators;
    Int32s following;
    Int32s owner;
    IntTable trail;
    Ints counts;
    Floats cost;
} LedgerArrays;

/* Whether a demand has no witness. */
static bool is_open(const LedgerArrays *restrict ledger, int64_t cell, bool up) {
    if (up)
        return AT(ledger->need_up, cell) > 0 && AT(ledger->witness_up, cell) < 0;
    return AT(ledger->need_down, cell) > 0 && AT(ledger->witness_down, cell) < 0;
}

/* How far a cell must be able to move. */
static int64_t required_amount(const LedgerArrays *restrict ledger, int64_t cell, bool up) {
    return up ? AT(ledger->need_up, cell) : AT(ledger->need_down, cell);
}

/* Whether so many more fit in; an entry can hide a cell and meet its demands in both directions. */
EXPORT bool ledger_has_room(const LedgerArrays *restrict ledger, int64_t witnesses, int64_t entries) {
    return AT(ledger->counts, WITNESSES) + witnesses <= ledger->denominators.size &&
           AT(ledger->counts, ENTRIES) + entries <= ledger->cells.size &&
           AT(ledger->counts, TRAIL) + 3 * entries <= ledger->trail.rows;
}

/* Write one change into the trail. */
static void note_change(const LedgerArrays *restrict ledger, int64_t kind, int64_t cell, int64_t before) {
    const int64_t place = AT(ledger->counts, TRAIL);
    AT2(ledger->trail, place, 0) = kind;
    AT2(ledger->trail, place, 1) = cell;
    AT2(ledger->trail, place, 2) = before;
    AT(ledger->counts, TRAIL) = place + 1;
}

/* Hide a cell, if it is not hidden yet. */
EXPORT void ledger_hide(const LedgerArrays *restrict ledger, int64_t cell) {
    if (!AT(ledger->hidden, cell)) {
        AT(ledger->hidden, cell) = true;
        if (!AT(ledger->is_free, cell))
            AT(ledger->cost, 0) += AT(ledger->weight, cell);
        note_change(ledger, HIDDEN, cell, 0);
    }
}

/* Whether the deviation, or its reversal (sign −1), stays within the capacities. */
static bool fits_capacities(const LedgerArrays *restrict ledger, Int32s cells, Ints numerators,
                            int64_t denominator, int64_t sign) {
    for (int64_t i = 0; i < cells.size; i++) {
        const int64_t moved = sign * AT(numerators, i);
        if (-floor_div(-moved, denominator) > AT(ledger->room_up, AT(cells, i)))
            return false;
        if (-floor_div(moved, denominator) > AT(ledger->room_down, AT(cells, i)))
            return false;
    }
    return true;
}

/* Give the open demands that the deviation meets to a witness; with number −1 only count them. */
static int64_t meet_demands(const LedgerArrays *restrict ledger, Int32s cells, Ints numerators,
                            int64_t denominator, int64_t sign, int64_t number) {
    int64_t kind;
    int64_t need;
    Int32s witness;
    int64_t met = 0;
    for (int64_t i = 0; i < cells.size; i++) {
        const int64_t cell = AT(cells, i);
        const int64_t moved = sign * AT(numerators, i);
        if (moved > 0) {
            need = AT(ledger->need_up, cell);
            witness = ledger->witness_up;
            kind = UP;
        } else {
            need = AT(ledger->need_down, cell);
            witness = ledger->witness_down;
            kind = DOWN;
        }
        if (need > 0 && AT(witness, cell) < 0 && floor_div(absolute(moved), denominator) >= need) {
            met++;
            if (number >= 0) {
                note_change(ledger, kind, cell, -1);
                AT(witness, cell) = number;
                AT(ledger->meets, number)++;
                AT(ledger->counts, OPEN)--;
            }
        }
    }
    return met;
}

/* Take in a deviation if it meets an open demand, as it stands or reversed; return how many it meets.
 *
 * The arrays must have space for one witness, the entries, and three changes per entry. */
static int64_t add(const LedgerArrays *restrict ledger, Int32s cells, Ints numerators, int64_t denominator,
                   bool hiding) {
    for (int64_t i = 0; i < cells.size; i++)
        if (!AT(ledger->movable, AT(cells, i)) || !(hiding || AT(ledger->hidden, AT(cells, i))))
            return 0;
    const bool forward = fits_capacities(ledger, cells, numerators, denominator, 1);
    const bool backward = fits_capacities(ledger, cells, numerators, denominator, -1);
    int64_t met = 0;
    if (forward)
        met += meet_demands(ledger, cells, numerators, denominator, 1, -1);
    if (backward)
        met += meet_demands(ledger, cells, numerators, denominator, -1, -1);
    if (met == 0)
        return 0;
    const int64_t number = AT(ledger->counts, WITNESSES);
    int64_t entry = AT(ledger->counts, ENTRIES);
    for (int64_t i = 0; i < cells.size; i++) {
        const int64_t cell = AT(cells, i);
        ledger_hide(ledger, cell);
        AT(ledger->cells, entry) = cell;
        AT(ledger->numerators, entry) = AT(numerators, i);
        AT(ledger->owner, entry) = number;
        AT(ledger->following, entry) = AT(ledger->head, cell);
        AT(ledger->head, cell) = entry;
        entry++;
    }
    AT(ledger->denominators, number) = denominator;
    AT(ledger->meets, number) = 0;
    AT(ledger->starts, number + 1) = entry;
    AT(ledger->counts, WITNESSES) = number + 1;
    AT(ledger->counts, ENTRIES) = entry;
    if (forward)
        meet_demands(ledger, cells, numerators, denominator, 1, number);
    if (backward)
        meet_demands(ledger, cells, numerators, denominator, -1, number);
    return met;
}

/* Take in many, one after the other; return how many demands they meet. */
EXPORT int64_t ledger_add_all(const LedgerArrays *restrict ledger, Ints starts, Int32s cells, Ints numerators,
                              Ints denominators, bool hiding) {
    int64_t met = 0;
    for (int64_t w = 0; w < denominators.size; w++) {
        const int64_t begin = AT(starts, w);
        const int64_t end = AT(starts, w + 1);
        met += add(ledger, int32s_part(cells, begin, end), ints_part(numerators, begin, end),
                   AT(denominators, w), hiding);
    }
    return met;
}

/* Publish a cell and reopen the demands whose witness moves it; return how many, the trail tells which.
 *
 * The trail must have space for one change and for the demands. */
EXPORT int64_t ledger_publish(const LedgerArrays *restrict ledger, int64_t cell) {
    AT(ledger->hidden, cell) = false;
    AT(ledger->cost, 0) -= AT(ledger->weight, cell);
    note_change(ledger, PUBLISHED, cell, 0);
    int64_t opened = 0;
    int64_t user = AT(ledger->head, cell);
    while (user >= 0) {
        const int64_t number = AT(ledger->owner, user);
        user = AT(ledger->following, user);
        if (AT(ledger->meets, number) == 0)
            continue;
        for (int64_t entry = AT(ledger->starts, number), entry_end = AT(ledger->starts, number + 1);
             entry < entry_end; entry++) {
            const int64_t moved = AT(ledger->cells, entry);
            if (AT(ledger->need_up, moved) > 0 && AT(ledger->witness_up, moved) == number) {
                note_change(ledger, UP, moved, number);
                AT(ledger->witness_up, moved) = -1;
                opened++;
            }
            if (AT(ledger->need_down, moved) > 0 && AT(ledger->witness_down, moved) == number) {
                note_change(ledger, DOWN, moved, number);
                AT(ledger->witness_down, moved) = -1;
                opened++;
            }
        }
        AT(ledger->meets, number) = 0;
    }
    AT(ledger->counts, OPEN) += opened;
    return opened;
}

/* Undo the changes after a place of the trail, and cut off all witnesses from a number on. */
EXPORT void ledger_roll_back(const LedgerArrays *restrict ledger, int64_t trail, int64_t witnesses,
                             double cost) {
    for (int64_t place = AT(ledger->counts, TRAIL) - 1; place >= trail; place--) {
        const int64_t kind = AT2(ledger->trail, place, 0);
        const int64_t cell = AT2(ledger->trail, place, 1);
        const int64_t before = AT2(ledger->trail, place, 2);
        if (kind == HIDDEN) {
            AT(ledger->hidden, cell) = false;
        } else if (kind == PUBLISHED) {
            AT(ledger->hidden, cell) = true;
        } else {
            const Int32s witness = kind == UP ? ledger->witness_up : ledger->witness_down;
            if (AT(witness, cell) >= 0) {
                AT(ledger->meets, AT(witness, cell))--;
                AT(ledger->counts, OPEN)++;
            }
            if (before >= 0) {
                AT(ledger->meets, before)++;
                AT(ledger->counts, OPEN)--;
            }
            AT(witness, cell) = before;
        }
    }
    for (int64_t entry = AT(ledger->counts, ENTRIES) - 1, first = AT(ledger->starts, witnesses);
         entry >= first; entry--) {
        AT(ledger->head, AT(ledger->cells, entry)) = AT(ledger->following, entry);
    }
    AT(ledger->counts, TRAIL) = trail;
    AT(ledger->counts, WITNESSES) = witnesses;
    AT(ledger->counts, ENTRIES) = AT(ledger->starts, witnesses);
    AT(ledger->cost, 0) = cost;
}

/* Drop witnesses that meet nothing, in place, and forget the trail. */
EXPORT void ledger_compact(const LedgerArrays *restrict ledger) {
    fill_int32s(ledger->head, -1);
    const Ints new_number = new_ints(AT(ledger->counts, WITNESSES));
    fill_ints(new_number, -1);
    int64_t kept = 0;
    int64_t entry = 0;
    for (int64_t number = 0, number_end = AT(ledger->counts, WITNESSES); number < number_end; number++) {
        if (AT(ledger->meets, number) == 0)
            continue;
        const int64_t begin = AT(ledger->starts, number);
        const int64_t end = AT(ledger->starts, number + 1);
        for (int64_t old = begin; old < end; old++) {
            const int64_t cell = AT(ledger->cells, old);
            AT(ledger->cells, entry) = cell;
            AT(ledger->numerators, entry) = AT(ledger->numerators, old);
            AT(ledger->owner, entry) = kept;
            AT(ledger->following, entry) = AT(ledger->head, cell);
            AT(ledger->head, cell) = entry;
            entry++;
        }
        AT(ledger->denominators, kept) = AT(ledger->denominators, number);
        AT(ledger->meets, kept) = AT(ledger->meets, number);
        AT(new_number, number) = kept;
        kept++;
        AT(ledger->starts, kept) = entry;
    }
    for (int64_t cell = 0; cell < ledger->hidden.size; cell++) {
        if (AT(ledger->witness_up, cell) >= 0)
            AT(ledger->witness_up, cell) = AT(new_number, AT(ledger->witness_up, cell));
        if (AT(ledger->witness_down, cell) >= 0)
            AT(ledger->witness_down, cell) = AT(new_number, AT(ledger->witness_down, cell));
    }
    AT(ledger->counts, WITNESSES) = kept;
    AT(ledger->counts, ENTRIES) = entry;
    AT(ledger->counts, TRAIL) = 0;
    free(new_number.at);
}
