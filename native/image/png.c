/* A PNG encoder for speed: the Up filter, matches of equal bytes and of equal pixels, Huffman codes made for each block
 * (PNG specification, third edition; RFC 1950, RFC 1951).
 *
 * Most bytes of a rendered picture are zero behind the Up filter, and most others are equal to the byte or to the pixel
 * before.  Bit masks of equal bytes find those runs.  A block becomes tokens, of one literal or one match each; one
 * table has the complete code of every token, so that the loops that count and write tokens have no branches.
 */
#include <stdlib.h>
#include <string.h>

#include "api/png.h"
#include "core/variant.h"
#include "image/png_tokens.h"

enum {
    BLOCK_BYTES = 1 << 18, /* of filtered rows, at least: one set of codes, and the reach of matches */
    LEAST = G4_PNG_LEAST,
    MOST = G4_PNG_MOST,
    LITERALS = 286,
    END_OF_BLOCK = 256,
    DISTANCES = 30,
    LENGTH_CODES = 19,
    LITERAL_LIMIT = 12,                                     /* bits of a code */
    DISTANCE_LIMIT = G4_PNG_TOKEN_BITS - 5 - LITERAL_LIMIT, /* for two distances; 5: extra bits of a length */
    LENGTH_LIMIT = 7,
    STORED_MOST = 65535,
    CRC_TABLES = 16,
    FILTER_UP = 2,
    IHDR = 0x49484452, /* types of chunks: four letters, the first one highest */
    IDAT = 0x49444154,
    IEND = 0x49454E44,
    MAX_HEADER_BYTES = 1024, /* of a block with its own codes */
};

struct code {
    uint16_t bits; /* reversed: the first bit is bit 0 */
    uint16_t size;
};

struct g4_png {
    uint32_t width, height, stride; /* bytes of a row */
    uint8_t channels;
    bool wide;
    uint32_t adler;
    uint64_t bits; /* of the last byte of the stream so far */
    uint32_t bit_count;
    uint32_t pixel_distance; /* of matches of pixels: the bytes of one, but at least 2 */
    uint8_t *filtered;       /* rows of one block */
    uint64_t *masks;
    uint16_t *tokens;
    size_t capacity; /* of `filtered` */
    uint32_t frequency[LITERALS];
    uint32_t distance_frequency[DISTANCES];
    uint32_t counts[4][G4_PNG_TOKENS];
    struct g4_png_codes codes;
    struct code literal[LITERALS], distance[DISTANCES];
    uint16_t length_code[MOST + 1];
    uint32_t crc[CRC_TABLES][256];
};

G4_VARIANT_DECLARE(struct g4_png_kernels, g4_png_kernels);
static const struct g4_png_kernels *const variants[] = G4_VARIANT_TABLE(g4_png_kernels);

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

/* RFC 1951, 3.2.5 */
static const uint16_t length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                         31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

/* ---- life ---- */

struct g4_png *g4_png_new(void) {
    struct g4_png *const png = calloc(1, sizeof *png);
    if (!png) {
        return NULL;
    }
    for (uint32_t code = 0; code < 29; code++) {
        const uint32_t end = code == 28 ? MOST + 1u : code == 27 ? MOST : length_base[code + 1];
        for (uint32_t length = length_base[code]; length < end; length++) {
            png->length_code[length] = (uint16_t)(END_OF_BLOCK + 1 + code);
        }
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        }
        png->crc[0][byte] = crc;
    }
    for (uint32_t byte = 0; byte < 256; byte++) {
        for (int i = 1; i < CRC_TABLES; i++) {
            const uint32_t before = png->crc[i - 1][byte];
            png->crc[i][byte] = before >> 8 ^ png->crc[0][before & 255];
        }
    }
    return png;
}

static void free_buffers(struct g4_png *png) {
    free(png->filtered);
    free(png->masks);
    free(png->tokens);
    png->capacity = 0;
}

void g4_png_free(struct g4_png *png) {
    if (png) {
        free_buffers(png);
        free(png);
    }
}

enum g4_status g4_png_start(struct g4_png *png, uint32_t width, uint32_t height, uint32_t channels, bool wide) {
    const uint64_t stride = (uint64_t)width * channels * (wide ? 2 : 1);
    const bool is_known = wide ? channels == 1 : channels == 1 || channels == 3 || channels == 4;
    if (!is_known || width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX || stride >= 1u << 30) {
        return G4_BAD_VALUE;
    }
    const size_t capacity = BLOCK_BYTES + (size_t)stride + 1;
    if (capacity > png->capacity) {
        free_buffers(png);
        png->filtered = calloc(1, capacity + G4_PNG_PADDING);
        png->masks = malloc(G4_PNG_MASKS(capacity) * sizeof *png->masks);
        png->tokens = malloc((capacity + G4_PNG_PADDING) * sizeof *png->tokens);
        if (!png->filtered || !png->masks || !png->tokens) {
            return G4_NO_MEMORY;
        }
        png->capacity = capacity;
    }
    png->width = width;
    png->height = height;
    png->stride = (uint32_t)stride;
    png->channels = (uint8_t)channels;
    png->wide = wide;
    png->pixel_distance = wide || channels == 1 ? 2 : channels;
    png->adler = 1;
    png->bits = 0;
    png->bit_count = 0;
    return G4_OK;
}

size_t g4_png_bound(const struct g4_png *png, uint32_t rows) {
    const uint64_t bytes = ((uint64_t)png->stride + 1) * rows;
    const uint64_t blocks = bytes / BLOCK_BYTES + 1;
    return (size_t)(bytes + bytes / STORED_MOST * 5 + blocks * (MAX_HEADER_BYTES + 16) + 128);
}

/* ---- checksums ---- */

static uint32_t load_32(const uint8_t *from) {
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static uint32_t crc_of(const struct g4_png *png, const uint8_t *data, size_t size) {
    const uint32_t(*const t)[256] = png->crc;
    uint32_t crc = ~0u;
    for (; size >= CRC_TABLES; size -= CRC_TABLES, data += CRC_TABLES) {
        const uint32_t a = load_32(data) ^ crc;
        const uint32_t b = load_32(data + 4);
        const uint32_t c = load_32(data + 8);
        const uint32_t d = load_32(data + 12);
        crc = t[15][a & 255] ^ t[14][a >> 8 & 255] ^ t[13][a >> 16 & 255] ^ t[12][a >> 24] ^ t[11][b & 255] ^
              t[10][b >> 8 & 255] ^ t[9][b >> 16 & 255] ^ t[8][b >> 24] ^ t[7][c & 255] ^ t[6][c >> 8 & 255] ^
              t[5][c >> 16 & 255] ^ t[4][c >> 24] ^ t[3][d & 255] ^ t[2][d >> 8 & 255] ^ t[1][d >> 16 & 255] ^
              t[0][d >> 24];
    }
    for (; size; size--) {
        crc = crc >> 8 ^ t[0][(crc ^ *data++) & 255];
    }
    return ~crc;
}

/* ---- Huffman codes ---- */

/* Code lengths of minimum redundancy (Moffat and Katajainen, 1995, in place): `a` has weights in ascending order. */
static void minimum_redundancy(uint32_t *a, int n) {
    int root = 0;
    int leaf = 2;
    a[0] += a[1];
    for (int next = 1; next < n - 1; next++) {
        if (leaf >= n || a[root] < a[leaf]) {
            a[next] = a[root];
            a[root++] = (uint32_t)next;
        } else {
            a[next] = a[leaf++];
        }
        if (leaf >= n || (root < next && a[root] < a[leaf])) {
            a[next] += a[root];
            a[root++] = (uint32_t)next;
        } else {
            a[next] += a[leaf++];
        }
    }
    a[n - 2] = 0;
    for (int next = n - 3; next >= 0; next--) {
        a[next] = a[a[next]] + 1;
    }
    int available = 1;
    int used = 0;
    uint32_t depth = 0;
    root = n - 2;
    for (int next = n - 1; available > 0;) {
        for (; root >= 0 && a[root] == depth; root--) {
            used++;
        }
        for (; available > used; available--) {
            a[next--] = depth;
        }
        available = 2 * used;
        depth++;
        used = 0;
    }
}

/* How many codes have each length, at most `limit`: longer ones are cut, and shorter ones made longer in exchange. */
static void limit_lengths(const uint32_t *depth, int n, uint32_t limit, uint32_t count[16]) {
    memset(count, 0, 16 * sizeof *count);
    for (int i = 0; i < n; i++) {
        count[depth[i] < limit ? depth[i] : limit]++;
    }
    uint32_t total = 0;
    for (uint32_t i = 1; i <= limit; i++) {
        total += count[i] << (limit - i);
    }
    for (; total > 1u << limit; total--) {
        count[limit]--;
        uint32_t i = limit - 1;
        while (!count[i]) {
            i--;
        }
        count[i]--;
        count[i + 1] += 2;
    }
}

/* Ascending, with the symbol in the low bits: no two are equal. */
static void sort(uint64_t *keys, int n) {
    static const int gaps[] = {57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        const int gap = gaps[g];
        for (int i = gap; i < n; i++) {
            const uint64_t key = keys[i];
            int j = i;
            for (; j >= gap && keys[j - gap] > key; j -= gap) {
                keys[j] = keys[j - gap];
            }
            keys[j] = key;
        }
    }
}

static uint32_t reversed(uint32_t code, uint32_t size) {
    uint32_t result = 0;
    for (; size; size--, code >>= 1) {
        result = result << 1 | (code & 1);
    }
    return result;
}

/* Canonical codes (RFC 1951, 3.2.2).  A symbol that does not occur has the size 0, but for one where none does. */
static void make_codes(const uint32_t *frequency, int symbols, uint32_t limit, struct code *codes) {
    uint64_t keys[LITERALS];
    uint32_t depth[LITERALS];
    uint32_t count[16] = {0};
    int n = 0;
    for (int i = 0; i < symbols; i++) {
        codes[i] = (struct code){0, 0};
        if (frequency[i]) {
            keys[n++] = (uint64_t)frequency[i] << 9 | (uint32_t)i;
        }
    }
    if (n < 2) {
        codes[n ? keys[0] & 511 : 0].size = 1;
        return;
    }
    sort(keys, n);
    for (int i = 0; i < n; i++) {
        depth[i] = (uint32_t)(keys[i] >> 9);
    }
    minimum_redundancy(depth, n);
    limit_lengths(depth, n, limit, count);
    uint32_t next[16] = {0};
    for (uint32_t size = 1, code = 0; size <= limit; size++) {
        next[size] = code;
        code = (code + count[size]) << 1;
    }
    int least = 0; /* the rarest symbols have the longest codes */
    for (uint32_t size = limit; size; size--) {
        for (uint32_t i = 0; i < count[size]; i++) {
            codes[keys[least++] & 511].size = (uint16_t)size;
        }
    }
    for (int i = 0; i < symbols; i++) {
        if (codes[i].size) {
            codes[i].bits = (uint16_t)reversed(next[codes[i].size]++, codes[i].size);
        }
    }
}

/* ---- bits ---- */

static void add_code(struct g4_png_writer *w, struct code code) {
    g4_png_add_bits(w, code.bits, code.size);
}

/* ---- symbols ---- */

static void count_symbols(struct g4_png *png, uint32_t count) {
    const uint16_t *const tokens = png->tokens;
    uint32_t i = 0;
    memset(png->counts, 0, sizeof png->counts);
    memset(png->frequency, 0, sizeof png->frequency);
    memset(png->distance_frequency, 0, sizeof png->distance_frequency);
    for (; i + 4 <= count; i += 4) {
        png->counts[0][tokens[i]]++;
        png->counts[1][tokens[i + 1]]++;
        png->counts[2][tokens[i + 2]]++;
        png->counts[3][tokens[i + 3]]++;
    }
    for (; i < count; i++) {
        png->counts[0][tokens[i]]++;
    }
    for (uint32_t token = 0; token < G4_PNG_TOKENS; token++) {
        const uint32_t n =
            png->counts[0][token] + png->counts[1][token] + png->counts[2][token] + png->counts[3][token];
        if (token < G4_PNG_BYTE_MATCH) {
            png->frequency[token] = n;
        } else {
            png->frequency[png->length_code[LEAST + token % G4_PNG_BYTE_MATCH]] += n;
            png->distance_frequency[token < G4_PNG_PIXEL_MATCH ? 0 : png->pixel_distance - 1] += n;
        }
    }
    png->frequency[END_OF_BLOCK] = 1;
}

static void set_code(struct g4_png *png, uint32_t token, uint32_t bits, uint32_t size) {
    png->codes.bits[token] = bits;
    png->codes.size[token] = (uint8_t)size;
}

/* Distances of 1 to 4 bytes have the codes 0 to 3 and no extra bits (RFC 1951, 3.2.5). */
static void make_token_codes(struct g4_png *png) {
    const struct code byte = png->distance[0];
    const struct code pixel = png->distance[png->pixel_distance - 1];
    for (uint32_t token = 0; token < G4_PNG_BYTE_MATCH; token++) {
        set_code(png, token, png->literal[token].bits, png->literal[token].size);
    }
    for (uint32_t i = 0; i <= MOST - LEAST; i++) {
        const uint32_t number = png->length_code[LEAST + i] - END_OF_BLOCK - 1u;
        const struct code code = png->literal[png->length_code[LEAST + i]];
        const uint32_t size = code.size + length_extra[number];
        const uint32_t bits = code.bits | (LEAST + i - length_base[number]) << code.size;
        set_code(png, G4_PNG_BYTE_MATCH + i, bits | (uint32_t)byte.bits << size, size + byte.size);
        set_code(png, G4_PNG_PIXEL_MATCH + i, bits | (uint32_t)pixel.bits << size, size + pixel.size);
    }
}

/* ---- blocks ---- */

/* Code lengths of a block, in the code of RFC 1951, 3.2.7. */
struct lengths {
    uint8_t symbol[LITERALS + DISTANCES];
    uint8_t repeat[LITERALS + DISTANCES]; /* the extra bits of symbols 16 to 18 */
    uint32_t count, literals, distances;
    struct code codes[LENGTH_CODES];
};

static const uint8_t length_order[LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
static const uint8_t repeat_bits[LENGTH_CODES] = {[16] = 2, [17] = 3, [18] = 7};

static uint32_t used_codes(const struct code *codes, uint32_t count, uint32_t least) {
    while (count > least && !codes[count - 1].size) {
        count--;
    }
    return count;
}

static uint32_t lesser(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static void pack_lengths(const struct g4_png *png, struct lengths *out) {
    uint8_t sizes[LITERALS + DISTANCES];
    uint32_t frequency[LENGTH_CODES] = {0};
    uint32_t n = 0;
    out->literals = used_codes(png->literal, LITERALS, END_OF_BLOCK + 1);
    out->distances = used_codes(png->distance, DISTANCES, 1);
    for (uint32_t i = 0; i < out->literals; i++) {
        sizes[n++] = (uint8_t)png->literal[i].size;
    }
    for (uint32_t i = 0; i < out->distances; i++) {
        sizes[n++] = (uint8_t)png->distance[i].size;
    }
    out->count = 0;
    for (uint32_t i = 0; i < n;) {
        uint32_t run = 1;
        while (i + run < n && sizes[i + run] == sizes[i]) {
            run++;
        }
        uint8_t symbol = sizes[i];
        uint8_t repeat = 0;
        if (sizes[i] == 0 && run >= 3) {
            run = lesser(run, 138);
            symbol = run >= 11 ? 18 : 17;
            repeat = (uint8_t)(run - (run >= 11 ? 11 : 3));
        } else if (i > 0 && sizes[i - 1] == sizes[i] && run >= 3) {
            run = lesser(run, 6);
            symbol = 16;
            repeat = (uint8_t)(run - 3);
        } else {
            run = 1;
        }
        out->symbol[out->count] = symbol;
        out->repeat[out->count++] = repeat;
        frequency[symbol]++;
        i += run;
    }
    make_codes(frequency, LENGTH_CODES, LENGTH_LIMIT, out->codes);
}

static void write_lengths(struct g4_png_writer *w, const struct lengths *lengths) {
    uint32_t ordered = LENGTH_CODES;
    while (ordered > 4 && !lengths->codes[length_order[ordered - 1]].size) {
        ordered--;
    }
    g4_png_add_bits(w, lengths->literals - (END_OF_BLOCK + 1), 5);
    g4_png_add_bits(w, lengths->distances - 1, 5);
    g4_png_add_bits(w, ordered - 4, 4);
    g4_png_store_bits(w);
    for (uint32_t i = 0; i < ordered; i++) {
        g4_png_add_bits(w, lengths->codes[length_order[i]].size, 3);
        g4_png_store_bits(w);
    }
    for (uint32_t i = 0; i < lengths->count; i++) {
        add_code(w, lengths->codes[lengths->symbol[i]]);
        g4_png_add_bits(w, lengths->repeat[i], repeat_bits[lengths->symbol[i]]);
        g4_png_store_bits(w);
    }
}

/* Bits of the symbols of a block, without its header. */
static uint64_t coded_bits(const struct g4_png *png) {
    uint64_t bits = 0;
    for (uint32_t i = 0; i < LITERALS; i++) {
        const uint32_t extra = i > END_OF_BLOCK ? length_extra[i - END_OF_BLOCK - 1] : 0;
        bits += (uint64_t)png->frequency[i] * (png->literal[i].size + extra);
    }
    for (uint32_t i = 0; i < DISTANCES; i++) {
        bits += (uint64_t)png->distance_frequency[i] * png->distance[i].size;
    }
    return bits;
}

static void write_stored(struct g4_png_writer *w, const uint8_t *block, uint32_t size, bool last) {
    while (size) {
        const uint32_t some = lesser(size, STORED_MOST);
        g4_png_add_bits(w, last && some == size, 3);
        w->count = (w->count + 7) & ~7u;
        g4_png_store_bits(w);
        g4_png_add_bits(w, some | (some ^ 0xFFFFu) << 16, 32);
        g4_png_store_bits(w);
        memcpy(w->at, block, some);
        w->at += some;
        block += some;
        size -= some;
    }
}

/* False: no space. */
static bool write_block(struct g4_png *png, struct g4_png_writer *w, uint32_t size, bool last) {
    struct lengths lengths;
    const struct g4_png_kernels *const kernels = variants[g4_variant_current()];
    const uint32_t tokens =
        kernels->parse(png->filtered, size, png->pixel_distance, png->masks, png->tokens, &png->adler);
    count_symbols(png, tokens);
    make_codes(png->frequency, LITERALS, LITERAL_LIMIT, png->literal);
    make_codes(png->distance_frequency, DISTANCES, DISTANCE_LIMIT, png->distance);
    pack_lengths(png, &lengths);
    const uint64_t coded = coded_bits(png) / 8 + MAX_HEADER_BYTES;
    const uint64_t stored = size + (uint64_t)(size / STORED_MOST + 1) * 5;
    const uint64_t needed = (coded < stored ? coded : stored) + 16;
    if ((uint64_t)(w->end - w->at) < needed) {
        return false;
    }
    if (coded >= stored) {
        write_stored(w, png->filtered, size, last);
        return true;
    }
    g4_png_add_bits(w, (last ? 1u : 0u) | 2u << 1, 3);
    write_lengths(w, &lengths);
    make_token_codes(png);
    kernels->write(w, &png->codes, png->tokens, tokens);
    add_code(w, png->literal[END_OF_BLOCK]);
    g4_png_store_bits(w);
    return true;
}

/* ---- rows ---- */

/* Samples of 16 bits, which the file has with the high byte first. */
static void filter_up_wide(uint8_t *restrict to, const uint8_t *restrict row, const uint8_t *restrict above,
                           size_t size) {
    for (size_t i = 0; i < size; i += 2) {
        to[i] = (uint8_t)(row[i + 1] - above[i + 1]);
        to[i + 1] = (uint8_t)(row[i] - above[i]);
    }
}

static void swap_bytes(uint8_t *restrict to, const uint8_t *restrict row, size_t size) {
    for (size_t i = 0; i < size; i += 2) {
        to[i] = row[i + 1];
        to[i + 1] = row[i];
    }
}

/* A row of the picture after its filter type; there is nothing above the first one. */
static void filter_row(const struct g4_png *png, const uint8_t *pixels, uint32_t y, uint8_t *to) {
    const uint8_t *const row = pixels + (size_t)y * png->stride;
    *to++ = FILTER_UP;
    if (y == 0 && png->wide) {
        swap_bytes(to, row, png->stride);
    } else if (y == 0) {
        memcpy(to, row, png->stride);
    } else if (png->wide) {
        filter_up_wide(to, row, row - png->stride, png->stride);
    } else {
        variants[g4_variant_current()]->subtract(to, row, row - png->stride, png->stride);
    }
}

static uint8_t *store_big_endian(uint8_t *to, uint32_t value) {
    to[0] = (uint8_t)(value >> 24);
    to[1] = (uint8_t)(value >> 16);
    to[2] = (uint8_t)(value >> 8);
    to[3] = (uint8_t)value;
    return to + 4;
}

/* The length before and the checksum after a chunk whose type and data are there, from `start` + 4 on. */
static uint8_t *end_chunk(const struct g4_png *png, uint8_t *start, uint8_t *end) {
    store_big_endian(start, (uint32_t)(end - start - 8));
    return store_big_endian(end, crc_of(png, start + 4, (size_t)(end - start - 4)));
}

static uint8_t *write_head(const struct g4_png *png, uint8_t *to) {
    memcpy(to, signature, sizeof signature);
    to += sizeof signature;
    uint8_t *const chunk = to;
    store_big_endian(chunk + 4, IHDR);
    to = store_big_endian(chunk + 8, png->width);
    to = store_big_endian(to, png->height);
    *to++ = png->wide ? 16 : 8;
    *to++ = png->channels == 1 ? 0 : png->channels == 3 ? 2 : 6; /* table 11.1: grey, RGB, RGBA */
    *to++ = 0;
    *to++ = 0;
    *to++ = 0;
    return end_chunk(png, chunk, to);
}

size_t g4_png_rows(struct g4_png *png, const void *pixels, size_t size, uint32_t top, uint32_t rows, uint8_t *file,
                   size_t capacity, struct g4_blake3 *digest) {
    if (rows == 0 || top >= png->height || rows > png->height - top || size / png->stride < (size_t)top + rows ||
        capacity < g4_png_bound(png, rows) || capacity > INT32_MAX) {
        return 0;
    }
    uint8_t *const chunk = top == 0 ? write_head(png, file) : file;
    store_big_endian(chunk + 4, IDAT);
    struct g4_png_writer w = {chunk + 8, file + capacity, png->bits, png->bit_count};
    if (top == 0) {
        g4_png_add_bits(&w, 0x0178, 16); /* RFC 1950: deflate, a window of 32 KiB, the fastest algorithm */
    }
    for (uint32_t y = top, end = top + rows; y < end;) {
        const uint8_t *const first = (const uint8_t *)pixels + (size_t)y * png->stride;
        uint32_t filled = 0;
        for (; y < end && filled < BLOCK_BYTES; y++, filled += png->stride + 1) {
            filter_row(png, pixels, y, png->filtered + filled);
        }
        if (digest) {
            g4_blake3_add(digest, first, (size_t)(filled / (png->stride + 1)) * png->stride);
        }
        if (!write_block(png, &w, filled, y == png->height)) {
            return 0;
        }
    }
    const bool last = top + rows == png->height;
    if (last) {
        w.count = (w.count + 7) & ~7u;
        g4_png_store_bits(&w);
        w.at = store_big_endian(w.at, png->adler);
    }
    png->bits = w.bits;
    png->bit_count = w.count;
    uint8_t *to = end_chunk(png, chunk, w.at);
    if (last) {
        store_big_endian(to + 4, IEND);
        to = end_chunk(png, to, to + 8);
    }
    return (size_t)(to - file);
}
