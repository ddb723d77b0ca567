// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
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
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The time of each pass of a pipeline, its FLOPs at the peaks of their precisions.

namespace floptally {

/// The times that the passes of a pipeline's chunks need at the peaks of their precisions.
///
/// A time is in FLOPs at the stated peak: those of another peak are as many as run in their time. All times that come
/// from one call have one unit, so that replicas beside each other can be compared.
class pipeline_times {
  public:
    /// The chunks of `model` (the parts of the whole, or those of one tensor parallel rank) under a plan. Work that no
    /// setting names runs at `peak_tflops`.
    pipeline_times(std::span<const model_part> model, const pipeline_split& split, const training_plan& plan,
                   double peak_tflops, std::span<const precision_setting> settings = {})
        : peak_tflops_(peak_tflops) {
        std::vector<std::uint64_t> layers;
        for (const index_range& chunk : split.chunks()) {
            layers.push_back(chunk.size());
        }
        const pipeline_split chunks(layers.size(), layers);  // each chunk on a rank of its own
        for (std::size_t i = 0; i < layers.size(); ++i) {
            const std::vector<model_part> parts = chunks.parts_of(model, i);
            const flop_counter whole(parts, conventions::exact, plan);
            chunks_.emplace_back(whole, parts, plan, settings_of(whole, settings), peak_tflops);
        }
    }

    /// The times of each chunk for one of `microbatches` equal parts of a batch, in forward order.
    [[nodiscard]] std::vector<chunk_work> of(const tally& batch, std::uint64_t microbatches) const {
        require_positive(microbatches, "microbatches");
        std::vector<passes> times;
        append(times, batch);
        const unsigned bits = surplus_bits(times, microbatches);
        return in_units(times, bits);
    }
    /// The times of each chunk for replicas whose shares of a batch are as these loads, each share in `microbatches`
    /// equal parts.
    [[nodiscard]] std::vector<std::vector<chunk_work>> of(const tally& batch, std::uint64_t microbatches,
                                                          std::span<const std::uint64_t> loads) const {
        const std::uint64_t largest = loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
        if (largest == 0) {
            throw error("rank_work", "must have a replica that works");
        }
        require_positive(microbatches, "microbatches");
        std::vector<passes> most;
        append(most, batch);
        // A product of the two fits 128 bits.
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
    /// The times of each chunk for each microbatch of each replica: all chunks of a replica's first microbatch, then of
    /// its second, …
    [[nodiscard]] std::vector<std::vector<chunk_work>> of(std::span<const std::vector<tally>> replicas) const {
        std::vector<passes> times;
        for (const std::vector<tally>& replica : replicas) {
            for (const tally& microbatch : replica) {
                append(times, microbatch);
            }
        }
        const unsigned bits = surplus_bits(times, 1);
        std::vector<std::vector<chunk_work>> made;
        auto next = times.begin();
        for (const std::vector<tally>& replica : replicas) {
            const auto end = next + static_cast<std::ptrdiff_t>(replica.size() * chunks_.size());
            made.push_back(in_units({next, end}, bits));
            next = end;
        }
        return made;
    }

  private:
    using passes = std::array<uint128, 3>;  ///< forward, backward to the data with recompute, backward to the weights

    /// The settings that name something of a chunk.
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
        for (const mixed_precision& chunk : chunks_) {
            passes sum{};
            for (const work_at_peak& piece : chunk.by_peak(batch)) {
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

    /// The bits to shift out, so that all sums of a pipeline fit `kept` bits.
    [[nodiscard]] static unsigned surplus_bits(std::span<const passes> times, std::uint64_t microbatches,
                                               unsigned kept = 62) {
        flops sum;
        for (const passes& chunk : times) {
            for (const uint128 pass : chunk) {
                sum += flops{pass};
            }
        }
        unsigned bits = 0;
        while (((microbatches * sum).value() >> bits) >> kept != 0) {
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
};

}  // namespace floptally
