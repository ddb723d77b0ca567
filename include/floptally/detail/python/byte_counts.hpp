// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/byte_report.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/html.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>
#include <floptally/sequence.hpp>
#include <floptally/step/memory_bandwidth.hpp>
#include <floptally/training_plan.hpp>

/// @file
/// What a batch moves between memory and units, for Python.

namespace floptally::detail::python {

/// Sizes of elements by kind, and how many microbatches read the weights.
struct byte_choice {
    element_bits bits{};
    std::uint64_t batches = 1;
};

inline constexpr std::array<std::pair<const char*, const char*>, 5> byte_keywords{
    {{"weight_bits", "of a weight as it is read, 1 to 64."},
     {"gradient_bits", "of a weight's gradient."},
     {"activation_bits", "of an operand or a result."},
     {"cache_bits", "of a cached key or value."},
     {"batches", "microbatches of all replicas, each of which reads the weights."}}};

[[nodiscard]] inline std::string byte_signature() {
    std::string text;
    for (const auto& [name, meaning] : byte_keywords) {
        append_item(text, std::string(name) + (std::string_view(name) == "batches" ? "=1" : "=16"));
    }
    return text;
}

[[nodiscard]] inline std::string byte_help() {
    std::string text;
    for (const auto& [name, meaning] : byte_keywords) {
        text.append("    ").append(name).append(": ").append(meaning).append("\n");
    }
    return text;
}

/// `value_of(name)`: null or None where it is not given.
template <class ValueOf>
[[nodiscard]] byte_choice byte_choice_of(ValueOf value_of) {
    const auto read = [&value_of](const char* name, std::uint64_t usual, std::uint64_t most) {
        const py::object given = py::reinterpret_borrow<py::object>(value_of(name));
        return !given || given.is_none() ? usual : to_count(given, name, 1, most);
    };
    return {.bits = {.weights = read("weight_bits", 16, 64),
                     .gradients = read("gradient_bits", 16, 64),
                     .activations = read("activation_bits", 16, 64),
                     .cache = read("cache_bits", 16, 64)},
            .batches = read("batches", 1, std::uint64_t{1} << 32U)};
}

/// Bandwidth of one GPU's memory; none where nobody says it.
[[nodiscard]] inline std::optional<double> to_memory_tbps(const py::object& part, const py::object& memory_tbps) {
    if (!memory_tbps.is_none()) {
        const double given = to_number(memory_tbps, "memory_tbps");
        floptally::detail::require_finite_positive(given, "memory_tbps");
        return given;
    }
    const bool is_part = py::isinstance<accelerator>(part);
    if (!is_part && !py::isinstance<py::str>(part)) {
        return {};
    }
    const auto known =
        memory_bandwidth_named(is_part ? std::string(part.cast<const accelerator&>().name) : part.cast<std::string>());
    return known ? std::optional(known->tbps) : std::nullopt;
}

/// A step that trains keeps no cache; of another one the past must be known.
[[nodiscard]] inline bool is_past_known(const shown_breakdown& work) {
    return work.cached || work.as->plan.counted == counted_passes::train;
}

[[nodiscard]] inline step_bytes moved_by(const shown_breakdown& work, const training_plan& plan,
                                         const byte_choice& how) {
    if (!is_past_known(work)) {
        throw error("tally",
                    "was counted before, as a tally or by a meter, so that the past of its sequences, which reads the "
                    "cache, is not known: count the batch itself");
    }
    byte_counter counter(*work.as->model, plan, how.bits, how.batches);
    counter.add_counted(work.batch,
                        work.cached ? std::span<const sequence>(*work.cached) : std::span<const sequence>{});
    return counter.count();
}

/// What components need at the memory's bandwidth, where that is known and their bytes can be counted. What was given
/// for it alone must be of use.
[[nodiscard]] inline std::optional<time_at_memory> memory_of(const shown_breakdown& work, const py::dict& said,
                                                             const training_plan& plan,
                                                             const std::vector<work_at_peak>& at_peaks) {
    const auto value = [&said](const char* name) {
        return said.contains(name) ? py::object(said[name]) : py::object(py::none());
    };
    const auto tbps = to_memory_tbps(value("accelerator"), value("memory_tbps"));
    const byte_choice how = byte_choice_of(value);
    for (const auto& [name, meaning] : byte_keywords) {
        if (!tbps && !value(name).is_none()) {
            throw error("memory_tbps", std::string("is missing; ").append(name).append(" is of bytes"));
        }
    }
    const bool adapts = std::any_of(plan.rules.begin(), plan.rules.end(),
                                    [](const plan_rule& rule) { return rule.state == weight_state::lora; });
    const bool is_asked = !value("memory_tbps").is_none();
    if (!tbps || (!is_asked && (adapts || work.as->model->parts.empty() || !is_past_known(work)))) {
        return {};
    }
    return memory_time(moved_by(work, plan, how), at_peaks, *tbps, how.batches);
}

/// Python's `Bytes`.
struct shown_bytes {
    shown_bytes(const shown_breakdown& of, const byte_choice& how) : work(of), choice(how) {
        if (of.convention_name() != conventions::exact.name) {
            throw error("convention", std::string("must be exact, whose products are those that move bytes, got \"")
                                          .append(of.convention_name())
                                          .append("\""));
        }
        made = {.model_type = of.as->model->model_type,
                .work = of.work,
                .moved = moved_by(of, of.as->plan, how),
                .bits = how.bits,
                .batches = how.batches};
    }

    [[nodiscard]] double mbu(double seconds, const py::object& gpus, const py::object& part,
                             const py::object& memory_tbps) const {
        if (work.as->plan.counted != counted_passes::forward) {
            throw error("plan", "must be of the forward alone, Plan(phase=\"forward\"): an MBU is of a decode step");
        }
        auto tbps = to_memory_tbps(part, memory_tbps);
        if (!tbps) {
            if (part.is_none()) {
                throw error("accelerator", "is missing, and no memory_tbps is given either");
            }
            tbps =
                memory_tbps_named(py::isinstance<accelerator>(part) ? std::string(part.cast<const accelerator&>().name)
                                                                    : py::str(part).cast<std::string>());
        }
        return model_bandwidth_utilization(made.moved, seconds, to_count(gpus, "gpus", 1), *tbps);
    }

    shown_breakdown work;
    byte_choice choice;
    byte_report made{};
};

/// Bytes of a component, with what it executes.
struct shown_component_bytes {
    component_bytes moved;
    flops executed{};
};

inline constexpr std::array<const char*, 4> phase_words{"forward", "backward_data", "backward_weights", "recompute"};

/// {kind: bytes}
template <class Count>
[[nodiscard]] py::dict by_kind(Count count) {
    py::dict out;
    for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
        const auto what = static_cast<byte_kind>(kind);
        out[py::str(std::string(name(what)))] = to_int(flops{count(what)});
    }
    return out;
}

[[nodiscard]] inline std::string to_html(const byte_report& made) {
    std::string text = "<table><caption>" + escaped(made.model_type) + "</caption><tr><th></th><th>FLOPs</th>";
    for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
        text.append("<th>").append(name(static_cast<byte_kind>(kind))).append("</th>");
    }
    text.append("<th>bytes</th><th>FLOPs/byte</th></tr>");
    const auto cell = [&text](const std::string& shown) {
        text.append("<td style=\"text-align:right\">").append(shown).append("</td>");
    };
    const auto put = [&](std::string_view name, flops work, const auto& of) {
        text.append("<tr><th style=\"text-align:left\">").append(escaped(name)).append("</th>");
        cell(to_string(work));
        for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
            cell(to_string(flops{of.total(static_cast<byte_kind>(kind))}));
        }
        cell(to_string(flops{of.total()}));
        cell(fixed_decimal(arithmetic_intensity(work, of.total()), 3));
        text.append("</tr>");
    };
    for (const component_bytes& one : made.moved.components) {
        put(one.name.view(), made.executed(one.name.view()), one);
    }
    put("total", made.executed(), made.moved);
    return text.append("</table>");
}

/// `Breakdown.bytes`
[[nodiscard]] inline py::object breakdown_bytes(py::handle self, call_arguments& given) {
    const byte_choice how = byte_choice_of([&given](const char* name) { return given.keyword(name); });
    given.require_no_other();
    return py::cast(shown_bytes(self.cast<const shown_breakdown&>(), how));
}

}  // namespace floptally::detail::python
