// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/convention.hpp>
#include <floptally/model/term.hpp>

/// @file
/// Counters that are a number of parameters times tokens, some with attention besides.

namespace floptally {

namespace conventions {

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

}  // namespace conventions

}  // namespace floptally
