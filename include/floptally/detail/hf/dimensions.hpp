// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>

namespace floptally::detail {

/// Reads the sizes of a config, in the order in which they depend on each other.
class hf_dimension_reader {
  public:
    hf_dimension_reader(const config_fields& config, const hf_family& family) : config_(config), family_(family) {}

    [[nodiscard]] hf_dimensions read() {
        const short_names& also = family_.also;
        if (family_.stem == nullptr) {  // a tower has none, or only its head has
            sizes_.vocab_size = config_.integer({"vocab_size", also.vocab_size}, family_.vocab_size, 1, max_vocabulary);
        }
        sizes_.hidden_size = config_.dimension({"hidden_size", also.hidden_size}, family_.hidden_size);
        sizes_.num_layers =
            config_.integer({"num_hidden_layers", also.num_hidden_layers}, family_.num_hidden_layers, 1, max_layers);
        sizes_.num_heads =
            config_.dimension({"num_attention_heads", also.num_attention_heads}, family_.num_attention_heads);
        sizes_.num_kv_heads = read_kv_heads();
        sizes_.head_dim = read_head_dim();
        sizes_.intermediate_size = read_intermediate_size();
        return sizes_;
    }

  private:
    [[nodiscard]] std::uint64_t read_kv_heads() const {
        const std::string_view key = config_.spelling({"num_key_value_heads", family_.also.num_key_value_heads});
        const bool as_many_as_heads = config_.contains(key) ? family_.kv_heads_may_be_null && !config_.has_value(key)
                                                            : family_.num_key_value_heads == derived;
        if (!family_.has_kv_heads || as_many_as_heads) {
            return sizes_.num_heads;
        }
        const std::uint64_t kv_heads = config_.dimension({key}, family_.num_key_value_heads);
        if (sizes_.num_heads % kv_heads != 0) {
            const std::string heads = " num_attention_heads (" + std::to_string(sizes_.num_heads) + ")";
            const std::string value = std::to_string(kv_heads);
            throw error(config_.field(key), config_.contains(key)
                                                ? "must divide" + heads + ", got " + value
                                                : "is missing, and its default " + value + " does not divide" + heads);
        }
        return kv_heads;
    }

    [[nodiscard]] std::uint64_t read_head_dim() const {
        const std::uint64_t hidden_size = sizes_.hidden_size;
        const auto heads_error = [&](const char* problem) {
            const auto name = config_.spelling({"num_attention_heads", family_.also.num_attention_heads});
            return error(config_.field(name), std::string(problem) + " hidden_size (" + std::to_string(hidden_size) +
                                                  "), got " + std::to_string(sizes_.num_heads));
        };
        if (family_.heads_divide_hidden && hidden_size % sizes_.num_heads != 0) {
            throw heads_error("must divide");
        }
        const std::string_view head_dim = config_.spelling({"head_dim", family_.also.head_dim});
        const bool contained = family_.has_head_dim && config_.contains(head_dim);
        const bool is_null = contained && !config_.has_value(head_dim) && family_.head_dim_may_be_null;
        if (!is_null && (contained || family_.head_dim != derived)) {
            return config_.dimension({head_dim}, family_.head_dim);
        }
        if (hidden_size < sizes_.num_heads) {
            throw heads_error("must be at most");
        }
        return hidden_size / sizes_.num_heads;  // The implementations of these types drop a remainder.
    }

    [[nodiscard]] std::uint64_t read_intermediate_size() const {
        const std::string_view key = config_.spelling(family_.intermediate_keys);
        if (family_.intermediate_size == derived && !config_.has_value(key)) {
            return checked_multiply(4, sizes_.hidden_size, key);
        }
        return config_.dimension({key}, family_.intermediate_size);
    }

    const config_fields& config_;
    const hf_family& family_;
    hf_dimensions sizes_;
};

}  // namespace floptally::detail
