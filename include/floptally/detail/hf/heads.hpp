// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>

/// @file
/// The classes that `architectures` may name: what each computes after the last layer.

namespace floptally::detail {

[[nodiscard]] inline std::uint64_t hidden_width(const hf_model& model) { return model.sizes.hidden_size; }
[[nodiscard]] inline std::uint64_t vocabulary_width(const hf_model& model) { return model.sizes.vocab_size; }
/// A vocabulary is cut, a classifier is whole on every rank.
[[nodiscard]] inline dealing dealing_of(const head_linear& last) {
    return last.out == vocabulary_width ? dealing::vocabulary() : dealing::replicated();
}
template <std::uint64_t Width>
[[nodiscard]] std::uint64_t fixed_width(const hf_model&) {
    return Width;
}

/// `num_labels` wins over `id2label`; without both there are two.
[[nodiscard]] inline std::uint64_t labels_width(const hf_model& model) {
    const config_fields& config = model.config;
    if (config.contains("num_labels")) {
        return config.dimension({"num_labels"});
    }
    if (!config.has_value("id2label")) {
        return 2;
    }
    const json& labels = *config.find("id2label");
    if (!labels.is_object() || labels.empty()) {
        throw error(config.field("id2label"), "must be an object with at least one label, got " + shown(labels));
    }
    return labels.size();
}

/// Width of GPT-2's summary of a sequence; 0 is no linear at all.
[[nodiscard]] inline std::uint64_t summary_of(const hf_model& model, std::uint64_t labels) {
    const config_fields& config = model.config;
    if (config.text("summary_type", "cls_index") == "attn") {
        throw error(config.field("summary_type"),
                    R"(must be "cls_index", "first", "last" or "mean", got "attn", which is not implemented)");
    }
    if (!config.flag("summary_use_proj", true)) {
        return 0;
    }
    return config.flag("summary_proj_to_labels", true) ? labels : model.sizes.hidden_size;
}
/// Its multiple-choice head has one label.
[[nodiscard]] inline std::uint64_t summary_width(const hf_model& model) { return summary_of(model, 1); }
[[nodiscard]] inline std::uint64_t labels_summary_width(const hf_model& model) {
    return summary_of(model, labels_width(model));
}

/// The width that kernels compute; 0 where a linear of the head is not over the vocabulary.
[[nodiscard]] inline std::uint64_t padded_width(const hf_model& model, const head_linear& after, std::uint64_t width) {
    const std::uint64_t padded = after.out == vocabulary_width ? model.options.padded_vocab_size : 0;
    if (padded != 0 && padded < width) {
        throw error("padded_vocab_size",
                    "must be at least vocab_size (" + std::to_string(width) + "), got " + std::to_string(padded));
    }
    return padded;
}

/// Rows of the tables of positions and segments.
[[nodiscard]] inline std::uint64_t read_position_rows(const hf_model& model) {
    const hf_family& family = model.family;
    const bool has_table =
        !family.positions_by_type || model.config.text("position_embedding_type", "absolute") == "absolute";
    std::uint64_t rows = 0;
    if (family.positions != 0 && has_table) {
        rows +=
            model.config.dimension({"max_position_embeddings", family.also.max_position_embeddings}, family.positions) +
            family.position_offset;
    }
    if (family.segments != 0) {
        rows += model.config.dimension({"type_vocab_size"}, family.segments);
    }
    return rows;
}

inline constexpr statistic per_sequence = statistic::count;
inline constexpr statistic per_token = statistic::tokens;

/// Classes that most decoders have, in this order; a family takes the first few.
inline constexpr std::array decoder_heads{
    head{"ForCausalLM", {{vocabulary_width}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {{labels_width}}},
    head{"ForTokenClassification", {{.out = labels_width, .bias = true, .bias_key = "token_classification_bias"}}},
    head{"ForQuestionAnswering", {{fixed_width<2>, per_token, true}}},
};
inline constexpr std::span<const head> all_decoder_heads{decoder_heads};

inline constexpr std::array ernie4_5_moe_heads{
    head{"ForCausalLM", {{.out = vocabulary_width, .bias = true, .bias_key = "use_bias", .bias_otherwise = false}}},
    head{"Model", {}},
};

inline constexpr std::array gpt_neox_heads{
    decoder_heads[0], decoder_heads[1],
    decoder_heads[2], head{"ForTokenClassification", {{labels_width, per_token, true}}},
    decoder_heads[4],
};

inline constexpr std::span<const head> all_gpt_neox_heads{gpt_neox_heads};

/// An lm_head with a bias.
inline constexpr std::array gptj_heads{
    head{"ForCausalLM", {{vocabulary_width, per_token, true}}},
    decoder_heads[1],
    decoder_heads[2],
    head{"ForQuestionAnswering", {{labels_width, per_token, true}}},
};
inline constexpr std::array codegen_heads{gptj_heads[0], gptj_heads[1]};
inline constexpr std::array phi_heads{gptj_heads[0], decoder_heads[1], decoder_heads[2], decoder_heads[3]};
inline constexpr std::array apertus_heads{decoder_heads[0], decoder_heads[1], decoder_heads[3]};
inline constexpr std::array ctrl_heads{
    head{"LMHeadModel", {{vocabulary_width, per_token, true}}},
    decoder_heads[1],
    decoder_heads[2],
};
inline constexpr std::array heads_of_optional_bias{
    head{"ForCausalLM", {{.out = vocabulary_width, .bias = true, .bias_key = "lm_head_bias", .bias_otherwise = false}}},
    decoder_heads[1],
    decoder_heads[2],
};

/// Of the text of a model with towers, which has classes of its own.
inline constexpr std::array text_model_heads{
    head{"ForCausalLM", {{vocabulary_width}}},
    head{"TextModel", {}},
    head{"TextForSequenceClassification", {{labels_width}}},
};

/// The one class of most vision towers.
inline constexpr std::array vision_model_heads{
    head{"VisionModel", {}},
};

inline constexpr std::array gpt2_heads{
    head{"LMHeadModel", {{vocabulary_width}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {{labels_width}}},
    head{"ForTokenClassification", {{labels_width, per_token, true}}},
    head{"ForQuestionAnswering", {{fixed_width<2>, per_token, true}}},
    head{"DoubleHeadsModel", {{vocabulary_width}, {summary_width, per_sequence, true}}},
};

inline constexpr std::array openai_gpt_heads{gpt2_heads[0], gpt2_heads[1], gpt2_heads[2], gpt2_heads[5]};

/// The pooler sees the first token of each sequence; in a bare model its output reaches no loss.
inline constexpr head_linear pooler{hidden_width, per_sequence, true};
inline constexpr head_linear detached_pooler{hidden_width, per_sequence, true, true};
inline constexpr head_linear mlm_transform{hidden_width, per_token, true, false, 2};
inline constexpr head_linear mlm_decoder{vocabulary_width, per_token, true};
inline constexpr head_linear bert_decoder{vocabulary_width, per_token, true, false, 0, true};

inline constexpr std::array esm_heads{
    head{"ForMaskedLM", {mlm_transform, mlm_decoder}},
    head{"Model", {detached_pooler}},
    head{"ForSequenceClassification", {{hidden_width, per_sequence, true}, {labels_width, per_sequence, true}}},
    head{"ForTokenClassification", {{labels_width, per_token, true}}},
};

inline constexpr std::array bert_heads{
    head{"ForMaskedLM", {mlm_transform, bert_decoder}},
    head{"LMHeadModel", {mlm_transform, bert_decoder}},
    head{"ForPreTraining", {pooler, {fixed_width<2>, per_sequence, true}, mlm_transform, bert_decoder}},
    head{"Model", {detached_pooler}},
    head{"ForNextSentencePrediction", {pooler, {fixed_width<2>, per_sequence, true}}},
    head{"ForSequenceClassification", {pooler, {labels_width, per_sequence, true}}},
    head{"ForMultipleChoice", {pooler, {fixed_width<1>, per_sequence, true}}},
    head{"ForTokenClassification", {{labels_width, per_token, true}}},
    head{"ForQuestionAnswering", {{labels_width, per_token, true}}},
};

}  // namespace floptally::detail
