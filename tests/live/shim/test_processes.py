"""Threads, forks, killed processes, leaks."""

from __future__ import annotations

import ctypes
import errno
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from tests.live.shim.drm import (
    CONTEXT_CREATE,
    DIE,
    END,
    GATE,
    GTT,
    PAGE,
    RENDER,
    SLEEP,
    Device,
    Object,
    fails,
    in_client,
    open_gate,
)

MIB = 1 << 20


# --- death of the server ----------------------------------------------------------------------------------------------
@in_client
def test_when_the_server_dies_calls_fail_and_nothing_freezes(d: Device) -> None:
    target, context = d.create(), d.call(CONTEXT_CREATE, "II", 0, 0)[0]
    sync = d.sync()
    batch = d.batch(SLEEP | 50, DIE)
    objects = [Object(batch), Object(target, flags=4)]
    d.exec(objects, fences=[(sync, 2)])
    d.exec(objects, context=context)
    d.wait(target)
    assert d.sync_wait([sync], timeout_ns=10**10) == 0
    with fails(errno.EIO):
        d.exec(objects)
    with fails(errno.EIO):
        d.call(0x71, "QQ", 0x2358, 0)
    with fails(errno.EIO):
        d.export(target)
    with fails(errno.EIO):
        Device()
    d.write(target, b"memory is still there")
    assert d.busy(target) == 0
    d.call(0x6E, "II", context, 0)


def test_a_thread_that_waits_is_woken_by_the_servers_death(start_live: Callable) -> None:
    with start_live() as live:
        client = live.start_function(client_that_waits)
        live.until(lambda: bool(live.execs))
        time.sleep(0.2)
        live.stop()
        assert "three threads" in live.finish(client)


def client_that_waits(d: Device) -> None:
    target = d.create()
    d.store(target, 0, 1, GATE)
    sync = d.sync()
    threads = [threading.Thread(target=f) for f in (lambda: d.wait(target), lambda: d.read(target, 4))]
    for thread in threads:
        thread.start()
    d.wait(target)
    for thread in threads:
        thread.join(10)
    assert sync
    print("three threads")


# --- forks ------------------------------------------------------------------------------------------------------------
def _in_child(body: Callable[[], None]) -> None:
    pid = os.fork()
    if pid == 0:
        try:
            body()
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


@in_client
def test_a_child_can_use_inherited_files(d: Device) -> None:
    kept = d.create(4 * PAGE)
    d.write(kept, b"from the parent")
    m = d.map(kept)
    context = d.call(CONTEXT_CREATE, "II", 0, 0)[0]
    d.store(kept, 64, 0x11, SLEEP | 50)

    def child() -> None:
        assert d.read(kept, 15) == b"from the parent"
        d.store(kept, 68, 0x22, context=context)
        assert d.read(kept, 1, 68) == b"\x22"
        own = d.create()
        d.write(own, b"of the child")
        assert d.read(own, 12) == b"of the child"
        assert Device().create() == 1
        m[100] = 0x33
        d.close()

    _in_child(child)
    d.wait(kept)
    assert (m[64], m[68], m[100]) == (0x11, 0x22, 0x33)
    assert d.create() == kept + 2  # the child has handles of its own
    d.store(kept, 72, 0x44)
    assert d.read(kept, 1, 72) == b"\x44"


@in_client
def test_fork_while_other_threads_submit(d: Device) -> None:
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            mine = Device()
            target = mine.create()
            while not stop.is_set():
                mine.store(target, 0, 5)
                mine.read(target, 4)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(10):
        _in_child(lambda: d.drop(d.create()))
    stop.set()
    for thread in threads:
        thread.join()
    assert not errors, errors


@in_client
def test_a_started_program_inherits_the_open_file(d: Device) -> None:
    d.create()
    os.set_inheritable(d.fd, True)
    script = ("import sys\nfrom tests.live.shim.drm import Device\n"
              "d = Device(fd=int(sys.argv[1])); assert d.param(4) == 0x2E22; assert d.create() == 1")
    subprocess.run([sys.executable, "-S", "-c", script, str(d.fd)], pass_fds=[d.fd], check=True)
    subprocess.run(["true"], check=True, close_fds=True)
    assert d.create() == 2


@in_client
def test_a_dma_buf_travels_to_another_process(d: Device) -> None:
    handle = d.create(2 * PAGE)
    d.set_tiling(handle, 1, 512)
    fd = d.export(handle)
    d.write(handle, b"across")
    script = ("import sys\nfrom tests.live.shim.drm import *\n"
              "d = Device(); h = d.import_(int(sys.argv[1])); assert d.read(h, 6) == b'across'\n"
              "assert d.import_(int(sys.argv[1])) == h\n"
              "assert d.call(GET_TILING, 'IIII', h, 0, 0, 0)[1] == 1\n"
              "d.store(h, 8, 0x77, SLEEP | 50)\n"  # completed when the ioctl returns: the importer cannot wait for it
              "d.write(h, b'A')\n")
    subprocess.run([sys.executable, "-S", "-c", script, str(fd)], pass_fds=[fd], check=True)
    assert d.read(handle, 9) == b"Across\0\0\x77"


# --- threads ----------------------------------------------------------------------------------------------------------
@in_client
def test_eight_threads_on_one_open_file(d: Device) -> None:
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(40):
                size = PAGE * rng.randint(1, 20)
                handle = d.create(size)
                tiled = rng.random() < 0.4
                if tiled:
                    d.set_tiling(handle, 1, 512)
                m = d.map(handle, size, GTT if tiled else 1)
                value = rng.randrange(1, 1 << 32)
                d.store(handle, 8, value)
                while rng.random() < 0.5 and d.busy(handle):
                    pass  # receives results while other threads wait for them
                d.wait(handle)
                assert m.dword(8) == value
                m[PAGE - 1] = seed
                assert d.read(handle, 1, PAGE - 1) == bytes([seed])
                if rng.random() < 0.3:
                    os.close(d.export(handle))
                    assert m.dword(8) == value
                if rng.random() < 0.5:
                    m.unmap()
                    d.drop(handle)
                else:
                    d.drop(handle)
                    m.unmap()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


# --- leaks ------------------------------------------------------------------------------------------------------------
@in_client
def test_memory_and_descriptors_are_freed(d: Device) -> None:
    def state() -> tuple[int, int, int]:
        with open("/proc/self/maps") as maps:
            count = sum(1 for _ in maps)
        links = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        links = [link for link in links if os.path.lexists(link)]
        arena = next(os.stat(link) for link in links if "gen4emu-arena" in os.readlink(link))
        return len(links), count, arena.st_blocks

    def round_() -> None:
        for i in range(30):
            other = Device()
            handle = other.create(MIB)
            other.set_tiling(handle, 2, 1024)
            m = other.map(handle, MIB, GTT if i % 2 else 1)
            ctypes.memset(m.address, 1, MIB)
            other.store(handle, 0, 1)
            if i % 3 == 0:
                os.close(other.export(handle))
            sync = other.sync()
            os.close(other.call(0xC1, "IIiI", sync, 0, -1, 0)[2])
            m.unmap()
            if i % 2:
                other.drop(handle)
            other.close()

    round_()
    before = state()
    round_()
    after = state()
    assert after[0] == before[0]
    assert after[1] <= before[1] + 2
    assert after[2] <= before[2] + 64


def test_killed_clients_leave_nothing_behind(start_live: Callable) -> None:
    with start_live() as live:
        for _ in range(5):
            number = len(live.execs)
            client = live.start_function(client_without_end)
            live.until(lambda: len(live.execs) >= number + 20)  # noqa: B023 - called in this iteration only
            client.send_signal(signal.SIGKILL)
            client.communicate()
        live.until(lambda: not any(c.open for c in live.connections))
        assert len(live.execs) >= 100


def client_without_end(d: Device) -> None:
    target = d.create(MIB)
    while True:
        d.store(target, 0, 1)


@in_client
def test_a_wait_in_one_thread_does_not_stop_another(d: Device) -> None:
    slow, quick = d.create(), Device()
    d.store(slow, 0, 1, GATE)
    waiting = threading.Thread(target=lambda: d.wait(slow))
    waiting.start()
    time.sleep(0.05)
    handle = quick.create()
    quick.store(handle, 0, 1)
    quick.wait(handle)
    d.create()
    assert d.busy(slow)
    open_gate()
    waiting.join()
    assert d.busy(slow) == 0


def test_programs_that_never_open_the_device_never_connect(start_live: Callable) -> None:
    with start_live() as live:
        assert "renderD128" in live.finish(live.start(["sh", "-c", "ls /dev/dri; cat /sys/class/drm/version"]))
        assert not live.connections


@in_client
def test_events_can_be_waited_for_in_a_thread(d: Device) -> None:
    """Closing a file that a thread polls wakes no thread, and does no harm."""
    fd = os.open(RENDER, os.O_RDWR)
    thread = threading.Thread(target=lambda: select.select([fd], [], [], 0.2))
    thread.start()
    time.sleep(0.05)
    os.close(fd)
    thread.join()
    d.exec([Object(d.batch(END, 0))])


@in_client
def test_a_signal_handler_may_use_the_device(d: Device) -> None:
    """Even if it interrupts an ioctl or a wait.  C code, because Python defers its handlers."""
    source = """
        #include <signal.h>
        #include <stdint.h>
        #include <sys/ioctl.h>
        static int fd; static uint32_t busy[2]; static volatile int count;
        static void handle(int number) { (void)number; ioctl(fd, 0xC0086457, busy);
            struct { uint32_t handle, flags; int64_t timeout; } wait = {busy[0], 0, -1};
            ioctl(fd, 0xC010646C, &wait); count++; }
        void start(int device, uint32_t handle_) { fd = device; busy[0] = handle_; signal(SIGALRM, handle); }
        int handled(void) { return count; }
    """
    directory = os.path.join(os.environ["GEN4EMU_LIVE"], "handler")
    os.mkdir(directory)
    library = os.path.join(directory, "handler.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=source.encode(), check=True)
    handler = ctypes.CDLL(library)
    target = d.create()
    handler.start(d.fd, target)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    deadline = time.monotonic() + 1.5
    rounds = 0
    while time.monotonic() < deadline:
        d.store(target, 0, rounds, SLEEP | 3)
        d.wait(target)
        d.read(target, 4)
        rounds += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert handler.handled() > 50
    assert rounds > 20
