// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>

namespace floptally::detail {

/// Rows of an attention mask, each read by one block, in loads of 16 bytes where every row is aligned to 16 bytes.
template <std::integral T>
class attention_rows {
  public:
    static constexpr block_shape shape{.threads = 256, .resident = 5, .units = 1, .views = 0};
    static constexpr std::size_t per_load = 16 / sizeof(T);
    using unit = sequence;

    attention_rows(const T* flags, std::size_t rows, std::size_t columns)
        : flags_(flags), rows_(rows), columns_(columns), aligned_(lies_on_16_bytes(flags) && columns % per_load == 0) {}

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t size() const { return rows_; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::size_t columns() const { return columns_; }

    /// One thread's part of a row: the number of its ones in the low half; in the high half the starts of a run of
    /// ones, plus 2 if a flag is neither 0 nor 1. The row is right where the sum of the high half over the block is 0
    /// or 1.
    template <class Block>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t part_of(const Block& block, std::size_t row) const {
        const T* const flags = flags_ + row * columns_;
        std::uint32_t ones = 0;
        std::uint32_t starts = 0;
        bool others = false;
        FLOPTALLY_ROLLED
        for (std::size_t first = block.thread() * per_load; first < columns_; first += block.threads() * per_load) {
            T loaded[per_load];
            if (aligned_) {
                load_16_bytes(flags + first, loaded);
            } else {
                for (std::size_t k = 0; k < per_load; ++k) {
                    loaded[k] = first + k < columns_ ? flags[first + k] : T{0};
                }
            }
            bool before = first != 0 && flags[first - 1] == T{1};
            FLOPTALLY_UNROLLED
            for (std::size_t k = 0; k < per_load; ++k) {
                const bool is_token = loaded[k] == T{1};
                ones += is_token ? 1U : 0U;
                starts += is_token && !before ? 1U : 0U;
                others = others || (loaded[k] != T{0} && !is_token);
                before = is_token;
            }
        }
        return ones | (std::uint64_t{starts + (others ? 2U : 0U)} << 32U);
    }

    /// The reason why a row is wrong, and in `at` the place of the flag: the first that is neither 0 nor 1, or is 1
    /// after the ones have ended.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal fault_of(std::size_t row, std::size_t& at) const {
        const T* const flags = flags_ + row * columns_;
        bool seen = false;
        for (at = 0; at + 1 < columns_; ++at) {
            const bool is_token = flags[at] == T{1};
            if ((!is_token && flags[at] != T{0}) || (is_token && seen && flags[at - 1] != T{1})) {
                break;
            }
            seen = seen || is_token;
        }
        return {refused::flag, flags[at], columns_};
    }

  private:
    const T* flags_;
    std::size_t rows_;
    std::size_t columns_;
    bool aligned_;
};

/// The body of the kernel that adds rows of an attention mask: a block reads a row, and a thread adds each word of it.
template <class Block, class T, class Ref>
FLOPTALLY_HOST_DEVICE void add_list(const Block& block, const attention_rows<T>& list, const Ref& into,
                                    std::uint32_t call) {
    const std::uint32_t warps = block.threads() / warp_size;
    FLOPTALLY_ROLLED
    for (std::size_t row = block.index(); row < list.size(); row += block.count()) {
        std::uint64_t part = list.part_of(block, row);
        for (std::uint32_t delta = warp_size / 2; delta > 0; delta /= 2) {
            part += block.shuffle_down(part, delta);
        }
        if (block.thread() % warp_size == 0) {
            block.shared()[block.thread() / warp_size] = part;
        }
        block.sync();
        std::uint64_t all = 0;
        for (std::uint32_t warp = 0; warp < warps; ++warp) {
            all += block.shared()[warp];
        }
        block.sync();
        if (all >> 32U > 1) {
            if (block.thread() == 0) {
                std::size_t at = 0;
                const refusal why = list.fault_of(row, at);
                refuse(into.refusals(), {call, row * list.columns() + at}, why);
            }
            continue;
        }
        into.add_words(sequence{.length = static_cast<std::uint32_t>(all)},
                       sequence{.length = static_cast<std::uint32_t>(list.columns())}, block.thread(), block.threads());
    }
}

}  // namespace floptally::detail
