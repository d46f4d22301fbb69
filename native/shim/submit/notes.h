/* Notes about GL calls, from the library that `gen4emu capture --gl` also preloads (native/gl/notes.h). */
#ifndef SHIM_NOTES_H
#define SHIM_NOTES_H
#include <stdbool.h>
#include <stddef.h>

#include "shim/device/connection.h"

/* Copies waiting bytes, and returns 0 when there are none. */
typedef size_t notes_source(void *buffer, size_t size);

void notes_set_source(notes_source *source);
/* Send the notes that wait.  False: the server is gone. */
bool notes_send(struct connection *connection);

#endif
