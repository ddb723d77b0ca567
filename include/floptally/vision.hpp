// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/checked.hpp>
#include <floptally/component_name.hpp>
#include <floptally/cost.hpp>
#include <floptally/cost_row.hpp>
#include <floptally/layer.hpp>
#include <floptally/mask.hpp>
#include <floptally/term.hpp>

/// @file
/// What vision towers have besides the layers of a transformer. Their costs are over the statistics of a text until
/// `cost::in(tower::vision)` moves them, as all costs are.

namespace floptally {

/// Patches of pixels to tokens: a convolution whose stride is its kernel, so a matrix
/// [hidden_size, in_channels · frames · patch²]. 2·in·out a patch forward, and half of a linear's backward: pixels need
/// no gradient (Dosovitskiy et al., arXiv:2010.11929, equation 1).
struct patch_embedding {
    std::uint64_t in_channels = 3;
    std::uint64_t patch_size = 0;           ///< pixels, each side
    std::uint64_t temporal_patch_size = 1;  ///< frames that make one patch
    bool bias = false;

    [[nodiscard]] constexpr floptally::cost cost(std::uint64_t hidden_size) const {
        require_positive(in_channels, "num_channels");
        require_positive(patch_size, "patch_size");
        require_positive(temporal_patch_size, "temporal_patch_size");
        const std::uint64_t area = checked_multiply(patch_size, patch_size, "patch_embedding");
        const std::uint64_t pixels = checked_multiply(in_channels, temporal_patch_size, "patch_embedding");
        floptally::cost sum;
        sum.add("patch_embedding", linear{.in_features = checked_multiply(area, pixels, "patch_embedding"),
                                          .out_features = hidden_size,
                                          .kind = term::input_linear,
                                          .reads = value::stream,
                                          .writes = value::made(0),
                                          .adaptable = false});
        sum.add_parameters("bias", term::bias, bias ? hidden_size : 0);
        return sum;
    }
};

/// side² patches beside each other become one row of side²·hidden_size, and an MLP of two matrices takes it to the
/// text's width: what Qwen2-VL calls its merger (arXiv:2409.12191, section 2.1). DeepStack (arXiv:2406.04334) has one
/// for each of several layers: so many times its cost.
struct patch_merger {
    std::uint64_t spatial_merge_size = 2;
    std::uint64_t hidden_size = 0;        ///< of the tower
    std::uint64_t intermediate_size = 0;  ///< 0: as wide as the merged row
    std::uint64_t out_features = 0;       ///< of the text
    elementwise_parameters elementwise{};
    bool pooled_frames = false;  ///< the frames of a clip were made one before

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_positive(spatial_merge_size, "spatial_merge_size");
        require_positive(hidden_size, "hidden_size");
        require_positive(out_features, "out_hidden_size");
        const std::uint64_t cells = checked_multiply(spatial_merge_size, spatial_merge_size, "merger");
        const std::uint64_t merged = checked_multiply(cells, hidden_size, "merger");
        const std::uint64_t width = intermediate_size == 0 ? merged : intermediate_size;
        const auto side = static_cast<std::int64_t>(spatial_merge_size);
        const mask units = pooled_frames ? mask::pooled_patches(side) : mask::merged_patches(side);
        floptally::cost sum;
        sum.add("merger",
                linear{.in_features = merged,
                       .out_features = width,
                       .weight = "up_proj",
                       .reads = value::stream,
                       .writes = value::made(0)},
                units);
        sum.add("merger",
                linear{.in_features = width,
                       .out_features = out_features,
                       .weight = "down_proj",
                       .reads = value::made(0),
                       .writes = value::made(1)},
                units);
        elementwise.add_to(sum);
        return sum;
    }
};

/// GLM-4.1V's merger (arXiv:2507.01006): a convolution of side² patches to the text's width, a linear of that width and
/// a gated MLP.
struct gated_patch_merger {
    std::uint64_t spatial_merge_size = 2;
    std::uint64_t hidden_size = 0;  ///< of the tower
    std::uint64_t intermediate_size = 0;
    std::uint64_t out_features = 0;  ///< of the text
    elementwise_parameters elementwise{};

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_positive(spatial_merge_size, "spatial_merge_size");
        require_positive(hidden_size, "hidden_size");
        require_positive(intermediate_size, "intermediate_size");
        require_positive(out_features, "out_hidden_size");
        const std::uint64_t cells = checked_multiply(spatial_merge_size, spatial_merge_size, "merger");
        const mask units = mask::merged_patches(static_cast<std::int64_t>(spatial_merge_size));
        const value::set merged = value::made(0);
        const value::set projected = value::made(1);
        const value::set gated = value::made(2);
        floptally::cost sum;
        sum.add("merger",
                linear{.in_features = checked_multiply(cells, hidden_size, "merger"),
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
                           .writes = gated},
                    units);
        }
        sum.add("merger",
                linear{.in_features = intermediate_size,
                       .out_features = out_features,
                       .weight = "down_proj",
                       .reads = gated,
                       .writes = value::made(3)},
                units);
        elementwise.add_to(sum);
        return sum;
    }
};

}  // namespace floptally
