// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The MFU of a step whose modules run on different ranks.

namespace floptally::inline v0_3 {

/// A module of a step and the ranks that run it: a vision encoder, a language model, a critic.
struct step_module {
    component_name name;
    std::vector<std::uint64_t> ranks;      ///< the ranks that run the module, each once; modules may share ranks
    std::uint64_t data_parallel_size = 1;  ///< data-parallel size of the module
    /// FLOPs of all ranks of the module together. Take them from a tally that is summed over the module's data-parallel
    /// group only.
    breakdown work;
    double peak_tflops = 0;  ///< dense peak of one GPU in the module's precision, in 10¹² FLOP/s
    /// True if no weight of the module trains; `utilize` then throws `error` if `work` has gradients of weights.
    bool frozen = false;
    double seconds = 0;  ///< time for which the module ran; 0: the whole step
};

/// The rates of one module over the ranks that run it.
struct module_rate {
    component_name name;
    flops useful{};
    flops executed{};
    std::uint64_t ranks = 0;
    std::uint64_t ranks_per_replica = 0;  ///< number of the module's ranks ÷ its data-parallel size
    double tflops_per_gpu = 0;            ///< useful TFLOP/s of one GPU while the module runs
    double mfu = 0;                       ///< useful FLOPs ÷ (module's seconds x module's ranks x module's peak)
    double padded_mfu = 0;
    double hfu = 0;
};

/// The rates of a step of several modules, relative to two denominators: the ranks that run a module, and all ranks of
/// the job.
struct module_utilization {
    flops useful{};
    std::uint64_t active_ranks = 0;
    std::uint64_t idle_ranks = 0;
    /// Useful FLOPs ÷ (seconds x Σ peak of the ranks that run a module). A rank that runs several modules counts once,
    /// with the highest peak of these modules.
    double mfu = 0;
    double padded_mfu = 0;
    double hfu = 0;
    /// MFU over all ranks of the job. A rank without a module counts with `step.peak_tflops`.
    double allocated_mfu = 0;
    double allocated_hfu = 0;
    /// MFU with each module at the peak of its precision: (Σ rank-seconds that the modules would need at their peaks) ÷
    /// (seconds x ranks that run a module).
    double mixed_precision_mfu = 0;
    std::vector<module_rate> modules{};
    std::string_view doubt{};  ///< why these rates cannot be right (`doubt_of`); empty if they can
};

namespace detail {

/// Returns the name of a module's member for an error: "modules[1].ranks".
[[nodiscard]] inline std::string module_field(std::size_t index, std::string_view field) {
    return indexed("modules", index).append(".").append(field);
}

inline void require_module(const step_module& entry, std::size_t index, const measurement& step) {
    const auto field = [index](std::string_view name) { return module_field(index, name); };
    const std::string_view name = entry.name.view();
    const flops executed = entry.work.total(view::executed);
    if (entry.ranks.empty()) {
        const std::string work = executed == flops{} ? "" : text_of({" but ", to_string(executed), " FLOPs"});
        refuse(field("ranks"), {"\"", name, "\" has no ranks", work, ": list the ranks that run it"});
    }
    if (entry.data_parallel_size == 0 || entry.ranks.size() % entry.data_parallel_size != 0) {
        refuse(field("data_parallel_size"), {"must divide the ", entry.ranks.size(), " ranks of \"", name,
                                             "\" evenly, got ", entry.data_parallel_size});
    }
    require_peak(entry.peak_tflops, field("peak_tflops").c_str());
    if (!(entry.seconds >= 0 && entry.seconds <= step.seconds)) {
        refuse(field("seconds"), {"must be from 0 to the ", std::to_string(step.seconds), " s of the step, got ",
                                  std::to_string(entry.seconds)});
    }
    const flops weight_gradients = entry.work.get(view::padded, phase::backward_weights);
    if (entry.frozen && weight_gradients != flops{}) {
        refuse(field("frozen"), {"\"", name, "\" is frozen, but its work contains ", to_string(weight_gradients),
                                 " FLOPs of weight gradients: count it with a plan that freezes its weights"});
    }
}

/// Returns for each rank that runs a module the highest peak of the modules on this rank.
[[nodiscard]] inline std::vector<double> peaks_of_ranks(std::span<const step_module> modules, std::uint64_t world) {
    std::vector<std::pair<std::uint64_t, double>> all;
    for (std::size_t i = 0; i < modules.size(); ++i) {
        std::vector<std::uint64_t> ranks = modules[i].ranks;
        std::sort(ranks.begin(), ranks.end());
        const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
        if (ranks.back() >= world) {
            refuse(module_field(i, "ranks"), {"must be below the number of ranks, ", world, ", got ", ranks.back()});
        }
        if (twice != ranks.end()) {
            refuse(module_field(i, "ranks"), {"rank ", *twice, " is listed twice: list each rank once"});
        }
        for (const std::uint64_t rank : ranks) {
            all.emplace_back(rank, modules[i].peak_tflops);
        }
    }
    std::sort(all.begin(), all.end());
    std::vector<double> peaks;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i + 1 == all.size() || all[i + 1].first != all[i].first) {
            peaks.push_back(all[i].second);
        }
    }
    return peaks;
}

/// Returns the sum of peaks. Multiplies equal peaks by their number, so that the order of ranks does not change the
/// result.
[[nodiscard]] inline double sum_of_peaks(std::vector<double> peaks) {
    std::sort(peaks.begin(), peaks.end());
    double sum = 0;
    for (auto first = peaks.begin(); first != peaks.end();) {
        const auto last = std::upper_bound(first, peaks.end(), *first);
        sum += *first * static_cast<double>(last - first);
        first = last;
    }
    return sum;
}

[[nodiscard]] inline module_rate rate_of(const step_module& entry, const measurement& step) {
    const double seconds = entry.seconds == 0 ? step.seconds : entry.seconds;
    const work_rates rates = rates_over(entry.work, {seconds, entry.ranks.size(), entry.peak_tflops});
    return {.name = entry.name,
            .useful = entry.work.total(view::useful),
            .executed = entry.work.total(view::executed),
            .ranks = entry.ranks.size(),
            .ranks_per_replica = entry.ranks.size() / entry.data_parallel_size,
            .tflops_per_gpu = rates.tflops_per_gpu,
            .mfu = rates.mfu,
            .padded_mfu = rates.padded_mfu,
            .hfu = rates.hfu};
}

}  // namespace detail

/// Returns the MFU of a step whose modules have different ranks, data-parallel sizes and precisions. `step.gpus` is the
/// number of all ranks of the job. `step.peak_tflops` is the peak of a rank without a module.
[[nodiscard]] inline module_utilization utilize(std::span<const step_module> modules, const measurement& step) {
    static_cast<void>(detail::gpu_seconds_of(step));
    if (modules.empty()) {
        throw error("modules", "must list at least one module, got none");
    }
    module_utilization result;
    flops padded;
    flops executed;
    double rank_seconds_at_peak = 0;
    for (std::size_t i = 0; i < modules.size(); ++i) {
        const step_module& entry = modules[i];
        detail::require_module(entry, i, step);
        for (std::size_t j = 0; j < i; ++j) {
            if (modules[j].name == entry.name) {
                detail::refuse(
                    detail::module_field(i, "name"),
                    {"\"", entry.name.view(), "\" is the name of two modules: give each module its own name"});
            }
        }
        result.useful += entry.work.total(view::useful);
        padded += entry.work.total(view::padded);
        executed += entry.work.total(view::executed);
        rank_seconds_at_peak +=
            detail::divide(to_double(entry.work.total(view::useful)) / 1e12, entry.peak_tflops, "peak_tflops");
        result.modules.push_back(detail::rate_of(entry, step));
    }
    const std::vector<double> peaks = detail::peaks_of_ranks(modules, step.gpus);
    result.active_ranks = peaks.size();
    result.idle_ranks = step.gpus - result.active_ranks;
    const double active_peak = detail::sum_of_peaks(peaks);
    const double allocated_peak = active_peak + static_cast<double>(result.idle_ranks) * step.peak_tflops;
    const auto fraction = [&step](flops work, double peak) {
        return detail::divide(detail::divide(to_double(work) / 1e12, step.seconds, "seconds"), peak, "peak_tflops");
    };
    result.mfu = fraction(result.useful, active_peak);
    result.padded_mfu = fraction(padded, active_peak);
    result.hfu = fraction(executed, active_peak);
    result.allocated_mfu = fraction(result.useful, allocated_peak);
    result.allocated_hfu = fraction(executed, allocated_peak);
    result.mixed_precision_mfu =
        detail::divide(rank_seconds_at_peak, step.seconds * static_cast<double>(result.active_ranks), "seconds");
    const bool trains = std::any_of(modules.begin(), modules.end(), [](const step_module& entry) {
        return entry.work.backward(view::executed) != flops{};
    });
    result.doubt = detail::doubt_text(result.hfu > 1 ? result.hfu : result.mfu,
                                      trains ? counted_passes::train : counted_passes::forward);
    return result;
}

}  // namespace floptally
