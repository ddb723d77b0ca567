// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>

/// @file
/// Hyper-connections: a residual that consists of several streams, and the matrix products that mix them.

namespace floptally::inline v0_3 {

/// Hyper-connections around one part of a layer (arXiv:2409.19606; DeepSeek-V4 uses them with doubly stochastic mixes).
/// The residual consists of n streams of width h. A weighted sum of the streams is the part's input, and the part's
/// result is added to each stream with a weight. A matrix computes these coefficients from all streams together.
///
/// With n streams of width h, a token takes 2·n·h·(2 + n)·n forward FLOPs for the coefficients, and 2·n·n·h to mix the
/// streams with n·n coefficients. Without `mixes` (HY-V4) the streams are not mixed, and the coefficients take
/// 2·n·h·2n. Combining and distributing the streams multiplies element by element and is not counted.
struct hyper_connections {
    std::uint64_t streams = 0;
    bool mixes = true;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(streams, "hc_mult");
        const checked n(streams, "residual.mix");
        const checked width = n * where.hidden_size;
        const checked kinds = mixes ? n + 2 : checked(2, "residual.mix");
        constexpr value::set coefficients = value::local(0);
        // The matrix reads all streams of a token, so every rank has the whole weight. With sequence parallelism each
        // rank runs only its own tokens.
        const tensor_sharding sharding = tensor_sharding::replicated();
        floptally::cost sum;
        sum.add("residual.mix", linear{.in_features = width,
                                       .out_features = kinds * streams,
                                       .weight = "hc_fn",
                                       .reads = value::stream,
                                       .writes = coefficients,
                                       .adaptable = false,
                                       .sharding = sharding});
        if (mixes) {
            const std::uint64_t flops = 2 * (n * width);
            sum.add_entry("residual.mix", {},
                          cost_entry{.kind = term::state,
                                     .useful = flops,
                                     .padded = flops,
                                     .flow = {.reads = coefficients, .also_reads = value::stream},
                                     .sharding = sharding});
        }
        elementwise.add_to(sum);
        return sum;
    }
};

/// The head that combines the n streams of width h into one after the last layer. The n coefficients, one per stream,
/// take 2·n·h·n FLOPs per token.
struct stream_head {
    std::uint64_t streams = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(streams, "hc_mult");
        floptally::cost sum;
        sum.add("residual.head", linear{.in_features = checked(streams, "residual.head") * where.hidden_size,
                                        .out_features = streams,
                                        .weight = "hc_head",
                                        .reads = value::stream,
                                        .adaptable = false,
                                        .sharding = tensor_sharding::replicated()});
        elementwise.add_to(sum);
        return sum;
    }
};

/// Several residual streams with gates (Qwen4): n streams of width h. A low-rank matrix n·h → rank → n·h computes the
/// gates with which the streams are combined. A matrix n·h → n computes the weights with which the part's result is
/// added to the streams.
///
/// With n streams of width h, a token takes 2·2·n·h·rank forward FLOPs, and 2·n·h·n more with `injects`.
struct gated_streams {
    std::uint64_t streams = 0;
    std::uint64_t rank = 0;
    bool injects = true;  ///< true: also distributes the part's result over the streams; false after the last layer
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(streams, "hc_count");
        require_positive(rank, "hc_lowrank");
        const std::uint64_t width = checked(streams, "residual.mix") * where.hidden_size;
        const tensor_sharding sharding = tensor_sharding::replicated();
        constexpr value::set low = value::local(0);
        floptally::cost sum;
        sum.add("residual.mix", linear{.in_features = width,
                                       .out_features = rank,
                                       .weight = "input_mix_weight_down",
                                       .reads = value::stream,
                                       .writes = low,
                                       .sharding = sharding});
        sum.add("residual.mix", linear{.in_features = rank,
                                       .out_features = width,
                                       .weight = "input_mix_weight_up",
                                       .reads = low,
                                       .sharding = sharding});
        if (injects) {
            sum.add("residual.mix", linear{.in_features = width,
                                           .out_features = streams,
                                           .weight = "block_inject_weight",
                                           .reads = value::stream,
                                           .sharding = sharding});
        }
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
