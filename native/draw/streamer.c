/*
 * Commands of the 3D pipeline as steps, and runs of them.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/streamer.h"
#include "core/context.h"
#include "core/memory.h"
#include "core/util.h"
#include "draw/device.h"

enum {
    HEADERS = 1024, /* places for headers that are known; drivers use about a hundred */
    PROBES = 8,     /* places that a header may have */
    MOST_COMMANDS = 256,
    PLACES = 256, /* of draws: more than can wait */
};

struct command {
    struct g4_step *step;
    uint32_t steps;
    bool ends_wait;        /* sets state that draws read while they run, not when they start */
    uint64_t spares_state; /* bit i: step i changes no state but inputs of draws (struct draw_inputs) */
};

struct header {
    uint32_t value;
    uint16_t number; /* of its command, 0: the place is free */
    uint16_t dwords;
};

struct g4_streamer {
    struct g4_state *state;
    struct g4_port *port;
    struct g4_blitter *blitter;
    bool constants_absolute;
    g4_address watched; /* the address of the words that are executed */
    uint64_t watched_bytes;
    uint32_t commands; /* the first is unused: commands are numbered from 1 */
    struct command command[MOST_COMMANDS];
    struct header header[HEADERS];
};

/* A run of commands while it is executed. */
struct run {
    struct g4_streamer *streamer;
    struct g4_device *device; /* NULL: draws are left */
    struct g4_fault *fault;
    struct g4_streamer_run *result;
    uint32_t at;                              /* index of the command */
    bool rewritten;                           /* the command has changed commands that are watched */
    bool same_state;                          /* since the last draw, only its inputs have changed, and no memory */
    uint32_t draws;                           /* that were started */
    uint32_t place[PLACES], commands[PLACES]; /* of the last ones: index, and the commands before them */
};

struct g4_streamer *g4_streamer_new(struct g4_state *state, struct g4_port *port) {
    struct g4_streamer *const streamer = calloc(1, sizeof *streamer);
    if (streamer) {
        streamer->state = state;
        streamer->port = port;
        streamer->commands = 1;
    }
    return streamer;
}

void g4_streamer_free(struct g4_streamer *streamer) {
    for (uint32_t i = 1; streamer && i < streamer->commands; i++) {
        free(streamer->command[i].step);
    }
    free(streamer);
}

#define PLACE(member) (uint32_t)(offsetof(struct g4_state, member) / sizeof(uint32_t))

/* Units read these while they draw. */
static bool ends_wait(const struct g4_step *step) {
    return step->kind != G4_STEP_DRAW &&
           ((step->target >= PLACE(chroma_key) && step->target < PLACE(poly_stipple_offset)) ||
            step->target == PLACE(general_state_bound) || step->target == PLACE(system_instruction_pointer));
}

#define END(member)                                                                                                    \
    (uint32_t)((offsetof(struct g4_state, member) + sizeof(((struct g4_state *)0)->member)) / sizeof(uint32_t))

/* Whether these words of the state are inputs, which each draw has of its own. */
static bool is_input(uint32_t first, uint32_t count) {
    const struct {
        uint32_t first, end;
    } inputs[] = {
        {PLACE(curbe_address), END(curbe)},
        {PLACE(vertex_buffer), END(vertex_buffer_valid)},
        {PLACE(index_buffer), END(index_buffer)},
        {PLACE(gen7.vertex_buffer), END(gen7.vertex_buffer)},
        {PLACE(gen7.constant_vs), END(gen7.constant_ps)},
        {PLACE(gen9.vertex_buffer), END(gen9.vertex_buffer)},
        {PLACE(gen9.index_buffer), END(gen9.index_buffer)},
        {PLACE(gen9.constant_vs), END(gen9.pending_ps)},
    };
    bool found = false;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        found = found || (first >= inputs[i].first && first + count <= inputs[i].end);
    }
    return found;
}

/* Whether a step changes no state but inputs.  Writes to memory are found when they are executed. */
static bool spares_state(const struct g4_step *step) {
    switch ((enum g4_step_kind)step->kind) {
    case G4_STEP_FIELD:
    case G4_STEP_FLAG:
        return is_input(step->target, 1);
    case G4_STEP_COPY:
    case G4_STEP_MOVE:
        return is_input(step->target, step->count);
    case G4_STEP_VERTEX_BUFFERS:
        return is_input(step->target, 4 * step->count) && (step->tally == G4_NO_PLACE || is_input(step->tally, 1));
    case G4_STEP_CONSTANTS:
        return is_input(step->target, 8 * step->count) && is_input(step->tally, 1);
    case G4_STEP_WRITE:
    case G4_STEP_WRITE_64:
    case G4_STEP_DRAW:
    case G4_STEP_LEAVE_IF:
    case G4_STEP_LEAVE_IF_0:
    case G4_STEP_LEAVE_IN:
        return true;
    default:
        return false;
    }
}

uint32_t g4_streamer_add(struct g4_streamer *streamer, const struct g4_step *steps, uint32_t count) {
    if (streamer->commands == MOST_COMMANDS) {
        return 0;
    }
    struct command *const command = &streamer->command[streamer->commands];
    command->step = malloc((count ? count : 1) * sizeof *steps);
    if (!command->step) {
        return 0;
    }
    memcpy(command->step, steps, count * sizeof *steps);
    command->steps = count;
    for (uint32_t i = 0; i < count; i++) {
        command->ends_wait = command->ends_wait || ends_wait(&steps[i]);
        command->spares_state |= i < 64 ? (uint64_t)spares_state(&steps[i]) << i : 0;
    }
    return streamer->commands++;
}

void g4_streamer_use_blitter(struct g4_streamer *streamer, struct g4_blitter *blitter) {
    streamer->blitter = blitter;
}

void g4_streamer_watch(struct g4_streamer *streamer, g4_address address, uint32_t dwords) {
    streamer->watched = address;
    streamer->watched_bytes = (uint64_t)dwords * sizeof(uint32_t);
}

bool g4_streamer_fetch(struct g4_streamer *streamer, g4_address address, uint32_t *words, uint32_t dwords) {
    if (!g4_mem_peek(streamer->port->mem, address, words, (size_t)dwords * sizeof *words)) {
        return false;
    }
    g4_streamer_watch(streamer, address, dwords);
    return true;
}

void g4_streamer_constants_absolute(struct g4_streamer *streamer, bool absolute) {
    streamer->constants_absolute = absolute;
}

/* ---- headers ---- */

static struct header *place_of(struct g4_streamer *streamer, uint32_t header, uint32_t probe) {
    return &streamer->header[((header * 0x9e3779b1U >> 20) + probe) % HEADERS];
}

void g4_streamer_learn(struct g4_streamer *streamer, uint32_t header, uint32_t number, uint32_t dwords) {
    struct header *place = place_of(streamer, header, 0); /* which is reused if all are taken */
    if (number == 0 || number >= streamer->commands || dwords == 0 || dwords > UINT16_MAX) {
        return;
    }
    for (uint32_t i = 0; i < PROBES; i++) {
        struct header *const other = place_of(streamer, header, i);
        if (!other->number || other->value == header) {
            place = other;
            break;
        }
    }
    *place = (struct header){.value = header, .number = (uint16_t)number, .dwords = (uint16_t)dwords};
}

void g4_streamer_forget(struct g4_streamer *streamer) {
    memset(streamer->header, 0, sizeof streamer->header);
}

static const struct header *find(struct g4_streamer *streamer, uint32_t header) {
    for (uint32_t i = 0; i < PROBES; i++) {
        const struct header *const place = place_of(streamer, header, i);
        if (!place->number) {
            return NULL;
        }
        if (place->value == header) {
            return place;
        }
    }
    return NULL;
}

/* ---- steps ---- */

static uint32_t copied_dwords(const struct g4_step *step, uint32_t count) {
    const uint32_t present = count > step->dword ? count - step->dword : 0;
    return present < step->count ? present : step->count;
}

/* Whether a copy gives the state the words that it has already. */
static bool changes_nothing(const struct g4_step *step, const uint32_t *words, uint32_t count, const uint32_t *state) {
    return step->kind == G4_STEP_COPY && copied_dwords(step, count) == step->count &&
           memcmp(state + step->target, words + step->dword, step->count * sizeof *words) == 0;
}

static void copy(const struct g4_step *step, const uint32_t *words, uint32_t count, uint32_t *state) {
    const uint32_t copied = copied_dwords(step, count);
    memcpy(state + step->target, words + step->dword, copied * sizeof *words);
    memset(state + step->target + copied, 0, (step->count - copied) * sizeof *words);
}

static void set_vertex_buffers(const struct g4_step *step, const uint32_t *words, uint32_t count, uint32_t *state) {
    for (uint32_t at = step->dword; at + 4 <= count; at += 4) {
        const uint32_t slot = (words[at] & step->mask) >> step->shift;
        if (slot >= step->count) {
            continue;
        }
        uint32_t *const buffer = state + step->target + 4 * (size_t)slot;
        if (!step->condition || words[at] & step->condition) {
            memcpy(buffer, words + at, 4 * sizeof *words);
        } else {
            buffer[0] = words[at];
            buffer[3] = step->addend ? buffer[3] : words[at + 3];
        }
        if (step->tally != G4_NO_PLACE) {
            state[step->tally] |= 1U << slot;
        }
    }
}

static void set_slot(const struct g4_step *step, uint32_t word, const uint32_t *words, uint32_t count,
                     uint32_t *state) {
    const uint32_t slot = (word & step->mask) >> step->shift;
    if (slot < step->addend && step->dword + step->count <= count) {
        memcpy(state + step->target + (size_t)slot * step->count, words + step->dword, step->count * sizeof *words);
    }
}

static void set_vertex_elements(const struct g4_step *step, const uint32_t *words, uint32_t count, uint32_t *state) {
    const uint32_t present = count > step->dword ? (count - step->dword) / 2 : 0;
    const uint32_t elements = present < step->count ? present : step->count;
    memcpy(state + step->target, words + step->dword, 2 * elements * sizeof *words);
    state[step->tally] = elements;
}

/* ---- draws ---- */

/* End the draws that wait.  False: one failed. */
static bool finish_draws(struct run *run) {
    if (run->device && run->result->status == G4_OK) {
        run->result->status = g4_device_finish_draws(run->device, &run->result->draws, run->fault);
    }
    return !run->device || run->result->status == G4_OK;
}

static void start_draw(struct run *run, const uint32_t *words) {
    run->place[run->draws % PLACES] = run->at;
    run->commands[run->draws % PLACES] = run->result->commands;
    run->draws++;
    run->result->last_draw = run->at;
    run->result->last_is_blit = false;
    run->result->status = g4_device_draw_later(run->device, words, run->same_state, &run->result->draws, run->fault);
    run->same_state = true;
}

/* A draw failed: the commands after it do not count. */
static void go_back(struct run *run) {
    const uint32_t failed = run->result->draws % PLACES;
    run->result->last_draw = run->result->last = run->place[failed];
    run->result->last_is_blit = false;
    run->result->commands = run->commands[failed];
}

/* ---- steps that access memory ---- */

enum outcome {
    DONE,
    LEFT,
    DRAW,
    FAILED, /* a draw that waited */
};

/* Copies the constants now: later writes to the buffer must not change the draws that follow. */
static enum outcome load_constants(struct run *run, const struct g4_step *step, uint32_t word, uint32_t *state) {
    struct g4_streamer *const streamer = run->streamer;
    const uint32_t wanted = 2 * ((word & step->addend) + 1);
    const uint32_t rows = wanted < step->count ? wanted : step->count;
    const g4_address address = (streamer->constants_absolute ? 0 : state[step->base]) + (word & step->mask);
    if (run->device && g4_device_waits_for(run->device, address, rows * 32) && !finish_draws(run)) {
        return FAILED;
    }
    if (!g4_mem_peek(streamer->port->mem, address, state + step->target, rows * 32)) {
        return LEFT;
    }
    state[step->tally] = rows;
    return DONE;
}

static enum outcome write_words(struct run *run, g4_address address, const uint32_t *words) {
    const struct g4_streamer *const streamer = run->streamer;
    const size_t size = 2 * sizeof *words;

    run->same_state = false;
    run->rewritten =
        run->rewritten || (address < streamer->watched + streamer->watched_bytes && address + size > streamer->watched);
    if (run->device && g4_device_write_later(run->device, address, words)) {
        return DONE;
    }
    if (!finish_draws(run)) {
        return FAILED;
    }
    (void)g4_mem_write(streamer->port, address, words, size);
    return DONE;
}

/* Loads a register from memory.  Python does it where nothing is mapped, and reports that. */
static enum outcome load_register(struct run *run, const struct g4_step *step, const uint32_t *words, uint32_t count,
                                  uint32_t *state) {
    const bool far = step->kind == G4_STEP_LOAD_64;
    if (step->dword >= count || step->condition_dword + far >= count) {
        return LEFT;
    }
    const uint32_t number = ((words[step->dword] & step->mask) - step->addend) / sizeof *state;
    const g4_address high = far ? (g4_address)words[step->condition_dword + 1] << 32 : 0;
    const g4_address address = g4_low_48(high | (words[step->condition_dword] & step->condition));
    if (number >= step->count) {
        return LEFT;
    }
    if (run->device && g4_device_waits_for(run->device, address, sizeof *state) && !finish_draws(run)) {
        return FAILED;
    }
    return g4_mem_peek(run->streamer->port->mem, address, state + step->target + number, sizeof *state) ? DONE : LEFT;
}

/* Python reports a blit that is too large. */
static enum outcome blit(struct run *run, g4_load_blit_fn *load, const uint32_t *words) {
    struct g4_blitter *const blitter = run->streamer->blitter;
    struct g4_blt blt;

    if (!blitter || !load || !load(blitter, words, run->device->ctx.gen, &blt)) {
        return LEFT;
    }
    const uint64_t pixels = g4_blt_pixels(&blt);
    if (pixels > blitter->budget) {
        return LEFT;
    }
    if (!finish_draws(run)) {
        return FAILED;
    }
    blitter->budget -= pixels;
    (void)g4_blt(blitter->port, &blt); /* the port logs unmapped accesses */
    run->result->blits++;
    run->result->last_draw = run->at;
    run->result->last_is_blit = true;
    return DONE;
}

/* ---- steps ---- */

/* Run the steps of a command up to its end or its draw. */
static enum outcome run_steps(struct run *run, const struct command *command, const uint32_t *words, uint32_t count) {
    uint32_t *const state = (uint32_t *)run->streamer->state;
    enum outcome outcome = DONE;

    if (command->ends_wait && !finish_draws(run)) {
        return FAILED;
    }
    for (uint32_t i = 0; i < command->steps; i++) {
        const struct g4_step *const step = &command->step[i];
        const uint32_t word = step->dword < count ? words[step->dword] : 0;
        const bool holds =
            !step->condition || (step->condition_dword < count && words[step->condition_dword] & step->condition);
        run->same_state = run->same_state &&
                          ((i < 64 && command->spares_state >> i & 1) || changes_nothing(step, words, count, state));
        switch ((enum g4_step_kind)step->kind) {
        case G4_STEP_FIELD:
            if (holds) {
                state[step->target] = ((word & step->mask) >> step->shift) + step->addend +
                                      (step->base == G4_NO_PLACE ? 0 : state[step->base]);
            }
            break;
        case G4_STEP_FLAG:
            state[step->target] = (word & step->mask) != 0;
            break;
        case G4_STEP_COPY:
            copy(step, words, count, state);
            break;
        case G4_STEP_VERTEX_BUFFERS:
            set_vertex_buffers(step, words, count, state);
            break;
        case G4_STEP_VERTEX_ELEMENTS:
            set_vertex_elements(step, words, count, state);
            break;
        case G4_STEP_CONSTANTS:
            outcome = holds ? load_constants(run, step, word, state) : DONE;
            break;
        case G4_STEP_WRITE:
            if (holds && step->count + 2 <= count) {
                outcome = write_words(run, word & step->mask, words + step->count);
            }
            break;
        case G4_STEP_WRITE_64:
            if (holds && step->count + 2 <= count && step->dword + 1 < count) {
                const g4_address high = (g4_address)words[step->dword + 1] << 32;
                outcome = write_words(run, g4_low_48(high | (word & step->mask)), words + step->count);
            }
            break;
        case G4_STEP_LOAD:
        case G4_STEP_LOAD_64:
            outcome = load_register(run, step, words, count, state);
            break;
        case G4_STEP_SLOT:
            set_slot(step, word, words, count, state);
            break;
        case G4_STEP_DRAW:
            return DRAW;
        case G4_STEP_FILL:
            outcome = run->device ? blit(run, run->device->ctx.model->load_fill, words) : LEFT;
            break;
        case G4_STEP_COPY_BLIT:
            outcome = run->device ? blit(run, run->device->ctx.model->load_copy, words) : LEFT;
            break;
        case G4_STEP_LEAVE_IF:
            if (word & step->mask) {
                return LEFT;
            }
            break;
        case G4_STEP_LEAVE_IF_0:
            if (!(word & step->mask)) {
                return LEFT;
            }
            break;
        case G4_STEP_LEAVE_IN:
            if (state[step->base]) {
                return LEFT;
            }
            break;
        case G4_STEP_MOVE:
            memcpy(state + step->target, state + step->base, step->count * sizeof *state);
            break;
        }
        if (outcome != DONE) {
            return outcome;
        }
    }
    return DONE;
}

/* ---- commands ---- */

enum g4_streamer_done g4_streamer_execute(struct g4_streamer *streamer, uint32_t number, const uint32_t *words,
                                          uint32_t count) {
    struct run run = {.streamer = streamer};
    if (number >= streamer->commands || run_steps(&run, &streamer->command[number], words, count) != DONE) {
        return G4_STREAMER_LEFT;
    }
    return run.rewritten ? G4_STREAMER_REWRITTEN : G4_STREAMER_DONE;
}

uint32_t g4_streamer_run(struct g4_streamer *streamer, const uint32_t *words, uint32_t at, uint32_t end,
                         struct g4_device *device, struct g4_fault *fault, struct g4_streamer_run *result) {
    struct run run = {.streamer = streamer, .device = device, .fault = fault, .result = result};

    memset(result, 0, sizeof *result);
    while (at < end && result->status == G4_OK && !run.rewritten) {
        run.at = at;
        const struct header *const header = find(streamer, words[at]);
        if (!header || header->dwords > end - at) {
            break;
        }
        const enum outcome outcome = run_steps(&run, &streamer->command[header->number], words + at, header->dwords);
        if (outcome == LEFT || outcome == FAILED || (outcome == DRAW && !device)) {
            break;
        }
        result->commands++;
        result->last = at;
        if (outcome == DRAW) {
            start_draw(&run, words + at);
        }
        at += header->dwords;
    }
    result->rewritten = run.rewritten;
    (void)finish_draws(&run);
    if (result->status != G4_OK) {
        go_back(&run);
        return result->last;
    }
    return at;
}
