// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/detail/python/numbers.hpp>
#include <floptally/step/experiment_table.hpp>
#include <floptally/step/throughput_log.hpp>

/// @file
/// Logs of throughput, and the comparison that is made of them, for Python.

namespace floptally::detail::python {

inline void bind_reports(py::module_& module) {
    py::class_<train_line>(module, "TrainLine", "A `[train]` line of a log: one step or interval of all GPUs together.")
        .def(py::init([](std::uint64_t iteration, std::uint64_t tokens, double milliseconds,
                         std::optional<double> tflops, std::optional<double> mfu_pct) {
                 return train_line{.iteration = iteration,
                                   .tokens = tokens,
                                   .milliseconds = milliseconds,
                                   .tflops = tflops,
                                   .mfu_pct = mfu_pct};
             }),
             py::kw_only(), py::arg("iteration"), py::arg("tokens"), py::arg("milliseconds"),
             py::arg("tflops") = py::none(), py::arg("mfu_pct") = py::none())
        .def_readonly("iteration", &train_line::iteration)
        .def_readonly("tokens", &train_line::tokens)
        .def_readonly("milliseconds", &train_line::milliseconds)
        .def_readonly("tflops", &train_line::tflops, "Of all GPUs together; None where the log says none.")
        .def_readonly("mfu_pct", &train_line::mfu_pct, "None where the log says none.")
        .def(
            "__eq__", [](const train_line& a, const train_line& b) { return a == b; }, py::is_operator())
        .def("__str__", [](const train_line& line) { return to_string(line); })
        .def("__repr__", [](const train_line& line) { return "<TrainLine " + to_string(line) + ">"; });

    py::class_<layer_line>(module, "LayerLine", "A `[LAYER]` line of a log: one pass of a layer.")
        .def(py::init([](const std::string& pass, std::uint64_t tokens, double milliseconds,
                         std::optional<double> tflops, std::optional<double> mfu_pct, const std::string& layer) {
                 return layer_line{.layer = layer,
                                   .pass = pass,
                                   .tokens = tokens,
                                   .milliseconds = milliseconds,
                                   .tflops = tflops,
                                   .mfu_pct = mfu_pct};
             }),
             py::kw_only(), py::arg("pass_name"), py::arg("tokens"), py::arg("milliseconds"),
             py::arg("tflops") = py::none(), py::arg("mfu_pct") = py::none(), py::arg("layer") = "LAYER")
        .def_readonly("layer", &layer_line::layer, "The kind of layer as the log has it: \"FUSED\", …")
        .def_readonly("pass_name", &layer_line::pass, "\"train_fwd\", \"fwd\", \"bwd\", \"e2e\".")
        .def_readonly("tokens", &layer_line::tokens)
        .def_readonly("milliseconds", &layer_line::milliseconds, "Median.")
        .def_readonly("tflops", &layer_line::tflops, "None where the log says none.")
        .def_readonly("mfu_pct", &layer_line::mfu_pct, "None where the log says none.")
        .def(
            "__eq__", [](const layer_line& a, const layer_line& b) { return a == b; }, py::is_operator())
        .def("__str__", [](const layer_line& line) { return to_string(line); })
        .def("__repr__", [](const layer_line& line) { return "<LayerLine " + to_string(line) + ">"; });

    py::class_<throughput_log>(module, "ThroughputLog", "The lines of a log that say a throughput, in their order.")
        .def_readonly("steps", &throughput_log::steps)
        .def_readonly("layers", &throughput_log::layers);

    module.def(
        "read_throughput_log",
        [](const std::string& text) {
            std::istringstream in(text);
            const py::gil_scoped_release without_gil;
            return read_throughput_log(in);
        },
        py::arg("text"),
        "The `[train]` and `[LAYER]` lines of a log's text, in every shape that recsys-examples writes. Other lines "
        "are "
        "skipped; one that looks like these and cannot be read is an Error with its number, and so is a log of none.");

    py::class_<experiment>(module, "Experiment", "A training run that is compared with others.")
        .def(py::init([](const std::string& name, const py::object& gpus, const py::object& peak_tflops,
                         const std::vector<train_line>& steps) {
                 return experiment{.name = name,
                                   .gpus = to_count(gpus, "gpus"),
                                   .peak_tflops = to_number(peak_tflops, "peak_tflops"),
                                   .steps = steps};
             }),
             py::arg("name"), py::kw_only(), py::arg("gpus"), py::arg("peak_tflops"), py::arg("steps"))
        .def_readonly("name", &experiment::name)
        .def_readonly("gpus", &experiment::gpus)
        .def_readonly("peak_tflops", &experiment::peak_tflops, "Of one GPU, dense.")
        .def_readonly("steps", &experiment::steps);

    py::class_<experiment_row>(module, "ExperimentRow", "One row of a comparison.")
        .def_readonly("name", &experiment_row::name)
        .def_readonly("tflops_per_gpu", &experiment_row::tflops_per_gpu, "Σ FLOPs ÷ Σ time, of one GPU.")
        .def_readonly("best_tflops_per_gpu", &experiment_row::best_tflops_per_gpu, "Of the fastest line of the log.")
        .def_readonly("mfu_pct", &experiment_row::mfu_pct, "The average over the peak that was given.")
        .def_readonly("speed_up", &experiment_row::speed_up, "Over the first experiment, per GPU.");

    module.def(
        "compare", [](const std::vector<experiment>& experiments) { return compare(experiments); },
        py::arg("experiments"),
        "A row for each experiment, in the order given; the first is what the others are compared with.");
    module.def(
        "comparison_markdown", [](const std::vector<experiment_row>& rows) { return to_markdown(rows); },
        py::arg("rows"), "The rows as a Markdown table.");
}

}  // namespace floptally::detail::python
