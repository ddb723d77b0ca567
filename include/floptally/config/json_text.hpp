// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Adapter: reads JSON from untrusted text with nlohmann_json.

namespace floptally::inline v0_3 {

/// The spellings of numbers that `read_json` accepts.
enum class json_numbers : std::uint8_t {
    finite,    ///< only JSON numbers
    infinite,  ///< JSON numbers, and Infinity, -Infinity and NaN as Python's json writes them
};

namespace detail {

/// The characters of a JSON text, one at a time, with their line and column. nlohmann_json does not accept Infinity and
/// NaN. This class passes a string of the same length instead, and stores the literal's position and value in
/// `literals`.
class json_source {
  public:
    json_source(std::istream& text, json_numbers numbers) : text_(text.rdbuf()), numbers_(numbers) { fetch(); }

    /// The position of Infinity, -Infinity or NaN in the text: the number of strings before it, including keys.
    struct literal {
        std::size_t strings_before;
        double value;
    };

    [[nodiscard]] bool at_end() const { return is_end(next_); }
    /// Returns true if a zero byte was read. The parser takes it for the end of the text.
    [[nodiscard]] bool has_zero_byte() const { return has_zero_byte_; }
    [[nodiscard]] char next() const { return traits::to_char_type(next_); }
    void advance() {
        const bool ends_line = next() == '\n';
        line_ += ends_line ? 1 : 0;
        column_ = ends_line ? 0 : column_ + 1;
        has_zero_byte_ = has_zero_byte_ || next() == '\0';
        fetch();
    }
    [[nodiscard]] const std::vector<literal>& literals() const { return literals_; }
    /// Returns the position of the last character that was read, or of the end of the text: "line 3, column 14".
    [[nodiscard]] std::string place() const {
        return text_of({"line ", line_, ", column ", column_ + (is_read_past_end_ || column_ == 0 ? 1 : 0)});
    }

    /// The characters of the text, as nlohmann_json reads them.
    class iterator {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = char;
        using difference_type = std::ptrdiff_t;
        using pointer = const char*;
        using reference = char;

        iterator() = default;
        explicit iterator(json_source& from) : from_(&from) {}
        [[nodiscard]] char operator*() const { return from_->next(); }
        iterator& operator++() {
            from_->advance();
            return *this;
        }
        iterator operator++(int) {
            iterator old = *this;
            ++*this;
            return old;
        }
        friend bool operator==(const iterator& a, const iterator& b) { return a.is_end() == b.is_end(); }
        friend bool operator!=(const iterator& a, const iterator& b) { return !(a == b); }

      private:
        [[nodiscard]] bool is_end() const {  // called by nlohmann_json before each character
            if (from_ == nullptr) {
                return true;
            }
            from_->is_read_past_end_ = from_->at_end();
            return from_->at_end();
        }
        json_source* from_ = nullptr;
    };
    [[nodiscard]] iterator begin() { return iterator(*this); }
    [[nodiscard]] static iterator end() { return {}; }

  private:
    using traits = std::char_traits<char>;

    [[nodiscard]] static bool is_end(traits::int_type code) { return traits::eq_int_type(code, traits::eof()); }
    [[nodiscard]] traits::int_type taken() {
        if (ahead_at_ < ahead_.size()) {
            return traits::to_int_type(ahead_[ahead_at_++]);
        }
        return text_ == nullptr ? traits::eof() : text_->sbumpc();
    }
    /// Sets `next_` to the next character. Tracks whether the character is inside a string. Replaces Infinity and NaN.
    void fetch() {
        const bool is_replaced = ahead_at_ < replaced_;
        next_ = taken();
        if (is_replaced || at_end()) {
            return;
        }
        const char c = next();
        if (in_string_) {
            in_string_ = is_escaped_ || c != '"';
            is_escaped_ = !is_escaped_ && c == '\\';
        } else if (c == '"') {
            in_string_ = true;
            ++strings_;
        } else if (numbers_ == json_numbers::infinite && (c == 'I' || c == 'N' || c == '-')) {
            replace_literal(c == 'I' ? "Infinity" : c == 'N' ? "NaN" : "-Infinity");
        }
    }
    /// If the text continues with the literal `name`, replaces it by a string of the same length. The caller has
    /// already read its first character.
    void replace_literal(std::string_view name) {
        std::string read(1, name.front());
        for (std::size_t k = 1; k < name.size(); ++k) {
            const traits::int_type code = taken();
            if (is_end(code)) {
                break;
            }
            read.push_back(traits::to_char_type(code));
            if (read.back() != name[k]) {
                break;
            }
        }
        const bool stands_here = read == name;
        if (stands_here) {
            constexpr double infinity = std::numeric_limits<double>::infinity();
            literals_.push_back({strings_++, name == "NaN"    ? std::numeric_limits<double>::quiet_NaN()
                                             : name[0] == '-' ? -infinity
                                                              : infinity});
            read.assign(name.size(), ' ');
            read.front() = read.back() = '"';
            next_ = traits::to_int_type('"');
        }
        ahead_ = read.substr(1) + ahead_.substr(ahead_at_);
        ahead_at_ = 0;
        replaced_ = stands_here ? read.size() - 1 : 0;
    }

    std::streambuf* text_;
    json_numbers numbers_;
    traits::int_type next_ = traits::eof();
    std::string ahead_;         // characters that were already taken from `text_` but not yet passed to the parser
    std::size_t ahead_at_ = 0;  // index of the next character of `ahead_`
    std::size_t replaced_ = 0;  // index in `ahead_` at which the string for Infinity or NaN ends
    std::size_t line_ = 1;
    std::size_t column_ = 0;
    std::size_t strings_ = 0;
    bool has_zero_byte_ = false;
    bool is_read_past_end_ = false;
    bool in_string_ = false;
    bool is_escaped_ = false;
    std::vector<literal> literals_;
};

/// Builds a JSON value from parser events, as nlohmann_json does, but throws for a duplicate key.
class json_maker : public nlohmann::json_sax<nlohmann::json> {
  public:
    json_maker(const json_source& from, std::string_view field) : from_(from), field_(field) {}

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t& /*text*/) override { return put(value); }
    bool string(string_t& value) override {
        if (!is_literal()) {
            return put(std::move(value));
        }
        return put(from_.literals()[literal_++].value);
    }
    bool binary(binary_t& /*value*/) override { return false; }  // A JSON text never has binary values.
    bool start_object(std::size_t /*elements*/) override { return open(nlohmann::json::object()); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*elements*/) override { return open(nlohmann::json::array()); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (is_literal()) {
            refuse_here("cannot be parsed at ");
        }
        level& object = open_.back();
        const auto [place, is_new] = object.value->emplace(name, nullptr);
        if (!is_new) {
            refuse(field_,
                   {"has the key \"", shortened(name), "\" twice in the object at ", from_.place(), "; remove one"});
        }
        object.key = &place.key();
        value_of_key_ = &*place;
        return true;
    }
    bool parse_error(std::size_t /*position*/, const std::string& /*last*/,
                     const nlohmann::json::exception& problem) override {
        constexpr int number_overflow = 406;
        refuse_here(problem.id == number_overflow ? "has a number beyond the range of a double at "
                                                  : "cannot be parsed at ");
    }

    [[nodiscard]] nlohmann::json take() { return std::move(whole_); }

  private:
    /// A list or object that is not closed yet.
    struct level {
        nlohmann::json* value;
        const std::string* key = nullptr;  ///< key of the member that is being read; null in a list
    };

    /// Returns true if the current string replaces the literal Infinity or NaN.
    [[nodiscard]] bool is_literal() {
        const std::size_t before = strings_++;
        return literal_ < from_.literals().size() && from_.literals()[literal_].strings_before == before;
    }
    [[noreturn, gnu::cold, gnu::noinline]] void refuse_here(std::string_view problem) const {
        std::string path;
        for (const level& open : open_) {
            if (open.key != nullptr && path.size() < 80) {
                append(path, {path.empty() ? "" : ".", shortened(*open.key)});
            }
        }
        refuse(field_, {"must be a JSON object, ", problem, from_.place(), path.empty() ? "" : ", near the key \"",
                        path, path.empty() ? "" : "\""});
    }
    nlohmann::json& place_of(nlohmann::json&& value) {
        if (open_.empty()) {
            return whole_ = std::move(value);
        }
        if (nlohmann::json& list = *open_.back().value; list.is_array()) {
            return list.emplace_back(std::move(value));
        }
        return *value_of_key_ = std::move(value);
    }
    bool put(nlohmann::json value) {
        place_of(std::move(value));
        return true;
    }
    bool open(nlohmann::json value) {
        open_.push_back({&place_of(std::move(value))});
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    const json_source& from_;
    std::string_view field_;
    nlohmann::json whole_;
    std::vector<level> open_;  // the open lists and objects, the outermost first
    nlohmann::json* value_of_key_ = nullptr;
    std::size_t strings_ = 0;
    std::size_t literal_ = 0;  // index of the next literal in the source's `literals`
};

/// Throws if the text contains a zero byte. The parser would stop there and ignore the rest.
inline void require_read_to_end(const std::istream& text, std::string_view field) {
    if (!text.eof()) {
        refuse(field, {"contains a zero byte, which JSON does not allow: remove it"});
    }
}
inline void require_read_to_end(const json_source& text, std::string_view field) {
    if (text.has_zero_byte()) {
        refuse(field, {"contains a zero byte at ", text.place(), ", which JSON does not allow: remove it"});
    }
}

}  // namespace detail

/// Reads JSON of any depth. Throws an `error` with field `field` for a duplicate key, invalid UTF-8, a number beyond
/// the range of a double, or any other invalid text. The error says the line and the key.
[[nodiscard]] inline nlohmann::json read_json(std::istream& text, std::string_view field,
                                              json_numbers numbers = json_numbers::finite) {
    detail::json_source source(text, numbers);
    detail::json_maker maker(source, field);
    nlohmann::json::sax_parse(source.begin(), detail::json_source::end(), &maker);
    detail::require_read_to_end(source, field);
    return maker.take();
}

}  // namespace floptally
