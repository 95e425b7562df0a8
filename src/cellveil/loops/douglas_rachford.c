/* The two halves of a splitting step, over places × deviations (the deviations of a place side by side).
 *
 * Loops over all places take the first and the last of the part they are to do, so that threads can share
 * them. */

/* Move each place to the best point near z − u for its cost, within its bounds; v is what to project.
 *
 * x = argmin cost · ‖x_j‖ + ‖x_j − (z_j − u_j)‖² / (2 step), then cut to [low, high], for the deviations
 * of place j together: a place is paid once, by the norm over all deviations. v = relax·x + (1 − relax)·z
 * + u. */
EXPORT MANY_AT_ONCE void douglas_rachford_shrink(FloatTable z, FloatTable u, Floats cost, FloatTable low,
                                                 FloatTable high, double step, double relax, FloatTable x,
                                                 FloatTable v, int64_t first, int64_t last) {
    const int64_t columns = z.columns;
    for (int64_t j = first; j < last; j++) {
        double share = 1.0;
        if (AT(cost, j) > 0.0) {
            double square = 0.0;
            for (int64_t k = 0; k < columns; k++)
                square += squared(AT2(z, j, k) - AT2(u, j, k));
            const double length = sqrt(square);
            const double threshold = step * AT(cost, j);
            share = length <= threshold ? 0.0 : 1.0 - threshold / length;
        }
        for (int64_t k = 0; k < columns; k++) {
            const double w =
                min_real(max_real((AT2(z, j, k) - AT2(u, j, k)) * share, AT2(low, j, k)), AT2(high, j, k));
            AT2(x, j, k) = w;
            AT2(v, j, k) = relax * w + (1.0 - relax) * AT2(z, j, k) + AT2(u, j, k);
        }
    }
}

/* After `shrink`: pull the places that have a goal towards it, for a reward · max(0, 1 − x / goal). */
EXPORT void douglas_rachford_lean(FloatTable z, FloatTable u, FloatTable low, FloatTable high, double step,
                                  double relax, FloatTable x, FloatTable v, Ints place, Ints column,
                                  Floats goal, Floats reward) {
    for (int64_t i = 0; i < place.size; i++) {
        const int64_t j = AT(place, i);
        const int64_t k = AT(column, i);
        double w = AT2(z, j, k) - AT2(u, j, k);
        const double pull = step * AT(reward, i) / fabs(AT(goal, i));
        if (AT(goal, i) > 0.0)
            w = w + pull < AT(goal, i) ? w + pull : max_real(w, AT(goal, i));
        else
            w = w - pull > AT(goal, i) ? w - pull : min_real(w, AT(goal, i));
        w = min_real(max_real(w, AT2(low, j, k)), AT2(high, j, k));
        AT2(x, j, k) = w;
        AT2(v, j, k) = relax * w + (1.0 - relax) * AT2(z, j, k) + AT2(u, j, k);
    }
}

/* Take away, along the middle axis of y, the part in the direction of the unit vector `normal`.
 *
 * From `first` to `last` on the first axis, and from `begin` to `end` on the last one. */
EXPORT MANY_AT_ONCE void douglas_rachford_centre(FloatCube y, Floats normal, int64_t first, int64_t last,
                                                 int64_t begin, int64_t end) {
    const int64_t length = y.rows;
    const Floats part = new_floats(end - begin);
    for (int64_t i = first; i < last; i++) {
        fill_floats(part, 0.0);
        for (int64_t s = 0; s < length; s++)
            for (int64_t a = 0; a < end - begin; a++)
                AT(part, a) += AT(normal, s) * AT3(y, i, s, begin + a);
        for (int64_t s = 0; s < length; s++)
            for (int64_t a = 0; a < end - begin; a++)
                AT3(y, i, s, begin + a) -= AT(normal, s) * AT(part, a);
    }
    free(part.at);
}
