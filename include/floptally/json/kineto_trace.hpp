// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include <unordered_map>
#include <utility>
#include <vector>

#include <floptally/config/json_text.hpp>
#include <floptally/json/detail/gzip_stream.hpp>
#include <floptally/json/detail/json_events.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>
#include <floptally/waterfall/trace.hpp>

/// @file
/// Adapter: traces of PyTorch's profiler, as `export_chrome_trace` writes them, with nlohmann_json. They are read event
/// by event, since a step of a large model is some gigabytes of text.

namespace floptally {

namespace detail {

/// The trace of events that come one by one.
class kineto_collector {
  public:
    void add(const kineto_event& event, std::size_t index) {
        if (event.cat == "fwdbwd" && (event.ph == "s" || event.ph == "f")) {
            link(event, index);
            return;
        }
        const std::optional<trace_kind> what = event.ph == "X" ? kind_of(event) : std::nullopt;
        if (!what) {
            return;
        }
        if (!event.ts || !event.dur) {
            refuse(field_of(index, event.ts ? ".dur" : ".ts"), {"is missing: \"", event.name, "\" needs its time"});
        }
        if (*event.dur < 0) {
            refuse(field_of(index, ".dur"), {"must be at least 0, got ", *event.dur, " ns"});
        }
        const bool on_device = *what == trace_kind::kernel || *what == trace_kind::copy;
        if (*what == trace_kind::op && process_ != event.pid) {
            if (!process_.empty()) {
                refuse("trace", {"has operators of the processes ", process_, " and ", event.pid,
                                 ": give the trace of one rank"});
            }
            process_ = event.pid;
        }
        trace_event traced{.what = *what,
                           .name = number_of(names_, made_.names, short_name(event)),
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
        made_.events.push_back(traced);
    }

    /// `rank`: as the trace says it, or nothing.
    [[nodiscard]] trace take(const std::string& rank) {
        made_.rank = number_of_text<std::uint64_t>(rank);
        for (const auto& [id, ends] : links_) {
            if (ends.forward && ends.backward) {
                made_.links.push_back(
                    {ends.forward->first, ends.forward->second, ends.backward->first, ends.backward->second});
            }
        }
        if (made_.events.empty()) {
            throw error("trace", "has no operator, annotation, module or kernel: is it one of PyTorch's profiler?");
        }
        return std::move(made_);
    }

  private:
    using place = std::pair<std::uint32_t, std::int64_t>;
    struct both_ends {
        std::optional<place> forward{};
        std::optional<place> backward{};
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

    /// "nn.Module: LlamaAttention_3" is "LlamaAttention".
    [[nodiscard]] static std::string short_name(const kineto_event& event) {
        if (event.cat != "python_function") {
            return event.name;
        }
        const std::string name = event.name.substr(module_mark.size());
        const std::size_t last = name.find_last_not_of("0123456789");
        return last == std::string::npos || name[last] != '_' || last + 1 == name.size() ? name : name.substr(0, last);
    }

    /// The operation of a collective kernel and the ranks of its group, which are what other ranks' traces have of it.
    [[nodiscard]] std::uint32_t collective_of(const kineto_event& event, std::size_t index) {
        const auto word = [&event, index](const char* name) {
            const std::string* found = event.argument(name, index);
            return found == nullptr ? std::string() : *found;
        };
        const std::string what = word("Collective name");
        if (what.empty()) {
            return 0;
        }
        const std::string source = what == "recv" ? word("Src Rank") : std::string();
        const std::string destination = what == "send" ? word("Dst Rank") : std::string();
        const std::string operation = !source.empty()        ? text_of({between_two, source, ">?"})
                                      : !destination.empty() ? text_of({between_two, "?>", destination})
                                                             : what;
        return 1 + number_of(names_, made_.names,
                             text_of({operation, " ", word("Process Group Name"), " ", word("Process Group Ranks")}));
    }

    [[nodiscard]] static std::uint32_t number_of(numbers& known, std::vector<std::string>& list,
                                                 const std::string& text) {
        const auto [found, is_new] = known.emplace(text, static_cast<std::uint32_t>(list.size()));
        if (is_new) {
            list.push_back(text);
        }
        return found->second;
    }

    /// The first of the arguments that is there, 0 where none is.
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
            refuse(field_of(index, event.ts ? ".id" : ".ts"), {"is missing: a link needs it"});
        }
        both_ends& ends = links_[event.id];
        (event.ph == "s" ? ends.forward : ends.backward) =
            place(number_of(lanes_, lane_names_, event.pid + "/" + event.tid), *event.ts);
    }

    trace made_;
    numbers names_;
    numbers lanes_;
    numbers devices_;
    std::vector<std::string> lane_names_;
    std::vector<std::string> device_names_;
    std::map<std::string, both_ends> links_;
    std::string process_;
};

}  // namespace detail

/// A trace as `torch.profiler.profile.export_chrome_trace` writes it, of one process, as gzip too where
/// FLOPTALLY_ZLIB is defined, which links zlib. Events that say nothing of where time went (flows but those of the
/// backward, memory, Python functions that are no module) are skipped.
[[nodiscard]] inline trace read_kineto_trace(std::istream& text) {
    detail::kineto_collector collector;
    detail::kineto_reader reader(
        [&collector](const detail::kineto_event& event, std::size_t index) { collector.add(event, index); });
    if (detail::is_gzip(text)) {
#ifdef FLOPTALLY_ZLIB
        detail::gzip_buffer unpacked(text);
        std::istream stream(&unpacked);
        stream.exceptions(std::ios::badbit);  // an error of the buffer is thrown on
        nlohmann::json::sax_parse(stream, &reader);
        detail::require_read_to_end(stream, "trace");
#else
        throw error("trace",
                    "is packed by gzip, which this build cannot read without zlib: give what gunzip makes of it");
#endif
    } else {
        nlohmann::json::sax_parse(text, &reader);
        detail::require_read_to_end(text, "trace");
    }
    if (!reader.found()) {
        throw error("trace", "has no list \"traceEvents\"");
    }
    return collector.take(reader.rank());
}

/// A trace from a file.
[[nodiscard]] inline trace load_kineto_trace(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        detail::refuse("trace", {"cannot read \"", path.string(), "\""});
    }
    return read_kineto_trace(file);
}

}  // namespace floptally
