// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/masks.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model_config.hpp>
#include <floptally/sequence.hpp>
#include <floptally/version.hpp>

/// @file
/// A model, and what is known of a batch, as plain data of Python and back, for a pickle.

namespace floptally::detail::python {

[[nodiscard]] inline py::tuple part_state(const model_part& s) {
    return py::make_tuple(std::string(s.name.view()), static_cast<unsigned>(s.role), cost_state(s.cost), s.first_layer,
                          s.repeat, s.elsewhere, s.beside);
}

[[nodiscard]] inline model_part part_of_state(const py::tuple& s) {
    return {.name = s[0].cast<std::string>(),
            .role = static_cast<part_role>(to_count(s[1], "role", 0, static_cast<unsigned>(part_role::anywhere))),
            .cost = cost_of_state(s[2]),
            .first_layer = s[3].cast<std::uint64_t>(),
            .repeat = s[4].cast<std::uint64_t>(),
            .elsewhere = s[5].cast<bool>(),
            .beside = s[6].cast<bool>()};
}

[[nodiscard]] inline py::tuple tower_state(const tower_input& t) {
    const py::object image = t.image ? static_cast<py::object>(py::make_tuple(t.image->t, t.image->h, t.image->w))
                                     : static_cast<py::object>(py::none());
    const py::object clip =
        t.clip ? static_cast<py::object>(py::int_(t.clip->frames)) : static_cast<py::object>(py::none());
    return py::make_tuple(static_cast<unsigned>(t.in), image, clip, t.units.name(), t.per_unit, t.per_frame,
                          t.per_token, t.are_keys);
}

[[nodiscard]] inline tower_input tower_of_state(const py::tuple& s) {
    tower_input t{.in = static_cast<modality>(to_count(s[0], "tower", 0, modality_count - 1)),
                  .units = mask_of_text(s[3].cast<std::string>()),
                  .per_unit = s[4].cast<std::uint64_t>(),
                  .per_frame = s[5].cast<std::uint64_t>(),
                  .per_token = s[6].cast<std::uint64_t>(),
                  .are_keys = s[7].cast<bool>()};
    if (!s[1].is_none()) {
        const py::tuple side(s[1]);
        t.image = grid{side[0].cast<std::uint32_t>(), side[1].cast<std::uint32_t>(), side[2].cast<std::uint32_t>()};
    }
    if (!s[2].is_none()) {
        t.clip = audio_clip{s[2].cast<std::uint32_t>()};
    }
    return t;
}

[[nodiscard]] inline py::tuple model_state(const model_config& model) {
    py::list parts;
    for (const model_part& one : model.parts) {
        parts.append(part_state(one));
    }
    py::list towers;
    for (const tower_input& one : model.towers) {
        towers.append(tower_state(one));
    }
    py::list masks;  // which no row need have
    for (const rule& one : model.cost.masks()) {
        masks.append(one.name());
    }
    return py::make_tuple(std::string(version), model.model_type, cost_state(model.cost), model.notes, parts, towers,
                          masks);
}

[[nodiscard]] inline model_config model_of_state(const py::tuple& state) {
    require_version(state[0], "this cost");
    model_config model{.model_type = state[1].cast<std::string>(),
                       .cost = cost_of_state(state[2]),
                       .notes = state[3].cast<std::vector<std::string>>(),
                       .parts = {},
                       .towers = {}};
    for (const py::handle one : state[4]) {
        model.parts.push_back(part_of_state(one.cast<py::tuple>()));
    }
    for (const py::handle one : state[5]) {
        model.towers.push_back(tower_of_state(one.cast<py::tuple>()));
    }
    for (const py::handle one : state[6]) {
        model.cost.keep(mask_of_text(one.cast<std::string>()));
    }
    return model;
}

/// (n, past) of the sequences of a batch that have a past, or None where they are not known.
[[nodiscard]] inline py::object past_state(const std::optional<std::vector<sequence>>& cached) {
    if (!cached) {
        return py::none();
    }
    py::list all;
    for (const sequence& one : *cached) {
        all.append(py::make_tuple(one.length, one.past));
    }
    return all;
}

[[nodiscard]] inline std::optional<std::vector<sequence>> past_of_state(const py::object& state) {
    if (state.is_none()) {
        return {};
    }
    std::vector<sequence> cached;
    for (const py::handle one : state) {
        const auto numbers = one.cast<py::tuple>();
        cached.push_back({.length = numbers[0].cast<std::uint32_t>(), .past = numbers[1].cast<std::uint32_t>()});
    }
    return cached;
}

}  // namespace floptally::detail::python
