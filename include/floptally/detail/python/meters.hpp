// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pthread.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>

#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/inputs.hpp>
#include <floptally/detail/python/meter_arguments.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/detail/python/totals.hpp>
#include <floptally/error.hpp>
#include <floptally/meter.hpp>
#include <floptally/report.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/precision_rules.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// How many forks made this process.
[[nodiscard]] inline std::uint64_t fork_count() {
    static std::uint64_t forks = 0;
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });
    static_cast<void>(registered);
    return forks;
}

/// Python's `Meter`. Its methods hold the GIL wherever they touch a total, so that any thread may add.
class held_meter {
  public:
    held_meter(const model_cost& measured, const py::object& gpus, const py::object& part,
               const py::object& peak_tflops, const py::object& used, const py::object& how, const py::object& trains,
               const py::object& clock, const py::object& counted, const py::object& reduce,
               const std::optional<std::string>& precisions, const std::optional<std::string>& kind,
               const py::object& clock_mhz)
        : model(measured),
          as(measured.folded(to_convention(how), to_plan(trains, measured))),
          of(as->counter, to_hardware(gpus, part, peak_tflops, used, counted, reduce, kind, clock_mhz),
             to_rank_sum(reduce, as->counter), to_clock(clock)),
          arguments(py::make_tuple(gpus, part, peak_tflops, used, how, trains, clock, counted, reduce, precisions, kind,
                                   clock_mhz)) {
        if (precisions) {
            const std::string& name = of.hardware().accelerator;
            of.runs_in(mixed_precision(of.model(), model.model().parts, as->plan,
                                       precision_rules(*precisions, name.empty() ? std::nullopt : std::optional(name),
                                                       to_clock_mhz(clock_mhz)),
                                       of.hardware().peak_tflops));
        }
    }

    /// Counts a microbatch. One that was counted while its step ended is an error, never part of the next.
    void add(call_arguments& batch) {
        static_cast<void>(of.microbatch());  // or an error: no step is open
        if (begun_in != fork_count()) {
            throw error("microbatch",
                        "is added in a forked process to a step that its parent began, which would never see it: a "
                        "DataLoader's worker gives lengths to the process that trains");
        }
        const std::uint64_t step = steps_begun;
        const mask_set& masks = as->counter.masks();
        const tally counted = input_arguments(batch, masks).counted(model.model(), masks);
        if (step != steps_begun || !of.in_step()) {
            throw error("microbatch", "step " + std::to_string(step) + " ended before this microbatch was counted");
        }
        of.microbatch() += counted;
    }

    /// Calls `visit` with the totals of "step", "interval" or "run".
    template <class Visit>
    auto visit_span(const std::string& which, Visit visit) const {
        switch (from_word<int>(which, "span", {"step", "interval", "run"})) {
            case 0:
                return visit(of.last_step());
            case 1:
                return visit(of.interval());
            default:
                return visit(of.run());
        }
    }
    [[nodiscard]] shown_totals span(const std::string& which) const {
        return visit_span(which, [](const auto& done) { return shown_totals(done); });
    }

    model_cost model;
    std::shared_ptr<const folded_model> as;
    meter of;
    py::tuple arguments;  ///< what it was made with, for a pickle
    std::uint64_t steps_begun = 0;
    std::uint64_t begun_in = 0;  ///< after how many forks the open step was
};

/// `with meter.step():`, through the methods of the object, which a subclass may have overridden.
struct metered_step {
    py::object meter;
    py::object seconds;
};

[[nodiscard]] inline py::dict scalars(const held_meter& m, const std::string& span, const std::string& prefix) {
    py::dict out;
    m.visit_span(span, [&](const auto& done) {
        for (const metric& one : metrics(m.of, done, prefix)) {
            out[py::str(one.name)] = one.value;
        }
    });
    return out;
}

/// What it was made with, its run, and what a subclass keeps: a copy goes on from the last step and has none open.
[[nodiscard]] inline py::tuple meter_pickle(const py::object& self, const python_services& with) {
    const auto& m = self.cast<const held_meter&>();
    const py::object run =
        m.of.run().totals.steps == 0 ? static_cast<py::object>(py::none()) : py::str(with.save_meter(m.of));
    return py::make_tuple(m.model, m.arguments, run, attributes_of(self));
}

[[nodiscard]] inline std::pair<std::unique_ptr<held_meter>, py::dict> meter_of_pickle(const py::tuple& state,
                                                                                      const python_services& with) {
    const py::tuple a(state[1]);
    auto m = std::make_unique<held_meter>(state[0].cast<const model_cost&>(), a[0], a[1], a[2], a[3], a[4], a[5], a[6],
                                          a[7], a[8], a[9].cast<std::optional<std::string>>(),
                                          a[10].cast<std::optional<std::string>>(), a[11]);
    if (!state[2].is_none()) {
        with.resume_meter(m->of, state[2].cast<std::string>());
    }
    return {std::move(m), state[3].cast<py::dict>()};
}

/// `Meter.add`
[[nodiscard]] inline py::object meter_add(py::handle self, call_arguments& given) {
    self.cast<held_meter&>().add(given);
    return py::none();
}

inline void bind_meters(py::module_& module, const std::shared_ptr<const python_services>& with) {
    bind_totals(module);
    py::class_<metered_step>(module, "MeteredStep", "The context manager of Meter.step().")
        .def("__enter__",
             [](const metered_step& s) {
                 s.meter.attr("begin_step")();
                 return s.meter;
             })
        .def(
            "__exit__",
            [](const metered_step& s, const py::object& type, const py::object&, const py::object&) {
                if (type.is_none()) {
                    s.meter.attr("end_step")(s.seconds);
                } else {
                    s.meter.attr("discard_step")();
                }
            },
            py::arg("type"), py::arg("value"), py::arg("traceback"));

    py::class_<held_meter> type(module, "Meter", R"(What a training loop holds: last step, interval and run.

gpus: all that work on the sequences which the meter counts. Where they are several it must know whose those are:
reduce: a floptally.distributed.Reduction, which sums what each rank adds as the step ends (gpus are then its ranks);
or counted="all_gpus", where what is added is of all GPUs already: one process counts for them, or it is reduced before.
accelerator: a name as the driver calls it, or an Accelerator; peak_tflops (dense, of one GPU) wins over it, and
peak_kind says what it is (datasheet, boost, measured). clock_mhz: that of the accelerator's boost peak. clock: any
function that returns seconds. precisions: what runs in another precision than `precision`, by component and by layer:
"mlp=fp8,@1-30=fp8" (layers 1 to 30); scalars then have mfu_mixed_pct and its denominator, mixed_peak_tflops.

    with meter.step():
        for batch in microbatches:
            train(batch)
            meter.add(cu_seqlens=batch.cu_seqlens))");
    type.def(py::init<const model_cost&, const py::object&, const py::object&, const py::object&, const py::object&,
                      const py::object&, const py::object&, const py::object&, const py::object&, const py::object&,
                      const std::optional<std::string>&, const std::optional<std::string>&, const py::object&>(),
             py::arg("cost"), py::kw_only(), py::arg("gpus") = py::none(), py::arg("accelerator") = py::none(),
             py::arg("peak_tflops") = py::none(), py::arg("precision") = "bf16", py::arg("convention") = "exact",
             py::arg("plan") = py::none(), py::arg("clock") = py::none(), py::arg("counted") = py::none(),
             py::arg("reduce") = py::none(), py::arg("precisions") = py::none(), py::arg("peak_kind") = py::none(),
             py::arg("clock_mhz") = py::none())
        .def("begin_step",
             [](held_meter& m) {
                 m.of.begin_step();
                 ++m.steps_begun;
                 m.begun_in = fork_count();
             })
        .def(
            "end_step",
            [](held_meter& m, const py::object& seconds) {
                if (seconds.is_none()) {
                    m.of.end_step();
                } else {
                    m.of.end_step(to_number(seconds, "seconds"));
                }
                warn_above_peak(rates(m.of.last_step()).mfu);
            },
            py::arg("seconds") = py::none(), "Ends the step, by the clock or by a time in seconds that is given.")
        .def(
            "discard_step", [](held_meter& m) { m.of.discard_step(); }, "Forgets the open step: it failed.")
        .def(
            "step",
            [](const py::object& self, const py::object& seconds) {
                return metered_step{self, seconds};
            },
            py::arg("seconds") = py::none(), "A step as a context manager; one that raises is discarded.")
        .def(
            "new_tally", [](const held_meter& m) { return tally{m.of.model().masks()}; },
            "An empty tally that add(tally=…) takes.")
        .def(
            "breakdown",
            [](const held_meter& m, const std::string& span) {
                return shown_breakdown(m.as, m.span(span).totals.batch, true);
            },
            py::arg("span") = "interval", "FLOPs of the \"step\", the \"interval\" or the \"run\" by component.")
        .def_property_readonly("in_step", [](const held_meter& m) { return m.of.in_step(); })
        .def_property_readonly("last_step", [](const held_meter& m) { return m.span("step"); })
        .def_property_readonly("interval", [](const held_meter& m) { return m.span("interval"); })
        .def_property_readonly("run", [](const held_meter& m) { return m.span("run"); })
        .def(
            "reset_interval", [](held_meter& m) { m.of.reset_interval(); }, "As after each line of a log.")
        .def("scalars", &scalars, py::arg("span") = "interval", py::arg("prefix") = "train/",
             "What a logger takes: name to value, of the \"step\", the \"interval\" or the \"run\".")
        .def(
            "state_dict",
            [with](const held_meter& m) -> py::dict {
                return py::module_::import("json").attr("loads")(with->save_meter(m.of));
            },
            "The run's totals for a checkpoint: a dict of strings, numbers and lists.")
        .def(
            "load_state_dict",
            [with](held_meter& m, const py::dict& state) {
                with->resume_meter(m.of, py::module_::import("json").attr("dumps")(state).cast<std::string>());
            },
            py::arg("state"), "Goes on from a checkpoint, before the first step.")
        .def_property_readonly(
            "counted", [](const held_meter& m) { return m.of.counted(); },
            "Whose FLOPs its numbers are, over whose GPUs: \"summed over 16 ranks\", \"of 1 GPU\".")
        .def_property_readonly(
            "reduces", [](const held_meter& m) { return m.of.reduces(); }, "True where it sums over ranks itself.")
        .def(
            "step_percentiles",
            [](const held_meter& m) {
                py::dict out;
                for (const auto& [name, seconds] : named(m.of.step_percentiles())) {
                    out[py::str(std::string(name))] = seconds;
                }
                return out;
            },
            "Seconds of this process's steps but the first 10: p10, p25, p50, p75, p90, p99, within 0.79 %.")
        .def(
            "leave_out", [](held_meter& m, const py::object& steps) { m.of.leave_out(to_count(steps, "steps")); },
            py::arg("steps"), "Another number of first steps that step_percentiles leaves out.")
        .def_property_readonly("cost", [](const held_meter& m) { return m.model; })
        .def_property_readonly("plan", [](const held_meter& m) { return m.as->plan; })
        .def_property_readonly("convention",
                               [](const held_meter& m) { return std::string(m.of.model().counted_as().name); })
        .def_property_readonly("gpus", [](const held_meter& m) { return m.of.hardware().gpus; })
        .def_property_readonly("peak_tflops", [](const held_meter& m) { return m.of.hardware().peak_tflops; })
        .def_property_readonly("accelerator", [](const held_meter& m) { return m.of.hardware().accelerator; })
        .def_property_readonly("precision", [](const held_meter& m) { return m.of.hardware().precision; })
        .def_property_readonly(
            "peak_kind", [](const held_meter& m) { return std::string(name(m.of.hardware().peak_kind)); },
            "datasheet, boost or measured; unsaid where a number was given alone.")
        .def_property_readonly(
            "peak_quality", [](const held_meter& m) { return std::string(name(m.of.hardware().peak_quality)); },
            "How good the source of the accelerator's figures is: vendor_document, vendor_slide or third_party.");
    type.def(py::pickle([with](const py::object& self) { return meter_pickle(self, *with); },
                        [with](const py::tuple& state) { return meter_of_pickle(state, *with); }));
    add_fast_method<meter_add>(type, "add", "($self, /, *, " + input_signature() + ")",
                               "Counts one microbatch of the open step.\n\nArgs:\n" + input_help());
}

}  // namespace floptally::detail::python
