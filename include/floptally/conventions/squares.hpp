// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/convention.hpp>
#include <floptally/model/term.hpp>

/// @file
/// Counters that take every causal mask, or all of them, for a square or half of one.

namespace floptally {

namespace conventions {

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
                                               .backward = attention_backward::flash};

/// The same counter over eager attention.
inline constexpr convention torch_flop_counter_eager{
    .name = "torch_flop_counter_eager"sv,
    .summary = "every mask as L², attention backward 2x (eager attention)"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored};

}  // namespace conventions

}  // namespace floptally
