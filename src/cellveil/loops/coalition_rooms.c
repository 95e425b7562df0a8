/* Loops over coalitions of insiders: what is required against them, and how far cells can move as far as
 * they can tell.
 *
 * Contributors are rows of `Standing`; coalitions are arrays of such rows. */

/* Place in limits: how many attack together. */
enum { MEMBERS = 0 };

/* Places in the limits of `narrow_by_all`, after the members: amounts, and members in the target at most. */
enum { ABOVE = 1, AT_MOST, INSIDE };

/* Who stands in which cell with which part, and how far cells can move as far as everybody knows.
 *
 * The people of a cell stand in ``starts[cell]:starts[cell + 1]``, ``listed[cell]`` of them listed, then
 * stand-ins. ``more`` are those who are not listed; each has ``unlisted`` at most, and a coalition counts
 * with that in cells that ``are_vague``. The cells of a contributor are in compressed rows as well. */
typedef struct {
    Ints starts;
    Ints people;
    Ints parts;
    Ints listed;
    Ints more;
    Ints unlisted;
    Bools are_vague;
    Ints values;
    Ints down;
    Ints up;
    Bools floor;
    Bools ceiling;
    Ints place_starts;
    Ints places;
} Standing;

/* Demands: the target, and what is required for each set of members who are listed in it.
 *
 * Sets of fewer members come first, those of as many in colexicographic order. */
typedef struct {
    Ints targets;
    Ints starts;
    Ints amounts;
} AskedAmounts;

/* How many sets of a size there are among so many. */
static int64_t choose(int64_t number, int64_t size) {
    int64_t found = 1;
    for (int64_t i = 0; i < size; i++)
        found = floor_div(found * (number - i), i + 1);
    return found;
}

/* Whether somebody is among the first so many. */
static bool is_member(int64_t person, Ints who, int64_t size) {
    int64_t place = 0;
    while (place < size && AT(who, place) != person)
        place++;
    return place < size;
}

typedef struct {
    int64_t amount, listed;
} OwnPart;

/* What a coalition has in a cell, and how many of it are listed; stand-ins count not in the target. */
static OwnPart own_part(const Standing *restrict standing, int64_t cell, Ints who, int64_t size,
                        bool is_target) {
    int64_t own = 0;
    int64_t here = 0;
    const int64_t first = AT(standing->starts, cell);
    for (int64_t place = first, place_end = AT(standing->starts, cell + 1); place < place_end; place++) {
        if (!is_member(AT(standing->people, place), who, size))
            continue;
        if (place < first + AT(standing->listed, cell)) {
            here++;
            own += AT(standing->parts, place);
        } else if (!is_target) {
            own += AT(standing->parts, place);
        }
    }
    return (OwnPart){own, here};
}

/* How far a cell can move for a coalition with such a part of it, so many members listed there. */
static int64_t capacity_for(const Standing *restrict standing, int64_t cell, bool rises, int64_t own,
                            int64_t here, int64_t members, bool is_target) {
    if (!is_target && here > 0 && here == AT(standing->listed, cell) && AT(standing->more, cell) == 0)
        return 0;
    const int64_t limit = rises ? AT(standing->up, cell) : AT(standing->down, cell);
    if (!(rises ? AT(standing->ceiling, cell) : AT(standing->floor, cell)))
        return limit;
    int64_t known = own;
    if (AT(standing->are_vague, cell) && !is_target)
        known += min_int(AT(standing->more, cell), members - here) * AT(standing->unlisted, cell);
    const int64_t left = rises ? -known - AT(standing->values, cell) : AT(standing->values, cell) - known;
    return min_int(limit, max_int(left, 0));
}

/* What is required against a coalition: only its members in the target make a difference. */
static int64_t amount_for(const Standing *restrict standing, const AskedAmounts *restrict asked,
                          int64_t demand, Ints who, int64_t size) {
    const int64_t cell = AT(asked->targets, demand);
    const int64_t first = AT(standing->starts, cell);
    const int64_t listed = AT(standing->listed, cell);
    int64_t here = 0;
    int64_t rank = 0;
    for (int64_t place = 0; place < listed; place++) {
        if (is_member(AT(standing->people, first + place), who, size)) {
            here++;
            rank += choose(place, here);
        }
    }
    for (int64_t fewer = 0; fewer < here; fewer++)
        rank += choose(listed, fewer);
    return AT(asked->amounts, AT(asked->starts, demand) + rank);
}

/* How far cells can fall and rise as far as all of some coalitions can tell; return how many cells.
 *
 * The coalitions are given in compressed rows. ``rooms`` has rows for falls, rises, and whether a cell was
 * met, which must be 0 everywhere, and is so again in the end. */
EXPORT int64_t coalition_rooms_narrow(const Standing *restrict standing, Ints starts, Ints people,
                                      int64_t members, int64_t target, IntTable rooms, Ints cells) {
    int64_t count = 0;
    for (int64_t group = 0; group < starts.size - 1; group++) {
        const Ints who = ints_part(people, AT(starts, group), AT(starts, group + 1));
        for (int64_t i = 0; i < who.size; i++) {
            const int64_t one = AT(who, i);
            for (int64_t place = AT(standing->place_starts, one),
                         place_end = AT(standing->place_starts, one + 1);
                 place < place_end; place++) {
                const int64_t cell = AT(standing->places, place);
                const bool is_target = cell == target;
                const OwnPart part = own_part(standing, cell, who, who.size, is_target);
                if (AT2(rooms, 2, cell) == 0) {
                    AT2(rooms, 0, cell) = UNBOUNDED;
                    AT2(rooms, 1, cell) = UNBOUNDED;
                    AT2(rooms, 2, cell) = 1;
                    AT(cells, count) = cell;
                    count++;
                }
                const int64_t fall =
                    capacity_for(standing, cell, false, part.amount, part.listed, members, is_target);
                const int64_t rise =
                    capacity_for(standing, cell, true, part.amount, part.listed, members, is_target);
                AT2(rooms, 0, cell) = min_int(AT2(rooms, 0, cell), fall);
                AT2(rooms, 1, cell) = min_int(AT2(rooms, 1, cell), rise);
            }
        }
    }
    for (int64_t i = 0; i < count; i++)
        AT2(rooms, 2, AT(cells, i)) = 0;
    return count;
}

/* Whether what is required against a coalition is within limits, or with more members from the target. */
static bool is_within_limits(const Standing *restrict standing, const AskedAmounts *restrict asked,
                             Ints limits, Ints who, int64_t size) {
    const int64_t first = AT(standing->starts, AT(asked->targets, 0));
    const int64_t last = first + AT(standing->listed, AT(asked->targets, 0));
    int64_t inside = 0;
    for (int64_t place = first; place < last; place++)
        inside += is_member(AT(standing->people, place), who, size) ? 1 : 0;
    if (inside > AT(limits, INSIDE))
        return false;
    const int64_t amount = amount_for(standing, asked, 0, who, size);
    if (AT(limits, ABOVE) < amount && amount <= AT(limits, AT_MOST))
        return true;
    if (size < AT(limits, MEMBERS)) {
        for (int64_t place = first; place < last; place++) {
            if (!is_member(AT(standing->people, place), who, size)) {
                AT(who, size) = AT(standing->people, place);
                if (is_within_limits(standing, asked, limits, who, size + 1))
                    return true;
            }
        }
    }
    return false;
}

/* Narrow how far a cell can move by all sets of its people, from some place on, with those chosen so far. */
static void narrow_by_sets(const Standing *restrict standing, const AskedAmounts *restrict asked, Ints limits,
                           Ints who, int64_t size, int64_t first, int64_t cell, IntTable rooms) {
    const int64_t members = AT(limits, MEMBERS);
    for (int64_t place = first, place_end = AT(standing->starts, cell + 1); place < place_end; place++) {
        AT(who, size) = AT(standing->people, place);
        for (int64_t i = 0; i < size + 1; i++)
            AT(who, members + i) = AT(who, i);
        if (is_within_limits(standing, asked, limits, ints_part(who, members, who.size), size + 1)) {
            const OwnPart part = own_part(standing, cell, who, size + 1, false);
            const int64_t fall =
                capacity_for(standing, cell, false, part.amount, part.listed, members, false);
            const int64_t rise = capacity_for(standing, cell, true, part.amount, part.listed, members, false);
            AT2(rooms, 0, cell) = min_int(AT2(rooms, 0, cell), fall);
            AT2(rooms, 1, cell) = min_int(AT2(rooms, 1, cell), rise);
        }
        if (size + 1 < members)
            narrow_by_sets(standing, asked, limits, who, size + 1, place + 1, cell, rooms);
    }
}

/* The cells in which people of the target stand, and how far they can move for all within limits.
 *
 * The first demand is meant. ``rooms`` and ``cells`` as in `narrow`; they begin with the bounds that
 * everybody knows. */
EXPORT int64_t coalition_rooms_narrow_by_all(const Standing *restrict standing,
                                             const AskedAmounts *restrict asked, Ints limits, IntTable rooms,
                                             Ints cells) {
    const int64_t target = AT(asked->targets, 0);
    const Ints who = new_ints(2 * AT(limits, MEMBERS));
    int64_t count = 0;
    for (int64_t person = AT(standing->starts, target),
                 person_end = AT(standing->starts, target) + AT(standing->listed, target);
         person < person_end; person++) {
        const int64_t one = AT(standing->people, person);
        for (int64_t place = AT(standing->place_starts, one), place_end = AT(standing->place_starts, one + 1);
             place < place_end; place++) {
            const int64_t cell = AT(standing->places, place);
            if (AT2(rooms, 2, cell) == 0 && cell != target) {
                AT2(rooms, 2, cell) = 1;
                AT(cells, count) = cell;
                count++;
                narrow_by_sets(standing, asked, limits, who, 0, AT(standing->starts, cell), cell, rooms);
            }
        }
    }
    for (int64_t i = 0; i < count; i++)
        AT2(rooms, 2, AT(cells, i)) = 0;
    free(who.at);
    return count;
}
