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

#include <floptally/page_language/config_tree.hpp>
#include <floptally/page_language/fields.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

using pages::config_node;

/// Bounds against absurd values, far beyond every published model. Within them no product of a cost overflows unnoticed
/// (products are checked as well).
inline constexpr std::uint64_t max_dimension = std::uint64_t{1} << 24;
inline constexpr std::uint64_t max_layers = 10'000;
inline constexpr std::uint64_t max_vocabulary = std::uint64_t{1} << 28;

/// The marker, in place of a default, of a key that must be given.
inline constexpr std::uint64_t required = ~std::uint64_t{0};

/// The keys of one JSON object, read strictly: a wrong type, sign or size is an error that names the key.
///
/// A field may have several names; the first that is present is read, as the implementation resolves its aliases. An
/// empty name is skipped.
class config_fields : public pages::fields {
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
    /// The name under which the config gives a field; the first of its names where it is absent.
    [[nodiscard]] std::string_view spelling(names known) const {
        const auto given =
            std::find_if(known.begin(), known.end(), [&](std::string_view n) { return !n.empty() && contains(n); });
        return given == known.end() ? *known.begin() : *given;
    }
    /// An integer from `least` to `most`; where it is absent, `otherwise`, or an error if that is `required`.
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

    /// A size that is a factor of products: at least 1.
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

    /// The elements of an array, or null where it is absent or null.
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

    /// Throws on a key that is not known: a misspelt one would change the count silently.
    void allow_only(std::span<const std::string_view> known) const {
        for (std::size_t i = 0; i < object().count; ++i) {
            const std::string& key = tree().child(object(), i).key;
            bool found = false;
            std::string listed;
            for (const std::string_view name : known) {
                found = found || name == key;
                append_item(listed, name);
            }
            if (!found) {
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
