// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Fits the efficiency of a search to a step that was measured.

namespace floptally::inline v0_3 {

/// A measured step: the prediction with the measured time, and the efficiency of this prediction.
struct measured_step {
    layout_prediction predicted{};  ///< prediction whose `seconds` equal the measured seconds
    double efficiency = 0;          ///< fraction of the peak FLOP/s with which `layout_predictor` predicts the measured
                                    ///< time
};

/// Finds the efficiency with which the predictor gives the measured time of a layout, and sets it in the predictor.
/// Later predictions of the predictor use this efficiency. Throws `error` if no efficiency from 0.1 % to 100 % gives
/// the measured time.
[[nodiscard]] inline measured_step fit_efficiency(layout_predictor& predictor, const training_layout& layout,
                                                  double seconds) {
    detail::require_finite_positive(seconds, "seconds");
    const auto predicted = [&](double efficiency) {
        predictor.set_efficiency(efficiency);
        return predictor.predict(layout).seconds;
    };
    constexpr double least = 0.001;
    const auto refuse = [&](double bound, const char* side, const char* rate) {
        detail::refuse("seconds", {"is ", detail::general_decimal(seconds, 6), ", ", side, " the ",
                                   detail::general_decimal(bound, 6), " s of this layout with kernels at ", rate,
                                   " of the peak: check the layout, the batch, the precision and the network"});
    };
    if (const double bound = predicted(1); seconds < bound) {
        refuse(bound, "less than", "100 %");
    }
    if (const double bound = predicted(least); seconds > bound) {
        refuse(bound, "more than", "0.1 %");
    }
    double low = least;
    double high = 1;
    while (high - low > 1e-13) {
        const double middle = (low + high) / 2;
        (predicted(middle) > seconds ? low : high) = middle;
    }
    predictor.set_efficiency(high);
    measured_step measured{.predicted = predictor.predict(layout), .efficiency = high};
    measured.predicted.mfu *= measured.predicted.seconds / seconds;
    measured.predicted.seconds = seconds;
    return measured;
}

}  // namespace floptally
