/* The loop behind windows of incremental linear programs: Dijkstra's algorithm over cells and relations. */

/* Cells by relation and relations by cell; then space for a search, by which `stamp` is counted. */
typedef struct {
    Ints row_starts;
    Int32s cells;
    Ints cell_starts;
    Ints rows;
    Bools movable;
    Floats distance;
    Ints reached;
    Ints settled;
    Ints entered;
    Floats heap_distance;
    Ints heap_cell;
    Ints near;
    Ints stamp;
} Incidence;

/* Take the top off the heap, which has this size then. */
static void sift_cell_down(const Incidence *restrict space, int64_t size) {
    const double distance = AT(space->heap_distance, size);
    const int64_t cell = AT(space->heap_cell, size);
    int64_t place = 0;
    int64_t below = 1;
    while (below < size) {
        double far = AT(space->heap_distance, below);
        int64_t other = AT(space->heap_cell, below);
        if (below + 1 < size) {
            const double next_far = AT(space->heap_distance, below + 1);
            const int64_t next_other = AT(space->heap_cell, below + 1);
            if (next_far < far || (next_far == far && next_other < other)) {
                far = next_far;
                other = next_other;
                below++;
            }
        }
        if (distance < far || (distance == far && cell <= other))
            break;
        AT(space->heap_distance, place) = far;
        AT(space->heap_cell, place) = other;
        place = below;
        below = 2 * below + 1;
    }
    AT(space->heap_distance, place) = distance;
    AT(space->heap_cell, place) = cell;
}

/* Put a cell into the heap of this size: the nearest is on top, of equally near ones the first. */
static void sift_cell_up(const Incidence *restrict space, int64_t size, double distance, int64_t cell) {
    int64_t place = size;
    while (place > 0) {
        const int64_t above = (place - 1) >> 1;
        const double far = AT(space->heap_distance, above);
        const int64_t other = AT(space->heap_cell, above);
        if (far < distance || (far == distance && other <= cell))
            break;
        AT(space->heap_distance, place) = far;
        AT(space->heap_cell, place) = other;
        place = above;
    }
    AT(space->heap_distance, place) = distance;
    AT(space->heap_cell, place) = cell;
}

/* Write the cells nearest to one into `space.near`, up to a number and a radius; tells how many.
 *
 * Each relation is entered once, from its nearest cell. Entering a cell costs its price and one step. */
EXPORT int64_t windowed_demand_ball(const Incidence *restrict space, Floats price, double step, int64_t start,
                                    int64_t most, double radius) {
    AT(space->stamp, 0)++;
    const int64_t stamp = AT(space->stamp, 0);
    int64_t size = 1;
    int64_t count = 0;
    AT(space->heap_distance, 0) = 0.0;
    AT(space->heap_cell, 0) = start;
    AT(space->distance, start) = 0.0;
    AT(space->reached, start) = stamp;
    while (size > 0 && count < most) {
        const double distance = AT(space->heap_distance, 0);
        const int64_t nearest = AT(space->heap_cell, 0);
        size--;
        sift_cell_down(space, size);
        if (AT(space->settled, nearest) == stamp)
            continue;
        AT(space->settled, nearest) = stamp;
        AT(space->near, count) = nearest;
        count++;
        for (int64_t k = AT(space->cell_starts, nearest), k_end = AT(space->cell_starts, nearest + 1);
             k < k_end; k++) {
            const int64_t row = AT(space->rows, k);
            if (AT(space->entered, row) == stamp)
                continue;
            AT(space->entered, row) = stamp;
            for (int64_t e = AT(space->row_starts, row), e_end = AT(space->row_starts, row + 1); e < e_end;
                 e++) {
                const int64_t cell = AT(space->cells, e);
                const double far = distance + AT(price, cell) + step;
                if (!AT(space->movable, cell) || far > radius)
                    continue;
                if (AT(space->reached, cell) != stamp || far < AT(space->distance, cell)) {
                    AT(space->reached, cell) = stamp;
                    AT(space->distance, cell) = far;
                    sift_cell_up(space, size, far, cell);
                    size++;
                }
            }
        }
    }
    return count;
}
