/*
 * The vertices and objects of a draw after each stage of the front end (draw/device.c).
 */
#ifndef G4_API_MESH_H
#define G4_API_MESH_H

#include "api/device.h"

enum {
    G4_MESH_LIMIT = 10000, /* vertices of a stage; the objects end with them */
    G4_MESH_ROWS = 16,     /* of an URB entry, at most */
    G4_MESH_NONE = 0xffffffff,
};

struct g4_mesh_vertex {
    /* VS: the index that vertex fetch used.  DS, GS: the object of the stage before from which the vertex comes, or
     * G4_MESH_NONE.  CLIP: 0. */
    uint32_t number;
    uint32_t instance;  /* VS only */
    float position[4];  /* D4 to D7 of the entry; after CLIP x, y and z after the division, and 1/w */
    float window[3];    /* x and y in pixels, quantised as SF does, and z */
    uint8_t has_window; /* false before the last shader, and with NaNs */
    /* CLIP: vertices of the last shader's stage.  One: this vertex is that one; three (two of a line): it lies on the
     * object of these; none: a thread has made it, or they are beyond the limit. */
    uint8_t sources;
    uint32_t source[3];
    uint32_t first_row, rows; /* of its URB entry, in g4_mesh_records.row; none after CLIP */
};

struct g4_mesh_object {
    uint32_t first, count; /* in g4_mesh_records.corner */
    uint8_t set_up;        /* CLIP: SF has not dropped it */
};

/* Of one stage, in the order of the draw. */
struct g4_mesh_records {
    const struct g4_mesh_vertex *vertex;
    const struct g4_mesh_object *object;
    const uint32_t *corner; /* numbers of vertices */
    const uint32_t (*row)[8];
    uint32_t vertices, objects, corners, rows;
    bool complete; /* false: the draw has more than the limit */
};

/* Record the vertices and objects of the draws from now on, each in place of the one before; ranges of vertices run
 * one after the other meanwhile.  G4_NO_MEMORY: nothing has changed. */
enum g4_status g4_device_record_meshes(struct g4_device *device, bool on);
/* Of the last draw; valid until the next one.  False: recording is off, or memory was short. */
bool g4_device_mesh(const struct g4_device *device, uint32_t stage, struct g4_mesh_records *records);

#endif
