// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>

#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/buffers.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/held_meter.hpp>
#include <floptally/detail/python/input_keywords.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/detail/python/totals.hpp>
#include <floptally/report.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// `with meter.step():`, through the methods of the object, which a subclass may have overridden.
struct metered_step {
    py::object meter;
    py::object seconds;
};

[[nodiscard]] inline py::dict scalars(held_meter& m, const std::string& span, const std::string& prefix) {
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
    auto& m = self.cast<held_meter&>();
    m.settle(true);
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

/// The Python half of what is counted later.
[[nodiscard]] inline py::object later_module() {
    return py::module_::import((py::type::of<held_meter>().attr("__module__").cast<std::string>() + "._later").c_str());
}

/// `Meter.add`: at once what is in the memory of the host, and what is on a GPU by a copy that nobody waits for.
[[nodiscard]] inline py::object meter_add(py::handle self, call_arguments& given) {
    auto& m = self.cast<held_meter&>();
    try {
        m.add(given);
    } catch (const on_device&) {
        for (const input_keyword& one : input_keywords) {
            static_cast<void>(given.keyword(one.name));
        }
        given.require_no_other();
        m.add_later(later_module().attr("Copy")(given.keywords()));
    }
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
        .def("begin_step", [](held_meter& m) { m.begin_step(); })
        .def(
            "end_step",
            [](const py::object& self, const py::object& seconds) {
                if (self.cast<held_meter&>().end_step(seconds)) {
                    later_module().attr("finish_at_exit")(self);
                }
            },
            py::arg("seconds") = py::none(), "Ends the step, by the clock or by a time in seconds that is given.")
        .def(
            "discard_step", [](held_meter& m) { m.discard_step(); }, "Forgets the open step: it failed.")
        .def(
            "step",
            [](const py::object& self, const py::object& seconds) {
                return metered_step{self, seconds};
            },
            py::arg("seconds") = py::none(), "A step as a context manager; one that raises is discarded.")
        .def(
            "add_later", [](held_meter& m, const py::object& batch) { m.add_later(batch); }, py::arg("batch"),
            "Counts one microbatch of the open step whose numbers are still on their way: an object with done(), "
            "wait() "
            "and arguments(), the keywords of add() once it is done.")
        .def(
            "finish", [](held_meter& m) { m.settle(true); },
            "Waits for the microbatches of ended steps that are on their way from a GPU: all totals are then there.")
        .def(
            "new_tally", [](const held_meter& m) { return tally{m.of.model().masks()}; },
            "An empty tally that add(tally=…) takes.")
        .def(
            "breakdown",
            [](held_meter& m, const std::string& span) {
                return shown_breakdown(m.as, m.span(span).totals.batch, true);
            },
            py::arg("span") = "interval", "FLOPs of the \"step\", the \"interval\" or the \"run\" by component.")
        .def_property_readonly("in_step", [](const held_meter& m) { return m.of.in_step(); })
        .def_property_readonly("last_step", [](held_meter& m) { return m.span("step"); })
        .def_property_readonly("interval", [](held_meter& m) { return m.span("interval"); })
        .def_property_readonly("run", [](held_meter& m) { return m.span("run"); })
        .def(
            "reset_interval", [](held_meter& m) { m.of.reset_interval(); }, "As after each line of a log.")
        .def("scalars", &scalars, py::arg("span") = "interval", py::arg("prefix") = "train/",
             "What a logger takes: name to value, of the \"step\", the \"interval\" or the \"run\".")
        .def(
            "state_dict",
            [with](held_meter& m) -> py::dict {
                m.settle(true);
                return py::module_::import("json").attr("loads")(with->save_meter(m.of));
            },
            "The run's totals for a checkpoint: a dict of strings, numbers and lists.")
        .def(
            "load_state_dict",
            [with](held_meter& m, const py::dict& state) {
                m.settle(true);
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
            [](held_meter& m) {
                m.settle(false);
                py::dict out;
                for (const auto& [name, seconds] : named(m.of.step_percentiles())) {
                    out[py::str(std::string(name))] = seconds;
                }
                return out;
            },
            "Seconds of this process's steps but the first 10: p10, p25, p50, p75, p90, p99, within 0.79 %.")
        .def(
            "leave_out",
            [](held_meter& m, const py::object& steps) {
                m.settle(true);
                m.of.leave_out(to_count(steps, "steps"));
            },
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
