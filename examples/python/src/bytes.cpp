// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/fit_report.hpp>
#include <floptally/bytes/request_bytes.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/json/byte_json.hpp>
#include <floptally/json/fit_json.hpp>

#include "classes.hpp"
#include "fit_options.hpp"
#include "ranks.hpp"

/// @file
/// Bytes that a batch moves between GPU memory and compute units. Python's `Bytes` is constructed from this JSON.

namespace floptally::python {

namespace {

/// Element sizes by kind, and the number of microbatches that read the weights.
struct byte_choice {
    element_bits bits{};
    std::uint64_t batches = 1;
    std::optional<std::uint64_t> distinct_experts{};
};

constexpr const char* byte_keywords[] = {"weight_bits", "gradient_bits", "activation_bits",
                                         "cache_bits",  "batches",       "distinct_experts"};
byte_choice byte_choice_of(const arguments& args) {
    return {.bits = {.weights = args.some_count("weight_bits", 1, 64).value_or(16),
                     .gradients = args.some_count("gradient_bits", 1, 64).value_or(16),
                     .activations = args.some_count("activation_bits", 1, 64).value_or(16),
                     .cache = args.some_count("cache_bits", 1, 64).value_or(16)},
            .batches = args.some_count("batches", 1, std::uint64_t{1} << 32U).value_or(1),
            .distinct_experts = args.some_count("distinct_experts", 0, std::uint64_t{1} << 62U)};
}

/// Memory bandwidth of one GPU; nullopt if nothing says it.
std::optional<double> memory_tbps_of(const arguments& args) {
    if (const auto said = args.some_number("memory_tbps")) {
        floptally::detail::require_finite_positive(*said, "memory_tbps");
        return said;
    }
    const auto product = to_product(args["accelerator"]);
    const auto known = product ? memory_bandwidth_named(*product) : std::nullopt;
    return known ? std::optional(known->tbps) : std::nullopt;
}

/// Throws if the past is unknown and the step does not train. A training step keeps no cache.
bool is_past_known(const counted_work& work) { return work.cached || work.as->plan.counted == counted_passes::train; }

step_bytes moved_by(const counted_work& work, const training_plan& plan, const byte_choice& how) {
    if (!work.requests.empty()) {
        if (how.batches != 1 || how.distinct_experts) {
            throw error(
                how.batches != 1 ? "batches" : "distinct_experts",
                "cannot be passed with requests, because each step of decoding reads the weights: leave it out");
        }
        return bytes_of_requests(*work.as->model, work.requests, work.prefill_chunk, plan, how.bits);
    }
    if (!is_past_known(work)) {
        throw error("tally",
                    "does not contain the cached tokens of each sequence: instead of the tally, pass the batch by "
                    "lengths=, new_tokens= or requests=");
    }
    byte_counter counter(*work.as->model, plan, how.bits, how.batches);
    counter.add_counted(work.batch,
                        work.cached ? std::span<const sequence>(*work.cached) : std::span<const sequence>{});
    if (how.distinct_experts) {
        counter.add_distinct_experts(*how.distinct_experts);
    }
    return counter.count();
}

/// {kind: bytes}
template <class Count>
py::dict by_kind(Count count) {
    py::dict out;
    for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
        const auto what = static_cast<byte_kind>(kind);
        out[py::str(std::string(name(what)))] = to_int(flops{count(what)});
    }
    return out;
}

/// The JSON of a report, its table, the JSON of the table, and {component: {phase: {kind: bytes}}}.
py::tuple time_breakdown_of(const counted_work& work, const byte_choice& how) {
    if (work.convention_name() != conventions::exact.name) {
        throw error("convention", "must be exact, since only exact counts bytes, got \"" +
                                      std::string(work.convention_name()) + "\"");
    }
    const byte_report result{.model_type = work.as->model->model_type,
                             .work = work.work,
                             .moved = moved_by(work, work.as->plan, how),
                             .bits = how.bits,
                             .batches = how.batches,
                             .memory_tbps = {},
                             .distinct_experts = how.distinct_experts};
    constexpr const char* phase_names[] = {"forward", "backward_data", "backward_weights", "recompute"};
    py::dict phases;
    for (const component_bytes& part : result.moved.components) {
        py::dict own;
        for (std::size_t during = 0; during < std::size(phase_names); ++during) {
            own[phase_names[during]] =
                by_kind([&](byte_kind what) { return part.get(static_cast<phase>(during), what); });
        }
        phases[py::str(std::string(part.name.view()))] = own;
    }
    return py::make_tuple(to_json(result).dump(), to_table(result), table_json(floptally::table_of(result)), phases);
}

/// The MBU, whether it is an upper bound, and the uniform estimate if it is.
py::tuple utilization_of_memory(const counted_work& work, const arguments& args) {
    if (work.as->plan.counted != counted_passes::forward) {
        throw error("plan", "must be Plan(phase=\"forward\"), since MBU is defined for a decode step");
    }
    const py::object part = args["accelerator"];
    auto tbps = memory_tbps_of(args);
    if (!tbps) {
        if (part.is_none()) {
            throw error("accelerator", "is missing: pass accelerator= or memory_tbps=");
        }
        tbps = memory_tbps_named(*to_product(part));
    }
    const bandwidth_utilization used = model_bandwidth_utilization(
        moved_by(work, work.as->plan, byte_choice_of(args)), args.number("seconds"), args.count("gpus", 1), *tbps);
    const std::string doubt = doubt_of(used);
    warn(doubt.empty() ? doubt : "mbu: " + to_percent(used.mbu) + ": " + doubt);
    return py::make_tuple(used.mbu, used.is_at_most, used.uniform);
}

layer_modules modules_of(const arguments& args, const char* name) {
    std::string list;
    for (const std::string& module : args.as<std::vector<std::string>>(name)) {
        list += (list.empty() ? "" : ",") + module;
    }
    return layer_modules_named(list, name);
}

/// The JSON of a fit, its table, and the JSON of the table.
py::tuple fit_of_work(const counted_work& work, const arguments& args) {
    const trainer_layout layout = layout_of(args);
    const rank_order order{.axes = layout.order,
                           .expert_axes = layout.expert_order,
                           .gpus_per_node = args.some_count("gpus_per_node", 1, std::uint64_t{1} << 20U).value_or(0)};
    group_bandwidths bandwidths{.gpus_per_node = order.gpus_per_node};
    if (args.some("network_gbps")) {
        for (const auto& [group, gbps] : py::dict(args["network_gbps"])) {
            put_bandwidth(bandwidths, to_text(group, "network_gbps"), to_number(gbps, "network_gbps"));
        }
    }
    memory_options how = memory_options_of(args);
    how.microbatches = args.count("microbatches", 1, std::uint64_t{1} << 20U);
    how.ranks.tensor.sequence_parallel =
        args.lookup("sequence_parallel") ? args.flag("sequence_parallel") : layout.sequence_parallel.value_or(false);
    how.sharded = args.lookup("zero") ? from_name<zero_stage>(args.text("zero"), "zero", zero_stage_names)
                                      : layout.sharded.value_or(zero_stage::none);
    fit_report result =
        fit_of(work.as->model->parts, work.batch, layout.sizes, work.as->plan, how,
               from_name<context_exchange>(args.text("context_exchange"), "context_exchange", context_exchange_names),
               bandwidths, order);
    result.model_type = work.as->model->model_type;
    if (const auto gib = args.some_number("memory_gib")) {
        floptally::detail::require_finite_positive(*gib, "memory_gib");
        result.memory_gib = gib;
    }
    result.reserve_gib = args.number("reserve_gib");
    if (!(result.reserve_gib >= 0) || result.reserve_gib > 1e6) {
        throw error("reserve_gib", "must be a number of at least 0, got " + shown(args["reserve_gib"]));
    }
    if (result.reserve_gib != 0 && !result.memory_gib) {
        throw error("memory_gib", "is missing: pass memory_gib=, which reserve_gib needs");
    }
    return py::make_tuple(to_json(result).dump(), to_table(result), table_json(floptally::table_of(result)));
}

}  // namespace

memory_options memory_options_of(const arguments& args) {
    memory_options how{.bits = byte_choice_of(args).bits,
                       .kernels = {.flash_attention = args.flag("flash_attention"),
                                   .fused_elementwise = args.flag("fused_elementwise"),
                                   .hidden_dropout = args.flag("hidden_dropout"),
                                   .attention_dropout = args.flag("attention_dropout"),
                                   .weights_inside_experts = args.flag("weights_inside_experts"),
                                   .keeps_gathered_inputs = args.flag("keep_gathered_inputs"),
                                   .matrix_inputs = block_format_named(args.text("matrix_inputs"), "matrix_inputs"),
                                   .recomputed = modules_of(args, "recompute_modules"),
                                   .offloaded = modules_of(args, "offload_modules")},
                       .logits_bits = args.count("logits_bits", 1, 256),
                       .cached_tokens = args.count("cached_tokens", 0, std::uint64_t{1} << 40U),
                       .matrix_weights = block_format_named(args.text("matrix_weights"), "matrix_weights"),
                       .frozen_weights = block_format_named(args.text("frozen_weights"), "frozen_weights"),
                       .host_optimizer = args.number("optimizer_offload"),
                       .offloaded_layers = args.count("offload_layers", 0, 100'000),
                       .gathered_bits = args.count("gathered_bits", 0, 64),
                       .bucket_elements = args.count("bucket_elements", 0, std::uint64_t{1} << 50U),
                       .keeps_gathered = args.flag("keep_gathered"),
                       .keeps_messages = args.flag("keep_messages")};
    const char* names[std::size(optimizer_states::all)];
    for (std::size_t i = 0; i < std::size(names); ++i) {
        names[i] = optimizer_states::all[i].name;
    }
    how.optimizer = optimizer_states::all[from_name<std::size_t>(args.text("optimizer"), "optimizer", names)];
    how.ranks.pipeline = split_options_of(args);
    if (args.some("layers_of_chunks")) {
        for (const py::handle layers : py::list(args["layers_of_chunks"])) {
            how.ranks.layers_of_chunks.push_back(to_count(layers, "layers_of_chunks"));
        }
    }
    return how;
}

std::optional<time_at_memory> memory_of(const counted_work& work, const arguments& said, const training_plan& plan,
                                        const std::vector<work_at_peak>& at_peaks, std::uint64_t microbatches,
                                        bool has_elementwise) {
    const auto tbps = memory_tbps_of(said);
    byte_choice how = byte_choice_of(said);
    const bool is_said = said.some("batches") || microbatches != 0;
    if (!said.some("batches")) {
        how.batches = std::max<std::uint64_t>(microbatches, 1);
    }
    for (const char* const name : byte_keywords) {
        if (!tbps && said.some(name)) {
            throw error("memory_tbps",
                        std::string("is missing: pass memory_tbps=, which ").append(name).append(" needs"));
        }
    }
    const bool is_asked = static_cast<bool>(said.some("memory_tbps"));
    if (!tbps || (!is_asked && (work.as->model->parts.empty() || !is_past_known(work)))) {
        return {};
    }
    return memory_time(moved_by(work, plan, how), at_peaks, *tbps, how.batches, is_said, has_elementwise);
}

void bind_bytes(py::module_& module) {
    method(module.attr("Breakdown"), "bytes", [](py::handle self, const arguments& args) {
        return package_attribute("_bytes", "Bytes")(self, **args.named());
    });
    method(module.attr("Breakdown"), "fit", [](py::handle self, const arguments& args) {
        return package_attribute("_fit", "Fit")(self, **args.named());
    });
    function(module, "_fit",
             [](const arguments& args) { return fit_of_work(args.as<const counted_work&>("work"), args); });
    method(module.attr("Cost"), "bytes", [](py::handle self, const arguments& args) {
        py::dict batch = args.named();
        py::dict bits;
        for (const char* const name : byte_keywords) {
            if (batch.contains(name)) {
                bits[name] = batch.attr("pop")(name);
            }
        }
        return package_attribute("_bytes", "Bytes")(self.attr("flops")(**batch), **bits);
    });
    function(module, "_bytes", [](const arguments& args) {
        return time_breakdown_of(args.as<const counted_work&>("work"), byte_choice_of(args));
    });
    function(module, "_mbu",
             [](const arguments& args) { return utilization_of_memory(args.as<const counted_work&>("work"), args); });
}

}  // namespace floptally::python
