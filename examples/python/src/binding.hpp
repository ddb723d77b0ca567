// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>

#include "values.hpp"

/// @file
/// Functions and members of the extension's classes. CPython calls them by its vectorcall protocol (PEP 590) with the
/// arguments where they stand: pybind11 would make a tuple, a dict and a string for each name of every call, which
/// takes longer than counting a batch. Parameters, defaults and docstrings are those of floptally/_core.pyi: what a
/// type checker reads is what calls are held against and what `inspect` and `help` show.

namespace floptally::detail::python {

/// A function as it is written in Python. Lives as long as the process.
struct definition {
    /// `self` is how CPython writes its first argument.
    definition(std::string own_name, const std::string& written, const char* meaning, const char* self);

    struct parameter {
        std::string name;
        PyObject* interned;
        py::object default_value;  ///< null where it must be given
    };
    std::string name;
    std::string called;  ///< as a caller writes it: of `__init__` the name of its class
    std::vector<parameter> parameters{};
    std::size_t positional = 0;  ///< those that may stand without their name
    bool takes_others = false;   ///< "**axes"
    std::string text;            ///< as `inspect` and `help` read it
    PyMethodDef method{};
};

/// An entry of the stub: a class, or a function by its class and name ("Meter.add").
struct stub_entry {
    std::string_view name;
    const char* parameters;  ///< a line each
    const char* meaning;
};
/// Null where it has none.
[[nodiscard]] const stub_entry* find_stub(std::string_view name);

/// A class with the docstring that the stub has.
template <class T>
[[nodiscard]] py::class_<T> new_class(py::module_& module, const char* name) {
    return {module, name, find_stub(name)->meaning};
}

/// A type as an error names it: "a floptally.Plan", "a list of str".
template <class T>
[[nodiscard]] std::string type_words() {
    using value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<value, bool>) {
        return "True or False";
    } else if constexpr (std::integral<value>) {
        return "an integer";
    } else if constexpr (std::is_same_v<value, std::string>) {
        return "a str";
    } else if constexpr (std::is_same_v<value, py::dict>) {
        return "a dict";
    } else if constexpr (std::floating_point<value>) {
        return "a number";
    } else if constexpr (std::derived_from<value, py::object>) {
        return "bytes";
    } else if constexpr (requires { typename value::value_type; }) {
        const std::string one = type_words<typename value::value_type>();
        return "a list of " + (one.starts_with("a ") ? one.substr(2) : one);
    } else if constexpr (requires { typename value::first_type; }) {
        return "pairs";
    } else {
        return "a floptally." + py::type::of<value>().attr("__name__").template cast<std::string>();
    }
}

/// The arguments of a call, read by their names.
class arguments {
  public:
    arguments(const definition& of, PyObject* const* values, Py_ssize_t positional, PyObject* names);

    /// The value that the caller gives; null where there is none.
    [[nodiscard]] py::handle given(std::string_view name) const {
        for (std::size_t i = 0; i < count_; ++i) {
            if (given_[i].of->name == name) {
                return given_[i].value;
            }
        }
        return {};
    }
    /// True where the call has a parameter of that name.
    [[nodiscard]] bool has(std::string_view name) const {
        return std::any_of(of_.parameters.begin(), of_.parameters.end(),
                           [&](const auto& one) { return one.name == name; });
    }
    /// The value that the caller gives; null where there is none, or None.
    [[nodiscard]] py::handle some(std::string_view name) const {
        const py::handle value = given(name);
        return value && value.is_none() ? py::handle() : value;
    }
    /// The value that the caller gives, else the default.
    [[nodiscard]] py::object operator[](std::string_view name) const;
    /// An object of a class, or what pybind11 makes of the value; of another type it is a TypeError.
    template <class T>
    [[nodiscard]] decltype(auto) as(std::string_view name) const {
        if constexpr (std::is_same_v<T, py::dict> || std::is_same_v<T, bool>) {
            if (!py::isinstance<std::conditional_t<std::is_same_v<T, bool>, py::bool_, T>>((*this)[name])) {
                refuse_type(name, type_words<T>());
            }
        }
        try {
            if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
                py::object list = (*this)[name];
                if (is_sequence(list)) {
                    list = items_of(list, name, type_words<T>());  // which may have another length than it says
                }
                return list.template cast<T>();
            } else {
                return (*this)[name].template cast<T>();
            }
        } catch (const py::cast_error&) {
            refuse_type(name, type_words<T>());
        } catch (const py::reference_cast_error&) {  // of None
            refuse_type(name, type_words<T>());
        }
    }
    [[nodiscard]] std::string text(std::string_view name) const { return to_text((*this)[name], name); }
    [[nodiscard]] bool flag(std::string_view name) const { return as<bool>(name); }
    [[nodiscard]] double number(std::string_view name) const { return to_number((*this)[name], name); }
    [[nodiscard]] std::uint64_t count(std::string_view name, std::uint64_t least = 0,
                                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
        return to_count((*this)[name], name, least, most);
    }
    /// None where it is not given, or None.
    [[nodiscard]] std::optional<std::string> some_text(std::string_view name) const {
        const py::handle value = some(name);
        return value ? std::optional(to_text(value, name)) : std::nullopt;
    }
    [[nodiscard]] std::optional<double> some_number(std::string_view name) const {
        const py::handle value = some(name);
        return value ? std::optional(to_number(value, name)) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::uint64_t> some_count(
        std::string_view name, std::uint64_t least = 0,
        std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
        const py::handle value = some(name);
        return value ? std::optional(to_count(value, name, least, most)) : std::nullopt;
    }
    /// Throws where a parameter without a default is None.
    void require_values() const;
    /// The call as a text: "window(2,-1)"; of integers.
    [[nodiscard]] std::string call_text(std::string name) const;
    /// Those of "**".
    [[nodiscard]] py::dict others() const { return others_ ? py::dict(others_) : py::dict(); }
    /// All that are given by their names; those by their places too where these are asked for.
    [[nodiscard]] py::dict named(bool with_positional = false) const;

  private:
    struct value_of_parameter {
        const definition::parameter* of;
        PyObject* value;
    };
    void take_named(PyObject* name, PyObject* value);
    [[noreturn]] void refuse_type(std::string_view name, const std::string& expected) const;

    const definition& of_;
    std::size_t positional_;
    std::array<value_of_parameter, 40> given_;
    std::size_t count_ = 0;
    py::object others_{};
};

/// A result as Python's object.
template <class T>
[[nodiscard]] py::object to_object(T&& made) {
    using value = std::remove_cvref_t<T>;
    if constexpr (std::derived_from<value, py::object>) {
        return std::forward<T>(made);
    } else if constexpr (std::is_same_v<value, flops>) {
        return to_int(made);
    } else if constexpr (std::is_same_v<value, std::string> || std::is_same_v<value, std::string_view>) {
        return py::str(made.data(), made.size());
    } else {
        return py::cast(std::forward<T>(made));
    }
}

/// The value of an object, which CPython has found to be of that class.
[[nodiscard]] void* value_of(PyObject* self, const std::type_info& type);

template <class Self>
[[nodiscard]] Self self_as(PyObject* self) {
    if constexpr (std::is_same_v<Self, py::handle>) {
        return Self(self);
    } else {
        return *static_cast<std::remove_reference_t<Self>*>(value_of(self, typeid(Self)));
    }
}

template <class Function>
struct parameters_of_call;
template <class Function, class Result, class Self>
struct parameters_of_call<Result (Function::*)(Self, const arguments&) const> {
    using self = Self;
};
template <class Function, class Result>
struct parameters_of_call<Result (Function::*)(const arguments&) const> {
    using self = void;
};
template <class Function, class Result, class Self>
struct parameters_of_call<Result (Function::*)(Self) const> {
    using self = Self;
};

/// The definition of a lambda, which has no state: its type is all that a call needs to know.
template <class Function>
inline const definition* definition_of = nullptr;

/// Calls a lambda with the object that it is a member of, and with arguments where there are any.
template <class Function, class... Arguments>
[[nodiscard]] py::object invoke(PyObject* self, const Arguments&... given) {
    using self_type = typename parameters_of_call<decltype(&Function::operator())>::self;
    const auto made = [&]() -> decltype(auto) {
        if constexpr (std::is_void_v<self_type>) {
            return Function{}(given...);
        } else {
            return Function{}(self_as<self_type>(self), given...);
        }
    };
    if constexpr (std::is_void_v<decltype(made())>) {
        made();
        return py::none();
    } else {
        return to_object(made());
    }
}

/// Calls `invoke` for CPython: a reference of its own, or null and an error.
[[nodiscard]] PyObject* called(py::object (*function)(PyObject*, const arguments&), const definition& of,
                               PyObject* self, PyObject* const* values, Py_ssize_t positional, PyObject* names);

template <class Function>
[[nodiscard]] PyObject* call(PyObject* self, PyObject* const* values, Py_ssize_t positional, PyObject* names) {
    return called(&invoke<Function, arguments>, *definition_of<Function>, self, values, positional, names);
}

using vectorcall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

/// Makes a member of a class, static or not, or a function of a module. `parameters`: of one that the stub need not
/// have.
enum class binds : std::uint8_t { method, static_method, function };
[[nodiscard]] const definition* bind(binds as, py::handle to, const char* name, vectorcall function,
                                     const char* parameters = nullptr);
void add_property(py::handle type, const char* name, py::object (*as)(PyObject*));

template <class Function>
void method(py::handle type, const char* name, Function) {
    definition_of<Function> = bind(binds::method, type, name, &call<Function>);
}
/// Methods of several names by one lambda; CPython knows each by a type of its own.
template <class Function, std::size_t>
struct one_of_methods : Function {};
template <class Function, std::size_t... Each>
void methods(py::handle type, const char* const* names, Function function, std::index_sequence<Each...> /*all*/) {
    (method(type, names[Each], one_of_methods<Function, Each>{function}), ...);
}
template <std::size_t Count, class Function>
void methods(py::handle type, const char* const (&names)[Count], Function function) {
    methods(type, names, function, std::make_index_sequence<Count>());
}
template <class Function>
void special_method(py::handle type, const char* name, const char* parameters, Function) {
    definition_of<Function> = bind(binds::method, type, name, &call<Function>, parameters);
}
template <class Function>
void static_method(py::handle type, const char* name, Function) {
    definition_of<Function> = bind(binds::static_method, type, name, &call<Function>);
}
template <class Function>
void function(py::handle module, const char* name, Function) {
    definition_of<Function> = bind(binds::function, module, name, &call<Function>);
}
template <class Function>
void property(py::handle type, const char* name, Function) {
    add_property(type, name, &invoke<Function>);
}

/// The value of a new object that `__init__` or `__setstate__` makes; one that has a value keeps it.
[[nodiscard]] bool take_value(py::handle self, const std::type_info& type, void* made);
template <class T>
void construct(py::handle self, std::unique_ptr<T> made) {
    if (take_value(self, typeid(T), made.get())) {
        static_cast<void>(made.release());
    }
}

template <class T>
inline const definition* constructor_of = nullptr;
/// `__init__` by a lambda that returns a T.
template <class T, class Function>
void constructor(const py::class_<T>& type, Function) {
    const auto make = [](py::handle self, const arguments& given) {
        construct<T>(self, std::unique_ptr<T>(new T(Function{}(given))));
    };
    method(type, "__init__", make);
    constructor_of<T> = definition_of<std::remove_const_t<decltype(make)>>;
}

/// `__init__` of a class that users do not make themselves: a TypeError that says what makes its objects.
inline void made_elsewhere(py::handle type, const char* makers) {
    py::setattr(type, "__init__", package_attribute("_errors", "made_elsewhere")(makers));
}

/// An operator of two objects of one class; of another it does not know it.
template <class T, class Function>
void operation(const py::class_<T>& type, const char* name, Function) {
    special_method(type, name, "self\nother", [](py::handle self, const arguments& given) -> py::object {
        const py::object other = given["other"];
        if (!py::isinstance<T>(other)) {
            return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        }
        return to_object(Function{}(self_as<T&>(self.ptr()), other.cast<const T&>()));
    });
}

/// `==` of values. Those that can change have no hash.
template <class T>
void equality(const py::class_<T>& type) {
    operation(type, "__eq__", [](const T& a, const T& b) { return a == b; });
    py::setattr(type, "__hash__", py::none());
}
/// `==` and hash of immutable values, by a lambda that gives what they are equal by.
template <class T, class Key>
void equality(const py::class_<T>& type, Key) {
    operation(type, "__eq__", [](const T& a, const T& b) { return to_object(Key{}(a)).equal(to_object(Key{}(b))); });
    special_method(type, "__hash__", "self",
                   [](const T& value, const arguments&) { return py::hash(to_object(Key{}(value))); });
}

template <class T, class Text>
void shown_as(const py::class_<T>& type, Text) {
    special_method(type, "__repr__", "self", [](const T& value, const arguments&) { return Text{}(value); });
}

/// The state of a pickle: a value, a `__dict__`, and the versions of the numbers and of floptally that made it. Another
/// version of the numbers is an error.
[[nodiscard]] py::tuple own_state(const py::object& pickled);

/// Pickles by two lambdas: the state of a value, and a value of a state, or what makes that of an object. What an
/// object keeps in its `__dict__`, as one of a subclass does, goes with it.
template <class T, class State, class OfState>
void pickles(const py::class_<T>& type, State, OfState) {
    special_method(type, "__getstate__", "self", [](py::handle self, const arguments&) {
        const auto value = [self]() -> decltype(auto) {
            if constexpr (std::is_invocable_v<State, T&>) {
                return State{}(self_as<T&>(self.ptr()));
            } else {
                return State{}(self);
            }
        };
        return py::make_tuple(value(), py::hasattr(self, "__dict__") ? py::object(self.attr("__dict__")) : py::none(),
                              numbers_version, version);
    });
    special_method(type, "__setstate__", "self\nstate", [](py::handle self, const arguments& given) {
        const py::tuple state = own_state(given["state"]);
        if constexpr (std::is_invocable_v<OfState, py::handle, py::object>) {
            OfState{}(self, state[0]);
        } else {
            construct<T>(self, std::unique_ptr<T>(new T(OfState{}(py::object(state[0])))));
        }
        if (!state[1].is_none()) {
            self.attr("__dict__").attr("update")(state[1]);
        }
    });
}

/// The arguments that make a record again, and the call as a text.
[[nodiscard]] py::dict record_state(py::handle self, const definition& made);
[[nodiscard]] std::string record_text(py::handle self, const definition& made);

/// A class whose objects are what they were made with: each parameter of `__init__` is a property too. Text, equality,
/// hash and pickles are by those.
template <class T>
void record(const py::class_<T>& type) {
    special_method(type, "__repr__", "self",
                   [](py::handle self, const arguments&) { return record_text(self, *constructor_of<T>); });
    special_method(type, "__hash__", "self", [](py::handle self, const arguments&) {
        return py::hash(py::str(record_text(self, *constructor_of<T>)));
    });
    special_method(type, "__eq__", "self\nother", [](py::handle self, const arguments& given) -> py::object {
        const py::object other = given["other"];
        return py::isinstance<T>(other) ? py::object(py::bool_(record_text(self, *constructor_of<T>) ==
                                                               record_text(other, *constructor_of<T>)))
                                        : py::reinterpret_borrow<py::object>(Py_NotImplemented);
    });
    pickles(
        type, [](py::handle self) { return record_state(self, *constructor_of<T>); },
        [](py::handle self, const py::object& state) { py::type::of<T>().attr("__init__")(self, **py::dict(state)); });
}

}  // namespace floptally::detail::python
