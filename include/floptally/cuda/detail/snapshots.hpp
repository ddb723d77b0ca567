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
/// Snapshots of words of a device: written by a kernel, read by the host.

namespace floptally::detail {

/// Slots in host memory that a device writes to in turn. The first word of a slot is the number of the snapshot that it
/// holds, from 1 on; 0 while it is being written.
struct snapshot_slots {
    std::uint64_t* words;  ///< `count` times 1 + `size`
    std::uint64_t* taken;  ///< number of snapshots so far: a word of the device
    std::uint32_t count;
    std::uint32_t size;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t* slot(std::uint64_t number) const {
        return words + (number - 1) % count * (std::uint64_t{1} + size);
    }
};

/// The kernel that writes the next snapshot of the words, by one block, and sets them to 0 afterwards where `reset` is
/// true.
///
/// The device keeps the number: a captured launch is replayed with the same arguments, so that the host cannot hand
/// each replay its own slot or event.
struct take_snapshot {
    static constexpr std::uint32_t threads = 4 * warp_size;
    static constexpr std::uint32_t resident = 1;
    static constexpr launch_shape shape{.threads = threads, .shared_words = 1};

    struct arguments {
        std::uint64_t* words;
        snapshot_slots slots;
        bool reset;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& given) {
        const snapshot_slots& slots = given.slots;
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
            atomic_store(slot + 1 + i, given.words[i]);
            if (given.reset) {
                given.words[i] = 0;
            }
        }
        block.sync();
        if (block.thread() == 0) {
            fence_for_all();
            atomic_store(slot, number);
        }
    }
};

/// A reader of snapshots in the order in which they were taken. It only reads memory and never waits.
class snapshot_reader {
  public:
    explicit snapshot_reader(const snapshot_slots& slots) : slots_(slots), words_(slots.size) {}

    /// The words of the next snapshot, valid until the next call; or none. Throws where that snapshot was overwritten;
    /// the next call then continues with the oldest that is left.
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
        if (atomic_load(slot) == next_) {
            ++next_;
            return words_;
        }
        std::uint64_t newest = 0;
        for (std::uint32_t i = 1; i <= slots_.count; ++i) {
            newest = std::max(newest, atomic_load(slots_.slot(i)));
        }
        const std::uint64_t lost = next_;
        const std::uint64_t last = newest < next_ + slots_.count ? next_ : newest - slots_.count;
        next_ = last + 1;
        refuse("snapshot",
               {lost, last == lost ? "" : text_of({" … ", last}), " overwritten before poll() read it: the ring has ",
                slots_.count, " slots; poll more often, or make it larger"});
    }
    /// The number of snapshots that were read or overwritten.
    [[nodiscard]] std::uint64_t passed() const { return next_ - 1; }

  private:
    snapshot_slots slots_;
    std::vector<std::uint64_t> words_;
    std::uint64_t next_ = 1;
};

}  // namespace floptally::detail
