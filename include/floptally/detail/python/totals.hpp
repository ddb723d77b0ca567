// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <pybind11/pybind11.h>
#include <string>

#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/statistic.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// Totals of a step, an interval or a run, and what their steps took.
struct shown_totals {
    step_totals totals;
    std::optional<duration_histogram> step_seconds;  ///< none of a single step

    explicit shown_totals(const step_totals& of) : totals(of) {}
    explicit shown_totals(const step_series& of) : totals(of.totals), step_seconds(of.step_seconds) {}

    [[nodiscard]] const duration_histogram& durations() const {
        if (!step_seconds) {
            throw error("step_seconds", "a single step has no distribution of durations");
        }
        return *step_seconds;
    }
};

inline void bind_totals(py::module_& module) {
    py::class_<shown_totals> type(module, "Totals", R"(What a step, an interval or a run has done.

Counts and FLOPs are exact ints; each ratio is one sum over another, never a mean of ratios. A rate of no step is an
Error.)");
    type.def_property_readonly("steps", [](const shown_totals& t) { return t.totals.steps; })
        .def_property_readonly("seconds", [](const shown_totals& t) { return t.totals.seconds; })
        .def_property_readonly("gpu_seconds", [](const shown_totals& t) { return t.totals.gpu_seconds; })
        .def_property_readonly("useful", [](const shown_totals& t) { return to_int(t.totals.useful); })
        .def_property_readonly("padded", [](const shown_totals& t) { return to_int(t.totals.padded); })
        .def_property_readonly("executed", [](const shown_totals& t) { return to_int(t.totals.executed); })
        .def_property_readonly("tally", [](const shown_totals& t) { return t.totals.batch; })
        .def(
            "percentile", [](const shown_totals& t, double percent) { return t.durations().percentile(percent); },
            py::arg("percent"), "Seconds that so many per cent of the steps did not exceed, within 0.79 %.")
        .def_property_readonly("min_step_seconds", [](const shown_totals& t) { return t.durations().min(); })
        .def_property_readonly("max_step_seconds", [](const shown_totals& t) { return t.durations().max(); })
        .def("__repr__", [](const shown_totals& t) {
            return "<Totals of " + std::to_string(t.totals.steps) + " steps: " + to_string(t.totals.useful) +
                   " useful FLOPs in " + std::to_string(t.totals.seconds) + " s>";
        });
    const auto sum = [&type](const char* name, view seen, statistic what) {
        type.def_property_readonly(name, [seen, what](const shown_totals& t) {
            return t.totals.batch.get(seen, what, t.totals.batch.masks().main_modality());
        });
    };
    sum("tokens", view::useful, statistic::tokens);
    sum("padded_tokens", view::padded, statistic::tokens);
    sum("samples", view::useful, statistic::count);
    const auto rate = [&type](const char* name, double step_rates::*which, const char* meaning) {
        type.def_property_readonly(
            name, [which](const shown_totals& t) { return rates(t.totals).*which; }, meaning);
    };
    rate("mfu", &step_rates::mfu, "Useful FLOPs over the peak; 0.412 is 41.2 %.");
    rate("padded_mfu", &step_rates::padded_mfu, "The same for every slot that kernels processed.");
    rate("hfu", &step_rates::hfu, "The same for executed FLOPs.");
    rate("tflops", &step_rates::tflops, "Useful TFLOP/s of all GPUs together.");
    rate("tflops_per_gpu", &step_rates::tflops_per_gpu, "Useful TFLOP/s of one GPU.");
    rate("padded_tflops_per_gpu", &step_rates::padded_tflops_per_gpu, "Padded TFLOP/s of one GPU.");
    rate("executed_tflops_per_gpu", &step_rates::executed_tflops_per_gpu, "Executed TFLOP/s of one GPU.");
    rate("tokens_per_second", &step_rates::tokens_per_second, "Real tokens, of all GPUs together.");
    rate("tokens_per_second_per_gpu", &step_rates::tokens_per_second_per_gpu, "Real tokens, of one GPU.");
    rate("samples_per_second", &step_rates::samples_per_second, "Sequences with at least one real token.");
    rate("useful_fraction", &step_rates::useful_fraction, "Real tokens over slots.");
    rate("useful_flops_fraction", &step_rates::useful_flops_fraction, "Useful over padded FLOPs.");
    rate("step_seconds", &step_rates::step_seconds, "Mean.");
}

}  // namespace floptally::detail::python
