"""The video engines of Broadwell: commands that differ from Haswell's by name and length, with opaque contents.

Mesa's gen8.xml and intel-vaapi-driver (gen8_mfd.c, gen75_vpp_vebox.c).  What did not change is Haswell's layout.
"""

from __future__ import annotations

from gen4emu.hw.fields import Array
from gen4emu.hw.gen4.common import DATA_DWORD
from gen4emu.hw.layout import Command, Engine
from gen4emu.hw.reserved import gfx


def opaque(name: str, code: int, engine: Engine = Engine.VIDEO, ref: str = "Mesa gen8.xml") -> Command:
    """A command of which only the name and where the length is are described."""
    return gfx(name, code, 1, [Array("data", 1, DATA_DWORD)], length=(11, 0), engine=engine, ref=f"{ref} {name}")


REPLACED: tuple[Command, ...] = (
    opaque("MFX_SURFACE_STATE", 0x7001),
    opaque("MFX_PIPE_BUF_ADDR_STATE", 0x7002),
    opaque("MFX_IND_OBJ_BASE_ADDR_STATE", 0x7003),
    opaque("MFX_BSP_BUF_BASE_ADDR_STATE", 0x7004),
    opaque("MFX_DBK_OBJECT", 0x7009),
    opaque("MFX_AVC_IMG_STATE", 0x7100),
    opaque("MFX_AVC_DIRECTMODE_STATE", 0x7102),
    opaque("MFX_VC1_DIRECTMODE_STATE", 0x7202),
    opaque("MFX_JPEG_PIC_STATE", 0x7700),
    opaque("VEBOX_STATE", 0x7402, Engine.VIDEO_ENHANCEMENT, "intel-vaapi-driver gen75_vpp_vebox.c"),
    opaque("VEBOX_DI_IECP", 0x7403, Engine.VIDEO_ENHANCEMENT, "intel-vaapi-driver gen75_vpp_vebox.c"),
)
ADDED: tuple[Command, ...] = (
    opaque("MFX_VP8_PIC_STATE", 0x7400),
    opaque("MFD_VP8_BSD_OBJECT", 0x7428),
    opaque("MFX_VP8_PAK_OBJECT", 0x7449),
)
REMOVED: tuple[str, ...] = ("VEBOX_DNDI_STATE",)
