// SPDX-License-Identifier: Apache-2.0

// One case of length_sums, repeated: callgrind.sh runs it under callgrind with different numbers of repeats and takes
// the difference, so that what is outside the loop does not count.
//
//     length_sums.callgrind            prints the cases, one per line
//     length_sums.callgrind CASE N     runs CASE N times over `sequences` lengths
//     length_sums.callgrind sequences  prints how many that is

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

#include <floptally/statistics/mask.hpp>

#include "../whole_sums.hpp"

namespace {

using floptally::mask;
using floptally::mask_set;
using floptally::statistic;
using whole_sums::length_sums;

constexpr std::size_t sequences = 4096;

mask_set masks_of(std::initializer_list<statistic> masks) {
    mask_set set;
    for (const statistic& m : masks) {
        set.push_back(m, "masks");
    }
    return set;
}

const std::vector<std::int64_t>& lengths(std::int64_t longest) {
    static std::vector<std::int64_t> values(sequences);
    std::mt19937_64 random(1);
    for (std::int64_t& value : values) {
        value = std::uniform_int_distribution<std::int64_t>(1, longest)(random);
    }
    return values;
}

template <class T>
std::uint64_t run_lengths(const mask_set& masks, long repeats, std::int64_t longest) {
    const auto& wide = lengths(longest);
    const std::vector<T> values(wide.begin(), wide.end());
    std::uint64_t sum = 0;
    for (long i = 0; i < repeats; ++i) {
        const length_sums sums = whole_sums::sum_lengths(values.data(), values.size(), masks);
        sum += sums.tokens + (sums.pairs.empty() ? 0 : sums.pairs[0]);
    }
    return sum;
}

template <class T>
std::uint64_t run_boundaries(const mask_set& masks, long repeats, std::int64_t longest) {
    std::vector<T> boundaries{0};
    for (const std::int64_t length : lengths(longest)) {
        boundaries.push_back(static_cast<T>(boundaries.back() + static_cast<T>(length)));
    }
    std::uint64_t sum = 0;
    for (long i = 0; i < repeats; ++i) {
        const length_sums sums = whole_sums::sum_cu_seqlens(boundaries.data(), boundaries.size(), masks);
        sum += sums.tokens + (sums.pairs.empty() ? 0 : sums.pairs[0]);
    }
    return sum;
}

struct measurement {
    const char* name;
    std::uint64_t (*run)(const mask_set&, long, std::int64_t);
    std::int64_t longest;
    mask_set masks;
};

std::vector<measurement> cases() {
    const mask_set none;
    const mask_set window = masks_of({mask::sliding_window(4096)});
    const mask_set windows = masks_of({mask::sliding_window(512), mask::sliding_window(1024),
                                       mask::sliding_window(2048), mask::sliding_window(4096)});
    return {
        {"int32/no_masks", run_lengths<std::int32_t>, 8000, none},
        {"int32/one_window", run_lengths<std::int32_t>, 8000, window},
        {"int32/four_windows", run_lengths<std::int32_t>, 8000, windows},
        {"int32/chunked_7", run_lengths<std::int32_t>, 8000, masks_of({mask::chunked(7)})},
        {"int32/chunked_3000", run_lengths<std::int32_t>, 8000, masks_of({mask::chunked(3000)})},
        {"int32/chunked_8192", run_lengths<std::int32_t>, 8000, masks_of({mask::chunked(8192)})},
        {"int32/compressed_4", run_lengths<std::int32_t>, 8000, masks_of({mask::compressed_keys(4)})},
        {"int32/window_64_64", run_lengths<std::int32_t>, 8000, masks_of({mask::window(64, 64)})},
        {"int32/cu_seqlens/no_masks", run_boundaries<std::int32_t>, 8000, none},
        {"int32/cu_seqlens/one_window", run_boundaries<std::int32_t>, 8000, window},
        {"int32/cu_seqlens/four_windows", run_boundaries<std::int32_t>, 8000, windows},
        {"int64/no_masks", run_lengths<std::int64_t>, 8000, none},
        {"int64/one_window", run_lengths<std::int64_t>, 8000, window},
        {"int64/cu_seqlens/no_masks", run_boundaries<std::int64_t>, 8000, none},
        {"int32/to_100000/no_masks", run_lengths<std::int32_t>, 100000, none},
        {"int32/to_100000/one_window", run_lengths<std::int32_t>, 100000, window},
        {"int32/to_100000/chunked_8192", run_lengths<std::int32_t>, 100000, masks_of({mask::chunked(8192)})},
    };
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "sequences") == 0) {
        std::printf("%zu\n", sequences);
        return 0;
    }
    if (argc == 3) {
        for (const measurement& m : cases()) {
            if (std::strcmp(argv[1], m.name) == 0) {
                // The result is used, so that the loop stays.
                return m.run(m.masks, std::atol(argv[2]), m.longest) == 1 ? 1 : 0;
            }
        }
        std::fprintf(stderr, "no such case: %s\n", argv[1]);
        return 2;
    }
    for (const measurement& m : cases()) {
        std::printf("%s\n", m.name);
    }
    return 0;
}
