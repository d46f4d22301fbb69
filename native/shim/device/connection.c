#define _GNU_SOURCE
#include "shim/device/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
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

/* Waking costs at least a tenth of a wait of this length, so spin first.  spin() yields, so that the server can run if
 * there are few processors. */
static const int64_t longest_spin = 400000; /* ns */
static const int64_t short_wait = 500000;   /* ns, part of which was spent on waking processes */

static const uint64_t progress_bytes = 4096; /* a page, because other connections may use the next one */

static const char *directory_path;

/* --- connecting --- */

void connection_set_directory(const char *path) {
    directory_path = path;
}

static void die(struct connection *connection) {
    connection->dead = true;
    connection->completed = connection->submitted;
    for (struct pending_request *request = connection->requests; request; request = request->next) {
        request->size = request->done ? request->size : 0;
        request->done = true;
    }
    shim_announce();
}

/* The socket's path may not fit into sun_path; its path through the directory's descriptor always does. */
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

/* Memory for progress; results arrive as packets if there is none. */
static void make_progress(struct connection *connection, struct memfd *arena) {
    const uint64_t offset = memfd_alloc(arena, progress_bytes);
    cpu_set_t processors;
    connection->progress = offset == RANGES_NONE ? NULL : (struct g4_live_progress *)(void *)(arena->map + offset);
    connection->failures = 0;
    connection->only_packets = false;
    const bool alone = sched_getaffinity(0, sizeof processors, &processors) == 0 && CPU_COUNT(&processors) == 1;
    connection->can_spin = connection->progress && !alone;
    connection->patience = longest_spin;
}

/* All submissions have ended, so the server no longer writes it. */
static void free_progress(struct connection *connection) {
    if (connection->progress) {
        struct memfd *const arena = connection->file_count ? connection->files[0] : memfd_arena();
        memfd_free(arena, (uint64_t)((uint8_t *)connection->progress - arena->map), progress_bytes);
    }
    connection->progress = NULL;
    connection->can_spin = false;
}

static bool greet(struct connection *connection, const struct memfd *arena) {
    struct g4_live_hello hello = {
        .header = {.type = G4_LIVE_HELLO, .size = sizeof hello},
        .version = G4_LIVE_VERSION,
        .pid = (uint32_t)getpid(),
        .arena_size = arena->size,
    };
    if (connection->progress) {
        hello.has_progress = 1;
        hello.progress = (uint64_t)((uint8_t *)connection->progress - arena->map);
    }
    (void)snprintf(hello.program, sizeof hello.program, "%s", program_invocation_short_name);
    if (descriptor_send(connection->fd, &hello, sizeof hello, arena->fd) != sizeof hello) {
        return false;
    }
    int passed = -1;
    const long got = descriptor_receive(connection->fd, &connection->welcome, sizeof connection->welcome, &passed, 0);
    if (passed >= 0) {
        REAL(close)(passed);
    }
    return got == sizeof connection->welcome && connection->welcome.header.type == G4_LIVE_WELCOME &&
           connection->welcome.version == G4_LIVE_VERSION && connection->welcome.chip.gtt_size >= (uint64_t)16 << 20 &&
           connection->welcome.chip.gtt_size <= (uint64_t)1 << (connection->welcome.chip.wide ? 48 : 32);
}

int connection_open(struct connection *connection) {
    if (connection->fd >= 0 || connection->dead) {
        return connection->dead ? EIO : 0;
    }
    struct memfd *const arena = memfd_arena();
    if (!arena) {
        return ENOMEM;
    }
    make_progress(connection, arena);
    connection->fd = connect_socket();
    if (connection->fd < 0 || !greet(connection, arena)) {
        connection_close(connection);
        connection->dead = true;
        return EIO;
    }
    connection->files = calloc(1, sizeof(struct memfd *));
    connection->file_uses = calloc(1, sizeof(uint32_t));
    if (!connection->files || !connection->file_uses) {
        connection_close(connection);
        return ENOMEM;
    }
    connection->files[0] = memfd_get(arena);
    connection->file_count = 1;
    return 0;
}

void connection_close(struct connection *connection) {
    free_progress(connection);
    for (uint32_t i = 0; i < connection->file_count; i++) {
        if (connection->files[i]) {
            memfd_put(connection->files[i]);
        }
    }
    free(connection->files);
    free(connection->file_uses);
    connection->files = NULL;
    connection->file_uses = NULL;
    connection->file_count = 0;
    descriptor_close(connection->fd);
    connection->fd = -1;
}

void connection_abandon(struct connection *connection) {
    connection->progress = NULL; /* the parent's, which continues to use it */
    connection_close(connection);
    connection->polling = false;
    connection->used = false;
    connection->requests = NULL;
    connection->completed = connection->submitted;
}

/* --- sending --- */

bool connection_send(struct connection *connection, void *packet, size_t size, int passed) {
    struct g4_live_header *const header = packet;
    header->size = (uint32_t)size;
    if (connection->dead || connection->fd < 0) {
        return false;
    }
    if (descriptor_send(connection->fd, packet, size, passed) != (long)size) {
        die(connection);
        return false;
    }
    return true;
}

/* --- receiving --- */

static void handle_result(struct connection *connection, const struct g4_live_result *result) {
    const uint64_t sequence = result->header.sequence;
    if (sequence <= connection->completed || sequence > connection->submitted) {
        return;
    }
    connection->completed = sequence;
    if (result->status != G4_LIVE_DONE) {
        connection->failures++;
        connection->result(connection->owner, connection->contexts[sequence % CONNECTION_MAX_PENDING], result->status);
    }
}

static void remove_request(struct connection *connection, const struct pending_request *request) {
    for (struct pending_request **slot = &connection->requests; *slot; slot = &(*slot)->next) {
        if (*slot == request) {
            *slot = request->next;
            return;
        }
    }
}

static void handle_answer(struct connection *connection, const struct g4_live_header *packet, size_t size, int passed) {
    for (struct pending_request *request = connection->requests; request; request = request->next) {
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

/* False for the polling thread itself, which gets here from a signal handler that interrupted its poll. */
static bool polled_by_another(const struct connection *connection) {
    return connection->polling && !pthread_equal(connection->poller, pthread_self());
}

/* The last submission that ended, by the memory that the server writes; those that failed come as packets. */
static bool take_progress(struct connection *connection) {
    const struct g4_live_progress *const progress = connection->progress;
    if (!progress || connection->only_packets) {
        return false;
    }
    const uint32_t completed = __atomic_load_n(&progress->completed, __ATOMIC_SEQ_CST);
    const int32_t ahead = (int32_t)(completed - (uint32_t)connection->completed);
    if (ahead <= 0 || __atomic_load_n(&progress->failed, __ATOMIC_SEQ_CST) != connection->failures) {
        return false;
    }
    if ((uint32_t)ahead > connection->submitted - connection->completed) {
        /* The reported progress is impossible: from now on, only packets count. */
        __atomic_store_n(&connection->progress->sleeping, 1, __ATOMIC_SEQ_CST);
        connection->only_packets = true;
        return false;
    }
    connection->completed += (uint32_t)ahead;
    return true;
}

/* Whether a packet may have arrived, or the connection may have ended while a thread waits. */
static bool expects_packets(const struct connection *connection) {
    return !connection->progress || connection->only_packets || connection->requests || connection->has_leftovers ||
           connection->completed != connection->submitted;
}

static bool read_packets(struct connection *connection) {
    union {
        struct g4_live_header header;
        struct g4_live_result result;
        char bytes[512];
    } packet;
    bool any = false;
    connection->has_leftovers = false;
    while (connection->fd >= 0 && !connection->dead) {
        int passed = -1;
        const long got = descriptor_receive(connection->fd, &packet, sizeof packet, &passed, MSG_DONTWAIT);
        if (got < 0 && errno == EAGAIN) {
            break;
        }
        any = true;
        if (got < (long)sizeof packet.header) {
            die(connection);
        } else if (packet.header.type == G4_LIVE_RESULT && got == sizeof packet.result) {
            handle_result(connection, &packet.result);
        } else {
            handle_answer(connection, &packet.header, (size_t)got, passed);
        }
    }
    return any;
}

void connection_receive(struct connection *connection) {
    bool any = take_progress(connection);
    /* Leave the packets to a thread that polls: if they were read here, its poll would not return. */
    if (expects_packets(connection) && !polled_by_another(connection)) {
        any |= read_packets(connection);
        any |= take_progress(connection);
    }
    if (any) {
        shim_announce();
    }
}

/* --- waiting --- */

/* The known progress of a connection when a wait began. */
struct known_progress {
    const struct g4_live_progress *now;
    uint32_t completed, failures;
};

/* A packet is coming, or has arrived. */
static bool has_failed(const struct known_progress *known) {
    return __atomic_load_n(&known->now->failed, __ATOMIC_SEQ_CST) != known->failures;
}

static bool has_progressed(const struct known_progress *known) {
    const uint32_t completed = __atomic_load_n(&known->now->completed, __ATOMIC_SEQ_CST);
    return (int32_t)(completed - known->completed) > 0 && !has_failed(known);
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Tell the server which processor the thread polls on; 0: it does not.  Written only when it changes, as the server
 * reads what is next to it. */
static void note_processor(struct g4_live_progress *progress, uint32_t processor) {
    if (__atomic_load_n(&progress->processor, __ATOMIC_RELAXED) != processor) {
        __atomic_store_n(&progress->processor, processor, __ATOMIC_RELAXED);
    }
}

/* Spin until `end`, without the lock; false: nothing has arrived. */
static bool spin(struct g4_live_progress *progress, const struct known_progress *known, int64_t end) {
    enum {
        POLLS = 32 /* of the progress between two reads of the clock */
    };
    do {
        for (int i = 0; i < POLLS; i++) {
            if (has_progressed(known) || has_failed(known)) {
                return has_progressed(known);
            }
            pause_briefly();
        }
        note_processor(progress, (uint32_t)sched_getcpu() + 1);
        (void)sched_yield(); /* on a busy machine, other threads come first */
    } while (shim_now() < end);
    return false;
}

static void sleep_until_packet(int fd, int64_t deadline) {
    struct pollfd poll = {.fd = fd, .events = POLLIN};
    struct timespec left = {0};
    if (deadline != INT64_MAX) {
        const int64_t now = shim_now();
        const int64_t rest = deadline > now ? deadline - now : 0;
        left = (struct timespec){.tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000};
    }
    (void)ppoll(&poll, 1, deadline == INT64_MAX ? NULL : &left, NULL);
}

/* Wait without the lock.  The server sends a packet for each result while `sleeping` is set; one that it reported
 * before is found by checking once more. */
static void wait_for_packet(struct g4_live_progress *progress, const struct known_progress *known, int fd,
                            int64_t deadline) {
    if (!progress) {
        sleep_until_packet(fd, deadline);
        return;
    }
    /* A signal handler that waits in here leaves it set for the wait that it has interrupted. */
    const uint32_t before = __atomic_exchange_n(&progress->sleeping, 1, __ATOMIC_SEQ_CST);
    if (!has_progressed(known)) {
        sleep_until_packet(fd, deadline);
    }
    __atomic_store_n(&progress->sleeping, before, __ATOMIC_SEQ_CST);
}

void connection_pause(struct connection *connection, int64_t deadline) {
    if (polled_by_another(connection)) {
        shim_pause(deadline);
        return;
    }
    connection->polling = true;
    connection->poller = pthread_self();
    struct g4_live_progress *const progress = connection->only_packets ? NULL : connection->progress;
    const struct known_progress known = {progress, (uint32_t)connection->completed, connection->failures};
    const int fd = connection->fd;
    const bool may_spin = progress && connection->can_spin && !connection->requests;
    const int64_t patience = may_spin ? connection->patience : 0;
    const int64_t start = may_spin ? shim_now() : 0;
    shim_unlock();
    const bool done = patience && spin(progress, &known, deadline - start < patience ? deadline : start + patience);
    if (patience) {
        note_processor(progress, 0);
    }
    if (!done) {
        wait_for_packet(progress, &known, fd, deadline);
    }
    shim_lock();
    if (may_spin) {
        connection->patience = done || shim_now() - start < short_wait ? longest_spin : 0;
    }
    connection->has_leftovers = connection->has_leftovers || !done;
    connection->polling = false;
    shim_announce();
}

int connection_wait(struct connection *connection, uint64_t sequence, int64_t deadline) {
    for (;;) {
        connection_receive(connection);
        if (connection_is_done(connection, sequence)) {
            return 0;
        }
        if (deadline != INT64_MAX && shim_now() >= deadline) {
            return ETIME;
        }
        connection_pause(connection, deadline);
    }
}

bool connection_is_done(const struct connection *connection, uint64_t sequence) {
    return connection->dead || connection->completed >= sequence;
}

int connection_request(struct connection *connection, void *packet, size_t size, int passed, void *answer,
                       size_t answer_size, int *received) {
    struct pending_request request = {.sequence = (uint64_t)1 << 63 | ++connection->last_request,
                                      .answer = answer,
                                      .size = answer_size,
                                      .passed = -1};
    ((struct g4_live_header *)packet)->sequence = request.sequence;
    if (!connection_send(connection, packet, size, passed)) {
        return EIO;
    }
    request.next = connection->requests;
    connection->requests = &request;
    for (;;) {
        connection_receive(connection);
        if (request.done) {
            break;
        }
        connection_pause(connection, INT64_MAX);
    }
    remove_request(connection, &request);
    if (received) {
        *received = request.passed;
    } else if (request.passed >= 0) {
        REAL(close)(request.passed);
    }
    return request.size == answer_size ? 0 : EIO;
}

bool connection_submit(struct connection *connection, struct g4_live_exec *exec, uint64_t new_bytes) {
    exec->header.type = G4_LIVE_EXEC;
    exec->header.sequence = connection->submitted + 1;
    if (!connection_send(connection, exec, sizeof *exec, -1)) {
        return false;
    }
    connection->submitted++;
    connection->contexts[connection->submitted % CONNECTION_MAX_PENDING] = exec->context;
    connection->new_bytes[connection->submitted % CONNECTION_MAX_PENDING] = new_bytes;
    return true;
}

uint64_t connection_new_bytes(const struct connection *connection) {
    uint64_t sum = 0;
    for (uint64_t sequence = connection->completed + 1; sequence <= connection->submitted; sequence++) {
        sum += connection->new_bytes[sequence % CONNECTION_MAX_PENDING];
    }
    return sum;
}

/* --- files --- */

uint32_t connection_add_file(struct connection *connection, struct memfd *memfd) {
    uint32_t number = UINT32_MAX;
    for (uint32_t i = 0; i < connection->file_count; i++) {
        if (connection->files[i] == memfd) {
            connection->file_uses[i]++;
            return i;
        }
        if (!connection->files[i] && number == UINT32_MAX) {
            number = i;
        }
    }
    if (number == UINT32_MAX) {
        number = connection->file_count;
        struct memfd **const files = realloc(connection->files, (number + 1) * sizeof(struct memfd *));
        if (!files || number >= G4_LIVE_MAX_FILES) {
            return UINT32_MAX;
        }
        connection->files = files;
        uint32_t *const uses = realloc(connection->file_uses, (number + 1) * sizeof *uses);
        if (!uses) {
            return UINT32_MAX;
        }
        connection->file_uses = uses;
        connection->file_count++;
        files[number] = NULL;
    }
    struct g4_live_file packet = {.header = {.type = G4_LIVE_FILE}, .file = number, .size = memfd->size};
    if (!connection_send(connection, &packet, sizeof packet, memfd->fd)) {
        return UINT32_MAX;
    }
    connection->files[number] = memfd_get(memfd);
    connection->file_uses[number] = 1;
    return number;
}

void connection_release_file(struct connection *connection, uint32_t number) {
    if (number < connection->file_count && connection->file_uses[number]) {
        connection->file_uses[number]--;
    }
}

void connection_drop_unused_files(struct connection *connection) {
    for (uint32_t i = 1; i < connection->file_count; i++) {
        if (connection->files[i] && connection->file_uses[i] == 0) {
            struct g4_live_file packet = {.header = {.type = G4_LIVE_FILE}, .file = i};
            (void)connection_send(connection, &packet, sizeof packet, -1);
            memfd_put(connection->files[i]);
            connection->files[i] = NULL;
        }
    }
}

void connection_send_used(struct connection *connection) {
    struct g4_live_header packet = {.type = G4_LIVE_USED};
    connection->used = connection->used || connection_send(connection, &packet, sizeof packet, -1);
}

void connection_log(struct connection *connection, const char *format, ...) {
    struct g4_live_note note = {.header = {.type = G4_LIVE_NOTE}};
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(note.text, sizeof note.text, format, arguments);
    va_end(arguments);
    (void)connection_send(connection, &note, sizeof note, -1);
}
