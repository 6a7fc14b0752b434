// A public number of nonzero weights: the loops of kernels/largest.py, and the dampings of the
// columns that are left.

// How far a weight moves margins, as bits: numbers that are not negative have the order of these.
DEVICE u64 reach(double weight, double present) {
    return (u64)bits_of_double((weight < 0.0 ? -weight : weight) * sqrt(present));
}

// Histogram, over the bits from ``shift`` on, of the weights whose bits above those are ``leading``.
// Weights that are 0 are not counted: they are never among the largest.
KERNEL tally_reaches(i64 columns, const double* weights, const double* present, i64 shift, i64 bins,
                     u64 leading, u64* counts) {
    for (i64 j = thread_index(); j < columns; j += thread_count()) {
        const u64 bits = reach(weights[j], present[j]);
        if (bits && (bits >> shift) / (u64)bins == leading) count_at(counts, (bits >> shift) % (u64)bins);
    }
}

// Drop all weights that reach less than ``least``.
KERNEL drop(i64 columns, const double* present, u64 least, unsigned char* dropped, double* gathered,
            double* weights) {
    for (i64 j = thread_index(); j < columns; j += thread_count()) {
        const bool is_dropped = reach(weights[j], present[j]) < least;
        dropped[j] = is_dropped;
        if (is_dropped) gathered[j] = weights[j] = 0.0;
    }
}

// Set dropped weights to 0, and what was gathered for them.
KERNEL clear(i64 count, const unsigned char* dropped, double* gathered, double* weights) {
    for (i64 j = thread_index(); j < count; j += thread_count())
        if (dropped[j]) gathered[j] = weights[j] = 0.0;
}

// Whether any output has a weight left in a column.
DEVICE bool is_left(const unsigned char* dropped, i64 outputs, i64 columns, i64 j) {
    for (i64 k = 0; k < outputs; k++)
        if (!dropped[k * columns + j]) return true;
    return false;
}

// Number of columns that are left in each tile of columns.
KERNEL count_left(i64 tiles, i64 outputs, i64 columns, const unsigned char* dropped, u64* counts) {
    for (i64 t = thread_index() / lanes<WARP>(); t < tiles; t += thread_count() / lanes<WARP>()) {
        u64 count = 0;
        for (i64 j = t * TILE + lane<WARP>(); j < (t + 1) * TILE && j < columns; j += lanes<WARP>())
            count += is_left(dropped, outputs, columns, j);
        count = group_sum<WARP>(count);
        if (lane<WARP>() == 0) counts[t] = count;
    }
}

// The columns that are left, in order; ``starts`` says where those of each tile begin.
KERNEL list_left(i64 tiles, i64 outputs, i64 columns, const unsigned char* dropped,
                 const i64* starts, i64* out) {
    for (i64 t = thread_index() / lanes<WARP>(); t < tiles; t += thread_count() / lanes<WARP>()) {
        i64 at = starts[t];
        for (i64 first = t * TILE; first < (t + 1) * TILE && first < columns; first += lanes<WARP>()) {
            const i64 j = first + lane<WARP>();
            const u32 left = j < columns && is_left(dropped, outputs, columns, j);
            const u32 before = sum_before(left);
            if (left) out[at + before] = j;
            at += (i64)group_sum<WARP>(left);
        }
    }
}

// Places of the released sums of columns, and of the constants that follow those of each output.
KERNEL list_places(i64 outputs, i64 columns, i64 apart, const i64* left, i64* out) {
    for (i64 i = thread_index(); i < outputs * (columns + 1); i += thread_count()) {
        const i64 k = i / (columns + 1), at = i % (columns + 1);
        out[i] = k * apart + (at < columns ? left[at] : apart - 1);
    }
}

// Mean squared length of rows under a damping, in grains; of the columns that are left.
KERNEL mean_length(i64 columns, const i64* left, const double* damping, const double* present,
                   double grains, double most, u64* out) {
    u64 total = 0;
    for (i64 i = thread_index(); i < columns; i += thread_count()) {
        const i64 j = left[i];
        total += whole_term(present[j] * (damping[j] * damping[j]) * grains, most);
    }
    add_up(total, out);
}

// Dampings times a factor, at most ``most``, of the columns that are left.
KERNEL rescale(i64 columns, const i64* left, const double* damping, double factor, double most,
               double* out) {
    for (i64 i = thread_index(); i < columns; i += thread_count()) {
        const double found = damping[left[i]] * factor;
        out[left[i]] = found > most ? most : found;
    }
}

KERNEL gather(i64 count, const i64* places, const double* numbers, double* out) {
    for (i64 i = thread_index(); i < count; i += thread_count()) out[i] = numbers[places[i]];
}

KERNEL scatter_whole(i64 count, const i64* places, const i64* numbers, i64* out) {
    for (i64 i = thread_index(); i < count; i += thread_count()) out[places[i]] = numbers[i];
}
