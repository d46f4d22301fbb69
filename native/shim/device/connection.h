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
    LINK_DEPTH = 64
}; /* submissions that nobody has waited for */

struct store;

/* Somebody waits for an answer. */
struct link_request {
    struct link_request *next;
    uint64_t sequence;
    void *answer;
    size_t size; /* of the answer; 0 when there was none */
    int passed;  /* the descriptor that came with it, or -1 */
    bool done;
};

struct link {
    int fd;       /* -1: not connected (yet) */
    bool dead;    /* and never again */
    bool used;    /* the server knows that a driver works with the device */
    bool polling; /* a thread waits for packets */
    pthread_t poller;
    uint64_t submitted, completed; /* sequence numbers of submissions */
    uint64_t asked;
    struct link_request *requests;
    uint32_t contexts[LINK_DEPTH]; /* of the submissions under way, by sequence */
    struct store **files;          /* what is behind the file numbers of the protocol */
    uint32_t *file_uses;
    uint32_t file_count;
    struct g4_live_welcome welcome;
    void (*result)(void *owner, uint32_t context, uint32_t status);
    void *owner;
};

/* The directory of the server's socket; the text is kept. */
void link_set_directory(const char *path);
/* 0 or an errno. */
int link_connect(struct link *link);
void link_close(struct link *link);
/* In the child of a fork: forget the parent's connection. */
void link_abandon(struct link *link);

/* Send a packet; its header's size is filled in.  False: the server is gone. */
bool link_send(struct link *link, void *packet, size_t size, int passed);
/* Send a packet and wait for the answer; 0 or an errno. */
int link_ask(struct link *link, void *packet, size_t size, int passed, void *answer, size_t answer_size, int *received);

/* The number of the next submission, which is under way when this returns; waits when there are too many. */
bool link_submit(struct link *link, struct g4_live_exec *exec);
bool link_is_done(const struct link *link, uint64_t sequence);
/* Take in what has arrived, without waiting. */
void link_receive(struct link *link);
/* Wait until something has arrived, or somebody else has taken something in, or the deadline. */
void link_pause(struct link *link, int64_t deadline);
/* 0, or ETIME at the deadline (CLOCK_MONOTONIC, ns). */
int link_wait(struct link *link, uint64_t sequence, int64_t deadline);

/* The number of a memory file, which the server hears of when it is new; one use is counted.  UINT32_MAX: none. */
uint32_t link_file(struct link *link, struct store *store);
void link_file_unused(struct link *link, uint32_t number);
/* The server has heard that nothing is bound any more from files without use: it may let them go. */
void link_forget_unused(struct link *link);

/* A driver works with the device. */
void link_tell_used(struct link *link);
/* Something for the user. */
void link_note(struct link *link, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
