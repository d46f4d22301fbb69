/*
 * The pixel interpolator, SFID 11: barycentric coordinates at other places of the pixels of a thread (IVB PRM vol. 4
 * part 2, pixel interpolator).  The windower, which knows the object, computes them.
 */
#include "eu/message.h"
#include "functions/table.h"
#include "messages_gen7.h"

enum g4_status g4_message_interpolator_gen7(struct g4_eu *eu, struct g4_gang *gang, const struct g4_send *send) {
    const unsigned groups = gen7_pixel_interpolator_message_simd16(send->descriptor) ? 2 : 1;
    const bool offsets = gen7_pixel_interpolator_message_message_type(send->descriptor) ==
                         GEN7_INTERPOLATOR_MESSAGE_TYPE_PER_SLOT_OFFSET;

    if (!gang->owner.interpolate) {
        g4_message_report(eu, gang, send, G4_EVENT_BAD_MESSAGE);
        return G4_OK;
    }
    if (g4_message_lengths(eu, gang, send, offsets ? 2 * groups : 1, 2 * groups)) {
        gang->owner.interpolate(gang, send);
    }
    return G4_OK;
}
