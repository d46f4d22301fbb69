/*
 * Draws, media objects and compute walkers of captures and tests, with changes to their commands, state and memory.
 * Fast paths and general handlers must leave the same bytes in memory.
 *
 * GEN4EMU_FUZZ_SCENES names the file of scenes that tests/fuzz/scenes.py writes.  Input: the number of a scene,
 * options, and changes: a byte with the kind (bits 7:6) and the number of bytes less one (5:0), the offset in dwords
 * (16 bits), for memory the page as an index of the scene's pages (8 bits), and the bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/checkpoint.h"
#include "api/media.h"
#include "api/streamer.h"
#include "core/memory.h"

enum {
    MAGIC = 0x53344734, /* "4G4S" */
    GTT_ENTRIES = 1 << 20,
    MOST_PAGES = 6144,
    MOST_CHANGES = 64,
    KIND_WORDS = 0,
    KIND_STATE = 1,
    LEAST_WORDS = 17, /* of single commands: short ones get zeros from the command streamer */
    SCENE_DRAWS = 0,
    SCENE_MEDIA = 1,
    SCENE_COMPUTE = 2,
    OPTION_GENERAL = 1,
    OPTION_COMPARE = 2,
};

struct file_header {
    uint32_t magic, gen, address_bits, state_bytes, step_bytes, commands, headers, constants_absolute, scenes;
};

struct known_header {
    uint32_t header, number, dwords;
};

struct scene_header {
    uint32_t words, address, kind, pages;
};

struct scene {
    struct scene_header header;
    const uint8_t *state, *words, *page_numbers, *pages;
};

/* Reads the file of scenes, which is trusted. */
struct reader {
    const uint8_t *at;
    size_t left;
};

static struct file_header file;
static const uint8_t *commands;
static struct known_header *known;
static struct scene *scenes;

static struct g4_mem *mem;
static struct g4_device *device;
static struct g4_streamer *streamer;
static struct g4_state *state;
static struct g4_port port;
static uint8_t *image; /* of the device before anything ran */
static bool device_is_general;

static void fail(const char *message) {
    (void)fprintf(stderr, "%s\n", message);
    abort();
}

static const uint8_t *take(struct reader *reader, size_t size) {
    const uint8_t *const found = reader->at;
    if (size > reader->left) {
        fail("the file of scenes is cut short");
    }
    reader->at += size;
    reader->left -= size;
    return found;
}

static struct reader read_file(const char *name) {
    FILE *const stream = name ? fopen(name, "rb") : NULL;
    if (!stream || fseek(stream, 0, SEEK_END) != 0) {
        fail("GEN4EMU_FUZZ_SCENES must name a file of scenes");
    }
    const long size = ftell(stream);
    uint8_t *const bytes = malloc((size_t)size);
    if (!bytes || fseek(stream, 0, SEEK_SET) != 0 || fread(bytes, 1, (size_t)size, stream) != (size_t)size) {
        fail("the file of scenes cannot be read");
    }
    (void)fclose(stream);
    return (struct reader){bytes, (size_t)size};
}

static void skip_commands(struct reader *reader) {
    commands = reader->at;
    for (uint32_t i = 0; i < file.commands; i++) {
        uint32_t count;
        memcpy(&count, take(reader, sizeof count), sizeof count);
        (void)take(reader, count * sizeof(struct g4_step));
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    struct reader reader = read_file(getenv("GEN4EMU_FUZZ_SCENES"));
    memcpy(&file, take(&reader, sizeof file), sizeof file);
    if (file.magic != MAGIC || file.state_bytes != sizeof(struct g4_state) ||
        file.step_bytes != sizeof(struct g4_step)) {
        fail("the scenes are those of another build");
    }
    skip_commands(&reader);
    known = calloc(file.headers + 1, sizeof *known);
    scenes = calloc(file.scenes + 1, sizeof *scenes);
    state = calloc(1, sizeof *state);
    image = malloc(g4_device_image_size());
    if (!known || !scenes || !state || !image) {
        fail("out of memory");
    }
    memcpy(known, take(&reader, file.headers * sizeof *known), file.headers * sizeof *known);
    for (uint32_t i = 0; i < file.scenes; i++) {
        struct scene *const scene = &scenes[i];
        memcpy(&scene->header, take(&reader, sizeof scene->header), sizeof scene->header);
        scene->state = take(&reader, sizeof *state);
        scene->words = take(&reader, scene->header.words * sizeof(uint32_t));
        scene->page_numbers = take(&reader, scene->header.pages * sizeof(uint64_t));
        scene->pages = take(&reader, (size_t)scene->header.pages * G4_PAGE_SIZE);
    }
    return 0;
}

static void drop_device(void) {
    g4_streamer_free(streamer);
    g4_device_free(device);
    g4_mem_destroy(mem);
    streamer = NULL;
    device = NULL;
    mem = NULL;
}

static void learn_commands(void) {
    struct reader reader = {commands, SIZE_MAX};
    for (uint32_t i = 0; i < file.commands; i++) {
        struct g4_step steps[64];
        uint32_t count;
        memcpy(&count, take(&reader, sizeof count), sizeof count);
        if (count > 64) {
            fail("a command of too many steps");
        }
        memcpy(steps, take(&reader, count * sizeof steps[0]), count * sizeof steps[0]);
        if (!g4_streamer_add(streamer, steps, count)) {
            fail("a command is refused");
        }
    }
    for (uint32_t i = 0; i < file.headers; i++) {
        g4_streamer_learn(streamer, known[i].header, known[i].number, known[i].dwords);
    }
    g4_streamer_constants_absolute(streamer, file.constants_absolute);
}

static void create_device(bool general) {
    const struct g4_options options = {.watchdog = 4, .workers = 1, .general_only = general};
    mem = g4_mem_create(GTT_ENTRIES, file.address_bits, MOST_PAGES, false);
    device = mem ? g4_device_new(mem, file.gen, &options) : NULL;
    if (!device) {
        fail("out of memory");
    }
    g4_device_use(device, state);
    if (!g4_device_save(device, image)) {
        fail("a new device is not at rest");
    }
    g4_port_init(&port, mem, G4_UNIT_CS, false);
    streamer = g4_streamer_new(state, &port);
    if (!streamer) {
        fail("out of memory");
    }
    learn_commands();
    device_is_general = general;
}

/* Pages that a run before this one has written become zero, those of the scene have its contents. */
static void load_memory(const struct scene *scene) {
    static uint64_t owned[MOST_PAGES];
    struct g4_fault fault;
    const uint32_t count = g4_mem_list_pages(mem, owned, MOST_PAGES);

    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *const zero = g4_zero_page;
        if (g4_mem_write_pages(mem, &owned[i], 1, &zero) != G4_OK) {
            fail("a page cannot be cleared");
        }
    }
    for (uint32_t i = 0; i < scene->header.pages; i++) {
        uint64_t page;
        memcpy(&page, scene->page_numbers + i * sizeof page, sizeof page);
        if (g4_mem_poke(mem, (g4_address)page << G4_PAGE_SHIFT, scene->pages + (size_t)i * G4_PAGE_SIZE, G4_PAGE_SIZE,
                        &fault) != G4_OK) {
            fail("a page cannot be written");
        }
    }
}

static void change(void *bytes, size_t size, size_t offset, const uint8_t *data, size_t count) {
    if (size) {
        offset %= size;
        memcpy((uint8_t *)bytes + offset, data, count < size - offset ? count : size - offset);
    }
}

static void apply_changes(const struct scene *scene, uint32_t *words, struct reader reader) {
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
            change(state, sizeof *state, offset, data, count);
        } else if (scene->header.pages) {
            uint64_t number;
            memcpy(&number, scene->page_numbers + page % scene->header.pages * sizeof number, sizeof number);
            (void)g4_mem_poke(mem, ((g4_address)number << G4_PAGE_SHIFT) + (offset & G4_PAGE_OFFSET), data, count,
                              &fault);
        }
    }
}

static enum g4_status execute(const struct scene *scene, const uint32_t *words) {
    struct g4_fault fault;
    if (scene->header.kind == SCENE_COMPUTE) {
        return g4_device_compute(device, words, &fault);
    }
    if (scene->header.kind == SCENE_MEDIA) {
        const enum g4_status status =
            g4_device_media(device, words, scene->header.words, scene->header.address, &fault);
        const enum g4_status end = g4_device_media_run(device, true, &fault);
        g4_device_media_reset(device);
        return status == G4_OK ? end : status;
    }
    struct g4_streamer_run result = {0};
    for (uint32_t at = 0; at < scene->header.words && result.status == G4_OK; at++) {
        at = g4_streamer_run(streamer, words, at, scene->header.words, device, &fault, &result);
    }
    return (enum g4_status)result.status;
}

static enum g4_status run(const struct scene *scene, struct reader reader, bool general) {
    const uint32_t least = scene->header.kind == SCENE_DRAWS ? 0 : LEAST_WORDS;
    const uint32_t count = scene->header.words > least ? scene->header.words : least;
    uint32_t *const words = calloc(count + 1, sizeof *words); /* no longer: reads beyond are seen */

    if (!words) {
        fail("out of memory");
    }
    if (device && (device_is_general != general || g4_mem_owned_pages(mem) > scene->header.pages + 512)) {
        drop_device();
    }
    if (!device) {
        create_device(general);
    }
    g4_device_load(device, image);
    memcpy(state, scene->state, sizeof *state);
    memcpy(words, scene->words, scene->header.words * sizeof *words);
    load_memory(scene);
    apply_changes(scene, words, reader);
    const enum g4_status status = execute(scene, words);
    free(words);
    return status;
}

/* Copy what memory has; returns the number of pages. */
static uint32_t memory(uint64_t *pages, uint8_t **bytes) {
    const uint32_t count = g4_mem_list_pages(mem, pages, MOST_PAGES);
    *bytes = malloc((size_t)count * G4_PAGE_SIZE + 1);
    if (!*bytes) {
        fail("out of memory");
    }
    g4_mem_copy_pages(mem, pages, count, *bytes);
    return count;
}

static bool is_zero(const uint8_t *page) {
    return memcmp(page, g4_zero_page, G4_PAGE_SIZE) == 0;
}

/* Whether the contents are equal; a page that one side does not have counts as zeros. */
static bool equal(const uint64_t *const pages[2], uint8_t *const bytes[2], const uint32_t count[2]) {
    for (uint32_t i = 0, j = 0; i < count[0] || j < count[1];) {
        const uint64_t left = i < count[0] ? pages[0][i] : UINT64_MAX;
        const uint64_t right = j < count[1] ? pages[1][j] : UINT64_MAX;
        const uint8_t *const a = bytes[0] + (size_t)i * G4_PAGE_SIZE;
        const uint8_t *const b = bytes[1] + (size_t)j * G4_PAGE_SIZE;
        if (left == right ? memcmp(a, b, G4_PAGE_SIZE) != 0 : !is_zero(left < right ? a : b)) {
            (void)fprintf(stderr, "page 0x%05llx differs\n", (unsigned long long)(left < right ? left : right));
            return false;
        }
        i += left <= right;
        j += right <= left;
    }
    return true;
}

static void compare_both(const struct scene *scene, struct reader reader) {
    static uint64_t pages[2][MOST_PAGES];
    const uint64_t *const lists[2] = {pages[0], pages[1]};
    enum g4_status status[2];
    uint8_t *bytes[2];
    uint32_t count[2];

    for (int general = 0; general < 2; general++) {
        drop_device();
        status[general] = run(scene, reader, general);
        count[general] = memory(pages[general], &bytes[general]);
    }
    /* After a hang, handlers have stopped in different places; without pages, in a different order. */
    const bool full = count[0] == MOST_PAGES || count[1] == MOST_PAGES;
    if (!full && status[0] != G4_HANG && status[1] != G4_HANG) {
        if (status[0] != status[1] || !equal(lists, bytes, count)) {
            fail("fast paths and general handlers differ");
        }
    }
    free(bytes[0]);
    free(bytes[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    const struct scene *const scene = &scenes[data[0] % file.scenes];
    const struct reader reader = {data + 2, size - 2};
    if (data[1] & OPTION_COMPARE) {
        compare_both(scene, reader);
    } else {
        (void)run(scene, reader, data[1] & OPTION_GENERAL);
    }
    return 0;
}
