/*
 * Two threads use the device when the program installs its first signal handler, with the function that is named, and
 * while that handler uses the device, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <time.h>

enum {
    ENOUGH = 300,
    LONGEST = 60, /* seconds */
};

static const unsigned long create_object = 0xC010645BUL, is_busy = 0xC0086457UL;

static int device;
static uint32_t handle;
static atomic_int handled, rounds;
static atomic_bool over;

static void use(void) {
    uint32_t argument[2] = {handle, 0};
    ioctl(device, is_busy, argument); /* NOLINT(bugprone-signal-handler,cert-sig30-c): a system call is safe */
}

static void handler(int number) {
    (void)number;
    use();
    handled++;
}

static void *use_often(void *data) {
    while (!over) {
        use();
        rounds++;
    }
    return data;
}

/* Ends when the other thread has used the device so often since. */
static void use_until(int more) {
    const int end = rounds + more;
    while (rounds < end) {
        use();
    }
}

static int install(const char *function) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (strcmp(function, "sigaction") == 0) {
        return sigaction(SIGALRM, &action, NULL);
    }
    return signal(SIGALRM, handler) == SIG_ERR;
}

int main(int argc, char **argv) {
    const struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    struct {
        uint64_t size;
        uint32_t handle, pad;
    } object = {4096, 0, 0};
    pthread_t thread;

    device = open("/dev/dri/renderD128", O_RDWR);
    if (argc != 2 || device < 0 || ioctl(device, create_object, &object) ||
        pthread_create(&thread, NULL, use_often, NULL)) {
        return 2;
    }
    handle = object.handle;
    use_until(1000);
    if (install(argv[1])) {
        return 2;
    }
    setitimer(ITIMER_REAL, &often, NULL);
    for (const time_t end = time(NULL) + LONGEST; time(NULL) < end && handled < ENOUGH;) {
        use_until(100);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    over = true;
    pthread_join(thread, NULL);
    printf("%s\n", handled >= ENOUGH ? "handled" : "too few");
    return 0;
}
