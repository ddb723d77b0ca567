// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/detail/cuda/atomic_word.hpp>
#include <floptally/detail/cuda/take_snapshot.hpp>
#include <floptally/error.hpp>

namespace floptally::detail {

/// Reads snapshots in the order in which they were taken. It looks at memory and at nothing else: it cannot wait.
class snapshot_reader {
  public:
    explicit snapshot_reader(const snapshot_slots& slots) : slots_(slots), words_(slots.size) {}

    /// The words of the next one, until it is asked for the one after, or none. One that was overwritten is an error,
    /// after which the oldest that is still there is the next.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() {
        const std::uint64_t* const slot = slots_.slot(next_);
        const std::uint64_t before = atomic_load(slot);
        if (before == 0 || before < next_) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i] = atomic_load(slot + 1 + i);
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        const std::uint64_t after = atomic_load(slot);
        if (after != next_) {
            skip();
        }
        ++next_;
        return words_;
    }

  private:
    [[noreturn]] void skip() {
        std::uint64_t newest = 0;
        for (std::uint32_t i = 1; i <= slots_.count; ++i) {
            newest = std::max(newest, atomic_load(slots_.slot(i)));
        }
        const std::uint64_t lost = next_;
        const std::uint64_t last = newest < next_ + slots_.count ? next_ : newest - slots_.count;
        next_ = last + 1;
        throw error("snapshot", std::to_string(lost) + (last == lost ? "" : " … " + std::to_string(last)) +
                                    " overwritten before poll() read it: the ring has " + std::to_string(slots_.count) +
                                    " slots; poll more often, or make it larger");
    }

    snapshot_slots slots_;
    std::vector<std::uint64_t> words_;
    std::uint64_t next_ = 1;
};

}  // namespace floptally::detail
