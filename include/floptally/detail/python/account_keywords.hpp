// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>
#include <string>

#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/masked_tiles.hpp>
#include <floptally/error.hpp>

/// @file
/// The keywords that say what is known of a step: one list for the signatures and the help of all that take them.

namespace floptally::detail::python {

/// A keyword of `Breakdown.waterfall` and `Waterfall.what_if`. None is the same as absent: not known.
struct account_keyword {
    const char* name;
    const char* meaning;
    bool is_measured = false;  ///< of the step that ran alone: `what_if` does not take it
};

inline constexpr account_keyword account_keywords[] = {
    {"seconds", "duration of the step; times that say it themselves need none.", true},
    {"gpus", "all of the job."},
    {"accelerator", "a name as the driver calls it, or an Accelerator."},
    {"peak_tflops", "dense peak of one GPU, which MFU is stated against; wins over `accelerator`."},
    {"precision", "of that peak; \"bf16\" where it is not given."},
    {"precisions", "of components and layers, \"mlp=fp8,@1-30=fp8\"."},
    {"clock_mhz", "of the accelerator's boost peak."},
    {"apart", "{name: seconds} of the step that are no work: data wait, exposed communication, the optimizer."},
    {"rank_work",
     "own work of each rank in any unit, [ranks] ints; or {\"largest\", \"sum\", \"ranks\"}, as two reductions give "
     "it."},
    {"idle_gpus", "of `gpus`, those that run none of the work."},
    {"masked_tiles", "a MaskedTiles of the same batch, or the FLOPs that kernels ran on masked pairs as an int."},
    {"pp", "ranks of a pipeline, over which the model's layers are dealt."},
    {"vpp", "chunks of layers on each of them; 1 where it is not given."},
    {"microbatches", "that each pipeline runs in the step."},
    {"schedule", "\"gpipe\", \"1f1b\", \"interleaved\" or \"zero_bubble\"; 1f1b, or interleaved where vpp is above 1."},
    {"memory_tbps", "bandwidth of one GPU's memory in TB/s, for what is bound by memory; wins over `accelerator`."},
    {"batches", "microbatches of all replicas, each of which reads the weights; 1 where it is not given."},
    {"weight_bits", "of a weight as it is read; 16 where it is not given, as the three below."},
    {"gradient_bits", "of a weight's gradient."},
    {"activation_bits", "of an operand or a result."},
    {"cache_bits", "of a cached key or value."},
    {"component_times",
     "measured times of components: a ModuleTimer, what its times() returns, or the path of such a file.", true},
    {"trace", "the path of a step's trace, as torch.profiler's export_chrome_trace writes it.", true},
    {"modules", "components of modules in the trace, before the usual ones: \"*.mixer=mamba\".", true}};

[[nodiscard]] inline std::string account_signature(bool of_measured = true) {
    std::string text;
    for (const account_keyword& one : account_keywords) {
        if (of_measured || !one.is_measured) {
            append_item(text, std::string(one.name) + "=None");
        }
    }
    return text;
}

[[nodiscard]] inline std::string account_help(bool of_measured = true) {
    std::string text;
    for (const account_keyword& one : account_keywords) {
        if (of_measured || !one.is_measured) {
            text.append("    ").append(one.name).append(": ").append(one.meaning).append("\n");
        }
    }
    return text;
}

/// The keywords of a call; what the caller could change later as a copy.
[[nodiscard]] inline py::dict account_of_call(call_arguments& given, bool of_measured = true) {
    py::dict said;
    for (const account_keyword& one : account_keywords) {
        if (one.is_measured && !of_measured) {
            continue;
        }
        if (const py::handle value = given.keyword(one.name)) {
            said[one.name] = py::isinstance<shown_tiles>(value)
                                 ? py::cast(shown_tiles(value.cast<const shown_tiles&>()))
                             : py::isinstance<py::dict>(value) ? py::object(value.attr("copy")())
                             : py::isinstance<py::iterable>(value) && !py::isinstance<py::str>(value)
                                 ? py::object(py::tuple(py::reinterpret_borrow<py::object>(value)))
                                 : py::reinterpret_borrow<py::object>(value);
        }
    }
    return said;
}

/// The same with other values of some. Another accelerator has another peak, and memory, and another peak
/// no clock.
[[nodiscard]] inline py::dict changed(const py::dict& kept, const py::dict& by) {
    py::dict all(kept.attr("copy")());
    const auto drop = [&](const char* name) { all.attr("pop")(name, py::none()); };
    if (by.contains("accelerator") || by.contains("precision") || by.contains("clock_mhz")) {
        drop("peak_tflops");
    }
    if (by.contains("accelerator") || by.contains("peak_tflops")) {
        drop("clock_mhz");
    }
    if (by.contains("accelerator")) {
        drop("memory_tbps");
    }
    all.attr("update")(by);
    return all;
}

}  // namespace floptally::detail::python
