"""Random state of draws."""

from __future__ import annotations

import random
from typing import Any

COMPARE = ["ALWAYS", "NEVER", "LESS", "EQUAL", "LEQUAL", "GREATER", "NOTEQUAL", "GEQUAL"]
STENCIL = ["KEEP", "ZERO", "REPLACE", "INCRSAT", "DECRSAT", "INCR", "DECR", "INVERT"]


def depth_state_of(rng: random.Random) -> dict[str, Any]:
    """Depth and stencil state; a third of the draws has the usual one."""
    if rng.random() < 0.3:
        return {"depth_test_enable": True, "depth_test_function": "LEQUAL", "depth_buffer_write_enable": True}
    side = {name: rng.choice(STENCIL) for name in ("fail_op", "pass_depth_fail_op", "pass_depth_pass_op")}
    return {
        "depth_test_enable": rng.random() < 0.8, "depth_test_function": rng.choice(COMPARE),
        "depth_buffer_write_enable": rng.random() < 0.7, "stencil_test_enable": rng.random() < 0.5,
        "stencil_buffer_write_enable": rng.random() < 0.7, "stencil_test_function": rng.choice(COMPARE),
        "stencil_reference_value": rng.randrange(256), "stencil_test_mask": rng.choice([255, 15, 0xF0]),
        "stencil_write_mask": rng.choice([255, 15, 0xF0]), "double_sided_stencil_enable": rng.random() < 0.3,
        "backface_stencil_test_function": rng.choice(COMPARE), "backface_stencil_reference_value": rng.randrange(256),
        "backface_stencil_test_mask": 255, "backface_stencil_write_mask": 255,
    } | {f"stencil_{name}": value for name, value in side.items()} | {
        f"backface_stencil_{name}": rng.choice(STENCIL) for name in side}
