// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/bytes/optimizer_state.hpp>
#include <floptally/floptally.hpp>
#include <floptally/json/fit_json.hpp>

#include "arguments.hpp"
#include "bytes.hpp"
#include "count.hpp"
#include "network.hpp"
#include "ranks.hpp"

/// @file
/// `floptally fit`: what a rank of each pipeline stage holds and sends, with a microbatch like this one.

namespace program {

inline void add_fit_options(cxxopts::Options& options) {
    add_flops_options(options);
    auto add = options.add_options("Ranks");
    for (const char* const size : {"dp", "cp", "tp", "pp", "vpp", "ep"}) {
        add(size, "ranks along it", cxxopts::value<std::string>(), "1");
    }
    add("sequence-parallel", "true: tensor parallel ranks share the tokens between their matrices",
        cxxopts::value<std::string>(), "true");
    add("context-exchange", "ring, all_gather or ulysses", cxxopts::value<std::string>(), "ring");
    add("zero", "states that data parallel ranks split: none, optimizer, gradients or weights",
        cxxopts::value<std::string>(), "none");
    add("microbatches", "of each replica in a step", cxxopts::value<std::string>(), "N");
    for (const auto& [option, meaning, value] : rank_options) {
        const std::string name = option;
        if (name.find("layers") != std::string::npos || name.find("account") == 0) {
            add(option, meaning, cxxopts::value<std::string>(), value);
        }
    }
    auto held = options.add_options("Memory");
    std::string names;
    for (const floptally::optimizer_state& known : floptally::optimizer_states::all) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    }
    held("optimizer", names, cxxopts::value<std::string>(), "adamw")(
        "weight-bits", "of a weight", cxxopts::value<std::string>(), "16")("gradient-bits", "of a weight's gradient",
                                                                           cxxopts::value<std::string>(), "16")(
        "activation-bits", "of an activation", cxxopts::value<std::string>(), "16")(
        "cache-bits", "of a cached key or value", cxxopts::value<std::string>(), "16")(
        "logits-bits", "of all that the loss keeps of a logit", cxxopts::value<std::string>(), "16")(
        "cached-tokens", "whose keys and values a rank keeps", cxxopts::value<std::string>(), "N")(
        "no-flash-attention", "the probabilities of all pairs are kept")(
        "no-fused-elementwise", "norms and gates keep what they made in between")(
        "hidden-dropout", "its masks are kept")("attention-dropout", "likewise")(
        "memory-gib", "of one GPU: says whether it fits", cxxopts::value<std::string>(), "X");
    options.add_options("Network")("network-gbps", "GB/s that a rank sends, of all groups or tp=400,dp=50",
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

inline std::string run_fit(const arguments& args) {
    const floptally::model_config model = read_model(args);
    const floptally::report counted = count(args, model);
    const auto ranks_along = [&](const char* size) {
        return parse_count(args.text(size).value_or("1"), size, 1, std::uint64_t{1} << 20U);
    };
    const floptally::parallel_sizes sizes{.dp = ranks_along("dp"),
                                          .cp = ranks_along("cp"),
                                          .tp = ranks_along("tp"),
                                          .pp = ranks_along("pp"),
                                          .vpp = ranks_along("vpp"),
                                          .ep = ranks_along("ep")};
    floptally::memory_options how{
        .sharded =
            static_cast<floptally::zero_stage>(args.choice("zero", {"none", "optimizer", "gradients", "weights"})),
        .optimizer = optimizer_named(args.text("optimizer").value_or("adamw")),
        .bits = bits_of(args),
        .kernels = {.flash_attention = !args.flag("no-flash-attention"),
                    .fused_elementwise = !args.flag("no-fused-elementwise"),
                    .hidden_dropout = args.flag("hidden-dropout"),
                    .attention_dropout = args.flag("attention-dropout")},
        .logits_bits = parse_count(args.text("logits-bits").value_or("16"), "logits_bits", 1, 256),
        .microbatches = parse_count(args.text("microbatches").value_or("1"), "microbatches", 1, 1U << 20U),
        .cached_tokens =
            parse_count(args.text("cached-tokens").value_or("0"), "cached_tokens", 0, std::uint64_t{1} << 40U)};
    how.ranks.tensor.sequence_parallel =
        args.text("sequence-parallel") && args.choice("sequence-parallel", {"true", "false"}) == 0;
    how.ranks.pipeline = split_options(args);
    if (const auto layers = args.text("layers-of-chunks")) {
        how.ranks.layers_of_chunks = parse_loads(*layers, "layers_of_chunks");
    }
    const auto network = args.text("network-gbps");
    const floptally::group_bandwidths bandwidths = network ? parse_bandwidths(*network) : floptally::group_bandwidths{};
    floptally::fit_report made = floptally::fit_of(
        model.parts, counted.batch, sizes, counted.plan, how,
        static_cast<floptally::context_exchange>(args.choice("context-exchange", floptally::context_exchange_names)),
        bandwidths);
    made.model_type = model.model_type;
    if (const auto given = args.text("memory-gib")) {
        made.memory_gib = parse_positive(*given, "memory_gib");
    }
    switch (args.choice("format", {"table", "json", "markdown"})) {
        case 0:
            return floptally::to_table(made);
        case 1:
            return floptally::to_json(made).dump(2) + "\n";
        default:
            return floptally::to_markdown(floptally::table_of(made));
    }
}

}  // namespace program
