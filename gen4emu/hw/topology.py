"""The primitive topologies of the 3D pipeline, and facts about each that all units share.

The encoding of VF, GS, CLIP, SF and WM (G45 PRM vol. 2, tables 2-1 and 3-1).
"""

from __future__ import annotations

from enum import IntEnum


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


class PatchTopology(IntEnum):
    """3D_Prim_Topo_Type from Gen7 on: the topologies above, and patches of 1 to 32 control points."""

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
    PATCHLIST_1 = 0x20
    PATCHLIST_2 = 0x21
    PATCHLIST_3 = 0x22
    PATCHLIST_4 = 0x23
    PATCHLIST_5 = 0x24
    PATCHLIST_6 = 0x25
    PATCHLIST_7 = 0x26
    PATCHLIST_8 = 0x27
    PATCHLIST_9 = 0x28
    PATCHLIST_10 = 0x29
    PATCHLIST_11 = 0x2A
    PATCHLIST_12 = 0x2B
    PATCHLIST_13 = 0x2C
    PATCHLIST_14 = 0x2D
    PATCHLIST_15 = 0x2E
    PATCHLIST_16 = 0x2F
    PATCHLIST_17 = 0x30
    PATCHLIST_18 = 0x31
    PATCHLIST_19 = 0x32
    PATCHLIST_20 = 0x33
    PATCHLIST_21 = 0x34
    PATCHLIST_22 = 0x35
    PATCHLIST_23 = 0x36
    PATCHLIST_24 = 0x37
    PATCHLIST_25 = 0x38
    PATCHLIST_26 = 0x39
    PATCHLIST_27 = 0x3A
    PATCHLIST_28 = 0x3B
    PATCHLIST_29 = 0x3C
    PATCHLIST_30 = 0x3D
    PATCHLIST_31 = 0x3E
    PATCHLIST_32 = 0x3F


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
