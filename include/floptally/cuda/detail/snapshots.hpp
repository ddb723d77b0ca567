// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Snapshots of a device's accumulators. A kernel writes them to host memory, and the host reads them.

namespace floptally::inline v0_3::detail {

/// Slots for snapshots in host memory. The device writes them in turn. The first word of a slot is the number of its
/// snapshot, counted from 1. This word is 0 while the device writes the slot.
struct snapshot_slots {
    std::uint64_t* words;  ///< `count` slots with 1 + `size` 64-bit words each
    std::uint64_t* taken;  ///< number of snapshots so far, in device memory
    std::uint32_t count;
    std::uint32_t size;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t* slot(std::uint64_t number) const {
        return words + (number - 1) % count * (std::uint64_t{1} + size);
    }
};

/// The kernel that writes the next snapshot of the accumulators. It runs in one block. If `reset` is true, it then sets
/// the accumulators to 0.
///
/// The device counts the snapshots. A graph replays a captured launch with the same arguments, so the host cannot pass
/// a different slot or event for each replay.
struct take_snapshot {
    static constexpr std::uint32_t threads = 4 * warp_size;
    static constexpr std::uint32_t resident = 1;
    static constexpr launch_shape shape{.threads = threads, .shared_words = 1};

    struct arguments {
        std::uint64_t* accumulators;
        snapshot_slots slots;
        bool reset;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& args) {
        const snapshot_slots& slots = args.slots;
        if (block.thread() == 0) {
            const std::uint64_t number = atomic_add(slots.taken, 1) + 1;
            atomic_store(slots.slot(number), 0);
            fence_for_all();
            block.shared()[0] = number;
        }
        block.sync();
        const std::uint64_t number = block.shared()[0];
        std::uint64_t* const slot = slots.slot(number);
        for (std::uint32_t i = block.thread(); i < slots.size; i += block.threads()) {
            atomic_store(slot + 1 + i, args.accumulators[i]);
            if (args.reset) {
                args.accumulators[i] = 0;
            }
        }
        block.sync();
        if (block.thread() == 0) {
            fence_for_all();
            atomic_store(slot, number);
        }
    }
};

/// Reads snapshots in the order of their numbers. It only reads memory and never waits.
class snapshot_reader {
  public:
    explicit snapshot_reader(const snapshot_slots& slots) : slots_(slots), accumulators_(slots.size) {}

    /// Returns the accumulators of the next snapshot, or an empty result if it has not arrived. The returned span is
    /// valid until the next call. Throws `error` if the snapshot was overwritten. The next call then continues with the
    /// oldest snapshot that is left.
    [[nodiscard]] std::optional<std::span<const std::uint64_t>> next() {
        const std::uint64_t* const slot = slots_.slot(next_);
        const std::uint64_t before = atomic_load(slot);
        if (before == 0 || before < next_) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < accumulators_.size(); ++i) {
            accumulators_[i] = atomic_load(slot + 1 + i);
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        if (atomic_load(slot) == next_) {
            ++next_;
            return accumulators_;
        }
        std::uint64_t newest = 0;
        for (std::uint32_t i = 1; i <= slots_.count; ++i) {
            newest = std::max(newest, atomic_load(slots_.slot(i)));
        }
        const std::uint64_t lost = next_;
        const std::uint64_t last = newest < next_ + slots_.count ? next_ : newest - slots_.count;
        next_ = last + 1;
        refuse("snapshot",
               {lost, last == lost ? " was" : text_of({" to ", last, " were"}), " overwritten unread, because only ",
                slots_.count, " snapshots are kept: call poll() more often, or pass a larger number of snapshots"});
    }
    /// Returns how many snapshots `next` has read, or skipped because they were overwritten.
    [[nodiscard]] std::uint64_t passed() const { return next_ - 1; }

  private:
    snapshot_slots slots_;
    std::vector<std::uint64_t> accumulators_;
    std::uint64_t next_ = 1;
};

}  // namespace floptally::detail
