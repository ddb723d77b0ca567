// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/layer.hpp>

namespace floptally {

/// The embedding before the first layer and the lm_head after the last.
///
/// lm_head: 2·h·V per token, tied to the embedding or not; the look-up itself is no product. With a `padded_size`
/// the padded and executed views count the padded vocabulary, the useful view the real one.
struct vocabulary {
    std::uint64_t size = 0;
    std::uint64_t padded_size = 0;  ///< 0: not padded
    bool tied = false;
    std::uint64_t positions = 0;  ///< rows of learned position tables, segments included

    [[nodiscard]] constexpr floptally::cost embedding_cost(std::uint64_t hidden_size) const {
        require_positive(size, "vocab_size");
        floptally::cost sum;
        sum.add_parameters("embedding", tied ? term::tied_embedding : term::embedding,
                           checked_multiply(size, hidden_size, "embedding"));
        sum.add_parameters("embedding", term::position_embedding,
                           checked_multiply(positions, hidden_size, "embedding"));
        return sum;
    }

    [[nodiscard]] constexpr floptally::cost head_cost(std::uint64_t hidden_size) const {
        if (padded_size != 0 && padded_size < size) {
            throw error("padded_vocab_size", "must be at least vocab_size (" + std::to_string(size) + "), got " +
                                                 std::to_string(padded_size));
        }
        floptally::cost sum;
        sum.add("lm_head", linear{.in_features = hidden_size,
                                  .out_features = size,
                                  .padded_out_features = padded_size,
                                  .kind = term::lm_head});
        return sum;
    }
};

/// A stack of equal layers, each an attention and a feed-forward: `transformer<gqa, gated_mlp>`.
///
/// A constant expression where its fields are: `constexpr auto model = llama.cost();`. What differs from layer to
/// layer is in `masks` or in a part that looks at `layer::index` (`dense_first`).
template <layer_part Attention, layer_part FeedForward>
struct transformer {
    std::uint64_t hidden_size = 0;
    std::uint64_t num_layers = 0;
    Attention attention{};
    FeedForward feed_forward{};
    vocabulary vocab{};
    layer_masks masks{};
    elementwise_parameters layer_elementwise{};  ///< norms of one layer
    elementwise_parameters final_elementwise{};  ///< norms before the lm_head

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_positive(hidden_size, "hidden_size");
        require_positive(num_layers, "num_hidden_layers");
        masks.require_layers(num_layers);
        floptally::cost sum;
        for (std::uint64_t index = 0; index < num_layers; ++index) {
            const layer where{index, hidden_size, masks[index]};
            sum += attention.cost(where);
            sum += feed_forward.cost(where);
            layer_elementwise.add_to(sum);
        }
        final_elementwise.add_to(sum);
        sum += vocab.head_cost(hidden_size);
        sum += vocab.embedding_cost(hidden_size);
        return sum;
    }
};

}  // namespace floptally
