// Integer Gaussian noise, bit for bit that of kernels/grid_gaussian.py.
//
// There, a block of values is served by one ChaCha20 stream, buffer by buffer, and a draw takes two
// or three words of the buffer. No draw crosses the end of a buffer, so here a warp parses a buffer
// on its own, and the draws of a block's buffers are joined afterwards.

#define WORDS 512  // 64-bit words of a buffer
#define LAST_START (WORDS - 3)  // a draw starts only where three words are left
#define SPAN (WORDS / lanes<WARP>())  // places of a buffer that a lane looks at
#define SLOTS (WORDS / 2)  // draws of a buffer, at most
#define FIELDS 7

struct Cells {
    const i64 *cut, *alias, *sure;
    const double* lead;
    i64 tail, width_bits;
    double sigma, margin;
};

DEVICE u32 turned(u32 word, int by) { return (word << by) | (word >> (32 - by)); }

#define QUARTER(a, b, c, d) \
    a += b; d = turned(d ^ a, 16); c += d; b = turned(b ^ c, 12); \
    a += b; d = turned(d ^ a, 8); c += d; b = turned(b ^ c, 7);

// Words of a buffer are padded so that lanes read from different banks.
DEVICE int padded(int word) { return word + (word >> 4); }
#define PADDED_WORDS (WORDS + WORDS / 16)

// Writes block ``which`` of a buffer's 64 to its places (kernels/chacha.py has the order).
DEVICE void key_block(const u64* key, u64 nonce, u32 counter, int which, u32* out) {
    u32 x[16], start[16] = {0x61707865, 0x3320646E, 0x79622D32, 0x6B206574};
    for (int k = 0; k < 4; k++) {
        start[4 + 2 * k] = (u32)key[k];
        start[5 + 2 * k] = (u32)(key[k] >> 32);
    }
    start[12] = counter + which;
    start[13] = 0;
    start[14] = (u32)nonce;
    start[15] = (u32)(nonce >> 32);
#pragma unroll
    for (int w = 0; w < 16; w++) x[w] = start[w];
    for (int round = 0; round < 10; round++) {
        QUARTER(x[0], x[4], x[8], x[12])
        QUARTER(x[1], x[5], x[9], x[13])
        QUARTER(x[2], x[6], x[10], x[14])
        QUARTER(x[3], x[7], x[11], x[15])
        QUARTER(x[0], x[5], x[10], x[15])
        QUARTER(x[1], x[6], x[11], x[12])
        QUARTER(x[2], x[7], x[8], x[13])
        QUARTER(x[3], x[4], x[9], x[14])
    }
    const int group = which >> 4, k = which & 15;
#pragma unroll
    for (int w = 0; w < 16; w++)
        out[2 * padded(group * 128 + w * 8 + (k >> 1)) + (k & 1)] = x[w] + start[w];
}

// The draw whose first word is the buffer's word ``at`` from the end.
struct Draw {
    i64 cell, offset, first, more, sign;
    int words;
};

DEVICE Draw draw_at(const Cells& cells, const u64* words, int at) {
    Draw draw;
    const u64 choice = words[padded(WORDS - 1 - at)], place = words[padded(WORDS - 2 - at)];
    draw.cell = (i64)(choice & ((1 << BOX_BITS) - 1));
    if ((i64)(choice >> (64 - TICKET_BITS)) >= cells.cut[draw.cell]) draw.cell = cells.alias[draw.cell];
    draw.sign = -(i64)((choice >> BOX_BITS) & 1);
    draw.offset = (i64)(place & (((u64)1 << cells.width_bits) - 1));
    draw.first = (i64)(place >> cells.width_bits);
    draw.words = draw.cell < cells.tail && draw.first >= cells.sure[draw.cell] ? 3 : 2;
    return draw;
}

// 1 to keep the place, -1 to reject it, 0 if that is too close to call.
DEVICE int verdict_of(const Cells& cells, Draw& draw, const u64* words, int at) {
    draw.more = 0;
    if (draw.cell > cells.tail) return -1;
    if (draw.cell == cells.tail) return 0;
    if (draw.words == 2) return 1;
    draw.more = (i64)words[padded(WORDS - 3 - at)];
    const double edge = (double)(draw.cell << cells.width_bits);
    const double x = edge + (double)draw.offset;
    const double square = 2.0 * cells.sigma * cells.sigma;
    const double most = cells.lead[draw.cell] * exponential(-(double)draw.offset * (x + edge) / square);
    const double least = most * (1.0 - (2.0 * x + 1.0) / square);
    const double unit = double_of_bits((cells.width_bits - 64 + 1023) << 52);
    const double drawn = ((double)draw.first + (double)(u64)draw.more * 5.421010862427522e-20) * unit;
    if (drawn < least - cells.margin) return 1;
    return drawn > most + cells.margin ? -1 : 0;
}

// Where a lane's first draw starts, as a function of where the lane before it left off (0, 1 or 2
// places into this lane's), two bits each; and the same for all lanes before.
DEVICE u32 after(u32 earlier, u32 later) {
    u32 both = 0;
    for (int k = 0; k < 3; k++) both |= ((later >> (2 * ((earlier >> (2 * k)) & 3))) & 3) << (2 * k);
    return both;
}
#define STAY 0x24u  // 0 to 0, 1 to 1, 2 to 2

DEVICE int entered_at(u32 mine) {
    u32 all = mine;
    for (int apart = 1; apart < lanes<WARP>(); apart *= 2)
        all = after(of_lane_before(all, apart, STAY), all);
    return (int)(of_lane_before(all, 1, STAY) & 3);
}

// The draws of ``buffers`` buffers of each of the blocks: how many there are, and each of them. Those
// too close to call are 0, and listed with their buffer, their place in it and their state.
KERNEL draw_buffers(i64 blocks, i64 buffers, const u64* key, const i64* cut, const i64* alias,
                    const i64* sure, const double* lead, i64 tail, i64 width_bits, double sigma,
                    double margin, i64* draws, u64* counts, u64* close_calls, i64 most_close_calls,
                    i64* close_call) {
    SHARED u64 words_of_warps[WARPS][PADDED_WORDS];
    SHARED i64 own_cut[1 << BOX_BITS], own_alias[1 << BOX_BITS];
    for (int k = thread_of_block(); k < 1 << BOX_BITS; k += threads_of_block()) {
        own_cut[k] = cut[k];
        own_alias[k] = alias[k];
    }
    wait_for_block();
    const Cells cells = {own_cut, own_alias, sure, lead, tail, width_bits, sigma, margin};
    u64* words = words_of_warps[thread_of_block() / lanes<WARP>()];
    for (i64 q = thread_index() / lanes<WARP>(); q < blocks * buffers; q += thread_count() / lanes<WARP>()) {
        const i64 block = q / buffers, buffer = q % buffers;
        for (int which = lane<WARP>(); which < WORDS / 8; which += lanes<WARP>())
            key_block(key, (u64)block, (u32)(buffer * (WORDS / 8)), which, (u32*)words);
        wait_for_warp();
        const int begin = lane<WARP>() * SPAN;
        int ends[3] = {0, 1, 2};
        for (int k = 0; k < SPAN; k++) {
            const int words_taken = begin + k <= LAST_START ? draw_at(cells, words, begin + k).words : 2;
            for (int e = 0; e < 3; e++)
                if (ends[e] == k) ends[e] += words_taken;
        }
        const u32 leaves = (u32)(ends[0] - SPAN) | (u32)(ends[1] - SPAN) << 2 | (u32)(ends[2] - SPAN) << 4;
        int at = begin + entered_at(leaves), found = 0;
        i64 kept[SLOTS_OF_LANE];
        int placed[SLOTS_OF_LANE];  // -1 if nothing is, otherwise where the draw starts
        bool is_close = false;
#pragma unroll
        for (int k = 0; k < SLOTS_OF_LANE; k++) {
            placed[k] = -1;
            if (at < begin + SPAN && at <= LAST_START) {
                Draw draw = draw_at(cells, words, at);
                const int verdict = verdict_of(cells, draw, words, at);
                kept[k] = verdict == 1 ? ((draw.cell << cells.width_bits) + draw.offset) ^ draw.sign : 0;
                if (verdict >= 0) placed[k] = at;
                is_close |= verdict == 0;
                found += verdict >= 0;
                at += draw.words;
            }
        }
        // A lane's draws follow those of the lanes before it.
        int slot = (int)sum_before((u32)found);
        if (lane<WARP>() == lanes<WARP>() - 1) counts[q] = (u64)(slot + found);
#pragma unroll
        for (int k = 0; k < SLOTS_OF_LANE; k++) {
            if (placed[k] < 0) continue;
            if (is_close) {
                Draw draw = draw_at(cells, words, placed[k]);
                if (verdict_of(cells, draw, words, placed[k]) == 0) {
                    const u64 row = take_from(close_calls, 1);
                    if (row < (u64)most_close_calls) {
                        i64* out = close_call + row * FIELDS;
                        out[0] = q;
                        out[1] = slot;
                        out[2] = draw.cell;
                        out[3] = draw.offset;
                        out[4] = draw.sign;
                        out[5] = draw.first;
                        out[6] = draw.more;
                    }
                }
            }
            draws[q * SLOTS + slot++] = kept[k];
        }
        wait_for_warp();
    }
}

// Writes values plus the draws of their block's buffers, in order, or those at the block's ``places``.
// A block whose buffers hold too few draws is left out and counted.
KERNEL add_draws(i64 size, i64 buffers, const i64* draws, const u64* counts, const i64* places,
                 const u64* values, u64* out, u64* short_blocks) {
    SHARED i64 starts[MOST_BUFFERS + 1];
    for (i64 block = block_index(); block * NOISE_BLOCK < size; block += block_count()) {
        wait_for_block();
        if (thread_of_block() == 0) {
            starts[0] = 0;
            for (i64 k = 0; k < buffers; k++) starts[k + 1] = starts[k] + (i64)counts[block * buffers + k];
        }
        wait_for_block();
        const i64 begin = block * NOISE_BLOCK;
        const i64 length = size - begin < NOISE_BLOCK ? size - begin : NOISE_BLOCK;
        if (starts[buffers] < length) {
            if (thread_of_block() == 0) add_to(short_blocks, 1);
            continue;
        }
        for (i64 k = thread_of_block(); k < buffers * SLOTS; k += threads_of_block()) {
            const i64 buffer = k / SLOTS, slot = k % SLOTS, at = starts[buffer] + slot;
            if (at < starts[buffer + 1] && at < length) {
                const i64 place = places ? places[begin + at] : begin + at;
                out[place] = values[place] + (u64)draws[(block * buffers + buffer) * SLOTS + slot];
            }
        }
    }
}

KERNEL add_one(u64* values, i64 place, i64 amount) {
    if (thread_index() == 0) values[place] += (u64)amount;
}
