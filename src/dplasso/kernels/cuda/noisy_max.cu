// Standard selection (kernels/noisy_max.py): the gradients of all rows, the scores of all columns,
// the tickets of every block of columns, and the step of the margins. The draw is made elsewhere.

#define LN2 0.6931471805599453
#define ROOM 1e-11
#define FAINT 600.0

// Row gradients in grains.
KERNEL row_gradients(i64 count, i64 loss, double shape, double scale, double grains,
                     const double* labels, const double* weights, const double* margins,
                     double* out) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        double found = residual_of((int)loss, shape, margins[i] * scale, labels[i]);
        if (weights) found *= weights[i];
        out[i] = found * grains;
    }
}

// The same for several classes; ``margins`` is rows x classes, ``out`` is classes x rows.
KERNEL class_gradients(i64 count, i64 classes, double scale, double grains, const double* labels,
                       const double* weights, const double* margins, double* out) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        softmax_residuals(margins + i * classes, 1, classes, labels[i], scale, out + i, count);
        for (i64 k = 0; k < classes; k++) {
            const double weighted = out[k * count + i] * (weights ? weights[i] : 1.0);
            out[k * count + i] = weighted * grains;
        }
    }
}

// Scores in grains by column.
struct Scores {
    const double* gradients;
    u64* out;
    struct Of {
        const double* gradients;
        DEVICE_METHOD bool is_zero() const { return false; }
        DEVICE_METHOD double read(i64 row) const { return gradients[row]; }
        DEVICE_METHOD u64 term(double gradient, double value) const {
            return (u64)nearest_integer(gradient * value);
        }
    };
    DEVICE_METHOD Of of(i64) const { return {gradients}; }
    DEVICE_METHOD void write(i64 column, u64 total) const { out[column] = total; }
    DEVICE_METHOD void add(i64 column, u64 total) const { add_to(out + column, total); }
};
SEGMENT_KERNELS(scores, Scores, (const double* gradients, u64* out), (gradients, out))

DEVICE double weight(double log_weight) {
    return exponential(smaller(larger(log_weight, -FAINT), FAINT));
}

// Tickets that cover the weight of a score.
DEVICE i64 tickets_for(double bound, double theta, double log_unit) {
    const double both = weight(theta * bound - log_unit) + weight(-theta * bound - log_unit);
    return (i64)(both * (1.0 + ROOM)) + 2;
}

DEVICE i64 mild_tickets(double size, double one) {
    const double square = size * size;
    const double cosh = 1.0 + square * (0.5 + square * (1.0 / 24.0 + square * (1.02 / 720.0)));
    return (i64)(2.0 * one * cosh * (1.0 + ROOM)) + 2;
}

// Tickets of all columns of each block, and their exponent. Columns without entries are in none.
KERNEL count_blocks(i64 blocks, i64 apart, const i64* first_columns, const i64* starts,
                    const i64* scores, double theta, i64 top_bits, i64* tickets, i64* exponents) {
    for (i64 b = thread_index() / lanes<WARP>(); b < blocks; b += thread_count() / lanes<WARP>()) {
        const i64 begin = first_columns[b] + lane<WARP>(), end = first_columns[b + 1];
        u64 top = 0;
        for (i64 j = begin; j < end; j += lanes<WARP>()) {
            const u64 size = (u64)(scores[j] < 0 ? -scores[j] : scores[j]);
            top = size > top ? size : top;
        }
        top = group_max<WARP>(top);
        const double reach = theta * (double)(i64)top;
        const i64 exponent = (i64)floor(reach / LN2) - top_bits;
        const double log_unit = (double)exponent * LN2, one = weight(-log_unit);
        u64 total = 0;
        for (i64 j = begin; j < end; j += lanes<WARP>()) {
            if (starts[j + 1] == starts[j]) continue;
            const double score = (double)scores[j], size = score < 0.0 ? -score : score;
            total += (u64)(reach <= 1.0 ? mild_tickets(theta * score, one)
                                        : tickets_for(size, theta, log_unit));
        }
        total = group_sum<WARP>(total);
        if (lane<WARP>() == 0) {
            tickets[b * apart] = (i64)total;
            exponents[b * apart] = exponent;
        }
    }
}

// Move the margins of a column's rows.
KERNEL move_margins(i64 begin, i64 end, i64 classes, i64 label, double added, const Index* rows,
                    const Value* values, double* margins) {
    for (i64 p = begin + thread_index(); p < end; p += thread_count())
        margins[(i64)rows[p] * classes + label] += added * entry(values, p);
}

KERNEL multiply(i64 count, double factor, double* margins) {
    for (i64 i = thread_index(); i < count; i += thread_count()) margins[i] *= factor;
}
