// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <floptally/batch/batch_sums.hpp>
#include <floptally/batch/formats.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/tile_bound.hpp>
#include <floptally/step/mixed_precision.hpp>

/// @file
/// Counts the FLOPs that attention kernels spend on masked pairs of query and key.

namespace floptally::inline v0_3 {

/// The tile of an attention kernel: the queries and keys that it processes at once.
struct attention_tile {
    std::uint64_t rows = 128;  ///< number of queries in a tile; `keys` is the number of keys
    std::uint64_t keys = 128;
};

/// Counts the FLOPs that attention kernels spend on masked pairs: a kernel computes all pairs of a tile if at least one
/// is attended (`executed_pairs`).
///
/// Add batches to a `masked_tiles` as to a tally. Text sequences count with their padding. Attention over images and
/// sound is left out. Throws `error` for a mask whose keys depend on the data, because its tiles are unknown.
class masked_tiles : public adds_batches<masked_tiles> {
  public:
    masked_tiles(std::span<const model_part> parts, const attention_tile& tile)
        : parts_(parts.begin(), parts.end()), tile_(tile), seen_(cost_of(parts).masks(), "executed_pairs") {
        require_positive(tile.rows, "tile");
        require_positive(tile.keys, "tile");
        for (const model_part& part : parts_) {
            for (const cost_entry& entry : part.cost.entries()) {
                if (is_of_text(entry)) {
                    masks_.find_or_add(part.cost.masks()[entry.mask], "masks");
                }
            }
        }
        seen_.resize(masks_.size());
    }

    /// Adds a batch, as `tally::add` does. If the call throws, it adds nothing.
    template <batch_source Source>
    void add(const Source& source) {
        seen_.add(source, [this](const sequence& slot, std::size_t i) {
            return executed_pairs(masks_[i], slot, tile_.rows, tile_.keys) - masks_[i](slot);
        });
    }

    /// Adds the batches of another `masked_tiles` with the same model and tile.
    masked_tiles& operator+=(const masked_tiles& other) {
        seen_ += other.seen_;
        return *this;
    }
    /// Removes all added batches.
    void clear() { seen_.clear(); }

    /// Returns the tally of the added batches.
    [[nodiscard]] const tally& total() const { return seen_.batch(); }
    /// Returns the masks of the model's attention over text.
    [[nodiscard]] const mask_set& masks() const { return seen_.batch().masks(); }

    /// Returns the FLOPs of the masked pairs by component. They count as executed, not as useful. In each pass, a
    /// masked pair has as many FLOPs as an attended one.
    [[nodiscard]] breakdown work(const training_plan& plan = {}) const {
        breakdown sum;
        for_each_mask([&](std::uint64_t masked, std::uint64_t pairs, const std::vector<model_part>& parts) {
            sum += of_masked(flop_counter(parts, conventions::exact, plan).evaluate(seen_.batch()), pairs, masked);
        });
        return sum;
    }

    /// Returns the FLOPs of the masked pairs, grouped by peak, lowest peak first. A component runs at the peak in
    /// `settings`, or else at `peak_tflops`.
    [[nodiscard]] std::vector<work_at_peak> by_peak(const training_plan& plan, double peak_tflops,
                                                    const std::vector<precision_setting>& settings) const {
        std::map<double, breakdown> work_at;
        for_each_mask([&](std::uint64_t masked, std::uint64_t pairs, const std::vector<model_part>& parts) {
            const flop_counter whole(parts, conventions::exact, plan);
            const mixed_precision precisions(whole, parts, plan, settings, peak_tflops);
            for (const work_at_peak& piece : precisions.by_peak(seen_.batch())) {
                work_at[piece.peak_tflops] += of_masked(piece.work, pairs, masked);
            }
        });
        std::vector<work_at_peak> list;
        list.reserve(work_at.size());
        for (const auto& [peak, masked_work] : work_at) {
            list.push_back({masked_work, peak});
        }
        return list;
    }

  private:
    static bool is_of_text(const cost_entry& entry) {
        return entry.what == accumulator::pairs && entry.in == modality::text &&
               (entry.kind == term::scores || entry.kind == term::values);
    }

    /// Calls `each(masked, attended, parts)` for each attention mask. `masked` and `attended` are numbers of pairs.
    /// `parts` are the model's parts, in which only attention with that mask has a cost.
    template <class Each>
    void for_each_mask(Each each) const {
        for (std::size_t i = 0; i < masks_.size(); ++i) {
            const std::uint64_t masked = seen_.sums()[i];
            const std::uint64_t pairs = seen_.batch().pairs(view::padded, masks_[i]);
            if (masked != 0 && pairs != 0) {
                each(masked, pairs, only(masks_[i]));
            }
        }
    }

    /// Returns the work of `masked` masked pairs. `attended` is the work of `pairs` attended pairs. The work of a
    /// masked pair is the same as that of an attended pair.
    [[nodiscard]] static breakdown of_masked(const breakdown& attended, std::uint64_t pairs, std::uint64_t masked) {
        breakdown wasted;
        for (const component_flops& component : attended.components()) {
            component_flops& own = wasted.append(component.name);
            for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
                own.executed_more[static_cast<std::size_t>(during)] =
                    in_vain(component.get(view::executed, during), pairs, masked);
            }
            own.recomputed_forward = in_vain(component.get(view::executed, phase::recompute), pairs, masked);
        }
        return wasted;
    }

    /// Returns the FLOPs of `masked` pairs, if `pairs` pairs have `attended` FLOPs. The division is exact, because all
    /// pairs have the same whole number of FLOPs.
    static uint128 in_vain(flops attended, std::uint64_t pairs, std::uint64_t masked) {
        return (masked * flops{attended.value() / pairs}).value();
    }

    /// Returns the model's parts with a cost of 0 for everything except attention with one mask.
    [[nodiscard]] std::vector<model_part> only(const statistic& mask) const {
        std::vector<model_part> chosen = parts_;
        for (model_part& part : chosen) {
            const cost whole = part.cost;
            part.cost = whole.with_entries([&](cost_entry entry) {
                if (!is_of_text(entry) || !(whole.masks()[entry.mask] == mask)) {
                    entry.useful = entry.padded = 0;
                }
                return entry;
            });
        }
        return chosen;
    }

    std::vector<model_part> parts_;
    attention_tile tile_;
    mask_set masks_;
    detail::batch_sums seen_;  ///< tally of the added batches, and the number of masked pairs under each mask
};

}  // namespace floptally
