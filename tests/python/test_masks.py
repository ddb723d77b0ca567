# SPDX-License-Identifier: Apache-2.0
"""Masks of one's own: Python callables as rules, and accumulators that a caller measures."""

from __future__ import annotations

import ast
import pathlib
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import floptally
from floptally import Mask, Tally

TOKENS, STEP = 12, 3
LENGTHS = [0, 1, 5, 12, 13, 40, 700, 40000]  # the last is above what a block of 16-bit lengths holds
UNIT = 2 * 8 * 64


def seen(length: int, past: int = 0) -> int:
    """Every third of the last twelve tokens, key by key."""
    return sum(
        1 for query in range(past, past + length) for key in range(max(0, query - TOKENS + 1), query + 1)
        if (query - key) % STEP == 0
    )  # fmt: skip


def dilated(length: int, past: int, keys: int) -> int:
    assert keys == 0
    return sum(min(query, TOKENS - 1) // STEP + 1 for query in range(past, past + length))


def dilated_all(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    assert lengths.dtype == np.int64 and lengths.ndim == 1
    return np.array([dilated(int(n), 0, 0) for n in lengths], dtype=np.int64)


ONE = Mask.from_callable("dilated_window", dilated, shape="causal")
ALL = Mask.from_callable("dilated_window_of_all", dilated_all, vectorized=True, shape="causal")
UNITS = Mask.from_callable("dilated_units", dilated)


def cost_of(mask: Mask) -> floptally.Cost:
    return floptally.Cost.from_entries(
        [("mlp", "tokens", "linear", 6), ("attention.core", mask, "scores", UNIT), ("attention.core", mask, "values", UNIT)]
    )


@pytest.mark.parametrize("mask", [ONE, ALL], ids=lambda mask: str(mask.name))
def test_attended_pairs_of_a_callable_mask_equal_an_enumeration(mask: Mask) -> None:
    pairs = sum(map(seen, LENGTHS))
    assert [mask.pairs(n) for n in LENGTHS[:-1]] == [seen(n) for n in LENGTHS[:-1]]
    tally = Tally([mask])
    tally.add_lengths(LENGTHS)
    assert tally.pairs(mask) == pairs and tally.tokens == sum(LENGTHS)
    for number in (1, 511, 512, 513, 2000):  # around the size of a block
        many = Tally([mask])
        many.add_lengths(np.arange(number))
        assert many.pairs(mask) == sum(dilated(n, 0, 0) for n in range(number))
    padded = Tally([mask])
    padded.add_cu_seqlens([0, 5, 12], [0, 8, 16])
    assert (padded.pairs(mask), padded.pairs(mask, "padded")) == (seen(5) + seen(7), 2 * seen(8))

    cost = cost_of(mask)
    core = cost.flops(lengths=LENGTHS).useful.components["attention.core"]
    assert (core.forward, core.backward) == (2 * UNIT * pairs, 4 * UNIT * pairs)
    assert cost.flops(tally=_tally(cost, LENGTHS)).total == cost.flops(lengths=LENGTHS).total
    meter = floptally.Meter(cost, gpus=1, peak_tflops=1.0)
    with meter.step(seconds=1.0):
        meter.add(lengths=LENGTHS[:4])
        meter.add(lengths=LENGTHS[4:])
    assert meter.run.useful == cost.flops(lengths=LENGTHS).total
    assert cost.sample_flops([5, 700]) == [cost.flops(lengths=[n]).total for n in (5, 700)]


def _tally(cost: floptally.Cost, lengths: list[int], convention: str = "exact") -> Tally:
    tally = Tally(cost, convention=convention)
    tally.add_lengths(lengths)
    return tally


@pytest.mark.parametrize("mask", [ONE, ALL], ids=lambda mask: str(mask.name))
def test_megatron_convention_halves_the_pairs_of_a_callable_mask_only_if_the_mask_is_causal(mask: Mask) -> None:
    lengths = [n for n in LENGTHS if n < 1000]
    squares = sum(n * n for n in lengths)
    core = cost_of(mask).flops(lengths=lengths, convention="megatron").useful.components["attention.core"]
    assert core.forward == 2 * UNIT * squares // 2
    units = cost_of(UNITS).flops(lengths=lengths, convention="megatron").useful.components["attention.core"]
    assert units.forward == 2 * UNIT * sum(map(seen, lengths))


def test_a_callable_mask_is_called_with_the_cached_length_unless_the_callable_takes_only_lengths() -> None:
    tally = Tally([ONE])
    tally.add_new_tokens([(4, 30), (3, 0)])
    assert tally.pairs(ONE) == seen(4, 30) + seen(3)
    assert ONE.pairs(4, 30) == seen(4, 30)
    tally = Tally([ALL])
    with pytest.raises(floptally.Error, match="^dilated_window_of_all: counts only sequences without cached tokens"):
        tally.add_new_tokens([(4, 30)])
    assert tally == Tally([ALL])


def test_several_threads_count_a_callable_mask_under_the_gil() -> None:
    lengths = np.arange(6000) % 50  # long enough that counting gives the lock up
    expected = sum(seen(n) for n in range(50)) * (len(lengths) // 50)
    cost = cost_of(ONE)
    meter = floptally.Meter(cost, gpus=1, peak_tflops=1.0)
    tallies = [Tally([ONE, ALL]) for _ in range(4)]

    def work(tally: Tally) -> None:
        tally.add_lengths(lengths)
        meter.add(lengths=lengths)

    with meter.step(seconds=1.0):
        threads = [threading.Thread(target=work, args=(tally,)) for tally in tallies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(tally.pairs(ONE) == tally.pairs(ALL) == expected for tally in tallies)
    assert meter.last_step.useful == 4 * cost.flops(lengths=lengths).total


class Broken(Exception):
    pass


def _breaks(length: int, past: int, keys: int) -> int:
    if length == 7:
        raise Broken("seven")
    return length


def _breaks_for_all(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if 7 in lengths:
        raise Broken("seven")
    return lengths


@pytest.mark.parametrize(
    "mask",
    [Mask.from_callable("breaks", _breaks), Mask.from_callable("breaks_for_all", _breaks_for_all, vectorized=True)],
    ids=lambda mask: str(mask.name),
)
@pytest.mark.parametrize("repeated", [1, 3000])
def test_an_exception_in_a_callable_mask_propagates_and_nothing_is_added(mask: Mask, repeated: int) -> None:
    tally = Tally([mask])
    tally.add_lengths([5])
    before = tally.copy()
    with pytest.raises(Broken, match="^seven$"):
        tally.add_lengths([1, 2, 7] * repeated)
    assert tally == before
    meter = floptally.Meter(cost_of(mask), gpus=1, peak_tflops=1.0)
    with meter.step(seconds=1.0):
        meter.add(lengths=[5])
        with pytest.raises(Broken):
            meter.add(lengths=[1, 2, 7] * repeated)
    assert meter.run.useful == cost_of(mask).flops(lengths=[5]).total
    with pytest.raises(Broken):
        mask.pairs(7)


WRONG: list[Any] = [-1, 1.5, None, "3", 2**64]


@pytest.mark.parametrize("returned", WRONG)
def test_an_invalid_return_value_of_a_callable_mask_is_an_error_with_the_name_of_the_mask(returned: Any) -> None:
    name = f"returns_{WRONG.index(returned)}"
    one = Mask.from_callable(name, lambda length, past, keys: returned)
    with pytest.raises(floptally.Error, match=f"^{name}: must be an integer from 0 to"):
        Tally([one]).add_lengths([3])
    every = Mask.from_callable(name + "_all", lambda lengths: [returned] * len(lengths), vectorized=True)
    with pytest.raises(floptally.Error, match=f"^{name}_all: must be an integer from 0 to"):
        Tally([every]).add_lengths([3])


def test_a_vectorized_callable_mask_must_return_one_number_per_length() -> None:
    few = Mask.from_callable("few", lambda lengths: lengths[1:], vectorized=True)
    with pytest.raises(floptally.Error, match=r"^few: must return a number for each of \d+ lengths, got \d+$"):
        Tally([few]).add_lengths([3, 4, 5])
    none = Mask.from_callable("no_array", lambda lengths: 5, vectorized=True)
    with pytest.raises(floptally.Error, match=r"^no_array: must return a number for each of \d+ lengths, got 5$"):
        Tally([none]).add_lengths([3, 4, 5])
    huge = Mask.from_callable("huge", lambda length, past, keys: 2**63)
    with pytest.raises(floptally.Overflow):
        Tally([huge]).add_lengths([3, 4])
    with pytest.raises(TypeError, match="takes 0 positional arguments"):
        Tally([Mask.from_callable("takes_nothing", lambda: 5)]).add_lengths([3])


LIBRARY = ["causal", "bidirectional", "sliding_window", "window", "chunked", "top_k", "encoder", "cross_attention",
           "hstu", "grid_windows", "measured", "tokens", "squares"]  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_a_callable_mask_cannot_have_the_name_of_a_library_mask(name: str) -> None:
    with pytest.raises(floptally.Error, match=f'^name: "{name}" is a mask of the library: choose another name$'):
        Mask.from_callable(name, dilated)


@pytest.mark.parametrize("name", ["", "Dilated", "a b", "a(1)", "text.a"])
def test_the_name_of_a_callable_mask_has_lowercase_letters_digits_and_underscores(name: str) -> None:
    with pytest.raises(floptally.Error, match="^name: must consist of a-z, 0-9 and _, got "):
        Mask.from_callable(name, dilated)


def test_the_name_of_a_callable_mask_cannot_be_used_for_another_callable() -> None:
    assert Mask.from_callable("dilated_window", dilated, shape="causal") == ONE != UNITS
    for count, options in ((seen, {"shape": "causal"}), (dilated, {}), (dilated, {"shape": "causal", "vectorized": True})):
        with pytest.raises(floptally.Error, match='^name: "dilated_window" already names another callable: choose another name$'):
            Mask.from_callable("dilated_window", count, **options)
    with pytest.raises(floptally.Error, match="^count: must be callable, got 5$"):
        Mask.from_callable("five", 5)  # type: ignore[arg-type]


def test_a_callable_mask_is_pickled_by_its_name() -> None:
    for remaining in (ONE, ALL, cost_of(ONE), _tally(cost_of(ALL), [5, 6])):
        assert pickle.loads(pickle.dumps(remaining)) == remaining
    assert Mask.from_text("dilated_window") == ONE and ONE.name == "dilated_window"
    load = "import pickle, floptally\npickle.loads({!r})"
    found = subprocess.run([sys.executable, "-c", load.format(pickle.dumps(ONE))], capture_output=True, text=True, check=False)
    assert found.returncode == 1 and "no callable has that name: call Mask.from_callable first" in found.stderr


def test_masks_can_be_read_from_their_printed_names() -> None:
    for mask in (Mask.causal(), Mask.sliding_window(4096), Mask.window(64, -1), Mask.grid_windows(7, 3), Mask.measured("clicks"),
                 Mask.hstu(max_attn_len=5), Mask.bidirectional().in_tower("vision")):  # fmt: skip
        assert Mask.from_text(mask.name) == mask == pickle.loads(pickle.dumps(mask))
    with pytest.raises(floptally.Error, match="sliding_windw"):
        Mask.from_text("sliding_windw(4096)")


# ---- accumulators that a caller measures ----


def test_a_tally_stores_a_measured_count_that_does_not_change_the_flops() -> None:
    loss = Mask.measured("loss_tokens")
    plain = floptally.cost({"model_type": "llama", "num_hidden_layers": 1})
    cost = plain.keep(loss)
    assert pickle.loads(pickle.dumps(cost)) == cost != plain
    batch = floptally.Tally(cost)
    batch.add_lengths([5, 9])
    batch.add_measured("loss_tokens", 6)
    assert batch.pairs(loss) == 6
    assert cost.flops(tally=batch).total == plain.flops(lengths=[5, 9]).total
    meter = floptally.Meter(cost, gpus=1, peak_tflops=1)
    with meter.step(seconds=1.0):
        meter.add(lengths=[5, 9], measured={"loss_tokens": 6})
    assert meter.last_step.tally.pairs(loss) == 6


def test_measured_counts_in_a_tally_equal_the_amounts_that_were_added() -> None:
    clicks = Mask.measured("clicks")
    cost = floptally.Cost.from_entries([("mlp", "tokens", "linear", 6), ("head", clicks, "linear", 10)])
    assert cost.masks == [clicks] and cost.entries[1].unit == clicks
    tally = Tally(cost)
    tally.add_lengths([3, 4])
    tally.add_measured("clicks", 5)
    tally.add_measured("clicks", 2, 11)
    assert (tally.pairs(clicks), tally.pairs(clicks, "padded")) == (7, 16)
    work = cost.flops(tally=tally)
    assert (work.useful.components["head"].forward, work.padded.components["head"].forward) == (70, 160)
    assert work.useful.components["mlp"].forward == 6 * 7
    assert cost.flops(lengths=[3, 4], measured={"clicks": (7, 16)}).to_dict() == work.to_dict()
    assert floptally.flops(cost, lengths=[3, 4], measured={"clicks": 7}).total == work.total
    meter = floptally.Meter(cost, gpus=1, peak_tflops=1.0)
    with meter.step(seconds=1.0):
        meter.add(lengths=[3, 4])
        meter.add(measured={"clicks": 5})
        meter.add(measured={"clicks": (2, 11)})
    assert (meter.run.useful, meter.run.padded) == (work.total, work.padded_total)
    assert pickle.loads(pickle.dumps(cost)) == cost and pickle.loads(pickle.dumps(tally)) == tally


def test_a_count_that_is_measured_by_the_user_must_be_declared_in_the_tally() -> None:
    tally = Tally([Mask.measured("clicks")])
    before = tally.copy()
    for name, message in (("likes", "is not kept by this tally"), ("Clicks", "a name must have 1 to 16 characters of"),
                          ("a" * 17, "a name must have 1 to 16 characters of")):  # fmt: skip
        with pytest.raises(floptally.Error, match=message):
            tally.add_measured(name, 5)
    with pytest.raises(floptally.Error, match="^clicks: the padded amount must include the useful amount, 5, got 4$"):
        tally.add_measured("clicks", 5, 4)
    with pytest.raises(floptally.Error, match="^clicks: must be an integer from 0"):
        tally.add_measured("clicks", -1)
    assert tally == before
    tally.add_measured("routed", 3, 4)  # the accumulator that every tally has
    assert (tally.get("routed"), tally.get("routed", "padded")) == (3, 4)
    cost = floptally.Cost.from_entries([("head", Mask.measured("clicks"), "linear", 10)])
    wrong: list[Any] = [5, {"clicks": (1, 2, 3)}, {5: 5}, {"likes": 5}, {"clicks": 1.5}]
    for one in wrong:
        with pytest.raises(floptally.Error):
            cost.flops(lengths=[1], measured=one)


def test_every_library_mask_can_be_read_from_its_printed_text() -> None:
    """`Mask.library` comes from the library's own table: a new mask is there, and reachable, without a line here."""
    names = Mask.library()
    assert {"causal", "sliding_window", "best_blocks", "vision.grid_windows", "audio.strided_band"} <= names.keys()
    for name, numbers in names.items():
        required = [number for number in numbers if "=" not in number]
        text = name + ("(" + ",".join("2" for _ in required) + ")" if required else "")
        mask = Mask.from_text(text)
        assert mask.name == text
        optional = [number for number in numbers if "=" in number]
        given = ",".join(["2" for _ in required] + optional)  # at its default each is left out of the name
        assert Mask.from_text(f"{name}({given})" if given else name) == mask


def test_every_mask_constructor_is_in_the_type_stub() -> None:
    stub = ast.parse((pathlib.Path(floptally.__file__).parent / "_core.pyi").read_text())
    listed = next(part for part in stub.body if isinstance(part, ast.ClassDef) and part.name == "Mask")
    makers = {part.name for part in listed.body if isinstance(part, ast.FunctionDef) and part.decorator_list}
    result = {name for name, member in vars(Mask).items() if isinstance(member, (staticmethod, type(len)))}
    assert {name for name in result if not name.startswith("_")} <= makers
