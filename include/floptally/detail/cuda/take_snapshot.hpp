// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/cuda/atomic_word.hpp>
#include <floptally/host_device.hpp>

namespace floptally::detail {

/// Slots in memory of the host that a device writes to, in turn. The first word of a slot is the number of the snapshot
/// that it holds, from 1 on; 0 while it is written to.
struct snapshot_slots {
    std::uint64_t* words;  ///< `count` times 1 + `size`
    std::uint64_t* taken;  ///< how many there were so far: a word of the device
    std::uint32_t count;
    std::uint32_t size;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t* slot(std::uint64_t number) const {
        return words + (number - 1) % count * (std::uint64_t{1} + size);
    }
};

/// The body of the kernel that writes the next snapshot of `slots.size` words, by one block; and sets them to 0, where
/// they are to begin anew.
///
/// The number is the device's own: a captured launch is replayed with the same arguments, and a host that is not asked
/// could not give it a slot or an event of its own.
template <class Block>
FLOPTALLY_HOST_DEVICE void take_snapshot(const Block& block, std::uint64_t* words, const snapshot_slots& slots,
                                         bool reset) {
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
        atomic_store(slot + 1 + i, words[i]);
        if (reset) {
            words[i] = 0;
        }
    }
    block.sync();
    if (block.thread() == 0) {
        fence_for_all();
        atomic_store(slot, number);
    }
}

}  // namespace floptally::detail
