// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <vector>

#include <floptally/parallel/packing.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace packing_test {
namespace {

using floptally::pack_by_capacity;
using floptally::packing_options;
using numbers = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("packing places samples from longest to shortest, each in the first pack with enough room", "[packing]") {
    const numbers lengths{1, 4, 5, 2};
    CHECK(pack_by_capacity(lengths, 6).pack_of == numbers{0, 1, 0, 1});
    // Where more packs are asked for, the fullest gives up its largest sample; of two as full the first.
    CHECK(pack_by_capacity(lengths, 6, {.min_packs = 3}).pack_of == numbers{0, 1, 2, 1});
    CHECK(pack_by_capacity(lengths, 6, {.min_packs = 4}).pack_of == numbers{0, 3, 2, 1});
    CHECK(pack_by_capacity(lengths, 6, {.divisor = 4}).pack_of == numbers{0, 3, 2, 1});
    const auto problem = [&](std::uint64_t capacity, const packing_options& options) {
        return error_of([&] { return pack_by_capacity(lengths, capacity, options); });
    };
    CHECK(problem(6, {.min_packs = 5}) ==
          "min_packs: asks for 5 packs, but there are only 4 samples: pass a smaller number");
    CHECK(problem(6, {.divisor = 5}) ==
          "divisor: asks for 5 packs, but there are only 4 samples: pass a smaller number");
    CHECK(problem(4, {}) == "lengths[2]: must fit the capacity of 4 tokens, got 5 after alignment");
    CHECK(problem(5, {}) == "no error");
}

TEST_CASE("a packing lists the samples and boundaries of each pack and the pack of each sample", "[packing]") {
    const numbers pack_of{1, 0, 1};
    const floptally::packing packed = floptally::pack_by_assignment(numbers{3, 5, 2}, pack_of, 2, 4);
    CHECK(packed.pack_of == pack_of);
    CHECK(packed.offset_of == numbers{0, 0, 4});
    REQUIRE(packed.packs.size() == 2);
    CHECK(packed.packs[0] == floptally::pack{{1}, {0, 5}, {0, 8}});
    CHECK(packed.packs[1] == floptally::pack{{0, 2}, {0, 3, 5}, {0, 4, 8}});
    CHECK(error_of([&] { return floptally::pack_by_assignment(numbers{3, 5}, pack_of, 2); }) != "no error");
    CHECK(error_of([] {
              return pack_by_capacity(numbers{9, 1}, 6);
          }) == "lengths[0]: must fit the capacity of 6 tokens, got 9 after alignment");
    CHECK(error_of([] { return pack_by_capacity(numbers{1}, 6, {.divisor = 0}); }) ==
          "divisor: must be at least 1, got 0");
    CHECK(error_of([] {
              return pack_by_capacity(numbers{6, 6}, 6, {.min_packs = 2, .divisor = 3});
          }) == "divisor: asks for 3 packs, but there are only 2 samples: pass a smaller number");
    CHECK(pack_by_capacity(numbers{4, 4, 4}, 8).pack_of == numbers{0, 0, 1});
}

TEST_CASE("packing fills four packs exactly with eight samples if pairs of samples add up to the capacity",
          "[packing]") {
    // 7 + 1, 6 + 2, 5 + 3, 4 + 4: eight samples fill four packs of eight.
    CHECK(pack_by_capacity(numbers{7, 6, 5, 4, 4, 3, 2, 1}, 8).pack_of == numbers{0, 1, 2, 3, 3, 2, 1, 0});
}

}  // namespace packing_test
