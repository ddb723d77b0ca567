// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/tensor_share.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/tensor_parallel.hpp>

namespace floptally {

/// How a model is cut for the ranks of a layout.
struct rank_options {
    pipeline_options pipeline{};
    /// The layers of every chunk of the pipeline, in forward order; empty: dealt evenly, by `pipeline`.
    std::vector<std::uint64_t> layers_of_chunks{};
    tower_ranks towers{};
    tensor_options tensor{};
};

/// The layers of a model, those of an encoder among them. A tower's are not: a pipeline does not cut it.
[[nodiscard]] inline std::uint64_t num_layers(std::span<const model_part> model) {
    std::uint64_t layers = 0;
    for_each_run(model, [&layers](std::span<const model_part> parts) {
        const model_part& first = parts.front();
        const bool counts = first.first_layer != no_layer && first.role != part_role::tower;
        layers = checked_add(layers, counts ? first.repeat : 0, "layers");
    });
    return layers;
}

/// A model's parts as one rank of a tensor parallel group runs them: useful FLOPs are the rank's part, padded ones
/// what it executes. Over all ranks the useful ones add up to the model's, in every phase and under every convention.
/// Parts that are elsewhere already, another module's, stay as they are.
[[nodiscard]] inline std::vector<model_part> tensor_parts(std::span<const model_part> model, std::uint64_t tp,
                                                          std::uint64_t tp_rank, std::uint64_t ep = 1,
                                                          const tensor_options& how = {}) {
    const detail::tensor_share rank(how, tp, tp_rank, ep);
    std::vector<model_part> parts(model.begin(), model.end());
    for (model_part& part : parts) {
        part.cost = part.elsewhere ? part.cost : rank.of(part.cost);
    }
    return parts;
}

/// A model's parts as the layout's rank runs them. Counted under a plan and evaluated over the tally of the rank's own
/// tokens they give its work; the tallies of ranks that differ only in tp and pp are the same.
///
/// Parts of other ranks stay in the list, marked `elsewhere`: they are not counted, but a gradient that must reach a
/// weight on another rank passes through this one. Count by the parts: their `cost_of` is that of the whole pipeline.
[[nodiscard]] inline std::vector<model_part> rank_parts(std::span<const model_part> model,
                                                        const parallel_layout& layout,
                                                        const rank_options& options = {}) {
    const parallel_sizes& sizes = layout.sizes();
    const pipeline_split split = options.layers_of_chunks.empty()
                                     ? pipeline_split::even(num_layers(model), sizes.pp, sizes.vpp, options.pipeline)
                                     : pipeline_split(sizes.pp, options.layers_of_chunks);
    if (split.vpp() != sizes.vpp) {
        throw error("layers_of_chunks", "must be pp x vpp numbers, " + std::to_string(sizes.pp * sizes.vpp) + ", got " +
                                            std::to_string(options.layers_of_chunks.size()));
    }
    const parallel_coordinates where = layout.coordinates();
    const std::vector<model_part> of_tp = tensor_parts(model, sizes.tp, where.tp, sizes.ep, options.tensor);
    return split.parts_of(of_tp, where.pp, options.towers);
}

/// The cost of what a rank runs itself, without the parts that are elsewhere.
[[nodiscard]] inline cost cost_on_rank(std::span<const model_part> parts) {
    cost sum;
    for (const model_part& one : parts) {
        sum += one.elsewhere ? cost{} : one.repeat * one.cost;
    }
    return sum;
}

}  // namespace floptally
