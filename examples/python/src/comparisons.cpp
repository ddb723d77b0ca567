// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>

#include <floptally/conventions/comparison.hpp>
#include <floptally/json/comparison_json.hpp>
#include <floptally/step/comparison_report.hpp>

#include "classes.hpp"

/// @file
/// Counts a step by every convention: `Cost.compare`.

namespace floptally::python {

namespace {

/// The JSON of a comparison, its table, and the JSON of the table.
py::tuple comparison_of(const model_cost& model, const arguments& args) {
    const convention_comparison all(model.model(), to_plan(args["plan"], model));
    const input_arguments counted(args, all.masks());
    const auto seconds = args.some_number("seconds");
    observed_step step{.seconds = seconds, .gpus = {}, .peak_tflops = {}};
    if (args.some("gpus")) {
        step.gpus = args.count("gpus", 1);
    }
    if (args.some("accelerator") || args.some("peak_tflops")) {
        step.peak_tflops = peak_of(args).tflops;
    }
    const py::object only = args["convention"];
    const std::string_view name = only.is_none() ? std::string_view() : to_convention(only).name;
    const tally batch = counted.counted(model.model(), all.masks());
    const auto compared = [&] {
        const py::handle log = args.some("log");
        if (!log) {
            return floptally::comparison_of(model.model().model_type, all, batch, name,
                                            args.some_text("observed").value_or(""), step);
        }
        if (seconds || args.some("observed")) {
            throw error("log", "already contains rates and seconds: leave observed= and seconds= out");
        }
        const auto path = py::module_::import("os").attr("fsdecode")(log).cast<std::string>();
        std::ifstream lines(path);
        if (!lines || std::filesystem::is_directory(path)) {
            throw error("log", "cannot read \"" + path + "\": pass a readable file");
        }
        return floptally::comparison_of(model.model().model_type, all, batch, name, observed_log_of(lines, batch, step),
                                        step);
    };
    const comparison_report result = compared();
    return py::make_tuple(to_json(result).dump(), to_table(result), table_json(floptally::table_of(result)));
}

}  // namespace

void bind_comparisons(py::module_& module) {
    method(module.attr("Cost"), "compare", [](const model_cost& model, const arguments& args) {
        return package_attribute("_comparison", "Comparison")(*comparison_of(model, args));
    });
}

}  // namespace floptally::python
