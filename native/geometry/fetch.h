/*
 * Vertex fetch (G45 PRM vol. 2, chapter 3): indices, and vertex elements from buffers into URB entries.
 */
#ifndef G4_FETCH_H
#define G4_FETCH_H

#include "core/draw_state.h"
#include "eu/worker.h"
#include "hw_formats.h"

/* One vertex element, prepared for fetching. */
struct g4_fetch {
    const struct g4_format *format;
    uint32_t control[4];  /* enum g4_vertex_component_control */
    uint32_t destination; /* dword of the entry */
    uint8_t place[4];     /* dwords of the components after it; those that are left out are NOSTORE */
    uint32_t dwords;      /* that the element occupies */
    g4_address buffer;    /* where the buffer starts */
    g4_address base;      /* + element offset */
    uint32_t pitch;
    uint32_t checked_bytes; /* that must be in the buffer, if has_end */
    uint32_t max_index;     /* 0: no check */
    g4_address end;         /* address of the last byte, if has_end */
    uint32_t step_rate;
    bool has_end;
    bool per_instance;
    bool reads_memory; /* some component is STORE_SRC */
    bool plain_floats; /* adjacent 32-bit channels that are copied unchanged */
    bool simple;       /* plain_floats, and each component is a channel or a constant */
    /* If simple: component c is (source[c] & taken[c]) | constant[c]. */
    uint32_t taken[4], constant[4];
};

struct g4_vertex_fetch {
    uint32_t elements;
    uint32_t rows; /* that the elements reach */
    bool has_edge_flag;
    struct g4_fetch edge_flag; /* if has_edge_flag */
    bool uses_vertex_id, uses_primitive_id;
    /* indices */
    bool indexed, cut_enable;
    uint32_t index_size;               /* bytes */
    g4_address index_start, index_end; /* end 0: no check */
    uint32_t cut_index;
    struct g4_fetch element[G4_VERTEX_ELEMENT_PARTS]; /* `elements` of them; the rest may have any value */
};

/* Prepare everything that is constant in a draw. */
void g4_vertex_fetch_setup(const struct g4_context *ctx, const struct g4_draw_state *draw, struct g4_report_log *log,
                           struct g4_vertex_fetch *fetch);

/* The raw index at a position of the index buffer; 0 beyond its end (G45 PRM vol. 2, 3.3.1). */
uint32_t g4_fetch_index(struct g4_port *port, const struct g4_vertex_fetch *fetch, uint32_t position);

/* The raw indices at `count` positions from `first` on. */
void g4_fetch_indices(struct g4_port *port, const struct g4_vertex_fetch *fetch, uint32_t first, uint32_t count,
                      uint32_t *indices);

struct g4_vertex_ids {
    uint32_t vertex_index; /* into VERTEXDATA buffers */
    uint32_t vertex_id, instance_id, primitive_id;
    uint32_t start_instance;
};

/* Write the rows that the elements reach; other rows of the entry stay unchanged. */
void g4_fetch_vertex(struct g4_port *port, const struct g4_vertex_fetch *fetch, const struct g4_vertex_ids *ids,
                     uint32_t (*rows)[8]);

/* The element that stores a dword of the entry, with a component; NULL: none.  *address is where it reads memory, if
 * *reads. */
const struct g4_fetch *g4_fetch_element_of(const struct g4_vertex_fetch *fetch, const struct g4_vertex_ids *ids,
                                           uint32_t dword, uint32_t *component, g4_address *address, bool *reads);

/* The edge flag of a vertex.  The draw has edge flags. */
bool g4_fetch_edge_flag(struct g4_port *port, const struct g4_vertex_fetch *fetch, const struct g4_vertex_ids *ids);

#endif
