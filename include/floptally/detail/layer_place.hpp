// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model/term.hpp>
#include <floptally/statistic.hpp>

/// @file
/// What a row says of the layer around it: the heads, experts and vocabulary that parallelism deals out.

namespace floptally::detail {

/// A row's names in an ordinary layer: "encoder.mlp" is "mlp", and a row of "mtp", or of a tower's "vision.blocks", has
/// the component that it had before.
struct layer_place {
    std::string_view component;
    std::string_view weight;
    std::string_view named;        ///< the component as rules of the caller name it; of a tower, in full
    modality in = modality::text;  ///< of what stands in a tower beside a text

    [[nodiscard]] std::string name() const {
        std::string text(named);
        return weight.empty() ? text : text.append("/").append(weight);
    }
    /// A field of a config: "vision.num_attention_heads" of a tower.
    [[nodiscard]] std::string field(std::string_view name) const { return qualified(in, name); }
    /// What a config calls the width of its matrices.
    [[nodiscard]] std::string width_field() const {
        return component == "mlp"          ? field("intermediate_size")
               : component == "moe.shared" ? field("shared_expert_intermediate_size")
               : weight == "eh_proj"       ? field("hidden_size")
                                           : std::string(named);
    }
};

/// Of all matrices that a unit passes, [out, in] each: Σ out.
[[nodiscard]] constexpr std::uint64_t columns_of(const cost_row& row) { return row.per_rank.out / 2; }

/// QKᵀ and PV, also those of a layer whose output is not used: there the flow of values tells which is which.
[[nodiscard]] constexpr bool is_scores(const cost_row& row) {
    return row.kind == term::scores || (row.kind == term::detached && row.flow.fused_with != 0);
}
[[nodiscard]] constexpr bool is_values(const cost_row& row) {
    return row.kind == term::values ||
           (row.kind == term::detached && row.flow.fused_with == 0 && row.flow.also_reads != 0);
}

/// Whether pairs are those of an attention's core, and not scores that only choose keys: a PV goes with them.
[[nodiscard]] constexpr bool is_core_of(const cost& part, const cost_row& row) {
    bool with_values = is_values(row) || row.kind == term::softmax;
    for (const cost_row& other : part.rows()) {
        with_values =
            with_values || (is_scores(row) && is_values(other) && other.flow.also_reads == row.flow.fused_with);
    }
    return row.what == statistic::pairs && with_values;
}

/// The component that a row of "mtp" had in its layer, by its kind, its weight and, of an MLP's weights, its flow;
/// `otherwise` where none of these says.
[[nodiscard]] constexpr std::string_view component_before(const cost& part, const cost_row& row,
                                                          std::string_view otherwise) {
    const std::string_view weight = part.weight_name(row);
    const auto is_one_of = [weight](auto... names) { return ((weight == names) || ...); };
    if (row.what == statistic::pairs) {
        return is_core_of(part, row) ? "attention.core" : "attention.indexer";
    }
    if (row.kind == term::router) {
        return "moe.router";
    }
    if (row.kind == term::lm_head) {
        return "lm_head";
    }
    if (row.kind == term::norm || row.kind == term::latent_norm || row.kind == term::bias) {
        return row.kind == term::bias ? "bias" : "norm";
    }
    if (is_one_of("q_proj", "k_proj", "v_proj", "qkv_proj", "q_a_proj", "q_b_proj", "kv_a_proj", "kv_b_proj")) {
        return "attention.qkv";
    }
    if (is_one_of("o_proj")) {
        return "attention.output";
    }
    if (is_one_of("wq_b", "wk", "weights_proj")) {
        return "attention.indexer";
    }
    if (is_one_of("gate_proj", "up_proj", "down_proj", "gate_up_proj")) {
        const bool reads_stream = (row.flow.reads & value::stream) != 0;
        const bool more_are_stored = row.parameters > row.useful / 2;
        const bool is_latent = row.flow.reads != 0 && (weight == "down_proj") == reads_stream;
        return more_are_stored ? "moe.experts" : is_latent ? "moe.latent" : "mlp";
    }
    return otherwise;
}

[[nodiscard]] constexpr layer_place place_in_layer(const cost& part, const cost_row& row) {
    constexpr std::string_view encoder = "encoder.";
    layer_place place{part.components()[row.component].view(), part.weight_name(row), {}};
    const std::string_view of_tower = name_of(row.in);
    if (row.in != modality::text && place.component.substr(0, of_tower.size()) == of_tower &&
        place.component.substr(of_tower.size(), 1) == ".") {
        place.in = row.in;
        place.named = place.component;
        place.component.remove_prefix(of_tower.size() + 1);
        if (place.component == "blocks") {
            // Of class tokens, cores have rows over counts and tokens too.
            const bool core = place.weight.empty() && (is_scores(row) || is_values(row) || row.kind == term::softmax);
            place.component = core ? "attention.core" : component_before(part, row, place.component);
        }
        return place;
    }
    if (place.component.substr(0, encoder.size()) == encoder) {
        place.component.remove_prefix(encoder.size());
    }
    if (place.component == "mtp") {
        place.component = component_before(part, row, place.component);
    }
    place.named = place.component;
    return place;
}

/// The query heads of an attention, by the products of its core: a pair is 3 FLOPs of softmax a head, 2·d of QKᵀ, 2·v
/// of PV. All 0 where there is none. Of HSTU's, which has no softmax, the count alone, where there is a residual.
struct attention_heads {
    std::uint64_t count = 0;
    std::uint64_t qk_dim = 0;
    std::uint64_t v_dim = 0;
};

/// A residual of HSTU is as wide as its input, once for each head; 0: there is none.
[[nodiscard]] constexpr std::uint64_t hstu_heads(const cost& part) {
    std::uint64_t residual = 0;
    std::uint64_t hidden_size = 0;
    for (const cost_row& row : part.rows()) {
        residual = row.kind == term::residual ? row.useful : residual;
        hidden_size = part.weight_name(row) == "uvqk_proj" ? row.per_rank.in / 2 : hidden_size;
    }
    return hidden_size == 0 ? 0 : residual / hidden_size;
}

/// Of the attention that a row belongs to: "cross_attention.core" is that of "cross_attention.qkv".
[[nodiscard]] constexpr attention_heads heads_beside(const cost& part, const cost_row& row) {
    const auto name_of = [&part](const cost_row& one) { return part.components()[one.component].view(); };
    const std::string_view name = name_of(row);
    const std::string_view family = name.substr(0, name.rfind('.'));
    std::uint64_t softmax = 0;
    std::uint64_t scores = 0;
    std::uint64_t values = 0;
    for (const cost_row& other : part.rows()) {
        const std::string_view core = name_of(other);
        const bool beside = core == name || core == family ||
                            (core.size() == family.size() + 5 && core.ends_with(".core") && core.starts_with(family));
        if (beside && is_core_of(part, other)) {
            softmax += other.kind == term::softmax ? other.useful : 0;
            scores += is_scores(other) ? other.useful : 0;
            values += is_values(other) ? other.useful : 0;
        }
    }
    const std::uint64_t heads = softmax / 3;
    return heads == 0 ? attention_heads{family == "hstu" ? hstu_heads(part) : 0}
                      : attention_heads{heads, scores / (2 * heads), values / (2 * heads)};
}

/// Of a row over n tokens before a sequence, which are as wide as n matrices: the columns of the matrix itself.
[[nodiscard]] constexpr std::uint64_t columns_of_one(const cost& part, const cost_row& row) {
    for (const cost_row& other : part.rows()) {
        if (row.what == statistic::count && other.what == statistic::tokens && other.component == row.component &&
            other.in == row.in && !part.weight_name(row).empty() && part.weight_name(other) == part.weight_name(row)) {
            return columns_of(other);
        }
    }
    return columns_of(row);
}

/// The experts that the router of a part chooses from, identity experts among them; 0: no router.
[[nodiscard]] constexpr std::uint64_t experts_beside(const cost& part) {
    for (const cost_row& row : part.rows()) {
        if (row.kind == term::router && part.weight_name(row) == "gate") {
            return columns_of(row);
        }
    }
    return 0;
}

/// The rows of the vocabulary that an lm_head or a table has; 0: it is another linear or another table.
///
/// An lm_head is known by its width, above its input's, or by a table of its size, and a table by an lm_head of its
/// own.
[[nodiscard]] constexpr std::uint64_t vocabulary_of(std::span<const model_part> model, const cost_row& row) {
    const auto is_table = [](const cost_row& one) {
        return one.kind == term::embedding || one.kind == term::tied_embedding;
    };
    const bool is_head = row.kind == term::lm_head;
    if (!is_head && !is_table(row)) {
        return 0;
    }
    if (is_head && row.per_rank.out > row.per_rank.in) {
        return columns_of(row);
    }
    for (const model_part& part : model) {
        for (const cost_row& other : part.cost.rows()) {
            if (is_head ? is_table(other) && other.useful == row.useful
                        : other.kind == term::lm_head && other.useful == row.useful) {
                return columns_of(is_head ? row : other);
            }
        }
    }
    return 0;
}

}  // namespace floptally::detail
