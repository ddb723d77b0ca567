// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>

#include <floptally/detail/hf_family.hpp>

/// @file
/// The classes that `architectures` may name: what each computes after the last layer.

namespace floptally::detail {

inline constexpr statistic per_sequence = statistic::count;
inline constexpr statistic per_token = statistic::tokens;

/// Classes that most decoders have, in this order; a family takes the first few.
inline constexpr std::array decoder_heads{
    head{"ForCausalLM", {{head_width::vocabulary}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {{head_width::labels}}},
    head{"ForTokenClassification",
         {{.out = head_width::labels, .bias = true, .bias_key = "token_classification_bias"}}},
    head{"ForQuestionAnswering", {{head_width::two, per_token, true}}},
};
inline constexpr std::span<const head> all_decoder_heads{decoder_heads};

inline constexpr std::array gpt_neox_heads{
    decoder_heads[0], decoder_heads[1],
    decoder_heads[2], head{"ForTokenClassification", {{head_width::labels, per_token, true}}},
    decoder_heads[4],
};

inline constexpr std::array gemma3_text_heads{
    head{"ForCausalLM", {{head_width::vocabulary}}},
    head{"TextModel", {}},
    head{"TextForSequenceClassification", {{head_width::labels}}},
};

inline constexpr std::array gpt2_heads{
    head{"LMHeadModel", {{head_width::vocabulary}}},
    head{"Model", {}},
    head{"ForSequenceClassification", {{head_width::labels}}},
    head{"ForTokenClassification", {{head_width::labels, per_token, true}}},
    head{"ForQuestionAnswering", {{head_width::two, per_token, true}}},
    head{"DoubleHeadsModel", {{head_width::vocabulary}, {head_width::summary, per_sequence, true}}},
};

/// The pooler sees the first token of each sequence; in a bare model its output reaches no loss.
inline constexpr head_linear pooler{head_width::hidden, per_sequence, true};
inline constexpr head_linear detached_pooler{head_width::hidden, per_sequence, true, true};
inline constexpr head_linear mlm_transform{head_width::hidden, per_token, true, false, 2};
inline constexpr head_linear mlm_decoder{head_width::vocabulary, per_token, true};
inline constexpr head_linear bert_decoder{head_width::vocabulary, per_token, true, false, 0, true};

inline constexpr std::array esm_heads{
    head{"ForMaskedLM", {mlm_transform, mlm_decoder}},
    head{"Model", {detached_pooler}},
    head{"ForSequenceClassification",
         {{head_width::hidden, per_sequence, true}, {head_width::labels, per_sequence, true}}},
    head{"ForTokenClassification", {{head_width::labels, per_token, true}}},
};

inline constexpr std::array bert_heads{
    head{"ForMaskedLM", {mlm_transform, bert_decoder}},
    head{"LMHeadModel", {mlm_transform, bert_decoder}},
    head{"ForPreTraining", {pooler, {head_width::two, per_sequence, true}, mlm_transform, bert_decoder}},
    head{"Model", {detached_pooler}},
    head{"ForNextSentencePrediction", {pooler, {head_width::two, per_sequence, true}}},
    head{"ForSequenceClassification", {pooler, {head_width::labels, per_sequence, true}}},
    head{"ForMultipleChoice", {pooler, {head_width::one, per_sequence, true}}},
    head{"ForTokenClassification", {{head_width::labels, per_token, true}}},
    head{"ForQuestionAnswering", {{head_width::labels, per_token, true}}},
};

}  // namespace floptally::detail
