// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Feed-forward layers: `mlp`, `gated_mlp` and `moe`; and `dense_first`, for models with dense layers before sparse
/// ones.

namespace floptally::inline v0_3 {

/// Adds the matrices gate (if `gated`), up and down. The matrices share the fields of `up`. The matrix down reads the
/// output of up, and writes `result`. If `up` has no sharding and is not an expert, up is sharded by columns and down
/// by rows.
constexpr void add_matrices(cost& sum, const component_name& component, linear up, bool gated, value::set result = 0) {
    linear down = up;
    down.in_features = up.out_features;
    down.out_features = up.in_features;
    down.weight = "down_proj";
    down.reads = up.writes;
    down.writes = result;
    up.weight = "up_proj";
    if (up.sharding.by == sharding_kind::unsaid && up.stored <= up.applied) {
        up.sharding = tensor_sharding::columns();
        down.sharding = tensor_sharding::rows();
    }
    if (gated) {
        linear gate = up;
        gate.weight = "gate_proj";
        sum.add(component, gate);
    }
    sum.add(component, up);
    sum.add(component, down);
}

/// Two matrices, up and down. They take 2·2·h·i forward FLOPs per token, with h = hidden_size and i =
/// intermediate_size.
struct mlp {
    std::uint64_t intermediate_size = 0;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(intermediate_size, "intermediate_size");
        constexpr value::set inner = value::local(0);
        floptally::cost sum;
        add_matrices(sum, "mlp",
                     linear{.in_features = where.hidden_size,
                            .out_features = intermediate_size,
                            .reads = value::stream,
                            .writes = inner},
                     false);
        elementwise.add_to(sum);
        return sum;
    }
};

/// Three matrices: gate, up and down (SwiGLU, GeGLU; arXiv:2002.05202). They take 2·3·h·i forward FLOPs per token, with
/// h = hidden_size and i = intermediate_size.
struct gated_mlp {
    std::uint64_t intermediate_size = 0;
    elementwise_parameters elementwise{};
    bool fused_gate_up = false;  ///< true: gate and up are one matrix, "gate_up_proj", with one LoRA adapter

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(intermediate_size, "intermediate_size");
        constexpr value::set inner = value::local(0);
        floptally::cost sum;
        if (fused_gate_up) {
            sum.add("mlp", linear{.in_features = where.hidden_size,
                                  .out_features = 2 * checked(intermediate_size, "mlp"),
                                  .weight = "gate_up_proj",
                                  .reads = value::stream,
                                  .writes = inner,
                                  .sharding = tensor_sharding::columns(intermediate_size)});
            sum.add("mlp", linear{.in_features = intermediate_size,
                                  .out_features = where.hidden_size,
                                  .weight = "down_proj",
                                  .reads = inner,
                                  .sharding = tensor_sharding::rows()});
        } else {
            add_matrices(sum, "mlp",
                         linear{.in_features = where.hidden_size,
                                .out_features = intermediate_size,
                                .reads = value::stream,
                                .writes = inner},
                         true);
        }
        elementwise.add_to(sum);
        return sum;
    }
};

/// Mixture of experts: a router, `num_experts_per_tok` of `num_experts` for each token, and shared experts for all
/// tokens. With h = hidden_size, E experts of width i and shared experts of width s, a token takes 2·h·E forward FLOPs
/// for the router, 2·m·h·i for each chosen expert and 2·m·h·s for the shared experts. An expert has m = 3 matrices, or
/// 2 if it is not gated. No token is dropped: every token reaches all its experts.
///
/// With a `latent_size`, the routed experts of a `moe` have inputs of that width. One shared matrix projects from
/// hidden_size to `latent_size`, and another projects back. With `zero_experts` (arXiv:2509.01322) the router chooses
/// among num_experts + zero_experts experts. The zero experts are identities and cost nothing. How many tokens choose a
/// real expert depends on the data, so a configuration alone gives only an upper bound of the FLOPs.
///
/// With `routed_is_measured`, the FLOPs of routed experts are those of one expert for each visit of a token to an
/// expert. Add the measured number of visits with `tally::add_measured(visits, …)`. The FLOPs are then exact even with
/// identity experts, dropped tokens or capacity slots.
struct moe {
    std::uint64_t num_experts = 0;
    std::uint64_t num_experts_per_tok = 0;
    std::uint64_t intermediate_size = 0;         ///< width of one routed expert
    std::uint64_t shared_intermediate_size = 0;  ///< width of all shared experts together; 0: no shared experts
    bool shared_expert_gate = false;  ///< true: a linear layer with one output scales the shared experts (Qwen2-MoE)
    bool gated = true;
    elementwise_parameters elementwise{};
    std::uint64_t latent_size = 0;   ///< width of the routed experts' inputs; 0: hidden_size
    std::uint64_t zero_experts = 0;  ///< identity experts in addition to `num_experts`
    /// True: the FLOPs of routed experts count by measured visits instead of by tokens.
    bool routed_is_measured = false;
    /// The name of the `measured` accumulator that counts visits of tokens to experts. If visits to several groups of
    /// experts (text, image) are measured separately, give each group its own name.
    std::string_view visits = "routed";
    std::uint64_t expert_bias = 0;  ///< number of biases of one expert; a token uses those of its chosen experts

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_experts, "num_experts");
        require_positive(num_experts_per_tok, "num_experts_per_tok");
        require_positive(intermediate_size, "moe_intermediate_size");
        const std::uint64_t choices = checked(num_experts, "moe.router") + zero_experts;
        if (num_experts_per_tok > choices) {
            detail::refuse("num_experts_per_tok",
                           {"must be at most the ", choices, " experts, got ", num_experts_per_tok});
        }
        const std::uint64_t matrices = gated ? 3 : 2;
        const std::uint64_t h = where.hidden_size;
        const std::uint64_t visited = detail::smaller(num_experts_per_tok, num_experts);
        floptally::cost sum;
        constexpr value::set scores = value::local(0);
        const value::set latent = latent_size == 0 ? value::stream : value::local(1);
        constexpr value::set inner = value::local(2);
        constexpr value::set result = value::local(3);
        constexpr value::set shared = value::local(4);
        sum.add("moe.router", linear{.in_features = h,
                                     .out_features = choices,
                                     .kind = term::router,
                                     .weight = "gate",
                                     .reads = value::stream,
                                     .writes = scores,
                                     .sharding = tensor_sharding::replicated()});
        linear expert{.in_features = latent_size == 0 ? h : latent_size,
                      .out_features = intermediate_size,
                      .applied = visited,
                      .stored = num_experts,
                      .reads = latent,
                      .writes = inner,
                      .sharding = tensor_sharding::experts(num_experts, intermediate_size)};
        if (routed_is_measured) {
            // All matrices of the experts form one entry, because only one entry can use a measured number.
            expert.applied = matrices;
            expert.stored = matrices * checked(num_experts, "moe.experts");
            expert.reads = 0;
            sum.add("moe.experts", expert, measured(visits));
        } else {
            add_matrices(sum, "moe.experts", expert, gated, result);
        }
        if (expert_bias != 0) {
            const std::uint64_t passed = 2 * (checked(visited, "bias") * expert_bias);
            sum.add_entry("bias", {},
                          cost_entry{.kind = term::bias,
                                     .useful = passed,
                                     .padded = passed,
                                     .parameters = checked(num_experts, "bias") * expert_bias,
                                     .sharding = tensor_sharding::replicated()});
        }
        if (latent_size != 0) {
            sum.add("moe.latent", linear{.in_features = h,
                                         .out_features = latent_size,
                                         .weight = "down_proj",
                                         .reads = value::stream,
                                         .writes = latent,
                                         .sharding = tensor_sharding::replicated()});
            sum.add("moe.latent", linear{.in_features = latent_size,
                                         .out_features = h,
                                         .weight = "up_proj",
                                         .reads = static_cast<value::set>(result | inner | scores),
                                         .sharding = tensor_sharding::replicated()});
        }
        if (shared_intermediate_size != 0) {
            add_matrices(sum, "moe.shared",
                         linear{.in_features = h,
                                .out_features = shared_intermediate_size,
                                .reads = value::stream,
                                .writes = shared},
                         gated);
            if (shared_expert_gate) {
                sum.add("moe.shared", linear{.in_features = h,
                                             .out_features = 1,
                                             .kind = term::router,
                                             .weight = "shared_expert_gate",
                                             .reads = value::stream,
                                             .sharding = tensor_sharding::replicated()});
            }
        }
        elementwise.add_to(sum);
        return sum;
    }
};

/// The first `num_dense_layers` layers are `dense`, the others `sparse`: DeepSeek's `first_k_dense_replace`.
template <class Dense, class Sparse>
struct dense_first {
    static_assert(detail::require_layer_part<Dense>() && detail::require_layer_part<Sparse>());

    std::uint64_t num_dense_layers = 0;
    Dense dense{};
    Sparse sparse{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        // The choice is not written with `?:`, because g++ 12 then frees the memory of a constant twice.
        if (where.index < num_dense_layers) {
            return dense.cost(where);
        }
        return sparse.cost(where);
    }
};

}  // namespace floptally
