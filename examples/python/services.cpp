// SPDX-License-Identifier: Apache-2.0

#include "services.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/fmt.hpp>
#include <floptally/json.hpp>
#include <floptally/report_json.hpp>
#include <floptally/step/meter_json.hpp>
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
