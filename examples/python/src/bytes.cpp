// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/fit_report.hpp>
#include <floptally/bytes/request_bytes.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/json/byte_json.hpp>
#include <floptally/json/fit_json.hpp>

#include "classes.hpp"

/// @file
/// Bytes that a batch moves between memory and units. Python's `Bytes` is made of the JSON that stands here.

namespace floptally::detail::python {

namespace {

/// Sizes of elements by kind, and how many microbatches read the weights.
struct byte_choice {
    element_bits bits{};
    std::uint64_t batches = 1;
    std::optional<std::uint64_t> distinct_experts{};
};

constexpr const char* byte_keywords[] = {"weight_bits", "gradient_bits", "activation_bits",
                                         "cache_bits",  "batches",       "distinct_experts"};
byte_choice byte_choice_of(const arguments& given) {
    return {.bits = {.weights = given.some_count("weight_bits", 1, 64).value_or(16),
                     .gradients = given.some_count("gradient_bits", 1, 64).value_or(16),
                     .activations = given.some_count("activation_bits", 1, 64).value_or(16),
                     .cache = given.some_count("cache_bits", 1, 64).value_or(16)},
            .batches = given.some_count("batches", 1, std::uint64_t{1} << 32U).value_or(1),
            .distinct_experts = given.some_count("distinct_experts", 0, std::uint64_t{1} << 62U)};
}

/// Bandwidth of one GPU's memory; none where nobody says it.
std::optional<double> memory_tbps_of(const arguments& given) {
    if (const auto said = given.some_number("memory_tbps")) {
        floptally::detail::require_finite_positive(*said, "memory_tbps");
        return said;
    }
    const auto product = to_product(given["accelerator"]);
    const auto known = product ? memory_bandwidth_named(*product) : std::nullopt;
    return known ? std::optional(known->tbps) : std::nullopt;
}

/// A step that trains keeps no cache; of another one the past must be known.
bool is_past_known(const counted_work& work) { return work.cached || work.as->plan.counted == counted_passes::train; }

step_bytes moved_by(const counted_work& work, const training_plan& plan, const byte_choice& how) {
    if (!work.requests.empty()) {
        if (how.batches != 1 || how.distinct_experts) {
            throw error(how.batches != 1 ? "batches" : "distinct_experts",
                        "are those of the requests' own steps, each of which reads the weights");
        }
        return bytes_of_requests(*work.as->model, work.requests, work.prefill_chunk, plan, how.bits);
    }
    if (!is_past_known(work)) {
        throw error("tally",
                    "was counted before, as a tally or by a meter, so that the past of its sequences, which reads the "
                    "cache, is not known, nor is that of requests beside another batch: count the batch itself");
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

/// The JSON of a report, its table, the JSON of that, and {component: {phase: {kind: bytes}}}.
py::tuple account_of(const counted_work& work, const byte_choice& how) {
    if (work.convention_name() != conventions::exact.name) {
        throw error("convention", "must be exact, whose products are those that move bytes, got \"" +
                                      std::string(work.convention_name()) + "\"");
    }
    const byte_report made{.model_type = work.as->model->model_type,
                           .work = work.work,
                           .moved = moved_by(work, work.as->plan, how),
                           .bits = how.bits,
                           .batches = how.batches,
                           .memory_tbps = {},
                           .distinct_experts = how.distinct_experts};
    constexpr const char* phase_words[] = {"forward", "backward_data", "backward_weights", "recompute"};
    py::dict phases;
    for (const component_bytes& part : made.moved.components) {
        py::dict own;
        for (std::size_t during = 0; during < std::size(phase_words); ++during) {
            own[phase_words[during]] =
                by_kind([&](byte_kind what) { return part.get(static_cast<phase>(during), what); });
        }
        phases[py::str(std::string(part.name.view()))] = own;
    }
    return py::make_tuple(to_json(made).dump(), to_table(made), table_json(floptally::table_of(made)), phases);
}

/// The MBU, whether it is a bound, and the uniform estimate beside one.
py::tuple utilization_of_memory(const counted_work& work, const arguments& given) {
    if (work.as->plan.counted != counted_passes::forward) {
        throw error("plan", "must be of the forward alone, Plan(phase=\"forward\"): an MBU is of a decode step");
    }
    const py::object part = given["accelerator"];
    auto tbps = memory_tbps_of(given);
    if (!tbps) {
        if (part.is_none()) {
            throw error("accelerator", "is missing, and no memory_tbps is given either");
        }
        tbps = memory_tbps_named(*to_product(part));
    }
    const bandwidth_utilization used = model_bandwidth_utilization(
        moved_by(work, work.as->plan, byte_choice_of(given)), given.number("seconds"), given.count("gpus", 1), *tbps);
    const std::string doubt = doubt_of(used);
    warn(doubt.empty() ? doubt : "mbu: " + to_percent(used.mbu) + ": " + doubt);
    return py::make_tuple(used.mbu, used.is_at_most, used.uniform);
}

memory_options memory_options_of(const arguments& given) {
    constexpr const char* zero_words[] = {"none", "optimizer", "gradients", "weights"};
    memory_options how{.sharded = from_word<zero_stage>(given.text("zero"), "zero", zero_words),
                       .bits = byte_choice_of(given).bits,
                       .kernels = {.flash_attention = given.flag("flash_attention"),
                                   .fused_elementwise = given.flag("fused_elementwise"),
                                   .hidden_dropout = given.flag("hidden_dropout"),
                                   .attention_dropout = given.flag("attention_dropout")},
                       .logits_bits = given.count("logits_bits", 1, 256),
                       .microbatches = given.count("microbatches", 1, std::uint64_t{1} << 20U),
                       .cached_tokens = given.count("cached_tokens", 0, std::uint64_t{1} << 40U)};
    const char* names[std::size(optimizer_states::all)];
    for (std::size_t i = 0; i < std::size(names); ++i) {
        names[i] = optimizer_states::all[i].name;
    }
    how.optimizer = optimizer_states::all[from_word<std::size_t>(given.text("optimizer"), "optimizer", names)];
    how.ranks.tensor.sequence_parallel = given.flag("sequence_parallel");
    if (given.some("layers_of_chunks")) {
        for (const py::handle layers : py::list(given["layers_of_chunks"])) {
            how.ranks.layers_of_chunks.push_back(to_count(layers, "layers_of_chunks"));
        }
    }
    return how;
}

/// The JSON of a fit, its table, and the JSON of that.
py::tuple fit_of_work(const counted_work& work, const arguments& given) {
    const auto ranks = [&](const char* size) { return given.count(size, 1, std::uint64_t{1} << 20U); };
    group_bandwidths bandwidths;
    if (given.some("network_gbps")) {
        for (const auto& [group, gbps] : py::dict(given["network_gbps"])) {
            const auto axis =
                from_word<parallel_axis>(to_text(group, "network_gbps"), "network_gbps", parallel_axis_names);
            bandwidths = bandwidths.with(axis, to_number(gbps, "network_gbps"));
        }
    }
    fit_report made =
        fit_of(work.as->model->parts, work.batch,
               {.dp = ranks("dp"),
                .cp = ranks("cp"),
                .tp = ranks("tp"),
                .pp = ranks("pp"),
                .vpp = ranks("vpp"),
                .ep = ranks("ep")},
               work.as->plan, memory_options_of(given),
               from_word<context_exchange>(given.text("context_exchange"), "context_exchange", context_exchange_names),
               bandwidths);
    made.model_type = work.as->model->model_type;
    if (const auto gib = given.some_number("memory_gib")) {
        floptally::detail::require_finite_positive(*gib, "memory_gib");
        made.memory_gib = gib;
    }
    return py::make_tuple(to_json(made).dump(), to_table(made), table_json(floptally::table_of(made)));
}

}  // namespace

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
            throw error("memory_tbps", std::string("is missing; ").append(name).append(" is of bytes"));
        }
    }
    const bool is_asked = static_cast<bool>(said.some("memory_tbps"));
    if (!tbps || (!is_asked && (work.as->model->parts.empty() || !is_past_known(work)))) {
        return {};
    }
    return memory_time(moved_by(work, plan, how), at_peaks, *tbps, how.batches, is_said, has_elementwise);
}

void bind_bytes(py::module_& module) {
    method(module.attr("Breakdown"), "bytes", [](py::handle self, const arguments& given) {
        return package_attribute("_bytes", "Bytes")(self, **given.named());
    });
    method(module.attr("Breakdown"), "fit", [](py::handle self, const arguments& given) {
        return package_attribute("_fit", "Fit")(self, **given.named());
    });
    function(module, "_fit",
             [](const arguments& given) { return fit_of_work(given.as<const counted_work&>("work"), given); });
    method(module.attr("Cost"), "bytes", [](py::handle self, const arguments& given) {
        py::dict batch = given.named();
        py::dict bits;
        for (const char* const name : byte_keywords) {
            if (batch.contains(name)) {
                bits[name] = batch.attr("pop")(name);
            }
        }
        return package_attribute("_bytes", "Bytes")(self.attr("flops")(**batch), **bits);
    });
    function(module, "_bytes", [](const arguments& given) {
        return account_of(given.as<const counted_work&>("work"), byte_choice_of(given));
    });
    function(module, "_mbu", [](const arguments& given) {
        return utilization_of_memory(given.as<const counted_work&>("work"), given);
    });
}

}  // namespace floptally::detail::python
