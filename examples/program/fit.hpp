// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/layout.hpp>
#include <floptally/memory.hpp>
#include <floptally/report_json.hpp>
#include <floptally/search.hpp>

#include "arguments.hpp"
#include "bytes.hpp"
#include "count.hpp"
#include "network.hpp"
#include "ranks.hpp"

/// @file
/// `floptally fit`: what a rank of each pipeline stage holds and sends, for a microbatch like this one.

namespace program {

/// Options of what a rank holds.
inline void add_held_options(cxxopts::Options& options) {
    auto held = options.add_options("Memory");
    std::string names;
    for (const floptally::optimizer_state& known : floptally::optimizer_states::all) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    held("optimizer", names, cxxopts::value<std::string>(), "adamw")("weight-bits", "bits of a weight",
                                                                     cxxopts::value<std::string>(), "16")(
        "gradient-bits", "bits of a weight's gradient", cxxopts::value<std::string>(), "16")(
        "activation-bits", "bits of an activation", cxxopts::value<std::string>(), "16")(
        "cache-bits", "bits of a cached key or value", cxxopts::value<std::string>(), "16")(
        "logits-bits", "bits that the loss keeps in memory for each logit, all copies together",
        cxxopts::value<std::string>(),
        "16")("cached-tokens", "tokens whose keys and values a rank keeps", cxxopts::value<std::string>(), "N")(
        "no-flash-attention", "the attention probabilities of all pairs are kept")(
        "no-fused-elementwise", "norms and gates keep their intermediate results")(
        "hidden-dropout", "dropout masks of hidden states are kept")("attention-dropout",
                                                                     "dropout masks of attention are kept")(
        "weights-inside-experts", "the router's weights multiply inside the experts (Megatron-Core)")(
        "keep-gathered-inputs", "with sequence parallelism matrices keep gathered inputs (DTensor)")(
        "matrix-inputs", "format in which matrices keep their inputs: fp8, fp8_blocks, mxfp8, nvfp4",
        cxxopts::value<std::string>(),
        "none")("matrix-weights", "format of weights that kernels read, held for both directions",
                cxxopts::value<std::string>(), "none")(
        "frozen-weights", "format of frozen matrices that have adapters: nf4, nf4_double, fp8, …",
        cxxopts::value<std::string>(), "none")("recompute-modules",
                                               "modules of a layer that the backward computes again, as Megatron-Core "
                                               "names them: core_attn, mla_up_proj, layernorm, mlp, shared_experts, "
                                               "moe_act, moe",
                                               cxxopts::value<std::string>(),
                                               "LIST")("offload-modules",
                                                       "modules of a layer whose activations are kept on the host: "
                                                       "names of --recompute-modules, attn_proj or expert_fc1",
                                                       cxxopts::value<std::string>(), "LIST")(
        "offload-layers", "number of layers whose activations are kept on the host", cxxopts::value<std::string>(),
        "N")("gathered-bits", "bits of a weight that ZeRO-3 gathers (FSDP2's param_dtype); default: --weight-bits",
             cxxopts::value<std::string>(), "N")(
        "bucket-elements", "gradients that buckets copy at once: N, or all (DDP without gradient_as_bucket_view)",
        cxxopts::value<std::string>(),
        "N")("keep-gathered", "ZeRO-3 keeps gathered weights and whole gradients during a step")(
        "keep-messages", "pipeline stages hold the messages of all microbatches of a step")(
        "optimizer-offload", "fraction of the optimizer state that is kept on the host, from 0 to 1",
        cxxopts::value<std::string>(),
        "X")("reserve-gib", "GiB of one GPU for workspaces, CUDA, NCCL and the allocator's waste",
             cxxopts::value<std::string>(),
             "X")("memory-gib", "memory of one GPU in GiB; the table then says whether the rank fits",
                  cxxopts::value<std::string>(), "X");
}

inline void add_fit_options(cxxopts::Options& options) {
    add_flops_options(options);
    auto add = options.add_options("Ranks");
    for (const auto& [size, what] : {std::pair("dp", "data-parallel ranks"),
                                     {"cp", "context-parallel ranks"},
                                     {"tp", "tensor-parallel ranks"},
                                     {"pp", "pipeline ranks"},
                                     {"vpp", "chunks of layers on each pipeline rank"}}) {
        add(size, what, cxxopts::value<std::string>(), "1");
    }
    add("dp-replicate", "replicas of the states that data parallel ranks shard (HSDP)", cxxopts::value<std::string>(),
        "1");
    add("order", "axes of ranks, the fastest-varying first", cxxopts::value<std::string>(),
        std::string(floptally::megatron_order));
    add("expert-order",
        "axes of experts' ranks, the fastest-varying first (default: derived from --order, as in Megatron)",
        cxxopts::value<std::string>(), "etp-ep-expert_dp-pp");
    add("sequence-parallel", "true: tensor parallel ranks share the tokens between their matrices",
        cxxopts::value<std::string>(), "true");
    add("context-exchange", "ring, all_gather or ulysses", cxxopts::value<std::string>(), "ring");
    add("zero", "states that data parallel ranks shard: none, optimizer, gradients or weights",
        cxxopts::value<std::string>(), "none");
    add("microbatches", "microbatches of each replica in a step", cxxopts::value<std::string>(), "N");
    for (const auto& [option, meaning, value] : rank_options) {
        const std::string name = option;
        const bool is_of_layout = name == "ep" || name == "etp" || name == "layout" || name == "gpus-per-node";
        const bool is_of_split = name.find("layer") != std::string::npos || name.find("account") == 0 ||
                                 name == "pipeline-model-parallel-layout";
        if (is_of_layout || is_of_split) {
            add(option, meaning, cxxopts::value<std::string>(), value);
        }
    }
    add_held_options(options);
    options.add_options("Memory")("largest", "the largest microbatch or length that fits --memory-gib",
                                  cxxopts::value<std::string>(), "microbatch|length")(
        "gpus-of", "the accelerators whose memory holds it, cheapest first where there are --prices")(
        "prices", "of one accelerator, for --gpus-of: 'H100 SXM=2.5,H200 SXM=3.1'", cxxopts::value<std::string>(),
        "LIST");
    options.add_options("Network")(
        "network-gbps", "GB/s that a rank sends: for all groups, tp=400,dp=50, or within=450,between=50 of nodes",
        cxxopts::value<std::string>(), "LIST");
}

inline floptally::optimizer_state optimizer_named(const std::string& name) {
    std::string names;
    for (const floptally::optimizer_state& known : floptally::optimizer_states::all) {
        if (name == known.name) {
            return known;
        }
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    throw error("optimizer", fmt::format("must be one of {}, got \"{}\"", names, name));
}

inline floptally::block_format format_of(const arguments& args, const char* option) {
    return floptally::block_format_named(args.text(option).value_or("none"), arguments::field(option));
}
inline floptally::layer_modules modules_of(const arguments& args, const char* option) {
    return floptally::layer_modules_named(args.text(option).value_or(""), arguments::field(option));
}
/// A number of at least 0; 0 without the option.
inline double parse_number_from_0(const arguments& args, const char* option) {
    const auto text = args.text(option);
    const auto value = text ? parse<double>(*text) : std::optional(0.0);
    if (!value || !(*value >= 0) || *value > 1e6) {
        throw error(arguments::field(option), fmt::format("must be a number from 0, got \"{}\"", *text));
    }
    return *value;
}

/// The options of memory that all ranks share.
inline floptally::memory_options read_memory_options(const arguments& args) {
    floptally::memory_options options{
        .sharded =
            static_cast<floptally::zero_stage>(args.choice("zero", {"none", "optimizer", "gradients", "weights"})),
        .optimizer = optimizer_named(args.text("optimizer").value_or("adamw")),
        .bits = bits_of(args),
        .kernels = {.flash_attention = !args.flag("no-flash-attention"),
                    .fused_elementwise = !args.flag("no-fused-elementwise"),
                    .hidden_dropout = args.flag("hidden-dropout"),
                    .attention_dropout = args.flag("attention-dropout"),
                    .weights_inside_experts = args.flag("weights-inside-experts"),
                    .keeps_gathered_inputs = args.flag("keep-gathered-inputs"),
                    .matrix_inputs = format_of(args, "matrix-inputs"),
                    .recomputed = modules_of(args, "recompute-modules"),
                    .offloaded = modules_of(args, "offload-modules")},
        .logits_bits = parse_count(args.text("logits-bits").value_or("16"), "logits_bits", 1, 256),
        .microbatches = parse_count(args.text("microbatches").value_or("1"), "microbatches", 1, 1U << 20U),
        .cached_tokens =
            parse_count(args.text("cached-tokens").value_or("0"), "cached_tokens", 0, std::uint64_t{1} << 40U),
        .matrix_weights = format_of(args, "matrix-weights"),
        .frozen_weights = format_of(args, "frozen-weights"),
        .host_optimizer = parse_number_from_0(args, "optimizer-offload"),
        .offloaded_layers = parse_count(args.text("offload-layers").value_or("0"), "offload_layers", 0, 100'000),
        .gathered_bits = parse_count(args.text("gathered-bits").value_or("0"), "gathered_bits", 0, 64),
        .bucket_elements = args.text("bucket-elements").value_or("0") == "all"
                               ? std::numeric_limits<std::uint64_t>::max()
                               : parse_count(args.text("bucket-elements").value_or("0"), "bucket_elements", 0,
                                             std::uint64_t{1} << 50U),
        .keeps_gathered = args.flag("keep-gathered"),
        .keeps_messages = args.flag("keep-messages")};
    options.ranks.pipeline = split_options(args);
    if (const auto layers = args.text("layers-of-chunks")) {
        options.ranks.layers_of_chunks = parse_loads(*layers, "layers_of_chunks");
    }
    return options;
}

/// The largest microbatch or sequence that fits, by --largest. Sets `report` to the fit of it.
template <class Report>
std::uint64_t find_largest(const arguments& args, const floptally::tally& batch, const floptally::parallel_sizes& sizes,
                           floptally::fit_report& report, Report report_of) {
    if (!report.memory_gib) {
        throw error("memory_gib", "is missing: pass --memory-gib N, which --largest needs");
    }
    const auto fits = [&](const floptally::tally& microbatch) {
        report = report_of(microbatch);
        return floptally::gib_of(report) <= *report.memory_gib;
    };
    const auto none = [&](std::string_view what) {
        throw error(
            "memory_gib",
            fmt::format(
                "{} GiB do not hold {}, which needs {:.3f} GiB: shard over more ranks, or recompute activations",
                *args.text("memory-gib"), what, floptally::gib_of(report)));
    };
    if (args.choice("largest", {"microbatch", "length"}) == 0) {
        const std::uint64_t samples = batch.get(floptally::view::padded, floptally::accumulator::count);
        const auto times = [&](std::uint64_t number) {
            floptally::tally sum(batch.masks());
            for (std::uint64_t i = 0; i < number; ++i) {
                sum += batch;
            }
            return sum;
        };
        const std::uint64_t most =
            floptally::largest_that_fits(4096, [&](std::uint64_t number) { return fits(times(number)); });
        if (most == 0) {
            none("one microbatch");
        }
        static_cast<void>(fits(times(most)));
        return most * samples;
    }
    const read_input input(args);
    const auto lengths = args.text("lengths");
    if (!lengths || input.get().formats() != 1 || input.get().lengths.front().row_length) {
        throw error(
            "largest",
            "--largest length varies the lengths of one microbatch: pass its sequences by --lengths, without other "
            "batch options");
    }
    const std::uint64_t samples = batch.get(floptally::view::padded, floptally::accumulator::count);
    const std::uint64_t unit = floptally::cp_alignment(sizes.tp, sizes.cp);
    const auto of_length = [&](std::uint64_t number) {
        floptally::tally longer(batch.masks());
        longer.add_lengths(std::vector<std::uint64_t>(samples, number * unit));
        return longer;
    };
    const std::uint64_t most = floptally::largest_that_fits(
        floptally::max_sequence_length / unit, [&](std::uint64_t number) { return fits(of_length(number)); });
    if (most == 0) {
        none(fmt::format("a sequence of {} tokens", unit));
    }
    static_cast<void>(fits(of_length(most)));
    return most * unit;
}

/// The accelerators of --gpus-of; none without it.
inline std::vector<floptally::holding_accelerator> read_accelerators(const arguments& args,
                                                                     const floptally::fit_report& report) {
    std::vector<std::pair<std::string, double>> prices;
    if (const auto list = args.text("prices")) {
        if (!args.flag("gpus-of")) {
            throw error("prices", "works only with --gpus-of: pass both, or leave it out");
        }
        for (const std::string& item : comma_separated({*list})) {
            const std::size_t equals = item.rfind('=');
            if (equals == std::string::npos) {
                throw error("prices", fmt::format("must be NAME=PRICE, such as \"H100 SXM\"=2.5, got \"{}\"", item));
            }
            const floptally::accelerator& part = floptally::accelerator_named(item.substr(0, equals));
            prices.emplace_back(part.name, parse_positive(item.substr(equals + 1), "prices"));
        }
    }
    const std::vector<std::pair<std::string_view, double>> views(prices.begin(), prices.end());
    return args.flag("gpus-of") ? floptally::accelerators_that_hold(floptally::gib_of(report), views)
                                : std::vector<floptally::holding_accelerator>{};
}

inline std::string show(const std::vector<floptally::holding_accelerator>& accelerators) {
    std::string text;
    for (const floptally::holding_accelerator& one : accelerators) {
        if (one.fits) {
            text += fmt::format("{}{:<40}{:>8.4g} GiB{}\n", text.empty() ? "accelerators that hold it:\n" : "",
                                one.name, one.memory_gib, one.price ? fmt::format("{:>10.4g}", *one.price) : "");
        }
    }
    return accelerators.empty() || !text.empty() ? text : "no accelerator with a known memory holds it\n";
}

inline std::string run_fit(const arguments& command_args) {
    using floptally::parallel_sizes;
    const floptally::model_config model = read_model(command_args);
    const floptally::report counted = count(command_args, model);
    const std::optional<floptally::trainer_layout> layout = layout_of(command_args, std::nullopt);
    const arguments args = layout ? with_layout(command_args, *layout) : command_args;
    const auto ranks_along = [&](const char* size) {
        return parse_count(args.text(size).value_or("1"), arguments::field(size), 1, std::uint64_t{1} << 20U);
    };
    parallel_sizes sizes = expert_sizes(args);
    sizes.dp = ranks_along("dp");
    sizes.cp = ranks_along("cp");
    sizes.tp = ranks_along("tp");
    sizes.pp = ranks_along("pp");
    sizes.vpp = ranks_along("vpp");
    sizes.dp_replicate = ranks_along("dp-replicate");
    const floptally::rank_order order{
        .axes = args.text("order").value_or(layout ? layout->order : std::string(floptally::megatron_order)),
        .expert_axes = args.text("expert-order").value_or(layout ? layout->expert_order : std::string()),
        .gpus_per_node = gpus_per_node_of(args)};
    floptally::memory_options options = read_memory_options(args);
    options.ranks.tensor.sequence_parallel = args.text("sequence-parallel")
                                                 ? args.choice("sequence-parallel", {"true", "false"}) == 0
                                                 : layout && layout->sequence_parallel.value_or(false);
    if (layout && layout->sharded && !args.text("zero")) {
        options.sharded = *layout->sharded;
    }
    const auto network = args.text("network-gbps");
    const floptally::group_bandwidths bandwidths =
        network ? parse_bandwidths(*network, order.gpus_per_node) : floptally::group_bandwidths{};
    const auto report_of = [&](const floptally::tally& microbatch) {
        floptally::fit_report report = floptally::fit_of(model.parts, microbatch, sizes, counted.plan, options,
                                                         static_cast<floptally::context_exchange>(args.choice(
                                                             "context-exchange", floptally::context_exchange_names)),
                                                         bandwidths, order);
        report.model_type = model.model_type;
        if (const auto memory = args.text("memory-gib")) {
            report.memory_gib = parse_positive(*memory, "memory_gib");
        }
        report.reserve_gib = parse_number_from_0(args, "reserve-gib");
        if (report.reserve_gib != 0 && !report.memory_gib && !args.flag("gpus-of")) {
            throw error("memory_gib", "is missing: pass --memory-gib N, which --reserve-gib needs");
        }
        return report;
    };
    floptally::fit_report report = report_of(counted.batch);
    std::optional<std::uint64_t> largest;
    if (args.text("largest")) {
        largest = find_largest(args, counted.batch, sizes, report, report_of);
    }
    const std::vector<floptally::holding_accelerator> accelerators = read_accelerators(args, report);
    switch (args.choice("format", {"table", "json", "markdown"})) {
        case 0:
            return floptally::to_table(report) +
                   (largest ? fmt::format("largest {} that fits: {}\n", *args.text("largest"), *largest) : "") +
                   show(accelerators);
        case 1: {
            nlohmann::ordered_json out = floptally::to_json(report);
            if (largest) {
                out["largest"] = *largest;
            }
            if (args.flag("gpus-of")) {
                out["accelerators"] = nlohmann::ordered_json::array();
                for (const floptally::holding_accelerator& one : accelerators) {
                    out["accelerators"].push_back(
                        {{"name", one.name},
                         {"memory_gib", one.memory_gib},
                         {"fits", one.fits},
                         {"price", one.price ? nlohmann::ordered_json(*one.price) : nlohmann::ordered_json()}});
                }
            }
            return out.dump(2) + "\n";
        }
        default:
            return floptally::to_markdown(floptally::table_of(report));
    }
}

}  // namespace program
