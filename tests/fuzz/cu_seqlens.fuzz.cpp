// SPDX-License-Identifier: Apache-2.0
//
// Any cu_seqlens, cu_seqlens_padded and num_real_seqs, in 32 and 64 bits: the sums of a plain loop in 128 bits, or a
// floptally::error that leaves the tally as it was, and never one where the plain loop finds nothing wrong.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask.hpp>

#include "fuzz_input.hpp"

namespace {

using floptally::mask;
using floptally::tally;
using floptally::uint128;
__extension__ typedef __int128 int128;

const floptally::mask_set& masks() {
    static const floptally::mask_set all = [] {
        floptally::mask_set set;
        for (const mask& m : {mask::sliding_window(5), mask::window(3, 4), mask::chunked(6), mask::top_k(4000),
                              mask::compressed_keys(3), mask::prefix_lm(2)}) {
            set.push_back(m, "masks");
        }
        return set;
    }();
    return all;
}

using sums = std::vector<std::uint64_t>;

/// The sums of one view over the first `real` sequences of `boundaries`; none where a boundary or a sum is wrong.
template <class T>
std::optional<sums> added_up(const std::vector<T>& boundaries, std::size_t real) {
    std::vector<uint128> all(tally::fixed_accumulators + masks().size(), 0);
    if (boundaries.empty() || boundaries[0] != 0) {
        return {};
    }
    for (std::size_t i = 0; i + 1 < boundaries.size(); ++i) {
        const int128 length = int128{boundaries[i + 1]} - boundaries[i];
        if (length < 0 || length > std::numeric_limits<std::uint32_t>::max()) {
            return {};
        }
        const auto n = static_cast<std::uint32_t>(length);
        if (i < real) {
            all[0] += n != 0 ? 1U : 0U;
            all[1] += n;
            all[3] += uint128{n} * n;
            for (std::size_t m = 0; m < masks().size(); ++m) {
                all[tally::fixed_accumulators + m] += masks()[m].pairs({.length = n});
            }
        }
    }
    sums narrow;
    for (const uint128 sum : all) {
        if (sum > std::numeric_limits<std::uint64_t>::max()) {
            return {};
        }
        narrow.push_back(static_cast<std::uint64_t>(sum));
    }
    return narrow;
}

/// Useful and then padded; none where anything is wrong.
template <class T>
std::optional<sums> added_up(const std::vector<T>& real, const std::vector<T>& slots, std::size_t num_real_seqs) {
    // Sequences that are not counted are checked too.
    const std::optional<sums> all = added_up(real, real.size());
    const std::optional<sums> useful = added_up(real, num_real_seqs);
    const std::optional<sums> padded = added_up(slots, slots.size());
    if (!all || !useful || !padded || real.size() != slots.size() || num_real_seqs > real.size() - 1) {
        return {};
    }
    for (std::size_t i = 0; i < num_real_seqs; ++i) {
        if (slots[i + 1] - slots[i] < real[i + 1] - real[i]) {
            return {};
        }
    }
    sums both = *useful;
    both.insert(both.end(), padded->begin(), padded->end());
    return both;
}

template <class T>
void check(const std::vector<T>& real, const std::vector<T>& slots, std::size_t num_real_seqs) {
    const std::optional<sums> expected = added_up(real, slots, num_real_seqs);
    tally batch{masks()};
    floptally::split_tally split{masks()};
    bool refused = false;
    try {
        batch.add_cu_seqlens(real, slots, num_real_seqs);
    } catch (const floptally::error& problem) {
        refused = true;
        require(!problem.field().empty());
        require(batch == tally{masks()});
    }
    require(refused != expected.has_value());
    try {
        split.add_cu_seqlens(real, slots, num_real_seqs);
        require(!refused);
        require(split.total() == batch);
        require(split.mock().get(floptally::view::useful, floptally::accumulator::tokens) == 0);
    } catch (const floptally::error&) {
        require(refused && split == floptally::split_tally{masks()});
    }
    if (expected) {
        require(
            std::equal(expected->begin(), expected->end(), batch.accumulators().begin(), batch.accumulators().end()));
    }
}

/// Takes numbers off the front of the input; zeros once it is used up.
/// Boundaries as they come, or, since few of those are valid, from lengths that are added up and may wrap.
template <class T>
void run(reader& input, unsigned form) {
    using bits_type = std::make_unsigned_t<T>;
    const auto num_real_seqs = input.take<std::uint16_t>();
    std::vector<T> real;
    std::vector<T> slots;
    if ((form & 1U) != 0) {
        while (!input.empty()) {
            real.push_back(input.take<T>());
            slots.push_back(input.take<T>());
        }
    } else {
        bits_type a = 0;
        bits_type b = 0;
        real.push_back(0);
        slots.push_back(0);
        while (!input.empty()) {
            // Repeats fill the blocks of the vector code; a slot may be too short, too.
            const unsigned how = input.take<std::uint8_t>();
            const auto length = (how & 1U) != 0 ? static_cast<bits_type>(input.take<std::uint16_t>())
                                                : static_cast<bits_type>(input.take<T>());
            for (unsigned repeats = 1U << (how >> 5U); repeats != 0 && real.size() < 1200; --repeats) {
                a += length;
                b += length + (how >> 1U) % 16U - 2U;
                real.push_back(static_cast<T>(a));
                slots.push_back(static_cast<T>(b));
            }
        }
    }
    if ((form & 2U) != 0) {
        real.pop_back();
    }
    check(real, slots, (form & 4U) != 0 ? num_real_seqs : std::min<std::size_t>(num_real_seqs, real.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) {
        return 0;
    }
    reader input(data, size);
    const unsigned form = input.take<std::uint8_t>();
    switch (form & 3U) {
        case 0:
            run<std::int32_t>(input, form >> 2U);
            break;
        case 1:
            run<std::uint32_t>(input, form >> 2U);
            break;
        case 2:
            run<std::int64_t>(input, form >> 2U);
            break;
        default:
            run<std::uint64_t>(input, form >> 2U);
            break;
    }
    return 0;
}
