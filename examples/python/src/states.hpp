// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>

#include <floptally/descriptors/model_part.hpp>
#include <floptally/step/throughput_log.hpp>

#include "classes.hpp"

/// @file
/// Values as plain Python data and back, for pickles and for classes in Python. A struct lists its members once, in
/// `members`.

namespace floptally::python {

template <class T>
auto members(T& v) {
    using value = std::remove_const_t<T>;
    if constexpr (std::same_as<value, whole_entry>) {
        return std::tie(v.component, v.weight, v.entry.what, v.entry.kind, v.entry.in, v.entry.useful, v.entry.padded,
                        v.entry.parameters, v.entry.flow.reads, v.entry.flow.also_reads, v.entry.flow.fused_with,
                        v.entry.flow.writes, v.entry.per_rank.in, v.entry.per_rank.out, v.entry.per_rank.padded_out,
                        v.entry.per_rank.parameters, v.attends, v.entry.sharding.by, v.entry.sharding.units,
                        v.entry.sharding.inner);
    } else if constexpr (std::same_as<value, model_part>) {
        return std::tie(v.name, v.role, v.cost, v.first_layer, v.repeat, v.elsewhere, v.beside);
    } else if constexpr (std::same_as<value, tower_input>) {
        return std::tie(v.in, v.image, v.clip, v.units, v.per_unit, v.per_frame, v.per_token, v.pixels, v.pixel_frames,
                        v.are_keys, v.meets_text);
    } else if constexpr (std::same_as<value, grid>) {
        return std::tie(v.t, v.h, v.w);
    } else if constexpr (std::same_as<value, audio_clip>) {
        return std::tie(v.frames);
    } else if constexpr (std::same_as<value, model_config>) {
        return std::tie(v.model_type, v.cost, v.notes, v.parts, v.towers);
    } else if constexpr (std::same_as<value, padding_flops>) {
        return std::tie(v.useful, v.in_slots, v.mock, v.vocabulary);
    } else if constexpr (std::same_as<value, sequence>) {
        return std::tie(v.length, v.past);
    } else if constexpr (std::same_as<value, mixed_precision_rate>) {
        return std::tie(v.mfu, v.peak_tflops);
    } else if constexpr (std::same_as<value, train_line>) {
        return std::tie(v.iteration, v.tokens, v.milliseconds, v.tflops, v.mfu_pct);
    } else if constexpr (std::same_as<value, layer_line>) {
        return std::tie(v.pass, v.tokens, v.milliseconds, v.tflops, v.mfu_pct, v.layer);
    } else if constexpr (std::same_as<value, experiment_row>) {
        return std::tie(v.name, v.tflops_per_gpu, v.best_tflops_per_gpu, v.mfu_pct, v.speed_up);
    } else if constexpr (std::same_as<value, mfu_report>) {
        return std::tie(v.step.seconds, v.step.gpus, v.step.peak_tflops, v.accelerator, v.precision, v.peak_source,
                        v.peak_kind, v.peak_quality, v.mixed);
    }
}

template <class T>
concept has_members = !std::is_void_v<decltype(members(std::declval<T&>()))>;

template <class T>
[[nodiscard]] py::object to_state(const T& value) {
    if constexpr (std::is_enum_v<T>) {
        return py::int_(static_cast<unsigned>(value));
    } else if constexpr (std::same_as<T, flops>) {
        return to_int(value);
    } else if constexpr (std::same_as<T, component_name>) {
        return py::str(std::string(value.view()));
    } else if constexpr (std::same_as<T, mask>) {
        return py::str(value.name());
    } else if constexpr (std::same_as<T, cost>) {
        py::list masks;  // an entry need not have a mask
        for (const statistic& which : value.masks()) {
            masks.append(which.name());
        }
        return py::make_tuple(to_state(whole_entries(value)), masks);
    } else if constexpr (requires { value.has_value(); }) {
        return value ? to_state(*value) : py::object(py::none());
    } else if constexpr (has_members<const T>) {
        return std::apply([](const auto&... each) -> py::object { return py::make_tuple(to_state(each)...); },
                          members(value));
    } else if constexpr (requires {
                             typename T::value_type;
                             value.back();
                         } &&
                         !std::same_as<T, std::string>) {
        py::list all;
        for (const auto& each : value) {
            all.append(to_state(each));
        }
        return py::tuple(all);
    } else {
        return py::cast(value);
    }
}

/// Reads the result of `to_state` into a value.
template <class T>
void of_state(py::handle state, T& value) {
    if constexpr (std::is_enum_v<T>) {
        value = static_cast<T>(state.cast<unsigned>());
    } else if constexpr (std::same_as<T, flops>) {
        value = to_flops(state, "state");
    } else if constexpr (std::same_as<T, component_name>) {
        value = state.cast<std::string>();
    } else if constexpr (std::same_as<T, mask>) {
        value = mask_of_text(state.cast<std::string>());
    } else if constexpr (std::same_as<T, cost>) {
        const auto both = state.cast<py::tuple>();
        std::vector<whole_entry> entries;
        of_state(both[0], entries);
        for (const whole_entry& entry : entries) {
            value.add_entry(entry.component, entry.weight, entry.entry, entry.attends);
        }
        for (const py::handle name : both[1]) {
            value.keep(mask_of_text(name.cast<std::string>()));
        }
    } else if constexpr (requires { value.has_value(); }) {
        if (!state.is_none()) {
            of_state(state, value.emplace());
        }
    } else if constexpr (has_members<T>) {
        const auto all = state.cast<py::tuple>();
        constexpr std::size_t count = std::tuple_size_v<decltype(members(value))>;
        if (all.size() != count) {
            detail::refuse("state", {"has ", all.size(), " members, but this version of floptally expects ", count,
                                     ": load it with the version of floptally that saved it"});
        }
        std::apply([&all, at = std::size_t{0}](auto&... each) mutable { (of_state(all[at++], each), ...); },
                   members(value));
    } else if constexpr (requires { value.emplace_back(); }) {
        for (const py::handle each : state) {
            of_state(each, value.emplace_back());
        }
    } else {
        value = state.cast<T>();
    }
}
template <class T>
[[nodiscard]] T from_state(py::handle state) {
    T value{};
    try {
        of_state(state, value);
    } catch (const py::cast_error&) {
        throw error("state", "must be a state that this version of floptally saved, got " + shown(state));
    }
    return value;
}

}  // namespace floptally::python
