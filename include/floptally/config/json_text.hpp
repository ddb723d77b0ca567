// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Adapter: JSON from a text that may be hostile, with nlohmann_json.

namespace floptally {

namespace detail {

/// Makes a JSON value of the events of its text, as nlohmann_json would, but that a key which comes twice is an error.
class json_maker : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit json_maker(std::string_view field) : field_(field) {}

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t& /*value*/) override { return false; }  // which no text has
    bool start_object(std::size_t /*elements*/) override { return open(nlohmann::json::object()); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*elements*/) override { return open(nlohmann::json::array()); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        const auto [place, is_new] = open_.back()->emplace(name, nullptr);
        if (!is_new) {
            refuse(field_, {"has the key \"", shortened(name), "\" twice in one object"});
        }
        value_of_key_ = &*place;
        return true;
    }
    bool parse_error(std::size_t position, const std::string& /*last*/,
                     const nlohmann::json::exception& problem) override {
        constexpr int number_overflow = 406;
        if (problem.id == number_overflow) {
            refuse(field_, {"must be a JSON object, has a number that no double holds"});
        }
        refuse(field_, {"must be a JSON object, cannot be parsed at byte ", position});
    }

    [[nodiscard]] nlohmann::json take() { return std::move(whole_); }

  private:
    nlohmann::json& place_of(nlohmann::json&& value) {
        if (open_.empty()) {
            return whole_ = std::move(value);
        }
        if (open_.back()->is_array()) {
            return open_.back()->emplace_back(std::move(value));
        }
        return *value_of_key_ = std::move(value);
    }
    bool put(nlohmann::json value) {
        place_of(std::move(value));
        return true;
    }
    bool open(nlohmann::json value) {
        open_.push_back(&place_of(std::move(value)));
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    std::string_view field_;
    nlohmann::json whole_;
    std::vector<nlohmann::json*> open_;  // lists and objects that have not ended, each within the one before
    nlohmann::json* value_of_key_ = nullptr;
};

/// The parser takes a zero byte for the end, whatever follows it.
inline void require_read_to_end(const std::istream& text, std::string_view field) {
    if (!text.eof()) {
        refuse(field, {"has a zero byte, which no JSON has"});
    }
}

}  // namespace detail

/// The JSON of a text of any depth. A key twice in an object, bytes that are no UTF-8, a number that no double holds or
/// any other text is an `error` of `field`.
[[nodiscard]] inline nlohmann::json read_json(std::istream& text, std::string_view field) {
    detail::json_maker made(field);
    nlohmann::json::sax_parse(text, &made);
    detail::require_read_to_end(text, field);
    return made.take();
}

}  // namespace floptally
