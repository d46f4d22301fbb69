/*
 * The files that tests/fuzz/scenes.py writes: the commands that a streamer knows, and scenes.  They are trusted.
 */
#ifndef FUZZ_SCENE_FILE_H
#define FUZZ_SCENE_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/streamer.h"

enum {
    SCENE_FILE_MAGIC = 0x53344734, /* "4G4S" */
    MOST_STEPS = 64,               /* of a command */
};

struct file_header {
    uint32_t magic, gen, address_bits, state_bytes, step_bytes, commands, headers, constants_absolute, scenes;
};

struct known_header {
    uint32_t header, number, dwords;
};

struct reader {
    const uint8_t *at;
    size_t left;
};

static struct file_header file;
static const uint8_t *commands;
static struct known_header *known;

static _Noreturn void fail(const char *message) {
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

/* The steps of the next command, at most MOST_STEPS. */
static uint32_t take_steps(struct reader *reader, struct g4_step *steps) {
    uint32_t count;
    memcpy(&count, take(reader, sizeof count), sizeof count);
    if (count > MOST_STEPS) {
        fail("a command of too many steps");
    }
    memcpy(steps, take(reader, count * sizeof *steps), count * sizeof *steps);
    return count;
}

/* Open the file that GEN4EMU_FUZZ_SCENES names, read it up to its scenes, and return the rest. */
static struct reader open_scene_file(void) {
    const char *const name = getenv("GEN4EMU_FUZZ_SCENES");
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
    struct reader reader = {bytes, (size_t)size};
    memcpy(&file, take(&reader, sizeof file), sizeof file);
    if (file.magic != SCENE_FILE_MAGIC || file.state_bytes != sizeof(struct g4_state) ||
        file.step_bytes != sizeof(struct g4_step)) {
        fail("the scenes are those of another build");
    }
    commands = reader.at;
    for (uint32_t i = 0; i < file.commands; i++) {
        struct g4_step steps[MOST_STEPS];
        (void)take_steps(&reader, steps);
    }
    known = calloc(file.headers + 1, sizeof *known);
    if (!known) {
        fail("out of memory");
    }
    memcpy(known, take(&reader, file.headers * sizeof *known), file.headers * sizeof *known);
    return reader;
}

/* Add all commands. */
static void add_commands(struct g4_streamer *streamer) {
    struct reader reader = {commands, SIZE_MAX};
    for (uint32_t i = 0; i < file.commands; i++) {
        struct g4_step steps[MOST_STEPS];
        const uint32_t count = take_steps(&reader, steps);
        if (!g4_streamer_add(streamer, steps, count)) {
            fail("a command is refused");
        }
    }
    g4_streamer_constants_absolute(streamer, file.constants_absolute);
}

#endif
