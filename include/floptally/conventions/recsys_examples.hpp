// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/convention.hpp>
#include <floptally/detail/hstu_pairs.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/term.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/hstu_rules.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>

/// @file
/// recsys-examples.

namespace floptally {

namespace recsys_examples {

/// The squares of the history: twice the pairs of its triangle, without half of the diagonal.
struct history_squares {
    std::int32_t flags;  ///< of an unlimited mask, as `detail::hstu_flags` has them

    static constexpr std::string_view name = "hstu_history_squares"sv;
    static constexpr rule_parameter parameters[] = {{"flags", 0, 3, 0}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_history_squares(s, static_cast<std::uint8_t>(flags));
    }
};

/// All pairs that have no triangle: those but of history with history, where a target sees only itself of its group.
struct other_pairs {
    std::int32_t flags;  ///< of an unlimited mask, as `detail::hstu_flags` has them

    static constexpr std::string_view name = "hstu_other_pairs"sv;
    static constexpr rule_parameter parameters[] = {{"flags", 0, 3, 0}};
    static constexpr bool frames_are_sequences = false;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::hstu_other_pairs(s, static_cast<std::uint8_t>(flags));
    }
};

/// Windows are ignored, the triangle of the history is h²/2, and of its group a target sees itself only.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model) {
    if (!attends.is<mask_rules::hstu>()) {
        return floptally::count_pairs(attends, how, model);
    }
    const mask_rules::hstu mask = attends.as<mask_rules::hstu>();
    const std::int32_t flags = detail::unlimited_flags(static_cast<std::uint8_t>(mask.flags));
    counted_statistics counted;
    if (!mask.has(detail::hstu_bidirectional)) {
        counted.also(history_squares{flags}, 2);
    }
    return counted.also(other_pairs{flags});
}

}  // namespace recsys_examples

namespace conventions {

/// recsys-examples `cal_hstu_flops`.
inline constexpr convention recsys_examples{
    .name = "recsys_examples"sv,
    .summary = "HSTU layers only, with gate and residual; history as h²/2, attention backward 2.5x; windows ignored"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .backward = attention_backward::flash,
    .counted = products.without(term::preprocessing).without(term::lm_head).with(term::gating).with(term::residual),
    .pairs = floptally::recsys_examples::count_pairs};

}  // namespace conventions

}  // namespace floptally
