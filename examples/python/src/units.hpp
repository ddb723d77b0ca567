// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

/// @file
/// The units of the extension: each makes the classes and functions of its subject.

namespace floptally::detail::python {

void bind_masks(pybind11::module_& module);
void bind_plans(pybind11::module_& module);
void bind_rows(pybind11::module_& module);
void bind_costs(pybind11::module_& module);
void bind_tallies(pybind11::module_& module);
void bind_device_tallies(pybind11::module_& module);
void bind_breakdowns(pybind11::module_& module);
void bind_counts(pybind11::module_& module);
void bind_bytes(pybind11::module_& module);
void bind_waterfalls(pybind11::module_& module);
void bind_accelerators(pybind11::module_& module);
void bind_meters(pybind11::module_& module);
void bind_balance(pybind11::module_& module);
void bind_ranks(pybind11::module_& module);
void bind_logs(pybind11::module_& module);
void bind_reader(pybind11::module_& module);

}  // namespace floptally::detail::python
