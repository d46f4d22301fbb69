/*
 * MEDIA_OBJECT_WALKER: VFE walks over the positions of a picture and starts a thread for each (IVB PRM vol. 2 part 2,
 * media walker; docs/decisions.md 122).  Dual mode, quad mode and repel change only where threads run, so they have no
 * effect here.
 */
#include "media/media.h"

enum {
    MOST_LINES = 1 << 22 /* of the innermost loop, whose positions are at most 512x512 */
};

struct walk {
    struct g4_media *media;
    struct g4_media_command command; /* of the next thread */
    uint32_t lines;
};

/* A pass of a loop begins.  Groups are numbered in the order of the walk (docs/decisions.md 191). */
static void begin_pass(struct walk *w, enum g4_group_loop loop) {
    if (w->command.walk.group_loop == loop) {
        w->command.group++;
    }
}

static bool is_inside(struct g4_media_position p, struct g4_media_position size) {
    return p.x >= 0 && p.y >= 0 && p.x < size.x && p.y < size.y;
}

static struct g4_media_position step(struct g4_media_position from, struct g4_media_position by, int32_t times) {
    return (struct g4_media_position){from.x + by.x * times, from.y + by.y * times};
}

static enum g4_status start(struct walk *w, struct g4_media_position place) {
    enum g4_status status = G4_OK;

    w->command.place = place;
    begin_pass(w, G4_GROUP_LOOP_COLORS);
    for (uint32_t color = 0; status == G4_OK && color < w->command.walk.colors; color++) {
        w->command.color = color;
        status = g4_vfe_generic(w->media, &w->command);
    }
    return status;
}

/* The steps from `from` on after which a line is inside of 0 to size - 1 in one dimension: *first to *last. */
static void limit(int32_t from, int32_t by, int32_t size, int32_t *first, int32_t *last) {
    int32_t low = 0;
    int32_t high = INT32_MAX;

    if (by > 0) {
        low = from < 0 ? (-from + by - 1) / by : 0;
        high = from < size ? (size - 1 - from) / by : -1;
    } else if (by < 0) {
        low = from >= size ? (from - size - by) / -by : 0;
        high = from >= 0 ? from / -by : -1;
    } else if (from < 0 || from >= size) {
        high = -1;
    }
    *first = low > *first ? low : *first;
    *last = high < *last ? high : *last;
}

/* The innermost loop: from the first position that is in the block to the last one. */
static enum g4_status walk_line(struct walk *w, struct g4_media_position block, struct g4_media_position from) {
    const struct g4_media_walk *const walk = &w->command.walk;
    int32_t first = 0;
    int32_t last = INT32_MAX;
    enum g4_status status = G4_OK;

    begin_pass(w, G4_GROUP_LOOP_LOCAL_INNER);
    limit(from.x, walk->local_inner.x, walk->block.x, &first, &last);
    limit(from.y, walk->local_inner.y, walk->block.y, &first, &last);
    if (walk->local_inner.x == 0 && walk->local_inner.y == 0 && last > first) {
        last = first;
    }
    for (int32_t i = first; status == G4_OK && i <= last; i++) {
        const struct g4_media_position place = step(step(from, walk->local_inner, i), block, 1);
        if (is_inside(place, walk->picture)) {
            status = start(w, place);
        }
    }
    return status;
}

static enum g4_status walk_block(struct walk *w, struct g4_media_position block) {
    const struct g4_media_walk *const walk = &w->command.walk;
    enum g4_status status = G4_OK;

    begin_pass(w, G4_GROUP_LOOP_LOCAL_OUTER);
    for (uint32_t outer = 0; status == G4_OK && outer <= walk->local_steps; outer++) {
        const struct g4_media_position from = step(walk->local_start, walk->local_outer, (int32_t)outer);
        begin_pass(w, G4_GROUP_LOOP_LOCAL_MIDDLE);
        for (uint32_t middle = 0; status == G4_OK && middle <= walk->middle_steps; middle++) {
            if (++w->lines > MOST_LINES) {
                g4_media_bad(w->media, w->lines);
                return G4_OK;
            }
            status = walk_line(w, block, step(from, walk->local_middle, (int32_t)middle));
        }
    }
    return status;
}

enum g4_status g4_vfe_walk(struct g4_media *media, const struct g4_media_command *command) {
    const struct g4_media_walk *const walk = &command->walk;
    struct walk w = {.media = media, .command = *command};
    enum g4_status status = G4_OK;

    g4_ts_complete_groups(media); /* of other commands, whose numbers may be the same */
    w.command.grouped = walk->group_loop != G4_GROUP_LOOP_NONE;
    w.command.group = UINT32_MAX; /* before the first pass */

    for (uint32_t outer = 0; status == G4_OK && outer <= walk->global_steps; outer++) {
        struct g4_media_position block = step(walk->global_start, walk->global_outer, (int32_t)outer);
        const bool moves = walk->global_inner.x || walk->global_inner.y;
        bool inside = is_inside(block, walk->picture);
        begin_pass(&w, G4_GROUP_LOOP_GLOBAL_INNER);
        while (status == G4_OK && inside && w.lines <= MOST_LINES) {
            status = walk_block(&w, block);
            block = step(block, walk->global_inner, 1);
            inside = moves && is_inside(block, walk->picture);
        }
        if (!walk->global_outer.x && !walk->global_outer.y) {
            break; /* the block would be the same again */
        }
    }
    return status;
}
