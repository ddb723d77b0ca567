// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/floptally_format.hpp>
#include <floptally/detail/hstu_format.hpp>
#include <floptally/detail/pages/from_nlohmann.hpp>
#include <floptally/detail/pages/read.hpp>
#include <floptally/error.hpp>
#include <floptally/model/latent_attention.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/version.hpp>

/// @file
/// Adapter: configs in, reports out, with nlohmann_json.

namespace floptally {

namespace detail {

[[nodiscard]] inline model_config by_page(const nlohmann::json& config, const read_options& options) {
    pages::library known;
    for (const std::string& text : options.pages) {
        known.add(text);
    }
    return pages::read_pages(pages::tree_of(config), options, known);
}

}  // namespace detail

/// The cost of a Hugging Face config.json or of floptally's own format: what the implementation of that `model_type`
/// computes in a training forward pass. A field that is missing has the implementation's default; one that is mistyped,
/// out of range or contradictory is an `error` that names it.
[[nodiscard]] inline model_config read_config(const nlohmann::json& config, const read_options& options = {}) {
    const detail::config_fields fields(config, "");
    const std::string_view type = fields.contains("model_type") && config["model_type"].is_string()
                                      ? config["model_type"].get_ref<const std::string&>()
                                      : std::string_view{};
    const bool own = options.pages.empty() && type == "floptally";
    const bool hstu = options.pages.empty() && type == "hstu";
    model_config model = own    ? detail::floptally_format(fields, options).read()
                         : hstu ? detail::hstu_format(fields, options).read()
                                : detail::by_page(config, options);
    if (options.mla == mla_core::absorbed && !mla::is_absorbed_in(model.cost)) {
        throw error("mla", model.model_type + " has no latent attention to absorb");
    }
    return model;
}

/// The same from a stream of JSON text.
[[nodiscard]] inline model_config read_config(std::istream& text, const read_options& options = {}) {
    nlohmann::json config;
    try {
        config = nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& problem) {
        throw error("config", "must be a JSON object, cannot be parsed at byte " + std::to_string(problem.byte));
    } catch (const nlohmann::json::out_of_range&) {
        throw error("config", "must be a JSON object, has a number that no double holds");
    }
    return read_config(config, options);
}

/// The same from a file, or from the config.json in a folder.
[[nodiscard]] inline model_config load_config(const std::filesystem::path& path, const read_options& options = {}) {
    std::error_code unreadable;
    const bool folder = std::filesystem::is_directory(path, unreadable);
    const std::filesystem::path file = folder ? path / "config.json" : path;
    std::ifstream text(file);
    if (!text) {
        throw error("config", "cannot read \"" + file.string() + "\"");
    }
    return read_config(text, options);
}

/// Every `model_type` that `read_config` knows, floptally's own format last.
[[nodiscard]] inline std::vector<std::string_view> known_model_types() {
    std::vector<std::string_view> types = detail::pages::library().types();
    types.push_back("hstu");
    types.push_back("floptally");
    return types;
}

/// Where the page of a type stands, from the root of the project; empty where it is no page of the library.
[[nodiscard]] inline std::string page_file(std::string_view type) {
    return detail::pages::find_model_page(type).empty() ? std::string()
                                                        : "include/floptally/models/" + std::string(type) + ".hpp";
}

namespace detail {

using ordered_json = nlohmann::ordered_json;

/// Counts are decimal strings: a double would round them.
inline ordered_json both_views(std::uint64_t useful, std::uint64_t padded) {
    return {{"useful", std::to_string(useful)}, {"padded", std::to_string(padded)}};
}

inline ordered_json statistics_json(const report& r) {
    const auto word = [&](statistic what, modality in) {
        return both_views(r.batch.get(view::useful, what, in), r.batch.get(view::padded, what, in));
    };
    const auto words = [&](modality in) {
        return ordered_json{{"count", word(statistic::count, in)},
                            {"tokens", word(statistic::tokens, in)},
                            {"squares", word(statistic::squares, in)}};
    };
    ordered_json pairs = ordered_json::array();
    for (const rule& m : r.masks) {
        pairs.push_back({{"mask", m.name()},
                         {"value", both_views(r.batch.pairs(view::useful, m), r.batch.pairs(view::padded, m))}});
    }
    ordered_json statistics = words(modality::text);
    for (const modality in : {modality::vision, modality::audio}) {
        if (r.masks.has(in)) {
            statistics[name_of(in)] = words(in);
        }
    }
    statistics["pairs"] = pairs;
    return statistics;
}

inline ordered_json flops_json(const report& r, view seen) {
    ordered_json components = ordered_json::array();
    for (const component_flops& c : r.work.components()) {
        components.push_back({{"name", std::string(c.name.view())},
                              {"forward", to_string(c.get(seen, phase::forward))},
                              {"backward", to_string(c.backward(seen))},
                              {"recompute", to_string(c.get(seen, phase::recompute))},
                              {"total", to_string(c.total(seen))}});
    }
    return {{"total", to_string(r.work.total(seen))},
            {"forward", to_string(r.work.get(seen, phase::forward))},
            {"backward", to_string(r.work.backward(seen))},
            {"recompute", to_string(r.work.get(seen, phase::recompute))},
            {"components", components}};
}

}  // namespace detail

/// The report as JSON, with all figures: counts as decimal strings, ratios and rates as numbers.
[[nodiscard]] inline nlohmann::ordered_json to_json(const report& r) {
    nlohmann::ordered_json out{{"version", version},
                               {"model_type", r.model_type},
                               {"convention", std::string(r.counted_as.name)},
                               {"statistics", detail::statistics_json(r)},
                               {"flops",
                                {{"useful", detail::flops_json(r, view::useful)},
                                 {"padded", detail::flops_json(r, view::padded)},
                                 {"executed", detail::flops_json(r, view::executed)}}}};
    if (r.parameters.total != 0) {
        out["parameters"] = {
            {"total", std::to_string(r.parameters.total)},
            {"active", r.parameters.active ? nlohmann::ordered_json(std::to_string(*r.parameters.active))
                                           : nlohmann::ordered_json()}};
    }
    if (r.mfu) {
        const mfu_report& mfu = *r.mfu;
        out["mfu"] = {{"useful", mfu.utilization.mfu},
                      {"padded", mfu.utilization.padded_mfu},
                      {"executed", mfu.utilization.hfu},
                      {"tflops_per_gpu", mfu.utilization.tflops_per_gpu},
                      {"tokens_per_second", mfu.utilization.tokens_per_second},
                      {"seconds", mfu.step.seconds},
                      {"gpus", mfu.step.gpus},
                      {"accelerator",
                       mfu.accelerator.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(mfu.accelerator)},
                      {"precision", mfu.precision},
                      {"peak_tflops", mfu.step.peak_tflops},
                      {"peak_source", mfu.peak_source}};
        if (mfu.mixed) {
            out["mfu"]["mixed_precision"] = {{"useful", mfu.mixed->mfu}, {"peak_tflops", mfu.mixed->peak_tflops}};
        }
    }
    if (r.work.is_upper_bound()) {
        out["upper_bound"] = true;
    }
    out["notes"] = notes_of(r);
    return out;
}

}  // namespace floptally
