// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <floptally/rules/modality.hpp>
#include <floptally/text/text.hpp>

namespace floptally::detail {

/// The names of a row, for patterns and errors.
struct named_row {
    std::string_view component;
    std::string_view weight;
    modality in = modality::text;

    [[nodiscard]] std::string name() const { return text_of({known_as(), weight.empty() ? "" : "/", weight}); }
    /// The row in brackets, for an error whose field is a size that several components have.
    [[nodiscard]] std::string said_after(std::string_view size) const {
        return size == known_as() || size == name() ? std::string() : text_of({" (", name(), ")"});
    }
    [[nodiscard]] bool is_in(std::string_view side) const {
        return component.substr(0, side.size()) == side && component.substr(side.size(), 1) == ".";
    }
    [[nodiscard]] bool is_in_tower() const { return in != modality::text && is_in(name_of(in)); }
    /// The component's name in its layer, without the tower or the encoder that it is in.
    [[nodiscard]] std::string_view in_layer() const {
        return is_in_tower()      ? component.substr(std::string_view(name_of(in)).size() + 1)
               : is_in("encoder") ? component.substr(8)
                                  : component;
    }
    [[nodiscard]] std::string field(std::string_view config_name) const {
        return is_in_tower() ? qualified(in, config_name) : std::string(config_name);
    }
    /// The component's name in patterns.
    [[nodiscard]] std::string_view known_as() const { return is_in_tower() ? component : in_layer(); }
    /// The name in configs of the width of its matrices, for errors.
    [[nodiscard]] std::string width() const {
        const std::string_view own = in_layer();
        return weight == "eh_proj"                               ? field("hidden_size")
               : own == "moe.shared"                             ? field("shared_expert_intermediate_size")
               : own == "mlp" || own == "blocks" || own == "mtp" ? field("intermediate_size")
                                                                 : std::string(known_as());
    }
};

}  // namespace floptally::detail
