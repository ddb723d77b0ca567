// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/text/error.hpp>

/// @file
/// State space models (Mamba, Mamba-2), RG-LRU and short convolutions.

namespace floptally::inline v0_3 {

/// Adds a causal depthwise convolution over `kernel_size` tokens, which takes 2·kernel_size·channels FLOPs per token.
///
/// Kernel taps that reach before the first token of a sequence count too, because GPU kernels compute them.
constexpr void add_convolution(floptally::cost& sum, std::uint64_t kernel_size, std::uint64_t channels,
                               term kind = term::linear, value::set reads = 0, value::set writes = 0,
                               std::string_view weight = "conv1d") {
    sum.add("mixer.convolution", linear{.in_features = kernel_size,
                                        .out_features = channels,
                                        .kind = kind,
                                        .weight = weight,
                                        .reads = reads,
                                        .writes = writes,
                                        .adaptable = false,
                                        .sharding = tensor_sharding::even()});
}

/// Adds a linear layer of a mixer, the part of a layer that replaces attention. `reads` and `writes` are the
/// activations that the linear layer reads and writes.
constexpr void add_projection(floptally::cost& sum, const char* component, std::string_view weight, std::uint64_t in,
                              std::uint64_t out, value::set reads, value::set writes = 0,
                              const tensor_sharding& sharding = tensor_sharding::even()) {
    sum.add(component, linear{.in_features = in,
                              .out_features = out,
                              .weight = weight,
                              .reads = reads,
                              .writes = writes,
                              .sharding = sharding});
}

/// Mamba-1, the S6 selective state space (arXiv:2312.00752, algorithm 2): each of i = `inner_size` channels has a state
/// of n = `state_size` numbers.
///
/// Forward FLOPs per token with h = hidden_size, i = inner_size, n = state_size and k = conv_kernel: the input matrix
/// takes 2·h·2i, the convolution 2·k·i, x_proj 2·i·(dt_rank + 2n), dt_proj 2·dt_rank·i. The state takes 2·i·n to update
/// and 2·i·n to read. The output matrix takes 2·i·h. These are the FLOPs of the scan as the paper defines it. Kernels
/// that compute it in chunks do more work; the extra work is not counted.
struct mamba {
    std::uint64_t inner_size = 0;  ///< channels: expand · hidden_size
    std::uint64_t state_size = 0;
    std::uint64_t dt_rank = 0;
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(inner_size, "intermediate_size");
        require_positive(state_size, "state_size");
        require_positive(dt_rank, "time_step_rank");
        require_positive(conv_kernel, "conv_kernel");
        const std::uint64_t from_x = dt_rank + 2 * checked(state_size, "mixer.input");
        floptally::cost sum;
        constexpr value::set projected = value::local(0);
        constexpr value::set x = value::local(1);
        constexpr value::set selected = value::local(2);
        constexpr value::set dt = value::local(3);
        constexpr value::set read = value::local(4);
        add_projection(sum, "mixer.input", "in_proj", where.hidden_size, 2 * checked(inner_size, "mixer.input"),
                       value::stream, projected);
        add_convolution(sum, conv_kernel, inner_size, term::scan_convolution, projected, x);
        add_projection(sum, "mixer.input", "x_proj", inner_size, from_x, x, selected);
        add_projection(sum, "mixer.input", "dt_proj", dt_rank, inner_size, selected, dt);
        sum.add_state("mixer.state", 2 * (checked(inner_size, "mixer.state") * state_size), term::scan,
                      static_cast<value::set>(x | selected | dt), read, tensor_sharding::even());
        add_projection(sum, "mixer.output", "out_proj", inner_size, where.hidden_size,
                       static_cast<value::set>(read | projected));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Mamba-2, SSD (arXiv:2405.21060). A head has p = `head_dim` channels with n = `state_size` numbers of state each. The
/// heads of one of g = `n_groups` groups share B and C.
///
/// Forward FLOPs per token with h = hidden_size, k = conv_kernel, n = state_size, g = n_groups and i =
/// num_heads·head_dim (which may differ from expand·h): the input matrix takes 2·h·(2i + 2·g·n + num_heads), the
/// convolution 2·k·(i + 2·g·n). The state takes 2·i·n to update and 2·i·n to read. The output matrix takes 2·i·h.
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
        const checked inner = checked(num_heads, "mixer.input") * head_dim;
        const checked convolved = inner + 2 * (checked(n_groups, "mixer.input") * state_size);
        const std::uint64_t projected = inner + convolved + num_heads;
        floptally::cost sum;
        constexpr value::set all = value::local(0);
        constexpr value::set x_b_c = value::local(1);
        constexpr value::set read = value::local(2);
        add_projection(sum, "mixer.input", "in_proj", where.hidden_size, projected, value::stream, all);
        add_convolution(sum, conv_kernel, convolved, term::scan_convolution, all, x_b_c);
        sum.add_state("mixer.state", 2 * (checked(inner, "mixer.state") * state_size), term::scan,
                      static_cast<value::set>(all | x_b_c), read, tensor_sharding::even());
        add_projection(sum, "mixer.output", "out_proj", inner, where.hidden_size, static_cast<value::set>(read | all));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The recurrent block of Griffin and RecurrentGemma with its RG-LRU (arXiv:2402.19427, section 2.4).
///
/// Forward FLOPs per token with h = hidden_size, k = conv_kernel and w = `lru_width`: two branches take 2·h·w each, and
/// a convolution on one of them takes 2·k·w. The input gate and the recurrence gate are block-diagonal matrices and
/// take 2·w·(w / num_blocks) each. The output takes 2·w·h. The recurrence is element-wise; its FLOPs are not counted.
struct rg_lru {
    std::uint64_t lru_width = 0;
    std::uint64_t num_blocks = 0;  ///< number of blocks of each gate matrix; it equals the number of attention heads
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(lru_width, "lru_width");
        require_positive(num_blocks, "num_attention_heads");
        require_positive(conv_kernel, "conv1d_width");
        if (lru_width % num_blocks != 0) {
            detail::refuse("lru_width",
                           {"must be a multiple of the number of blocks (", num_blocks, "), got ", lru_width});
        }
        const std::uint64_t block = lru_width / num_blocks;
        floptally::cost sum;
        constexpr value::set y = value::local(0);
        constexpr value::set x = value::local(1);
        constexpr value::set convolved = value::local(2);
        constexpr value::set gates = value::local(3);
        add_projection(sum, "mixer.input", "linear_y", where.hidden_size, lru_width, value::stream, y);
        add_projection(sum, "mixer.input", "linear_x", where.hidden_size, lru_width, value::stream, x);
        add_convolution(sum, conv_kernel, lru_width, term::linear, x, convolved);
        sum.add("mixer.input", linear{.in_features = block,
                                      .out_features = lru_width,
                                      .applied = 2,
                                      .weight = "rg_lru",
                                      .reads = convolved,
                                      .writes = gates,
                                      .adaptable = false,
                                      .sharding = tensor_sharding::even()});
        add_projection(sum, "mixer.output", "linear_out", lru_width, where.hidden_size,
                       static_cast<value::set>(y | convolved | gates));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The gated short convolution of LFM2 (arXiv:2511.23404). With h = hidden_size and k = conv_kernel, a token takes
/// 2·h·3h forward FLOPs for the input matrix, 2·k·h for the depthwise convolution and 2·h·h for the output matrix. The
/// gates multiply element by element; these FLOPs are not counted.
struct short_convolution {
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(conv_kernel, "conv_L_cache");
        const std::uint64_t h = where.hidden_size;
        floptally::cost sum;
        constexpr value::set projected = value::local(0);
        constexpr value::set convolved = value::local(1);
        add_projection(sum, "mixer.input", "in_proj", h, 3 * checked(h, "mixer.input"), value::stream, projected);
        add_convolution(sum, conv_kernel, h, term::linear, projected, convolved);
        add_projection(sum, "mixer.output", "out_proj", h, h, static_cast<value::set>(projected | convolved));
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
