// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pybind11/numpy.h>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/mask_set.hpp>
#include <floptally/batch/model_input.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/detail/python/attention_masks.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/gil.hpp>
#include <floptally/detail/python/inputs.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/masks.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/error.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// The masks of a tally: those that a cost needs, or a list of them.
[[nodiscard]] inline mask_set masks_for(const py::object& of, const py::object& how, const py::object& plan) {
    if (py::isinstance<model_cost>(of)) {
        const auto& model = of.cast<const model_cost&>();
        return model.folded(to_convention(how), to_plan(plan, model))->masks;
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

/// Adds to a copy, without the GIL where it is long, and then at once: no thread ever sees a part.
template <class Add>
void add_apart(tally& to, std::size_t integers, Add add) {
    tally sum{to.masks()};
    without_gil(integers, [&] { add(sum); });
    to += sum;
}

[[nodiscard]] inline py::array_t<std::int64_t> words_array(const tally& t) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(t.words().size()));
    std::int64_t* to = out.mutable_data();
    for (const std::uint64_t word : t.words()) {
        *to++ = static_cast<std::int64_t>(word);
    }
    return out;
}

/// Words as an all-reduce of int64 leaves them: the same 64 bits.
[[nodiscard]] inline std::vector<std::uint64_t> word_bits(const py::object& words) {
    const integers numbers(words, "words");
    std::vector<std::uint64_t> bits;
    numbers.view().visit([&](const auto& all) {
        for (const auto word : all) {
            bits.push_back(static_cast<std::uint64_t>(word));
        }
    });
    return bits;
}

/// Words, masks, towers, and what a subclass keeps besides.
[[nodiscard]] inline py::tuple tally_state(const py::object& self) {
    const auto& t = self.cast<const tally&>();
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
    return py::make_tuple(masks, towers, words_array(t).attr("tolist")(), attributes_of(self));
}

[[nodiscard]] inline std::pair<tally, py::dict> tally_of_state(const py::tuple& state) {
    mask_set masks = to_masks(state[0]);
    for (const py::handle name : state[1]) {
        masks.include(from_word<modality>(name.cast<std::string>(), "tower", modality_names));
    }
    return {tally::from_words(masks, word_bits(state[2])), state[3].cast<py::dict>()};
}

inline void bind_tallies(py::module_& module) {
    py::class_<tally> type(module, "Tally", R"(Exact sums over sequences: what a batch is reduced to.

Tally(cost) keeps what that cost needs in that convention and plan, Tally([masks]) those masks, and Tally(other) begins
anew with the masks of another. Tallies of the same masks add up over microbatches, ranks and time in any order, bit for bit. Whatever raises leaves a tally as it was.)");
    type.def(py::init([](const py::object& of, const py::object& how, const py::object& plan) {
                 return tally{masks_for(of, how, plan)};
             }),
             py::arg("cost_or_masks") = py::none(), py::kw_only(), py::arg("convention") = "exact",
             py::arg("plan") = py::none());
    type.def(
            "add_lengths",
            [](tally& t, const py::object& lengths) {
                const integers numbers(lengths, "lengths");
                add_apart(t, numbers.view().size(),
                          [&](tally& sum) { numbers.view().visit([&](const auto& all) { sum.add_lengths(all); }); });
            },
            py::arg("lengths"), "Sequences by their lengths in tokens: [n] integers.")
        .def(
            "add_padded",
            [](tally& t, const py::object& lengths, const py::object& row_length) {
                const integers numbers(lengths, "lengths");
                const std::uint64_t row = to_count(row_length, "row_length");
                add_apart(t, numbers.view().size(), [&](tally& sum) {
                    numbers.view().visit([&](const auto& all) { sum.add_padded(all, row); });
                });
            },
            py::arg("lengths"), py::arg("row_length"), "A BSHD batch: rows that are padded to one length.")
        .def(
            "add_cu_seqlens",
            [](tally& t, const py::object& cu_seqlens, const py::object& padded, const py::object& num_real_seqs,
               const py::object& real_alone) {
                const integers real(cu_seqlens, "cu_seqlens");
                model_input::packed row{.cu_seqlens = real.view()};
                std::optional<integers> slots;
                if (!padded.is_none()) {
                    row.cu_seqlens_padded = slots.emplace(padded, "cu_seqlens_padded").view();
                }
                std::optional<integers> alone;
                if (!real_alone.is_none()) {
                    row.cu_seqlens_real = alone.emplace(real_alone, "cu_seqlens_real").view();
                }
                if (!num_real_seqs.is_none()) {
                    row.num_real_seqs = to_count(num_real_seqs, "num_real_seqs");
                }
                add_apart(t, 2 * real.view().size(), [&](tally& sum) { row.add_to(sum); });
            },
            py::arg("cu_seqlens"), py::arg("cu_seqlens_padded") = py::none(), py::arg("num_real_seqs") = py::none(),
            py::arg("cu_seqlens_real") = py::none(),
            "Boundaries [n + 1] of a packed row, and of the slots that kernels process. The sequences behind "
            "num_real_seqs, "
            "or behind those of cu_seqlens_real, are mock sequences.")
        .def(
            "add_attention_mask",
            [](tally& t, const py::object& attention_mask) {
                tally sum{t.masks()};
                add_attention_mask(sum, attention_mask);
                t += sum;
            },
            py::arg("attention_mask"), "A BSHD batch by its mask [batch, tokens] of 0 and 1: ones are useful.")
        .def(
            "add_encoder_decoder",
            [](tally& t, const py::object& lengths, const py::object& encoder_lengths) {
                const integers own(lengths, "lengths");
                const integers other(encoder_lengths, "encoder_lengths");
                add_apart(t, 2 * own.view().size(), [&](tally& sum) {
                    own.view().visit([&](const auto& decoder) {
                        other.view().visit([&](const auto& encoder) { sum.add_encoder_decoder(decoder, encoder); });
                    });
                });
            },
            py::arg("lengths"), py::arg("encoder_lengths"), "Both sides of an encoder-decoder.")
        .def(
            "add_sequences",
            [](tally& t, const py::object& sequences) {
                t.add(listed_samples(to_sequences(sequences, "sequences", to_hstu_sequence)));
            },
            py::arg("sequences"), "HSTU: a list of (contextual, history, targets[, group]).")
        .def(
            "add_new_tokens",
            [](tally& t, const py::object& new_tokens) {
                t.add(listed_samples(to_sequences(new_tokens, "new_tokens", to_new_tokens)));
            },
            py::arg("new_tokens"), "A list of (n, past): n new tokens after past cached ones.")
        .def(
            "add_grid_thw",
            [](tally& t, const py::object& grid_thw) {
                const integers numbers(grid_thw, "grid_thw", 3);
                add_apart(t, numbers.view().size(),
                          [&](tally& sum) { numbers.view().visit([&](const auto& all) { sum.add_grid_thw(all); }); });
            },
            py::arg("grid_thw"), "Images and clips [n, 3]: frames, rows and columns of patches before merging.")
        .def(
            "add_audio_frames",
            [](tally& t, const py::object& audio_frames) {
                const integers numbers(audio_frames, "audio_frames");
                add_apart(t, numbers.view().size(), [&](tally& sum) {
                    numbers.view().visit([&](const auto& all) { sum.add_audio_frames(all); });
                });
            },
            py::arg("audio_frames"), "Clips of sound [n] by the frames that enter the audio tower.")
        .def(
            "add_routed",
            [](tally& t, const py::object& useful, const py::object& padded) {
                t.add_routed(to_count(useful, "routed[0]"), to_count(padded, "routed[1]"));
            },
            py::arg("useful"), py::arg("padded"), "Visits of tokens to experts over all layers, as measured.")
        .def(
            "add_measured",
            [](tally& t, const std::string& name, const py::object& useful, const py::object& padded) {
                const std::uint64_t number = to_count(useful, name);
                t.add_measured(name, number, padded.is_none() ? number : to_count(padded, name));
            },
            py::arg("name"), py::arg("useful"), py::arg("padded") = py::none(),
            "Adds to the word Mask.measured(name), with which this tally was built.");
    type.def(
            "get",
            [](const tally& t, const std::string& what, const std::string& seen, const std::string& in) {
                return t.get(from_word<view>(seen, "view", {"useful", "padded"}),
                             from_word<statistic>(what, "statistic", statistic_words),
                             from_word<modality>(in, "tower", modality_names));
            },
            py::arg("statistic"), py::arg("view") = "useful", py::arg("tower") = "text",
            "One sum: \"count\", \"tokens\", \"keys\", \"squares\", \"cached\", \"crossed\" or \"routed\".")
        .def(
            "pairs",
            [](const tally& t, const mask& which, const std::string& seen) {
                return t.pairs(from_word<view>(seen, "view", {"useful", "padded"}), which);
            },
            py::arg("mask"), py::arg("view") = "useful", "Attended pairs of one of the masks.")
        .def_property_readonly("masks",
                               [](const tally& t) { return std::vector<mask>(t.masks().begin(), t.masks().end()); })
        .def_property_readonly("tokens", [](const tally& t) { return t.get(view::useful, statistic::tokens); })
        .def("words", &words_array, "All words as a new int64 array: what a SUM all-reduce takes.")
        .def_static(
            "from_words",
            [](const py::object& of, const py::object& words, const py::object& how, const py::object& plan) {
                return tally::from_words(masks_for(of, how, plan), word_bits(words));
            },
            py::arg("cost_or_masks"), py::arg("words"), py::kw_only(), py::arg("convention") = "exact",
            py::arg("plan") = py::none(), "The tally whose words() were summed elsewhere.")
        .def("copy", [](const tally& t) { return tally(t); })
        .def(
            "__iadd__", [](tally& t, const tally& other) -> tally& { return t += other; }, py::is_operator())
        .def(
            "__add__", [](tally t, const tally& other) { return t += other; }, py::is_operator())
        .def(py::self == py::self)
        .def("__repr__",
             [](const tally& t) {
                 return "<Tally of " + std::to_string(t.get(view::useful, statistic::count)) + " sequences, " +
                        std::to_string(t.get(view::useful, statistic::tokens)) + " tokens>";
             })
        .def(py::pickle(&tally_state, &tally_of_state));
    type.attr("__hash__") = py::none();
}

}  // namespace floptally::detail::python
