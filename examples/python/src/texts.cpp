// SPDX-License-Identifier: Apache-2.0

#include "texts.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include <floptally/json.hpp>
#include <floptally/json/byte_json.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/json/report_json.hpp>
#include <floptally/json/table_json.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/step/report_table.hpp>
#include <floptally/text/error.hpp>

#include "../../program/run.hpp"
#include "arrays.hpp"
#include "binding.hpp"
#include "costs.hpp"
#include "units.hpp"

namespace floptally::detail::python {

std::string report_json(const report& made) { return to_json(made).dump(); }
std::string report_table(const report& made) { return to_table(made); }
std::string waterfall_json(const waterfall& made) { return to_json(made).dump(); }
std::string bytes_json(const byte_report& made) { return to_json(made).dump(); }
std::string bytes_table(const byte_report& made) { return to_table(made); }

namespace {

/// JSON with names of kernels and modules, which may be any bytes.
template <class Made>
std::string json_of_names(const Made& made) {
    return to_json(made).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string table_json(const table& made) { return json_of_names(made); }
std::string components_json(const component_waterfall& made) { return json_of_names(made); }
std::string component_times_json(const measured_components& times) {
    return json_of_names(component_times{times.seconds, times.times});
}

measured_components read_component_times(const std::string& json) {
    const nlohmann::json file = nlohmann::json::parse(json, nullptr, false);
    if (file.is_discarded()) {
        throw error("component_times", "is no JSON");
    }
    component_times read = floptally::read_component_times(file);
    return {read.seconds, std::move(read.times)};
}

trace load_trace(const std::string& path) { return load_kineto_trace(path); }
std::string meter_json(const meter& kept) { return to_json(state_of(kept)).dump(); }
void resume_meter(meter& kept, const std::string& state) {
    resume(kept, read_meter_state(nlohmann::json::parse(state)));
}

py::dict json_object(const std::string& text) { return py::module_::import("json").attr("loads")(text); }

namespace {

model_cost read_cost(const arguments& given) {
    constexpr std::uint64_t most_layers = 100;
    std::vector<page_text> pages;
    for (auto& [text, file] : given.as<std::vector<std::pair<std::string, std::string>>>("page")) {
        pages.emplace_back(std::move(text), std::move(file));
    }
    const read_options options{.mla = from_word<mla_core>(given.text("mla"), "mla", mla_core_names),
                               .mtp_layers = given.count("mtp", 0, most_layers),
                               .padded_vocab_size = given.count("padded_vocab_size"),
                               .pages = pages,
                               .strict = given.flag("strict")};
    const std::string config = given.text("config");
    const bool is_path = given.flag("is_path");
    const py::gil_scoped_release released;
    if (is_path) {
        return model_cost(load_config(config, options));
    }
    std::istringstream stream(config);
    return model_cost(read_config(stream, options));
}

}  // namespace

void bind_reader(py::module_& module) {
    function(module, "cost", [](const arguments& given) { return read_cost(given); });
    function(module, "models", [](const arguments&) {
        const auto known = known_model_types();
        return std::vector<std::string>(known.begin(), known.end());
    });
    function(module, "readable", [](const arguments& given) { return readable(to_flops(given["flops"], "flops")); });
    function(module, "run_program", [](const arguments& given) {
        auto words = given.as<std::vector<std::string>>("arguments");
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        const py::gil_scoped_release released;  // it may wait for standard input
        return program::main(static_cast<int>(words.size()), argv.data());
    });
    function(module, "address_of", [](const arguments& given) {
        return reinterpret_cast<std::uintptr_t>(integers(given["values"], "values").address());
    });
}

}  // namespace floptally::detail::python
