# SPDX-License-Identifier: Apache-2.0
"""Counts what an inference engine ran, step by step, from its scheduler's output.

    python examples/serve_schedule.py

vLLM's scheduler says of each step how many tokens it runs of each request (`num_scheduled_tokens`) and how many of each are
computed already (`num_computed_tokens`). That is all that FLOPs need: chunks of prompts, decoding, prefixes that were cached
and requests that were preempted are in it. `new_tokens` reads such an output as it is; the scheduler here is a small one of
the same names, so that the example runs without a GPU (docs/rl_step.md).
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import floptally

CONFIG = pathlib.Path(__file__).resolve().parent / "data" / "mistral-7b-v0.1.json"
#: Requests: (prompt, generated, tokens of the prompt that a prefix cache has).
REQUESTS = [(2000, 38, 0), (700, 120, 0), (2000, 60, 1984), (64, 200, 0)]


def new_tokens(scheduled: Any) -> list[tuple[int, int]]:
    """(n, past) of each request of one step, from vLLM's SchedulerOutput."""
    computed = {new.req_id: new.num_computed_tokens for new in scheduled.scheduled_new_reqs}
    known = scheduled.scheduled_cached_reqs
    computed.update(zip(known.req_ids, known.num_computed_tokens))
    return [(tokens, computed[request]) for request, tokens in scheduled.num_scheduled_tokens.items()]


@dataclass
class NewRequest:
    req_id: str
    num_computed_tokens: int


@dataclass
class CachedRequests:
    req_ids: list[str] = field(default_factory=list)
    num_computed_tokens: list[int] = field(default_factory=list)


@dataclass
class Scheduled:
    scheduled_new_reqs: list[NewRequest] = field(default_factory=list)
    scheduled_cached_reqs: CachedRequests = field(default_factory=CachedRequests)
    num_scheduled_tokens: dict[str, int] = field(default_factory=dict)


def schedule(requests: list[tuple[int, int, int]], max_num_batched_tokens: int = 1024) -> Iterator[Scheduled]:
    """Steps with a budget of tokens: requests that decode come first, prompts are cut into what is left."""
    computed: dict[str, int] = {}
    end = {str(i): prompt + max(generated - 1, 0) for i, (prompt, generated, _) in enumerate(requests)}
    while any(computed.get(name) != last for name, last in end.items()):
        step, budget = Scheduled(), max_num_batched_tokens
        for i, (prompt, _, cached) in enumerate(requests):
            name = str(i)
            done = computed.get(name, cached)
            tokens = min(1 if done >= prompt else prompt - done, budget, end[name] - done)
            if tokens == 0:
                continue
            if name in computed:
                step.scheduled_cached_reqs.req_ids.append(name)
                step.scheduled_cached_reqs.num_computed_tokens.append(done)
            else:
                step.scheduled_new_reqs.append(NewRequest(name, done))
            step.num_scheduled_tokens[name] = tokens
            computed[name] = done + tokens
            budget -= tokens
        yield step


def main() -> None:
    model = floptally.cost(CONFIG)
    plan = floptally.Plan(phase="forward", logits="last")
    tally, weights, cache, steps = floptally.Tally(model, plan=plan), 0, 0, 0
    for step in schedule(REQUESTS):
        batch = new_tokens(step)
        tally.add_new_tokens(batch)
        moved = model.bytes(new_tokens=batch, plan=plan).kinds
        weights, cache, steps = weights + moved["weights"], cache + moved["cache"], steps + 1
    work = model.flops(tally=tally, plan=plan)
    print(f"{steps} steps, {tally.tokens} tokens: {work.total} FLOPs")
    print(f"{weights / 1e12:.2f} TB of weights and {cache / 1e12:.3f} TB of cache read")
    requests = model.flops(requests=REQUESTS, plan=plan)
    print(f"the requests by themselves: {requests.total} FLOPs; the rest are logits of chunks of prompts")


if __name__ == "__main__":
    main()
