/* Loops of flows in networks whose arcs run both ways: cheapest flow, and flow within chosen arcs.
 *
 * An arc carries a signed flow f, −down ≤ f ≤ up, and costs cost_up · f where f > 0, cost_down · (−f)
 * where f < 0. Every arc stands at both its ends: entry e of node u is arc ``arc[e]`` to node ``end[e]``,
 * forward where ``sign[e]`` is 1, and ``twin[e]`` is the entry of the same arc at the other end. Costs and
 * flows are whole numbers, so everything is exact.
 *
 * Capacities are at most 2^61, and costs times nodes must stay below 2^61. */

#define FAR (INT64_C(1) << 62)

/* Places in `Work.counts`. */
enum { TOUCHED, STAMP };

/* Entries by node, and the capacities of each arc. */
typedef struct {
    Ints first;
    Ints arc;
    Ints end;
    Ints sign;
    Ints twin;
    Ints up;
    Ints down;
} Graph;

/* What a search writes down; `flow` is 0 everywhere between two searches. */
typedef struct {
    Ints flow;
    Ints touched;
    Bools is_touched;
    Ints potential;
    Ints distance;
    Ints entry;
    Ints near;
    Ints seen;
    Ints place;
    Ints queue;
    Ints heap_distance;
    Ints heap_node;
    Ints counts;
} Work;

/* Forget the flow. */
EXPORT void min_cost_flow_clear(const Work *restrict work) {
    for (int64_t i = 0, i_end = AT(work->counts, TOUCHED); i < i_end; i++) {
        AT(work->flow, AT(work->touched, i)) = 0;
        AT(work->is_touched, AT(work->touched, i)) = false;
    }
    AT(work->counts, TOUCHED) = 0;
}

/* Add to the flow of an arc. */
static void add_flow(const Work *restrict work, int64_t arc, int64_t amount) {
    if (!AT(work->is_touched, arc)) {
        AT(work->is_touched, arc) = true;
        AT(work->touched, AT(work->counts, TOUCHED)) = arc;
        AT(work->counts, TOUCHED)++;
    }
    AT(work->flow, arc) += amount;
}

/* How much more an entry's arc can carry in the entry's direction. */
static int64_t residual_capacity(const Graph *restrict graph, const Work *restrict work, int64_t entry) {
    const int64_t arc = AT(graph->arc, entry);
    if (AT(graph->sign, entry) > 0)
        return AT(graph->up, arc) - AT(work->flow, arc);
    return AT(graph->down, arc) + AT(work->flow, arc);
}

/* Send as much as fits, at most `most`, along the path that `work.entry` tells from the sink back. */
static int64_t push_back(const Graph *restrict graph, const Work *restrict work, int64_t source, int64_t sink,
                         int64_t most) {
    int64_t node = sink;
    int64_t step = most;
    while (node != source) {
        int64_t entry = AT(work->entry, node);
        step = min_int(step, residual_capacity(graph, work, entry));
        node = AT(graph->end, AT(graph->twin, entry));
    }
    node = sink;
    while (node != source) {
        int64_t entry = AT(work->entry, node);
        add_flow(work, AT(graph->arc, entry), AT(graph->sign, entry) * step);
        node = AT(graph->end, AT(graph->twin, entry));
    }
    return step;
}

/* Put a node into the heap of this size: the nearest is on top, of equally near ones the first. */
static void sift_node_up(const Work *restrict work, int64_t size, int64_t distance, int64_t node) {
    int64_t place = size;
    while (place > 0) {
        const int64_t above = (place - 1) >> 1;
        const int64_t far = AT(work->heap_distance, above);
        const int64_t other = AT(work->heap_node, above);
        if (far < distance || (far == distance && other <= node))
            break;
        AT(work->heap_distance, place) = far;
        AT(work->heap_node, place) = other;
        place = above;
    }
    AT(work->heap_distance, place) = distance;
    AT(work->heap_node, place) = node;
}

/* Take the top off the heap, which has this size then. */
static void sift_node_down(const Work *restrict work, int64_t size) {
    const int64_t distance = AT(work->heap_distance, size);
    const int64_t node = AT(work->heap_node, size);
    int64_t place = 0;
    int64_t below = 1;
    while (below < size) {
        int64_t far = AT(work->heap_distance, below);
        int64_t other = AT(work->heap_node, below);
        if (below + 1 < size) {
            const int64_t next_far = AT(work->heap_distance, below + 1);
            const int64_t next_other = AT(work->heap_node, below + 1);
            if (next_far < far || (next_far == far && next_other < other)) {
                far = next_far;
                other = next_other;
                below++;
            }
        }
        if (distance < far || (distance == far && node <= other))
            break;
        AT(work->heap_distance, place) = far;
        AT(work->heap_node, place) = other;
        place = below;
        below = 2 * below + 1;
    }
    AT(work->heap_distance, place) = distance;
    AT(work->heap_node, place) = node;
}

/* Cost of one more unit in the entry's direction; taking a flow back returns its cost. */
static int64_t unit_cost(const Graph *restrict graph, Ints cost_up, Ints cost_down, const Work *restrict work,
                         int64_t entry) {
    const int64_t arc = AT(graph->arc, entry);
    if (AT(graph->sign, entry) > 0)
        return AT(work->flow, arc) >= 0 ? AT(cost_up, arc) : -AT(cost_down, arc);
    return AT(work->flow, arc) <= 0 ? AT(cost_down, arc) : -AT(cost_up, arc);
}

/* Number of nodes settled, the sink last, by arcs that still carry `least`; −1 if it is out of reach.
 *
 * Distances are reduced by the potentials; arc `own` is left out. Settled nodes stand in `work.queue`. */
static int64_t shortest_path(const Graph *restrict graph, Ints cost_up, Ints cost_down,
                             const Work *restrict work, int64_t own, int64_t source, int64_t sink,
                             int64_t least) {
    fill_ints(work->distance, FAR);
    fill_ints(work->seen, 0);
    AT(work->distance, source) = 0;
    AT(work->heap_distance, 0) = 0;
    AT(work->heap_node, 0) = source;
    int64_t waiting = 1;
    int64_t settled = 0;
    while (waiting > 0) {
        const int64_t distance = AT(work->heap_distance, 0);
        const int64_t node = AT(work->heap_node, 0);
        waiting--;
        sift_node_down(work, waiting);
        if (AT(work->seen, node) == 1)
            continue;
        AT(work->seen, node) = 1;
        AT(work->queue, settled) = node;
        settled++;
        if (node == sink)
            return settled;
        const int64_t base = distance + AT(work->potential, node);
        for (int64_t entry = AT(graph->first, node), entry_end = AT(graph->first, node + 1);
             entry < entry_end; entry++) {
            const int64_t other = AT(graph->end, entry);
            const int64_t arc = AT(graph->arc, entry);
            if (AT(work->seen, other) == 1 || arc == own || residual_capacity(graph, work, entry) < least)
                continue;
            const int64_t reached =
                base - AT(work->potential, other) + unit_cost(graph, cost_up, cost_down, work, entry);
            if (reached < AT(work->distance, other)) {
                AT(work->distance, other) = reached;
                AT(work->entry, other) = entry;
                sift_node_up(work, waiting, reached, other);
                waiting++;
            }
        }
    }
    return -1;
}

/* How much more fits before the cost changes: a flow against the entry is taken back first. */
static int64_t linear_capacity(const Graph *restrict graph, const Work *restrict work, int64_t entry) {
    const int64_t arc = AT(graph->arc, entry);
    const int64_t against = -AT(graph->sign, entry) * AT(work->flow, arc);
    return against > 0 ? against : residual_capacity(graph, work, entry);
}

/* Send flow along paths of reduced cost 0, depth first, each entry tried once. */
static int64_t send_admissible(const Graph *restrict graph, Ints cost_up, Ints cost_down,
                               const Work *restrict work, int64_t own, int64_t source, int64_t sink,
                               int64_t most) {
    fill_ints(work->seen, 0);
    for (int64_t node = 0; node < work->place.size; node++)
        AT(work->place, node) = AT(graph->first, node);
    int64_t sent = 0;
    int64_t depth = 0;
    int64_t node = source;
    AT(work->seen, source) = 1;
    while (sent < most) {
        if (node == sink) {
            int64_t step = most - sent;
            for (int64_t i = 0; i < depth; i++)
                step = min_int(step, linear_capacity(graph, work, AT(work->queue, i)));
            for (int64_t i = 0; i < depth; i++) {
                add_flow(work, AT(graph->arc, AT(work->queue, i)),
                         AT(graph->sign, AT(work->queue, i)) * step);
                AT(work->seen, AT(graph->end, AT(work->queue, i))) = 0;
            }
            sent += step;
            depth = 0;
            node = source;
            continue;
        }
        bool advanced = false;
        while (AT(work->place, node) < AT(graph->first, node + 1)) {
            const int64_t entry = AT(work->place, node);
            const int64_t other = AT(graph->end, entry);
            if (AT(work->seen, other) == 0 && AT(graph->arc, entry) != own &&
                residual_capacity(graph, work, entry) > 0) {
                const int64_t cost = unit_cost(graph, cost_up, cost_down, work, entry);
                if (cost + AT(work->potential, node) - AT(work->potential, other) == 0) {
                    AT(work->queue, depth) = entry;
                    depth++;
                    node = other;
                    AT(work->seen, node) = 1;
                    advanced = true;
                    break;
                }
            }
            AT(work->place, node)++;
        }
        if (!advanced) {
            if (node == source)
                break;
            depth--;
            node = AT(graph->end, AT(graph->twin, AT(work->queue, depth)));
            AT(work->place, node)++;
        }
    }
    return sent;
}

/* Send `amount` from source to sink as cheaply as possible, or as much as the capacities allow. */
EXPORT int64_t min_cost_flow_cheapest(const Graph *restrict graph, Ints cost_up, Ints cost_down,
                                      const Work *restrict work, int64_t own, int64_t source, int64_t sink,
                                      int64_t amount) {
    fill_ints(work->potential, 0);
    int64_t sent = 0;
    while (sent < amount) {
        const int64_t settled = shortest_path(graph, cost_up, cost_down, work, own, source, sink, 1);
        if (settled < 0)
            break;
        const int64_t far = AT(work->distance, sink);
        for (int64_t i = 0; i < settled; i++)
            AT(work->potential, AT(work->queue, i)) += AT(work->distance, AT(work->queue, i)) - far;
        sent += send_admissible(graph, cost_up, cost_down, work, own, source, sink, amount - sent);
    }
    return sent;
}

/* Breadth-first search along allowed arcs that still carry `least`; nodes next to the sink end it. */
static bool path_within(const Graph *restrict graph, Bools allowed, const Work *restrict work, int64_t own,
                        int64_t source, int64_t sink, int64_t least) {
    AT(work->counts, STAMP)++;
    const int64_t stamp = AT(work->counts, STAMP);
    for (int64_t entry = AT(graph->first, sink), entry_end = AT(graph->first, sink + 1); entry < entry_end;
         entry++) {
        int64_t arc = AT(graph->arc, entry);
        const int64_t twin = AT(graph->twin, entry);
        if (AT(allowed, arc) && arc != own && residual_capacity(graph, work, twin) >= least) {
            AT(work->near, AT(graph->end, entry)) = stamp;
            AT(work->place, AT(graph->end, entry)) = twin;
        }
    }
    AT(work->seen, source) = stamp;
    AT(work->queue, 0) = source;
    int64_t begin = 0;
    int64_t end = 1;
    int64_t node = source;
    bool found = AT(work->near, source) == stamp;
    while (begin < end && !found) {
        node = AT(work->queue, begin);
        begin++;
        for (int64_t entry = AT(graph->first, node), entry_end = AT(graph->first, node + 1);
             entry < entry_end; entry++) {
            const int64_t other = AT(graph->end, entry);
            int64_t arc = AT(graph->arc, entry);
            if (AT(work->seen, other) == stamp || !AT(allowed, arc) || arc == own)
                continue;
            if (residual_capacity(graph, work, entry) < least)
                continue;
            AT(work->seen, other) = stamp;
            AT(work->entry, other) = entry;
            if (AT(work->near, other) == stamp) {
                node = other;
                found = true;
                break;
            }
            AT(work->queue, end) = other;
            end++;
        }
    }
    if (found)
        AT(work->entry, sink) = AT(work->place, node);
    return found;
}

/* Whether the allowed arcs at a node together carry the amount away from it, or towards it. */
static bool carries(const Graph *restrict graph, Bools allowed, const Work *restrict work, int64_t own,
                    int64_t node, int64_t amount, bool leaving) {
    int64_t left = amount;
    for (int64_t entry = AT(graph->first, node), entry_end = AT(graph->first, node + 1); entry < entry_end;
         entry++) {
        if (AT(allowed, AT(graph->arc, entry)) && AT(graph->arc, entry) != own) {
            left -= min_int(left, residual_capacity(graph, work, leaving ? entry : AT(graph->twin, entry)));
            if (left == 0)
                return true;
        }
    }
    return false;
}

/* Send `amount` along allowed arcs, in few and short paths; stop early where it cannot be done. */
EXPORT int64_t min_cost_flow_send_within(const Graph *restrict graph, Bools allowed,
                                         const Work *restrict work, int64_t own, int64_t source, int64_t sink,
                                         int64_t amount) {
    if (!carries(graph, allowed, work, own, source, amount, true))
        return 0;
    if (!carries(graph, allowed, work, own, sink, amount, false))
        return 0;
    int64_t left = amount;
    int64_t least = amount;
    while (left > 0) {
        least = min_int(least, left);
        if (path_within(graph, allowed, work, own, source, sink, least))
            left -= push_back(graph, work, source, sink, left);
        else if (least == 1)
            break;
        else
            least = max_int(floor_div(least, 4), 1);
    }
    return amount - left;
}
