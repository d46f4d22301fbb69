/*
 * PNG files (image/png.c).
 */
#ifndef G4_API_PNG_H
#define G4_API_PNG_H

#include "api/blake3.h"
#include "api/status.h"

/* Encodes pictures, one after the other; used by one thread at a time. */
struct g4_png;

struct g4_png *g4_png_new(void);
void g4_png_free(struct g4_png *png);
/* Begins a picture of 8-bit grey, RGB or RGBA pixels (1, 3 or 4 channels), or of 16-bit grey ones in the order of this
 * machine. */
enum g4_status g4_png_start(struct g4_png *png, uint32_t width, uint32_t height, uint32_t channels, bool wide);
/* Bytes of file that `rows` rows of the picture have at most. */
size_t g4_png_bound(const struct g4_png *png, uint32_t rows);
/* Appends the rows from `top` on, which follow those of the last call, and returns the size of this piece of the file.
 * `pixels` is the whole picture, of `size` bytes; `capacity` is at least g4_png_bound() and less than 2 GiB.  The rows
 * are added to `digest`, unless it is NULL.  0: an argument that does not fit. */
size_t g4_png_rows(struct g4_png *png, const void *pixels, size_t size, uint32_t top, uint32_t rows, uint8_t *file,
                   size_t capacity, struct g4_blake3 *digest);

#endif
