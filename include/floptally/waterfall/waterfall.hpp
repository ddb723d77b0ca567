// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// A step's time from the peak to its MFU, line by line.

namespace floptally {

/// Where the MFU went: the time of a step from the work that is useful at the peak to all that it took.
///
/// Work is taken at the peak of its precision. Ranks that wait, in imbalance and in a pipeline's bubble, wait as long
/// as the kernels of others take: their share of the time is the one that their work has at the peak, which assumes
/// that kernels are below their peak by the same factor on all ranks. A rank waits inside its communication: where the
/// waiting is known, measured communication (`apart_kind::communication`) is a line without it.
class waterfall {
  public:
    explicit waterfall(const step_account& account) : gpus_(account.step.gpus) {
        const double gpu_seconds = detail::gpu_seconds_of(account.step);
        require(account);
        const auto gpus = static_cast<double>(account.step.gpus);
        const double working = detail::working_gpus(account);
        const rank_times ranks = account.ranks.value_or(rank_times{});
        const double with_waiting = detail::seconds_with_waiting(account);
        const double left = account.step.seconds - detail::seconds_apart(account) + with_waiting;
        // Kernels and waiting, and what is left is transfer; where more is waited than was measured there is none.
        const double computing_seconds = std::min((left - with_waiting) / ranks.busy_share(), left);
        transfer_ = std::max(0.0, left - computing_seconds);
        with_waiting_ = with_waiting;
        const double computing = working * computing_seconds;
        const double kernels = computing * ranks.busy_share();

        put(waterfall_step::useful, "useful work at the peak", at_stated(account), true,
            "real tokens, each product once, at " + decimal(account.step.peak_tflops) + " TFLOP/s a GPU: the MFU");
        const double useful = detail::seconds_at_peaks(account.work, view::useful);
        put(waterfall_step::precision, "precision", useful - at_stated(account), true,
            account.work.size() == 1 && account.work.front().peak_tflops == account.step.peak_tflops
                ? "all of it at the stated peak"
                : "each part at the peak of its own precision");
        const double padded = detail::seconds_at_peaks(account.work, view::padded);
        put(waterfall_step::padding, "padding and mock sequences", padded - useful, true,
            "slots that kernels processed");
        const double recomputed = detail::seconds_at_peaks(
            account.work, [](const breakdown& work) { return work.get(view::executed, phase::recompute); });
        const double executed = detail::seconds_at_peaks(account.work, view::executed);
        put(waterfall_step::fused_backward, "fused attention backward", executed - padded - recomputed, true,
            "as the plan says");
        put(waterfall_step::recompute, "recompute", recomputed, true, "as the plan says");
        const double all = detail::executed_seconds(account);
        if (all < executed * (1 - 1e-12)) {
            throw error(
                "repeated",
                "executes less than the work without it: it must be the same work under a plan with `repeated`");
        }
        put(waterfall_step::repeated, "redundant work of the layout", all - executed, account.repeated.has_value(),
            "what several ranks run, each the whole of it");
        const double tiles = detail::tile_seconds(account);
        put(waterfall_step::masked_tiles, "masked tiles", tiles, account.masked_tiles.has_value(),
            "tiles over an edge of the mask are computed whole");
        put(waterfall_step::imbalance, "imbalance between ranks", computing * ranks.imbalance_share(),
            account.ranks.has_value(), "kernels are below their peak by one factor on all ranks");
        put(waterfall_step::bubble, "pipeline bubble", computing * ranks.bubble_share(),
            account.ranks && account.ranks->makespan,
            ranks.is_after_one_f_one_b ? "the same; messages take no time; 1F1B of these layers would end sooner"
                                       : "the same; messages take no time");
        put(waterfall_step::idle_gpus, "idle GPUs", (gpus - working) * account.step.seconds,
            account.idle_gpus.has_value(), "GPUs that run none of the work");
        put_apart(account, working);
        const double rest = kernels - all - tiles;
        if (rest < -1e-9 * gpu_seconds) {
            detail::refuse("seconds",
                           {"the work needs ", decimal((all + tiles) / gpus), " s of each GPU at its peak, and ",
                            decimal(kernels / gpus), " s of ", decimal(account.step.seconds),
                            " are left for it: a time, a peak or a number of GPUs is wrong"});
        }
        // A cache may keep bytes that are counted as moved: no more is taken than there is.
        const time_at_memory bound = account.memory_bound.value_or(time_at_memory{});
        const double memory = std::min(std::max(rest, 0.0), bound.gpu_seconds);
        memory_share_ = bound.gpu_seconds > 0 ? memory / bound.gpu_seconds : 1;
        kernel_rate_ = kernels - memory > 0 ? std::min(1.0, (all + tiles) / (kernels - memory)) : 1.0;
        put(waterfall_step::memory_bound, "bound by memory", memory, account.memory_bound.has_value(),
            memory < bound.gpu_seconds ? "all that is left: fewer bytes were moved than are counted" : bound.assumed);
        put(waterfall_step::kernels, "kernels below their peak", rest - memory, true, unknown_names());
        settle(account.step);
    }

    /// The lines in the order in which they are taken from the time; the first is what is left, the last what nothing
    /// explains.
    [[nodiscard]] std::span<const waterfall_line> lines() const { return lines_; }
    /// The MFU: useful FLOPs over seconds x GPUs x the stated peak.
    [[nodiscard]] double mfu() const { return lines_.front().share; }
    /// The share of the peak of their precision that kernels reach in the time that is theirs: without waits, what is
    /// apart and what is bound by memory, and with the lines that are not known (`unknown`).
    [[nodiscard]] double kernel_rate() const { return kernel_rate_; }
    /// The names of the lines that are not known, whose time is in that of kernels.
    [[nodiscard]] std::vector<std::string> unknown() const {
        std::vector<std::string> names;
        for (const waterfall_line& line : lines_) {
            if (!line.is_known) {
                names.push_back(line.name);
            }
        }
        return names;
    }
    /// The share of what is bound by memory that the step had time for; below 1 fewer bytes were moved than are
    /// counted.
    [[nodiscard]] double memory_share() const { return memory_share_; }
    /// Measured communication with its waiting, and without what lines of waiting have of it: seconds of each working
    /// GPU.
    [[nodiscard]] double communication_with_waiting() const { return with_waiting_; }
    [[nodiscard]] double communication() const { return transfer_; }
    /// All GPUs of the job, idle ones among them.
    [[nodiscard]] std::uint64_t gpus() const { return gpus_; }
    /// The time of the step.
    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    static std::string decimal(double value) { return detail::fixed_decimal(value, value < 100 ? 4 : 1); }

    static void require(const step_account& account) {
        if (account.work.empty()) {
            throw error("work", "is empty: a waterfall needs the FLOPs of the step");
        }
        for (const auto* list : {&account.work, account.repeated ? &*account.repeated : nullptr,
                                 account.masked_tiles ? &*account.masked_tiles : nullptr}) {
            for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
                detail::require_finite_positive((*list)[i].peak_tflops, "peak_tflops");
            }
        }
        const double memory = account.memory_bound.value_or(time_at_memory{}).gpu_seconds;
        if (!(memory >= 0) || !std::isfinite(memory)) {
            detail::refuse("memory_bound", {"must be a number of seconds, at least 0, got ", std::to_string(memory)});
        }
        for (std::size_t i = 0; i < account.apart.size(); ++i) {
            const time_apart& time = account.apart[i];
            if (!(time.seconds >= 0) || !(time.seconds <= account.step.seconds)) {
                detail::refuse(indexed("apart", i),
                               {"\"", time.name, "\" must be from 0 to the ", decimal(account.step.seconds),
                                " s of the step, got ", std::to_string(time.seconds)});
            }
        }
        const double apart = detail::seconds_apart(account);
        if (!(apart < account.step.seconds)) {
            detail::refuse("apart", {"takes ", decimal(apart), " s, and the step ", decimal(account.step.seconds),
                                     ": nothing is left for its work"});
        }
    }

    static double at_stated(const step_account& account) {
        flops sum;
        for (const work_at_peak& piece : account.work) {
            sum += piece.work.total(view::useful);
        }
        return detail::divide(to_double(sum) / 1e12, account.step.peak_tflops, "peak_tflops");
    }

    /// The lines of times that are no work of kernels, each kind in a line of its own, which is not known where nobody
    /// gave one.
    void put_apart(const step_account& account, double working) {
        constexpr std::pair<waterfall_step, const char*> lines[] = {
            {waterfall_step::communication, "exposed communication"},
            {waterfall_step::data_wait, "data wait"},
            {waterfall_step::optimizer, "optimizer"},
            {waterfall_step::elementwise, "element-wise kernels"},
            {waterfall_step::launches, "no kernel runs"}};
        for (const auto& [step, name] : lines) {
            double seconds = 0;
            bool is_known = false;
            std::string assumed;
            for (const time_apart& time : account.apart) {
                if (detail::step_of(kind_of(time)) == step) {
                    const bool waits = kind_of(time) == apart_kind::communication;
                    seconds += waits ? 0 : time.seconds;
                    is_known = true;
                    if (assumed.find(time.assumed) == std::string::npos) {
                        append_item(assumed, time.assumed);
                    }
                }
            }
            if (step == waterfall_step::communication) {
                seconds += transfer_;
                if (with_waiting_ > 0) {
                    assumed += account.ranks ? "; without the waiting that the lines above have of it"
                                             : "; what it waits for other ranks is in it";
                }
            }
            put(step, name, working * seconds, is_known, std::move(assumed));
        }
        for (const time_apart& time : account.apart) {
            if (detail::step_of(kind_of(time)) == waterfall_step::apart) {
                put(waterfall_step::apart, time.name, working * time.seconds, true, time.assumed);
            }
        }
    }

    void put(waterfall_step what, std::string name, double gpu_seconds, bool is_known, std::string assumed) {
        lines_.push_back({.what = what,
                          .name = std::move(name),
                          .is_known = is_known,
                          .share = gpu_seconds,
                          .assumed = is_known ? std::move(assumed) : "not known: part of the last line"});
    }

    [[nodiscard]] std::string unknown_names() const {
        std::string names;
        for (const std::string& name : unknown()) {
            append_item(names, name);
        }
        return names.empty() ? "all that is left" : "with what is not known: " + names;
    }

    /// Nanoseconds of each line: between the rounded sums up to it and with it, so that the last sum is the step's.
    void settle(const measurement& step) {
        seconds_ = step.seconds;
        const double all = step.seconds * static_cast<double>(step.gpus);
        const double nanoseconds = std::round(step.seconds * 1e9) * static_cast<double>(step.gpus);
        if (!(nanoseconds < 0x1p62)) {
            detail::refuse("seconds",
                           {"times the number of GPUs must be below 2^62 nanoseconds, got ", decimal(all), " s"});
        }
        const auto total =
            static_cast<std::int64_t>(std::llround(step.seconds * 1e9)) * static_cast<std::int64_t>(step.gpus);
        std::int64_t before = 0;
        double sum = 0;
        for (waterfall_line& line : lines_) {
            sum += line.share;
            const std::int64_t until =
                &line == &lines_.back() ? total : std::min(total, std::int64_t{std::llround(sum * 1e9)});
            line.gpu_nanoseconds = until - before;
            line.share = detail::divide(line.share, all, "seconds");
            before = until;
        }
    }

    std::uint64_t gpus_;
    double seconds_ = 0;
    double kernel_rate_ = 1;
    double memory_share_ = 1;
    double with_waiting_ = 0;
    double transfer_ = 0;
    std::vector<waterfall_line> lines_;
};

}  // namespace floptally
