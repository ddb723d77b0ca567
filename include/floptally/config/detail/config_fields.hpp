// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/spec_language/config_tree.hpp>
#include <floptally/spec_language/fields.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

using specs::config_node;

/// Upper bounds for sizes in a config, far above every published model. They keep the multiplications in a cost from
/// overflowing. The cost also checks each multiplication.
inline constexpr std::uint64_t max_dimension = std::uint64_t{1} << 24;
inline constexpr std::uint64_t max_layers = 10'000;
inline constexpr std::uint64_t max_vocabulary = std::uint64_t{1} << 28;

/// Pass this value instead of a default if the key must be present.
inline constexpr std::uint64_t required = ~std::uint64_t{0};

/// Reads the keys of one JSON object. Throws an error that names the key if a value has a wrong type, sign or size.
///
/// A field may have several names; the first name that is present is read. Empty names are skipped.
class config_fields : public specs::fields {
  public:
    class names {
      public:
        constexpr names() = default;
        constexpr names(std::string_view a, std::string_view b = {}, std::string_view c = {}, std::string_view d = {})
            : known_{a, b, c, d} {}  // NOLINT(google-explicit-constructor): names in braces

        [[nodiscard]] constexpr const std::string_view* begin() const { return known_.data(); }
        [[nodiscard]] constexpr const std::string_view* end() const { return known_.data() + known_.size(); }
        [[nodiscard]] constexpr bool empty() const { return known_[0].empty(); }

      private:
        std::array<std::string_view, 4> known_{};
    };

    using fields::fields;

    [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }
    /// Returns the name that the config uses for a field. If the config lacks the field, returns the first of its
    /// names.
    [[nodiscard]] std::string_view spelling(names known) const {
        const auto found =
            std::find_if(known.begin(), known.end(), [&](std::string_view n) { return !n.empty() && contains(n); });
        return found == known.end() ? *known.begin() : *found;
    }
    /// Returns an integer from `least` to `most`. If the field is absent, returns `otherwise`; throws if `otherwise` is
    /// `required`.
    [[nodiscard]] std::uint64_t integer(names known, std::uint64_t otherwise, std::uint64_t least,
                                        std::uint64_t most) const {
        const std::string_view name = spelling(known);
        if (const config_node* value = find(name)) {
            return as_integer(*value, field(name), least, most);
        }
        if (otherwise == required) {
            refuse(field(name), {"is missing; must be an integer from ", least, " to ", most});
        }
        return otherwise;
    }

    /// Returns the value of a field that is a size from 1 to 2^24. If the field is absent, returns `otherwise`, and
    /// throws if no `otherwise` is passed. `known` lists the names that the field may have.
    [[nodiscard]] std::uint64_t dimension(names known, std::uint64_t otherwise = required) const {
        return integer(known, otherwise, 1, max_dimension);
    }

    [[nodiscard]] bool flag(std::string_view name, bool otherwise) const {
        const config_node* value = find(name);
        if (value == nullptr) {
            return otherwise;
        }
        if (value->type != config_node::kind::flag) {
            refuse(field(name), {"must be true or false, got ", shown(*value)});
        }
        return value->number != 0;
    }

    [[nodiscard]] std::string text(std::string_view name, std::optional<std::string> otherwise = {}) const {
        const config_node* value = find(name);
        if (value == nullptr && otherwise) {
            return *otherwise;
        }
        if (value == nullptr) {
            refuse(field(name), {"is missing; must be a string"});
        }
        if (value->type != config_node::kind::text) {
            refuse(field(name), {"must be a string, got ", shown(*value)});
        }
        return value->text;
    }

    /// Returns the list under the key `name`. Returns null if the key is absent or its value is null.
    [[nodiscard]] const config_node* array(std::string_view name) const {
        const config_node* value = find(name);
        if (value == nullptr || value->type == config_node::kind::null) {
            return nullptr;
        }
        if (value->type != config_node::kind::list) {
            refuse(field(name), {"must be a list, got ", shown(*value)});
        }
        return value;
    }

    /// Throws for an unknown key: a misspelt key would change the count silently.
    void allow_only(std::span<const std::string_view> known) const {
        for (std::size_t i = 0; i < object().count; ++i) {
            const std::string& key = tree().child(object(), i).key;
            bool is_known = false;
            std::string listed;
            for (const std::string_view name : known) {
                is_known = is_known || name == key;
                append_item(listed, name);
            }
            if (!is_known) {
                refuse(field(key), {"unknown key; known: ", listed});
            }
        }
    }

    void allow_only(std::initializer_list<std::string_view> known) const {
        allow_only(std::span(known.begin(), known.size()));
    }

    [[nodiscard]] std::uint64_t as_integer(const config_node& value, const std::string& where, std::uint64_t least,
                                           std::uint64_t most) const {
        const bool fits = value.type == config_node::kind::integer && !value.beyond && value.number >= 0 &&
                          static_cast<std::uint64_t>(value.number) >= least &&
                          static_cast<std::uint64_t>(value.number) <= most;
        if (!fits) {
            refuse(where, {"must be an integer from ", least, " to ", most, ", got ", shown(value)});
        }
        return static_cast<std::uint64_t>(value.number);
    }
};

}  // namespace floptally::detail
