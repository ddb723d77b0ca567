// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>

/// @file
/// What single types among BERT's kin have besides its layers, and what they refuse.

namespace floptally::detail {

/// Classes that look at no `is_decoder`: they see all tokens, whatever it says.
inline void refuse_decoder(hf_model& model) { model.refuse_flag("is_decoder", true); }

/// I-BERT's quantised mode rounds weights and activations before each product.
inline void require_floats(hf_model& model) {
    refuse_decoder(model);
    model.refuse_flag("quant_mode", true);
}
/// RemBERT's class ties nothing, whatever the config says.
inline void refuse_tied(hf_model& model) { model.refuse_flag("tie_word_embeddings", true); }

// ---- embeddings ----

[[nodiscard]] inline std::uint64_t table_width(const hf_model& model) { return model.family.embedding_width(model); }

/// The norm of an embedding that is narrower than the layers, and the linear that widens it.
[[nodiscard]] inline cost widened_embedding(const hf_model& model) {
    const std::uint64_t width = table_width(model);
    cost sum;
    sum.add_parameters("norm", term::norm, 2 * width);
    sum.add("embedding.projection",
            linear{.in_features = width, .out_features = model.sizes.hidden_size, .dealt = dealing::replicated()});
    sum.add_parameters("bias", term::bias, model.sizes.hidden_size);
    return sum;
}

[[nodiscard]] inline cost electra_embedding(const hf_model& model) {
    if (table_width(model) != model.sizes.hidden_size) {
        return widened_embedding(model);
    }
    cost sum;
    sum.add_parameters("norm", term::norm, 2 * table_width(model));
    return sum;
}

/// A table of task types, where the config asks for it.
[[nodiscard]] inline cost ernie_task_types(const hf_model& model) {
    cost sum;
    if (model.config.flag("use_task_id", false)) {
        const std::uint64_t types = model.config.dimension({"task_type_vocab_size"}, 3);
        sum.add_parameters("embedding", term::position_embedding,
                           checked_multiply(types, model.sizes.hidden_size, "embedding"));
    }
    return sum;
}

/// One number per head and bucket of distances, the same in every layer.
[[nodiscard]] inline cost mpnet_position_bias(const hf_model& model) {
    const std::uint64_t buckets = model.config.dimension({"relative_attention_num_buckets"}, 32);
    cost sum;
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(buckets, model.sizes.num_heads, "embedding"));
    return sum;
}

/// Tables of pronunciations and shapes; with `concat_input` a linear mixes them with the words. The class keeps the
/// tables also where it does not look them up.
[[nodiscard]] inline cost roc_bert_inputs(const hf_model& model) {
    const config_fields& config = model.config;
    const std::uint64_t h = model.sizes.hidden_size;
    const std::uint64_t sound = config.dimension({"pronunciation_embed_dim"}, 768);
    const std::uint64_t shape = config.dimension({"shape_embed_dim"}, 512);
    const auto table = [&](std::string_view key, std::uint64_t rows, std::uint64_t width) {
        return checked_multiply(config.integer({key}, rows, 1, max_vocabulary), width, "embedding");
    };
    cost sum;
    sum.add_parameters("embedding", term::embedding, table("pronunciation_vocab_size", 910, sound));
    sum.add_parameters("embedding", term::embedding, table("shape_vocab_size", 24858, shape));
    if (config.flag("concat_input", true)) {
        const std::uint64_t width = h + (config.flag("enable_pronunciation", true) ? sound : 0) +
                                    (config.flag("enable_shape", true) ? shape : 0);
        sum.add("embedding.projection",
                linear{.in_features = width, .out_features = h, .dealt = dealing::replicated()});
        sum.add_parameters("bias", term::bias, h);
    }
    return sum;
}

// ---- X-MOD ----

/// Adapters of a language that is listed twice are one.
[[nodiscard]] inline std::uint64_t xmod_languages(const hf_model& model) {
    const json* listed = model.config.array("languages");
    if (listed == nullptr) {
        return 1;
    }
    std::set<std::string> languages;
    for (std::size_t i = 0; i < listed->size(); ++i) {
        const json& language = (*listed)[i];
        if (!language.is_string()) {
            throw error(indexed(model.config.field("languages"), i), "must be a string, got " + shown(language));
        }
        languages.insert(language.get<std::string>());
    }
    return languages.size();
}

/// After each MLP two linears with a bottleneck between: one pair for each language, and a token passes one of them.
[[nodiscard]] inline cost xmod_adapters(const hf_model& model, const hf_layer& at) {
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t narrow = h / model.config.integer({"adapter_reduction_factor"}, 2, 1, h);
    const std::uint64_t languages = xmod_languages(model);
    cost sum;
    if (languages != 0) {
        sum.add("adapter", linear{.in_features = h, .out_features = narrow, .applied = 2, .stored = 2 * languages});
        sum.add_parameters("bias", term::bias, checked_multiply(languages, narrow + h, "bias"));
    }
    sum.add_parameters("norm", term::norm, model.config.flag("adapter_layer_norm", false) ? 2 * h : 0);
    return sum;
}

[[nodiscard]] inline cost xmod_final_norm(const hf_model& model) {
    cost sum;
    sum.add_parameters("norm", term::norm, model.config.flag("pre_norm", false) ? 2 * model.sizes.hidden_size : 0);
    return sum;
}

/// The default is "block_sparse", whose random blocks no mask here follows.
inline void require_full_attention(hf_model& model) {
    const json* type = model.config.find("attention_type");
    if (type == nullptr || *type != "original_full") {
        throw error(model.config.field("attention_type"),
                    std::string(type == nullptr ? "is missing" : "is not supported for model_type big_bird")
                        .append(R"(; must be "original_full": the random blocks of "block_sparse" are not followed)")
                        .append(type == nullptr ? "" : ", got ")
                        .append(type == nullptr ? "" : shown(*type)));
    }
}

}  // namespace floptally::detail
