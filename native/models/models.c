#include "models/models.h"

#include <stddef.h>

static const struct g4_model *const models[] = {
    &g4_model_broadwater, &g4_model_crestline, &g4_model_cantiga, &g4_model_eaglelake, &g4_model_ivy_bridge,
    &g4_model_bay_trail,  &g4_model_haswell,   &g4_model_skylake, &g4_model_kaby_lake, NULL,
};

const struct g4_model *g4_model_of(uint32_t gen) {
    for (const struct g4_model *const *model = models; *model; model++) {
        if ((*model)->chip->gen == gen) {
            return *model;
        }
    }
    return NULL;
}
