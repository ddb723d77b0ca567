// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/rules/counter_rules.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/rule.hpp>

/// @file
/// The convention of recsys-examples.

namespace floptally {

namespace recsys_examples {

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
