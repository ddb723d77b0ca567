// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/fields.hpp>
#include <floptally/detail/pages/nearest.hpp>
#include <floptally/detail/pages/page.hpp>

/// @file
/// Keys of a config that no page reads. Most configs have many that change no product; one that looks like a size, a
/// number of layers or a kind of layer would change the count silently, and is noted.

namespace floptally::detail::pages {

inline constexpr std::string_view unread_note = "config has a key that is not read: ";

/// Keys that look like structure, and are none of a forward pass: angles of positions, how tokens are drawn, how
/// experts are grouped, seeds, and what a tokenizer or a saved file says of itself.
inline constexpr std::string_view silent_words[] = {"rope",
                                                    "rotary",
                                                    "theta",
                                                    "drop",
                                                    "eps",
                                                    "token_id",
                                                    "beam",
                                                    "penalty",
                                                    "loss",
                                                    "aux",
                                                    "use_cache",
                                                    "output_",
                                                    "return_",
                                                    "pretraining",
                                                    "n_group",
                                                    "topk_group",
                                                    "scal",
                                                    "norm_topk",
                                                    "dtype",
                                                    "_name",
                                                    "version",
                                                    "act",
                                                    "quant",
                                                    "labels",
                                                    "problem",
                                                    "position",
                                                    "clip",
                                                    "softcap",
                                                    "length",
                                                    "init",
                                                    "_id",
                                                    "bias_",
                                                    "residual",
                                                    "gradient",
                                                    "checkpoint",
                                                    "attn_implementation",
                                                    "token_index",
                                                    "aspect_ratio",
                                                    "multiplier",
                                                    "temperature",
                                                    "softmax",
                                                    "upcast",
                                                    "flash",
                                                    "logn",
                                                    "n_ctx",
                                                    "n_special",
                                                    "start_n_top",
                                                    "end_n_top",
                                                    "ngram",
                                                    "batch",
                                                    "group_by",
                                                    "ep_size",
                                                    "method",
                                                    "strategy",
                                                    "dim_model_base",
                                                    "logits_to_keep",
                                                    "layernorm",
                                                    "layer_norm",
                                                    "time_step",
                                                    "expert_group",
                                                    "renormalize",
                                                    "chunksize",
                                                    "force_",
                                                    "use_expert_bias",
                                                    "_overlap",
                                                    "fp32",
                                                    "float32",
                                                    "tile",
                                                    "encoder_patch"};

/// Words in the names of keys that say how large something is, or of which kind.
inline constexpr std::string_view structure_words[] = {"layer", "head", "hidden", "inter", "dim",   "expert", "window",
                                                       "rank",  "size", "n_",     "num_",  "width", "depth",  "topk",
                                                       "top_k", "attn", "conv",   "ffn",   "ssm",   "chunk",  "moe"};

/// Anywhere in the key; "n_" and "num_" only where a word begins: not in "attn_scale".
[[nodiscard]] inline bool has_word(std::string_view key, std::string_view word) {
    const bool begins_word = word == "n_" || word == "num_";
    for (std::size_t at = key.find(word); at != std::string_view::npos; at = key.find(word, at + 1)) {
        if (!begins_word || at == 0 || key[at - 1] == '_') {
            return true;
        }
    }
    return false;
}

[[nodiscard]] inline bool looks_like_structure(const config_node& one) {
    const bool is_size = one.is == config_node::kind::integer || one.is == config_node::kind::flag;
    const bool says_something = one.is == config_node::kind::list || (is_size && one.number != 0);
    bool structure = false;
    if (one.key.empty() || one.key.front() == '_') {
        return false;  // what a library keeps for itself
    }
    for (const std::string_view word : structure_words) {
        structure = structure || has_word(one.key, word);
    }
    for (const std::string_view word : silent_words) {
        structure = structure && !has_word(one.key, word);
    }
    return says_something && structure;
}

/// The base reads it and this class does not. Saved configs have such sizes, which the class makes of others; a list
/// that says what each layer is would change the count.
[[nodiscard]] inline bool ignores_list(const page& read, const config_node& one) {
    if (one.is != config_node::kind::list) {
        return false;
    }
    for (const page* p = &read; p != nullptr; p = p->base) {
        if (p->find_key(one.key) != nullptr) {
            return false;
        }
        for (const std::string_view key : p->without) {
            if (key == one.key) {
                return true;
            }
        }
    }
    return false;
}

/// Every key that a page or its base declares, the models inside too.
inline void declared_keys(const page& read, array_of<std::string_view>& all) {
    for (const page* p = &read; p != nullptr; p = p->base) {
        for (const key_rule& one : p->keys) {
            all.push_back(one.key.substr(0, one.key.find('.')));
        }
        for (const expression& one : p->expressions) {
            if (one.what == op::key) {
                all.push_back(one.text.substr(0, one.text.find('.')));
            }
        }
        for (const inner_model& one : p->inner) {
            all.push_back(one.key);
        }
    }
}

/// `other_side`: the page of the encoder, which reads the same config.
inline void note_unread(const page& read, const page* other_side, const fields& config, bool strict,
                        std::vector<std::string>& notes) {
    array_of<std::string_view> declared;
    declared_keys(read, declared);
    if (other_side != nullptr) {
        declared_keys(*other_side, declared);
    }
    for (const inner_model& one : read.inner) {
        if (one.flat && !config.has_value(one.key)) {
            return;  // the keys of the model inside stand here
        }
    }
    for (std::size_t i = 0; i < config.object().count; ++i) {
        const config_node& one = config.tree().child(config.object(), i);
        bool known = false;
        for (const std::string_view key : declared) {
            known = known || key == one.key;
        }
        known = known && !ignores_list(read, one);
        if (known || !looks_like_structure(one)) {
            continue;
        }
        const std::string_view near = nearest(one.key, declared);
        if (strict) {
            refuse(config.field(one.key), {"is not read by page ", read.name,
                                           (near.empty() ? "" : "; nearest that is: " + std::string(near))});
        }
        notes.push_back(std::string(unread_note) + one.key + " (" + config.shown(one) + ")" +
                        (near.empty() || config.has_value(near) ? "" : "; " + std::string(near) + " is read"));
    }
}

}  // namespace floptally::detail::pages
