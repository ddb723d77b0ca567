// SPDX-License-Identifier: Apache-2.0
//
// The extension `floptally._core`.

#include <floptally/text/version.hpp>

#include "classes.hpp"
#include "fit_options.hpp"
#include "program.hpp"

extern const char* const floptally_full_version;  // written by CMake, with the commit

namespace floptally::python {

// Without py::mod_gil_not_used(): tallies, meters and the caches of a cost have no locks, and rely on the GIL.
PYBIND11_MODULE(_core, module) {
    py::options text;
    text.disable_function_signatures();  // signatures are those of the stub
    translate_errors();
    module.doc() = "The C++ library behind the package.";
    detail::built_version = floptally_full_version;
    module.attr("__version__") = version;
    module.attr("numbers_version") = numbers_version;
    module.attr("Error") = errors().error;
    module.attr("LeftOut") = errors().left_out;
    module.attr("Overflow") = errors().overflow;
    for (const auto bind : {bind_masks,          bind_plans,        bind_entries, bind_costs,       bind_tallies,
                            bind_device_tallies, bind_breakdowns,   bind_counts,  bind_comparisons, bind_bytes,
                            bind_waterfalls,     bind_accelerators, bind_meters,  bind_balance,     bind_ranks,
                            bind_shares,         bind_logs,         bind_reader,  bind_expect,      bind_search}) {
        bind(module);
    }
    function(module, "run_program", [](const arguments& args) {
        auto words = args.as<std::vector<std::string>>("arguments");
        const py::gil_scoped_release released;  // it may wait for standard input
        return run_program(std::move(words));
    });
    for (const auto& [name, member] : module.attr("__dict__").cast<py::dict>()) {
        if (py::isinstance<py::type>(member)) {
            py::setattr(member, "__module__", py::str("floptally"));  // where users find it
        }
    }
}

}  // namespace floptally::python
