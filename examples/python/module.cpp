// SPDX-License-Identifier: Apache-2.0
//
// The extension `floptally._core`.

#include <floptally/python.hpp>

#include "services.hpp"

PYBIND11_MODULE(_core, module) { floptally::python::bind(module, floptally_services()); }
