/* The i915 driver's answers about the emulated chip: parameters, capabilities, queries, registers. */
#ifndef SHIM_CHIPS_H
#define SHIM_CHIPS_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"

bool chip_has_engine(const struct drm_file *file, enum g4_live_engine engine);
/* The engine of an I915_ENGINE_CLASS_* and an instance; -1 if the chip has none. */
int chip_engine_of_class(const struct drm_file *file, uint16_t class, uint16_t instance);
/* The I915_ENGINE_CLASS_* of an engine. */
uint16_t chip_class_of_engine(enum g4_live_engine engine);
/* The kernel's scheduler respects priorities. */
bool chip_has_priorities(const struct drm_file *file);
/* The kernel's scheduler can interrupt a running batch. */
bool chip_can_preempt(const struct drm_file *file);
/* Whether a buffer can have tiles with this pitch; `mode` is an I915_TILING_*. */
bool chip_can_tile(const struct drm_file *file, uint32_t mode, uint32_t pitch);
bool chip_can_snoop(const struct drm_file *file);
bool chip_has_secure_batches(const struct drm_file *file);
/* EXECBUFFER2 may reset the offsets of stream output. */
bool chip_can_reset_offsets(const struct drm_file *file);
/* Buffers may be memory of the program. */
bool chip_has_user_pages(const struct drm_file *file);
/* True if addresses have 48 bits. */
bool chip_is_wide(const struct drm_file *file);
uint64_t chip_gtt_size(const struct drm_file *file);
/* Clients see 48-bit addresses in canonical form: bits 63 to 48 repeat bit 47. */
uint64_t chip_address_to_client(const struct drm_file *file, uint64_t address);
uint64_t chip_address_from_client(const struct drm_file *file, uint64_t address);

int chip_version(struct drm_file *file, void *argument, uint32_t size);
int chip_get_param(struct drm_file *file, void *argument, uint32_t size);
int chip_get_cap(struct drm_file *file, void *argument, uint32_t size);
int chip_query(struct drm_file *file, void *argument, uint32_t size);
int chip_read_register(struct drm_file *file, void *argument, uint32_t size);

#endif
