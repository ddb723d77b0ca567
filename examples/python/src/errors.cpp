// SPDX-License-Identifier: Apache-2.0

#include "errors.hpp"

#include <string>

#include "units.hpp"
#include "values.hpp"

namespace floptally::detail::python {

const error_classes& errors() {
    static const auto* const made =
        new error_classes{package_attribute("_errors", "Error"),  // as long as the process
                          package_attribute("_errors", "LeftOut"), package_attribute("_errors", "Overflow")};
    return *made;
}

void set_error(const floptally::error& problem) {
    const bool overflows = dynamic_cast<const overflow*>(&problem) != nullptr;
    const py::object& type = overflows ? errors().overflow : errors().error;
    try {
        const py::object raised = type(std::string(problem.field()), std::string(problem.problem()));
        PyErr_SetObject(type.ptr(), raised.ptr());
    } catch (py::error_already_set& instead) {
        instead.restore();
    }
}

void bind_errors(py::module_& module) {
    module.attr("Error") = errors().error;
    module.attr("LeftOut") = errors().left_out;
    module.attr("Overflow") = errors().overflow;
}

}  // namespace floptally::detail::python
