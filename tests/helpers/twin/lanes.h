// A processor in place of the card, with all lanes of a block: every lane is a thread that calls the
// kernel after `enter`, and lanes wait for each other where a warp's would.
#include <cmath>
#include <cstring>
#include <pthread.h>

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#define DEVICE_METHOD inline
#define DEVICE static inline
#define KERNEL extern "C" void
#define SHARED static
#define ALIGNED16
#define WARP 32
#define WARPS 2
#define SLOTS_OF_LANE 8
#define THREADS 64

using std::floor;
using std::sqrt;

static thread_local int me = 0;
static pthread_barrier_t of_block, of_group8[THREADS / 8], of_group32[THREADS / 32];
static u64 passed[THREADS];

extern "C" void prepare() {
    pthread_barrier_init(&of_block, 0, THREADS);
    for (auto& barrier : of_group8) pthread_barrier_init(&barrier, 0, 8);
    for (auto& barrier : of_group32) pthread_barrier_init(&barrier, 0, 32);
}
extern "C" void enter(i64 thread) { me = (int)thread; }

DEVICE i64 thread_index() { return me; }
DEVICE i64 thread_count() { return THREADS; }
DEVICE int block_index() { return 0; }
DEVICE int block_count() { return 1; }
DEVICE int thread_of_block() { return me; }
DEVICE int threads_of_block() { return THREADS; }
DEVICE void wait_for_block() { pthread_barrier_wait(&of_block); }
template <int L> DEVICE int lanes() { return L; }
template <int L> DEVICE int lane() { return me % L; }
template <int L> DEVICE void wait_for_group() {
    if (L == 8) pthread_barrier_wait(of_group8 + me / 8);
    if (L == 32) pthread_barrier_wait(of_group32 + me / 32);
}
DEVICE void wait_for_warp() { wait_for_group<32>(); }
template <int L> DEVICE u64 group_sum(u64 number) {
    if (L == 1) return number;
    passed[me] = number;
    wait_for_group<L>();
    u64 total = 0;
    for (int k = 0; k < L; k++) total += passed[me / L * L + k];
    wait_for_group<L>();
    return total;
}
template <int L> DEVICE u64 group_max(u64 number) {
    passed[me] = number;
    wait_for_group<L>();
    for (int k = 0; k < L; k++) {
        const u64 other = passed[me / L * L + k];
        number = other > number ? other : number;
    }
    wait_for_group<L>();
    return number;
}
DEVICE u32 of_lane_before(u32 number, int apart, u32 otherwise) {
    passed[me] = number;
    wait_for_group<32>();
    const u32 found = lane<32>() >= apart ? (u32)passed[me - apart] : otherwise;
    wait_for_group<32>();
    return found;
}
DEVICE u64 take_from(u64* place, u64 amount) {
    return __atomic_fetch_add(place, amount, __ATOMIC_SEQ_CST);
}
DEVICE void add_to(u64* place, u64 amount) { take_from(place, amount); }
DEVICE void count_at(u64* places, u64 place) { add_to(places + place, 1); }
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
