// SPDX-License-Identifier: Apache-2.0

#include <sstream>

#include "states.hpp"

/// @file
/// Logs of throughput, and the comparison that is made of them. Their classes are Python's.

namespace floptally::detail::python {

void bind_logs(py::module_& module) {
    function(module, "_read_throughput_log", [](const arguments& given) {
        std::istringstream in(given.text("text"));
        throughput_log log;
        {
            const py::gil_scoped_release released;
            log = read_throughput_log(in);
        }
        return py::make_tuple(to_state(log.steps), to_state(log.layers));
    });
    function(module, "_train_line_text",
             [](const arguments& given) { return to_string(from_state<train_line>(given["line"])); });
    function(module, "_layer_line_text",
             [](const arguments& given) { return to_string(from_state<layer_line>(given["line"])); });
    function(module, "_compare", [](const arguments& given) {
        return to_state(compare(from_state<std::vector<experiment>>(given["experiments"])));
    });
}

}  // namespace floptally::detail::python
