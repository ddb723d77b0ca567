// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/config/json_text.hpp>
#include <floptally/json.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/json/report_json.hpp>
#include <floptally/json/table_json.hpp>
#include <floptally/text/whole_file.hpp>

#include "classes.hpp"

/// @file
/// Reads configs, and writes JSON.

namespace floptally::python {

/// JSON as a Python str. Names of kernels and modules may have any bytes.
std::string table_json(const table& shown) {
    return to_json(shown).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string report_json(const report& shown) { return to_json(shown).dump(); }
std::string meter_json(const meter& source) { return to_json(state_of(source)).dump(); }
bool resume_meter(meter& target, const std::string& state) {
    std::istringstream text(state);
    return resume(target, read_meter_state(read_json(text, "state")), resume_from::any_counter);
}

void save_meter(const meter& source, const std::string& path) { save_state(path, state_of(source)); }
bool load_meter(meter& target, const std::string& path) {
    return resume(target, load_state(path), resume_from::any_counter);
}

py::dict json_object(const std::string& text) { return py::module_::import("json").attr("loads")(text); }

namespace {

model_cost read_cost(const arguments& args) {
    constexpr std::uint64_t most_layers = 100;
    std::vector<spec_text> specs;
    for (auto& [text, file] : args.as<std::vector<std::pair<std::string, std::string>>>("spec")) {
        specs.emplace_back(std::move(text), std::move(file));
    }
    const read_options options{.mla = from_name<mla_core>(args.text("mla"), "mla", mla_core_names),
                               .mtp_layers = args.count("mtp", 0, most_layers),
                               .padded_vocab_size = args.count("padded_vocab_size"),
                               .specs = specs,
                               .parts = args.as<std::vector<std::string>>("parts"),
                               .strict = args.some_flag("strict")};
    const std::string config = args.text("config");
    const bool is_path = args.flag("is_path");
    const py::gil_scoped_release released;
    if (is_path) {
        return model_cost(load_config(config, options));
    }
    std::istringstream stream(config);
    return model_cost(read_config(stream, options));
}

}  // namespace

void bind_reader(py::module_& module) {
    function(module, "_write_whole", [](const arguments& args) {
        floptally::write_whole(args.as<std::string>("path"), args.text("text"), "path");
    });
    function(module, "cost", [](const arguments& args) { return read_cost(args); });
    function(module, "models", [](const arguments&) {
        const auto known = known_model_types();
        return std::vector<std::string>(known.begin(), known.end());
    });
    function(module, "readable", [](const arguments& args) {
        return readable(to_flops(args["flops"], "flops"),
                        from_name<work_unit>(args.text("unit"), "unit", work_unit_names));
    });
    function(module, "address_of", [](const arguments& args) {
        return reinterpret_cast<std::uintptr_t>(integers(args["values"], "values").address());
    });
}

}  // namespace floptally::python
