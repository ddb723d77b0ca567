// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/bytes/estimated_communication.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/time_breakdown_json.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/step/time_breakdown.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>
#include <floptally/waterfall/what_if.hpp>

#include "classes.hpp"
#include "ranks.hpp"

/// @file
/// Waterfalls: reads a request as JSON, which floptally/_waterfall.py has checked, and returns JSON.

namespace floptally::python {

namespace {

using nlohmann::json;

template <class Value>
std::optional<Value> some(const json& request, const char* name) {
    const auto found = request.find(name);
    return found == request.end() ? std::nullopt : std::optional(found->get<Value>());
}

/// An integer of up to 128 bits. JSON has it as a decimal string.
uint128 whole(const json& text) {
    uint128 value = 0;
    for (const char digit : text.get_ref<const std::string&>()) {
        value = value * 10 + static_cast<uint128>(digit - '0');
    }
    return value;
}

rank_times ranks_of(const json& loads) {
    return rank_times::of(whole(loads.at("largest")), whole(loads.at("sum")), loads.at("ranks").get<std::uint64_t>());
}

/// The pipelines of a request. `microbatches`: the work of each microbatch of each replica, if they are not alike.
pipeline_choices choices_of(const json& request, const counted_work& work, const py::list& microbatches) {
    const auto schedule = some<std::string>(request, "schedule");
    const auto flag = [&](const char* name) { return some<bool>(request, name).value_or(false); };
    const auto layers = [&](const char* name) { return some<std::uint64_t>(request, name).value_or(0); };
    pipeline_choices pipelines{
        .pp = request.at("pp").get<std::uint64_t>(),
        .vpp = some<std::uint64_t>(request, "vpp"),
        .schedule = schedule
                        ? std::optional(from_name<pipeline_schedule>(*schedule, "schedule", pipeline_schedule_names))
                        : std::nullopt,
        .replicas = some<std::uint64_t>(request, "replicas"),
        .microbatches = some<std::uint64_t>(request, "microbatches"),
        .loads = some<std::vector<std::uint64_t>>(request, "loads").value_or(std::vector<std::uint64_t>{}),
        .layers_of_chunks =
            some<std::vector<std::uint64_t>>(request, "layers_of_chunks").value_or(std::vector<std::uint64_t>{}),
        .split = {
            .num_layers_in_first_pipeline_stage = layers("num_layers_in_first_pipeline_stage"),
            .num_layers_in_last_pipeline_stage = layers("num_layers_in_last_pipeline_stage"),
            .account_for_embedding_in_pipeline_split = flag("account_for_embedding_in_pipeline_split"),
            .account_for_loss_in_pipeline_split = flag("account_for_loss_in_pipeline_split"),
            .pipeline_model_parallel_layout = some<std::string>(request, "pipeline_model_parallel_layout").value_or(""),
            .layers = from_name<layer_split>(some<std::string>(request, "layer_split").value_or("automatic"),
                                             "layer_split", layer_split_names)}};
    tally sum{work.batch.masks()};
    for (const py::handle replica : microbatches) {
        std::vector<tally>& own = pipelines.batches.emplace_back();
        for (const py::handle item : replica) {
            const auto& part = value_of<counted_work>(item);
            if (part.as->model->cost != work.as->model->cost || part.batch.masks() != work.batch.masks()) {
                throw error("microbatches",
                            "must be Breakdowns of the cost that counted the whole step: count the microbatches with "
                            "that cost");
            }
            own.push_back(part.batch);
            sum += part.batch;
        }
    }
    if (!pipelines.batches.empty()) {
        static_cast<void>(floptally::detail::microbatches_of(pipelines));  // throws if the lists differ in length
        require_same_batch("microbatches", sum, work.batch, " together", "");
    }
    return pipelines;
}

/// The time breakdown of a request, without the step's seconds.
time_breakdown time_breakdown_of(const counted_work& work, const arguments& args, const json& request) {
    if (work.convention_name() != conventions::exact.name) {
        throw error(
            "convention",
            std::string(
                "must be exact, since only exact counts the padded and executed FLOPs that a waterfall needs, got \"")
                .append(work.convention_name())
                .append("\""));
    }
    const chosen_peak peak = peak_of(args);
    const auto precisions = precisions_of(args, peak.accelerator);
    const std::vector<precision_setting> settings = precisions.value_or(std::vector<precision_setting>{});
    const auto by_peak = [&](const training_plan& plan) -> std::vector<work_at_peak> {
        const model_config& model = *work.as->model;
        const flop_counter counter =
            plan == work.as->plan ? work.as->counter : flop_counter(model, conventions::exact, plan);
        if (precisions) {
            return mixed_precision(counter, model.parts, plan, settings, peak.tflops).by_peak(work.batch);
        }
        return {{counter.evaluate(work.batch), peak.tflops}};
    };
    time_breakdown timed{.step = {.gpus = request.at("gpus").get<std::uint64_t>(), .peak_tflops = peak.tflops}};
    training_plan once = work.as->plan;
    once.repeated = {};
    timed.work = by_peak(once);
    if (!work.as->plan.repeated.empty()) {
        timed.repeated = by_peak(work.as->plan);
    }
    timed.masked_tiles = tiles_at_peaks(args["tiles"], work, peak.tflops, settings);
    if (const auto in_vain = request.find("masked_flops"); in_vain != request.end()) {
        breakdown more;
        more.append("attention.core").executed_more[0] = whole(*in_vain);
        timed.masked_tiles = std::vector<work_at_peak>{{more, peak.tflops}};
    }
    timed.idle_gpus = some<std::uint64_t>(request, "idle_gpus");
    const auto working = static_cast<std::uint64_t>(floptally::detail::working_gpus(timed));
    const std::vector<model_part>& parts = work.as->model->parts;
    const auto tp = some<std::uint64_t>(request, "tp");
    std::optional<layout_work> layout;
    if (tp || args.some("cp")) {
        const bool shares_tokens = some<bool>(request, "sequence_parallel").value_or(false);
        layout =
            layout_work_of(parts, work.as->plan, tp.value_or(1), shards_of(args["cp"], work), peak.tflops, settings,
                           {.sequence_parallel = shares_tokens}, some<std::uint64_t>(request, "etp").value_or(0));
        timed.repeated = layout->run;
    }
    std::optional<pipeline_choices> choices;
    if (const auto pipelined = request.find("pipelines"); pipelined != request.end()) {
        choices = choices_of(*pipelined, work, args.as<py::list>("microbatches"));
    }
    std::uint64_t microbatches = 0;
    if (const auto loads = request.find("rank_work"); loads != request.end()) {
        timed.ranks = ranks_of(*loads);
    } else {
        const py::gil_scoped_release released;
        const step_ranks ranks =
            run_ranks(choices, layout, parts, work.as->plan, work.batch, peak.tflops, settings, working);
        timed.ranks = ranks.times;
        microbatches = ranks.microbatches;
    }
    for (const json& time : request.at("apart")) {
        timed.apart.push_back({time.at("name"), time.at("seconds")});
    }
    const bool is_measured =
        request.contains("traced") || std::any_of(timed.apart.begin(), timed.apart.end(), [](const time_apart& time) {
            return floptally::detail::step_of(kind_of(time)) == waterfall_step::communication;
        });
    if (const auto network = request.find("network_gbps"); network != request.end() && !is_measured) {
        group_bandwidths bandwidths{.gpus_per_node = some<std::uint64_t>(request, "gpus_per_node").value_or(0)};
        for (const auto& [group, gbps] : network->items()) {
            put_bandwidth(bandwidths, group, gbps);
        }
        const auto bits = [&args](const char* name) { return args.some_count(name, 1, 64).value_or(16); };
        timed.apart.push_back(estimated_communication(parts, work.batch, work.as->plan, choices, layout, working,
                                                      {.weights = bits("weight_bits"),
                                                       .gradients = bits("gradient_bits"),
                                                       .activations = bits("activation_bits")},
                                                      bandwidths, some<std::uint64_t>(request, "ep").value_or(1),
                                                      some<std::uint64_t>(request, "etp").value_or(0)));
    }
    const bool has_elementwise =
        request.contains("traced") || std::any_of(timed.apart.begin(), timed.apart.end(), [](const time_apart& time) {
            return kind_of(time) == apart_kind::elementwise;
        });
    timed.memory_bound = memory_of(work, args, once, timed.work, microbatches, has_elementwise);
    return with_one_gpu_defaults(std::move(timed));
}

/// JSON with names of kernels and modules, which may have any bytes.
template <class Json>
std::string dumped(const Json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class Made>
py::dict texts_of(const Made& shown) {
    return py::dict("json"_a = dumped(to_json(shown)), "table"_a = to_table(shown), "markdown"_a = to_markdown(shown),
                    "cells"_a = table_json(floptally::table_of(shown)));
}

/// The texts of Python's `Waterfall`. `measured`: the measured waterfall, if this one is a prediction; kernels then
/// reach the request's `kernel_rate`.
py::dict waterfall_of(const counted_work& work, const arguments& args) {
    const json request = json::parse(args.text("request"));
    const time_breakdown untraced = time_breakdown_of(work, args, request);
    const auto traces = request.find("traced");
    const traced_step traced = traces == request.end() ? traced_step{} : read_traced_step(*traces);
    time_breakdown timed = traces == request.end() ? untraced : with_traces(untraced, traced);
    std::optional<waterfall> result;
    py::object components = py::none();
    const auto component_timing = request.find("component_times");
    if (args.some("measured")) {
        result = floptally::what_if(std::move(timed), args.as<const waterfall&>("measured"),
                                    request.at("kernel_rate").get<double>());
    } else {
        const component_times times =
            component_timing == request.end() ? component_times{} : read_component_times(*component_timing);
        const auto seconds = some<double>(request, "seconds");
        if (!seconds && !times.seconds) {
            throw error("seconds", "is missing: pass it, or call measure() first");
        }
        timed.step.seconds = seconds.value_or(times.seconds.value_or(0));
        result = waterfall(timed);
        if (component_timing != request.end()) {
            time_breakdown by_component = without_traced(untraced, traced);
            by_component.step.seconds = timed.step.seconds;
            components = texts_of(component_waterfall(by_component, times.times));
        }
    }
    py::dict scalars;
    for (const metric& each : metrics(*result, "")) {
        scalars[py::str(each.name)] = each.value;
    }
    py::dict texts = texts_of(*result);
    texts["by_cost"] = to_table_by_cost(*result);
    texts["scalars"] = scalars;
    texts["components"] = components;
    texts["measured"] = *result;
    return texts;
}

}  // namespace

void require_same_batch(const char* field, const tally& here, const tally& there, const char* sum, const char* advice) {
    for (const view seen : {view::useful, view::padded}) {
        for (const accumulator what : {accumulator::count, accumulator::tokens, accumulator::squares}) {
            const std::uint64_t own = here.get(seen, what, modality::text);
            const std::uint64_t whole_work = there.get(seen, what, modality::text);
            if (own != whole_work) {
                const char* const counted = what == accumulator::count ? "sequences" : name_of(what);
                throw error(field, "must contain the whole batch of the step, got " + std::to_string(own) + " " +
                                       counted + sum + " instead of " + std::to_string(whole_work) + advice);
            }
        }
    }
}

void bind_waterfalls(py::module_& module) {
    bind_masked_tiles(module);
    bind_context_shards(module);
    bind_traces(module);
    const bound_class<waterfall> measured(module, "_MeasuredStep", "The waterfall of a step, for `Waterfall.what_if`.");
    made_elsewhere(measured, "Breakdown.waterfall");
    method(module.attr("Breakdown"), "waterfall", [](py::handle self, const arguments& args) {
        return package_attribute("_waterfall", "waterfall_of")(self, args.named());
    });
    function(module, "_step_waterfall",
             [](const arguments& args) { return waterfall_of(args.as<const counted_work&>("work"), args); });
}

}  // namespace floptally::python
