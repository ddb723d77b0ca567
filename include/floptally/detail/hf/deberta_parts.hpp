// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/detail/hf/roberta_heads.hpp>
#include <floptally/detail/hf/roberta_parts.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>

/// @file
/// DeBERTa's attention (arXiv:2006.03654): scores between content and relative positions besides QKᵀ.

namespace floptally::detail {

/// The width of an embedding that is as wide as the layers where the config does not say it.
[[nodiscard]] inline std::uint64_t embedding_or_hidden_width(const hf_model& model) {
    return model.config.has_value("embedding_size") ? model.config.dimension({"embedding_size"})
                                                    : model.sizes.hidden_size;
}

/// True where `pos_att_type`, a list or a string "a|b", names the term.
[[nodiscard]] inline bool has_position_term(const hf_model& model, std::string_view term) {
    const json* types = model.config.find("pos_att_type");
    if (types == nullptr || types->is_null()) {
        return false;
    }
    if (types->is_array()) {
        return std::find(types->begin(), types->end(), term) != types->end();
    }
    if (!types->is_string()) {
        throw error(model.config.field("pos_att_type"), "must be a list or a string, got " + shown(*types));
    }
    std::string one;
    for (const char letter : types->get<std::string>() + "|") {
        if (letter == '|') {
            if (one == term) {
                return true;
            }
            one.clear();
        } else if (letter != ' ') {
            one += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
        }
    }
    return false;
}

/// A size for which below 1 stands for "not given".
[[nodiscard]] inline std::uint64_t positive_or(const hf_model& model, std::string_view key, std::uint64_t otherwise) {
    const json* value = model.config.find(key);
    const bool none = value != nullptr && value->is_number_integer() && value->get<std::int64_t>() < 1;
    return none ? otherwise : model.config.dimension({key}, otherwise);
}

struct relative_positions {
    bool used = false;
    bool content_to_position = false;  ///< a query against the positions of keys
    bool position_to_content = false;  ///< a key against the positions of queries
    std::uint64_t span = 0;            ///< the table has a row for each distance on either side: 2 x span

    [[nodiscard]] std::uint64_t terms() const {
        return (content_to_position ? 1U : 0U) + (position_to_content ? 1U : 0U);
    }
};

[[nodiscard]] inline relative_positions read_relative_positions(const hf_model& model, bool buckets) {
    if (!model.config.flag("relative_attention", false)) {
        return {};
    }
    const std::uint64_t most =
        positive_or(model, "max_relative_positions", model.config.dimension({"max_position_embeddings"}, 512));
    return {.used = true,
            .content_to_position = has_position_term(model, "c2p"),
            .position_to_content = has_position_term(model, "p2c"),
            .span = buckets ? positive_or(model, "position_buckets", most) : most};
}

/// Stored, and applied to a table of positions and not to tokens.
inline void add_position_projection(cost& sum, const hf_layer& at, std::uint64_t width, bool bias) {
    sum.add("attention.positions",
            linear{.in_features = at.where.hidden_size, .out_features = width, .applied = 0, .stored = 1});
    sum.add_parameters("bias", term::bias, bias ? width : 0);
}

/// Each token against all 2 x span rows of the table, whatever its sequence's length.
[[nodiscard]] inline cost deberta_v2_attention(const hf_model& model, const hf_layer& at) {
    const relative_positions positions = read_relative_positions(model, true);
    const std::uint64_t width = checked_multiply(model.sizes.num_heads, model.sizes.head_dim, "attention.positions");
    cost sum = gqa_part(model, at);
    if (positions.terms() == 0) {
        return sum;
    }
    sum.add_state("attention.positions",
                  checked_multiply(2 * positions.terms() * positions.span, width, "attention.positions"));
    if (!model.config.flag("share_att_key", false)) {
        for (std::uint64_t i = 0; i < positions.terms(); ++i) {
            add_position_projection(sum, at, width, true);
        }
    }
    return sum;
}

/// Each token against the 2 x min(length, span) rows of the distances that its sequence has.
[[nodiscard]] inline cost deberta_attention(const hf_model& model, const hf_layer& at) {
    const relative_positions positions = read_relative_positions(model, false);
    const std::uint64_t width = checked_multiply(model.sizes.num_heads, model.sizes.head_dim, "attention.positions");
    cost sum = gqa_part(model, at);
    sum.add_parameters("bias", term::bias, 2 * width);  // of queries and values; keys have none
    if (positions.terms() == 0) {
        return sum;
    }
    // Box: rows times columns of that product, under every convention.
    sum.add_scores("attention.positions", checked_multiply(2 * positions.terms(), width, "attention.positions"),
                   mask::box(static_cast<std::int64_t>(positions.span)));
    if (positions.content_to_position) {
        add_position_projection(sum, at, width, false);
    }
    if (positions.position_to_content) {
        add_position_projection(sum, at, width, true);
    }
    return sum;
}

/// A convolution over tokens beside the first layer. Tokens outside the sequence are zeros, and are counted.
[[nodiscard]] inline cost deberta_v2_convolution(const hf_model& model, const hf_layer& at) {
    const std::uint64_t kernel = model.config.integer({"conv_kernel_size"}, 0, 0, max_dimension);
    cost sum;
    if (at.where.index != 0 || kernel == 0) {
        return sum;
    }
    if (kernel % 2 == 0) {
        throw error(model.config.field("conv_kernel_size"), "must be odd or 0, got " + std::to_string(kernel));
    }
    const std::uint64_t h = at.where.hidden_size;
    const std::uint64_t groups = model.config.dimension({"conv_groups"}, 1);
    if (h % groups != 0) {
        throw error(model.config.field("conv_groups"),
                    "must divide hidden_size (" + std::to_string(h) + "), got " + std::to_string(groups));
    }
    sum.add("convolution",
            linear{.in_features = checked_multiply(h / groups, kernel, "convolution"), .out_features = h});
    sum.add_parameters("bias", term::bias, h);
    sum.add_parameters("norm", term::norm, 2 * h);
    return sum;
}

/// Tables of positions and segments where the config has them; the linear of an embedding of another width.
template <bool Buckets>
[[nodiscard]] cost deberta_tables(const hf_model& model) {
    const config_fields& config = model.config;
    const std::uint64_t width = embedding_or_hidden_width(model);
    const std::uint64_t positions =
        config.flag("position_biased_input", true) ? config.dimension({"max_position_embeddings"}, 512) : 0;
    const std::uint64_t segments = config.integer({"type_vocab_size"}, 0, 0, max_dimension);
    cost sum;
    sum.add_parameters("embedding", term::position_embedding,
                       checked_multiply(positions + segments, width, "embedding"));
    sum.add_parameters(
        "embedding", term::position_embedding,
        checked_multiply(2 * read_relative_positions(model, Buckets).span, model.sizes.hidden_size, "embedding"));
    if (width != model.sizes.hidden_size) {
        sum.add("embedding.projection",
                linear{.in_features = width, .out_features = model.sizes.hidden_size, .dealt = dealing::replicated()});
    }
    return sum;
}

[[nodiscard]] inline cost deberta_v2_tables(const hf_model& model) {
    cost sum = deberta_tables<true>(model);
    if (model.config.text("norm_rel_ebd", "none").find("layer_norm") != std::string::npos) {
        sum.add_parameters("norm", term::norm, 2 * model.sizes.hidden_size);
    }
    return sum;
}

template <bool Buckets>
void require_deberta(hf_model& model) {
    refuse_decoder(model);
    model.refuse_flag("legacy", false);
    model.refuse_flag("talking_head", true);
    model.require_same("pooler_hidden_size", "hidden_size", model.sizes.hidden_size);
    // What no statistic of a batch can hold: it is the same for one sequence and for a thousand.
    if (read_relative_positions(model, Buckets).terms() != 0) {
        model.notes.emplace_back(
            "relative positions: each pass projects their table once per layer, however large the batch: not counted");
    }
}
inline void require_deberta_v2(hf_model& model) {
    require_deberta<true>(model);
    model.require_same("attention_head_size", "hidden_size / num_attention_heads", model.sizes.head_dim);
}

inline constexpr head_linear narrow_transform{embedding_or_hidden_width, per_token, true, false, 2};
inline constexpr head_linear narrow_decoder{
    .out = vocabulary_width, .bias = true, .second_bias = true, .in = embedding_or_hidden_width};

inline constexpr std::array deberta_v2_heads{
    head{"ForMaskedLM", {narrow_transform, narrow_decoder}},
    head{"Model", {}},
    bert_sequence_classifier,
    bert_token_classifier,
    bert_question_answering,
    bert_multiple_choice,
};

}  // namespace floptally::detail
