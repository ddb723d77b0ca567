// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/split_tally.hpp>
#include <floptally/breakdown.hpp>
#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/cost_state.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/html.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/detail/python/views.hpp>
#include <floptally/error.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/peak.hpp>
#include <floptally/step/precision_rules.hpp>
#include <floptally/tally.hpp>
#include <floptally/utilization.hpp>

namespace floptally::detail::python {

/// Python's `Breakdown`: what was counted of a batch. A report is made of it where one is shown.
struct shown_breakdown {
    shown_breakdown(std::shared_ptr<const folded_model> folded, tally counted, bool only_kept_masks = false)
        : as(std::move(folded)),
          batch(std::move(counted)),
          work(as->counter.evaluate(batch)),
          shows_kept_masks(only_kept_masks) {}

    [[nodiscard]] const mask_set& masks() const { return shows_kept_masks ? batch.masks() : as->model->cost.masks(); }
    [[nodiscard]] std::string_view convention_name() const { return as->counter.counted_as().name; }
    [[nodiscard]] report whole() const {
        report made = report_of(*as->model, as->counter, as->plan, batch, masks());
        made.mfu = mfu;
        made.padding = padding;
        return made;
    }

    std::shared_ptr<const folded_model> as;
    tally batch;
    breakdown work;
    bool shows_kept_masks;  ///< and not those of the model, which a convention may count by other words
    std::optional<padding_flops> padding{};  ///< what the padded view is spent on, where that is known
    /// Sequences with a past, which reads a cache; none where it was counted before, and nobody knows.
    std::optional<std::vector<sequence>> cached{};
    std::optional<mfu_report> mfu{};  ///< where a step was measured, …
    py::object measured_by{};         ///< … the keywords that said it, for a waterfall
};

/// "useful", "padded" or "executed".
[[nodiscard]] inline view to_view(py::handle seen) {
    if (!py::isinstance<py::str>(seen)) {
        throw error("view", "must be useful, padded or executed, got " + shown(seen));
    }
    return from_word<view>(seen.cast<std::string>(), "view", {"useful", "padded", "executed"});
}

/// Sequences, tokens, squares and pairs as ints, in the form that they have as JSON.
[[nodiscard]] inline py::dict statistics_of(const shown_breakdown& b) {
    const auto both = [](std::uint64_t useful, std::uint64_t padded) {
        py::dict out;
        out["useful"] = useful;
        out["padded"] = padded;
        return out;
    };
    const auto words = [&](modality in) {
        py::dict out;
        for (const statistic what : {statistic::count, statistic::tokens, statistic::squares}) {
            out[name_of(what)] = both(b.batch.get(view::useful, what, in), b.batch.get(view::padded, what, in));
        }
        return out;
    };
    py::dict out = words(modality::text);
    for (const modality in : {modality::vision, modality::audio}) {
        if (b.masks().has(in)) {
            out[name_of(in)] = words(in);
        }
    }
    py::list pairs;
    for (const rule& m : b.masks()) {
        py::dict one;
        one["mask"] = m.name();
        one["value"] = both(b.batch.pairs(view::useful, m), b.batch.pairs(view::padded, m));
        pairs.append(one);
    }
    out["pairs"] = pairs;
    return out;
}

/// What the padded view is spent on, or None where that is not known.
[[nodiscard]] inline py::object padding_of(const shown_breakdown& b) {
    if (!b.padding) {
        return py::none();
    }
    py::dict out;
    out["useful"] = to_int(b.padding->useful);
    out["in_slots"] = to_int(b.padding->in_slots);
    out["mock"] = to_int(b.padding->mock);
    out["vocabulary"] = to_int(b.padding->vocabulary);
    return out;
}

/// The same with a time and a peak.
[[nodiscard]] inline shown_breakdown measured(const shown_breakdown& b, const py::object& seconds,
                                              const py::object& gpus, const py::object& part,
                                              const py::object& peak_tflops, const py::object& used,
                                              const std::optional<std::string>& precisions,
                                              const std::optional<std::string>& kind, const py::object& clock_mhz) {
    const chosen_peak peak = to_peak(part, peak_tflops, used, kind, clock_mhz);
    mfu_report mfu{.utilization = {},
                   .step = {.seconds = to_number(seconds, "seconds"),
                            .gpus = to_count(gpus, "gpus", 1),
                            .peak_tflops = peak.tflops},
                   .accelerator = peak.accelerator,
                   .precision = peak.precision,
                   .peak_source = peak.source,
                   .peak_kind = peak.kind,
                   .peak_quality = peak.quality};
    mfu.utilization = utilize(b.work, b.batch, mfu.step);
    if (precisions) {
        const auto name = peak.accelerator.empty() ? std::nullopt : std::optional(peak.accelerator);
        mfu.mixed = mixed_precision(b.as->counter, b.as->model->parts, b.as->plan,
                                    precision_rules(*precisions, name, to_clock_mhz(clock_mhz)), mfu.step.peak_tflops)
                        .rate(b.batch, mfu.step.seconds * static_cast<double>(mfu.step.gpus));
    }
    py::dict said;
    said["seconds"] = mfu.step.seconds;
    said["gpus"] = mfu.step.gpus;
    said["accelerator"] = peak.accelerator.empty() ? py::object(py::none()) : py::str(peak.accelerator);
    said["peak_tflops"] = peak_tflops;
    said["precision"] = peak.precision;
    said["precisions"] = precisions;
    said["clock_mhz"] = clock_mhz;
    shown_breakdown with_mfu = b;
    with_mfu.mfu = mfu;
    with_mfu.measured_by = said;
    warn_above_peak(mfu.utilization.mfu);
    return with_mfu;
}

/// What it was counted of, by what, and the step that was measured. A pickle belongs to one version, as a cost's.
[[nodiscard]] inline py::tuple breakdown_state(const py::object& self) {
    const auto& b = self.cast<const shown_breakdown&>();
    py::object step = py::none();
    if (b.mfu) {
        step = py::make_tuple(
            b.mfu->step.seconds, b.mfu->step.gpus, b.mfu->step.peak_tflops, b.mfu->accelerator, b.mfu->precision,
            b.mfu->peak_source, static_cast<unsigned>(b.mfu->peak_kind), static_cast<unsigned>(b.mfu->peak_quality),
            b.mfu->mixed ? static_cast<py::object>(py::make_tuple(b.mfu->mixed->mfu, b.mfu->mixed->peak_tflops))
                         : static_cast<py::object>(py::none()),
            b.measured_by);
    }
    return py::make_tuple(model_state(*b.as->model), std::string(b.convention_name()), b.as->plan, b.batch,
                          b.shows_kept_masks, step, padding_of(b), attributes_of(self), past_state(b.cached));
}

[[nodiscard]] inline std::pair<shown_breakdown, py::dict> breakdown_of_state(const py::tuple& state) {
    const auto folded = std::make_shared<const folded_model>(
        std::make_shared<const model_config>(model_of_state(state[0])), to_convention(state[1]), to_plan(state[2]));
    shown_breakdown b(folded, state[3].cast<const tally&>(), state[4].cast<bool>());
    if (!state[5].is_none()) {
        const py::tuple step(state[5]);
        b.mfu = mfu_report{.utilization = {},
                           .step = {.seconds = step[0].cast<double>(),
                                    .gpus = step[1].cast<std::uint64_t>(),
                                    .peak_tflops = step[2].cast<double>()},
                           .accelerator = step[3].cast<std::string>(),
                           .precision = step[4].cast<std::string>(),
                           .peak_source = step[5].cast<std::string>(),
                           .peak_kind = static_cast<peak_kind>(step[6].cast<unsigned>()),
                           .peak_quality = static_cast<source_quality>(step[7].cast<unsigned>())};
        b.mfu->utilization = utilize(b.work, b.batch, b.mfu->step);
        if (!step[8].is_none()) {
            const py::tuple mixed(step[8]);
            b.mfu->mixed = {mixed[0].cast<double>(), mixed[1].cast<double>()};
        }
        b.measured_by = step[9];
    }
    if (!state[6].is_none()) {
        const py::dict padding(state[6]);
        const auto flops_of = [&](const char* name) { return to_flops(py::int_(padding[name]), name); };
        b.padding = {flops_of("useful"), flops_of("in_slots"), flops_of("mock"), flops_of("vocabulary")};
    }
    b.cached = past_of_state(state[8]);
    return {std::move(b), state[7].cast<py::dict>()};
}

inline void bind_breakdowns(py::module_& module, const std::shared_ptr<const python_services>& with) {
    bind_views(module);
    const auto seen = [](view which) { return [which](const shown_breakdown& r) { return view_of(r.work, which); }; };
    const auto total = [](view which) {
        return [which](const shown_breakdown& r) { return to_int(r.work.total(which)); };
    };
    py::class_<shown_breakdown> type(module, "Breakdown", R"(FLOPs of a batch: component x phase x view, as exact ints.

useful: real tokens, what MFU is made of. padded: every slot that kernels process. executed: padded, plus recompute and
what a fused attention backward computes again. str() is a table, in a notebook too.)");
    type.def_property_readonly("total", total(view::useful), "Useful FLOPs of all phases.")
        .def_property_readonly("padded_total", total(view::padded))
        .def_property_readonly("executed_total", total(view::executed))
        .def_property_readonly("useful", seen(view::useful))
        .def_property_readonly("padded", seen(view::padded))
        .def_property_readonly("executed", seen(view::executed))
        .def_property_readonly("model_type", [](const shown_breakdown& r) { return r.as->model->model_type; })
        .def_property_readonly("convention", [](const shown_breakdown& r) { return std::string(r.convention_name()); })
        .def_property_readonly("plan", [](const shown_breakdown& r) { return r.as->plan; })
        .def_property_readonly("tally", [](const shown_breakdown& r) { return r.batch; })
        .def_property_readonly("notes", [](const shown_breakdown& r) { return notes_of(r.whole()); })
        .def_property_readonly(
            "is_upper_bound", [](const shown_breakdown& r) { return r.work.is_upper_bound(); },
            "Whether less may run: the plan trains parts of a model whose rows do not say what they read.")
        .def_property_readonly("padding", &padding_of,
                               "What the padded FLOPs are spent on, exact ints: useful, in_slots (the rest of the "
                               "slots of real sequences), mock (sequences without a real token) and vocabulary. None "
                               "where nothing is padded, or where it was counted before, as a tally or by a meter.")
        .def_property_readonly("statistics", &statistics_of, "Sequences, tokens, squares and pairs, useful and padded.")
        .def("measure", &measured, py::arg("seconds"), py::kw_only(), py::arg("gpus"),
             py::arg("accelerator") = py::none(), py::arg("peak_tflops") = py::none(), py::arg("precision") = "bf16",
             py::arg("precisions") = py::none(), py::arg("peak_kind") = py::none(), py::arg("clock_mhz") = py::none(),
             "The same breakdown with MFU, padded MFU and HFU of a step that took so many seconds on so many GPUs. "
             "precisions: as a Meter has them, for mixed_mfu. peak_kind: what peak_tflops is (datasheet, boost, "
             "measured); clock_mhz: of the accelerator's boost peak.")
        .def(
            "to_dict",
            [with](const shown_breakdown& r) -> py::dict {
                return py::module_::import("json").attr("loads")(with->to_json(r.whole()));
            },
            "What the program prints as JSON: counts are decimal strings.")
        .def("__str__", [with](const shown_breakdown& r) { return with->to_table(r.whole()); })
        .def("_repr_html_", [with](const shown_breakdown& r) { return to_html(r.whole(), with->readable); })
        .def("__repr__",
             [](const shown_breakdown& r) {
                 return "<Breakdown of " + r.as->model->model_type + ": " + to_string(r.work.total()) +
                        " useful FLOPs, " + std::string(r.convention_name()) + ">";
             })
        .def(py::pickle(&breakdown_state, &breakdown_of_state));
    const auto rate = [&type](const char* name, double utilization::*which, const char* meaning) {
        type.def_property_readonly(
            name,
            [which](const shown_breakdown& r) {
                if (!r.mfu) {
                    throw error("seconds", "no step was measured: see Breakdown.measure()");
                }
                return r.mfu->utilization.*which;
            },
            meaning);
    };
    rate("mfu", &utilization::mfu, "Useful FLOPs over the peak; 0.412 is 41.2 %. Needs measure(), as the four below.");
    rate("padded_mfu", &utilization::padded_mfu, "The same for every slot that kernels process.");
    rate("hfu", &utilization::hfu, "The same for executed FLOPs.");
    rate("tflops_per_gpu", &utilization::tflops_per_gpu, "Useful TFLOP/s of one GPU.");
    rate("tokens_per_second", &utilization::tokens_per_second, "Real tokens, of all GPUs together.");
    const auto mixed = [&type](const char* name, double mixed_precision_rate::*which, const char* meaning) {
        type.def_property_readonly(
            name,
            [which](const shown_breakdown& r) {
                if (!r.mfu || !r.mfu->mixed) {
                    throw error("precisions", "none were given: see Breakdown.measure()");
                }
                return (*r.mfu->mixed).*which;
            },
            meaning);
    };
    mixed("mixed_mfu", &mixed_precision_rate::mfu, "Each part of the work over the peak of its own precision.");
    mixed("mixed_peak_tflops", &mixed_precision_rate::peak_tflops, "The one peak that mixed_mfu stands for.");
}

}  // namespace floptally::detail::python
