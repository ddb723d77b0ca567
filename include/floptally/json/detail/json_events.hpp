// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

namespace floptally::detail {

/// The fields of an event that the reader keeps; the rest is skipped as it comes.
struct kineto_event {
    std::string ph;
    std::string cat;
    std::string name;
    std::string pid;
    std::string tid;
    std::string id;
    std::optional<std::int64_t> ts{};   ///< nanoseconds
    std::optional<std::int64_t> dur{};  ///< likewise
    std::multimap<std::string, std::string> args{};

    /// An argument, null where it is absent; of two values none is taken.
    [[nodiscard]] const std::string* argument(const char* key, std::size_t index) const {
        const auto [first, last] = args.equal_range(key);
        for (auto other = first; other != last; ++other) {
            if (other->second != first->second) {
                refuse(text_of({"traceEvents[", index, "].args.", key}), {"is there twice, with two values"});
            }
        }
        return first == last ? nullptr : &first->second;
    }
};

/// Microseconds in decimal as whole nanoseconds: "88511388202.765". A double of the same has a quarter of a
/// microsecond.
[[nodiscard]] inline std::optional<std::int64_t> nanoseconds_of(std::string_view text) {
    const std::size_t point = std::min(text.find('.'), text.size());
    std::string digits(text.substr(0, point));
    std::string_view fraction = text.substr(std::min(point + 1, text.size()));
    if (text.find_first_of("eE") != std::string_view::npos) {
        double value = 0;
        const auto [end, problem] = read_number(text.data(), text.data() + text.size(), value);
        const bool fits = problem == std::errc{} && end == text.data() + text.size() && std::abs(value) < 9e15;
        return fits ? std::optional(std::int64_t{std::llround(value * 1e3)}) : std::nullopt;
    }
    const bool up = fraction.size() > 3 && fraction[3] >= '5';
    digits.append(fraction.substr(0, 3)).append(3 - std::min<std::size_t>(fraction.size(), 3), '0');
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    const bool whole = problem == std::errc{} && end == digits.data() + digits.size() && point != 0;
    if (!whole || fraction.find_first_not_of("0123456789") != std::string_view::npos ||
        std::abs(value) >= INT64_MAX / 4) {
        return {};
    }
    return value + (up ? (text.front() == '-' ? -1 : 1) : 0);
}

/// Takes the text apart and hands on every event of `traceEvents`, or of a list that is the whole text.
template <class Each>
class kineto_reader : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit kineto_reader(Each each) : each_(std::move(each)) {}

    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_integer(number_integer_t value) override { return take(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return take(std::to_string(value)); }
    bool number_float(number_float_t /*value*/, const string_t& text) override { return take(text); }
    bool string(string_t& value) override { return take(value); }
    bool binary(binary_t& /*value*/) override { return true; }
    bool start_object(std::size_t /*elements*/) override {
        ++depth_;
        if (depth_ == list_depth_ + 1) {
            event_ = {};
        }
        return true;
    }
    bool end_object() override {
        if (depth_ == list_depth_ + 1) {
            each_(event_, count_++);
        }
        --depth_;
        return true;
    }
    bool key(string_t& name) override {
        (depth_ == list_depth_ + 2 ? inner_key_ : key_) = depth_ <= list_depth_ + 2 ? name : key_;
        is_events_ = depth_ == 1 && name == "traceEvents";
        is_distributed_ = depth_ == 1 ? name == "distributedInfo" : is_distributed_;
        return true;
    }
    bool start_array(std::size_t /*elements*/) override {
        if (list_depth_ == no_list && (depth_ == 0 || is_events_)) {
            if (found_) {
                refuse("traceEvents", {"is there twice"});
            }
            list_depth_ = depth_ + 1;
            found_ = true;
        }
        ++depth_;
        return true;
    }
    bool end_array() override {
        if (depth_ == list_depth_) {
            list_depth_ = no_list;
        }
        --depth_;
        return true;
    }
    bool parse_error(std::size_t position, const std::string& last, const nlohmann::json::exception& problem) override {
        static_cast<void>(problem);
        refuse("trace", {"is no JSON, or ends early: at byte ", position, ", after ", count_, " events, near \"",
                         shortened(last), "\""});
    }

    /// True after a list of events, even an empty one.
    [[nodiscard]] bool found() const { return found_; }
    /// The rank that the trace says it is of.
    [[nodiscard]] const std::string& rank() const { return rank_; }

  private:
    static constexpr std::size_t no_list = std::size_t{1} << 40U;

    bool take(const std::string& value) {
        if (is_distributed_ && depth_ == 2 && list_depth_ == no_list && key_ == "rank") {
            if (!rank_.empty() && rank_ != value) {
                refuse("distributedInfo.rank", {"is there twice, with two values"});
            }
            rank_ = value;
        } else if (depth_ == list_depth_ + 2 && key_ == "args") {
            event_.args.emplace(inner_key_, value);
        } else if (depth_ == list_depth_ + 1) {
            for (const auto& [name, field] : {std::pair("ph", &event_.ph),
                                              {"cat", &event_.cat},
                                              {"name", &event_.name},
                                              {"pid", &event_.pid},
                                              {"tid", &event_.tid},
                                              {"id", &event_.id}}) {
                if (key_ == name) {
                    require_once(field->empty() || *field == value);
                    *field = value;
                }
            }
            if (key_ == "ts" || key_ == "dur") {
                const std::optional<std::int64_t> time = nanoseconds_of(value);
                if (!time) {
                    refuse(text_of({"traceEvents[", count_, "].", key_}),
                           {"must be microseconds, got \"", shortened(value), "\""});
                }
                std::optional<std::int64_t>& kept = key_ == "ts" ? event_.ts : event_.dur;
                require_once(!kept || kept == time);
                kept = time;
            }
        }
        return true;
    }

    void require_once(bool is_first_or_equal) const {
        if (!is_first_or_equal) {
            refuse(text_of({"traceEvents[", count_, "].", key_}), {"is there twice, with two values"});
        }
    }

    Each each_;
    kineto_event event_{};
    std::string key_;
    std::string inner_key_;
    std::size_t depth_ = 0;
    std::size_t list_depth_ = no_list;
    std::size_t count_ = 0;
    std::string rank_;
    bool is_events_ = false;
    bool is_distributed_ = false;
    bool found_ = false;
};

}  // namespace floptally::detail
