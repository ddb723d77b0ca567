// SPDX-License-Identifier: Apache-2.0

#include <floptally/step/step_passes.hpp>
#include <floptally/step/utilization.hpp>

#include "states.hpp"

namespace floptally::python {

report counted_work::whole() const {
    report result = report_of(*as->model, as->counter, as->plan, batch, masks());
    result.mfu = mfu;
    result.padding = padding;
    return result;
}

namespace {

/// A breakdown with a time and a peak.
counted_work measured(const counted_work& b, const arguments& args) {
    const chosen_peak peak = peak_of(args);
    mfu_report mfu{
        .utilization = {},
        .step = {.seconds = args.number("seconds"), .gpus = args.count("gpus", 1), .peak_tflops = peak.tflops},
        .accelerator = peak.accelerator,
        .precision = peak.precision,
        .peak_source = peak.source,
        .peak_kind = peak.kind,
        .peak_quality = peak.quality};
    mfu.utilization = utilize(b.work, b.batch, mfu.step);
    if (const auto precisions = precisions_of(args, peak.accelerator)) {
        mfu.mixed = mixed_precision(b.as->counter, b.as->model->parts, b.as->plan, *precisions, mfu.step.peak_tflops)
                        .rate(b.batch, mfu.step.seconds * static_cast<double>(mfu.step.gpus));
    }
    counted_work with_mfu = b;
    with_mfu.mfu = mfu;
    with_mfu.measured_by =
        py::dict("seconds"_a = mfu.step.seconds, "gpus"_a = mfu.step.gpus,
                 "accelerator"_a = peak.accelerator.empty() ? py::object(py::none()) : py::str(peak.accelerator),
                 "peak_tflops"_a = args["peak_tflops"], "precision"_a = peak.precision,
                 "precisions"_a = args["precisions"], "clock_mhz"_a = args["clock_mhz"]);
    warn_if_absurd(mfu.utilization.mfu, b.as->plan.counted);
    return with_mfu;
}

/// Sequences, tokens, squares and pairs as ints, in the structure of the JSON. Parsing the JSON would take 70 times as
/// long.
py::dict statistics_of(const counted_work& b) {
    const auto both = [](std::uint64_t useful, std::uint64_t padded) {
        return py::dict("useful"_a = useful, "padded"_a = padded);
    };
    const auto words = [&](modality in) {
        py::dict out;
        for (const accumulator what : {accumulator::count, accumulator::tokens, accumulator::squares}) {
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
    for (const statistic& m : b.masks()) {
        pairs.append(py::dict("mask"_a = m.name(),
                              "value"_a = both(b.batch.pairs(view::useful, m), b.batch.pairs(view::padded, m))));
    }
    out["pairs"] = pairs;
    return out;
}

/// Python's `View` of a breakdown.
template <view Seen>
py::object view_of(const counted_work& b) {
    static const py::object* const view_class = new py::object(package_attribute("_breakdown", "View"));
    static const py::object* const work_class = new py::object(package_attribute("_breakdown", "Work"));
    py::dict components;
    for (const component_flops& c : b.work.components()) {
        const py::str name(c.name.view().data(), c.name.view().size());
        components[name] = (*work_class)(name, to_int(c.get(Seen, phase::forward)), to_int(c.backward(Seen)),
                                         to_int(c.get(Seen, phase::recompute)));
    }
    return (*view_class)(to_int(b.work.get(Seen, phase::forward)), to_int(b.work.backward(Seen)),
                         to_int(b.work.get(Seen, phase::recompute)), components);
}

/// The sum of two breakdowns of the same model, convention and plan.
counted_work sum_of(const counted_work& a, const counted_work& b) {
    const bool alike = a.as == b.as || (a.as->plan == b.as->plan && a.convention_name() == b.convention_name() &&
                                        (a.as->model == b.as->model || a.as->model->cost == b.as->model->cost));
    if (!alike) {
        throw error("breakdown",
                    "breakdowns of different models, plans or conventions can only be added by name: write "
                    "a.named(\"rollout\") + b.named(\"update\")");
    }
    tally both = a.batch;
    both += b.batch;
    counted_work sum(a.as, std::move(both), a.shows_kept_masks);
    if (a.cached && b.cached) {
        sum.cached = a.cached;
        sum.cached->insert(sum.cached->end(), b.cached->begin(), b.cached->end());
    }
    return sum;
}

/// Rates of the passes of a step, each (name, Breakdown, seconds, GPU-seconds, peak, learns, shared, bytes, memory).
/// Returns their table as text and as JSON, a dict of each rate, and the share of the time in which no pass ran.
py::tuple pass_rates_of(const arguments& args) {
    const auto time = [](const py::tuple& values, std::size_t first) {
        gpu_time result;
        result.seconds = values[first].cast<double>();
        result.gpu_seconds = values[first + 1].cast<double>();
        result.peak_tflop = values[first + 2].cast<double>();
        return result;
    };
    std::vector<step_pass> passes;
    for (const py::handle row : args["passes"]) {
        const py::tuple values(py::reinterpret_borrow<py::object>(row));
        step_pass& pass = passes.emplace_back();
        pass.name = values[0].cast<std::string>();
        pass.work = value_of<counted_work>(values[1]).work;
        pass.time = time(values, 2);
        pass.learns = values[5].cast<bool>();
        pass.shared = to_flops(values[6], "shared");
        pass.bytes_read = to_flops(values[7], "bytes").value();
        pass.memory_bytes = values[8].cast<double>();
    }
    const pass_rates step_rates =
        rates_of(passes, time(py::make_tuple(args["seconds"], args["gpu_seconds"], args["peak_tflop"]), 0));
    py::list rates;
    const auto append = [&rates, &step_rates](const pass_rate& rate) {
        const auto share = [&step_rates](double value) {
            return step_rates.has_peak ? std::optional(value) : std::nullopt;
        };
        rates.append(py::dict("name"_a = rate.name, "useful"_a = to_int(rate.useful), "padded"_a = to_int(rate.padded),
                              "executed"_a = to_int(rate.executed), "shared"_a = to_int(rate.shared),
                              "seconds"_a = rate.time.seconds, "gpu_seconds"_a = rate.time.gpu_seconds,
                              "mfu"_a = share(rate.mfu), "padded_mfu"_a = share(rate.padded_mfu),
                              "hfu"_a = share(rate.hfu), "wall_mfu"_a = share(rate.wall_mfu), "mbu"_a = rate.mbu,
                              "points"_a = share(rate.points), "lost"_a = share(rate.lost)));
    };
    for (const pass_rate& rate : step_rates.passes) {
        append(rate);
    }
    if (step_rates.learner) {
        append(*step_rates.learner);
    }
    append(step_rates.whole);
    return py::make_tuple(to_table(step_rates), table_json(floptally::table_of(step_rates)), rates, step_rates.no_pass);
}

/// The report in the unit of an argument.
report shown_in(const counted_work& b, const arguments& args) {
    report shown = b.whole();
    shown.unit = from_name<work_unit>(args.text("unit"), "unit", work_unit_names);
    return shown;
}

template <double utilization::*Rate>
void rate(const bound_class<counted_work>& type, const char* name) {
    property(type, name, [](const counted_work& b) {
        if (!b.mfu) {
            throw error("seconds", "are unknown: call Breakdown.measure(seconds, gpus=…) first");
        }
        return b.mfu->utilization.*Rate;
    });
}

template <double mixed_precision_rate::*Rate>
void mixed_rate(const bound_class<counted_work>& type, const char* name) {
    property(type, name, [](const counted_work& b) {
        if (!b.mfu || !b.mfu->mixed) {
            throw error("precisions", "are unknown: pass precisions= to Breakdown.measure()");
        }
        return (*b.mfu->mixed).*Rate;
    });
}

}  // namespace

void bind_breakdowns(py::module_& module) {
    bound_class<counted_work> type = new_class<counted_work>(module, "Breakdown");
    made_elsewhere(type, "floptally.flops(config, …), Cost.flops(…) or Meter.breakdown()");
    property(type, "total", [](const counted_work& b) { return b.work.total(view::useful); });
    property(type, "padded_total", [](const counted_work& b) { return b.work.total(view::padded); });
    property(type, "executed_total", [](const counted_work& b) { return b.work.total(view::executed); });
    property(type, "useful", [](const counted_work& b) { return view_of<view::useful>(b); });
    property(type, "padded", [](const counted_work& b) { return view_of<view::padded>(b); });
    property(type, "executed", [](const counted_work& b) { return view_of<view::executed>(b); });
    property(type, "model_type", [](const counted_work& b) { return b.as->model->model_type; });
    property(type, "convention", [](const counted_work& b) { return b.convention_name(); });
    property(type, "plan", [](const counted_work& b) { return b.as->plan; });
    property(type, "tally", [](const counted_work& b) { return b.batch; });
    property(type, "notes", [](const counted_work& b) { return notes_of(b.whole()); });
    property(type, "is_upper_bound", [](const counted_work& b) { return b.work.is_upper_bound(); });
    property(type, "padding", [](py::handle self) { return package_attribute("_breakdown", "padding_of")(self); });
    property(type, "statistics", [](const counted_work& b) { return statistics_of(b); });
    operation(type, "__add__", [](const counted_work& a, const counted_work& b) { return sum_of(a, b); });
    method(type, "named", [](py::handle self, const arguments& args) {
        py::dict passes;
        passes[py::str(args.text("name"))] = self;
        return package_attribute("_passes", "StepWork")(passes);
    });
    function(module, "_pass_rates", [](const arguments& args) { return pass_rates_of(args); });
    method(type, "measure", [](const counted_work& b, const arguments& args) { return measured(b, args); });
    property(type, "_measured_by", [](const counted_work& b) { return b.measured_by ? b.measured_by : py::none(); });
    method(type, "to_dict",
           [](const counted_work& b, const arguments& args) { return json_object(report_json(shown_in(b, args))); });
    method(type, "to_table", [](const counted_work& b, const arguments& args) { return to_table(shown_in(b, args)); });
    special_method(type, "__str__", "self",
                   [](const counted_work& b, const arguments&) { return to_table(b.whole()); });
    method(type, "_repr_html_", [](const counted_work& b, const arguments&) {
        return package_attribute("_html", "to_html")(table_json(floptally::table_of(b.whole())));
    });
    shown_as(type, [](const counted_work& b) {
        return "<Breakdown of " + b.as->model->model_type + ": " + to_string(b.work.total()) + " useful FLOPs, " +
               std::string(b.convention_name()) + ">";
    });
    rate<&utilization::mfu>(type, "mfu");
    rate<&utilization::padded_mfu>(type, "padded_mfu");
    rate<&utilization::hfu>(type, "hfu");
    rate<&utilization::tflops_per_gpu>(type, "tflops_per_gpu");
    rate<&utilization::tokens_per_second>(type, "tokens_per_second");
    mixed_rate<&mixed_precision_rate::mfu>(type, "mixed_mfu");
    mixed_rate<&mixed_precision_rate::peak_tflops>(type, "mixed_peak_tflops");
    pickles(
        type,
        [](const counted_work& b) {
            return py::make_tuple(model_cost(b.as->model, b.as->plan), std::string(b.convention_name()), b.batch,
                                  b.shows_kept_masks, to_state(b.mfu), b.measured_by ? b.measured_by : py::none(),
                                  to_state(b.padding), to_state(b.cached));
        },
        [](const py::object& pickled) {
            const py::tuple state(pickled);
            const auto model = state[0].cast<model_cost>();
            counted_work b(model.folded(to_convention(state[1]), model.plan()), value_of<tally>(state[2]),
                           state[3].cast<bool>());
            of_state(state[4], b.mfu);
            if (b.mfu) {
                b.mfu->utilization = utilize(b.work, b.batch, b.mfu->step);
                b.measured_by = state[5];
            }
            of_state(state[6], b.padding);
            of_state(state[7], b.cached);
            return b;
        });
}

}  // namespace floptally::python
