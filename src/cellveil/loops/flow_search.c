/* Loops of the search for cheaper patterns of networks: clean-up, ruin and recreate.
 *
 * See `flow_witness.c` for the witnesses. */

/* Take a witness up again as a flow, in the direction in which it moves the cell as wanted. */
static void load_witness(const Work *restrict work, const LedgerArrays *restrict ledger, int64_t number,
                         int64_t cell, bool up) {
    const int64_t begin = AT(ledger->starts, number);
    const int64_t end = AT(ledger->starts, number + 1);
    int64_t sign = 1;
    for (int64_t entry = begin; entry < end; entry++)
        if (AT(ledger->cells, entry) == cell && (AT(ledger->numerators, entry) > 0) != up)
            sign = -1;
    for (int64_t entry = begin; entry < end; entry++)
        add_flow(work, AT(ledger->cells, entry), sign * AT(ledger->numerators, entry));
}

/* Write the hidden cells that were not hidden at the start; return how many there are. */
static int64_t secondaries(const LedgerArrays *restrict ledger, const Plan *restrict plan, Ints found) {
    int64_t count = 0;
    for (int64_t i = 0; i < plan->cells.size; i++) {
        const int64_t cell = AT(plan->cells, i);
        if (AT(ledger->hidden, cell) && !AT(ledger->is_free, cell)) {
            AT(found, count) = cell;
            count++;
        }
    }
    return count;
}

/* Choose of those `found` the more expensive of two at random, and up to `most` − 1 others: near it, or
 * anywhere.
 *
 * Near are those in its relations. Returns how many are chosen. */
static int64_t choose_ruined(const LedgerArrays *restrict ledger, const Plan *restrict plan,
                             const Generator *rng, Ints found, int64_t most, Ints chosen) {
    int64_t centre = AT(found, (int64_t)(next_random(rng) * found.size));
    const int64_t other = AT(found, (int64_t)(next_random(rng) * found.size));
    if (AT(ledger->weight, other) > AT(ledger->weight, centre))
        centre = other;
    const bool near = next_random(rng) < AT(plan->tuning, NEAR_SHARE);
    const int64_t wanted = 1 + (int64_t)(next_random(rng) * next_random(rng) * most);
    int64_t count = 0;
    // the chosen ones move to the front, in random order
    for (int64_t i = 0; i < found.size; i++) {
        const int64_t cell = AT(found, i);
        const bool linked = AT(plan->tail, cell) == AT(plan->tail, centre) ||
                            AT(plan->head, cell) == AT(plan->head, centre) ||
                            AT(plan->tail, cell) == AT(plan->head, centre) ||
                            AT(plan->head, cell) == AT(plan->tail, centre);
        if (cell != centre && (linked || !near)) {
            const int64_t place = (int64_t)(next_random(rng) * (count + 1));
            AT(found, i) = AT(found, count);
            AT(found, count) = AT(found, place);
            AT(found, place) = cell;
            count++;
        }
    }
    count = 1 + min_int(count, wanted - 1);
    AT(chosen, 0) = centre;
    for (int64_t i = 1; i < count; i++)
        AT(chosen, i) = AT(found, i - 1);
    return count;
}

/* Meet a demand by its former witness, led around what was published, hiding at most so much weight.
 *
 * With way FREE over hidden cells only. */
static bool repair_flow(const LedgerArrays *restrict ledger, const Plan *restrict plan, int64_t number,
                        int64_t cell, bool up, int64_t way, double budget) {
    const Graph *graph = &plan->graph;
    const Work *work = &plan->work;
    load_witness(work, ledger, number, cell, up);
    for (int64_t entry = AT(ledger->starts, number), entry_end = AT(ledger->starts, number + 1);
         entry < entry_end; entry++) {
        const int64_t gone = AT(ledger->cells, entry);
        int64_t amount = AT(work->flow, gone);
        if (AT(ledger->hidden, gone) || amount == 0)
            continue;
        add_flow(work, gone, -amount);
        const int64_t source = amount > 0 ? AT(plan->tail, gone) : AT(plan->head, gone);
        const int64_t sink = amount > 0 ? AT(plan->head, gone) : AT(plan->tail, gone);
        amount = absolute(amount);
        int64_t sent = 0;
        if (way == FREE) {
            sent = min_cost_flow_send_within(graph, ledger->hidden, work, cell, source, sink, amount);
        } else if (way == CYCLES) {
            sent = send_cycles(ledger, plan, cell, source, sink, amount);
        } else {
            fill_costs(ledger, plan, amount, 1.0);
            sent = min_cost_flow_cheapest(graph, plan->cost_up, plan->cost_down, work, cell, source, sink,
                                          amount);
        }
        if (sent < amount) {
            min_cost_flow_clear(work);
            return false;
        }
    }
    if (weight_to_hide(work, ledger) > budget) {
        min_cost_flow_clear(work);
        return false;
    }
    enter_flow(work, ledger);
    return !is_open(ledger, cell, up);
}

/* Sort the first so many by size, those of the same size in order, by merging sorted runs. */
static void sort_descending(Ints cells, Floats size, int64_t count) {
    const Ints sorted = new_ints(count);
    const Floats sorted_size = new_floats(count);
    int64_t width = 1;
    while (width < count) {
        int64_t start = 0;
        while (start < count) {
            const int64_t end = min_int(start + 2 * width, count);
            int64_t left = start;
            int64_t right = start + width;
            for (int64_t place = start; place < end; place++) {
                const bool is_left =
                    left < start + width && (right >= end || AT(size, left) >= AT(size, right));
                const int64_t taken = is_left ? left++ : right++;
                AT(sorted, place) = AT(cells, taken);
                AT(sorted_size, place) = AT(size, taken);
            }
            start += 2 * width;
        }
        for (int64_t place = 0; place < count; place++) {
            AT(cells, place) = AT(sorted, place);
            AT(size, place) = AT(sorted_size, place);
        }
        width *= 2;
    }
    free(sorted.at);
    free(sorted_size.at);
}

/* Write the places of the trail, after the given one, where demands lost their witness; largest first. */
static int64_t reopened(const LedgerArrays *restrict ledger, int64_t trail, Ints places) {
    const int64_t end = AT(ledger->counts, TRAIL);
    const Floats amounts = new_floats(end - trail);
    int64_t count = 0;
    for (int64_t place = trail; place < end; place++) {
        const int64_t kind = AT2(ledger->trail, place, 0);
        const int64_t cell = AT2(ledger->trail, place, 1);
        const int64_t before = AT2(ledger->trail, place, 2);
        if (kind >= UP && before >= 0) {
            AT(places, count) = place;
            AT(amounts, count) = kind == UP ? AT(ledger->need_up, cell) : AT(ledger->need_down, cell);
            count++;
        }
    }
    sort_descending(places, amounts, count);
    free(amounts.at);
    return count;
}

/* Write the cells hidden since a place of the trail, the most expensive first. */
static int64_t newly_hidden(const LedgerArrays *restrict ledger, int64_t trail, Ints cells) {
    const int64_t end = AT(ledger->counts, TRAIL);
    const Floats weights = new_floats(end - trail);
    int64_t count = 0;
    for (int64_t place = trail; place < end; place++) {
        if (AT2(ledger->trail, place, 0) == HIDDEN) {
            AT(cells, count) = AT2(ledger->trail, place, 1);
            AT(weights, count) = AT(ledger->weight, AT(cells, count));
            count++;
        }
    }
    sort_descending(cells, weights, count);
    free(weights.at);
    return count;
}

/* Meet the demands reopened since a place of the trail, if the cost stays within what is allowed. */
static bool recreate(const LedgerArrays *restrict ledger, const Plan *restrict plan, int64_t trail,
                     int64_t way, double allowed) {
    const Ints places = new_ints(AT(ledger->counts, TRAIL) - trail);
    const int64_t count = reopened(ledger, trail, places);
    bool is_met = true;
    for (int64_t i = 0; i < count && is_met; i++) {
        const int64_t place = AT(places, i);
        const int64_t cell = AT2(ledger->trail, place, 1);
        const int64_t number = AT2(ledger->trail, place, 2);
        const bool up = AT2(ledger->trail, place, 0) == UP;
        if (!is_open(ledger, cell, up))
            continue;
        is_met = ledger_has_room(ledger, SPARE, 2 * plan->cells.size) &&
                 (repair_flow(ledger, plan, number, cell, up, FREE, INFINITY) ||
                  (way != FREE &&
                   repair_flow(ledger, plan, number, cell, up, way, allowed - AT(ledger->cost, 0))));
    }
    free(places.at);
    return is_met;
}

/* Publish cells, one after the other, where all demands find a witness within what stays hidden.
 *
 * Returns where to go on if the ledger is full. */
EXPORT int64_t flow_search_publish_each(const LedgerArrays *restrict ledger, const Plan *restrict plan,
                                        Ints candidates, int64_t begin) {
    for (int64_t i = begin; i < candidates.size; i++) {
        if (!ledger_has_room(ledger, SPARE, 2 * plan->cells.size))
            return i;
        const int64_t cell = AT(candidates, i);
        if (!AT(ledger->hidden, cell))
            continue;
        const int64_t trail = AT(ledger->counts, TRAIL);
        const int64_t witnesses = AT(ledger->counts, WITNESSES);
        const double cost = AT(ledger->cost, 0);
        ledger_publish(ledger, cell);
        if (!recreate(ledger, plan, trail, FREE, cost))
            ledger_roll_back(ledger, trail, witnesses, cost);
    }
    return candidates.size;
}

/* Ruin and recreate: publish some secondaries, meet what this reopens anew, keep it if it costs no more.
 *
 * "No more" allows for a share `slack` above the present cost, but not for more than `target`. Returns how
 * many turns were made before the ledger was full. */
EXPORT int64_t flow_search_improve(const LedgerArrays *restrict ledger, const Plan *restrict plan,
                                   const Generator *rng, int64_t turns, int64_t most, double slack,
                                   double target) {
    for (int64_t turn = 0; turn < turns; turn++) {
        if (!ledger_has_room(ledger, SPARE, 4 * plan->cells.size + 1000))
            return turn;
        const int64_t trail = AT(ledger->counts, TRAIL);
        const int64_t witnesses = AT(ledger->counts, WITNESSES);
        const double cost = AT(ledger->cost, 0);
        const Ints found = new_ints(plan->cells.size);
        int64_t count = secondaries(ledger, plan, found);
        if (count == 0) {
            free(found.at);
            return turns;
        }
        const Ints chosen = new_ints(count);
        count = choose_ruined(ledger, plan, rng, ints_part(found, 0, count), most, chosen);
        for (int64_t i = 0; i < count; i++)
            ledger_publish(ledger, AT(chosen, i));
        free(found.at);
        free(chosen.at);
        const double noise = next_random(rng) * AT(plan->tuning, NOISE);
        for (int64_t i = 0; i < plan->cells.size; i++) {
            const int64_t cell = AT(plan->cells, i);
            AT(plan->weight, cell) = AT(ledger->weight, cell) * (1 + noise * next_random(rng));
        }
        const int64_t way = (int64_t)(next_random(rng) * 2);
        const double allowed = min_real(cost * (1 + slack), target);
        // what clean-up may bring down again
        const double ahead = cost + AT(plan->tuning, AHEAD) * (cost - AT(ledger->cost, 0));
        const bool done = recreate(ledger, plan, trail, way, max_real(allowed, ahead));
        if (done) {
            const Ints hidden = new_ints(AT(ledger->counts, TRAIL) - trail);
            count = newly_hidden(ledger, trail, hidden);
            flow_search_publish_each(ledger, plan, ints_part(hidden, 0, count), 0);
            free(hidden.at);
        }
        if (!done || AT(ledger->cost, 0) > allowed * (1 + GUARD))
            ledger_roll_back(ledger, trail, witnesses, cost);
    }
    return turns;
}
