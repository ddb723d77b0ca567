// SPDX-License-Identifier: Apache-2.0

#include "binding.hpp"

#include <algorithm>
#include <exception>
#include <pybind11/eval.h>
#include <span>
#include <sstream>
#include <stdexcept>

#include <floptally/cuda/device_reading.hpp>

namespace floptally::python {

arguments::arguments(const signature& callee, const py::kwargs& by_name) : callee_(callee) { take_named(by_name); }

arguments::arguments(const signature& callee, const py::args& by_position, const py::kwargs& by_name)
    : callee_(callee), positional_(by_position.size()) {
    if (positional_ > callee.positional) {
        throw py::type_error(callee.called + "() takes " + std::to_string(callee.positional) + " positional argument" +
                             (callee.positional == 1 ? "" : "s") + " but " + std::to_string(positional_) +
                             (positional_ == 1 ? " was given" : " were given"));
    }
    for (const py::handle value : by_position) {
        take(callee.parameters[count_], value);
    }
    take_named(by_name);
}

namespace {

/// A hint such as "; give the length of each sequence: lengths=[4096] * 4" for a keyword that other tools use for the
/// shape of a batch. Empty for other keywords. Sizes that were not passed stay names.
std::string hint_of_lengths(std::string_view word, const py::kwargs& passed) {
    constexpr const char* rows[] = {"batch_size", "micro_batch_size", "global_batch_size", "bs", "num_sequences"};
    constexpr const char* columns[] = {"seq_len",        "seqlen",     "seq_length",  "sequence_length",
                                       "max_seq_length", "max_length", "max_seq_len", "context_length"};
    if (std::find(std::begin(rows), std::end(rows), word) == std::end(rows) &&
        std::find(std::begin(columns), std::end(columns), word) == std::end(columns)) {
        return {};
    }
    const auto number = [&](std::span<const char* const> names, std::string otherwise) {
        for (const char* const name : names) {
            if (passed.contains(name) && PyLong_CheckExact(passed[name].ptr())) {
                return py::str(passed[name]).cast<std::string>();
            }
        }
        return otherwise;
    };
    return "; give the length of each sequence: lengths=[" + number(columns, "seq_len") + "] * " +
           number(rows, "batch_size");
}

/// A hint such as "; did you mean 'lengths'?" for a keyword that trainers use for a batch. It names the parameters of
/// the call that take the same batch. Empty for other keywords.
std::string hint_of_batch(std::string_view word, const arguments& passed) {
    struct trainer_keyword {
        std::string_view name;
        std::string_view reason;
        std::string_view parameters[3];  ///< fewer: the others are empty
    };
    constexpr std::string_view ids = "tokens are counted, not their ids";
    constexpr std::string_view pictures = "sizes of pictures are counted, not their values";
    static const trainer_keyword known[] = {
        {"seq_lens", "", {"lengths"}},
        {"seqlens", "", {"lengths"}},
        {"seq_lengths", "", {"lengths"}},
        {"sequence_lengths", "", {"lengths"}},
        {"batch_seqlens", "", {"lengths"}},
        {"num_tokens", "", {"lengths"}},
        {"tokens", "", {"lengths"}},
        {"token_counts", "", {"lengths"}},
        {"input_ids", ids, {"lengths", "attention_mask", "cu_seqlens"}},
        {"decoder_input_ids", ids, {"lengths"}},
        {"token_ids", ids, {"lengths", "attention_mask", "cu_seqlens"}},
        {"labels", ids, {"lengths", "attention_mask", "logits"}},
        {"position_ids", "sequences are counted, not their positions", {"lengths", "cu_seqlens"}},
        {"pixel_values", pictures, {"grid_thw", "pixels", "images"}},
        {"image_grid_thw", "", {"grid_thw"}},
        {"video_grid_thw", "", {"grid_thw"}},
        {"input_features", "frames are counted, not their values", {"audio_frames"}}};
    for (const trainer_keyword& each : known) {
        if (each.name != word) {
            continue;
        }
        std::string choices;
        for (const std::string_view parameter : each.parameters) {
            if (!parameter.empty() && passed.has(parameter)) {
                append_item(choices, std::string(parameter) + "=");
            }
        }
        if (choices.empty()) {
            return {};
        }
        if (each.reason.empty()) {
            return "; did you mean '" + choices.substr(0, choices.size() - 1) + "'?";
        }
        return "; " + std::string(each.reason) + ": pass " + choices;
    }
    return {};
}

}  // namespace

py::handle arguments::find(std::string_view name) const {
    for (std::size_t i = 0; i < count_; ++i) {
        if (passed_values_[i].parameter->name == name) {
            return passed_values_[i].value;
        }
    }
    return {};
}

void arguments::take_named(const py::kwargs& by_name) {
    const auto end = callee_.parameters.end();
    for (const auto& [name, value] : by_name) {
        PyObject* const key = name.ptr();
        auto found = std::find_if(callee_.parameters.begin(), end,
                                  [key](const auto& parameter) { return parameter.interned == key; });
        if (found == end) {  // created at run time, or wrong
            found = std::find_if(callee_.parameters.begin(), end, [key](const auto& parameter) {
                return PyUnicode_CompareWithASCIIString(key, parameter.name.c_str()) == 0;
            });
        }
        if (found != end) {
            if (lookup(found->name)) {
                throw py::type_error(callee_.called + "() got multiple values for argument '" + found->name + "'");
            }
            take(*found, value);
        } else if (callee_.takes_others) {
            others_ = others_ ? others_ : py::dict();
            others_[name] = value;
        } else {
            refuse_name(name, by_name);
        }
    }
    for (const signature::parameter& parameter : callee_.parameters) {
        if (parameter.default_value) {
            break;
        }
        if (!lookup(parameter.name)) {
            throw py::type_error(callee_.called + "() missing required argument: '" + parameter.name + "'");
        }
    }
}

void arguments::refuse_name(py::handle name, const py::kwargs& by_name) const {
    const auto word = name.cast<std::string>();
    std::vector<std::string_view> known;
    for (const signature::parameter& parameter : callee_.parameters) {
        known.push_back(parameter.name);
    }
    std::string hint = has("lengths") ? hint_of_lengths(word, by_name) : std::string();
    if (hint.empty()) {
        hint = hint_of_batch(word, *this);
    }
    throw py::type_error(callee_.called + "() got an unexpected keyword argument '" + word + "'" +
                         (hint.empty() ? did_you_mean(word, known) : hint));
}

py::object arguments::operator[](std::string_view name) const {
    if (const py::handle value = lookup(name)) {
        return py::reinterpret_borrow<py::object>(value);
    }
    for (const signature::parameter& parameter : callee_.parameters) {
        if (parameter.name == name) {
            return parameter.default_value;
        }
    }
    throw std::out_of_range(callee_.called + " has no parameter " + std::string(name));
}

void arguments::require_values() const {
    for (const signature::parameter& each : callee_.parameters) {
        if (!each.default_value && !some(each.name)) {
            throw error(each.name, "must not be None: pass a value");
        }
    }
}

std::string arguments::call_text() const {
    std::string numbers;
    for (const signature::parameter& each : callee_.parameters) {
        numbers.append(numbers.empty() ? "(" : ",").append(std::to_string(as<std::int64_t>(each.name)));
    }
    return numbers.empty() ? called() : called() + numbers + ")";
}

py::tuple arguments::values() const {
    py::tuple all(callee_.parameters.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = (*this)[callee_.parameters[i].name];
    }
    return all;
}

py::dict arguments::named(bool with_positional) const {
    py::dict all;
    for (std::size_t i = with_positional ? 0 : positional_; i < count_; ++i) {
        all[py::handle(passed_values_[i].parameter->interned)] = py::handle(passed_values_[i].value);
    }
    return all;
}

void arguments::refuse_type(std::string_view name, const std::string& expected) const {
    throw py::type_error(std::string(name) + ": must be " + expected + ", got " + shown((*this)[name]));
}

namespace {

/// The text of an error as a str. Bytes of the input that are not UTF-8 are escaped.
py::object str_of(std::string_view text) {
    return py::reinterpret_steal<py::object>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

/// The Python exception for one of our errors.
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

constexpr stub_entry stub[] = {
#include "signatures.inc"
};

}  // namespace

void translate_errors() {
    py::register_local_exception_translator([](std::exception_ptr thrown) {
        try {
            std::rethrow_exception(std::move(thrown));
        } catch (const error& problem) {
            set_error(problem);
        } catch (const py::cast_error&) {  // inside a list or a dict
            PyErr_SetString(PyExc_TypeError, "an argument holds a value of another type than it takes");
        } catch (const std::length_error&) {  // a list longer than any memory
            PyErr_NoMemory();
        }
    });
}

void refuse_self(py::handle self, py::handle type) {
    const auto name_of = [](py::handle named) { return named.attr("__name__").cast<std::string>(); };
    throw py::type_error(py::isinstance(self, type) ? name_of(py::type::of(self)) + ".__init__() has not been called"
                                                    : "must be a floptally." + name_of(type) + ", got " + shown(self));
}

const stub_entry* find_stub(std::string_view name) {
    const auto* const found =
        std::find_if(std::begin(stub), std::end(stub), [&](const auto& e) { return e.name == name; });
    return found == std::end(stub) ? nullptr : found;
}

described describe(py::handle owner, const char* name, const char* self, const char* parameters) {
    const auto scope = owner.attr("__name__").cast<std::string>();
    const stub_entry* const said = find_stub(py::isinstance<py::type>(owner) ? scope + "." + name : name);
    if (said == nullptr && parameters == nullptr) {
        throw std::logic_error(scope + "." + name + " is not in _core.pyi");
    }
    auto& parsed = *new signature{std::string_view(name) == "__init__" ? scope : name};  // lives as long as the process
    std::string listed = self;
    bool keyword_only = false;
    std::istringstream lines(parameters != nullptr ? parameters : said->parameters);
    for (std::string part; std::getline(lines, part);) {
        if (part == "self") {
            continue;
        }
        append_item(listed, part);
        parsed.takes_others = parsed.takes_others || part.starts_with("**");
        keyword_only = keyword_only || part.starts_with("*");
        if (part.starts_with("*")) {
            continue;
        }
        const std::size_t equals = part.find('=');
        const std::string own = part.substr(0, equals);
        parsed.parameters.push_back({own, PyUnicode_InternFromString(own.c_str()),
                                     equals == std::string::npos ? py::object() : py::eval(part.substr(equals + 1))});
        parsed.positional += keyword_only ? 0 : 1;
    }
    return {parsed, std::string(name) + "(" + listed + ")\n--\n\n" + (said != nullptr ? said->meaning : "")};
}

namespace {

/// A function and a method as pybind11 calls them.
struct bound_function {
    bound_call call;
    const signature* callee;

    py::object operator()(const py::args& by_position, const py::kwargs& by_name) const {
        return call({}, arguments(*callee, by_position, by_name));
    }
};
struct bound_method {
    bound_call call;
    const signature* callee;

    py::object operator()(py::handle self, const py::args& by_position, const py::kwargs& by_name) const {
        return call(self, arguments(*callee, by_position, by_name));
    }
};
/// A method without positional arguments. pybind11 then creates no tuple.
struct bound_keywords {
    bound_call call;
    const signature* callee;

    py::object operator()(py::handle self, const py::kwargs& by_name) const {
        return call(self, arguments(*callee, by_name));
    }
};

}  // namespace

void bind(binds as, py::handle to, const char* name, bound_call call, const char* parameters) {
    const described said = describe(to, name, as == binds::method ? "self, /" : "", parameters);
    const char* const text = said.text.c_str();
    if (as == binds::method) {
        py::object bound = py::none();
        if (said.callee.positional == 0) {
            bound =
                py::cpp_function(bound_keywords{call, &said.callee}, py::name(name), py::is_method(to), py::doc(text));
        }
        // The second overload, if it is one, says what is wrong with a positional argument.
        bound = py::cpp_function(bound_method{call, &said.callee}, py::name(name), py::is_method(to),
                                 py::sibling(bound), py::doc(said.callee.positional == 0 ? "" : text));
        py::setattr(to, name, bound);
        return;
    }
    py::object bound =
        py::cpp_function(bound_function{call, &said.callee}, py::name(name), py::scope(to), py::doc(text));
    bound.attr("__module__") = "floptally";  // where users find it
    py::setattr(to, name, as == binds::function ? bound : py::staticmethod(bound));
}

void add_property(py::handle type, const char* name, bound_getter get) {
    static const auto* const property_class = new py::object(py::module_::import("builtins").attr("property"));
    const stub_entry* const said = find_stub(type.attr("__name__").cast<std::string>() + "." + name);
    const py::cpp_function read([get](py::handle self) { return get(self); }, py::name(name), py::is_method(type));
    py::setattr(type, name, (*property_class)(read, py::none(), py::none(), said == nullptr ? "" : said->meaning));
}

py::dict record_state(py::handle self, const signature& constructor_signature) {
    py::dict state;
    for (const signature::parameter& each : constructor_signature.parameters) {
        state[py::handle(each.interned)] = self.attr(each.interned);
    }
    return state;
}

std::string record_text(py::handle self, const signature& constructor_signature) {
    std::string text;
    std::size_t place = 0;
    for (const signature::parameter& each : constructor_signature.parameters) {
        const py::object value = self.attr(each.interned);
        const bool has_place = place++ < constructor_signature.positional;
        if (has_place || !value.equal(each.default_value)) {
            append_item(text, (has_place ? "" : each.name + "=") + std::string(py::repr(value)));
        }
    }
    return constructor_signature.called + "(" + text + ")";
}

py::tuple whole_state(py::handle self, const py::object& value) {
    return py::make_tuple(value, py::hasattr(self, "__dict__") ? py::object(self.attr("__dict__")) : py::none(),
                          numbers_version, version);
}

std::pair<py::object, py::dict> own_state(const py::tuple& pickled) {
    if (pickled.size() != 4) {
        throw error("state",
                    "was pickled by an old version of floptally that may count differently: create the object again");
    }
    require_numbers_version("the pickle", pickled[2].cast<std::uint64_t>(), pickled[3].cast<std::string>());
    return {pickled[0], pickled[1].is_none() ? py::dict() : py::dict(pickled[1])};
}

}  // namespace floptally::python
