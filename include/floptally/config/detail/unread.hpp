// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/scope.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/page_language/nearest.hpp>
#include <floptally/page_language/page.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Keys of a config that no page reads. Most change no product; one that looks like a size, a number of layers or a
/// kind of layer would change the count silently, and is noted.

namespace floptally::detail::pages {

inline constexpr std::string_view unread_note = "config has a key that is not read: ";

/// Words in keys that look like structure and have no part in a forward pass: angles of positions, how tokens are
/// drawn, how experts are grouped, seeds, and descriptions of a tokenizer or a saved file.
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

/// Words in the names of keys for how large something is, or for its kind.
inline constexpr std::string_view structure_words[] = {"layer", "head", "hidden", "inter", "dim",   "expert", "window",
                                                       "rank",  "size", "n_",     "num_",  "width", "depth",  "topk",
                                                       "top_k", "attn", "conv",   "ffn",   "ssm",   "chunk",  "moe"};

/// True where a key has a word: anywhere; "n_" and "num_" only where a word begins, not in "attn_scale".
[[nodiscard]] inline bool has_word(std::string_view key, std::string_view word) {
    const bool begins_word = word == "n_" || word == "num_";
    for (std::size_t at = key.find(word); at != std::string_view::npos; at = key.find(word, at + 1)) {
        if (!begins_word || at == 0 || key[at - 1] == '_') {
            return true;
        }
    }
    return false;
}

/// True where a node of a config has a value and a key that looks like a size or a kind of layer.
[[nodiscard]] inline bool looks_like_structure(const config_node& node) {
    const bool is_size = node.type == config_node::kind::integer || node.type == config_node::kind::flag;
    const bool says_something = node.type == config_node::kind::list || (is_size && node.number != 0);
    bool structure = false;
    if (node.key.empty() || node.key.front() == '_') {
        return false;  // what a library keeps for itself
    }
    for (const std::string_view word : structure_words) {
        structure = structure || has_word(node.key, word);
    }
    for (const std::string_view word : silent_words) {
        structure = structure && !has_word(node.key, word);
    }
    return says_something && structure;
}

/// True where a list is read by the base and not by this class. Saved configs have such sizes, which the class makes of
/// others; a list that gives the kind of each layer would change the count.
[[nodiscard]] inline bool ignores_list(const page& read, const config_node& node) {
    if (node.type != config_node::kind::list) {
        return false;
    }
    for (const page* p = &read; p != nullptr; p = p->base) {
        if (p->find_key(node.key) != nullptr) {
            return false;
        }
        for (const std::string_view key : p->without) {
            if (key == node.key) {
                return true;
            }
        }
    }
    return false;
}

/// Throws at the first key that no page declares: in floptally's own format a misspelt one would change the count
/// silently.
inline void refuse_undeclared(const scope& names) {
    const vector<std::string_view> known = names_in(&names.of(), &page::keys, &page_key::key);
    const fields& config = names.config();
    for (std::size_t i = 0; i < config.object().count; ++i) {
        const std::string& key = config.tree().child(config.object(), i).key;
        bool is_known = false;
        std::string listed;
        for (const std::string_view name : known) {
            is_known = is_known || name == key;
            append_item(listed, name);
        }
        if (!is_known) {
            refuse(config.field(key), {"unknown key; known: ", listed});
        }
    }
}

/// Adds every key that a page or its bases declare, those of the models inside too.
inline void declared_keys(const page& read, vector<std::string_view>& all) {
    for (const page* p = &read; p != nullptr; p = p->base) {
        for (const page_key& known : p->keys) {
            all.push_back(known.key.substr(0, known.key.find('.')));
        }
        for (const expression& operand : p->expressions) {
            if (operand.what == op::key) {
                all.push_back(operand.text.substr(0, operand.text.find('.')));
            }
        }
        for (const inner_model& model : p->inner) {
            all.push_back(model.key);
        }
    }
}

/// Notes the unread keys that look like structure; with `strict` throws at the first. `other_side` is the page of the
/// encoder, which reads the same config.
inline void note_unread(const page& read, const page* other_side, const fields& config, bool strict,
                        std::vector<std::string>& notes) {
    vector<std::string_view> declared;
    declared_keys(read, declared);
    if (other_side != nullptr) {
        declared_keys(*other_side, declared);
    }
    for (const inner_model& inside : read.inner) {
        if (inside.flat && !config.has_value(inside.key)) {
            return;  // the keys of the model inside stand here
        }
    }
    for (std::size_t i = 0; i < config.object().count; ++i) {
        const config_node& child = config.tree().child(config.object(), i);
        bool known = false;
        for (const std::string_view key : declared) {
            known = known || key == child.key;
        }
        known = known && !ignores_list(read, child);
        if (known || !looks_like_structure(child)) {
            continue;
        }
        const std::string_view near = nearest(child.key, declared);
        if (strict) {
            refuse(config.field(child.key),
                   {"is not read by page ", read.name, near.empty() ? "" : "; nearest that is: ", near});
        }
        const bool says_nearest = !near.empty() && !config.has_value(near);
        notes.push_back(text_of({unread_note, child.key, " (", config.shown(child), ")", says_nearest ? "; " : "",
                                 says_nearest ? near : std::string_view(), says_nearest ? " is read" : ""}));
    }
}

}  // namespace floptally::detail::pages
