"""Executes an arithmetic, logic or move instruction of one thread."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gen4emu.hw.gen import Gen
from gen4emu.isa.instruction import DestRegion, DirectOperand, Immediate, IndirectOperand, Instruction
from gen4emu.isa.opcodes import Flag, Opcode
from gen4emu.isa.registers import (
    HSTRIDES,
    MRF_COMPR4,
    TYPE_BYTES,
    Arf,
    Compression,
    CondMod,
    RegFile,
    RegType,
)
from tests.eu.reference import arithmetic, floats, operands
from tests.eu.reference.arithmetic import Number
from tests.eu.reference.operands import Element
from tests.eu.reference.thread import NAN_MARKS, Slot, Thread, Unspecified
from tests.eu.reference.types import SIGNED, Exec, bounds, execution_type, wrap, wrap_to

_LOGIC = (Opcode.NOT, Opcode.AND, Opcode.OR, Opcode.XOR)
_SHIFTS = (Opcode.SHL, Opcode.SHR, Opcode.ASR)
_ROUND = (Opcode.FRC, Opcode.RNDU, Opcode.RNDD, Opcode.RNDE, Opcode.RNDZ)
_DOTS = (Opcode.DP4, Opcode.DPH, Opcode.DP3, Opcode.DP2)
_COMPARES = (Opcode.CMP, Opcode.CMPN)
_NEVER = (Opcode.MOVI, Opcode.MSAVE, Opcode.MREST, Opcode.PUSH, Opcode.POP, Opcode.WAIT, Opcode.ILLEGAL)


@dataclass(frozen=True)
class Pass:
    """The channels of one pass."""

    half: int
    n: int
    mask_base: int  # bit of channel 0 in the execution masks
    flag_base: int  # bit of channel 0 in the flag register
    flag_word: int
    acc: int


def passes(inst: Instruction) -> list[Pass]:
    """One, or two for a compressed instruction."""
    n, word = inst.channels, inst.flag_subreg
    if inst.compression in (Compression.COMPR, Compression.RESERVED):
        if n == 32:
            if word and (inst.predicate or inst.cond_modifier):
                raise Unspecified("f0.1 for 32 channels")
            return [Pass(h, 16, 0, 0, h, h) for h in range(2)]
        if n < 16:
            raise Unspecified("compression of less than 16 channels")
        return [Pass(h, n // 2, 8 * h, 8 * h, word, h) for h in range(2)]
    if n > 16:
        raise Unspecified("32 channels without compression")
    if inst.compression is Compression.SECHALF:
        return [Pass(0, n, 8, 8, word, 1) if n <= 8 else Pass(0, n, 0, 0, 1, 1)]
    return [Pass(0, n, 0, 0, word, 0)]


def predicate(thread: Thread, inst: Instruction, where: Pass, channel: int) -> bool:
    """The predicate of a channel, true without one."""
    control = inst.predicate
    if not control:
        return True
    own, bit = thread.flags[where.flag_word], where.flag_base + channel
    if inst.align16 and 2 <= control <= 5:
        found = bool(own >> (bit & ~3) + control - 2 & 1)
    elif control == 1:
        found = bool(own >> bit & 1)
    elif control == 2:
        found = bool((thread.flags[0] | thread.flags[1]) >> bit & 1)
    elif control == 3:
        found = bool(thread.flags[0] & thread.flags[1] & 1 << bit)
    elif control <= (7 if inst.align16 else 11):
        size = 2 << (control - 4) // 2
        group = own >> (bit & -size) & (1 << size) - 1
        found = group == (1 << size) - 1 if control & 1 else group != 0
    else:
        raise Unspecified(f"predicate control {control}")
    return found != inst.predicate_inverse


def unmasked(thread: Thread, inst: Instruction, where: Pass, channel: int) -> bool:
    return inst.nomask or bool(thread.enabled >> where.mask_base + channel & 1)


def enabled_channels(thread: Thread, inst: Instruction, where: Pass) -> list[bool]:
    """The channels that are written."""
    gated = inst.opcode != Opcode.SEL or inst.cond_modifier != CondMod.NONE
    mask = inst.dst.region.writemask if inst.dst is not None and isinstance(inst.dst.region, DestRegion) else None
    return [unmasked(thread, inst, where, c) and (not gated or predicate(thread, inst, where, c))
            and (mask is None or bool(mask >> (c & 3) & 1)) for c in range(where.n)]


def dword_execution(inst: Instruction) -> bool:
    """Whether a pass of a compressed instruction works on dwords, so that packed words take half a register."""
    if inst.channels != 16:
        return False
    kinds = [o.type for o in (inst.src0, inst.src1) if o is not None]
    if execution_type(kinds) is not Exec.W:
        return True
    return inst.dst is not None and TYPE_BYTES[inst.dst.type] == 4


def execute(thread: Thread, inst: Instruction) -> None:
    """Execute any instruction other than sends and branches."""
    if inst.opcode in _NEVER or inst.info is None:
        raise Unspecified(f"opcode 0x{inst.opcode:02x}")
    for where in passes(inst):
        _execute_pass(thread, inst, where)


def _execute_pass(thread: Thread, inst: Instruction, where: Pass) -> None:
    explicit = [o for o in (inst.dst, inst.src0) if operands.is_accumulator(o)]
    acc = where.acc
    if explicit:
        numbers = {o.nr & 1 for o in explicit if isinstance(o, DirectOperand)}
        if len(numbers) > 1:
            raise Unspecified("two accumulators")
        acc = numbers.pop()
        if inst.compression is Compression.COMPR:
            if acc:
                raise Unspecified("acc1 in a compressed instruction")
            acc = where.half
    on = enabled_channels(thread, inst, where)
    sources = _sources(thread, inst, where, acc)
    kinds = [o.type for o in (inst.src0, inst.src1) if o is not None]
    kind = execution_type(kinds)
    for c in range(where.n):
        used = [c] if inst.opcode not in _DOTS else range(c & ~3, (c & ~3) + 4)
        if on[c] and not all(s[u].known for s in sources for u in used if u < where.n):
            raise Unspecified("bits of a NaN")
    results = _results(thread, inst, where, acc, sources, kind, on)
    _write(thread, inst, where, acc, results, kind, on)


def _sources(thread: Thread, inst: Instruction, where: Pass, acc: int) -> list[list[Element]]:
    """The sources as the opcode needs them: line and pln read planes, not regions."""
    dword = dword_execution(inst)
    if inst.opcode not in (Opcode.LINE, Opcode.PLN):
        return [operands.read(thread, o, where.n, where.half, dword, acc)
                for o in (inst.src0, inst.src1) if o is not None]
    plane, u = inst.src0, inst.src1
    if not (isinstance(plane, DirectOperand) and isinstance(u, DirectOperand) and plane.file is RegFile.GRF
            and operands.is_scalar(plane.region) and plane.type is RegType.F and u.type is RegType.F
            and not plane.negate and not plane.abs and not inst.align16):
        raise Unspecified("an unusual plane")
    first = 32 * plane.nr + plane.subnr
    group = first & ~15
    if inst.opcode == Opcode.LINE:
        where_to = [first, group + 12]
        coordinates = [operands.read(thread, u, where.n, where.half, dword, acc)]
    else:
        where_to = [group, group + 4, group + 12]
        moved = [DirectOperand(u.file, u.type, u.nr + i + 2 * where.half, u.subnr, u.region, u.negate, u.abs)
                 for i in range(2)]
        coordinates = [operands.read(thread, o, where.n, 0, dword, acc) for o in moved]
    return [[operands.grf_element(thread, a, plane)] * where.n for a in where_to] + coordinates


@dataclass
class Result:
    """The result of a channel: its value in full precision, the flag of a comparison, bits to copy unchanged."""

    value: Number
    flag: bool | None = None
    raw: int | None = None
    free: bool = False  # raw bits of a NaN with a free payload
    partial: int | None = None  # the value of the accumulator, if it differs


def _moved(inst: Instruction, element: Element) -> int | None:
    """The bits that a mov keeps: all, or if source modifiers make a NaN quiet, its payload."""
    raw = _raw(inst, inst.src0, element)
    src, dst = inst.src0, inst.dst
    if (raw is not None or inst.saturate or not isinstance(element.value, float) or not math.isnan(element.value)
            or not isinstance(src, DirectOperand | IndirectOperand) or dst is None or dst.type is not RegType.F
            or operands.is_accumulator(dst) or operands.is_accumulator(src)):
        return raw
    return (element.bits & (0x7FFFFFFF if src.abs else 0xFFFFFFFF) ^ (0x80000000 if src.negate else 0)) | 0x00400000


def _raw(inst: Instruction, operand: object, element: Element) -> int | None:
    """The bits that a move keeps."""
    if inst.saturate or inst.dst is None or operands.is_accumulator(inst.dst):
        return None
    if isinstance(operand, Immediate):
        same = operand.type.name == inst.dst.type.name
    else:
        assert isinstance(operand, (DirectOperand, IndirectOperand))
        same = operand.type is inst.dst.type and not operand.negate and not operand.abs \
            and not operands.is_accumulator(operand)
    return element.bits if same else None


def _results(thread: Thread, inst: Instruction, where: Pass, acc: int, sources: list[list[Element]], kind: Exec,
             on: list[bool]) -> list[Result | None]:
    """The results of all channels; None for disabled ones."""
    found: list[Result | None] = []
    for c in range(where.n):
        if not on[c]:
            found.append(None)
            continue
        if inst.opcode in _DOTS:
            if where.n < 4:
                raise Unspecified("a dot product of less than four channels")
            tuples = [[e.number(kind) for e in s[c & ~3:(c & ~3) + 4]] for s in sources]
            if kind is not Exec.F and (inst.opcode != Opcode.DP4 or _dword_first(inst)):
                raise Unspecified("a dot product of dwords")
            found.append(Result(arithmetic.dot(inst.opcode, *tuples)))
        elif inst.opcode == Opcode.SEL:
            found.append(_selected(thread, inst, where, c, sources, kind))
        elif inst.opcode == Opcode.MOV:
            element = sources[0][c]
            found.append(Result(element.number(kind), None, _moved(inst, element), element.free))
        elif inst.opcode in (Opcode.SAD2, Opcode.SADA2):
            found.append(_differences(thread, inst, where, acc, c, sources))
        else:
            found.append(_channel(thread, inst, acc, c, [s[c].number(kind) for s in sources], kind))
    return found


def _dword_first(inst: Instruction) -> bool:
    return inst.src0 is not None and inst.src0.type.name in ("D", "UD")


def _signed_first(inst: Instruction) -> bool:
    return inst.src0 is not None and inst.src0.type is RegType.D


def _dword_second(inst: Instruction) -> bool:
    return inst.src1 is not None and inst.src1.type.name in ("D", "UD")


def _accumulator(thread: Thread, acc: int, channel: int, kind: Exec) -> Number:
    slot = thread.acc[acc][channel]
    if slot.kind is not kind:
        raise Unspecified("an accumulator of another kind")
    return slot.value


def _channel(thread: Thread, inst: Instruction, acc: int, c: int, values: list[Number], kind: Exec) -> Result:
    op = inst.opcode
    if op == Opcode.ADD:
        return Result(arithmetic.total(*values))
    if op == Opcode.MUL:
        if not (_dword_first(inst) and _dword_second(inst)):
            return Result(arithmetic.product(*values))
        a, b = values
        assert isinstance(a, int) and isinstance(b, int)
        return Result(arithmetic.low_half(a, signed=_signed_first(inst)) * b, partial=(a & 0xFFFF) * b)
    if op == Opcode.MAC:
        if kind is not Exec.F and _dword_first(inst):
            raise Unspecified("mac of a dword")
        return Result(arithmetic.total(_accumulator(thread, acc, c, kind), arithmetic.product(*values)))
    if op == Opcode.MACH:
        a, b = values
        old = _accumulator(thread, acc, c, kind)
        if kind is not Exec.D or not (isinstance(a, int) and isinstance(b, int) and isinstance(old, int)):
            raise Unspecified("mach of other types")
        return Result(old + ((a >> 16) * b << 16))
    if op in (Opcode.LINE, Opcode.PLN):
        return Result(_plane(values))
    if op in _ROUND:
        flag = None
        if inst.cond_modifier == CondMod.R and isinstance(values[0], float):
            flag = arithmetic.needs_increment(op, values[0])
        return Result(arithmetic.whole(op, values[0]), flag)
    if op in _LOGIC:
        return _logic(inst, values, kind)
    if op in _SHIFTS:
        return Result(arithmetic.shift(op, *values))
    if op == Opcode.AVG:
        return Result(arithmetic.average(*values))
    if op == Opcode.LZD:
        if kind is not Exec.D:
            raise Unspecified("lzd of words")
        return Result(arithmetic.leading_zeros(values[0]))
    if op in _COMPARES:
        return _comparison(thread, inst, values)
    raise Unspecified(f"opcode 0x{op:02x}")


def _plane(values: list[Number]) -> Number:
    """line: p, q, u; pln: p, q, r, u, v."""
    if len(values) == 3:
        p, q, u = values
        return arithmetic.total(arithmetic.product(p, u), q)
    p, q, r, u, v = values
    return arithmetic.total(arithmetic.total(arithmetic.product(p, u), arithmetic.product(q, v)), r)


def _logic(inst: Instruction, values: list[Number], kind: Exec) -> Result:
    """A logic result; its condition tests the bits with the sign of the destination type."""
    assert inst.dst is not None
    value = arithmetic.logic(inst.opcode, values[0], values[-1])
    condition = inst.cond_modifier
    if not condition:
        if inst.dst.type is RegType.F and not _is_null(inst):
            raise Unspecified("logic to a float")
        return Result(value)
    bits = 32 if kind is Exec.D else 16
    if inst.dst.type is RegType.F and condition > CondMod.NZ:
        raise Unspecified("the sign of logic to a float")
    if inst.dst.type is not RegType.F and 8 * TYPE_BYTES[inst.dst.type] != bits:
        raise Unspecified("a condition on logic of two widths")
    if condition > CondMod.NZ and any(o is not None and o.type.name != inst.dst.type.name
                                      for o in (inst.src0, inst.src1)):
        raise Unspecified("the sign of logic of two types")
    return Result(value, arithmetic.compare(condition, wrap(value, bits, inst.dst.type in SIGNED), 0))


def _is_null(inst: Instruction) -> bool:
    dst = inst.dst
    return isinstance(dst, DirectOperand) and dst.file is RegFile.ARF and dst.nr >> 4 == Arf.NULL


def _comparison(thread: Thread, inst: Instruction, values: list[Number]) -> Result:
    assert inst.dst is not None
    if thread.gen in Gen.BW | Gen.CL:  # both are converted to the destination type first
        values = [_converted(v, inst.dst.type, thread) for v in values]
    test = arithmetic.compare if inst.opcode == Opcode.CMP else arithmetic.compare_ordered
    flag = test(inst.cond_modifier, *values)
    return Result(0, flag, (1 << 8 * TYPE_BYTES[inst.dst.type]) - 1 if flag else 0)


def _converted(value: Number, kind: RegType, thread: Thread) -> Number:
    if kind is RegType.F:
        return floats.from_int(value) if isinstance(value, int) else value
    return floats.to_int(value, *bounds(kind)) if isinstance(value, float) else wrap_to(value, kind)


def _selected(thread: Thread, inst: Instruction, where: Pass, c: int, sources: list[list[Element]],
              kind: Exec) -> Result:
    if inst.cond_modifier or not inst.predicate:
        raise Unspecified("sel without a predicate")
    arm = 0 if predicate(thread, inst, where, c) else 1
    element = sources[arm][c]
    operand = (inst.src0, inst.src1)[arm]
    return Result(element.number(kind), None, _raw(inst, operand, element), element.free)


def _differences(thread: Thread, inst: Instruction, where: Pass, acc: int, c: int,
                 sources: list[list[Element]]) -> Result:
    """The sum of absolute differences of a pair, for both channels."""
    even = c & ~1
    if even + 1 >= where.n:
        raise Unspecified("half a pair")
    value: Number = 0
    for i in (even, even + 1):
        a, b = (s[i].number(Exec.W) for s in sources)
        value += abs(a - b)
    if inst.opcode == Opcode.SADA2:
        value += _accumulator(thread, acc, even, Exec.W)
    return Result(value)


# --- results ---


def _write(thread: Thread, inst: Instruction, where: Pass, acc: int, results: list[Result | None], kind: Exec,
           on: list[bool]) -> None:
    assert inst.dst is not None and inst.info is not None
    dst = inst.dst
    stored: list[tuple[int, bool] | None] = []
    for c, result in enumerate(results):
        if result is None:
            stored.append(None)
            continue
        stored.append(_finish(thread, inst, where, c, result, kind))
    if operands.is_accumulator(dst):
        _write_accumulator(thread, acc, results, _explicit_kind(dst.type, kind))
    elif inst.info.flags & Flag.ACC_WRITE and not thread.control[0] & 2:
        _write_accumulator(thread, acc, results, kind)
    if not operands.is_accumulator(dst):
        store(thread, inst, where, stored)


def _finish(thread: Thread, inst: Instruction, where: Pass, c: int, result: Result, kind: Exec) -> tuple[int, bool]:
    """Saturate, update the flag, convert: the bits to store, and whether they are a NaN with a free payload."""
    assert inst.dst is not None
    to = inst.dst.type
    if inst.opcode == Opcode.MACH:
        assert isinstance(result.value, int)
        value: Number = result.value >> 32
    else:
        value = result.value
    if isinstance(value, float):
        value = floats.rounded(value, alternate=bool(thread.control[0] & 1))
    if inst.saturate and inst.opcode not in _COMPARES:
        value = _saturated(inst, value, to)
    if inst.cond_modifier:
        flag = result.flag if result.flag is not None else _condition(inst, _seen(inst, value))
        bit = 1 << where.flag_base + c
        word = thread.flags[where.flag_word]
        thread.flags[where.flag_word] = word | bit if flag else word & ~bit
    if result.raw is not None:
        return result.raw, result.free
    if isinstance(value, float):
        if to is RegType.F:
            return floats.to_bits(value, alternate=bool(thread.control[0] & 1)), math.isnan(value)
        return floats.to_int(value, *bounds(to)) & (1 << 8 * TYPE_BYTES[to]) - 1, False
    if to is RegType.F:
        return floats.to_bits(floats.from_int(value)), False
    return value & (1 << 8 * TYPE_BYTES[to]) - 1, False


def _saturated(inst: Instruction, value: Number, to: RegType) -> Number:
    if to is RegType.F:
        if math.isnan(value):
            return 0.0
        return type(value)(min(max(value, 0), 1)) if value else type(value)(0)  # -0 leaves as +0
    low, high = bounds(to)
    if isinstance(value, float):
        if math.isnan(value):
            if inst.cond_modifier:
                raise Unspecified("the condition of a saturated NaN")
            return value
        return min(max(value, float(low)), float(high))
    return min(max(value, low), high)


def _seen(inst: Instruction, value: Number) -> Number:
    """The value that a condition tests: a stored integer, or the bits that shl keeps (docs/decisions.md 42, 43)."""
    assert inst.dst is not None
    if (inst.opcode == Opcode.SHL and isinstance(value, int) and not inst.saturate and inst.dst.type is not RegType.F
            and inst.cond_modifier != CondMod.O):
        return wrap(value, 8 * TYPE_BYTES[inst.dst.type], inst.dst.type in SIGNED)
    if isinstance(value, float) and inst.dst.type is not RegType.F and inst.cond_modifier != CondMod.U:
        return floats.to_int(value, *bounds(inst.dst.type))
    return value


def _condition(inst: Instruction, value: Number) -> bool:
    if inst.cond_modifier == CondMod.U:
        return math.isnan(value)
    if inst.cond_modifier == CondMod.R:
        raise Unspecified("a round increment of something else")
    return arithmetic.compare(inst.cond_modifier, value, 0)


def _explicit_kind(to: RegType, kind: Exec) -> Exec:
    found = operands.kind_of(to)
    if found is not kind and not (found is Exec.F or (found is Exec.D and kind is Exec.W)):
        raise Unspecified("an accumulator of a smaller type")
    return found


def _write_accumulator(thread: Thread, acc: int, results: list[Result | None], kind: Exec) -> None:
    """Write the accumulator.  The content of disabled channels is undefined afterwards."""
    if kind is not Exec.W and len(results) > 8:  # an accumulator has eight channels
        results = []
    limit = 1 << (32 if kind is Exec.W else 63)
    for c in range(16):
        result = results[c] if c < len(results) else None
        value: Number = 0
        if result is not None:
            value = result.value if result.partial is None else result.partial
        if kind is Exec.F and isinstance(value, int):
            value = floats.from_int(value)
        if isinstance(value, int) and not -limit <= value < limit:
            result = None
        thread.acc[acc][c] = Slot(kind if result is not None else None, value)


def store(thread: Thread, inst: Instruction, where: Pass, stored: list[tuple[int, bool] | None]) -> None:
    """The bytes of the enabled channels."""
    dst = inst.dst
    assert dst is not None and isinstance(dst.region, DestRegion)
    size = TYPE_BYTES[dst.type]
    stride = 1 if inst.align16 else HSTRIDES[dst.region.hstride] or 1
    if dst.file is RegFile.IMM:
        raise Unspecified("an immediate as a destination")
    if dst.file is RegFile.ARF:
        _store_arf(thread, dst, stride * size, stored)
        return
    data, marks = thread.file(dst.file)
    if isinstance(dst, IndirectOperand):
        if dst.file is not RegFile.GRF:
            raise Unspecified("an indirect message register")
        base = operands.indirect_address(thread, dst, dst.addr_subreg + where.half)
    else:
        nr, step = dst.nr, where.half
        if dst.file is RegFile.MRF:
            compressed = inst.compression in (Compression.COMPR, Compression.RESERVED)
            if nr & MRF_COMPR4 and compressed and thread.gen in Gen.GEN45:
                step *= 4
            nr &= ~MRF_COMPR4
        base = 32 * (nr + step) + dst.subnr
    for c, item in enumerate(stored):
        if item is None:
            continue
        bits, free = item
        for i, byte in enumerate(bits.to_bytes(size, "little")):
            address = base + c * stride * size + i
            if 0 <= address < len(data):
                data[address], marks[address] = byte, NAN_MARKS[i] if free else 0


def _store_arf(thread: Thread, dst: object, step: int, stored: list[tuple[int, bool] | None]) -> None:
    if not isinstance(dst, DirectOperand):
        raise Unspecified("an indirect architecture register")
    if dst.nr >> 4 == Arf.NULL:
        return
    image = thread.arf(dst.nr)
    written = False
    for c, item in enumerate(stored):
        if item is None:
            continue
        bits, free = item
        if free:
            raise Unspecified("bits of a NaN")
        size = TYPE_BYTES[dst.type]
        at = dst.subnr + c * step
        if at + size > 32:
            raise Unspecified("an architecture register crossed")
        image[at:at + size] = bits.to_bytes(size, "little")
        written = True
    if not written:
        return
    if dst.nr >> 4 == Arf.IP:
        thread.ip = int.from_bytes(image[:4], "little")
        thread.jumped = True
        return
    thread.set_arf(dst.nr, image)
