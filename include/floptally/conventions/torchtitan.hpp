// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/convention.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/term.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// torchtitan since its change 4300 (August 2026). What it counted before is `conventions::torchtitan`.

namespace floptally {

namespace torchtitan {

/// n·min(K, ⌊n/R⌋): every query by the compressed keys of the whole sequence, or by as many of them as are best.
struct compressed_box {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::int32_t every = 0x7FFF'FFFF;
    static constexpr std::string_view name = "compressed_box";
    static constexpr rule_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1, every, every}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t blocks = mask_rules::end_of(s) / static_cast<std::uint64_t>(ratio);
        const auto most = static_cast<std::uint64_t>(keys);
        return s.length * (blocks < most ? blocks : most);
    }
};

/// Squares, n·min(n, W) of a sliding window, and compressed keys by the box.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (attends.is<mask_rules::band>() && attends.as<mask_rules::band>().is_sliding_window()) {
        return rule(mask_rules::box{{attends.as<mask_rules::band>().left}});
    }
    if (attends.is<mask_rules::best_compressed_keys>()) {
        const auto best = attends.as<mask_rules::best_compressed_keys>();
        return rule(compressed_box{best.ratio, best.keys});
    }
    if (attends.is<mask_rules::compressed_keys>()) {
        return rule(compressed_box{attends.as<mask_rules::compressed_keys>().ratio, compressed_box::every});
    }
    return floptally::count_pairs(attends, how, model);
}

}  // namespace torchtitan

namespace conventions {

/// torchtitan's `get_nparams_and_flops` of each model since August 2026: 6 x active parameters, the attention of each
/// layer by its own window, an indexer as any other part; streams of hyper-connections are mixed for nothing.
inline constexpr convention torchtitan_2026{
    .name = "torchtitan_2026",
    .summary = "6 x active parameters without embeddings, norms too; attention as L², a window as L x min(L, W)",
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::norm)
                   .with(term::latent_norm)
                   .with(term::bias)
                   .without(term::state)
                   .without(term::teacher_scores),
    .indexer = indexer_backward::as_layers,
    .pairs = floptally::torchtitan::count_pairs};

}  // namespace conventions

}  // namespace floptally
