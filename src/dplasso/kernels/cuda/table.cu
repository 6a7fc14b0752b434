// The passes over dense whole rows that the steps of a fit to a table make (kernels/table.py,
// solvers/table/rows.py). Residuals are whole numbers, kept as the bits of the margins' places.

#define SUMMED_ROWS 128  // rows that a warp adds up
#define TILE_OF_PRODUCTS 16  // columns of a tile of the matrix of products
#define ROWS_OF_PRODUCTS 64  // rows in shared memory at a time
#define PRODUCT_SLICE 2048  // rows that a block adds up

// Margins, outputs x rows: products with whole weights, which fit into 64 bits.
template <int L>
DEVICE void margins_of_rows(i64 count, i64 columns, i64 outputs, const int* rows,
                            const double* ratios, const i64* weights, double unit,
                            const double* intercepts, double* margins) {
    for (i64 i = thread_index() / lanes<L>(); i < count; i += thread_count() / lanes<L>())
        for (i64 k = 0; k < outputs; k++) {
            u64 mine = 0;
            for (i64 j = lane<L>(); j < columns; j += lanes<L>())
                mine += (u64)((i64)rows[i * columns + j] * weights[k * columns + j]);
            const u64 product = group_sum<L>(mine);
            if (lane<L>() == 0)
                margins[k * count + i] = (double)(i64)product * ratios[i] * unit + intercepts[k];
        }
}

#define TABLE_MARGINS(L) \
    KERNEL table_margins_##L(i64 count, i64 columns, i64 outputs, const int* rows, \
                             const double* ratios, const i64* weights, double unit, \
                             const double* intercepts, double* margins) { \
        margins_of_rows<L>(count, columns, outputs, rows, ratios, weights, unit, intercepts, margins); \
    }
TABLE_MARGINS(8)
TABLE_MARGINS(32)

DEVICE i64 whole_residual(double residual, double length) {
    const double size = residual < 0.0 ? -residual : residual;
    return (i64)((size <= 1.0 ? residual : 0.0) * length);  // NaN counts 0
}

// Replaces margins by whole residuals of 2-norm at most ``unit`` times the row's weight.
KERNEL table_residuals(i64 count, i64 outputs, i64 loss, double shape, double cut,
                       const double* labels, double unit, const double* weights, double room,
                       double* margins) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const double length = weights ? unit * weights[i] : unit;
        if (outputs == 1) {
            const double residual = residual_of((int)loss, shape, margins[i], labels[i]);
            margins[i] = double_of_bits(whole_residual(clipped_residual(residual, cut), length));
            continue;
        }
        clipped_residuals(margins + i, count, outputs, labels[i], cut);
        i64 square = 0;
        for (i64 k = 0; k < outputs; k++) {
            const i64 whole = whole_residual(margins[k * count + i], length);
            square += whole * whole;
            margins[k * count + i] = double_of_bits(whole);
        }
        const double most = floor(length * length * (weights && weights[i] < 1.0 ? room : 1.0));
        if (square > (i64)most)
            for (i64 k = 0; k < outputs; k++) margins[k * count + i] = 0.0;  // all bits are 0
    }
}

// Adds every whole row, with the constant as its last entry, times its residual of each output.
KERNEL table_sums(i64 count, i64 columns, i64 outputs, const int* rows, i64 constant,
                  const double* residuals, u64* sums) {
    const i64 tiles = columns / 32 + 1, slices = (count + SUMMED_ROWS - 1) / SUMMED_ROWS;
    for (i64 task = thread_index() / lanes<WARP>(); task < tiles * slices * outputs;
         task += thread_count() / lanes<WARP>()) {
        const i64 tile = task % tiles, slice = task / tiles % slices, k = task / tiles / slices;
        const i64 begin = slice * SUMMED_ROWS;
        const i64 end = begin + SUMMED_ROWS < count ? begin + SUMMED_ROWS : count;
        for (i64 j = 32 * tile + lane<WARP>(); j < 32 * tile + 32 && j <= columns;
             j += lanes<WARP>()) {
            u64 total = 0;
            for (i64 i = begin; i < end; i++) {
                const i64 held = j < columns ? (i64)rows[i * columns + j] : constant;
                total += (u64)(held * bits_of_double(residuals[k * count + i]));
            }
            add_to(sums + k * (columns + 1) + j, total);
        }
    }
}

// Adds the squares of residuals, less their last bits, times the row's weight.
KERNEL table_residual_size(i64 count, i64 outputs, const double* residuals, i64 bits,
                           const double* weights, u64* out) {
    u64 total = 0;
    for (i64 i = thread_index(); i < count; i += thread_count())
        for (i64 k = 0; k < outputs; k++) {
            const i64 residual = bits_of_double(residuals[k * count + i]);
            const i64 square = (residual * residual) >> bits;
            total += (u64)(weights ? (i64)((double)square * weights[i]) : square);
        }
    add_up(total, out);
}

// Whole rows with their constant, times the root of their weight and rounded towards 0: the weight
// then enters a product once. A row that is longer than its weight allows counts as 0.
KERNEL table_weighed(i64 count, i64 columns, const int* rows, i64 constant, const double* weights,
                     double square_length, double room, int* out) {
    for (i64 i = thread_index(); i < count; i += thread_count()) {
        const double weight = weights ? weights[i] : 1.0, root = sqrt(weight);
        int* own = out + i * (columns + 1);
        i64 square = 0;
        for (i64 j = 0; j <= columns; j++) {
            const i64 held = j < columns ? (i64)rows[i * columns + j] : constant;
            own[j] = weights ? (int)((double)held * root) : (int)held;
            square += (i64)own[j] * own[j];
        }
        const double most = floor(square_length * (weight < 1.0 ? weight * room : 1.0));
        if (weights && (double)square > most)
            for (i64 j = 0; j <= columns; j++) own[j] = 0;
    }
}

// Adds the products of all pairs of columns, of which tiles below the diagonal are left out.
KERNEL table_products(i64 count, i64 size, const int* rows, u64* out) {
    SHARED int left[ROWS_OF_PRODUCTS][TILE_OF_PRODUCTS], right[ROWS_OF_PRODUCTS][TILE_OF_PRODUCTS];
    const i64 tiles = (size + TILE_OF_PRODUCTS - 1) / TILE_OF_PRODUCTS;
    const i64 slices = (count + PRODUCT_SLICE - 1) / PRODUCT_SLICE;
    const int cells = TILE_OF_PRODUCTS * TILE_OF_PRODUCTS;
    for (i64 task = block_index(); task < tiles * tiles * slices; task += block_count()) {
        const i64 a = task % tiles * TILE_OF_PRODUCTS, b = task / tiles % tiles * TILE_OF_PRODUCTS;
        if (a > b) continue;
        const i64 begin = task / tiles / tiles * PRODUCT_SLICE;
        const i64 end = begin + PRODUCT_SLICE < count ? begin + PRODUCT_SLICE : count;
        // All threads of a block take as many turns, so that they wait for each other.
        for (int cell = thread_of_block(); cell < cells; cell += threads_of_block()) {
            const int mine = cell / TILE_OF_PRODUCTS, other = cell % TILE_OF_PRODUCTS;
            u64 total = 0;
            for (i64 first = begin; first < end; first += ROWS_OF_PRODUCTS) {
                wait_for_block();
                for (int at = thread_of_block(); at < ROWS_OF_PRODUCTS * TILE_OF_PRODUCTS;
                     at += threads_of_block()) {
                    const int r = at / TILE_OF_PRODUCTS, j = at % TILE_OF_PRODUCTS;
                    const bool held = first + r < end;
                    left[r][j] = held && a + j < size ? rows[(first + r) * size + a + j] : 0;
                    right[r][j] = held && b + j < size ? rows[(first + r) * size + b + j] : 0;
                }
                wait_for_block();
                for (int r = 0; r < ROWS_OF_PRODUCTS; r++)
                    total += (u64)((i64)left[r][mine] * (i64)right[r][other]);
            }
            if (a + mine < size && b + other < size)
                add_to(out + (a + mine) * size + b + other, total);
        }
    }
}
