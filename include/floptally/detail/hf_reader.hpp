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
#include <floptally/detail/hf_families.hpp>
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
        read_dimensions();
        const head& last = read_head();
        add_layers();
        add_head(last);
        return {std::string(family_.model_type), std::move(sum_), std::move(notes_)};
    }

  private:
    // ---- fields that change the matmuls in a way that no family here follows ----

    void refuse(std::string_view key, std::string_view why) const {
        throw error(config_.field(key), std::string(why) + ", got " + shown(*config_.find(key)));
    }

    void refuse_unsupported() const {
        for (const std::string_view key : {"add_cross_attention", "is_folding_model"}) {
            if (config_.flag(key, false)) {
                refuse(key, "is not supported and must be false or absent");
            }
        }
        if (!family_.bidirectional_switch && config_.has_value("use_bidirectional_attention") &&
            config_.flag("use_bidirectional_attention", false)) {
            refuse("use_bidirectional_attention", "is not supported for this model_type and must be false or absent");
        }
        if (!config_.flag("is_causal", true)) {
            refuse("is_causal", "is not supported and must be true or absent");
        }
        for (const std::string_view key : {"per_layer_config", "pruned_heads"}) {
            const json* value = config_.find(key);
            if (value != nullptr && !value->is_null() && !value->empty()) {
                refuse(key, "is not supported and must be empty or absent");
            }
        }
        if (family_.encoder && config_.contains("embedding_size")) {
            refuse("embedding_size", "is not a field of this model_type and must be absent");
        }
    }

    // ---- dimensions ----

    [[nodiscard]] static std::optional<std::uint64_t> default_of(std::uint64_t value) {
        return value == derived ? std::nullopt : std::optional(value);
    }

    [[nodiscard]] bool is_present(const presence& rule) const {
        if (rule.key.empty() || (config_.contains(rule.key) && !config_.has_value(rule.key) && !rule.otherwise)) {
            return rule.otherwise;
        }
        return config_.flag(rule.key, rule.otherwise);
    }

    void read_dimensions() {
        vocab_size_ = config_.integer({"vocab_size"}, default_of(family_.vocab_size), 1, max_vocabulary);
        hidden_size_ = dimension("hidden_size", "n_embd", family_.hidden_size);
        num_layers_ = aliased("num_hidden_layers", "n_layer", family_.num_hidden_layers, max_layers);
        num_heads_ = dimension("num_attention_heads", "n_head", family_.num_attention_heads);
        read_kv_heads();
        read_head_dim();
        const bool null_width = family_.intermediate_size == derived && !config_.has_value(family_.intermediate_key);
        intermediate_size_ = null_width
                                 ? checked_multiply(4, hidden_size_, family_.intermediate_key)
                                 : config_.dimension({family_.intermediate_key}, default_of(family_.intermediate_size));
        tied_ = config_.flag("tie_word_embeddings", family_.tie_word_embeddings);
    }

    /// GPT-2 stores `n_embd`, `n_layer`, `n_head`; where both names are given the long one wins.
    [[nodiscard]] std::uint64_t aliased(std::string_view name, std::string_view alias, std::uint64_t otherwise,
                                        std::uint64_t most) const {
        return family_.model_type == "gpt2" ? config_.integer({name, alias}, default_of(otherwise), 1, most)
                                            : config_.integer({name}, default_of(otherwise), 1, most);
    }
    [[nodiscard]] std::uint64_t dimension(std::string_view name, std::string_view alias,
                                          std::uint64_t otherwise) const {
        return aliased(name, alias, otherwise, max_dimension);
    }

    void read_kv_heads() {
        num_kv_heads_ = num_heads_;
        if (!family_.has_kv_heads) {
            return;
        }
        const bool null_is_heads = family_.kv_heads_may_be_null && !config_.has_value("num_key_value_heads");
        if (null_is_heads && (config_.contains("num_key_value_heads") || family_.num_key_value_heads == derived)) {
            return;
        }
        num_kv_heads_ = config_.dimension({"num_key_value_heads"}, default_of(family_.num_key_value_heads));
        if (num_heads_ % num_kv_heads_ != 0) {
            throw error(config_.field("num_key_value_heads"), "must divide num_attention_heads (" +
                                                                  std::to_string(num_heads_) + "), got " +
                                                                  std::to_string(num_kv_heads_));
        }
    }

    void read_head_dim() {
        const bool divides = hidden_size_ % num_heads_ == 0;
        if (family_.heads_divide_hidden && !divides) {
            throw error(
                config_.field("num_attention_heads"),
                "must divide hidden_size (" + std::to_string(hidden_size_) + "), got " + std::to_string(num_heads_));
        }
        const bool given = family_.has_head_dim && config_.contains("head_dim") &&
                           (config_.has_value("head_dim") || !family_.head_dim_may_be_null);
        if (given || family_.head_dim != derived) {
            head_dim_ = config_.dimension({"head_dim"}, default_of(family_.head_dim));
            return;
        }
        // The implementations of these types divide and drop the remainder.
        head_dim_ = hidden_size_ / num_heads_;
        if (head_dim_ == 0) {
            throw error(config_.field("num_attention_heads"), "must be at most hidden_size (" +
                                                                  std::to_string(hidden_size_) + "), got " +
                                                                  std::to_string(num_heads_));
        }
    }

    // ---- masks ----

    [[nodiscard]] bool bidirectional() const {
        return family_.encoder ? !config_.flag("is_decoder", false)
                               : family_.bidirectional_switch && config_.has_value("use_bidirectional_attention") &&
                                     config_.flag("use_bidirectional_attention", false);
    }

    [[nodiscard]] mask full_mask() const { return bidirectional() ? mask::bidirectional() : mask::causal(); }

    [[nodiscard]] mask window_mask() const {
        const auto tokens = static_cast<std::int64_t>(
            config_.integer({"sliding_window"}, default_of(family_.sliding_window), 1, 0x7FFF'FFFF));
        // Gemma-3 as an encoder sees half of the window on each side.
        return bidirectional() ? mask::window(tokens / 2, tokens / 2) : mask::sliding_window(tokens);
    }

    [[nodiscard]] bool window_is_null() const {
        return config_.contains("sliding_window") ? !config_.has_value("sliding_window")
                                                  : family_.sliding_window == derived;
    }

    [[nodiscard]] bool has_window(std::uint64_t index) const {
        switch (family_.windows) {
            case window_rule::never:
                return false;
            case window_rule::every_layer:
                return !window_is_null();
            case window_rule::with_switch:
                return config_.flag("use_sliding_window", false) && !window_is_null();
            case window_rule::from_max_window_layers:
                return config_.flag("use_sliding_window", false) && !window_is_null() && index >= max_window_layers();
            case window_rule::even_below_max_window_layers:
                return config_.flag("use_sliding_window", false) && index % 2 == 0 && index < max_window_layers();
            case window_rule::even:
                return index % 2 == 0;
            case window_rule::all_but_pattern:
                return (index + 1) % config_.integer({"sliding_window_pattern"}, 6, 1, max_layers) != 0;
        }
        return false;
    }

    [[nodiscard]] std::uint64_t max_window_layers() const {
        return config_.integer({"max_window_layers"}, 28, 0, max_layers);
    }

    [[nodiscard]] std::vector<mask> read_masks() const {
        const json* types = config_.array("layer_types");
        if (types != nullptr && types->size() != num_layers_) {
            throw error(config_.field("layer_types"), "must name the " + std::to_string(num_layers_) + " layers, got " +
                                                          std::to_string(types->size()));
        }
        std::vector<mask> masks;
        for (std::uint64_t index = 0; index < num_layers_; ++index) {
            const bool listed = types != nullptr && family_.reads_layer_types;
            const bool windowed = listed ? is_sliding((*types)[index], index) : has_window(index);
            masks.push_back(windowed ? window_mask() : full_mask());
        }
        return masks;
    }

    [[nodiscard]] bool is_sliding(const json& type, std::uint64_t index) const {
        const std::string field = indexed(config_.field("layer_types"), static_cast<std::size_t>(index));
        if (type == "full_attention" || type == "attention") {
            return false;
        }
        if (type != "sliding_attention") {
            throw error(field, R"(must be "full_attention" or "sliding_attention", got )" + shown(type));
        }
        const bool switched_off = family_.windows == window_rule::from_max_window_layers ||
                                  family_.windows == window_rule::even_below_max_window_layers;
        if (switched_off && !config_.flag("use_sliding_window", false)) {
            throw error(field, R"(is "sliding_attention" while use_sliding_window is false)");
        }
        return true;
    }

    // ---- layers ----

    [[nodiscard]] gqa attention() const {
        const std::uint64_t query_width = checked_multiply(num_heads_, head_dim_, "attention.qkv");
        const std::uint64_t kv_width = checked_multiply(num_kv_heads_, head_dim_, "attention.qkv");
        gqa part{num_heads_, num_kv_heads_, head_dim_, {}};
        part.elementwise.bias = (is_present(family_.qkv_bias) ? query_width + 2 * kv_width : 0) +
                                (is_present(family_.output_bias) ? hidden_size_ : 0) +
                                (family_.attention_sinks ? num_heads_ : 0);
        switch (family_.query_key_norm) {
            case qk_norm::none:
                break;
            case qk_norm::per_head:
                part.elementwise.norm = 2 * head_dim_;
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
            return mlp{intermediate_size_, {.bias = biased ? intermediate_size_ + hidden_size_ : 0}}.cost(where);
        }
        return gated_mlp{intermediate_size_, {.bias = biased ? 2 * intermediate_size_ + hidden_size_ : 0}}.cost(where);
    }

    [[nodiscard]] moe read_moe() const {
        moe part;
        part.num_experts = family_.experts_alias.empty()
                               ? config_.dimension({family_.experts_key}, family_.num_experts)
                               : config_.dimension({family_.experts_key, family_.experts_alias}, family_.num_experts);
        part.num_experts_per_tok = config_.dimension({"num_experts_per_tok"}, family_.num_experts_per_tok);
        part.intermediate_size = family_.moe_intermediate_size == derived
                                     ? intermediate_size_
                                     : config_.dimension({"moe_intermediate_size"}, family_.moe_intermediate_size);
        if (family_.shared_expert) {
            part.shared_intermediate_size =
                config_.dimension({"shared_expert_intermediate_size"}, family_.shared_expert_intermediate_size);
            part.shared_expert_gate = true;
        }
        part.elementwise.bias =
            (family_.router_bias ? part.num_experts : 0) +
            (family_.expert_bias ? part.num_experts * (2 * part.intermediate_size + hidden_size_) : 0);
        return part;
    }

    /// One flag per layer: does it have experts?
    [[nodiscard]] std::vector<bool> read_moe_layers() const {
        std::vector<bool> sparse(static_cast<std::size_t>(num_layers_), family_.experts != moe_rule::never);
        if (family_.experts != moe_rule::qwen) {
            return sparse;
        }
        const std::uint64_t step = config_.integer({"decoder_sparse_step"}, 1, 1, max_layers);
        for (std::uint64_t index = 0; index < num_layers_; ++index) {
            sparse[static_cast<std::size_t>(index)] = (index + 1) % step == 0;
        }
        if (const json* dense = config_.array("mlp_only_layers")) {
            for (std::size_t i = 0; i < dense->size(); ++i) {
                const std::uint64_t index =
                    config_fields::as_integer((*dense)[i], indexed(config_.field("mlp_only_layers"), i), 0, max_layers);
                if (index < num_layers_) {
                    sparse[static_cast<std::size_t>(index)] = false;
                }
            }
        }
        return sparse;
    }

    void add_layers() {
        const auto per_channel = static_cast<std::uint64_t>(family_.norm);
        const std::vector<mask> masks = read_masks();
        const std::vector<bool> sparse = read_moe_layers();
        const gqa attends = attention();
        const moe experts = std::find(sparse.begin(), sparse.end(), true) != sparse.end() ? read_moe() : moe{};
        for (std::uint64_t index = 0; index < num_layers_; ++index) {
            const auto at = static_cast<std::size_t>(index);
            const layer where{index, hidden_size_, masks[at]};
            sum_ += attends.cost(where);
            sum_ += sparse[at] ? experts.cost(where) : dense_cost(where);
        }
        const std::uint64_t norms = family_.norms_per_layer * num_layers_ + (family_.final_norm ? 1 : 0) +
                                    (is_present(family_.embedding_norm) ? 1 : 0);
        sum_.add_parameters("norm", term::norm, checked_multiply(norms * per_channel, hidden_size_, "norm"));
        sum_.add_parameters("bias", term::bias, family_.contact_head ? num_layers_ * num_heads_ + 1 : 0);
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
            known.append(known.empty() ? "" : ", ").append(full);
        }
        throw error(field, "unknown class " + shown(name) + " for model_type " + std::string(family_.model_type) +
                               "; known: " + known);
    }

    /// `num_labels` wins over `id2label`; without both there are two.
    [[nodiscard]] std::uint64_t read_labels() const {
        if (config_.has_value("num_labels")) {
            return config_.dimension({"num_labels"});
        }
        if (!config_.has_value("id2label")) {
            return 2;
        }
        const json& labels = *config_.find("id2label");
        if (!labels.is_object() || labels.empty()) {
            throw error(config_.field("id2label"), "must be an object with a label or more, got " + shown(labels));
        }
        return labels.size();
    }

    [[nodiscard]] std::uint64_t width_of(head_width out) const {
        switch (out) {
            case head_width::hidden:
                return hidden_size_;
            case head_width::vocabulary:
                return vocab_size_;
            case head_width::labels:
                return read_labels();
            case head_width::two:
                return 2;
            case head_width::one:
            case head_width::none:
                break;
        }
        return 1;
    }

    [[nodiscard]] std::uint64_t read_positions() const {
        if (family_.positions == 0 || config_.text("position_embedding_type", "absolute") != "absolute") {
            return 0;
        }
        const std::string_view alias = family_.model_type == "gpt2" ? "n_positions" : "max_position_embeddings";
        return config_.dimension({"max_position_embeddings", alias}, family_.positions);
    }

    void add_head(const head& last) {
        bool tied = false;
        for (const head_linear& linear_after : last.linears) {
            if (linear_after.out == head_width::none) {
                continue;
            }
            const bool over_vocabulary = linear_after.out == head_width::vocabulary;
            const std::uint64_t out = width_of(linear_after.out);
            sum_.add("lm_head", linear{.in_features = hidden_size_,
                                       .out_features = out,
                                       .rows = linear_after.rows,
                                       .kind = linear_after.detached ? term::detached : term::lm_head});
            const bool twice = linear_after.second_bias && !tied_;
            sum_.add_parameters("bias", term::bias, linear_after.bias ? (twice ? 2 : 1) * out : 0);
            sum_.add_parameters("norm", term::norm, linear_after.norm_after * hidden_size_);
            tied = tied || (over_vocabulary && tied_);
        }
        const std::uint64_t segments =
            family_.segments == 0 ? 0 : config_.dimension({"type_vocab_size"}, family_.segments);
        sum_ += vocabulary{.size = vocab_size_, .tied = tied, .positions = read_positions() + segments}.embedding_cost(
            hidden_size_);
    }

    const config_fields& config_;
    const hf_family& family_;
    cost sum_;
    std::vector<std::string> notes_;
    std::uint64_t vocab_size_ = 0;
    std::uint64_t hidden_size_ = 0;
    std::uint64_t intermediate_size_ = 0;
    std::uint64_t num_layers_ = 0;
    std::uint64_t num_heads_ = 0;
    std::uint64_t num_kv_heads_ = 0;
    std::uint64_t head_dim_ = 0;
    bool tied_ = false;
};

}  // namespace floptally::detail
