/* The protocol between the shim and the device server.
 *
 * There is one SOCK_SEQPACKET connection for each open device file.  Every packet is one of the structures below, which
 * start with a header; some are followed by an array.  native/build.py passes this text to cffi as well, so that both
 * ends use the same layouts: declarations only.  Neither end trusts the other: each checks every size, count, offset
 * and file.
 *
 * Memory lives in memfds, sealed against shrinking, which the shim creates and passes to the server; file 0 is the
 * arena, which comes with HELLO.  Each connection has its own graphics address space: the shim binds its buffers there
 * (BIND) and refers to them by graphics address only.  Packets are handled in order.  Each EXEC is answered by a RESULT
 * after it has been executed, in the same order; if the shim has named a struct g4_live_progress in its arena, a batch
 * that ended well is reported there, and the RESULT is sent only if the shim sleeps.
 */
#ifndef G4_SHIM_PROTOCOL_H
#define G4_SHIM_PROTOCOL_H
#include <stdint.h>

enum g4_live_limits {
    G4_LIVE_VERSION = 10,
    G4_LIVE_MAX_PACKET = 65536, /* bytes; longer lists are split into several packets */
    G4_LIVE_MAX_FILES = 65536,
    G4_LIVE_MAX_CONTEXTS = 16384, /* of a connection; their numbers are smaller */
    G4_LIVE_UNBOUND = 0xffffffff, /* as a file: unbind the range */
};

enum g4_live_type {
    G4_LIVE_HELLO = 1, /* shim, with the arena's descriptor; answered by WELCOME */
    G4_LIVE_WELCOME,
    G4_LIVE_FILE,    /* shim, with the descriptor of a file; or without one, to close it */
    G4_LIVE_BIND,    /* shim: change the address space */
    G4_LIVE_OBJECTS, /* shim: buffers of the next EXEC, if the server records them */
    G4_LIVE_EXEC,    /* shim: run a batch; answered by RESULT */
    G4_LIVE_RESULT,
    G4_LIVE_CONTEXT,  /* shim: create or destroy a hardware context */
    G4_LIVE_REGISTER, /* shim: read a register; answered by a REGISTER with the value */
    G4_LIVE_SHARE,    /* shim, with a descriptor: let other processes open this buffer; answered by SHARED */
    G4_LIVE_FIND,     /* shim: find a shared buffer by name or, with a descriptor, by its memory; answered by SHARED */
    G4_LIVE_SHARED,   /* with the buffer's descriptor if it was found by name */
    G4_LIVE_MARK,     /* shim: a frame is complete */
    G4_LIVE_NOTE,     /* shim: a message for the user */
    G4_LIVE_USED,     /* shim: a driver uses the device; header only, sent once */
    G4_LIVE_GL,       /* shim: bytes of notes that belong before the next EXEC (native/gl/notes.h) */
    G4_LIVE_FENCE,    /* shim, with a descriptor that the server closes when all EXECs before have ended; header only */
};

struct g4_live_header {
    uint32_t type;     /* enum g4_live_type */
    uint32_t size;     /* of the packet, including this header */
    uint64_t sequence; /* chosen by the shim; repeated in the answer */
};

struct g4_live_hello {
    struct g4_live_header header;
    uint32_t version;
    uint32_t pid;
    uint64_t arena_size;
    char program[64];
    uint64_t progress;     /* offset in the arena of a struct g4_live_progress, a multiple of its size */
    uint32_t has_progress; /* 0: there is none */
    uint32_t pad;
};

/* Progress of submissions, in memory that both ends write.  Neither trusts it further than a packet: the
 * server reads only `sleeping` and `processor`, and the shim accepts only submissions that it has made. */
struct g4_live_progress {
    uint32_t completed; /* server: the low half of the sequence of the last EXEC that ended with G4_LIVE_DONE */
    uint32_t failed;    /* server: how many ended otherwise, counted before the RESULT of each is sent */
    uint32_t sleeping;  /* shim: not 0 while it sleeps until a packet arrives */
    uint32_t processor; /* shim: one more than the number of the one that it polls on; 0: it does not, or not known */
};

enum g4_live_engine {
    G4_LIVE_RENDER,
    G4_LIVE_VIDEO,
    G4_LIVE_BLITTER,
    G4_LIVE_VIDEO_ENHANCE,
    G4_LIVE_ENGINES,
};

/* The properties of the chip that an i915 kernel driver reports (gen4emu/hw/chips.py). */
struct g4_live_chip {
    uint32_t pci_id;
    uint32_t revision;
    uint32_t engines; /* bits by enum g4_live_engine */
    uint32_t fences;
    uint32_t tiled_pitch; /* the largest of a buffer with tiles, bytes */
    uint32_t can_snoop;   /* buffers may be cached */
    uint32_t has_llc;
    uint32_t ppgtt;       /* I915_PARAM_HAS_ALIASING_PPGTT */
    uint32_t wide;        /* addresses have 48 bits, relocations 8 bytes */
    uint32_t isolation;   /* I915_PARAM_HAS_CONTEXT_ISOLATION */
    uint32_t scheduler;   /* I915_PARAM_HAS_SCHEDULER */
    uint32_t parser;      /* I915_PARAM_CMD_PARSER_VERSION */
    uint32_t timestamp;   /* I915_PARAM_CS_TIMESTAMP_FREQUENCY, Hz */
    uint32_t subslices;   /* of the one slice, 0: the kernel does not report a topology */
    uint32_t units;       /* EUs of a subslice */
    uint32_t slice_limit; /* of the chip's family, as the topology query reports it */
    uint32_t subslice_limit;
    uint32_t secure_batches; /* privileged clients may submit batches with privileged commands */
    uint32_t offset_reset;   /* EXECBUFFER2 may reset the offsets of stream output */
    uint32_t pad;
    uint64_t gtt_size; /* of the graphics address space, bytes */
};

struct g4_live_welcome {
    struct g4_live_header header;
    uint32_t version;
    uint32_t strict;          /* privileged commands in batches are refused, as by the kernel */
    uint32_t records_buffers; /* the shim sends OBJECTS */
    uint32_t pad;
    struct g4_live_chip chip;
};

struct g4_live_file {
    struct g4_live_header header;
    uint32_t file; /* number, from 1 on; may be reused once nothing is bound from it */
    uint32_t pad;
    uint64_t size; /* 0: close the file, from which nothing may be bound; there is no descriptor */
};

struct g4_live_range {
    uint64_t address; /* this, offset and size are multiples of the page size */
    uint64_t offset;  /* into the file */
    uint64_t size;
    uint32_t file; /* or G4_LIVE_UNBOUND */
    uint32_t pad;
};

struct g4_live_bind {
    struct g4_live_header header;
    uint32_t count;
    uint32_t pad;
    /* struct g4_live_range ranges[count] */
};

enum g4_live_object_flags {
    G4_LIVE_OBJECT_WRITTEN = 1, /* the batch may write it */
    G4_LIVE_OBJECT_CAPTURE = 2, /* include it in error states */
};

struct g4_live_object {
    uint64_t address;
    uint64_t size;
    uint32_t flags;
    uint32_t tiling; /* 0 linear, 1 X, 2 Y */
    uint32_t pitch;  /* bytes */
    uint32_t pad;
};

struct g4_live_objects {
    struct g4_live_header header;
    uint32_t count;
    uint32_t pad;
    /* struct g4_live_object objects[count] */
};

enum g4_live_exec_flags {
    G4_LIVE_EXEC_RESET_OFFSETS = 1, /* of stream output, before the batch */
};

struct g4_live_exec {
    struct g4_live_header header;
    uint32_t context; /* 0: the default one of this connection */
    uint32_t engine;  /* enum g4_live_engine */
    uint64_t address; /* of the first command */
    uint32_t length;  /* bytes, a multiple of 8 */
    uint32_t slot;    /* in the context's engine map, or 0: each has a hardware context of its own */
    uint32_t flags;   /* enum g4_live_exec_flags, if the chip has offset_reset */
    uint32_t pad;
};

enum g4_live_status {
    G4_LIVE_DONE,
    G4_LIVE_HANG,    /* the batch hung; its context was reset */
    G4_LIVE_REFUSED, /* the packet was invalid */
};

struct g4_live_result {
    struct g4_live_header header;
    uint32_t status;
    uint32_t context;
};

struct g4_live_context {
    struct g4_live_header header;
    uint32_t context;
    uint32_t alive; /* 0: destroy it */
};

struct g4_live_register {
    struct g4_live_header header;
    uint32_t offset;
    uint32_t status; /* in the answer */
    uint64_t value;
};

struct g4_live_shared {
    struct g4_live_header header;
    uint32_t name;   /* SHARE: 1 requests a global name; FIND: the name, 0 with a descriptor; SHARED: the name or 0 */
    uint32_t tiling; /* a second SHARE changes it */
    uint32_t pitch;
    uint32_t status; /* in the answer */
    uint64_t size;
};

struct g4_live_mark {
    struct g4_live_header header;
    uint64_t address; /* of the picture; 0: nothing is shown */
    uint32_t width;
    uint32_t height;
    uint32_t pitch;
    uint32_t tiling;
    uint32_t fourcc; /* DRM format */
    uint32_t pad;
};

struct g4_live_gl {
    struct g4_live_header header;
    uint32_t count;
    uint32_t pad;
    /* uint8_t bytes[count] */
};

struct g4_live_note {
    struct g4_live_header header;
    char text[256];
};

#endif
