// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/config/json_text.hpp>
#include <floptally/json.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/json/report_json.hpp>
#include <floptally/json/table_json.hpp>
#include <floptally/text/whole_file.hpp>

#include "classes.hpp"

#ifdef FLOPTALLY_PYTHON_PROGRAM
#include "../../program/run.hpp"
#endif

/// @file
/// Configs read, and the program.

namespace floptally::detail::python {

/// Names of kernels and modules in it may be any bytes.
std::string table_json(const table& made) {
    return to_json(made).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string report_json(const report& made) { return to_json(made).dump(); }
std::string meter_json(const meter& kept) { return to_json(state_of(kept)).dump(); }
void resume_meter(meter& kept, const std::string& state) {
    std::istringstream text(state);
    resume(kept, read_meter_state(read_json(text, "state")));
}

void save_meter(const meter& kept, const std::string& path) { save_state(path, state_of(kept)); }
void load_meter(meter& kept, const std::string& path) { resume(kept, load_state(path)); }

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
                               .parts = given.as<std::vector<std::string>>("parts"),
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
    function(module, "_write_whole", [](const arguments& given) {
        floptally::write_whole(given.as<std::string>("path"), given.text("text"), "path");
    });
    function(module, "cost", [](const arguments& given) { return read_cost(given); });
    function(module, "models", [](const arguments&) {
        const auto known = known_model_types();
        return std::vector<std::string>(known.begin(), known.end());
    });
    function(module, "readable", [](const arguments& given) { return readable(to_flops(given["flops"], "flops")); });
#ifdef FLOPTALLY_PYTHON_PROGRAM
    function(module, "run_program", [](const arguments& given) {
        auto words = given.as<std::vector<std::string>>("arguments");
        std::vector<char*> argv;
        for (std::string& word : words) {
            argv.push_back(word.data());
        }
        argv.push_back(nullptr);
        program::load_trace = load_trace;
        const py::gil_scoped_release released;  // it may wait for standard input
        return program::main(static_cast<int>(words.size()), argv.data());
    });
#else
    function(module, "run_program", [](const arguments&) -> int {
        throw error("floptally", "this package has no program: fmt and cxxopts were not there where it was built");
    });
#endif
    function(module, "address_of", [](const arguments& given) {
        return reinterpret_cast<std::uintptr_t>(integers(given["values"], "values").address());
    });
}

}  // namespace floptally::detail::python
