"""Kernels and messages of media threads that start others: Gen4."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import DereferenceTarget, GatewayFunction, SpawnTarget
from gen4emu.hw.gen4.messages import ThreadSpawnerOpcode as Opcode
from gen4emu.hw.gen4.messages import ThreadSpawnerRequester as Requester
from tests.harness.media import DESCRIPTORS, Media
from tests.harness.messages import descriptor

SPAWN_CHILD = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, opcode=Opcode.SPAWN_THREAD)
RELEASE_ROOT = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, opcode=Opcode.SPAWN_THREAD,
                          spawn_target=SpawnTarget.SYNCHRONIZED_ROOT_THREAD)
WAIT = "wait(1) n0<0,1,0>UD { align1 nomask };\n"


def end(**fields: Any) -> str:
    """The last message of a thread."""
    message = descriptor("THREAD_SPAWNER_MESSAGE", Gen.EL, end_of_thread=True, **fields)
    return f"send(8) 0 null<1>UD g0<8,8,1>UD 0x{message:08x} {{ align1 nomask EOT }};"


KEEP_END = end(dereference_target=DereferenceTarget.KEEP_URB_HANDLE)
CHILD_END = end(dereference_target=DereferenceTarget.KEEP_URB_HANDLE, requester=Requester.CHILD_THREAD)


def parent(**vfe: Any) -> Media:
    media = Media(children_present=True, **vfe)
    media.select()
    return media


def urb_write(offset: int, *registers: int) -> str:
    """Registers to the thread's own entry, from 256-bit row `offset` on.  Uses m1 and up."""
    lines = ["mov(8) m1<1>UD g0<8,8,1>UD { align1 nomask };"]
    lines += [f"mov(8) m{2 + i}<1>UD g{r}<8,8,1>UD {{ align1 nomask }};" for i, r in enumerate(registers)]
    message = descriptor("URB_MESSAGE", Gen.EL, length=1 + len(registers), offset=offset)
    lines.append(f"send(8) 1 null<1>UD null<8,8,1>UD 0x{message:08x} {{ align1 nomask }};")
    return "\n".join(lines) + "\n"


def spawn(number: int, offset: int, length: int, message: int = SPAWN_CHILD) -> str:
    """Ask for a thread of descriptor `number` with rows of the own entry.  Uses m11."""
    return f"""mov(8) m11<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(1) m11.2<1>UD 0x{DESCRIPTORS + 16 * number:x}UD {{ align1 nomask }};
mov(1) m11.4<1>UD 0x{length << 10 | offset:x}UD {{ align1 nomask }};
send(8) 11 null<1>UD null<8,8,1>UD 0x{message:08x} {{ align1 nomask }};
"""


def fill(reg: int, value: int) -> str:
    return f"mov(8) g{reg}<1>UD 0x{value:x}UD {{ align1 nomask }};\n"


def open_gateway(register: int, size: int = 0) -> str:
    message = descriptor("GATEWAY_MESSAGE", Gen.EL, gateway_function=GatewayFunction.OPEN_GATEWAY)
    return f"""mov(8) m9<1>UD 0UD {{ align1 nomask }};
mov(1) m9.4<1>UD 0x1234UD {{ align1 nomask }};
mov(1) m9.5<1>UD 0x{register << 21 | size << 8:x}UD {{ align1 nomask }};
send(8) 9 null<1>UD null<8,8,1>UD 0x{message:08x} {{ align1 nomask }};
"""


def forward(target: str, byte: str, notify: bool = True) -> str:
    """One byte of ones to the thread whose sr0 is in `target`, at a byte offset in its gateway."""
    message = descriptor("GATEWAY_MESSAGE", Gen.EL, gateway_function=GatewayFunction.FORWARD_MSG, notify=notify)
    return f"""mov(8) m9<1>UD 0x01010101UD {{ align1 nomask }};
and(1) g100<1>UD {target} 0x00000f00UD {{ align1 nomask }};
shl(1) g100<1>UD g100<0,1,0>UD 16UD {{ align1 nomask }};
and(1) g101<1>UD {target} 0x00000007UD {{ align1 nomask }};
shl(1) g101<1>UD g101<0,1,0>UD 16UD {{ align1 nomask }};
or(1) g100<1>UD g100<0,1,0>UD g101<0,1,0>UD {{ align1 nomask }};
or(1) m9.4<1>UD g100<0,1,0>UD 0x1234UD {{ align1 nomask }};
shl(1) g101<1>UD {byte} 16UD {{ align1 nomask }};
mov(1) m9.5<1>UD g101<0,1,0>UD {{ align1 nomask }};
send(8) 9 null<1>UD null<8,8,1>UD 0x{message:08x} {{ align1 nomask }};
"""


@dataclass(frozen=True)
class Messages:
    """The code of one generation's messages between threads."""

    wait: str
    open_gateway: Callable[[int], str]  # from a register on
    urb_write: Callable[..., str]
    spawn: Callable[[int, int, int], str]


def awaited_children(messages: Messages, children: int) -> str:
    """The kernel of a root: it spawns children with its sr0 and their number, and waits until each has set a byte of
    g80 through the gateway."""
    kernel = messages.open_gateway(80) + "mov(1) g70<1>UD sr0<0,1,0>UD { align1 nomask };\n" + fill(80, 0)
    for i in range(children):
        kernel += fill(71, i) + messages.urb_write(2 + 3 * i, 0, 70, 71) + messages.spawn(1, 2 + 3 * i, 2)
    return kernel + f"""again:
{messages.wait}cmp.nz.f0.0(8) null<1>UD g80<8,8,1>UD 0x01010101UD {{ align1 nomask }};
mov(1) g90<1>UW f0.0<0,1,0>UW {{ align1 nomask }};
and.nz.f0.0(1) null<1>UW g90<0,1,0>UW 0x{(1 << children // 4) - 1:x}UW {{ align1 nomask }};
(+f0.0) jmpi(1) again:D {{ align1 nomask }};
"""


GEN4 = Messages(WAIT, open_gateway, urb_write, spawn)
