// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf_family.hpp>
#include <floptally/mask.hpp>

namespace floptally::detail {

/// Reads what each layer's attention sees: from `layer_types` where the family reads it, else by the family's rule.
class hf_mask_reader {
  public:
    hf_mask_reader(const config_fields& config, const hf_family& family) : config_(config), family_(family) {}

    [[nodiscard]] std::vector<mask> read(std::uint64_t num_layers) const {
        const json* types = config_.array("layer_types");
        if (types != nullptr && types->size() != num_layers) {
            throw error(config_.field("layer_types"), "must name the " + std::to_string(num_layers) + " layers, got " +
                                                          std::to_string(types->size()));
        }
        std::vector<mask> masks;
        for (std::uint64_t index = 0; index < num_layers; ++index) {
            const bool listed = types != nullptr && family_.reads_layer_types;
            const bool windowed = listed ? is_sliding(*types, static_cast<std::size_t>(index)) : has_window(index);
            masks.push_back(windowed ? window_mask() : full_mask());
        }
        return masks;
    }

  private:
    [[nodiscard]] bool bidirectional() const {
        if (family_.encoder) {
            return !config_.flag("is_decoder", false);
        }
        return family_.bidirectional_switch && config_.is_on("use_bidirectional_attention");
    }

    [[nodiscard]] mask full_mask() const { return bidirectional() ? mask::bidirectional() : mask::causal(); }

    [[nodiscard]] mask window_mask() const {
        const auto tokens =
            static_cast<std::int64_t>(config_.integer({"sliding_window"}, family_.sliding_window, 1, 0x7FFF'FFFF));
        // Gemma-3 as an encoder sees half of the window on each side.
        return bidirectional() ? mask::window(tokens / 2, tokens / 2) : mask::sliding_window(tokens);
    }

    [[nodiscard]] bool window_is_null() const {
        return config_.contains("sliding_window") ? !config_.has_value("sliding_window")
                                                  : family_.sliding_window == derived;
    }

    [[nodiscard]] bool has_switch() const {
        return family_.windows == window_rule::with_switch || family_.windows == window_rule::from_max_window_layers ||
               family_.windows == window_rule::even_below_max_window_layers;
    }

    [[nodiscard]] bool has_window(std::uint64_t index) const {
        if (has_switch() && !config_.flag("use_sliding_window", false)) {
            return false;
        }
        switch (family_.windows) {
            case window_rule::never:
                return false;
            case window_rule::every_layer:
            case window_rule::with_switch:
                return !window_is_null();
            case window_rule::from_max_window_layers:
                return !window_is_null() && index >= max_window_layers();
            case window_rule::even_below_max_window_layers:
                return index % 2 == 0 && index < max_window_layers();
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

    [[nodiscard]] bool is_sliding(const json& types, std::size_t index) const {
        const json& type = types[index];
        if (type == "full_attention" || type == "attention") {
            return false;
        }
        const std::string field = indexed(config_.field("layer_types"), index);
        if (type != "sliding_attention") {
            throw error(field, R"(must be "full_attention" or "sliding_attention", got )" + shown(type));
        }
        if (has_switch() && !config_.flag("use_sliding_window", false)) {
            throw error(field,
                        R"(must be "full_attention" while use_sliding_window is false, got "sliding_attention")");
        }
        return true;
    }

    const config_fields& config_;
    const hf_family& family_;
};

}  // namespace floptally::detail
