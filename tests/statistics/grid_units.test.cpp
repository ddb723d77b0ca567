// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <utility>

#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace grid_units_test {
namespace {

namespace unit = floptally::unit;
using floptally::grid;
using floptally::mask;
using floptally::statistic;
using floptally::tally;
using floptally::view;

}  // namespace

TEST_CASE("a table of tokens per image size sets the tokens of each frame, and each token attends every patch",
          "[listed]") {
    for (std::uint32_t h = 1; h <= 7; ++h) {
        for (std::uint32_t w = 1; w <= 7; ++w) {
            std::uint64_t units = 0;
            for (const auto& [patches, queries] : {std::pair{12U, 5U}, std::pair{9U, 2U}}) {
                units = h * w == patches ? queries : units;
            }
            std::uint64_t pairs = 0;
            for (std::uint64_t unit = 0; unit < units; ++unit) {
                for (std::uint64_t patch = 0; patch < h * w; ++patch) {
                    ++pairs;
                }
            }
            if (units == 0) {
                REQUIRE(error_of([&] {
                            return statistic(unit::listed_units(12, 5, 9, 2)).pairs(grid{3, h, w});
                        }).ends_with(" patches: a frame must have 12 or 9 patches; resize the image"));
                continue;
            }
            REQUIRE(statistic(unit::listed_units(12, 5, 9, 2)).pairs(grid{3, h, w}) == 3 * units);
            REQUIRE(mask::listed_pairs(12, 5, 9, 2).pairs(grid{3, h, w}) == 3 * pairs);
        }
    }
    CHECK(mask::listed_pairs(12, 5, 9, 2).pairs(grid{0, 3, 4}) == 0);
    CHECK(statistic(unit::listed_units(12, 5, 9, 2)).name() == "vision.listed_units(12,5,9,2)");
}

TEST_CASE("an image whose number of patches is not in the table of sizes is an error that names the image's grid",
          "[listed][errors]") {
    tally two{floptally::mask_set{mask::listed_pairs(12, 5, 9, 2)}};
    two.add(grid{1, 3, 3});
    two.add(grid{0, 5, 5});
    CHECK(two.pairs(view::useful, mask::listed_pairs(12, 5, 9, 2)) == 18);
    CHECK(error_of([&] {
              two.add(grid{1, 5, 2});
          }) == "grid: 1 x 5 x 2 patches: a frame must have 12 or 9 patches; resize the image");
    tally sums{floptally::mask_set{unit::listed_units(12, 5, 12, 5)}};
    CHECK(error_of([&] {
              sums.add(grid{2, 3, 3});
          }) == "grid: 2 x 3 x 3 patches: a frame must have 12 patches; resize the image");
    CHECK(error_of([] { return unit::listed_units(0, 1, 1, 1); }) == "patches: must be from 1 to 2147483647, got 0");
}

}  // namespace grid_units_test
