/*
 * The tessellator alone.
 */
#include "geometry/tessellator.h"

#include <stdlib.h>
#include <string.h>

#include "harness/probe.h"

enum {
    MOST_ODD = 63, /* factors, as drivers set them */
    MOST_EVEN = 64,
};

void g4_tessellated_view_of(uint32_t domain, uint32_t partitioning, uint32_t output, const float factors[6],
                            struct g4_tessellated_view *view) {
    const struct g4_tessellator_state state = {.domain = (uint8_t)domain,
                                               .partitioning = (uint8_t)partitioning,
                                               .output = (uint8_t)output,
                                               .most_odd = MOST_ODD,
                                               .most_even = MOST_EVEN};
    struct g4_tessellation_factors in;
    struct g4_domain *const out = malloc(sizeof *out);

    view->points = view->indices = 0;
    if (!out) {
        return;
    }
    memcpy(&in, factors, sizeof in);
    g4_tessellate_patch(&state, &in, out);
    view->points = out->points;
    view->indices = out->indices;
    for (uint32_t i = 0; i < out->points; i++) {
        view->uv[i][0] = out->point[i].u;
        view->uv[i][1] = out->point[i].v;
    }
    memcpy(view->index, out->index, out->indices * sizeof out->index[0]);
    free(out);
}
