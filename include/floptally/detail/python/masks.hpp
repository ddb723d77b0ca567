// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <string>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>

namespace floptally::detail::python {

/// A mask as its numbers and back: for a pickle of the same version.
class mask_numbers : public mask {
  public:
    explicit mask_numbers(const mask& m) : mask(m) {}
    explicit mask_numbers(const py::tuple& numbers) {
        kind_ = static_cast<mask_kind>(to_count(numbers[0], "kind", 0, static_cast<unsigned>(mask_kind::kept_squares)));
        tower_ = static_cast<modality>(to_count(numbers[1], "tower", 0, modality_count - 1));
        flags_ = numbers[2].cast<std::uint8_t>();
        first_ = numbers[3].cast<std::int32_t>();
        second_ = numbers[4].cast<std::int32_t>();
        chunk_ = numbers[5].cast<std::uint16_t>();
        window_ = numbers[6].cast<std::uint16_t>();
    }
    [[nodiscard]] py::tuple tuple() const {
        return py::make_tuple(static_cast<unsigned>(kind_), static_cast<unsigned>(tower_), flags_, first_, second_,
                              chunk_, window_);
    }
};

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
        .def_static("chunked", &mask::chunked, py::arg("tokens"), "Causal within consecutive chunks.")
        .def_static("top_k", &mask::top_k, py::arg("keys"), "Causal over the `keys` best keys only.")
        .def_static("compressed_keys", &mask::compressed_keys, py::arg("ratio"),
                    "Causal over compressed keys: each complete block of `ratio` tokens is one.")
        .def_static(
            "cross_attention", [] { return mask::cross_attention(); },
            "Every query sees every token of the other side.")
        .def_static(
            "encoder", [] { return mask::encoder(); }, "Every token of the other side sees every other.")
        .def_static("prefix_lm", &mask::prefix_lm, py::arg("tokens"),
                    "Causal, but the first `tokens` keys are seen by every query.")
        .def_static(
            "hstu",
            [](bool is_causal, bool contextual, std::int64_t max_attn_len, std::int64_t min_full_attn_seq_len,
               bool windowed_targets) {
                return mask::hstu({is_causal, contextual, max_attn_len, min_full_attn_seq_len, windowed_targets});
            },
            py::kw_only(), py::arg("is_causal") = true, py::arg("contextual") = true, py::arg("max_attn_len") = 0,
            py::arg("min_full_attn_seq_len") = 0, py::arg("windowed_targets") = true,
            "Contextual rows, history and targets of an HSTU layer.")
        .def_static("grid_windows", &mask::grid_windows, py::arg("patches"), py::arg("shift") = 0,
                    "Within windows of patches x patches of a frame of the vision tower.")
        .def_static("clip_squares", &mask::clip_squares, py::arg("prefix") = 0,
                    "Every patch of a clip sees every other, of all frames.")
        .def_static("merged_patches", &mask::merged_patches, py::arg("side"), py::arg("line_ends") = 0,
                    "No mask but a unit: patches after side x side of them were merged into one.");
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
        .def("__hash__", [](const mask& m) { return py::hash(mask_numbers(m).tuple()); })
        .def("__repr__", [](const mask& m) { return "<Mask " + m.name() + ">"; })
        .def(py::pickle([](const mask& m) { return mask_numbers(m).tuple(); },
                        [](const py::tuple& state) -> mask { return mask_numbers(state); }));
}

}  // namespace floptally::detail::python
