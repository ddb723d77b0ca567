// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <floptally/bytes/byte_report.hpp>
#include <floptally/flops.hpp>
#include <floptally/meter.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/waterfall.hpp>

namespace floptally {

/// Measured times of components, and the step's seconds where they say them.
struct measured_components {
    std::optional<double> seconds{};
    std::vector<timed_part> times{};
};

/// What the module needs of the other adapters (JSON, tables, the program), which `python.hpp` must not include: the
/// unit of the extension that includes them gives these functions.
struct python_services {
    std::function<model_config(const std::string& json, const read_options&)> read_config;
    std::function<model_config(const std::string& path, const read_options&)> load_config;
    std::function<std::vector<std::string>()> known_model_types;
    std::function<std::string(const report&)> to_json;
    std::function<std::string(const report&)> to_table;
    std::function<std::string(flops)> readable;  ///< "421.65 TFLOP"
    std::function<std::string(const waterfall&)> waterfall_json;
    std::function<std::string(const byte_report&)> bytes_json;
    std::function<std::string(const byte_report&)> bytes_table;
    std::function<std::string(const component_waterfall&)> components_json;
    std::function<measured_components(const std::string& json)> read_component_times;
    std::function<trace(const std::string& path)> load_trace;
    std::function<std::string(const meter&)> save_meter;
    std::function<void(meter&, const std::string& state)> resume_meter;
    std::function<int(std::vector<std::string>& arguments)> run_program;  ///< its exit status; the first is its name
};

}  // namespace floptally
