// Sums of whole numbers over the entries of segments: of rows, or of columns.
//
// A segment's entries lie next to each other; ``starts`` says where. Short segments are summed by a
// group of L lanes each. Those of more than ``longest`` entries are cut into pieces, each summed by
// a group and added: integers, so any order gives the same sum.

#if INDEX_BYTES == 8
typedef i64 Index;
#else
typedef int Index;
#endif

// The kinds of `device.VALUES`.
#if VALUE_KIND == 2
typedef int Value;
#elif VALUE_KIND == 3
typedef float Value;
#elif VALUE_KIND == 4
typedef double Value;
#else
typedef signed char Value;
#endif

DEVICE double entry(const Value* values, i64 place) {
#if VALUE_KIND == 0
    return 1.0;  // a matrix of ones keeps no values
#else
    return (double)values[place];
#endif
}

// The terms of the entries of one lane. What an entry needs of its row or column is far from what the
// last one needed: four reads are under way before the first is used.
template <int L, class Segment>
DEVICE u64 sum_of_lane(const Segment& segment, i64 begin, i64 end, const Index* others,
                       const Value* values) {
    u64 total = 0;
    i64 p = begin + lane<L>();
    for (; p + 3 * lanes<L>() < end; p += 4 * lanes<L>()) {
        const i64 q = p + lanes<L>(), r = q + lanes<L>(), s = r + lanes<L>();
        const i64 a = others[p], b = others[q], c = others[r], d = others[s];
        const auto first = segment.read(a), second = segment.read(b);
        const auto third = segment.read(c), fourth = segment.read(d);
        total += segment.term(first, entry(values, p)) + segment.term(second, entry(values, q)) +
                 segment.term(third, entry(values, r)) + segment.term(fourth, entry(values, s));
    }
    for (; p < end; p += lanes<L>())
        total += segment.term(segment.read(others[p]), entry(values, p));
    return total;
}

// ``Terms`` says what an entry adds to its segment, and where the sum of a segment goes.
template <int L, class Terms>
DEVICE void sum_segments(const Terms terms, i64 first, i64 count, const i64* starts,
                         const Index* others, const Value* values, i64 longest) {
    const i64 offset = count > 0 ? starts[0] : 0;
    for (i64 s = thread_index() / lanes<L>(); s < count; s += thread_count() / lanes<L>()) {
        const i64 begin = starts[s] - offset;
        i64 end = starts[s + 1] - offset;
        const auto segment = terms.of(first + s);
        if (end - begin > longest || segment.is_zero()) end = begin;
        const u64 total = group_sum<L>(sum_of_lane<L>(segment, begin, end, others, values));
        if (lane<L>() == 0) terms.write(first + s, total);
    }
}

template <int L, class Terms>
DEVICE void sum_pieces(const Terms terms, i64 count, const i64* segments, const i64* begins,
                       const i64* ends, const Index* others, const Value* values) {
    for (i64 s = thread_index() / lanes<L>(); s < count; s += thread_count() / lanes<L>()) {
        const auto segment = terms.of(segments[s]);
        if (segment.is_zero()) continue;
        const u64 mine = sum_of_lane<L>(segment, begins[s], ends[s], others, values);
        const u64 total = group_sum<L>(mine);
        if (lane<L>() == 0) terms.add(segments[s], total);
    }
}

#define SEGMENTS \
    i64 first, i64 count, const i64 *starts, const Index *others, const Value *values, i64 longest
#define PIECES \
    i64 count, const i64 *segments, const i64 *begins, const i64 *ends, const Index *others, \
        const Value *values
#define UNPACKED(...) __VA_ARGS__
#define OF_SEGMENTS(name, L, Terms, parameters, arguments) \
    KERNEL name##_##L(SEGMENTS, UNPACKED parameters) { \
        sum_segments<L>(Terms{UNPACKED arguments}, first, count, starts, others, values, longest); \
    }
#define OF_PIECES(name, L, Terms, parameters, arguments) \
    KERNEL name##_pieces_##L(PIECES, UNPACKED parameters) { \
        sum_pieces<L>(Terms{UNPACKED arguments}, count, segments, begins, ends, others, values); \
    }
// The kernels of one kind of terms: short segments by 1, 8 or 32 lanes each, pieces by 8 or 32.
#define SEGMENT_KERNELS(name, Terms, parameters, arguments) \
    OF_SEGMENTS(name, 1, Terms, parameters, arguments) \
    OF_SEGMENTS(name, 8, Terms, parameters, arguments) \
    OF_SEGMENTS(name, 32, Terms, parameters, arguments) \
    OF_PIECES(name, 8, Terms, parameters, arguments) \
    OF_PIECES(name, 32, Terms, parameters, arguments)
