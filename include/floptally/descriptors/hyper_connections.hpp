// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>

/// @file
/// Residuals of several streams: their coefficients, mixes and heads.

namespace floptally {

/// Hyper-connections around one part of a layer (arXiv:2409.19606; constrained to doubly stochastic mixes in
/// DeepSeek-V4): the residual is n streams of h, which are collapsed to the part's input, and to which its result is
/// dealt. The coefficients come out of all streams.
///
/// Forward, per token: coefficients 2·n·h·(2 + n)·n, of which n·n mix the streams with each other: 2·n·n·h. Without
/// `mixes` (HY-V4) each stream stays itself, and the coefficients are 2·n·h·2n. Collapsing and dealing out multiply
/// element by element and are not counted.
struct hyper_connections {
    std::uint64_t streams = 0;
    bool mixes = true;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(streams, "hc_mult");
        const checked n(streams, "residual.mix");
        const checked width = n * where.hidden_size;
        const checked kinds = mixes ? n + 2 : checked(2, "residual.mix");
        constexpr value::set coefficients = value::made(0);
        // Small, and of whole tokens: every rank has it, with sequence parallelism each for its tokens.
        const dealing dealt = dealing::replicated();
        floptally::cost sum;
        sum.add("residual.mix", linear{.in_features = width,
                                       .out_features = kinds * streams,
                                       .weight = "hc_fn",
                                       .reads = value::stream,
                                       .writes = coefficients,
                                       .adaptable = false,
                                       .dealt = dealt});
        if (mixes) {
            const std::uint64_t flops = 2 * (n * width);
            sum.add_row("residual.mix", {},
                        cost_row{.kind = term::state,
                                 .useful = flops,
                                 .padded = flops,
                                 .flow = {.reads = coefficients, .also_reads = value::stream},
                                 .dealt = dealt});
        }
        elementwise.add_to(sum);
        return sum;
    }
};

/// The head that makes one stream of n after the last layer: 2·n·h·n a token for the weights of the streams.
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
                                        .dealt = dealing::replicated()});
        elementwise.add_to(sum);
        return sum;
    }
};

/// Streams that are gated by a low-rank matrix (Qwen4): n·h → rank → n·h makes the gates that collapse them, and, where
/// the part's result is dealt out again, n·h → n its shares.
///
/// Forward, per token: 2·2·n·h·rank, and 2·n·h·n where it `injects`.
struct gated_streams {
    std::uint64_t streams = 0;
    std::uint64_t rank = 0;
    bool injects = true;  ///< false: after the last layer
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(streams, "hc_count");
        require_positive(rank, "hc_lowrank");
        const std::uint64_t width = checked(streams, "residual.mix") * where.hidden_size;
        const dealing dealt = dealing::replicated();
        constexpr value::set low = value::made(0);
        floptally::cost sum;
        sum.add("residual.mix", linear{.in_features = width,
                                       .out_features = rank,
                                       .weight = "input_mix_weight_down",
                                       .reads = value::stream,
                                       .writes = low,
                                       .dealt = dealt});
        sum.add("residual.mix", linear{.in_features = rank,
                                       .out_features = width,
                                       .weight = "input_mix_weight_up",
                                       .reads = low,
                                       .dealt = dealt});
        if (injects) {
            sum.add("residual.mix", linear{.in_features = width,
                                           .out_features = streams,
                                           .weight = "block_inject_weight",
                                           .reads = value::stream,
                                           .dealt = dealt});
        }
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
