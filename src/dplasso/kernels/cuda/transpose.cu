// Columns to rows: how many entries each row has, and each entry to a place of its row. The order
// within a row is any, as sums over it are of whole numbers.

struct Tally {
    u64* lengths;
    struct Of {
        u64* lengths;
        DEVICE_METHOD bool is_zero() const { return false; }
        DEVICE_METHOD i64 read(i64 row) const { return row; }
        DEVICE_METHOD u64 term(i64 row, double) const {
            add_to(lengths + row, 1);
            return 0;
        }
    };
    DEVICE_METHOD Of of(i64) const { return {lengths}; }
    DEVICE_METHOD void write(i64, u64) const {}
    DEVICE_METHOD void add(i64, u64) const {}
};
SEGMENT_KERNELS(tally, Tally, (u64* lengths), (lengths))

struct Scatter {
    u64* cursor;
    Index* columns;
    Value* out_values;
    struct Of {
        u64* cursor;
        Index* columns;
        Value* out_values;
        i64 column;
        DEVICE_METHOD bool is_zero() const { return false; }
        DEVICE_METHOD i64 read(i64 row) const { return row; }
        DEVICE_METHOD u64 term(i64 row, double value) const {
            const u64 at = take_from(cursor + row, 1);
            columns[at] = (Index)column;
#if VALUE_KIND != 0
            out_values[at] = (Value)value;
#endif
            return 0;
        }
    };
    DEVICE_METHOD Of of(i64 column) const { return {cursor, columns, out_values, column}; }
    DEVICE_METHOD void write(i64, u64) const {}
    DEVICE_METHOD void add(i64, u64) const {}
};
SEGMENT_KERNELS(scatter, Scatter, (u64 * cursor, Index* columns, Value* out_values),
                (cursor, columns, out_values))
