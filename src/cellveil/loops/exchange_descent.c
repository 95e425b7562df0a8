/* Exchanges in a covering program: one or two chosen columns for one or two others that cost no more. */

/* A covering program.
 *
 * `cost` is that of the columns, the cheapest first. `coefs` are the rows Σ a x ≥ b, one line for each
 * column; rows that are soon broken are best put first. Where they are not 0 stands in `row_starts` and
 * `rows`, by column, and in `column_starts` and `columns`, by row. */
typedef struct {
    Floats cost;
    FloatTable coefs;
    Ints row_starts;
    Ints rows;
    Ints column_starts;
    Ints columns;
} CoveringArrays;

/* A random number below `among`. */
static int64_t drawn_below(Words state, int64_t among) {
    const uint64_t x = stirred(AT(state, 0));
    AT(state, 0) = x;
    return (int64_t)word_mod(x >> 33, (uint64_t)among);
}

/* How many of the sorted costs are below a bound, or equal to it. */
static int64_t num_below(Floats cost, double bound, bool or_equal) {
    int64_t low = 0;
    int64_t high = cost.size;
    while (low < high) {
        const int64_t middle = (low + high) >> 1;
        if (AT(cost, middle) < bound || (or_equal && AT(cost, middle) == bound))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Try random exchanges, and make those that cost no more and keep every row; `chosen` is changed.
 *
 * `room` is what each row has beyond b; it changes with `chosen`. The second column makes the exchange
 * cheaper by no more than `span`. `steps` coefficients are looked at, and exchanges drawn, before it ends.
 * `state` is that of the random numbers. */
EXPORT void exchange_descent_exchange(const CoveringArrays *restrict program, Floats room, Bools chosen,
                                      double span, int64_t steps, Words state) {
    const Floats cost = program->cost;
    const FloatTable coefs = program->coefs;
    const int64_t size = coefs.rows;
    const int64_t rows = coefs.columns;
    const Ints inside = new_ints(size);
    int64_t count = 0;
    for (int64_t i = 0; i < size; i++) {
        if (AT(chosen, i)) {
            AT(inside, count) = i;
            count++;
        }
    }
    while (steps > 0 && count > 0) {
        steps--;
        const int64_t place = drawn_below(state, count);
        const int64_t other = drawn_below(state, 2 * count);
        const int64_t out = AT(inside, place);
        const int64_t second_out = other < count && other != place ? AT(inside, other) : -1;
        double spare = AT(cost, out) + (second_out >= 0 ? AT(cost, second_out) : 0.0);
        int64_t first = AT(program->row_starts, out);
        int64_t end = AT(program->row_starts, out + 1);
        if (first == end)
            continue;
        int64_t r = AT(program->rows, first + drawn_below(state, end - first));
        first = AT(program->column_starts, r);
        end = AT(program->column_starts, r + 1);
        const int64_t into = AT(program->columns, first + drawn_below(state, end - first));
        if (AT(chosen, into) || AT(cost, into) > spare)
            continue;
        spare -= AT(cost, into);
        int64_t second_into = -1;
        if (drawn_below(state, 4) > 0) {
            const int64_t low = num_below(cost, spare - span, false);
            const int64_t high = num_below(cost, spare, true);
            if (high <= low)
                continue;
            second_into = low + drawn_below(state, high - low);
            if (second_into == into || AT(chosen, second_into))
                continue;
        }
        r = 0;
        while (r < rows) {
            double left = AT(room, r) - AT2(coefs, out, r) + AT2(coefs, into, r);
            if (second_out >= 0)
                left -= AT2(coefs, second_out, r);
            if (second_into >= 0)
                left += AT2(coefs, second_into, r);
            if (left < -EQUAL)
                break;
            r++;
        }
        steps -= r;
        if (r < rows)
            continue;
        for (r = 0; r < rows; r++) {
            AT(room, r) += AT2(coefs, into, r) - AT2(coefs, out, r);
            if (second_out >= 0)
                AT(room, r) -= AT2(coefs, second_out, r);
            if (second_into >= 0)
                AT(room, r) += AT2(coefs, second_into, r);
        }
        AT(chosen, out) = false;
        AT(chosen, into) = true;
        if (second_out >= 0)
            AT(chosen, second_out) = false;
        if (second_into >= 0)
            AT(chosen, second_into) = true;
        count = 0;
        for (int64_t i = 0; i < size; i++) {
            if (AT(chosen, i)) {
                AT(inside, count) = i;
                count++;
            }
        }
    }
    free(inside.at);
}
