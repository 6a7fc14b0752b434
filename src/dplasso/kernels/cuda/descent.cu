// One step of gradient descent: the residuals of the rows and the update of the weights
// (kernels/descent.py).

// Adds a number of every thread to a place.
DEVICE void add_up(u64 number, u64* out) {
    SHARED u64 parts[32];
    number = group_sum<WARP>(number);
    if (lane<WARP>() == 0) parts[thread_of_block() / lanes<WARP>()] = number;
    wait_for_block();
    if (thread_of_block() == 0) {
        u64 total = 0;
        for (int k = 0; k < threads_of_block() / lanes<WARP>(); k++) total += parts[k];
        if (total) add_to(out, total);
    }
    wait_for_block();
}

// The weights' product with the centre, in grains.
KERNEL centre_margin(i64 count, const i64* head, const double* centre, const double* weights,
                     double grains, double most, u64* out) {
    u64 total = 0;
    for (i64 h = thread_index(); h < count; h += thread_count())
        total += whole_term(weights[head[h]] * centre[h] * grains, most);
    add_up(total, out);
}

// A row's margin, from its whole grains, its unit and the intercept of uncentred rows.
DEVICE double margin_of(u64 grains_of_row, double unit, double grains, double intercept) {
    return (double)(i64)grains_of_row * (unit / grains) + intercept;
}

DEVICE double uncentred(double intercept, u64 centre, double grains) {
    return intercept - (double)(i64)centre / grains;
}

// What a row adds to all sums, from its residual in units of the clip.
struct Coefficients {
    const double* lengths;
    double constant;
    const double* weights;
    Row* rows;
    u64 total, constants;
    DEVICE_METHOD void write(i64 i, double residual) {
        const double size = residual < 0.0 ? -residual : residual;
        const double unit = size <= 1.0 ? residual : 0.0;  // NaN counts 0
        const i64 coefficient = (i64)(unit * lengths[i]);
        rows[i].coefficient = coefficient;
        total += (u64)coefficient;
        constants += (u64)(i64)(unit * (weights ? constant * weights[i] : constant));
    }
};

// Whole coefficients of rows with one margin, their sum and that of the constants.
KERNEL coefficients(i64 count, i64 loss, double shape, double clip, const double* labels,
                    double grains, const double* intercept, const u64* centre, double centre_grains,
                    const u64* margins, const double* lengths, double constant,
                    const double* weights, Row* rows, u64* total, u64* constants) {
    const double shifted = uncentred(*intercept, *centre, centre_grains);
    Coefficients found = {lengths, constant, weights, rows, 0, 0};
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const double margin = margin_of(margins[i], rows[i].unit, grains, shifted);
        const double residual = residual_of((int)loss, shape, margin, labels[i]);
        found.write(i, clipped_residual(residual, clip));
    }
    add_up(found.total, total);
    add_up(found.constants, constants);
}

// Replaces margins in grains, classes x rows, by residuals in units of ``clip``.
KERNEL class_residuals(i64 count, i64 classes, double clip, const double* labels, double grains,
                       const double* intercepts, const u64* centres, double centre_grains,
                       const Row* rows, double* margins) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        for (i64 k = 0; k < classes; k++) {
            const double shifted = uncentred(intercepts[k], centres[k], centre_grains);
            double* mine = margins + k * count + i;
            *mine = margin_of((u64)bits_of_double(*mine), rows[i].unit, grains, shifted);
        }
        clipped_residuals(margins + i, count, classes, labels[i], clip);
    }
}

// Whole coefficients of rows for one class, from their residuals.
KERNEL class_coefficients(i64 count, const double* residuals, const double* lengths, double constant,
                          const double* weights, Row* rows, u64* total, u64* constants) {
    Coefficients found = {lengths, constant, weights, rows, 0, 0};
    for (i64 i = thread_index(); i < count; i += thread_count()) found.write(i, residuals[i]);
    add_up(found.total, total);
    add_up(found.constants, constants);
}

// The sums of the constants are the last of each output's, ``apart`` places from each other: written
// there before noise is added, and read from there afterwards.
KERNEL place_constants(i64 outputs, i64 apart, const u64* constants, u64* sums) {
    for (i64 k = thread_index(); k < outputs; k += thread_count())
        sums[(k + 1) * apart - 1] = constants[k];
}

KERNEL read_constants(i64 outputs, i64 apart, const u64* sums, u64* constants) {
    for (i64 k = thread_index(); k < outputs; k += thread_count())
        constants[k] = sums[(k + 1) * apart - 1];
}

// Gather released sums, read at the middle of their grid cell, and set the weights. ``order`` holds
// the step, and whether the weights are then added to those kept.
KERNEL move(i64 count, const i64* released, const double* damping, double grid, const double* order,
            const unsigned char* dropped, double* gathered, double* weights, double* kept) {
    const double step = order[0];
    const bool keeps = order[1] != 0.0;
    for (i64 j = thread_index(); j < count; j += thread_count()) {
        if (dropped && dropped[j]) continue;
        const double sum = gathered[j] + damping[j] * ((double)released[j] + 0.5) * grid;
        const double weight = -step * sum;
        gathered[j] = sum;
        weights[j] = weight;
        if (keeps) kept[j] += weight;
    }
}

KERNEL keep(i64 count, const double* weights, double* kept) {
    for (i64 j = thread_index(); j < count; j += thread_count()) kept[j] += weights[j];
}

// Add the squares of dampings once for each of so many steps, one after the other.
KERNEL spread(i64 count, i64 steps, const double* damping, double* out) {
    for (i64 j = thread_index(); j < count; j += thread_count()) {
        const double square = damping[j] * damping[j];
        double sum = out[j];
        for (i64 step = 0; step < steps; step++) sum += square;
        out[j] = sum;
    }
}
