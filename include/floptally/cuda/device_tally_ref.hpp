// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <floptally/batch/source.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_checks.hpp>

/// @file
/// `device_tally_ref`: a `device_tally` inside your own kernel.

namespace floptally::inline v0_3 {

/// A sample that a kernel can add: a `sequence`, a `grid` or an `audio_clip`.
template <class Unit>
concept device_unit = requires(const Unit& unit) {
    detail::modality_of(unit);
};

/// A `device_tally` inside a kernel: a value through which any thread adds samples. The tally on the host must outlive
/// it.
///
/// The tally leaves out a sequence that cannot be counted and records it. Reading the tally on the host then throws the
/// error of that sequence. If the threads of a block add many samples, add them to accumulators of the block (`local`)
/// and merge these once. `Statistics` is the `statistic_list` that the kernels are compiled with.
template <class Statistics>
class basic_device_tally_ref {
  public:
    /// The list of statistics with which a kernel that uses this type is compiled.
    using statistics = Statistics;

    basic_device_tally_ref() = default;
    /// Takes pointers to three objects in device memory: a tally's schema, the accumulators of both views in the order
    /// of `tally::accumulators`, and the record of refusals.
    FLOPTALLY_HOST_DEVICE basic_device_tally_ref(const detail::accumulator_schema* schema, std::uint64_t* accumulators,
                                                 detail::refusal_record* refusals)
        : schema_(schema), accumulators_(accumulators), refusals_(refusals) {}

    /// Adds a sequence, image or audio clip without padding. An argument in braces is a sequence. An error shows
    /// `index` as the index of the sample.
    template <device_unit Unit = sequence>
    FLOPTALLY_HOST_DEVICE void add(const Unit& real, std::uint64_t index = 0) const {
        add(real, real, index);
    }
    /// Adds a sample and the slot that it is padded to. Pass {} as `real` for a mock sequence.
    template <device_unit Unit = sequence>
    FLOPTALLY_HOST_DEVICE void add(const Unit& real, const Unit& slot, std::uint64_t index = 0) const {
        if (!is_valid(real, slot) || !add_accumulators(real, slot)) {
            detail::refuse(refusals_, {detail::refusal_place::own_kernel, index}, real, slot);
        }
    }

    /// Adds the number of visits of tokens to experts that a router measured, like `tally::add_routed`. Pass the sum
    /// over all layers.
    FLOPTALLY_HOST_DEVICE void add_routed(const useful_and_padded& visits) const {
        if (visits.padded < visits.useful) {
            detail::refuse(refusals_, {detail::refusal_place::own_kernel, 0}, {detail::refused::routed}, visits.useful,
                           visits.padded);
            return;
        }
        constexpr std::uint32_t accumulator = detail::tally_accumulators::index_of(modality::text, accumulator::routed);
        add_to(0, accumulator, visits.useful);
        add_to(1, accumulator, visits.padded);
    }

    /// Returns a tally that adds to accumulators of the block. `accumulators` points to `size()` accumulators in shared
    /// memory. Refused samples are still recorded in device memory.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE basic_device_tally_ref local(std::uint64_t* accumulators) const {
        basic_device_tally_ref result = *this;
        result.accumulators_ = accumulators;
        return result;
    }
    /// Sets the accumulators to 0. All threads of a block must call this together: `thread` is the thread's number,
    /// `threads` the number of threads. The block must synchronise afterwards.
    FLOPTALLY_HOST_DEVICE void clear(std::uint32_t thread, std::uint32_t threads) const {
        for (std::uint32_t accumulator = thread; accumulator < size(); accumulator += threads) {
            accumulators_[accumulator] = 0;
        }
    }
    /// Adds the accumulators of a block to this tally. All threads of the block must call this together, after the
    /// block has synchronised.
    FLOPTALLY_HOST_DEVICE void merge(const basic_device_tally_ref& block, std::uint32_t thread,
                                     std::uint32_t threads) const {
        for (std::uint32_t accumulator = thread; accumulator < size(); accumulator += threads) {
            if (block.accumulators_[accumulator] != 0) {
                add_to(accumulator / schema_->stride(), accumulator % schema_->stride(),
                       block.accumulators_[accumulator]);
            }
        }
    }

    /// Returns the number of accumulators of both views (useful, padded) together.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return schema_->size(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t* accumulators() const { return accumulators_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE const detail::accumulator_schema& schema() const { return *schema_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE detail::refusal_record* refusals() const { return refusals_; }

    /// Adds `amount` to an accumulator of a view (0: useful, 1: padded).
    FLOPTALLY_HOST_DEVICE void add_to(std::uint32_t view_index, std::uint32_t accumulator, uint128 amount) const {
        const auto low = static_cast<std::uint64_t>(amount);
        if (amount != low ||
            (low != 0 && detail::add_overflows(accumulators_ + view_index * schema_->stride() + accumulator, low))) {
            detail::atomic_or(&refusals_->overflowed[view_index], std::uint64_t{1} << accumulator);
        }
    }

    /// Adds a sample to every `step`-th accumulator of its modality, from `first` on. Returns false if a statistic
    /// cannot count the sample.
    template <device_unit Unit>
    FLOPTALLY_HOST_DEVICE bool add_accumulators(const Unit& real, const Unit& slot, std::uint32_t first = 0,
                                                std::uint32_t step = 1) const {
        return detail::take_amounts<Statistics>(
            *schema_, real, slot,
            [&](std::uint32_t /*column*/, std::uint32_t view_index, std::uint32_t accumulator, uint128 sum) {
                add_to(view_index, accumulator, sum);
            },
            first, step);
    }

    /// Returns true if a host tally would accept the sample and its slot. Does not check whether the statistics can
    /// count them.
    template <device_unit Unit>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_valid(const Unit& real, const Unit& slot) const {
        if (!schema_->has_tower(detail::modality_of(real))) {
            return false;
        }
        if constexpr (std::is_same_v<Unit, audio_clip>) {
            return slot.frames >= real.frames;
        } else if constexpr (std::is_same_v<Unit, grid>) {
            return !detail::has_too_large_a_frame(real) && !detail::has_too_large_a_frame(slot) &&
                   detail::has_room(real, slot);
        } else {
            return detail::is_valid(real) && detail::is_valid(slot) && detail::has_room(real, slot);
        }
    }

  private:
    const detail::accumulator_schema* schema_ = nullptr;
    std::uint64_t* accumulators_ = nullptr;
    detail::refusal_record* refusals_ = nullptr;
};

/// The statistics that your own kernels can count by default: window masks and moments. Other masks need much code. If
/// you need them, use `basic_device_tally_ref<library_statistics>`.
using window_statistics = statistic_list<mask_statistics::band>;

/// A device tally inside a kernel, for tallies whose masks are all windows.
using device_tally_ref = basic_device_tally_ref<window_statistics>;

/// Computes in a kernel the amount that a statistic counts for a sample, like `statistic::amount`. A device cannot call
/// the statistic's host functions, so the kernel is compiled with the statistics of the list `Statistics`. Because a
/// device cannot throw, the function returns false if the list lacks the statistic or if the statistic cannot count
/// such samples. Then `amount` is unchanged.
///     floptally::uint128 pairs = 0;
///     if (floptally::device_amount<floptally::library_statistics::with<dilated_window>>(attends, sample, pairs)) { … }
template <class Statistics = library_statistics, class Sample>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool device_amount(const statistic& which, const Sample& sample,
                                                                 uint128& amount) {
    static_assert(detail::numbers_differ(Statistics{}),
                  "two statistics of the list have the same name, or names with the same hash: rename your own");
    bool counted = false;
    detail::with_struct_of(which, Statistics{}, [&]<class Statistic>(const Statistic& value) {
        counted = detail::amount_of_statistic(value, sample, amount);
    });
    return counted;
}

}  // namespace floptally
