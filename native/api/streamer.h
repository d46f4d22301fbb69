/*
 * Runs of commands that need no Python: those that only set the state of a context, loads and writes of memory, plain
 * draws and the two blits that drivers use (draw/streamer.c).
 *
 * gen4emu/device/state.py describes each command as a list of steps, with the positions that gen4emu/hw gives its
 * fields.  The command streamer decodes each header once and names its command here; from then on
 * g4_streamer_run executes it.
 */
#ifndef G4_API_STREAMER_H
#define G4_API_STREAMER_H

#include "api/blitter.h"
#include "api/device.h"

enum {
    G4_NO_PLACE = 0xffffffff, /* in the state */
};

enum g4_step_kind {
    G4_STEP_FIELD, /* (word & mask) >> shift, plus addend, plus the dword at base, if there is one */
    G4_STEP_FLAG,  /* 1 if word & mask, else 0 */
    G4_STEP_COPY,  /* `count` dwords from `dword` on; those beyond the end of the command are 0 */
    /* Items of 4 dwords from `dword` on, each to the slot that (item[0] & mask) >> shift names, of which there are
     * `count`.  With a condition, those without its bits in item[0] store their first and last dword only; with an
     * addend, too, their first one only.  The tally has a bit for each slot that has been stored. */
    G4_STEP_VERTEX_BUFFERS,
    G4_STEP_VERTEX_ELEMENTS, /* at most `count` pairs from `dword` on; the tally is their number */
    /* Rows from the address word & mask, plus the dword at base unless constants are absolute: two for each of
     * (word & addend) + 1, at most `count`.  The tally is their number. */
    G4_STEP_CONSTANTS,
    /* A dword from the address in `condition_dword`, of which `condition` is the mask.  word & mask is a register: the
     * `count` registers from addend on have the dwords from the target on; other loads are left to Python. */
    G4_STEP_LOAD,
    G4_STEP_LOAD_64,    /* the same; condition_dword + 1 has bits 32 to 47 of the address */
    G4_STEP_WRITE,      /* two dwords from `count` on to the graphics address word & mask */
    G4_STEP_WRITE_64,   /* the same; dword + 1 has bits 32 to 47 of the address */
    G4_STEP_SLOT,       /* `count` dwords from `dword` on, to slot (word & mask) >> shift of `addend` slots */
    G4_STEP_DRAW,       /* 3DPRIMITIVE; the last step */
    G4_STEP_FILL,       /* XY_COLOR_BLT; clipped fills are left to Python */
    G4_STEP_COPY_BLIT,  /* XY_SRC_COPY_BLT, likewise */
    G4_STEP_MOVE,       /* `count` dwords of the state, from base on */
    G4_STEP_LEAVE_IF,   /* word & mask: Python executes the command; such steps come first */
    G4_STEP_LEAVE_IF_0, /* not word & mask */
    G4_STEP_LEAVE_IN,   /* the dword of the state at base is not 0 */
};

/* `dword` and `condition_dword` are indices into the command; `target`, `base` and `tally` are dwords of struct
 * g4_state, or G4_NO_PLACE.  Steps FIELD, CONSTANTS, WRITE and WRITE_64 are skipped unless the condition holds. */
struct g4_step {
    uint32_t kind; /* enum g4_step_kind */
    uint32_t dword, mask, shift, addend;
    uint32_t condition_dword, condition; /* one of these bits must be set; 0: it holds */
    uint32_t target, base, tally, count;
};

/* The results of g4_streamer_run. */
struct g4_streamer_run {
    uint32_t commands;  /* executed, a draw that failed included */
    uint32_t last;      /* index of the last one of them */
    uint32_t draws;     /* 3DPRIMITIVEs that have ended */
    uint32_t blits;     /* that have ended */
    uint32_t last_draw; /* index of the last one of both, or of the draw that failed */
    bool last_is_blit;
    bool rewritten;  /* the last command has changed commands that are watched */
    uint32_t status; /* enum g4_status of the last draw */
};

/* The result of g4_streamer_execute. */
enum g4_streamer_done {
    G4_STREAMER_LEFT, /* a step leaves the command to Python */
    G4_STREAMER_DONE,
    G4_STREAMER_REWRITTEN, /* done, and it has changed commands that are watched */
};

struct g4_streamer;

/* A streamer without commands.  The caller keeps the state, and the port for writes. */
struct g4_streamer *g4_streamer_new(struct g4_state *state, struct g4_port *port);
void g4_streamer_free(struct g4_streamer *streamer);
/* Add a command, and return its number; 0 if memory is short. */
uint32_t g4_streamer_add(struct g4_streamer *streamer, const struct g4_step *steps, uint32_t count);
/* Execute blits with this blitter, which the caller keeps. */
void g4_streamer_use_blitter(struct g4_streamer *streamer, struct g4_blitter *blitter);
/* Whether CONSTANT_BUFFER has an address instead of an offset (INSTPM). */
void g4_streamer_constants_absolute(struct g4_streamer *streamer, bool absolute);
/* Let a header start the command `number`, of `dwords` dwords. */
void g4_streamer_learn(struct g4_streamer *streamer, uint32_t header, uint32_t number, uint32_t dwords);
/* Forget all headers. */
void g4_streamer_forget(struct g4_streamer *streamer);
/* The words of the next runs were read from this address: a run ends after a command that writes there. */
void g4_streamer_watch(struct g4_streamer *streamer, g4_address address, uint32_t dwords);
/* Read these words from memory, and watch them; false: not all pages are there, and nothing is watched. */
bool g4_streamer_fetch(struct g4_streamer *streamer, g4_address address, uint32_t *words, uint32_t dwords);
/* Execute a command of `count` dwords.  Draws are left to Python. */
enum g4_streamer_done g4_streamer_execute(struct g4_streamer *streamer, uint32_t number, const uint32_t *words,
                                          uint32_t count);
/* Execute the commands from index `at` on while their headers are known, up to `end`, and return the index of the first
 * one that remains.  `device` executes draws, and `fault` describes one that failed; without a device, draws and blits
 * remain. */
uint32_t g4_streamer_run(struct g4_streamer *streamer, const uint32_t *words, uint32_t at, uint32_t end,
                         struct g4_device *device, struct g4_fault *fault, struct g4_streamer_run *run);

#endif
