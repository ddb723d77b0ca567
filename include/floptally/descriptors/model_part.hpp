// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/modality.hpp>

/// @file
/// A part of a model in its place, which a training plan may treat in a way of its own.

namespace floptally {

/// Where a part stands in a model, which says what its gradient must pass and what passes through it.
enum class part_role : std::uint8_t {
    input,    ///< embeddings: before the layers of both sides
    encoder,  ///< on the other side of an encoder-decoder
    tower,    ///< on the way from pixels or sound to the text: a layer of a tower, a projector
    layer,    ///< on the way of the hidden states: a layer, the last norm
    head,     ///< reads the hidden states of the last layer; no other part reads what it makes
    anywhere  ///< not known: its activations take gradients as soon as anything trains
};

/// The `first_layer` of a part that stands outside the layers.
inline constexpr std::uint64_t no_layer = ~std::uint64_t{0};

/// A part of a model in its place.
///
/// A model is a list of parts in forward order. Those that follow each other with equal name, role and layers are the
/// parts of the same layers, one after the other: an attention and a feed-forward that repeat 32 times are two parts.
struct model_part {
    component_name name;  ///< "embedding", "encoder", "layer", "norm", "lm_head", "mtp", …
    part_role role = part_role::layer;
    floptally::cost cost{};
    std::uint64_t first_layer = no_layer;  ///< index; `no_layer`: outside the layers
    std::uint64_t repeat = 1;              ///< how many equal layers follow each other
    bool elsewhere = false;                ///< another rank runs it: gradients pass through it, its work is not counted
    bool beside = false;  ///< reads what entered its layer and norms, not what other parts before it made

    /// The stream of statistics that it is over.
    [[nodiscard]] constexpr modality in() const { return cost.rows().empty() ? modality::text : cost.rows()[0].in; }

    /// True where both belong to the same layers.
    [[nodiscard]] constexpr bool same_layers(const model_part& other) const {
        return name == other.name && role == other.role && first_layer == other.first_layer && repeat == other.repeat;
    }
};

/// Calls `each` with the parts of every run of equal layers, in forward order; what stands outside the layers is a run
/// of its own.
template <class Each>
constexpr void for_each_run(detail::array_view<model_part> parts, Each each) {
    for (std::size_t first = 0; first < parts.size();) {
        std::size_t last = first + 1;
        while (last < parts.size() && parts[last].same_layers(parts[first])) {
            ++last;
        }
        each(detail::array_view<model_part>(&parts[first], last - first));
        first = last;
    }
}

/// The cost of all parts together, those elsewhere too: without a plan a part is nothing but its cost.
[[nodiscard]] constexpr cost cost_of(detail::array_view<model_part> parts) {
    cost sum;
    for (const model_part& part : parts) {
        sum += part.repeat * part.cost;
    }
    return sum;
}

}  // namespace floptally
