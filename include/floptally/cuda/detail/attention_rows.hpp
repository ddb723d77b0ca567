// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/cuda/detail/accumulator_schema.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/length_groups.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>

namespace floptally::inline v0_3::detail {

/// The unsigned integer type of mask flags that have `Bytes` bytes.
template <std::size_t Bytes>
using flag_of =
    std::conditional_t<Bytes == 1, std::uint8_t, std::conditional_t<Bytes == 2, std::uint16_t, unsigned_of<Bytes>>>;

/// The rows of an attention mask in device memory, with flags of 1 to 8 bytes.
struct flag_rows {
    const void* flags;
    std::size_t rows;
    std::size_t columns;
    bool is_signed;
    bool is_aligned;  ///< true: every row is aligned to 16 bytes

    template <std::integral T>
    flag_rows(const T* first_flag, std::size_t row_count, std::size_t column_count)
        : flags(first_flag),
          rows(row_count),
          columns(column_count),
          is_signed(std::is_signed_v<T>),
          is_aligned((reinterpret_cast<std::uintptr_t>(first_flag) | column_count * sizeof(T)) % 16 == 0) {}

    [[nodiscard]] std::size_t size() const { return rows; }
};

/// The kernel that adds the rows of an attention mask. A block of threads reads one row at a time, with 16-byte loads
/// if the rows are aligned. Then each thread updates some of the accumulators.
template <class Statistics, class T>
struct add_rows {
    static constexpr std::uint32_t threads = 256;
    static constexpr std::uint32_t resident = 5;
    static constexpr std::uint32_t units = 1;
    static constexpr std::uint32_t per_load = 16 / sizeof(T);

    using list_type = flag_rows;
    using arguments = list_arguments<list_type>;

    [[nodiscard]] static std::size_t shared_words(const accumulator_schema& /*schema*/) { return threads / warp_size; }

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& args) {
        const flag_rows& list = args.list;
        const basic_device_tally_ref<Statistics> tally(&args.schema, args.accumulators, args.refusals());
        FLOPTALLY_ROLLED
        for (std::size_t row = block.index(); row < list.rows; row += block.count()) {
            const T* const flags = static_cast<const T*>(list.flags) + row * list.columns;
            std::uint64_t sum = part_of(block, list, flags);
            FLOPTALLY_ROLLED
            for (std::uint32_t delta = warp_size / 2; delta > 0; delta /= 2) {
                sum += block.shuffle_down(sum, delta);
            }
            if (block.thread() % warp_size == 0) {
                block.shared()[block.thread() / warp_size] = sum;
            }
            block.sync();
            std::uint64_t all = 0;
            FLOPTALLY_ROLLED
            for (std::uint32_t warp = 0; warp < block.threads() / warp_size; ++warp) {
                all += block.shared()[warp];
            }
            block.sync();
            if (all >> 32U <= 1) {
                static_cast<void>(tally.add_accumulators(sequence{.length = static_cast<std::uint32_t>(all)},
                                                         sequence{.length = static_cast<std::uint32_t>(list.columns)},
                                                         block.thread(), block.threads()));
            } else if (block.thread() == 0) {
                const std::size_t index = fault_of(flags, list.columns);
                const auto flag = static_cast<std::uint64_t>(
                    static_cast<std::int64_t>(static_cast<std::make_signed_t<T>>(flags[index])));
                refuse(tally.refusals(), {args.call, row * list.columns + index},
                       {refused::flag, {}, list.is_signed ? refusal_head::is_signed : 0},
                       list.is_signed ? flag : flags[index], list.columns);
            }
        }
    }

  private:
    /// Counts one thread's flags of a row. The low half of the result is the number of ones. The high half is the
    /// number of runs of ones that begin among these flags, plus 2 if a flag is neither 0 nor 1. A row is valid if the
    /// sum of the high halves over all threads of the block is 0 or 1.
    template <class Block>
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE std::uint64_t part_of(const Block& block, const flag_rows& list,
                                                                     const T* flags) {
        std::uint32_t ones = 0;
        std::uint32_t starts = 0;
        bool others = false;
        FLOPTALLY_ROLLED
        for (std::size_t first = block.thread() * per_load; first < list.columns; first += block.threads() * per_load) {
            T loaded[per_load];
            if (list.is_aligned) {
                load_16_bytes(flags + first, loaded);
            } else {
                FLOPTALLY_UNROLLED
                for (std::uint32_t k = 0; k < per_load; ++k) {
                    loaded[k] = first + k < list.columns ? flags[first + k] : T{0};
                }
            }
            bool before = first != 0 && flags[first - 1] == T{1};
            FLOPTALLY_UNROLLED
            for (std::uint32_t k = 0; k < per_load; ++k) {
                const bool is_token = loaded[k] == T{1};
                ones += is_token ? 1U : 0U;
                starts += is_token && !before ? 1U : 0U;
                others = others || loaded[k] > T{1};
                before = is_token;
            }
        }
        return ones | (std::uint64_t{starts + (others ? 2U : 0U)} << 32U);
    }

    /// Returns the index of the first invalid flag of a row. A flag is invalid if it is neither 0 nor 1, or if it is a
    /// 1 after the row's run of ones has ended.
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE std::size_t fault_of(const T* flags, std::size_t columns) {
        bool has_begun = false;
        std::size_t index = 0;
        FLOPTALLY_ROLLED
        for (; index + 1 < columns; ++index) {
            const bool is_token = flags[index] == T{1};
            if (flags[index] > T{1} || (is_token && has_begun && flags[index - 1] != T{1})) {
                break;
            }
            has_begun = has_begun || is_token;
        }
        return index;
    }
};

}  // namespace floptally::detail
