#include "permutation.h"

#include "random.h"

#include <criterion/criterion.h>

#include <stdlib.h>

typedef uint64_t method_fn(const struct permutation *p, uint64_t index);

static const struct {
    const char *name;
    method_fn *at;
} methods[] = {{"swap-or-not", permutation_swap_or_not}, {"feistel", permutation_feistel}};

enum { METHODS = sizeof methods / sizeof *methods };

/* The key of an epoch, as the plan makes it. */
static struct permutation keyed(uint64_t count, int64_t epoch) {
    struct random_block block = random_draw(1, RANDOM_ORDER, epoch, 0);
    const uint64_t key[2] = {random_u64(&block, 0), random_u64(&block, 1)};
    struct permutation p;
    permutation_init(&p, count, key);
    return p;
}

static double root(double x) {
    double r = x > 1 ? x : 1;
    for (int i = 0; i < 100; i++) {
        r = (r + x / r) / 2;
    }
    return r;
}

/* The value that a chi-square of `freedom` degrees exceeds with p = 0.001 (E. Wilson, M. Hilferty, 1931). */
static double critical(double freedom) {
    double t = 1 - 2 / (9 * freedom) + 3.0902 * root(2 / (9 * freedom));
    return freedom * t * t * t;
}

static double chi_square(const uint32_t *counts, size_t cells, double expected) {
    double sum = 0;
    for (size_t i = 0; i < cells; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

static void check_bijection(method_fn *at, const char *name, uint64_t count, int64_t epoch) {
    struct permutation p = keyed(count, epoch);
    uint8_t *seen = calloc(count, 1);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t to = at(&p, i);
        cr_assert_lt(to, count, "%s, n = %lu", name, (unsigned long)count);
        cr_assert_not(seen[to], "%s, n = %lu: %lu twice", name, (unsigned long)count, (unsigned long)to);
        seen[to] = 1;
    }
    free(seen);
}

Test(permutation, is_a_bijection_at_every_size) {
    for (uint64_t count = 1; count <= 300; count++) {
        for (int m = 0; m < METHODS; m++) {
            check_bijection(methods[m].at, methods[m].name, count, (int64_t)count);
        }
        check_bijection(permutation_at, "default", count, -1);
    }
    static const uint64_t sizes[] = {1023, 1024, 4095, 4096, 4097, 5000, 65535, 65536, 65537, 300007};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_bijection(permutation_at, "default", sizes[i], 3);
    }
}

Test(permutation, stays_in_range_at_the_limit) {
    struct permutation p = keyed(PERMUTATION_LIMIT, 0), odd = keyed(PERMUTATION_LIMIT - 1, 0);
    for (uint64_t i = 0; i < 1000; i++) {
        cr_assert_lt(permutation_at(&p, PERMUTATION_LIMIT - 1 - i), PERMUTATION_LIMIT);
        cr_assert_lt(permutation_at(&odd, i * 4000000), PERMUTATION_LIMIT - 1);
    }
}

/* Where each id comes to lie, over many keys: n x n counts. Rows and columns sum to the number of keys, so that the sum
 * times (n - 1) / n has (n - 1)^2 degrees of freedom. */
static void check_places(int m, uint64_t count, int keys) {
    uint32_t *counts = calloc(count * count, sizeof *counts);
    for (int key = 0; key < keys; key++) {
        struct permutation p = keyed(count, key);
        for (uint64_t i = 0; i < count; i++) {
            counts[i * count + methods[m].at(&p, i)]++;
        }
    }
    double n = (double)count, sum = chi_square(counts, count * count, keys / n) * (n - 1) / n;
    cr_expect_lt(sum, critical((n - 1) * (n - 1)), "%s, places, n = %g: %g", methods[m].name, n, sum);
    free(counts);
}

/* Which two ids come to lie at two neighbouring places: n (n - 1) ordered pairs. */
static void check_neighbours(int m, uint64_t count, int keys, uint64_t place) {
    uint32_t *counts = calloc(count * count, sizeof *counts);
    for (int key = 0; key < keys; key++) {
        struct permutation p = keyed(count, key);
        counts[methods[m].at(&p, place) * count + methods[m].at(&p, place + 1)]++;
    }
    double n = (double)count, pairs = n * (n - 1), expected = keys / pairs;
    double sum = chi_square(counts, count * count, expected) - n * expected; /* the diagonal is always 0 */
    cr_expect_lt(sum, critical(pairs - 1), "%s, neighbours, n = %g: %g", methods[m].name, n, sum);
    free(counts);
}

static void check_chi_square(uint64_t count, int place_keys, int pair_keys) {
    for (int m = 0; m < METHODS; m++) {
        check_places(m, count, place_keys);
        check_neighbours(m, count, pair_keys, 0);
        check_neighbours(m, count, pair_keys, count / 2);
    }
}

Test(permutation, chi_square_5) {
    check_chi_square(5, 100000, 100000);
}

Test(permutation, chi_square_16) {
    check_chi_square(16, 50000, 100000);
}

Test(permutation, chi_square_64) {
    check_chi_square(64, 20000, 100000);
}

Test(permutation, chi_square_128) {
    check_chi_square(128, 10000, 200000);
}

/* Of a handful of elements every whole permutation must be as likely as any other. */
Test(permutation, small_ones_reach_every_permutation_alike) {
    enum { KEYS = 120000, LARGEST = 5 };
    int orders = 1;
    for (uint64_t count = 2; count <= LARGEST; count++) {
        orders *= (int)count;
        uint32_t counts[120] = {0};
        for (int key = 0; key < KEYS; key++) {
            struct permutation p = keyed(count, key);
            unsigned code = 0, seen[LARGEST];
            for (uint64_t i = 0; i < count; i++) { /* Lehmer code */
                unsigned smaller = 0;
                seen[i] = (unsigned)permutation_at(&p, i);
                for (uint64_t j = 0; j < i; j++) {
                    smaller += seen[j] < seen[i];
                }
                code = code * (unsigned)(i + 1) + smaller;
            }
            counts[code]++;
        }
        double sum = chi_square(counts, (size_t)orders, (double)KEYS / orders);
        cr_expect_lt(sum, critical(orders - 1), "n = %lu: %g", (unsigned long)count, sum);
    }
}

/* Orders of epochs next to each other have nothing in common: how many ids stay in place is 1 on average, as by
 * chance. */
Test(permutation, epochs_are_unrelated) {
    static const uint64_t sizes[] = {64, 5000};
    for (size_t s = 0; s < 2; s++) {
        int kept = 0;
        enum { EPOCHS = 400 };
        for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
            struct permutation a = keyed(sizes[s], epoch), b = keyed(sizes[s], epoch + 1);
            for (uint64_t i = 0; i < sizes[s]; i++) {
                kept += permutation_at(&a, i) == permutation_at(&b, i);
            }
        }
        cr_expect(kept > EPOCHS - 90 && kept < EPOCHS + 90, "n = %lu: %d", (unsigned long)sizes[s], kept);
    }
}
