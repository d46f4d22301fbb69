/* Packets to and from the server (connection.h). */
#define _GNU_SOURCE
#include "shim/device/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "shim/base/descriptors.h"
#include "shim/base/lock.h"
#include "shim/base/real.h"
#include "shim/device/memfd.h"

static const char *directory_path;

/* --- life --- */

void link_set_directory(const char *path) {
    directory_path = path;
}

static void die(struct link *link) {
    link->dead = true;
    link->completed = link->submitted;
    for (struct link_request *request = link->requests; request; request = request->next) {
        request->size = request->done ? request->size : 0;
        request->done = true;
    }
    shim_announce();
}

/* The socket's path may be longer than an address can be: by way of the directory's descriptor it never is. */
static int connect_socket(void) {
    const int directory = REAL(openat)(AT_FDCWD, directory_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) {
        return -1;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/socket", directory);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    int result;
    do {
        result = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&address, sizeof address);
    } while (result < 0 && fd >= 0 && errno == EINTR);
    REAL(close)(directory);
    if (result < 0 && fd >= 0) {
        REAL(close)(fd);
        return -1;
    }
    return descriptor_hide(fd);
}

static bool greet(struct link *link, const struct store *arena) {
    struct g4_live_hello hello = {
        .header = {.type = G4_LIVE_HELLO, .size = sizeof hello},
        .version = G4_LIVE_VERSION,
        .pid = (uint32_t)getpid(),
        .arena_size = arena->size,
    };
    (void)snprintf(hello.program, sizeof hello.program, "%s", program_invocation_short_name);
    if (descriptor_send(link->fd, &hello, sizeof hello, arena->fd) != sizeof hello) {
        return false;
    }
    int passed = -1;
    const long got = descriptor_receive(link->fd, &link->welcome, sizeof link->welcome, &passed, 0);
    if (passed >= 0) {
        REAL(close)(passed);
    }
    return got == sizeof link->welcome && link->welcome.header.type == G4_LIVE_WELCOME &&
           link->welcome.version == G4_LIVE_VERSION && link->welcome.gtt_size >= (uint64_t)16 << 20 &&
           link->welcome.gtt_size <= (uint64_t)1 << 32;
}

int link_connect(struct link *link) {
    if (link->fd >= 0 || link->dead) {
        return link->dead ? EIO : 0;
    }
    struct store *const arena = store_arena();
    if (!arena) {
        return ENOMEM;
    }
    link->fd = connect_socket();
    if (link->fd < 0 || !greet(link, arena)) {
        link_close(link);
        link->dead = true;
        return EIO;
    }
    link->files = calloc(1, sizeof(struct store *));
    link->file_uses = calloc(1, sizeof(uint32_t));
    if (!link->files || !link->file_uses) {
        link_close(link);
        return ENOMEM;
    }
    link->files[0] = store_keep(arena);
    link->file_count = 1;
    return 0;
}

void link_close(struct link *link) {
    for (uint32_t i = 0; i < link->file_count; i++) {
        if (link->files[i]) {
            store_drop(link->files[i]);
        }
    }
    free(link->files);
    free(link->file_uses);
    link->files = NULL;
    link->file_uses = NULL;
    link->file_count = 0;
    descriptor_close(link->fd);
    link->fd = -1;
}

void link_abandon(struct link *link) {
    link_close(link);
    link->polling = false;
    link->used = false;
    link->requests = NULL;
    link->completed = link->submitted;
}

/* --- out --- */

bool link_send(struct link *link, void *packet, size_t size, int passed) {
    struct g4_live_header *const header = packet;
    header->size = (uint32_t)size;
    if (link->dead || link->fd < 0) {
        return false;
    }
    if (descriptor_send(link->fd, packet, size, passed) != (long)size) {
        die(link);
        return false;
    }
    return true;
}

/* --- in --- */

static void handle_result(struct link *link, const struct g4_live_result *result) {
    const uint64_t sequence = result->header.sequence;
    if (sequence <= link->completed || sequence > link->submitted) {
        return;
    }
    link->completed = sequence;
    if (result->status != G4_LIVE_DONE) {
        link->result(link->owner, link->contexts[sequence % LINK_DEPTH], result->status);
    }
}

static void take_out(struct link *link, const struct link_request *request) {
    for (struct link_request **place = &link->requests; *place; place = &(*place)->next) {
        if (*place == request) {
            *place = request->next;
            return;
        }
    }
}

static void handle_answer(struct link *link, const struct g4_live_header *packet, size_t size, int passed) {
    for (struct link_request *request = link->requests; request; request = request->next) {
        if (request->sequence == packet->sequence && !request->done) {
            const size_t part = size < request->size ? size : request->size;
            memcpy(request->answer, packet, part);
            request->size = part;
            request->passed = passed;
            request->done = true;
            return;
        }
    }
    if (passed >= 0) {
        REAL(close)(passed);
    }
}

/* This thread itself may have been interrupted by a signal while it polled. */
static bool polled_by_another(const struct link *link) {
    return link->polling && !pthread_equal(link->poller, pthread_self());
}

void link_receive(struct link *link) {
    union {
        struct g4_live_header header;
        struct g4_live_result result;
        char room[512];
    } packet;
    bool any = false;
    if (polled_by_another(link)) {
        return; /* what arrives wakes that thread; were it taken away, it would sleep on */
    }
    while (link->fd >= 0 && !link->dead) {
        int passed = -1;
        const long got = descriptor_receive(link->fd, &packet, sizeof packet, &passed, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) {
            break;
        }
        any = true;
        if (got < (long)sizeof packet.header) {
            die(link);
        } else if (packet.header.type == G4_LIVE_RESULT && got == sizeof packet.result) {
            handle_result(link, &packet.result);
        } else {
            handle_answer(link, &packet.header, (size_t)got, passed);
        }
    }
    if (any) {
        shim_announce();
    }
}

void link_pause(struct link *link, int64_t deadline) {
    if (polled_by_another(link)) {
        shim_pause(deadline);
        return;
    }
    link->polling = true;
    link->poller = pthread_self();
    struct pollfd poll = {.fd = link->fd, .events = POLLIN};
    struct timespec left = {0};
    if (deadline != INT64_MAX) {
        const int64_t now = shim_now();
        const int64_t rest = deadline > now ? deadline - now : 0;
        left = (struct timespec){.tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000};
    }
    shim_unlock();
    (void)ppoll(&poll, 1, deadline == INT64_MAX ? NULL : &left, NULL);
    shim_lock();
    link->polling = false;
    shim_announce();
}

int link_wait(struct link *link, uint64_t sequence, int64_t deadline) {
    for (;;) {
        link_receive(link);
        if (link_is_done(link, sequence)) {
            return 0;
        }
        if (deadline != INT64_MAX && shim_now() >= deadline) {
            return ETIME;
        }
        link_pause(link, deadline);
    }
}

bool link_is_done(const struct link *link, uint64_t sequence) {
    return link->dead || link->completed >= sequence;
}

int link_ask(struct link *link, void *packet, size_t size, int passed, void *answer, size_t answer_size,
             int *received) {
    struct link_request request = {
        .sequence = (uint64_t)1 << 63 | ++link->asked, .answer = answer, .size = answer_size, .passed = -1};
    ((struct g4_live_header *)packet)->sequence = request.sequence;
    if (!link_send(link, packet, size, passed)) {
        return EIO;
    }
    request.next = link->requests;
    link->requests = &request;
    for (;;) {
        link_receive(link);
        if (request.done) {
            break;
        }
        link_pause(link, INT64_MAX);
    }
    take_out(link, &request);
    if (received) {
        *received = request.passed;
    } else if (request.passed >= 0) {
        REAL(close)(request.passed);
    }
    return request.size == answer_size ? 0 : EIO;
}

bool link_submit(struct link *link, struct g4_live_exec *exec) {
    exec->header.type = G4_LIVE_EXEC;
    exec->header.sequence = link->submitted + 1;
    if (!link_send(link, exec, sizeof *exec, -1)) {
        return false;
    }
    link->submitted++;
    link->contexts[link->submitted % LINK_DEPTH] = exec->context;
    return true;
}

/* --- files --- */

uint32_t link_file(struct link *link, struct store *store) {
    uint32_t number = UINT32_MAX;
    for (uint32_t i = 0; i < link->file_count; i++) {
        if (link->files[i] == store) {
            link->file_uses[i]++;
            return i;
        }
        if (!link->files[i] && number == UINT32_MAX) {
            number = i;
        }
    }
    if (number == UINT32_MAX) {
        number = link->file_count;
        struct store **const files = realloc(link->files, (number + 1) * sizeof(struct store *));
        if (!files || number >= G4_LIVE_MAX_FILES) {
            return UINT32_MAX;
        }
        link->files = files;
        uint32_t *const uses = realloc(link->file_uses, (number + 1) * sizeof *uses);
        if (!uses) {
            return UINT32_MAX;
        }
        link->file_uses = uses;
        link->file_count++;
        files[number] = NULL;
    }
    struct g4_live_file packet = {.header = {.type = G4_LIVE_FILE}, .file = number, .size = store->size};
    if (!link_send(link, &packet, sizeof packet, store->fd)) {
        return UINT32_MAX;
    }
    link->files[number] = store_keep(store);
    link->file_uses[number] = 1;
    return number;
}

void link_file_unused(struct link *link, uint32_t number) {
    if (number < link->file_count && link->file_uses[number]) {
        link->file_uses[number]--;
    }
}

void link_forget_unused(struct link *link) {
    for (uint32_t i = 1; i < link->file_count; i++) {
        if (link->files[i] && link->file_uses[i] == 0) {
            struct g4_live_file packet = {.header = {.type = G4_LIVE_FILE}, .file = i};
            (void)link_send(link, &packet, sizeof packet, -1);
            store_drop(link->files[i]);
            link->files[i] = NULL;
        }
    }
}

void link_tell_used(struct link *link) {
    struct g4_live_header packet = {.type = G4_LIVE_USED};
    link->used = link->used || link_send(link, &packet, sizeof packet, -1);
}

void link_note(struct link *link, const char *format, ...) {
    struct g4_live_note note = {.header = {.type = G4_LIVE_NOTE}};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note.text, sizeof note.text, format, arguments);
    va_end(arguments);
    (void)link_send(link, &note, sizeof note, -1);
}
