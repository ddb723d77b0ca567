# SPDX-License-Identifier: Apache-2.0
"""Sums tallies over the ranks of torch.distributed, and checks that the ranks hold the sequences that a scope says.

    total = floptally.distributed.all_reduce(tally)                     # data parallelism: every rank its own batch
    total = floptally.distributed.all_reduce(tally, scope="context_slice", layout=layout)

    sums = floptally.distributed.Reduction(cost, layout=layout)         # a training loop: once, on all ranks
    total = sums(tally)                                                 # every step: one SUM of about 2 KB
    meter = floptally.Meter(cost, accelerator=name, reduce=sums)        # or: the meter does, as each step ends

A scope says, axis by axis, whether ranks hold the same sequences or different parts (docs/parallel.md). The all-reduce
of a tally's sums also carries integers that check the scope. All ranks of the group raise a `floptally.Error` if the
scope does not fit the group, or if ranks that should hold the same sequences have different counts. Sums are of 64-bit
integers, on the CPU with gloo and on the current GPU with NCCL. The call waits for NCCL's result.
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
    from ._literals import ConventionName, ScopeName

__all__ = [
    "Extremes", "Reduction", "SequenceRatios", "TorchReducer", "all_reduce", "all_reduce_extremes", "all_reduce_ratio",
    "all_reduce_sequences", "exchange", "require_held",
]  # fmt: skip

Scopes = Mapping[str, "ScopeName | Scope"]
_SIGN = 1 << 63


class TorchReducer:
    """SUM and MAX all-reduces of 64-bit integers over a process group of torch.distributed, by default its default
    group.

    group: the process group. All its ranks must make the same calls.
    device: the device that the integers are sent from; by default one that the group's backend supports.
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

    def sum(self, integers: npt.NDArray[np.uint64]) -> None:
        """Replaces each integer by its sum over all ranks, modulo 2^64. Sums of signed integers have the same bits."""
        from torch.distributed import ReduceOp

        self._all_reduce(integers, ReduceOp.SUM)

    def max(self, integers: npt.NDArray[np.uint64]) -> None:
        """Replaces each unsigned integer by its largest value over all ranks. The process group compares signed
        integers, so the sign bit is flipped before and after."""
        import numpy as np
        from torch.distributed import ReduceOp

        integers ^= np.uint64(_SIGN)
        self._all_reduce(integers, ReduceOp.MAX)
        integers ^= np.uint64(_SIGN)

    def _all_reduce(self, integers: npt.NDArray[np.uint64], how: object) -> None:
        import numpy as np
        import torch
        import torch.distributed as dist

        message = torch.from_numpy(integers.view(np.int64)).to(self.device)
        dist.all_reduce(message, op=cast("dist.ReduceOp", how), group=self.group)
        integers[:] = message.cpu().numpy().view(np.uint64)


class Reduction:
    """Sums a tally over the ranks of a group in every step, by one all-reduce. Pass it to a `Meter` as `reduce=`.

    All ranks of the group construct it together. The ranks compare masks, scope, layout, convention and floptally's
    version, and for a Cost the FLOPs that it counts by `plan`. If any of these differs, all ranks raise an Error. If no
    process group exists yet (a trainer may create it in `fit`), they compare when the object is first used.

    like: the model's `floptally.Cost`, or a tally with its masks.
    layout: the ParallelLayout of this rank. By default all ranks of the job are data-parallel.
    scope: "microbatch" (lengths of whole sequences), "context_slice", "first_stage", "last_stage", "own_routers",
        or a `floptally.Scope`.
    other_scopes: scopes of single statistics or of a tower: {"routed": "own_routers", "vision": "first_stage"}.
    convention: the convention of the totals. Ranks compare it. A Meter with this reduction must count by the same
        convention.
    plan: the plan that a Cost in `like` is counted by, if it is not the cost's own. A Meter with this reduction must
        count by the same plan.
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

    def planned(self, plan: Plan) -> Reduction:
        """Returns a new reduction of the same group that counts by another plan. All ranks must call it together."""
        scope, others = self._scopes
        return Reduction(
            self._like, group=self._group, layout=self._layout, scope=scope, other_scopes=others, convention=self.convention,
            plan=plan if self.cost is not None else None, device=self._device,
        )  # fmt: skip

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
        """The parallel layout of the job, with the coordinates of this rank."""
        if self._layout is None:
            _require_group()
            self._layout = _layout_or_all_dp(None)
        return self._layout

    @property
    def reducer(self) -> TorchReducer:
        """The TorchReducer that runs the all-reduces of the group."""
        return self._make()[0]

    def __call__(self, mine: Tally, *, visits: tuple[int, int] | None = None) -> Tally:
        """Returns the sum of the tallies of all ranks. Every rank gets the same integers. A rank without sequences must
        call it too.

        visits: (how many microbatches ran on this rank, how often lengths were added to the tally). Needed with virtual
            pipeline stages.
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
    """Returns the sum of a tally over all ranks. One MAX all-reduce checks that the ranks count by the same masks,
    scope and layout; one SUM all-reduce adds the tallies. In a training loop use `Reduction`, which checks only once. A
    tally has no convention, so conventions are not compared."""
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
    """Returns (numerator, denominator), each summed over all ranks. Their quotient is exact. A mean of the ranks' own
    ratios is not, because it weights all ranks equally."""
    return reduce_ratio(
        numerator, denominator, scope=scope, layout=_layout_or_all_dp(layout), reducer=TorchReducer(group)
    )


class SequenceRatios(NamedTuple):
    """Statistics of a ratio, such as perplexity, over sequences. They are the number of sequences with a ratio, the
    number without a counted token, and the mean, smallest and largest ratio. The last three are None if no sequence has
    a ratio."""

    sequences: int
    empty: int
    mean: float | None
    least: float | None
    largest: float | None


class _OneRank:
    """Stands for a group that has one rank, so that a reduction leaves its integers unchanged."""

    def sum(self, integers: npt.NDArray[np.uint64]) -> None:
        pass

    def max(self, integers: npt.NDArray[np.uint64]) -> None:
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
    """Returns statistics of a ratio that each sequence has, such as its perplexity, over the sequences of all ranks.
    Context parallelism may have split the sequences over ranks.

    Each rank passes a numerator and a denominator for every sequence of its replica, in the same order. Pass 0 over 0
    if the rank's slice of the sequence has no token. Numerators and denominators are added over the ranks that share
    the sequence, in rank order, and then divided. Mean, smallest and largest are over the sequences of all replicas.

    of: a function that is applied to each ratio, such as exp(-x) for perplexity. None: the ratio itself.
    within: the group of this rank over cp, tp and pp. over_dp: the group of this rank over dp. A group of one rank may
        be left out.
    denominator_scope: the denominators' scope, if it is not `scope`. A different scope raises an Error unless
        different_scopes=True.
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
    """Number, smallest and largest of the values of all ranks. Smallest and largest are None if there are no values."""

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
    """Returns the number, the smallest and the largest of the integers of all ranks. Ranks without values must call it
    too."""
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
    """Checks which token ids the ranks hold, and raises an Error on all ranks if they contradict `scope`. Ranks that
    the scope calls replicated must hold the same tokens, sharded ranks different ones. Call it once, before the first
    step. tokens: the ids that this rank runs, without padding."""
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
    """Moves the samples of a microbatch to the ranks that need them, by one all-to-all. Returns this rank's samples by
    index, as tensors of one dimension.

    samples: the samples that this rank owns, by index: contiguous, of one dtype, on the device of the group's
        backend. An error on one rank is raised on all of them before anything is sent.
    dtype: the dtype to receive, for a rank that owns no sample.
    check_plan: True first compares the plans of all ranks, by one MAX all-reduce. Pass False if each rank computes the
        plan from the same gathered numbers.
    """
    import torch
    import torch.distributed as dist

    reducer = TorchReducer(group)
    if check_plan:
        _require_same_plan(plan, reducer)
    rank = dist.get_rank(group)
    buffers: list[tuple[torch.Tensor, torch.Tensor, torch.dtype, list[int], list[int]]] = []

    def prepare() -> None:
        if plan.ranks != dist.get_world_size(group):
            raise Error("ranks", f"must be the size of the group, {dist.get_world_size(group)}, got {plan.ranks}")
        how = plan.for_rank(rank, microbatch)
        kinds = {tensor.dtype for tensor in samples.values()} | ({dtype} if dtype is not None else set())
        if len(kinds) > 1:
            raise Error("samples", f"must all have the same dtype, got {sorted(map(str, kinds))}")
        places = {tensor.device for tensor in samples.values()}
        if len(places) > 1:
            raise Error("samples", f"must all be on the same device, got {sorted(map(str, places))}")
        kind = next(iter(kinds), torch.uint8)
        device = next(iter(places), reducer.device)
        send = torch.zeros(how.send.bytes, dtype=torch.uint8, device=device)
        for sample, offset, size in zip(how.send.samples.tolist(), how.send.offsets.tolist(), how.send.sizes.tolist()):
            if sample not in samples:
                raise Error(f"samples[{sample}]", f"is missing: rank {rank} must pass it, since it has this sample")
            flat = samples[sample].detach().contiguous().view(-1).view(torch.uint8)
            if flat.numel() != size:
                raise Error(f"samples[{sample}]", f"must have {size} bytes, as the plan says, got {flat.numel()}")
            send[offset : offset + size] = flat
        receive = torch.empty(how.receive.bytes, dtype=torch.uint8, device=device)
        buffers.append((send, receive, kind, how.send.counts.tolist(), how.receive.counts.tolist()))

    _prepare_together(prepare, rank=rank, reducer=reducer)
    send, receive, kind, sent, received = buffers[0]
    dist.all_to_all_single(receive, send, received, sent, group=group)
    into = plan.for_rank(rank, microbatch).receive
    return {
        sample: receive[offset : offset + size].view(kind)
        for sample, offset, size in zip(into.samples.tolist(), into.offsets.tolist(), into.sizes.tolist())
    }


def _require_group() -> None:
    import torch.distributed as dist

    if not dist.is_available() or not dist.is_initialized():
        raise RuntimeError("torch.distributed: is not initialized: call init_process_group first, or pass a layout")


def _layout_or_all_dp(layout: ParallelLayout | None) -> ParallelLayout:
    if layout is not None:
        return layout
    import torch.distributed as dist

    return ParallelLayout(rank=dist.get_rank(), dp=dist.get_world_size())
