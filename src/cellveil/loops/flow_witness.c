/* Loops of the methods for networks: witnesses by flows, free ones over hidden cells, or the cheapest.
 *
 * Arcs are cells: a cell's movement flows from `tail` to `head` (−1: the cell is in no network). A witness
 * for a demand is a flow of the demanded amount through the cell's own arc that returns over other cells. */

/* How to find a witness: by cheapest flows, by cheapest cycles, the better of both, or over hidden cells. */
enum { LINEAR, CYCLES, BOTH, FREE };

/* Parameters that loops use, and their places in `Plan.tuning`. */
enum { FIRST_SLOPE, SLOPE_DECLINE, THRESHOLDS, MOST_CYCLES, NEAR_SHARE, NOISE, AHEAD };

/* So many witnesses more must fit into the ledger before a search begins. */
enum { SPARE = 200 };

/* The graph, ends of the cells' arcs, the cells of the networks, weights to plan with, scratch space. */
typedef struct {
    Graph graph;
    Work work;
    Ints tail;
    Ints head;
    Ints cells;
    Floats weight;
    Ints largest;
    Ints cost_up;
    Ints cost_down;
    Ints kept;
    Ints kept_moves;
    Ints path;
    Floats tuning;
} Plan;

/* Enter the flow into the ledger, hiding what it moves, and clear it. */
static void enter_flow(const Work *restrict work, const LedgerArrays *restrict ledger) {
    int64_t count = 0;
    for (int64_t i = 0, i_end = AT(work->counts, TOUCHED); i < i_end; i++)
        count += AT(work->flow, AT(work->touched, i)) != 0;
    const Int32s cells = new_int32s(count);
    const Ints moves = new_ints(count);
    count = 0;
    for (int64_t i = 0, i_end = AT(work->counts, TOUCHED); i < i_end; i++) {
        const int64_t cell = AT(work->touched, i);
        if (AT(work->flow, cell) != 0) {
            AT(cells, count) = cell;
            AT(moves, count) = AT(work->flow, cell);
            count++;
        }
    }
    min_cost_flow_clear(work);
    add(ledger, cells, moves, 1, true);
    free(cells.at);
    free(moves.at);
}

/* Meet a demand by a flow over hidden cells, if there is one. */
static bool take_free(const LedgerArrays *restrict ledger, const Plan *restrict plan, int64_t cell, bool up) {
    const Graph *graph = &plan->graph;
    const Work *work = &plan->work;
    const int64_t amount = up ? AT(ledger->need_up, cell) : AT(ledger->need_down, cell);
    if (AT(plan->tail, cell) < 0 || amount > (up ? AT(graph->up, cell) : AT(graph->down, cell)))
        return false;
    const int64_t source = up ? AT(plan->head, cell) : AT(plan->tail, cell);
    const int64_t sink = up ? AT(plan->tail, cell) : AT(plan->head, cell);
    const int64_t sent =
        source == sink ? amount
                       : min_cost_flow_send_within(graph, ledger->hidden, work, cell, source, sink, amount);
    if (sent < amount) {
        min_cost_flow_clear(work);
        return false;
    }
    add_flow(work, cell, up ? amount : -amount);
    enter_flow(work, ledger);
    return true;
}

/* Meet demands over hidden cells one after the other; return where to go on if the ledger is full. */
EXPORT int64_t flow_witness_take_free_all(const LedgerArrays *restrict ledger, const Plan *restrict plan,
                                          Ints cells, Bools ups, int64_t begin) {
    for (int64_t i = begin; i < cells.size; i++) {
        if (is_open(ledger, AT(cells, i), AT(ups, i))) {
            if (!ledger_has_room(ledger, SPARE, plan->cells.size))
                return i;
            take_free(ledger, plan, AT(cells, i), AT(ups, i));
        }
    }
    return cells.size;
}

/* Cost per unit: the weight over how far the cell is expected to move.
 *
 * Expected is as much as the capacity and the amount allow; with a `share` below 1 what the present flow
 * moves it, and that share of the amount in addition. Hidden cells cost next to nothing. */
static void fill_costs(const LedgerArrays *restrict ledger, const Plan *restrict plan, int64_t amount,
                       double share) {
    const Graph *graph = &plan->graph;
    const Work *work = &plan->work;
    double top = 0.0;
    for (int64_t turn = 0; turn < 2; turn++) {
        const double scale = top > 0 ? AT(plan->largest, 0) / top : 0.0;
        for (int64_t i = 0; i < plan->cells.size; i++) {
            const int64_t cell = AT(plan->cells, i);
            if (AT(ledger->hidden, cell)) {
                const int64_t cost = AT(ledger->is_free, cell) ? 1 : 2;
                AT(plan->cost_up, cell) = AT(plan->cost_down, cell) = AT(work->flow, cell) != 0 ? 0 : cost;
                continue;
            }
            double expected = (double)amount;
            if (share < 1)
                expected = min_real(expected, absolute(AT(work->flow, cell)) + share * amount);
            const double up = AT(plan->weight, cell) / max_real(min_real(expected, AT(graph->up, cell)), 1.0);
            const double down =
                AT(plan->weight, cell) / max_real(min_real(expected, AT(graph->down, cell)), 1.0);
            if (turn == 0) {
                top = max_real(max_real(top, up), down);
            } else {
                AT(plan->cost_up, cell) = max_int((int64_t)(up * scale), 4);
                AT(plan->cost_down, cell) = max_int((int64_t)(down * scale), 4);
            }
        }
    }
}

/* Cost of a cell, however far it moves; nothing where it moves already. */
static void fill_fixed_costs(const Work *restrict work, const LedgerArrays *restrict ledger,
                             const Plan *restrict plan) {
    double top = 0.0;
    for (int64_t i = 0; i < plan->cells.size; i++) {
        const int64_t cell = AT(plan->cells, i);
        if (!AT(ledger->hidden, cell))
            top = max_real(top, AT(plan->weight, cell));
    }
    const double scale = top > 0 ? AT(plan->largest, 0) / top : 0.0;
    for (int64_t i = 0; i < plan->cells.size; i++) {
        const int64_t cell = AT(plan->cells, i);
        int64_t cost = 0;
        if (AT(work->flow, cell) != 0)
            cost = 0;
        else if (AT(ledger->hidden, cell))
            cost = AT(ledger->is_free, cell) ? 1 : 2;
        else
            cost = max_int((int64_t)(AT(plan->weight, cell) * scale), 4);
        AT(plan->cost_up, cell) = AT(plan->cost_down, cell) = cost;
    }
}

/* Send the amount along one path after the other, each the cheapest per unit of those tried.
 *
 * A path costs the weights of its cells; those that earlier paths use are free. */
static int64_t send_cycles(const LedgerArrays *restrict ledger, const Plan *restrict plan, int64_t own,
                           int64_t source, int64_t sink, int64_t amount) {
    const Graph *graph = &plan->graph;
    const Work *work = &plan->work;
    fill_fixed_costs(work, ledger, plan);
    fill_ints(work->potential, 0);
    int64_t left = amount;
    for (int64_t path = 0, most = (int64_t)AT(plan->tuning, MOST_CYCLES); path < most && left > 0; path++) {
        double best = INFINITY;
        int64_t length = 0;
        int64_t best_step = 0;
        double shortest = 0.0;
        for (int64_t turn = 0, most_turns = (int64_t)AT(plan->tuning, THRESHOLDS); turn < most_turns;
             turn++) {
            // All that is missing first, then anything at all: what that costs bounds the ratios in between.
            const int64_t least = turn == 0 ? left : turn == 1 ? 1 : left >> (2 * (turn - 1));
            if (turn > 0 && left == 1)
                break;
            if (turn > 1 && (least <= 1 || shortest * pow(4.0, turn - 2) >= best * left))
                break;
            if (shortest_path(graph, plan->cost_up, plan->cost_down, work, own, source, sink, least) < 0) {
                if (turn == 1)
                    break;
                continue;
            }
            int64_t step = left;
            int64_t node = sink;
            while (node != source) {
                step = min_int(step, residual_capacity(graph, work, AT(work->entry, node)));
                node = AT(graph->end, AT(graph->twin, AT(work->entry, node)));
            }
            if (turn == 1)
                shortest = (double)AT(work->distance, sink);
            if ((double)AT(work->distance, sink) / step < best) {
                best = (double)AT(work->distance, sink) / step;
                best_step = step;
                length = 0;
                node = sink;
                while (node != source) {
                    AT(plan->path, length) = AT(work->entry, node);
                    length++;
                    node = AT(graph->end, AT(graph->twin, AT(work->entry, node)));
                }
            }
        }
        if (length == 0)
            break;
        for (int64_t i = 0; i < length; i++) {
            const int64_t arc = AT(graph->arc, AT(plan->path, i));
            add_flow(work, arc, AT(graph->sign, AT(plan->path, i)) * best_step);
            AT(plan->cost_up, arc) = AT(plan->cost_down, arc) = 0;
        }
        left -= best_step;
    }
    return amount - left;
}

/* Weight of the published cells that the flow moves. */
static double weight_to_hide(const Work *restrict work, const LedgerArrays *restrict ledger) {
    double total = 0.0;
    for (int64_t i = 0, i_end = AT(work->counts, TOUCHED); i < i_end; i++) {
        const int64_t cell = AT(work->touched, i);
        if (AT(work->flow, cell) != 0 && !AT(ledger->hidden, cell))
            total += AT(ledger->weight, cell);
    }
    return total;
}

/* Set the flow aside. */
static int64_t put_aside(const Work *restrict work, const Plan *restrict plan) {
    const int64_t count = AT(work->counts, TOUCHED);
    for (int64_t i = 0; i < count; i++) {
        AT(plan->kept, i) = AT(work->touched, i);
        AT(plan->kept_moves, i) = AT(work->flow, AT(work->touched, i));
    }
    return count;
}

/* Meet a demand over hidden cells, or by a flow that hides as little weight as it can.
 *
 * Returns how far the cell gets. Nothing is entered where that falls short of the amount. */
EXPORT int64_t flow_witness_take_paid(const LedgerArrays *restrict ledger, const Plan *restrict plan,
                                      int64_t cell, bool up, int64_t way, int64_t rounds) {
    int64_t sent = 0;
    const Graph *graph = &plan->graph;
    const Work *work = &plan->work;
    const int64_t amount = up ? AT(ledger->need_up, cell) : AT(ledger->need_down, cell);
    if (take_free(ledger, plan, cell, up))
        return amount;
    const int64_t reach = min_int(amount, up ? AT(graph->up, cell) : AT(graph->down, cell));
    if (AT(plan->tail, cell) < 0)
        return 0;
    const int64_t source = up ? AT(plan->head, cell) : AT(plan->tail, cell);
    const int64_t sink = up ? AT(plan->tail, cell) : AT(plan->head, cell);
    if (source == sink)
        return reach;
    double best = INFINITY;
    int64_t kept = 0;
    for (int64_t start = 0; start < 2; start++) {
        if (way != BOTH && way != start)
            continue;
        min_cost_flow_clear(work);
        if (start == CYCLES)
            sent = send_cycles(ledger, plan, cell, source, sink, reach);
        if (start == LINEAR || sent < reach) {
            min_cost_flow_clear(work);
            fill_costs(ledger, plan, amount, 1.0);
            sent = min_cost_flow_cheapest(graph, plan->cost_up, plan->cost_down, work, cell, source, sink,
                                          reach);
        }
        if (sent < amount) {
            min_cost_flow_clear(work);
            return sent;
        }
        double share = AT(plan->tuning, FIRST_SLOPE);
        for (int64_t turn = 0; turn < rounds + 1; turn++) {
            const double weight = weight_to_hide(work, ledger);
            if (weight < best) {
                best = weight;
                kept = put_aside(work, plan);
            } else if (turn > 0) {
                break;
            }
            if (turn < rounds && weight > 0) {
                fill_costs(ledger, plan, amount, share);
                min_cost_flow_clear(work);
                min_cost_flow_cheapest(graph, plan->cost_up, plan->cost_down, work, cell, source, sink,
                                       amount);
                share *= AT(plan->tuning, SLOPE_DECLINE);
            }
        }
    }
    min_cost_flow_clear(work);
    for (int64_t i = 0; i < kept; i++)
        add_flow(work, AT(plan->kept, i), AT(plan->kept_moves, i));
    add_flow(work, cell, up ? amount : -amount);
    enter_flow(work, ledger);
    return amount;
}
