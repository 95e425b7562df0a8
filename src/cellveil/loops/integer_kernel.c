/* Back substitution in whole numbers. */

/* Sums below this are exact in 64 bits. */
#define LIMIT 0x1p61

/* Set values[pivot[k]] = −(Σ coefs · values) / pivot_coef[k], one after the other.
 *
 * Returns whether all divisions came out even and nothing came near the limits of 64 bits. */
EXPORT bool integer_kernel_back_substitute(Ints values, Ints pivot, Ints pivot_coef, Ints starts,
                                           Ints columns, Ints coefs) {
    for (int64_t k = 0; k < pivot.size; k++) {
        int64_t total = 0;
        double size = 0.0;
        for (int64_t e = AT(starts, k), e_end = AT(starts, k + 1); e < e_end; e++) {
            total += AT(coefs, e) * AT(values, AT(columns, e));
            size += fabs((double)AT(coefs, e) * (double)AT(values, AT(columns, e)));
        }
        if (size > LIMIT || floor_mod(total, AT(pivot_coef, k)) != 0)
            return false;
        AT(values, AT(pivot, k)) = -floor_div(total, AT(pivot_coef, k));
    }
    return true;
}
