/*
 * VFE's generic mode, with retained data, and the coefficients of IS mode (G45 PRM vol. 2, 10.4.2).
 */
#include "hw_messages.h"
#include "media/media.h"

enum {
    ROW_BYTES = 32,
};

/* Returns the value, then increments (G45 PRM vol. 2, 10.4.3). */
uint32_t g4_vfe_count(struct g4_media *media, const struct g4_media_command *command) {
    const struct g4_vfe *const vfe = &media->vfe;
    struct g4_state *const state = g4_media_context(media)->state;
    const bool vld = vfe->mode == G4_VFE_MODE_VLD;
    const bool plain = vfe->mode == G4_VFE_MODE_GENERIC || vfe->mode == G4_VFE_MODE_IS;
    const uint32_t object_id = plain || vld ? command->object_id : vfe->object_id;

    switch (vfe->counter_control) {
    case G4_DEBUG_COUNTER_CONTROL_FROZEN:
        return media->debug_counter;
    case G4_DEBUG_COUNTER_CONTROL_INITIALIZED_ONCE:
        if (!state->media_counter_set) {
            media->debug_counter = object_id;
            state->media_counter_set = 1;
        }
        break;
    case G4_DEBUG_COUNTER_CONTROL_INITIALIZED_ALWAYS:
        if (plain) {
            media->debug_counter = object_id;
        } else {
            g4_media_bad(media, vfe->counter_control);
        }
        break;
    default:
        break;
    }
    const uint32_t value = media->debug_counter & 0xffffff;
    media->debug_counter = (value + 1) & 0xffffff;
    return value;
}

struct g4_media_root *g4_vfe_new_root(struct g4_media *media, const struct g4_media_command *command,
                                      uint32_t descriptor, enum g4_status *status) {
    const uint32_t group = g4_ts_join_group(media, command, status);
    struct g4_media_root *const root = *status == G4_OK ? g4_ts_take(media, status) : NULL;
    if (root) {
        root->descriptor = g4_vfe_descriptor(media, descriptor);
        root->thread_count = g4_vfe_count(media, command);
        root->synchronized = command->synchronized;
        root->keeps_entry |= command->children;
        root->place = command->place;
        root->color = command->color;
        root->fence = command->fence;
        root->dependencies = command->dependencies & media->vfe.dependencies;
        root->group = group;
        root->rows = 0;
    }
    return root;
}

uint32_t g4_vfe_fill(struct g4_media *media, struct g4_media_root *root, uint32_t row, const void *data, size_t size) {
    const size_t rows = (size + ROW_BYTES - 1) / ROW_BYTES;
    const size_t capacity = row < G4_MEDIA_ROWS ? G4_MEDIA_ROWS - row : 0;

    if (rows > capacity) {
        g4_media_bad(media, (uint32_t)(row + rows));
        size = capacity * ROW_BYTES;
    }
    if (size) {
        const size_t fit = rows < capacity ? rows : capacity;
        memset(root->data[row], 0, fit * ROW_BYTES);
        memcpy(root->data[row], data, size);
        row += (uint32_t)fit;
    }
    root->rows = row;
    return row;
}

/* The descriptor number of an object, through the table of the extended state. */
static uint32_t remapped(const struct g4_vfe *vfe, uint32_t offset) {
    const bool remaps = vfe->extended && vfe->mode != G4_VFE_MODE_VLD && offset < 16;
    return remaps ? vfe->remap[offset] : offset;
}

/* The last 256 bits of an object's data precede the data of the next one, whose length includes them. */
static void retain(struct g4_media *media, const struct g4_media_command *command) {
    struct g4_state *const state = g4_media_context(media)->state;

    state->media_retains = command->retain && media->indirect_length >= ROW_BYTES;
    if (state->media_retains) {
        memcpy(state->media_retained, media->indirect + media->indirect_length - ROW_BYTES, ROW_BYTES);
    }
}

enum g4_status g4_vfe_generic(struct g4_media *media, const struct g4_media_command *command) {
    const struct g4_state *const state = g4_media_context(media)->state;
    enum g4_status status;
    struct g4_media_root *const root =
        g4_vfe_new_root(media, command, remapped(&media->vfe, command->descriptor_offset), &status);
    if (!root) {
        return status;
    }
    root->mode = G4_VFE_MODE_GENERIC; /* MEDIA_OBJECT_PRT is generic in all modes */
    uint32_t row = g4_vfe_fill(media, root, 0, command->words, command->count * sizeof *command->words);
    if (command->indirect_length) {
        uint32_t length = media->indirect_length;
        if (state->media_retains) {
            row = g4_vfe_fill(media, root, row, state->media_retained, ROW_BYTES);
            length = length > ROW_BYTES ? length - ROW_BYTES : 0;
        }
        (void)g4_vfe_fill(media, root, row, media->indirect, length);
    }
    retain(media, command);
    g4_ts_put(media);
    return G4_OK;
}

enum g4_status g4_vfe_is(struct g4_media *media, const struct g4_media_command *command) {
    enum g4_status status;
    bool coded[G4_MEDIA_BLOCKS];
    if (command->count < 10) {
        g4_media_bad(media, command->count);
        return G4_OK;
    }
    media->ctx->model->media->load_is_coded(media->ctx, command->words, coded);
    struct g4_media_root *const root = g4_vfe_new_root(media, command, command->descriptor_offset, &status);
    if (!root) {
        return status;
    }
    uint32_t row = g4_vfe_fill(media, root, 0, command->words, command->count * sizeof *command->words);
    const uint32_t units = media->indirect_length / 4;
    uint32_t at = 0;
    for (int b = 0; b < G4_MEDIA_BLOCKS; b++) {
        int16_t block[64] = {0};
        bool end = !coded[b];
        while (!end && at < units) { /* the end of the data ends the block */
            const uint32_t dword = g4_media_dword(media, at++);
            struct g4_coefficient unit;
            g4_coefficient_unpack(&dword, g4_media_context(media)->gen, &unit);
            block[unit.index] = (int16_t)unit.coefficient;
            end = unit.end_of_block;
        }
        if (coded[b]) {
            row = g4_vfe_fill(media, root, row, block, sizeof block);
        }
    }
    g4_ts_put(media);
    return G4_OK;
}
