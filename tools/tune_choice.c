#include "tune_choice.h"

static const double finalist = 0.90; /* of the best rate of the first round */

double tune_wait_ratio(const struct tune_setting *s) {
    return s->seconds > 0 ? s->wait_seconds / s->seconds : 0;
}

static double first_rate(const struct tune_setting *s) {
    return s->rounds > 0 ? s->rates[0] : 0;
}

size_t tune_finalists(size_t out[TUNE_FINALISTS + 1], const struct tune_setting *settings, size_t count) {
    const size_t automatic = count - 1;
    double best = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++)
        if (first_rate(&settings[i]) > best)
            best = first_rate(&settings[i]);
    for (size_t i = 0; i < automatic; i++) {
        double r = first_rate(&settings[i]);
        if (r <= 0 || r < finalist * best)
            continue;
        size_t place = chosen; /* sorted by rate: it moves the slower ones down, the slowest out */
        while (place > 0 && first_rate(&settings[out[place - 1]]) < r)
            place--;
        if (place == TUNE_FINALISTS)
            continue;
        if (chosen < TUNE_FINALISTS)
            chosen++;
        for (size_t k = chosen - 1; k > place; k--)
            out[k] = out[k - 1];
        out[place] = i;
    }
    out[chosen++] = automatic;
    return chosen;
}

static bool is_finalist(const struct tune_setting *s) {
    return s->rounds == TUNE_ROUNDS;
}

static double round_mean(const struct tune_setting *settings, size_t count, unsigned round) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (is_finalist(&settings[i])) {
            sum += settings[i].rates[round];
            n++;
        }
    return n > 0 ? sum / (double)n : 0;
}

static double median(double values[], unsigned count) {
    for (unsigned i = 1; i < count; i++)
        for (unsigned k = i; k > 0 && values[k] < values[k - 1]; k--) {
            double larger = values[k - 1];
            values[k - 1] = values[k];
            values[k] = larger;
        }
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

void tune_settle(struct tune_setting *settings, size_t count) {
    double means[TUNE_FINAL_ROUNDS], ratios[TUNE_FINAL_ROUNDS], level = 0;
    for (unsigned r = 0; r < TUNE_FINAL_ROUNDS; r++) {
        means[r] = round_mean(settings, count, 1 + r);
        level += means[r] / TUNE_FINAL_ROUNDS;
    }
    for (size_t i = 0; i < count; i++) {
        struct tune_setting *s = &settings[i];
        s->rate = first_rate(s);
        if (!is_finalist(s))
            continue;
        for (unsigned r = 0; r < TUNE_FINAL_ROUNDS; r++)
            ratios[r] = means[r] > 0 ? s->rates[1 + r] / means[r] : 0;
        s->rate = level * median(ratios, TUNE_FINAL_ROUNDS);
    }
}

double tune_best_rate(const struct tune_setting *settings, size_t count) {
    double best = 0;
    for (size_t i = 0; i < count; i++)
        if (is_finalist(&settings[i]) && settings[i].rate > best)
            best = settings[i].rate;
    return best;
}

static bool is_good(const struct tune_setting *s, double best, bool has_step) {
    if (!is_finalist(s))
        return false;
    return s->rate * 100 >= best * (100 - TUNE_NEAR_BEST_PERCENT) ||
           (has_step && tune_wait_ratio(s) * 100 <= TUNE_WAIT_PERCENT);
}

static bool is_cheaper(const struct tune_setting *a, const struct tune_setting *b) {
    if (a->memory_bytes != b->memory_bytes)
        return a->memory_bytes < b->memory_bytes;
    return b->automatic || a->workers < b->workers;
}

size_t tune_recommended(const struct tune_setting *settings, size_t count, bool has_step) {
    const double best = tune_best_rate(settings, count);
    size_t chosen = count - 1;
    bool chosen_is_good = is_good(&settings[chosen], best, has_step);
    for (size_t i = 0; i + 1 < count; i++)
        if (is_good(&settings[i], best, has_step) && (!chosen_is_good || is_cheaper(&settings[i], &settings[chosen]))) {
            chosen = i;
            chosen_is_good = true;
        }
    return chosen;
}
