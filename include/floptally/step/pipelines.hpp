// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/detail/visit_shares.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Simulates the pipelines of a step with the stages, schedule, replicas and microbatches that the user chooses.

namespace floptally::inline v0_3 {

/// Computes the time that each pass of each chunk of a pipeline needs at the peak of its precision.
///
/// A time is stored as the number of FLOPs that would run at `peak_tflops` in this time. All times from one call have
/// the same scale, so that replicas can be compared.
class pipeline_times {
  public:
    /// `model` has the parts of a whole model, or those of one tensor-parallel rank. Work to which no precision setting
    /// applies runs at `peak_tflops`.
    pipeline_times(std::span<const model_part> model, const pipeline_split& split, const training_plan& plan,
                   double peak_tflops, std::span<const precision_setting> settings = {})
        : peak_tflops_(peak_tflops) {
        const pipeline_split chunks = split.by_chunk();
        std::vector<std::vector<model_part>> all_parts;
        for (std::uint64_t i = 0; i < chunks.pp(); ++i) {
            all_parts.push_back(chunks.parts_of(model, i));
            const flop_counter whole(all_parts.back(), conventions::exact, plan);
            chunks_.emplace_back(whole, all_parts.back(), plan, settings_of(whole, settings), peak_tflops);
        }
        visits_ = detail::visit_shares(all_parts);
    }

    /// Returns the times of each chunk, in forward order, for one microbatch. The batch is split into `microbatches`
    /// equal microbatches.
    [[nodiscard]] std::vector<chunk_work> of(const tally& batch, std::uint64_t microbatches) const {
        require_positive(microbatches, "microbatches");
        std::vector<passes> times;
        append(times, batch);
        const unsigned bits = surplus_bits(times, microbatches);
        return in_units(times, bits);
    }
    /// Returns the times of each chunk for replicas that share `batch` in proportion to `loads`. Each replica splits
    /// its share into `microbatches` equal microbatches.
    [[nodiscard]] std::vector<std::vector<chunk_work>> of(const tally& batch, std::uint64_t microbatches,
                                                          std::span<const std::uint64_t> loads) const {
        const std::uint64_t largest = loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
        if (largest == 0) {
            throw error("rank_work", "must have a load above 0 for at least one replica, got none");
        }
        require_positive(microbatches, "microbatches");
        std::vector<passes> most;
        append(most, batch);
        // Drops low bits of the times and of the loads, so that their products fit 128 bits.
        const unsigned time_bits = surplus_bits(most, microbatches, 80);
        const unsigned load_bits = largest >> 40U == 0 ? 0 : 24;
        std::vector<passes> times;
        for (const std::uint64_t load : loads) {
            for (passes chunk : most) {
                for (uint128& pass : chunk) {
                    pass = (pass >> time_bits) * (load >> load_bits);
                }
                times.push_back(chunk);
            }
        }
        const unsigned bits = surplus_bits(times, microbatches);
        std::vector<std::vector<chunk_work>> replicas;
        for (auto next = times.begin(); next != times.end(); next += static_cast<std::ptrdiff_t>(chunks_.size())) {
            replicas.push_back(in_units({next, next + static_cast<std::ptrdiff_t>(chunks_.size())}, bits));
        }
        return replicas;
    }
    /// Returns the times of each chunk for each microbatch of each replica. The list of a replica has all chunks of its
    /// first microbatch, then all chunks of its second, …
    [[nodiscard]] std::vector<std::vector<chunk_work>> of(std::span<const std::vector<tally>> replicas) const {
        std::vector<passes> times;
        for (const std::vector<tally>& replica : replicas) {
            for (const tally& microbatch : replica) {
                append(times, microbatch);
            }
        }
        const unsigned bits = surplus_bits(times, 1);
        std::vector<std::vector<chunk_work>> times_of_replicas;
        auto next = times.begin();
        for (const std::vector<tally>& replica : replicas) {
            const auto end = next + static_cast<std::ptrdiff_t>(replica.size() * chunks_.size());
            times_of_replicas.push_back(in_units({next, end}, bits));
            next = end;
        }
        return times_of_replicas;
    }

  private:
    using passes = std::array<uint128, 3>;  ///< times of forward, backward_data with recompute, backward_weights

    /// Returns the precision settings that apply to a chunk: those for one of its components, and those for all
    /// components.
    [[nodiscard]] static std::vector<precision_setting> settings_of(const flop_counter& chunk,
                                                                    std::span<const precision_setting> settings) {
        const breakdown names = chunk.evaluate(tally{chunk.masks()});
        std::vector<precision_setting> own;
        for (const precision_setting& setting : settings) {
            const auto is_named = [&setting](const component_flops& component) {
                return component.name.view() == setting.component;
            };
            if (setting.component.empty() ||
                std::any_of(names.components().begin(), names.components().end(), is_named)) {
                own.push_back(setting);
            }
        }
        return own;
    }

    void append(std::vector<passes>& times, const tally& batch) const {
        for (std::size_t i = 0; i < chunks_.size(); ++i) {
            passes sum{};
            for (const work_at_peak& piece : chunks_[i].by_peak(visits_.share_of(batch, i))) {
                const auto add = [&](std::size_t pass, phase during) {
                    sum[pass] += at_stated(piece.work.get(view::executed, during), piece.peak_tflops);
                };
                add(0, phase::forward);
                add(1, phase::backward_data);
                add(1, phase::recompute);
                add(2, phase::backward_weights);
            }
            times.push_back(sum);
        }
    }

    [[nodiscard]] uint128 at_stated(flops work, double peak_tflops) const {
        return peak_tflops == peak_tflops_
                   ? work.value()
                   : static_cast<uint128>(std::floor(to_double(work) * (peak_tflops_ / peak_tflops) + 0.5));
    }

    /// Returns the number of low bits to drop from each time so that all sums of times in a pipeline fit `available`
    /// bits.
    [[nodiscard]] static unsigned surplus_bits(std::span<const passes> times, std::uint64_t microbatches,
                                               unsigned available = 62) {
        flops sum;
        for (const passes& chunk : times) {
            for (const uint128 pass : chunk) {
                sum += flops{pass};
            }
        }
        unsigned bits = 0;
        while (((microbatches * sum).value() >> bits) >> available != 0) {
            ++bits;
        }
        return bits;
    }

    [[nodiscard]] static std::vector<chunk_work> in_units(const std::vector<passes>& times, unsigned bits) {
        std::vector<chunk_work> work;
        for (const passes& chunk : times) {
            const auto unit = [&](std::size_t pass) { return static_cast<std::uint64_t>(chunk[pass] >> bits); };
            work.push_back({unit(0), unit(1), unit(2)});
        }
        return work;
    }

    double peak_tflops_;
    std::vector<mixed_precision> chunks_;
    detail::visit_shares visits_{};
};

/// The choices of the user about the pipelines of a step.
struct pipeline_choices {
    std::uint64_t pp = 1;                         ///< number of ranks of one pipeline
    std::optional<std::uint64_t> vpp{};           ///< number of chunks per rank; empty: 1, or 2 for ZB-V
    std::optional<pipeline_schedule> schedule{};  ///< the schedule; empty: 1F1B, or interleaved if `vpp` is above 1
    /// Number of parallel pipelines. Empty: the length of `loads` or `batches`, at least 1.
    std::optional<std::uint64_t> replicas{};
    std::optional<std::uint64_t> microbatches{};  ///< number of equal microbatches of each replica
    std::vector<std::uint64_t> loads{};           ///< work of each replica, in any unit; empty: equal work
    /// Tally of each microbatch of each replica; empty: equal microbatches.
    std::vector<std::vector<tally>> batches{};
    /// Number of layers of each chunk in forward order; empty: an even split.
    std::vector<std::uint64_t> layers_of_chunks{};
    pipeline_options split{};

    [[nodiscard]] std::uint64_t chunks() const { return vpp.value_or(schedule == pipeline_schedule::zb_v ? 2 : 1); }
    [[nodiscard]] pipeline_schedule order() const {
        return schedule.value_or(vpp.value_or(1) > 1 ? pipeline_schedule::interleaved : pipeline_schedule::one_f_one_b);
    }
    [[nodiscard]] std::uint64_t num_replicas() const {
        return replicas.value_or(std::max({loads.size(), batches.size(), std::size_t{1}}));
    }
};

/// The result of simulating the parallel pipelines of a step.
struct pipelines {
    rank_times times{};
    std::uint64_t microbatches = 0;  ///< number of microbatches of all pipelines together
};

namespace detail {

[[nodiscard]] inline pipeline_split split_of(const pipeline_choices& choices, std::uint64_t layers) {
    if (choices.layers_of_chunks.empty()) {
        return pipeline_split::of(layers, choices.pp, choices.chunks(), choices.split);
    }
    for (const auto& [is_set, field] :
         {std::pair(choices.split.num_layers_in_first_pipeline_stage != 0, "num_layers_in_first_pipeline_stage"),
          std::pair(choices.split.num_layers_in_last_pipeline_stage != 0, "num_layers_in_last_pipeline_stage"),
          std::pair(choices.split.account_for_embedding_in_pipeline_split, "account_for_embedding_in_pipeline_split"),
          std::pair(choices.split.account_for_loss_in_pipeline_split, "account_for_loss_in_pipeline_split")}) {
        if (is_set) {
            throw error(
                field,
                "cannot be passed with layers_of_chunks, which already has the layers of each chunk: pass one of them");
        }
    }
    const std::uint64_t chunks = choices.pp * choices.chunks();
    if (choices.layers_of_chunks.size() != chunks) {
        refuse("layers_of_chunks", {"must have ", chunks, " numbers, pp x vpp, got ", choices.layers_of_chunks.size()});
    }
    return {choices.pp, choices.layers_of_chunks};
}

/// Returns the number of microbatches of each replica. Throws `error` if the numbers and lists of `choices` contradict
/// each other.
[[nodiscard]] inline std::uint64_t microbatches_of(const pipeline_choices& choices) {
    const std::uint64_t replicas = choices.num_replicas();
    if (!choices.loads.empty() && !choices.batches.empty()) {
        throw error("rank_work",
                    "cannot be passed with microbatches that already have the work of each replica: pass one of them");
    }
    if (!choices.loads.empty() && choices.loads.size() != replicas) {
        refuse("rank_work", {"must have a number for each of ", replicas, " replicas, got ", choices.loads.size()});
    }
    if (choices.batches.empty()) {
        if (!choices.microbatches) {
            throw error("microbatches", "is missing: pass the number that each pipeline runs in a step");
        }
        return *choices.microbatches;
    }
    if (choices.batches.size() != replicas) {
        refuse("microbatches",
               {"must have one list for each of the ", replicas, " replicas, got ", choices.batches.size()});
    }
    const std::size_t own = choices.batches.front().size();
    for (const std::vector<tally>& replica : choices.batches) {
        if (replica.empty() || replica.size() != own) {
            throw error("microbatches", "must be at least 1, and the same number in each replica");
        }
    }
    if (choices.microbatches.value_or(own) != own) {
        refuse("microbatches",
               {"must be ", own, ", the number of each replica's batches, got ", *choices.microbatches});
    }
    return own;
}

}  // namespace detail

/// Returns the makespan (time until the last rank is done) of `work` under the schedule 1F1B, for comparison with other
/// schedules. Each rank then holds one chunk of equally many layers, in forward order.
[[nodiscard]] inline std::uint64_t one_f_one_b_makespan(std::span<const chunk_work> work, std::uint64_t pp,
                                                        std::uint64_t vpp, std::uint64_t microbatches) {
    std::vector<chunk_work> stages(work.size() / vpp);
    for (std::size_t i = 0; i < work.size(); ++i) {
        chunk_work& stage = stages[i / vpp];
        stage.forward += work[i].forward;
        stage.backward_data += work[i].backward_data;
        stage.backward_weights += work[i].backward_weights;
    }
    return pipeline_order(pipeline_schedule::one_f_one_b, pp, 1, microbatches).run(stages).makespan;
}

/// Simulates the pipelines of a step on `working_gpus` GPUs. A time is stored as the number of FLOPs that would run at
/// `peak_tflops` in this time. `settings` names the work that runs in other precisions.
[[nodiscard]] inline pipelines run_pipelines(const pipeline_choices& choices, std::span<const model_part> model,
                                             const training_plan& plan, const tally& batch, double peak_tflops,
                                             std::span<const precision_setting> settings, std::uint64_t working_gpus) {
    require_positive(choices.pp, "pp");
    require_positive(choices.chunks(), "vpp");
    if (model.empty()) {
        throw error(
            "pp", "needs the layers of a model, but a cost alone has none: pass a model that was read from its config");
    }
    const std::uint64_t replicas = choices.num_replicas();
    require_positive(replicas, "replicas");
    const std::uint64_t microbatches = detail::microbatches_of(choices);
    const std::uint64_t ranks = (checked(choices.pp, "pp") * replicas);
    if (working_gpus % ranks != 0) {
        detail::refuse("gpus",
                       {"gpus - idle_gpus must be a multiple of pp x replicas = ", ranks, ", got ", working_gpus});
    }
    const pipeline_times times(model, detail::split_of(choices, num_layers(model)), plan, peak_tflops, settings);
    std::vector<std::vector<chunk_work>> work;
    if (!choices.batches.empty()) {
        work = times.of(choices.batches);
    } else if (!choices.loads.empty()) {
        work = times.of(batch, microbatches, choices.loads);
    } else {
        work.push_back(times.of(batch, microbatches));  // all replicas do the same work
    }
    std::vector<pipeline_run> runs;
    std::uint64_t one_f_one_b = 0;
    for (const std::vector<chunk_work>& replica : work) {
        runs.push_back(
            pipeline_order::fitted(choices.order(), choices.pp, choices.chunks(), microbatches, replica).run(replica));
        one_f_one_b = std::max(one_f_one_b, one_f_one_b_makespan(replica, choices.pp, choices.chunks(), microbatches));
    }
    pipelines result{rank_times::of(runs), microbatches * replicas};
    result.times.is_after_one_f_one_b = *result.times.makespan > one_f_one_b;
    return result;
}

}  // namespace floptally
