// A processor in place of the card: one thread, one lane, one block.
#include <cmath>
#include <cstring>

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#define DEVICE_METHOD inline
#define DEVICE static inline
#define KERNEL extern "C" void
#define SHARED static
#define ALIGNED16
#define WARP 1
#define WARPS 1
#define SLOTS_OF_LANE 256

using std::floor;
using std::sqrt;

DEVICE i64 thread_index() { return 0; }
DEVICE i64 thread_count() { return 1; }
DEVICE int block_index() { return 0; }
DEVICE int block_count() { return 1; }
DEVICE int thread_of_block() { return 0; }
DEVICE int threads_of_block() { return 1; }
DEVICE void wait_for_block() {}
DEVICE void wait_for_warp() {}
template <int L> DEVICE int lanes() { return 1; }
template <int L> DEVICE int lane() { return 0; }
template <int L> DEVICE u64 group_sum(u64 number) { return number; }
template <int L> DEVICE u64 group_max(u64 number) { return number; }
DEVICE u32 of_lane_before(u32, int, u32 otherwise) { return otherwise; }
DEVICE void add_to(u64* place, u64 amount) { *place += amount; }
DEVICE u64 take_from(u64* place, u64 amount) {
    const u64 before = *place;
    *place += amount;
    return before;
}
DEVICE void count_at(u64* places, u64 place) { places[place] += 1; }
DEVICE double double_of_bits(i64 bits) {
    double number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}
DEVICE i64 bits_of_double(double number) {
    i64 bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
