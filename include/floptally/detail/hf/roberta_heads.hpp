// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/heads.hpp>
#include <floptally/detail/hf/model.hpp>

/// @file
/// The classes of BERT's kin.

namespace floptally::detail {

inline constexpr head_linear sequence_labels{labels_width, per_sequence, true};
inline constexpr head_linear token_labels{labels_width, per_token, true};
inline constexpr head_linear one_score{fixed_width<1>, per_sequence, true};

// What a class calls a pooler and what RoBERTa's classifier calls its dense layer is the same linear.
inline constexpr head bert_masked_lm{"ForMaskedLM", {mlm_transform, bert_decoder}};
inline constexpr head bert_model{"Model", {detached_pooler}};
inline constexpr head bert_sequence_classifier{"ForSequenceClassification", {pooler, sequence_labels}};
inline constexpr head bert_multiple_choice{"ForMultipleChoice", {pooler, one_score}};
inline constexpr head bert_token_classifier{"ForTokenClassification", {token_labels}};
inline constexpr head bert_question_answering{"ForQuestionAnswering", {token_labels}};
inline constexpr head bert_causal_lm{"ForCausalLM", {mlm_transform, bert_decoder}};
inline constexpr head bert_pre_training{"ForPreTraining",
                                        {pooler, {fixed_width<2>, per_sequence, true}, mlm_transform, bert_decoder}};
inline constexpr head bert_next_sentence{"ForNextSentencePrediction", {pooler, {fixed_width<2>, per_sequence, true}}};

/// In this order; a family takes the first few.
inline constexpr std::array bert_kin_heads{
    bert_masked_lm,          bert_model,     bert_sequence_classifier, bert_multiple_choice, bert_token_classifier,
    bert_question_answering, bert_causal_lm, bert_pre_training,        bert_next_sentence,
};
inline constexpr std::span<const head> all_bert_kin_heads{bert_kin_heads};

inline constexpr std::array distilbert_heads{
    head{"ForMaskedLM", {mlm_transform, mlm_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    bert_multiple_choice,
    bert_token_classifier,
    bert_question_answering,
};

[[nodiscard]] inline std::uint64_t electra_width(const hf_model& model) {
    return model.config.dimension({"embedding_size"}, 128);
}
inline constexpr head_linear electra_dense{hidden_width, per_token, true};
inline constexpr head_linear electra_transform{electra_width, per_token, true, false, 2};
inline constexpr head_linear electra_decoder{.out = vocabulary_width, .bias = true, .in = electra_width};

/// A linear on the first token before the score of a choice; its output has one width only that the score takes.
[[nodiscard]] inline std::uint64_t electra_summary_width(const hf_model& model) {
    model.refuse_flag("summary_proj_to_labels", true);
    const std::string_view types[] = {"first", "last", "mean", "cls_index"};
    const std::string type = model.config.text("summary_type", "first");
    if (std::find(std::begin(types), std::end(types), type) == std::end(types)) {
        throw error(model.config.field("summary_type"),
                    R"(must be "cls_index", "first", "last" or "mean", got )" + shown(type));
    }
    return model.config.flag("summary_use_proj", true) ? model.sizes.hidden_size : 0;
}

/// The generator (MaskedLM) and the discriminator (PreTraining: was a token replaced?) are two models of their own.
inline constexpr std::array electra_heads{
    head{"ForPreTraining", {electra_dense, {fixed_width<1>, per_token, true}}},
    head{"ForMaskedLM", {electra_transform, electra_decoder}},
    head{"ForCausalLM", {electra_transform, electra_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    head{"ForMultipleChoice", {{electra_summary_width, per_sequence, true}, one_score}},
    bert_token_classifier,
    bert_question_answering,
};

[[nodiscard]] inline std::uint64_t rembert_width(const hf_model& model) {
    return model.config.dimension({"input_embedding_size"}, 256);
}
[[nodiscard]] inline std::uint64_t rembert_output_width(const hf_model& model) {
    return model.config.dimension({"output_embedding_size"}, 1664);
}

inline constexpr head_linear rembert_transform{rembert_output_width, per_token, true, false, 2};
inline constexpr head_linear rembert_decoder{.out = vocabulary_width, .bias = true, .in = rembert_output_width};
inline constexpr std::array rembert_heads{
    head{"ForMaskedLM", {rembert_transform, rembert_decoder}},
    head{"ForCausalLM", {rembert_transform, rembert_decoder}},
    bert_model,
    bert_sequence_classifier,
    bert_multiple_choice,
    bert_token_classifier,
    bert_question_answering,
};

inline constexpr std::array bert_generation_heads{
    head{"Decoder", {bert_decoder}},
    head{"Encoder", {}},
};

/// One pass over one sequence: the contrastive loss of its pre-training runs the model on two more.
inline constexpr std::array roc_bert_heads{
    bert_masked_lm,           bert_model,
    bert_sequence_classifier, bert_multiple_choice,
    bert_token_classifier,    bert_question_answering,
    bert_causal_lm,           head{"ForPreTraining", {detached_pooler, mlm_transform, bert_decoder}},
};

[[nodiscard]] inline std::uint64_t intermediate_width(const hf_model& model) { return model.sizes.intermediate_size; }

/// The pooler is there also where no head looks at it.
inline constexpr std::array big_bird_heads{
    head{"ForMaskedLM", {detached_pooler, mlm_transform, bert_decoder}},
    head{"ForCausalLM", {detached_pooler, mlm_transform, bert_decoder}},
    bert_pre_training,
    bert_model,
    head{"ForSequenceClassification", {detached_pooler, pooler, sequence_labels}},
    bert_multiple_choice,
    head{"ForTokenClassification", {detached_pooler, token_labels}},
    head{"ForQuestionAnswering",
         {{intermediate_width, per_token, true},
          {.out = hidden_width, .bias = true, .norm_after = 2, .in = intermediate_width},
          {fixed_width<2>, per_token, true}}},
};

}  // namespace floptally::detail
