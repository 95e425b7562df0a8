/* Loops of `cellveil.tables.structure`: which relations are copies of one equation, and which cross.
 *
 * Relations are given by `total[r]`, the cell that is the sum, and their parts, twice: relation r has the
 * parts ``parts[part_ptr[r]:part_ptr[r + 1]]``, and cell z is a part in ``above[above_ptr[z]:above_ptr[z +
 * 1]]``. */

/* The leader of the group of i; shortens the way. */
static int64_t leader_of(Ints leader, int64_t i) {
    while (AT(leader, i) != i) {
        AT(leader, i) = AT(leader, AT(leader, i));
        i = AT(leader, i);
    }
    return i;
}

/* Put two groups together under the smaller leader. */
static void unite(Ints leader, int64_t i, int64_t j) {
    i = leader_of(leader, i);
    j = leader_of(leader, j);
    if (i < j)
        AT(leader, j) = i;
    else
        AT(leader, i) = j;
}

/* Write for each relation r those it is lifted to: its copies one step up in another dimension.
 *
 * Relation r' is one where every part z of r stands in a further relation whose total z' is a part of r',
 * the z' are distinct, and the totals of r and r' stand in a relation too, as part and total. Line r of
 * `lifts` takes them, and is −1 where there are fewer; returns whether the lines are long enough. */
EXPORT bool structure_lifted(Ints total, Ints part_ptr, Ints parts, Ints above_ptr, Ints above,
                             IntTable lifts) {
    const int64_t count = lifts.rows;
    const int64_t most = lifts.columns;
    const Ints seen = new_ints(count); // the relation that counts
    const Ints last = new_ints(count); // the part counted last
    const Ints hits = new_ints(count);
    const Ints image = new_ints(above.size);
    fill_ints(seen, -1);
    fill_ints(last, -1);
    fill_ints(image, -1);
    const Ints touched = new_ints(count);
    bool is_long_enough = true;
    for (int64_t r = 0; r < count && is_long_enough; r++) {
        const int64_t top = AT(total, r);
        int64_t found = 0;
        for (int64_t i = AT(part_ptr, r), i_end = AT(part_ptr, r + 1); i < i_end; i++) {
            const int64_t z = AT(parts, i);
            for (int64_t j = AT(above_ptr, z), j_end = AT(above_ptr, z + 1); j < j_end; j++) {
                if (AT(above, j) == r)
                    continue;
                const int64_t middle = AT(total, AT(above, j));
                for (int64_t k = AT(above_ptr, middle), k_end = AT(above_ptr, middle + 1); k < k_end; k++) {
                    bool meets = false;
                    for (int64_t m = AT(above_ptr, top), m_end = AT(above_ptr, top + 1); m < m_end; m++)
                        meets = meets || AT(total, AT(above, m)) == AT(total, AT(above, k));
                    int64_t up = AT(above, k);
                    if (!meets || up == r)
                        continue;
                    if (AT(seen, up) != r) {
                        AT(seen, up) = r;
                        AT(last, up) = -1;
                        AT(hits, up) = 0;
                        AT(touched, found) = up;
                        found++;
                    }
                    if (AT(image, k) == r || AT(last, up) == z) {
                        // two parts with one image, or one part with two
                        AT(hits, up) = -(INT64_C(1) << 60);
                    }
                    AT(image, k) = r;
                    AT(last, up) = z;
                    AT(hits, up)++;
                }
            }
        }
        int64_t used = 0;
        for (int64_t i = 0; i < found; i++) {
            const int64_t up = AT(touched, i);
            if (AT(hits, up) != AT(part_ptr, r + 1) - AT(part_ptr, r))
                continue;
            if (used == most) {
                is_long_enough = false;
                break;
            }
            AT2(lifts, r, used) = up;
            used++;
        }
    }
    free(seen.at);
    free(last.at);
    free(hits.at);
    free(image.at);
    free(touched.at);
    return is_long_enough;
}

/* Write a leader for each relation: copies of one equation have the same. */
EXPORT void structure_copies(IntTable up, Ints leader) {
    for (int64_t r = 0; r < up.rows; r++)
        AT(leader, r) = r;
    for (int64_t r = 0; r < up.rows; r++) {
        for (int64_t i = 0; i < up.columns; i++)
            if (AT2(up, r, i) >= 0)
                unite(leader, r, AT2(up, r, i));
    }
    for (int64_t r = 0; r < up.rows; r++)
        AT(leader, r) = leader_of(leader, r);
}

/* Mark which kinds of relations cross: a part of both is lifted by both to one corner. */
EXPORT void structure_crossings(Ints total, Ints above_ptr, Ints above, IntTable up, Ints kind,
                                BoolTable cross) {
    for (int64_t z = 0; z < above_ptr.size - 1; z++) {
        for (int64_t i = AT(above_ptr, z), i_end = AT(above_ptr, z + 1); i < i_end; i++) {
            for (int64_t j = AT(above_ptr, z); j < i; j++) {
                const int64_t a = AT(above, i);
                const int64_t b = AT(above, j);
                if (AT2(cross, AT(kind, a), AT(kind, b)))
                    continue;
                for (int64_t k = 0; k < up.columns; k++) {
                    const int64_t a_up = AT2(up, a, k);
                    for (int64_t m = 0; m < up.columns; m++) {
                        const int64_t b_up = AT2(up, b, m);
                        if (a_up >= 0 && b_up >= 0 && AT(total, a_up) == AT(total, b_up)) {
                            AT2(cross, AT(kind, a), AT(kind, b)) = true;
                            AT2(cross, AT(kind, b), AT(kind, a)) = true;
                        }
                    }
                }
            }
        }
    }
}

/* Write a leader for each kind: kinds that share a cell without crossing belong to one dimension.
 *
 * Returns false where two copies of one equation share a cell, which no table has. */
EXPORT bool structure_same_dimension(Ints cell_ptr, Ints rows, Ints kind, BoolTable cross, Ints leader) {
    for (int64_t k = 0; k < leader.size; k++)
        AT(leader, k) = k;
    for (int64_t z = 0; z < cell_ptr.size - 1; z++) {
        for (int64_t i = AT(cell_ptr, z), i_end = AT(cell_ptr, z + 1); i < i_end; i++) {
            for (int64_t j = AT(cell_ptr, z); j < i; j++) {
                const int64_t a = AT(kind, AT(rows, i));
                const int64_t b = AT(kind, AT(rows, j));
                if (a == b)
                    return false;
                if (!AT2(cross, a, b))
                    unite(leader, a, b);
            }
        }
    }
    for (int64_t k = 0; k < leader.size; k++)
        AT(leader, k) = leader_of(leader, k);
    return true;
}

/* Write a leader for each cell: cells connected by relations of other dimensions than `without`. */
EXPORT void structure_components(Ints total, Ints part_ptr, Ints parts, Ints axis, int64_t without,
                                 Ints leader) {
    for (int64_t z = 0; z < leader.size; z++)
        AT(leader, z) = z;
    for (int64_t r = 0; r < total.size; r++) {
        if (AT(axis, r) != without)
            for (int64_t i = AT(part_ptr, r), i_end = AT(part_ptr, r + 1); i < i_end; i++)
                unite(leader, AT(total, r), AT(parts, i));
    }
    for (int64_t z = 0; z < leader.size; z++)
        AT(leader, z) = leader_of(leader, z);
}
