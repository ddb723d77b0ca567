// SPDX-License-Identifier: Apache-2.0

#include "binding.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <pybind11/eval.h>
#include <sstream>
#include <stdexcept>

#include <floptally/cuda/device_reading.hpp>

namespace floptally::detail::python {

definition::definition(std::string own_name, const std::string& written, const char* meaning, const char* self)
    : name(std::move(own_name)), called(name) {
    std::string signature = self;
    bool keyword_only = false;
    std::istringstream lines(written);
    for (std::string part; std::getline(lines, part);) {
        if (part == "self") {
            continue;
        }
        append_item(signature, part);
        takes_others = takes_others || part.starts_with("**");
        keyword_only = keyword_only || part.starts_with("*");
        if (part.starts_with("*")) {
            continue;
        }
        const std::size_t equals = part.find('=');
        parameter& added = parameters.emplace_back();
        added.name = part.substr(0, equals);
        added.interned = PyUnicode_InternFromString(added.name.c_str());
        added.default_value = equals == std::string::npos ? py::object() : py::eval(part.substr(equals + 1));
        positional += keyword_only ? 0 : 1;
    }
    text = name + "(" + signature + ")\n--\n\n" + meaning;
    method.ml_name = name.c_str();
    method.ml_doc = text.c_str();
    method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
}

arguments::arguments(const definition& of, PyObject* const* values, Py_ssize_t positional, PyObject* names)
    : of_(of), positional_(static_cast<std::size_t>(positional)) {
    if (positional_ > of.positional) {
        throw py::type_error(of.called + "() takes " + std::to_string(of.positional) + " positional argument" +
                             (of.positional == 1 ? "" : "s") + " but " + std::to_string(positional_) +
                             (positional_ == 1 ? " was given" : " were given"));
    }
    for (; count_ < positional_; ++count_) {
        given_[count_] = {&of.parameters[count_], values[count_]};
    }
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i) {
        take_named(PyTuple_GET_ITEM(names, i), values[positional + i]);
    }
    for (const definition::parameter& one : of.parameters) {
        if (one.default_value) {
            break;
        }
        if (!given(one.name)) {
            throw py::type_error(of.called + "() missing required argument: '" + one.name + "'");
        }
    }
}

void arguments::take_named(PyObject* name, PyObject* value) {
    const auto end = of_.parameters.end();
    auto found = std::find_if(of_.parameters.begin(), end, [name](const auto& one) { return one.interned == name; });
    if (found == end) {  // made at run time, or wrong
        found = std::find_if(of_.parameters.begin(), end, [name](const auto& one) {
            return PyUnicode_CompareWithASCIIString(name, one.name.c_str()) == 0;
        });
    }
    if (found == end) {
        if (!of_.takes_others) {
            const auto word = py::handle(name).cast<std::string>();
            std::vector<std::string_view> known;
            for (const definition::parameter& one : of_.parameters) {
                known.push_back(one.name);
            }
            throw py::type_error(of_.called + "() got an unexpected keyword argument '" + word + "'" +
                                 did_you_mean(word, known));
        }
        others_ = others_ ? others_ : py::dict();
        others_[name] = py::handle(value);
        return;
    }
    auto* const end_of_given = given_.data() + count_;
    if (std::any_of(given_.data(), end_of_given, [&](const auto& one) { return one.of == &*found; })) {
        throw py::type_error(of_.called + "() got multiple values for argument '" + found->name + "'");
    }
    given_.at(count_++) = {&*found, value};
}

py::object arguments::operator[](std::string_view name) const {
    if (const py::handle value = given(name)) {
        return py::reinterpret_borrow<py::object>(value);
    }
    for (const definition::parameter& one : of_.parameters) {
        if (one.name == name) {
            return one.default_value;
        }
    }
    throw std::out_of_range(of_.name + " has no parameter " + std::string(name));
}

void arguments::require_values() const {
    for (const definition::parameter& each : of_.parameters) {
        if (!each.default_value && !some(each.name)) {
            throw error(each.name, "must be given, got None");
        }
    }
}

std::string arguments::call_text(std::string name) const {
    std::string numbers;
    for (const definition::parameter& each : of_.parameters) {
        numbers.append(numbers.empty() ? "(" : ",").append(std::to_string(as<std::int64_t>(each.name)));
    }
    return numbers.empty() ? name : name + numbers + ")";
}

py::dict arguments::named(bool with_positional) const {
    py::dict all;
    for (std::size_t i = with_positional ? 0 : positional_; i < count_; ++i) {
        all[py::handle(given_[i].of->interned)] = py::handle(given_[i].value);
    }
    return all;
}

void arguments::refuse_type(std::string_view name, const std::string& expected) const {
    throw py::type_error(std::string(name) + ": must be " + expected + ", got " + shown((*this)[name]));
}

namespace {

/// A text of an error as a str: bytes of the input that are no UTF-8 become their escapes.
py::object str_of(std::string_view text) {
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

/// An error of ours as the one that Python raises.
void set_error(const error& problem) {
    try {
        const py::object field = str_of(problem.field());
        const py::object text = str_of(problem.problem());
        const auto* const left = dynamic_cast<const left_out*>(&problem);
        const py::object& type =
            dynamic_cast<const overflow*>(&problem) != nullptr ? errors().overflow : errors().error;
        const py::object raised =
            left != nullptr ? errors().left_out(field, text, left->sequences(), left->counted()) : type(field, text);
        PyErr_SetObject(py::type::handle_of(raised).ptr(), raised.ptr());
    } catch (py::error_already_set& instead) {
        instead.restore();
    }
}

/// Sets Python's error of the C++ exception that is being handled, and returns null.
PyObject* raised() noexcept {
    try {
        throw;
    } catch (py::error_already_set& problem) {
        problem.restore();
    } catch (const py::cast_error&) {  // within a list or a dict
        PyErr_SetString(PyExc_TypeError, "an argument holds a value of another type than it takes");
    } catch (const py::builtin_exception& problem) {
        problem.set_error();
    } catch (const error& problem) {
        set_error(problem);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::length_error&) {  // of a list longer than any memory
        PyErr_NoMemory();
    } catch (const std::exception& problem) {
        PyErr_SetString(PyExc_RuntimeError, problem.what());
    }
    return nullptr;
}

constexpr stub_entry stub[] = {
#include "signatures.inc"
};

}  // namespace

PyObject* called(py::object (*function)(PyObject*, const arguments&), const definition& of, PyObject* self,
                 PyObject* const* values, Py_ssize_t positional, PyObject* names) {
    try {
        return function(self, arguments(of, values, positional, names)).release().ptr();
    } catch (...) {
        return raised();
    }
}

void* value_of(PyObject* self, const std::type_info& type) {
    auto* const object = reinterpret_cast<py::detail::instance*>(self);
    void* const value = object->simple_layout
                            ? object->simple_value_holder[0]
                            : object->get_value_and_holder(py::detail::get_type_info(type)).value_ptr();
    if (value == nullptr) {
        throw py::type_error(std::string(Py_TYPE(self)->tp_name) + ".__init__() has not been called");
    }
    return value;
}

bool take_value(py::handle self, const std::type_info& type, void* made) {
    auto* const object = reinterpret_cast<py::detail::instance*>(self.ptr());
    py::detail::value_and_holder held = object->get_value_and_holder(py::detail::get_type_info(type));
    if (held.holder_constructed()) {
        return false;
    }
    held.value_ptr() = made;
    held.type->init_instance(object, nullptr);
    return true;
}

const stub_entry* find_stub(std::string_view name) {
    const auto* const found =
        std::find_if(std::begin(stub), std::end(stub), [&](const auto& e) { return e.name == name; });
    return found == std::end(stub) ? nullptr : found;
}

const definition* bind(binds as, py::handle to, const char* name, vectorcall function, const char* parameters) {
    const auto owner = to.attr("__name__").cast<std::string>();
    const stub_entry* const said = find_stub(as == binds::function ? name : owner + "." + name);
    if (said == nullptr && parameters == nullptr) {
        throw std::logic_error(owner + "." + name + " is not in _core.pyi");
    }
    constexpr const char* first[] = {"$self, /", "", "$module, /"};
    auto& made = *new definition(name, parameters != nullptr ? parameters : said->parameters,
                                 said != nullptr ? said->meaning : "",
                                 first[static_cast<std::size_t>(as)]);  // as long as the process
    made.called = made.name == "__init__" ? owner : made.name;
    made.method.ml_meth = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
    PyObject* const own = as == binds::method
                              ? PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(to.ptr()), &made.method)
                              : PyCFunction_NewEx(&made.method, as == binds::function ? to.ptr() : nullptr,
                                                  py::str("floptally").ptr());  // where users find it
    auto bound = py::reinterpret_steal<py::object>(own);
    if (as == binds::static_method) {
        bound = py::reinterpret_steal<py::object>(PyStaticMethod_New(bound.ptr()));
    }
    py::setattr(to, name, bound);
    return &made;
}

void add_property(py::handle type, const char* name, py::object (*as)(PyObject*)) {
    const auto get = [](PyObject* self, void* read) noexcept -> PyObject* {
        try {
            return reinterpret_cast<py::object (*)(PyObject*)>(read)(self).release().ptr();
        } catch (...) {
            return raised();
        }
    };
    const stub_entry* const said = find_stub(type.attr("__name__").cast<std::string>() + "." + name);
    auto& made = *new PyGetSetDef{name, get, nullptr, said == nullptr ? nullptr : said->meaning,
                                  reinterpret_cast<void*>(as)};  // as long as the process
    py::setattr(
        type, name,
        py::reinterpret_steal<py::object>(PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), &made)));
}

py::dict record_state(py::handle self, const definition& made) {
    py::dict state;
    for (const definition::parameter& each : made.parameters) {
        state[py::handle(each.interned)] = self.attr(each.interned);
    }
    return state;
}

std::string record_text(py::handle self, const definition& made) {
    std::string text;
    std::size_t place = 0;
    for (const definition::parameter& each : made.parameters) {
        const py::object value = self.attr(each.interned);
        const bool has_place = place++ < made.positional;
        if (has_place || !value.equal(each.default_value)) {
            append_item(text, (has_place ? "" : each.name + "=") + std::string(py::repr(value)));
        }
    }
    return made.called + "(" + text + ")";
}

py::tuple own_state(const py::object& pickled) {
    py::tuple state(pickled);
    if (state.size() != 4) {
        throw error("state", "was pickled by a floptally that said no version of its numbers");
    }
    require_numbers_version("the pickle", state[2].cast<std::uint64_t>(), state[3].cast<std::string>());
    return state;
}

}  // namespace floptally::detail::python
