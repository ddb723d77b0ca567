// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cuda/detail/block.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/parallel/verified_sum.hpp>

namespace floptally::inline v0_3::detail {

/// The kernel that fills a rank's message for the sum of tallies over ranks. It runs in one block. If the tally has an
/// error or a value that this rank must not have, the kernel fills in a refusal instead. The other ranks then see the
/// error and do not wait.
struct fill_message {
    static constexpr std::uint32_t threads = 4 * warp_size;
    static constexpr std::uint32_t resident = 1;
    static constexpr launch_shape shape{.threads = threads, .shared_words = 1};

    struct arguments {
        const std::uint64_t* accumulators;
        const refusal_record* record;
        verified_sum::message_header sends;
        verified_sum::message_header refuses;
        const message_part* parts;  ///< parts of the message, in device memory
        std::uint32_t count;
        bool refused;  ///< true: the host found that the tally must not be sent
        std::uint64_t* to;
    };

    template <class Block>
    static FLOPTALLY_HOST_DEVICE void run(const Block& block, const arguments& args) {
        std::uint64_t* const refused = block.shared();
        if (block.thread() == 0) {
            const refusal_record& record = *args.record;
            *refused =
                args.refused || record.left_out != 0 || (record.overflowed[0] | record.overflowed[1]) != 0 ? 1 : 0;
        }
        block.sync();
        for (std::uint32_t i = block.thread(); i < args.count; i += block.threads()) {
            if (args.parts[i].must_be_zero && args.accumulators[args.parts[i].value] != 0) {
                atomic_or(refused, 1);
            }
        }
        block.sync();
        const bool sends = *refused == 0;
        constexpr auto header = static_cast<std::uint32_t>(verified_sum::header_size);
        if (block.thread() == 0) {
            FLOPTALLY_UNROLLED  // The loop is unrolled, because kernel arguments cannot be indexed at run time.
                for (std::uint32_t i = 0; i < header; ++i) {
                args.to[i] = sends ? args.sends.integers[i] : args.refuses.integers[i];
            }
        }
        for (std::uint32_t i = block.thread(); i < args.count; i += block.threads()) {
            args.to[header + i] = sends ? args.parts[i].integer_of(args.accumulators) : 0;
        }
    }
};

}  // namespace floptally::detail
