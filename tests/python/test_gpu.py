# SPDX-License-Identifier: Apache-2.0
"""What a host cannot show of lengths on a GPU: streams that run beside it, memory that is used again, real graphs."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import floptally
from floptally import _device

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch finds no GPU"),
    pytest.mark.skipif(not _device._KERNELS.exists(), reason="the package was built without nvcc"),
]

BOUNDARIES = [0, 700, 6000, 8100, 8192]
HALF_A_SECOND = 10**9  # cycles of a GPU, about


@contextlib.contextmanager
def nobody_waits() -> Iterator[None]:
    """PyTorch throws where one of its calls waits for the GPU."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def on_gpu(values: Any, dtype: Any = None) -> Any:
    array = torch.as_tensor(np.asarray(values), dtype=dtype or torch.int32).cuda()
    torch.cuda.synchronize()
    return array


def tally_of(cost: floptally.Cost, *boundaries: list[int]) -> floptally.Tally:
    tally = floptally.Tally(cost)
    for one in boundaries:
        tally.add_cu_seqlens(one)
    return tally


def by_torch(values: Any, dtype: str) -> Any:
    return on_gpu(values, getattr(torch, dtype))


def by_cupy(values: Any, dtype: str) -> Any:
    return pytest.importorskip("cupy").asarray(np.asarray(values, dtype=dtype))


def by_jax(values: Any, dtype: str) -> Any:
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    try:
        return jax.device_put(np.asarray(values, dtype=dtype), jax.devices("gpu")[0])
    except RuntimeError as missing:
        pytest.skip(f"JAX: {missing}")


@pytest.mark.parametrize("array", [by_torch, by_cupy, by_jax])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("count", [1, 600, 100_000])
def test_sums_of_a_device_tally_on_a_real_gpu_equal_those_of_a_host_tally_bit_for_bit(
    mistral: floptally.Cost, array: Callable[[Any, str], Any], dtype: str, count: int
) -> None:
    generator = np.random.default_rng(count)
    lengths, others = (generator.integers(0, 9000, count) for _ in range(2))
    slots = lengths + generator.integers(0, 64, count)
    boundaries, padded = (np.concatenate([[0], np.cumsum(one)]) for one in (lengths, slots))
    flags = (np.arange(300) < generator.integers(0, 301, 40)[:, None]).astype(np.int64)
    counted, expected = floptally.DeviceTally(mistral), floptally.Tally(mistral)
    counted.add_cu_seqlens(array(boundaries, dtype))
    expected.add_cu_seqlens(boundaries)
    counted.add_cu_seqlens(array(boundaries, dtype), array(padded, dtype), count // 2)
    expected.add_cu_seqlens(boundaries, padded, count // 2)
    counted.add_lengths(array(lengths, dtype))
    expected.add_lengths(lengths)
    counted.add_padded(array(lengths, dtype), 9000)
    expected.add_padded(lengths, 9000)
    counted.add_new_tokens(array(lengths, dtype), array(others, dtype))
    expected.add_new_tokens([(int(n), int(past)) for n, past in zip(lengths, others)])
    counted.add_attention_mask(array(flags, dtype))
    expected.add_attention_mask(flags)
    assert counted.read() == expected


def test_calls_of_a_device_tally_return_while_the_gpu_is_busy(mistral: floptally.Cost) -> None:
    counted = floptally.DeviceTally(mistral)
    boundaries, stream, done = on_gpu(BOUNDARIES), torch.cuda.Stream(), torch.cuda.Event()
    with torch.cuda.stream(stream), nobody_waits():
        torch.cuda._sleep(HALF_A_SECOND)
        counted.add_cu_seqlens(boundaries)
        counted.snapshot(reset=True)
        counted.add_cu_seqlens(boundaries)
        counted.add_cu_seqlens(boundaries)
        counted.snapshot(reset=True)
        done.record(stream)
        assert counted.poll() is None
        assert not done.query()  # nothing above has waited
    done.synchronize()
    assert counted.poll() == tally_of(mistral, BOUNDARIES)
    assert counted.poll() == tally_of(mistral, BOUNDARIES, BOUNDARIES)
    assert counted.poll() is None


def test_adding_a_batch_to_a_device_tally_reads_the_values_that_earlier_work_on_the_stream_wrote(mistral: floptally.Cost) -> None:
    counted = floptally.DeviceTally(mistral)
    boundaries, later, stream = on_gpu([0] * len(BOUNDARIES)), on_gpu(BOUNDARIES), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(HALF_A_SECOND // 5)
        boundaries.copy_(later, non_blocking=True)
        counted.add_cu_seqlens(boundaries)
        boundaries.zero_()
    assert counted.read(stream=stream) == tally_of(mistral, BOUNDARIES)


def test_gpu_input_memory_of_another_stream_is_not_reused_before_the_kernel_of_the_device_tally_has_read_it(mistral: floptally.Cost) -> None:
    counted = floptally.DeviceTally(mistral)
    stream, lengths = torch.cuda.Stream(), 1 << 20
    addresses = set()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(HALF_A_SECOND // 5)
    for _ in range(4):
        mine = torch.full((lengths,), 3, dtype=torch.int32, device="cuda")
        addresses.add(mine.data_ptr())
        stream.wait_stream(torch.cuda.current_stream())
        counted.add_lengths(mine, stream=stream)
        mine.record_stream(stream)
        del mine
        torch.full((lengths,), 9, dtype=torch.int32, device="cuda")
    assert len(addresses) == 4
    assert counted.read(stream=stream).tokens == 4 * 3 * lengths


def test_gpu_input_memory_is_reused_by_the_same_stream_only_after_the_kernel_of_the_device_tally_has_read_it(mistral: floptally.Cost) -> None:
    counted, lengths = floptally.DeviceTally(mistral), 1 << 20
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(HALF_A_SECOND // 5)
        for _ in range(4):
            counted.add_lengths(torch.full((lengths,), 3, dtype=torch.int32, device="cuda"))
            torch.full((lengths,), 9, dtype=torch.int32, device="cuda")
        assert counted.read().tokens == 4 * 3 * lengths


def test_a_device_tally_in_a_cuda_graph_counts_its_input_arrays_again_at_each_replay(mistral: floptally.Cost) -> None:
    counted = floptally.DeviceTally(mistral)
    boundaries, graph = on_gpu(BOUNDARIES), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        counted.add_cu_seqlens(boundaries)
        counted.snapshot(reset=True)
        with pytest.raises(floptally.Error, match="^read: cannot wait for a stream that is being captured"):
            counted.read()
    assert counted.poll() is None
    batches = [[0, *np.cumsum(np.random.default_rng(i).integers(1, 3000, len(BOUNDARIES) - 1)).tolist()] for i in range(50)]
    for batch in batches:
        boundaries.copy_(torch.tensor(batch, dtype=torch.int32))
        graph.replay()
    torch.cuda.synchronize()
    for batch in batches:
        assert counted.poll() == tally_of(mistral, batch)
    assert counted.poll() is None


def test_invalid_gpu_input_to_a_device_tally_raises_an_error_when_the_sums_are_read(mistral: floptally.Cost) -> None:
    counted = floptally.DeviceTally(mistral)
    counted.add_lengths(on_gpu([5, 7]))
    counted.add_lengths(on_gpu([9, -1]))
    counted.snapshot(reset=True)
    torch.cuda.synchronize()
    with pytest.raises(floptally.LeftOut, match=r"^lengths\[1\]: ") as seen:
        counted.poll()
    assert seen.value.sequences >= 1 and seen.value.counted.tokens >= 5 + 7


def test_several_streams_and_threads_add_to_one_device_tally(mistral: floptally.Cost) -> None:
    counted, boundaries = floptally.DeviceTally(mistral), on_gpu(BOUNDARIES)
    streams = [torch.cuda.Stream() for _ in range(4)]

    def add(stream: Any) -> None:
        with torch.cuda.stream(stream):
            for _ in range(200):
                counted.add_cu_seqlens(boundaries)

    threads = [threading.Thread(target=add, args=(stream,)) for stream in streams]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert counted.read() == tally_of(mistral, *[BOUNDARIES] * 800)


def test_a_meter_accepts_gpu_tensors_without_waiting_for_the_gpu(mistral: floptally.Cost) -> None:
    name = torch.cuda.get_device_name()
    meter = floptally.Meter(mistral, gpus=1, accelerator=name)
    boundaries, done = on_gpu(BOUNDARIES), torch.cuda.Event()
    with nobody_waits():
        for _ in range(3):
            with meter.step(0.9):
                torch.cuda._sleep(HALF_A_SECOND // 5)
                meter.add(cu_seqlens=boundaries)
                done.record()
                assert not done.query()
    meter.finish()
    assert meter.run.tally == tally_of(mistral, *[BOUNDARIES] * 3)
    assert meter.run.mfu == pytest.approx(mistral.flops(cu_seqlens=BOUNDARIES).measure(0.9, gpus=1, accelerator=name).mfu)


def test_a_model_is_verified_on_the_gpu() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=1000, hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=2
    )
    model = transformers.LlamaForCausalLM(config).cuda().bfloat16()
    ids = torch.randint(0, 1000, (2, 512), device="cuda")
    found = floptally.verify(model, {"input_ids": ids, "labels": ids})
    assert found.equal, str(found)
    assert next(model.parameters()).grad is None


def test_a_measured_matmul_does_not_exceed_the_peak_of_the_gpu() -> None:
    size, layers = 8192, 10
    weight = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    rows = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        rows @ weight
    begin.record()
    for _ in range(layers):
        rows @ weight
    end.record()
    end.synchronize()
    reached = 2 * size**3 * layers / (begin.elapsed_time(end) / 1e3) / 1e12
    peak = floptally.accelerator(torch.cuda.get_device_name()).peak_tflops()
    assert 0.3 < reached / peak <= 1
