// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/text/error.hpp>

/// @file
/// HSTU (arXiv:2402.17152): its layer, the matrices before and after the layers, and the model.

namespace floptally::inline v0_3 {

/// A layer of HSTU (arXiv:2402.17152): gated attention without softmax, and no feed-forward.
///
/// Forward FLOPs with h = hidden_size and N heads: u, v, q and k are one matrix and take 2·h·N·(2·linear_dim +
/// 2·attention_dim) per token. The output takes 2·κ·N·linear_dim·h per token. An attended pair takes 2·N·attention_dim
/// for QKᵀ and 2·N·linear_dim for PV. The output matrix reads κ concatenated blocks: only the gated attention (κ = 1),
/// or also u and the attention (κ = 3, `concat_ua`).
struct hstu_layer {
    std::uint64_t num_heads = 0;
    std::uint64_t attention_dim = 0;  ///< width of a head's queries and keys
    std::uint64_t linear_dim = 0;     ///< width of a head's values and of its gate u
    std::uint64_t output_blocks = 1;  ///< κ, the number of blocks that are concatenated before the output matrix: 1, 2
                                      ///< or 3
    bool residual = true;
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        require_positive(num_heads, "num_attention_heads");
        require_positive(attention_dim, "attention_dim");
        require_positive(linear_dim, "linear_dim");
        if (output_blocks < 1 || output_blocks > 3) {
            detail::refuse("output_blocks", {"must be 1, 2 or 3, got ", output_blocks});
        }
        const checked n(num_heads, "hstu.uvqk");
        const checked width = n * linear_dim;
        constexpr value::set uvqk = value::local(0);
        constexpr value::set attended = value::local(1);
        constexpr value::set gated = value::local(2);
        const tensor_sharding heads = tensor_sharding::heads(num_heads);
        floptally::cost sum;
        sum.add("hstu.uvqk", linear{.in_features = where.hidden_size,
                                    .out_features = 2 * n * (checked(linear_dim, "hstu.uvqk") + attention_dim),
                                    .weight = "uvqk_proj",
                                    .reads = value::stream,
                                    .writes = uvqk,
                                    .sharding = heads});
        sum.add_pairs("hstu.qk", term::scores, n * attention_dim, where.attends, {uvqk, uvqk, uvqk, 0}, heads);
        sum.add_pairs("hstu.pv", term::values, width, where.attends, {uvqk, uvqk, 0, attended}, heads);
        sum.add_elementwise("hstu.elementwise", term::gating, width, {uvqk, attended, 0, gated}, heads);
        sum.add("hstu.output", linear{.in_features = output_blocks * width,
                                      .out_features = where.hidden_size,
                                      .weight = "o_proj",
                                      .reads = gated,
                                      .sharding = heads});
        if (residual) {
            sum.add_elementwise("hstu.elementwise", term::residual, n * where.hidden_size, {}, heads);
        }
        elementwise.add_to(sum);
        return sum;
    }
};

/// A chain of matrices before the layers (from the width of an embedding table to hidden_size) or after them (to one
/// output for each task). The matrices run over all rows (tokens) of a sequence, or over one part such as the targets.
struct hstu_mlp {
    static constexpr std::size_t max_layers = 8;

    std::uint64_t input_size = 0;                         ///< input width of the first matrix; 0: hidden_size
    std::array<std::uint64_t, max_layers> layer_sizes{};  ///< output widths; the first 0 ends the list
    hstu_rows rows = hstu_rows::all;
    std::uint64_t stride = 1;  ///< the matrices run on the first of every `stride` rows; 2 if items and actions
                               ///< alternate
    bool bias = true;

    /// Returns the number of matrices.
    [[nodiscard]] constexpr std::size_t num_layers() const {
        std::size_t layers = 0;
        while (layers < max_layers && layer_sizes[layers] != 0) {
            ++layers;
        }
        return layers;
    }

    /// Returns the cost of the matrices. `kind` is `term::preprocessing` or `term::lm_head`.
    [[nodiscard]] constexpr floptally::cost cost(const component_name& component, term kind,
                                                 std::uint64_t hidden_size) const {
        floptally::cost sum;
        std::uint64_t in = input_size == 0 ? hidden_size : input_size;
        value::set reads = value::stream;
        checked biases(0, component.view());
        for (std::size_t i = 0; i < num_layers(); ++i) {
            const value::set writes = value::local(static_cast<unsigned>(i));
            const linear matrix{
                .in_features = in,
                .out_features = layer_sizes[i],
                .kind = kind,
                .reads = reads,
                .writes = writes,
                .sharding = tensor_sharding::repeated()};  // every rank runs all tokens, as in recsys-examples
            if (rows == hstu_rows::all && stride == 1) {
                sum.add(component, matrix);
            } else {
                sum.add(component, matrix, unit::hstu_part(rows, stride));
            }
            in = layer_sizes[i];
            reads = writes;
            biases += bias ? in : 0;
        }
        sum.add_parameters("bias", term::bias, biases);
        return sum;
    }
};

/// A model of HSTU layers, without its embedding tables: a look-up is not a matrix product.
struct hstu {
    static constexpr std::size_t max_mlps = 4;

    std::uint64_t hidden_size = 0;
    std::uint64_t num_layers = 0;
    hstu_layer layer{};
    layer_masks masks{mask::hstu()};
    /// Parallel MLPs before the HSTU layers. An MLP without layers has no FLOPs.
    std::array<hstu_mlp, max_mlps> preprocessing{};
    std::array<hstu_mlp, max_mlps> prediction{};
    elementwise_parameters final_elementwise{};

    /// Calls `add` with every part of the model in forward order. A plan that freezes or recomputes only some layers
    /// needs the parts (see `parts_of`).
    template <class Add>
    constexpr void for_each_part(Add add) const {
        require_positive(hidden_size, "hidden_size");
        require_positive(num_layers, "num_layers");
        masks.require_layers(num_layers);
        const auto add_part = [&add](const char* name, part_role role, const floptally::cost& sum) {
            if (!sum.entries().empty()) {
                add(model_part{.name = name, .role = role, .cost = sum});
            }
        };
        for (const hstu_mlp& mlp : preprocessing) {
            const std::size_t last = mlp.num_layers();
            if (last != 0 && mlp.layer_sizes[last - 1] != hidden_size) {
                detail::refuse("preprocessing_mlps", {"the last layer must be as wide as hidden_size (", hidden_size,
                                                      "), got ", mlp.layer_sizes[last - 1]});
            }
            add_part("preprocessing", part_role::layer,
                     mlp.cost("hstu.preprocessing", term::preprocessing, hidden_size));
        }
        for (std::uint64_t index = 0; index < num_layers;) {
            std::uint64_t next = index + 1;
            while (next < num_layers && masks[next] == masks[index]) {
                ++next;
            }
            add(model_part{"layer", part_role::layer, layer.cost({index, hidden_size, masks[index]}), index,
                           next - index});
            index = next;
        }
        floptally::cost last;
        final_elementwise.add_to(last);
        add_part("norm", part_role::layer, last);
        for (const hstu_mlp& mlp : prediction) {
            add_part("prediction", part_role::head, mlp.cost("hstu.prediction", term::lm_head, hidden_size));
        }
    }

    [[nodiscard]] constexpr floptally::cost cost() const {
        floptally::cost sum;
        for_each_part([&sum](const model_part& next) { sum += next.repeat * next.cost; });
        return sum;
    }
};

}  // namespace floptally
