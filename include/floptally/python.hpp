// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/balance.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/byte_classes.hpp>
#include <floptally/detail/python/cost_class.hpp>
#include <floptally/detail/python/errors.hpp>
#include <floptally/detail/python/held_device_tally.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/masks.hpp>
#include <floptally/detail/python/meters.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/ranks.hpp>
#include <floptally/detail/python/ratios.hpp>
#include <floptally/detail/python/reports.hpp>
#include <floptally/detail/python/rows.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/detail/python/signatures.hpp>
#include <floptally/detail/python/tallies.hpp>
#include <floptally/detail/python/waterfalls.hpp>
#include <floptally/version.hpp>

/// @file
/// Adapter: floptally as a Python module, with pybind11. What it needs of the other adapters is given to it.

namespace floptally::python {

/// Makes a module of an extension floptally: `PYBIND11_MODULE(_core, m) { floptally::python::bind(m, …); }`.
inline void bind(pybind11::module_& module, python_services given) {
    namespace py = pybind11;
    const auto with = std::make_shared<const python_services>(std::move(given));
    module.doc() = "The C++ library behind the package.";
    module.attr("__version__") = version;
    detail::python::bind_errors(module);
    detail::python::bind_masks(module);
    detail::python::bind_rows(module);
    detail::python::bind_plans(module);
    detail::python::bind_costs(module, with);
    detail::python::bind_tallies(module);
    detail::python::bind_device_tallies(module);
    detail::python::bind_breakdowns(module, with);
    detail::python::bind_bytes(module, with);
    detail::python::bind_waterfalls(module, with);
    detail::python::bind_accelerators(module);
    detail::python::bind_meters(module, with);
    detail::python::bind_balance(module);
    detail::python::bind_ranks(module);
    detail::python::bind_ratios(module);
    detail::python::bind_reports(module);
    module.def(
        "models", [with] { return with->known_model_types(); }, "The model types that cost() knows.");
    module.def(
        "readable", [with](const py::int_& count) { return with->readable(detail::python::to_flops(count, "flops")); },
        py::arg("flops"), "\"421.65 TFLOP\"");
    module.def(
        "run_program",
        [with](std::vector<std::string> arguments) {
            const py::gil_scoped_release released;  // it may wait for standard input
            return with->run_program(arguments);
        },
        py::arg("arguments"), "The program floptally: its exit status. The first argument is its name.");
    module.def(
        "address_of",
        [](const py::object& values) {
            return reinterpret_cast<std::uintptr_t>(detail::python::integers(values, "values").address());
        },
        py::arg("values"), "Where integers are read from: the array's own memory, or that of a copy of a list.");
    detail::python::check_functions(module);
    const std::string package = detail::python::package_of(module);
    for (const auto& [name, member] : module.attr("__dict__").cast<py::dict>()) {
        if (py::isinstance<py::type>(member)) {
            py::setattr(member, "__module__", py::str(package));
        }
    }
}

}  // namespace floptally::python
