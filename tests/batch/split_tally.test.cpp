// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"

namespace split_tally_test {
namespace {

using namespace floptally;

std::vector<std::uint64_t> accumulators(const tally& t) { return {t.accumulators().begin(), t.accumulators().end()}; }

}  // namespace

TEST_CASE("an image, video or audio clip of size zero is a mock sample, and a split_tally counts its slot as padding",
          "[split_tally]") {
    const mask_set towers = mask_set::of_towers();
    // Pictures and clips, each beside what is real of it.
    for (const std::uint32_t t : {0U, 1U, 2U}) {
        for (const std::uint32_t h : {0U, 1U, 3U}) {
            for (const std::uint32_t w : {0U, 1U, 2U}) {
                const grid real{t, h, w};
                const grid slot{2, 3, 2};
                std::uint64_t patches = 0;
                for (std::uint32_t frame = 0; frame < t; ++frame) {
                    for (std::uint32_t row = 0; row < h; ++row) {
                        patches += w;
                    }
                }
                split_tally split{towers};
                split.add(real, slot);
                tally alone{towers};
                alone.add(real, slot);
                CAPTURE(t, h, w);
                CHECK(accumulators(split.real()) == (patches != 0 ? accumulators(alone) : accumulators(tally{towers})));
                CHECK(accumulators(split.mock()) == (patches == 0 ? accumulators(alone) : accumulators(tally{towers})));
                CHECK(accumulators(split.total()) == accumulators(alone));
            }
        }
    }
    for (const std::uint32_t frames : {0U, 1U, 7U}) {
        split_tally split{towers};
        split.add(audio_clip{frames}, audio_clip{9});
        CHECK(split.real().get(view::padded, accumulator::tokens, modality::audio) == (frames == 0 ? 0 : 9));
        CHECK(split.mock().get(view::padded, accumulator::tokens, modality::audio) == (frames == 0 ? 9 : 0));
    }
}

}  // namespace split_tally_test
