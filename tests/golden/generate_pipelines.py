# SPDX-License-Identifier: Apache-2.0
"""Orders of pipelines as torch.distributed.pipelining makes them, for tests/parallel/pipeline_schedule.test.cpp.

python tests/golden/generate_pipelines.py > tests/golden/pipelines.json
"""

import json
from types import SimpleNamespace
from typing import Any

import torch
from torch.distributed.pipelining import schedules

LETTERS = {
    schedules._ComputationType.FORWARD: "F",
    schedules._ComputationType.FULL_BACKWARD: "B",
    schedules._ComputationType.BACKWARD_INPUT: "B",
    schedules._ComputationType.BACKWARD_WEIGHT: "W",
}


def ranks_of(schedule: Any, pp: int, chunks: int, microbatches: int) -> list[str]:
    """The passes of each rank, "F0.1" being microbatch 1 forward through chunk 0, without the idle slots."""
    rounds = max(1, microbatches // pp)
    self = SimpleNamespace(
        pp_group_size=pp,
        n_local_stages=chunks,
        num_stages=pp * chunks,
        _num_stages=pp * chunks,
        _n_microbatches=microbatches,
        number_of_rounds=rounds,
        microbatches_per_round=microbatches // rounds,
    )
    return [
        " ".join(
            f"{LETTERS[each.computation_type]}{each.stage_index}.{each.microbatch_index}"
            for each in schedule._calculate_single_rank_operations(self, rank)
            if each is not None
        )
        for rank in range(pp)
    ]


def main() -> None:
    orders = []
    for pp in (1, 2, 3, 4, 8):
        for times in (1, 2, 3):
            for name, schedule, chunks in (
                ("interleaved", schedules.ScheduleInterleaved1F1B, 2),
                ("interleaved", schedules.ScheduleInterleaved1F1B, 3),
                ("zero_bubble", schedules.ScheduleInterleavedZeroBubble, 1),
                ("zb_v", schedules.ScheduleZBVZeroBubble, 2),
            ):
                microbatches = pp * times
                orders.append(
                    {
                        "schedule": name,
                        "pp": pp,
                        "vpp": chunks,
                        "microbatches": microbatches,
                        "ranks": ranks_of(schedule, pp, chunks, microbatches),
                    }
                )
    lines = ",\n".join(json.dumps(order) for order in orders)
    print(f'{{"torch": "{torch.__version__}", "orders": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
