/* The i915 driver's answers about the emulated chip: parameters, capabilities, queries, registers. */
#ifndef SHIM_CHIPS_H
#define SHIM_CHIPS_H
#include <stdbool.h>
#include <stdint.h>

#include "shim/device/drm_file.h"

/* True for Cantiga and Eaglelake, false for Broadwater and Crestline. */
bool chip_has_video_engine(const struct drm_file *file);
bool chip_can_snoop(const struct drm_file *file);

int chip_version(struct drm_file *file, void *argument, uint32_t size);
int chip_get_param(struct drm_file *file, void *argument, uint32_t size);
int chip_get_cap(struct drm_file *file, void *argument, uint32_t size);
int chip_query(struct drm_file *file, void *argument, uint32_t size);
int chip_read_register(struct drm_file *file, void *argument, uint32_t size);

#endif
