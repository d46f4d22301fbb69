/* Notes for captures of a program's GL calls: shaders, programs, labels, draws (`gen4emu capture --gl`).
 *
 * A note is a header, words, and text; docs/formats.md has the words of each kind, gen4emu/trace/gl_notes.py reads
 * them. Notes wait here until the shim sends the next batch to the server.
 */
#ifndef GL_NOTES_H
#define GL_NOTES_H
#include <stddef.h>
#include <stdint.h>

#include "enums.h"

struct gl_note {
    uint16_t kind;
    uint16_t thread; /* of the program, from 0 */
    uint32_t size;   /* bytes that follow */
};

enum gl_note_limits {
    GL_NOTE_MAX_TEXT = 1 << 20,
    GL_NOTE_MAX_NAME = 1024,      /* of labels, groups and markers */
    GL_NOTE_MAX_WAITING = 1 << 26 /* bytes */
};

/* Add a note with `count` words.  Longer text is cut. */
void note(enum gl_note_kind kind, const uint32_t *words, size_t count, const char *text, size_t length);
/* As note(), with the pieces of a text; a length below 0, or lengths of NULL: up to the zero byte. */
void note_pieces(enum gl_note_kind kind, const uint32_t *words, size_t count, int pieces, const char *const *texts,
                 const int *lengths);

#endif
