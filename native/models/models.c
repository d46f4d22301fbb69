#include "models/models.h"

#include <stddef.h>

static const struct g4_model *const models[] = {
    &g4_model_broadwater,
    &g4_model_crestline,
    &g4_model_cantiga,
    &g4_model_eaglelake,
};

const struct g4_model *g4_model_of(uint32_t gen) {
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (models[i]->chip->gen == gen) {
            return models[i];
        }
    }
    return NULL;
}
