// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <floptally/flops.hpp>
#include <floptally/meter.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/waterfall/waterfall.hpp>

namespace floptally {

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
    std::function<std::string(const meter&)> save_meter;
    std::function<void(meter&, const std::string& state)> resume_meter;
    std::function<int(std::vector<std::string>& arguments)> run_program;  ///< its exit status; the first is its name
};

}  // namespace floptally
