// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/cuda/atomic_word.hpp>
#include <floptally/detail/cuda/block.hpp>
#include <floptally/host_device.hpp>

namespace floptally::detail {

/// Adds up what the threads of a warp have of a word, and adds that to the words of the block. All lanes call it.
///
/// Each value enters one sum only, so that a carry is seen where it happens, and nowhere else.
template <class Block, class Ref>
FLOPTALLY_HOST_DEVICE void add_warp(const Block& block, const Ref& local, std::uint32_t seen, std::uint32_t word,
                                    uint128 amount) {
    const std::uint32_t lane = block.thread() % warp_size;
    auto sum = static_cast<std::uint64_t>(amount);
    bool wraps = amount != sum;
    for (std::uint32_t delta = warp_size / 2; delta > 0; delta /= 2) {
        const std::uint64_t other = block.shuffle_down(sum, delta);
        if (lane < delta) {
            sum += other;
            wraps = wraps || sum < other;
        }
    }
    if (wraps) {
        atomic_or(&local.refusals()->overflowed[seen], std::uint64_t{1} << word);
    }
    if (lane == 0) {
        local.add_to(seen, word, sum);
    }
}

}  // namespace floptally::detail
