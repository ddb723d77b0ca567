// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/bytes/estimated_communication.hpp>
#include <floptally/json/account_json.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/step/pipeline_search.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>
#include <floptally/waterfall/what_if.hpp>

#include "classes.hpp"

/// @file
/// Where the time of a step went: a request as JSON in, which floptally/_waterfall.py has checked, and JSON out.

namespace floptally::detail::python {

namespace {

using nlohmann::json;

template <class Value>
std::optional<Value> some(const json& request, const char* name) {
    const auto found = request.find(name);
    return found == request.end() ? std::nullopt : std::optional(found->get<Value>());
}

/// An integer of up to 128 bits, which JSON has as a decimal text.
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

/// The pipelines of a request; `microbatches` has the work of each of each replica, where they are not alike.
pipeline_choices choices_of(const json& request, const counted_work& work, const py::list& microbatches) {
    const auto schedule = some<std::string>(request, "schedule");
    const auto flag = [&](const char* name) { return some<bool>(request, name).value_or(false); };
    const auto layers = [&](const char* name) { return some<std::uint64_t>(request, name).value_or(0); };
    pipeline_choices made{
        .pp = request.at("pp").get<std::uint64_t>(),
        .vpp = some<std::uint64_t>(request, "vpp"),
        .schedule = schedule
                        ? std::optional(from_word<pipeline_schedule>(*schedule, "schedule", pipeline_schedule_names))
                        : std::nullopt,
        .replicas = some<std::uint64_t>(request, "replicas"),
        .microbatches = some<std::uint64_t>(request, "microbatches"),
        .loads = some<std::vector<std::uint64_t>>(request, "loads").value_or(std::vector<std::uint64_t>{}),
        .layers_of_chunks =
            some<std::vector<std::uint64_t>>(request, "layers_of_chunks").value_or(std::vector<std::uint64_t>{}),
        .split = {.num_layers_in_first_pipeline_stage = layers("num_layers_in_first_pipeline_stage"),
                  .num_layers_in_last_pipeline_stage = layers("num_layers_in_last_pipeline_stage"),
                  .account_for_embedding_in_pipeline_split = flag("account_for_embedding_in_pipeline_split"),
                  .account_for_loss_in_pipeline_split = flag("account_for_loss_in_pipeline_split")}};
    tally sum{work.batch.masks()};
    for (const py::handle replica : microbatches) {
        std::vector<tally>& own = made.batches.emplace_back();
        for (const py::handle one : replica) {
            const auto& part = one.cast<const counted_work&>();
            if (part.as->model->cost != work.as->model->cost || part.batch.masks() != work.batch.masks()) {
                throw error("microbatches", "must be work of the same cost as their sum");
            }
            own.push_back(part.batch);
            sum += part.batch;
        }
    }
    if (!made.batches.empty()) {
        static_cast<void>(floptally::detail::microbatches_of(made));  // the error of lists that are not alike
        require_same_batch("microbatches", sum, work.batch, " together", "");
    }
    return made;
}

/// The account of a request, but for the step's seconds.
step_account account_of(const counted_work& work, const arguments& given, const json& request) {
    if (work.convention_name() != conventions::exact.name) {
        throw error("convention", std::string("must be exact, whose views a waterfall is made of, got \"")
                                      .append(work.convention_name())
                                      .append("\""));
    }
    const chosen_peak peak = peak_of(given);
    const auto precisions = precisions_of(given, peak.accelerator);
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
    step_account account{.step = {.gpus = request.at("gpus").get<std::uint64_t>(), .peak_tflops = peak.tflops}};
    training_plan once = work.as->plan;
    once.repeated = {};
    account.work = by_peak(once);
    if (!work.as->plan.repeated.empty()) {
        account.repeated = by_peak(work.as->plan);
    }
    account.masked_tiles = tiles_at_peaks(given["tiles"], work, peak.tflops, settings);
    if (const auto in_vain = request.find("masked_flops"); in_vain != request.end()) {
        breakdown more;
        more.append("attention.core").executed_more[0] = whole(*in_vain);
        account.masked_tiles = std::vector<work_at_peak>{{more, peak.tflops}};
    }
    account.idle_gpus = some<std::uint64_t>(request, "idle_gpus");
    const auto working = static_cast<std::uint64_t>(floptally::detail::working_gpus(account));
    const std::vector<model_part>& parts = work.as->model->parts;
    const auto tp = some<std::uint64_t>(request, "tp");
    std::optional<layout_work> layout;
    if (tp || given.some("cp")) {
        const bool shares_tokens = some<bool>(request, "sequence_parallel").value_or(false);
        layout = layout_work_of(parts, work.as->plan, tp.value_or(1), shares_of(given["cp"], work), peak.tflops,
                                settings, {.sequence_parallel = shares_tokens});
        account.repeated = layout->run;
    }
    std::optional<pipeline_choices> choices;
    if (const auto pipelined = request.find("pipelines"); pipelined != request.end()) {
        choices = choices_of(*pipelined, work, given.as<py::list>("microbatches"));
    }
    std::uint64_t microbatches = 0;
    if (const auto loads = request.find("rank_work"); loads != request.end()) {
        account.ranks = ranks_of(*loads);
    } else {
        const py::gil_scoped_release released;
        const step_ranks made =
            run_ranks(choices, layout, parts, work.as->plan, work.batch, peak.tflops, settings, working);
        account.ranks = made.times;
        microbatches = made.microbatches;
    }
    for (const json& time : request.at("apart")) {
        account.apart.push_back({time.at("name"), time.at("seconds")});
    }
    const bool is_measured = request.contains("traced") ||
                             std::any_of(account.apart.begin(), account.apart.end(), [](const time_apart& time) {
                                 return floptally::detail::step_of(kind_of(time)) == waterfall_step::communication;
                             });
    if (const auto network = request.find("network_gbps"); network != request.end() && !is_measured) {
        group_bandwidths bandwidths;
        for (const auto& [axis, gbps] : network->items()) {
            bandwidths = bandwidths.with(from_word<parallel_axis>(axis, "network_gbps", parallel_axis_names), gbps);
        }
        const auto bits = [&given](const char* name) { return given.some_count(name, 1, 64).value_or(16); };
        account.apart.push_back(estimated_communication(parts, work.batch, work.as->plan, choices, layout, working,
                                                        {.weights = bits("weight_bits"),
                                                         .gradients = bits("gradient_bits"),
                                                         .activations = bits("activation_bits")},
                                                        bandwidths));
    }
    const bool has_elementwise = request.contains("traced") ||
                                 std::any_of(account.apart.begin(), account.apart.end(), [](const time_apart& time) {
                                     return kind_of(time) == apart_kind::elementwise;
                                 });
    account.memory_bound = memory_of(work, given, once, account.work, microbatches, has_elementwise);
    return with_one_gpu_said(std::move(account));
}

/// JSON with names of kernels and modules, which may be any bytes.
template <class Json>
std::string dumped(const Json& made) {
    return made.dump(-1, ' ', false, json::error_handler_t::replace);
}

template <class Made>
py::dict texts_of(const Made& made) {
    return py::dict("json"_a = dumped(to_json(made)), "table"_a = to_table(made), "markdown"_a = to_markdown(made),
                    "cells"_a = table_json(floptally::table_of(made)));
}

/// Texts that Python's `Waterfall` is made of. `measured`: the waterfall of the step that was measured, where this is
/// another one, whose kernels reach the request's `kernel_rate`.
py::dict waterfall_of(const counted_work& work, const arguments& given) {
    const json request = json::parse(given.text("request"));
    const step_account untraced = account_of(work, given, request);
    const auto traces = request.find("traced");
    const traced_step traced = traces == request.end() ? traced_step{} : read_traced_step(*traces);
    step_account account = traces == request.end() ? untraced : with_traces(untraced, traced);
    std::optional<waterfall> made;
    py::object components = py::none();
    const auto timed = request.find("component_times");
    if (given.some("measured")) {
        made = floptally::what_if(std::move(account), given.as<const waterfall&>("measured"),
                                  request.at("kernel_rate").get<double>());
    } else {
        const component_times times = timed == request.end() ? component_times{} : read_component_times(*timed);
        const auto seconds = some<double>(request, "seconds");
        if (!seconds && !times.seconds) {
            throw error("seconds", "is missing; give it, or measure() the step before");
        }
        account.step.seconds = seconds.value_or(times.seconds.value_or(0));
        made = waterfall(account);
        if (timed != request.end()) {
            step_account by_component = without_traced(untraced, traced);
            by_component.step.seconds = account.step.seconds;
            components = texts_of(component_waterfall(by_component, times.times));
        }
    }
    py::dict scalars;
    for (const metric& each : metrics(*made, "")) {
        scalars[py::str(each.name)] = each.value;
    }
    py::dict texts = texts_of(*made);
    texts["by_cost"] = to_table_by_cost(*made);
    texts["scalars"] = scalars;
    texts["components"] = components;
    texts["measured"] = *made;
    return texts;
}

/// JSON of the pipelines that fit the memory, how many do not, how many cannot be split, and what is kept.
std::string fitting_pipelines(const counted_work& work, const json& request) {
    constexpr const char* zero_words[] = {"none", "optimizer", "gradients", "weights"};
    const pipeline_search_options options{
        .pipeline_ranks = request.at("pipeline_ranks"),
        .microbatches = request.at("microbatches"),
        .gpus_of_stage = request.at("gpus_of_stage"),
        .memory_gib = request.at("memory_gib"),
        .sharded = from_word<zero_stage>(request.at("zero").get<std::string>(), "zero", zero_words),
        .activation_gib = some<double>(request, "activation_gib").value_or(0)};
    const pipeline_search search = pipelines_that_fit(work.as->model->parts, work.as->plan, options);
    auto found = json::array();
    for (const fitting_pipeline& one : search.found) {
        found.push_back({{"pp", one.pp},
                         {"replicas", one.replicas},
                         {"vpp", one.vpp},
                         {"microbatches", one.microbatches},
                         {"schedule", pipeline_schedule_names[static_cast<std::size_t>(one.schedule)]},
                         {"memory_gib", one.memory_gib}});
    }
    return json{{"found", found},
                {"too_large", search.too_large},
                {"impossible", search.impossible},
                {"kept", kept_in(options)}}
        .dump();
}

}  // namespace

void require_same_batch(const char* field, const tally& here, const tally& there, const char* sum, const char* advice) {
    for (const view seen : {view::useful, view::padded}) {
        for (const statistic what : {statistic::count, statistic::tokens, statistic::squares}) {
            const std::uint64_t own = here.get(seen, what, modality::text);
            const std::uint64_t whole_work = there.get(seen, what, modality::text);
            if (own != whole_work) {
                throw error(field, "are of " + std::to_string(own) + " " + name_of(what) + sum +
                                       ", and the work is of " + std::to_string(whole_work) + advice);
            }
        }
    }
}

void bind_waterfalls(py::module_& module) {
    bind_masked_tiles(module);
    bind_context_shares(module);
    bind_traces(module);
    const py::class_<waterfall> measured(module, "_MeasuredStep", "The waterfall of a step, for `Waterfall.what_if`.");
    made_elsewhere(measured, "Breakdown.waterfall");
    method(module.attr("Breakdown"), "waterfall", [](py::handle self, const arguments& given) {
        return package_attribute("_waterfall", "waterfall_of")(self, given.named());
    });
    function(module, "_step_waterfall",
             [](const arguments& given) { return waterfall_of(given.as<const counted_work&>("work"), given); });
    function(module, "_fitting_pipelines", [](const arguments& given) {
        return fitting_pipelines(given.as<const counted_work&>("work"), json::parse(given.text("request")));
    });
}

}  // namespace floptally::detail::python
