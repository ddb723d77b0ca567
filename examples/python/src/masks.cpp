// SPDX-License-Identifier: Apache-2.0

#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_text.hpp>
#include <floptally/statistics/statistic_type.hpp>

#include "classes.hpp"

namespace floptally::python {

namespace {

/// A statistic that is a Python callable. Its parameters tell which one. Each call takes the GIL, so that counting can
/// run without it.
struct callable_statistic {
    std::int32_t index;
    std::int32_t number_of_shape;

    static constexpr std::string_view name = "callable";
    static constexpr bool frames_are_sequences = true;

    struct entry {
        std::string name;
        py::object count;
        bool vectorized;
        pair_shape shape;
        std::int32_t index;

        [[nodiscard]] callable_statistic as_statistic() const { return {index, static_cast<std::int32_t>(shape)}; }
    };
    /// All callables of the process. Never destroyed, since the interpreter may be gone before.
    [[nodiscard]] static std::deque<entry>& all() {
        static auto* const entries = new std::deque<entry>;
        return *entries;
    }

    [[nodiscard]] static mask make(const std::string& called, const py::object& count, bool vectorized,
                                   pair_shape shape) {
        if (!is_name(called)) {
            throw error("name", "must consist of a-z, 0-9 and _, got \"" + called + "\"");
        }
        if (is_of_library(called)) {
            throw error("name", "\"" + called + "\" is a mask of the library: choose another name");
        }
        if (PyCallable_Check(count.ptr()) == 0) {
            throw error("count", "must be callable, got " + shown(count));
        }
        if (const entry* known = find(called)) {
            if (!known->count.is(count) || known->vectorized != vectorized || known->shape != shape) {
                throw error("name", "\"" + called + "\" already names another callable: choose another name");
            }
            return mask(known->as_statistic());
        }
        const auto index = static_cast<std::int32_t>(all().size());
        return mask(all().emplace_back(entry{called, count, vectorized, shape, index}).as_statistic());
    }

    [[nodiscard]] static bool is_name(std::string_view text) {
        return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
    }
    /// True if the text form of a library statistic begins like this name. It would be read as that statistic.
    [[nodiscard]] static bool is_of_library(std::string_view text) {
        const std::string call = std::string(text) + "(1)";
        try {
            statistic read;
            const array_view<const detail::statistic_table*> tables = detail::tables_in(library_statistics{});
            return is_struct_of(text, tables) || detail::read_statistic(text, read, tables) ||
                   detail::read_statistic(call, read, tables);
        } catch (const error&) {  // a library statistic, but not with that parameter
            return true;
        }
    }
    /// The entry with this name, or null.
    [[nodiscard]] static const entry* find(std::string_view text) {
        for (const entry& known : all()) {
            if (known.name == text) {
                return &known;
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
            throw error(own.name,
                        "counts only sequences without cached tokens and without an encoder: register the callable "
                        "with vectorized=False to count others");
        }
        const std::int64_t length = s.length;
        return sum_of(own, &length, 1);
    }
    [[nodiscard]] std::uint64_t over(const length_block& block) const {
        const py::gil_scoped_acquire lock;
        const entry& own = all()[static_cast<std::size_t>(index)];
        if (own.vectorized) {
            std::int64_t lengths[length_block::most];
            for (std::size_t i = 0; i < block.size; ++i) {
                lengths[i] = block.lengths[i];
            }
            return sum_of(own, lengths, block.size);
        }
        floptally::checked sum(0, own.name);
        for (std::size_t i = 0; i < block.size; ++i) {
            sum += (*this)(sequence{block.lengths[i]});
        }
        return sum;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return static_cast<pair_shape>(number_of_shape); }
    void write(std::string& to) const {
        const py::gil_scoped_acquire lock;  // another thread may add to the list
        to.append(all()[static_cast<std::size_t>(index)].name);
    }
    [[nodiscard]] static bool read(std::string_view text, callable_statistic& result) {
        const entry* known = find(text);
        result = known != nullptr ? known->as_statistic() : result;
        return known != nullptr;
    }

  private:
    [[nodiscard]] static bool is_struct_of(std::string_view text, array_view<const detail::statistic_table*> tables) {
        for (const detail::statistic_table* table : tables) {
            if (table->name == text) {
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
        for (const py::handle count : counts) {
            sum += to_count(count, own.name);
        }
        return sum;
    }
};

/// The names of `pair_shape`, in its order.
constexpr const char* shape_names[] = {"units",         "full",       "causal",      "mixed",
                                       "beyond_causal", "masked_out", "unregistered"};

/// The numbers of a text form by name; "name=value" for optional ones.
py::list named_numbers(const statistic_parameter* parameters, std::size_t count) {
    py::list names;
    for (std::size_t i = 0; i < count; ++i) {
        const bool may_lack = parameters[i].fallback != statistic_parameter::none;
        names.append(parameters[i].name + (may_lack ? "=" + std::to_string(parameters[i].fallback) : ""));
    }
    return names;
}

/// Functions of `Mask` whose arguments are the numbers of a text, in order: `window(left, right)` is "window(2,-1)".
constexpr const char* maker_names[] = {"causal",  "bidirectional",  "sliding_window",  "window",
                                       "chunked", "top_k",          "compressed_keys", "cross_attention",
                                       "encoder", "encoder_window", "prefix_lm"};

/// Every mask in the library's table: its name in texts, and the names of its numbers.
py::dict library_masks_by_name() {
    py::dict all;
    for (const char* name : mask_statistics::band::text_names) {
        all[name] = py::list();
    }
    all["sliding_window"] = named_numbers(mask_statistics::band::sliding, 1);
    for (const detail::statistic_table* table : detail::tables_in(library_masks{})) {
        const modality in = table->counts[0] ? modality::text : table->counts[1] ? modality::vision : modality::audio;
        all[py::str(qualified(in, table->name))] = named_numbers(table->parameters, table->text_parameters);
    }
    return all;
}

}  // namespace

mask mask_of_text(std::string_view text) {
    if (callable_statistic::is_name(text) && !callable_statistic::is_of_library(text) &&
        callable_statistic::find(text) == nullptr) {
        throw error("mask", "\"" + std::string(text) +
                                "\" is no mask of the library, and no callable has that name: call "
                                "Mask.from_callable first");
    }
    return statistic_named<callable_statistic>(text);
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
    bound_class<mask> type = new_class<mask>(module, "Mask");
    made_elsewhere(type, "Mask.causal(), Mask.sliding_window(4096), Mask.from_text(\"…\") or another of its functions");
    for (const char* const name : maker_names) {
        static_method(type, name, [](const arguments& args) { return mask_of_text(args.call_text()); });
    }
    static_method(type, "hstu", [](const arguments& args) {
        return mask::hstu({args.flag("is_causal"), args.flag("contextual"), args.as<std::int64_t>("max_attn_len"),
                           args.as<std::int64_t>("min_full_attn_seq_len"), args.flag("windowed_targets"),
                           args.flag("targets_share_place")});
    });
    static_method(type, "grid_windows", [](const arguments& args) {
        return mask::grid_windows(args.as<std::int64_t>("patches"), args.as<std::int64_t>("shift"));
    });
    static_method(type, "clip_squares",
                  [](const arguments& args) { return mask::clip_squares(args.as<std::int64_t>("prefix")); });
    static_method(type, "merged_patches", [](const arguments& args) {
        return mask(unit::merged_patches(args.as<std::int64_t>("side"), args.as<std::int64_t>("line_ends")));
    });
    static_method(type, "measured", [](const arguments& args) { return mask(floptally::measured(args.text("name"))); });
    static_method(type, "library", [](const arguments&) { return library_masks_by_name(); });
    static_method(type, "from_text", [](const arguments& args) { return mask_of_text(args.text("text")); });
    static_method(type, "from_callable", [](const arguments& args) {
        return callable_statistic::make(args.text("name"), args["count"], args.flag("vectorized"),
                                        from_name<pair_shape>(args.text("shape"), "shape", shape_names));
    });
    method(type, "in_tower", [](const mask& m, const arguments& args) {
        return m.in(from_name<modality>(args.text("tower"), "tower", modality_names));
    });
    method(type, "pairs", [](const mask& m, const arguments& args) {
        const sequence s{.length = to_length(args["length"], "length"),
                         .past = to_length(args["past"], "past"),
                         .keys = to_length(args["keys"], "keys")};
        if (std::uint64_t{s.length} + s.past > max_sequence_length) {
            throw error("past", "length + past must be at most " + std::to_string(max_sequence_length) + ", got " +
                                    std::to_string(s.length) + " + " + std::to_string(s.past));
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

}  // namespace floptally::python
