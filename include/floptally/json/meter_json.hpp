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
#include <vector>

#include <floptally/config/json_text.hpp>
#include <floptally/json/detail/shown_json.hpp>
#include <floptally/json/detail/state_reader.hpp>
#include <floptally/parallel/rank_agreement.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/run_account.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>
#include <floptally/text/whole_file.hpp>

/// @file
/// Adapter: a meter as JSON lines, and its state in a checkpoint, with nlohmann_json. Counts are decimal strings: a
/// double would round them.

namespace floptally {

namespace detail {

[[nodiscard]] inline nlohmann::ordered_json totals_json(const step_totals& done) {
    const auto both = [&](statistic what) {
        const modality in = done.batch.masks().main_modality();
        return nlohmann::ordered_json{{"useful", std::to_string(done.batch.get(view::useful, what, in))},
                                      {"padded", std::to_string(done.batch.get(view::padded, what, in))}};
    };
    return {{"steps", std::to_string(done.steps)},
            {"seconds", done.seconds},
            {"gpu_seconds", done.gpu_seconds},
            {"peak_tflop", done.peak_tflop},
            {"samples", both(statistic::count)},
            {"tokens", both(statistic::tokens)},
            {"flops",
             {{"useful", to_string(done.useful)},
              {"padded", to_string(done.padded)},
              {"executed", to_string(done.executed)}}}};
}

/// Totals, and their rates under the names of the log without a prefix; null without a step.
template <class Done>
[[nodiscard]] nlohmann::ordered_json span_json(const meter& counted_by, const step_totals& totals, const Done& done) {
    if (totals.steps == 0) {
        return nullptr;
    }
    nlohmann::ordered_json out = totals_json(totals);
    for (const metric& m : metrics(counted_by, done, "")) {
        if (m.name != "steps") {
            out["rates"][m.name] = m.value;
        }
    }
    return out;
}

/// The percentiles of steps' times; null as long as no step counts in them.
[[nodiscard]] inline nlohmann::ordered_json percentiles_json(const meter& timed_by) {
    if (timed_by.steady_steps() == 0) {
        return nullptr;
    }
    const duration_percentiles done = timed_by.step_percentiles();
    nlohmann::ordered_json out{{"steps", std::to_string(done.steps)}, {"left_out", std::to_string(done.left_out)}};
    for (const auto& [name, seconds] : named(done)) {
        out[std::string(name)] = seconds;
    }
    return out;
}

/// The hash of all that a state says: one that was cut or changed after it was written has another.
[[nodiscard]] inline std::string checksum_of(const nlohmann::ordered_json& state) {
    return std::to_string((schema_hash() << state.dump()).value());
}

[[nodiscard]] inline account_state read_account(const nlohmann::json& text) {
    const state_reader read(text);
    account_state account{.wall_seconds = read.number("wall_seconds"), .saved_at = read.number("saved_at")};
    for (const nlohmann::json& each : read.list("spent")) {
        if (!each.is_array() || each.size() != 2 || !each[0].is_string() || !each[1].is_number()) {
            refuse("spent", {"must be pairs of a name and seconds, got ", shown(each)});
        }
        account.spent.push_back({each[0].get<std::string>(), each[1].get<double>()});
    }
    return account;
}

}  // namespace detail

/// A meter as JSON: last step, interval and run, null for one that has no step yet, and what they were counted by.
[[nodiscard]] inline nlohmann::ordered_json to_json(const meter& shown) {
    const auto optional = [](const std::string& text) {
        return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
    };
    const metered_hardware& on = shown.hardware();
    nlohmann::ordered_json out{{"version", version},
                               {"numbers_version", numbers_version},
                               {"convention", std::string(shown.model().counted_as().name)},
                               {"gpus", on.gpus},
                               {"counted", shown.counted()},
                               {"peak_tflops", on.peak_tflops},
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
    return out;
}

/// Writes a meter as a line of a JSON Lines file.
inline void write_json_line(std::ostream& out, const meter& shown) {
    if (!(out << to_json(shown).dump() << '\n')) {
        throw error("stream", "a line of the meter could not be written");
    }
}

/// The state of a meter as JSON; durations that no step had are left out, and the account of a run that has none.
[[nodiscard]] inline nlohmann::ordered_json to_json(const meter_state& state) {
    const auto strings = [](const std::vector<std::uint64_t>& words) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const std::uint64_t word : words) {
            list.push_back(std::to_string(word));
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
                               {"words", strings(state.words)},
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
    if (state.account) {
        out["account"] = {{"wall_seconds", state.account->wall_seconds},
                          {"saved_at", state.account->saved_at},
                          {"spent", nlohmann::ordered_json::array()}};
        for (const spent_time& each : state.account->spent) {
            out["account"]["spent"].push_back({each.name, each.seconds});
        }
    }
    out["checksum"] = detail::checksum_of(out);
    return out;
}

/// The state of a meter from the JSON that `to_json` wrote, bit for bit. One that was cut or changed is an error.
[[nodiscard]] inline meter_state read_meter_state(const nlohmann::json& text) {
    const detail::state_reader read(text);
    meter_state state{.version = read.text("version"),
                      .numbers = read.whole("numbers_version"),
                      .convention = read.text("convention")};
    for (const nlohmann::json& name : read.list("masks")) {
        state.masks.push_back(read.text("masks", name));
    }
    for (const nlohmann::json& word : read.list("words")) {
        state.words.push_back(read.word("words", word));
    }
    step_totals& done = state.run.totals;
    done.steps = read.word("steps");
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
            detail::refuse("durations", {"must be pairs of a bucket below ", buckets.size(), " and a count"});
        }
        buckets[pair[0].get<std::size_t>()] = read.word("durations", pair[1]);
    }
    state.run.step_seconds =
        duration_histogram::from_buckets(buckets, read.number("min_seconds"), read.number("max_seconds"));
    if (text.contains("account")) {
        state.account = detail::read_account(text.at("account"));
    }
    if (read.text("checksum") != to_json(state).at("checksum").get<std::string>()) {
        throw error("checksum", "is not that of this state, which was cut or changed after it was written");
    }
    return state;
}

/// Saves a state as a file, whole or not at all: whatever fails or ends the process, the file has this state or the one
/// before, and this one after a return.
inline void save_state(const std::filesystem::path& path, const meter_state& state) {
    write_whole(path, to_json(state).dump(), "path");
}

/// The state of a file that `save_state` wrote.
[[nodiscard]] inline meter_state load_state(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path)) {
        detail::refuse("path", {"cannot read \"", path.string(), "\""});
    }
    return read_meter_state(read_json(file, "state"));
}

}  // namespace floptally
