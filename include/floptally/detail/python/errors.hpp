// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <new>
#include <pybind11/pybind11.h>
#include <string>

#include <floptally/error.hpp>

namespace floptally::detail::python {

namespace py = pybind11;

/// The package that the extension stands in ("floptally" of "floptally._core"), whose names its classes have.
[[nodiscard]] inline std::string package_of(py::handle module) {
    const std::string name = module.attr("__name__").cast<std::string>();
    return name.substr(0, name.rfind('.'));
}

[[nodiscard]] inline PyObject*& error_class() {
    static PyObject* made = nullptr;
    return made;
}
[[nodiscard]] inline PyObject*& overflow_class() {
    static PyObject* made = nullptr;
    return made;
}

/// An error of ours as the one that Python raises.
inline void set_error(const error& problem) {
    PyObject* type = dynamic_cast<const overflow*>(&problem) == nullptr ? error_class() : overflow_class();
    try {
        const py::object raised = py::handle(type)(std::string(problem.field()), std::string(problem.problem()));
        PyErr_SetObject(type, raised.ptr());
    } catch (py::error_already_set& instead) {
        instead.restore();
    }
}

/// Runs what CPython calls without pybind11 between: C++'s errors become Python's, as pybind11 does for its own.
template <class Work>
[[nodiscard]] PyObject* translated(Work work) noexcept {
    try {
        return work().release().ptr();
    } catch (py::error_already_set& problem) {
        problem.restore();
    } catch (const py::builtin_exception& problem) {
        problem.set_error();
    } catch (const error& problem) {
        set_error(problem);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& problem) {
        PyErr_SetString(PyExc_RuntimeError, problem.what());
    }
    return nullptr;
}

/// floptally.Error, floptally.Overflow, and C++'s errors as these. They are written in Python, so that adapters there
/// raise them as we do.
inline void bind_errors(py::module_& module) {
    py::dict scope;
    scope["__name__"] = package_of(module);
    scope["__builtins__"] = py::module_::import("builtins");
    const char* source = R"(
class Error(ValueError):
    """Bad input. ``str(error)`` reads ``FIELD: what is wrong, with the value, and what would be right``.

    ``field`` is the name that the caller knows: an argument with its index (``cu_seqlens[2]``), or a config's key.
    """

    def __init__(self, field, problem):
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self):
        return type(self), (self.field, self.problem)


class LeftOut(Error):
    """Sequences that a device left out: the error is that of the first of them.

    ``sequences`` is how many there were, ``counted`` the tally of all the others.
    """

    def __init__(self, field, problem, sequences, counted):
        super().__init__(field, problem)
        self.sequences = sequences
        self.counted = counted

    def __reduce__(self):
        return type(self), (self.field, self.problem, self.sequences, self.counted)


class Overflow(Error, OverflowError):
    """A count that would not fit its integer. Whatever was being added to keeps its old value."""
)";
    if (!py::reinterpret_steal<py::object>(PyRun_String(source, Py_file_input, scope.ptr(), scope.ptr()))) {
        throw py::error_already_set();
    }
    module.attr("Error") = scope["Error"];
    module.attr("LeftOut") = scope["LeftOut"];
    module.attr("Overflow") = scope["Overflow"];
    error_class() = scope["Error"].cast<py::object>().release().ptr();  // as long as the process
    overflow_class() = scope["Overflow"].cast<py::object>().release().ptr();
    py::register_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(thrown);
        } catch (const error& problem) {
            set_error(problem);
        }
    });
}

}  // namespace floptally::detail::python
