// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

#include <floptally/text/error.hpp>

namespace floptally::detail::python {

/// floptally.Error, floptally.LeftOut and floptally.Overflow, which are written in Python: adapters there raise them
/// too.
struct error_classes {
    pybind11::object error;
    pybind11::object left_out;
    pybind11::object overflow;
};
[[nodiscard]] const error_classes& errors();

/// An error of ours as the one that Python raises.
void set_error(const floptally::error& problem);

}  // namespace floptally::detail::python
