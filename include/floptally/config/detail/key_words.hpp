// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include <floptally/page_language/config_tree.hpp>

/// @file
/// Names of keys, word by word: which say how large something is or of what kind, and which say something that changes
/// no product.

namespace floptally::detail::pages {

/// Words for how large something is, how many there are and of what kind, without an "s" at their end. A name that has
/// one is noted, whatever its other words are.
inline constexpr std::string_view structure_words[] = {
    "activated", "active",       "adapter",     "always",     "attn",      "attention",  "between",   "bias",
    "block",     "branch",       "bottleneck",  "channel",    "chunk",     "component",  "compress",  "compressed",
    "context",   "conv",         "convolution", "count",      "cross",     "decoder",    "deepstack", "dense",
    "depth",     "dilation",     "dim",         "dimension",  "divisor",   "downsample", "each",      "embed",
    "embedding", "encoder",      "even",        "every",      "exclude",   "expand",     "expansion", "expert",
    "factor",    "fc",           "feature",     "feed",       "ffn",       "first",      "forward",   "freq",
    "frequency", "full",         "fused",       "gate",       "gated",     "global",     "grid",      "group",
    "head",      "height",       "hidden",      "hybrid",     "include",   "index",      "inner",     "inter",
    "interval",  "intermediate", "interleave",  "k",          "kernel",    "key",        "kind",      "kv",
    "last",      "latent",       "layer",       "layout",     "level",     "linear",     "list",      "local",
    "loop",      "lora",         "low",         "mamba",      "memory",    "merge",      "merger",    "mixer",
    "mlp",       "modality",     "module",      "moe",        "more",      "mtp",        "multiple",  "n",
    "nextn",     "num",          "number",      "odd",        "only",      "order",      "parallel",  "patch",
    "pattern",   "per",          "period",      "periodic",   "pool",      "pooler",     "pooling",   "prefix",
    "proj",      "projection",   "projector",   "q",          "qk",        "qkv",        "qformer",   "queries",
    "query",     "rank",         "ratio",       "recurrence", "recurrent", "reduction",  "register",  "repeat",
    "resampler", "resolution",   "router",      "routed",     "row",       "schedule",   "shape",     "share",
    "shared",    "side",         "size",        "skip",       "sliding",   "span",       "sparse",    "sparsity",
    "spatial",   "split",        "ssm",         "stack",      "stage",     "state",      "step",      "stream",
    "stride",    "swa",          "switch",      "temporal",   "tie",       "tied",       "top",       "topk",
    "tower",     "type",         "unit",        "up",         "upsample",  "value",      "variant",   "vision",
    "visual",    "vocab",        "wide",        "width",      "window"};

/// Words for what changes no product, without an "s" at their end: positions, tokens, seeds, how a model is trained and
/// how it generates, what a file is of. A name that has one, and none for structure, is not noted.
inline constexpr std::string_view silent_words[] = {
    "aux",         "beam",     "bos",        "cache",     "drop",        "dropout", "dtype",        "eos",    "eps",
    "epsilon",     "flash",    "generation", "gradient",  "id",          "init",    "initializer",  "label",  "lang",
    "logit",       "loss",     "pad",        "penalty",   "pretraining", "quant",   "quantization", "return", "rope",
    "rotary",      "sampling", "scaling",    "seed",      "sep",         "softcap", "softmax",      "std",    "task",
    "temperature", "theta",    "token",      "tokenizer", "torch",       "version", "yarn"};

/// Words at the end of a name that silence all before them: a rate of dropout, an epsilon and the spread of first
/// weights multiply nothing, whatever layer they are of. "fn", "prob" and the like may follow.
inline constexpr std::string_view last_words[] = {"drop",        "dropout", "pdrop", "layerdrop",  "eps",
                                                  "epsilon",     "std",     "theta", "dtype",      "softcap",
                                                  "softcapping", "jitter",  "loss",  "initializer"};
inline constexpr std::string_view words_after_last[] = {"p", "prob", "rate", "coef", "coefficient", "weight", "range"};

/// Words after "token" that make a name that of one token: "image_token_id", and not "num_tokens".
inline constexpr std::string_view words_after_token[] = {"id", "index"};

/// The words of a name between underscores, from the left.
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

/// True where a list has a word, or the word without an "s" at its end.
template <std::size_t N>
[[nodiscard]] bool has_word(const std::string_view (&list)[N], std::string_view word) {
    const std::string_view singular = word.ends_with('s') ? word.substr(0, word.size() - 1) : word;
    return std::any_of(std::begin(list), std::end(list),
                       [&](std::string_view known) { return known == word || known == singular; });
}

/// True where the words of a key say that it changes no product.
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
        ends_silent = is_token_id || has_word(last_words, key.word) || (after && ends_silent);
        last = key.word;
        is_act =
            key.word == "act" || key.word == "activation" || ((key.word == "fn" || key.word == "function") && is_act);
    }
    const bool says_function = node.type == config_node::kind::text;  // and not "gated_activation": true
    return ends_silent || (is_act && says_function) || (silent && !structure);
}

/// Words of sizes that files leave out: positions of a table, the three colours of pixels, and layers of multi-token
/// prediction, which are counted only where somebody asks.
inline constexpr std::string_view usual_words[] = {"position", "pos", "channel", "token", "mtp", "nextn"};
/// Words of sizes of which one is as good as none: every layer, one group, a step of one.
inline constexpr std::string_view one_words[] = {"every",    "factor", "freq",  "frequency", "group",
                                                 "interval", "period", "ratio", "step",      "stride"};

/// True where a name and its default say such a size, or nothing: zero of something.
[[nodiscard]] inline bool is_usual_size(std::string_view name, std::int64_t size) {
    bool usual = size == 0;
    for (key_words key(name); key.next();) {
        usual = usual || has_word(usual_words, key.word) || (size == 1 && has_word(one_words, key.word));
    }
    return usual;
}
/// True where a text under the name would say of what kind each layer is.
[[nodiscard]] inline bool names_layers(std::string_view name) {
    bool names = false;
    for (key_words key(name); key.next();) {
        names = names || key.word == "pattern" || key.word == "layer" || key.word == "layers" || key.word == "blocks";
    }
    return names;
}

/// True where a node of a config says something: not null, no size of zero and nothing empty. A switch that is off may
/// be on by default. What a library keeps for itself begins with "_".
[[nodiscard]] inline bool may_matter(const config_node& node) {
    if (node.key.empty() || node.key.front() == '_') {
        return false;
    }
    switch (node.type) {
        case config_node::kind::null:
            return false;
        case config_node::kind::integer:
            return node.number != 0 || node.beyond;
        case config_node::kind::text:
            return !node.text.empty();
        case config_node::kind::list:
        case config_node::kind::object:
            return node.count != 0;
        default:
            return true;
    }
}

}  // namespace floptally::detail::pages
