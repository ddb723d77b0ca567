// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/layer.hpp>

namespace floptally {

/// A causal depthwise convolution over `kernel_size` tokens: 2·kernel·channels a token.
///
/// The taps before the first token of a sequence are counted too, as the kernels run them.
constexpr void add_convolution(floptally::cost& sum, std::uint64_t kernel_size, std::uint64_t channels,
                               term kind = term::linear) {
    sum.add("mixer.convolution", linear{.in_features = kernel_size, .out_features = channels, .kind = kind});
}

/// Mamba-1, the S6 selective state space (arXiv:2312.00752, algorithm 2): each of i = `inner_size` channels has a state
/// of n = `state_size` numbers.
///
/// Forward, per token: in 2·h·2i, convolution 2·k·i, x_proj 2·i·(dt_rank + 2n), dt_proj 2·dt_rank·i, state 2·i·n to
/// update and 2·i·n to read, out 2·i·h. The scan counts as in its definition, not as a kernel splits it into chunks.
struct mamba {
    std::uint64_t inner_size = 0;  ///< expand · hidden_size
    std::uint64_t state_size = 0;
    std::uint64_t dt_rank = 0;
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(inner_size, "intermediate_size");
        require_positive(state_size, "state_size");
        require_positive(dt_rank, "time_step_rank");
        require_positive(conv_kernel, "conv_kernel");
        const std::uint64_t from_x =
            checked_add(dt_rank, checked_multiply(2, state_size, "mixer.input"), "mixer.input");
        floptally::cost sum;
        sum.add("mixer.input", linear{.in_features = where.hidden_size, .out_features = inner_size, .applied = 2});
        add_convolution(sum, conv_kernel, inner_size, term::scan_convolution);
        sum.add("mixer.input", linear{.in_features = inner_size, .out_features = from_x});
        sum.add("mixer.input", linear{.in_features = dt_rank, .out_features = inner_size});
        const std::uint64_t state = checked_multiply(inner_size, state_size, "mixer.state");
        sum.add_state("mixer.state", checked_multiply(2, state, "mixer.state"), term::scan);
        sum.add("mixer.output", linear{.in_features = inner_size, .out_features = where.hidden_size});
        elementwise.add_to(sum);
        return sum;
    }
};

/// Mamba-2, SSD (arXiv:2405.21060): heads of p = `head_dim` channels with a state p x n each; B and C are shared by the
/// heads of one of g = `n_groups` groups.
///
/// Forward, per token, i = num_heads·head_dim (which need not be expand·h): in 2·h·(2i + 2·g·n + num_heads),
/// convolution 2·k·(i + 2·g·n), state 2·i·n to update and 2·i·n to read, out 2·i·h.
struct mamba2 {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t n_groups = 1;
    std::uint64_t state_size = 0;
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_heads");
        require_positive(head_dim, "head_dim");
        require_positive(n_groups, "n_groups");
        require_positive(state_size, "state_size");
        require_positive(conv_kernel, "conv_kernel");
        const std::uint64_t inner = checked_multiply(num_heads, head_dim, "mixer.input");
        const std::uint64_t b_and_c =
            checked_multiply(2, checked_multiply(n_groups, state_size, "mixer.input"), "mixer.input");
        const std::uint64_t convolved = checked_add(inner, b_and_c, "mixer.input");
        const std::uint64_t projected =
            checked_add(checked_add(inner, convolved, "mixer.input"), num_heads, "mixer.input");
        floptally::cost sum;
        sum.add("mixer.input", linear{.in_features = where.hidden_size, .out_features = projected});
        add_convolution(sum, conv_kernel, convolved, term::scan_convolution);
        const std::uint64_t state = checked_multiply(inner, state_size, "mixer.state");
        sum.add_state("mixer.state", checked_multiply(2, state, "mixer.state"), term::scan);
        sum.add("mixer.output", linear{.in_features = inner, .out_features = where.hidden_size});
        elementwise.add_to(sum);
        return sum;
    }
};

/// The recurrent block of Griffin and RecurrentGemma with its RG-LRU (arXiv:2402.19427, section 2.4).
///
/// Forward, per token, w = `lru_width`: two branches 2·h·w each, convolution 2·k·w on one of them, input and recurrence
/// gates as block-diagonal matrices 2·w·(w / num_blocks) each, out 2·w·h. The recurrence is element-wise: no product.
struct rg_lru {
    std::uint64_t lru_width = 0;
    std::uint64_t num_blocks = 0;  ///< as many as attention heads
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(lru_width, "lru_width");
        require_positive(num_blocks, "num_attention_heads");
        require_positive(conv_kernel, "conv1d_width");
        if (lru_width % num_blocks != 0) {
            throw error("lru_width", "must be a multiple of its " + std::to_string(num_blocks) + " blocks, got " +
                                         std::to_string(lru_width));
        }
        const std::uint64_t block = lru_width / num_blocks;
        floptally::cost sum;
        sum.add("mixer.input", linear{.in_features = where.hidden_size, .out_features = lru_width, .applied = 2});
        add_convolution(sum, conv_kernel, lru_width);
        sum.add("mixer.input", linear{.in_features = block, .out_features = lru_width, .applied = 2});
        sum.add("mixer.output", linear{.in_features = lru_width, .out_features = where.hidden_size});
        elementwise.add_to(sum);
        return sum;
    }
};

/// The gated short convolution of LFM2 (arXiv:2511.23404): in 2·h·3h, depthwise convolution 2·k·h, out 2·h·h per token;
/// the gates multiply element by element.
struct short_convolution {
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(conv_kernel, "conv_L_cache");
        const std::uint64_t h = where.hidden_size;
        floptally::cost sum;
        sum.add("mixer.input", linear{.in_features = h, .out_features = h, .applied = 3});
        add_convolution(sum, conv_kernel, h);
        sum.add("mixer.output", linear{.in_features = h, .out_features = h});
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
