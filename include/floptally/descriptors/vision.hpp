// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Parts of vision towers other than transformer layers: patches, mergers, pooling. Their costs are per text
/// token, as every cost is, until you call `cost::in(modality::vision)`.

namespace floptally::inline v0_3 {

/// Turns patches of pixels into tokens. It is a convolution whose stride equals its kernel size, and therefore a matrix
/// [hidden_size, in_channels · frames · patch²]. The forward takes 2·in·out FLOPs per patch. The backward is half as
/// large as for other weights, because pixels need no gradient (Dosovitskiy et al., arXiv:2010.11929, equation 1).
struct patch_embedding {
    std::uint64_t in_channels = 3;
    std::uint64_t patch_size = 0;           ///< side of a patch in pixels; its height if `patch_width` is set
    std::uint64_t patch_width = 0;          ///< width of a patch in pixels; 0: the patch is a square
    std::uint64_t temporal_patch_size = 1;  ///< frames in one patch
    bool bias = false;

    [[nodiscard]] constexpr floptally::cost cost(std::uint64_t hidden_size) const {
        require_positive(in_channels, "num_channels");
        require_positive(patch_size, "patch_size");
        require_positive(temporal_patch_size, "temporal_patch_size");
        const std::uint64_t width = patch_width == 0 ? patch_size : patch_width;
        const checked area = checked(patch_size, "patch_embedding") * width;
        const checked pictures = checked(in_channels, "patch_embedding") * temporal_patch_size;
        constexpr value::set patches = value::local(0);
        floptally::cost sum;
        sum.add("patch_embedding", linear{.in_features = area * pictures,
                                          .out_features = hidden_size,
                                          .kind = term::input_linear,
                                          .reads = value::stream,
                                          .writes = patches,
                                          .adaptable = false,
                                          .sharding = tensor_sharding::repeated()});
        sum.add_parameters("bias", term::bias, bias ? hidden_size : 0);
        return sum;
    }
};

/// Joins side² adjacent patches into one vector of side²·hidden_size numbers, with side = spatial_merge_size. An MLP of
/// two matrices projects it to the width of the text model: Qwen2-VL's merger (arXiv:2409.12191, section 2.1).
/// DeepStack (arXiv:2406.04334) has one merger for each of several layers; multiply the cost by the number of mergers.
struct patch_merger {
    std::uint64_t spatial_merge_size = 2;
    std::uint64_t hidden_size = 0;        ///< hidden size of the vision tower
    std::uint64_t intermediate_size = 0;  ///< width between the MLP's two matrices; 0: the width of the joined vector
    std::uint64_t out_features = 0;       ///< hidden size of the text model
    elementwise_parameters elementwise{};
    bool pooled_frames = false;  ///< true: the frames of a clip are pooled into one before merging

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_positive(spatial_merge_size, "spatial_merge_size");
        require_positive(hidden_size, "hidden_size");
        require_positive(out_features, "out_hidden_size");
        const std::uint64_t merged = checked(spatial_merge_size, "merger") * spatial_merge_size * hidden_size;
        const std::uint64_t width = intermediate_size == 0 ? merged : intermediate_size;
        const statistic units = pooled_frames ? statistic(unit::pooled_patches(spatial_merge_size))
                                              : statistic(unit::merged_patches(spatial_merge_size));
        constexpr value::set inner = value::local(0);
        constexpr value::set result = value::local(1);
        floptally::cost sum;
        sum.add("merger",
                linear{.in_features = merged,
                       .out_features = width,
                       .weight = "up_proj",
                       .reads = value::stream,
                       .writes = inner,
                       .sharding = tensor_sharding::columns()},
                units);
        sum.add("merger",
                linear{.in_features = width,
                       .out_features = out_features,
                       .weight = "down_proj",
                       .reads = inner,
                       .writes = result,
                       .sharding = tensor_sharding::rows()},
                units);
        elementwise.add_to(sum);
        return sum;
    }
};

/// GLM-4.1V's merger (arXiv:2507.01006). A convolution joins side² patches into one vector of the text model's width,
/// with side = spatial_merge_size. A square matrix of this width and a gated MLP follow.
struct gated_patch_merger {
    std::uint64_t spatial_merge_size = 2;
    std::uint64_t hidden_size = 0;  ///< hidden size of the vision tower
    std::uint64_t intermediate_size = 0;
    std::uint64_t out_features = 0;  ///< hidden size of the text model
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_positive(spatial_merge_size, "spatial_merge_size");
        require_positive(hidden_size, "hidden_size");
        require_positive(intermediate_size, "intermediate_size");
        require_positive(out_features, "out_hidden_size");
        const statistic units = unit::merged_patches(spatial_merge_size);
        constexpr value::set merged = value::local(0);
        constexpr value::set projected = value::local(1);
        constexpr value::set gated = value::local(2);
        constexpr value::set result = value::local(3);
        floptally::cost sum;
        sum.add("merger",
                linear{.in_features = checked(spatial_merge_size, "merger") * spatial_merge_size * hidden_size,
                       .out_features = out_features,
                       .weight = "downsample",
                       .reads = value::stream,
                       .writes = merged,
                       .adaptable = false},
                units);
        sum.add("merger",
                linear{.in_features = out_features,
                       .out_features = out_features,
                       .weight = "proj",
                       .reads = merged,
                       .writes = projected},
                units);
        for (const char* weight : {"gate_proj", "up_proj"}) {
            sum.add("merger",
                    linear{.in_features = out_features,
                           .out_features = intermediate_size,
                           .weight = weight,
                           .reads = projected,
                           .writes = gated,
                           .sharding = tensor_sharding::columns()},
                    units);
        }
        sum.add("merger",
                linear{.in_features = intermediate_size,
                       .out_features = out_features,
                       .weight = "down_proj",
                       .reads = gated,
                       .writes = result,
                       .sharding = tensor_sharding::rows()},
                units);
        elementwise.add_to(sum);
        return sum;
    }
};

/// One learned query for each image attends to all tokens of the image. An MLP with a residual follows. This is
/// SigLIP's pooling head (arXiv:2106.04560, section 3.3). Keys and values are computed for every token, everything else
/// once for each image.
struct attention_pooling {
    std::uint64_t num_heads = 0;
    std::uint64_t hidden_size = 0;
    std::uint64_t intermediate_size = 0;  ///< width of the MLP
    std::uint64_t learned = 0;            ///< number of parameters of the learned query
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_positive(num_heads, "num_attention_heads");
        require_positive(intermediate_size, "intermediate_size");
        if (hidden_size % num_heads != 0) {
            detail::refuse("num_attention_heads", {"must divide hidden_size (", hidden_size, "), got ", num_heads});
        }
        const auto matrix = [](std::uint64_t in, std::uint64_t out, accumulator rows, std::string_view weight,
                               value::set reads, value::set writes) {
            return linear{.in_features = in,
                          .out_features = out,
                          .rows = rows,
                          .kind = term::lm_head,
                          .weight = weight,
                          .reads = reads,
                          .writes = writes};
        };
        const std::uint64_t h = hidden_size;
        constexpr value::set q = value::local(0);
        constexpr value::set k = value::local(1);
        constexpr value::set v = value::local(2);
        constexpr value::set pooled = value::local(3);
        constexpr value::set row = value::local(4);
        constexpr value::set inner = value::local(5);
        constexpr value::set result = value::local(6);
        floptally::cost sum;
        sum.add("pooling",
                matrix(h, h, accumulator::count, "q_proj", 0, q));  // q_proj's input is the learned query, a weight
        sum.add("pooling", matrix(h, h, accumulator::tokens, "k_proj", value::stream, k));
        sum.add("pooling", matrix(h, h, accumulator::tokens, "v_proj", value::stream, v));
        sum.add("pooling", attention_core{num_heads, h / num_heads, h / num_heads, q, k, v, pooled},
                accumulator::tokens, 1);
        sum.add("pooling", matrix(h, h, accumulator::count, "out_proj", pooled, row));
        sum.add("pooling", matrix(h, intermediate_size, accumulator::count, "up_proj", row, inner));
        sum.add("pooling", matrix(intermediate_size, h, accumulator::count, "down_proj", inner, result));
        sum.add_parameters("embedding", term::position_embedding, learned);
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
