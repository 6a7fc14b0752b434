// One operation on hard cases, whose results a device must share with the processor
// (kernels/probe.py). What is not a number has many forms, and counts as one.

DEVICE double probed(int operation, double a, double b) {
    switch (operation) {
        case 0: return a + b;
        case 1: return a * b;
        case 2: return a / b;
        case 3: return sqrt(a);
        case 4: return a * b + a;  // fused, it would be rounded once
        case 5: return a - b * b;
        case 6: return exponential(smaller(larger(a, -700.0), 700.0));
        case 7: return sigmoid(a);
        case 8: return (double)(i64)whole_term(a, 1125899906842624.0);
        case 9: return a == a ? (double)(i64)smaller(larger(a, -9007199254740992.0), 9007199254740992.0) : a;
        case 10: return (double)bits_of_double(a);
        case 11: return (double)(u64)bits_of_double(b);
        case 12: return residual_of(HINGE, b, a, 1.0);
        default: return clipped_residual(a, b);
    }
}

KERNEL probe(i64 operation, i64 count, const double* a, const double* b, i64* out) {
    for (i64 k = thread_index(); k < count; k += thread_count()) {
        const double found = probed((int)operation, a[k], b[k]);
        out[k] = found == found ? bits_of_double(found) : 0x7FF8000000000000LL;
    }
}
