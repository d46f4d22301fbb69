"""Kernels and messages of media threads that start others: Gen7 to Gen9 (docs/decisions.md 121)."""

from __future__ import annotations

from typing import Any

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen4.messages import SpawnTarget
from gen4emu.hw.gen6.messages import GatewayFunctionGen6 as GatewayFunction
from gen4emu.hw.gen6.messages import ThreadSpawnerOpcodeGen6 as Opcode
from gen4emu.hw.gen6.messages import ThreadSpawnerRequesterGen6 as Requester
from tests.harness.messages import descriptor
from tests.harness.spawning import Messages, fill

SPAWN_CHILD, RELEASE_ROOT = SpawnTarget.CHILD_THREAD, SpawnTarget.SYNCHRONIZED_ROOT_THREAD
KEY = 0x1234
WAIT = "wait(1) n0<1>UD { align1 WE_all 1N };\n"


def end(*, child: bool = False, keep: bool = False) -> str:
    """The last message; the handle in R0 is given back unless it is kept."""
    message = descriptor("THREAD_SPAWNER_MESSAGE", Gen.IVB, keep_urb_handle=keep,
                         requester=Requester.CHILD_THREAD if child else Requester.ROOT_THREAD)
    return f"send(8) null<1>UD g0<8,8,1>UD 0x{message:08x} thread_spawner {{ align1 nomask EOT }};\n"


END, CHILD_END = end(), end(child=True, keep=True)


def urb_write(offset: int, *registers: int, handle: str = "g0<0,1,0>UD") -> str:
    """Registers to the entry of a handle, from row `offset` on.  Uses g110 and up."""
    lines = ["mov(8) g110<1>UD 0UD { align1 nomask };", f"mov(1) g110<1>UD {handle} {{ align1 nomask }};",
             "mov(1) g110.5<1>UD 0xff00UD { align1 nomask };"]
    lines += [f"mov(8) g{111 + i}<1>UD g{r}<8,8,1>UD {{ align1 nomask }};" for i, r in enumerate(registers)]
    message = descriptor("URB_MESSAGE", Gen.IVB, length=1 + len(registers), header_present=True, offset=offset)
    lines.append(f"send(8) null<1>UD g110<8,8,1>UD 0x{message:08x} urb {{ align1 nomask }};")
    return "\n".join(lines) + "\n"


def spawn(number: int, offset: int, length: int, target: SpawnTarget = SPAWN_CHILD, end_of_thread: str = "") -> str:
    """Ask for a thread of descriptor `number` with rows of the own entry.  Uses g110."""
    message = descriptor("THREAD_SPAWNER_MESSAGE", Gen.IVB, opcode=Opcode.SPAWN_THREAD, spawn_target=target)
    return f"""mov(8) g120<1>UD g0<8,8,1>UD {{ align1 nomask }};
mov(1) g120.2<1>UD 0x{number << 4:x}UD {{ align1 nomask }};
mov(1) g120.4<1>UD 0x{length << 10 | offset:x}UD {{ align1 nomask }};
send(8) null<1>UD g120<8,8,1>UD 0x{message:08x} thread_spawner {{ align1 nomask {end_of_thread} }};
"""


def gateway(function: GatewayFunction, to: str = "null<1>UD", **fields: Any) -> str:
    """A message whose payload is g119."""
    message = descriptor("GATEWAY_MESSAGE", Gen.IVB, response=int(to.startswith("g")), gateway_function=function,
                         **fields)
    return f"send(8) {to} g119<8,8,1>UD 0x{message:08x} gateway {{ align1 nomask }};\n"


def open_gateway(register: int, size: int = 0) -> str:
    return (fill(119, 0) + f"mov(1) g119.4<1>UD 0x{KEY:x}UD {{ align1 nomask }};\n"
            f"mov(1) g119.5<1>UD 0x{register << 21 | size << 8:x}UD {{ align1 nomask }};\n" +
            gateway(GatewayFunction.OPEN_GATEWAY))


def forward(target: str, byte: str, to: str = "null<1>UD", key: int = KEY) -> str:
    """One byte of ones to the thread whose sr0 is in `target`, at a byte offset in its gateway.

    It is either acknowledged in `to`, or notifies the thread.
    """
    answered = to.startswith("g")
    return fill(119, 0x01010101) + f"""and(1) g100<1>UD {target} 0x00001f00UD {{ align1 nomask }};
shl(1) g100<1>UD g100<0,1,0>UD 16UD {{ align1 nomask }};
and(1) g101<1>UD {target} 0x00000007UD {{ align1 nomask }};
shl(1) g101<1>UD g101<0,1,0>UD 16UD {{ align1 nomask }};
or(1) g100<1>UD g100<0,1,0>UD g101<0,1,0>UD {{ align1 nomask }};
or(1) g119.4<1>UD g100<0,1,0>UD 0x{key:x}UD {{ align1 nomask }};
mov(1) g101<1>UD {byte} {{ align1 nomask }};
shl(1) g101<1>UD g101<0,1,0>UD 16UD {{ align1 nomask }};
mov(1) g119.5<1>UD g101<0,1,0>UD {{ align1 nomask }};
""" + gateway(GatewayFunction.FORWARD_MSG, to, acknowledge=answered, notify=not answered)


GEN7 = Messages(WAIT, open_gateway, urb_write, spawn)
