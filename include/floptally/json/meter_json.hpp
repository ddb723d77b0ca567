// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/json_text.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/json/detail/shown_json.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/parallel/rank_agreement.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>
#include <floptally/text/version.hpp>
#include <floptally/text/whole_file.hpp>

/// @file
/// Adapter: writes a meter as JSON lines, and saves and loads its state, with nlohmann_json. Counts are decimal
/// strings, because a double would round them.

namespace floptally::inline v0_3::detail {

/// Reads the saved state of a meter. Its errors name the key that is wrong.
class state_reader {
  public:
    explicit state_reader(const nlohmann::json& state) : state_(state) {}

    [[nodiscard]] const nlohmann::json& at(const char* key) const {
        if (!state_.is_object() || !state_.contains(key)) {
            throw error(key, "is missing: pass the whole state of a meter, as `to_json` wrote it");
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
            refuse(key, {"must be a whole number in decimal digits, got ", shown(value)});
        }
        return sum;
    }

    [[nodiscard]] std::uint64_t integer(const char* key) const { return integer(key, at(key)); }

    [[nodiscard]] static std::uint64_t integer(std::string_view key, const nlohmann::json& value) {
        const uint128 sum = count(key, value);
        if ((sum >> 64) != 0) {
            throw overflow(key, "must be below 2^64, got " + shown(value));
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

namespace floptally::inline v0_3 {

namespace detail {

[[nodiscard]] inline nlohmann::ordered_json totals_json(const step_totals& done) {
    const auto both = [&](accumulator what) {
        const modality in = done.batch.masks().main_modality();
        return nlohmann::ordered_json{{"useful", std::to_string(done.batch.get(view::useful, what, in))},
                                      {"padded", std::to_string(done.batch.get(view::padded, what, in))}};
    };
    return {{"steps", std::to_string(done.steps)},
            {"seconds", done.seconds},
            {"gpu_seconds", done.gpu_seconds},
            {"peak_tflop", done.peak_tflop},
            {"samples", both(accumulator::count)},
            {"tokens", both(accumulator::tokens)},
            {"flops",
             {{"useful", to_string(done.useful)},
              {"padded", to_string(done.padded)},
              {"executed", to_string(done.executed)}}}};
}

/// Returns the totals of a step, interval or run and their rates as JSON. The rates have the same names as in the log,
/// without a prefix. Returns null if no step was counted.
template <class Span>
[[nodiscard]] nlohmann::ordered_json span_json(const meter& counting, const step_totals& totals, const Span& span) {
    if (totals.steps == 0) {
        return nullptr;
    }
    nlohmann::ordered_json out = totals_json(totals);
    if (const std::string doubt = doubt_of(counting, totals); !doubt.empty()) {
        out["doubt"] = doubt;
    }
    for (const metric& m : metrics(counting, span, "")) {
        if (m.name != "steps" && !m.name.starts_with("total_")) {  // totals are not repeated here: the outer JSON
                                                                   // object already has those of the run
            out["rates"][m.name] = m.value;
        }
    }
    return out;
}

/// Returns the percentiles of the steps' times as JSON. Returns null if no step has a time that is included in
/// percentiles.
[[nodiscard]] inline nlohmann::ordered_json percentiles_json(const meter& timing) {
    if (timing.steady_steps() == 0) {
        return nullptr;
    }
    const duration_percentiles percentiles = timing.step_percentiles();
    nlohmann::ordered_json out{{"steps", std::to_string(percentiles.steps)},
                               {"left_out", std::to_string(percentiles.left_out)}};
    for (const auto& [name, seconds] : named(percentiles)) {
        out[std::string(name)] = seconds;
    }
    return out;
}

/// Returns a checksum of a state. It shows whether the state was cut or changed after it was written.
[[nodiscard]] inline std::string checksum_of(const nlohmann::ordered_json& state) {
    return std::to_string((schema_hash() << state.dump()).value());
}

[[nodiscard]] inline goodput_state read_goodput(const nlohmann::json& text) {
    const state_reader read(text);
    goodput_state goodput{.wall_seconds = read.number("wall_seconds"), .saved_at = read.number("saved_at")};
    for (const nlohmann::json& each : read.list("spent")) {
        if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number()) {
            refuse("spent", {"must be a list of pairs [name, seconds], got the element ", shown(each)});
        }
        goodput.spent.push_back({each[0].get<std::string>(), each[1].get<double>()});
    }
    return goodput;
}

}  // namespace detail

/// Returns a meter as JSON: the last step, the interval, the run, and the meter's settings. Step, interval and run are
/// null before their first step.
[[nodiscard]] inline nlohmann::ordered_json to_json(const meter& shown) {
    const auto optional = [](const std::string& text) {
        return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
    };
    const metered_hardware& on = shown.hardware();
    nlohmann::ordered_json out{
        {"version", version},
        {"numbers_version", numbers_version},
        {"convention", std::string(shown.model().counted_as().name)},
        {"gpus", on.gpus},
        {"counted", shown.counted()},
        {"peak_tflops", on.peak_is_unknown ? nlohmann::ordered_json() : nlohmann::ordered_json(on.peak_tflops)},
        {"accelerator", optional(on.accelerator)},
        {"precision", optional(on.precision)}};
    if (shown.beside()) {
        out["beside"] = std::string(shown.beside()->counted_as().name);
    }
    if (on.peak_kind != peak_kind::unsaid) {
        out["peak_kind"] = std::string(name(on.peak_kind));
    }
    if (on.peak_quality != source_quality::vendor_document) {
        out["peak_quality"] = std::string(name(on.peak_quality));
    }
    out.update({{"step", detail::span_json(shown, shown.last_step(), shown.last_step())},
                {"interval", detail::span_json(shown, shown.interval().totals, shown.interval())},
                {"run", detail::span_json(shown, shown.run().totals, shown.run())},
                {"step_percentiles", detail::percentiles_json(shown)}});
    return detail::with_utf8(std::move(out));
}

/// Writes a meter as one line of a JSON Lines file. Throws `error` if the stream fails.
inline void write_json_line(std::ostream& out, const meter& shown) {
    if (!(out << to_json(shown).dump() << '\n')) {
        throw error("stream", "cannot write a line of the meter: check that the file is open and the disk has space");
    }
}

/// Returns the state of a meter as JSON. `durations` lists only the buckets of step times that contain a step. The key
/// `account` has the goodput of a run, if the meter measures it.
[[nodiscard]] inline nlohmann::ordered_json to_json(const meter_state& state) {
    const auto strings = [](const std::vector<std::uint64_t>& accumulators) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const std::uint64_t sum : accumulators) {
            list.push_back(std::to_string(sum));
        }
        return list;
    };
    const step_totals& done = state.run.totals;
    nlohmann::ordered_json durations = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < duration_histogram::bucket_count; ++i) {
        if (state.run.step_seconds.bucket(i) != 0) {
            durations.push_back({i, std::to_string(state.run.step_seconds.bucket(i))});
        }
    }
    const bool has_steps = state.run.step_seconds.count() != 0;
    nlohmann::ordered_json out{{"version", state.version},
                               {"numbers_version", state.numbers},
                               {"convention", state.convention},
                               {"masks", state.masks},
                               {"words", strings(state.accumulators)},
                               {"steps", std::to_string(done.steps)},
                               {"useful", to_string(done.useful)},
                               {"padded", to_string(done.padded)},
                               {"executed", to_string(done.executed)},
                               {"seconds", done.seconds},
                               {"gpu_seconds", done.gpu_seconds},
                               {"peak_tflop", done.peak_tflop},
                               {"min_seconds", has_steps ? state.run.step_seconds.min() : 0},
                               {"max_seconds", has_steps ? state.run.step_seconds.max() : 0},
                               {"durations", durations}};
    if (state.goodput) {
        out["account"] = {{"wall_seconds", state.goodput->wall_seconds},
                          {"saved_at", state.goodput->saved_at},
                          {"spent", nlohmann::ordered_json::array()}};
        for (const spent_time& each : state.goodput->spent) {
            out["account"]["spent"].push_back({each.name, each.seconds});
        }
    }
    if (state.recounted) {
        out["recounted"] = true;
    }
    if (!state.measured.empty()) {
        out["measured"] = state.measured;
    }
    if (state.steps_left_out != 0) {
        out["steps_left_out"] = std::to_string(state.steps_left_out);
    }
    detail::require_utf8_within(out, "");
    out["checksum"] = detail::checksum_of(out);
    return out;
}

/// Reads the state of a meter from the JSON that `to_json` wrote. Every number is restored bit for bit. Throws `error`
/// if the state was cut or changed.
[[nodiscard]] inline meter_state read_meter_state(const nlohmann::json& text) {
    const detail::state_reader read(text);
    meter_state state{.version = read.text("version"),
                      .numbers = read.whole("numbers_version"),
                      .convention = read.text("convention")};
    for (const nlohmann::json& name : read.list("masks")) {
        state.masks.push_back(read.text("masks", name));
    }
    for (const nlohmann::json& sum : read.list("words")) {
        state.accumulators.push_back(read.integer("words", sum));
    }
    step_totals& done = state.run.totals;
    done.steps = read.integer("steps");
    done.useful = flops{read.count("useful")};
    done.padded = flops{read.count("padded")};
    done.executed = flops{read.count("executed")};
    done.seconds = read.number("seconds");
    done.gpu_seconds = read.number("gpu_seconds");
    done.peak_tflop = read.number("peak_tflop");
    std::array<std::uint64_t, duration_histogram::bucket_count> buckets{};
    for (const nlohmann::json& pair : read.list("durations")) {
        if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number_unsigned() ||
            pair[0].get<std::uint64_t>() >= buckets.size()) {
            detail::refuse("durations", {"must be a list of pairs [bucket, count] with each bucket below ",
                                         buckets.size(), ", got ", detail::shown(pair)});
        }
        buckets[pair[0].get<std::size_t>()] = read.integer("durations", pair[1]);
    }
    state.run.step_seconds =
        duration_histogram::from_buckets(buckets, read.number("min_seconds"), read.number("max_seconds"));
    if (text.contains("account")) {
        state.goodput = detail::read_goodput(text.at("account"));
    }
    if (text.contains("recounted")) {
        state.recounted = text.at("recounted") == true;
    }
    if (text.contains("measured")) {
        for (const nlohmann::json& name : read.list("measured")) {
            state.measured.push_back(read.text("measured", name));
        }
    }
    if (text.contains("steps_left_out")) {
        state.steps_left_out = read.integer("steps_left_out");
    }
    if (read.text("checksum") != to_json(state).at("checksum").get<std::string>()) {
        throw error("checksum",
                    "does not match, because the state was cut or changed after it was saved: load an earlier one");
    }
    return state;
}

/// Saves a state to a file. If anything fails or the process dies, the file has either this state or the former one,
/// never a mixture. When the call has returned, the file has this state.
inline void save_state(const std::filesystem::path& path, const meter_state& state) {
    write_whole(path, to_json(state).dump(), "path");
}

/// Loads the state from a file that `save_state` wrote.
[[nodiscard]] inline meter_state load_state(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        detail::refuse("path", {"cannot read \"", path.string(), "\": pass a readable file"});
    }
    return read_meter_state(read_json(file, "state"));
}

}  // namespace floptally
