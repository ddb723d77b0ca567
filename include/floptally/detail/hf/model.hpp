// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/model_config.hpp>

namespace floptally::detail {

static_assert(derived == required, "a family without a default leaves a key to its config");

/// The sizes of one config, with aliases and defaults resolved as the family's class does it.
struct hf_dimensions {
    std::uint64_t vocab_size = 0;
    std::uint64_t hidden_size = 0;
    std::uint64_t intermediate_size = 0;
    std::uint64_t num_layers = 0;
    std::uint64_t num_heads = 0;
    std::uint64_t num_kv_heads = 0;
    std::uint64_t head_dim = 0;
};

/// A model that is being read: what parts, rules and heads look at.
struct hf_model {
    const config_fields& config;
    const hf_family& family;
    read_options options{};
    hf_dimensions sizes{};
    std::vector<std::string> notes{};  ///< what the reader decided, or could not

    /// A size of at least 1.
    [[nodiscard]] std::uint64_t read(const hf_size& size) const { return config.dimension(size.keys, size.otherwise); }
    /// The same, where 0 means that the part is not there.
    [[nodiscard]] std::uint64_t read_or_none(const hf_size& size) const {
        return config.integer(size.keys, size.otherwise, 0, max_dimension);
    }
    /// The same, where null stands for the default.
    [[nodiscard]] std::uint64_t read_or_null(const hf_size& size) const {
        return config.has_value(config.spelling(size.keys)) || size.otherwise == required ? read(size) : size.otherwise;
    }

    [[nodiscard]] bool has(const presence& rule) const {
        if (rule.key.empty()) {
            return rule.otherwise;
        }
        const std::string_view key = config.spelling({rule.key, rule.also});
        return rule.null_is_false ? config.is_on(key) : config.flag(key, rule.otherwise);
    }

    /// Attention that sees later tokens too.
    [[nodiscard]] bool bidirectional() const {
        if (family.encoder) {
            return !config.flag("is_decoder", false);
        }
        return family.bidirectional_switch && bidirectional_is_on();
    }
    /// A switch, or "all"; Gemma-4's "vision" concerns tokens of images only.
    [[nodiscard]] bool bidirectional_is_on() const {
        constexpr std::string_view key = "use_bidirectional_attention";
        const nlohmann::json* value = config.find(key);
        const bool named = value != nullptr && (*value == "all" || *value == "vision");
        return named ? *value == "all" : config.is_on(key);
    }

    [[nodiscard]] std::string refusal(std::string_view accepted, const nlohmann::json& value) const {
        return std::string("is not supported for model_type ")
            .append(family.model_type)
            .append("; must be ")
            .append(accepted)
            .append(" or absent, got ")
            .append(shown(value));
    }
    /// Throws where an older name of a size is given too, and says something else.
    void require_same(std::string_view older, std::string_view name, std::uint64_t value) const {
        if (config.has_value(older) && config.dimension({older}) != value) {
            throw error(config.field(older), std::string("must be ")
                                                 .append(name)
                                                 .append(" (")
                                                 .append(std::to_string(value))
                                                 .append("), got ")
                                                 .append(shown(*config.find(older))));
        }
    }
    /// Throws where a switch is on that this family's count does not follow.
    void refuse_flag(std::string_view key, bool refused) const {
        if (config.has_value(key) && config.flag(key, !refused) == refused) {
            throw error(config.field(key), refusal(refused ? "false" : "true", *config.find(key)));
        }
    }
};

/// Throws where a width is not what another part makes.
inline void require_width(const config_fields& config, std::string_view key, std::uint64_t value, std::uint64_t right,
                          std::string_view what) {
    if (value != right) {
        throw error(config.field(key), std::string("must be ")
                                           .append(what)
                                           .append(" (")
                                           .append(std::to_string(right))
                                           .append("), got ")
                                           .append(std::to_string(value)));
    }
}

/// The size of one layer, where a config may list one for each layer in place of a number for all.
[[nodiscard]] inline std::uint64_t read_of_layer(const hf_model& model, const hf_size& size, std::uint64_t layer) {
    const std::string_view key = model.config.spelling(size.keys);
    const json* listed = model.config.find(key);
    if (listed == nullptr || !listed->is_array()) {
        return model.read(size);
    }
    if (listed->size() < model.sizes.num_layers) {
        throw error(model.config.field(key), "must have a number for each of the " +
                                                 std::to_string(model.sizes.num_layers) + " layers, got " +
                                                 std::to_string(listed->size()));
    }
    const auto index = static_cast<std::size_t>(layer);
    return config_fields::as_integer((*listed)[index], indexed(model.config.field(key), index), 1, max_dimension);
}

/// A list of sizes, or that of the class.
[[nodiscard]] inline std::vector<std::uint64_t> read_list(const hf_model& model, std::string_view key,
                                                          std::span<const std::uint64_t> otherwise) {
    const json* given = model.config.array(key);
    if (given == nullptr) {
        return {otherwise.begin(), otherwise.end()};
    }
    std::vector<std::uint64_t> sizes;
    for (std::size_t i = 0; i < given->size(); ++i) {
        sizes.push_back(config_fields::as_integer((*given)[i], indexed(model.config.field(key), i), 1, max_dimension));
    }
    return sizes;
}

/// A factor that a size is multiplied by.
[[nodiscard]] inline double read_factor(const hf_model& model, std::string_view key, double otherwise) {
    const json* value = model.config.find(key);
    if (value == nullptr) {
        return otherwise;
    }
    if (!value->is_number() || !(value->get<double>() > 0) || !(value->get<double>() <= 1024)) {
        throw error(model.config.field(key), "must be a number above 0 and up to 1024, got " + shown(*value));
    }
    return value->get<double>();
}

/// A number of any size.
[[nodiscard]] inline double read_number(const hf_model& model, std::string_view key, double otherwise) {
    const json* value = model.config.find(key);
    if (value != nullptr && !value->is_number()) {
        throw error(model.config.field(key), "must be a number, got " + shown(*value));
    }
    return value == nullptr ? otherwise : value->get<double>();
}

/// `factor` x hidden_size or the like, without its fraction.
[[nodiscard]] inline std::uint64_t truncated(double factor, std::uint64_t size) {
    return static_cast<std::uint64_t>(factor * static_cast<double>(size));
}

/// One flag per layer from a list of layer indices; indices beyond the last layer say nothing.
[[nodiscard]] inline std::string marked(const hf_model& model, std::string letters, std::string_view key, char letter) {
    if (const json* listed = model.config.array(key)) {
        for (std::size_t i = 0; i < listed->size(); ++i) {
            const std::uint64_t index =
                config_fields::as_integer((*listed)[i], indexed(model.config.field(key), i), 0, max_layers);
            if (index < letters.size()) {
                letters[static_cast<std::size_t>(index)] = letter;
            }
        }
    }
    return letters;
}

}  // namespace floptally::detail
