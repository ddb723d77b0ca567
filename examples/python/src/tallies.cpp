// SPDX-License-Identifier: Apache-2.0

#include <floptally/batch/tree.hpp>

#include "classes.hpp"

namespace floptally::detail::python {

mask_set masks_for(const arguments& given) {
    const py::object of = given["cost_or_masks"];
    if (py::isinstance<model_cost>(of)) {
        const auto& model = of.cast<const model_cost&>();
        return model.folded(to_convention(given["convention"]), to_plan(given["plan"], model))->masks;
    }
    if (of.is_none()) {
        return {};
    }
    if (py::isinstance<tally>(of)) {
        return of.cast<const tally&>().masks();
    }
    return to_masks(of);
}

namespace {

py::array_t<std::int64_t> words_array(const tally& t) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(t.words().size()));
    std::int64_t* to = out.mutable_data();
    for (const std::uint64_t word : t.words()) {
        *to++ = static_cast<std::int64_t>(word);
    }
    return out;
}

/// Words as an all-reduce of int64 leaves them: the same 64 bits.
std::vector<std::uint64_t> word_bits(const py::object& words) {
    const integers numbers(words, "words");
    std::vector<std::uint64_t> bits;
    numbers.view().visit([&](const auto& all) {
        for (const auto word : all) {
            bits.push_back(static_cast<std::uint64_t>(word));
        }
    });
    return bits;
}

/// Words, masks and towers.
py::tuple tally_state(const tally& t) {
    py::list masks;
    for (const rule& m : t.masks()) {
        masks.append(mask(m));
    }
    py::list towers;
    for (const char* name : modality_names) {
        if (t.masks().has(from_word<modality>(name, "tower", modality_names))) {
            towers.append(name);
        }
    }
    return py::make_tuple(masks, towers, words_array(t).attr("tolist")());
}

tally tally_of_state(const py::tuple& state) {
    mask_set masks = to_masks(state[0]);
    for (const py::handle name : state[1]) {
        masks.include(from_word<modality>(name.cast<std::string>(), "tower", modality_names));
    }
    return tally::from_words(masks, word_bits(state[2]));
}

/// (drafted, accepted) of each step.
void add_speculative(tally& t, const arguments& given) {
    std::vector<speculation> steps;
    for (const py::handle one : items_of(given["steps"], "steps", "a list of (drafted, accepted)")) {
        const std::string field = indexed("steps", steps.size());
        const py::tuple both = items_of(one, field, "(drafted, accepted)", 2, 2);
        steps.push_back({to_length(both[0], indexed(field, 0)), to_length(both[1], indexed(field, 1))});
    }
    t.add(speculative_passes(to_length(given["prompt"], "prompt"), steps,
                             from_word<speculating>(given.text("model"), "model", {"target", "draft"})));
}

/// Methods of `Tally` that take what `Cost.flops` takes by the same names.
constexpr const char* adder_names[] = {"add_lengths",   "add_padded",         "add_cu_seqlens",
                                       "add_packed",    "add_attention_mask", "add_encoder_decoder",
                                       "add_sequences", "add_grid_thw",       "add_audio_frames"};

/// Adds what `add` makes of two lists of integers to a tally.
template <class Add>
void add_lists(tally& t, const integers& first, const integers& second, Add add) {
    tally sum{t.masks()};
    without_gil(first.view().size(), [&] {
        first.view().visit(
            [&](const auto& one) { second.view().visit([&](const auto& other) { add(sum, one, other); }); });
    });
    t += sum;
}

/// New tokens after cached ones: pairs of them, or a list of each.
void add_new_tokens(tally& t, const arguments& given) {
    const py::handle past = given.some("past");
    if (!past) {
        given.require_values();
        return input_arguments(given, t.masks(), input_for::tally).add_to(t);
    }
    add_lists(t, integers(given["new_tokens"], "new_tokens"), integers(past, "past"),
              [](tally& sum, const auto& lengths, const auto& before) { sum.add_new_tokens(lengths, before); });
}

/// Samples of HSTU, by lists of their parts.
void add_hstu(tally& t, const arguments& given) {
    const integers lengths(given["lengths"], "lengths");
    const auto listed = [&](const char* field) {
        std::vector<std::int64_t> all;
        if (const py::handle value = given.some(field)) {
            const integers numbers(value, field);
            numbers.view().visit([&](const auto& each) { all.assign(each.begin(), each.end()); });
            require_as_many(lengths.view().size(), "lengths", all.size(), field);
        }
        return all;
    };
    const std::vector<std::int64_t> contextual = listed("contextual");
    const std::vector<std::int64_t> targets = listed("targets");
    const auto group =
        static_cast<std::uint32_t>(to_count(given["target_group"], "target_group", 0, max_sequence_length));
    tally sum{t.masks()};
    lengths.view().visit([&](const auto& all) { sum.add_hstu(all, contextual, targets, group); });
    t += sum;
}

/// Adds grids of latents, each with the tokens of its text.
void add_grids_with_text(tally& t, const arguments& given) {
    const integers grids(given["grid_thw"], "grid_thw", 3);
    const integers texts(given["encoder_lengths"], "encoder_lengths");
    add_lists(t, grids, texts,
              [](tally& sum, const auto& thw, const auto& text) { sum.add_grids_with_text(thw, text); });
}

}  // namespace

void bind_tallies(py::module_& module) {
    const py::class_<tally> type = new_class<tally>(module, "Tally");
    constructor(type, [](const arguments& given) { return tally{masks_for(given)}; });
    methods(type, adder_names, [](tally& t, const arguments& given) {
        given.require_values();
        input_arguments(given, t.masks(), input_for::tally).add_to(t);
    });
    method(type, "add_new_tokens", [](tally& t, const arguments& given) { add_new_tokens(t, given); });
    method(type, "add_hstu", [](tally& t, const arguments& given) { add_hstu(t, given); });
    method(type, "add_requests", [](tally& t, const arguments& given) {
        t.add(request_passes(to_requests(given["requests"]), to_prefill_chunk(given["prefill_chunk"])));
    });
    method(type, "add_speculative", [](tally& t, const arguments& given) { add_speculative(t, given); });
    method(type, "add_tree", [](tally& t, const arguments& given) {
        const integers parents(given["parents"], "parents");
        const integers lengths(given["lengths"], "lengths");
        parents.view().visit([&](const auto& above) {
            lengths.view().visit([&](const auto& own) {
                if constexpr (std::signed_integral<typename std::remove_cvref_t<decltype(above)>::value_type>) {
                    add_tree(t, above, own);
                } else {
                    throw error("parents", "must be signed integers, where -1 is a root");
                }
            });
        });
    });
    method(type, "add_grids_with_text", [](tally& t, const arguments& given) { add_grids_with_text(t, given); });
    method(type, "add_routed", [](tally& t, const arguments& given) {
        t.add_routed(to_count(given["useful"], "routed[0]"), to_count(given["padded"], "routed[1]"));
    });
    method(type, "add_measured", [](tally& t, const arguments& given) {
        const std::string name = given.text("name");
        const std::uint64_t useful = to_count(given["useful"], name);
        const py::handle padded = given.some("padded");
        t.add_measured(name, useful, padded ? to_count(padded, name) : useful);
    });
    method(type, "get", [](const tally& t, const arguments& given) {
        return t.get(from_word<view>(given.text("view"), "view", {"useful", "padded"}),
                     from_word<statistic>(given.text("statistic"), "statistic", statistic_words),
                     from_word<modality>(given.text("tower"), "tower", modality_names));
    });
    method(type, "pairs", [](const tally& t, const arguments& given) {
        return t.pairs(from_word<view>(given.text("view"), "view", {"useful", "padded"}),
                       given.as<const mask&>("mask"));
    });
    property(type, "masks", [](const tally& t) { return std::vector<mask>(t.masks().begin(), t.masks().end()); });
    property(type, "tokens", [](const tally& t) { return t.get(view::useful, statistic::tokens); });
    method(type, "words", [](const tally& t, const arguments&) { return words_array(t); });
    static_method(type, "from_words", [](const arguments& given) {
        return tally::from_words(masks_for(given), word_bits(given["words"]));
    });
    method(type, "copy", [](const tally& t, const arguments&) { return tally(t); });
    method(type, "__iadd__", [](py::handle self, const arguments& given) {
        self.cast<tally&>() += given.as<const tally&>("other");
        return py::reinterpret_borrow<py::object>(self);
    });
    operation(type, "__add__", [](const tally& a, const tally& b) {
        tally sum = a;
        return sum += b;
    });
    equality(type);
    shown_as(type, [](const tally& t) {
        return "<Tally of " + std::to_string(t.get(view::useful, statistic::count)) + " sequences, " +
               std::to_string(t.get(view::useful, statistic::tokens)) + " tokens>";
    });
    pickles(
        type, [](const tally& t) { return tally_state(t); },
        [](const py::object& state) { return tally_of_state(py::tuple(state)); });
}

}  // namespace floptally::detail::python
