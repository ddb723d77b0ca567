// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/attention.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/feed_forward.hpp>
#include <floptally/layer.hpp>
#include <floptally/model_config.hpp>
#include <floptally/transformer.hpp>

namespace floptally::detail {

/// Reads floptally's own format (`"model_type": "floptally"`, docs/config_format.md): any composition of the parts,
/// for a model that no family describes. Every key is read or refused.
class floptally_format {
  public:
    explicit floptally_format(const config_fields& config) : config_(config) {}

    [[nodiscard]] model_config read() {
        config_.allow_only(
            {"model_type", "name", "hidden_size", "layers", "vocab_size", "padded_vocab_size", "tie_word_embeddings"});
        hidden_size_ = config_.dimension({"hidden_size"});
        const json* groups = config_.array("layers");
        if (groups == nullptr || groups->empty()) {
            throw error(config_.field("layers"), "must list at least one group of layers");
        }
        for (std::size_t i = 0; i < groups->size(); ++i) {
            add_group(config_fields((*groups)[i], indexed(config_.field("layers"), i)));
        }
        if (config_.contains("vocab_size")) {
            add_vocabulary();
        }
        for (const std::string_view key : {"padded_vocab_size", "tie_word_embeddings"}) {
            if (config_.contains(key) && !config_.contains("vocab_size")) {
                throw error(config_.field(key), "needs vocab_size");
            }
        }
        return {config_.text("name", "floptally"), sum_, {}};
    }

  private:
    void add_vocabulary() {
        vocabulary vocab;
        vocab.size = config_.integer({"vocab_size"}, required, 1, max_vocabulary);
        vocab.padded_size = config_.integer({"padded_vocab_size"}, 0, 0, max_vocabulary);
        vocab.tied = config_.flag("tie_word_embeddings", false);
        sum_ += vocab.head_cost(hidden_size_);
        sum_ += vocab.embedding_cost(hidden_size_);
    }

    void add_group(const config_fields& group) {
        group.allow_only({"repeat", "parts"});
        const std::uint64_t repeat = group.integer({"repeat"}, 1, 1, max_layers);
        const json* parts = group.array("parts");
        if (parts == nullptr || parts->empty()) {
            throw error(group.field("parts"), "must list at least one part");
        }
        cost one;
        for (std::size_t i = 0; i < parts->size(); ++i) {
            one += part_cost(config_fields((*parts)[i], indexed(group.field("parts"), i)));
        }
        sum_ += repeat * one;
    }

    [[nodiscard]] cost part_cost(const config_fields& part) const {
        struct part_kind {
            std::string_view type;
            cost (floptally_format::*read)(const config_fields&) const;
        };
        constexpr part_kind kinds[] = {{"attention", &floptally_format::attention_cost},
                                       {"cross_attention", &floptally_format::cross_attention_cost},
                                       {"mlp", &floptally_format::mlp_cost},
                                       {"moe", &floptally_format::moe_cost},
                                       {"linear", &floptally_format::linear_cost},
                                       {"state", &floptally_format::state_cost}};
        const std::string type = part.text("type", "");
        std::string known;
        for (const part_kind& kind : kinds) {
            if (kind.type == type) {
                return (this->*kind.read)(part);
            }
            append_item(known, kind.type);
        }
        throw error(part.field("type"),
                    (part.contains("type") ? "unknown part \"" + type + "\"" : "is missing") + "; known: " + known);
    }

    /// The heads of an attention; `head_dim` defaults to hidden_size / num_heads where that has no remainder.
    [[nodiscard]] gqa read_heads(const config_fields& part) const {
        gqa heads;
        heads.num_heads = part.dimension({"num_heads"});
        heads.num_kv_heads = part.dimension({"num_kv_heads"}, heads.num_heads);
        if (heads.num_heads % heads.num_kv_heads != 0) {
            throw error(part.field("num_kv_heads"), "must divide num_heads (" + std::to_string(heads.num_heads) +
                                                        "), got " + std::to_string(heads.num_kv_heads));
        }
        if (!part.contains("head_dim") && hidden_size_ % heads.num_heads != 0) {
            throw error(part.field("head_dim"), "is missing, and num_heads (" + std::to_string(heads.num_heads) +
                                                    ") does not divide hidden_size (" + std::to_string(hidden_size_) +
                                                    ")");
        }
        heads.head_dim = part.dimension({"head_dim"}, hidden_size_ / heads.num_heads);
        return heads;
    }

    [[nodiscard]] cost attention_cost(const config_fields& part) const {
        part.allow_only({"type", "num_heads", "num_kv_heads", "head_dim", "mask"});
        return read_heads(part).cost({.hidden_size = hidden_size_, .attends = read_mask(part)});
    }

    [[nodiscard]] cost cross_attention_cost(const config_fields& part) const {
        part.allow_only({"type", "num_heads", "num_kv_heads", "head_dim", "context_size"});
        const gqa heads = read_heads(part);
        return cross_attention{
            heads.num_heads, heads.num_kv_heads, heads.head_dim, part.dimension({"context_size"}, hidden_size_), {}}
            .cost({.hidden_size = hidden_size_});
    }

    [[nodiscard]] cost mlp_cost(const config_fields& part) const {
        part.allow_only({"type", "intermediate_size", "gated"});
        const std::uint64_t width = part.dimension({"intermediate_size"});
        const layer where{.hidden_size = hidden_size_};
        return part.flag("gated", true) ? gated_mlp{width, {}}.cost(where) : mlp{width, {}}.cost(where);
    }

    [[nodiscard]] cost moe_cost(const config_fields& part) const {
        part.allow_only({"type", "num_experts", "num_experts_per_tok", "intermediate_size", "shared_intermediate_size",
                         "shared_expert_gate", "gated"});
        moe experts;
        experts.num_experts = part.dimension({"num_experts"});
        experts.num_experts_per_tok = part.integer({"num_experts_per_tok"}, required, 1, experts.num_experts);
        experts.intermediate_size = part.dimension({"intermediate_size"});
        experts.shared_intermediate_size = part.integer({"shared_intermediate_size"}, 0, 0, max_dimension);
        experts.shared_expert_gate = part.flag("shared_expert_gate", false);
        if (experts.shared_expert_gate && experts.shared_intermediate_size == 0) {
            throw error(part.field("shared_expert_gate"), "must be false without shared_intermediate_size");
        }
        experts.gated = part.flag("gated", true);
        return experts.cost({.hidden_size = hidden_size_});
    }

    [[nodiscard]] cost linear_cost(const config_fields& part) const {
        part.allow_only({"type", "component", "in_features", "out_features", "rows"});
        const std::string rows = part.text("rows", "tokens");
        if (rows != "tokens" && rows != "keys" && rows != "count") {
            throw error(part.field("rows"), R"(must be "tokens", "keys" or "count", got ")" + rows + "\"");
        }
        cost sum;
        sum.add(read_component(part), linear{.in_features = part.dimension({"in_features"}),
                                             .out_features = part.dimension({"out_features"}),
                                             .rows = rows == "tokens" ? statistic::tokens
                                                     : rows == "keys" ? statistic::keys
                                                                      : statistic::count});
        return sum;
    }

    [[nodiscard]] cost state_cost(const config_fields& part) const {
        part.allow_only({"type", "component", "multiply_adds"});
        cost sum;
        sum.add_state(read_component(part), part.integer({"multiply_adds"}, required, 1, std::uint64_t{1} << 48));
        return sum;
    }

    [[nodiscard]] static component_name read_component(const config_fields& part) {
        const std::string name = part.text("component");
        if (name.empty() || name.size() > component_name::capacity) {
            throw error(part.field("component"), "must have 1 to " + std::to_string(component_name::capacity) +
                                                     " characters, got \"" + name + "\"");
        }
        return component_name(std::string_view(name));
    }

    [[nodiscard]] static mask read_mask(const config_fields& part) {
        const json* given = part.find("mask");
        if (given == nullptr || *given == "causal") {
            return mask::causal();
        }
        if (*given == "bidirectional") {
            return mask::bidirectional();
        }
        if (!given->is_object() || given->size() != 1) {
            throw error(part.field("mask"),
                        "must be \"causal\", \"bidirectional\" or an object with one of the keys "
                        "sliding_window, window, chunked, top_k, compressed_keys, got " +
                            shown(*given));
        }
        const config_fields kind(*given, part.field("mask"));
        kind.allow_only({"sliding_window", "window", "chunked", "top_k", "compressed_keys"});
        if (kind.contains("window")) {
            return read_window(kind);
        }
        const std::string key = given->begin().key();
        const auto number = static_cast<std::int64_t>(kind.integer({key}, required, 1, 0x7FFF'FFFF));
        return key == "sliding_window" ? mask::sliding_window(number)
               : key == "chunked"      ? mask::chunked(number)
               : key == "top_k"        ? mask::top_k(number)
                                       : mask::compressed_keys(number);
    }

    /// [left, right], besides the token itself; −1 is unlimited.
    [[nodiscard]] static mask read_window(const config_fields& kind) {
        const json* sides = kind.array("window");
        if (sides == nullptr || sides->size() != 2) {
            throw error(kind.field("window"), "must be [left, right], got " + shown(*kind.find("window")));
        }
        std::int64_t tokens[2];
        for (std::size_t i = 0; i < 2; ++i) {
            const json& side = (*sides)[i];
            const bool fits = side.is_number_unsigned() ? side.get<std::uint64_t>() <= 0x7FFF'FFFF
                                                        : side.is_number_integer() && side >= -1 && side <= 0x7FFF'FFFF;
            if (!fits) {
                throw error(indexed(kind.field("window"), i),
                            "must be an integer from -1 to 2147483647, got " + shown(side));
            }
            tokens[i] = side.get<std::int64_t>();
        }
        return mask::window(tokens[0], tokens[1]);
    }

    const config_fields& config_;
    cost sum_;
    std::uint64_t hidden_size_ = 0;
};

}  // namespace floptally::detail
