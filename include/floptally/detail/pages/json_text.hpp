// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <floptally/detail/message.hpp>
#include <floptally/detail/pages/array_of.hpp>
#include <floptally/detail/pages/config_tree.hpp>
#include <floptally/detail/pages/json_lexer.hpp>

/// @file
/// The text of a config, read into the reader's own tree. A JSON library would be half of what a unit that reads a
/// config compiles at -O0, for a tree that is then copied.

namespace floptally::detail::pages {

/// Reads JSON (RFC 8259), however deep, with no recursion. What nlohmann_json takes it takes, with the same values:
/// a byte order mark may come first, of equal keys the last counts, keys are in order, an integer that 64 bits do not
/// hold is a real number. An error counts the bytes that were read when it was seen, the end as one, as that does.
class json_text {
  public:
    explicit json_text(std::string_view text) : from_(text) {}

    [[nodiscard]] config_tree read() {
        tree_.nodes.push_back({});
        char next = from_.token();
        while (read_value(next)) {
        }
        tree_.nodes.front() = std::move(pending_.front());
        return std::move(tree_);
    }

  private:
    /// A value that begins with the token `next`, and what ends with it; then the first token of the one that follows.
    /// False at the end of the text.
    bool read_value(char& next) {
        pending_.push_back({});
        config_node& made = pending_.back();
        made.key.swap(key_);
        fill(made, next);
        if (made.is == config_node::kind::list || made.is == config_node::kind::object) {
            open_.push_back(pending_.size() - 1);
            next = from_.token();
            if (next != end_of_open()) {
                read_key(next);
                return true;
            }
            close();
        }
        while (!open_.empty()) {
            next = from_.token();
            if (next == ',') {
                next = from_.token();
                read_key(next);
                return true;
            }
            if (next != end_of_open()) {
                from_.fail();
            }
            close();
        }
        if (from_.token() != '\0') {
            from_.fail();
        }
        return false;
    }

    [[nodiscard]] bool in_object() const { return pending_[open_.back()].is == config_node::kind::object; }
    [[nodiscard]] char end_of_open() const { return in_object() ? '}' : ']'; }

    /// In an object: the key, which `next` begins, and the colon; then the first token of its value.
    void read_key(char& next) {
        if (!in_object()) {
            return;
        }
        if (next != '"') {
            from_.fail();
        }
        key_.swap(from_.string);
        if (from_.token() != ':') {
            from_.fail();
        }
        next = from_.token();
    }

    void fill(config_node& made, char first) {
        switch (first) {
            case '{':
                made.is = config_node::kind::object;
                break;
            case '[':
                made.is = config_node::kind::list;
                break;
            case '"':
                made.is = config_node::kind::text;
                made.text.swap(from_.string);
                break;
            case 't':
            case 'f':
                made.is = config_node::kind::flag;
                made.number = first == 't' ? 1 : 0;
                break;
            case 'n':
                break;
            case '0':
                fill_number(made);
                break;
            default:
                from_.fail();
        }
    }

    /// The innermost list or object is complete: its elements get a place in the tree, side by side.
    void close() {
        config_node& of = pending_[open_.back()];
        const std::size_t first = open_.back() + 1;
        array_of<std::size_t> order;
        for (std::size_t at = first; at < pending_.size(); ++at) {
            order.push_back(at);
        }
        if (in_object()) {
            sort_by_key(order);
        }
        of.first = tree_.nodes.size();
        for (std::size_t k = 0; k < order.size(); ++k) {
            config_node& one = pending_[order[k]];
            if (in_object() && k + 1 < order.size() && pending_[order[k + 1]].key == one.key) {
                continue;  // a later one of the same key
            }
            tree_.nodes.push_back(std::move(one));
        }
        of.count = tree_.nodes.size() - of.first;
        pending_.shorten(first);
        open_.shorten(open_.size() - 1);
    }

    /// Merges longer and longer runs; equal keys stay as they stand.
    void sort_by_key(array_of<std::size_t>& order) const {
        const std::size_t size = order.size();
        array_of<std::size_t> merged(size, 0);
        for (std::size_t width = 1; width < size; width *= 2) {
            for (std::size_t first = 0; first < size; first += 2 * width) {
                const std::size_t middle = first + width < size ? first + width : size;
                const std::size_t end = middle + width < size ? middle + width : size;
                std::size_t left = first;
                std::size_t right = middle;
                for (std::size_t at = first; at < end; ++at) {
                    const bool from_left =
                        right == end || (left < middle && pending_[order[left]].key <= pending_[order[right]].key);
                    merged[at] = order[from_left ? left++ : right++];
                }
            }
            std::swap(order, merged);
        }
    }

    void fill_number(config_node& made) const {
        const char* const end = from_.number.data() + from_.number.size();
        std::uint64_t whole = 0;
        if (!from_.is_real && from_.number.front() == '-') {
            made.is = config_node::kind::integer;
            if (std::from_chars(from_.number.data(), end, made.number).ec == std::errc{}) {
                return;
            }
        } else if (!from_.is_real && std::from_chars(from_.number.data(), end, whole).ec == std::errc{}) {
            made.is = config_node::kind::integer;
            made.beyond = whole > std::uint64_t{INT64_MAX};
            made.number = made.beyond ? INT64_MAX : static_cast<std::int64_t>(whole);
            made.real = static_cast<double>(whole);
            made.text = made.beyond ? std::string(from_.number) : std::string();
            return;
        }
        made.is = config_node::kind::real;
        if (std::from_chars(from_.number.data(), end, made.real).ec != std::errc{} && is_large()) {
            refuse("config", {"must be a JSON object, has a number that no double holds"});
        }
    }
    /// Of a number that is too large or too small for a double, which then is 0: digits before the point, less zeros
    /// after it, and the exponent say which.
    [[nodiscard]] bool is_large() const {
        std::int64_t power = 0;
        bool behind_point = false;
        std::size_t at = from_.number.front() == '-' ? 1 : 0;
        bool leading = true;
        for (; at < from_.number.size() && from_.number[at] != 'e' && from_.number[at] != 'E'; ++at) {
            behind_point = behind_point || from_.number[at] == '.';
            leading = leading && (from_.number[at] == '0' || from_.number[at] == '.');
            power += !behind_point && !leading ? 1 : behind_point && leading && from_.number[at] == '0' ? -1 : 0;
        }
        const std::string_view exponent = from_.number.substr(at < from_.number.size() ? at + 1 : at);
        std::int64_t sum = 0;
        for (const char digit : exponent) {
            sum = digit < '0' || digit > '9' || sum > 1'000'000'000'000 ? sum : 10 * sum + (digit - '0');
        }
        return power + (exponent.starts_with('-') ? -sum : sum) > 0;
    }

    json_lexer from_;
    std::string key_;                ///< of the next value
    array_of<config_node> pending_;  ///< what stands in lists and objects that are not complete, and those
    array_of<std::size_t> open_;     ///< of them those, the innermost last
    config_tree tree_;
};

[[nodiscard]] inline config_tree tree_of_text(std::istream& text) {
    std::string all;
    char block[4096];
    for (std::streamsize size = 1; size > 0;) {
        size = text.rdbuf()->sgetn(block, sizeof block);
        all.append(block, static_cast<std::size_t>(size > 0 ? size : 0));
    }
    return json_text(all).read();
}

}  // namespace floptally::detail::pages
