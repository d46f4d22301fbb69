#include "sampler/sample.h"

#include <math.h>

struct sampling {
    const struct g4_request *q;
    struct g4_sample_work *work;
    const struct g4_sampler_ops *ops;
    struct g4_texel_reader *reader;
    struct g4_parameter u, v, r; /* for cubes on the face */
    bool anisotropic;
    bool keyed;
    uint8_t reduction; /* enum g4_reduction */
    bool cubes;        /* an array of cubes */
};

/* ---- coordinates ---- */

static const float no_coordinate[G4_BATCH];

/* Rounds to nearest even and clamps to 0..last. */
static int32_t array_index(float index, uint32_t last) {
    const float limit = (float)last;
    const float inside = index > 0.0f ? (index < limit ? index : limit) : 0.0f;
    const int32_t whole = (int32_t)inside;
    const float rest = inside - (float)whole;
    return whole + (rest > 0.5f || (rest == 0.5f && (whole & 1)) ? 1 : 0);
}

static void array_slices(struct sampling *s, const struct g4_parameter *index) {
    const struct g4_texture *const texture = s->q->texture;
    const uint32_t first = texture->surface.minimum_array_element;
    const uint32_t last = texture->surface.depth - 1;
    const bool only_first = (s->q->shadow && texture->quirks->compares_ignore_array_index) || last == 0;
    const int32_t start = s->q->shadow && texture->quirks->compares_ignore_array_start ? 0 : (int32_t)first;
    const int32_t elements = (int32_t)texture->sample_elements;

    for (uint32_t i = 0; only_first && i < G4_SAMPLE_LANES; i++) {
        s->work->slice[i] = start * elements;
    }
    for (uint32_t half = 0; !only_first && half < G4_SAMPLE_HALVES; half++) {
        for (uint32_t i = 0; i < G4_BATCH; i++) {
            s->work->slice[half * G4_BATCH + i] = (start + array_index(index->half[half][i], last)) * elements;
        }
    }
}

/* Computes faces and the coordinates on them.  Messages with gradients deliver face coordinates and the face's number.
 */
static void cube_coordinates(struct sampling *s) {
    const struct g4_request *const q = s->q;
    struct g4_sample_work *const work = s->work;

    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        const uint32_t lane = half * G4_BATCH;
        int32_t *const face = &work->slice[lane];
        if (q->lod_source == G4_LOD_GRADIENTS) {
            for (uint32_t i = 0; i < G4_BATCH; i++) {
                face[i] = array_index(q->r.half[half][i], 5);
                work->coordinate[0][lane + i] = (q->u.half[half][i] + 1.0f) * 0.5f;
                work->coordinate[1][lane + i] = (q->v.half[half][i] + 1.0f) * 0.5f;
            }
        } else {
            s->ops->project(q->u.half[half], q->v.half[half], q->r.half[half], G4_BATCH, face,
                            &work->coordinate[0][lane], &work->coordinate[1][lane]);
        }
        s->u.half[half] = &work->coordinate[0][lane];
        s->v.half[half] = &work->coordinate[1][lane];
    }
}

/* Finds the cubes of an array. */
static void find_cubes(struct sampling *s) {
    const uint32_t last = s->q->texture->surface.depth - 1;
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        for (uint32_t i = 0; i < G4_BATCH; i++) {
            s->work->cube[half * G4_BATCH + i] = array_index(s->q->ai.half[half][i], last);
        }
    }
}

/* Runs after the level of detail is known, because that needs the face itself. */
static void add_first_face(struct sampling *s) {
    const int32_t first = (int32_t)s->q->texture->surface.minimum_array_element;
    for (uint32_t i = 0; first && i < G4_SAMPLE_LANES; i++) {
        const int32_t face = s->work->slice[i] + first;
        s->work->slice[i] = face > 5 ? 5 : face;
    }
}

static void find_coordinates(struct sampling *s) {
    const struct g4_request *const q = s->q;

    s->u = q->u;
    s->v = q->v;
    s->r = q->r;
    if (q->texture->cube) {
        cube_coordinates(s);
        if (s->cubes) {
            find_cubes(s);
        }
    } else if (q->texture->surface.type == G4_SURFACE_TYPE_SURFTYPE_1D) {
        array_slices(s, &q->v);
        s->v.half[0] = s->v.half[1] = no_coordinate;
    } else if (!q->texture->volume) {
        array_slices(s, &q->r);
    } else if (q->gather) { /* it has no third coordinate, and is not for volumes: the first slice */
        memset(s->work->slice, 0, sizeof s->work->slice);
    }
}

static void find_references(struct sampling *s) {
    const bool clamp = s->q->texture->clamp_ref;
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        for (uint32_t i = 0; s->q->active[half] && i < G4_BATCH; i++) {
            const float reference = s->q->reference.half[half][i];
            const float low = reference > 0.0f ? reference : 0.0f;
            s->work->reference[half * G4_BATCH + i] = clamp ? (low < 1.0f ? low : 1.0f) : reference;
        }
    }
}

/* ---- filters ---- */

static uint8_t filter_of(const struct g4_request *q, bool magnified) {
    const struct g4_texture *const texture = q->texture;
    const uint8_t filter = q->sampler->filter[magnified];

    if (filter == G4_MAP_FILTER_MONO) {
        return texture->surface.format_code == G4_SURFACE_FORMAT_MONO8 ? G4_MAP_FILTER_MONO : G4_MAP_FILTER_NEAREST;
    }
    if ((filter != G4_MAP_FILTER_LINEAR && filter != G4_MAP_FILTER_ANISOTROPIC) || texture->integers ||
        (!texture->can_filter && !q->shadow)) {
        return G4_MAP_FILTER_NEAREST;
    }
    const bool forced =
        q->force_lod_zero && texture->quirks->forced_lod_filters_linear; /* erratum of Gen4: it does not */
    const bool plain = texture->volume || forced || q->lod_source == G4_LOD_DELIVERED || q->lod_source == G4_LOD_ZERO;
    return plain ? G4_MAP_FILTER_LINEAR : filter;
}

/* ---- batches ---- */

/* Lanes of a half that use the same level, filter and cube as its first lane. */
static uint64_t lanes_alike(const struct sampling *s, uint32_t half, uint32_t like) {
    const uint8_t *const level = &s->work->level[half * G4_BATCH];
    const uint8_t *const magnified = &s->work->magnified[half * G4_BATCH];
    const int32_t *const cube = &s->work->cube[half * G4_BATCH];
    uint64_t alike = 0;
    if (!s->cubes && memcmp(level, level + 1, G4_BATCH - 1) == 0 &&
        memcmp(magnified, magnified + 1, G4_BATCH - 1) == 0) {
        return ~UINT64_C(0);
    }
    for (uint32_t i = 0; i < G4_BATCH; i++) {
        const bool same = level[i] == level[like] && magnified[i] == magnified[like];
        alike |= (uint64_t)(same && (!s->cubes || cube[i] == cube[like])) << i;
    }
    return alike;
}

static void use_all_lanes(struct sampling *s, uint32_t half) {
    struct g4_batch *const b = &s->work->batch;
    const uint32_t lane = half * G4_BATCH;

    b->n = G4_BATCH;
    b->u = s->u.half[half];
    b->v = s->v.half[half];
    b->r = s->r.half[half];
    b->slice = &s->work->slice[lane];
    b->reference = &s->work->reference[lane];
    for (uint32_t i = 0; s->anisotropic && i < G4_BATCH; i++) {
        s->work->anisotropy.step[0][i] = s->work->step[0][lane + i];
        s->work->anisotropy.step[1][i] = s->work->step[1][lane + i];
        s->work->anisotropy.ratio[i] = s->work->ratio[lane + i];
    }
}

static void use_lanes(struct sampling *s, uint32_t half, uint64_t lanes) {
    struct g4_sample_work *const work = s->work;
    struct g4_batch *const b = &work->batch;
    uint32_t n = 0;

    for (; lanes; lanes &= lanes - 1) {
        const uint32_t i = (uint32_t)__builtin_ctzll(lanes);
        const uint32_t lane = half * G4_BATCH + i;
        work->lane[n] = (uint8_t)i;
        work->u[n] = s->u.half[half][i];
        work->v[n] = s->v.half[half][i];
        work->r[n] = s->r.half[half][i];
        work->batch_slice[n] = work->slice[lane];
        work->batch_reference[n] = work->reference[lane];
        if (s->anisotropic) {
            work->anisotropy.step[0][n] = work->step[0][lane];
            work->anisotropy.step[1][n] = work->step[1][lane];
            work->anisotropy.ratio[n] = work->ratio[lane];
        }
        n++;
    }
    b->n = n;
    b->u = work->u;
    b->v = work->v;
    b->r = work->r;
    b->slice = work->batch_slice;
    b->reference = work->batch_reference;
}

static void run_lanes(struct sampling *s, uint32_t half, uint64_t lanes, uint32_t second) {
    struct g4_sample_work *const work = s->work;
    struct g4_batch *const b = &work->batch;
    const uint32_t first = half * G4_BATCH + (uint32_t)__builtin_ctzll(lanes);
    const bool all = lanes == ~UINT64_C(0);

    if (all) {
        use_all_lanes(s, half);
    } else {
        use_lanes(s, half, lanes);
    }
    const uint32_t level = work->level[first] + second;
    b->texture = s->q->texture;
    b->sampler = s->q->sampler;
    b->level = level > b->texture->max_level ? b->texture->max_level : level;
    b->magnified = work->magnified[first];
    b->filter = s->q->gather ? (uint8_t)G4_MAP_FILTER_LINEAR : filter_of(s->q, b->magnified);
    b->gather = s->q->gather;
    b->gathered = s->q->gathered;
    b->shadow = s->q->shadow;
    b->first_slice = 0;
    if (b->texture->cube && b->texture->surface.faces_are_elements) {
        b->first_slice = b->texture->surface.minimum_array_element + (s->cubes ? 6 * (uint32_t)work->cube[first] : 0);
    }
    b->keyed = s->keyed;
    b->reduction = s->reduction;
    b->anisotropy = &work->anisotropy;
    memcpy(b->offset, s->q->offset, sizeof b->offset);
    g4_filter_run(b, s->ops, s->reader);

    const uint32_t components = b->gather ? 4 : b->shadow ? 1 : b->texture->components;
    for (uint32_t k = 0; k < components; k++) {
        float *const result = &work->result[second][k][half * G4_BATCH];
        if (all) {
            memcpy(result, b->out[k], sizeof b->out[k]);
        }
        for (uint32_t i = 0; !all && i < b->n; i++) {
            result[work->lane[i]] = b->out[k][i];
        }
    }
    for (uint32_t i = 0; b->killed && i < b->n; i++) {
        const uint32_t lane = all ? i : work->lane[i];
        work->killed[half] |= (b->killed >> i & 1) << lane;
    }
}

static void run_half(struct sampling *s, uint32_t half, uint64_t lanes, uint32_t second) {
    while (lanes) {
        const uint64_t alike = lanes & lanes_alike(s, half, (uint32_t)__builtin_ctzll(lanes));
        run_lanes(s, half, alike, second);
        lanes &= ~alike;
    }
}

/* Lanes that mix two levels. */
static uint64_t lanes_between(const struct g4_sample_work *work, uint32_t half) {
    uint64_t lanes = 0;
    int32_t any = 0;
    for (uint32_t i = 0; i < G4_BATCH; i++) {
        any |= work->beta[half * G4_BATCH + i];
    }
    for (uint32_t i = 0; any && i < G4_BATCH; i++) {
        lanes |= (uint64_t)(work->beta[half * G4_BATCH + i] != 0) << i;
    }
    return lanes;
}

static bool is_anisotropic(const struct g4_request *q) {
    return filter_of(q, false) == G4_MAP_FILTER_ANISOTROPIC || filter_of(q, true) == G4_MAP_FILTER_ANISOTROPIC;
}

void g4_sample_prepare(const struct g4_request *request, struct g4_sample_work *work,
                       const struct g4_sampler_ops *ops) {
    struct sampling s = {.q = request, .work = work, .ops = ops};
    find_coordinates(&s);
}

/* gather4 reads the first level, whatever the sampler's filters (IVB PRM vol. 4 part 1, load4). */
static void use_first_level(const struct g4_texture *texture, struct g4_sample_work *work) {
    memset(work->level, (int)texture->min_lod, sizeof work->level);
    memset(work->magnified, 1, sizeof work->magnified);
    memset(work->beta, 0, sizeof work->beta);
}

void g4_sample(const struct g4_request *request, struct g4_sample_work *work, const struct g4_sampler_ops *ops,
               struct g4_texel_reader *reader) {
    const struct g4_texture *const texture = request->texture;
    struct sampling s = {
        .q = request,
        .work = work,
        .ops = ops,
        .reader = reader,
        .anisotropic = !request->gather && is_anisotropic(request),
        .keyed = request->sampler->keyed && (texture->format->chroma_key & texture->gen) && !texture->volume,
        .reduction = request->shadow ? G4_REDUCTION_MEAN : request->sampler->reduction,
    };
    s.cubes = texture->cube && texture->surface.faces_are_elements && texture->surface.depth > 1;
    work->killed[0] = work->killed[1] = 0;
    find_coordinates(&s);
    if (request->shadow) {
        find_references(&s);
    }
    if (request->gather) {
        use_first_level(texture, work);
    } else {
        texture->lod_rules->sample(request, work, ops, s.anisotropic);
    }
    if (texture->cube && !texture->surface.faces_are_elements) {
        add_first_face(&s);
    }
    for (uint32_t half = 0; half < G4_SAMPLE_HALVES; half++) {
        const uint64_t active = request->active[half];
        if (!active) {
            continue;
        }
        run_half(&s, half, active, 0);
        const uint64_t mixed = texture->integers ? 0 : active & lanes_between(work, half);
        if (!mixed) {
            continue;
        }
        run_half(&s, half, mixed, 1);
        const uint32_t components = request->shadow ? 1 : texture->components;
        for (uint32_t k = 0; k < components; k++) {
            float *const low = &work->result[0][k][half * G4_BATCH];
            const float *const high = &work->result[1][k][half * G4_BATCH];
            if (s.reduction == G4_REDUCTION_MEAN) {
                ops->between(low, high, &work->beta[half * G4_BATCH], G4_BATCH, low);
            }
            for (uint32_t i = 0; s.reduction != G4_REDUCTION_MEAN && i < G4_BATCH; i++) {
                low[i] = mixed >> i & 1 ? g4_reduce(s.reduction, low[i], high[i]) : low[i];
            }
        }
    }
}
