"""How often each instruction of a kernel was executed."""

from __future__ import annotations

from gen4emu.device.counters import KernelCount, LineCount


def line_counts(codes: list[bytes], counted: list[KernelCount]) -> list[dict[int, LineCount] | None]:
    """The executed instructions of each kernel, by byte offset; None for a kernel that has not run.

    The core may decode more or fewer instructions beyond the end of a kernel than the decoder, so kernels are
    the same if one begins with the other.  If several do, the longest is meant.
    """
    found: list[dict[int, LineCount] | None] = [None] * len(codes)
    for kernel in counted:
        same = [i for i, code in enumerate(codes) if code.startswith(kernel.code) or kernel.code.startswith(code)]
        if not same:
            continue
        into = max(same, key=lambda i: min(len(codes[i]), len(kernel.code)))
        lines = found[into] or {}
        for offset, line in kernel.lines.items():
            lines[offset] = lines.get(offset, LineCount(0, 0)) + line
        found[into] = lines
    return found
