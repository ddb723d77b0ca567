// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/state_space.hpp>

/// @file
/// Linear attention and delta rules: `gated_delta_net`, `kda`, RWKV, mLSTM.

namespace floptally::inline v0_3 {

/// Gated delta net (arXiv:2412.06464; Qwen3-Next). The delta rule updates a state of dk x dv for each value head.
///
/// Forward FLOPs per token with h = hidden_size, k = conv_kernel, K = num_key_heads·dk and V = num_value_heads·dv: q,
/// k, v and gate take 2·h·(2K + 2V), or 2·h·(2K + V) without an `output_gate`. The gates b and a take
/// 2·h·2·num_value_heads. The convolution over q, k and v takes 2·k·(2K + V). The state of each value head takes
/// 2·dk·dv three times: to look up the key (kᵀS), to add the correction (k·δᵀ) and to read (qᵀS). The output takes
/// 2·V·h.
struct gated_delta_net {
    std::uint64_t num_key_heads = 0;
    std::uint64_t num_value_heads = 0;
    std::uint64_t key_head_dim = 0;
    std::uint64_t value_head_dim = 0;
    std::uint64_t conv_kernel = 0;
    bool output_gate = true;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_key_heads, "linear_num_key_heads");
        require_positive(num_value_heads, "linear_num_value_heads");
        require_positive(key_head_dim, "linear_key_head_dim");
        require_positive(value_head_dim, "linear_value_head_dim");
        require_positive(conv_kernel, "linear_conv_kernel_dim");
        const std::uint64_t h = where.hidden_size;
        const checked keys = checked(num_key_heads, "mixer.input") * key_head_dim;
        const checked values = checked(num_value_heads, "mixer.input") * value_head_dim;
        floptally::cost sum;
        constexpr value::set qkvz = value::local(0);
        constexpr value::set gates = value::local(1);
        constexpr value::set qkv = value::local(2);
        constexpr value::set read = value::local(3);
        const std::uint64_t convolved = checked(2 * keys, "mixer.convolution") + values;
        add_projection(sum, "mixer.input", output_gate ? "in_proj_qkvz" : "in_proj_qkv", h,
                       output_gate ? checked(convolved, "mixer.input") + values : convolved, value::stream, qkvz);
        add_projection(sum, "mixer.input", "in_proj_ba", h, 2 * checked(num_value_heads, "mixer.input"), value::stream,
                       gates);
        add_convolution(sum, conv_kernel, convolved, term::linear, qkvz, qkv);
        sum.add_state("mixer.state", 3 * (checked(values, "mixer.state") * key_head_dim), term::delta_rule,
                      static_cast<value::set>(qkv | gates), read, tensor_sharding::even());
        add_projection(sum, "mixer.output", "out_proj", values, h, static_cast<value::set>(read | qkvz));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Kimi delta attention (arXiv:2510.26692): the gated delta rule with one decay for each channel. It has H heads of
/// width d.
///
/// Forward FLOPs per token with h = hidden_size, k = conv_kernel and w = H·d: q, k and v take 2·h·3w, and their
/// convolution takes 2·k·3w. The forget gate and the output gate take 2·h·d + 2·d·w each, or 2·h·w if they have full
/// rank. The gate b takes 2·h·H. The state of each head takes 2·d·d three times: to look up, correct and read, as in
/// `gated_delta_net`. The output takes 2·w·h.
struct kda {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};
    bool full_output_gate = false;  ///< true: the output gate is one matrix of full rank, as in Kimi K3
    bool full_forget_gate = false;  ///< true: the forget gate is one matrix of full rank, as in Ling 3.0

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "linear_num_heads");
        require_positive(head_dim, "linear_head_dim");
        require_positive(conv_kernel, "linear_conv_kernel_dim");
        const std::uint64_t h = where.hidden_size;
        const std::uint64_t width = checked(num_heads, "mixer.input") * head_dim;
        floptally::cost sum;
        constexpr value::set gates = value::local(6);  // values of the forget gate and of the gate b
        constexpr value::set output_gate = value::local(7);
        constexpr value::set read = value::local(8);
        constexpr value::set low_forget_gate = value::local(9);
        constexpr value::set low_output_gate = value::local(10);
        value::set state_reads = gates;
        struct branch {
            std::string_view projection;
            std::string_view convolution;
            value::set projected;
            value::set convolved;
        };
        constexpr branch branches[] = {{"q_proj", "q_conv1d", value::local(0), value::local(3)},
                                       {"k_proj", "k_conv1d", value::local(1), value::local(4)},
                                       {"v_proj", "v_conv1d", value::local(2), value::local(5)}};
        for (const branch& input : branches) {
            add_projection(sum, "mixer.input", input.projection, h, width, value::stream, input.projected);
            add_convolution(sum, conv_kernel, width, term::linear, input.projected, input.convolved, input.convolution);
            state_reads = static_cast<value::set>(state_reads | input.convolved);
        }
        if (full_forget_gate) {
            add_projection(sum, "mixer.input", "f_proj", h, width, value::stream, gates);
        } else {
            add_projection(sum, "mixer.input", "f_a_proj", h, head_dim, value::stream, low_forget_gate,
                           tensor_sharding::replicated());
            add_projection(sum, "mixer.input", "f_b_proj", head_dim, width, low_forget_gate, gates);
        }
        if (full_output_gate) {
            add_projection(sum, "mixer.input", "g_proj", h, width, value::stream, output_gate);
        } else {
            add_projection(sum, "mixer.input", "g_a_proj", h, head_dim, value::stream, low_output_gate,
                           tensor_sharding::replicated());
            add_projection(sum, "mixer.input", "g_b_proj", head_dim, width, low_output_gate, output_gate);
        }
        add_projection(sum, "mixer.input", "b_proj", h, num_heads, value::stream, gates);
        sum.add_state("mixer.state", 3 * (checked(width, "mixer.state") * head_dim), term::delta_rule, state_reads,
                      read, tensor_sharding::even(), accumulator::tokens, static_cast<std::uint32_t>(head_dim));
        add_projection(sum, "mixer.output", "o_proj", width, h, static_cast<value::set>(read | output_gate));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Lightning attention (arXiv:2401.04658; MiniMax-01, arXiv:2501.08313): linear attention with a decay and an output
/// gate. Forward FLOPs per token with h = hidden_size and H heads of width d, w = H·d: q, k and v take 2·h·3w, the gate
/// takes 2·h·w. The state of each head takes 2·d·d to update and 2·d·d to read. The output takes 2·w·h.
struct lightning_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_attention_heads");
        require_positive(head_dim, "head_dim");
        const checked width = checked(num_heads, "mixer.input") * head_dim;
        floptally::cost sum;
        constexpr value::set qkv = value::local(0);
        constexpr value::set gate = value::local(1);
        constexpr value::set read = value::local(2);
        add_projection(sum, "mixer.input", "qkv_proj", where.hidden_size, 3 * width, value::stream, qkv);
        add_projection(sum, "mixer.input", "output_gate", where.hidden_size, width, value::stream, gate);
        sum.add_state("mixer.state", 2 * (checked(width, "mixer.state") * head_dim), term::state, qkv, read,
                      tensor_sharding::even());
        add_projection(sum, "mixer.output", "out_proj", width, where.hidden_size, static_cast<value::set>(read | gate));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The mLSTM layer of xLSTM (arXiv:2405.04517, section 2.3): a matrix memory dk x dv and a normaliser of dk for each
/// head.
///
/// Forward FLOPs per token with h = hidden_size, H heads, K = H·dk and V = H·dv: q and k take 2·h·2K. v and the output
/// gate take 2·h·2V. The input and forget gates take 2·h·2H. The memory of each head takes 2·dk·dv to store k·vᵀ,
/// 2·dk·dv to read it, and 2·dk to read the normaliser. The output takes 2·V·h.
struct mlstm {
    std::uint64_t num_heads = 0;
    std::uint64_t key_head_dim = 0;
    std::uint64_t value_head_dim = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_heads");
        require_positive(key_head_dim, "qk_head_dim");
        require_positive(value_head_dim, "v_head_dim");
        const std::uint64_t h = where.hidden_size;
        const std::uint64_t keys = checked(num_heads, "mixer.input") * key_head_dim;
        const std::uint64_t values = checked(num_heads, "mixer.input") * value_head_dim;
        const checked memory = checked(keys, "mixer.state") * value_head_dim;
        floptally::cost sum;
        constexpr value::set stored = value::local(0);  // q, k, v and the input and forget gates
        constexpr value::set output_gate = value::local(1);
        constexpr value::set read = value::local(2);
        add_projection(sum, "mixer.input", "q", h, keys, value::stream, stored);
        add_projection(sum, "mixer.input", "k", h, keys, value::stream, stored);
        add_projection(sum, "mixer.input", "v", h, values, value::stream, stored);
        add_projection(sum, "mixer.input", "ogate_preact", h, values, value::stream, output_gate);
        add_projection(sum, "mixer.input", "igate_preact", h, num_heads, value::stream, stored);
        add_projection(sum, "mixer.input", "fgate_preact", h, num_heads, value::stream, stored);
        sum.add_state("mixer.state", 2 * memory + keys, term::state, stored, read, tensor_sharding::even());
        add_projection(sum, "mixer.output", "out_proj", values, h, static_cast<value::set>(read | output_gate));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The time mix of RWKV-4 (arXiv:2305.13048, section 3.1). With h = hidden_size and a = `attention_size`, a token takes
/// 2·h·a forward FLOPs each for receptance, key and value, and 2·a·h for the output. The recurrence is element-wise and
/// counts no FLOPs.
struct rwkv_time_mix {
    std::uint64_t attention_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(attention_size, "attention_hidden_size");
        constexpr value::set mixed = value::local(0);
        floptally::cost sum;
        for (const std::string_view weight : {"receptance", "key", "value"}) {
            add_projection(sum, "mixer.input", weight, where.hidden_size, attention_size, value::stream, mixed);
        }
        add_projection(sum, "mixer.output", "output", attention_size, where.hidden_size, mixed);
        elementwise.add_to(sum);
        return sum;
    }
};

/// The channel mix (feed-forward) of RWKV-4. With h = hidden_size and i = intermediate_size, a token takes 2·h·i
/// forward FLOPs for the key, 2·i·h for the value and 2·h·h for the receptance.
struct rwkv_channel_mix {
    std::uint64_t intermediate_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(intermediate_size, "intermediate_size");
        const std::uint64_t h = where.hidden_size;
        constexpr value::set keys = value::local(0);
        floptally::cost sum;
        add_projection(sum, "mlp", "key", h, intermediate_size, value::stream, keys);
        add_projection(sum, "mlp", "value", intermediate_size, h, keys);
        add_projection(sum, "mlp", "receptance", h, h, value::stream);
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
