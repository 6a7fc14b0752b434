// The scalar arithmetic of kernels/arithmetic.py, operation by operation: binary64, only + - * /,
// square roots, comparisons, conversions and bit casts, each rounded once to nearest even.

// Adding 1.5 * 2^52 rounds to the nearest integer and leaves that integer in the low mantissa bits.
#define ROUND 6755399441055744.0
#define ROUND_BITS 0x4338000000000000LL

// As numba compiles max and min: the first number where the two cannot be ordered.
DEVICE double larger(double a, double b) { return b > a ? b : a; }
DEVICE double smaller(double a, double b) { return b < a ? b : a; }

DEVICE i64 nearest_integer(double x) { return bits_of_double(x + ROUND) - ROUND_BITS; }

// e^x for |x| <= 708: Cody-Waite reduction, Taylor polynomial.
DEVICE double exponential(double x) {
    const double shifted = x * 1.4426950408889634 + ROUND;
    const double n = shifted - ROUND;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    const double tail =
        1 / 5040.0 + r * (1 / 40320.0 + r * (1 / 362880.0 + r * (1 / 3628800.0 + r * (1 / 39916800.0))));
    const double p =
        1.0 + r * (1.0 + r * (0.5 + r * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * tail))))));
    return p * double_of_bits((i64)((u64)(bits_of_double(shifted) + 1023) << 52));
}

DEVICE double sigmoid(double x) {
    x = x < -700.0 ? -700.0 : x;
    x = x > 700.0 ? 700.0 : x;
    return 1.0 / (1.0 + exponential(-x));
}

// A term of a sum, as a whole number; terms beyond ``most`` are clipped, and NaN counts 0.
DEVICE u64 whole_term(double term, double most) {
    term = term < -most ? -most : term;
    term = term > most ? most : term;
    return (u64)nearest_integer(term == term ? term : 0.0);
}

// Sum of a number over the lanes of a warp before this one.
DEVICE u32 sum_before(u32 mine) {
    u32 all = mine;
    for (int apart = 1; apart < lanes<WARP>(); apart *= 2) all += of_lane_before(all, apart, 0);
    return all - mine;
}
