// What a kernel asks of the machine it runs on. Everything after this file is plain C++: with
// another file in this one's place the same kernels run on a processor, one thread at a time.

typedef long long i64;
typedef unsigned long long u64;
typedef unsigned int u32;

#define DEVICE_METHOD __device__ __forceinline__
#define DEVICE static __device__ __forceinline__
#define KERNEL extern "C" __global__ void
#define SHARED __shared__
#define ALIGNED16 __align__(16)  // read at once
#define WARP 32
#define WARPS 4  // of a block that draws noise
#define SLOTS_OF_LANE 8  // draws of a buffer that start in one lane's places

DEVICE i64 thread_index() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
DEVICE i64 thread_count() { return (i64)gridDim.x * blockDim.x; }
DEVICE int block_index() { return blockIdx.x; }
DEVICE int block_count() { return gridDim.x; }
DEVICE int thread_of_block() { return threadIdx.x; }
DEVICE int threads_of_block() { return blockDim.x; }
DEVICE void wait_for_block() { __syncthreads(); }
DEVICE void wait_for_warp() { __syncwarp(); }

// Groups of L neighbouring threads of a warp: a thread's lane in its group, and what the lanes share.
template <int L> DEVICE int lanes() { return L; }
template <int L> DEVICE int lane() { return threadIdx.x & (L - 1); }
template <int L> DEVICE u32 group_mask() {
    return L == 32 ? 0xFFFFFFFFu : ((1u << L) - 1u) << (threadIdx.x & 31 & ~(L - 1));
}
template <int L> DEVICE u64 group_sum(u64 number) {
    for (int apart = L / 2; apart > 0; apart /= 2)
        number += __shfl_xor_sync(group_mask<L>(), number, apart, L);
    return number;
}
template <int L> DEVICE u64 group_max(u64 number) {
    for (int apart = L / 2; apart > 0; apart /= 2) {
        const u64 other = __shfl_xor_sync(group_mask<L>(), number, apart, L);
        number = other > number ? other : number;
    }
    return number;
}
// The number of the lane ``apart`` places before this one; ``otherwise`` where there is none.
DEVICE u32 of_lane_before(u32 number, int apart, u32 otherwise) {
    const u32 found = __shfl_up_sync(0xFFFFFFFFu, number, apart, 32);
    return lane<32>() >= apart ? found : otherwise;
}

// Whole numbers are added in any order: sums wrap modulo 2^64 and do not depend on it.
DEVICE void add_to(u64* place, u64 amount) { atomicAdd(place, amount); }
DEVICE u64 take_from(u64* place, u64 amount) { return atomicAdd(place, amount); }

// Adds 1 to a place; threads of a warp that meet at one place add once.
DEVICE void count_at(u64* places, u64 place) {
    const u32 same = __match_any_sync(__activemask(), place);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(places + place, (u64)__popc(same));
}

DEVICE double double_of_bits(i64 bits) { return __longlong_as_double(bits); }
DEVICE i64 bits_of_double(double number) { return __double_as_longlong(number); }
