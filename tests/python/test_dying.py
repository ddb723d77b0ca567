# SPDX-License-Identifier: Apache-2.0
"""A rank that dies in a collective call: gloo gives the others an error at once, and nothing of theirs is changed."""

from __future__ import annotations

import datetime
import functools
import os
import pathlib
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

import floptally
from floptally import distributed

torch = pytest.importorskip("torch")
dist = pytest.importorskip("torch.distributed")

LLAMA = {"model_type": "floptally", "hidden_size": 8, "layers": [{"parts": [{"type": "attention", "num_heads": 2}]}]}
COLLECTIVES = ("all_reduce", "all_to_all_single", "all_to_all", "broadcast", "all_gather", "all_gather_into_tensor", "barrier")
SECONDS = 20  # that a rank may wait for one that died; gloo sees its end at once


def tally(*lengths: int) -> floptally.Tally:
    result = floptally.Tally(floptally.cost(LLAMA))
    if lengths:
        result.add_lengths(list(lengths))
    return result


def metered(rank: int) -> None:
    meter = floptally.Meter(floptally.cost(LLAMA), peak_tflops=1, reduce=distributed.Reduction(tally()))
    meter.begin_step()
    meter.add(lengths=[5, 7])
    try:
        meter.end_step(1.0)
    except Exception:
        assert meter.in_step and meter.run.steps == 0 and meter.run.useful == 0  # nothing of a step that did not end
        raise


def moved(rank: int) -> None:
    plan = floptally.ExchangePlan([0, 1], [1, 0], [3, 2], 2, bytes_per_element=4)
    distributed.exchange(plan, {rank: torch.zeros(3 - rank, dtype=torch.int32)}, dtype=torch.int32)


def held(rank: int) -> None:
    layout = floptally.ParallelLayout(rank=rank, tp=2)
    distributed.require_held([1, 2, 3], scope="microbatch", layout=layout)


CALLS: dict[str, Callable[[int], Any]] = {
    "all_reduce": lambda rank: distributed.all_reduce(tally(5, 7)),
    "Reduction": lambda rank: distributed.Reduction(floptally.cost(LLAMA))(tally(5, 7)),
    "Meter": metered,
    "ratio": lambda rank: distributed.all_reduce_ratio(1, 2),
    "extremes": lambda rank: distributed.all_reduce_extremes([1, 2]),
    "sequences": lambda rank: distributed.all_reduce_sequences([-1.0], [2], layout=floptally.ParallelLayout(rank=rank, cp=2),
                                                           within=dist.group.WORLD),  # fmt: skip
    "require_held": held,
    "exchange": moved,
}


def forked(rank: int, work: Callable[[], None]) -> int:
    """The process of a rank, which ends with the number of what happened."""
    child = os.fork()
    if child == 0:
        code = 9
        try:
            work()
            code = 0
        except BaseException as problem:  # noqa: BLE001
            if not isinstance(problem, Exception):
                code = 8
            else:
                code = 3 if isinstance(problem, RuntimeError) else 4
                if code == 4:
                    print(rank, type(problem), problem, flush=True)
        finally:
            os._exit(code)
    return child


def one_that_dies(name: str, dies_at: int, store: pathlib.Path) -> tuple[bool, bool, float]:
    """Whether rank 1 came to that collective and was killed there, whether rank 0 had an error, and its seconds."""

    def work(rank: int) -> None:
        file = dist.FileStore(str(store), 2)
        dist.init_process_group("gloo", store=file, rank=rank, world_size=2, timeout=datetime.timedelta(seconds=SECONDS))
        if rank == 1:
            calls = 0
            for collective in COLLECTIVES:

                def counted(*args: Any, original: Callable[..., Any] = getattr(dist, collective), **kwargs: Any) -> Any:
                    nonlocal calls
                    if calls == dies_at:
                        os.kill(os.getpid(), signal.SIGKILL)
                    calls += 1
                    return original(*args, **kwargs)

                setattr(dist, collective, counted)
        CALLS[name](rank)

    began = time.monotonic()
    children = [forked(rank, functools.partial(work, rank)) for rank in range(2)]
    ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert ends[1] in (0, -signal.SIGKILL), ends
    assert ends[0] in (0, 3), ends
    return ends[1] != 0, ends[0] == 3, time.monotonic() - began


@pytest.mark.skipif(not hasattr(os, "fork"), reason="ranks are forked, so that torch is imported once")
@pytest.mark.parametrize("name", CALLS)
def test_if_one_rank_dies_during_any_collective_the_other_ranks_get_an_error(name: str, tmp_path: pathlib.Path) -> None:
    died = 0
    while True:
        killed, failed, seconds = one_that_dies(name, died, tmp_path / f"store{died}")
        assert seconds < SECONDS + 10
        assert failed == killed
        if not killed:
            break
        died += 1
    assert died >= 1
