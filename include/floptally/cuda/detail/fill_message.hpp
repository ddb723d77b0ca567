// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/parallel/witnessed_sum.hpp>

namespace floptally::detail {

/// The message of a rank, as a kernel fills it: `parts` is in device memory.
struct message_parts {
    witnessed_sum::message_header sends;
    witnessed_sum::message_header refuses;
    const message_part* parts;
    std::uint32_t count;
};

/// The body of the kernel that fills the message of a rank, by one block. A rank whose tally has an error, or a value
/// that the rank should not hold, sends a refusal, as it would on the host: the others learn of it and no rank waits.
template <class Block>
FLOPTALLY_HOST_DEVICE void fill_message(const Block& block, const std::uint64_t* words, const refusal_record& record,
                                        const message_parts& message, bool refuses, std::uint64_t* to) {
    std::uint64_t* const refused = block.shared();
    if (block.thread() == 0) {
        *refused = refuses || record.left_out != 0 || (record.overflowed[0] | record.overflowed[1]) != 0 ? 1 : 0;
    }
    block.sync();
    for (std::uint32_t i = block.thread(); i < message.count; i += block.threads()) {
        if (message.parts[i].must_be_zero && words[message.parts[i].value] != 0) {
            atomic_or(refused, 1);
        }
    }
    block.sync();
    const bool sends = *refused == 0;
    constexpr auto header = static_cast<std::uint32_t>(witnessed_sum::header_size);
    if (block.thread() == 0) {
        FLOPTALLY_UNROLLED  // parameters have no address
            for (std::uint32_t i = 0; i < header; ++i) {
            to[i] = sends ? message.sends.words[i] : message.refuses.words[i];
        }
    }
    for (std::uint32_t i = block.thread(); i < message.count; i += block.threads()) {
        to[header + i] = sends ? message.parts[i].of(words) : 0;
    }
}

}  // namespace floptally::detail
