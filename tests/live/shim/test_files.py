"""Nodes, paths and descriptors."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.live.shim.drm import CARD, PAGE, RENDER, VERSION, Device, fails, in_client, libc

PCI = "/sys/devices/pci0000:00/0000:00:02.0"
KCMP = 312


# --- paths ------------------------------------------------------------------------------------------------------------
@in_client
def test_nodes_are_character_devices_for_all_stat_functions(d: Device) -> None:
    for path, minor in ((CARD, 0), (RENDER, 128), ("//dev/./dri//card0", 0), ("/dev/dri/by-path/../card0", 0),
                        ("/dev/dri/by-path/pci-0000:00:02.0-render", 128)):
        for status in (os.stat(path), os.lstat(path) if "render" not in path else os.stat(path)):
            assert stat.S_ISCHR(status.st_mode)
            assert status.st_rdev == os.makedev(226, minor)
    folder = os.open("/dev/dri", os.O_RDONLY)
    assert os.stat("renderD128", dir_fd=folder).st_rdev == os.makedev(226, 128)
    assert os.fstat(d.fd).st_rdev == os.makedev(226, 128)
    assert os.fstat(d.fd).st_ino == os.stat(RENDER).st_ino
    assert stat.S_ISCHR(os.stat(f"/proc/self/fd/{d.fd}").st_mode)
    assert os.access(RENDER, os.R_OK | os.W_OK)
    assert not os.path.exists("/dev/dri/card1")
    raw = ctypes.create_string_buffer(256)
    assert libc.__xstat(1, RENDER.encode(), raw) == 0
    assert struct.unpack_from("Q", raw, 40)[0] == os.makedev(226, 128)
    assert libc.__fxstat(1, d.fd, raw) == 0
    assert libc.statx(-100, RENDER.encode(), 0, 0x7FF, raw) == 0
    assert struct.unpack_from("II", raw, 128) == (226, 128)
    assert libc.statx(d.fd, b"", 0x1000, 0x7FF, raw) == 0
    assert struct.unpack_from("II", raw, 128) == (226, 128)


@in_client
def test_libdrm_finds_the_device(d: Device) -> None:
    assert sorted(os.listdir("/dev/dri")) == ["by-path", "card0", "renderD128"]
    with os.scandir("/dev/dri") as entries:
        assert {e.name: e.is_file(follow_symlinks=False) for e in entries}["card0"] is False
    for minor in (0, 128):
        device = f"/sys/dev/char/226:{minor}/device"
        assert os.path.isdir(f"{device}/drm")
        assert os.readlink(f"{device}/subsystem").endswith("/pci")
        assert os.path.realpath(device) == PCI
        libc.realpath.restype = ctypes.c_char_p
        assert libc.realpath(device.encode(), None) == PCI.encode()
        with open(f"{device}/uevent") as file:
            assert "PCI_SLOT_NAME=0000:00:02.0\n" in file.read()
        with open(f"{device}/device") as file:
            assert file.read() == "0x2e22\n"
    libc.fopen.restype = ctypes.c_void_p
    assert libc.fopen(f"{PCI}/vendor".encode(), b"r")
    with open(f"{PCI}/config", "rb") as file:
        config = file.read()
    assert len(config) == 256
    assert config[:4] == b"\x86\x80\x22\x2e"
    assert os.path.exists("/sys/class/drm/card0/error")
    assert not os.path.exists("/sys/class/drm/card7")


@in_client
def test_udev_finds_the_cards_and_their_slot(d: Device) -> None:
    """Weston and Xorg find GPUs through udev, which accepts devices in sysfs only."""
    udev = ctypes.CDLL("libudev.so.1")
    pointer = ctypes.c_void_p
    for name in ("udev_new", "udev_enumerate_new", "udev_enumerate_get_list_entry", "udev_list_entry_get_next",
                 "udev_device_new_from_syspath", "udev_device_get_parent_with_subsystem_devtype"):
        getattr(udev, name).restype = pointer
    for name in ("udev_list_entry_get_name", "udev_device_get_devnode", "udev_device_get_sysattr_value"):
        getattr(udev, name).restype = ctypes.c_char_p
    context = pointer(udev.udev_new())
    search = pointer(udev.udev_enumerate_new(context))
    assert udev.udev_enumerate_add_match_subsystem(search, b"drm") == 0
    assert udev.udev_enumerate_add_match_sysname(search, b"card[0-9]") == 0
    assert udev.udev_enumerate_scan_devices(search) == 0
    first = pointer(udev.udev_enumerate_get_list_entry(search))
    path = udev.udev_list_entry_get_name(first)
    assert path == f"{PCI}/drm/card0".encode()
    assert udev.udev_list_entry_get_next(first) is None
    device = pointer(udev.udev_device_new_from_syspath(context, path))
    assert udev.udev_device_get_devnode(device) == CARD.encode()
    slot = pointer(udev.udev_device_get_parent_with_subsystem_devtype(device, b"pci", None))
    assert udev.udev_device_get_sysattr_value(slot, b"boot_vga") == b"1"


@in_client
def test_debugfs_has_the_device_by_both_minor_numbers(d: Device) -> None:
    """IGT's tests compare the names to find the knobs of a render node, and write to the module's parameters."""
    names = []
    for minor in (0, 128):
        with open(f"/sys/kernel/debug/dri/{minor}/name") as file:
            names.append(file.read())
    assert names == ["i915 dev=0000:00:02.0 unique=0000:00:02.0\n"] * 2
    folder = os.open("/sys/kernel/debug/dri/0", os.O_DIRECTORY)
    reset = os.open("i915_params/reset", os.O_RDWR, dir_fd=folder)
    assert os.read(reset, 8) == b"3\n"
    assert os.pwrite(reset, b"1", 0) == 1
    assert os.path.exists("/sys/kernel/debug/dri/0/i915_gem_drop_caches")


@in_client
def test_system_directories_also_list_the_device(d: Device) -> None:
    classes = set(os.listdir("/sys/class/"))
    assert classes >= {"drm", "net", "tty"}
    assert os.path.isdir("/sys/class/net/lo")
    assert "0000:00:02.0" in os.listdir("/sys/bus/pci/devices")
    assert os.path.realpath("/sys/bus/pci/devices/0000:00:02.0") == PCI
    with open("/sys/bus/pci/devices/0000:00:02.0/config", "rb") as file:
        assert len(file.read()) == 256


@in_client
def test_only_the_tree_s_sys_is_reported_as_sysfs(d: Device) -> None:
    def kind(where: bytes | int) -> int:
        raw = ctypes.create_string_buffer(256)
        for name in ("statfs", "statfs64"):
            call = getattr(libc, f"f{name}" if isinstance(where, int) else name)
            assert call(where, raw) == 0
        return int.from_bytes(raw[:8], "little")

    sysfs = 0x62656572
    assert kind(b"/sys/class/drm/card0") == kind(b"/sys/class/net") == sysfs
    assert kind(os.open(f"{PCI}/drm", os.O_RDONLY)) == sysfs
    assert kind(b"/tmp") != sysfs
    assert kind(b"/dev/dri") != sysfs
    assert kind(os.open("/dev/dri", os.O_RDONLY)) != sysfs


@in_client
def test_links_of_descriptors_name_the_node(d: Device) -> None:
    link = f"/proc/self/fd/{d.fd}"
    assert os.readlink(link) == RENDER
    libc.realpath.restype = ctypes.c_char_p
    assert libc.realpath(link.encode(), None) == RENDER.encode()
    assert len(libc.realpath(b"/usr/..", None)) == 1
    again = Device(link)
    assert again.create() == 1
    assert d.create() == 1


@in_client
def test_relative_paths_lead_to_the_nodes(d: Device) -> None:
    folder = os.open("/dev/dri", os.O_RDONLY | os.O_DIRECTORY)
    assert Device(fd=os.open("card0", os.O_RDWR, dir_fd=folder)).param(4) == 0x2E22
    os.chdir("/dev")
    assert Device("dri/card0").param(4) == 0x2E22
    with fails(errno.ENOTDIR):
        os.open(CARD, os.O_RDONLY | os.O_DIRECTORY)
    path_only = os.open(RENDER, os.O_PATH)
    assert stat.S_ISCHR(os.fstat(path_only).st_mode)
    assert Device(f"/proc/self/fd/{path_only}").param(4) == 0x2E22


@in_client
def test_programs_that_use_syscall_get_the_device(d: Device) -> None:
    fd = libc.syscall(257, -100, RENDER.encode(), os.O_RDWR)
    value = ctypes.c_int()
    data = ctypes.create_string_buffer(struct.pack("<iIQ", 4, 0, ctypes.addressof(value)))
    assert libc.syscall(16, fd, ctypes.c_ulong(0xC0106446), data) == 0
    assert value.value == 0x2E22
    libc.syscall.restype = ctypes.c_long
    assert libc.syscall(39) == os.getpid()


# --- descriptors ------------------------------------------------------------------------------------------------------
@in_client
def test_duplicated_descriptors_share_handles_and_other_open_files_do_not(d: Device) -> None:
    handle = d.create()
    import fcntl
    for fd in (os.dup(d.fd), fcntl.fcntl(d.fd, fcntl.F_DUPFD_CLOEXEC, 50), os.dup2(d.fd, 77)):
        Device(fd=fd).write(handle, b"x")
        pid = os.getpid()
        assert libc.syscall(KCMP, pid, pid, 0, d.fd, fd) == 0
    other = Device()
    assert libc.syscall(KCMP, os.getpid(), os.getpid(), 0, d.fd, other.fd) != 0
    with fails(errno.ENOENT):
        other.write(handle, b"x")
    duplicate = Device(fd=os.dup(d.fd))
    d.close()
    assert duplicate.read(handle, 1) == b"x"


@in_client
def test_the_number_of_a_closed_descriptor_may_be_another_file_s(d: Device) -> None:
    """For each way to close or replace a descriptor that was used before."""
    null = os.open("/dev/null", os.O_RDWR)

    def close_and_open(number: int) -> None:
        os.close(number)
        assert os.open("/dev/null", os.O_RDWR) == number

    def close_range_and_open(number: int) -> None:
        os.closerange(number, number + 1)
        assert os.open("/dev/null", os.O_RDWR) == number

    for replace in (close_and_open, close_range_and_open, lambda number: os.dup2(null, number),
                    lambda number: libc.dup3(null, number, os.O_CLOEXEC)):
        other = Device()
        handle = other.create()
        assert other.busy(handle) == 0
        replace(other.fd)
        with fails(errno.ENOTTY):
            other.busy(handle)
        os.close(other.fd)
        again = Device()
        assert again.fd == other.fd
        with fails(errno.ENOENT):  # it is another open file
            again.busy(handle)
        assert os.dup2(d.fd, again.fd) == again.fd
        assert again.busy(d.create()) == 0
        os.close(again.fd)


@in_client
def test_open_flags_are_kept(d: Device) -> None:
    import fcntl
    assert fcntl.fcntl(d.fd, fcntl.F_GETFD) == 1
    fd = os.open(RENDER, os.O_RDWR | os.O_NONBLOCK)
    assert fcntl.fcntl(fd, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_NONBLOCK) == os.O_RDWR | os.O_NONBLOCK
    with fails(errno.EAGAIN):
        os.read(fd, 1024)


@in_client
def test_poll_works_without_events(d: Device) -> None:
    assert select.select([d.fd], [], [], 0)[0] == []
    epoll = select.epoll()
    epoll.register(d.fd, select.EPOLLIN)
    assert epoll.poll(0) == []


@in_client
def test_the_program_cannot_close_or_replace_the_shim_s_descriptors(d: Device) -> None:
    handle = d.create()
    used = [int(name) for name in os.listdir("/proc/self/fd")]
    hidden = [fd for fd in used if fd > 100]
    assert hidden
    for fd in hidden:
        with fails(errno.EBADF):
            os.close(fd)
        with fails(errno.EBADF):
            os.dup2(d.fd, fd)
    os.closerange(d.fd + 1, 100000)
    d.write(handle, b"still here")
    assert libc.close_range(d.fd + 1, 0xFFFFFFFF, 0) == 0
    libc.closefrom(d.fd + 1)
    d.write(handle, b"still here")
    fresh = Device()
    assert fresh.create() == 1


def test_the_last_close_ends_the_connection(start_live: Callable) -> None:
    with start_live() as live:
        live.call(client_that_closes)
        assert len(live.connections) == 4


def client_that_closes(d: Device) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for ending in range(3):
        fd = os.open(RENDER, os.O_RDWR)
        twin = os.dup(fd)
        Device(fd=fd).create()
        os.close(fd)
        Device(fd=twin).create()
        if ending == 0:
            os.close(twin)
        elif ending == 1:
            os.dup2(0, twin)
            os.close(twin)
        else:
            os.closerange(twin, twin + 1)
        assert len(os.listdir("/proc/self/fd")) == before


@in_client
def test_a_descriptor_from_another_process_is_a_device_file(d: Device) -> None:
    """As DRI3 passes them: the receiver has not opened the file."""
    import socket
    ours, theirs = socket.socketpair()
    script = ("import os, socket, sys; s = socket.socket(fileno=int(sys.argv[1]))\n"
              "fd = socket.recv_fds(s, 1, 1)[1][0]\n"
              "from tests.live.shim.drm import Device\n"
              "assert os.fstat(fd).st_rdev == os.makedev(226, 128)\n"
              "d = Device(fd=fd); assert d.param(4) == 0x2E22\n"
              "assert d.create() == 1; d.write(1, b'theirs')\n")
    handle = d.create()
    child = subprocess.Popen([sys.executable, "-S", "-c", script, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    socket.send_fds(ours, [b"x"], [d.fd])
    assert child.wait(30) == 0
    assert d.read(handle, 6) == bytes(6)


# --- everything else --------------------------------------------------------------------------------------------------
@in_client
def test_other_files_are_not_affected(d: Device) -> None:
    handle = d.create()
    path = Path(f"/tmp/shim-test-{os.getpid()}")
    path.write_bytes(b"data")
    assert path.read_bytes() == b"data"
    assert stat.S_ISREG(path.stat().st_mode)
    path.unlink()
    with fails(errno.ENOTTY):
        Device(fd=os.open("/dev/null", os.O_RDWR)).create()
    with fails(errno.EBADF):
        Device(fd=999).create()
    import mmap
    m = mmap.mmap(-1, PAGE)
    m[0] = 1
    m.close()
    assert handle


def test_without_the_environment_variable_nothing_changes(start_live: Callable) -> None:
    with start_live() as live:
        environment = live.environment()
        del environment["GEN4EMU_LIVE"]
        script = "import os; print(os.path.exists('/dev/dri/card0'), sorted(os.listdir('/sys/class'))[:1])"
        outputs = {subprocess.run([sys.executable, "-S", "-c", script], env=e, text=True, capture_output=True,
                                  check=True).stdout for e in (environment, {})}
        assert len(outputs) == 1
        assert not live.connections


def test_a_missing_server_is_an_error(start_live: Callable, tmp_path: Path) -> None:
    with start_live() as live:
        (tmp_path / "socket").unlink()
        script = "import os, errno\ntry: os.open('/dev/dri/card0', os.O_RDWR)\nexcept OSError as e: print(e.errno)"
        assert subprocess.run([sys.executable, "-S", "-c", script], env=live.environment(), text=True,
                              capture_output=True, check=True).stdout == f"{errno.EIO}\n"


@in_client
def test_version(d: Device) -> None:
    assert d.call(VERSION, "iiiIQQQQQQ", *[0] * 10)[4::2] == (4, 8, 14)
    texts = [ctypes.create_string_buffer(16) for _ in range(3)]
    fields = [v for t in texts for v in (16, ctypes.addressof(t))]
    assert d.call(VERSION, "iiiIQQQQQQ", 0, 0, 0, 0, *fields)[:3] == (1, 6, 0)
    assert [t.value for t in texts] == [b"i915", b"20201103", b"Intel Graphics"]
