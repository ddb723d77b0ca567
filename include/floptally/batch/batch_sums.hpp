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
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// A tally, and sums over the slots of its sequences beside it.

namespace floptally::detail {

/// A tally, and sums over the slots of its sequences beside it. A batch that one of them refuses is in none. A sequence
/// adds `count(slot, i)` to the i-th sum, and so does a run of passes where `count` takes one.
class batch_sums {
  public:
    /// Sums of nothing yet; the error of a sum that overflows names `field`.
    batch_sums(const mask_set& masks, const char* field) : batch_(masks), field_(field) {}

    void resize(std::size_t count) { sums_.resize(count); }

    /// Adds a batch, and the slots of its sequences to the sums.
    template <batch_source Source, class Count>
    void add(const Source& source, const Count& count) {
        batch_sums more = *this;
        more.batch_.add(source);
        if constexpr (requires(const Count& of) {
                          of(pass_run{}, 0);
                          source.each_run([](const pass_run&) {});
                      }) {
            source.each_run([&](const pass_run& run) { more.grow(run, count); });
        } else if constexpr (std::is_same_v<typename Source::sample, sequence>) {
            source.each([&](const sequence& /*real*/, const sequence& slot) { more.grow(slot, count); });
        }
        *this = std::move(more);
    }
    /// Adds a batch that was counted before, and those of its slots that matter to the sums.
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
