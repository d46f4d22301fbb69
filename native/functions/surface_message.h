/*
 * Messages to typed surfaces (typed_surface.c).
 */
#ifndef G4_SURFACE_MESSAGE_H
#define G4_SURFACE_MESSAGE_H

#include "eu/eu.h"

/* The slots of a typed message: the pixels of the header's mask that its eight channels are. */
enum g4_typed_slots {
    G4_SLOTS_OF_GROUP, /* as the descriptor's slot group says */
    G4_SLOTS_LOW,
    G4_SLOTS_HIGH,
    G4_SLOTS_4X2, /* the first channel of each half register */
};

enum g4_typed_slots g4_typed_slots_gen75(uint32_t descriptor);

enum g4_status g4_typed_surface_read(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                     enum g4_typed_slots slots);
enum g4_status g4_typed_surface_write(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                      enum g4_typed_slots slots);
enum g4_status g4_typed_surface_atomic(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send,
                                       enum g4_typed_slots slots);

#endif
