# SPDX-License-Identifier: Apache-2.0
"""A2, A6: tallies of two gloo processes, and what happens where their scopes, masks or counts do not fit."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import floptally
import pytest

CONFIG = Path(__file__).parents[2] / "examples" / "data" / "mistral-7b-v0.1.json"  # a sliding window of 4096
LENGTHS = ([5, 7, 9000, 1], [])  # of rank 0 and rank 1, which has nothing
UNEVEN = ([5, 7, 9000], [4097, 2, 2, 2, 2])
DENSE = {"model_type": "floptally", "hidden_size": 8, "layers": [{"parts": [{"type": "attention", "num_heads": 2}]}]}
HIGH = 1 << 63
OWNERS, DESTINATIONS, SIZES = [0, 0, 1, 1, 1], [1, 2, 0, 3, 2], [5, 1, 3, 0, 7]  # of a window of two microbatches


def tally_of(lengths: list[int], config: Any = CONFIG) -> floptally.Tally:
    tally = floptally.Tally(floptally.cost(config))
    if lengths:
        tally.add_lengths(lengths)
    return tally


def scenarios(rank: int) -> dict[str, Callable[[], Any]]:
    """What every rank does, in the same order; each gives numbers or text."""
    import numpy as np
    import torch
    import torch.distributed as dist
    from floptally import distributed
    from floptally.callbacks import MeterAdapter

    alone = dist.new_group([0], backend="gloo"), dist.new_group([1], backend="gloo")
    cp = floptally.ParallelLayout(rank=rank, cp=2)
    stages = floptally.ParallelLayout(rank=rank, pp=2, vpp=2)

    def integers(tally: floptally.Tally) -> list[int]:
        return [int(integer) for integer in tally.accumulators()]

    def by_hand() -> list[int]:
        mine = tally_of(UNEVEN[rank])
        message = torch.from_numpy(mine.accumulators())
        dist.all_reduce(message)
        return integers(floptally.Tally.from_accumulators(floptally.cost(CONFIG), message))

    def steps() -> list[list[int]]:
        reduction = distributed.Reduction(tally_of([]))
        return [integers(reduction(tally_of([step + 1, 10 * step + 1][: rank + 1]))) for step in range(3)]

    def with_a_rank_that_refuses() -> list[int]:
        reduction = distributed.Reduction(tally_of([]))
        return integers(reduction(tally_of([3]) if rank == 0 else tally_of([3], DENSE)))

    def reducer_integers(how: str) -> list[int]:
        mine = np.array([[HIGH + 5, 3, 0], [7, HIGH + 1, HIGH]][rank], dtype=np.uint64)
        getattr(distributed.TorchReducer(), how)(mine)
        return [int(integer) for integer in mine]

    def visits(told: tuple[int, int] | None) -> list[int]:
        return integers(distributed.all_reduce(tally_of([9]), layout=stages, visits=told))

    def metered() -> list[int]:
        meter = floptally.Meter(floptally.cost(CONFIG), gpus=2, peak_tflops=1, counted="all_gpus")
        adapter = MeterAdapter(
            meter, reduce=distributed.Reduction(tally_of([])), arguments=lambda lengths: {"lengths": lengths}
        )
        adapter.begin()
        adapter.add(UNEVEN[rank])
        adapter.end()
        return [meter.run.useful, meter.run.tokens]

    def metered_by_itself() -> list[int]:
        """F41: the meter is given the reduction, and adds up what each rank adds."""
        meter = floptally.Meter(floptally.cost(CONFIG), peak_tflops=1, reduce=distributed.Reduction(tally_of([])))
        with meter.step(seconds=1.0):
            meter.add(lengths=UNEVEN[rank])
        assert (meter.gpus, meter.counted, meter.reduces) == (2, "summed over 2 ranks", True)
        meter.begin_step()
        with pytest.raises(floptally.Error, match="seconds: must be" if rank == 0 else "sum: rank 0 failed"):
            meter.end_step(0.0 if rank == 0 else 1.0)
        meter.discard_step()
        return [meter.run.useful, meter.run.tokens]

    def sequences() -> list[Any]:
        """F21: two context-parallel ranks share two sequences; the slices alone have other perplexities."""
        import torch.distributed as dist

        slices = floptally.ParallelLayout(rank=rank, cp=2)
        logp, valid = [([-1.0, -9.0], [2, 3]), ([-7.0, 0.0], [2, 0])][rank]
        found = distributed.all_reduce_sequences(logp, valid, layout=slices, within=dist.group.WORLD)
        return list(found)

    def moved() -> list[Any]:
        """T8, T11: tensors of a window of two microbatches move, are packed, and come back."""
        samples = [torch.arange(size, dtype=torch.int32) + 100 * i for i, size in enumerate(SIZES)]
        plan = floptally.ExchangePlan(OWNERS, DESTINATIONS, SIZES, 2, bytes_per_element=4, window=2)
        mine = {i: samples[i] for i in range(len(SIZES)) if OWNERS[i] == rank}
        found, rows, back = [], [], []
        for microbatch in range(2):
            arrived = distributed.exchange(plan, mine, microbatch=microbatch, dtype=torch.int32)
            found.append({str(i): tensor.tolist() for i, tensor in arrived.items()})
            lengths = [len(tensor) for tensor in arrived.values()]
            rows.append([pack.cu_seqlens_padded.tolist() for pack in floptally.pack_by_capacity(lengths, 8, alignment=2).packs])
            again = distributed.exchange(plan.inverse(), arrived, microbatch=microbatch, dtype=torch.int32, check_plan=False)
            back += [bool(torch.equal(tensor, samples[i])) for i, tensor in again.items()]
        return [found, rows, back]

    def one_rank_has_less() -> None:
        plan = floptally.ExchangePlan([0, 1], [1, 0], [3, 3], 2)
        distributed.exchange(plan, {} if rank == 1 else {0: torch.zeros(3, dtype=torch.uint8)})

    def plans_differ() -> None:
        distributed.exchange(floptally.ExchangePlan([0, 1], [1, 0], [3, 3 + rank], 2), {})

    def held(scope: str) -> str:
        distributed.require_held([1, 2, 3], scope=scope, layout=cp)  # type: ignore[arg-type]
        return "held"

    def zigzag() -> list[Any]:
        """A3: what context-parallel ranks gather is the row again."""
        row = torch.arange(16.0)
        split = floptally.TokenSplit.zigzag(16, 2)
        parts = [torch.empty(8) for _ in range(2)]
        dist.all_gather(parts, split.shard(row, rank))
        return [split.merge(parts).tolist() == row.tolist(), split.shard(row, rank).tolist()]

    def too_much() -> list[int]:
        big = tally_of([])
        numbers = big.accumulators()
        numbers[1] = -(1 << 62)  # as unsigned: 3/4 of 2^64
        return integers(distributed.all_reduce(floptally.Tally.from_accumulators(floptally.cost(CONFIG), numbers)))

    return {
        "metered by itself": metered_by_itself,
        "sequences": sequences,
        "empty rank": lambda: integers(distributed.all_reduce(tally_of(LENGTHS[rank]))),
        "uneven": lambda: integers(distributed.all_reduce(tally_of(UNEVEN[rank]))),
        "by hand": by_hand,
        "steps": steps,
        "replicated": lambda: integers(distributed.all_reduce(tally_of(UNEVEN[0]), layout=cp)),
        "slices": lambda: integers(distributed.all_reduce(tally_of(UNEVEN[rank]), None, "context_slice", layout=cp)),
        "stage": lambda: integers(
            distributed.all_reduce(
                tally_of(UNEVEN[0] if rank == 1 else []), scope="last_stage",
                layout=floptally.ParallelLayout(rank=rank, pp=2),
            )
        ),
        "other scopes": lambda: integers(
            distributed.all_reduce(
                tally_of(UNEVEN[rank]), scope=floptally.Scope(cp="replicated"),
                other_scopes=dict.fromkeys(
                    ("count", "tokens", "keys", "squares", "cached", "crossed", "pairs"), "context_slice"
                ),
                layout=cp,
            )
        ),
        "scopes differ": lambda: integers(
            distributed.all_reduce(tally_of([1]), scope=("microbatch", "context_slice")[rank], layout=cp)
        ),
        "masks differ": lambda: integers(distributed.all_reduce(tally_of([1], (CONFIG, DENSE)[rank]))),
        "layouts differ": lambda: integers(
            distributed.all_reduce(tally_of([1]), layout=floptally.ParallelLayout(rank=rank, **{("dp", "cp")[rank]: 2}))
        ),
        "counts differ": lambda: integers(distributed.all_reduce(tally_of([(7, 9)[rank]]), layout=cp)),
        "wrong stage": lambda: integers(
            distributed.all_reduce(
                tally_of([4]), scope="last_stage", layout=floptally.ParallelLayout(rank=rank, pp=2)
            )
        ),
        "too small a group": lambda: integers(distributed.all_reduce(tally_of([1]), alone[rank])),
        "trusting a smaller group": lambda: integers(
            distributed.all_reduce(
                tally_of([6]), alone[rank], floptally.Scope("microbatch").trusting_replicas(), layout=cp
            )
        ),
        "refusal": with_a_rank_that_refuses,
        "visits untold": lambda: visits(None),
        "visits": lambda: visits((4, 4)),
        "visits of every stage": lambda: visits((4, 8)),
        "too much": too_much,
        "max": lambda: reducer_integers("max"),
        "sum": lambda: reducer_integers("sum"),
        "ratio": lambda: distributed.all_reduce_ratio((3, 0)[rank], (4, 0)[rank]),
        "extremes": lambda: distributed.all_reduce_extremes([[], [HIGH + 2, 5, 9]][rank]),
        "no extremes": lambda: distributed.all_reduce_extremes([]),
        "metered": metered,
        "moved": moved,
        "one rank has less": one_rank_has_less,
        "plans differ": plans_differ,
        "held": lambda: held("microbatch"),
        "held elsewhere": lambda: held("context_slice"),
        "zigzag": zigzag,
        "after all errors": lambda: integers(distributed.all_reduce(tally_of(UNEVEN[rank]))),
    }


def run_rank(rank: int, folder: str) -> None:
    import torch.distributed as dist

    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    found: dict[str, Any] = {}
    for name, act in scenarios(rank).items():
        try:
            found[name] = act()
        except floptally.Error as problem:
            found[name] = f"error: {problem}"
    Path(folder, f"{rank}.json").write_text(json.dumps(found), encoding="utf-8")
    dist.destroy_process_group()


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What two gloo processes found, rank by rank."""
    pytest.importorskip("torch.distributed", reason="PyTorch is not installed")
    folder = str(tmp_path_factory.mktemp("gloo"))
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=run_rank, args=(rank, folder)) for rank in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout=300)
        if process.is_alive():
            process.kill()
            pytest.fail("a rank hangs")
    assert [process.exitcode for process in processes] == [0, 0]
    return [json.loads(Path(folder, f"{rank}.json").read_text(encoding="utf-8")) for rank in range(2)]


def whole(lengths: list[int]) -> list[int]:
    return [int(integer) for integer in tally_of(lengths).accumulators()]


@pytest.mark.parametrize(
    ("name", "lengths"),
    [
        ("empty rank", [*LENGTHS[0]]),
        ("uneven", [*UNEVEN[0], *UNEVEN[1]]),
        ("by hand", [*UNEVEN[0], *UNEVEN[1]]),
        ("replicated", [*UNEVEN[0]]),
        ("slices", [*UNEVEN[0], *UNEVEN[1]]),
        ("stage", [*UNEVEN[0]]),
        ("other scopes", [*UNEVEN[0], *UNEVEN[1]]),
        ("trusting a smaller group", [6]),
        ("visits", [9]),
        ("after all errors", [*UNEVEN[0], *UNEVEN[1]]),
    ],
)
def test_a_tally_reduced_over_ranks_equals_the_tally_of_one_process(
    ranks: list[dict[str, Any]], name: str, lengths: list[int]
) -> None:
    assert ranks[0][name] == whole(lengths)
    assert ranks[1][name] == whole(lengths)


def test_a_reduction_can_be_built_once_and_used_every_step(ranks: list[dict[str, Any]]) -> None:
    expected = [whole([step + 1, step + 1, 10 * step + 1]) for step in range(3)]
    assert ranks[0]["steps"] == ranks[1]["steps"] == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("scopes differ", "scope: the ranks have different values, so nothing was added up: configure all ranks alike"),
        ("masks differ", "masks: the ranks have different values, so nothing was added up: configure all ranks alike"),
        ("layouts differ", "layout: the ranks have different values, so nothing was added up: configure all ranks alike"),
        ("counts differ", "tokens: is declared replicated over cp, but its 2 ranks hold different values"),
        ("too small a group", "count: is sharded over dp, but the sum is over no axis and contains 1 of 2 parts"),
        ("too much", "tokens: the sum over all ranks does not fit 64 bits: count fewer samples"),
        ("visits untold", "microbatches: is missing: pass visits with the numbers of microbatches and of additions to the tally; needed because vpp is 2"),
        ("visits of every stage", "count: was added 8 times for 4 microbatches, but its scope expects 1 additions for each"),
    ],
)
def test_contradicting_scopes_or_layouts_or_counts_of_two_ranks_raise_an_error_on_both_ranks(
    ranks: list[dict[str, Any]], name: str, text: str
) -> None:
    assert ranks[0][name].startswith(f"error: {text}")
    assert ranks[1][name].startswith(f"error: {text}")


def test_an_error_on_one_rank_does_not_leave_the_other_rank_waiting(ranks: list[dict[str, Any]]) -> None:
    problem = "must equal the masks of the reduction: make the tally with the masks() of the reduction's model"
    assert ranks[1]["refusal"] == f"error: masks: {problem}"
    assert ranks[0]["refusal"] == "error: sum: rank 1 failed: look at the error of that rank"
    problem = "exists on the last rank of pp only, but rank 0 of 2 counted 1: count nothing on the other ranks"
    assert ranks[0]["wrong stage"] == f"error: count: {problem}"
    assert ranks[1]["wrong stage"] == "error: sum: rank 0 failed: look at the error of that rank"


def test_reduction_over_ranks_compares_unsigned_integers_and_lets_sums_wrap_around_at_64_bits(ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["max"] == ranks[1]["max"] == [HIGH + 5, HIGH + 1, HIGH]
    assert ranks[0]["sum"] == ranks[1]["sum"] == [HIGH + 12, HIGH + 4, HIGH]


def test_a_rank_without_tokens_can_join_a_reduction_of_ratios_or_of_minimum_and_maximum(ranks: list[dict[str, Any]]) -> None:
    for found in ranks:
        assert found["ratio"] == [3, 4]
        assert found["extremes"] == [3, 5, HIGH + 2]
        assert found["no extremes"] == [0, None, None]


def test_a_meter_with_a_reduced_tally_counts_all_ranks(ranks: list[dict[str, Any]]) -> None:
    step = floptally.flops(CONFIG, lengths=[*UNEVEN[0], *UNEVEN[1]])
    assert ranks[0]["metered"] == ranks[1]["metered"] == [step.total, sum(UNEVEN[0]) + sum(UNEVEN[1])]
    assert ranks[0]["sequences"] == ranks[1]["sequences"] == [2, 0, -2.5, -3.0, -2.0]
    assert ranks[0]["metered by itself"] == ranks[1]["metered by itself"] == ranks[0]["metered"]


def test_samples_exchanged_between_ranks_by_all_to_all_arrive_and_return_to_their_ranks(ranks: list[dict[str, Any]]) -> None:
    def sample(i: int) -> list[int]:
        return [100 * i + k for k in range(SIZES[i])]

    for rank, found in enumerate(ranks):
        moved, rows, back = found["moved"]
        for microbatch in range(2):
            wanted = [i for i in range(5) if DESTINATIONS[i] == 2 * microbatch + rank]
            assert moved[microbatch] == {str(i): sample(i) for i in wanted}
            packed = sorted(size for row in rows[microbatch] for size in [b - a for a, b in zip(row, row[1:])])
            assert packed == sorted(SIZES[i] + SIZES[i] % 2 for i in wanted)
        assert back == [True] * OWNERS.count(rank)


def test_a_sample_payload_that_is_missing_on_one_rank_is_an_error_on_both_ranks(ranks: list[dict[str, Any]]) -> None:
    assert ranks[1]["one rank has less"] == "error: samples[1]: is missing: rank 1 must pass it, since it has this sample"
    assert ranks[0]["one rank has less"].startswith("error: exchange: rank 1 failed, so nothing was sent")
    for found in ranks:
        problem = "the ranks have different values, so nothing was sent: configure all ranks alike"
        assert found["plans differ"] == f"error: sizes: {problem}"


def test_a_declared_reduction_scope_that_contradicts_the_statistics_of_the_ranks_is_an_error(ranks: list[dict[str, Any]]) -> None:
    for rank, found in enumerate(ranks):
        assert found["held"] == "held"
        assert found["held elsewhere"].startswith("error: tokens: ranks 0 and 1, which differ in cp, are declared")
        assert found["zigzag"] == [True, [[0, 1, 2, 3, 12, 13, 14, 15], [4, 5, 6, 7, 8, 9, 10, 11]][rank]]


class Alone:
    """A group of one rank."""

    def sum(self, integers: Any) -> None:
        """Changes nothing."""

    def max(self, integers: Any) -> None:
        """Changes nothing."""


def test_a_reduction_of_ratios_per_sequence_first_adds_the_context_parallel_slices_of_each_sequence() -> None:
    from floptally import distributed

    layout = floptally.ParallelLayout(rank=0)
    found = distributed.all_reduce_sequences(
        [-6.0, 0.0, -1.0], [3, 0, 2], layout=layout, of=lambda mean: math.exp(-mean)
    )
    assert found == (2, 1, (math.exp(2) + math.exp(0.5)) / 2, math.exp(0.5), math.exp(2))
    assert distributed.all_reduce_sequences([], [], layout=layout) == (0, 0, None, None, None)
    with pytest.raises(floptally.Error, match="^numerators: must be finite"):
        distributed.all_reduce_sequences([math.nan], [1], layout=layout)
    with pytest.raises(floptally.Error, match="^of: ZeroDivisionError"):
        distributed.all_reduce_sequences([0.0], [1], layout=layout, of=lambda mean: 1 / mean)
    whole = floptally.Scope(tp="sharded")
    with pytest.raises(floptally.Error, match="^scope: the numerator is replicated over tp"):
        distributed.all_reduce_sequences([1.0], [1], layout=layout, denominator_scope=whole)
    assert distributed.all_reduce_sequences(
        [1.0], [2], layout=layout, denominator_scope=whole, different_scopes=True
    ).mean == 0.5


def test_a_tally_declared_equal_on_all_ranks_is_scaled_without_communication() -> None:
    layout = floptally.ParallelLayout(rank=3, dp=4, cp=2)
    mine = tally_of([7, 5000])
    reduction = floptally.TallyReduction(mine, scope="microbatch", layout=layout, reducer=Alone(), convention=None)
    assert reduction.scaled(mine) == mine + mine + mine + mine
    slices = floptally.TallyReduction(mine, scope="context_slice", layout=layout, reducer=Alone(), convention=None)
    assert slices.scaled(mine).tokens == 8 * mine.tokens
    with pytest.raises(floptally.Error, match="^scope: must name a statistic .* or a tower, got \"tokes\"$"):
        floptally.TallyReduction(
            mine, scope="microbatch", layout=layout, reducer=Alone(), convention=None, other_scopes={"tokes": "context_slice"}
        )


def test_a_reduced_tally_is_not_reduced_again() -> None:
    layout = floptally.ParallelLayout(rank=0, dp=2)
    mine = tally_of([200])
    reduction = floptally.TallyReduction(mine, scope="microbatch", layout=layout, reducer=Alone(), convention=None)
    twice = "^count: is sharded over dp by its scope, but this tally was added up over dp before: reduce it only once$"
    everyone = reduction.scaled(mine)
    for again in (everyone, everyone.copy(), mine + everyone):
        with pytest.raises(floptally.Error, match=twice):
            reduction.scaled(again)
        with pytest.raises(floptally.Error, match=twice):
            reduction.sum(again, reducer=Alone())


def test_ranks_that_reduce_their_tallies_must_count_the_same_cost() -> None:
    cost = floptally.cost(CONFIG)
    layout = floptally.ParallelLayout(rank=0)

    def compared(like: Any, plan: floptally.Plan | None = None, convention: str | None = "exact") -> list[int]:
        sent: list[int] = []

        class Keeps(Alone):
            def max(self, integers: Any) -> None:
                sent.extend(int(integer) for integer in integers)

        floptally.TallyReduction(
            like, scope="microbatch", layout=layout, reducer=Keeps(), convention=convention, plan=plan
        )
        return sent

    forward = floptally.Plan(phase="forward")
    assert compared(cost) == compared(cost, floptally.Plan()) != compared(cost, forward)
    assert compared(tally_of([])) == compared(floptally.Tally(cost, plan=forward)) != compared(cost)
    with pytest.raises(floptally.Error, match="^convention: is missing: pass convention=, since `like` is a Cost"):
        compared(cost, convention=None)
    with pytest.raises(floptally.Error, match="^plan: cannot be used, since `like` is a Tally and not a Cost: leave it out"):
        compared(tally_of([]), forward)
    with pytest.raises(floptally.Error, match="^like: must be a floptally.Tally or a floptally.Cost, got 7"):
        compared(7)

    class Planned:
        def __init__(self, plan: floptally.Plan | None) -> None:
            self.layout, self.convention, self.cost, self.plan = layout, "exact", cost, plan

        def __call__(self, mine: floptally.Tally) -> floptally.Tally:
            return mine

    assert floptally.Meter(cost, peak_tflops=1, reduce=Planned(None)).reduces
    with pytest.raises(floptally.Error, match="^reduce: was created for another model or plan than the meter"):
        floptally.Meter(cost, peak_tflops=1, reduce=Planned(forward))


def test_exceptions_of_a_user_defined_reducer_propagate_and_the_buffers_passed_to_the_reducer_stay_valid() -> None:
    remaining: list[Any] = []

    class Breaks(Alone):
        def max(self, integers: Any) -> None:
            remaining.append(integers)

        def sum(self, integers: Any) -> None:
            raise ConnectionError("gone")

    layout = floptally.ParallelLayout(rank=0)
    reduction = floptally.TallyReduction(tally_of([]), scope="microbatch", layout=layout, reducer=Breaks(), convention=None)
    before = [int(integer) for integer in remaining[0]]
    with pytest.raises(ConnectionError, match="^gone$"):
        reduction.sum(tally_of([3]), reducer=Breaks())
    del reduction
    assert [int(integer) for integer in remaining[0]] == before and len(before) == 14


def test_the_error_for_a_missing_torch_distributed_package_names_the_package() -> None:
    pytest.importorskip("torch.distributed", reason="PyTorch is not installed")
    from floptally import distributed

    with pytest.raises(RuntimeError, match="^torch.distributed: is not initialized"):
        distributed.all_reduce(tally_of([1]))


def test_a_reduction_over_ranks_may_be_built_before_the_torch_process_group(tmp_path: Path) -> None:
    dist = pytest.importorskip("torch.distributed", reason="PyTorch is not installed")
    from floptally import distributed

    meter = floptally.Meter(floptally.cost(CONFIG), gpus=1, peak_tflops=1)
    early = distributed.Reduction(meter.new_tally())
    with pytest.raises(RuntimeError, match="^torch.distributed: is not initialized: call init_process_group first"):
        early(tally_of([3]))
    with pytest.raises(RuntimeError, match="^torch.distributed: is not initialized"):
        floptally.Meter(floptally.cost(CONFIG), peak_tflops=1, reduce=early)  # whose ranks are the GPUs
    placed = distributed.Reduction(meter.new_tally(), layout=floptally.ParallelLayout(rank=0))
    own = floptally.Meter(floptally.cost(CONFIG), peak_tflops=1, reduce=placed)
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    try:
        assert early(tally_of([3])) == tally_of([3]) and early.layout.world_size == 1
        with own.step(seconds=1.0):
            own.add(lengths=[3])
        assert own.run.tokens == 3 and own.counted == "summed over 1 rank"
        with pytest.raises(floptally.Error):  # what is compared is what it was made with
            early(tally_of([3], DENSE))
    finally:
        dist.destroy_process_group()


def test_a_layout_text_with_separate_sizes_for_attention_and_experts_is_read_and_written() -> None:
    areal = floptally.ParallelLayout(layout="attn:d1p1t2c4|ffn:d1p1t1e8", rank=3)
    assert areal == floptally.ParallelLayout(tp=2, cp=4, ep=8, etp=1, rank=3)
    assert areal.sizes == {"dp": 1, "cp": 4, "tp": 2, "pp": 1, "vpp": 1, "ep": 8, "etp": 1, "dp_replicate": 1}
    assert (areal.order, areal.expert_order) == ("tp-cp-dp-pp", "etp-ep-expert_dp-pp")
    assert areal.group(["ep"]) == list(range(8)) and areal.group(["etp"]) == [3] and areal.group(["expert_dp"]) == [3]
    for form in ("areal", "megatron", "torchtitan", "fsdp2"):
        assert floptally.ParallelLayout(layout=areal.text(form), rank=3) == areal  # type: ignore[arg-type,unused-ignore]
    assert floptally.ParallelLayout(layout="tensor_parallel_degree = 2", world_size=8, rank=0).sizes["dp"] == 4
    own = floptally.ParallelLayout(dp=4, tp=2, ep=2, expert_order="ep-etp-expert_dp-pp", rank=0)
    assert own.group(["ep"]) == [0, 1] and own.group(["tp"]) == [0, 1]
    assert floptally.ParallelLayout(dp=4, dp_replicate=2, rank=0).group(["dp_replicate"]) == [0, 2]
    for make, text in (
        (lambda: floptally.ParallelLayout(layout="d2t2", tp=4, rank=0), "tp: is 4, but the layout says 2: leave one of them out"),
        (lambda: floptally.ParallelLayout(ep=3, rank=0), "ep: ep x etp must divide dp x cp x tp = 1, got 3 x 1"),
        (lambda: floptally.ParallelLayout(vpp=2, pp=2, rank=0).text("areal"), "layout: areal cannot express vpp"),
    ):
        with pytest.raises(floptally.Error) as raised:
            make()
        assert str(raised.value).startswith(text)


def test_invalid_layouts_and_scopes_are_errors_that_name_the_field() -> None:
    layout = floptally.ParallelLayout(rank=5, dp=2, tp=4)
    assert layout.coordinates == {"tp": 1, "cp": 0, "dp": 1, "pp": 0}
    assert layout.group(["tp"]) == [4, 5, 6, 7] and layout.group(["dp"]) == [1, 5]
    assert (layout.world_size, layout.rank) == (8, 5)
    assert layout == floptally.ParallelLayout(rank=5, dp=2, tp=4, world_size=8)
    assert floptally.ParallelLayout(rank=5, dp=2, tp=4, order="dp-tp").coordinates["dp"] == 1
    assert floptally.ParallelLayout(rank=5, dp=2, tp=4, order="dp-tp").coordinates["tp"] == 2
    scope = floptally.Scope("context_slice", tp="first", virtual_stages="replicated")
    assert repr(scope) == (
        'Scope(dp="sharded", cp="sharded", tp="first", pp="replicated", virtual_stages="replicated")'
    )
    assert floptally.Scope("microbatch", cp="sharded") == floptally.Scope("context_slice")
    assert floptally.Scope("context_slice").parts(floptally.ParallelLayout(rank=0, dp=3, cp=2, tp=2)) == 6
    wrong: list[tuple[Callable[[], Any], str]] = [
        (lambda: floptally.ParallelLayout(rank=8, dp=2, tp=4), "rank: must be below the world size, 8, got 8"),
        (lambda: floptally.ParallelLayout(rank=0, dp=0), "dp: must be at least 1, got 0"),
        (lambda: floptally.ParallelLayout(rank=0, dp=2, world_size=3), "world_size: must be dp x cp x tp x pp = 2, got 3 ranks"),
        (lambda: layout.group(["zp"]), "axes: must be one of tp, cp, dp, pp, ep, expert_dp, etp, dp_replicate, got"),
        (lambda: floptally.Scope("batch"), "preset: must be one of microbatch, context_slice, first_stage"),
        (lambda: floptally.Scope(cp="half"), "cp: must be one of replicated, trusted, sharded, first, last, got"),
        (lambda: floptally.Scope(xp="first"), "axis: must be one of tp, cp, dp, pp, ep, expert_dp, etp, dp_replicate, got"),
        (lambda: floptally.Scope(ep="first"), "scope: ep cannot be used, because its ranks are also ranks of dp x cp"),
    ]
    for make, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            make()
        assert str(raised.value).startswith(text)
