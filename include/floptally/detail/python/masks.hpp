// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <string>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/python/callable_rule.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/rule_text.hpp>

namespace floptally::detail::python {

/// A mask by its text form: for a pickle. A callable must have been registered before, under the same name.
[[nodiscard]] inline mask mask_of_text(std::string_view text) {
    if (callable_rule::is_name(text) && !callable_rule::is_of_library(text) && callable_rule::find(text) == nullptr) {
        throw error("mask", "\"" + std::string(text) +
                                "\" is none of the library's, and no callable of that name is registered: call "
                                "Mask.from_callable first");
    }
    return rule_named<callable_rule>(text);
}

[[nodiscard]] inline std::uint32_t to_length(py::handle value, std::string_view field) {
    return static_cast<std::uint32_t>(to_count(value, field, 0, max_sequence_length));
}

/// The masks of a list of `Mask`.
[[nodiscard]] inline mask_set to_masks(const py::iterable& list) {
    mask_set masks;
    for (const py::handle item : list) {
        if (!py::isinstance<mask>(item)) {
            throw error("masks", "must be floptally.Mask objects, got " + shown(item));
        }
        masks.find_or_add(item.cast<mask>(), "masks");
    }
    return masks;
}

inline void bind_masks(py::module_& module) {
    py::class_<mask> type(module, "Mask",
                          "Which keys a query attends, as an immutable value. Made by its static methods.");
    type.def_static(
            "causal", [] { return mask::causal(); }, "A query sees itself and what came before: L(L+1)/2.")
        .def_static(
            "bidirectional", [] { return mask::bidirectional(); }, "Every query sees every key: L².")
        .def_static("sliding_window", &mask::sliding_window, py::arg("tokens"),
                    "Causal over the last `tokens` tokens, the token itself among them.")
        .def_static("window", &mask::window, py::arg("left"), py::arg("right"),
                    "`left` keys before and `right` after the query's own; -1 is unlimited.")
        .def_static("chunked", &mask::chunked<>, py::arg("tokens"), "Causal within consecutive chunks.")
        .def_static("top_k", &mask::top_k<>, py::arg("keys"), "Causal over the `keys` best keys only.")
        .def_static("compressed_keys", &mask::compressed_keys<>, py::arg("ratio"),
                    "Causal over compressed keys: each complete block of `ratio` tokens is one.")
        .def_static(
            "cross_attention", [] { return mask::cross_attention(); },
            "Every query sees every token of the other side.")
        .def_static(
            "encoder", [] { return mask::encoder(); }, "Every token of the other side sees every other.")
        .def_static("encoder_window", &mask::encoder_window<>, py::arg("left"), py::arg("right"),
                    "Every token of the other side sees `left` before it and `right` behind it; -1 is unlimited.")
        .def_static("prefix_lm", &mask::prefix_lm<>, py::arg("tokens"),
                    "Causal, but the first `tokens` keys are seen by every query.")
        .def_static(
            "hstu",
            [](bool is_causal, bool contextual, std::int64_t max_attn_len, std::int64_t min_full_attn_seq_len,
               bool windowed_targets, bool targets_share_place) {
                return mask::hstu({is_causal, contextual, max_attn_len, min_full_attn_seq_len, windowed_targets,
                                   targets_share_place});
            },
            py::kw_only(), py::arg("is_causal") = true, py::arg("contextual") = true, py::arg("max_attn_len") = 0,
            py::arg("min_full_attn_seq_len") = 0, py::arg("windowed_targets") = true,
            py::arg("targets_share_place") = false, "Contextual rows, history and targets of an HSTU layer.")
        .def_static("grid_windows", &mask::grid_windows<>, py::arg("patches"), py::arg("shift") = 0,
                    "Within windows of patches x patches of a frame of the vision tower.")
        .def_static("clip_squares", &mask::clip_squares<>, py::arg("prefix") = 0,
                    "Every patch of a clip sees every other, of all frames.")
        .def_static("merged_patches", &mask::merged_patches<>, py::arg("side"), py::arg("line_ends") = 0,
                    "No mask but a unit: patches after side x side of them were merged into one.");
    type.def_static(
            "measured", [](const std::string& name) { return mask(floptally::measured(name)); }, py::arg("name"),
            "No mask but a word that the caller measures and adds by `Tally.add_measured`.")
        .def_static(
            "from_text", [](const std::string& text) { return mask_of_text(text); }, py::arg("text"),
            "The mask of that name, as `name` has it: \"sliding_window(4096)\", \"vision.grid_windows(7,shift=3)\".")
        .def_static("from_callable", &callable_rule::make, py::arg("name"), py::arg("count"), py::kw_only(),
                    py::arg("vectorized") = false, py::arg("causal") = false,
                    R"(A mask, or a unit, of one's own: what `count` says of a sequence.

count(length, past, keys) returns a whole number of pairs (or units), 0 or more. vectorized: count(lengths) takes an
int64 array of lengths without a past and returns as many numbers; sequences with a past are refused then. causal: no
query sees a later key, so that conventions that halve squares may. On the host only. A name stands for one callable:
giving it another is an error.)");
    type.def(
            "in_tower",
            [](const mask& m, const std::string& tower_name) {
                return m.in(from_word<modality>(tower_name, "tower", modality_names));
            },
            py::arg("tower"), "The same over the statistics of \"text\", \"vision\" or \"audio\".")
        .def(
            "pairs",
            [](const mask& m, const py::object& length, const py::object& past, const py::object& keys) {
                const sequence s{.length = to_length(length, "length"),
                                 .past = to_length(past, "past"),
                                 .keys = to_length(keys, "keys")};
                if (std::uint64_t{s.length} + s.past > max_sequence_length) {
                    throw error("past", "length + past must be at most " + std::to_string(max_sequence_length));
                }
                return m.pairs(s);
            },
            py::arg("length"), py::arg("past") = 0, py::arg("keys") = 0,
            "Attended (query, key) pairs of one sequence of `length` new tokens.")
        .def_property_readonly("name", &mask::name, "\"causal\", \"sliding_window(4096)\", …")
        .def_property_readonly("tower", [](const mask& m) { return std::string(name_of(m.in())); })
        .def(py::self == py::self)
        .def("__hash__", [](const mask& m) { return py::hash(py::str(m.name())); })
        .def("__repr__", [](const mask& m) { return "<Mask " + m.name() + ">"; })
        .def(py::pickle([](const mask& m) { return py::str(m.name()); },
                        [](const py::str& state) { return mask_of_text(state.cast<std::string>()); }));
}

}  // namespace floptally::detail::python
