// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>

#include "values.hpp"

/// @file
/// Binds functions and members of the extension's classes. Every function of the extension takes `*args, **kwargs` of
/// pybind11, and `arguments` reads them by the parameters that floptally/_core.pyi declares. Type checkers, `inspect`
/// and `help` read the same declaration.

namespace floptally::python {

/// The parameters of a function. Lives as long as the process.
struct signature {
    struct parameter {
        std::string name;
        PyObject* interned;        ///< names in a call are interned too, so that pointers are compared
        py::object default_value;  ///< null if the argument is required
    };
    std::string called;  ///< the name in an error; for `__init__` the class name
    std::vector<parameter> parameters{};
    std::size_t positional = 0;  ///< how many may be passed by position
    bool takes_others = false;   ///< "**axes"
};

/// An entry of the stub: a class, or a function by its class and name ("Meter.add").
struct stub_entry {
    std::string_view name;
    const char* parameters;  ///< one per line
    const char* meaning;
};
/// Null if the stub has no such entry.
[[nodiscard]] const stub_entry* find_stub(std::string_view name);

/// A class whose objects hold a shared pointer. pybind11 refuses to cast to it before `__init__` has run.
template <class T>
using bound_class = py::class_<T, std::shared_ptr<T>>;

/// Creates a class with the docstring from the stub.
template <class T>
[[nodiscard]] bound_class<T> new_class(py::module_& module, const char* name) {
    return {module, name, find_stub(name)->meaning};
}

/// A type as an error names it: "a floptally.Plan", "a list of str".
template <class T>
[[nodiscard]] std::string type_words() {
    using value = std::remove_cvref_t<T>;
    if constexpr (std::is_same_v<value, bool>) {
        return "True or False";
    } else if constexpr (std::integral<value>) {
        using limits = std::numeric_limits<value>;
        if constexpr (limits::digits == 63) {
            return "an integer";
        }
        return "an integer from " + std::to_string(limits::min()) + " to " + std::to_string(limits::max());
    } else if constexpr (std::is_same_v<value, std::string>) {
        return "a str";
    } else if constexpr (std::is_same_v<value, py::dict>) {
        return "a dict";
    } else if constexpr (std::floating_point<value>) {
        return "a number";
    } else if constexpr (std::derived_from<value, py::object>) {
        return "bytes";
    } else if constexpr (requires { typename value::value_type; }) {
        const std::string element = type_words<typename value::value_type>();
        return element.starts_with("a ") ? "a list of " + element.substr(2) : "a list with each item " + element;
    } else if constexpr (requires { typename value::first_type; }) {
        return "pairs";
    } else {
        return "a floptally." + py::type::of<value>().attr("__name__").template cast<std::string>();
    }
}

/// Throws the TypeError of an object that has no value of the class: its `__init__` did not run, or it is of another
/// class.
[[noreturn]] void refuse_self(py::handle self, py::handle type);

/// The C++ value of an object.
template <class T>
[[nodiscard]] T& value_of(py::handle self) {
    try {
        if (const auto held = self.cast<std::shared_ptr<T>>()) {
            return *held;  // the object outlives the call
        }
    } catch (const py::cast_error&) {
    }
    refuse_self(self, py::type::of<T>());
}

/// The arguments of a call, by name. Valid during the call.
class arguments {
  public:
    arguments(const signature& callee, const py::kwargs& by_name);
    arguments(const signature& callee, const py::args& by_position, const py::kwargs& by_name);

    /// The value that the caller passed; null if it passed none.
    [[nodiscard]] py::handle lookup(std::string_view name) const {
        return (passed_ & mark_of(name)) == 0 ? py::handle() : find(name);
    }
    /// True if the function has a parameter with this name.
    [[nodiscard]] bool has(std::string_view name) const {
        return std::any_of(callee_.parameters.begin(), callee_.parameters.end(),
                           [&](const auto& parameter) { return parameter.name == name; });
    }
    /// The value that the caller passed; null if it passed none, or None.
    [[nodiscard]] py::handle some(std::string_view name) const {
        const py::handle value = lookup(name);
        return value && value.is_none() ? py::handle() : value;
    }
    /// The value that the caller passed, else the default.
    [[nodiscard]] py::object operator[](std::string_view name) const;
    /// The argument as a reference to a bound class, or converted by pybind11. Throws a TypeError for another type.
    template <class T>
    [[nodiscard]] T as(std::string_view name) const {
        if constexpr (std::is_reference_v<T>) {
            using value = std::remove_cvref_t<T>;
            const py::object passed = (*this)[name];
            if (!py::isinstance<value>(passed)) {
                refuse_type(name, type_words<T>());
            }
            return value_of<value>(passed);
        } else {
            return converted<T>(name);
        }
    }
    [[nodiscard]] std::string text(std::string_view name) const { return to_text((*this)[name], name); }
    [[nodiscard]] bool flag(std::string_view name) const { return as<bool>(name); }
    /// Returns nullopt if the argument is None.
    [[nodiscard]] std::optional<bool> some_flag(std::string_view name) const {
        return (*this)[name].is_none() ? std::nullopt : std::optional(flag(name));
    }
    [[nodiscard]] double number(std::string_view name) const { return to_number((*this)[name], name); }
    [[nodiscard]] std::uint64_t count(std::string_view name, std::uint64_t least = 0,
                                      std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
        return to_count((*this)[name], name, least, most);
    }
    /// Nullopt if the argument was not passed, or is None.
    [[nodiscard]] std::optional<std::string> some_text(std::string_view name) const {
        return some(name) ? std::optional(text(name)) : std::nullopt;
    }
    [[nodiscard]] std::optional<double> some_number(std::string_view name) const {
        return some(name) ? std::optional(number(name)) : std::nullopt;
    }
    [[nodiscard]] std::optional<std::uint64_t> some_count(
        std::string_view name, std::uint64_t least = 0,
        std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
        return some(name) ? std::optional(count(name, least, most)) : std::nullopt;
    }
    /// Throws if a parameter without a default is None.
    void require_values() const;
    /// The name of the function; of an `__init__` its class.
    [[nodiscard]] const std::string& called() const { return callee_.called; }
    /// A call with integers as text: "window(2,-1)".
    [[nodiscard]] std::string call_text() const;
    /// The keyword arguments taken by "**".
    [[nodiscard]] py::dict others() const { return others_ ? py::dict(others_) : py::dict(); }
    /// All arguments that were passed by name. Optionally those passed by position too.
    [[nodiscard]] py::dict named(bool with_positional = false) const;
    /// The values of all parameters in their order, defaults included.
    [[nodiscard]] py::tuple values() const;

  private:
    template <class T>
    [[nodiscard]] T converted(std::string_view name) const {
        if constexpr (std::is_same_v<T, py::dict> || std::is_same_v<T, bool>) {
            if (!py::isinstance<std::conditional_t<std::is_same_v<T, bool>, py::bool_, T>>((*this)[name])) {
                refuse_type(name, type_words<T>());
            }
        }
        try {
            if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
                py::object list = (*this)[name];
                if (is_sequence(list)) {
                    list = items_of(list, name, type_words<T>());  // its length may differ from len()
                }
                return list.template cast<T>();
            } else {
                return (*this)[name].template cast<T>();
            }
        } catch (const py::cast_error&) {
            refuse_type(name, type_words<T>());
        }
    }

    /// Most names are not passed in a call. One bit, known when the extension is compiled, tells that of most of them.
    [[nodiscard]] static constexpr std::uint64_t mark_of(std::string_view name) {
        return std::uint64_t{1} << ((name.size() * 5 + static_cast<unsigned char>(name.front())) % 64);
    }
    [[nodiscard]] py::handle find(std::string_view name) const;
    void take(const signature::parameter& parameter, py::handle value) {
        passed_values_.at(count_++) = {&parameter, value.ptr()};
        passed_ |= mark_of(parameter.name);
    }
    void take_named(const py::kwargs& by_name);
    [[noreturn]] void refuse_name(py::handle name, const py::kwargs& by_name) const;
    [[noreturn]] void refuse_type(std::string_view name, const std::string& expected) const;

    struct passed_value {
        const signature::parameter* parameter;
        PyObject* value;
    };
    const signature& callee_;
    std::array<passed_value, 40> passed_values_;  // the first count_ are set
    std::size_t count_ = 0;
    std::size_t positional_ = 0;
    std::uint64_t passed_ = 0;
    py::object others_{};
};

/// Converts a result to a Python object.
template <class T>
[[nodiscard]] py::object to_object(T&& result) {
    using value = std::remove_cvref_t<T>;
    if constexpr (std::derived_from<value, py::object>) {
        return std::forward<T>(result);
    } else if constexpr (std::is_same_v<value, flops>) {
        return to_int(result);
    } else if constexpr (std::is_same_v<value, std::string> || std::is_same_v<value, std::string_view>) {
        return py::str(result.data(), result.size());
    } else {
        return py::cast(std::forward<T>(result));
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

/// Calls a stateless lambda with the object it is a member of, and with the arguments if it takes them. All lambdas
/// become functions of one type, so that pybind11's code for a function is compiled once.
template <class Function, class... Arguments>
[[nodiscard]] py::object invoke(py::handle self, const Arguments&... args) {
    using self_type = typename parameters_of_call<decltype(&Function::operator())>::self;
    const auto call = [&]() -> decltype(auto) {
        if constexpr (std::is_void_v<self_type>) {
            return Function{}(args...);
        } else if constexpr (std::is_same_v<self_type, py::handle>) {
            return Function{}(self, args...);
        } else {
            return Function{}(value_of<std::remove_cvref_t<self_type>>(self), args...);
        }
    };
    if constexpr (std::is_void_v<decltype(call())>) {
        call();
        return py::none();
    } else {
        return to_object(call());
    }
}
using bound_call = py::object (*)(py::handle, const arguments&);
using bound_getter = py::object (*)(py::handle);

/// Adds a member to a class, static or not, or a function to a module. `parameters`: for a function that the stub need
/// not have.
enum class binds : std::uint8_t { method, static_method, function };
void bind(binds as, py::handle to, const char* name, bound_call call, const char* parameters = nullptr);
void add_property(py::handle type, const char* name, bound_getter get);

template <class Function>
void method(py::handle type, const char* name, Function) {
    bind(binds::method, type, name, &invoke<Function, arguments>);
}
template <class Function>
void special_method(py::handle type, const char* name, const char* parameters, Function) {
    bind(binds::method, type, name, &invoke<Function, arguments>, parameters);
}
template <class Function>
void static_method(py::handle type, const char* name, Function) {
    bind(binds::static_method, type, name, &invoke<Function, arguments>);
}
template <class Function>
void function(py::handle module, const char* name, Function) {
    bind(binds::function, module, name, &invoke<Function, arguments>);
}
template <class Function>
void property(py::handle type, const char* name, Function) {
    add_property(type, name, &invoke<Function>);
}

/// A function of the stub with the docstring that `inspect` and `help` read. `self`: how the text names the object.
struct described {
    const signature& callee;
    std::string text;
};
[[nodiscard]] described describe(py::handle owner, const char* name, const char* self, const char* parameters);

/// The signature of a class's `__init__`.
template <class T>
inline const signature* constructor_of = nullptr;
/// An `__init__` from a lambda that returns a T.
template <class T, class Function>
void constructor(bound_class<T>& type, Function) {
    const described said = describe(type, "__init__", "self, /", nullptr);
    constructor_of<T> = &said.callee;
    type.def(py::init([](const py::args& by_position, const py::kwargs& by_name) {
                 return std::shared_ptr<T>(new T(Function{}(arguments(*constructor_of<T>, by_position, by_name))));
             }),
             said.text.c_str());
}

/// The `__init__` of a class that users cannot construct. Its TypeError says how to get an object.
inline void made_elsewhere(py::handle type, const char* makers) {
    py::setattr(type, "__init__", package_attribute("_errors", "made_elsewhere")(makers));
}

/// An operator on two objects of one class. Returns NotImplemented for another class.
template <class T, class Function>
void operation(const bound_class<T>& type, const char* name, Function) {
    special_method(type, name, "self\nother", [](const T& self, const arguments& args) -> py::object {
        const py::object other = args["other"];
        if (!py::isinstance<T>(other)) {
            return py::reinterpret_borrow<py::object>(Py_NotImplemented);
        }
        return to_object(Function{}(self, value_of<T>(other)));
    });
}

/// `==` of mutable values. They have no hash.
template <class T>
void equality(const bound_class<T>& type) {
    operation(type, "__eq__", [](const T& a, const T& b) { return a == b; });
    py::setattr(type, "__hash__", py::none());
}
/// `==` and hash of immutable values. The lambda returns the key to compare.
template <class T, class Key>
void equality(const bound_class<T>& type, Key) {
    operation(type, "__eq__", [](const T& a, const T& b) { return to_object(Key{}(a)).equal(to_object(Key{}(b))); });
    special_method(type, "__hash__", "self",
                   [](const T& value, const arguments&) { return py::hash(to_object(Key{}(value))); });
}

template <class T, class Text>
void shown_as(const bound_class<T>& type, Text) {
    special_method(type, "__repr__", "self", [](const T& value, const arguments&) { return Text{}(value); });
}

/// The state of a pickle: a value, a `__dict__`, and the versions of the numbers and of floptally.
[[nodiscard]] py::tuple whole_state(py::handle self, const py::object& value);
/// The value and the `__dict__` of a pickle. Throws if the numbers have another version.
[[nodiscard]] std::pair<py::object, py::dict> own_state(const py::tuple& pickled);

/// Pickles by two lambdas: one returns the state of a value, the other a value from a state, or a pointer to one. An
/// object's `__dict__`, as a subclass may have, is kept.
template <class T, class State, class OfState>
void pickles(bound_class<T>& type, State, OfState) {
    type.def(py::pickle([](const py::object& self) { return whole_state(self, invoke<State>(self)); },
                        [](const py::tuple& pickled) {
                            auto [value, attributes] = own_state(pickled);
                            if constexpr (std::is_same_v<decltype(OfState{}(value)), std::shared_ptr<T>>) {
                                return std::pair(OfState{}(value), std::move(attributes));
                            } else {
                                return std::pair(std::make_shared<T>(OfState{}(value)), std::move(attributes));
                            }
                        }));
}

/// The arguments that create a record again, and the call as text.
[[nodiscard]] py::dict record_state(py::handle self, const signature& constructor_signature);
[[nodiscard]] std::string record_text(py::handle self, const signature& constructor_signature);

/// A class whose objects are the arguments they were created with. Each parameter of `__init__` is also a property.
/// Text, equality, hash and pickles use the arguments. The lambda creates an object from arguments.
template <class T, class Function>
void record(bound_class<T>& type, Function make) {
    constructor(type, make);
    special_method(type, "__repr__", "self",
                   [](py::handle self, const arguments&) { return record_text(self, *constructor_of<T>); });
    special_method(type, "__hash__", "self", [](py::handle self, const arguments&) {
        return py::hash(py::str(record_text(self, *constructor_of<T>)));
    });
    special_method(type, "__eq__", "self\nother", [](py::handle self, const arguments& args) -> py::object {
        const py::object other = args["other"];
        return py::isinstance<T>(other) ? py::object(py::bool_(record_text(self, *constructor_of<T>) ==
                                                               record_text(other, *constructor_of<T>)))
                                        : py::reinterpret_borrow<py::object>(Py_NotImplemented);
    });
    pickles(
        type, [](py::handle self) { return record_state(self, *constructor_of<T>); },
        [](const py::object& state) { return Function{}(arguments(*constructor_of<T>, py::kwargs(py::dict(state)))); });
}

/// Makes `floptally::error` and its subclasses Python's `floptally.Error` in this extension.
void translate_errors();

}  // namespace floptally::python
