/*
 * Commands that change the state of a context, write memory or blit, without draws: many in one run, and one run for
 * each must leave the same state and memory, and may store where their steps say only.
 *
 * GEN4EMU_FUZZ_SCENES names the file with the commands, as for scene.c.  Input: options, then commands: an index into
 * the headers that are known, and the dwords after the header, or NOT_KNOWN, and a dword as it is.
 */
#include "scene_file.h"

#include "api/checkpoint.h"
#include "core/memory.h"

enum {
    GTT_ENTRIES = 1 << 20,
    MOST_PAGES = 64,
    KEPT_PAGES = 48, /* with which memory is used again */
    MOST_WORDS = 1024,
    MOST_RANGES = 2 * MOST_STEPS,
    MOST_COMMANDS = 256,
    NOT_KNOWN = 255,
    BLIT_BUDGET = 256,  /* pixels of an input */
    FULL_CHECK = 1024,  /* one input in so many compares the whole state */
    OPTION_FIRST = 0x7, /* which values the state begins with */
    OPTION_ANY = 0xf8,  /* no bit of these: addresses are as the input has them */
    NEAR = 0x000fffff,  /* else of a range: to make pages, and to find them, takes longer than commands */
    FIRST_ADDRESS = 2,  /* of the dwords of commands that access memory */
};

/* Dwords of the state that a command may change. */
struct range {
    uint32_t first, count;
};

struct ranges {
    bool writes, loads; /* memory */
    uint32_t count;
    struct range range[MOST_RANGES];
};

struct machine {
    struct g4_mem *mem;
    struct g4_device *device;
    struct g4_streamer *streamer;
    struct g4_state *state;
    struct g4_port port, blit_port;
    struct g4_blitter blitter;
    uint32_t mark; /* when memory was zeros */
};

static struct machine machines[2]; /* all at once, and one by one */
static struct ranges ranges[MOST_COMMANDS];
static struct known_header *used; /* headers of commands that do not draw */
static uint32_t used_count;
static struct g4_state *initial;
static uint32_t words[MOST_WORDS];
static bool touched[MOST_COMMANDS]; /* commands of this input */
static bool writes;                 /* one of them may write memory */

static void add_range(struct ranges *found, uint32_t first, uint32_t count) {
    if (first != G4_NO_PLACE && found->count < MOST_RANGES) {
        found->range[found->count++] = (struct range){first, count};
    }
}

static void find_ranges(const struct g4_step *step, struct ranges *found) {
    switch ((enum g4_step_kind)step->kind) {
    case G4_STEP_FIELD:
    case G4_STEP_FLAG:
        add_range(found, step->target, 1);
        break;
    case G4_STEP_COPY:
    case G4_STEP_MOVE:
        add_range(found, step->target, step->count);
        break;
    case G4_STEP_LOAD:
    case G4_STEP_LOAD_64:
        add_range(found, step->target, step->count);
        found->loads = true;
        break;
    case G4_STEP_VERTEX_BUFFERS:
        add_range(found, step->target, 4 * step->count);
        add_range(found, step->tally, 1);
        break;
    case G4_STEP_VERTEX_ELEMENTS:
        add_range(found, step->target, 2 * step->count);
        add_range(found, step->tally, 1);
        break;
    case G4_STEP_CONSTANTS:
        add_range(found, step->target, 8 * step->count);
        add_range(found, step->tally, 1);
        break;
    case G4_STEP_SLOT:
        add_range(found, step->target, step->count * step->addend);
        break;
    case G4_STEP_WRITE:
    case G4_STEP_WRITE_64:
    case G4_STEP_FILL:
    case G4_STEP_COPY_BLIT:
        found->writes = true;
        break;
    case G4_STEP_DRAW:
    case G4_STEP_LEAVE_IF:
    case G4_STEP_LEAVE_IF_0:
    case G4_STEP_LEAVE_IN:
        break;
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static bool draws[MOST_COMMANDS];
    (void)argc;
    (void)argv;
    (void)open_scene_file();
    struct reader reader = {commands, SIZE_MAX};
    for (uint32_t i = 1; i <= file.commands && i < MOST_COMMANDS; i++) {
        struct g4_step steps[MOST_STEPS];
        const uint32_t count = take_steps(&reader, steps);
        for (uint32_t s = 0; s < count; s++) {
            draws[i] |= steps[s].kind == G4_STEP_DRAW;
            find_ranges(&steps[s], &ranges[i]);
        }
    }
    used = calloc(file.headers + 1, sizeof *used);
    initial = calloc(1, sizeof *initial);
    if (!used || !initial) {
        fail("out of memory");
    }
    for (uint32_t i = 0; i < file.headers; i++) {
        if (!draws[known[i].number]) {
            used[used_count++] = known[i];
        }
    }
    if (used_count == 0) {
        fail("no commands");
    }
    return 0;
}

static void create_memory(struct machine *machine) {
    machine->mem = g4_mem_create(GTT_ENTRIES, file.address_bits, MOST_PAGES, false);
    const struct g4_options options = {.watchdog = 1, .workers = 1};
    machine->device = machine->mem ? g4_device_new(machine->mem, file.gen, &options) : NULL;
    machine->streamer = machine->device ? g4_streamer_new(machine->state, &machine->port) : NULL;
    if (!machine->streamer) {
        fail("out of memory");
    }
    g4_device_use(machine->device, machine->state);
    g4_port_init(&machine->port, machine->mem, G4_UNIT_CS, false);
    g4_port_init(&machine->blit_port, machine->mem, G4_UNIT_CS, false);
    machine->blitter = (struct g4_blitter){
        .port = &machine->blit_port,
        .address_mask = file.address_bits > 32 ? (UINT64_C(1) << file.address_bits) - 1 : UINT32_MAX,
    };
    machine->mark = g4_mem_mark(machine->mem);
    add_commands(machine->streamer);
    g4_streamer_use_blitter(machine->streamer, &machine->blitter);
    for (uint32_t i = 0; i < used_count; i++) {
        g4_streamer_learn(machine->streamer, used[i].header, used[i].number, used[i].dwords);
    }
}

/* The commands that may run: those of the headers, and if a dword without one may shift the others, any. */
static void touch(uint32_t count, bool shifted) {
    for (uint32_t i = 0; shifted && i < count; i++) {
        for (uint32_t u = 0; u < used_count; u++) {
            if (words[i] == used[u].header) {
                touched[used[u].number] = true;
                writes |= ranges[used[u].number].writes;
            }
        }
    }
}

/* The commands of an input as dwords; their number. */
static uint32_t read_words(const uint8_t *data, size_t size, bool any_address) {
    uint32_t count = 0;
    bool shifted = false;
    for (size_t at = 0; at < size;) {
        const uint8_t index = data[at++];
        const struct known_header *const header = index == NOT_KNOWN ? NULL : &used[index % used_count];
        const uint32_t dwords = header ? header->dwords : 1;
        const size_t taken = header ? 1 : 0; /* dwords that the input does not have */
        if (count + dwords > MOST_WORDS) {
            break;
        }
        memset(words + count, 0, dwords * sizeof *words);
        const size_t wanted = (dwords - taken) * sizeof *words;
        const size_t present = wanted < size - at ? wanted : size - at;
        memcpy(words + count + taken, data + at, present);
        if (header) {
            const bool has_address = ranges[header->number].writes || ranges[header->number].loads;
            for (uint32_t i = FIRST_ADDRESS; !any_address && has_address && i < dwords; i++) {
                words[count + i] &= NEAR;
            }
            words[count] = header->header;
            touched[header->number] = true;
            writes |= ranges[header->number].writes;
        }
        shifted |= !header;
        at += present;
        count += dwords;
    }
    touch(count, shifted);
    return count;
}

/* Restore, or compare with `other` if there is one, the state that the commands of this input may change. */
static void settle_state(const struct machine *machine, const struct machine *other) {
    uint32_t *const state = (uint32_t *)machine->state;
    for (uint32_t i = 1; i < MOST_COMMANDS; i++) {
        for (uint32_t r = 0; touched[i] && r < ranges[i].count; r++) {
            const struct range *const range = &ranges[i].range[r];
            const size_t bytes = range->count * sizeof *state;
            if (other && memcmp(state + range->first, (uint32_t *)other->state + range->first, bytes) != 0) {
                (void)fprintf(stderr, "command %u, dword %u of the state\n", i, range->first);
                fail("runs of many commands and of one differ");
            }
            if (!other) {
                memcpy(state + range->first, (uint32_t *)initial + range->first, bytes);
            }
        }
    }
}

/* Run the commands, all at once or one by one, up to the first one that is left. */
static struct g4_streamer_run run(struct machine *machine, uint32_t count, bool at_once, uint32_t *end) {
    struct g4_streamer_run total = {0};
    struct g4_fault fault;
    uint32_t at = 0;

    machine->blitter.budget = BLIT_BUDGET;
    for (;;) {
        struct g4_streamer_run result;
        uint32_t last = count;
        for (uint32_t i = 0; !at_once && i < used_count; i++) {
            if (at < count && used[i].header == words[at] && used[i].dwords <= count - at) {
                last = at + used[i].dwords;
            }
        }
        const uint32_t next = g4_streamer_run(machine->streamer, words, at, last, machine->device, &fault, &result);
        if (next < at || next > last || result.commands > last - at || result.draws) {
            fail("a run ends at a wrong place");
        }
        total.commands += result.commands;
        total.blits += result.blits;
        if (at_once || next != last || next == at || next == count) {
            *end = next;
            return total;
        }
        at = next;
    }
}

static bool has_changed(const struct machine *machine, uint64_t page) {
    return g4_mem_changed_since(machine->mem, page << G4_PAGE_SHIFT, G4_PAGE_SIZE, machine->mark);
}

/* Compare the pages of both memories, and fill them with zeros again, or drop them. */
static void settle_memory(bool drop) {
    const uint8_t *const zero = g4_zero_page;
    uint64_t pages[2][MOST_PAGES];
    uint32_t count[2];

    for (int m = 0; m < 2; m++) {
        count[m] = g4_mem_list_pages(machines[m].mem, pages[m], MOST_PAGES);
    }
    if (count[0] != count[1] || memcmp(pages[0], pages[1], count[0] * sizeof pages[0][0]) != 0) {
        fail("runs of many commands and of one write different pages");
    }
    for (uint32_t i = 0; i < count[0]; i++) {
        uint8_t bytes[2][G4_PAGE_SIZE];
        if (!has_changed(&machines[0], pages[0][i]) && !has_changed(&machines[1], pages[0][i])) {
            continue;
        }
        for (int m = 0; m < 2; m++) {
            g4_mem_copy_pages(machines[m].mem, &pages[m][i], 1, bytes[m]);
        }
        if (memcmp(bytes[0], bytes[1], G4_PAGE_SIZE) != 0) {
            fail("runs of many commands and of one write different bytes");
        }
        for (int m = 0; m < 2; m++) {
            if (g4_mem_write_pages(machines[m].mem, &pages[m][i], 1, &zero) != G4_OK) {
                fail("a page cannot be cleared");
            }
        }
    }
    for (int m = 0; m < 2; m++) {
        if ((count[0] > KEPT_PAGES || (drop && count[0])) && g4_mem_clear(machines[m].mem) != G4_OK) {
            fail("out of memory");
        }
        machines[m].mark = g4_mem_mark(machines[m].mem);
    }
}

/* Values of the state that commands depend on: bases of addresses, and flags that leave commands to Python. */
static void begin(uint32_t option) {
    static const uint32_t bases[] = {0, 0x1000, 0x10000, 0xfffff000};
    static uint32_t before = UINT32_MAX;
    if (option == before) {
        return;
    }
    initial->general_state_base = bases[option & 3];
    initial->surface_state_base = bases[option & 3];
    initial->gen7.dynamic_state_base = bases[option & 3];
    initial->gen7.constants_absolute = option >> 2 & 1;
    for (int m = 0; m < 2; m++) {
        memcpy(machines[m].state, initial, sizeof *initial);
    }
    before = option;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint32_t inputs;
    struct g4_streamer_run result[2];
    uint32_t end[2];

    if (size < 2) {
        return 0;
    }
    memset(touched, 0, sizeof touched);
    writes = false;
    const bool any_address = !(data[0] & OPTION_ANY);
    const uint32_t count = read_words(data + 1, size - 1, any_address);
    for (int m = 0; m < 2; m++) {
        machines[m].state = machines[m].state ? machines[m].state : calloc(1, sizeof *initial);
        if (!machines[m].state) {
            fail("out of memory");
        }
        if (!machines[m].mem) {
            create_memory(&machines[m]);
        }
    }
    begin(data[0] & OPTION_FIRST);
    for (int m = 0; m < 2; m++) {
        result[m] = run(&machines[m], count, m == 0, &end[m]);
    }
    if (end[0] != end[1] || result[0].commands != result[1].commands || result[0].blits != result[1].blits) {
        fail("runs of many commands and of one end differently");
    }
    settle_state(&machines[0], &machines[1]);
    if (writes) {
        settle_memory(any_address);
    }
    for (int m = 0; m < 2; m++) {
        settle_state(&machines[m], NULL);
        if (++inputs % FULL_CHECK < 2 &&
            memcmp((uint8_t *)machines[m].state, (uint8_t *)initial, sizeof *initial) != 0) {
            fail("a command has changed state that its steps do not name");
        }
    }
    return 0;
}
