// SPDX-License-Identifier: Apache-2.0
//
// Any grids with their texts, clips and lengths of two sides, for the masks and units of towers: each accumulator
// grows, useful stays at most padded and the tally is that of its samples one by one, or an error leaves it as it was.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/statistic.hpp>

#include "fuzz_input.hpp"

namespace {

using floptally::mask;
using floptally::tally;
using floptally::view;

const floptally::mask_set& masks() {
    static const floptally::mask_set all = [] {
        floptally::mask_set set;
        for (const mask& m :
             {mask::joint_pairs(), mask::latent_pairs(), mask::grid_windows(3), mask::sliding_window(5)}) {
            set.find_or_add(m, "masks");
        }
        return set;
    }();
    return all;
}

bool at_most(const tally& a, const tally& b) {
    for (std::size_t i = 0; i < a.accumulators().size(); ++i) {
        if (a.accumulators()[i] > b.accumulators()[i]) {
            return false;
        }
    }
    return true;
}

/// True where the call added; where it is an error the tally is as it was.
template <class Call>
bool added(tally& to, Call call) {
    const tally before = to;
    try {
        call(to);
    } catch (const floptally::error& problem) {
        require(!problem.field().empty() && to == before);
        return false;
    }
    require(at_most(before, to));
    return true;
}

template <class T>
void run(reader& input) {
    tally batch{masks()};
    tally one_by_one{masks()};
    while (!input.empty()) {
        std::vector<T> grids;
        std::vector<T> texts;
        std::vector<T> lengths;
        const unsigned how = input.take<std::uint8_t>();
        for (unsigned i = 0; i < how % 8U; ++i) {
            for (int side = 0; side < 3; ++side) {
                grids.push_back((how & 32U) != 0 ? input.take<T>() : static_cast<T>(input.take<std::uint8_t>()));
            }
            texts.push_back((how & 64U) != 0 ? input.take<T>() : static_cast<T>(input.take<std::uint8_t>()));
            lengths.push_back(static_cast<T>(input.take<std::uint16_t>()));
        }
        bool whole = false;
        if ((how & 16U) != 0) {
            whole = added(batch, [&](tally& to) { to.add_grids_with_text(grids, texts); });
        } else {
            whole = added(batch, [&](tally& to) { to.add_encoder_decoder(lengths, texts); });
        }
        if (!whole) {
            continue;
        }
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::vector<T> text{texts[i]};
            require(added(one_by_one, [&](tally& to) {
                if ((how & 16U) != 0) {
                    to.add_grids_with_text(std::vector<T>{grids[3 * i], grids[3 * i + 1], grids[3 * i + 2]}, text);
                } else {
                    to.add_encoder_decoder(std::vector<T>{lengths[i]}, text);
                }
            }));
        }
        require(batch == one_by_one);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    reader input(data, size);
    if ((input.take<std::uint8_t>() & 1U) != 0) {
        run<std::int32_t>(input);
    } else {
        run<std::uint64_t>(input);
    }
    return 0;
}
