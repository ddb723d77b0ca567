// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/lists/list.hpp>

/// @file
/// The plan of a training step: the passes, the recompute, and the weights that train.

namespace floptally::inline v0_3 {

/// The passes of a step that count: forward and backward, or only one of them.
enum class counted_passes : std::uint8_t { train, forward, backward };
/// Names of the values of `counted_passes`, in their order.
inline constexpr const char* counted_passes_names[] = {"train", "forward", "backward"};

/// The work that the backward pass recomputes (activation checkpointing).
enum class recompute : std::uint8_t {
    none,
    full,      ///< the backward repeats the forward of every layer; parts after the last layer are not repeated
    attention  ///< the backward repeats the forward of the attention core
};
/// Names of the values of `recompute`, in their order.
inline constexpr const char* recompute_names[] = {"none", "full", "attention"};

/// The state of a weight in training.
enum class weight_state : std::uint8_t {
    trainable,
    frozen,
    lora  ///< frozen, with an adapter of two trainable matrices: A [rank, in] and B [out, rank]
};
/// Names of the values of `weight_state`, in their order.
inline constexpr const char* weight_state_names[] = {"trainable", "frozen", "lora"};

/// The training of the indexers that choose the keys of sparse attention (DeepSeek sparse attention, arXiv:2512.02556,
/// section 2.1). An indexer has a separate loss: the divergence of its scores from the attention's probabilities,
/// summed over the attention's heads. The inputs of the indexer are detached, so only its own weights get gradients
/// from this loss.
enum class indexer_training : std::uint8_t {
    frozen,       ///< the indexer has no loss and runs only forward, as in Hugging Face's classes
    sparse_loss,  ///< second stage of training: the indexer's loss is over the chosen keys
    dense_loss,   ///< the indexer's loss is over all keys, but attention is over the chosen keys
    warm_up       ///< first stage of training: the indexer's loss and the attention are over all keys, and only
                  ///< indexers train
};
/// Names of the values of `indexer_training`, in their order.
inline constexpr const char* indexer_training_names[] = {"frozen", "sparse_loss", "dense_loss", "warm_up"};

/// The tokens whose logits the lm_head computes. The setting affects entries of kind `term::lm_head` over text tokens.
/// Classifiers of whole sequences are not affected.
enum class logit_tokens : std::uint8_t {
    all,
    last,     ///< only the last token of each sequence, as in prefill and decoding
    measured  ///< as many tokens as you pass to `tally::add_measured("logits", …)`, such as those in the loss mask
};
/// Names of the values of `logit_tokens`, in their order.
inline constexpr const char* logit_tokens_names[] = {"all", "last", "measured"};

/// The value of `weight_setting::first_layer` and `last_layer` that means "no bound".
inline constexpr std::uint64_t any_layer = ~std::uint64_t{0};

/// A setting that says whether some weights train, are frozen or get a LoRA adapter.
///
/// `weights` names a component ("mlp", "norm", "embedding"), or a component and one of its weights
/// ("attention.qkv/q_proj"). Each of the two names may end in `*` ("*/q_proj", "attention.*"). With the state `lora`,
/// weights that cannot have an adapter (norms, tables, convolutions) are frozen.
struct weight_setting {
    component_name weights = "*";
    weight_state state = weight_state::trainable;
    std::uint64_t rank = 0;  ///< rank of the LoRA adapter; 0 for other states
    /// First layer to which the setting applies, counted from 0. With `any_layer` the setting has no lower bound.
    std::uint64_t first_layer = any_layer;
    /// Last layer to which the setting applies. If `first_layer` or `last_layer` is set, the setting does not apply to
    /// weights outside of layers.
    std::uint64_t last_layer = any_layer;
    /// Name of the model part to which the setting applies: "encoder", "layer", "lm_head", "mtp". "*": all parts.
    component_name part = "*";

    /// Returns true if the setting applies only to a range of layers.
    [[nodiscard]] constexpr bool names_layers() const { return first_layer != any_layer || last_layer != any_layer; }
    [[nodiscard]] friend constexpr bool operator==(const weight_setting&, const weight_setting&) = default;
};

/// Work that each of several ranks runs completely, although it is needed only once. Example: a vision tower on every
/// context-parallel rank. The run of one rank counts as useful and padded, the runs of the other ranks only as executed
/// (parallel/redundant_work.hpp). `weights` has the form of `weight_setting::weights`. If several `repeated_work` name
/// the same weights, the last of them is used.
struct repeated_work {
    component_name weights = "*";
    std::uint64_t ranks = 1;

    [[nodiscard]] friend constexpr bool operator==(const repeated_work&, const repeated_work&) = default;
};

/// The plan of a training step: the passes that count, the work that is recomputed, and the weights that train.
struct training_plan {
    counted_passes counted = counted_passes::train;     ///< the passes that run: forward, backward or both
    floptally::recompute recomputed = recompute::none;  ///< the part of the forward that the backward runs again
    /// True if attention runs as a fused kernel. Its backward computes QKᵀ again. The second QKᵀ counts as executed,
    /// never as useful.
    bool flash_attention = true;
    /// Names of components that the backward recomputes in addition to `recomputed`, like Megatron's
    /// `recompute_modules`.
    list<component_name> recomputed_components{};
    /// The states of weights. If several settings name the same weight, the last one counts. A weight without a setting
    /// trains.
    list<weight_setting> weights{};
    /// Only every n-th layer recomputes: the n-th, the 2n-th and so on, counted from 1. With 1, every layer recomputes.
    std::uint64_t recompute_every = 1;
    /// Work that each of several ranks runs completely. With such work, the tally must have the batches of all ranks.
    list<repeated_work> repeated{};
    /// The training of the indexers. `weights` still decides which weights train, so freeze all other weights during a
    /// warm-up.
    indexer_training indexer = indexer_training::frozen;
    /// The tokens whose logits are computed. If the value is `all` and the convention has
    /// `head_rows::one_per_sequence`, only the last token of each sequence counts.
    logit_tokens logits = logit_tokens::all;

    /// Returns true if the FLOPs depend on the order of the model's parts. A cost alone then gives only an upper bound.
    [[nodiscard]] constexpr bool needs_parts() const {
        return !weights.empty() || recompute_every != 1 || indexer != indexer_training::frozen;
    }
    [[nodiscard]] friend constexpr bool operator==(const training_plan&, const training_plan&) = default;
};

/// Returns true if `pattern` equals `name`, or if `pattern` ends in `*` and `name` begins with the text before the `*`.
[[nodiscard]] constexpr bool matches(std::string_view pattern, std::string_view name) {
    if (!pattern.empty() && pattern.back() == '*') {
        pattern.remove_suffix(1);
        return name.substr(0, pattern.size()) == pattern;
    }
    return pattern == name;
}

/// Returns true if `weights` (in the form of `weight_setting::weights`) include this weight of this component.
[[nodiscard]] constexpr bool matches(const component_name& weights, std::string_view component,
                                     std::string_view weight) {
    const std::string_view pattern = weights.view();
    const std::size_t slash = pattern.find('/');
    return slash == std::string_view::npos ? matches(pattern, component)
                                           : matches(pattern.substr(0, slash), component) && !weight.empty() &&
                                                 matches(pattern.substr(slash + 1), weight);
}
/// Returns true if the weights of `setting` include this weight of this component. Ignores the setting's layers and
/// part.
[[nodiscard]] constexpr bool matches(const weight_setting& setting, std::string_view component,
                                     std::string_view weight) {
    return matches(setting.weights, component, weight);
}

}  // namespace floptally
