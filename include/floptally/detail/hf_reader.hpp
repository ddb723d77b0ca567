// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/attention.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf_dimensions.hpp>
#include <floptally/detail/hf_families.hpp>
#include <floptally/detail/hf_masks.hpp>
#include <floptally/feed_forward.hpp>
#include <floptally/model_config.hpp>
#include <floptally/transformer.hpp>

namespace floptally::detail {

/// Reads the config.json of one family: dimensions, then layers, then the head.
class hf_reader {
  public:
    hf_reader(const config_fields& config, const hf_family& family) : config_(config), family_(family) {}

    [[nodiscard]] model_config read() {
        refuse_unsupported();
        sizes_ = hf_dimension_reader(config_, family_).read();
        tied_ = config_.flag("tie_word_embeddings", family_.tie_word_embeddings);
        const head& last = read_head();
        add_layers();
        add_head(last);
        return {std::string(family_.model_type), sum_, std::move(notes_)};
    }

  private:
    // ---- fields that change the matmuls in a way that no family here follows ----

    [[noreturn]] void refuse(std::string_view key, const char* accepted) const {
        throw error(config_.field(key), std::string("is not supported for model_type ")
                                            .append(family_.model_type)
                                            .append("; must be ")
                                            .append(accepted)
                                            .append(" or absent, got ")
                                            .append(shown(*config_.find(key))));
    }

    void refuse_unsupported() const {
        for (const std::string_view key : {"add_cross_attention", "is_folding_model"}) {
            if (config_.flag(key, false)) {
                refuse(key, "false");
            }
        }
        if (!family_.bidirectional_switch && config_.is_on("use_bidirectional_attention")) {
            refuse("use_bidirectional_attention", "false");
        }
        if (!config_.flag("is_causal", true)) {
            refuse("is_causal", "true");
        }
        for (const std::string_view key : {"per_layer_config", "pruned_heads"}) {
            if (config_.has_value(key) && !config_.find(key)->empty()) {
                refuse(key, "empty");
            }
        }
        if (family_.encoder && config_.has_value("embedding_size")) {
            refuse("embedding_size", "null");
        }
    }

    [[nodiscard]] bool is_present(const presence& rule) const {
        if (rule.key.empty()) {
            return rule.otherwise;
        }
        return rule.null_is_false ? config_.is_on(rule.key) : config_.flag(rule.key, rule.otherwise);
    }

    // ---- layers ----

    [[nodiscard]] gqa attention() const {
        const std::uint64_t query_width = checked_multiply(sizes_.num_heads, sizes_.head_dim, "attention.qkv");
        const std::uint64_t kv_width = checked_multiply(sizes_.num_kv_heads, sizes_.head_dim, "attention.qkv");
        gqa part{sizes_.num_heads, sizes_.num_kv_heads, sizes_.head_dim, {}};
        part.elementwise.bias = (is_present(family_.qkv_bias) ? query_width + 2 * kv_width : 0) +
                                (is_present(family_.output_bias) ? sizes_.hidden_size : 0) +
                                (family_.attention_sinks ? sizes_.num_heads : 0);
        switch (family_.query_key_norm) {
            case qk_norm::none:
                break;
            case qk_norm::per_head:
                part.elementwise.norm = 2 * sizes_.head_dim;
                break;
            case qk_norm::full_width:
                part.elementwise.norm = query_width + kv_width;
                break;
        }
        return part;
    }

    [[nodiscard]] cost dense_cost(const layer& where) const {
        const bool biased = is_present(family_.mlp_bias);
        if (family_.mlp == mlp_kind::plain) {
            return mlp{sizes_.intermediate_size, {.bias = biased ? sizes_.intermediate_size + sizes_.hidden_size : 0}}
                .cost(where);
        }
        return gated_mlp{sizes_.intermediate_size,
                         {.bias = biased ? 2 * sizes_.intermediate_size + sizes_.hidden_size : 0}}
            .cost(where);
    }

    [[nodiscard]] std::uint64_t read_num_experts() const {
        const std::uint64_t least = family_.experts == moe_rule::qwen ? 0 : 1;
        return config_.integer({family_.experts_key, family_.experts_alias}, family_.num_experts, least, max_dimension);
    }

    [[nodiscard]] moe read_moe() const {
        moe part;
        part.num_experts = read_num_experts();
        part.num_experts_per_tok = config_.dimension({"num_experts_per_tok"}, family_.num_experts_per_tok);
        part.intermediate_size = family_.moe_intermediate_size == derived
                                     ? sizes_.intermediate_size
                                     : config_.dimension({"moe_intermediate_size"}, family_.moe_intermediate_size);
        if (family_.shared_expert) {
            part.shared_intermediate_size =
                config_.dimension({"shared_expert_intermediate_size"}, family_.shared_expert_intermediate_size);
            part.shared_expert_gate = true;
        }
        part.elementwise.bias =
            (family_.router_bias ? part.num_experts : 0) +
            (family_.expert_bias ? part.num_experts * (2 * part.intermediate_size + sizes_.hidden_size) : 0);
        return part;
    }

    /// One flag per layer: does it have experts?
    [[nodiscard]] std::vector<bool> read_moe_layers() const {
        std::vector<bool> sparse(static_cast<std::size_t>(sizes_.num_layers), family_.experts != moe_rule::never);
        if (family_.experts != moe_rule::qwen) {
            return sparse;
        }
        const bool any = read_num_experts() > 0;
        const std::uint64_t step = config_.integer({"decoder_sparse_step"}, 1, 1, max_layers);
        for (std::uint64_t index = 0; index < sizes_.num_layers; ++index) {
            sparse[static_cast<std::size_t>(index)] = any && (index + 1) % step == 0;
        }
        if (const json* dense = config_.array("mlp_only_layers")) {
            for (std::size_t i = 0; i < dense->size(); ++i) {
                const std::uint64_t index =
                    config_fields::as_integer((*dense)[i], indexed(config_.field("mlp_only_layers"), i), 0, max_layers);
                if (index < sizes_.num_layers) {
                    sparse[static_cast<std::size_t>(index)] = false;
                }
            }
        }
        return sparse;
    }

    void add_layers() {
        const auto per_channel = static_cast<std::uint64_t>(family_.norm);
        const std::vector<mask> masks = hf_mask_reader(config_, family_).read(sizes_.num_layers);
        const std::vector<bool> sparse = read_moe_layers();
        const gqa attends = attention();
        const moe experts = std::find(sparse.begin(), sparse.end(), true) != sparse.end() ? read_moe() : moe{};
        for (std::uint64_t index = 0; index < sizes_.num_layers; ++index) {
            const auto at = static_cast<std::size_t>(index);
            const layer where{index, sizes_.hidden_size, masks[at]};
            sum_ += attends.cost(where);
            sum_ += sparse[at] ? experts.cost(where) : dense_cost(where);
        }
        const std::uint64_t norms = family_.norms_per_layer * sizes_.num_layers + (family_.final_norm ? 1 : 0) +
                                    (is_present(family_.embedding_norm) ? 1 : 0);
        sum_.add_parameters("norm", term::norm, checked_multiply(norms * per_channel, sizes_.hidden_size, "norm"));
        sum_.add_parameters("bias", term::bias, family_.contact_head ? sizes_.num_layers * sizes_.num_heads + 1 : 0);
    }

    // ---- embedding and head ----

    [[nodiscard]] const head& read_head() {
        const std::string prefix{family_.class_prefix};
        const json* classes = config_.array("architectures");
        if (classes == nullptr || classes->empty()) {
            const head& usual = family_.heads.front();
            notes_.push_back("config names no architectures: counted with the head of " + prefix +
                             std::string(usual.suffix));
            return usual;
        }
        const std::string field = indexed(config_.field("architectures"), 0);
        const json& name = classes->front();
        std::string known;
        for (const head& candidate : family_.heads) {
            const std::string full = prefix + std::string(candidate.suffix);
            if (name == full) {
                return candidate;
            }
            append_item(known, full);
        }
        throw error(field, "unknown class " + shown(name) + " for model_type " + std::string(family_.model_type) +
                               "; known: " + known);
    }

    /// `num_labels` wins over `id2label`; without both there are two.
    [[nodiscard]] std::uint64_t read_labels() const {
        if (config_.contains("num_labels")) {
            return config_.dimension({"num_labels"});
        }
        if (!config_.has_value("id2label")) {
            return 2;
        }
        const json& labels = *config_.find("id2label");
        if (!labels.is_object() || labels.empty()) {
            throw error(config_.field("id2label"), "must be an object with at least one label, got " + shown(labels));
        }
        return labels.size();
    }

    /// GPT-2's summary of a sequence for its multiple-choice head; 0 is no linear at all.
    [[nodiscard]] std::uint64_t read_summary_width() const {
        if (config_.text("summary_type", "cls_index") == "attn") {
            throw error(config_.field("summary_type"),
                        R"(must be "cls_index", "first", "last" or "mean", got "attn", which is not implemented)");
        }
        if (!config_.flag("summary_use_proj", true)) {
            return 0;
        }
        return config_.flag("summary_proj_to_labels", true) ? 1 : sizes_.hidden_size;
    }

    [[nodiscard]] std::uint64_t width_of(head_width out) const {
        switch (out) {
            case head_width::hidden:
                return sizes_.hidden_size;
            case head_width::vocabulary:
                return sizes_.vocab_size;
            case head_width::labels:
                return read_labels();
            case head_width::two:
                return 2;
            case head_width::one:
                return 1;
            case head_width::summary:
                return read_summary_width();
            case head_width::none:
                break;
        }
        return 0;
    }

    /// Rows of the tables of positions and segments.
    [[nodiscard]] std::uint64_t read_position_rows() const {
        std::uint64_t rows = 0;
        const bool has_table =
            !family_.positions_by_type || config_.text("position_embedding_type", "absolute") == "absolute";
        if (family_.positions != 0 && has_table) {
            rows +=
                config_.dimension({"max_position_embeddings", family_.also.max_position_embeddings}, family_.positions);
        }
        if (family_.segments != 0) {
            rows += config_.dimension({"type_vocab_size"}, family_.segments);
        }
        return rows;
    }

    void add_head(const head& last) {
        bool over_vocabulary = false;
        for (const head_linear& after : last.linears) {
            const std::uint64_t width = width_of(after.out);
            if (width == 0) {
                continue;
            }
            sum_.add("lm_head", linear{.in_features = sizes_.hidden_size,
                                       .out_features = width,
                                       .rows = after.rows,
                                       .kind = after.detached ? term::detached_head : term::lm_head});
            if (after.bias && (after.bias_key.empty() || config_.flag(after.bias_key, true))) {
                sum_.add_parameters("bias", term::bias, after.second_bias && !tied_ ? 2 * width : width);
            }
            sum_.add_parameters("norm", term::norm, after.norm_after * sizes_.hidden_size);
            over_vocabulary = over_vocabulary || after.out == head_width::vocabulary;
        }
        const vocabulary table{
            .size = sizes_.vocab_size, .tied = over_vocabulary && tied_, .positions = read_position_rows()};
        sum_ += table.embedding_cost(sizes_.hidden_size);
    }

    const config_fields& config_;
    const hf_family& family_;
    cost sum_;
    std::vector<std::string> notes_;
    hf_dimensions sizes_;
    bool tied_ = false;
};

}  // namespace floptally::detail
