# SPDX-License-Identifier: Apache-2.0
"""Tallies of all ranks, summed over torch.distributed, with the declared scope checked.

    total = floptally.distributed.all_reduce(tally)                     # data parallelism: every rank its own batch
    total = floptally.distributed.all_reduce(tally, scope="context_slice", layout=layout)

    sums = floptally.distributed.Reduction(cost, layout=layout)         # a training loop: once, on all ranks together
    total = sums(tally)                                                 # every step: one SUM of about 2 KB
    meter = floptally.Meter(cost, accelerator=name, reduce=sums)        # or: the meter does, as each step ends

A scope says, axis by axis, whether ranks hold the same of a statistic or each a part (docs/parallel.md). Words
travel with witnesses: a sum over a group that does not fit the scope, and ranks that count differently what they hold
alike, raise a `floptally.Error` on every rank of the group. Integers of 64 bits are summed, on the device that the
group's backend takes: with gloo on the CPU, with NCCL on the current GPU, whose result is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from . import Cost, Error, ExchangePlan, ParallelLayout, Plan, Scope, Tally, TallyReduction
from ._core import (
    _prepare_together,
    _require_held,
    _require_same_plan,
    reduce_extremes,
    reduce_ratio,
    reduce_sequences,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch
    from torch.distributed import ProcessGroup

    from ._types import Integers
    from ._words import ConventionName, ScopeName

__all__ = [
    "Extremes", "Reduction", "SequenceRatios", "TorchReducer", "all_reduce", "all_reduce_extremes", "all_reduce_ratio",
    "all_reduce_sequences", "exchange", "require_held",
]  # fmt: skip

Scopes = Mapping[str, "ScopeName | Scope"]
_SIGN = 1 << 63


class TorchReducer:
    """SUM and MAX of 64-bit words by the collectives of a process group, the default one where none is given.

    group: its ranks call alike.
    device: of the message; where it is not given, the device that the group's backend takes.
    """

    def __init__(self, group: ProcessGroup | None = None, device: torch.device | str | None = None) -> None:
        import torch
        import torch.distributed as dist

        _require_group()
        self.group = group
        if device is None:
            backend = dist.get_backend(group)
            device = torch.device("cuda", torch.cuda.current_device()) if "nccl" in backend else torch.device("cpu")
        self.device = torch.device(device)

    def sum(self, words: npt.NDArray[np.uint64]) -> None:
        """In place, modulo 2^64: a sum of signed words has the same bits."""
        from torch.distributed import ReduceOp

        self._all_reduce(words, ReduceOp.SUM)

    def max(self, words: npt.NDArray[np.uint64]) -> None:
        """In place, of unsigned words: with the sign bit turned, signed ones are in the same order."""
        import numpy as np
        from torch.distributed import ReduceOp

        words ^= np.uint64(_SIGN)
        self._all_reduce(words, ReduceOp.MAX)
        words ^= np.uint64(_SIGN)

    def _all_reduce(self, words: npt.NDArray[np.uint64], how: object) -> None:
        import numpy as np
        import torch
        import torch.distributed as dist

        message = torch.from_numpy(words.view(np.int64)).to(self.device)
        dist.all_reduce(message, op=cast("dist.ReduceOp", how), group=self.group)
        words[:] = message.cpu().numpy().view(np.uint64)


class Reduction:
    """The sum of tallies over the ranks of a group, step after step: one all-reduce each.

    like: the model, a `floptally.Cost`, or a tally of its masks. All ranks of the group make the object together: they
        compare masks, scope, layout, convention and floptally's version first, of a Cost also what it counts by `plan`,
        and all of them raise where one differs. Made before the process group is (a trainer makes it in `fit`), they do
        so when it is first called or asked for.
    layout: where this rank stands; by default all ranks of the job are data-parallel.
    scope: "microbatch" (lengths of whole sequences), "context_slice", "first_stage", "last_stage", "own_routers", or a
        `floptally.Scope`.
    other_scopes: of single statistics or of a tower's: {"routed": "own_routers", "vision": "first_stage"}.
    convention: the name of what the totals are evaluated in, which ranks compare. A Meter that is given the reduction must
        count by it.
    plan: of a Cost, where it is not its own. A Meter that is given the reduction must count by it.
    """

    def __init__(
        self,
        like: Tally | Cost,
        *,
        group: ProcessGroup | None = None,
        layout: ParallelLayout | None = None,
        scope: ScopeName | Scope = "microbatch",
        other_scopes: Scopes | None = None,
        convention: ConventionName = "exact",
        plan: Plan | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        import torch.distributed as dist

        self.convention = convention
        self.plan = plan
        self.cost = like if isinstance(like, Cost) else None
        self._like = like if isinstance(like, Cost) else like.copy()
        self._scopes: tuple[ScopeName | Scope, dict[str, ScopeName | Scope]] = (scope, dict(other_scopes or {}))
        self._group, self._device = group, device
        self._layout = layout
        self._made: tuple[TorchReducer, TallyReduction] | None = None
        if dist.is_available() and dist.is_initialized():
            self._make()

    def _make(self) -> tuple[TorchReducer, TallyReduction]:
        if self._made is None:
            reducer = TorchReducer(self._group, self._device)
            scope, others = self._scopes
            reduction = TallyReduction(
                self._like,
                scope=scope,
                layout=self.layout,
                reducer=reducer,
                convention=self.convention,
                other_scopes=others,
                plan=self.plan,
            )
            self._made = reducer, reduction
        return self._made

    @property
    def layout(self) -> ParallelLayout:
        """Where this rank stands."""
        if self._layout is None:
            _require_group()
            self._layout = _layout_or_all_dp(None)
        return self._layout

    @property
    def reducer(self) -> TorchReducer:
        """The collectives of the group."""
        return self._make()[0]

    def __call__(self, mine: Tally, *, visits: tuple[int, int] | None = None) -> Tally:
        """The tally of all ranks: the same words on every rank. A rank without sequences takes part like any other.

        visits: microbatches that ran on this rank, and how often lengths were added; needed under virtual stages.
        """
        reducer, reduction = self._make()
        return reduction.sum(mine, reducer=reducer, visits=visits)


def all_reduce(
    tally: Tally,
    group: ProcessGroup | None = None,
    scope: ScopeName | Scope = "microbatch",
    *,
    layout: ParallelLayout | None = None,
    other_scopes: Scopes | None = None,
    visits: tuple[int, int] | None = None,
    device: torch.device | str | None = None,
) -> Tally:
    """The tally of all ranks, once: a MAX that compares how ranks are configured, and a SUM. See `Reduction`. A tally has
    no convention, so that none is compared."""
    reducer = TorchReducer(group, device)
    reduction = TallyReduction(
        tally,
        scope=scope,
        layout=_layout_or_all_dp(layout),
        reducer=reducer,
        convention=None,
        other_scopes=dict(other_scopes or {}),
    )
    return reduction.sum(tally, reducer=reducer, visits=visits)


def all_reduce_ratio(
    numerator: int,
    denominator: int,
    group: ProcessGroup | None = None,
    scope: ScopeName | Scope = "microbatch",
    *,
    layout: ParallelLayout | None = None,
) -> tuple[int, int]:
    """Numerator and denominator of all ranks: a mean of their ratios would weigh an empty slice as a full one."""
    return reduce_ratio(
        numerator, denominator, scope=scope, layout=_layout_or_all_dp(layout), reducer=TorchReducer(group)
    )


class SequenceRatios(NamedTuple):
    """How many sequences have a ratio, how many have no token that counts, and mean, least and largest of the ratios; None
    where there are none."""

    sequences: int
    empty: int
    mean: float | None
    least: float | None
    largest: float | None


class _OneRank:
    """The group of one rank."""

    def sum(self, words: npt.NDArray[np.uint64]) -> None:
        pass

    def max(self, words: npt.NDArray[np.uint64]) -> None:
        pass


def all_reduce_sequences(
    numerators: Sequence[float],
    denominators: Sequence[int],
    *,
    layout: ParallelLayout,
    within: ProcessGroup | None = None,
    over_dp: ProcessGroup | None = None,
    scope: ScopeName | Scope = "context_slice",
    of: Callable[[float], float] | None = None,
    denominator_scope: ScopeName | Scope | None = None,
    different_scopes: bool = False,
) -> SequenceRatios:
    """Ratios of ratios, as the perplexity of sequences that context parallelism cuts.

    Each rank gives a numerator and a denominator for every sequence of its replica, in the same order, 0 over 0 where its
    slice has no token. They are added over the ranks that share the sequence, in the order of ranks, and then divided;
    `of`, exp(-x) for perplexity, is of the quotient. Mean, least and largest are over the sequences of all replicas.

    within: the group of this rank over cp, tp and pp. over_dp: that over dp. A group of one rank may be left out.
    denominator_scope: where it is not `scope`; that is an error unless different_scopes says that it is meant.
    """
    return SequenceRatios(
        *reduce_sequences(
            numerators,
            denominators,
            scope=scope,
            layout=layout,
            within=_OneRank() if within is None else TorchReducer(within),
            over_dp=_OneRank() if over_dp is None else TorchReducer(over_dp),
            of=of,
            denominator_scope=denominator_scope,
            different_scopes=different_scopes,
        )
    )


class Extremes(NamedTuple):
    """How many values all ranks have together, the least and the largest; None where they have none."""

    values: int
    least: int | None
    largest: int | None


def all_reduce_extremes(
    values: Iterable[int],
    group: ProcessGroup | None = None,
    scope: ScopeName | Scope = "microbatch",
    *,
    layout: ParallelLayout | None = None,
) -> Extremes:
    """Count, least and largest of the integers of all ranks, of which some may have none."""
    return Extremes(
        *reduce_extremes(values, scope=scope, layout=_layout_or_all_dp(layout), reducer=TorchReducer(group))
    )


def require_held(
    tokens: Integers,
    group: ProcessGroup | None = None,
    scope: ScopeName | Scope = "microbatch",
    *,
    layout: ParallelLayout | None = None,
) -> None:
    """Raises on all ranks where some that the scope calls replicated hold different tokens, or some that it calls sharded
    the same ones: once, before the first step. `tokens`: the ids that this rank runs, without padding."""
    _require_held(tokens, scope=scope, layout=_layout_or_all_dp(layout), reducer=TorchReducer(group))


def exchange(
    plan: ExchangePlan,
    samples: Mapping[int, torch.Tensor],
    *,
    microbatch: int = 0,
    group: ProcessGroup | None = None,
    dtype: torch.dtype | None = None,
    check_plan: bool = True,
) -> dict[int, torch.Tensor]:
    """Moves the samples of a microbatch to the ranks that need them, by one all-to-all, and returns those of this rank, by
    index, as tensors of one dimension.

    samples: those that this rank owns, by index, contiguous, all of one dtype and on one device: that of the group's
        backend. What a rank alone finds wrong raises on all of them, before anything is sent.
    dtype: of what is received, for a rank that owns no sample.
    check_plan: compares the plan over the ranks first, by one MAX; a loop that makes it of numbers that were gathered may
        leave that out.
    """
    import torch
    import torch.distributed as dist

    reducer = TorchReducer(group)
    if check_plan:
        _require_same_plan(plan, reducer)
    rank = dist.get_rank(group)
    made: list[tuple[torch.Tensor, torch.Tensor, torch.dtype, list[int], list[int]]] = []

    def prepare() -> None:
        if plan.ranks != dist.get_world_size(group):
            raise Error("ranks", f"must be those of the group, {dist.get_world_size(group)}, got {plan.ranks}")
        how = plan.for_rank(rank, microbatch)
        kinds = {tensor.dtype for tensor in samples.values()} | ({dtype} if dtype is not None else set())
        if len(kinds) > 1:
            raise Error("samples", f"must be of one dtype, got {sorted(map(str, kinds))}")
        places = {tensor.device for tensor in samples.values()}
        if len(places) > 1:
            raise Error("samples", f"must be on one device, got {sorted(map(str, places))}")
        kind = next(iter(kinds), torch.uint8)
        device = next(iter(places), reducer.device)
        send = torch.zeros(how.send.bytes, dtype=torch.uint8, device=device)
        for sample, offset, size in zip(how.send.samples.tolist(), how.send.offsets.tolist(), how.send.sizes.tolist()):
            if sample not in samples:
                raise Error(f"samples[{sample}]", f"is owned by rank {rank} and was not given")
            flat = samples[sample].detach().contiguous().view(-1).view(torch.uint8)
            if flat.numel() != size:
                raise Error(f"samples[{sample}]", f"must have the {size} bytes of the plan, got {flat.numel()}")
            send[offset : offset + size] = flat
        receive = torch.empty(how.receive.bytes, dtype=torch.uint8, device=device)
        made.append((send, receive, kind, how.send.counts.tolist(), how.receive.counts.tolist()))

    _prepare_together(prepare, rank=rank, reducer=reducer)
    send, receive, kind, sent, received = made[0]
    dist.all_to_all_single(receive, send, received, sent, group=group)
    into = plan.for_rank(rank, microbatch).receive
    return {
        sample: receive[offset : offset + size].view(kind)
        for sample, offset, size in zip(into.samples.tolist(), into.offsets.tolist(), into.sizes.tolist())
    }


def _require_group() -> None:
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError("torch.distributed: is not initialized: call init_process_group first, or give a layout")


def _layout_or_all_dp(layout: ParallelLayout | None) -> ParallelLayout:
    if layout is not None:
        return layout
    import torch.distributed as dist

    return ParallelLayout(rank=dist.get_rank(), dp=dist.get_world_size())
