// SPDX-License-Identifier: Apache-2.0

#include "services.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <floptally/error.hpp>
#include <floptally/fmt.hpp>
#include <floptally/json.hpp>
#include <floptally/report_json.hpp>
#include <floptally/step/meter_json.hpp>
#include <floptally/waterfall/component_json.hpp>
#include <floptally/waterfall/kineto_trace.hpp>
#include <floptally/waterfall/waterfall_json.hpp>

#include "../program/run.hpp"

floptally::python_services floptally_services() {
    using floptally::meter;
    using floptally::read_options;
    using floptally::report;
    return {.read_config =
                [](const std::string& text, const read_options& options) {
                    std::istringstream stream(text);
                    return floptally::read_config(stream, options);
                },
            .load_config = [](const std::string& path,
                              const read_options& options) { return floptally::load_config(path, options); },
            .known_model_types =
                [] {
                    const auto known = floptally::known_model_types();
                    return std::vector<std::string>(known.begin(), known.end());
                },
            .to_json = [](const report& r) { return floptally::to_json(r).dump(); },
            .to_table = [](const report& r) { return floptally::to_table(r); },
            .readable = [](floptally::flops work) { return floptally::readable(work); },
            .waterfall_json = [](const floptally::waterfall& w) { return floptally::to_json(w).dump(); },
            .bytes_json = [](const floptally::byte_report& b) { return program::bytes_json(b); },
            .bytes_table = [](const floptally::byte_report& b) { return program::bytes_table(b); },
            .components_json =
                [](const floptally::component_waterfall& c) {
                    // Names of kernels and modules may be any bytes.
                    return floptally::to_json(c).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
                },
            .read_component_times =
                [](const std::string& text) {
                    const nlohmann::json file = nlohmann::json::parse(text, nullptr, false);
                    if (file.is_discarded()) {
                        throw floptally::error("component_times", "is no JSON");
                    }
                    floptally::component_times read = floptally::read_component_times(file);
                    return floptally::measured_components{read.seconds, std::move(read.times)};
                },
            .load_trace = [](const std::string& path) { return floptally::load_kineto_trace(path); },
            .save_meter = [](const meter& m) { return floptally::to_json(floptally::state_of(m)).dump(); },
            .resume_meter =
                [](meter& m, const std::string& state) {
                    floptally::resume(m, floptally::read_meter_state(nlohmann::json::parse(state)));
                },
            .run_program =
                [](std::vector<std::string>& arguments) {
                    std::vector<char*> argv;
                    for (std::string& one : arguments) {
                        argv.push_back(one.data());
                    }
                    argv.push_back(nullptr);
                    return program::main(static_cast<int>(arguments.size()), argv.data());
                }};
}
