// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <floptally/bytes/byte_report.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/report.hpp>
#include <floptally/text/table.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/waterfall.hpp>

/// @file
/// JSON and tables, in a unit of their own: they are most of what the extension costs to compile.

namespace floptally::detail::python {

/// Measured times of components, and the step's seconds where they say them.
struct measured_components {
    std::optional<double> seconds{};
    std::vector<timed_part> times{};
};

[[nodiscard]] std::string report_json(const report& made);
[[nodiscard]] std::string report_table(const report& made);
/// A table as floptally/_html.py sets it.
[[nodiscard]] std::string table_json(const table& made);
[[nodiscard]] std::string waterfall_json(const waterfall& made);
[[nodiscard]] std::string bytes_json(const byte_report& made);
[[nodiscard]] std::string bytes_table(const byte_report& made);
[[nodiscard]] std::string components_json(const component_waterfall& made);
[[nodiscard]] std::string component_times_json(const measured_components& times);
[[nodiscard]] measured_components read_component_times(const std::string& json);
[[nodiscard]] trace load_trace(const std::string& path);
[[nodiscard]] std::string meter_json(const meter& kept);
void resume_meter(meter& kept, const std::string& state);

/// A JSON object as Python's dict.
[[nodiscard]] pybind11::dict json_object(const std::string& text);

}  // namespace floptally::detail::python
