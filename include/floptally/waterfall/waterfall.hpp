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
#include <floptally/step/time_breakdown.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

/// @file
/// A step's time line by line: the useful work at the peak, then each cause of lost time.

namespace floptally::inline v0_3 {

/// A step's time line by line: the useful work at the peak, then each cause of lost time, up to the whole step. Each
/// line says how many points of the MFU its cause costs.
///
/// The time of work is computed at the peak of the work's precision. Idle time from imbalance and from a
/// pipeline's bubble is not measured. The waterfall assumes that it is the same fraction of the step as if all kernels
/// ran at their peak. This is correct if kernels reach the same fraction of their peak on all ranks. A rank waits
/// inside its communication. If the waiting is known, the line of measured communication (`apart_kind::communication`)
/// excludes it.
class waterfall {
  public:
    explicit waterfall(const time_breakdown& timed) : gpus_(timed.step.gpus) {
        const double gpu_seconds = detail::gpu_seconds_of(timed.step);
        require(timed);
        const auto gpus = static_cast<double>(timed.step.gpus);
        const double working = detail::working_gpus(timed);
        const rank_times ranks = timed.ranks.value_or(rank_times{});
        const double with_waiting = detail::seconds_with_waiting(timed);
        const double left = timed.step.seconds - detail::seconds_apart(timed) + with_waiting;
        // `computing_seconds` is the time of kernels and of waiting for other ranks. The remaining time is the
        // transfer. The transfer is 0 if ranks wait longer than the measured communication takes.
        const double computing_seconds = std::min((left - with_waiting) / ranks.busy_share(), left);
        transfer_ = std::max(0.0, left - computing_seconds);
        with_waiting_ = with_waiting;
        const double computing = working * computing_seconds;
        const double kernels = computing * ranks.busy_share();

        put(waterfall_step::useful, "useful work at the peak", at_stated(timed), true,
            "real tokens, each product once, at " + decimal(timed.step.peak_tflops) + " TFLOP/s a GPU: the MFU");
        const double useful = detail::seconds_at_peaks(timed.work, view::useful);
        put(waterfall_step::precision, "precision", useful - at_stated(timed), true,
            timed.work.size() == 1 && timed.work.front().peak_tflops == timed.step.peak_tflops
                ? "all of it at the stated peak"
                : "each part at the peak of its own precision");
        const double padded = detail::seconds_at_peaks(timed.work, view::padded);
        put(waterfall_step::padding, "padding and mock sequences", padded - useful, true,
            "slots that kernels processed");
        const double recomputed = detail::seconds_at_peaks(
            timed.work, [](const breakdown& work) { return work.get(view::executed, phase::recompute); });
        const double executed = detail::seconds_at_peaks(timed.work, view::executed);
        put(waterfall_step::fused_backward, "fused attention backward", executed - padded - recomputed, true,
            "as the plan says");
        put(waterfall_step::recompute, "recompute", recomputed, true, "as the plan says");
        const double executed_all = detail::executed_seconds(timed);
        if (executed_all < executed * (1 - 1e-12)) {
            throw error(
                "repeated",
                "must have at least as many FLOPs as `work`: count the same step with a plan that lists `repeated` "
                "work");
        }
        put(waterfall_step::repeated, "redundant work of the layout", executed_all - executed,
            timed.repeated.has_value(), "work that several ranks each run in full");
        const double tiles = detail::tile_seconds(timed);
        put(waterfall_step::masked_tiles, "masked tiles", tiles, timed.masked_tiles.has_value(),
            "tiles over an edge of the mask are computed whole");
        put(waterfall_step::imbalance, "imbalance between ranks", computing * ranks.imbalance_share(),
            timed.ranks.has_value(), "kernels are below their peak by one factor on all ranks");
        put(waterfall_step::bubble, "pipeline bubble", computing * ranks.bubble_share(),
            timed.ranks && timed.ranks->makespan,
            ranks.is_after_one_f_one_b ? "the same; messages take no time; 1F1B of these layers would end sooner"
                                       : "the same; messages take no time");
        put(waterfall_step::idle_gpus, "idle GPUs", (gpus - working) * timed.step.seconds, timed.idle_gpus.has_value(),
            "GPUs that run none of the work");
        put_apart(timed, working);
        const double rest = kernels - executed_all - tiles;
        if (rest < -1e-9 * gpu_seconds) {
            detail::refuse("seconds", {"the work needs ", decimal((executed_all + tiles) / gpus),
                                       " s of each GPU at its peak, but only ", decimal(kernels / gpus), " of ",
                                       decimal(timed.step.seconds),
                                       " s are left for it: check the times, the peak and the number of GPUs"});
        }
        // A cache may keep some of the moved bytes, so that their number is too high. The memory-bound line therefore
        // takes at most the rest of the step's time.
        const time_at_memory bound = timed.memory_bound.value_or(time_at_memory{});
        const double memory = std::min(std::max(rest, 0.0), bound.gpu_seconds);
        memory_share_ = bound.gpu_seconds > 0 ? memory / bound.gpu_seconds : 1;
        kernel_rate_ = kernels - memory > 0 ? std::min(1.0, (executed_all + tiles) / (kernels - memory)) : 1.0;
        put(waterfall_step::memory_bound, "bound by memory", memory, timed.memory_bound.has_value(),
            memory < bound.gpu_seconds ? "the whole rest: fewer bytes were moved than are counted" : bound.assumed);
        put(waterfall_step::kernels, "kernels below their peak", rest - memory, true, unknown_names());
        set_nanoseconds(timed.step);
    }

    /// Returns the lines of the waterfall. The first is the useful work, the last is the time that no other line
    /// explains.
    [[nodiscard]] std::span<const waterfall_line> lines() const { return lines_; }
    /// Returns the MFU: useful FLOPs ÷ (seconds x GPUs x the stated peak).
    [[nodiscard]] double mfu() const { return lines_.front().share; }
    /// Returns how fast kernels are while they run, as a fraction of the peak of their precision. Their time excludes
    /// waits, times without counted work, and the time that memory bandwidth causes. It includes the time of causes
    /// that are not known (`unknown`).
    [[nodiscard]] double kernel_rate() const { return kernel_rate_; }
    /// Returns the names of the lines whose time is not known. Their time is part of the line of the kernels.
    [[nodiscard]] std::vector<std::string> unknown() const {
        std::vector<std::string> names;
        for (const waterfall_line& line : lines_) {
            if (!line.is_known) {
                names.push_back(line.name);
            }
        }
        return names;
    }
    /// Returns the fraction of the computed memory-bound time that fits into the step, at most 1. If it is below 1, the
    /// step moved fewer bytes than are counted.
    [[nodiscard]] double memory_share() const { return memory_share_; }
    /// Returns the measured communication, including waiting for other ranks, in seconds of each working GPU.
    [[nodiscard]] double communication_with_waiting() const { return with_waiting_; }
    /// Returns the measured communication, without the waiting that other lines show, in seconds of each working GPU.
    [[nodiscard]] double communication() const { return transfer_; }
    /// Returns the number of GPUs of the job, idle ones included.
    [[nodiscard]] std::uint64_t gpus() const { return gpus_; }
    /// Returns the seconds of the step.
    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    static std::string decimal(double value) { return detail::fixed_decimal(value, value < 100 ? 4 : 1); }

    static void require(const time_breakdown& timed) {
        if (timed.work.empty()) {
            throw error("work", "must not be empty: pass the FLOPs of the step");
        }
        for (const auto* list : {&timed.work, timed.repeated ? &*timed.repeated : nullptr,
                                 timed.masked_tiles ? &*timed.masked_tiles : nullptr}) {
            for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
                detail::require_peak((*list)[i].peak_tflops, "peak_tflops");
            }
        }
        const double memory = timed.memory_bound.value_or(time_at_memory{}).gpu_seconds;
        if (!(memory >= 0) || !std::isfinite(memory)) {
            detail::refuse("memory_bound", {"must be a number of seconds, at least 0, got ", std::to_string(memory)});
        }
        for (std::size_t i = 0; i < timed.apart.size(); ++i) {
            const time_apart& time = timed.apart[i];
            if (!(time.seconds >= 0) || !(time.seconds <= timed.step.seconds)) {
                detail::refuse(indexed("apart", i),
                               {"\"", time.name, "\" must be from 0 to the ", decimal(timed.step.seconds),
                                " s of the step, got ", std::to_string(time.seconds)});
            }
        }
        const double apart = detail::seconds_apart(timed);
        if (!(apart < timed.step.seconds)) {
            detail::refuse("apart", {"takes ", decimal(apart), " s of the step's ", decimal(timed.step.seconds),
                                     " s, so that no time is left for its work: check these times"});
        }
    }

    static double at_stated(const time_breakdown& timed) {
        flops sum;
        for (const work_at_peak& piece : timed.work) {
            sum += piece.work.total(view::useful);
        }
        return detail::divide(to_double(sum) / 1e12, timed.step.peak_tflops, "peak_tflops");
    }

    /// Appends the lines of times without counted work, one line for each kind. If no time was passed for a kind, its
    /// line is marked as not known.
    void put_apart(const time_breakdown& timed, double working) {
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
            for (const time_apart& time : timed.apart) {
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
                    assumed += timed.ranks ? "; without the waiting that lines above show"
                                           : "; waiting for other ranks included";
                }
            }
            put(step, name, working * seconds, is_known, std::move(assumed));
        }
        for (const time_apart& time : timed.apart) {
            if (detail::step_of(kind_of(time)) == waterfall_step::apart) {
                put(waterfall_step::apart, time.name, working * time.seconds, true, time.assumed);
            }
        }
    }

    void put(waterfall_step step, std::string name, double gpu_seconds, bool is_known, std::string assumed) {
        lines_.push_back({.step = step,
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
        return names.empty() ? "the whole rest" : "includes unknown lines: " + names;
    }

    /// Sets the nanoseconds of each line to the rounded sum up to this line minus the rounded sum up to the line
    /// before. The sum up to the last line is the step's time, so the lines add up to it exactly.
    void set_nanoseconds(const measurement& step) {
        seconds_ = step.seconds;
        const double gpu_seconds = step.seconds * static_cast<double>(step.gpus);
        const double nanoseconds = std::round(step.seconds * 1e9) * static_cast<double>(step.gpus);
        if (!(nanoseconds < 0x1p62)) {
            detail::refuse("seconds",
                           {"seconds x gpus must be below 2^62 nanoseconds, got ", decimal(gpu_seconds), " s"});
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
            line.share = detail::divide(line.share, gpu_seconds, "seconds");
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
