# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._cost import cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._types import ConfigLike, Flags, Grids, HstuSequences, Integers, NewTokens, PageLike


def flops(
    config: ConfigLike,
    *,
    lengths: Integers | None = None,
    row_length: int | None = None,
    encoder_lengths: Integers | None = None,
    cu_seqlens: Integers | None = None,
    cu_seqlens_padded: Integers | None = None,
    cu_seqlens_real: Integers | None = None,
    num_real_seqs: int | None = None,
    attention_mask: Flags | None = None,
    new_tokens: NewTokens | None = None,
    sequences: HstuSequences | None = None,
    grid_thw: Grids | None = None,
    images: int | None = None,
    audio_frames: Integers | None = None,
    routed: tuple[int, int] | None = None,
    measured: dict[str, int | tuple[int, int]] | None = None,
    tally: _core.Tally | None = None,
    convention: str | _core.Convention = "exact",
    plan: _core.Plan | None = None,
    mla: str = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    page: PageLike | Sequence[PageLike] | None = None,
    strict: bool = False,
) -> _core.Breakdown:
    """FLOPs of one batch: component x phase x view, as exact ints.

    Everything that is given of the batch is added up. To count every step, keep the cost:
    ``model = floptally.cost(config)``, then ``model.flops(lengths=...)`` with the same keywords.

    Args:
        config: what ``floptally.cost`` takes, or a ``Cost``.
        lengths: [n] tokens of each sequence; of an encoder-decoder, of its decoder.
        row_length: with ``lengths``: tokens that each row of a BSHD batch is padded to.
        encoder_lengths: [n] tokens on the encoder's side of each of ``lengths``.
        cu_seqlens: [n + 1] boundaries of a packed row: 0, L1, L1 + L2, ...
        cu_seqlens_padded: [n + 1] boundaries of the slots that kernels process.
        cu_seqlens_real: [m + 1] boundaries of the real sequences alone, where ``cu_seqlens`` has mock sequences after them.
        num_real_seqs: sequences after these are mock sequences: padded, not useful.
        attention_mask: [batch, tokens] of 0 and 1: ones are useful, the shape is padded.
        new_tokens: (n, past) of each sequence: n new tokens after past cached ones.
        sequences: (contextual, history, targets[, group]) of each sequence of an HSTU model.
        grid_thw: [n, 3] frames, rows and columns of patches, before merging, of each image or clip.
        images: how many images of the fixed size that the config states.
        audio_frames: [n] frames of each clip that enters an audio tower.
        routed: (useful, padded) visits of tokens to experts over all layers, as measured.
        measured: {name: useful} or {name: (useful, padded)} of the words Mask.measured(name) that the cost has.
        tally: a batch that was counted before.
        convention: a name, or one of ``floptally.conventions()``.
        plan: what runs and what trains; a step that trains everything where it is not given.
        mla: core of latent attention, "expanded" or "absorbed".
        mtp: layers of multi-token prediction that are trained.
        padded_vocab_size: of the lm_head as kernels run it; 0 is as the config says.
        page: how the config of a model that is not known is read: the path or the text of a page, or several.
        strict: a key that looks like structure and that nothing reads is an error, not a note.

    Raises:
        floptally.Error: bad input, with the name of the field; a ``ValueError``.
    """
    return cost(config, mla=mla, mtp=mtp, padded_vocab_size=padded_vocab_size, page=page, strict=strict).flops(
        convention=convention,
        plan=plan,
        lengths=lengths,
        row_length=row_length,
        encoder_lengths=encoder_lengths,
        cu_seqlens=cu_seqlens,
        cu_seqlens_padded=cu_seqlens_padded,
        cu_seqlens_real=cu_seqlens_real,
        num_real_seqs=num_real_seqs,
        attention_mask=attention_mask,
        new_tokens=new_tokens,
        sequences=sequences,
        grid_thw=grid_thw,
        images=images,
        audio_frames=audio_frames,
        routed=routed,
        measured=measured,
        tally=tally,
    )
