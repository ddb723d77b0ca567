// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>

/// @file
/// Conventions of one formula: a mask is a square, half of one, or not counted at all.

namespace floptally::conventions {

/// transformers' `Trainer`: `floating_point_ops`, 6 x tokens x `num_parameters(exclude_embeddings=True)`.
inline constexpr convention hf_6nd{
    .name = "hf_6nd"sv,
    .summary = "6 x tokens x stored parameters without embeddings (a tied lm_head is one); no attention"sv,
    .counted = stored_weights,
    .parameters = counted_weights::stored};

/// PaLM (arXiv:2204.02311, appendix B): 6N + 12LHQT a token, N all parameters.
inline constexpr convention palm{
    .name = "palm"sv,
    .summary = "(6N + 12LHQT) x tokens, N all parameters (a tied embedding once), attention as L²"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::embedding)
                   .with(term::position_embedding)
                   .with(term::norm)
                   .with(term::latent_norm)
                   .with(term::bias)};

/// nanoGPT `estimate_mfu`: PaLM's formula, N without position embeddings.
inline constexpr convention nanogpt{
    .name = "nanogpt"sv,
    .summary = "(6N + 12LHQT) x tokens, N without position embeddings, attention as L²"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = palm.counted.without(term::position_embedding)};

/// torchtitan before its 2026 fix: 6 x (parameters without the input embedding) + 12LHQT.
inline constexpr convention torchtitan{
    .name = "torchtitan"sv,
    .summary = "(6 x parameters without the input embedding + 12LHQT) x tokens, attention as L²"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::norm).with(term::latent_norm).with(term::bias)};

/// BioNeMo recipes' `PerfLogger`.
inline constexpr convention bionemo{.name = "bionemo"sv,
                                    .summary = "6 x matmul weights x tokens + attention as L²; no router"sv,
                                    .causal = causal_pairs::full_square,
                                    .windows = window_pairs::ignored,
                                    .counted = products.without(term::router)};

/// levanter `lm_flops_per_token`, three times.
inline constexpr convention levanter{.name = "levanter"sv,
                                     .summary = "every matmul and the softmax, every mask as L²"sv,
                                     .causal = causal_pairs::full_square,
                                     .windows = window_pairs::ignored,
                                     .counted = products.with(term::softmax)};

/// nanotron `get_flops`.
inline constexpr convention nanotron{.name = "nanotron"sv,
                                     .summary = "every matmul, every mask as L²"sv,
                                     .causal = causal_pairs::full_square,
                                     .windows = window_pairs::ignored};

/// The FlashAttention papers' rule: causal attention as half, its backward 2.5x.
inline constexpr convention flash_attention{
    .name = "flash_attention"sv,
    .summary = "causal attention as L²/2 and its backward 2.5x; windows ignored"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .backward = attention_backward::flash};

/// `torch.utils.flop_counter.FlopCounterMode` where a fused attention kernel runs.
inline constexpr convention torch_flop_counter{.name = "torch_flop_counter"sv,
                                               .summary = "every mask as L², attention backward 2.5x (fused kernel)"sv,
                                               .causal = causal_pairs::full_square,
                                               .windows = window_pairs::ignored,
                                               .backward = attention_backward::flash,
                                               .groups = grouped_gradient::all_channels};

/// `FlopCounterMode` over eager attention.
inline constexpr convention torch_flop_counter_eager{
    .name = "torch_flop_counter_eager"sv,
    .summary = "every mask as L², attention backward 2x (eager attention)"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .groups = grouped_gradient::all_channels};

}  // namespace floptally::conventions
