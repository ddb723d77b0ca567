// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <floptally/integer/flops.hpp>
#include <floptally/json/detail/shown_json.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

namespace floptally::detail {

/// The reader of a state, whose errors name the key.
class state_reader {
  public:
    explicit state_reader(const nlohmann::json& state) : state_(state) {}

    [[nodiscard]] const nlohmann::json& at(const char* key) const {
        if (!state_.is_object() || !state_.contains(key)) {
            throw error(key, "is missing in the state of a meter");
        }
        return state_.at(key);
    }

    [[nodiscard]] std::string text(const char* key) const { return text(key, at(key)); }

    [[nodiscard]] static std::string text(std::string_view key, const nlohmann::json& value) {
        if (!value.is_string()) {
            refuse(key, {"must be a string, got ", shown(value)});
        }
        return value.get<std::string>();
    }

    [[nodiscard]] double number(const char* key) const {
        if (!at(key).is_number()) {
            refuse(key, {"must be a number, got ", shown(at(key))});
        }
        return at(key).get<double>();
    }

    [[nodiscard]] std::uint64_t whole(const char* key) const {
        if (!at(key).is_number_unsigned()) {
            refuse(key, {"must be a whole number, got ", shown(at(key))});
        }
        return at(key).get<std::uint64_t>();
    }

    [[nodiscard]] uint128 count(const char* key) const { return count(key, at(key)); }

    [[nodiscard]] static uint128 count(std::string_view key, const nlohmann::json& value) {
        const std::string digits = text(key, value);
        uint128 sum = 0;
        bool good = !digits.empty() && digits.size() <= 39;
        for (const char digit : digits) {
            const auto next = static_cast<unsigned>(digit - '0');
            good = good && digit >= '0' && digit <= '9' && sum <= (~uint128{0} - next) / 10U;
            sum = good ? sum * 10U + next : sum;
        }
        if (!good) {
            refuse(key, {"must be a count in decimal digits, got ", shown(value)});
        }
        return sum;
    }

    [[nodiscard]] std::uint64_t word(const char* key) const { return word(key, at(key)); }

    [[nodiscard]] static std::uint64_t word(std::string_view key, const nlohmann::json& value) {
        const uint128 sum = count(key, value);
        if ((sum >> 64) != 0) {
            throw overflow(key, "does not fit 64 bits, got " + shown(value));
        }
        return static_cast<std::uint64_t>(sum);
    }

    [[nodiscard]] const nlohmann::json& list(const char* key) const {
        if (!at(key).is_array()) {
            refuse(key, {"must be a list, got ", shown(at(key))});
        }
        return at(key);
    }

  private:
    const nlohmann::json& state_;
};

}  // namespace floptally::detail
