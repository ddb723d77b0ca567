# SPDX-License-Identifier: Apache-2.0
"""What a rank has of a batch and of a model, against enumerations: A3, A4, A7 to A9, A13, T6, T8, T10, T11."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import floptally
import numpy as np
import pytest
from floptally import Mask

TINY = {
    "model_type": "llama", "vocab_size": 96, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip


# ---- tokens of a row ----


@pytest.mark.parametrize("cp", [1, 2, 4])
@pytest.mark.parametrize("chunks", [1, 3])
def test_a_zigzag_split_gives_each_rank_a_chunk_and_the_mirrored_chunk_of_the_sequence(cp: int, chunks: int) -> None:
    tokens = 2 * cp * chunks
    split = floptally.TokenSplit.zigzag(tokens, cp)
    m = tokens // (2 * cp)
    held = [
        [i for i in range(tokens) if r * m <= i < (r + 1) * m or tokens - (r + 1) * m <= i < tokens - r * m]
        for r in range(cp)
    ]
    assert [split.indices(r).tolist() for r in range(cp)] == held
    assert sorted(itertools.chain(*held)) == list(range(tokens))
    assert [[i for first, last in split.ranges(r) for i in range(first, last)] for r in range(cp)] == held
    assert split.gathered_order()[split.restoring_order()].tolist() == list(range(tokens))


def test_context_parallel_shards_of_arrays_and_tensors_merge_into_the_sequence() -> None:
    torch = pytest.importorskip("torch")
    split = floptally.TokenSplit.zigzag_of_each([0, 8, 8, 24], 2)
    row = np.arange(48).reshape(2, 24)
    assert np.array_equal(split.merge([split.shard(row, rank) for rank in range(2)]), row)
    tall = torch.arange(72.0).reshape(24, 3).requires_grad_()
    shards = [split.shard(tall, rank, axis=0) for rank in range(2)]
    assert shards[0].shape == (12, 3) and torch.equal(split.merge(shards, axis=0), tall)
    shards[1].sum().backward()  # a gradient goes back to where its tokens came from
    assert tall.grad[:, 0].nonzero().flatten().tolist() == split.indices(1).tolist()
    assert split.shard(list(range(24)), 0).tolist() == split.indices(0).tolist()


def test_a_context_parallel_split_that_does_not_divide_evenly_is_an_error() -> None:
    with pytest.raises(floptally.Error, match="tokens: must be a multiple of 2 x cp = 8, got 12"):
        floptally.TokenSplit.zigzag(12, 4)
    split = floptally.TokenSplit.contiguous(12, 4)
    with pytest.raises(floptally.Error, match="row: must have 12 tokens along axis -1, got 11"):
        split.shard(np.zeros(11), 0)
    with pytest.raises(floptally.Error, match="shards: must have 4 shards, one for each rank, got 1"):
        split.merge([np.zeros(3)])
    with pytest.raises(floptally.Error, match=r"shards\[1\]: must have 3 tokens"):
        split.merge([np.zeros(3), np.zeros(2), np.zeros(3), np.zeros(3)])
    with pytest.raises(floptally.Error, match="axis: must be one of the 1 dimensions of row, got 1"):
        split.shard(np.zeros(12), 0, axis=1)
    with pytest.raises(floptally.Error, match="cp_rank: must be below cp = 4, got 4"):
        split.indices(4)
    with pytest.raises(TypeError, match="TokenSplit.zigzag"):
        floptally.TokenSplit()  # type: ignore[call-arg]
    assert [floptally.cp_alignment(4, 1), floptally.cp_alignment(2, 3), floptally.cp_alignment(2, 3, 16)] == [4, 12, 48]
    assert floptally.aligned_cu_seqlens([0, 5, 5, 17], 4).tolist() == [0, 8, 8, 20]


def seen(mask: str, query: int, key: int) -> bool:
    if mask == "bidirectional":
        return True
    near = {"causal": True, "sliding_window(3)": query - key < 3, "chunked(4)": query // 4 == key // 4}
    return key <= query and near[mask]


@pytest.mark.parametrize("kind", ["zigzag", "contiguous", "zigzag_of_each"])
@pytest.mark.parametrize("mask", ["causal", "sliding_window(3)", "chunked(4)", "bidirectional"])
def test_attended_pairs_of_each_context_parallel_rank_equal_the_pairs_of_the_queries_on_that_rank(kind: str, mask: str) -> None:
    lengths, slots, cp = [5, 1, 7], [8, 4, 12], 2
    real, padded = np.cumsum([0, *lengths]), np.cumsum([0, *slots])
    split = (
        floptally.TokenSplit.zigzag_of_each(padded, cp) if kind == "zigzag_of_each"
        else getattr(floptally.TokenSplit, kind)(24, cp)
    )  # fmt: skip
    row = floptally.ContextParallelPack(split, cu_seqlens=real, cu_seqlens_padded=padded)
    for view, sizes in (("useful", lengths), ("padded", slots)):
        pairs, tokens = [0] * cp, [0] * cp
        for rank in range(cp):
            for token in split.indices(rank):
                i = int(np.searchsorted(padded, token, "right")) - 1
                query = int(token - padded[i])
                if query < sizes[i]:
                    tokens[rank] += 1
                    pairs[rank] += sum(seen(mask, query, key) for key in range(sizes[i]))
        assert row.pairs(Mask.from_text(mask), view) == pairs  # type: ignore[arg-type]
        assert row.tokens(view) == tokens  # type: ignore[arg-type]


def test_padded_causal_pairs_are_equal_on_all_zigzag_ranks() -> None:
    row = floptally.ContextParallelPack(floptally.TokenSplit.zigzag(64, 4), cu_seqlens=[0, 64])
    assert row.pairs(Mask.causal(), "padded") == [64 * 65 // 2 // 4] * 4


def test_tallies_of_context_parallel_ranks_add_up_to_the_tally_of_the_whole_pack(mistral: floptally.Cost) -> None:
    padded = [0, 9000, 9016, 17208]
    row = floptally.ContextParallelPack(
        floptally.TokenSplit.zigzag_of_each(padded, 4), cu_seqlens=[0, 8999, 9004, 17000], cu_seqlens_padded=padded,
        num_real_seqs=2,
    )
    whole = floptally.Tally(mistral)
    whole.add_cu_seqlens([0, 8999, 9004, 17000], cu_seqlens_padded=padded, num_real_seqs=2)
    words = sum(row.tally(rank, mistral).accumulators() for rank in range(4))
    assert (words == whole.accumulators()).all()
    ranks = [mistral.flops(tally=row.tally(rank, mistral)) for rank in range(4)]
    assert sum(work.total for work in ranks) == mistral.flops(tally=whole).total
    both = floptally.ContextParallelPack(floptally.TokenSplit.zigzag(8, 2), attention_mask=[[1, 1, 0, 0], [1, 1, 1, 1]])
    assert both.tokens() == [4, 2] and both.tokens("padded") == [4, 4]
    with pytest.raises(floptally.Error, match="split: must have the 9 tokens of the pack, got 8"):
        floptally.ContextParallelPack(floptally.TokenSplit.zigzag(8, 2), cu_seqlens=[0, 9])
    with pytest.raises(floptally.Error, match="cu_seqlens: pass exactly one of cu_seqlens and attention_mask"):
        floptally.ContextParallelPack(floptally.TokenSplit.zigzag(8, 2))


# ---- samples that move, and rows of them ----


def carried(plan: floptally.ExchangePlan, microbatch: int, payload: list[bytes]) -> list[dict[int, bytes]]:
    """What each rank has after an all-to-all of buffers, by bytes that are really moved."""
    ranks = [plan.for_rank(rank, microbatch) for rank in range(plan.ranks)]
    sent = []
    for how in ranks:
        buffer = bytearray(how.send.bytes)
        for sample, offset in zip(how.send.samples, how.send.offsets):
            buffer[offset : offset + len(payload[sample])] = payload[sample]
        sent.append(buffer)
    found: list[dict[int, bytes]] = []
    for rank, how in enumerate(ranks):
        received = b"".join(
            bytes(sent[other][there.send.displacements[rank] :][: there.send.counts[rank]])
            for other, there in enumerate(ranks)
        )
        assert len(received) == how.receive.bytes
        into = zip(how.receive.samples, how.receive.offsets, how.receive.sizes)
        found.append({int(sample): received[offset : offset + size] for sample, offset, size in into})
    return found


@pytest.mark.parametrize("window", [1, 3])
def test_samples_exchanged_between_ranks_arrive_unchanged_and_return_to_their_ranks(window: int) -> None:
    random = np.random.default_rng(window)
    ranks, samples = 4, 29
    owners = random.integers(0, ranks, samples)
    destinations = random.integers(0, ranks * window, samples)
    payload = [random.bytes(int(size)) for size in random.integers(0, 40, samples)]
    plan = floptally.ExchangePlan(owners, destinations, [len(one) for one in payload], ranks, window=window)
    for microbatch in range(window):
        found = carried(plan, microbatch, payload)
        for rank in range(ranks):
            wanted = [i for i in range(samples) if destinations[i] == microbatch * ranks + rank]
            assert found[rank] == {i: payload[i] for i in wanted}
            assert all(offset % 8 == 0 for offset in plan.for_rank(rank, microbatch).receive.offsets)
        assert sorted(plan.samples_of(microbatch)) == sorted(itertools.chain(*found))
    back = plan.inverse()
    here = back.for_rank(1).send
    there = plan.for_rank(1).receive
    assert all(np.array_equal(a, b) for a, b in zip(here, there))
    assert plan.with_sizes([1] * samples, bytes_per_element=4).sizes.tolist() == [4] * samples
    assert plan == floptally.ExchangePlan(owners, destinations, plan.sizes, ranks, window=window) != back


def test_errors_of_a_sample_exchange_between_ranks_name_the_sample() -> None:
    with pytest.raises(floptally.Error, match=r"owners\[1\]: must be below ranks = 1, got 1"):
        floptally.ExchangePlan([0, 1], [0, 0], [1, 1], 1)
    with pytest.raises(floptally.Error, match=r"destinations\[0\]: must be below ranks x window = 6, got 6"):
        floptally.ExchangePlan([0], [6], [1], 2, window=3)
    text = "rank 0 sends more than max_buffer_bytes = 8 in microbatch 0: 16; use smaller microbatches or raise the limit"
    with pytest.raises(floptally.Overflow, match=text):
        floptally.ExchangePlan([0, 0], [0, 1], [5, 5], 2, max_buffer_bytes=8)
    with pytest.raises(floptally.Error, match="microbatch: must be below window = 1, got 1"):
        floptally.ExchangePlan([0], [0], [1], 1).for_rank(0, 1)


def test_a_batch_is_divided_into_as_many_groups_as_the_least_common_multiple_of_all_dp_sizes() -> None:
    groups = floptally.CanonicalGroups([6, 4])
    assert groups.size == 12
    assert [list(groups.groups_of(1, rank)) for rank in range(4)] == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]
    assert groups.ranks_of(0, range(12)).tolist() == [i // 2 for i in range(12)]
    with pytest.raises(floptally.Error, match=r"dp_sizes\[1\]: must be (positive|at least 1)"):
        floptally.CanonicalGroups([6, 0])


def test_packing_samples_keeps_every_sample_and_pads_each_one_to_a_multiple_of_the_alignment() -> None:
    lengths = [9, 3, 5, 1, 7, 2]
    result = floptally.pack_by_capacity(np.array(lengths), 16, alignment=4, min_packs=2, divisor=2)
    assert len(result.packs) % 2 == 0 and all(row.tokens <= 16 for row in result.packs)
    assert sorted(itertools.chain(*(row.samples for row in result.packs))) == list(range(6))
    for number, row in enumerate(result.packs):
        assert np.diff(row.cu_seqlens).tolist() == [lengths[i] for i in row.samples]
        assert np.diff(row.cu_seqlens_padded).tolist() == [-(-lengths[i] // 4) * 4 for i in row.samples]
        assert result.offset_of[row.samples].tolist() == row.cu_seqlens_padded[:-1].tolist()
        assert (result.pack_of[row.samples] == number).all()
    one = floptally.pack_by_assignment(lengths, [0] * 6, 1)
    assert one.packs[0].cu_seqlens.tolist() == np.cumsum([0, *lengths]).tolist()
    with pytest.raises(floptally.Error, match=r"lengths\[0\]: must fit the capacity of 8 tokens, got 9 after alignment"):
        floptally.pack_by_capacity(lengths, 8)


# ---- layers, modules ----


@pytest.mark.parametrize(("tp", "pp", "vpp"), [(1, 1, 1), (4, 1, 1), (1, 4, 1), (2, 2, 2)])
def test_flops_of_all_ranks_add_up_to_the_flops_of_the_model(tp: int, pp: int, vpp: int) -> None:
    model = floptally.cost(TINY)
    frozen = floptally.Plan(weights=[floptally.WeightSetting("mlp", "frozen")], recompute="full")
    for plan in (floptally.Plan(), frozen):
        whole = model.flops(lengths=[70, 9], plan=plan)
        ranks = [
            model.on_rank(floptally.ParallelLayout(rank=rank, tp=tp, pp=pp, vpp=vpp)).flops(lengths=[70, 9], plan=plan)
            for rank in range(tp * pp)
        ]
        for component in whole.useful.components:
            parts = [work.useful.components[component].total for work in ranks if component in work.useful.components]
            assert sum(parts) == whole.useful.components[component].total, component
        assert sum(work.total for work in ranks) == whole.total
        assert sum(work.executed_total for work in ranks) >= whole.executed_total


def test_a_model_size_that_cannot_be_divided_among_ranks_is_an_error_that_names_the_size() -> None:
    model = floptally.cost(TINY)
    with pytest.raises(floptally.Error, match="num_attention_heads"):
        model.on_rank(floptally.ParallelLayout(rank=0, tp=3))
    with pytest.raises(floptally.Error, match="layers_of_chunks"):
        model.on_rank(floptally.ParallelLayout(rank=0, pp=2), layers_of_chunks=[4])
    with pytest.raises(floptally.Error, match="cost: must have layers"):
        floptally.Cost.from_entries([("mlp", "tokens", "linear", 2)]).on_rank(floptally.ParallelLayout(rank=0))
    uneven = model.on_rank(floptally.ParallelLayout(rank=0, pp=2), layers_of_chunks=[1, 3])
    assert uneven.flops(lengths=[8]).useful.components["mlp"].total == 6 * 3 * 32 * 64 * 8
    gathered = model.on_rank(floptally.ParallelLayout(rank=0, tp=4), few_kv_heads="gathered")
    replicated = model.on_rank(floptally.ParallelLayout(rank=0, tp=4))
    assert gathered.flops(lengths=[8]).executed_total < replicated.flops(lengths=[8]).executed_total


def test_mfu_of_a_model_whose_modules_run_on_different_ranks_uses_the_peak_of_each_active_rank() -> None:
    model = floptally.cost(TINY)
    text, tower = model.flops(lengths=[4096]), model.flops(lengths=[1024], plan=floptally.Plan(phase="forward"))
    found = floptally.utilize(
        [
            floptally.StepModule("language", range(4), text, 1.0, data_parallel_size=2),
            floptally.StepModule("vision", [3, 4], tower, 2.0, frozen=True, seconds=0.005),
        ],
        seconds=0.01, gpus=8, peak_tflops=1.0,
    )
    assert (found.active_ranks, found.idle_ranks) == (5, 3)
    assert found.useful == text.total + tower.total
    peak = 3 * 1.0 + 2 * 2.0  # rank 3 runs both, and counts once at the higher peak
    assert found.mfu == pytest.approx(found.useful / 1e12 / 0.01 / peak)
    assert found.allocated_mfu == pytest.approx(found.useful / 1e12 / 0.01 / (peak + 3))
    assert found.modules[1].mfu == pytest.approx(tower.total / 1e12 / 0.005 / 2 / 2.0)
    assert found.modules[0].ranks_per_replica == 2
    with pytest.raises(floptally.Error, match=r'modules\[0\]\.frozen: "a" is frozen'):
        floptally.utilize(
            [floptally.StepModule("a", [0], text, 1.0, frozen=True)], seconds=1, gpus=1, peak_tflops=1
        )


# ---- memory ----


def test_bytes_of_logits_and_of_model_states_on_a_rank_match_known_sizes() -> None:
    whole = floptally.logits_bytes(131_072, 151_936, context_parallel=8)
    assert whole.gathered == 131_072 * 151_936 * 2 and round(whole.gathered / 2**30, 1) == 37.1
    assert whole.local * 8 == whole.gathered and whole.gathering == 2 * whole.gathered
    both = floptally.logits_bytes(16_384, 151_936, context_parallel=4, tensor_parallel=2)
    assert round(both.gathering / 1e9, 1) == 5.0
    with pytest.raises(floptally.Error, match=r"tokens: must be a multiple of context_parallel \(3\), got 16"):
        floptally.logits_bytes(16, 8, context_parallel=3)
    states = floptally.state_bytes(1001, 10, zero="optimizer", data_parallel=4, optimizer="megatron_bf16")
    assert states == (2002, 40, 3 * 12) and states.total == 2078


class Device:
    """A device that says what is asked of it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.free = 100

    def reset_high_marks(self) -> None:
        self.calls.append("reset")

    def sample(self) -> Any:
        from floptally.memory import MemorySample

        self.calls.append("sample")
        self.free -= 10
        return MemorySample(self.free, 200, 50, 60)

    def start(self, entries: int) -> None:
        self.calls.append(f"start {entries}")

    def stop(self, name: str, step: int) -> None:
        self.calls.append(f"stop {name}")


def test_a_memory_probe_samples_only_the_profiled_steps() -> None:
    quiet, device = Device(), Device()
    for probe in (floptally.MemoryProbe(quiet), floptally.MemoryProbe(
        device, profile_steps=[7], max_entries=5, layout=floptally.ParallelLayout(rank=3, tp=2, dp=2),
        start=device.start, stop=device.stop,
    )):  # fmt: skip
        for step in (6, 7, 8):
            with probe.step(step):
                pass
    assert quiet.calls == []
    assert device.calls == ["reset", "sample", "start 5", "sample", "stop snapshot_rank03_p0d1c0t1_step7"]
    assert probe.rows == [
        {
            "step": 7, "rank": 3, "p": 0, "d": 1, "c": 0, "t": 1, "free_before": 90, "free_after": 80, "total": 200,
            "pool_used_high": 50, "pool_reserved_high": 60,
        }
    ]  # fmt: skip


def test_a_memory_probe_records_a_step_that_raises() -> None:
    device = Device()
    probe = floptally.MemoryProbe(device, profile_steps=range(3), stop=device.stop)
    with pytest.raises(MemoryError), probe.step(1):
        raise MemoryError
    assert [row["step"] for row in probe.rows] == [1] and device.calls[-1] == "stop snapshot_rank00_p0d0c0t0_step1"
    with pytest.raises(floptally.Error, match="end_step: step 2 has not begun"):
        probe.end_step(2)

    class Wrong(Device):
        def sample(self) -> Any:
            return Device.sample(self)._replace(free=-1)

    with pytest.raises(floptally.Error, match="free: must be .*got -1"):
        floptally.MemoryProbe(Wrong(), profile_steps=[0]).begin_step(0)


# ---- counters for Prometheus ----


def test_openmetrics_text_of_a_meter_shows_the_counters_of_the_run(llama: floptally.Cost) -> None:
    meter = floptally.Meter(llama, gpus=8, counted="all_gpus", accelerator="H100 SXM")
    assert "floptally_steps_total 0\n" in meter.to_open_metrics()
    for seconds in (0.5, 0.25):
        with meter.step(seconds):
            meter.add(lengths=[512, 100], row_length=512)
    text = meter.to_open_metrics()
    assert text.endswith("# EOF\n") and "floptally_step_seconds_total 0.75\n" in text
    assert 'floptally_tokens_total{view="useful"} 1224\n' in text
    flops = {
        line.split('component="')[1].split('"')[0]: int(line.split()[-1])
        for line in text.splitlines()
        if line.startswith("floptally_flops_total") and 'view="useful"' in line
    }
    assert sum(flops.values()) == meter.run.useful
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = {family.name for family in parser.text_string_to_metric_families(text)}
    assert {"floptally_flops", "floptally_peak_flops", "floptally_meter"} <= families
    dashboard = json.loads(next(iter(_dashboards())).read_text())
    asked = set(re.findall(r"floptally_[a-z_]+", json.dumps(dashboard)))
    arguments = {sample.name for family in parser.text_string_to_metric_families(text) for sample in family.samples}
    assert asked <= arguments, asked - arguments


def _dashboards() -> Any:
    from conftest import SOURCE

    return (path for path in (SOURCE / "examples").rglob("*.json") if "floptally_flops_total" in path.read_text())
