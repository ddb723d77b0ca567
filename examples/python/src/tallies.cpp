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
    if (!is_sequence(of)) {
        throw error("masks", "must be a floptally.Cost, a Tally or a list of floptally.Mask, got " + shown(of));
    }
    return to_masks(of);
}

namespace {

/// Adds to a copy, without the GIL where it is long, and then at once: no thread ever sees a part.
template <class Add>
void add_apart(tally& to, std::size_t integers, Add add) {
    tally sum{to.masks()};
    without_gil(integers, [&] { add(sum); });
    to += sum;
}

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
    for (const py::handle one : given["steps"]) {
        const std::string field = indexed("steps", steps.size());
        if (!is_sequence(one) || py::len(one) != 2) {
            throw error(field, "must be (drafted, accepted), got " + shown(one));
        }
        const py::tuple both(py::reinterpret_borrow<py::object>(one));
        steps.push_back({to_length(both[0], indexed(field, 0)), to_length(both[1], indexed(field, 1))});
    }
    t.add(speculative_passes(to_length(given["prompt"], "prompt"), steps,
                             from_word<speculating>(given.text("model"), "model", {"target", "draft"})));
}

/// Adds a list of integers by a lambda (sum, numbers).
template <class Add>
void add_integers(tally& t, const arguments& given, const char* name, Add add, std::size_t columns = 0) {
    const integers numbers(given[name], name, columns);
    add_apart(t, numbers.view().size(),
              [&](tally& sum) { numbers.view().visit([&](const auto& all) { add(sum, all); }); });
}

void add_boundaries(tally& t, const arguments& given) {
    const integers real(given["cu_seqlens"], "cu_seqlens");
    model_input::packed row{.cu_seqlens = real.view()};
    std::optional<integers> slots;
    if (const py::handle padded = given.some("cu_seqlens_padded")) {
        row.cu_seqlens_padded = slots.emplace(padded, "cu_seqlens_padded").view();
    }
    std::optional<integers> alone;
    if (const py::handle real_alone = given.some("cu_seqlens_real")) {
        row.cu_seqlens_real = alone.emplace(real_alone, "cu_seqlens_real").view();
    }
    if (const py::handle number = given.some("num_real_seqs")) {
        row.num_real_seqs = to_count(number, "num_real_seqs");
    }
    add_apart(t, 2 * real.view().size(), [&](tally& sum) { row.add_to(sum); });
}

void add_both_sides(tally& t, const arguments& given) {
    const integers own(given["lengths"], "lengths");
    const integers other(given["encoder_lengths"], "encoder_lengths");
    add_apart(t, 2 * own.view().size(), [&](tally& sum) {
        own.view().visit([&](const auto& decoder) {
            other.view().visit([&](const auto& encoder) { sum.add_encoder_decoder(decoder, encoder); });
        });
    });
}

}  // namespace

void bind_tallies(py::module_& module) {
    const py::class_<tally> type = new_class<tally>(module, "Tally");
    constructor(type, [](const arguments& given) { return tally{masks_for(given)}; });
    method(type, "add_lengths", [](tally& t, const arguments& given) {
        add_integers(t, given, "lengths", [](tally& sum, const auto& all) { sum.add_lengths(all); });
    });
    method(type, "add_padded", [](tally& t, const arguments& given) {
        const std::uint64_t row = given.count("row_length");
        add_integers(t, given, "lengths", [row](tally& sum, const auto& all) { sum.add_padded(all, row); });
    });
    method(type, "add_cu_seqlens", [](tally& t, const arguments& given) { add_boundaries(t, given); });
    method(type, "add_attention_mask", [](tally& t, const arguments& given) {
        tally sum{t.masks()};
        add_attention_mask(sum, given["attention_mask"]);
        t += sum;
    });
    method(type, "add_encoder_decoder", [](tally& t, const arguments& given) { add_both_sides(t, given); });
    method(type, "add_sequences",
           [](tally& t, const arguments& given) { t.add(listed_samples(to_hstu_sequences(given["sequences"]))); });
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
    method(type, "add_new_tokens",
           [](tally& t, const arguments& given) { t.add(listed_samples(to_new_tokens(given["new_tokens"]))); });
    method(type, "add_grid_thw", [](tally& t, const arguments& given) {
        add_integers(
            t, given, "grid_thw", [](tally& sum, const auto& all) { sum.add_grid_thw(all); }, 3);
    });
    method(type, "add_audio_frames", [](tally& t, const arguments& given) {
        add_integers(t, given, "audio_frames", [](tally& sum, const auto& all) { sum.add_audio_frames(all); });
    });
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
