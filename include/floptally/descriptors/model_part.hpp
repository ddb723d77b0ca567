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

/// The position of a part in the computation graph. It decides how gradients flow between the parts.
enum class part_role : std::uint8_t {
    input,    ///< embeddings, before all layers
    encoder,  ///< a part of the encoder in an encoder-decoder
    tower,    ///< a part between pixels or sound and the text model: a layer of a tower, a projector
    layer,    ///< a part on the path of the text's hidden states: a layer, the last norm
    head,     ///< a part after the last hidden states whose output no other part reads
    anywhere  ///< a part at an unknown position: its activations get gradients as soon as any weight trains
};

/// The value of `model_part::first_layer` for a part outside the layers.
inline constexpr std::uint64_t no_layer = ~std::uint64_t{0};

/// A part of a model with its position.
///
/// A model is a list of parts in forward order. Consecutive parts with the same name, role and range of layers run in
/// the same layers, one after the other. An attention and a feed-forward that repeat 32 times are two parts.
struct model_part {
    component_name name;  ///< the part's name: "embedding", "encoder", "layer", "norm", "lm_head", "mtp", …
    part_role role = part_role::layer;
    floptally::cost cost{};
    std::uint64_t first_layer = no_layer;  ///< index of the first layer, or `no_layer`
    std::uint64_t repeat = 1;              ///< number of consecutive equal layers
    /// True: another rank runs the part; gradients pass through it, but its work is not counted.
    bool elsewhere = false;
    /// True: the part reads the input of its layer (after norms), not the output of the layer's other parts.
    bool beside = false;

    /// Returns the modality of the samples on which this part runs.
    [[nodiscard]] constexpr modality in() const {
        return cost.entries().empty() ? modality::text : cost.entries()[0].in;
    }

    /// Returns true if both parts belong to the same layers.
    [[nodiscard]] constexpr bool same_layers(const model_part& other) const {
        return name == other.name && role == other.role && first_layer == other.first_layer && repeat == other.repeat;
    }
};

/// Calls `each` for each group of equal consecutive layers, in forward order, with the parts of one of these layers. A
/// part outside the layers is a group by itself.
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
/// plan leaves out the parts on other ranks.
[[nodiscard]] constexpr cost cost_of(array_view<model_part> parts) {
    cost sum;
    for (const model_part& part : parts) {
        sum += part.repeat * part.cost;
    }
    return sum;
}

}  // namespace floptally
