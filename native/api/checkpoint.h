/*
 * The state of a device between submissions, for checkpoints (draw/checkpoint.c, core/memory_image.c).
 */
#ifndef G4_API_CHECKPOINT_H
#define G4_API_CHECKPOINT_H

#include "api/device.h"

/* The bytes of the state that a device has outside of memory and of struct g4_state. */
size_t g4_device_image_size(void);
/* False, with nothing saved, while media threads run. */
bool g4_device_save(const struct g4_device *device, void *image);
/* `image` comes from g4_device_save of the same build. */
void g4_device_load(struct g4_device *device, const void *image);

/* The physical pages that the device owns, in order; at most `capacity`.  Returns how many. */
uint32_t g4_mem_list_pages(const struct g4_mem *mem, uint64_t *pages, uint32_t capacity);
/* Copy whole physical pages; absent ones read as zeros. */
void g4_mem_copy_pages(const struct g4_mem *mem, const uint64_t *pages, uint32_t count, uint8_t *bytes);
/* Write whole physical pages from bytes[i]; G4_NO_MEMORY: not all. */
enum g4_status g4_mem_write_pages(struct g4_mem *mem, const uint64_t *pages, uint32_t count,
                                  const uint8_t *const *bytes);
/* Page table entries, as many as the first 4 GiB have pages. */
const uint32_t *g4_mem_gtt(const struct g4_mem *mem);
/* Graphics pages whose reads or writes failed, and which of both (enum g4_page_flags); returns how many there are, of
 * which the first `capacity` are listed. */
uint32_t g4_mem_list_missed(const struct g4_mem *mem, uint64_t *pages, uint8_t *flags, uint32_t capacity);
void g4_mem_set_missed(struct g4_mem *mem, uint64_t page, uint8_t flags);

#endif
