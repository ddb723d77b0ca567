// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/lists/list.hpp>

/// @file
/// The plan of a training step: its passes, its recompute, and the weights that train.

namespace floptally {

/// Passes that are counted.
enum class counted_passes : std::uint8_t { train, forward, backward };
/// Names of the values of `counted_passes`, in their order.
inline constexpr const char* counted_passes_names[] = {"train", "forward", "backward"};

/// Work that the backward pass computes again.
enum class recompute : std::uint8_t {
    none,
    full,      ///< one more forward of every layer; what stands after the last layer is kept
    attention  ///< one more forward of the attention core
};
/// Names of the values of `recompute`, in their order.
inline constexpr const char* recompute_names[] = {"none", "full", "attention"};

/// States of a weight in training.
enum class weight_state : std::uint8_t {
    trainable,
    frozen,
    lora  ///< frozen, with two trainable matrices beside it: A [rank, in] and B [out, rank]
};
/// Names of the values of `weight_state`, in their order.
inline constexpr const char* weight_state_names[] = {"trainable", "frozen", "lora"};

/// Training of the indexers that choose the keys of sparse attention (DeepSeek sparse attention, arXiv:2512.02556,
/// section 2.1): by a loss of their own, the divergence of their scores from the attention's probabilities, summed over
/// its heads. Their inputs are detached: their weights get gradients of that loss, and nothing before them does.
enum class indexer_training : std::uint8_t {
    frozen,       ///< no loss of their own, as Hugging Face's classes run them: forward only
    sparse_loss,  ///< over the chosen keys: the second stage
    dense_loss,   ///< over all keys, while the attention is over the chosen ones
    warm_up       ///< over all keys, and so is the attention: the first stage, in which nothing else trains
};
/// Names of the values of `indexer_training`, in their order.
inline constexpr const char* indexer_training_names[] = {"frozen", "sparse_loss", "dense_loss", "warm_up"};

/// Tokens whose logits the head after the last layer computes: rows of kind `term::lm_head` that are over tokens of the
/// text. A classifier of whole sequences stays as it is.
enum class logit_tokens : std::uint8_t {
    all,
    last,     ///< of each sequence, as in prefill and decoding: what the next token is sampled from
    measured  ///< as many as `tally::add_measured("logits", …)` says: response tokens, the ones of a loss mask
};
/// Names of the values of `logit_tokens`, in their order.
inline constexpr const char* logit_tokens_names[] = {"all", "last", "measured"};

/// The bound of a `weight_setting` that names no layer.
inline constexpr std::uint64_t any_layer = ~std::uint64_t{0};

/// The state of some weights in training.
///
/// `weights` is a component ("mlp", "norm", "embedding"), or a component and a weight of it ("attention.qkv/q_proj");
/// both may end in `*` ("*/q_proj", "attention.*"). Where LoRA names many, those that no adapter fits (norms,
/// tables, convolutions) are frozen.
struct weight_setting {
    component_name weights = "*";
    weight_state state = weight_state::trainable;
    std::uint64_t rank = 0;                 ///< of LoRA
    std::uint64_t first_layer = any_layer;  ///< counted from 0
    std::uint64_t last_layer = any_layer;   ///< included; where either is given, nothing outside the layers is meant
    component_name part = "*";              ///< of a model's parts: "encoder", "layer", "lm_head", "mtp"

    /// True where only some layers are meant.
    [[nodiscard]] constexpr bool names_layers() const { return first_layer != any_layer || last_layer != any_layer; }
    [[nodiscard]] friend constexpr bool operator==(const weight_setting&, const weight_setting&) = default;
};

/// Work that each of several ranks runs in full although its result is needed once: a vision tower on every rank of
/// context parallelism. One run is useful and padded, the others are executed (parallel/redundant_work.hpp). `weights`
/// is as in a `weight_setting`; of several that name the same weights the last one holds.
struct repeated_work {
    component_name weights = "*";
    std::uint64_t ranks = 1;

    [[nodiscard]] friend constexpr bool operator==(const repeated_work&, const repeated_work&) = default;
};

/// The plan of a training step: the passes that one process executes, and the weights that train.
struct training_plan {
    counted_passes counted = counted_passes::train;
    floptally::recompute recomputed = recompute::none;
    /// The backward of a fused attention kernel computes QKᵀ once more. That product is executed, never useful.
    bool flash_attention = true;
    /// Names of more components that the backward computes again: Megatron's `recompute_modules`.
    detail::list<component_name> recomputed_components{};
    /// The states of weights; of settings that name the same weight the last one holds. Without any everything trains.
    detail::list<weight_setting> weights{};
    /// The distance n of layers that recompute: only the n-th, 2n-th, … layer does, counted from 1.
    std::uint64_t recompute_every = 1;
    /// Work that several ranks run, where the batch is that of all ranks.
    detail::list<repeated_work> repeated{};
    /// The training of indexers. Their weights train as `weights` says: in a warm-up all other weights are to be
    /// frozen.
    indexer_training indexer = indexer_training::frozen;
    /// The tokens whose logits are computed; a convention that counts one a sequence does so for `all` alone.
    logit_tokens logits = logit_tokens::all;

    /// True where a model's layers must be told apart to count it.
    [[nodiscard]] constexpr bool needs_parts() const {
        return !weights.empty() || recompute_every != 1 || indexer != indexer_training::frozen;
    }
    [[nodiscard]] friend constexpr bool operator==(const training_plan&, const training_plan&) = default;
};

/// True where `pattern` is `name`, or ends in `*` and `name` begins with the rest.
[[nodiscard]] constexpr bool matches(std::string_view pattern, std::string_view name) {
    if (!pattern.empty() && pattern.back() == '*') {
        pattern.remove_suffix(1);
        return name.substr(0, pattern.size()) == pattern;
    }
    return pattern == name;
}

/// True where `weights`, as a `weight_setting` has them, include this weight of this component.
[[nodiscard]] constexpr bool matches(const component_name& weights, std::string_view component,
                                     std::string_view weight) {
    const std::string_view pattern = weights.view();
    const std::size_t slash = pattern.find('/');
    return slash == std::string_view::npos ? matches(pattern, component)
                                           : matches(pattern.substr(0, slash), component) && !weight.empty() &&
                                                 matches(pattern.substr(slash + 1), weight);
}
/// True where the weights of `setting` include this weight of this component, whatever its layers and its part.
[[nodiscard]] constexpr bool matches(const weight_setting& setting, std::string_view component,
                                     std::string_view weight) {
    return matches(setting.weights, component, weight);
}

}  // namespace floptally
