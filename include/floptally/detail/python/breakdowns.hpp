// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/html.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/peak.hpp>
#include <floptally/step/precision_rules.hpp>
#include <floptally/utilization.hpp>

namespace floptally::detail::python {

/// A report in Python, with what shows it.
struct shown_report {
    report counted;
    std::shared_ptr<const python_services> with;
    std::shared_ptr<const model_config> model{};  ///< that was counted
};

/// Forward, backward and recompute of a component, or of all.
struct phase_flops {
    std::string name;
    flops forward;
    flops backward;
    flops recompute;

    [[nodiscard]] flops total() const { return forward + backward + recompute; }
};

/// One view of a breakdown.
struct view_flops {
    phase_flops all;
    std::vector<phase_flops> components;
};

[[nodiscard]] inline view_flops view_of(const breakdown& work, view seen) {
    view_flops out{{"total", work.get(seen, phase::forward), work.backward(seen), work.get(seen, phase::recompute)},
                   {}};
    for (const component_flops& c : work.components()) {
        out.components.push_back(
            {std::string(c.name.view()), c.get(seen, phase::forward), c.backward(seen), c.get(seen, phase::recompute)});
    }
    return out;
}

[[nodiscard]] inline py::object json_of(const shown_report& r) {
    return py::module_::import("json").attr("loads")(r.with->to_json(r.counted));
}

/// Decimal strings as ints, all the way down; names of masks stay.
[[nodiscard]] inline py::object exact_ints(const py::object& json) {
    if (py::isinstance<py::dict>(json)) {
        py::dict out;
        for (const auto& [key, value] : json.cast<py::dict>()) {
            const bool is_name = py::isinstance<py::str>(key) && key.cast<std::string>() == "mask";
            out[key] = is_name ? py::reinterpret_borrow<py::object>(value)
                               : exact_ints(py::reinterpret_borrow<py::object>(value));
        }
        return out;
    }
    if (py::isinstance<py::list>(json)) {
        py::list out;
        for (const py::handle value : json) {
            out.append(exact_ints(py::reinterpret_borrow<py::object>(value)));
        }
        return out;
    }
    return py::isinstance<py::str>(json) ? static_cast<py::object>(py::int_(json)) : json;
}

/// What the padded view is spent on, or None where that is not known.
[[nodiscard]] inline py::object padding_of(const shown_report& r) {
    if (!r.counted.padding) {
        return py::none();
    }
    py::dict out;
    out["useful"] = to_int(r.counted.padding->useful);
    out["in_slots"] = to_int(r.counted.padding->in_slots);
    out["mock"] = to_int(r.counted.padding->mock);
    out["vocabulary"] = to_int(r.counted.padding->vocabulary);
    return out;
}

/// The same with a time and a peak.
[[nodiscard]] inline shown_report measured(const shown_report& r, const py::object& seconds, const py::object& gpus,
                                           const py::object& part, const py::object& peak_tflops,
                                           const std::string& used, const std::optional<std::string>& precisions,
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
    mfu.utilization = utilize(r.counted.work, r.counted.batch, mfu.step);
    if (precisions) {
        const flop_counter whole(*r.model, r.counted.counted_as, r.counted.plan);
        const auto name = peak.accelerator.empty() ? std::nullopt : std::optional(peak.accelerator);
        mfu.mixed = mixed_precision(whole, r.model->parts, r.counted.plan, precision_rules(*precisions, name),
                                    mfu.step.peak_tflops)
                        .rate(r.counted.batch, mfu.step.seconds * static_cast<double>(mfu.step.gpus));
    }
    shown_report with_mfu = r;
    with_mfu.counted.mfu = mfu;
    return with_mfu;
}

inline void bind_breakdowns(py::module_& module) {
    py::class_<phase_flops>(module, "Work", "FLOPs by phase, as exact ints.")
        .def_readonly("name", &phase_flops::name)
        .def_property_readonly("total", [](const phase_flops& w) { return to_int(w.total()); })
        .def_property_readonly("forward", [](const phase_flops& w) { return to_int(w.forward); })
        .def_property_readonly("backward", [](const phase_flops& w) { return to_int(w.backward); })
        .def_property_readonly("recompute", [](const phase_flops& w) { return to_int(w.recompute); })
        .def("__repr__", [](const phase_flops& w) { return "<Work " + w.name + ": " + to_string(w.total()) + ">"; });

    py::class_<view_flops>(module, "View", "One view of a breakdown: all work, and each component's.")
        .def_property_readonly("total", [](const view_flops& v) { return to_int(v.all.total()); })
        .def_property_readonly("forward", [](const view_flops& v) { return to_int(v.all.forward); })
        .def_property_readonly("backward", [](const view_flops& v) { return to_int(v.all.backward); })
        .def_property_readonly("recompute", [](const view_flops& v) { return to_int(v.all.recompute); })
        .def_property_readonly(
            "components",
            [](const view_flops& v) {
                py::dict out;
                for (const phase_flops& c : v.components) {
                    out[py::str(c.name)] = py::cast(c);
                }
                return out;
            },
            "Work by component's name, in the model's order.")
        .def("__repr__", [](const view_flops& v) { return "<View: " + to_string(v.all.total()) + ">"; });

    const auto seen = [](view which) {
        return [which](const shown_report& r) { return view_of(r.counted.work, which); };
    };
    const auto total = [](view which) {
        return [which](const shown_report& r) { return to_int(r.counted.work.total(which)); };
    };
    py::class_<shown_report> type(module, "Breakdown", R"(FLOPs of a batch: component x phase x view, as exact ints.

useful: real tokens, what MFU is made of. padded: every slot that kernels process. executed: padded, plus recompute and
what a fused attention backward computes again. str() is a table, in a notebook too.)");
    type.def_property_readonly("total", total(view::useful), "Useful FLOPs of all phases.")
        .def_property_readonly("padded_total", total(view::padded))
        .def_property_readonly("executed_total", total(view::executed))
        .def_property_readonly("useful", seen(view::useful))
        .def_property_readonly("padded", seen(view::padded))
        .def_property_readonly("executed", seen(view::executed))
        .def_property_readonly("model_type", [](const shown_report& r) { return r.counted.model_type; })
        .def_property_readonly("convention",
                               [](const shown_report& r) { return std::string(r.counted.counted_as.name); })
        .def_property_readonly("plan", [](const shown_report& r) { return r.counted.plan; })
        .def_property_readonly("tally", [](const shown_report& r) { return r.counted.batch; })
        .def_property_readonly("notes", [](const shown_report& r) { return notes_of(r.counted); })
        .def_property_readonly(
            "is_upper_bound", [](const shown_report& r) { return r.counted.work.is_upper_bound(); },
            "Whether less may run: the plan trains parts of a model whose rows do not say what they read.")
        .def_property_readonly("padding", &padding_of,
                               "What the padded FLOPs are spent on, exact ints: useful, in_slots (the rest of the "
                               "slots of real sequences), mock (sequences without a real token) and vocabulary. None "
                               "where nothing is padded, or where it was counted before, as a tally or by a meter.")
        .def_property_readonly(
            "statistics", [](const shown_report& r) { return exact_ints(json_of(r).attr("get")("statistics")); },
            "Sequences, tokens, squares and pairs, useful and padded.")
        .def("measure", &measured, py::arg("seconds"), py::kw_only(), py::arg("gpus"),
             py::arg("accelerator") = py::none(), py::arg("peak_tflops") = py::none(), py::arg("precision") = "bf16",
             py::arg("precisions") = py::none(), py::arg("peak_kind") = py::none(), py::arg("clock_mhz") = py::none(),
             "The same breakdown with MFU, padded MFU and HFU of a step that took so many seconds on so many GPUs. "
             "precisions: as a Meter has them, for mixed_mfu. peak_kind: what peak_tflops is (datasheet, boost, "
             "measured); clock_mhz: of the accelerator's boost peak.")
        .def("to_dict", &json_of, "What the program prints as JSON: counts are decimal strings.")
        .def("__str__", [](const shown_report& r) { return r.with->to_table(r.counted); })
        .def("_repr_html_", [](const shown_report& r) { return to_html(r.counted, r.with->readable); })
        .def("__repr__", [](const shown_report& r) {
            return "<Breakdown of " + r.counted.model_type + ": " + to_string(r.counted.work.total()) +
                   " useful FLOPs, " + std::string(r.counted.counted_as.name) + ">";
        });
    const auto rate = [&type](const char* name, double utilization::*which, const char* meaning) {
        type.def_property_readonly(
            name,
            [which](const shown_report& r) {
                if (!r.counted.mfu) {
                    throw error("seconds", "no step was measured: see Breakdown.measure()");
                }
                return r.counted.mfu->utilization.*which;
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
            [which](const shown_report& r) {
                if (!r.counted.mfu || !r.counted.mfu->mixed) {
                    throw error("precisions", "none were given: see Breakdown.measure()");
                }
                return (*r.counted.mfu->mixed).*which;
            },
            meaning);
    };
    mixed("mixed_mfu", &mixed_precision_rate::mfu, "Each part of the work over the peak of its own precision.");
    mixed("mixed_peak_tflops", &mixed_precision_rate::peak_tflops, "The one peak that mixed_mfu stands for.");
}

}  // namespace floptally::detail::python
