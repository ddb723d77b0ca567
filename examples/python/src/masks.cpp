// SPDX-License-Identifier: Apache-2.0

#include <floptally/lists/array_view.hpp>
#include <floptally/rules/grid_units.hpp>
#include <floptally/rules/length_block.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/rule_text.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>

#include "classes.hpp"

namespace floptally::detail::python {

namespace {

/// A rule that a Python callable is: its parameters say which. The interpreter's lock is taken for each call, so that
/// counting without it stays possible.
struct callable_rule {
    std::int32_t index;
    std::int32_t is_causal;

    static constexpr std::string_view name = "callable";
    static constexpr bool frames_are_sequences = false;

    struct entry {
        std::string name;
        py::object count;
        bool vectorized;
        bool causal;
        std::int32_t index;

        [[nodiscard]] callable_rule as_rule() const { return {index, causal ? 1 : 0}; }
    };
    /// All of the process. Never destroyed: the interpreter may be gone before.
    [[nodiscard]] static std::deque<entry>& all() {
        static auto* const entries = new std::deque<entry>;
        return *entries;
    }

    [[nodiscard]] static mask make(const std::string& called, const py::object& count, bool vectorized, bool causal) {
        if (!is_name(called)) {
            throw error("name", "must be of a-z, 0-9 and _, got \"" + called + "\"");
        }
        if (is_of_library(called)) {
            throw error("name", "\"" + called + "\" is a rule of the library");
        }
        if (PyCallable_Check(count.ptr()) == 0) {
            throw error("count", "must be callable, got " + shown(count));
        }
        if (const entry* known = find(called)) {
            if (!known->count.is(count) || known->vectorized != vectorized || known->causal != causal) {
                throw error("name", "\"" + called + "\" is another callable already");
            }
            return mask(known->as_rule());
        }
        const auto index = static_cast<std::int32_t>(all().size());
        return mask(all().emplace_back(entry{called, count, vectorized, causal, index}).as_rule());
    }

    [[nodiscard]] static bool is_name(std::string_view text) {
        return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
    }
    /// True where the text form of a rule of the library begins so: it would be read as that one.
    [[nodiscard]] static bool is_of_library(std::string_view text) {
        const std::string call = std::string(text) + "(1)";
        try {
            rule read;
            const array_view<const rule_table*> tables = tables_in(library_rules{});
            return is_struct_of(text, tables) || read_rule(text, read, tables) || read_rule(call, read, tables);
        } catch (const error&) {  // its, but not with that parameter
            return true;
        }
    }
    /// The entry of that name, or null.
    [[nodiscard]] static const entry* find(std::string_view text) {
        for (const entry& one : all()) {
            if (one.name == text) {
                return &one;
            }
        }
        return nullptr;
    }

    std::uint64_t operator()(const sequence& s) const {
        const py::gil_scoped_acquire lock;
        const entry& own = all()[static_cast<std::size_t>(index)];
        if (!own.vectorized) {
            return to_count(own.count(s.length, s.past, s.keys), own.name);
        }
        if (s.past != 0 || s.keys != 0) {
            throw error(own.name, "takes lengths only: register it without vectorized for a past or an encoder");
        }
        const std::int64_t length = s.length;
        return sum_of(own, &length, 1);
    }
    template <class N>
    [[nodiscard]] std::uint64_t over(const length_block<N>& block) const {
        const py::gil_scoped_acquire lock;
        const entry& own = all()[static_cast<std::size_t>(index)];
        if (own.vectorized) {
            std::int64_t lengths[block_size];
            for (std::size_t i = 0; i < block.size; ++i) {
                lengths[i] = block.lengths[i];
            }
            return sum_of(own, lengths, block.size);
        }
        floptally::checked sum(0, own.name);
        for (std::size_t i = 0; i < block.size; ++i) {
            sum += (*this)(sequence{static_cast<std::uint32_t>(block.lengths[i])});
        }
        return sum;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return is_causal != 0 ? pair_shape::causal : pair_shape::units; }
    void write(std::string& to) const {
        const py::gil_scoped_acquire lock;  // the list may grow meanwhile
        to.append(all()[static_cast<std::size_t>(index)].name);
    }
    [[nodiscard]] static bool read(std::string_view text, callable_rule& made) {
        const entry* known = find(text);
        made = known != nullptr ? known->as_rule() : made;
        return known != nullptr;
    }

  private:
    [[nodiscard]] static bool is_struct_of(std::string_view text, array_view<const rule_table*> tables) {
        for (const rule_table* one : tables) {
            if (one->name == text) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] static std::uint64_t sum_of(const entry& own, const std::int64_t* lengths, std::size_t n) {
        const py::object counts = own.count(py::array_t<std::int64_t>(static_cast<py::ssize_t>(n), lengths));
        const py::ssize_t size = PyObject_Size(counts.ptr());
        if (size != static_cast<py::ssize_t>(n)) {
            PyErr_Clear();
            throw error(own.name, "must return a number for each of " + std::to_string(n) + " lengths, got " +
                                      (size < 0 ? shown(counts) : std::to_string(size)));
        }
        floptally::checked sum(0, own.name);
        for (const py::handle one : counts) {
            sum += to_count(one, own.name);
        }
        return sum;
    }
};

/// The numbers of a text form by their names, "name=value" where they may be left out.
py::list named_numbers(const rule_parameter* parameters, std::size_t count) {
    py::list names;
    for (std::size_t i = 0; i < count; ++i) {
        const bool may_lack = parameters[i].fallback != rule_parameter::none;
        names.append(parameters[i].name + (may_lack ? "=" + std::to_string(parameters[i].fallback) : ""));
    }
    return names;
}

/// Functions of `Mask` whose arguments are the numbers of a text, in order: `window(left, right)` is "window(2,-1)".
constexpr const char* maker_names[] = {"causal",  "bidirectional",  "sliding_window",  "window",
                                       "chunked", "top_k",          "compressed_keys", "cross_attention",
                                       "encoder", "encoder_window", "prefix_lm"};

template <std::size_t... Maker>
void makers_of_texts(const py::class_<mask>& type, std::index_sequence<Maker...> /*all*/) {
    (static_method(type, maker_names[Maker],
                   [](const arguments& given) { return mask_of_text(given.call_text(maker_names[Maker])); }),
     ...);
}

/// Every mask of the library, from its table: names of texts, and the numbers after each.
py::dict library_masks_by_name() {
    py::dict all;
    for (const char* name : mask_rules::band::text_names) {
        all[name] = py::list();
    }
    all["sliding_window"] = named_numbers(mask_rules::band::sliding, 1);
    for (const rule_table* table : tables_in(library_masks{})) {
        const modality in = table->counts[0] ? modality::text : table->counts[1] ? modality::vision : modality::audio;
        all[py::str(qualified(in, table->name))] = named_numbers(table->parameters, table->text_parameters);
    }
    return all;
}

}  // namespace

mask mask_of_text(std::string_view text) {
    if (callable_rule::is_name(text) && !callable_rule::is_of_library(text) && callable_rule::find(text) == nullptr) {
        throw error("mask", "\"" + std::string(text) +
                                "\" is none of the library's, and no callable of that name is registered: call "
                                "Mask.from_callable first");
    }
    return rule_named<callable_rule>(text);
}

std::uint32_t to_length(py::handle value, std::string_view field) {
    return static_cast<std::uint32_t>(to_count(value, field, 0, max_sequence_length));
}

mask_set to_masks(py::handle list) {
    mask_set masks;
    for (const py::handle item :
         items_of(list, "masks", "a floptally.Cost, a Tally or a list of floptally.Mask", 0, any_number)) {
        if (!py::isinstance<mask>(item)) {
            throw error("masks", "must be floptally.Mask objects, got " + shown(item));
        }
        masks.find_or_add(item.cast<mask>(), "masks");
    }
    return masks;
}

void bind_masks(py::module_& module) {
    const py::class_<mask> type = new_class<mask>(module, "Mask");
    made_elsewhere(type, "Mask.causal(), Mask.sliding_window(4096), Mask.from_text(\"…\") or another of its functions");
    makers_of_texts(type, std::make_index_sequence<std::size(maker_names)>());
    static_method(type, "hstu", [](const arguments& given) {
        return mask::hstu({given.flag("is_causal"), given.flag("contextual"), given.as<std::int64_t>("max_attn_len"),
                           given.as<std::int64_t>("min_full_attn_seq_len"), given.flag("windowed_targets"),
                           given.flag("targets_share_place")});
    });
    static_method(type, "grid_windows", [](const arguments& given) {
        return mask::grid_windows(given.as<std::int64_t>("patches"), given.as<std::int64_t>("shift"));
    });
    static_method(type, "clip_squares",
                  [](const arguments& given) { return mask::clip_squares(given.as<std::int64_t>("prefix")); });
    static_method(type, "merged_patches", [](const arguments& given) {
        return mask(unit::merged_patches(given.as<std::int64_t>("side"), given.as<std::int64_t>("line_ends")));
    });
    static_method(type, "measured",
                  [](const arguments& given) { return mask(floptally::measured(given.text("name"))); });
    static_method(type, "library", [](const arguments&) { return library_masks_by_name(); });
    static_method(type, "from_text", [](const arguments& given) { return mask_of_text(given.text("text")); });
    static_method(type, "from_callable", [](const arguments& given) {
        return callable_rule::make(given.text("name"), given["count"], given.flag("vectorized"), given.flag("causal"));
    });
    method(type, "in_tower", [](const mask& m, const arguments& given) {
        return m.in(from_word<modality>(given.text("tower"), "tower", modality_names));
    });
    method(type, "pairs", [](const mask& m, const arguments& given) {
        const sequence s{.length = to_length(given["length"], "length"),
                         .past = to_length(given["past"], "past"),
                         .keys = to_length(given["keys"], "keys")};
        if (std::uint64_t{s.length} + s.past > max_sequence_length) {
            throw error("past", "length + past must be at most " + std::to_string(max_sequence_length));
        }
        return m.pairs(s);
    });
    property(type, "name", [](const mask& m) { return m.name(); });
    property(type, "tower", [](const mask& m) { return std::string(name_of(m.in())); });
    equality(type, [](const mask& m) { return m.name(); });
    shown_as(type, [](const mask& m) { return "<Mask " + m.name() + ">"; });
    pickles(
        type, [](const mask& m) { return py::str(m.name()); },
        [](const py::object& state) { return mask_of_text(state.cast<std::string>()); });
}

}  // namespace floptally::detail::python
