/*
 * Draws, media objects and compute walkers of captures and tests, with changes to their commands, state and memory.
 * Fast paths and general handlers must leave the same bytes in memory.
 *
 * GEN4EMU_FUZZ_SCENES names the file of scenes that tests/fuzz/scenes.py writes.  Input: the number of a scene,
 * options, and changes: a byte with the kind (bits 7:6) and the number of bytes less one (5:0), the offset in dwords
 * (16 bits), for memory the page as an index of the scene's pages (8 bits), and the bytes.
 */
#include "full.h"
#include "scene_file.h"

#include "api/checkpoint.h"
#include "api/media.h"
#include "core/memory.h"
#include "core/physical.h"

enum {
    GTT_ENTRIES = 1 << 20,
    MOST_PAGES = 6144,
    MOST_CHANGES = 64,
    KIND_WORDS = 0,
    KIND_STATE = 1,
    LEAST_WORDS = 17, /* of single commands: short ones get zeros from the command streamer */
    SCENE_DRAWS = 0,
    SCENE_MEDIA = 1,
    SCENE_COMPUTE = 2,
    MORE_PAGES = 512,                  /* than the scene, with which a machine is used again */
    LEAST_PAGES_LEFT = MOST_PAGES / 2, /* with which a machine is used again; tables count */
    WATCHDOG = 25,
    OPTION_GENERAL = 1,
    OPTION_COMPARE = 2,
    OPTION_HIERARCHICAL_DEPTH = 4,
    OPTION_GUARDS = 8, /* no page of memory follows another one on the host, where reads beyond a page crash */
    OPTIONS = 16,
};

struct scene_header {
    uint32_t words, address, kind, pages;
};

struct scene {
    struct scene_header header;
    const uint8_t *state, *words, *page_numbers, *pages;
};

static struct scene *scenes;

/* A device that stays from input to input: before each, what the one before has written is undone. */
struct machine {
    struct g4_mem *mem; /* NULL: create_machine() has not been called */
    struct g4_device *device;
    struct g4_streamer *streamer;
    struct g4_state *state;
    struct g4_port port;
    uint8_t *image;            /* of the device before anything ran */
    const struct scene *scene; /* whose pages memory has; NULL: none */
    uint32_t mark;             /* when memory was loaded */
    uint32_t count;            /* of owned pages */
    uint64_t pages[MOST_PAGES];
};

static struct machine machines[OPTIONS]; /* each for a set of options without OPTION_COMPARE */
static uint32_t *words;                  /* as many as the command has; no more, so that reads beyond are seen */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    struct reader reader = open_scene_file();
    scenes = calloc(file.scenes + 1, sizeof *scenes);
    if (!scenes) {
        fail("out of memory");
    }
    for (uint32_t i = 0; i < file.scenes; i++) {
        struct scene *const scene = &scenes[i];
        memcpy(&scene->header, take(&reader, sizeof scene->header), sizeof scene->header);
        scene->state = take(&reader, sizeof(struct g4_state));
        scene->words = take(&reader, scene->header.words * sizeof(uint32_t));
        scene->page_numbers = take(&reader, scene->header.pages * sizeof(uint64_t));
        scene->pages = take(&reader, (size_t)scene->header.pages * G4_PAGE_SIZE);
    }
    return 0;
}

static void drop_machine(struct machine *machine) {
    g4_streamer_free(machine->streamer);
    g4_device_free(machine->device);
    g4_mem_destroy(machine->mem);
    free(machine->state);
    free(machine->image);
    *machine = (struct machine){0};
}

static void create_machine(struct machine *machine) {
    const uint32_t chosen = (uint32_t)(machine - machines);
    const struct g4_options options = {
        .watchdog = WATCHDOG,
        .workers = 1,
        .general_only = chosen & OPTION_GENERAL,
        .hierarchical_depth =
            chosen & OPTION_HIERARCHICAL_DEPTH ? G4_HIERARCHICAL_DEPTH_MODE_ON : G4_HIERARCHICAL_DEPTH_MODE_OFF,
    };
    machine->state = calloc(1, sizeof *machine->state);
    machine->image = malloc(g4_device_image_size());
    g4_physical_guards = chosen & OPTION_GUARDS;
    machine->mem = g4_mem_create(GTT_ENTRIES, file.address_bits, MOST_PAGES, false);
    machine->device = machine->mem ? g4_device_new(machine->mem, file.gen, &options) : NULL;
    if (!machine->state || !machine->image || !machine->device) {
        fail("out of memory");
    }
    g4_device_use(machine->device, machine->state);
    if (!g4_device_save(machine->device, machine->image)) {
        fail("a new device is not at rest");
    }
    g4_port_init(&machine->port, machine->mem, G4_UNIT_CS, false);
    machine->streamer = g4_streamer_new(machine->state, &machine->port);
    if (!machine->streamer) {
        fail("out of memory");
    }
    add_commands(machine->streamer);
    for (uint32_t i = 0; i < file.headers; i++) {
        g4_streamer_learn(machine->streamer, known[i].header, known[i].number, known[i].dwords);
    }
}

static bool has_changed(const struct machine *machine, uint64_t page) {
    return g4_mem_changed_since(machine->mem, page << G4_PAGE_SHIFT, G4_PAGE_SIZE, machine->mark);
}

static uint64_t page_of(const struct scene *scene, uint32_t index) {
    uint64_t page;
    memcpy(&page, scene->page_numbers + index * sizeof page, sizeof page);
    return page;
}

/* The contents of a page in a scene, whose pages are in order; zeros beyond them. */
static const uint8_t *contents_of(const struct scene *scene, uint64_t page) {
    uint32_t low = 0;
    uint32_t high = scene->header.pages;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (page_of(scene, middle) < page) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool found = low < scene->header.pages && page_of(scene, low) == page;
    return found ? scene->pages + (size_t)low * G4_PAGE_SIZE : g4_zero_page;
}

static void list_pages(struct machine *machine) {
    if (g4_mem_owned_pages(machine->mem) != machine->count) {
        machine->count = g4_mem_list_pages(machine->mem, machine->pages, MOST_PAGES);
    }
}

/* Give memory the contents of a scene, and zeros to the pages of others: where the scene is there already, in the
 * pages that have been written since. */
static void load_memory(struct machine *machine, const struct scene *scene) {
    list_pages(machine);
    for (uint32_t i = 0; i < machine->count; i++) {
        if (machine->scene != scene || has_changed(machine, machine->pages[i])) {
            const uint8_t *const contents = contents_of(scene, machine->pages[i]);
            if (g4_mem_write_pages(machine->mem, &machine->pages[i], 1, &contents) != G4_OK) {
                fail("a page cannot be restored");
            }
        }
    }
    for (uint32_t i = 0; machine->scene != scene && i < scene->header.pages; i++) {
        const uint64_t page = page_of(scene, i);
        const uint8_t *const contents = scene->pages + (size_t)i * G4_PAGE_SIZE;
        if (g4_mem_write_pages(machine->mem, &page, 1, &contents) != G4_OK) {
            fail("a page cannot be written");
        }
    }
    list_pages(machine);
    machine->scene = scene;
    machine->mark = g4_mem_mark(machine->mem);
}

static void change(void *bytes, size_t size, size_t offset, const uint8_t *data, size_t count) {
    if (size) {
        offset %= size;
        memcpy((uint8_t *)bytes + offset, data, count < size - offset ? count : size - offset);
    }
}

static void apply_changes(const struct machine *machine, struct reader reader) {
    const struct scene *const scene = machine->scene;
    struct g4_fault fault;
    for (uint32_t i = 0; i < MOST_CHANGES && reader.left > 4; i++) {
        const uint8_t *const head = take(&reader, 3);
        const uint32_t kind = head[0] >> 6;
        size_t count = (head[0] & 63u) + 1;
        const size_t offset = 4 * ((size_t)head[1] | (size_t)head[2] << 8);
        const uint32_t page = kind > KIND_STATE ? *take(&reader, 1) : 0;
        count = count < reader.left ? count : reader.left;
        const uint8_t *const data = take(&reader, count);
        if (kind == KIND_WORDS) {
            change(words, scene->header.words * sizeof *words, offset, data, count);
        } else if (kind == KIND_STATE) {
            change(machine->state, sizeof *machine->state, offset, data, count);
        } else if (scene->header.pages) {
            const g4_address address = page_of(scene, page % scene->header.pages) << G4_PAGE_SHIFT;
            (void)g4_mem_poke(machine->mem, address + (offset & G4_PAGE_OFFSET), data, count, &fault);
        }
    }
}

static enum g4_status execute(const struct machine *machine) {
    const struct scene_header *const header = &machine->scene->header;
    struct g4_device *const device = machine->device;
    struct g4_fault fault;
    if (header->kind == SCENE_COMPUTE) {
        return g4_device_compute(device, words, &fault);
    }
    if (header->kind == SCENE_MEDIA) {
        const enum g4_status status = g4_device_media(device, words, header->words, header->address, &fault);
        const enum g4_status end = g4_device_media_run(device, true, &fault);
        g4_device_media_reset(device);
        return status == G4_OK ? end : status;
    }
    struct g4_streamer_run result = {0};
    for (uint32_t at = 0; at < header->words && result.status == G4_OK; at++) {
        at = g4_streamer_run(machine->streamer, words, at, header->words, device, &fault, &result);
    }
    return (enum g4_status)result.status;
}

static void load_words(const struct scene *scene) {
    static const struct scene *loaded;
    const uint32_t least = scene->header.kind == SCENE_DRAWS ? 0 : LEAST_WORDS;
    const uint32_t count = scene->header.words > least ? scene->header.words : least;

    if (scene != loaded) {
        free(words);
        words = calloc(count + 1, sizeof *words);
        loaded = scene;
    }
    if (!words) {
        fail("out of memory");
    }
    memcpy(words, scene->words, scene->header.words * sizeof *words);
}

/* A machine for a scene, whose memory is not full of pages of other scenes. */
static void prepare(struct machine *machine, const struct scene *scene) {
    if (machine->mem && (g4_mem_owned_pages(machine->mem) > scene->header.pages + MORE_PAGES ||
                         g4_mem_pages_left(machine->mem) < LEAST_PAGES_LEFT)) {
        drop_machine(machine);
    }
    if (!machine->mem) {
        create_machine(machine);
    }
}

/* Give a machine, with zeros, the pages that only the other one has from earlier inputs: a page that has never been
 * written is not mapped, and what lies there, such as a surface, does not exist.  False: they are too many.
 */
static bool add_pages_of(struct machine *other, struct machine *machine) {
    const uint8_t *const zero = g4_zero_page;
    bool added = true;

    list_pages(other);
    list_pages(machine);
    for (uint32_t i = 0, own = 0; i < other->count; i++) {
        const uint64_t page = other->pages[i];
        while (own < machine->count && machine->pages[own] < page) {
            own++;
        }
        const bool has = own < machine->count && machine->pages[own] == page;
        added = added && (has || g4_mem_write_pages(machine->mem, &page, 1, &zero) == G4_OK);
    }
    list_pages(machine);
    return added;
}

static enum g4_status run(struct machine *machine, const struct scene *scene, struct reader reader) {
    g4_device_load(machine->device, machine->image);
    memcpy(machine->state, scene->state, sizeof *machine->state);
    load_words(scene);
    load_memory(machine, scene);
    apply_changes(machine, reader);
    const enum g4_status status = execute(machine);
    list_pages(machine);
    return status;
}

/* Compare the pages that one machine has written with those of the other. */
static void compare_pages(const struct machine *machine, const struct machine *other) {
    for (uint32_t i = 0; i < machine->count; i++) {
        const uint64_t page = machine->pages[i];
        uint8_t bytes[2][G4_PAGE_SIZE];
        if (!has_changed(machine, page)) {
            continue;
        }
        g4_mem_copy_pages(machine->mem, &page, 1, bytes[0]);
        g4_mem_copy_pages(other->mem, &page, 1, bytes[1]);
        if (memcmp(bytes[0], bytes[1], G4_PAGE_SIZE) != 0) {
            (void)fprintf(stderr, "page 0x%05llx differs\n", (unsigned long long)page);
            fail("fast paths and general handlers differ");
        }
    }
}

static void compare_both(const struct scene *scene, uint32_t options, struct reader reader) {
    struct machine *const fast = &machines[options];
    struct machine *const general = &machines[options | OPTION_GENERAL];

    prepare(fast, scene);
    prepare(general, scene);
    if (!add_pages_of(fast, general) || !add_pages_of(general, fast)) {
        drop_machine(fast);
        drop_machine(general);
        create_machine(fast);
        create_machine(general);
    }
    const enum g4_status first = run(fast, scene, reader);
    const enum g4_status second = run(general, scene, reader);

    /* After a hang, handlers have stopped in different places; without pages, in a different order. */
    if (may_be_full(fast->mem) || may_be_full(general->mem) || first == G4_HANG || second == G4_HANG) {
        return;
    }
    if (first != second) {
        fail("fast paths and general handlers end differently");
    }
    compare_pages(fast, general);
    compare_pages(general, fast);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    const struct scene *const scene = &scenes[data[0] % file.scenes];
    const struct reader reader = {data + 2, size - 2};
    const uint32_t options = data[1] & (OPTION_HIERARCHICAL_DEPTH | OPTION_GUARDS);
    if (data[1] & OPTION_COMPARE) {
        compare_both(scene, options, reader);
    } else {
        struct machine *const machine = &machines[options | (data[1] & OPTION_GENERAL)];
        prepare(machine, scene);
        (void)run(machine, scene, reader);
    }
    return 0;
}
