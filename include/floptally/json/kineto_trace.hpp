// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include <floptally/config/json_text.hpp>
#include <floptally/json/detail/gzip_stream.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/trace.hpp>

/// @file
/// Adapter: reads traces of PyTorch's profiler (`export_chrome_trace`) with nlohmann_json. It reads event by event,
/// because the trace of one step of a large model may have gigabytes of text.

namespace floptally::inline v0_3::detail {

/// The fields of a trace event that the reader keeps. It skips all other fields.
struct kineto_event {
    std::string ph;
    std::string cat;
    std::string name;
    std::string pid;
    std::string tid;
    std::string id;
    std::optional<std::int64_t> ts{};   ///< start of the event in nanoseconds; empty if the event has none
    std::optional<std::int64_t> dur{};  ///< duration of the event in nanoseconds; empty if the event has none
    std::multimap<std::string, std::string> args{};

    /// Returns an argument of the event, or null if it is absent. Throws `error` if the event has it twice with
    /// different values.
    [[nodiscard]] const std::string* argument(const char* key, std::size_t index) const {
        const auto [first, last] = args.equal_range(key);
        for (auto other = first; other != last; ++other) {
            if (other->second != first->second) {
                refuse(text_of({"traceEvents[", index, "].args.", key}), {"appears twice with two values; keep one"});
            }
        }
        return first == last ? nullptr : &first->second;
    }
};

/// Parses decimal microseconds ("88511388202.765") to whole nanoseconds. A double is too coarse for microseconds since
/// 1970: its steps are a quarter of a microsecond.
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

/// Parses JSON text and passes every event in its list `traceEvents` to a function. The text may also be the list
/// itself.
template <class Each>
class kineto_reader : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit kineto_reader(Each each) : each_(std::move(each)) {}

    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_integer(number_integer_t value) override { return set_field(std::to_string(value)); }
    bool number_unsigned(number_unsigned_t value) override { return set_field(std::to_string(value)); }
    bool number_float(number_float_t /*value*/, const string_t& text) override { return set_field(text); }
    bool string(string_t& value) override { return set_field(value); }
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
                refuse("traceEvents", {"appears twice; keep one"});
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
        refuse("trace", {"must be one whole JSON text, such as PyTorch's profiler writes it; the error is at byte ",
                         position, ", after ", count_, " events, near \"", shortened(last), "\""});
    }

    /// Returns true if the text had a list of events, even an empty one.
    [[nodiscard]] bool found() const { return found_; }
    /// Returns the rank that the trace records, as text; empty if it records none.
    [[nodiscard]] const std::string& rank() const { return rank_; }

  private:
    static constexpr std::size_t no_list = ~std::size_t{0} / 2;  // deeper than any text nests

    bool set_field(const std::string& value) {
        if (is_distributed_ && depth_ == 2 && list_depth_ == no_list && key_ == "rank") {
            if (!rank_.empty() && rank_ != value) {
                refuse("distributedInfo.rank", {"appears twice with two values; keep one"});
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
                           {"must be a number of microseconds, got \"", shortened(value), "\""});
                }
                std::optional<std::int64_t>& field = key_ == "ts" ? event_.ts : event_.dur;
                require_once(!field || field == time);
                field = time;
            }
        }
        return true;
    }

    void require_once(bool is_first_or_equal) const {
        if (!is_first_or_equal) {
            refuse(text_of({"traceEvents[", count_, "].", key_}), {"appears twice with two values; keep one"});
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

namespace floptally::inline v0_3 {

namespace detail {

/// Collects the events of a profiler's trace one by one.
class kineto_collector {
  public:
    void add(const kineto_event& event, std::size_t index) {
        if (event.cat == "fwdbwd" && (event.ph == "s" || event.ph == "f")) {
            link(event, index);
            return;
        }
        const std::optional<trace_kind> kind = event.ph == "X" ? kind_of(event) : std::nullopt;
        if (!kind) {
            return;
        }
        if (!event.ts || !event.dur) {
            refuse(field_of(index, event.ts ? ".dur" : ".ts"),
                   {"is missing: record the trace again, with the time of \"", event.name, "\""});
        }
        if (*event.dur < 0) {
            refuse(field_of(index, ".dur"), {"must be at least 0, got ", *event.dur, " ns"});
        }
        const bool on_device = *kind == trace_kind::kernel || *kind == trace_kind::copy;
        if (*kind == trace_kind::op && process_ != event.pid) {
            if (!process_.empty()) {
                refuse("trace", {"has operators of two processes, ", process_, " and ", event.pid,
                                 ": pass the trace of one rank"});
            }
            process_ = event.pid;
        }
        trace_event traced{.kind = *kind,
                           .name = number_of(names_, trace_.names, short_name(event)),
                           .lane = number_of(lanes_, lane_names_, event.pid + "/" + event.tid),
                           .begin = *event.ts,
                           .end = *event.ts + *event.dur,
                           .correlation = number(event, index, {"correlation"}),
                           .external = number(event, index, {"External id", "external id"}),
                           .forward_thread = number(event, index, {"Fwd thread id"})};
        if (on_device) {
            const std::string* device = event.argument("device", index);
            traced.collective = collective_of(event, index);
            traced.device = number_of(devices_, device_names_, device == nullptr ? event.pid : *device);
        } else if (event.args.count("Sequence number") != 0) {
            traced.sequence = static_cast<std::int64_t>(number(event, index, {"Sequence number"}));
        }
        trace_.events.push_back(traced);
    }

    /// Returns the trace. `rank` is the text of the recorded rank, or empty.
    [[nodiscard]] trace finish(const std::string& rank) {
        trace_.rank = number_of_text<std::uint64_t>(rank);
        for (const auto& [id, ends] : links_) {
            if (ends.forward && ends.backward) {
                trace_.links.push_back({ends.forward->first, ends.backward->first, ends.backward->second});
            }
        }
        if (trace_.events.empty()) {
            throw error("trace", "has no operator, annotation, module or kernel: pass a trace of PyTorch's profiler");
        }
        return std::move(trace_);
    }

  private:
    using lane_time = std::pair<std::uint32_t, std::int64_t>;
    struct both_ends {
        std::optional<lane_time> forward{};
        std::optional<lane_time> backward{};
    };
    using numbers = std::unordered_map<std::string, std::uint32_t>;

    static constexpr std::string_view module_mark = "nn.Module: ";

    [[nodiscard]] static std::string field_of(std::size_t index, std::string_view member) {
        return text_of({"traceEvents[", index, "]", member});
    }

    [[nodiscard]] static std::optional<trace_kind> kind_of(const kineto_event& event) {
        static const std::map<std::string_view, trace_kind> kinds{
            {"cpu_op", trace_kind::op},           {"user_annotation", trace_kind::annotation},
            {"cuda_runtime", trace_kind::launch}, {"cuda_driver", trace_kind::launch},
            {"xpu_runtime", trace_kind::launch},  {"privateuse1_runtime", trace_kind::launch},
            {"kernel", trace_kind::kernel},       {"gpu_memcpy", trace_kind::copy},
            {"gpu_memset", trace_kind::copy}};
        if (event.cat == "python_function" && event.name.starts_with(module_mark)) {
            return trace_kind::module_call;
        }
        const auto found = kinds.find(event.cat);
        return found == kinds.end() ? std::nullopt : std::optional(found->second);
    }

    /// Returns the name of an event. A module loses its number: "nn.Module: LlamaAttention_3" becomes "LlamaAttention".
    [[nodiscard]] static std::string short_name(const kineto_event& event) {
        if (event.cat != "python_function") {
            return event.name;
        }
        const std::string name = event.name.substr(module_mark.size());
        const std::size_t last = name.find_last_not_of("0123456789");
        return last == std::string::npos || name[last] != '_' || last + 1 == name.size() ? name : name.substr(0, last);
    }

    /// Returns a number that identifies the operation of a collective kernel. It depends on the operation's name and
    /// the ranks of its group, so that it is the same in the traces of all ranks.
    [[nodiscard]] std::uint32_t collective_of(const kineto_event& event, std::size_t index) {
        const auto argument = [&event, index](const char* name) {
            const std::string* found = event.argument(name, index);
            return found == nullptr ? std::string() : *found;
        };
        const std::string name = argument("Collective name");
        if (name.empty()) {
            return 0;
        }
        const std::string source = name == "recv" ? argument("Src Rank") : std::string();
        const std::string destination = name == "send" ? argument("Dst Rank") : std::string();
        const std::string operation = !source.empty()        ? text_of({between_two, source, ">?"})
                                      : !destination.empty() ? text_of({between_two, "?>", destination})
                                                             : name;
        return 1 + number_of(
                       names_, trace_.names,
                       text_of({operation, " ", argument("Process Group Name"), " ", argument("Process Group Ranks")}));
    }

    [[nodiscard]] static std::uint32_t number_of(numbers& known, std::vector<std::string>& list,
                                                 const std::string& text) {
        const auto [found, is_new] = known.emplace(text, static_cast<std::uint32_t>(list.size()));
        if (is_new) {
            list.push_back(text);
        }
        return found->second;
    }

    /// Returns the value of the event's first argument whose name is in `names`, or 0 if the event has no such
    /// argument.
    [[nodiscard]] static std::uint64_t number(const kineto_event& event, std::size_t index,
                                              std::initializer_list<const char*> names) {
        for (const char* name : names) {
            const std::string* text = event.argument(name, index);
            if (text == nullptr) {
                continue;
            }
            const std::optional<std::uint64_t> value = number_of_text<std::uint64_t>(*text);
            if (!value) {
                refuse(field_of(index, text_of({".args.", name})),
                       {"must be an integer of at least 0, got \"", shortened(*text), "\""});
            }
            return *value;
        }
        return 0;
    }

    void link(const kineto_event& event, std::size_t index) {
        if (!event.ts || event.id.empty()) {
            refuse(field_of(index, event.ts ? ".id" : ".ts"),
                   {"is missing: a link from a forward operator to its backward needs it; record the trace again"});
        }
        both_ends& ends = links_[event.id];
        (event.ph == "s" ? ends.forward : ends.backward) =
            lane_time(number_of(lanes_, lane_names_, event.pid + "/" + event.tid), *event.ts);
    }

    trace trace_;
    numbers names_;
    numbers lanes_;
    numbers devices_;
    std::vector<std::string> lane_names_;
    std::vector<std::string> device_names_;
    std::map<std::string, both_ends> links_;
    std::string process_;
};

}  // namespace detail

/// Reads the trace of one process, as `torch.profiler.profile.export_chrome_trace` writes it. Define FLOPTALLY_ZLIB and
/// link zlib to read gzip files as well. Events that say nothing about time are skipped: memory events, flows other
/// than those to the backward pass, and Python functions that are not modules.
[[nodiscard]] inline trace read_kineto_trace(std::istream& text) {
    detail::kineto_collector collector;
    detail::kineto_reader reader(
        [&collector](const detail::kineto_event& event, std::size_t index) { collector.add(event, index); });
    if (detail::is_gzip(text)) {
#ifdef FLOPTALLY_ZLIB
        detail::gzip_buffer unpacked(text);
        std::istream stream(&unpacked);
        stream.exceptions(std::ios::badbit);  // makes the stream rethrow exceptions of its buffer
        nlohmann::json::sax_parse(stream, &reader);
        detail::require_read_to_end(stream, "trace");
#else
        throw error("trace", "is compressed by gzip, and this build has no zlib to read it: unpack it with gunzip");
#endif
    } else {
        nlohmann::json::sax_parse(text, &reader);
        detail::require_read_to_end(text, "trace");
    }
    if (!reader.found()) {
        throw error("trace", "has no list \"traceEvents\": pass a trace of PyTorch's profiler");
    }
    return collector.finish(reader.rank());
}

/// Reads a trace from a file.
[[nodiscard]] inline trace load_kineto_trace(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        detail::refuse("trace", {"cannot read \"", path.string(), "\": pass a readable file"});
    }
    return read_kineto_trace(file);
}

}  // namespace floptally
