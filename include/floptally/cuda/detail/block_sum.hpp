// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>

namespace floptally::inline v0_3::detail {

/// The sums of each thread of a block, in shared memory. There is one column for each sum and one row for each thread.
/// A thread writes only its own row, so it needs no synchronisation. At the end one warp adds up each column. Each
/// value is added only once, so an overflow is detected exactly where it happens.
template <class Block>
class block_columns {
  public:
    FLOPTALLY_HOST_DEVICE explicit block_columns(const Block& block) : block_(block) {}

    /// Returns this thread's sum of a column.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t& of_thread(std::uint32_t column) const {
        return block_.shared()[column * block_.threads() + block_.thread()];
    }
    /// Adds `amount` to this thread's sum of a column. Returns true if the sum overflows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool add_overflows(std::uint32_t column, uint128 amount) const {
        const uint128 sum = amount + of_thread(column);
        of_thread(column) = static_cast<std::uint64_t>(sum);
        return (sum >> 64U) != 0;
    }

    /// Adds up the columns. For each column whose sum is not 0, one thread calls `add(column, sum, wraps)`, where
    /// `wraps` is true if the sum exceeded 64 bits. All threads of the block must call this function. Before a thread
    /// writes to the sums again, the block must synchronise.
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
