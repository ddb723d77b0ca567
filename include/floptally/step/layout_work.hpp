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

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/packed_row.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A step's work under tensor and context parallelism: the load of each rank, and what several of them run.

namespace floptally {

/// A split of sequences over the ranks of context parallelism.
enum class context_split : std::uint8_t {
    zigzag,      ///< of each slot 2 cp chunks, two of them a rank: Megatron-LM, Transformer Engine
    zigzag_row,  ///< the same of the whole row, whose chunks may end inside the sequences of a pack
    contiguous   ///< one run of tokens a rank
};
inline constexpr const char* context_split_names[] = {"zigzag", "zigzag_row", "contiguous"};

/// A batch dealt to the ranks of context parallelism. It takes batches as a tally does; those of a rank add up to them.
/// A slot, or a row of them, that cannot be cut is an error, and so is an image or a sound.
class context_shares : public adds_batches<context_shares> {
  public:
    context_shares(const mask_set& masks, std::uint64_t cp, context_split how) : how_(how), total_(masks) {
        require_positive(cp, "cp");
        shares_.resize(cp, tally{masks});
    }

    /// As `tally::add`; the slots of one source are one row. A batch that is refused adds nothing.
    template <batch_source Source>
    void add(const Source& source) {
        if constexpr (std::is_same_v<typename Source::sample, sequence>) {
            packed_row row;
            row.add(source);
            if (row.sequences().empty()) {
                return;
            }
            context_shares sum = *this;
            sum.total_ += row.tally_of(masks()).total();
            const context_parallel_row ranks(row, split_of(row));
            for (std::uint64_t rank = 0; rank < shares_.size(); ++rank) {
                sum.shares_[rank] += ranks.tally_of(rank, masks()).total();
            }
            *this = std::move(sum);
        } else {
            source.each([](const auto& /*real*/, const auto& /*slot*/) {
                throw error("cp", "splits the text of a batch, which has images or sound beside it");
            });
        }
    }

    context_shares& operator+=(const context_shares& other) {
        context_shares sum = *this;
        sum.total_ += other.total_;
        for (std::size_t rank = 0; rank < shares_.size(); ++rank) {
            sum.shares_[rank] += other.shares_.at(rank);
        }
        return *this = std::move(sum);
    }
    /// Has nothing again.
    void clear() {
        total_.clear();
        for (tally& share : shares_) {
            share.clear();
        }
    }

    /// The batch as it was added.
    [[nodiscard]] const tally& total() const { return total_; }
    [[nodiscard]] const mask_set& masks() const { return total_.masks(); }
    /// The batch of each rank.
    [[nodiscard]] std::span<const tally> shares() const { return shares_; }

  private:
    [[nodiscard]] token_split split_of(const packed_row& row) const {
        const std::uint64_t cp = shares_.size();
        return how_ == context_split::zigzag       ? token_split::zigzag_of_each(row.boundaries(), cp)
               : how_ == context_split::zigzag_row ? token_split::zigzag(row.tokens(), cp)
                                                   : token_split::contiguous(row.tokens(), cp);
    }

    context_split how_;
    tally total_;
    std::vector<tally> shares_;
};

/// The work of the ranks of tensor and context parallelism.
struct layout_work {
    /// For each rank of context parallelism the time at the peaks of its tensor parallel rank with the most, in 10⁻¹⁵
    /// s.
    std::vector<std::uint64_t> loads{};
    std::vector<std::uint64_t> loads_of_ranks{};  ///< of each tensor parallel rank of each of them
    std::vector<work_at_peak> run{};              ///< of all ranks together: what several of them run as often
    tensor_options how{};
};

/// The work of `tp` ranks on each of these batches, one for each rank of context parallelism. The plan has no
/// `repeated`: the layout says what ranks repeat.
[[nodiscard]] inline layout_work layout_work_of(std::span<const model_part> model, const training_plan& plan,
                                                std::uint64_t tp, std::span<const tally> shares, double peak_tflops,
                                                const std::vector<precision_setting>& settings = {},
                                                const tensor_options& how = {}) {
    require_positive(tp, "tp");
    if (!plan.repeated.empty()) {
        throw error("repeated", "is given beside tp or cp, which say what several ranks run");
    }
    if (model.empty()) {
        throw error("tp", "needs the layers of a model, and this cost is one sum of rows");
    }
    layout_work made{.how = how};
    made.loads.resize(shares.size());
    for (std::uint64_t rank = 0; rank < tp; ++rank) {
        const std::vector<model_part> parts = tensor_parts(model, tp, rank, 1, how);
        const mixed_precision by_peak(flop_counter(parts, conventions::exact, plan), parts, plan, settings,
                                      peak_tflops);
        for (std::size_t share = 0; share < shares.size(); ++share) {
            double seconds = 0;
            for (work_at_peak& piece : by_peak.by_peak(shares[share])) {
                seconds += to_double(piece.work.total(view::executed)) / 1e12 / piece.peak_tflops;
                made.run.push_back(std::move(piece));
            }
            if (!(seconds < 1e4)) {
                throw error("peak_tflops", "is so low that a rank needs more than 10 000 s at it");
            }
            const auto load = static_cast<std::uint64_t>(std::llround(seconds * 1e15));
            made.loads[share] = std::max(made.loads[share], load);
            made.loads_of_ranks.push_back(load);
        }
    }
    return made;
}

/// The ranks of a step, and the microbatches of all of its pipelines, 0 where there is none.
struct step_ranks {
    std::optional<rank_times> times{};
    std::uint64_t microbatches = 0;
};

/// The ranks of a step on the GPUs that work: pipelines where these choices are given, each on the tensor parallel
/// ranks of a layout, and one for each rank of context parallelism; else the ranks of the layout.
[[nodiscard]] inline step_ranks run_ranks(std::optional<pipeline_choices> choices,
                                          const std::optional<layout_work>& layout, std::span<const model_part> model,
                                          const training_plan& plan, const tally& batch, double peak_tflops,
                                          const std::vector<precision_setting>& settings, std::uint64_t working_gpus) {
    const std::uint64_t cp = layout ? layout->loads.size() : 1;
    const std::uint64_t tp = layout ? layout->loads_of_ranks.size() / cp : 1;
    const std::uint64_t ranks = checked(tp, "tp") * cp;
    if (working_gpus % ranks != 0) {
        detail::refuse(
            "gpus", {"must be a multiple of ", ranks, " ranks, tp x cp, where they are not idle, got ", working_gpus});
    }
    if (!choices) {
        return {layout ? std::optional(rank_times::of(layout->loads_of_ranks)) : std::nullopt, 0};
    }
    if (cp > 1) {
        if (!choices->loads.empty() || !choices->batches.empty()) {
            throw error("cp", "deals the whole batch, and replicas or microbatches have work of their own");
        }
        const std::uint64_t replicas = choices->num_replicas();
        for (std::uint64_t replica = 0; replica < replicas; ++replica) {
            choices->loads.insert(choices->loads.end(), layout->loads.begin(), layout->loads.end());
        }
        choices->replicas = choices->loads.size();
    }
    const std::vector<model_part> of_rank =
        tp > 1 ? tensor_parts(model, tp, 0, 1, layout->how) : std::vector<model_part>(model.begin(), model.end());
    const pipelines made = run_pipelines(*choices, of_rank, plan, batch, peak_tflops, settings, working_gpus / tp);
    return {made.times, made.microbatches};
}

}  // namespace floptally
