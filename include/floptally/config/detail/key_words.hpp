// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <floptally/spec_language/config_tree.hpp>

/// @file
/// Words in the names of config keys. Some words indicate a size or a kind of layer, others a setting that changes no
/// matrix product.

namespace floptally::inline v0_3::detail::specs {

/// Words that indicate a size, a number or a kind; the list has them without their final "s". An unread key that
/// contains such a word gets a note, unless it ends in one of `last_words`.
inline constexpr std::string_view structure_words[] = {
    "activated",  "active",     "adapter",      "always",      "attention",  "attn",
    "between",    "bias",       "bin",          "block",       "bottleneck", "branch",
    "ch",         "chan",       "channel",      "chunk",       "component",  "compress",
    "compressed", "context",    "conv",         "convolution", "count",      "cross",
    "cycle",      "d",          "decoder",      "deepstack",   "dense",      "depth",
    "dff",        "dilation",   "dim",          "dimension",   "divisor",    "downsample",
    "each",       "embed",      "embedding",    "encoder",     "even",       "every",
    "exclude",    "expand",     "expansion",    "expert",      "factor",     "fc",
    "feature",    "feed",       "feedforward",  "ff",          "ffn",        "first",
    "forward",    "freq",       "frequency",    "full",        "fused",      "gate",
    "gated",      "global",     "grid",         "group",       "head",       "height",
    "hidden",     "hybrid",     "include",      "index",       "indexer",    "inner",
    "inter",      "interleave", "intermediate", "interval",    "k",          "kernel",
    "key",        "kind",       "kv",           "last",        "latent",     "layer",
    "layout",     "level",      "linear",       "list",        "local",      "loop",
    "lora",       "low",        "lowrank",      "mamba",       "mel",        "memory",
    "merge",      "merger",     "mixer",        "mlp",         "modality",   "module",
    "moe",        "more",       "mtp",          "mult",        "multiple",   "n",
    "nextn",      "ngram",      "nhead",        "nlayer",      "num",        "number",
    "odd",        "only",       "order",        "parallel",    "patch",      "pattern",
    "per",        "period",     "periodic",     "pool",        "pooler",     "pooling",
    "prefix",     "proj",       "projection",   "projector",   "q",          "qformer",
    "qk",         "qkv",        "quantizer",    "queries",     "query",      "rank",
    "ratio",      "recurrence", "recurrent",    "reduction",   "register",   "repeat",
    "resampler",  "resolution", "routed",       "router",      "row",        "schedule",
    "shape",      "share",      "shared",       "side",        "size",       "skip",
    "sliding",    "span",       "sparse",       "sparsity",    "spatial",    "split",
    "ssm",        "stack",      "stage",        "state",       "step",       "stream",
    "stride",     "swa",        "switch",       "temporal",    "tie",        "tied",
    "top",        "topk",       "tower",        "type",        "unit",       "up",
    "upsample",   "upscale",    "value",        "variant",     "vision",     "visual",
    "vocab",      "wide",       "width",        "window"};

/// Words that indicate a setting without effect on matrix products: positions, tokens, seeds, training, generation,
/// file format. The list has them without their final "s". An unread key with such a word gets no note, unless it also
/// has one of `structure_words`.
inline constexpr std::string_view silent_words[] = {
    "aux",         "beam",     "bos",        "cache",     "drop",        "dropout", "dtype",        "eos",    "eps",
    "epsilon",     "flash",    "generation", "gradient",  "id",          "init",    "initializer",  "label",  "lang",
    "logit",       "loss",     "pad",        "penalty",   "pretraining", "quant",   "quantization", "return", "rope",
    "rotary",      "sampling", "scaling",    "seed",      "sep",         "softcap", "softmax",      "std",    "task",
    "temperature", "theta",    "token",      "tokenizer", "torch",       "version", "yarn"};

/// A key that ends in one of these words never gets a note: dropout rates, epsilons and initializer ranges change no
/// matrix product. One of `words_after_last` may follow the word: "dropout_rate".
inline constexpr std::string_view last_words[] = {"drop",        "dropout", "pdrop", "layerdrop",  "eps",
                                                  "epsilon",     "std",     "theta", "dtype",      "softcap",
                                                  "softcapping", "jitter",  "loss",  "initializer"};
inline constexpr std::string_view words_after_last[] = {"p", "prob", "rate", "coef", "coefficient", "weight", "range"};

/// If one of these words follows "token", the key names a single token, as "image_token_id" does.
inline constexpr std::string_view words_after_token[] = {"id", "index"};
/// If a key ends in one of these words after "rope", it says how rotary embeddings pair the channels of a head:
/// "indexer_rope_interleave".
inline constexpr std::string_view words_after_rope[] = {"interleave", "interleaved"};

/// SpecAugment masks spans of frames or channels of its input in training. Its keys have "mask", one of
/// `masked_words` and one of `mask_words`: "mask_channel_length", "no_mask_time_overlap". "mask_feature_size" is a
/// size: it has none of `mask_words`.
inline constexpr std::string_view masked_words[] = {"channel", "feature", "time"};
inline constexpr std::string_view mask_words[] = {"length", "min", "other", "overlap", "prob", "selection"};

/// Iterates over the words of a key. Underscores separate the words.
class key_words {
  public:
    explicit key_words(std::string_view key) : left_(key) {}

    [[nodiscard]] bool next() {
        if (left_.empty()) {
            return false;
        }
        const std::size_t end = left_.find('_');
        word = left_.substr(0, end);
        left_.remove_prefix(end == std::string_view::npos ? left_.size() : end + 1);
        return true;
    }
    std::string_view word{};

  private:
    std::string_view left_;
};

/// Returns true if a list contains a word, with or without the word's final "s".
template <std::size_t N>
[[nodiscard]] bool has_word(const std::string_view (&list)[N], std::string_view word) {
    const std::string_view singular = word.ends_with('s') ? word.substr(0, word.size() - 1) : word;
    return std::any_of(std::begin(list), std::end(list),
                       [&](std::string_view known) { return known == word || known == singular; });
}

/// Returns true if a key is a setting of SpecAugment.
[[nodiscard]] inline bool is_spec_augment(std::string_view name) {
    bool masks = false;
    std::string_view last;
    for (key_words key(name); key.next();) {
        if (masks && has_word(mask_words, key.word)) {
            return true;
        }
        masks = masks || (last == "mask" && has_word(masked_words, key.word));
        last = key.word;
    }
    return false;
}

/// Returns true if the words of a key show that the key changes no matrix product.
[[nodiscard]] inline bool is_silent(const config_node& node) {
    bool structure = false;
    bool silent = false;
    bool ends_silent = false;
    bool is_act = false;
    std::string_view last;
    for (key_words key(node.key); key.next();) {
        structure = structure || has_word(structure_words, key.word);
        silent = silent || has_word(silent_words, key.word);
        const bool after = has_word(words_after_last, key.word);
        const bool is_token_id = last == "token" && has_word(words_after_token, key.word);
        const bool is_rotary = last == "rope" && has_word(words_after_rope, key.word);
        ends_silent = is_token_id || is_rotary || has_word(last_words, key.word) || (after && ends_silent);
        last = key.word;
        is_act =
            key.word == "act" || key.word == "activation" || ((key.word == "fn" || key.word == "function") && is_act);
    }
    // A text value such as "gelu" is the name of an activation function.
    const bool says_function = node.type == config_node::kind::text;
    return ends_silent || (is_act && says_function) || (silent && !structure) || is_spec_augment(node.key);
}

/// Words in keys for sizes that config files often omit: positions, the three colour channels, and layers of
/// multi-token prediction (counted only on request).
inline constexpr std::string_view usual_words[] = {"position", "pos", "channel", "token", "mtp", "nextn"};
/// Words in keys whose value 1 has no effect, such as "every 1 layer", "1 group" or "step 1".
inline constexpr std::string_view one_words[] = {"every",    "factor", "freq",  "frequency", "group",
                                                 "interval", "period", "ratio", "step",      "stride"};

/// Returns true if no note is needed when a config omits this key and its default is `size`. That is so for a size of
/// 0, for sizes that files often omit, and for a 1 that has no effect.
[[nodiscard]] inline bool is_usual_size(std::string_view name, std::int64_t size) {
    bool usual = size == 0;
    for (key_words key(name); key.next();) {
        usual = usual || has_word(usual_words, key.word) || (size == 1 && has_word(one_words, key.word));
    }
    return usual;
}
/// Returns true if a text value under this key lists the kinds of the layers.
[[nodiscard]] inline bool names_layers(std::string_view name) {
    bool names = false;
    for (key_words key(name); key.next();) {
        names = names || key.word == "pattern" || key.word == "layer" || key.word == "layers" || key.word == "blocks";
    }
    return names;
}

/// Returns true if a value may change a count: it is not null, 0 or empty. A flag that is false may matter too, because
/// its default may be true. Returns false for keys that begin with "_", because they are private to the library that
/// wrote the file.
[[nodiscard]] inline bool may_matter(const config_node& node) {
    if (node.key.empty() || node.key.front() == '_') {
        return false;
    }
    switch (node.type) {
        case config_node::kind::null:
            return false;
        case config_node::kind::integer:
            return node.number != 0 || node.beyond;
        case config_node::kind::real:
            return node.real != 0;
        case config_node::kind::text:
            return !node.text.empty();
        case config_node::kind::list:
        case config_node::kind::object:
            return node.count != 0;
        default:
            return true;
    }
}

// A key with a word about training, quantisation or serving is not a size of the model. Examples: "train_batch_size",
// "save_freq", "q_group_size", "cache_size".

/// Beginnings of words about training, quantisation and serving: "train" is the beginning of "training".
inline constexpr std::string_view outside_stems[] = {"calibrat", "checkpoint", "finetun", "optim",
                                                     "pretrain", "train",      "valid"};
/// The beginning of words about quantisation. Names of layers of a vector quantizer begin with it too.
inline constexpr std::string_view quantised_stem = "quant";
/// Words about training; the list has them without their final "s".
inline constexpr std::string_view training_words[] = {
    "accumulation", "adam", "dataloader", "dataset",   "ddp",  "deepspeed", "entropy",
    "epoch",        "eval", "evaluation", "fsdp",      "grad", "gradient",  "iteration",
    "learning",     "log",  "logging",    "loss",      "lr",   "momentum",  "peft",
    "print",        "save", "sft",        "smoothing", "sync", "unsloth",   "warmup"};
/// Words about quantisation, generation, serving and devices; the list has them without their final "s".
inline constexpr std::string_view serving_words[] = {
    "assistant", "awq",       "beam",      "bit",  "convert", "device", "dp",      "ep",       "generation",
    "gptq",      "gpu",       "groupsize", "load", "lookup",  "node",   "penalty", "pipeline", "pp",
    "prefill",   "scheduler", "thread",    "tp",   "virtual", "vllm",   "worker",  "world"};
/// Words and ends of keys that may be about training, quantisation or serving, or about a layer. Such a key is about a
/// layer only if it also has one of `layer_words`. "layer_group_size" and "conv_L_cache" are about a layer;
/// "q_group_size" and "num_position_embeddings" are not.
inline constexpr std::string_view ambiguous_words[] = {"batch",   "cache",  "core",   "data",
                                                       "process", "sample", "tensor", "test"};
inline constexpr std::string_view ambiguous_ends[] = {"group_size", "pos_embedding", "pos_embeddings",
                                                      "position_embedding", "position_embeddings"};
/// Words that name a size of a layer at any position in a key; the list has them without their final "s".
inline constexpr std::string_view layer_words[] = {"channel", "conv",   "depth",  "dim",   "dimension", "expert",
                                                   "head",    "hidden", "kernel", "layer", "width"};
/// Keys about training and quantisation, or the ends of such keys. Whole keys are compared, because their single words
/// also occur in keys of sizes.
inline constexpr std::string_view outside_ends[] = {"parallel_size",      "max_steps",        "total_steps",
                                                    "global_step",        "zero_stage",       "sparsity_config",
                                                    "compression_config", "linear_block_size"};
/// Keys about generation and adapters. "top_k" can also be the number of chosen experts. In that case the key with the
/// number of experts is unread too and gets a note.
inline constexpr std::string_view outside_names[] = {"alpha_pattern",
                                                     "init_lora_weights",
                                                     "layer_replication",
                                                     "layers_pattern",
                                                     "layers_to_transform",
                                                     "local_rank",
                                                     "low_memory",
                                                     "rank_pattern",
                                                     "sequence_bias",
                                                     "top_h",
                                                     "top_k",
                                                     "top_p"};
/// A key that begins or ends with one of these words belongs to an adapter: "lora_rank". In the middle of a key they do
/// not count: "q_lora_rank" is the size of a layer.
inline constexpr std::string_view adapter_words[] = {"lora", "qlora", "dora", "xlora"};

/// Words that name a piece of a layer, such as a gate. A flag with such a word adds or removes that piece:
/// "use_output_gate".
inline constexpr std::string_view part_words[] = {
    "adapter",    "bottleneck", "compress", "compressed", "conv",      "convolution", "cross",
    "deepstack",  "encoder",    "expert",   "ffn",        "gate",      "gated",       "hybrid",
    "interleave", "latent",     "loop",     "lora",       "low",       "mamba",       "merger",
    "mixer",      "mlp",        "moe",      "mtp",        "nextn",     "pooler",      "proj",
    "projection", "projector",  "rank",     "recurrence", "recurrent", "resampler",   "router",
    "shared",     "sliding",    "sparse",   "ssm",        "swa",       "tower",       "window"};
/// If a key with a fractional number ends in one of these words, the number sets a size: "mlp_ratio",
/// "ffn_dim_multiplier".
inline constexpr std::string_view ratio_words[] = {"depth", "dim",      "expand",     "expansion", "factor", "multiple",
                                                   "ratio", "sparsity", "multiplier", "size",      "width"};
/// If a key ends in one of these words, its list of texts has the kinds of layers: "block_types".
inline constexpr std::string_view kind_words[] = {"kind", "layout", "order", "pattern", "schedule", "type"};

/// A list with only these kinds of layers does not count as a size: "layer_types": ["full_attention", ...].
inline constexpr std::string_view plain_kinds[] = {"full_attention", "attention", "dense"};

/// Returns true if the words of a key say that it belongs to training, quantisation or serving.
[[nodiscard]] inline bool is_outside(std::string_view name) {
    const auto ends = [name](std::string_view end) {
        return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '_');
    };
    bool outside = std::any_of(std::begin(outside_ends), std::end(outside_ends), ends) ||
                   std::find(std::begin(outside_names), std::end(outside_names), name) != std::end(outside_names);
    bool ambiguous = std::any_of(std::begin(ambiguous_ends), std::end(ambiguous_ends), ends);
    bool of_layer = false;
    std::string_view first;
    std::string_view last;
    for (key_words key(name); key.next();) {
        const auto begins = [&key](std::string_view stem) { return key.word.starts_with(stem); };
        outside = outside || has_word(training_words, key.word) || has_word(serving_words, key.word) ||
                  std::any_of(std::begin(outside_stems), std::end(outside_stems), begins);
        // "quantizer" is an exception, because a quantizer is a layer of the model.
        ambiguous =
            ambiguous || has_word(ambiguous_words, key.word) || (begins(quantised_stem) && !begins("quantizer"));
        of_layer = of_layer || has_word(layer_words, key.word);
        first = first.empty() ? key.word : first;
        last = key.word;
    }
    return outside || (ambiguous && !of_layer) || has_word(adapter_words, first) || has_word(adapter_words, last);
}

/// Returns true if a key and its value look like a size or a part of the model. Reading such a key would change the
/// count: "moe_latent_dim": 64, "use_output_gate": true, "block_pattern": "MMA". An object counts as a size if one of
/// its keys does. Returns false for values without effect: null, false, 0, -1 (off), a 1 that means "no effect", and
/// empty values.
[[nodiscard]] inline bool names_size(const config_tree& tree, const config_node& node,  // NOLINT(misc-no-recursion)
                                     std::string_view name, unsigned depth = 0, bool in_list = false) {
    constexpr unsigned deepest = 20;
    if (!may_matter(node) || is_outside(name) || depth > deepest) {
        return false;
    }
    if (node.type == config_node::kind::object) {
        for (std::size_t i = 0; i < node.count; ++i) {
            const config_node& child = tree.child(node, i);
            if (!is_silent(child) && names_size(tree, child, child.key, depth + 1)) {
                return true;
            }
        }
        return false;
    }
    bool structure = false;
    bool part = false;
    bool unit = false;  // true for a word such as "every" or "factor", where the value 1 has no effect
    std::string_view last;
    for (key_words key(name); key.next();) {
        structure = structure || has_word(structure_words, key.word);
        part = part || has_word(part_words, key.word);
        unit = unit || has_word(one_words, key.word);
        last = key.word;
    }
    switch (node.type) {
        case config_node::kind::flag:
            return part && node.number != 0;
        case config_node::kind::integer:
            return structure && (node.beyond || node.number > (unit ? 1 : 0));
        case config_node::kind::real:
            return structure && has_word(ratio_words, last) && node.real > 0 && !(unit && node.real == 1);
        case config_node::kind::text: {
            const bool has_number = node.text.find_first_of("0123456789") != std::string::npos &&
                                    node.text.find_first_not_of("0123456789,.:x*- ") == std::string::npos;
            const bool is_plain =
                std::find(std::begin(plain_kinds), std::end(plain_kinds), node.text) != std::end(plain_kinds);
            return structure &&
                   (last == "pattern" || has_number || (in_list && !is_plain && has_word(kind_words, last)));
        }
        default:
            for (std::size_t i = 0; i < node.count; ++i) {
                const config_node& child = tree.child(node, i);
                config_node named = child;
                named.key = node.key;
                if (names_size(tree, named, name, depth + 1, true)) {
                    return true;
                }
            }
            return false;
    }
}

}  // namespace floptally::detail::specs
