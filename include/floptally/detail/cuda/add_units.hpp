// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/cuda/device_tally_ref.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/cuda/block_sum.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/cuda/unit_lists.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/host_device.hpp>

namespace floptally::detail {

/// The body of the kernel that adds whatever is no plain length: a thread, or a warp, takes one unit a round.
template <class Block, class List, class Ref>
FLOPTALLY_HOST_DEVICE void add_units(const Block& block, const List& list, const Ref& into, std::uint32_t call) {
    using unit = typename List::unit;
    const word_schema& schema = into.schema();
    const Ref local = into.local(block.shared());
    local.clear(block.thread(), block.threads());
    block.sync();
    const std::size_t all = std::size_t{block.count()} * block.threads() / List::threads_per_unit;
    const std::size_t own = (std::size_t{block.index()} * block.threads() + block.thread()) / List::threads_per_unit;
    for (std::size_t round = 0; round < list.size(); round += all) {  // all threads, for they add up together
        const std::size_t i = round + own;
        unit real{};
        unit slot{};
        bool counts = i < list.size() && list.take(block, i, real, slot, call, into);
        if (counts && !into.is_valid(real, slot)) {
            refuse(into.refusals(), {call, i * List::numbers_per_unit}, {real, slot});
            counts = false;
        }
        for (std::uint32_t word = 0; word < schema.stride(); ++word) {
            if (schema.is_of(modality_of(real), word)) {
                add_warp(block, local, 0, word,
                         counts ? amount_of<typename Ref::rules>(schema, word, real) : uint128{0});
                add_warp(block, local, 1, word,
                         counts ? amount_of<typename Ref::rules>(schema, word, slot) : uint128{0});
            }
        }
    }
    block.sync();
    into.merge(local, block.thread(), block.threads());
}

}  // namespace floptally::detail
