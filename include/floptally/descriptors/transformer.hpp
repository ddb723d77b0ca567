// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `transformer`, a stack of layers with embedding and lm_head, and `multi_token_prediction`.

namespace floptally::inline v0_3 {

/// The embedding before the first layer and the lm_head after the last.
///
/// The lm_head takes 2·h·V FLOPs per token (h = hidden_size, V = size), whether or not it is tied to the embedding. The
/// look-up in the embedding takes no FLOPs. With a `padded_size`, the padded and executed views count the padded
/// vocabulary, and the useful view counts the real one.
struct vocabulary {
    std::uint64_t size = 0;
    std::uint64_t padded_size = 0;  ///< size of the vocabulary after padding, for the padded and executed views; 0: not
                                    ///< padded
    bool tied = false;
    std::uint64_t positions = 0;  ///< number of rows in the tables of learned positions and segments together

    /// Returns the cost of the embedding tables before the first layer. They have parameters, but no FLOPs.
    [[nodiscard]] constexpr floptally::cost embedding_cost(std::uint64_t hidden_size) const {
        require_positive(size, "vocab_size");
        floptally::cost sum;
        sum.add_parameters("embedding", tied ? term::tied_embedding : term::embedding,
                           checked(size, "embedding") * hidden_size, tensor_sharding::vocabulary(size));
        sum.add_parameters("embedding", term::position_embedding, checked(positions, "embedding") * hidden_size);
        return sum;
    }

    /// Returns the cost of the lm_head. With `shared_weights` this cost has no weights, because another entry of the
    /// model's cost already has them.
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
                                  .sharding = tensor_sharding::vocabulary()});
        return sum;
    }
};

/// Multi-token prediction (DeepSeek-V3, arXiv:2412.19437, section 2.2). Each of `num_layers` MTP modules has a matrix
/// 2h → h over the hidden state and the next token's embedding, a layer, and its own computation of logits.
///
/// With h = hidden_size and V = the size of the vocabulary, a token takes for each MTP module 2·2h·h FLOPs for the
/// matrix, the FLOPs of the layer, and 2·h·V for the logits. These FLOPs belong to the component "mtp". Only routed
/// experts with measured visits stay in the component of the model's other experts. The MTP modules use the embedding
/// of the model, and by default also its lm_head.
struct multi_token_prediction {
    std::uint64_t num_layers = 0;
    bool shared_head = true;               ///< true: all MTP modules use the model's lm_head; false: each has its own
    elementwise_parameters elementwise{};  ///< norms of one MTP module: two for its inputs, one before the lm_head
    bool projects = true;                  ///< false: the layer's own parts already include the matrix 2h → h

    /// Returns the cost of all modules of multi-token prediction. Each module repeats the model's last layer, whose
    /// cost is `last_layer`.
    [[nodiscard]] constexpr floptally::cost cost(const floptally::cost& last_layer, std::uint64_t hidden_size,
                                                 const vocabulary& vocab) const {
        require_positive(num_layers, "num_nextn_predict_layers");
        require_positive(hidden_size, "hidden_size");
        floptally::cost depth;
        if (projects) {
            depth = projection_cost(hidden_size);
        }
        depth += last_layer;
        depth += vocab.head_cost(hidden_size, shared_head);
        elementwise.add_to(depth);
        return num_layers * depth.as_component("mtp");
    }

    /// Calls `add` with every part of all modules of multi-token prediction, in forward order. `parts` are the parts of
    /// one layer.
    template <class Add>
    constexpr void for_each_part(const array_view<floptally::cost>& parts, std::uint64_t hidden_size,
                                 const vocabulary& vocab, Add add) const {
        const auto add_part = [&](part_role role, const floptally::cost& part) {
            add(model_part{.name = "mtp", .role = role, .cost = part.as_component("mtp")});
        };
        for (std::uint64_t depth = 0; depth < num_layers; ++depth) {
            floptally::cost norms;
            elementwise.add_to(norms);
            add_part(part_role::layer, norms);
            if (projects) {
                add_part(part_role::layer, projection_cost(hidden_size));
            }
            for (const floptally::cost& part : parts) {
                add_part(part_role::layer, part);
            }
            add_part(part_role::head, vocab.head_cost(hidden_size, shared_head));
        }
    }

  private:
    [[nodiscard]] static constexpr floptally::cost projection_cost(std::uint64_t hidden_size) {
        floptally::cost sum;
        sum.add("mtp", linear{.in_features = 2 * checked(hidden_size, "mtp"),
                              .out_features = hidden_size,
                              .weight = "eh_proj",
                              .reads = value::stream,
                              .sharding = tensor_sharding::columns()});
        return sum;
    }
};

/// A stack of layers, each an attention and a feed-forward: `transformer<gqa, gated_mlp>`.
///
/// The defaults of `transformer` are grouped-query attention and a gated MLP. g++, and clang++ from 17, deduce the two
/// template arguments from the fields (`transformer m{.hidden_size = 4096, …}`). Write `transformer<>` or
/// `transformer<mha, mlp>` for any other compiler.
///
/// A transformer is a constant expression if its fields are: `constexpr constant_cost model = llama.cost();`. Layers
/// may have different masks (`masks`), or a part that depends on the index of the layer (`dense_first`).
template <class Attention = gqa, class FeedForward = gated_mlp>
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
        // Adding equal layers at once saves most evaluation steps in a constant expression.
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

    /// Calls `add` with every part of the model in forward order. Training plans that freeze or recompute only some
    /// layers need the parts (see `parts_of`).
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
