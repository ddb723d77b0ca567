// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/placed_sequences.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Computes the work of a step under tensor and context parallelism: the load of each rank, and work that several ranks
/// repeat.

namespace floptally::inline v0_3 {

/// The split of sequences over context-parallel ranks.
enum class context_split : std::uint8_t {
    /// Cuts each sequence slot into two chunks per context-parallel rank: Megatron-LM, Transformer Engine.
    zigzag,
    /// Cuts the whole pack into two chunks per context-parallel rank; chunks may end inside sequences.
    zigzag_pack,
    contiguous  ///< each rank has one contiguous piece of tokens
};
/// Names of the values of `context_split`, in the same order.
inline constexpr const char* context_split_names[] = {"zigzag", "zigzag_pack", "contiguous"};

/// Tallies of a batch that is sharded over context-parallel ranks, one tally for each rank. Add batches as to a tally.
/// The tallies of all ranks add up to the batch. Adding throws `error` if a slot or pack cannot be divided evenly, and
/// for images and audio.
class context_shards : public adds_batches<context_shards> {
  public:
    context_shards(const mask_set& masks, std::uint64_t cp, context_split split) : split_(split), total_(masks) {
        require_positive(cp, "cp");
        shards_.resize(cp, tally{masks});
    }

    /// Adds a batch like `tally::add`. All slots of one source form one pack. If the call throws, it adds nothing.
    template <batch_source Source>
    void add(const Source& source) {
        if constexpr (std::is_same_v<typename Source::sample, sequence>) {
            placed_sequences row;
            row.add(source);
            if (row.sequences().empty()) {
                return;
            }
            context_shards sum = *this;
            sum.total_ += row.tally_of(masks()).total();
            const context_parallel_pack ranks(row, split_of(row));
            for (std::uint64_t rank = 0; rank < shards_.size(); ++rank) {
                sum.shards_[rank] += ranks.tally_of(rank, masks()).total();
            }
            *this = std::move(sum);
        } else {
            source.each([](const auto& /*real*/, const auto& /*slot*/) {
                throw error("cp",
                            "splits only text over ranks, and this batch also has images or sound: leave cp at 1");
            });
        }
    }

    context_shards& operator+=(const context_shards& other) {
        context_shards sum = *this;
        sum.total_ += other.total_;
        for (std::size_t rank = 0; rank < shards_.size(); ++rank) {
            sum.shards_[rank] += other.shards_.at(rank);
        }
        return *this = std::move(sum);
    }
    /// Removes all batches.
    void clear() {
        total_.clear();
        for (tally& shard : shards_) {
            shard.clear();
        }
    }

    /// Returns the tally of the whole batch.
    [[nodiscard]] const tally& total() const { return total_; }
    [[nodiscard]] const mask_set& masks() const { return total_.masks(); }
    /// Returns the tallies of the context-parallel ranks, by rank.
    [[nodiscard]] std::span<const tally> shards() const { return shards_; }

  private:
    [[nodiscard]] token_split split_of(const placed_sequences& row) const {
        const std::uint64_t cp = shards_.size();
        return split_ == context_split::zigzag        ? token_split::zigzag_of_each(row.boundaries(), cp)
               : split_ == context_split::zigzag_pack ? token_split::zigzag(row.tokens(), cp)
                                                      : token_split::contiguous(row.tokens(), cp);
    }

    context_split split_;
    tally total_;
    std::vector<tally> shards_;
};

/// The work of tensor- and context-parallel ranks.
struct layout_work {
    /// For each context-parallel rank: the time that its busiest tensor-parallel rank needs at peak rate, in 10⁻¹⁵ s.
    std::vector<std::uint64_t> loads{};
    /// Time of every rank in 10⁻¹⁵ s: all context-parallel ranks of tensor-parallel rank 0, then of rank 1, and so on.
    std::vector<std::uint64_t> loads_of_ranks{};
    /// FLOPs of all ranks for each peak rate. Work that several ranks repeat counts for each of these ranks.
    std::vector<work_at_peak> run{};
    tensor_options options{};
    std::uint64_t etp = 0;  ///< number of tensor-parallel ranks that share an expert; 0: all of them
};

/// Returns the work of all ranks: `tp` tensor-parallel ranks on each context-parallel shard of a batch. `etp` ranks
/// share the matrices of each expert; 0 means `tp`. Assumes that tokens choose experts uniformly: ranks of a stage have
/// equal expert work. `plan.repeated` must be empty, because the layout decides which work is repeated.
[[nodiscard]] inline layout_work layout_work_of(std::span<const model_part> model, const training_plan& plan,
                                                std::uint64_t tp, std::span<const tally> shards, double peak_tflops,
                                                const std::vector<precision_setting>& settings = {},
                                                const tensor_options& options = {}, std::uint64_t etp = 0) {
    require_positive(tp, "tp");
    if (!plan.repeated.empty()) {
        throw error("repeated",
                    "cannot be passed with tp or cp, which already determine what each rank runs: leave out repeated, "
                    "or tp and cp");
    }
    if (model.empty()) {
        throw error(
            "tp", "needs the layers of a model, but a cost alone has none: pass a model that was read from its config");
    }
    layout_work result{.options = options, .etp = etp};
    result.loads.resize(shards.size());
    for (std::uint64_t rank = 0; rank < tp; ++rank) {
        const std::vector<model_part> parts = tensor_parts(model, tp, rank, 1, options, etp);
        const mixed_precision by_peak(flop_counter(parts, conventions::exact, plan), parts, plan, settings,
                                      peak_tflops);
        for (std::size_t shard = 0; shard < shards.size(); ++shard) {
            double seconds = 0;
            for (work_at_peak& piece : by_peak.by_peak(shards[shard])) {
                seconds += to_double(piece.work.total(view::executed)) / 1e12 / piece.peak_tflops;
                result.run.push_back(std::move(piece));
            }
            if (!(seconds < 1e4)) {
                throw error("peak_tflops", "is so low that a step takes more than 10 000 s: pass it in TFLOP/s");
            }
            const auto load = static_cast<std::uint64_t>(std::llround(seconds * 1e15));
            result.loads[shard] = std::max(result.loads[shard], load);
            result.loads_of_ranks.push_back(load);
        }
    }
    return result;
}

/// The times of the ranks in a step, to compare their loads, and the number of microbatches of all pipelines.
struct step_ranks {
    std::optional<rank_times> times{};
    std::uint64_t microbatches = 0;  ///< number of microbatches of all pipelines together; 0 without pipelines
};

/// Returns the times of the ranks of a step. Without `choices`, the step has no pipelines, and `layout` has the times.
/// Without `layout` the times are empty. With `choices`, the function simulates one pipeline for each context-parallel
/// rank of each replica. Each stage of a pipeline runs on the tensor-parallel ranks of `layout`.
[[nodiscard]] inline step_ranks run_ranks(std::optional<pipeline_choices> choices,
                                          const std::optional<layout_work>& layout, std::span<const model_part> model,
                                          const training_plan& plan, const tally& batch, double peak_tflops,
                                          const std::vector<precision_setting>& settings, std::uint64_t working_gpus) {
    const std::uint64_t cp = layout ? layout->loads.size() : 1;
    const std::uint64_t tp = layout ? layout->loads_of_ranks.size() / cp : 1;
    const std::uint64_t ranks = checked(tp, "tp") * cp;
    if (working_gpus % ranks != 0) {
        detail::refuse("gpus", {"gpus - idle_gpus must be a multiple of tp x cp = ", ranks, ", got ", working_gpus});
    }
    if (!choices) {
        return {layout ? std::optional(rank_times::of(layout->loads_of_ranks)) : std::nullopt, 0};
    }
    if (cp > 1) {
        if (!choices->loads.empty() || !choices->batches.empty()) {
            throw error("cp",
                        "cannot be passed with the work of each replica or microbatch, because cp splits the whole "
                        "batch: leave out one of the two");
        }
        const std::uint64_t replicas = choices->num_replicas();
        for (std::uint64_t replica = 0; replica < replicas; ++replica) {
            choices->loads.insert(choices->loads.end(), layout->loads.begin(), layout->loads.end());
        }
        choices->replicas = choices->loads.size();
    }
    const std::vector<model_part> rank_parts = tp > 1 ? tensor_parts(model, tp, 0, 1, layout->options, layout->etp)
                                                      : std::vector<model_part>(model.begin(), model.end());
    const pipelines result = run_pipelines(*choices, rank_parts, plan, batch, peak_tflops, settings, working_gpus / tp);
    return {result.times, result.microbatches};
}

}  // namespace floptally
