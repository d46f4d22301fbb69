"""The primitive topologies of the 3D pipeline, and facts about each that all units share.

The encoding of VF, GS, CLIP, SF and WM (G45 PRM vol. 2, tables 2-1 and 3-1).
"""

from __future__ import annotations

from enum import IntEnum

from gen4emu.hw.enumeration import enumeration


class PrimitiveTopology(IntEnum):
    """3D_PrimTopoType."""

    POINTLIST = 0x01
    LINELIST = 0x02
    LINESTRIP = 0x03
    TRILIST = 0x04
    TRISTRIP = 0x05
    TRIFAN = 0x06
    QUADLIST = 0x07
    QUADSTRIP = 0x08
    LINELIST_ADJ = 0x09
    LINESTRIP_ADJ = 0x0A
    TRILIST_ADJ = 0x0B
    TRISTRIP_ADJ = 0x0C
    TRISTRIP_REVERSE = 0x0D
    POLYGON = 0x0E
    RECTLIST = 0x0F
    LINELOOP = 0x10
    POINTLIST_BF = 0x11
    LINESTRIP_CONT = 0x12
    LINESTRIP_BF = 0x13
    LINESTRIP_CONT_BF = 0x14
    TRIFAN_NOSTIPPLE = 0x16


PatchTopology = enumeration(
    "PatchTopology", "3D_Prim_Topo_Type from Gen7 on: the topologies above, and patches of 1 to 32 control points.",
    {topology.name: int(topology) for topology in PrimitiveTopology} |
    {f"PATCHLIST_{points}": 0x1F + points for points in range(1, 33)}, __name__)


# G45 PRM vol. 2, 3.3.1: a cut index is undefined with any other topology.
CUT_INDEX_TOPOLOGIES: frozenset[PrimitiveTopology] = frozenset(PrimitiveTopology) - {
    PrimitiveTopology.TRIFAN, PrimitiveTopology.QUADLIST, PrimitiveTopology.QUADSTRIP, PrimitiveTopology.POLYGON,
    PrimitiveTopology.RECTLIST, PrimitiveTopology.LINELOOP, PrimitiveTopology.TRIFAN_NOSTIPPLE,
}

ADJACENCY_TOPOLOGIES: frozenset[PrimitiveTopology] = frozenset({
    PrimitiveTopology.LINELIST_ADJ, PrimitiveTopology.LINESTRIP_ADJ, PrimitiveTopology.TRILIST_ADJ,
    PrimitiveTopology.TRISTRIP_ADJ,
})

# G45 PRM vol. 2, 5.5.1: topologies that may leave the GS stage.  CLIP strips adjacency when GS is off.
GS_OUTPUT_TOPOLOGIES: frozenset[PrimitiveTopology] = frozenset(PrimitiveTopology) - ADJACENCY_TOPOLOGIES - {
    PrimitiveTopology.QUADLIST, PrimitiveTopology.QUADSTRIP, PrimitiveTopology.LINELOOP,
}
