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
#include <floptally/hardware/precision_names.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>

/// @file
/// Reads the precisions of a step from text: `precision_settings_named("mlp=fp8,@1-6=fp8")`.

namespace floptally::inline v0_3 {

namespace detail {

[[nodiscard]] inline precision_setting precision_setting_of(std::string_view text,
                                                            const std::optional<std::string>& product,
                                                            const std::optional<double>& clock_mhz) {
    const auto fail = [text](std::string_view problem) { refuse("precisions", {problem, ", got \"", text, "\""}); };
    const std::size_t equals = text.rfind('=');
    if (equals == std::string_view::npos || equals == 0) {
        fail(
            "must be COMPONENT=PRECISION, @FIRST-LAST=PRECISION or COMPONENT@FIRST-LAST=PRECISION, such as "
            "mlp=fp8");
    }
    const std::string_view place = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    const std::size_t at = std::min(place.find('@'), place.size());
    precision_setting setting{.component = std::string(place.substr(0, at)), .precision = std::string(value)};
    if (at != place.size()) {
        setting.layers = layers_of_text(place.substr(at + 1));
        if (!setting.layers) {
            fail("layers must be N or FIRST-LAST, both included, as in @1-6=fp8");
        }
    }
    if (const auto peak = number_of_text<double>(value)) {
        require_possible_peak(*peak, "precisions");
        setting.peak_tflops = *peak;
    } else {
        const precision which = precision_named(value);
        if (!product) {
            fail(
                "the name of a precision needs an accelerator: pass one, or write the dense peak in TFLOP/s, as in "
                "mlp=1979");
        }
        const accelerator& part = accelerator_named(*product);
        setting.peak_tflops = clock_mhz ? part.boost_tflops(which, *clock_mhz) : part.peak_tflops(which);
    }
    return setting;
}

}  // namespace detail

/// Reads the precisions of a step from text: "mlp=fp8,@1-6=fp8,attention.core@0-3=494.5". The text before `=` names a
/// component, layers (both ends included) or a component in layers. The value after `=` is a precision of the
/// accelerator `product`, or a dense peak of one GPU in TFLOP/s. A precision stands for its peak at `clock_mhz`, or
/// for the peak of the datasheet if no clock is given.
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
