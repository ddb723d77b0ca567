// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <floptally/integer/flops.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/step/report.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/step/work_unit.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: writes reports as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

namespace detail {

using ordered_json = nlohmann::ordered_json;

/// Returns a count in the useful and the padded view as JSON. Counts are decimal strings, because a double would round
/// them.
inline ordered_json both_views(std::uint64_t useful, std::uint64_t padded) {
    return {{"useful", std::to_string(useful)}, {"padded", std::to_string(padded)}};
}

inline ordered_json statistics_json(const report& r) {
    const auto sum = [&](accumulator what, modality in) {
        return both_views(r.batch.get(view::useful, what, in), r.batch.get(view::padded, what, in));
    };
    const auto accumulators = [&](modality in) {
        return ordered_json{{"count", sum(accumulator::count, in)},
                            {"tokens", sum(accumulator::tokens, in)},
                            {"squares", sum(accumulator::squares, in)}};
    };
    ordered_json pairs = ordered_json::array();
    for (const statistic& m : r.masks) {
        pairs.push_back({{"mask", m.name()},
                         {"value", both_views(r.batch.pairs(view::useful, m), r.batch.pairs(view::padded, m))}});
    }
    ordered_json statistics = accumulators(modality::text);
    for (const modality in : {modality::vision, modality::audio}) {
        if (r.masks.has(in)) {
            statistics[name_of(in)] = accumulators(in);
        }
    }
    statistics["pairs"] = pairs;
    return statistics;
}

inline ordered_json flops_json(const report& r, view seen) {
    const auto text = [&r](flops work) { return to_string(in_unit(work, r.unit)); };
    ordered_json components = ordered_json::array();
    for (const component_flops& c : r.work.components()) {
        components.push_back({{"name", std::string(c.name.view())},
                              {"forward", text(c.get(seen, phase::forward))},
                              {"backward", text(c.backward(seen))},
                              {"recompute", text(c.get(seen, phase::recompute))},
                              {"total", text(c.total(seen))}});
    }
    return {{"total", text(r.work.total(seen))},
            {"forward", text(r.work.get(seen, phase::forward))},
            {"backward", text(r.work.backward(seen))},
            {"recompute", text(r.work.get(seen, phase::recompute))},
            {"components", components}};
}

}  // namespace detail

/// Returns the report as JSON. Counts are decimal strings with all digits; ratios and rates are numbers. If the report
/// is in MACs, the keys `flops`, `tflops_per_gpu` and `peak_tflops` become `macs`, `tmacs_per_gpu` and `peak_tmacs`.
[[nodiscard]] inline nlohmann::ordered_json to_json(const report& r) {
    const bool in_macs = r.unit == work_unit::macs;
    const char* const peak_key = in_macs ? "peak_tmacs" : "peak_tflops";
    const auto rate = [&r](double tflops) { return rate_in_unit(tflops, r.unit); };
    nlohmann::ordered_json out{{"version", version},
                               {"numbers_version", numbers_version},
                               {"model_type", r.model_type},
                               {"convention", std::string(r.counted_as.name)},
                               {"statistics", detail::statistics_json(r)},
                               {in_macs ? "macs" : "flops",
                                {{"useful", detail::flops_json(r, view::useful)},
                                 {"padded", detail::flops_json(r, view::padded)},
                                 {"executed", detail::flops_json(r, view::executed)}}}};
    if (r.parameters.total != 0) {
        out["parameters"] = {
            {"total", std::to_string(r.parameters.total)},
            {"active", r.parameters.active ? nlohmann::ordered_json(std::to_string(*r.parameters.active))
                                           : nlohmann::ordered_json()}};
        if (r.parameters.trainable) {
            out["parameters"]["trainable"] = std::to_string(*r.parameters.trainable);
        }
    }
    if (r.padding) {
        out["padding"] = {{"useful", to_string(in_unit(r.padding->useful, r.unit))},
                          {"in_slots", to_string(in_unit(r.padding->in_slots, r.unit))},
                          {"mock", to_string(in_unit(r.padding->mock, r.unit))},
                          {"vocabulary", to_string(in_unit(r.padding->vocabulary, r.unit))}};
    }
    if (r.mfu) {
        const mfu_report& mfu = *r.mfu;
        out["mfu"] = {{"useful", mfu.utilization.mfu},
                      {"padded", mfu.utilization.padded_mfu},
                      {"executed", mfu.utilization.hfu},
                      {in_macs ? "tmacs_per_gpu" : "tflops_per_gpu", rate(mfu.utilization.tflops_per_gpu)},
                      {"tokens_per_second", mfu.utilization.tokens_per_second},
                      {"seconds", mfu.step.seconds},
                      {"gpus", mfu.step.gpus},
                      {"accelerator",
                       mfu.accelerator.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(mfu.accelerator)},
                      {"precision", mfu.precision},
                      {peak_key, rate(mfu.step.peak_tflops)},
                      {"peak_source", mfu.peak_source}};
        if (mfu.peak_kind != peak_kind::unsaid) {
            out["mfu"]["peak_kind"] = std::string(name(mfu.peak_kind));
        }
        if (mfu.peak_quality != source_quality::vendor_document) {
            out["mfu"]["peak_quality"] = std::string(name(mfu.peak_quality));
        }
        if (mfu.mixed) {
            out["mfu"]["mixed_precision"] = {{"useful", mfu.mixed->mfu}, {peak_key, rate(mfu.mixed->peak_tflops)}};
        }
    }
    if (r.work.is_upper_bound()) {
        out["upper_bound"] = true;
    }
    out["notes"] = notes_of(r);
    return detail::with_utf8(std::move(out));
}

}  // namespace floptally
