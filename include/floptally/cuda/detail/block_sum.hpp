// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/modality.hpp>

namespace floptally::detail {

/// The sums of each thread of a block for each word of one modality, in shared memory: a column for each word and view,
/// with a row for each thread. A thread writes its own row without waiting for others; the block adds up the columns
/// once, each by one warp.
///
/// Every value enters one sum only, so that a carry is noticed exactly where it happens.
template <class Block>
class block_columns {
  public:
    /// Uses `views` · `schema.columns()` words of shared memory for each thread of the block.
    FLOPTALLY_HOST_DEVICE block_columns(const Block& block, const word_schema& schema, std::uint32_t views)
        : block_(block), schema_(schema), views_(views) {}

    /// Sets this thread's row to 0.
    FLOPTALLY_HOST_DEVICE void clear() const {
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < views_ * schema_.columns(); ++column) {
            block_.shared()[column * block_.threads() + block_.thread()] = 0;
        }
    }
    /// This thread's sum of a column.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t& own(std::uint32_t seen, std::uint32_t column) const {
        return block_.shared()[(seen * schema_.columns() + column) * block_.threads() + block_.thread()];
    }
    /// Adds to this thread's sum of a column; returns true where it no longer fits.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool add_overflows(std::uint32_t seen, std::uint32_t column,
                                                           uint128 amount) const {
        const uint128 sum = amount + own(seen, column);
        own(seen, column) = static_cast<std::uint64_t>(sum);
        return (sum >> 64U) != 0;
    }

    /// Adds up the columns and adds each sum to its word. With one view the sum is added to both. All threads call it;
    /// after it no thread may write before it has waited for the others.
    template <class Ref>
    FLOPTALLY_HOST_DEVICE void add_to(const Ref& into, modality in) const {
        block_.sync();
        const std::uint32_t lane = block_.thread() % warp_size;
        FLOPTALLY_ROLLED
        for (std::uint32_t column = block_.thread() / warp_size; column < views_ * schema_.columns();
             column += block_.threads() / warp_size) {
            const std::uint64_t* const rows = block_.shared() + std::size_t{column} * block_.threads();
            std::uint64_t sum = 0;
            bool wraps = false;
            for (std::uint32_t row = lane; row < block_.threads(); row += warp_size) {
                sum += rows[row];
                wraps = wraps || sum < rows[row];
            }
            for (std::uint32_t delta = warp_size / 2; delta > 0; delta /= 2) {
                const std::uint64_t other = block_.shuffle_down(sum, delta);
                if (lane < delta) {
                    sum += other;
                    wraps = wraps || sum < other;
                }
            }
            const std::uint32_t seen = column / schema_.columns();
            const std::uint32_t word = schema_.word_of(in, column % schema_.columns());
            if (wraps) {
                atomic_or(&into.refusals()->overflowed[seen], std::uint64_t{1} << word);
            }
            if (lane == 0 && sum != 0) {
                into.add_to(seen, word, sum);
                if (views_ == 1) {
                    into.add_to(1, word, sum);
                }
            }
        }
    }

  private:
    const Block& block_;
    const word_schema& schema_;
    std::uint32_t views_;
};

}  // namespace floptally::detail
