// SPDX-License-Identifier: Apache-2.0

#include <sstream>

#include "states.hpp"

/// @file
/// Reads throughput logs and compares them. The classes of the results are in Python.

namespace floptally::python {

void bind_logs(py::module_& module) {
    function(module, "_read_throughput_log", [](const arguments& args) {
        std::istringstream in(args.text("text"));
        throughput_log log;
        {
            const py::gil_scoped_release released;
            log = read_throughput_log(in);
        }
        return py::make_tuple(to_state(log.steps), to_state(log.layers));
    });
    function(module, "_train_line_text",
             [](const arguments& args) { return to_string(from_state<train_line>(args["line"])); });
    function(module, "_layer_line_text",
             [](const arguments& args) { return to_string(from_state<layer_line>(args["line"])); });
    function(module, "_compare", [](const arguments& args) {
        std::vector<experiment> runs;
        for (const py::handle item : args["experiments"]) {
            const py::tuple run(py::reinterpret_borrow<py::object>(item));
            runs.push_back({.name = to_text(run[0], "name"),
                            .gpus = to_count(run[1], "gpus"),
                            .peak_tflops = to_number(run[2], "peak_tflops"),
                            .steps = from_state<std::vector<train_line>>(run[3])});
        }
        return to_state(compare(runs));
    });
}

}  // namespace floptally::python
