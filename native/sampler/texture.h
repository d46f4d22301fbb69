/*
 * A surface and a sampler, unpacked for the sampling engine once per draw and worker (965 PRM vol. 4, 4.7).
 */
#ifndef G4_SAMPLER_TEXTURE_H
#define G4_SAMPLER_TEXTURE_H

#include "core/surface.h"
#include "sampler/media_image.h"
#include "sampler/scaler.h"

enum {
    G4_TEXTURE_LEVELS = 31, /* Surface Min LOD and MIP Count are 4 bits each */
    G4_ONE = 0x3f800000,    /* 1.0f */
};

/* The source of an output channel: a stored component, or a constant. */
enum {
    G4_SOURCE_ZERO = 4,
    G4_SOURCE_ONE = 5,
};

/* How the vector path converts the bits of a component. */
enum g4_component_kind {
    G4_COMPONENT_UNORM8,
    G4_COMPONENT_UNORM,
    G4_COMPONENT_SRGB, /* by a table */
    G4_COMPONENT_BITS, /* 32 bits, not converted */
    G4_COMPONENT_HALF,
    G4_COMPONENT_UINT, /* only loaded, never filtered; so is the next */
    G4_COMPONENT_SINT,
};

struct g4_component {
    uint32_t shift, mask;
    uint8_t word; /* dword of the texel */
    uint8_t kind;
    float maximum;
    float high, low;      /* their sum is 1 / maximum */
    const float *decoded; /* by code, for G4_COMPONENT_SRGB */
};

/* How texels of a surface are read. */
enum g4_fetch_kind {
    G4_FETCH_TEXEL,  /* one texel at a time, any format */
    G4_FETCH_PACKED, /* 1, 2 or 4 bytes; components by shift and mask */
    G4_FETCH_BLOCK,  /* compressed: through the cache of decoded blocks */
};

/* The lookups of 2D images, not arrays and without line stride, that have loops of their own. */
enum g4_direct_kind {
    G4_DIRECT_NONE,
    G4_DIRECT_BYTES,  /* 1, 2 or 4 bytes whose channels are 8-bit UNORM or unused (bilinear.c) */
    G4_DIRECT_WORDS,  /* any texel of 1, 2, 4 or 8 bytes whose components have a g4_component_kind (formats.c) */
    G4_DIRECT_BLOCKS, /* compressed blocks of 4x4 (formats.c) */
};

struct g4_srgb_decoder;

/* How a filter combines its texels.  A compare uses their mean in any case (docs/decisions.md 210). */
enum g4_reduction {
    G4_REDUCTION_MEAN,
    G4_REDUCTION_MINIMUM,
    G4_REDUCTION_MAXIMUM,
};

/* Whether a level of a texture is contiguous in host memory, as it is in guest memory. */
enum g4_contiguity {
    G4_CONTIGUITY_UNKNOWN,
    G4_CONTIGUOUS,
    G4_NOT_CONTIGUOUS,
};

/* Valid for a draw, during which the page table does not change. */
struct g4_contiguous_level {
    uint8_t state;    /* enum g4_contiguity */
    uint32_t lookups; /* while the state was unknown */
    uintptr_t base;   /* if contiguous: host address that graphics address 0 would have; else 0 */
};

/* The number of texels that a block has along an axis, and its reciprocal: 2^18 / size, rounded up. */
struct g4_block_axis {
    uint32_t size, reciprocal;
};

/* The distance of a slice from the first one of its level. */
static inline uint32_t g4_slice_x(const struct g4_level *level, uint32_t slice) {
    return level->slice_dx * (slice & level->slice_mask);
}

static inline uint32_t g4_slice_y(const struct g4_level *level, uint32_t slice) {
    return level->slice_dy * (slice >> level->slice_shift);
}

/* The block that a texel is in.  Exact for the 2^14 texels that a surface may have along an axis. */
static inline uint32_t g4_block_number(const struct g4_block_axis *axis, uint32_t texel) {
    return texel * axis->reciprocal >> 18;
}

struct g4_texture {
    struct g4_surface surface;
    const struct g4_format *format;
    uint32_t gen; /* the part whose support of formats counts */
    const struct g4_quirks *quirks;
    bool null;       /* reads as zeros */
    bool can_sample; /* the chip samples this format */
    bool array;      /* 1D or 2D array */
    bool sampled;    /* several samples a pixel */
    bool volume, cube;
    bool can_filter;
    bool finite;    /* components are never Inf or NaN */
    bool clamp_ref; /* shadow compares clamp the reference: texels are UNORM */
    bool integers;
    bool black_outside; /* erratum: ld out of bounds returns alpha 0 although the format has no alpha */
    uint8_t cube_faces; /* bit f: face f is enabled */
    uint32_t one;       /* 1.0 or integer 1 */
    uint32_t bits;      /* bits of a texel, or of a block if compressed */
    struct g4_block_axis block_columns, block_rows; /* of one texel if not compressed */
    uint32_t parts_across;                          /* of 4x4 texels, in a block */
    uint32_t line_shift, line_offset;               /* vertical line stride */
    uint32_t x_offset, y_offset;                    /* in texels or blocks */
    uint32_t min_lod, mip_count, max_level;
    uint32_t sample_elements; /* array elements of one element's samples */
    const struct g4_lod_rules *lod_rules;

    uint8_t direct;            /* enum g4_direct_kind */
    uint8_t fetch;             /* enum g4_fetch_kind */
    uint8_t components;        /* number of distinct components */
    uint8_t source[4];         /* for R, G, B, A: a component or G4_SOURCE_* */
    uint8_t channel[4];        /* an output channel whose source is component k */
    uint8_t border_channel[4]; /* the border color channel of an output channel */
    uint8_t tested;            /* the output channel that shadow compares use */
    struct g4_component component[4];

    struct g4_level level[G4_TEXTURE_LEVELS];
    struct g4_contiguous_level *contiguous; /* by level; NULL: never tried */
};

/* SAMPLER_STATE of any generation, and the border color. */
struct g4_texture_sampler {
    bool disable;       /* every channel returns 0 */
    bool mono;          /* a filter is MAPFILTER_MONO */
    bool border_mode;   /* some address mode shows the border */
    uint8_t mode[3];    /* enum g4_texture_coordinate_mode, of x, y, z */
    bool override_cube; /* cubes ignore the address modes */
    bool round[2][3];   /* [mag][dimension]: rounding enables */
    uint8_t filter[2];  /* [mag]: enum g4_map_filter */
    uint8_t mip_filter; /* enum g4_mip_filter */
    bool lod_preclamp;
    bool unnormalized; /* coordinates count texels: g4_counts_texels() */
    uint32_t base_mip_level_u4_1;
    /* In 1/64 levels, from Gen7 on in 1/256. */
    int32_t lod_bias;
    uint32_t min_lod, max_lod;
    uint32_t maximum_anisotropy;      /* n in n:1 */
    uint32_t shadow_function;         /* enum g4_prefilter_operation */
    uint32_t mono_width, mono_height; /* 0: those of the context */
    uint8_t reduction;                /* enum g4_reduction */
    bool keyed;                       /* by a chroma key */
    bool key_replaces;                /* matching texels become black, else they kill the pixel */
    uint32_t key;
    uint32_t border[4];
    bool border_has_bytes;   /* in memory it is four bytes */
    bool has_integer_border; /* integer formats use this one, else `border` limited to their range */
    uint32_t integer_border[4];
};

/* The surface has no level that the view may read: texels are 0. */
static inline bool g4_texture_is_beyond_levels(const struct g4_texture *texture) {
    return texture->surface.resource_min_lod_u4_8 > (texture->min_lod + texture->mip_count) << 8;
}

/* Coordinates along this dimension count texels, of the first level of the view.  In the other address modes, in which
 * the manual does not permit it, they are divided by the size (message_gen7.c). */
static inline bool g4_counts_texels(const struct g4_texture_sampler *sampler, int dimension) {
    return sampler->unnormalized && (sampler->mode[dimension] == G4_TEXTURE_COORDINATE_MODE_CLAMP ||
                                     sampler->mode[dimension] == G4_TEXTURE_COORDINATE_MODE_CLAMP_BORDER);
}

/* The number of texels in a unit of a coordinate, for a level with `size` texels. */
static inline float g4_texel_scale(const struct g4_texture_sampler *sampler, int dimension, uint32_t size) {
    return g4_counts_texels(sampler, dimension) ? 1.0f : (float)size;
}

enum {
    G4_HALF_BORDER = 6
}; /* TEXCOORDMODE_HALF_BORDER, the address mode that Gen7 added */

/* The layouts of a generation. */
struct g4_sampler_loader {
    /* Unpack the SAMPLER_STATE at an address into `sampler`, which is zeroed; but for its mono and border members.
     * Returns the address of its border color.  Missing memory reads as 0 and is in the port's log. */
    g4_address (*load)(struct g4_texture_sampler *sampler, struct g4_port *port, uint32_t gen,
                       g4_address general_state_base, g4_address address);
    /* Read the border color at an address that load() returned; NULL: it is four dwords. */
    void (*load_border)(struct g4_texture_sampler *sampler, struct g4_port *port, uint32_t gen, g4_address address);
    bool half_border; /* G4_HALF_BORDER is an address mode */
    /* The surface and the state of sample_8x8; NULL: as Gen7 has them. */
    g4_media_image_load_fn *load_media_image;
    g4_scaler_load_fn *load_scaler;
};

extern const struct g4_sampler_loader g4_sampler_loader_gen4, g4_sampler_loader_gen7, g4_sampler_loader_gen9;

/* Red, green and blue, 8 bits each, of an entry of a texture palette. */
void g4_palette_color(uint32_t entry, uint32_t rgb[3]);

void g4_texture_setup(struct g4_texture *texture, const struct g4_surface *surface, const struct g4_srgb_decoder *srgb,
                      const struct g4_model *model);
/* Gives every channel a component of its own, constants included, because a chroma key can change them. */
void g4_texture_keep_channels(struct g4_texture *texture);
void g4_texture_sampler_setup(struct g4_texture_sampler *sampler, struct g4_port *port, const struct g4_model *model,
                              g4_address general_state_base, g4_address address);

/* The border color, converted as the texture's format requires (965 PRM vol. 4, 4.7.4). */
void g4_texture_border(const struct g4_texture *texture, const struct g4_texture_sampler *sampler, uint32_t out[4]);

/* The host address that graphics address 0 would have if all memory were as contiguous as this level; 0: the level is
 * not contiguous or not known to be.  Its pages are examined once it has had as many lookups as it has pages, because
 * that does not pay in small draws with large textures. */
uintptr_t g4_texture_contiguous_base(const struct g4_texture *texture, uint32_t level, struct g4_mem *mem,
                                     uint32_t lookups);

#endif
