/*
 * Messages to the sampler, the data ports and the other shared functions.  All vector widths must give the same
 * registers and memory.
 *
 * Input: struct header, which may be cut short.  Rows that it does not set are random numbers.
 */
#include <stddef.h>

#include "full.h"
#include "machine.h"

enum {
    SURFACES = 0x1000,
    TABLE = 0x2000,
    SAMPLERS = 0x3000,
    TEXTURE = 0x100000, /* as in tests/harness/texturing.py */
    FIRST_PAGES = 4,
    TEXTURE_PAGES = 16,
    MOST_PAGES = 256,
    KNOWN_PAGES = FIRST_PAGES + TEXTURE_PAGES,
    OPTION_COMPARE = 8,
};

struct header {
    uint8_t part;     /* index into `parts` */
    uint8_t options;  /* bits 2:0 threads - 1; 3 compare widths; 7:4 shared function */
    uint8_t src, dst; /* registers */
    uint32_t descriptor;
    uint16_t emask;
    uint16_t scratch;        /* 64 bytes */
    uint32_t seed;           /* of registers */
    uint32_t surface[2][16]; /* before Gen9, the first 8 or fewer of each */
    uint32_t sampler[2][4];
    uint32_t border[20];
    uint32_t payload[10][8]; /* the same for all threads; only as far as the input has them */
};

static const uint32_t parts[] = {2 /* CL */, 4 /* CTG */, 8 /* EL */, 32 /* IVB */, 128 /* HSW */, 1024 /* KBL */};
enum {
    PARTS = sizeof parts / sizeof parts[0],
};
static struct machine machines[PARTS][2];

/* The pages that memory has; to look for them takes longer than a message. */
static uint32_t list_pages(const struct machine *machine, uint64_t *pages) {
    if (!machine->mark || g4_mem_owned_pages(machine->mem) != KNOWN_PAGES) {
        return g4_mem_list_pages(machine->mem, pages, MOST_PAGES);
    }
    for (uint32_t i = 0; i < KNOWN_PAGES; i++) {
        pages[i] = i < FIRST_PAGES ? i : (TEXTURE >> G4_PAGE_SHIFT) + i - FIRST_PAGES;
    }
    return KNOWN_PAGES;
}

/* Undo what the message before has written, where it has written at all. */
static void load_memory(struct machine *machine, const struct header *header) {
    static uint8_t first[FIRST_PAGES][G4_PAGE_SIZE], texels[TEXTURE_PAGES][G4_PAGE_SIZE];
    uint64_t owned[MOST_PAGES];
    struct g4_fault fault;

    if (texels[0][0] == 0) {
        for (uint32_t seed = 1, at = 0; at < sizeof texels; at += sizeof seed) {
            (void)next_random(&seed);
            memcpy((uint8_t *)texels + at, &seed, sizeof seed);
        }
    }
    for (uint32_t i = 0; i < 16; i++) {
        const uint32_t address = SURFACES + 0x100 * i;
        memcpy(first[TABLE >> G4_PAGE_SHIFT] + i * sizeof address, &address, sizeof address);
        memcpy(first[SURFACES >> G4_PAGE_SHIFT] + 0x100 * (size_t)i, header->surface[i & 1], sizeof header->surface[0]);
    }
    memcpy(first[SAMPLERS >> G4_PAGE_SHIFT], header->sampler, sizeof header->sampler);
    memcpy(first[0], header->border, sizeof header->border);
    const uint32_t count = list_pages(machine, owned);
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *const zero = g4_zero_page;
        if (g4_mem_changed_since(machine->mem, owned[i] << G4_PAGE_SHIFT, G4_PAGE_SIZE, machine->mark)) {
            (void)g4_mem_write_pages(machine->mem, &owned[i], 1, &zero);
        }
    }
    bool stored = g4_mem_poke(machine->mem, 0, first, sizeof first, &fault) == G4_OK;
    for (uint32_t i = 0; i < TEXTURE_PAGES; i++) {
        const g4_address address = TEXTURE + (g4_address)i * G4_PAGE_SIZE;
        if (!machine->mark || g4_mem_changed_since(machine->mem, address, G4_PAGE_SIZE, machine->mark)) {
            stored = stored && g4_mem_poke(machine->mem, address, texels[i], G4_PAGE_SIZE, &fault) == G4_OK;
        }
    }
    if (!stored) {
        fail("memory", count);
    }
    machine->mark = g4_mem_mark(machine->mem);
}

/* Numbers near texels and borders, and some of any size. */
static uint32_t next_register(uint32_t *seed) {
    const uint32_t value = next_random(seed);
    return value % 4 == 0 ? value : value % 4 == 1 ? value >> 8 & 0xff : 0x3f000000 + (value >> 8 & 0x01ffffff);
}

static void load_registers(const struct machine *machine, const struct header *header, size_t rows, bool later) {
    uint32_t seed = header->seed | 1;
    for (uint32_t t = 0; t < (header->options & 7u) + 1; t++) {
        for (uint32_t i = 0; i < 8 * (later ? REGISTERS : MESSAGE_REGISTERS); i++) {
            g4_probe_register(machine->probe, later ? GRF : MRF, i / 8, t)[i % 8] = next_register(&seed);
        }
        for (uint32_t i = 0; i < rows; i++) {
            const uint32_t row = (header->src + i) & ((later ? REGISTERS : MESSAGE_REGISTERS) - 1u);
            memcpy(g4_probe_register(machine->probe, later ? GRF : MRF, row, t), header->payload[i],
                   sizeof header->payload[0]);
        }
    }
}

static enum g4_status send(struct machine *machine, const struct header *header, size_t rows) {
    const bool later = parts[header->part % PARTS] >= 32;
    const struct g4_probe_setup setup = {
        .unit = G4_UNIT_WM,
        .binding_table = TABLE,
        .sampler_state = SAMPLERS,
        .grf_count = REGISTERS,
        .scratch_base = TEXTURE,
        .scratch_bytes = 64u * header->scratch,
        .threads = (header->options & 7u) + 1,
        .urb_rows = 64,
    };
    uint32_t dispatched[THREADS];
    uint16_t enabled[THREADS];
    for (uint32_t t = 0; t < THREADS; t++) {
        dispatched[t] = enabled[t] = t & 1 ? (uint16_t)~header->emask : header->emask;
    }
    load_memory(machine, header);
    if (g4_probe_start(machine->probe, &setup, dispatched) != G4_OK) {
        fail("start", setup.threads);
    }
    load_registers(machine, header, rows, later);
    return later ? g4_probe_send_gen7(machine->probe, header->options >> 4, header->descriptor, header->src,
                                      header->dst, 16, enabled)
                 : g4_probe_send(machine->probe, header->descriptor, header->src, header->dst, 16, enabled);
}

static void compare_memory(const struct machine *machine) {
    uint64_t pages[2][MOST_PAGES];
    uint8_t bytes[2][G4_PAGE_SIZE];
    uint32_t count[2];

    for (int m = 0; m < 2; m++) {
        count[m] = list_pages(&machine[m], pages[m]);
    }
    for (uint32_t i = 0, j = 0; i < count[0] || j < count[1];) {
        /* a page that one side does not have counts as zeros */
        const uint64_t left = i < count[0] ? pages[0][i] : UINT64_MAX;
        const uint64_t right = j < count[1] ? pages[1][j] : UINT64_MAX;
        memset(bytes, 0, sizeof bytes);
        if (left <= right) {
            g4_mem_copy_pages(machine[0].mem, &pages[0][i++], 1, bytes[0]);
        }
        if (right <= left) {
            g4_mem_copy_pages(machine[1].mem, &pages[1][j++], 1, bytes[1]);
        }
        if (memcmp(bytes[0], bytes[1], G4_PAGE_SIZE) != 0) {
            fail("page", (uint32_t)(left < right ? left : right));
        }
    }
}

static void compare(const struct machine *machine, const enum g4_status *status, uint32_t threads) {
    if (status[0] != status[1]) {
        fail("status", status[1]);
    }
    for (uint32_t t = 0; t < threads; t++) {
        compare_registers(machine, GRF, REGISTERS, t);
    }
    compare_memory(machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t head = offsetof(struct header, payload);
    struct header header = {0};

    size = size > sizeof header ? sizeof header : size;
    memcpy(&header, data, size);
    const size_t rows = size > head ? (size - head) / sizeof header.payload[0] : 0;
    struct machine *const machine = machines[header.part % PARTS];
    enum g4_status status[2];
    const int runs = header.options & OPTION_COMPARE ? 2 : 1;
    for (int m = 0; m < runs; m++) {
        if (!machine[m].probe) {
            create_machine(&machine[m], parts[header.part % PARTS], MOST_PAGES);
        }
        (void)g4_set_variant(m ? G4_VARIANT_PLAIN : g4_variant_best());
        status[m] = send(&machine[m], &header, rows);
    }
    if (runs == 2 && !may_be_full(machine[0].mem) && !may_be_full(machine[1].mem)) {
        compare(machine, status, (header.options & 7u) + 1);
    }
    for (int m = 0; m < runs; m++) {
        if (g4_mem_owned_pages(machine[m].mem) > KNOWN_PAGES) {
            drop_machine(&machine[m]);
        }
    }
    return 0;
}
