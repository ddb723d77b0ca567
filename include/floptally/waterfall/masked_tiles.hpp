// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <floptally/batch/adds_batches.hpp>
#include <floptally/batch/batch_sums.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/tile_bound.hpp>
#include <floptally/step/mixed_precision.hpp>

/// @file
/// FLOPs of attention kernels on pairs that no mask lets through.

namespace floptally {

/// The block of queries by keys that an attention kernel computes at once.
struct attention_tile {
    std::uint64_t rows = 128;
    std::uint64_t keys = 128;
};

/// The FLOPs that attention kernels run besides, on pairs that no mask lets through: a tile with an attended pair is
/// computed whole (`executed_pairs`). It takes the batch as a tally does, and looks at the slot of each sequence of the
/// text; attention over images and sound is left out. A mask whose keys the data choose has no tiles: an error.
class masked_tiles : public adds_batches<masked_tiles> {
  public:
    masked_tiles(std::span<const model_part> parts, const attention_tile& tile)
        : parts_(parts.begin(), parts.end()), tile_(tile), seen_(cost_of(parts).masks(), "executed_pairs") {
        require_positive(tile.rows, "tile");
        require_positive(tile.keys, "tile");
        for (const model_part& part : parts_) {
            for (const cost_row& row : part.cost.rows()) {
                if (is_of_text(row)) {
                    masks_.find_or_add(part.cost.masks()[row.mask], "masks");
                }
            }
        }
        seen_.resize(masks_.size());
    }

    /// As `tally::add`; a batch that is refused adds nothing.
    template <batch_source Source>
    void add(const Source& source) {
        seen_.add(source, [this](const sequence& slot, std::size_t i) {
            return executed_pairs(masks_[i], slot, tile_.rows, tile_.keys) - masks_[i](slot);
        });
    }

    /// Another batch of the same model and tile.
    masked_tiles& operator+=(const masked_tiles& other) {
        seen_ += other.seen_;
        return *this;
    }
    /// Counts nothing again.
    void clear() { seen_.clear(); }

    /// The batch as it was added.
    [[nodiscard]] const tally& total() const { return seen_.batch(); }
    /// The masks of the model, which a batch is counted under.
    [[nodiscard]] const mask_set& masks() const { return seen_.batch().masks(); }

    /// FLOPs of the pairs that are computed in vain, by component, all of them executed only: in each pass as many a
    /// pair as the plan executes for an attended one.
    [[nodiscard]] breakdown work(const training_plan& plan = {}) const {
        breakdown sum;
        each_mask([&](std::uint64_t masked, std::uint64_t pairs, const std::vector<model_part>& parts) {
            sum += of_masked(flop_counter(parts, conventions::exact, plan).evaluate(seen_.batch()), pairs, masked);
        });
        return sum;
    }

    /// Those FLOPs by the peak that they run at, lowest first: an attended pair's, by these settings.
    [[nodiscard]] std::vector<work_at_peak> by_peak(const training_plan& plan, double peak_tflops,
                                                    const std::vector<precision_setting>& settings) const {
        std::map<double, breakdown> work_at;
        each_mask([&](std::uint64_t masked, std::uint64_t pairs, const std::vector<model_part>& parts) {
            const flop_counter whole(parts, conventions::exact, plan);
            const mixed_precision precisions(whole, parts, plan, settings, peak_tflops);
            for (const work_at_peak& piece : precisions.by_peak(seen_.batch())) {
                work_at[piece.peak_tflops] += of_masked(piece.work, pairs, masked);
            }
        });
        std::vector<work_at_peak> list;
        list.reserve(work_at.size());
        for (const auto& [peak, in_vain_there] : work_at) {
            list.push_back({in_vain_there, peak});
        }
        return list;
    }

  private:
    static bool is_of_text(const cost_row& row) {
        return row.what == statistic::pairs && row.in == modality::text &&
               (row.kind == term::scores || row.kind == term::values);
    }

    /// Calls `each(masked pairs, attended pairs, parts of which nothing counts but the attention under that mask)`.
    template <class Each>
    void each_mask(Each each) const {
        for (std::size_t i = 0; i < masks_.size(); ++i) {
            const std::uint64_t masked = seen_.sums()[i];
            const std::uint64_t pairs = seen_.batch().pairs(view::padded, masks_[i]);
            if (masked != 0 && pairs != 0) {
                each(masked, pairs, only(masks_[i]));
            }
        }
    }

    /// The work of masked pairs, from that of attended ones.
    [[nodiscard]] static breakdown of_masked(const breakdown& attended, std::uint64_t pairs, std::uint64_t masked) {
        breakdown more;
        for (const component_flops& component : attended.components()) {
            component_flops& own = more.append(component.name);
            for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
                own.executed_more[static_cast<std::size_t>(during)] =
                    in_vain(component.get(view::executed, during), pairs, masked);
            }
            own.recomputed_forward = in_vain(component.get(view::executed, phase::recompute), pairs, masked);
        }
        return more;
    }

    /// FLOPs are a whole number a pair.
    static uint128 in_vain(flops attended, std::uint64_t pairs, std::uint64_t masked) {
        return (masked * flops{attended.value() / pairs}).value();
    }

    /// The parts in their places, of which nothing counts but the attention under one mask.
    [[nodiscard]] std::vector<model_part> only(const rule& mask) const {
        std::vector<model_part> chosen = parts_;
        for (model_part& part : chosen) {
            const cost whole = part.cost;
            part.cost = whole.with_rows([&](cost_row row) {
                if (!is_of_text(row) || !(whole.masks()[row.mask] == mask)) {
                    row.useful = row.padded = 0;
                }
                return row;
            });
        }
        return chosen;
    }

    std::vector<model_part> parts_;
    attention_tile tile_;
    mask_set masks_;
    detail::batch_sums seen_;  ///< with the masked pairs of each mask
};

}  // namespace floptally
