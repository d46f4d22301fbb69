/*
 * The video enhancement engine, VEBOX (media/video_enhancement.c): denoise, deinterlace, color.
 */
#ifndef G4_API_VIDEO_ENHANCEMENT_H
#define G4_API_VIDEO_ENHANCEMENT_H

#include "api/memory.h"

enum g4_weave {
    G4_WEAVE_NONE,          /* missing lines are computed */
    G4_WEAVE_WITH_PREVIOUS, /* missing lines come from a field of the previous frame */
    G4_WEAVE_WITH_CURRENT,
};

/* DNDI_STATE or VEBOX_DNDI_STATE of any generation. */
struct g4_deinterlacer {
    bool denoises, deinterlaces, first_frame, top_first;
    bool progressive; /* denoising does not distinguish fields */
    bool compensates; /* uses motion vectors */
    enum g4_weave second_of_previous, first_of_current;

    /* denoise */
    uint32_t stad_threshold, asd_threshold, scm_threshold, moving_pixel_threshold;
    uint32_t history_increase, maximum_history, initial_history;
    uint32_t temporal_threshold, low_temporal_threshold, good_neighbor_threshold;
    uint32_t noise_threshold, noise_edge_threshold;

    /* spatial-temporal motion measure (STMM) */
    uint32_t stmm_c2, stmm_shift_down, stmm_shift_up, vecm_multiplier;
    uint32_t stmm_large, stmm_small; /* weights of old values, of 256 */
    bool stmm_large_at_minimum;
    uint32_t minimum_stmm, maximum_stmm, stmm_output_shift;

    /* spatial deinterlacing along edges */
    uint32_t sdi_threshold, sdi_delta, fallback_t1, fallback_t2, fallback_2;

    /* film mode detection */
    uint32_t film_temporal_threshold, film_difference_1, film_difference_2, tear_threshold;

    /* motion compensation */
    uint32_t content_slope, content_threshold_1, sad_tight, sad_a, sad_b;
    uint32_t smooth_vector_threshold, consistency_threshold, neighbor_threshold;
};

/* A surface of YUV. */
struct g4_video_surface {
    uint32_t format;       /* MediaSurfaceFormat of the sampler's media surfaces */
    uint32_t sample_bytes; /* 1, or 2: only the upper byte of a 16-bit sample is used */
    uint32_t width, height, pitch;
    bool interleaved; /* Cb and Cr share a plane */
    bool half_pitch;  /* of the planes of Cb and Cr */
    uint32_t tiling;  /* enum g4_tiling */
    uint32_t cb_x, cb_y, cr_x, cr_y;
};

/* Contrast, brightness, hue and saturation, in units of 1/128, 1/16, 1/256 and 1/256. */
struct g4_video_amplifier {
    bool enabled;
    int32_t contrast, brightness, cosine, sine;
};

/* One VEBOX_DI_IECP, with all state that affects it. */
struct g4_video_enhancement {
    struct g4_deinterlacer state;
    bool denoises_chroma;
    uint32_t chroma_stad_threshold, chroma_temporal_threshold, chroma_low_temporal_threshold;
    struct g4_video_amplifier amplifier;
    bool averages_chroma; /* 4:2:2 becomes 4:2:0 by the mean of two lines, else by the first */
    bool writes_previous; /* the frame at the time of the second field of the previous frame */
    bool writes_current;  /* the frame at the time of the first field of the current frame, or the only one */
    uint32_t first_x, last_x;
    struct g4_video_surface input, output; /* of the frames and the denoised frame; of the other outputs */
    g4_address current_in, previous_in, statistics_in;
    g4_address statistics_out, denoised_out, current_out, previous_out;
};

/* Process a frame.  G4_BAD_VALUE: a surface has a format that is not modelled, and nothing is written. */
enum g4_status g4_enhance_video(struct g4_port *port, const struct g4_video_enhancement *enhancement);

#endif
