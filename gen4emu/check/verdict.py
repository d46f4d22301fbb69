"""Lists of expected failures, flakes and skips applied to results; entries that no longer apply."""

from __future__ import annotations

from collections.abc import Sequence

from gen4emu.check.manifest import Case, Listing, listing_for
from gen4emu.check.results import Outcome, Result
from gen4emu.hw.chips import BY_NAME, Device


def skipped(case: Case, listings: Sequence[Listing], device: Device | None, update: bool) -> Result | None:
    """The result of a case that is not run: on the skip list, or an update of a case that is listed as failing."""
    device = device or case.device
    listing = listing_for(listings, case, device, "skip")
    if listing is not None:
        return Result(case, Outcome.SKIP, reason=listing.reason)
    if update:
        listing = listing_for(listings, case, device, "fail")
        if listing is not None:
            return Result(case, Outcome.SKIP, reason=f"listed as failing, so not updated: {listing.reason}")
    return None


def judge(result: Result, listings: Sequence[Listing]) -> Result:
    """Replace the outcome by the one that the lists give it."""
    if result.is_error or result.outcome is Outcome.SKIP:
        return result
    device = BY_NAME.get(result.device) or result.case.device
    fail = listing_for(listings, result.case, device, "fail")
    flake = listing_for(listings, result.case, device, "flake")
    if result.outcome is Outcome.PASS:
        if fail is not None and flake is None:
            result.outcome, result.reason = Outcome.UNEXPECTED_PASS, fail.reason
            result.messages.append(f"passes, but {fail.file} lists it as failing ({fail.reason}): remove it there")
    elif result.outcome is not Outcome.FLAKE:
        if flake is not None:
            result.outcome, result.reason = Outcome.FLAKE, flake.reason
        elif fail is not None and result.outcome.value in fail.results:
            result.outcome, result.reason = Outcome.EXPECTED_FAIL, fail.reason
    return result
