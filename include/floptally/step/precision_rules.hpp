// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <floptally/accelerators.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/index_range.hpp>
#include <floptally/step/mixed_precision.hpp>

namespace floptally {

namespace detail {

/// All of `text` as a number, else nothing.
template <class Number>
[[nodiscard]] std::optional<Number> whole_number(std::string_view text) {
    Number value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

[[nodiscard]] inline precision_rule precision_rule_of(std::string_view text,
                                                      const std::optional<std::string>& product) {
    const auto fail = [text](const std::string& problem) {
        throw error("precisions", problem + ", got \"" + std::string(text) + "\"");
    };
    const std::size_t equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0) {
        fail("must be COMPONENT=PRECISION, @FIRST-LAST=PRECISION or COMPONENT@FIRST-LAST=PRECISION, apart by commas");
    }
    const std::string_view what = text.substr(0, equals);
    const std::string_view in = text.substr(equals + 1);
    const std::size_t at = std::min(what.find('@'), what.size());
    precision_rule rule{.component = std::string(what.substr(0, at)), .precision = std::string(in)};
    if (at != what.size()) {
        const std::string_view range = what.substr(at + 1);
        const std::size_t dash = std::min(range.find('-'), range.size());
        const auto first = whole_number<std::uint64_t>(range.substr(0, dash));
        const auto last = dash == range.size() ? first : whole_number<std::uint64_t>(range.substr(dash + 1));
        if (!first || !last || *last < *first || *last == ~std::uint64_t{0}) {
            fail("layers must be FIRST-LAST, both included");
        }
        rule.layers = index_range{*first, *last + 1};
    }
    if (const auto peak = whole_number<double>(in)) {
        rule.peak_tflops = *peak;
    } else {
        const precision which = precision_named(in);
        if (!product) {
            fail("a precision by name needs an accelerator; give its dense peak in TFLOP/s instead");
        }
        rule.peak_tflops = accelerator_named(*product).peak_tflops(which);
    }
    return rule;
}

}  // namespace detail

/// Rules of precision from their text, "mlp=fp8,@1-6=fp8,attention.core@0-3=494.5": a component, layers (both ends
/// included) or a component of layers, and a precision of the accelerator or a dense peak of one GPU in TFLOP/s.
[[nodiscard]] inline std::vector<precision_rule> precision_rules(std::string_view text,
                                                                 const std::optional<std::string>& product) {
    std::vector<precision_rule> rules;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(',', first), text.size());
        rules.push_back(detail::precision_rule_of(text.substr(first, end - first), product));
        first = end + 1;
    }
    return rules;
}

}  // namespace floptally
