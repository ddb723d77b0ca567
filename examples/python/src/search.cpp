// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/batch/source.hpp>
#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/json/search_json.hpp>
#include <floptally/search/known_clusters.hpp>
#include <floptally/search/layout_named.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/search/measured_step.hpp>
#include <floptally/search/search_report.hpp>

#include "arrays.hpp"
#include "classes.hpp"
#include "fit_options.hpp"
#include "ranks.hpp"

/// @file
/// Searches of layouts. Python's `Search` is constructed from this JSON.

namespace floptally::python {

namespace {

constexpr std::uint64_t most_ranks = std::uint64_t{1} << 20U;

std::vector<std::uint64_t> global_batch_of(const arguments& args) {
    const integers numbers(args["lengths"], "lengths");
    std::vector<std::uint64_t> lengths =
        numbers.view().visit([](const auto& some) { return floptally::detail::nonnegative(some, "lengths"); });
    if (const auto count = args.some_count("global_batch", 1, most_ranks)) {
        if (lengths.size() == 1) {
            lengths.resize(*count, lengths.front());
        }
        if (lengths.size() != *count) {
            throw error("global_batch", "must be " + std::to_string(lengths.size()) +
                                            ", the number of sequences of lengths, got " + std::to_string(*count) +
                                            ": leave it out");
        }
    }
    return lengths;
}

/// The cluster, and the sentence that says where its efficiency is from.
std::pair<training_cluster, std::string> cluster_of(const arguments& args, std::span<const model_part> model) {
    const std::uint64_t gpus = args.count("gpus", 1, 100'000'000);
    const std::string precision = args.text("precision");
    const auto product = to_product(args["accelerator"]);
    training_cluster cluster{.gpus = gpus};
    if (product) {
        cluster = cluster_named(*product, precision, gpus);
    }
    if (const auto peak = args.some_number("peak_tflops")) {
        cluster.peak_tflops = *peak;
        cluster.other_peak_tflops = 0;
    } else if (!product) {
        throw error("accelerator", "is missing: pass accelerator= or peak_tflops=");
    }
    if (const auto memory = args.some_number("memory_gib")) {
        cluster.memory_gib = *memory;
    } else if (!(cluster.memory_gib > 0)) {
        throw error("memory_gib", "is missing: pass memory_gib=, or an accelerator whose memory is known");
    }
    cluster.reserve_gib = args.number("reserve_gib");
    if (!(cluster.reserve_gib >= 0) || cluster.reserve_gib > 1e6) {
        throw error("reserve_gib", "must be from 0 to 1000000 GiB, got " + shown(args["reserve_gib"]));
    }
    if (const auto memory = args.some_number("memory_tbps")) {
        floptally::detail::require_finite_positive(*memory, "memory_tbps");
        cluster.memory_tbps = memory;
    }
    if (const auto node = args.some_count("gpus_per_node", 1, most_ranks)) {
        cluster.network.gpus_per_node = *node;
    }
    if (args.some("network_gbps")) {
        cluster.network = {.gpus_per_node = cluster.network.gpus_per_node};
        for (const auto& [group, gbps] : py::dict(args["network_gbps"])) {
            put_bandwidth(cluster.network, to_text(group, "network_gbps"), to_number(gbps, "network_gbps"));
        }
    } else if (gpus > 1 && !cluster.network.within_nodes) {
        throw error("network_gbps",
                    "is missing: pass network_gbps={\"within\": X, \"between\": Y} with gpus_per_node=; only the "
                    "accelerators of docs/search.md have known bandwidths");
    }
    if (const auto efficiency = args.some_number("efficiency")) {
        cluster.efficiency = *efficiency;
        return {cluster, "given"};
    }
    const assumed_efficiency known = efficiency_of(product ? accelerator_named(*product).name : std::string_view{},
                                                   precision_named(precision), holds_experts(model));
    cluster.efficiency = known.value;
    return {cluster, known.source};
}

search_options options_of(const arguments& args) {
    const auto fixed = [&args](const char* name) { return args.some_count(name, 1, most_ranks); };
    search_options options{.dp = fixed("dp"),
                           .cp = fixed("cp"),
                           .tp = fixed("tp"),
                           .pp = fixed("pp"),
                           .vpp = fixed("vpp"),
                           .ep = fixed("ep"),
                           .etp = fixed("etp"),
                           .dp_replicate = fixed("dp_replicate"),
                           .microbatch = fixed("microbatch"),
                           .sequence_parallel = args.some_flag("sequence_parallel"),
                           .largest_microbatch = args.count("largest_microbatch", 1, most_ranks)};
    options.least_context = args.count("least_context", 1, most_ranks);
    if (const auto zero = args.some_text("zero")) {
        options.sharded = from_name<zero_stage>(*zero, "zero", zero_stage_names);
    }
    if (const auto recompute_name = args.some_text("recompute")) {
        options.recomputed = from_name<recompute>(*recompute_name, "recompute", recompute_names);
    }
    if (const auto schedule = args.some_text("schedule")) {
        options.schedule = from_name<pipeline_schedule>(*schedule, "schedule", pipeline_schedule_names);
    }
    // Ctrl-C ends a long search.
    options.progress = [](std::uint64_t, std::uint64_t) {
        if (PyErr_CheckSignals() != 0) {
            throw py::error_already_set();
        }
    };
    return options;
}

/// The first layout as the settings of trainers; an error's text where a format has none.
nlohmann::ordered_json settings_of_first(const layout_predictor& predictor, const layout_search& search) {
    nlohmann::ordered_json written = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < std::size(layout_format_names) && !search.found.empty(); ++i) {
        try {
            written[layout_format_names[i]] = {
                {"text", settings_of(predictor, search.found.front().layout, static_cast<layout_format>(i))}};
        } catch (const error& problem) {
            written[layout_format_names[i]] = {{"field", problem.field()}, {"problem", problem.problem()}};
        }
    }
    return written;
}

py::tuple search_of(const counted_work& work, const arguments& args) {
    const folded_model& counted = *work.as;
    if (work.convention_name() != conventions::exact.name) {
        throw error("convention",
                    "must be exact, since a search predicts time from the executed FLOPs: leave convention= out");
    }
    if (counted.model->parts.empty()) {
        throw error(
            "search",
            "needs the layers of a model, but this cost has none: make the cost from a config by floptally.cost()");
    }
    const auto [cluster, source] = cluster_of(args, counted.model->parts);
    training_plan plan = counted.plan;
    plan.recomputed = recompute::none;
    layout_predictor predictor(
        counted.model->parts, work.batch.masks(), global_batch_of(args), plan, memory_options_of(args), cluster,
        trainer_named(args.text("trainer")),
        from_name<context_exchange>(args.text("context_exchange"), "context_exchange", context_exchange_names));
    const search_options options = options_of(args);
    std::optional<measured_step> measured;
    if (const auto text = args.some_text("measured_layout")) {
        training_layout layout = training_layout_named(*text, predictor, {}, "layout");
        layout.recomputed = counted.plan.recomputed;
        measured = fit_efficiency(predictor, layout, args.number("measured_seconds"));
    }
    layout_search search = search_layouts(predictor, options);
    search.measured = measured;
    search.assumed.front() += measured ? "; as in the measured step" : "; " + source;
    const std::uint64_t top = args.count("top", 1, 10'000'000);
    nlohmann::ordered_json more{{"settings", settings_of_first(predictor, search)}};
    if (const auto text = args.some_text("explain")) {
        more["explanation"] = explain(predictor, search, training_layout_named(*text, predictor, options));
    }
    return py::make_tuple(to_json(predictor, search, top).dump(), to_table(search, top),
                          table_json(floptally::table_of(search, top)), more.dump());
}

}  // namespace

void bind_search(py::module_& module) {
    method(module.attr("Cost"), "search", [](py::handle self, const arguments& args) {
        return package_attribute("_search", "Search")(self, **args.named());
    });
    function(module, "_search",
             [](const arguments& args) { return search_of(args.as<const counted_work&>("work"), args); });
}

}  // namespace floptally::python
