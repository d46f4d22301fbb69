/* BLAKE3, the unkeyed hash of the published specification ("BLAKE3: one function, fast everywhere", 2021), for digests
 * of pictures (image/blake3.h).
 *
 * The lanes of a vector are chunks of the input, or parents of one level of the tree.  A full buffer is a subtree: its
 * chunks become one chaining value without a scalar compression.
 */
#include "image/blake3.h"

#include <string.h>

#include "core/variant.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK_BYTES = 64,
    WORDS = 16, /* of a block */
    CHUNK_BYTES = G4_BLAKE3_CHUNK_BYTES,
    BLOCKS = CHUNK_BYTES / BLOCK_BYTES, /* of a chunk */
    VALUE_BYTES = G4_BLAKE3_VALUE_BYTES,
    CHUNKS = G4_BLAKE3_CHUNKS,
    CHUNK_START = 1, /* domain flags, table 3 of the specification */
    CHUNK_END = 2,
    PARENT = 4,
    ROOT = 8,
};

static const uint32_t initial[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                                    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

#if G4_VARIANT_LEVEL == 2
enum {
    LANES = 16
};
typedef uint32_t lanes __attribute__((vector_size(64)));
#elif G4_VARIANT_LEVEL == 1
enum {
    LANES = 8
};
typedef uint32_t lanes __attribute__((vector_size(32)));
#else
enum {
    LANES = 4
};
typedef uint32_t lanes __attribute__((vector_size(16)));
#endif

INLINE lanes rotate(lanes v, int bits) {
    return v >> bits | v << (32 - bits);
}

INLINE void mix(lanes *s, int a, int b, int c, int d, lanes x, lanes y) {
    s[a] = s[a] + s[b] + x;
    s[d] = rotate(s[d] ^ s[a], 16);
    s[c] = s[c] + s[d];
    s[b] = rotate(s[b] ^ s[c], 12);
    s[a] = s[a] + s[b] + y;
    s[d] = rotate(s[d] ^ s[a], 8);
    s[c] = s[c] + s[d];
    s[b] = rotate(s[b] ^ s[c], 7);
}

/* Columns, then diagonals; the numbers are the order in which this round takes the words of the message. */
#define ROUND(s, m, i0, i1, i2, i3, i4, i5, i6, i7, i8, i9, i10, i11, i12, i13, i14, i15)                              \
    do {                                                                                                               \
        mix(s, 0, 4, 8, 12, (m)[i0], (m)[i1]);                                                                         \
        mix(s, 1, 5, 9, 13, (m)[i2], (m)[i3]);                                                                         \
        mix(s, 2, 6, 10, 14, (m)[i4], (m)[i5]);                                                                        \
        mix(s, 3, 7, 11, 15, (m)[i6], (m)[i7]);                                                                        \
        mix(s, 0, 5, 10, 15, (m)[i8], (m)[i9]);                                                                        \
        mix(s, 1, 6, 11, 12, (m)[i10], (m)[i11]);                                                                      \
        mix(s, 2, 7, 8, 13, (m)[i12], (m)[i13]);                                                                       \
        mix(s, 3, 4, 9, 14, (m)[i14], (m)[i15]);                                                                       \
    } while (0)

INLINE void compress(lanes value[8], const lanes m[WORDS], lanes counter_low, lanes counter_high, uint32_t length,
                     uint32_t flags) {
    const lanes zero = {0};
    lanes s[WORDS];
    for (int i = 0; i < 8; i++) {
        s[i] = value[i];
    }
    for (int i = 0; i < 4; i++) {
        s[8 + i] = zero + initial[i];
    }
    s[12] = counter_low;
    s[13] = counter_high;
    s[14] = zero + length;
    s[15] = zero + flags;
    ROUND(s, m, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(s, m, 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8);
    ROUND(s, m, 3, 4, 10, 12, 13, 2, 7, 14, 6, 5, 9, 0, 11, 15, 8, 1);
    ROUND(s, m, 10, 7, 12, 9, 14, 3, 13, 15, 4, 0, 11, 2, 5, 8, 1, 6);
    ROUND(s, m, 12, 13, 9, 11, 15, 10, 14, 8, 7, 2, 5, 3, 0, 1, 6, 4);
    ROUND(s, m, 9, 14, 11, 5, 8, 12, 15, 1, 13, 3, 0, 10, 2, 6, 4, 7);
    ROUND(s, m, 11, 15, 5, 0, 1, 9, 8, 6, 14, 10, 2, 12, 3, 4, 7, 13);
    for (int i = 0; i < 8; i++) {
        value[i] = s[i] ^ s[i + 8];
    }
}

/* Rows a and b exchange their off-diagonal squares of DISTANCE elements: a step of a transposition. */
#define EXCHANGE(rows, distance, low, high)                                                                            \
    for (int i = 0; i < LANES; i++) {                                                                                  \
        if (!(i & (distance))) {                                                                                       \
            const lanes a = (rows)[i];                                                                                 \
            const lanes b = (rows)[i + (distance)];                                                                    \
            (rows)[i] = __builtin_shufflevector(a, b, low);                                                            \
            (rows)[i + (distance)] = __builtin_shufflevector(a, b, high);                                              \
        }                                                                                                              \
    }
#define LIST(...) __VA_ARGS__

/* A square of LANES words of LANES inputs to LANES words, each of all inputs. */
INLINE void transpose(lanes rows[LANES]) {
#if G4_VARIANT_LEVEL == 2
    EXCHANGE(rows, 8, LIST(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
             LIST(8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    EXCHANGE(rows, 4, LIST(0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
             LIST(4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
    EXCHANGE(rows, 2, LIST(0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
             LIST(2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
    EXCHANGE(rows, 1, LIST(0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
             LIST(1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
#elif G4_VARIANT_LEVEL == 1
    EXCHANGE(rows, 4, LIST(0, 1, 2, 3, 8, 9, 10, 11), LIST(4, 5, 6, 7, 12, 13, 14, 15))
    EXCHANGE(rows, 2, LIST(0, 1, 8, 9, 4, 5, 12, 13), LIST(2, 3, 10, 11, 6, 7, 14, 15))
    EXCHANGE(rows, 1, LIST(0, 8, 2, 10, 4, 12, 6, 14), LIST(1, 9, 3, 11, 5, 13, 7, 15))
#else
    EXCHANGE(rows, 2, LIST(0, 1, 4, 5), LIST(2, 3, 6, 7))
    EXCHANGE(rows, 1, LIST(0, 4, 2, 6), LIST(1, 5, 3, 7))
#endif
}

/* The words of one block of each of `count` inputs; lanes beyond repeat the last input. */
INLINE void load_blocks(lanes m[WORDS], const uint8_t *in, size_t stride, uint32_t count) {
    for (int part = 0; part < WORDS; part += LANES) {
        for (uint32_t i = 0; i < LANES; i++) {
            const uint32_t input = i < count ? i : count - 1;
            memcpy(&m[part + (int)i], in + input * stride + 4 * (size_t)part, sizeof(lanes));
        }
        transpose(m + part);
    }
}

/* Up to LANES inputs of whole blocks, `stride` bytes apart; their chaining values, one after the other. */
INLINE void hash_lanes(const uint8_t *in, size_t stride, uint32_t count, uint64_t counter, bool are_chunks,
                       uint8_t *out) {
    const lanes zero = {0};
    lanes low = zero;
    lanes high = zero;
    lanes value[LANES < 8 ? 8 : LANES];
    lanes m[WORDS];

    for (uint32_t i = 0; are_chunks && i < LANES; i++) {
        low[i] = (uint32_t)(counter + i);
        high[i] = (uint32_t)((counter + i) >> 32);
    }
    for (int i = 0; i < 8; i++) {
        value[i] = zero + initial[i];
    }
    if (are_chunks) {
        for (uint32_t block = 0; block < BLOCKS; block++) {
            load_blocks(m, in + (size_t)block * BLOCK_BYTES, stride, count);
            compress(value, m, low, high, BLOCK_BYTES,
                     (block == 0 ? CHUNK_START : 0u) | (block == BLOCKS - 1 ? CHUNK_END : 0u));
        }
    } else {
        load_blocks(m, in, stride, count);
        compress(value, m, low, high, BLOCK_BYTES, PARENT);
    }
    uint32_t words[8][LANES];
    memcpy(words, value, sizeof words);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t word = 0; word < 8; word++) {
            memcpy(out + (size_t)i * VALUE_BYTES + 4 * (size_t)word, &words[word][i], 4);
        }
    }
}

static void hash_chunks(const uint8_t *in, uint32_t count, uint64_t counter, uint8_t *out) {
    for (uint32_t done = 0, some; done < count; done += some) {
        some = count - done < LANES ? count - done : LANES;
        hash_lanes(in + (size_t)done * CHUNK_BYTES, CHUNK_BYTES, some, counter + done, true,
                   out + (size_t)done * VALUE_BYTES);
    }
}

/* `count` pairs of chaining values; `out` may be `in`. */
static void hash_parents(const uint8_t *in, uint32_t count, uint8_t *out) {
    for (uint32_t done = 0, some; done < count; done += some) {
        some = count - done < LANES ? count - done : LANES;
        hash_lanes(in + (size_t)done * BLOCK_BYTES, BLOCK_BYTES, some, 0, false, out + (size_t)done * VALUE_BYTES);
    }
}

/* One block with any length and flags, in all lanes: the last blocks of an input. */
static void hash_block(uint8_t value[VALUE_BYTES], const uint8_t block[BLOCK_BYTES], uint64_t counter, uint32_t length,
                       uint32_t flags) {
    const lanes zero = {0};
    lanes v[8];
    lanes m[WORDS];
    uint32_t word = 0;
    for (int i = 0; i < 8; i++) {
        memcpy(&word, value + 4 * (size_t)i, 4);
        v[i] = zero + word;
    }
    for (int i = 0; i < WORDS; i++) {
        memcpy(&word, block + 4 * (size_t)i, 4);
        m[i] = zero + word;
    }
    compress(v, m, zero + (uint32_t)counter, zero + (uint32_t)(counter >> 32), length, flags);
    for (int i = 0; i < 8; i++) {
        word = v[i][0];
        memcpy(value + 4 * (size_t)i, &word, 4);
    }
}

G4_VARIANT_DECLARE(struct g4_blake3_kernels, g4_blake3_kernels);

const struct g4_blake3_kernels G4_V(g4_blake3_kernels) = {hash_chunks, hash_parents, hash_block};

#if G4_VARIANT_LEVEL == 0
static const struct g4_blake3_kernels *const variants[] = G4_VARIANT_TABLE(g4_blake3_kernels);

void g4_blake3_start(struct g4_blake3 *hash) {
    hash->chunks = 0;
    hash->filled = 0;
    hash->depth = 0;
}

/* A complete subtree of `size` chunks ends at `hash->chunks`, and more input follows: no node of it is the root.  Two
 * subtrees of a size are one of twice that size. */
static void push(struct g4_blake3 *hash, const struct g4_blake3_kernels *kernels, const uint8_t value[VALUE_BYTES],
                 uint32_t size) {
    hash->chunks += size;
    memcpy(hash->stack[hash->depth++], value, VALUE_BYTES);
    for (uint64_t trees = hash->chunks / size; !(trees & 1); trees >>= 1) {
        hash->depth--;
        kernels->parents(hash->stack[hash->depth - 1], 1, hash->stack[hash->depth - 1]);
    }
}

/* The buffer is full, and more input follows. */
static void flush(struct g4_blake3 *hash, const struct g4_blake3_kernels *kernels, const uint8_t *full) {
    uint8_t values[CHUNKS * VALUE_BYTES];
    kernels->chunks(full, CHUNKS, hash->chunks, values);
    for (uint32_t count = CHUNKS / 2; count; count /= 2) {
        kernels->parents(values, count, values);
    }
    push(hash, kernels, values, CHUNKS);
}

void g4_blake3_add(struct g4_blake3 *hash, const void *data, size_t size) {
    const struct g4_blake3_kernels *const kernels = variants[g4_variant_current()];
    const uint8_t *from = data;
    while (size) {
        if (hash->filled == sizeof hash->buffer) {
            flush(hash, kernels, hash->buffer);
            hash->filled = 0;
        }
        for (; !hash->filled && size > sizeof hash->buffer; size -= sizeof hash->buffer) {
            flush(hash, kernels, from);
            from += sizeof hash->buffer;
        }
        const size_t space = sizeof hash->buffer - hash->filled;
        const size_t some = size < space ? size : space;
        memcpy(hash->buffer + hash->filled, from, some);
        hash->filled += some;
        from += some;
        size -= some;
    }
}

/* Hashes the rest of the data but for its last block into `value`; copies that block to `block`, padded with zeros. */
static uint32_t last_chunk(const struct g4_blake3_kernels *kernels, const uint8_t *data, size_t size, uint64_t counter,
                           uint8_t value[VALUE_BYTES], uint8_t block[BLOCK_BYTES], uint32_t *flags) {
    *flags = CHUNK_START;
    memcpy(value, initial, VALUE_BYTES);
    for (; size > BLOCK_BYTES; size -= BLOCK_BYTES, data += BLOCK_BYTES) {
        kernels->block(value, data, counter, BLOCK_BYTES, *flags);
        *flags = 0;
    }
    *flags |= CHUNK_END;
    memset(block, 0, BLOCK_BYTES);
    memcpy(block, data, size);
    return (uint32_t)size;
}

void g4_blake3_end(struct g4_blake3 *hash, uint8_t *digest) {
    const struct g4_blake3_kernels *const kernels = variants[g4_variant_current()];
    uint8_t values[CHUNKS * VALUE_BYTES];
    const uint32_t whole = hash->filled ? (uint32_t)((hash->filled - 1) / CHUNK_BYTES) : 0; /* chunks before the last */
    kernels->chunks(hash->buffer, whole, hash->chunks, values);
    for (uint32_t i = 0; i < whole; i++) {
        push(hash, kernels, values + (size_t)i * VALUE_BYTES, 1);
    }
    uint8_t value[VALUE_BYTES];
    uint8_t block[BLOCK_BYTES];
    uint32_t flags = 0;
    uint64_t counter = hash->chunks;
    uint32_t length = last_chunk(kernels, hash->buffer + (size_t)whole * CHUNK_BYTES,
                                 hash->filled - (size_t)whole * CHUNK_BYTES, counter, value, block, &flags);
    while (hash->depth) {
        kernels->block(value, block, counter, length, flags);
        memcpy(block, hash->stack[--hash->depth], VALUE_BYTES);
        memcpy(block + VALUE_BYTES, value, VALUE_BYTES);
        memcpy(value, initial, VALUE_BYTES);
        counter = 0;
        length = BLOCK_BYTES;
        flags = PARENT;
    }
    kernels->block(value, block, counter, length, flags | ROOT);
    memcpy(digest, value, VALUE_BYTES);
}
#endif
