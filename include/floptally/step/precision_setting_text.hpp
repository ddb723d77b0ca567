// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/weight_setting_text.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/hardware/precision_words.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>

/// @file
/// `precision_settings_named("mlp=fp8,@1-6=fp8")`: the precisions of a step from their text.

namespace floptally {

namespace detail {

[[nodiscard]] inline precision_setting precision_setting_of(std::string_view text,
                                                            const std::optional<std::string>& product,
                                                            const std::optional<double>& clock_mhz) {
    const auto fail = [text](std::string_view problem) { refuse("precisions", {problem, ", got \"", text, "\""}); };
    const std::size_t equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0) {
        fail("must be COMPONENT=PRECISION, @FIRST-LAST=PRECISION or COMPONENT@FIRST-LAST=PRECISION, apart by commas");
    }
    const std::string_view what = text.substr(0, equals);
    const std::string_view in = text.substr(equals + 1);
    const std::size_t at = std::min(what.find('@'), what.size());
    precision_setting setting{.component = std::string(what.substr(0, at)), .precision = std::string(in)};
    if (at != what.size()) {
        setting.layers = layers_of_text(what.substr(at + 1));
        if (!setting.layers) {
            fail("layers must be FIRST-LAST, both included");
        }
    }
    if (const auto peak = number_of_text<double>(in)) {
        require_possible_peak(*peak, "precisions");
        setting.peak_tflops = *peak;
    } else {
        const precision which = precision_named(in);
        if (!product) {
            fail("a precision by name needs an accelerator; give its dense peak in TFLOP/s instead");
        }
        const accelerator& part = accelerator_named(*product);
        setting.peak_tflops = clock_mhz ? part.boost_tflops(which, *clock_mhz) : part.peak_tflops(which);
    }
    return setting;
}

}  // namespace detail

/// The precisions of a step from their text, "mlp=fp8,@1-6=fp8,attention.core@0-3=494.5": a component, layers (both
/// ends included) or a component of layers, and a precision of the accelerator, at its datasheet's clock or the one
/// that is given, or a dense peak of one GPU in TFLOP/s.
[[nodiscard]] inline std::vector<precision_setting> precision_settings_named(
    std::string_view text, const std::optional<std::string>& product,
    const std::optional<double>& clock_mhz = std::nullopt) {
    std::vector<precision_setting> settings;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(',', first), text.size());
        settings.push_back(detail::precision_setting_of(text.substr(first, end - first), product, clock_mhz));
        first = end + 1;
    }
    return settings;
}

}  // namespace floptally
