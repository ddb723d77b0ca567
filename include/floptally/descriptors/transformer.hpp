// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A stack of layers with embedding and lm_head, and multi-token prediction.

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

    /// The tables before the first layer: parameters, no product.
    [[nodiscard]] constexpr floptally::cost embedding_cost(std::uint64_t hidden_size) const {
        require_positive(size, "vocab_size");
        floptally::cost sum;
        sum.add_parameters("embedding", tied ? term::tied_embedding : term::embedding,
                           checked(size, "embedding") * hidden_size, dealing::vocabulary(size));
        sum.add_parameters("embedding", term::position_embedding, checked(positions, "embedding") * hidden_size);
        return sum;
    }

    /// The lm_head. `shared_weights`: its weights are counted elsewhere, it computes logits once more.
    [[nodiscard]] constexpr floptally::cost head_cost(std::uint64_t hidden_size, bool shared_weights = false) const {
        if (padded_size != 0 && padded_size < size) {
            detail::refuse("padded_vocab_size", {"must be at least vocab_size (", size, "), got ", padded_size});
        }
        floptally::cost sum;
        sum.add("lm_head", linear{.in_features = hidden_size,
                                  .out_features = size,
                                  .padded_out_features = padded_size,
                                  .kind = term::lm_head,
                                  .shared = shared_weights,
                                  .reads = value::stream,
                                  .dealt = dealing::vocabulary()});
        return sum;
    }
};

/// Multi-token prediction (DeepSeek-V3, arXiv:2412.19437, section 2.2): at each of `num_layers` depths a projection
/// 2h → h of the hidden state beside the next token's embedding, one more layer, and the logits once more.
///
/// Per token and depth: 2·2h·h, the layer, 2·h·V. All of it is the component "mtp", except for routed experts that are
/// counted by measured visits: those stay where the model's others are. Embedding and lm_head are the model's own.
struct multi_token_prediction {
    std::uint64_t num_layers = 0;
    bool shared_head = true;               ///< false: each depth has an lm_head of its own
    elementwise_parameters elementwise{};  ///< of one depth: the norms of both inputs and before the head
    bool projects = true;                  ///< false: its layer's parts say themselves how it begins

    /// `last_layer` is the cost of one layer, of the kind that the last of the model has.
    [[nodiscard]] constexpr floptally::cost cost(const floptally::cost& last_layer, std::uint64_t hidden_size,
                                                 const vocabulary& vocab) const {
        require_positive(num_layers, "num_nextn_predict_layers");
        require_positive(hidden_size, "hidden_size");
        floptally::cost depth = projects ? projection_cost(hidden_size) : floptally::cost{};
        depth += last_layer;
        depth += vocab.head_cost(hidden_size, shared_head);
        elementwise.add_to(depth);
        return num_layers * depth.as_component("mtp");
    }

    /// Calls `add` with every part of all depths in forward order; `parts` are those of one layer.
    template <class Add>
    constexpr void for_each_part(const detail::array_view<floptally::cost>& parts, std::uint64_t hidden_size,
                                 const vocabulary& vocab, Add add) const {
        const auto put = [&](part_role role, const floptally::cost& part) {
            add(model_part{.name = "mtp", .role = role, .cost = part.as_component("mtp")});
        };
        for (std::uint64_t depth = 0; depth < num_layers; ++depth) {
            floptally::cost norms;
            elementwise.add_to(norms);
            put(part_role::layer, norms);
            if (projects) {
                put(part_role::layer, projection_cost(hidden_size));
            }
            for (const floptally::cost& part : parts) {
                put(part_role::layer, part);
            }
            put(part_role::head, vocab.head_cost(hidden_size, shared_head));
        }
    }

  private:
    [[nodiscard]] static constexpr floptally::cost projection_cost(std::uint64_t hidden_size) {
        floptally::cost sum;
        sum.add("mtp", linear{.in_features = 2 * checked(hidden_size, "mtp"),
                              .out_features = hidden_size,
                              .weight = "eh_proj",
                              .reads = value::stream,
                              .dealt = dealing::columns()});
        return sum;
    }
};

/// A stack of equal layers, each an attention and a feed-forward: `transformer<gqa, gated_mlp>`.
///
/// A constant expression where its fields are: `constexpr constant_cost model = llama.cost();`. What differs from layer
/// to layer is in `masks` or in a part that looks at `layer::index` (`dense_first`).
template <class Attention, class FeedForward>
struct transformer {
    static_assert(detail::require_layer_part<Attention>() && detail::require_layer_part<FeedForward>());

    std::uint64_t hidden_size = 0;
    std::uint64_t num_layers = 0;
    Attention attention{};
    FeedForward feed_forward{};
    vocabulary vocab{};
    layer_masks masks{};
    elementwise_parameters layer_elementwise{};  ///< norms of one layer
    elementwise_parameters final_elementwise{};  ///< norms before the lm_head

    [[nodiscard]] constexpr floptally::cost cost() const {
        require_layers();
        floptally::cost sum;
        // Equal layers are added at once, which saves most of a constant expression's steps.
        floptally::cost mixers;
        floptally::cost feeds;
        std::uint64_t times = 0;
        const auto flush = [&] {
            floptally::cost run = mixers + feeds;
            layer_elementwise.add_to(run);
            sum += times * run;
        };
        for (std::uint64_t index = 0; index < num_layers; ++index, ++times) {
            const layer where{index, hidden_size, masks[index]};
            const floptally::cost mixer = attention.cost(where);
            const floptally::cost feed = feed_forward.cost(where);
            if (times == 0 || !(mixer == mixers && feed == feeds)) {
                if (times != 0) {
                    flush();
                }
                mixers = mixer;
                feeds = feed;
                times = 0;
            }
        }
        flush();
        final_elementwise.add_to(sum);
        sum += vocab.head_cost(hidden_size);
        sum += vocab.embedding_cost(hidden_size);
        return sum;
    }

    /// Calls `add` with every part in forward order, for plans that treat layers differently (see `parts_of`).
    template <class Add>
    constexpr void for_each_part(Add add) const {
        require_layers();
        add(model_part{.name = "embedding", .role = part_role::input, .cost = vocab.embedding_cost(hidden_size)});
        floptally::cost norms;
        layer_elementwise.add_to(norms);
        for (std::uint64_t index = 0; index < num_layers;) {
            const layer where{index, hidden_size, masks[index]};
            const floptally::cost mixer = attention.cost(where);
            const floptally::cost feed = feed_forward.cost(where);
            std::uint64_t next = index + 1;
            for (; next < num_layers; ++next) {
                const layer after{next, hidden_size, masks[next]};
                if (!(attention.cost(after) == mixer && feed_forward.cost(after) == feed)) {
                    break;
                }
            }
            const floptally::cost* parts[] = {&norms, &mixer, &feed};
            for (const floptally::cost* part : parts) {
                add(model_part{"layer", part_role::layer, *part, index, next - index});
            }
            index = next;
        }
        floptally::cost last;
        final_elementwise.add_to(last);
        add(model_part{.name = "norm", .role = part_role::layer, .cost = last});
        add(model_part{.name = "lm_head", .role = part_role::head, .cost = vocab.head_cost(hidden_size)});
    }

  private:
    constexpr void require_layers() const {
        require_positive(hidden_size, "hidden_size");
        require_positive(num_layers, "num_hidden_layers");
        masks.require_layers(num_layers);
    }
};

}  // namespace floptally
