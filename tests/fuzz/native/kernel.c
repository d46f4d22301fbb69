/*
 * Kernels: decoded and run by the general handlers, and a second time by the fast ones or as machine code.  Registers,
 * flags, counts and memory must be the same.
 *
 * Input: struct header, then code.
 */
#include "machine.h"

enum {
    KERNEL_ADDRESS = 0x10000,
    MOST_CODE = 4096,
    MOST_PAGES = 64,
    KEPT_PAGES = 16, /* with which a machine is used again */
    MACHINES = 2,    /* general and other handlers */
    ROWS = REGISTERS + MESSAGE_REGISTERS,
    IMAGES = 64, /* of registers */
};

struct header {
    uint8_t part;    /* index into `parts` */
    uint8_t options; /* bits 2:0 threads - 1; 3 alternate mode; 4 single program flow; 6:5 variant */
    uint16_t dmask;
    uint32_t seed; /* which of the images of registers */
    uint32_t flags;
};

/* The counts of a run, and how it ended. */
struct counts {
    uint64_t instructions, channel_ops, messages;
    enum g4_status status;
};

static const uint32_t parts[] = {2 /* CL */, 8 /* EL */, 32 /* IVB */, 128 /* HSW */, 1024 /* KBL */};
enum {
    PARTS = sizeof parts / sizeof parts[0],
};
static struct machine machines[PARTS][MACHINES];
static const uint32_t special[] = {0,          1,          0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x80000000, 0x7fffffff, 0xffffffff, 0x00800000, 0x00000001, 0x4f000000, 0x00010001};

static uint32_t next_register(uint32_t *seed) {
    switch (next_random(seed) % 5) {
    case 0:
        return special[(*seed >> 8) % (sizeof special / sizeof special[0])];
    case 1:
        return 0x3f000000 + (*seed & 0x01ffffff);
    case 2:
        return *seed & 0xff;
    case 3:
        return 0xc0000000 + (*seed & 0x07ffffff);
    default:
        return *seed;
    }
}

/* The first contents of registers.  Random numbers for all threads take longer than most kernels. */
static const uint32_t (*registers_of(uint32_t seed))[8 * THREADS] {
    static uint32_t images[IMAGES][ROWS][8 * THREADS];
    static bool made[IMAGES];
    const uint32_t number = (seed ^ seed >> 8 ^ seed >> 16 ^ seed >> 24) % IMAGES;
    uint32_t next = number + 1;

    for (uint32_t i = 0; i < ROWS * 8 * THREADS && !made[number]; i++) {
        images[number][i / (8 * THREADS)][i % (8 * THREADS)] = next_register(&next);
    }
    made[number] = true;
    return (const uint32_t(*)[8 * THREADS]) images[number];
}

/* A row of the register files in one thread after the other: their registers are neighbours. */
static uint32_t *row_of(const struct machine *machine, uint32_t row) {
    const bool grf = row < REGISTERS;
    return g4_probe_register(machine->probe, grf ? GRF : MRF, grf ? row : row - REGISTERS, 0);
}

static void start(const struct machine *machine, const struct header *header) {
    const uint32_t threads = (header->options & 7) + 1;
    const struct g4_probe_setup setup = {
        .unit = G4_UNIT_WM,
        .kernel_address = KERNEL_ADDRESS,
        .grf_count = REGISTERS,
        .alternate_fp = header->options >> 3 & 1,
        .single_program_flow = header->options >> 4 & 1,
        .threads = threads,
    };
    const uint32_t(*const registers)[8 * THREADS] = registers_of(header->seed);
    uint32_t dmask[THREADS];

    for (uint32_t t = 0; t < threads; t++) {
        dmask[t] = t & 1 ? header->dmask : header->dmask | 1u;
    }
    if (g4_probe_start(machine->probe, &setup, dmask) != G4_OK) {
        fail("start", threads);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        memcpy(row_of(machine, i), registers[i], 8 * threads * sizeof registers[0][0]);
    }
    for (uint32_t t = 0; t < threads; t++) {
        g4_probe_set_flags(machine->probe, t, header->flags);
    }
}

static uint64_t all_messages(const struct g4_probe *probe) {
    uint64_t sum = 0;
    for (uint32_t sfid = 0; sfid < 16; sfid++) {
        sum += g4_probe_messages(probe, sfid);
    }
    return sum;
}

static struct counts counts_of(const struct g4_probe *probe) {
    return (struct counts){
        .instructions = g4_probe_instructions(probe),
        .channel_ops = g4_probe_channel_ops(probe),
        .messages = all_messages(probe),
    };
}

static struct counts run(struct machine *machine, const struct header *header, const uint8_t *code, size_t size,
                         bool general) {
    struct g4_fault fault;
    if (g4_mem_poke(machine->mem, KERNEL_ADDRESS, code, size, &fault) != G4_OK) {
        fail("memory for the kernel", (uint32_t)size);
    }
    machine->mark = g4_mem_mark(machine->mem);
    start(machine, header);
    const struct counts before = counts_of(machine->probe);
    const enum g4_status status = g4_probe_run(machine->probe, general);
    const struct counts after = counts_of(machine->probe);
    return (struct counts){
        .instructions = after.instructions - before.instructions,
        .channel_ops = after.channel_ops - before.channel_ops,
        .messages = after.messages - before.messages,
        .status = status,
    };
}

/* The pages that a machine has, and has written since its code was stored. */
static uint32_t written_pages(const struct machine *machine, uint64_t *pages) {
    uint64_t owned[MOST_PAGES];
    uint32_t count = 0;

    owned[0] = KERNEL_ADDRESS >> G4_PAGE_SHIFT; /* to look for pages takes longer than most kernels */
    const uint32_t all = g4_mem_owned_pages(machine->mem) > 1 ? g4_mem_list_pages(machine->mem, owned, MOST_PAGES) : 1;
    for (uint32_t i = 0; i < all; i++) {
        if (g4_mem_changed_since(machine->mem, owned[i] << G4_PAGE_SHIFT, G4_PAGE_SIZE, machine->mark)) {
            pages[count++] = owned[i];
        }
    }
    return count;
}

static void compare_memory(const struct machine *machine) {
    uint64_t pages[2][MOST_PAGES];
    uint8_t bytes[2][G4_PAGE_SIZE];
    uint32_t count[2];

    for (int m = 0; m < MACHINES; m++) {
        count[m] = written_pages(&machine[m], pages[m]);
    }
    if (count[0] != count[1] || memcmp(pages[0], pages[1], count[0] * sizeof pages[0][0]) != 0) {
        fail("number of pages", count[1]);
    }
    for (uint32_t i = 0; i < count[0]; i++) {
        for (int m = 0; m < MACHINES; m++) {
            g4_mem_copy_pages(machine[m].mem, &pages[m][i], 1, bytes[m]);
        }
        if (memcmp(bytes[0], bytes[1], G4_PAGE_SIZE) != 0) {
            fail("page", (uint32_t)pages[0][i]);
        }
    }
}

/* Zeros where the kernel has written, which the next one does not tell from memory that has not been written. */
static void clear_memory(const struct machine *machine) {
    const uint8_t *const zero = g4_zero_page;
    uint64_t pages[MOST_PAGES];

    const uint32_t count = written_pages(machine, pages);
    for (uint32_t i = 0; i < count; i++) {
        (void)g4_mem_write_pages(machine->mem, &pages[i], 1, &zero);
    }
}

static void compare(const struct machine *machine, const struct counts *counts, uint32_t threads) {
    if (counts[0].status != counts[1].status) {
        fail("status", counts[1].status);
    }
    if (counts[0].instructions != counts[1].instructions || counts[0].channel_ops != counts[1].channel_ops ||
        counts[0].messages != counts[1].messages) {
        fail("counts, instructions", (uint32_t)counts[1].instructions);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        if (memcmp(row_of(&machine[0], i), row_of(&machine[1], i), 32 * threads) != 0) {
            for (uint32_t t = 0; t < threads; t++) {
                compare_registers(machine, GRF, REGISTERS, t);
                compare_registers(machine, MRF, MESSAGE_REGISTERS, t);
            }
        }
    }
    for (uint32_t t = 0; t < threads; t++) {
        if (g4_probe_flags(machine[0].probe, t) != g4_probe_flags(machine[1].probe, t)) {
            fail("flags of thread", t);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct header header;
    uint8_t code[MOST_CODE] = {0};

    if (size < sizeof header) {
        return 0;
    }
    memcpy(&header, data, sizeof header);
    size -= sizeof header;
    size = size > sizeof code ? sizeof code : size;
    memcpy(code, data + sizeof header, size);

    const uint32_t part = header.part % PARTS;
    struct machine *const machine = machines[part];
    struct counts counts[MACHINES];
#ifdef MACHINE_CODE
    const uint32_t best = g4_variant_best();
    const uint32_t variant = best ? 1 + (header.options >> 5 & 1) % best : 0;
    (void)g4_set_variant((enum g4_variant)variant);
#else
    (void)g4_set_variant(G4_VARIANT_PLAIN);
#endif
    for (int m = 0; m < MACHINES; m++) {
        if (!machine[m].probe) {
            create_machine(&machine[m], parts[part], MOST_PAGES);
        }
        counts[m] = run(&machine[m], &header, code, sizeof code, m == 0);
    }
    /* After a hang, handlers have stopped in different places; without pages, in a different order. */
    const uint32_t owned[MACHINES] = {g4_mem_owned_pages(machine[0].mem), g4_mem_owned_pages(machine[1].mem)};
    const uint32_t most = owned[0] > owned[1] ? owned[0] : owned[1];
    const bool hung = counts[0].status == G4_HANG || counts[1].status == G4_HANG;
    if (most < MOST_PAGES && !hung) {
        compare(machine, counts, (header.options & 7u) + 1);
        compare_memory(machine);
    }
    const bool drop = most > KEPT_PAGES || (hung && most > 1); /* which may be different pages */
    for (int m = 0; m < MACHINES; m++) {
        if (drop) {
            drop_machine(&machine[m]);
        } else {
            clear_memory(&machine[m]);
        }
    }
    return 0;
}
