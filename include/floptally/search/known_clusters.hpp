// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <floptally/bytes/training_layout.hpp>
#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/hardware/precision_names.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Networks of known accelerators, and the efficiency that published steps reach on them.

namespace floptally::inline v0_3 {

/// The network that connects an accelerator in the vendor's own system.
struct known_network {
    std::string_view accelerator;
    double within_gbps = 0;           ///< GB/s that one GPU sends to other GPUs of its node
    double between_gbps = 0;          ///< GB/s that one GPU sends to other nodes
    std::uint64_t gpus_per_node = 8;  ///< number of GPUs that one NVLink network connects
    std::string_view source{};        ///< source of `within_gbps`
    std::string_view between_source{};
    source_quality between_quality = source_quality::third_party;
};

/// The networks that the library knows. Vendors print NVLink's rate for both directions together, so the rate here is
/// half as large.
inline constexpr known_network known_networks[] = {
    {"A100 SXM", 300, 25, 8, "NVIDIA's page of NVLink: 12 links of 50 GB/s",
     "assumed: a port of HDR InfiniBand, 200 Gb/s, for each GPU"},
    {"H100 SXM", 450, 50, 8, "NVIDIA's page of NVLink: 18 links of 50 GB/s",
     "torchtitan, benchmarks/llama3_h100_202412_torchtitan.md: 400 Gb/s for each GPU"},
    {"H200 SXM", 450, 50, 8, "NVIDIA's page of NVLink: 18 links of 50 GB/s",
     "torchtitan, benchmarks/llama3-8b_h200_202506_trainy-whitefiber.md: 400 Gb/s for each GPU"},
    {"H800 SXM", 200, 50, 8, "arXiv:2505.09343: 400 GB/s in both directions",
     "arXiv:2505.09343: 400 Gb/s for each GPU"},
    {"B200", 900, 50, 8, "NVIDIA's page of NVLink: 18 links of 100 GB/s",
     "assumed: a port of NDR InfiniBand, 400 Gb/s, for each GPU"},
    {"B300", 900, 100, 8, "NVIDIA's page of NVLink: 18 links of 100 GB/s",
     "assumed: a port of XDR InfiniBand, 800 Gb/s, for each GPU"},
    {"GB200", 900, 50, 72, "NVIDIA's page of NVLink: 18 links of 100 GB/s",
     "assumed: a port of NDR InfiniBand, 400 Gb/s, for each GPU"},
    {"GB300", 900, 100, 72, "NVIDIA's page of NVLink: 18 links of 100 GB/s",
     "assumed: a port of XDR InfiniBand, 800 Gb/s, for each GPU"}};

/// The efficiency of matrix products, as a fraction of the peak FLOP/s, with which predicted step times equal published
/// ones.
struct known_efficiency {
    std::string_view accelerator;
    precision of = precision::bf16;
    bool has_experts = false;
    double value = 0;
    std::uint64_t runs = 0;  ///< number of published steps to which the efficiency was fitted
};

/// The known efficiencies, fitted with `layout_predictor`. Each is a median over the published steps of Megatron-Bridge
/// that have a known layout. tests/benchmark/rank_layouts.cpp prints this table. With --check it fails if the table is
/// out of date.
inline constexpr known_efficiency known_efficiencies[] = {
    {"B200", precision::fp8, false, 0.429, 2},     {"GB200", precision::fp8, false, 0.419, 10},
    {"GB300", precision::fp8, false, 0.532, 9},    {"H100 SXM", precision::fp8, false, 0.451, 6},
    {"GB200", precision::fp4, false, 0.365, 2},    {"GB300", precision::fp4, false, 0.370, 2},
    {"B200", precision::bf16, true, 0.159, 2},     {"B300", precision::bf16, true, 0.194, 2},
    {"GB200", precision::bf16, true, 0.237, 3},    {"GB300", precision::bf16, true, 0.277, 3},
    {"H100 SXM", precision::bf16, true, 0.285, 1}, {"B200", precision::fp8, true, 0.272, 5},
    {"B300", precision::fp8, true, 0.250, 6},      {"GB200", precision::fp8, true, 0.276, 7},
    {"GB300", precision::fp8, true, 0.336, 9},     {"H100 SXM", precision::fp8, true, 0.220, 6}};

/// The efficiency that a search assumes, and the source of this number.
struct assumed_efficiency {
    double value = 0;
    std::string source{};
};

/// Returns the known efficiency of the most similar models. Most important is whether the models have experts, then the
/// precision, then the accelerator. Among equally similar ones, the accelerator with the nearest peak comes first, then
/// the one with more published steps.
[[nodiscard]] inline assumed_efficiency efficiency_of(std::string_view accelerator, precision which, bool has_experts) {
    const double own_peak = accelerator.empty() ? 0 : accelerator_named(accelerator).published_tflops(which);
    const auto distance = [&](const known_efficiency& known) {
        const double peak = accelerator_named(known.accelerator).published_tflops(which);
        return own_peak > 0 && peak > 0 ? std::fabs(std::log(peak / own_peak)) : 0.0;
    };
    const known_efficiency* best = nullptr;
    int most = -1;
    for (const known_efficiency& known : known_efficiencies) {
        const int common = (known.has_experts == has_experts ? 4 : 0) + (known.of == which ? 2 : 0) +
                           (known.accelerator == accelerator ? 1 : 0);
        const bool is_alike = common == most;
        const bool is_nearer = is_alike && distance(known) < distance(*best) - 1e-9;
        const bool has_more = is_alike && distance(known) < distance(*best) + 1e-9 && known.runs > best->runs;
        if (common > most || is_nearer || has_more) {
            most = common;
            best = &known;
        }
    }
    return {best->value,
            detail::text_of({"fitted to ", best->runs, " published steps of ", best->has_experts ? "MoE" : "dense",
                             " models on ", best->accelerator, " in ", name(best->of)})};
}

/// Returns a cluster of known accelerators, with their peak, memory, memory bandwidth and network. In FP8 and FP4,
/// attention cores, routers and the lm_head run at the peak of bf16. If one NVLink network connects 72 GPUs, a cluster
/// of more than 72 GPUs uses 64 of them as a node. Throws `error` if the vendor publishes no rate of the accelerator in
/// this precision.
[[nodiscard]] inline training_cluster cluster_named(std::string_view accelerator, std::string_view precision_name,
                                                    std::uint64_t gpus) {
    const floptally::accelerator& part = accelerator_named(accelerator);
    const precision which = precision_named(precision_name);
    training_cluster cluster{.gpus = gpus, .peak_tflops = part.peak_tflops(which)};
    const bool is_quantized = which == precision::fp8 || which == precision::fp4 || which == precision::int8;
    const double bf16 = part.published_tflops(precision::bf16);
    cluster.other_peak_tflops = is_quantized && bf16 > 0 ? bf16 : 0;
    if (const auto memory = memory_size_named(accelerator)) {
        cluster.memory_gib = memory->gib;
    }
    if (const auto memory = memory_bandwidth_named(accelerator)) {
        cluster.memory_tbps = memory->tbps;
    }
    for (const known_network& known : known_networks) {
        if (known.accelerator == part.name) {
            cluster.network.within_nodes = known.within_gbps;
            cluster.network.between_nodes = known.between_gbps;
            cluster.network.gpus_per_node = known.gpus_per_node == 72 && gpus > 72 ? 64 : known.gpus_per_node;
        }
    }
    return cluster;
}

}  // namespace floptally
