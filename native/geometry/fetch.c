#include "geometry/fetch.h"
#include "core/util.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "core/report.h"

enum {
    ONE_FLOAT = 0x3f800000
};

/* ---- conversion (G45 PRM vol. 2, 3.6.11) ---- */

static uint64_t field(const uint8_t *data, uint32_t at, uint32_t bits) {
    uint64_t value = 0;
    memcpy(&value, data + at / 8, (at % 8 + bits + 7) / 8);
    value >>= at % 8;
    return value & (UINT64_MAX >> (64 - bits));
}

/* bits: 1..64 */
static int64_t sign_extend(uint64_t value, uint32_t bits) {
    return (int64_t)(value << (64 - bits)) >> (64 - bits);
}

/* Small floats widen exactly: a sign bit (or none), five exponent bits, the rest mantissa. */
static uint32_t widen_float(uint32_t value, uint32_t bits, bool has_sign) {
    const uint32_t mantissa_bits = (bits - 5 - has_sign) & 31; /* 5, 6 or 10 */
    const uint32_t mantissa = value & ((1u << mantissa_bits) - 1);
    const uint32_t exponent = value >> mantissa_bits & 31;
    const uint32_t sign = has_sign ? value >> (bits - 1) << 31 : 0;
    if (exponent == 31) {
        return sign | 0x7f800000 | mantissa << (23 - mantissa_bits);
    }
    if (exponent == 0) {
        return sign | g4_hw_bits(ldexpf((float)mantissa, -14 - (int)mantissa_bits));
    }
    return sign | (exponent + 112) << 23 | mantissa << (23 - mantissa_bits);
}

static uint32_t convert_float(uint64_t raw, uint32_t bits) {
    if (bits == 32) {
        return (uint32_t)raw;
    }
    if (bits == 64) {
        double d;
        memcpy(&d, &raw, sizeof d);
        return g4_hw_bits((float)d);
    }
    return widen_float((uint32_t)raw, bits, true);
}

static uint32_t convert(const struct g4_format_channel *channel, const uint8_t *data) {
    const uint32_t bits = channel->bits;
    if (bits == 0 || bits > 64) { /* components past the format's count: raw zero */
        return 0;
    }
    const uint64_t raw = field(data, channel->at, bits);
    switch (channel->type) {
    case G4_CHANNEL_UNORM:
        return g4_hw_bits((float)((double)raw / (double)(UINT64_MAX >> (64 - bits))));
    case G4_CHANNEL_SNORM: {
        const double value = (double)sign_extend(raw, bits) / (double)((UINT64_MAX >> (64 - bits)) >> 1);
        return g4_hw_bits(value < -1.0 ? -1.0f : (float)value);
    }
    case G4_CHANNEL_USCALED:
        return g4_hw_bits((float)raw);
    case G4_CHANNEL_SSCALED:
        return g4_hw_bits((float)sign_extend(raw, bits));
    case G4_CHANNEL_SFIXED:
        return g4_hw_bits((float)sign_extend(raw, bits) * (1.0f / 65536.0f));
    case G4_CHANNEL_SINT:
        return (uint32_t)sign_extend(raw, bits);
    case G4_CHANNEL_FLOAT:
        return convert_float(raw, bits);
    case G4_CHANNEL_UFLOAT:
        return widen_float((uint32_t)raw, bits, false);
    case G4_CHANNEL_UINT:
        return (uint32_t)raw;
    default:
        return 0;
    }
}

/* ---- set-up ---- */

static bool copies_dwords(const struct g4_format *format) {
    for (uint32_t c = 0; c < format->components; c++) {
        const struct g4_format_channel *const channel = &format->channel[c];
        const bool copied =
            channel->type == G4_CHANNEL_FLOAT || channel->type == G4_CHANNEL_UINT || channel->type == G4_CHANNEL_SINT;
        if (!copied || channel->bits != 32 || channel->at != 32 * c) {
            return false;
        }
    }
    return true;
}

/* Compute the masks of an element whose components are copied channels or constants; false for other elements. */
static bool is_simple(struct g4_fetch *f) {
    const uint32_t components = f->format->components;
    if (!f->plain_floats || !f->reads_memory || f->dwords != 4) {
        return false;
    }
    for (uint32_t c = 0; c < 4; c++) {
        switch (f->control[c]) {
        case G4_VERTEX_COMPONENT_CONTROL_STORE_SRC:
            f->taken[c] = c < components ? UINT32_MAX : 0;
            break;
        case G4_VERTEX_COMPONENT_CONTROL_STORE_0:
            break;
        case G4_VERTEX_COMPONENT_CONTROL_STORE_1_FP:
            f->constant[c] = ONE_FLOAT;
            break;
        case G4_VERTEX_COMPONENT_CONTROL_STORE_1_INT:
            f->constant[c] = 1;
            break;
        default:
            return false;
        }
    }
    return true;
}

/* Components that are left out store nothing; the others follow each other. */
static void pack_components(struct g4_fetch *f, uint8_t packed) {
    uint8_t dwords = 0;
    for (uint8_t c = 0; c < 4; c++) {
        if (packed >> c & 1) {
            f->control[c] = G4_VERTEX_COMPONENT_CONTROL_NOSTORE;
        } else {
            f->place[c] = dwords++;
        }
    }
    f->dwords = dwords;
}

static void setup_element(const struct g4_context *ctx, const struct g4_draw_state *draw,
                          const struct g4_vertex_element *element, struct g4_report_log *log,
                          struct g4_vertex_fetch *fetch, struct g4_fetch *f) {
    *f = (struct g4_fetch){
        .destination = element->destination,
        .format = g4_format_of(element->format, g4_format_gen(ctx->model)),
    };
    memcpy(f->control, element->control, sizeof f->control);
    pack_components(f, element->packed);
    uint32_t controls = 0; /* as bits */
    for (int c = 0; c < 4; c++) {
        controls |= 1u << f->control[c];
    }
    f->reads_memory = controls >> G4_VERTEX_COMPONENT_CONTROL_STORE_SRC & 1;
    if (controls >> G4_VERTEX_COMPONENT_CONTROL_STORE_VID & 1) {
        fetch->uses_vertex_id = true;
    }
    if (controls >> G4_VERTEX_COMPONENT_CONTROL_STORE_PID & 1) {
        fetch->uses_primitive_id = true;
    }
    if (f->reads_memory && !(f->format->vertex_fetch & g4_format_gen(ctx->model))) {
        g4_report(log, G4_EVENT_BAD_FORMAT, 0, element->format);
        f->reads_memory = f->format->block_bits != 0 && f->format->encoding == G4_ENCODING_PLAIN;
    }
    if (element->buffer < G4_VERTEX_BUFFERS) {
        const struct g4_vertex_buffer *const buffer = &draw->vertex_buffer[element->buffer];
        f->buffer = buffer->address;
        f->base = buffer->address + element->offset_bytes;
        f->pitch = buffer->pitch_bytes;
        f->checked_bytes = f->format->block_bits / 8u + element->bytes_behind;
        f->max_index = buffer->max_index;
        f->has_end = buffer->has_end;
        f->end = buffer->end;
        f->per_instance = buffer->per_instance || element->per_instance;
        f->step_rate = element->per_instance ? element->step_rate : buffer->step_rate;
        f->reads_memory = f->reads_memory && !buffer->null;
    } else {
        f->reads_memory = false;
    }
    f->plain_floats = copies_dwords(f->format);
    f->simple = is_simple(f);
}

void g4_vertex_fetch_setup(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_report_log *log,
                           struct g4_vertex_fetch *fetch) {
    const struct g4_index_buffer *const index = &draw->index_buffer;

    memset(fetch, 0, offsetof(struct g4_vertex_fetch, element)); /* clearing 8 KiB takes a tenth of a small draw */
    for (uint32_t i = 0; i < draw->vertex_elements; i++) {
        const struct g4_vertex_element *const element = &draw->vertex_element[i];
        if (element->edge_flag) {
            setup_element(ctx, draw, element, log, fetch, &fetch->edge_flag);
            fetch->has_edge_flag = true;
            continue;
        }
        struct g4_fetch *const f = &fetch->element[fetch->elements++];
        setup_element(ctx, draw, element, log, fetch, f);
        const uint32_t rows = (f->destination + f->dwords + 7) / 8;
        fetch->rows = rows > fetch->rows ? rows : fetch->rows;
    }
    fetch->indexed = draw->primitive.indexed;
    fetch->index_size = index->index_bytes;
    fetch->cut_index = index->cut_index;
    fetch->cut_enable = fetch->indexed && index->cut_enable;
    fetch->index_start = index->address;
    fetch->index_end = index->end;
}

uint32_t g4_fetch_index(struct g4_port *port, const struct g4_vertex_fetch *fetch, uint32_t position) {
    const g4_address address = fetch->index_start + position * fetch->index_size;
    uint32_t index = 0;
    if (fetch->index_end != 0 && address > fetch->index_end) {
        return 0;
    }
    if (fetch->index_size == 1) {
        return *g4_mem_read_ptr(port, address);
    }
    (void)g4_mem_read(port, address, &index, fetch->index_size); /* unmapped indices read as 0 */
    return index;
}

/* Indices within one page, all of them before the end. */
static void widen_indices(const uint8_t *from, uint32_t size, uint32_t count, uint32_t *indices) {
    for (uint32_t i = 0; i < count && size == 1; i++) {
        indices[i] = from[i];
    }
    for (uint32_t i = 0; i < count && size == 2; i++) {
        uint16_t index;
        memcpy(&index, from + 2 * (size_t)i, sizeof index);
        indices[i] = index;
    }
    if (size == 4) {
        memcpy(indices, from, count * sizeof *indices);
    }
}

void g4_fetch_indices(struct g4_port *port, const struct g4_vertex_fetch *fetch, uint32_t first, uint32_t count,
                      uint32_t *indices) {
    const uint32_t size = fetch->index_size;
    for (uint32_t done = 0; done < count;) {
        const g4_address address = fetch->index_start + (first + done) * size;
        const uint32_t here = (G4_PAGE_SIZE - (uint32_t)(address & G4_PAGE_OFFSET)) / size;
        const uint32_t some = count - done < here ? count - done : here;
        const uint8_t *const from = g4_mem_ptr(port->mem, address);
        if (from && some && (fetch->index_end == 0 || address + (some - 1) * size <= fetch->index_end)) {
            widen_indices(from, size, some, indices + done);
            done += some;
        } else { /* across the end of a page or of the buffer, or unmapped */
            indices[done] = g4_fetch_index(port, fetch, first + done);
            done++;
        }
    }
}

/* ---- one vertex ---- */

/* `bytes` is 4, 8, 12 or 16. */
static void copy_dwords(void *to, const uint8_t *from, uint32_t bytes) {
    switch (bytes) {
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 12:
        memcpy(to, from, 12);
        break;
    default:
        memcpy(to, from, 16);
        break;
    }
}

/* The source's dwords; nothing is read beyond the format's own bytes. */
static void fetch_source(struct g4_port *port, const struct g4_fetch *f, uint32_t index, uint32_t source[4]) {
    uint8_t data[32 + 8] = {0};
    const uint32_t bytes = f->format->block_bits / 8u;
    const g4_address address = f->base + index * f->pitch;

    if ((address & G4_PAGE_OFFSET) + bytes <= G4_PAGE_SIZE) {
        if (f->plain_floats) {
            copy_dwords(source, g4_mem_read_ptr(port, address), bytes);
            return;
        }
        memcpy(data, g4_mem_read_ptr(port, address), bytes);
    } else {
        (void)g4_mem_read(port, address, data, bytes); /* drivers read beyond buffers; unmapped memory is 0 */
    }
    if (f->plain_floats) {
        memcpy(source, data, 16);
        return;
    }
    for (uint32_t c = 0; c < f->format->components; c++) {
        source[c] = convert(&f->format->channel[c], data);
    }
}

static uint32_t element_index(const struct g4_fetch *f, const struct g4_vertex_ids *ids) {
    if (!f->per_instance) {
        return ids->vertex_index;
    }
    return ids->start_instance + (f->step_rate ? ids->instance_id / f->step_rate : 0);
}

/* Whether some byte of an element is outside of its buffer (IVB PRM vol. 2 part 1, VERTEX_BUFFER_STATE, End Address).
 */
static bool ends_beyond(const struct g4_fetch *f, uint32_t index) {
    const uint64_t first = f->base + (uint64_t)index * f->pitch;
    return first + f->checked_bytes > (uint64_t)f->end + 1;
}

static bool is_in_buffer(const struct g4_fetch *f, uint32_t index) {
    return (f->max_index == 0 || index <= f->max_index) && !(f->has_end && ends_beyond(f, index));
}

const struct g4_fetch *g4_fetch_element_of(const struct g4_vertex_fetch *fetch, const struct g4_vertex_ids *ids,
                                           uint32_t dword, uint32_t *component, g4_address *address, bool *reads) {
    const struct g4_fetch *found = NULL;
    for (uint32_t i = 0; i < 4 * fetch->elements; i++) { /* later elements overwrite those before */
        const struct g4_fetch *const f = &fetch->element[i / 4];
        const uint32_t control = f->control[i % 4];
        if (dword == f->destination + f->place[i % 4] && control != G4_VERTEX_COMPONENT_CONTROL_NOSTORE) {
            const uint32_t index = element_index(f, ids);
            found = f;
            *component = i % 4;
            *address = f->base + index * f->pitch;
            *reads = control == G4_VERTEX_COMPONENT_CONTROL_STORE_SRC && f->reads_memory && is_in_buffer(f, index);
        }
    }
    return found;
}

typedef uint32_t quad __attribute__((vector_size(16)));

static inline quad load_quad(const void *from) {
    quad v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* The components of a simple element, all at once.  False: 16 bytes from its start on are not in one page, or it is
 * outside of its buffer. */
static inline bool fetch_simple(struct g4_port *port, const struct g4_fetch *f, const struct g4_vertex_ids *ids,
                                uint32_t out[4]) {
    const uint32_t index = element_index(f, ids);
    const g4_address address = f->base + index * f->pitch;
    if ((address & G4_PAGE_OFFSET) + sizeof(quad) > G4_PAGE_SIZE || !is_in_buffer(f, index)) {
        return false;
    }
    const quad stored = (load_quad(g4_mem_read_ptr(port, address)) & load_quad(f->taken)) | load_quad(f->constant);
    memcpy(out, &stored, sizeof stored);
    return true;
}

/* Write the components of one element that it stores. */
static inline void fetch_element(struct g4_port *port, const struct g4_fetch *f, const struct g4_vertex_ids *ids,
                                 uint32_t out[4]) {
    uint32_t source[4] = {0};
    if (f->simple && fetch_simple(port, f, ids, out)) {
        return;
    }
    if (f->reads_memory) {
        const uint32_t index = element_index(f, ids);
        if (is_in_buffer(f, index)) {
            fetch_source(port, f, index, source);
        }
    }
    if (f->simple) {
        for (int c = 0; c < 4; c++) {
            out[c] = (source[c] & f->taken[c]) | f->constant[c];
        }
        return;
    }
    const uint32_t by_control[8] = {
        [G4_VERTEX_COMPONENT_CONTROL_STORE_1_FP] = ONE_FLOAT,
        [G4_VERTEX_COMPONENT_CONTROL_STORE_1_INT] = 1,
        [G4_VERTEX_COMPONENT_CONTROL_STORE_VID] = ids->vertex_id,
        [G4_VERTEX_COMPONENT_CONTROL_STORE_IID] = ids->instance_id,
        [G4_VERTEX_COMPONENT_CONTROL_STORE_PID] = ids->primitive_id,
    };
    for (int c = 0; c < 4; c++) {
        if (f->control[c] == G4_VERTEX_COMPONENT_CONTROL_STORE_SRC) {
            out[f->place[c]] = source[c];
        } else if (f->control[c] != G4_VERTEX_COMPONENT_CONTROL_NOSTORE) {
            out[f->place[c]] = by_control[f->control[c] & 7];
        }
    }
}

void g4_fetch_vertex(struct g4_port *port, const struct g4_vertex_fetch *fetch, const struct g4_vertex_ids *ids,
                     uint32_t (*rows)[8]) {
    uint32_t *const entry = &rows[0][0];

    for (uint32_t row = 0; row < fetch->rows; row++) { /* they are few: a call of memset takes longer */
        memset(rows[row], 0, sizeof rows[row]);
    }
    for (uint32_t i = 0; i < fetch->elements; i++) {
        fetch_element(port, &fetch->element[i], ids, entry + fetch->element[i].destination);
    }
}

bool g4_fetch_edge_flag(struct g4_port *port, const struct g4_vertex_fetch *fetch, const struct g4_vertex_ids *ids) {
    uint32_t value[4] = {0};
    fetch_element(port, &fetch->edge_flag, ids, value);
    return value[0] != 0;
}
