// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <string>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/mask.hpp>
#include <floptally/meter.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/step/metered_hardware.hpp>
#include <floptally/step/peak.hpp>
#include <floptally/tally.hpp>

/// @file
/// What Python's `Meter` is made of: hardware, a clock, a sum over ranks.

namespace floptally::detail::python {

[[nodiscard]] inline metered_hardware to_hardware(const py::object& gpus, const py::object& part,
                                                  const py::object& peak_tflops, const py::object& used,
                                                  const py::object& counted, const py::object& reduce,
                                                  const std::optional<std::string>& kind, const py::object& clock_mhz) {
    const chosen_peak peak = to_peak(part, peak_tflops, used, kind, clock_mhz);
    if (gpus.is_none() && reduce.is_none()) {
        throw error("gpus", "must be given, or reduce, whose ranks they are");
    }
    return {.gpus = gpus.is_none() ? 0 : to_count(gpus, "gpus", 1),
            .peak_tflops = peak.tflops,
            .accelerator = peak.accelerator,
            .precision = peak.precision,
            .counted = counted.is_none()
                           ? counted_for::unsaid
                           : from_word<counted_for>(counted.cast<std::string>(), "counted", {"unsaid", "all_gpus"}),
            .peak_kind = peak.kind,
            .peak_quality = peak.quality};
}

/// The sum over ranks by a `floptally.distributed.Reduction`, or whatever is called as it is and has its `layout` and
/// its `convention`.
[[nodiscard]] inline rank_sum to_rank_sum(const py::object& reduce, const flop_counter& model) {
    if (reduce.is_none()) {
        return {};
    }
    // One that has no layout yet says why where it is asked for it.
    const bool has_layout = py::hasattr(py::type::of(reduce), "layout") || py::hasattr(reduce, "layout");
    if (PyCallable_Check(reduce.ptr()) == 0 || !has_layout || !py::hasattr(reduce, "convention")) {
        throw error("reduce", "must be a floptally.distributed.Reduction, got " + shown(reduce));
    }
    const auto compared = reduce.attr("convention").cast<std::string>();
    if (compared != model.counted_as().name) {
        throw error("convention", "the reduction compares \"" + compared +
                                      "\" over the ranks, and the meter counts by \"" +
                                      std::string(model.counted_as().name) + "\"");
    }
    // Of other masks than the model's: what a rank sends that refuses.
    mask_set others;
    if (model.masks().empty()) {
        others.push_back(mask::sliding_window(1), "masks");
    }
    return {.ranks = reduce.attr("layout").attr("world_size").cast<std::uint64_t>(),
            .sum = [reduce, refusal = tally(others)](const std::function<tally()>& counted) {
                std::optional<tally> mine;
                try {
                    mine = counted();
                } catch (const error&) {
                    try {
                        static_cast<void>(reduce(refusal));
                    } catch (const py::error_already_set&) {  // what the other ranks see; here its cause is said
                    }
                    throw;
                }
                return reduce(*mine).cast<tally>();
            }};
}

[[nodiscard]] inline meter::seconds_clock to_clock(const py::object& clock) {
    if (clock.is_none()) {
        return steady_seconds;
    }
    if (PyCallable_Check(clock.ptr()) == 0) {
        throw error("clock", "must be callable, got " + shown(clock));
    }
    return clock.cast<meter::seconds_clock>();
}

}  // namespace floptally::detail::python
