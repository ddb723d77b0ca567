// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/cuda/block_sum.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/unit_lists.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/host_device.hpp>

namespace floptally::detail {

/// The body of the kernel that adds whatever is no plain length: a thread takes one unit a round.
template <class Block, class List, class Ref>
FLOPTALLY_HOST_DEVICE void add_units(const Block& block, const List& list, const Ref& into, std::uint32_t call) {
    using unit = typename List::unit;
    const word_schema& schema = into.schema();
    const block_columns<Block> sums(block, schema, 1);
    sums.clear();
    const std::size_t all = std::size_t{block.count()} * block.threads();
    for (std::size_t i = std::size_t{block.index()} * block.threads() + block.thread(); i < list.size(); i += all) {
        unit real{};
        if (!list.take(i, real, call, into)) {
            continue;
        }
        if (!into.is_valid(real, real)) {
            refuse(into.refusals(), {call, i * List::numbers_per_unit}, {real, real});
            continue;
        }
        FLOPTALLY_ROLLED
        for (std::uint32_t column = 0; column < schema.columns(); ++column) {
            const std::uint32_t word = schema.word_of(modality_of(real), column);
            if (schema.is_of(modality_of(real), word) &&
                sums.add_overflows(0, column, amount_of<typename Ref::rules>(schema, word, real))) {
                atomic_or(&into.refusals()->overflowed[0], std::uint64_t{1} << word);
            }
        }
    }
    sums.add_to(into, modality_of(unit{}));
}

}  // namespace floptally::detail
