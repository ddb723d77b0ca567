// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/detail/python/accelerators.hpp>
#include <floptally/detail/python/account_keywords.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/byte_counts.hpp>
#include <floptally/detail/python/masked_tiles.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/flops.hpp>
#include <floptally/model_config.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/precision_rules.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/waterfall/pipeline_schedule.hpp>
#include <floptally/waterfall/pipeline_work.hpp>
#include <floptally/waterfall/rank_times.hpp>
#include <floptally/waterfall/waterfall.hpp>

/// @file
/// What Python says of a step, as the account that a waterfall is made of.

namespace floptally::detail::python {

/// Reads an account of a breakdown's work.
class account_reader {
  public:
    account_reader(const shown_breakdown& work, const py::dict& said) : of_(work), said_(said) {}

    /// All but the step's seconds.
    [[nodiscard]] step_account account() const {
        if (of_.convention_name() != conventions::exact.name) {
            throw error("convention", std::string("must be exact, whose views a waterfall is made of, got \"")
                                          .append(of_.convention_name())
                                          .append("\""));
        }
        const chosen_peak peak = to_peak(value("accelerator"), value("peak_tflops"), used(), {}, value("clock_mhz"));
        step_account account{.step = {.gpus = to_count(required("gpus"), "gpus", 1), .peak_tflops = peak.tflops}};
        training_plan once = of_.as->plan;
        once.repeated = {};
        account.work = work(once, peak);
        if (!of_.as->plan.repeated.empty()) {
            account.repeated = work(of_.as->plan, peak);
        }
        account.masked_tiles = tiles(peak.tflops);
        account.ranks = ranks();
        if (const py::object idle = value("idle_gpus"); !idle.is_none()) {
            account.idle_gpus = to_count(idle, "idle_gpus");
        }
        account.apart = apart();
        account.memory_bound = memory_of(of_, said_, once, account.work);
        return with_one_gpu_said(std::move(account));
    }

    [[nodiscard]] double seconds() const { return to_number(required("seconds"), "seconds"); }

  private:
    [[nodiscard]] py::object value(const char* name) const {
        return said_.contains(name) ? py::object(said_[name]) : py::none();
    }
    [[nodiscard]] py::object required(const char* name) const {
        py::object given = value(name);
        if (given.is_none()) {
            throw error(name, "is missing; give it, or measure() the step before");
        }
        return given;
    }
    [[nodiscard]] py::object used() const {
        const py::object given = value("precision");
        return given.is_none() ? py::object(py::str("bf16")) : given;
    }
    [[nodiscard]] std::optional<std::string> text(const char* name) const {
        const py::object given = value(name);
        if (given.is_none()) {
            return {};
        }
        if (!py::isinstance<py::str>(given)) {
            throw error(name, "must be a str, got " + shown(given));
        }
        return given.cast<std::string>();
    }

    /// FLOPs by the peaks that they run at.
    [[nodiscard]] std::vector<work_at_peak> work(const training_plan& plan, const chosen_peak& peak) const {
        const model_config& model = *of_.as->model;
        const flop_counter counter =
            plan == of_.as->plan ? of_.as->counter : flop_counter(model, conventions::exact, plan);
        if (const auto precisions = text("precisions")) {
            const auto name = peak.accelerator.empty() ? std::nullopt : std::optional(peak.accelerator);
            return mixed_precision(counter, model.parts, plan,
                                   precision_rules(*precisions, name, to_clock_mhz(value("clock_mhz"))), peak.tflops)
                .by_peak(of_.batch);
        }
        return {{counter.evaluate(of_.batch), peak.tflops}};
    }

    [[nodiscard]] std::optional<std::vector<work_at_peak>> tiles(double peak_tflops) const {
        const py::object given = value("masked_tiles");
        if (given.is_none()) {
            return {};
        }
        breakdown in_vain;
        if (py::isinstance<shown_tiles>(given)) {
            const auto& tiles = given.cast<const shown_tiles&>();
            tiles.require_batch(of_.batch);
            in_vain = tiles.counted.work(of_.as->plan);
        } else if (const py::object count = index_of(given)) {
            in_vain.append("attention.core").executed_more[0] = to_flops(py::int_(count), "masked_tiles").value();
        } else {
            throw error("masked_tiles", "must be a floptally.MaskedTiles, or FLOPs as an int, got " + shown(given));
        }
        return std::vector<work_at_peak>{{in_vain, peak_tflops}};
    }

    /// From a pipeline's own stages, or from the work of each rank.
    [[nodiscard]] std::optional<rank_times> ranks() const {
        const py::object loads = value("rank_work");
        if (value("pp").is_none()) {
            for (const char* const needs_pp : {"vpp", "microbatches", "schedule"}) {
                if (!value(needs_pp).is_none()) {
                    throw error("pp", std::string("is missing; ").append(needs_pp).append(" is of a pipeline"));
                }
            }
            return loads.is_none() ? std::nullopt : std::optional(ranks_of(loads));
        }
        if (!loads.is_none()) {
            throw error("rank_work", "is given beside pp, whose ranks have the work of their layers");
        }
        const model_config& model = *of_.as->model;
        if (model.parts.empty()) {
            throw error("pp", "needs the layers of a model, and this cost is one sum of rows");
        }
        constexpr std::uint64_t most_ranks = std::uint64_t{1} << 16U;
        constexpr std::uint64_t most_microbatches = std::uint64_t{1} << 24U;
        const std::uint64_t stages = to_count(value("pp"), "pp", 1, most_ranks);
        const py::object chunks_given = value("vpp");
        const std::uint64_t chunks = chunks_given.is_none() ? 1 : to_count(chunks_given, "vpp", 1, most_ranks);
        if (value("microbatches").is_none()) {
            throw error("microbatches", "is missing; a pipeline runs so many of them in the step");
        }
        const std::uint64_t microbatches = to_count(value("microbatches"), "microbatches", 1, most_microbatches);
        const auto how = from_word<pipeline_schedule>(text("schedule").value_or(chunks > 1 ? "interleaved" : "1f1b"),
                                                      "schedule", pipeline_schedule_names);
        const py::gil_scoped_release released;
        const pipeline_order order(how, stages, chunks, microbatches);
        const auto split = pipeline_split::even(num_layers(model.parts), stages, chunks);
        const pipeline_run run = order.run(pipeline_work(model.parts, split, of_.batch, microbatches, of_.as->plan));
        return rank_times::of(std::span(&run, 1));
    }

    [[nodiscard]] static rank_times ranks_of(const py::object& loads) {
        if (py::isinstance<py::dict>(loads)) {
            const py::dict of(loads);
            if (py::len(of) != 3 || !of.contains("largest") || !of.contains("sum") || !of.contains("ranks")) {
                throw error("rank_work", "must have \"largest\", \"sum\" and \"ranks\", got " + shown(loads));
            }
            return rank_times::of(whole(of["largest"], "rank_work.largest").value(),
                                  whole(of["sum"], "rank_work.sum").value(),
                                  to_count(py::object(of["ranks"]), "rank_work.ranks", 1));
        }
        if (py::isinstance<py::str>(loads) || !py::isinstance<py::iterable>(loads)) {
            throw error("rank_work", "must be a list of ints, got " + shown(loads));
        }
        flops largest;
        flops sum;
        std::uint64_t ranks = 0;
        for (const py::handle one : loads) {
            const flops load = whole(one, indexed("rank_work", ranks++));
            largest = std::max(largest, load);
            sum += load;
        }
        return rank_times::of(largest.value(), sum.value(), ranks);
    }

    [[nodiscard]] static flops whole(py::handle number, const std::string& field) {
        const py::object index = index_of(number);
        if (!index) {
            throw error(field, "must be an integer from 0 to 2^128 - 1, got " + shown(number));
        }
        return to_flops(py::int_(index), field);
    }

    [[nodiscard]] std::vector<time_apart> apart() const {
        const py::object given = value("apart");
        std::vector<time_apart> times;
        if (given.is_none()) {
            return times;
        }
        if (!py::isinstance<py::dict>(given)) {
            throw error("apart", "must be a dict of names to seconds, got " + shown(given));
        }
        for (const auto& [name, seconds] : py::dict(given)) {
            if (!py::isinstance<py::str>(name)) {
                throw error("apart", "must have names as keys, got " + shown(name));
            }
            times.push_back({name.cast<std::string>(), to_number(seconds, indexed("apart", times.size()))});
        }
        return times;
    }

    const shown_breakdown& of_;
    py::dict said_;
};

}  // namespace floptally::detail::python
