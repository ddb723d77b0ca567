# SPDX-License-Identifier: Apache-2.0
"""Accelerators and their peaks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import _core
from ._errors import checked, listed, made_elsewhere

if TYPE_CHECKING:
    from ._words import Precision, PrecisionName, Quality


@dataclass(frozen=True, repr=False, init=False)
class Accelerator:
    """A part and its dense peaks, each with its public source.

    name: the one that it has here: "H100 SXM". vendor: "NVIDIA", "AMD", … form_factor: as the vendor calls its board or
    package: "SXM5", … driver_names: by which the driver or a framework calls it. dense_tflops: dense TFLOP/s by precision
    (TOP/s for int8); what is not published is not there. memory_tbps: TB/s of its memory by its names; parts of one name
    may have several. source, source_url: title and place of the document that its figures are from. note: words on what
    the figures are of. quality: how good the source is: vendor_document, vendor_slide or third_party.
    """

    __init__ = made_elsewhere("floptally.accelerator(name)")
    name: str
    vendor: str = field(compare=False)
    form_factor: str = field(compare=False)
    driver_names: list[str] = field(compare=False)
    dense_tflops: dict[PrecisionName, float] = field(compare=False)
    memory_tbps: dict[str, float] = field(compare=False)
    source: str = field(compare=False)
    source_url: str = field(compare=False)
    note: str = field(compare=False)
    quality: Quality = field(compare=False)

    @checked
    def peak_tflops(self, precision: Precision = "bf16") -> float:
        """Dense TFLOP/s of one device, or an Error that names what is published."""
        return _core._peak_tflops(self.name, precision)

    @checked
    def boost_tflops(self, clock_mhz: float, precision: Precision = "bf16") -> float:
        """Dense TFLOP/s of one device at a clock that it reports, which may be above the datasheet's."""
        return _core._peak_tflops(self.name, precision, clock_mhz)

    def __repr__(self) -> str:
        return f"<Accelerator {self.name}>"


@checked
def accelerator(name: str) -> Accelerator:
    """The part of that name, ours or the driver's (`torch.cuda.get_device_name()`), whole."""
    part: Accelerator = listed(Accelerator, _core._accelerators(name)[0])
    return part


def accelerators() -> list[Accelerator]:
    """Every known part."""
    return [listed(Accelerator, each) for each in _core._accelerators()]
