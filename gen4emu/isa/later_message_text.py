"""Describes the message of a `send` on Gen6 and later in the words of Mesa's disassembler (brw_disasm.c).

The layouts are those of `gen4emu.hw.gen6.messages` and its successors.  Where Mesa has no words, or wrong ones, these
are our own: scratch blocks, the null and the video functions, and hexadecimal controls, which Mesa writes in decimal
digits after 0x.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from gen4emu.hw.gen import Gen
from gen4emu.hw.gen6.messages import MESSAGES as GEN6_MESSAGES
from gen4emu.hw.gen6.messages import (
    DataPortTypeGen6,
    GatewayFunctionGen6,
    MathFunctionGen6,
    RenderTargetWriteTypeGen6,
    SamplerMessageType,
    SamplerSimdMode,
    SharedFunctionGen6,
    UrbOpcodeGen6,
    UrbSwizzleGen6,
)
from gen4emu.hw.gen7.messages import MESSAGES as GEN7_MESSAGES
from gen4emu.hw.gen7.messages import (
    DataCacheTypeGen7,
    InterpolatorMessageType,
    OwordBlockSizeGen7,
    RenderCacheTypeGen7,
    ScratchOperation,
    UrbOpcodeGen7,
    message_control,
)
from gen4emu.hw.gen8.messages import MESSAGES as GEN8_MESSAGES
from gen4emu.hw.gen9.messages import MESSAGES as GEN9_MESSAGES
from gen4emu.hw.gen9.messages import RenderCacheTypeGen9
from gen4emu.hw.gen75.messages import MESSAGES as GEN75_MESSAGES
from gen4emu.hw.gen75.messages import DataCache1Type, SurfaceSimdMode
from gen4emu.hw.layout import Message, View

SFID_NAMES: dict[int, str] = {
    SharedFunctionGen6.NULL: "null", SharedFunctionGen6.SAMPLER: "sampler",
    SharedFunctionGen6.MESSAGE_GATEWAY: "gateway", SharedFunctionGen6.SAMPLER_CACHE_DATA_PORT: "dp_sampler",
    SharedFunctionGen6.RENDER_CACHE_DATA_PORT: "render", SharedFunctionGen6.URB: "urb",
    SharedFunctionGen6.THREAD_SPAWNER: "thread_spawner", SharedFunctionGen6.VIDEO_MOTION_ESTIMATION: "vme",
    SharedFunctionGen6.CONSTANT_CACHE_DATA_PORT: "const", SharedFunctionGen6.DATA_CACHE_DATA_PORT: "data",
    SharedFunctionGen6.PIXEL_INTERPOLATOR: "pixel interp", SharedFunctionGen6.DATA_CACHE_DATA_PORT_1: "dp data 1",
    SharedFunctionGen6.CHECK_AND_REFINEMENT: "cre",
}

MATH_NAMES: dict[int, str] = {**{f: f.name.lower() for f in MathFunctionGen6},
                              MathFunctionGen6.INT_DIV_BOTH: "intdivmod", MathFunctionGen6.INT_DIV_QUOTIENT: "intdiv",
                              MathFunctionGen6.INT_DIV_REMAINDER: "intmod"}

_BY_SFID: tuple[tuple[Gen, dict[int, Message]], ...] = tuple(
    (gens, {m.sfid: m for m in messages}) for gens, messages in (
        (Gen.GEN6, GEN6_MESSAGES), (Gen.GEN7, GEN7_MESSAGES), (Gen.GEN75, GEN75_MESSAGES), (Gen.GEN8, GEN8_MESSAGES),
        (Gen.GEN9, GEN9_MESSAGES)))


def message_of(sfid: int, gen: Gen) -> Message | None:
    """The layout of the descriptors of a shared function, or None if the device does not have it."""
    return next((found.get(sfid) for gens, found in _BY_SFID if gens & gen), None)


def describe_message(descriptor: int, sfid: int, gen: Gen) -> str:
    """The message in words, without its lengths; empty if there is nothing to say."""
    message = message_of(sfid, gen)
    if message is None:
        return f"unsupported shared function ID {sfid}"
    words = _WORDS.get(SharedFunctionGen6(sfid))
    return words(message.view((descriptor,), gen=gen)) if words else ""


# --- names ------------------------------------------------------------------------------------------------------------
_SAMPLER_TYPES: dict[int, str] = {t: t.name.lower() for t in SamplerMessageType}
_MEDIA_TYPES = {0: "sample_unorm", 2: "sample_unorm_killpix", 8: "deinterlace", 10: "sample_unorm_killpix",
                11: "sample_8x8", 12: "sample_unorm", 31: "cache_flush"}  # of SIMD32 and SIMD64
_SAMPLER_MODES: dict[int, str] = {
    SamplerSimdMode.SIMD4X2: "SIMD4x2", SamplerSimdMode.SIMD8: "SIMD8", SamplerSimdMode.SIMD16: "SIMD16",
    SamplerSimdMode.SIMD32_64: "SIMD32/64", 5: "SIMD8H", 6: "SIMD16H"}

_RENDER_TYPES_GEN6: dict[int, str] = {
    DataPortTypeGen6.OWORD_BLOCK_READ: "OWORD block read", DataPortTypeGen6.RENDER_TARGET_UNORM_READ: "RT UNORM read",
    DataPortTypeGen6.OWORD_DUAL_BLOCK_READ: "OWORD dual block read",
    DataPortTypeGen6.MEDIA_BLOCK_READ: "media block read",
    DataPortTypeGen6.UNALIGNED_OWORD_BLOCK_READ: "OWORD unaligned block read",
    DataPortTypeGen6.DWORD_SCATTERED_READ: "DWORD scattered read",
    DataPortTypeGen6.DWORD_ATOMIC_WRITE: "DWORD atomic write",
    DataPortTypeGen6.OWORD_BLOCK_WRITE: "OWORD block write",
    DataPortTypeGen6.OWORD_DUAL_BLOCK_WRITE: "OWORD dual block write",
    DataPortTypeGen6.MEDIA_BLOCK_WRITE: "media block write",
    DataPortTypeGen6.DWORD_SCATTERED_WRITE: "DWORD scattered write", DataPortTypeGen6.RENDER_TARGET_WRITE: "RT write",
    DataPortTypeGen6.STREAMED_VERTEX_BUFFER_WRITE: "streamed VB write",
    DataPortTypeGen6.RENDER_TARGET_UNORM_WRITE: "RT UNORM write"}
_RENDER_TYPES_GEN7: dict[int, str] = {
    RenderCacheTypeGen7.MEDIA_BLOCK_READ: "media block read",
    RenderCacheTypeGen7.TYPED_SURFACE_READ: "typed surface read", RenderCacheTypeGen7.TYPED_ATOMIC: "typed atomic op",
    RenderCacheTypeGen7.MEMORY_FENCE: "memory fence", RenderCacheTypeGen7.MEDIA_BLOCK_WRITE: "media block write",
    RenderCacheTypeGen7.RENDER_TARGET_WRITE: "RT write",
    RenderCacheTypeGen7.TYPED_SURFACE_WRITE: "typed surface write"}
_RENDER_TYPES_GEN9: dict[int, str] = {
    RenderCacheTypeGen9.MEDIA_BLOCK_READ: "media block read",
    RenderCacheTypeGen9.MEDIA_BLOCK_WRITE: "media block write", RenderCacheTypeGen9.RENDER_TARGET_WRITE: "RT write",
    RenderCacheTypeGen9.RENDER_TARGET_READ: "RT read"}
_RENDER_TARGET_TYPES: dict[int, str] = {
    RenderTargetWriteTypeGen6.SIMD16: "SIMD16", RenderTargetWriteTypeGen6.SIMD16_REPLICATED: "SIMD16/RepData",
    RenderTargetWriteTypeGen6.SIMD8_DUAL_SOURCE_LOW: "SIMD8/DualSrcLow",
    RenderTargetWriteTypeGen6.SIMD8_DUAL_SOURCE_HIGH: "SIMD8/DualSrcHigh", RenderTargetWriteTypeGen6.SIMD8: "SIMD8",
    RenderTargetWriteTypeGen6.SIMD8_IMAGE_WRITE: "SIMD8/ImageWrite",
    RenderTargetWriteTypeGen6.SIMD16_REPLICATED_7: "SIMD16/RepData-111"}

_URB_OPCODES_GEN6: dict[int, str] = {o: o.name.lower() for o in UrbOpcodeGen6}
_URB_OPCODES_GEN7: dict[int, str] = {
    UrbOpcodeGen7.WRITE_HWORD: "write HWord", UrbOpcodeGen7.WRITE_OWORD: "write OWord",
    UrbOpcodeGen7.READ_HWORD: "read HWord", UrbOpcodeGen7.READ_OWORD: "read OWord",
    UrbOpcodeGen7.ATOMIC_MOV: "atomic mov", UrbOpcodeGen7.ATOMIC_INC: "atomic inc",
    UrbOpcodeGen7.ATOMIC_ADD: "atomic add", UrbOpcodeGen7.SIMD8_WRITE: "SIMD8 write",
    UrbOpcodeGen7.SIMD8_READ: "SIMD8 read"}
_URB_SWIZZLES: dict[int, str] = {UrbSwizzleGen6.NONE: "", UrbSwizzleGen6.INTERLEAVED: " interleave",
                                 UrbSwizzleGen6.TRANSPOSE: " transpose"}

_GATEWAY_FUNCTIONS: dict[int, str] = {
    GatewayFunctionGen6.OPEN_GATEWAY: "open", GatewayFunctionGen6.CLOSE_GATEWAY: "close",
    GatewayFunctionGen6.FORWARD_MSG: "forward msg", GatewayFunctionGen6.GET_TIMESTAMP: "get timestamp",
    GatewayFunctionGen6.BARRIER_MSG: "barrier msg", GatewayFunctionGen6.UPDATE_GATEWAY_STATE: "update state",
    GatewayFunctionGen6.MMIO_READ_WRITE: "mmio read/write"}

_DATA_TYPES: dict[int, str] = {
    DataCacheTypeGen7.OWORD_BLOCK_READ: "OWORD block read",
    DataCacheTypeGen7.UNALIGNED_OWORD_BLOCK_READ: "unaligned OWORD block read",
    DataCacheTypeGen7.OWORD_DUAL_BLOCK_READ: "OWORD dual block read",
    DataCacheTypeGen7.DWORD_SCATTERED_READ: "DWORD scattered read",
    DataCacheTypeGen7.BYTE_SCATTERED_READ: "byte scattered read",
    DataCacheTypeGen7.UNTYPED_SURFACE_READ: "untyped surface read",
    DataCacheTypeGen7.UNTYPED_ATOMIC: "untyped atomic", DataCacheTypeGen7.MEMORY_FENCE: "mfence",
    DataCacheTypeGen7.OWORD_BLOCK_WRITE: "OWORD block write",
    DataCacheTypeGen7.OWORD_DUAL_BLOCK_WRITE: "OWORD dual block write",
    DataCacheTypeGen7.DWORD_SCATTERED_WRITE: "DWORD scattered write",
    DataCacheTypeGen7.BYTE_SCATTERED_WRITE: "byte scattered write",
    DataCacheTypeGen7.UNTYPED_SURFACE_WRITE: "untyped surface write"}
_OWORDS: dict[int, str] = {
    OwordBlockSizeGen7.OWORDS_1_LOW: "1-low", OwordBlockSizeGen7.OWORDS_1_HIGH: "1-high",
    OwordBlockSizeGen7.OWORDS_2: "2", OwordBlockSizeGen7.OWORDS_4: "4", OwordBlockSizeGen7.OWORDS_8: "8"}

_DATA_1_TYPES: dict[int, str] = {
    DataCache1Type.UNTYPED_SURFACE_READ: "untyped surface read",
    DataCache1Type.UNTYPED_ATOMIC: "DC untyped atomic op",
    DataCache1Type.UNTYPED_ATOMIC_SIMD4X2: "DC untyped 4x2 atomic op",
    DataCache1Type.MEDIA_BLOCK_READ: "DC media block read", DataCache1Type.TYPED_SURFACE_READ: "DC typed surface read",
    DataCache1Type.TYPED_ATOMIC: "DC typed atomic", DataCache1Type.TYPED_ATOMIC_SIMD4X2: "DC typed 4x2 atomic op",
    DataCache1Type.UNTYPED_SURFACE_WRITE: "DC untyped surface write",
    DataCache1Type.MEDIA_BLOCK_WRITE: "DC media block write", DataCache1Type.ATOMIC_COUNTER: "DC atomic counter op",
    DataCache1Type.ATOMIC_COUNTER_SIMD4X2: "DC 4x2 atomic counter op",
    DataCache1Type.TYPED_SURFACE_WRITE: "DC typed surface write",
    DataCache1Type.A64_SCATTERED_READ: "DC A64 scattered read",
    DataCache1Type.A64_UNTYPED_SURFACE_READ: "DC A64 untyped surface read",
    DataCache1Type.A64_UNTYPED_ATOMIC: "DC A64 untyped atomic op",
    DataCache1Type.A64_OWORD_BLOCK_READ: "DC A64 oword block read",
    DataCache1Type.A64_OWORD_BLOCK_WRITE: "DC A64 oword block write",
    DataCache1Type.A64_UNTYPED_SURFACE_WRITE: "DC A64 untyped surface write",
    DataCache1Type.A64_SCATTERED_WRITE: "DC A64 scattered write",
    DataCache1Type.UNTYPED_ATOMIC_FLOAT: "DC untyped atomic float op",
    DataCache1Type.A64_UNTYPED_ATOMIC_FLOAT: "DC A64 untyped atomic float op"}
_WITHOUT_SIMD = (DataCache1Type.UNTYPED_ATOMIC_SIMD4X2, DataCache1Type.TYPED_ATOMIC_SIMD4X2,
                 DataCache1Type.ATOMIC_COUNTER_SIMD4X2, DataCache1Type.A64_UNTYPED_ATOMIC)
_SURFACE_MODES: dict[int, str] = {SurfaceSimdMode.SIMD4X2: "4x2", SurfaceSimdMode.SIMD16: "16",
                                  SurfaceSimdMode.SIMD8: "8", SurfaceSimdMode.SIMD8_UPPER: "8, upper slots"}
_INTERPOLATOR_TYPES: dict[int, str] = {
    InterpolatorMessageType.SHARED_OFFSET: "per_message_offset",
    InterpolatorMessageType.SAMPLE_POSITION: "sample_position", InterpolatorMessageType.CENTROID: "centroid",
    InterpolatorMessageType.PER_SLOT_OFFSET: "per_slot_offset"}


def _in(names: dict[int, str], value: IntEnum | int) -> str:
    return names.get(value, f"reserved{int(value)}")


def _present(view: View) -> dict[str, Any]:
    """The fields that exist in this message (unions resolved), by name."""
    return {f.name: f.decode(raw) for f, raw in view.fields()}


# --- shared functions -------------------------------------------------------------------------------------------------
def _sampler(view: View) -> str:
    fields = _present(view)
    mode = fields["simd_mode"] | fields.get("simd_mode_high", 0) << 2
    half = " HP" if fields.get("return_half_precision") else ""
    types = _MEDIA_TYPES if mode == SamplerSimdMode.SIMD32_64 else _SAMPLER_TYPES
    return (f"{_in(types, fields['message_type'])} {_in(_SAMPLER_MODES, mode)}{half} "
            f"Surface = {fields['binding_table_index']} Sampler = {fields['sampler_index']}")


def _read_only_cache(view: View) -> str:
    fields = _present(view)
    return (f"(bti {fields['binding_table_index']}, msg_ctrl {fields['message_control']}, "
            f"msg_type {int(fields['message_type'])}, "
            f"write_commit {int(fields.get('send_write_commit_message', False))})")


def _render_cache(view: View) -> str:
    fields = _present(view)
    names = (_RENDER_TYPES_GEN6 if view.gen & Gen.GEN6 else _RENDER_TYPES_GEN9 if view.gen & Gen.GEN9
             else _RENDER_TYPES_GEN7)
    text = _in(names, fields["message_type"])
    if "render_target_write_type" in fields:
        text += " " + _in(_RENDER_TARGET_TYPES, fields["render_target_write_type"])
        text += " Hi" if fields["slot_group"] else ""
        text += " LastRT" if fields["last_render_target_select"] else ""
        text += " PerSample" if fields.get("per_sample") else ""
        text += " WriteCommit" if fields.get("send_write_commit_message") else ""
    elif "read_simd8" in fields:
        text += " SIMD8" if fields["read_simd8"] else " SIMD16"
        text += " PerSample" if fields["read_per_sample"] else ""
    else:
        text += f" MsgCtrl = 0x{fields['message_control']:x}"
    return f"{text} Surface = {fields['binding_table_index']}"


def _urb(view: View) -> str:
    fields = _present(view)
    gen6 = "swizzle_control" in fields
    text = f"offset {fields['offset']} {_in(_URB_OPCODES_GEN6 if gen6 else _URB_OPCODES_GEN7, fields['urb_opcode'])}"
    text += " per-slot" if fields.get("per_slot_offset") else ""
    text += " masked" if fields.get("channel_mask_present") else ""
    text += " interleave" if fields.get("interleave") else ""
    text += _in(_URB_SWIZZLES, fields["swizzle_control"]) if gen6 else ""
    return text + "".join(f" {name}" for name in ("allocate", "used", "complete") if fields.get(name))


def _gateway(view: View) -> str:
    return f"({_in(_GATEWAY_FUNCTIONS, view.gateway_function)})"


def _atomic(fields: dict[str, Any]) -> str:
    operation = fields.get("atomic_operation", fields.get("float_atomic_operation"))
    return operation.name.lower() if isinstance(operation, IntEnum) else f"reserved{operation}"


def _block(fields: dict[str, Any]) -> str:
    return f"owords = {_in(_OWORDS, fields['oword_block_size'])}, aligned = {fields['alignment']}"


def _data_cache(view: View) -> str:
    fields = _present(view)
    if fields["scratch"]:
        # Gen7 counts registers from one, Gen8 has the logarithm of their number
        size = fields["scratch_block_size"]
        registers = 1 << size if view.gen & (Gen.GEN8 | Gen.GEN9) else size + 1
        operation = "read" if fields["scratch_operation"] == ScratchOperation.READ else "write"
        return (f"(scratch {operation} {_lower(fields['scratch_unit'])}, offset {fields['scratch_offset']}, "
                f"registers = {registers}{', invalidate' if fields['invalidate_after_read'] else ''})")
    text = f"(DC {_in(_DATA_TYPES, fields['message_type'])}, bti {fields['binding_table_index']}, "
    if "atomic_operation" in fields:
        return f"{text}{_atomic(fields)})"
    if "oword_block_size" in fields:
        return f"{text}{_block(fields)})"
    return f"{text}{message_control(view)})"


def _data_cache_1(view: View) -> str:
    fields = _present(view)
    kind = fields["message_type"]
    text = f"({_in(_DATA_1_TYPES, kind)}, Surface = {fields['binding_table_index']}, "
    if "atomic_operation" in fields or "float_atomic_operation" in fields:
        mode = "" if kind in _WITHOUT_SIMD else f"SIMD{8 if fields['simd8'] else 16}, "
        return f"{text}{mode}{_atomic(fields)})"
    if "simd_mode" in fields:
        return f"{text}SIMD{_in(_SURFACE_MODES, fields['simd_mode'])}, Mask = 0x{fields['channel_mask']:x})"
    if "oword_block_size" in fields:
        return f"{text}{_block(fields)})"
    return f"{text}0x{message_control(view):x})"


def _pixel_interpolator(view: View) -> str:
    return (f"({'linear' if view.linear else 'persp'}, {_in(_INTERPOLATOR_TYPES, view.message_type)}, "
            f"0x{view.message_data:02x})")


def _lower(value: IntEnum | int) -> str:
    return value.name.lower() if isinstance(value, IntEnum) else f"reserved{value}"


_WORDS: dict[SharedFunctionGen6, Callable[[View], str]] = {
    SharedFunctionGen6.SAMPLER: _sampler, SharedFunctionGen6.SAMPLER_CACHE_DATA_PORT: _read_only_cache,
    SharedFunctionGen6.CONSTANT_CACHE_DATA_PORT: _read_only_cache,
    SharedFunctionGen6.RENDER_CACHE_DATA_PORT: _render_cache, SharedFunctionGen6.URB: _urb,
    SharedFunctionGen6.MESSAGE_GATEWAY: _gateway, SharedFunctionGen6.DATA_CACHE_DATA_PORT: _data_cache,
    SharedFunctionGen6.DATA_CACHE_DATA_PORT_1: _data_cache_1,
    SharedFunctionGen6.PIXEL_INTERPOLATOR: _pixel_interpolator,
}
