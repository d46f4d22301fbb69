/*
 * The state of the media pipeline while no thread runs, for checkpoints.
 */
#ifndef G4_MEDIA_CHECKPOINT_H
#define G4_MEDIA_CHECKPOINT_H

#include "media/media.h"

struct g4_media_checkpoint {
    g4_address command;
    struct g4_vfe vfe;
    uint32_t debug_counter;
    struct g4_media_vc1 vc1;
    uint32_t urb[G4_MEDIA_URB_ROWS][8];
    uint64_t entries_used, fftids_used, slots_used;
    uint32_t roots_first, children_first;
    bool fenced;
    struct g4_media_counts counts;
    struct g4_written written;
};

/* False, with nothing saved, while threads run or wait. */
bool g4_media_save(const struct g4_media *media, struct g4_media_checkpoint *image);
void g4_media_load(struct g4_media *media, const struct g4_media_checkpoint *image);

#endif
