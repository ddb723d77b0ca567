// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/modality.hpp>

/// @file
/// `model_part`: a part of a model with its position. A training plan may freeze, train or adapt each part
/// separately.

namespace floptally::inline v0_3 {

/// The position of a part in the graph. It decides through which parts the gradient flows on its way to this part, and
/// the gradients of which parts flow through this one.
enum class part_role : std::uint8_t {
    input,    ///< embeddings, before all layers
    encoder,  ///< a part of the encoder in an encoder-decoder
    tower,    ///< between pixels or sound and the text model: a layer of a tower, a projector
    layer,    ///< on the path of the text's hidden states: a layer, the last norm
    head,     ///< reads the last hidden states; no other part reads its output
    anywhere  ///< unknown place: its activations get gradients as soon as any weight trains
};

/// The value of `model_part::first_layer` for a part outside the layers.
inline constexpr std::uint64_t no_layer = ~std::uint64_t{0};

/// A part of a model with its position.
///
/// A model is a list of parts in forward order. Consecutive parts with equal name, role and layers run in the same
/// layers, one after the other. An attention and a feed-forward that repeat 32 times are two parts.
struct model_part {
    component_name name;  ///< "embedding", "encoder", "layer", "norm", "lm_head", "mtp", …
    part_role role = part_role::layer;
    floptally::cost cost{};
    std::uint64_t first_layer = no_layer;  ///< index of the first layer, or `no_layer`
    std::uint64_t repeat = 1;              ///< number of consecutive equal layers
    bool elsewhere = false;  ///< another rank runs the part: gradients pass through it, but its work is not counted
    bool beside = false;     ///< reads the input of its layer (and norms), not the output of the layer's other parts

    /// Returns the modality of the samples that this part runs on.
    [[nodiscard]] constexpr modality in() const {
        return cost.entries().empty() ? modality::text : cost.entries()[0].in;
    }

    /// Returns true if both parts belong to the same layers.
    [[nodiscard]] constexpr bool same_layers(const model_part& other) const {
        return name == other.name && role == other.role && first_layer == other.first_layer && repeat == other.repeat;
    }
};

/// Calls `each` once for each run of equal layers, with the parts of one such layer, in forward order. A part outside
/// the layers is a run by itself.
template <class Each>
constexpr void for_each_run(array_view<model_part> parts, Each each) {
    for (std::size_t first = 0; first < parts.size();) {
        std::size_t last = first + 1;
        while (last < parts.size() && parts[last].same_layers(parts[first])) {
            ++last;
        }
        each(array_view<model_part>(&parts[first], last - first));
        first = last;
    }
}

/// Returns the sum of the costs of all parts, including parts that run on another rank (`elsewhere`). A count under a
/// plan leaves these parts out.
[[nodiscard]] constexpr cost cost_of(array_view<model_part> parts) {
    cost sum;
    for (const model_part& part : parts) {
        sum += part.repeat * part.cost;
    }
    return sum;
}

}  // namespace floptally
