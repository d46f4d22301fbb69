/* The connection of an open device file to the server: sends packets, receives results and answers (protocol.h).
 *
 * Functions that may wait release the shim's lock meanwhile.  After they return, an object that the caller holds no
 * reference to may be gone.
 */
#ifndef SHIM_CONNECTION_H
#define SHIM_CONNECTION_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/protocol.h"

enum {
    CONNECTION_MAX_PENDING = 64 /* submissions without a result */
};

struct memfd;

/* A packet whose answer a thread waits for. */
struct pending_request {
    struct pending_request *next;
    uint64_t sequence;
    void *answer;
    size_t size; /* of the answer; 0 if the connection ended first */
    int passed;  /* the descriptor that came with it, or -1 */
    bool done;
};

struct connection {
    int fd;       /* -1: not connected yet */
    bool dead;    /* the server is gone, or refused the connection; there is no second attempt */
    bool used;    /* G4_LIVE_USED has been sent */
    bool polling; /* `poller` waits for packets */
    pthread_t poller;
    uint64_t submitted, completed;     /* sequence numbers of submissions */
    struct g4_live_progress *progress; /* in the arena, or NULL */
    uint32_t failures;                 /* RESULT packets that reported one */
    bool has_leftovers;                /* a packet may have arrived that no thread waits for */
    bool only_packets;                 /* the server has reported impossible progress */
    bool can_spin;                     /* progress is in memory, and the server has another processor */
    int64_t patience;                  /* ns to spin; 0 after spinning has failed, until a wait is short again */
    uint64_t last_request;
    struct pending_request *requests;
    /* Of pending submissions, by sequence modulo the capacity: the context, and the size of the buffers that no
     * submission has used before. */
    uint32_t contexts[CONNECTION_MAX_PENDING];
    uint64_t new_bytes[CONNECTION_MAX_PENDING];
    struct memfd **files; /* by the protocol's file number; NULL: the number is free */
    uint32_t *file_uses;
    uint32_t file_count;
    struct g4_live_welcome welcome;
    void (*result)(void *owner, uint32_t context, uint32_t status);
    void *owner;
};

/* The directory with the server's socket.  The pointer is kept. */
void connection_set_directory(const char *path);
/* 0 or an errno. */
int connection_open(struct connection *connection);
void connection_close(struct connection *connection);
/* In the child of a fork: drop the parent's connection. */
void connection_abandon(struct connection *connection);

/* Send a packet, whose header.size is filled in here.  False: the server is gone. */
bool connection_send(struct connection *connection, void *packet, size_t size, int passed);
/* Send a packet and wait for the answer; 0 or an errno. */
int connection_request(struct connection *connection, void *packet, size_t size, int passed, void *answer,
                       size_t answer_size, int *received);

/* Send an EXEC with the next sequence number.  The caller makes sure that fewer than CONNECTION_MAX_PENDING are
 * pending. `new_bytes` is the size of the buffers that no submission has used before.  False: the server is gone. */
bool connection_submit(struct connection *connection, struct g4_live_exec *exec, uint64_t new_bytes);
/* The new bytes of all pending submissions. */
uint64_t connection_new_bytes(const struct connection *connection);
bool connection_is_done(const struct connection *connection, uint64_t sequence);
/* Handle the packets that have arrived, without waiting. */
void connection_receive(struct connection *connection);
/* Wait for a result or a packet, for another thread to handle one, or for the deadline; may return earlier. */
void connection_pause(struct connection *connection, int64_t deadline);
/* Wait for the result of a submission; 0, or ETIME at the deadline (CLOCK_MONOTONIC, ns). */
int connection_wait(struct connection *connection, uint64_t sequence, int64_t deadline);

/* The protocol's number of a memfd, which is sent to the server first if it is new; takes a use.  UINT32_MAX: no
 * memory, or the server is gone. */
uint32_t connection_add_file(struct connection *connection, struct memfd *memfd);
void connection_release_file(struct connection *connection, uint32_t number);
/* Tell the server to close the files without uses.  Their pages must have been unbound (gtt_flush()). */
void connection_drop_unused_files(struct connection *connection);

/* Tell the server, once, that a driver uses the device. */
void connection_send_used(struct connection *connection);
/* Show the user a message, on the server's standard error. */
void connection_log(struct connection *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
