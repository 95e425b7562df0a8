/* Loops over coalitions of insiders: against whom claimed deviations are no witnesses.
 *
 * See `cellveil.attackers.coalition_families` for the search, and why it visits every coalition that
 * matters. Every comparison is exact, whatever the size of the numbers. */

/* Places in `Visits.limits`, after the members. */
enum { MOST_VISITED = 1, MOST_OPEN };

/* Places in `Visits.counts`: lists of candidates so far; length of the last one; coalitions visited for the
 * demand; those of them that are open; and open ones of all demands. */
enum { SERIAL, LISTED, VISITED, HERE, FOUND };

/* Claims, those of one demand together: how far each reaches for somebody without a part; tight cells.
 *
 * ``row_people`` has the people of all tight cells of a claim by number, ``rows_of`` the tight cell of
 * each. ``people`` has them once, those for whom alone the claim reaches least first, ``alone`` how far
 * that is. ``uses`` counts the coalitions that each claim was found to be a witness against. */
typedef struct {
    Ints starts;
    Ints reach;
    Ints cells;
    Bools rises;
    Bools is_target;
    Ints moved;
    Ints step;
    Ints entry_starts;
    Ints row_people;
    Ints rows_of;
    Ints people_starts;
    Ints people;
    Ints alone;
    Ints uses;
} ReadClaims;

/* A coalition in the making, whom to try next, and the coalitions that were found open. */
typedef struct {
    Ints who;
    IntTable tray;
    Bools is_barred;
    Ints listed_in;
    Ints limits;
    Ints counts;
    Ints open_demands;
    Ints open_sizes;
    IntTable open_people;
} Visits;

/* Whether a / b ≤ c / d, for whole numbers from 0 on and b, d above 0: Euclid's algorithm on both. */
static bool is_at_most(int64_t a, int64_t b, int64_t c, int64_t d) {
    while (true) {
        const int64_t one = floor_div(a, b);
        const int64_t other = floor_div(c, d);
        if (one != other)
            return one < other;
        a = a - one * b;
        c = c - other * d;
        if (a == 0 || c == 0)
            return a == 0;
        // a / b ≤ c / d is the same as d / c ≤ b / a
        const int64_t old_b = b;
        const int64_t old_a = a;
        a = d;
        b = c;
        c = old_b;
        d = old_a;
    }
}

/* Where somebody's tight cells of a claim begin, or would. */
static int64_t first_entry(const ReadClaims *restrict claims, int64_t claim, int64_t person) {
    int64_t low = AT(claims->entry_starts, claim);
    int64_t high = AT(claims->entry_starts, claim + 1);
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (AT(claims->row_people, middle) < person)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the target moves by the amount within what the coalition cannot rule out. */
static bool is_witness_against(const Standing *restrict standing, const ReadClaims *restrict claims,
                               int64_t claim, Ints who, int64_t size, int64_t members, int64_t amount) {
    if (AT(claims->reach, claim) < amount)
        return false;
    for (int64_t i = 0; i < size; i++) {
        int64_t entry = first_entry(claims, claim, AT(who, i));
        const int64_t end = AT(claims->entry_starts, claim + 1);
        while (entry < end && AT(claims->row_people, entry) == AT(who, i)) {
            const int64_t row = AT(claims->rows_of, entry);
            const int64_t cell = AT(claims->cells, row);
            const bool is_target = AT(claims->is_target, row);
            const OwnPart part = own_part(standing, cell, who, size, is_target);
            const int64_t capacity = capacity_for(standing, cell, AT(claims->rises, row), part.amount,
                                                  part.listed, members, is_target);
            if (capacity != UNBOUNDED &&
                !is_at_most(amount, AT(claims->step, row), capacity, AT(claims->moved, row)))
                return false;
            entry++;
        }
    }
    return true;
}

/* Add somebody to those who are tried next; return how many these are then. */
static int64_t list_person(const Visits *restrict visits, int64_t person, int64_t size, int64_t count) {
    if (AT(visits->is_barred, person) || AT(visits->listed_in, person) == AT(visits->counts, SERIAL))
        return count;
    AT(visits->listed_in, person) = AT(visits->counts, SERIAL);
    AT2(visits->tray, size, count) = person;
    return count + 1;
}

/* Add the people of a cell. */
static int64_t list_people(const Standing *restrict standing, const Visits *restrict visits, int64_t cell,
                           int64_t size, int64_t count) {
    for (int64_t place = AT(standing->starts, cell), place_end = AT(standing->starts, cell + 1);
         place < place_end; place++) {
        count = list_person(visits, AT(standing->people, place), size, count);
    }
    return count;
}

/* Add whoever may stop a claim as the last member: alone, or in a tight cell with another one.
 *
 * Called after the people of the target; returns how many are listed then. */
static int64_t list_last_members(const Standing *restrict standing, const ReadClaims *restrict claims,
                                 int64_t claim, const Visits *restrict visits, int64_t size, int64_t amount) {
    int64_t count = AT(visits->counts, LISTED);
    for (int64_t place = AT(claims->people_starts, claim), place_end = AT(claims->people_starts, claim + 1);
         place < place_end; place++) {
        if (AT(claims->alone, place) >= amount)
            break;
        count = list_person(visits, AT(claims->people, place), size, count);
    }
    for (int64_t i = 0; i < size; i++) {
        int64_t entry = first_entry(claims, claim, AT(visits->who, i));
        while (entry < AT(claims->entry_starts, claim + 1) &&
               AT(claims->row_people, entry) == AT(visits->who, i)) {
            count = list_people(standing, visits, AT(claims->cells, AT(claims->rows_of, entry)), size, count);
            entry++;
        }
    }
    return count;
}

/* Write down a coalition against which no claim is a witness. */
static void note_open(const Visits *restrict visits, int64_t demand, int64_t size) {
    const int64_t place = AT(visits->counts, FOUND);
    AT(visits->open_demands, place) = demand;
    AT(visits->open_sizes, place) = size;
    for (int64_t i = 0; i < size; i++)
        AT2(visits->open_people, place, i) = AT(visits->who, i);
    AT(visits->counts, HERE)++;
    AT(visits->counts, FOUND)++;
}

/* Visit a coalition, and all larger ones up to a size that contain nobody who is barred.
 *
 * Whoever was tried is barred for those tried after it: coalitions with both were visited with the first. */
static void visit(const Standing *restrict standing, const ReadClaims *restrict claims,
                  const AskedAmounts *restrict asked, const Visits *restrict visits, int64_t demand,
                  int64_t size, int64_t largest) {
    AT(visits->counts, VISITED)++;
    const int64_t amount = amount_for(standing, asked, demand, visits->who, size);
    const int64_t members = AT(visits->limits, MEMBERS);
    int64_t found = -1;
    if (amount > 0) {
        for (int64_t claim = AT(claims->starts, demand), claim_end = AT(claims->starts, demand + 1);
             claim < claim_end; claim++) {
            if (is_witness_against(standing, claims, claim, visits->who, size, members, amount)) {
                found = claim;
                break;
            }
        }
        if (found < 0 || AT(visits->counts, VISITED) > AT(visits->limits, MOST_VISITED)) {
            note_open(visits, demand, size);
            return;
        }
        AT(claims->uses, found)++;
    }
    if (size == largest)
        return;
    AT(visits->counts, SERIAL)++;
    int64_t count = list_people(standing, visits, AT(asked->targets, demand), size, 0);
    if (found >= 0 && size + 1 == largest) {
        AT(visits->counts, LISTED) = count;
        count = list_last_members(standing, claims, found, visits, size, amount);
    } else if (found >= 0) {
        for (int64_t place = AT(claims->people_starts, found),
                     place_end = AT(claims->people_starts, found + 1);
             place < place_end; place++) {
            count = list_person(visits, AT(claims->people, place), size, count);
        }
    }
    int64_t tried = 0;
    while (tried < count && AT(visits->counts, HERE) < AT(visits->limits, MOST_OPEN)) {
        const int64_t person = AT2(visits->tray, size, tried);
        AT(visits->who, size) = person;
        AT(visits->is_barred, person) = true;
        visit(standing, claims, asked, visits, demand, size + 1, largest);
        tried++;
    }
    for (int64_t i = 0; i < tried; i++)
        AT(visits->is_barred, AT2(visits->tray, size, i)) = false;
}

/* Visit coalitions for all demands, small ones first; return how many were found open. */
EXPORT int64_t coalitions_visit_all(const Standing *restrict standing, const ReadClaims *restrict claims,
                                    const AskedAmounts *restrict asked, const Visits *restrict visits) {
    for (int64_t demand = 0; demand < asked->targets.size; demand++) {
        AT(visits->counts, VISITED) = 0;
        AT(visits->counts, HERE) = 0;
        for (int64_t largest = 0, largest_end = AT(visits->limits, MEMBERS) + 1; largest < largest_end;
             largest++) {
            if (AT(visits->counts, HERE) == 0)
                visit(standing, claims, asked, visits, demand, 0, largest);
        }
    }
    return AT(visits->counts, FOUND);
}
