// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace floptally {

/// Bad input. `what()` reads "FIELD: what is wrong, with the value, and what would be right".
///
/// FIELD is the name that the caller knows: a config key ("text_config.hidden_size"), an argument with its index
/// ("cu_seqlens[2]"), a statistic ("squares").
class error : public std::runtime_error {
  public:
    error(std::string_view field, std::string_view problem)
        : std::runtime_error(std::string(field).append(": ").append(problem)), field_length_(field.size()) {}

    [[nodiscard]] std::string_view field() const noexcept { return std::string_view(what()).substr(0, field_length_); }
    [[nodiscard]] std::string_view problem() const noexcept {
        return std::string_view(what()).substr(field_length_ + 2);
    }

  private:
    std::size_t field_length_;
};

/// A count that would not fit its integer. Nothing wraps: whatever was being added to keeps its old value.
class overflow : public error {
  public:
    using error::error;
};

/// Throws where a size is 0.
constexpr void require_positive(std::uint64_t value, const char* field) {
    if (value == 0) {
        throw error(field, "must be at least 1, got 0");
    }
}

/// Appends to a list in an error's text: "exact, megatron, palm".
inline void append_item(std::string& list, std::string_view item) {
    list.append(list.empty() ? "" : ", ").append(item);
}

/// "name[index]", the FIELD of one element.
[[nodiscard]] inline std::string indexed(std::string_view name, std::size_t index) {
    return std::string(name).append("[").append(std::to_string(index)).append("]");
}

}  // namespace floptally
