/* What the shim and the device server say to each other (spec/80 3.7).
 *
 * One SOCK_SEQPACKET connection for each open device file; every packet is one of the structures below, which begin
 * with a header, some followed by an array.  native/build.py gives this text to cffi as well, so that both ends read
 * the same layouts: declarations only.  Neither end trusts the other: each checks every size, count, offset and file.
 *
 * Memory lives in files (memfds, sealed against shrinking) which the shim creates and passes on; file 0 is the arena
 * that comes with the hello.  Each connection has a graphics address space of its own: the shim places its buffers
 * there (BIND) and names graphics addresses only.  Packets are handled in order.  An EXEC is answered by a RESULT when
 * it has been executed, in order too, so that a client waits for as many results as it wants to see, and no longer.
 */
#ifndef G4_SHIM_PROTOCOL_H
#define G4_SHIM_PROTOCOL_H
#include <stdint.h>

enum g4_live_limits {
    G4_LIVE_VERSION = 2,
    G4_LIVE_MAX_PACKET = 65536, /* bytes; longer lists come in several packets */
    G4_LIVE_MAX_FILES = 65536,
    G4_LIVE_UNBOUND = 0xffffffff, /* as a file: nothing is there any more */
};

enum g4_live_type {
    G4_LIVE_HELLO = 1, /* shim: carries the arena's descriptor; answered by WELCOME */
    G4_LIVE_WELCOME,
    G4_LIVE_FILE,    /* shim: carries the descriptor of one more file */
    G4_LIVE_BIND,    /* shim: the address space changes */
    G4_LIVE_OBJECTS, /* shim: buffers of the EXEC that follows */
    G4_LIVE_EXEC,    /* shim: run a batch; answered by RESULT */
    G4_LIVE_RESULT,
    G4_LIVE_CONTEXT,  /* shim: a hardware context begins or ends */
    G4_LIVE_REGISTER, /* shim: read a register; answered by the same with the value */
    G4_LIVE_SHARE,    /* shim: carries a descriptor: other processes may open this buffer; answered by SHARED */
    G4_LIVE_FIND,     /* shim: look for a shared buffer, by name or by descriptor; answered by SHARED */
    G4_LIVE_SHARED,   /* carries the buffer's descriptor when it was looked for by name */
    G4_LIVE_MARK,     /* shim: a frame is complete, perhaps shown */
    G4_LIVE_NOTE,     /* shim: something the user should hear of */
    G4_LIVE_USED,     /* shim: a driver works with the device; a header only, once */
};

struct g4_live_header {
    uint32_t type;     /* enum g4_live_type */
    uint32_t size;     /* of the packet, this header included */
    uint64_t sequence; /* a number the asking side chooses; an answer repeats it */
};

struct g4_live_hello {
    struct g4_live_header header;
    uint32_t version;
    uint32_t pid;
    uint64_t arena_size;
    char program[64];
};

struct g4_live_welcome {
    struct g4_live_header header;
    uint32_t version;
    uint32_t pci_id;
    uint32_t revision;
    uint32_t strict;   /* refuse privileged commands in batches as the kernel does */
    uint64_t gtt_size; /* bytes of graphics address space */
};

struct g4_live_file {
    struct g4_live_header header;
    uint32_t file; /* its number, from 1 on; a number may be given anew when nothing is bound from it */
    uint32_t pad;
    uint64_t size; /* 0: the file goes, and there is no descriptor; nothing may be bound from it any more */
};

struct g4_live_range {
    uint32_t address; /* whole pages everywhere */
    uint32_t file;    /* or G4_LIVE_UNBOUND */
    uint64_t offset;  /* into the file */
    uint64_t size;
};

struct g4_live_bind {
    struct g4_live_header header;
    uint32_t count;
    uint32_t pad;
    /* struct g4_live_range ranges[count] */
};

enum g4_live_object_flags {
    G4_LIVE_OBJECT_WRITTEN = 1, /* the batch may write it */
    G4_LIVE_OBJECT_CAPTURE = 2, /* belongs into an error state */
};

struct g4_live_object {
    uint32_t address;
    uint32_t flags;
    uint64_t size;
    uint32_t tiling; /* 0 linear, 1 X, 2 Y */
    uint32_t pitch;  /* bytes */
};

struct g4_live_objects {
    struct g4_live_header header;
    uint32_t count;
    uint32_t pad;
    /* struct g4_live_object objects[count] */
};

enum g4_live_engine {
    G4_LIVE_RENDER,
    G4_LIVE_VIDEO,
};

struct g4_live_exec {
    struct g4_live_header header;
    uint32_t context; /* 0: the default one of this connection */
    uint32_t engine;
    uint32_t address; /* of the first command */
    uint32_t length;  /* bytes, a multiple of 8 */
};

enum g4_live_status {
    G4_LIVE_DONE,
    G4_LIVE_HANG,    /* the batch hung; its context was reset */
    G4_LIVE_REFUSED, /* the packet made no sense */
};

struct g4_live_result {
    struct g4_live_header header;
    uint32_t status;
    uint32_t context;
};

struct g4_live_context {
    struct g4_live_header header;
    uint32_t context;
    uint32_t alive; /* 0: it ends */
};

struct g4_live_register {
    struct g4_live_header header;
    uint32_t offset;
    uint32_t status; /* in the answer */
    uint64_t value;
};

struct g4_live_shared {
    struct g4_live_header header;
    uint32_t name;   /* SHARE: 1 asks for a global name; FIND: the name, 0 with a descriptor; SHARED: the name or 0 */
    uint32_t tiling; /* SHARE again tells of a change */
    uint32_t pitch;
    uint32_t status; /* in the answer */
    uint64_t size;
};

struct g4_live_mark {
    struct g4_live_header header;
    uint32_t address; /* of the picture that is shown, 0: none */
    uint32_t width;
    uint32_t height;
    uint32_t pitch;
    uint32_t tiling;
    uint32_t fourcc; /* DRM format */
};

struct g4_live_note {
    struct g4_live_header header;
    char text[256];
};

#endif
