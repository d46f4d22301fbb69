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
    MACHINES = 2, /* general and other handlers */
};

struct header {
    uint8_t part;    /* index into `parts` */
    uint8_t options; /* bits 2:0 threads - 1; 3 alternate mode; 4 single program flow; 6:5 variant */
    uint16_t dmask;
    uint32_t seed; /* of the registers */
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
    uint32_t dmask[THREADS];
    uint32_t seed = header->seed | 1;

    for (uint32_t t = 0; t < threads; t++) {
        dmask[t] = t & 1 ? header->dmask : header->dmask | 1u;
    }
    if (g4_probe_start(machine->probe, &setup, dmask) != G4_OK) {
        fail("start", threads);
    }
    for (uint32_t t = 0; t < threads; t++) {
        for (uint32_t i = 0; i < 8 * REGISTERS; i++) {
            g4_probe_register(machine->probe, GRF, i / 8, t)[i % 8] = next_register(&seed);
        }
        for (uint32_t i = 0; i < 8 * MESSAGE_REGISTERS; i++) {
            g4_probe_register(machine->probe, MRF, i / 8, t)[i % 8] = next_register(&seed);
        }
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

static struct counts run(const struct machine *machine, const struct header *header, const uint8_t *code, size_t size,
                         bool general) {
    struct g4_fault fault;
    if (g4_mem_poke(machine->mem, KERNEL_ADDRESS, code, size, &fault) != G4_OK) {
        fail("memory for the kernel", (uint32_t)size);
    }
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

static uint32_t compare_memory(const struct machine *machine) {
    uint64_t pages[2][MOST_PAGES];
    uint8_t bytes[2][G4_PAGE_SIZE];
    uint32_t count[2];

    for (int m = 0; m < MACHINES; m++) {
        pages[m][0] = KERNEL_ADDRESS >> G4_PAGE_SHIFT; /* to look for pages takes longer than most kernels */
        count[m] = g4_mem_owned_pages(machine[m].mem);
        if (count[m] > 1) {
            count[m] = g4_mem_list_pages(machine[m].mem, pages[m], MOST_PAGES);
        }
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
    return count[0];
}

static void compare(const struct machine *machine, const struct counts *counts, uint32_t threads) {
    if (counts[0].status != counts[1].status) {
        fail("status", counts[1].status);
    }
    if (counts[0].instructions != counts[1].instructions || counts[0].channel_ops != counts[1].channel_ops ||
        counts[0].messages != counts[1].messages) {
        fail("counts, instructions", (uint32_t)counts[1].instructions);
    }
    for (uint32_t t = 0; t < threads; t++) {
        compare_registers(machine, GRF, REGISTERS, t);
        compare_registers(machine, MRF, MESSAGE_REGISTERS, t);
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
    const bool full = g4_mem_owned_pages(machine[0].mem) == MOST_PAGES;
    const bool hung = counts[0].status == G4_HANG || counts[1].status == G4_HANG;
    if (!full && !hung) {
        compare(machine, counts, (header.options & 7u) + 1);
        if (compare_memory(machine) == 1) {
            return 0;
        }
    }
    if (full || hung || g4_mem_owned_pages(machine[0].mem) > 1) {
        drop_machine(&machine[0]);
        drop_machine(&machine[1]);
    }
    return 0;
}
