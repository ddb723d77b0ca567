// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/parallel/witnessed_sum.hpp>

namespace floptally::detail {

/// The kernel that fills the message of a rank, by one block. A rank whose tally has an error, or a value that the rank
/// should not hold, sends a refusal, as it would on the host: the others learn of it and no rank waits.
struct fill_message {
    static constexpr std::uint32_t threads = 4 * warp_size;
    static constexpr std::uint32_t resident = 1;
    static constexpr launch_shape shape{.threads = threads, .shared_words = 1};

    struct arguments {
        const std::uint64_t* words;
        const refusal_record* record;
        witnessed_sum::message_header sends;
        witnessed_sum::message_header refuses;
        const message_part* parts;  ///< in device memory
        std::uint32_t count;
        bool refused;  ///< by the host already
        std::uint64_t* to;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& given) {
        std::uint64_t* const refused = block.shared();
        if (block.thread() == 0) {
            const refusal_record& record = *given.record;
            *refused =
                given.refused || record.left_out != 0 || (record.overflowed[0] | record.overflowed[1]) != 0 ? 1 : 0;
        }
        block.sync();
        for (std::uint32_t i = block.thread(); i < given.count; i += block.threads()) {
            if (given.parts[i].must_be_zero && given.words[given.parts[i].value] != 0) {
                atomic_or(refused, 1);
            }
        }
        block.sync();
        const bool sends = *refused == 0;
        constexpr auto header = static_cast<std::uint32_t>(witnessed_sum::header_size);
        if (block.thread() == 0) {
            FLOPTALLY_UNROLLED  // parameters have no address
                for (std::uint32_t i = 0; i < header; ++i) {
                given.to[i] = sends ? given.sends.words[i] : given.refuses.words[i];
            }
        }
        for (std::uint32_t i = block.thread(); i < given.count; i += block.threads()) {
            given.to[header + i] = sends ? given.parts[i].of(given.words) : 0;
        }
    }
};

}  // namespace floptally::detail
