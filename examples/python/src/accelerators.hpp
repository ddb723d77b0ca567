// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/step/mixed_precision.hpp>

#include "binding.hpp"

namespace floptally::detail::python {

[[nodiscard]] std::optional<double> to_clock_mhz(py::handle clock_mhz);

/// The name of an Accelerator, or a name; none where it is None.
[[nodiscard]] std::optional<std::string> to_product(py::handle part);

/// The peak of an accelerator in a precision, at a clock where there is one, or the one that is given.
[[nodiscard]] chosen_peak to_peak(py::handle part, py::handle peak_tflops, py::handle used,
                                  const std::optional<std::string>& kind, py::handle clock_mhz);
/// What runs in other precisions than the rest, by the peaks of a product ("" where there is none) at its clock.
[[nodiscard]] std::optional<std::vector<precision_setting>> precisions_of(py::handle precisions,
                                                                          const std::string& product,
                                                                          py::handle clock_mhz);

/// By the arguments of those names.
[[nodiscard]] chosen_peak peak_of(const arguments& given);

/// Says a text, where there is one, as a warning: once at each place.
void warn(const std::string& text);

/// An MFU above 100 % is a wrong time, a wrong number of GPUs or a wrong peak.
void warn_above_peak(double mfu);
/// The same of one that is far too small as well.
void warn_if_absurd(double mfu, counted_passes counted);

}  // namespace floptally::detail::python
