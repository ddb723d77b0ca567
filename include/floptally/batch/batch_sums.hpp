// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// A tally, together with other sums over the same batch, such as the masked pairs of attention tiles.

namespace floptally::inline v0_3::detail {

/// A tally, together with other sums over the same batch that a tally does not have. The caller passes a function:
/// `count(slot, i)` returns the amount that the slot of one sequence adds to the i-th sum. If the function also accepts
/// a `pass_run`, a run of decoding passes is added at once. An error leaves the tally and all sums unchanged.
class batch_sums {
  public:
    /// Starts with empty sums. If a sum overflows, the error's field is `field`.
    batch_sums(const mask_set& masks, const char* field) : batch_(masks), field_(field) {}

    void resize(std::size_t count) { sums_.resize(count); }

    /// Adds a batch to the tally, and the slots of the batch's sequences to the other sums.
    template <batch_source Source, class Count>
    void add(const Source& source, const Count& count) {
        batch_sums more = *this;
        more.batch_.add(source);
        if constexpr (requires(const Count& counts) {
                          counts(pass_run{}, 0);
                          source.each_run([](const pass_run&) {});
                      }) {
            source.each_run([&](const pass_run& run) { more.grow(run, count); });
        } else if constexpr (std::is_same_v<typename Source::sample, sequence>) {
            source.each([&](const sequence& /*real*/, const sequence& slot) { more.grow(slot, count); });
        }
        *this = std::move(more);
    }
    /// Adds a batch that was counted before. `counted` is added to the tally, and `slots` to the other sums.
    template <class Count>
    void add_counted(const tally& counted, std::span<const sequence> slots, const Count& count) {
        batch_sums more = *this;
        more.batch_ += counted;
        for (const sequence& slot : slots) {
            more.grow(slot, count);
        }
        *this = std::move(more);
    }
    batch_sums& operator+=(const batch_sums& other) {
        batch_sums more = *this;
        more.batch_ += other.batch_;
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            more.sums_[i] = checked(more.sums_[i], field_) + other.sums_.at(i);
        }
        return *this = std::move(more);
    }
    void clear() {
        batch_.clear();
        sums_.assign(sums_.size(), 0);
    }

    [[nodiscard]] tally& batch() { return batch_; }
    [[nodiscard]] const tally& batch() const { return batch_; }
    [[nodiscard]] std::span<const std::uint64_t> sums() const { return sums_; }

  private:
    template <class Slot, class Count>
    void grow(const Slot& slot, const Count& count) {
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            sums_[i] = checked(sums_[i], field_) + count(slot, i);
        }
    }

    tally batch_;
    const char* field_;
    std::vector<std::uint64_t> sums_;
};

}  // namespace floptally::detail
