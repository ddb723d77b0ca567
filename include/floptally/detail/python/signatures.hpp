// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/detail/did_you_mean.hpp>
#include <floptally/detail/python/errors.hpp>
#include <floptally/error.hpp>

/// @file
/// Functions of pybind11 as Python has them: with a signature that `inspect.signature`, `help` and an editor's hints
/// read, and an error that names the keyword which is wrong and the nearest that there is. pybind11 writes signatures
/// into the text of a function, with types of its own, and its error shows them and all arguments.

namespace floptally::detail::python {

namespace py = pybind11;

/// A parameter as it is written in Python: "self", "*", "view='useful'".
struct written_parameter {
    std::string name;
    std::string default_value;  ///< empty: none
};

/// Those of "self: floptally.Tally, lengths: object, *, view: str = 'useful'".
[[nodiscard]] inline std::vector<written_parameter> parameters_of(std::string_view text) {
    std::vector<written_parameter> all;
    std::size_t depth = 0;
    std::size_t begin = 0;
    bool quoted = false;
    for (std::size_t i = 0; i <= text.size() && !text.empty(); ++i) {
        const char c = i < text.size() ? text[i] : ',';
        quoted ^= c == '\'';
        depth += !quoted && (c == '(' || c == '[' || c == '{') ? 1U : 0U;
        depth -= !quoted && (c == ')' || c == ']' || c == '}') ? 1U : 0U;
        if (c != ',' || depth != 0 || quoted) {
            continue;
        }
        std::string_view one = text.substr(begin, i - begin);
        one.remove_prefix(one.starts_with(' ') ? 1 : 0);
        begin = i + 1;
        const std::size_t value = one.rfind(" = ");
        all.push_back({std::string(one.substr(0, one.find(": "))),
                       value == std::string_view::npos ? "" : std::string(one.substr(value + 3))});
    }
    return all;
}

/// What stands before a function of pybind11.
struct checked_function {
    py::object function;
    std::vector<written_parameter> parameters;
    PyMethodDef* definition = nullptr;

    /// Calls it. Where it raises for a keyword that it does not have, the error says which.
    [[nodiscard]] py::object call(PyObject* const* values, Py_ssize_t positional, PyObject* names) const {
        PyObject* done = PyObject_Vectorcall(function.ptr(), values, static_cast<std::size_t>(positional), names);
        if (done == nullptr && names != nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
            refuse_unknown(names);
        }
        if (done == nullptr) {
            throw py::error_already_set();
        }
        return py::reinterpret_steal<py::object>(done);
    }

  private:
    void refuse_unknown(PyObject* names) const {
        std::vector<std::string_view> known;
        for (const written_parameter& one : parameters) {
            if (one.name.starts_with("**")) {
                return;
            }
            known.push_back(one.name);
        }
        for (const py::handle name : py::reinterpret_borrow<py::tuple>(names)) {
            const auto given = name.cast<std::string>();
            if (std::find(known.begin(), known.end(), given) == known.end()) {
                PyErr_Clear();
                throw py::type_error(std::string(definition->ml_name)
                                         .append("() got an unexpected keyword argument '")
                                         .append(given)
                                         .append("'")
                                         .append(did_you_mean(given, known)));
            }
        }
    }
};

/// A function with its text "name(…) -> type\n\nWhat it does." as one that checks its keywords; others stay as they
/// are.
[[nodiscard]] inline py::object checked(const py::object& function, const py::str& package) {
    static std::deque<std::pair<std::string, std::string>> texts;  // of the definitions, as long as the process
    static std::deque<PyMethodDef> definitions;
    const auto text = py::str(function.attr("__doc__")).cast<std::string>();
    const auto name = function.attr("__name__").cast<std::string>();
    const std::string line = text.substr(0, text.find('\n'));
    const std::size_t close = line.rfind(") -> ");
    if (!line.starts_with(name + "(") || close == std::string::npos) {
        return function;
    }
    checked_function made{function, parameters_of(line.substr(name.size() + 1, close - name.size() - 1))};
    std::string signature;
    for (const written_parameter& one : made.parameters) {
        append_item(signature, one.name);
        signature.append(one.default_value.empty() ? "" : "=").append(one.default_value);
    }
    const std::size_t meaning = std::min(text.find_first_not_of('\n', line.size()), text.size());
    const auto& kept = texts.emplace_back(
        name, std::string(name).append("(").append(signature).append(")\n--\n\n").append(text.substr(meaning)));
    constexpr PyObject* (*call)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) =
        [](PyObject* self, PyObject* const* values, Py_ssize_t positional, PyObject* names) {
            return translated(
                [&] { return py::handle(self).cast<const checked_function&>().call(values, positional, names); });
        };
    made.definition = &definitions.emplace_back(
        PyMethodDef{kept.first.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                    METH_FASTCALL | METH_KEYWORDS, kept.second.c_str()});
    PyMethodDef* const definition = made.definition;
    const py::object self = py::cast(std::move(made));
    return py::reinterpret_steal<py::object>(PyCFunction_NewEx(definition, self.ptr(), package.ptr()));
}

/// All functions of a module, and of its classes the methods and what makes an object.
inline void check_functions(const py::object& owner, const py::str& package) {
    for (const auto& [key, value] : py::dict(owner.attr("__dict__"))) {
        const auto name = key.cast<std::string>();
        const auto member = py::reinterpret_borrow<py::object>(value);
        if (py::isinstance<py::type>(member) && py::isinstance<py::module_>(owner)) {
            check_functions(member, package);
        } else if (name.starts_with("__") && name != "__init__") {
            continue;  // operators may answer that they do not know an operand
        } else if (PyInstanceMethod_Check(member.ptr()) != 0) {
            const auto function = py::reinterpret_borrow<py::object>(PyInstanceMethod_GET_FUNCTION(member.ptr()));
            py::setattr(owner, name.c_str(),
                        py::reinterpret_steal<py::object>(PyInstanceMethod_New(checked(function, package).ptr())));
        } else if (Py_IS_TYPE(member.ptr(), &PyStaticMethod_Type) != 0) {
            py::setattr(
                owner, name.c_str(),
                py::reinterpret_steal<py::object>(PyStaticMethod_New(checked(member.attr("__func__"), package).ptr())));
        } else if (PyCFunction_Check(member.ptr()) != 0 && PyCFunction_GET_SELF(member.ptr()) != owner.ptr()) {
            py::setattr(owner, name.c_str(), checked(member, package));  // those of the module itself are ours
        }
    }
}

/// At the end of a module: what it has so far.
inline void check_functions(py::module_& module) {
    const py::str package(package_of(module));
    // A function is pickled as an attribute of what it is bound to: the package has it under the same name.
    py::class_<checked_function>(module, "_CheckedFunction").def("__reduce__", [package](const checked_function&) {
        return py::make_tuple(py::module_::import("importlib").attr("import_module"), py::make_tuple(package));
    });
    check_functions(static_cast<const py::object&>(module), package);
    py::delattr(module, "_CheckedFunction");
}

}  // namespace floptally::detail::python
