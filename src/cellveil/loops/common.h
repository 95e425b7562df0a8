/* What all loops share: arrays as NumPy has them, records of arrays, whole-number arithmetic, random numbers.
 *
 * Python owns every array that is handed in; a loop frees what it makes itself. Arrays have no gaps. A struct
 * of arrays has the fields of the Python record of the same name, in the same order.
 */
#ifndef CELLVEIL_COMMON_H
#define CELLVEIL_COMMON_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(sizeof(void *) == 8, "cellveil needs a machine of 64 bits");
_Static_assert(sizeof(bool) == 1, "a truth value of NumPy has one byte");

/* Before what Python calls; all else is static. */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT
#endif

/* For functions with long loops over neighbouring elements: compiled for several processors, of which the loader of
 * the system takes the best. Results are the same, because no sum changes its order. Only gcc can do it here: zig
 * has no library to ask for the processor. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && !defined(CHECKED)
#define MANY_AT_ONCE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MANY_AT_ONCE
#endif

/* -- arrays ------------------------------------------------------------------------------------------- */

#define ARRAYS(Item, Name, Names)                                                                            \
    typedef struct {                                                                                         \
        Item *at;                                                                                            \
        int64_t size;                                                                                        \
    } Names;                                                                                                 \
    typedef struct {                                                                                         \
        Item *at;                                                                                            \
        int64_t rows, columns;                                                                               \
    } Name##Table;                                                                                           \
    typedef struct {                                                                                         \
        Item *at;                                                                                            \
        int64_t planes, rows, columns;                                                                       \
    } Name##Cube;

ARRAYS(int64_t, Int, Ints)
ARRAYS(int32_t, Int32, Int32s)
ARRAYS(uint64_t, Word, Words)
ARRAYS(double, Float, Floats)
ARRAYS(bool, Bool, Bools)

#ifdef CHECKED
/* The line of the last wrong index; Python reads and clears it. */
EXPORT int64_t wrong_index_line = 0;

/* The index, or 0 in place of one that is out of range. */
static inline int64_t checked_index(int64_t i, int64_t size, int64_t line, const char *file) {
    if (i >= 0 && i < size)
        return i;
    fprintf(stderr, "cellveil: index %lld of %lld: %s, line %lld\n", (long long)i, (long long)size, file,
            (long long)line);
    wrong_index_line = line;
    return 0;
}
#define INDEX(i, size) checked_index((i), (size), __LINE__, __FILE__)
#else
#define INDEX(i, size) (i)
#endif

/* Elements of arrays with one, two and three axes. */
#define AT(a, i) ((a).at[INDEX(i, (a).size)])
#define AT2(a, i, j) ((a).at[INDEX(i, (a).rows) * (a).columns + INDEX(j, (a).columns)])
#define AT3(a, i, j, k)                                                                                      \
    ((a).at[(INDEX(i, (a).planes) * (a).rows + INDEX(j, (a).rows)) * (a).columns + INDEX(k, (a).columns)])

/* A row of a table; the elements of an array from `begin` up to `end`. Both are views. */
#define VIEWS(Item, name, names, Name, Names)                                                                \
    static inline Names name##_row(Name##Table table, int64_t i) {                                           \
        return (Names){table.at + INDEX(i, table.rows) * table.columns, table.columns};                      \
    }                                                                                                        \
    static inline Names names##_part(Names array, int64_t begin, int64_t end) {                              \
        return (Names){array.at + begin, end - begin};                                                       \
    }                                                                                                        \
    static inline void fill_##names(Names array, Item value) {                                               \
        for (int64_t i = 0; i < array.size; i++)                                                             \
            array.at[i] = value;                                                                             \
    }

VIEWS(int64_t, int, ints, Int, Ints)
VIEWS(int32_t, int32, int32s, Int32, Int32s)
VIEWS(uint64_t, word, words, Word, Words)
VIEWS(double, float, floats, Float, Floats)

/* Memory for `count` elements, all bits 0; ends the process where there is none. */
static inline void *allocated(int64_t count, size_t bytes) {
    void *memory = calloc((size_t)count + 1, bytes);
    if (memory == NULL) {
        fputs("cellveil: out of memory\n", stderr);
        abort();
    }
    return memory;
}

static inline Ints new_ints(int64_t size) { return (Ints){allocated(size, sizeof(int64_t)), size}; }
static inline Int32s new_int32s(int64_t size) { return (Int32s){allocated(size, sizeof(int32_t)), size}; }
static inline Floats new_floats(int64_t size) { return (Floats){allocated(size, sizeof(double)), size}; }

/* -- numbers that Python has too ---------------------------------------------------------------------- */

/* `cellveil.tables.scaled.UNBOUNDED`: an amount without a limit. */
#define UNBOUNDED INT64_MAX

/* `cellveil.solvers.tolerances`: costs that differ by less count as equal; costs may grow by this share. */
#define EQUAL 1e-9
#define GUARD 1e-12

/* -- arithmetic --------------------------------------------------------------------------------------- */

/* Whole-number division rounded down, and what it leaves, with the sign of the divisor, as in Python. Both are 0
 * where the divisor is 0. */
static inline int64_t floor_div(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    const int64_t quotient = a / b, rest = a % b;
    return quotient - (rest != 0 && (rest ^ b) < 0);
}

static inline int64_t floor_mod(int64_t a, int64_t b) {
    if (b == 0)
        return 0;
    const int64_t rest = a % b;
    return rest != 0 && (rest ^ b) < 0 ? rest + b : rest;
}

static inline uint64_t word_mod(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }

static inline int64_t min_int(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t max_int(int64_t a, int64_t b) { return b > a ? b : a; }
static inline double min_real(double a, double b) { return b < a ? b : a; }
static inline double max_real(double a, double b) { return b > a ? b : a; }
static inline int64_t absolute(int64_t a) { return a < 0 ? -a : a; }
static inline double squared(double x) { return x * x; }

/* -- random numbers ----------------------------------------------------------------------------------- */

/* NumPy's `bitgen_t`, which every bit generator of NumPy hands out. */
typedef struct {
    void *state;
    uint64_t (*next_uint64)(void *state);
    uint32_t (*next_uint32)(void *state);
    double (*next_double)(void *state);
    uint64_t (*next_raw)(void *state);
} Generator;

/* The next random number from 0 to 1: what `Generator.random()` would return. */
static inline double next_random(const Generator *rng) { return rng->next_double(rng->state); }

/* The next of a sequence of words of 64 bits, never 0; the upper bits are the best (Marsaglia's xorshift). */
static inline uint64_t stirred(uint64_t word) {
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    return word;
}

#endif
