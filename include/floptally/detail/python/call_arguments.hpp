// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/did_you_mean.hpp>
#include <floptally/detail/python/errors.hpp>

/// @file
/// Functions that CPython calls by its vectorcall protocol (PEP 590), with the arguments where they stand. pybind11
/// makes a tuple, a dict and a string for each name of every call, which takes longer than counting a batch.

namespace floptally::detail::python {

namespace py = pybind11;

/// The arguments of one such call, read by their names. A name that nobody asked for is an error, which knows those
/// that were asked for.
class call_arguments {
  public:
    /// `names` are the keywords, whose values stand after the positional ones; null where there are none.
    call_arguments(const char* function, PyObject* const* values, Py_ssize_t positional, PyObject* names)
        : function_(function),
          values_(values),
          positional_(static_cast<std::size_t>(positional)),
          names_(names),
          named_(names == nullptr ? 0 : static_cast<std::size_t>(PyTuple_GET_SIZE(names))) {
        if (named_ > asked_.size()) {
            throw py::type_error(std::string(function).append("() got too many keyword arguments"));
        }
    }

    /// The value of a keyword; null where it is not given.
    [[nodiscard]] py::handle keyword(std::string_view name) {
        asked_.at(asked_count_++) = name;
        for (std::size_t i = 0; i < named_; ++i) {
            if (((read_ >> i) & 1) == 0 && is_name(i, name)) {
                read_ |= std::uint64_t{1} << i;
                return values_[positional_ + i];
            }
        }
        return {};
    }

    /// The only argument that may stand without its name, and must be there.
    [[nodiscard]] py::handle first(std::string_view name) {
        const py::handle named = keyword(name);
        if (named && positional_ != 0) {
            throw py::type_error(prefix("got multiple values for argument '").append(name).append("'"));
        }
        if (!named && positional_ == 0) {
            throw py::type_error(prefix("missing 1 required positional argument: '").append(name).append("'"));
        }
        return named ? named : py::handle(values_[0]);
    }

    /// All that have a name, as a call by `**` takes them.
    [[nodiscard]] py::dict keywords() const {
        py::dict all;
        for (std::size_t i = 0; i < named_; ++i) {
            all[py::handle(PyTuple_GET_ITEM(names_, static_cast<Py_ssize_t>(i)))] = values_[positional_ + i];
        }
        return all;
    }

    /// After all were asked for: that nothing else is given. `positional` may stand without a name.
    void require_no_other(std::size_t positional = 0) const {
        if (positional_ > positional) {
            throw py::type_error(
                prefix("takes ")
                    .append(std::to_string(positional))
                    .append(positional == 1 ? " positional argument but " : " positional arguments but ")
                    .append(std::to_string(positional_))
                    .append(positional_ == 1 ? " was given" : " were given"));
        }
        if (read_ != (named_ == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << named_) - 1)) {
            refuse_other();
        }
    }

  private:
    [[nodiscard]] bool is_name(std::size_t i, std::string_view name) const {
        PyObject* given = PyTuple_GET_ITEM(names_, static_cast<Py_ssize_t>(i));
        return PyUnicode_IS_COMPACT_ASCII(given) &&
               PyUnicode_GET_LENGTH(given) == static_cast<Py_ssize_t>(name.size()) &&
               std::memcmp(PyUnicode_DATA(given), name.data(), name.size()) == 0;
    }

    [[nodiscard]] std::string prefix(const char* says) const {
        return std::string(function_).append("() ").append(says);
    }

    [[noreturn]] void refuse_other() const {
        std::size_t i = 0;
        while (((read_ >> i) & 1) != 0) {
            ++i;
        }
        const auto given = py::handle(PyTuple_GET_ITEM(names_, static_cast<Py_ssize_t>(i))).cast<std::string>();
        throw py::type_error(prefix("got an unexpected keyword argument '")
                                 .append(given)
                                 .append("'")
                                 .append(did_you_mean(given, {asked_.data(), asked_count_})));
    }

    const char* function_;
    PyObject* const* values_;
    std::size_t positional_;
    PyObject* names_;
    std::size_t named_;
    std::uint64_t read_ = 0;
    std::array<std::string_view, 64> asked_;
    std::size_t asked_count_ = 0;
};

/// Calls `visit` with the arguments of `function(**named)`, which live as long as the dict.
template <class Visit>
auto with_keywords(const char* function, const py::dict& named, Visit visit) {
    std::vector<PyObject*> values;
    const py::tuple names(py::len(named));
    for (const auto& [name, value] : named) {
        names[values.size()] = name;
        values.push_back(value.ptr());
    }
    call_arguments given(function, values.data(), 0, names.ptr());
    return visit(given);
}

/// A function of the protocol: `self` is the object whose method it is, or the module.
using fast_function = py::object (*)(py::handle self, call_arguments& given);

/// `Function` as CPython has it, under a name and with the signature that `inspect` and `help` show: "(self, /, *,
/// lengths=None)".
template <fast_function Function>
[[nodiscard]] PyMethodDef& fast_definition(const char* name, const std::string& signature, const std::string& meaning) {
    static const char* const called = name;
    static const std::string text = std::string(name).append(signature).append("\n--\n\n").append(meaning);
    constexpr auto call = [](PyObject* self, PyObject* const* values, Py_ssize_t positional, PyObject* names) {
        return translated([&] {
            call_arguments given(called, values, positional, names);
            return Function(self, given);
        });
    };
    constexpr PyObject* (*as_c)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) = call;
    static PyMethodDef definition{called, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(as_c)),
                                  METH_FASTCALL | METH_KEYWORDS, text.c_str()};
    return definition;
}

/// Such a method of a class.
template <fast_function Method>
void add_fast_method(py::handle type, const char* name, const std::string& signature, const std::string& meaning) {
    PyMethodDef& definition = fast_definition<Method>(name, signature, meaning);
    py::setattr(
        type, name,
        py::reinterpret_steal<py::object>(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &definition)));
}

/// Such a function of the module, in whose package users find it.
template <fast_function Function>
void add_fast_function(py::module_& module, const char* name, const std::string& signature,
                       const std::string& meaning) {
    PyMethodDef& definition = fast_definition<Function>(name, signature, meaning);
    const py::str package(package_of(module));
    module.attr(name) = py::reinterpret_steal<py::object>(PyCFunction_NewEx(&definition, module.ptr(), package.ptr()));
}

}  // namespace floptally::detail::python
