/*
 * Memory shared with other processes, and hashes of it (core/live_memory.c); packets from them (core/live_packets.c);
 * memory before it is needed (core/provide.c).
 */
#ifndef G4_API_LIVE_H
#define G4_API_LIVE_H

#include "api/memory.h"

/* Map a whole file of another process, shared and writable; NULL with errno set. */
void *g4_file_map(int descriptor, size_t size);
void g4_file_unmap(void *host, size_t size);
/* True if a page of the address space lies in this range of host memory. */
bool g4_mem_uses(const struct g4_mem *mem, const void *host, size_t size);
/* Hash the contents of pages: 128 bits each, as two numbers.  Absent pages hash like pages of zeros. */
void g4_mem_hash(struct g4_mem *mem, uint64_t page, uint32_t count, uint64_t *hashes);
/* Hash the contents of pages in host memory, as g4_mem_hash() does. */
void g4_hash_pages(const uint8_t *host, size_t count, uint64_t *hashes);
/* One byte for each of these pages: 1 if the device has written it since a mark. */
void g4_mem_written_since(const struct g4_mem *mem, const uint64_t *pages, uint32_t count, uint32_t mark,
                          uint8_t *written);

/* Let the system provide and map memory all at once, which takes a fraction of the time that a fault for each page
 * takes: memory that will be written, whose contents stay, but for parts of pages at both ends; the code of this
 * library; and `bytes`, at most 4 MiB, for what this thread will allocate.  These do nothing if the system cannot do
 * that. */
void g4_provide(void *start, size_t size);
void g4_code_provide(void);
void g4_heap_provide(size_t bytes);
/* Keep most of the memory that the process frees, for its next use. */
void g4_heap_keep(void);

/* A packet as it was received. */
struct g4_packet {
    int64_t size;         /* below 0: an errno, negative */
    int32_t descriptor;   /* received with it, or -1 */
    uint32_t descriptors; /* number received; if there are several, all are closed */
    bool truncated;       /* the packet or its descriptors did not fit */
};

/* Receive a packet from a SOCK_SEQPACKET socket.  Spins for up to `patience` ns, then sleeps; returns the time
 * that it waited, ns. */
uint64_t g4_packet_receive(int socket, void *buffer, size_t size, uint64_t patience, struct g4_packet *packet);

/* How the other side waits. */
enum g4_live_waiting {
    G4_LIVE_POLLS,            /* or does not wait */
    G4_LIVE_SLEEPS,           /* it needs a packet */
    G4_LIVE_SHARES_PROCESSOR, /* it polls, and can only run when the calling thread does not */
};

/* Report in shared memory (struct g4_live_progress) that a submission has ended well.  Returns an enum
 * g4_live_waiting. */
uint32_t g4_live_completed(uint32_t *completed, const uint32_t *sleeping, const uint32_t *processor, uint64_t sequence);
/* Announce in the same memory the packet of a submission that has failed. */
void g4_live_failed(uint32_t *failed);

#endif
