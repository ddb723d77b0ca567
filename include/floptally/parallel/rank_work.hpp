// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/detail/tensor_share.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The parts of a model as one rank runs them.

namespace floptally {

/// The options of cutting a model for the ranks of a layout.
struct rank_options {
    pipeline_options pipeline{};
    /// The number of layers of every pipeline chunk, in forward order; empty: layers are dealt evenly, by `pipeline`.
    std::vector<std::uint64_t> layers_of_chunks{};
    tower_ranks towers{};
    tensor_options tensor{};
};

/// The number of layers of a model that a pipeline cuts: those of an encoder are among them, those of a tower are not.
[[nodiscard]] inline std::uint64_t num_layers(std::span<const model_part> model) {
    std::uint64_t layers = 0;
    for_each_run(model, [&layers](std::span<const model_part> parts) {
        const model_part& first = parts.front();
        const bool counts = first.first_layer != no_layer && first.role != part_role::tower;
        layers = checked(layers, "layers") + (counts ? first.repeat : 0);
    });
    return layers;
}

/// A model's parts as one rank of a tensor parallel group runs them: useful FLOPs are the rank's share, padded FLOPs
/// are those that it executes. Over all ranks the useful FLOPs add up to the model's, in each phase and under each
/// convention. Parts that are elsewhere already stay as they are.
[[nodiscard]] inline std::vector<model_part> tensor_parts(std::span<const model_part> model, std::uint64_t tp,
                                                          std::uint64_t tp_rank, std::uint64_t ep = 1,
                                                          const tensor_options& how = {}) {
    const detail::tensor_share rank(how, tp, tp_rank, ep);
    std::vector<model_part> parts(model.begin(), model.end());
    for (model_part& part : parts) {
        part.cost = part.elsewhere ? part.cost : rank.share_of(part.cost);
    }
    return parts;
}

/// A model's parts as the layout's rank runs them. Counted under a plan and evaluated over the tally of the rank's own
/// tokens they give its work; ranks that differ only in tp and pp have the same tally.
///
/// Parts of other ranks stay in the list, marked `elsewhere`: they are not counted, but a gradient that must reach a
/// weight on another rank passes through this one. Make the `flop_counter` from the parts, since `cost_of(parts)` is
/// the cost of the whole pipeline.
[[nodiscard]] inline std::vector<model_part> rank_parts(std::span<const model_part> model,
                                                        const parallel_layout& layout,
                                                        const rank_options& options = {}) {
    const parallel_sizes& sizes = layout.sizes();
    const pipeline_split split = options.layers_of_chunks.empty()
                                     ? pipeline_split::even(num_layers(model), sizes.pp, sizes.vpp, options.pipeline)
                                     : pipeline_split(sizes.pp, options.layers_of_chunks);
    if (split.vpp() != sizes.vpp) {
        detail::refuse("layers_of_chunks",
                       {"must be pp x vpp numbers, ", sizes.pp * sizes.vpp, ", got ", options.layers_of_chunks.size()});
    }
    const parallel_coordinates where = layout.coordinates();
    const std::vector<model_part> of_tp = tensor_parts(model, sizes.tp, where.tp, sizes.ep, options.tensor);
    return split.parts_of(of_tp, where.pp, options.towers);
}

/// The cost of the parts that a rank runs itself, without those that are elsewhere.
[[nodiscard]] inline cost cost_on_rank(std::span<const model_part> parts) {
    cost sum;
    for (const model_part& part : parts) {
        sum += part.elsewhere ? cost{} : part.repeat * part.cost;
    }
    return sum;
}

}  // namespace floptally
