// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/balance.hpp>
#include <floptally/floptally.hpp>

#include "workloads.hpp"

/// @file
/// Samples with images, and their loads on a vision tower and a language model that both train.

namespace workloads {

/// A model with Qwen2.5-VL-7B's widths. Every layer of the tower sees the whole image, as in a plain ViT.
inline const floptally::flop_counter& vision_language_model() {
    using namespace floptally;
    static const flop_counter counted = [] {
        const layer block{0, 1280, mask::bidirectional()};
        const cost layers =
            mha{.num_heads = 16, .head_dim = 80}.cost(block) + gated_mlp{.intermediate_size = 3420}.cost(block);
        const cost stem = patch_embedding{.patch_size = 14, .temporal_patch_size = 2}.cost(1280);
        const cost merger = patch_merger{.hidden_size = 1280, .out_features = 3584}.cost();
        const cost of_tower =
            ((stem + 32 * layers).in(modality::vision) + merger).renamed([](const component_name& own) {
                return component_name("vision.", own.view());
            });
        const transformer<gqa, gated_mlp> language{.hidden_size = 3584,
                                                   .num_layers = 28,
                                                   .attention = {.num_heads = 28, .num_kv_heads = 4, .head_dim = 128},
                                                   .feed_forward = {.intermediate_size = 18944},
                                                   .vocab = {.size = 152064}};
        return flop_counter(language.cost() + of_tower);
    }();
    return counted;
}

/// The tallies of samples. Four patches are one token of the text.
inline std::vector<floptally::tally> tallies_of(const std::vector<visual_sample>& samples) {
    std::vector<floptally::tally> tallies;
    for (const visual_sample& sample : samples) {
        floptally::tally& batch = tallies.emplace_back(vision_language_model().masks());
        std::uint64_t tokens = sample.text_tokens;
        for (const floptally::grid& image : sample.images) {
            batch.add(image);
            tokens += image.frame_patches() / 4;
        }
        batch.add(floptally::sequence{.length = static_cast<std::uint32_t>(tokens)});
    }
    return tallies;
}

/// Two loads for each sample: on the language model and on the vision tower.
inline std::vector<floptally::flops> loads_of(const std::vector<visual_sample>& samples) {
    const std::vector<floptally::component_load> loads{{.components = "*", .load = 0},
                                                       {.components = "vision.*", .load = 1}};
    return floptally::sample_loads(vision_language_model(), tallies_of(samples), loads);
}

}  // namespace workloads
