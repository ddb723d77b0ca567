// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <floptally/count/convention.hpp>
#include <floptally/count/training_plan.hpp>

namespace floptally::detail::python {

/// A preset by its name, or the object itself.
[[nodiscard]] const convention& to_convention(pybind11::handle how);

/// The plan of an object that lives as long as it is read, or the one of a step that trains everything.
[[nodiscard]] const training_plan& to_plan(pybind11::handle plan);

}  // namespace floptally::detail::python
