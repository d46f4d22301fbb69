#include "media/checkpoint.h"

bool g4_media_save(const struct g4_media *media, struct g4_media_checkpoint *image) {
    if (media->roots || media->children || media->live_threads || media->units) {
        return false;
    }
    image->command = media->command;
    image->vfe = media->vfe;
    image->debug_counter = media->debug_counter;
    image->vc1 = media->vc1;
    memcpy(image->urb, media->urb, sizeof image->urb);
    image->entries_used = media->entries_used;
    image->fftids_used = media->fftids_used;
    image->slots_used = media->slots_used;
    image->roots_first = media->roots_first;
    image->children_first = media->children_first;
    image->fenced = media->fenced;
    image->counts = media->counts;
    image->written = media->written;
    return true;
}

void g4_media_load(struct g4_media *media, const struct g4_media_checkpoint *image) {
    g4_ts_clear(media);
    media->command = image->command;
    media->vfe = image->vfe;
    media->debug_counter = image->debug_counter;
    media->vc1 = image->vc1;
    memcpy(media->urb, image->urb, sizeof media->urb);
    media->entries_used = image->entries_used;
    media->fftids_used = image->fftids_used;
    media->slots_used = image->slots_used;
    media->roots_first = image->roots_first;
    media->children_first = image->children_first;
    media->fenced = image->fenced;
    media->counts = image->counts;
    media->written = image->written;
}
