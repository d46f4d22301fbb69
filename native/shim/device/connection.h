/* The connection of an open device file with the server: packets out, results and answers in (protocol.h).
 *
 * Functions that may wait give the shim's lock up while they do; what they did not keep may be gone afterwards.
 */
#ifndef SHIM_LINK_H
#define SHIM_LINK_H
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/protocol.h"

enum {
    CONNECTION_MAX_PENDING = 64
}; /* submissions that nobody has waited for */

struct memfd;

/* Somebody waits for an answer. */
struct pending_request {
    struct pending_request *next;
    uint64_t sequence;
    void *answer;
    size_t size; /* of the answer; 0 when there was none */
    int passed;  /* the descriptor that came with it, or -1 */
    bool done;
};

struct connection {
    int fd;       /* -1: not connected (yet) */
    bool dead;    /* and never again */
    bool used;    /* the server knows that a driver works with the device */
    bool polling; /* a thread waits for packets */
    pthread_t poller;
    uint64_t submitted, completed; /* sequence numbers of submissions */
    uint64_t asked;
    struct pending_request *requests;
    uint32_t contexts[CONNECTION_MAX_PENDING]; /* of the submissions under way, by sequence */
    struct memfd **files;                      /* what is behind the file numbers of the protocol */
    uint32_t *file_uses;
    uint32_t file_count;
    struct g4_live_welcome welcome;
    void (*result)(void *owner, uint32_t context, uint32_t status);
    void *owner;
};

/* The directory of the server's socket; the text is kept. */
void connection_set_directory(const char *path);
/* 0 or an errno. */
int connection_open(struct connection *connection);
void connection_close(struct connection *connection);
/* In the child of a fork: forget the parent's connection. */
void connection_abandon(struct connection *connection);

/* Send a packet; its header's size is filled in.  False: the server is gone. */
bool connection_send(struct connection *connection, void *packet, size_t size, int passed);
/* Send a packet and wait for the answer; 0 or an errno. */
int connection_request(struct connection *connection, void *packet, size_t size, int passed, void *answer,
                       size_t answer_size, int *received);

/* The number of the next submission, which is under way when this returns; waits when there are too many. */
bool connection_submit(struct connection *connection, struct g4_live_exec *exec);
bool connection_is_done(const struct connection *connection, uint64_t sequence);
/* Take in what has arrived, without waiting. */
void connection_receive(struct connection *connection);
/* Wait until something has arrived, or somebody else has taken something in, or the deadline. */
void connection_pause(struct connection *connection, int64_t deadline);
/* 0, or ETIME at the deadline (CLOCK_MONOTONIC, ns). */
int connection_wait(struct connection *connection, uint64_t sequence, int64_t deadline);

/* The number of a memory file, which the server hears of when it is new; one use is counted.  UINT32_MAX: none. */
uint32_t connection_add_file(struct connection *connection, struct memfd *memfd);
void connection_release_file(struct connection *connection, uint32_t number);
/* The server has heard that nothing is bound any more from files without use: it may let them go. */
void connection_drop_unused_files(struct connection *connection);

/* A driver works with the device. */
void connection_send_used(struct connection *connection);
/* Something for the user. */
void connection_log(struct connection *connection, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
