// SPDX-License-Identifier: Apache-2.0
//
// The extension `floptally._core`.

#include <floptally/text/version.hpp>

#include "classes.hpp"

namespace floptally::detail::python {

PYBIND11_MODULE(_core, module) {
    module.doc() = "The C++ library behind the package.";
    module.attr("__version__") = version;
    module.attr("numbers_version") = numbers_version;
    module.attr("Error") = errors().error;
    module.attr("LeftOut") = errors().left_out;
    module.attr("Overflow") = errors().overflow;
    for (const auto bind : {bind_masks, bind_plans, bind_rows, bind_costs, bind_tallies, bind_device_tallies,
                            bind_breakdowns, bind_counts, bind_bytes, bind_waterfalls, bind_accelerators, bind_meters,
                            bind_balance, bind_ranks, bind_shares, bind_logs, bind_reader}) {
        bind(module);
    }
    for (const auto& [name, member] : module.attr("__dict__").cast<py::dict>()) {
        if (py::isinstance<py::type>(member)) {
            py::setattr(member, "__module__", py::str("floptally"));  // where users find it
        }
    }
}

}  // namespace floptally::detail::python
