// Exact sums of conditioned rows: the loops of kernels/conditioned.py.

// Per row: its unit and its whole coefficient, next to each other so that one read fetches both.
struct ALIGNED16 Row {
    double unit;
    i64 coefficient;
};

// Integer entry of V, from a column's scale, a row's unit and the stored number.
DEVICE i64 entry_of(double scale, double unit, double value) {
    return nearest_integer(scale * (unit * value));
}

// Unit rows' entries by column, each rounded towards 0 to whole grains.
struct UnitSums {
    const double* units;
    double grains;
    u64* out;
    struct Of {
        const double* units;
        double grains;
        DEVICE_METHOD bool is_zero() const { return false; }
        DEVICE_METHOD double read(i64 row) const { return units[row]; }
        DEVICE_METHOD u64 term(double unit, double value) const {
            return (u64)(i64)(unit * value * grains);
        }
    };
    DEVICE_METHOD Of of(i64) const { return {units, grains}; }
    DEVICE_METHOD void write(i64 column, u64 total) const { out[column] = total; }
    DEVICE_METHOD void add(i64 column, u64 total) const { add_to(out + column, total); }
};
SEGMENT_KERNELS(unit_sums, UnitSums, (const double* units, double grains, u64* out),
                (units, grains, out))

// The terms of |V - P|^2 by row.
struct SquareLengths {
    const double *units, *damping;
    const i64* centre;
    double whole;
    u64* out;
    struct Of {
        double unit;
        const double* damping;
        const i64* centre;
        double whole;
        DEVICE_METHOD bool is_zero() const { return false; }
        struct Column {
            double damping;
            i64 centre;
        };
        DEVICE_METHOD Column read(i64 column) const { return {damping[column], centre[column]}; }
        DEVICE_METHOD u64 term(Column column, double value) const {
            const u64 v = (u64)entry_of(column.damping * whole, unit, value);
            return v * (v - 2 * (u64)column.centre);
        }
    };
    DEVICE_METHOD Of of(i64 row) const { return {units[row], damping, centre, whole}; }
    DEVICE_METHOD void write(i64 row, u64 total) const { out[row] = total; }
    DEVICE_METHOD void add(i64 row, u64 total) const { add_to(out + row, total); }
};
SEGMENT_KERNELS(square_lengths, SquareLengths,
                (const double* units, const double* damping, const i64* centre, double whole, u64* out),
                (units, damping, centre, whole, out))

// Entries times the weights of their columns by row, in grains.
struct Margins {
    const double* weights;
    double grains, most;
    u64* out;
    struct Of {
        const double* weights;
        double grains, most;
        DEVICE_METHOD bool is_zero() const { return false; }
        DEVICE_METHOD double read(i64 column) const { return weights[column]; }
        DEVICE_METHOD u64 term(double weight, double value) const {
            return whole_term(weight * grains * value, most);
        }
    };
    DEVICE_METHOD Of of(i64) const { return {weights, grains, most}; }
    DEVICE_METHOD void write(i64 row, u64 total) const { out[row] = total; }
    DEVICE_METHOD void add(i64 row, u64 total) const { add_to(out + row, total); }
};
SEGMENT_KERNELS(margins, Margins, (const double* weights, double grains, double most, u64* out),
                (weights, grains, most, out))

// Sums over the rows of c (V - P) by column; ``total`` is the sum of c.
struct WeightedSums {
    const Row* rows;
    const double* damping;
    const i64* centre;
    double whole;
    const u64* total_of_coefficients;
    u64* out;
    struct Of {
        const Row* rows;
        double scale;
        // A column that was dropped adds 0 for every row.
        DEVICE_METHOD bool is_zero() const { return scale == 0.0; }
        DEVICE_METHOD Row read(i64 row) const { return rows[row]; }
        DEVICE_METHOD u64 term(Row row, double value) const {
            return (u64)row.coefficient * (u64)entry_of(scale, row.unit, value);
        }
    };
    DEVICE_METHOD Of of(i64 column) const { return {rows, damping[column] * whole}; }
    DEVICE_METHOD void write(i64 column, u64 total) const {
        out[column] = total - (u64)centre[column] * *total_of_coefficients;
    }
    DEVICE_METHOD void add(i64 column, u64 total) const { add_to(out + column, total); }
};
SEGMENT_KERNELS(weighted_sums, WeightedSums,
                (const Row* rows, const double* damping, const i64* centre, double whole,
                 const u64* total_of_coefficients, u64* out),
                (rows, damping, centre, whole, total_of_coefficients, out))

// U over the length of every conditioned row, slightly reduced, times its weight; 0 for length 0.
KERNEL lengths(i64 count, const u64* squares, u64 square_centre, double unit, const double* weights,
               double* out) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const i64 square = (i64)(squares[i] + square_centre);
        const double found = square > 0 ? unit / sqrt((double)square) : 0.0;
        out[i] = weights ? found * weights[i] : found;
    }
}
