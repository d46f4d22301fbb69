"""Random state of OpenGL's fixed functions on the installed drivers: against software renderers, and each other."""

from __future__ import annotations

import pytest

from gen4emu.device.options import Options
from gen4emu.hw.chips import BY_NAME
from gen4emu.live.server import Server
from tests.live.fixed_pictures import Painter, difference, differs_from_all, features, mask
from tests.live.real_client import needs_client

# Mesa's software renderers draw wide and stippled lines as polygons, and the sides and corners that clipping adds to
# unfilled polygons.
DRAWN_OTHERWISE = ("line width", "line stipple", "polygon mode")
# In the last of them lines leave the viewport and the framebuffer.
SEEDS = (*range(21, 41), 45, 69, 74, 79, 82)


@needs_client
@pytest.mark.parametrize("device", ["ivb", "hsw", "kbl"])
def test_pictures_are_those_of_a_software_renderer(device: str) -> None:
    wanted = mask(*DRAWN_OTHERWISE)
    with Server(BY_NAME[device], Options(workers=2)) as server, Painter(server.directory) as drawn, \
            Painter("llvmpipe") as llvmpipe, Painter("softpipe") as softpipe:
        found = {seed: differs_from_all(seed, wanted, drawn, [llvmpipe, softpipe]) for seed in SEEDS}
    assert {seed: tuple(differs) for seed, differs in found.items() if differs} == {}
    assert not server.totals.complaints and not server.totals.hangs and not server.totals.errors


@needs_client
def test_two_drivers_draw_the_same_with_all_features() -> None:
    """Crocus on Ivy Bridge and iris on Kaby Lake: other commands, shaders and surfaces."""
    with Server(BY_NAME["ivb"], Options(workers=2)) as old, Painter(old.directory) as one, \
            Server(BY_NAME["kbl"], Options(workers=2)) as new, Painter(new.directory) as other:
        found = {seed: difference(one.picture(seed, mask()), other.picture(seed, mask())) for seed in SEEDS}
    assert {seed: tuple(differs) for seed, differs in found.items() if differs} == {}


@needs_client
def test_a_picture_depends_on_its_seed_and_features_alone() -> None:
    with Painter("llvmpipe") as soft:
        first = soft.picture(2, mask())
        assert difference(first, soft.picture(3, mask()))
        assert first == soft.picture(2, mask())
        assert difference(first, soft.picture(2, mask(*features())))
