/*
 * Confinement: Landlock for files, seccomp for everything else.
 *
 * Denied calls fail with EPERM or EACCES.  The filter is a list of the calls that the emulator needs, so calls that the
 * kernel will learn are denied.
 */
#define _GNU_SOURCE
#include "api/sandbox.h"

#include <errno.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* --- files --- */

enum {
    /* linux/landlock.h, by version of the interface; headers may be older than the kernel */
    FS_FIRST = 0x1fff,
    FS_REFER = 0x2000,     /* version 2 */
    FS_TRUNCATE = 0x4000,  /* version 3 */
    FS_IOCTL_DEV = 0x8000, /* version 5 */
    OF_FILES = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | FS_TRUNCATE,
    READS = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    WRITES = READS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
             LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | FS_REFER | FS_TRUNCATE,
};

static int landlock_version(void) {
    return (int)syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t handled_accesses(void) {
    const int version = landlock_version();
    return FS_FIRST | (version >= 2 ? FS_REFER : 0) | (version >= 3 ? FS_TRUNCATE : 0) |
           (version >= 5 ? FS_IOCTL_DEV : 0);
}

static int allow_path(int rules, const struct g4_sandbox_path *path, uint64_t handled) {
    const int file = open(path->path, O_PATH | O_CLOEXEC);
    struct stat status;
    uint64_t accesses = 0;

    if (file < 0) {
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : errno;
    }
    if (path->access & G4_SANDBOX_READ) {
        accesses |= READS;
    }
    if (path->access & G4_SANDBOX_WRITE) {
        accesses |= WRITES;
    }
    if (path->access & G4_SANDBOX_REMOVE_DIR) {
        accesses |= LANDLOCK_ACCESS_FS_REMOVE_DIR;
    }
    int error = fstat(file, &status) ? errno : 0;
    if (!error && !S_ISDIR(status.st_mode)) {
        accesses &= OF_FILES;
    }
    accesses &= handled;
    if (!error && accesses) {
        const struct landlock_path_beneath_attr beneath = {.allowed_access = accesses, .parent_fd = file};
        if (syscall(__NR_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0)) {
            error = errno == EBADFD ? 0 : errno; /* a pipe, which Landlock allows anyway */
        }
    }
    (void)close(file);
    return error;
}

static int confine_files(const struct g4_sandbox_path *paths, uint32_t count) {
    const struct landlock_ruleset_attr attributes = {.handled_access_fs = handled_accesses()};
    /* the first field only: kernels with the first version do not know the others */
    const int rules = (int)syscall(__NR_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0);
    int error = 0;

    if (rules < 0) {
        return errno;
    }
    for (uint32_t i = 0; i < count && !error; i++) {
        error = allow_path(rules, &paths[i], attributes.handled_access_fs);
    }
    if (!error && syscall(__NR_landlock_restrict_self, rules, 0)) {
        error = errno;
    }
    (void)close(rules);
    return error;
}

/* --- system calls --- */

/* Those that are allowed with any arguments.  Landlock checks the paths of openat, mkdirat, renameat and unlinkat. */
static const uint32_t allowed[] = {
    /* files */
    __NR_read,
    __NR_write,
    __NR_readv,
    __NR_writev,
    __NR_pread64,
    __NR_pwrite64,
    __NR_close,
    __NR_lseek,
    __NR_openat,
    __NR_fstat,
    __NR_newfstatat,
    __NR_statx,
    __NR_statfs,
    __NR_fstatfs,
    __NR_faccessat,
    __NR_faccessat2,
    __NR_readlinkat,
    __NR_getcwd,
    __NR_getdents64,
    __NR_mkdirat,
    __NR_unlinkat,
    __NR_renameat,
    __NR_renameat2,
    __NR_ftruncate,
    __NR_fallocate,
    __NR_fsync,
    __NR_fdatasync,
    __NR_fadvise64,
    __NR_dup,
    __NR_dup3,
    __NR_fcntl,
    __NR_pipe2,
    __NR_sendfile,
    __NR_copy_file_range,
#ifdef __x86_64__
    __NR_open,
    __NR_stat,
    __NR_lstat,
    __NR_access,
    __NR_readlink,
    __NR_mkdir,
    __NR_rmdir,
    __NR_unlink,
    __NR_rename,
    __NR_dup2,
    __NR_pipe,
    __NR_poll,
    __NR_select,
    __NR_epoll_wait,
    __NR_time,
    __NR_arch_prctl,
#endif
    /* sockets that exist */
    __NR_accept,
    __NR_accept4,
    __NR_recvfrom,
    __NR_recvmsg,
    __NR_sendto,
    __NR_sendmsg,
    __NR_shutdown,
    __NR_getsockname,
    __NR_getpeername,
    __NR_getsockopt,
    __NR_setsockopt,
    __NR_ppoll,
    __NR_pselect6,
    __NR_epoll_create1,
    __NR_epoll_ctl,
    __NR_epoll_pwait,
    __NR_eventfd2,
    /* memory */
    __NR_munmap,
    __NR_mremap,
    __NR_madvise,
    __NR_brk,
    __NR_msync,
    __NR_mincore,
    /* threads, signals, time */
    __NR_futex,
    __NR_set_robust_list,
    __NR_get_robust_list,
    __NR_set_tid_address,
    __NR_rseq,
    __NR_membarrier,
    __NR_sched_yield,
    __NR_sched_getaffinity,
    __NR_getpriority,
    __NR_setpriority,
    __NR_exit,
    __NR_exit_group,
    __NR_rt_sigaction,
    __NR_rt_sigprocmask,
    __NR_rt_sigreturn,
    __NR_rt_sigtimedwait,
    __NR_sigaltstack,
    __NR_restart_syscall,
    __NR_nanosleep,
    __NR_clock_nanosleep,
    __NR_clock_gettime,
    __NR_clock_getres,
    __NR_gettimeofday,
    __NR_setitimer,
    __NR_getitimer,
    __NR_times,
    __NR_wait4,
    __NR_waitid,
    /* the process */
    __NR_getpid,
    __NR_gettid,
    __NR_getppid,
    __NR_getpgid,
    __NR_getuid,
    __NR_geteuid,
    __NR_getgid,
    __NR_getegid,
    __NR_getrusage,
    __NR_getrandom,
    __NR_uname,
    __NR_sysinfo,
    __NR_umask,
    __NR_getcpu,
};

/* ioctls of the terminal that read; TIOCSTI, which types into the user's shell, is not among them */
static const uint32_t allowed_ioctls[] = {TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX};
static const uint32_t allowed_prctls[] = {PR_SET_NAME, PR_GET_NAME, 0x53564d41 /* PR_SET_VMA */};

enum {
    CAPACITY = 512,
    FIRST_X32_CALL = 0x40000000,
};

struct filter {
    struct sock_filter instruction[CAPACITY];
    uint16_t count;
};

static void add(struct filter *filter, struct sock_filter instruction) {
    filter->instruction[filter->count++] = instruction;
}

static void answer(struct filter *filter, uint32_t action) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

static void deny(struct filter *filter, uint32_t error) {
    answer(filter, SECCOMP_RET_ERRNO | error);
}

static void load(struct filter *filter, uint32_t offset) {
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void allow_if_equal(struct filter *filter, uint32_t value) {
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(filter, SECCOMP_RET_ALLOW);
}

/* Begin the rules of a call: returns the jump to patch in end_call(). */
static uint16_t begin_call(struct filter *filter, uint32_t call) {
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 0));
    return (uint16_t)(filter->count - 1);
}

static void end_call(struct filter *filter, uint16_t jump) {
    filter->instruction[jump].jf = (uint8_t)(filter->count - jump - 1);
}

/* The low half of an argument: the kernel takes no more of those that are checked. */
static void load_argument(struct filter *filter, unsigned number) {
    load(filter, (uint32_t)(offsetof(struct seccomp_data, args) + number * sizeof(uint64_t)));
}

static void allow_call_with(struct filter *filter, uint32_t call, unsigned argument, const uint32_t *values,
                            uint32_t count) {
    const uint16_t jump = begin_call(filter, call);
    load_argument(filter, argument);
    for (uint32_t i = 0; i < count; i++) {
        allow_if_equal(filter, values[i]);
    }
    deny(filter, EPERM);
    end_call(filter, jump);
}

static void allow_unless_writable_code(struct filter *filter, uint32_t call) {
    const uint16_t jump = begin_call(filter, call);
    load_argument(filter, 2);
    add(filter, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 1, 0));
    answer(filter, SECCOMP_RET_ALLOW);
    deny(filter, EACCES);
    end_call(filter, jump);
}

static void allow_threads(struct filter *filter) {
    uint16_t jump = begin_call(filter, __NR_clone);
    load_argument(filter, 0);
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1));
    answer(filter, SECCOMP_RET_ALLOW);
    deny(filter, EPERM);
    end_call(filter, jump);
    jump = begin_call(filter, __NR_clone3); /* its flags are in memory; libc then calls clone */
    deny(filter, ENOSYS);
    end_call(filter, jump);
}

/* prlimit64 of this process without new limits: a process with privileges could raise those that it has. */
static void allow_reads_of_limits(struct filter *filter) {
    const uint16_t jump = begin_call(filter, __NR_prlimit64);
    static const uint32_t zeros[] = {offsetof(struct seccomp_data, args), offsetof(struct seccomp_data, args[2]),
                                     offsetof(struct seccomp_data, args[2]) + sizeof(uint32_t)};
    for (uint32_t i = 0; i < sizeof zeros / sizeof *zeros; i++) {
        load(filter, zeros[i]);
        add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0));
        deny(filter, EPERM);
    }
    answer(filter, SECCOMP_RET_ALLOW);
    end_call(filter, jump);
}

static void make_filter(struct filter *filter) {
    const uint32_t self = (uint32_t)getpid();

    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, offsetof(struct seccomp_data, nr));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FIRST_X32_CALL, 0, 1));
    deny(filter, EPERM);
    for (uint32_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        allow_if_equal(filter, allowed[i]);
    }
    allow_threads(filter);
    allow_unless_writable_code(filter, __NR_mmap);
    allow_unless_writable_code(filter, __NR_mprotect);
    allow_call_with(filter, __NR_ioctl, 1, allowed_ioctls, sizeof allowed_ioctls / sizeof *allowed_ioctls);
    allow_call_with(filter, __NR_prctl, 0, allowed_prctls, sizeof allowed_prctls / sizeof *allowed_prctls);
    allow_reads_of_limits(filter);
    allow_call_with(filter, __NR_sched_setaffinity, 0, &(const uint32_t){0}, 1); /* of the calling thread */
    allow_call_with(filter, __NR_kill, 0, &self, 1);
    allow_call_with(filter, __NR_tgkill, 0, &self, 1);
    deny(filter, EPERM);
}

static int confine_calls(void) {
    struct filter filter = {.count = 0};
    make_filter(&filter);
    const struct sock_fprog program = {.len = filter.count, .filter = filter.instruction};
    const long result = syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return result < 0 ? errno : result > 0 ? EBUSY : 0;
}

bool g4_sandbox_available(void) {
    const uint32_t action = SECCOMP_RET_ERRNO;
    return landlock_version() >= 1 && syscall(__NR_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

int g4_sandbox_enter(const struct g4_sandbox_path *paths, uint32_t count) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
        return errno;
    }
    const int error = confine_files(paths, count);
    return error ? error : confine_calls();
}

#else

bool g4_sandbox_available(void) {
    return false;
}

int g4_sandbox_enter(const struct g4_sandbox_path *paths, uint32_t count) {
    (void)paths;
    (void)count;
    return ENOSYS;
}

#endif
