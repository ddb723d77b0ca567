// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>

namespace floptally::detail {

/// The sums of each thread of a block in shared memory: columns with a row for each thread. A thread writes its own row
/// without waiting for others; the block adds up the columns once, each by one warp.
///
/// Every value enters one sum only, so that a carry is noticed exactly where it happens.
template <class Block>
class block_columns {
  public:
    FLOPTALLY_HOST_DEVICE explicit block_columns(const Block& block) : block_(block) {}

    /// This thread's sum of a column.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t& own(std::uint32_t column) const {
        return block_.shared()[column * block_.threads() + block_.thread()];
    }
    /// Adds to this thread's sum of a column; returns true where it no longer fits.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool add_overflows(std::uint32_t column, uint128 amount) const {
        const uint128 sum = amount + own(column);
        own(column) = static_cast<std::uint64_t>(sum);
        return (sum >> 64U) != 0;
    }

    /// Adds up the columns and calls `add(column, sum, wraps)` by one thread for each that is not 0. All threads call
    /// it; after it no thread may write before it has waited for the others.
    template <class Add>
    FLOPTALLY_HOST_DEVICE void add_to(std::uint32_t columns, const Add& add) const {
        block_.sync();
        const std::uint32_t lane = block_.thread() % warp_size;
        FLOPTALLY_ROLLED
        for (std::uint32_t column = block_.thread() / warp_size; column < columns;
             column += block_.threads() / warp_size) {
            const std::uint64_t* const rows = block_.shared() + std::size_t{column} * block_.threads();
            std::uint64_t sum = 0;
            std::uint32_t carries = 0;
            FLOPTALLY_ROLLED
            for (std::uint32_t row = lane; row < block_.threads(); row += warp_size) {
                sum += rows[row];
                carries |= sum < rows[row] ? 1U : 0U;
            }
            FLOPTALLY_ROLLED
            for (std::uint32_t delta = warp_size / 2; delta > 0; delta /= 2) {
                const std::uint64_t other = block_.shuffle_down(sum, delta);
                carries |= static_cast<std::uint32_t>(block_.shuffle_down(carries, delta));
                sum += other;
                carries |= sum < other ? 1U : 0U;
            }
            if (lane == 0 && (sum | carries) != 0) {
                add(column, sum, carries != 0);
            }
        }
    }

  private:
    const Block& block_;
};

}  // namespace floptally::detail
