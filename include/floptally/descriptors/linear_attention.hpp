// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/state_space.hpp>

/// @file
/// Linear attention and delta rules: `gated_delta_net`, `kda`, RWKV, mLSTM.

namespace floptally {

/// Gated delta net (arXiv:2412.06464; Qwen3-Next): one state of dk x dv a value head, which the delta rule corrects.
///
/// Forward, per token, K = num_key_heads·dk, V = num_value_heads·dv: q, k, v and gate 2·h·(2K + 2V), without an
/// `output_gate` 2·h·(2K + V); b and a 2·h·2·num_value_heads; convolution 2·k·(2K + V) over q, k and v; state, a value
/// head, 2·dk·dv each to look up the key (kᵀS), to add the correction (k·δᵀ) and to read (qᵀS); out 2·V·h.
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
        constexpr value::set qkvz = value::made(0);
        constexpr value::set gates = value::made(1);
        constexpr value::set qkv = value::made(2);
        constexpr value::set read = value::made(3);
        const std::uint64_t convolved = checked(2 * keys, "mixer.convolution") + values;
        add_projection(sum, "mixer.input", output_gate ? "in_proj_qkvz" : "in_proj_qkv", h,
                       output_gate ? checked(convolved, "mixer.input") + values : convolved, value::stream, qkvz);
        add_projection(sum, "mixer.input", "in_proj_ba", h, 2 * checked(num_value_heads, "mixer.input"), value::stream,
                       gates);
        add_convolution(sum, conv_kernel, convolved, term::linear, qkvz, qkv);
        sum.add_state("mixer.state", 3 * (checked(values, "mixer.state") * key_head_dim), term::delta_rule,
                      static_cast<value::set>(qkv | gates), read, dealing::even());
        add_projection(sum, "mixer.output", "out_proj", values, h, static_cast<value::set>(read | qkvz));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Kimi delta attention (arXiv:2510.26692): the gated delta rule with a decay for each channel. H heads of d.
///
/// Forward, per token, w = H·d: q, k and v 2·h·3w, convolution 2·k·3w, forget gate and output gate through d each
/// 2·h·d + 2·d·w (a gate of full rank 2·h·w), b 2·h·H; state 3 · 2·d·d a head as in `gated_delta_net`; out 2·w·h.
struct kda {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t conv_kernel = 0;
    elementwise_parameters elementwise{};
    bool full_output_gate = false;  ///< one matrix of full rank, as in Kimi K3
    bool full_forget_gate = false;  ///< likewise, in Ling 3.0 both

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "linear_num_heads");
        require_positive(head_dim, "linear_head_dim");
        require_positive(conv_kernel, "linear_conv_kernel_dim");
        const std::uint64_t h = where.hidden_size;
        const std::uint64_t width = checked(num_heads, "mixer.input") * head_dim;
        floptally::cost sum;
        constexpr value::set gates = value::made(6);  // forget gate and b
        constexpr value::set output_gate = value::made(7);
        constexpr value::set read = value::made(8);
        constexpr value::set low_forget_gate = value::made(9);
        constexpr value::set low_output_gate = value::made(10);
        value::set state_reads = gates;
        struct branch {
            std::string_view projection;
            std::string_view convolution;
            value::set projected;
            value::set convolved;
        };
        constexpr branch branches[] = {{"q_proj", "q_conv1d", value::made(0), value::made(3)},
                                       {"k_proj", "k_conv1d", value::made(1), value::made(4)},
                                       {"v_proj", "v_conv1d", value::made(2), value::made(5)}};
        for (const branch& one : branches) {
            add_projection(sum, "mixer.input", one.projection, h, width, value::stream, one.projected);
            add_convolution(sum, conv_kernel, width, term::linear, one.projected, one.convolved, one.convolution);
            state_reads = static_cast<value::set>(state_reads | one.convolved);
        }
        if (full_forget_gate) {
            add_projection(sum, "mixer.input", "f_proj", h, width, value::stream, gates);
        } else {
            add_projection(sum, "mixer.input", "f_a_proj", h, head_dim, value::stream, low_forget_gate,
                           dealing::replicated());
            add_projection(sum, "mixer.input", "f_b_proj", head_dim, width, low_forget_gate, gates);
        }
        if (full_output_gate) {
            add_projection(sum, "mixer.input", "g_proj", h, width, value::stream, output_gate);
        } else {
            add_projection(sum, "mixer.input", "g_a_proj", h, head_dim, value::stream, low_output_gate,
                           dealing::replicated());
            add_projection(sum, "mixer.input", "g_b_proj", head_dim, width, low_output_gate, output_gate);
        }
        add_projection(sum, "mixer.input", "b_proj", h, num_heads, value::stream, gates);
        sum.add_state("mixer.state", 3 * (checked(width, "mixer.state") * head_dim), term::delta_rule, state_reads,
                      read, dealing::even());
        add_projection(sum, "mixer.output", "o_proj", width, h, static_cast<value::set>(read | output_gate));
        elementwise.add_to(sum);
        return sum;
    }
};

/// Lightning attention (arXiv:2401.04658; MiniMax-01, arXiv:2501.08313): linear attention with a decay and an output
/// gate. Forward, per token, w = H·d: q, k and v 2·h·3w, gate 2·h·w, state 2·d·d a head to update and 2·d·d to read,
/// out 2·w·h.
struct lightning_attention {
    std::uint64_t num_heads = 0;
    std::uint64_t head_dim = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_attention_heads");
        require_positive(head_dim, "head_dim");
        const checked width = checked(num_heads, "mixer.input") * head_dim;
        floptally::cost sum;
        constexpr value::set qkv = value::made(0);
        constexpr value::set gate = value::made(1);
        constexpr value::set read = value::made(2);
        add_projection(sum, "mixer.input", "qkv_proj", where.hidden_size, 3 * width, value::stream, qkv);
        add_projection(sum, "mixer.input", "output_gate", where.hidden_size, width, value::stream, gate);
        sum.add_state("mixer.state", 2 * (checked(width, "mixer.state") * head_dim), term::state, qkv, read,
                      dealing::even());
        add_projection(sum, "mixer.output", "out_proj", width, where.hidden_size, static_cast<value::set>(read | gate));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The mLSTM layer of xLSTM (arXiv:2405.04517, section 2.3): a matrix memory dk x dv and a normaliser of dk a head.
///
/// Forward, per token and with all heads' widths K and V: q and k 2·h·2K, v and output gate 2·h·2V, input and forget
/// gates 2·h·2H; state, a head, 2·dk·dv to store k·vᵀ, 2·dk·dv to read it and 2·dk to read the normaliser; out 2·V·h.
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
        constexpr value::set stored = value::made(0);  // q, k, v and the gates of the memory
        constexpr value::set output_gate = value::made(1);
        constexpr value::set read = value::made(2);
        add_projection(sum, "mixer.input", "q", h, keys, value::stream, stored);
        add_projection(sum, "mixer.input", "k", h, keys, value::stream, stored);
        add_projection(sum, "mixer.input", "v", h, values, value::stream, stored);
        add_projection(sum, "mixer.input", "ogate_preact", h, values, value::stream, output_gate);
        add_projection(sum, "mixer.input", "igate_preact", h, num_heads, value::stream, stored);
        add_projection(sum, "mixer.input", "fgate_preact", h, num_heads, value::stream, stored);
        sum.add_state("mixer.state", 2 * memory + keys, term::state, stored, read, dealing::even());
        add_projection(sum, "mixer.output", "out_proj", values, h, static_cast<value::set>(read | output_gate));
        elementwise.add_to(sum);
        return sum;
    }
};

/// The time mix of RWKV-4 (arXiv:2305.13048, section 3.1): receptance, key and value 2·h·a each and output 2·a·h per
/// token, a = `attention_size`. Its recurrence is element-wise: no product.
struct rwkv_time_mix {
    std::uint64_t attention_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(attention_size, "attention_hidden_size");
        constexpr value::set mixed = value::made(0);
        floptally::cost sum;
        for (const std::string_view weight : {"receptance", "key", "value"}) {
            add_projection(sum, "mixer.input", weight, where.hidden_size, attention_size, value::stream, mixed);
        }
        add_projection(sum, "mixer.output", "output", attention_size, where.hidden_size, mixed);
        elementwise.add_to(sum);
        return sum;
    }
};

/// The channel mix of RWKV-4, its feed-forward: key 2·h·i, value 2·i·h and receptance 2·h·h per token.
struct rwkv_channel_mix {
    std::uint64_t intermediate_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(intermediate_size, "intermediate_size");
        const std::uint64_t h = where.hidden_size;
        constexpr value::set keys = value::made(0);
        floptally::cost sum;
        add_projection(sum, "mlp", "key", h, intermediate_size, value::stream, keys);
        add_projection(sum, "mlp", "value", intermediate_size, h, keys);
        add_projection(sum, "mlp", "receptance", h, h, value::stream);
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
