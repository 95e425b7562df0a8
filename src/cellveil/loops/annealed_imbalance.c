/* Simulated annealing over the senses of sensitive cells: one cell changes its sense at a time. */

/* One sweep over all cells at each temperature; `senses`, `sums` and the random `state` are changed.
 *
 * Minimises Σ price · |sums| + Σ extra over the cells that rise. Rising instead of falling adds `jumps` to
 * the sums of the cell's `rows`, which stand from starts[i] to starts[i + 1]. */
EXPORT void annealed_imbalance_anneal(Ints starts, Ints rows, Ints jumps, Floats extra, Floats price,
                                      Bools senses, Ints sums, Floats temperatures, Words state) {
    uint64_t x = AT(state, 0);
    for (int64_t t = 0; t < temperatures.size; t++) {
        const double heat = AT(temperatures, t);
        for (int64_t i = 0; i < starts.size - 1; i++) {
            const int64_t sign = AT(senses, i) ? -1 : 1;
            double worse = sign * AT(extra, i);
            for (int64_t e = AT(starts, i), e_end = AT(starts, i + 1); e < e_end; e++) {
                const int64_t r = AT(rows, e);
                worse += AT(price, r) * (absolute(AT(sums, r) + sign * AT(jumps, e)) - absolute(AT(sums, r)));
            }
            if (worse > 0.0) {
                if (worse > 20.0 * heat)
                    continue;
                x = stirred(x);
                if ((x >> 11) * 0x1p-53 >= exp(-worse / heat))
                    continue;
            }
            for (int64_t e = AT(starts, i), e_end = AT(starts, i + 1); e < e_end; e++)
                AT(sums, AT(rows, e)) += sign * AT(jumps, e);
            AT(senses, i) = !AT(senses, i);
        }
    }
    AT(state, 0) = x;
}
