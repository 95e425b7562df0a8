/* Moves that empty the totals of a whole three-way adjustment: unit steps, pairs of steps, rectangles. */

/* What a move must gain. */
#define LEAST_GAIN 1e-9

/* What a step of one cell costs; ∞ where it does not fit. */
static double change_of_cell(IntCube y, FloatCube weight, int64_t power, IntCube low, IntCube high, int64_t a,
                             int64_t b, int64_t c, int64_t step) {
    const int64_t old = AT3(y, a, b, c);
    const int64_t next = old + step;
    if (next < AT3(low, a, b, c) || next > AT3(high, a, b, c))
        return INFINITY;
    if (power == 1)
        return AT3(weight, a, b, c) * (absolute(next) - absolute(old));
    return AT3(weight, a, b, c) * (double)(next - old) * (double)(next + old);
}

/* What a step of one inner cell costs, with the seven totals over it; ∞ where it does not fit. */
static double change_of_inner_cell(IntCube y, FloatCube weight, int64_t power, IntCube low, IntCube high,
                                   int64_t i, int64_t j, int64_t k, int64_t step) {
    double worse = 0.0;
    for (int64_t corner = 0; corner < 8; corner++) {
        const int64_t a = corner & 1 ? i : 0;
        const int64_t b = corner & 2 ? j : 0;
        const int64_t c = corner & 4 ? k : 0;
        worse += change_of_cell(y, weight, power, low, high, a, b, c, step);
        if (worse == INFINITY)
            break;
    }
    return worse;
}

/* Add a step to one inner cell and to the seven totals over it. */
static void step_inner_cell(IntCube y, int64_t i, int64_t j, int64_t k, int64_t step) {
    for (int64_t corner = 0; corner < 8; corner++)
        AT3(y, corner & 1 ? i : 0, corner & 2 ? j : 0, corner & 4 ? k : 0) += step;
}

/* Bring the grand total, then the totals y[i, 0, 0] back while it pays; returns how many moves were made.
 *
 * A step of one inner cell moves the grand total; two steps of opposite sign, at (i, j, k) and (i′, j, k),
 * move two of the other totals. The best place for them is taken. */
EXPORT int64_t integers_units_and_pairs(IntCube y, FloatCube weight, int64_t power, IntCube low,
                                        IntCube high) {
    const int64_t rows = y.planes;
    const int64_t columns = y.rows;
    const int64_t depth = y.columns;
    int64_t made = 0;
    while (AT3(y, 0, 0, 0) != 0) {
        const int64_t step = AT3(y, 0, 0, 0) > 0 ? -1 : 1;
        double best = -LEAST_GAIN;
        int64_t ri = 0;
        int64_t rj = 0;
        int64_t rk = 0;
        for (int64_t i = 1; i < rows; i++) {
            for (int64_t j = 1; j < columns; j++) {
                for (int64_t k = 1; k < depth; k++) {
                    const double worse = change_of_inner_cell(y, weight, power, low, high, i, j, k, step);
                    if (worse < best) {
                        best = worse;
                        ri = i;
                        rj = j;
                        rk = k;
                    }
                }
            }
        }
        if (ri == 0)
            break;
        step_inner_cell(y, ri, rj, rk, step);
        made++;
    }
    for (int64_t i = 1; i < rows; i++) {
        while (AT3(y, i, 0, 0) != 0) {
            const int64_t step = AT3(y, i, 0, 0) > 0 ? -1 : 1;
            double best = -LEAST_GAIN;
            int64_t ri = 0;
            int64_t rj = 0;
            int64_t rk = 0;
            for (int64_t p = 1; p < rows; p++) {
                if (AT3(y, p, 0, 0) * step <= 0)
                    continue;
                for (int64_t j = 1; j < columns; j++) {
                    for (int64_t k = 1; k < depth; k++) {
                        step_inner_cell(y, p, j, k, -step);
                        double worse = change_of_inner_cell(y, weight, power, low, high, i, j, k, step);
                        step_inner_cell(y, p, j, k, step);
                        worse += change_of_inner_cell(y, weight, power, low, high, p, j, k, -step);
                        if (worse < best) {
                            best = worse;
                            ri = p;
                            rj = j;
                            rk = k;
                        }
                    }
                }
            }
            if (ri == 0)
                break;
            step_inner_cell(y, ri, rj, rk, -step);
            step_inner_cell(y, i, rj, rk, step);
            made++;
        }
    }
    return made;
}

/* Move what stands in the totals y[i, j, 0] into planes y[:, :, k]; returns how many moves were made.
 *
 * A move adds ±1 at (i, j) and (i′, j′) and takes it away at (i, j′) and (i′, j), both in the totals and in
 * one plane: no other total changes. From each total that moved, the best move over all i′, over the j′
 * whose total moved the other way, and over `planes` planes drawn at random is made, while it pays. */
EXPORT int64_t integers_rectangles(IntCube y, FloatCube weight, int64_t power, IntCube low, IntCube high,
                                   int64_t planes, Words state) {
    const int64_t rows = y.planes;
    const int64_t columns = y.rows;
    const int64_t depth = y.columns;
    uint64_t x = AT(state, 0);
    int64_t made = 0;
    for (int64_t i = 1; i < rows; i++) {
        for (int64_t j = 1; j < columns; j++) {
            while (AT3(y, i, j, 0) != 0) {
                const int64_t step = AT3(y, i, j, 0) > 0 ? -1 : 1;
                double best = -LEAST_GAIN;
                int64_t ri = 0;
                int64_t rj = 0;
                int64_t rk = 0;
                for (int64_t turn = 0; turn < planes; turn++) {
                    x = stirred(x);
                    const int64_t k = 1 + (int64_t)word_mod(x >> 20, (uint64_t)(depth - 1));
                    for (int64_t q = 1; q < columns; q++) {
                        if (q == j || AT3(y, i, q, 0) * step <= 0)
                            continue;
                        for (int64_t p = 1; p < rows; p++) {
                            if (p == i)
                                continue;
                            double worse = 0.0;
                            for (int64_t corner = 0; corner < 8; corner++) {
                                const int64_t a = (corner & 1) == 0 ? i : p;
                                const int64_t b = (corner & 2) == 0 ? j : q;
                                const int64_t c = (corner & 4) == 0 ? 0 : k;
                                const int64_t by = ((corner & 1) == 0) == ((corner & 2) == 0) ? step : -step;
                                worse += change_of_cell(y, weight, power, low, high, a, b, c, by);
                                if (worse == INFINITY)
                                    break;
                            }
                            if (worse < best) {
                                best = worse;
                                ri = p;
                                rj = q;
                                rk = k;
                            }
                        }
                    }
                }
                if (rk == 0)
                    break;
                for (int64_t turn = 0; turn < 2; turn++) {
                    const int64_t c = rk * turn;
                    AT3(y, i, j, c) += step;
                    AT3(y, ri, rj, c) += step;
                    AT3(y, i, rj, c) -= step;
                    AT3(y, ri, j, c) -= step;
                }
                made++;
            }
        }
    }
    AT(state, 0) = x;
    return made;
}
