// SPDX-License-Identifier: Apache-2.0

#include <floptally/step/experiment_table.hpp>
#include <floptally/step/throughput_log.hpp>

#include "classes.hpp"

/// @file
/// Logs of throughput, and the comparison that is made of them. Their classes are Python's.

namespace floptally::detail::python {

namespace {

train_line train_line_of(py::handle line) {
    return {.iteration = to_count(line.attr("iteration"), "iteration"),
            .tokens = to_count(line.attr("tokens"), "tokens"),
            .milliseconds = to_number(line.attr("milliseconds"), "milliseconds"),
            .tflops = line.attr("tflops").cast<std::optional<double>>(),
            .mfu_pct = line.attr("mfu_pct").cast<std::optional<double>>()};
}

layer_line layer_line_of(py::handle line) {
    return {.layer = to_text(line.attr("layer"), "layer"),
            .pass = to_text(line.attr("pass_name"), "pass_name"),
            .tokens = to_count(line.attr("tokens"), "tokens"),
            .milliseconds = to_number(line.attr("milliseconds"), "milliseconds"),
            .tflops = line.attr("tflops").cast<std::optional<double>>(),
            .mfu_pct = line.attr("mfu_pct").cast<std::optional<double>>()};
}

py::tuple read(const std::string& text) {
    std::istringstream in(text);
    throughput_log log;
    {
        const py::gil_scoped_release released;
        log = read_throughput_log(in);
    }
    py::list steps;
    for (const train_line& line : log.steps) {
        steps.append(py::make_tuple(line.iteration, line.tokens, line.milliseconds, line.tflops, line.mfu_pct));
    }
    py::list layers;
    for (const layer_line& line : log.layers) {
        layers.append(py::make_tuple(line.pass, line.tokens, line.milliseconds, line.tflops, line.mfu_pct, line.layer));
    }
    return py::make_tuple(steps, layers);
}

py::tuple compared(const py::object& runs) {
    std::vector<experiment> experiments;
    for (const py::handle run : runs) {
        experiment& added =
            experiments.emplace_back(experiment{.name = to_text(run.attr("name"), "name"),
                                                .gpus = to_count(run.attr("gpus"), "gpus"),
                                                .peak_tflops = to_number(run.attr("peak_tflops"), "peak_tflops")});
        for (const py::handle line : run.attr("steps")) {
            added.steps.push_back(train_line_of(line));
        }
    }
    py::list rows;
    for (const experiment_row& row : compare(experiments)) {
        rows.append(py::make_tuple(row.name, row.tflops_per_gpu, row.best_tflops_per_gpu, row.mfu_pct, row.speed_up));
    }
    return py::tuple(rows);
}

}  // namespace

void bind_logs(py::module_& module) {
    function(module, "_read_throughput_log", [](const arguments& given) { return read(given.text("text")); });
    function(module, "_line_text", [](const arguments& given) {
        const py::object line = given["line"];
        return py::hasattr(line, "layer") ? to_string(layer_line_of(line)) : to_string(train_line_of(line));
    });
    function(module, "_compare", [](const arguments& given) { return compared(given["experiments"]); });
}

}  // namespace floptally::detail::python
