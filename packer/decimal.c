#include "decimal.h"

#include <float.h>
#include <locale.h>
#include <stdlib.h>

#define SIGNIFICAND_LIMIT 1000000000000000000u /* one digit more still fits 64 bits */
#define EXPONENT_LIMIT 9999                    /* of the text; far beyond float32 */
#define EXACT_POWERS 23                        /* 10^0 … 10^22 are doubles without rounding */

static bool is_digit(const uint8_t *p, const uint8_t *end) {
    return p < end && *p >= '0' && *p <= '9';
}

static void push_digit(struct decimal *d, uint8_t digit, bool fraction) {
    if (d->significand < SIGNIFICAND_LIMIT) {
        d->significand = d->significand * 10 + digit;
        d->exponent -= fraction;
    } else {
        d->cut |= digit != 0;
        d->exponent += !fraction;
    }
}

/* Reads "e-05" at p and returns what follows it; p itself if there is no exponent. */
static const uint8_t *read_exponent(struct decimal *d, const uint8_t *p, const uint8_t *end) {
    if (p == end || (*p != 'e' && *p != 'E'))
        return p;
    const uint8_t *q = p + 1;
    bool negative = q < end && *q == '-';
    if (q < end && (*q == '-' || *q == '+'))
        q++;
    if (!is_digit(q, end))
        return p;
    int value = 0;
    for (; is_digit(q, end); q++)
        if (value < EXPONENT_LIMIT)
            value = value * 10 + (*q - '0');
    d->exponent += negative ? -value : value;
    return q;
}

size_t decimal_parse(struct decimal *out, struct span text) {
    struct decimal d = {0};
    const uint8_t *p = text.data, *end = text.data + text.size;
    if (p < end && (*p == '-' || *p == '+'))
        d.negative = *p++ == '-';
    const uint8_t *digits = p;
    for (; is_digit(p, end); p++)
        push_digit(&d, (uint8_t)(*p - '0'), false);
    size_t digit_count = (size_t)(p - digits);
    if (p < end && *p == '.') {
        digits = ++p;
        for (; is_digit(p, end); p++)
            push_digit(&d, (uint8_t)(*p - '0'), true);
        digit_count += (size_t)(p - digits);
    }
    if (digit_count == 0)
        return 0;
    p = read_exponent(&d, p, end);
    d.text = (struct span){text.data, (size_t)(p - text.data)};
    *out = d;
    return d.text.size <= DECIMAL_TEXT_BYTES ? d.text.size : 0;
}

static float slow_float(const struct decimal *d) {
    char text[DECIMAL_TEXT_BYTES + 1];
    memcpy(text, d->text.data, d->text.size);
    text[d->text.size] = '\0';
    /* glibc and musl keep the C locale ready: nothing is allocated. */
    locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    float value = strtof_l(text, NULL, c_locale);
    freelocale(c_locale);
    return value;
}

/*
 * Up to three roundings separate `value` from the decimal (cut digits, significand to double, the one operation), each
 * less than one unit in the last place of a double. So it rounds to the same float32 as the decimal unless the boundary
 * between two floats, a double whose lower 29 bits are 1 and then zeros, lies within those few units.
 */
static bool float_is_certain(double value) {
    const uint64_t boundary = UINT64_C(1) << 28, margin = 8;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t low = bits & ((UINT64_C(1) << 29) - 1);
    return value >= FLT_MIN && value < FLT_MAX && (low < boundary - margin || low > boundary + margin);
}

float decimal_to_float(const struct decimal *d) {
    static const double powers[EXACT_POWERS] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->significand == 0)
        return d->negative ? -0.0f : 0.0f;
    if (d->exponent <= -EXACT_POWERS || d->exponent >= EXACT_POWERS)
        return slow_float(d);
    double value = (double)d->significand;
    value = d->exponent < 0 ? value / powers[-d->exponent] : value * powers[d->exponent];
    if (!float_is_certain(value))
        return slow_float(d);
    return d->negative ? -(float)value : (float)value;
}

bool decimal_to_integer(const struct decimal *d, uint32_t limit, uint32_t *out) {
    uint64_t value = d->significand;
    int exponent = d->exponent;
    for (; exponent < 0 && value != 0; exponent++, value /= 10)
        if (value % 10 != 0)
            return false;
    for (; exponent > 0 && value != 0 && value <= limit; exponent--)
        value *= 10;
    if (value > limit || d->cut || (d->negative && value != 0))
        return false;
    *out = (uint32_t)value;
    return true;
}
