// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <vector>

#include <floptally/batch/source.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/moments.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/statistic_text.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace latent_statistics_test {
namespace {

namespace unit = floptally::unit;
using floptally::accumulator;
using floptally::grid;
using floptally::latent_patches;
using floptally::latent_reach;
using floptally::mask;
using floptally::modality;
using floptally::statistic;
using floptally::tally;
using floptally::token_stream;
using floptally::view;

/// A token as the enumeration makes it: where it stands, or that it is of the text or of neither.
struct token {
    enum class kind { grid, text, prefix } of = kind::grid;
    std::uint32_t frame = 0;
    std::uint32_t place = 0;
};

/// The tokens of one stream of a sample, one by one; padding tokens stand at the place of the first.
std::vector<token> stream(const grid& g, const latent_patches& made, bool of_text) {
    std::vector<token> all;
    if (of_text) {
        for (std::uint32_t k = 0; k < g.keys; ++k) {
            all.push_back({token::kind::text, 0, 0});
        }
    } else {
        const auto begins = [&](std::uint32_t cell, std::uint32_t end, std::int64_t patch) {
            return cell % patch == 0 && (made.filled || cell + patch <= end);
        };
        std::uint32_t frame = 0;
        for (std::uint32_t t = 0; t < g.t; ++t) {
            std::uint32_t place = 0;
            const bool is_frame = begins(t, g.t, made.frames);
            for (std::uint32_t y = 0; y < g.h; ++y) {
                for (std::uint32_t x = 0; x < g.w; ++x) {
                    if (is_frame && begins(y, g.h, made.side) && begins(x, g.w, made.side)) {
                        all.push_back({token::kind::grid, frame, place++});
                    }
                }
            }
            frame += is_frame ? 1 : 0;
        }
    }
    while (all.size() % static_cast<std::size_t>(made.multiple) != 0) {
        all.push_back(all.front());
    }
    return all;
}

std::vector<token> tokens(const grid& g, const latent_patches& made, token_stream which) {
    std::vector<token> all = stream(g, made, false);
    const bool is_empty = all.empty();
    if (which == token_stream::text) {
        all.clear();
    }
    if (which != token_stream::grid) {
        const std::vector<token> text = stream(g, made, true);
        all.insert(all.end(), text.begin(), text.end());
    }
    for (std::int64_t k = 0; !is_empty && k < made.prefix; ++k) {
        all.push_back({token::kind::prefix, 0, 0});
    }
    return all;
}

const std::vector<latent_patches> ways{{},
                                       {.side = 2},
                                       {.side = 2, .frames = 2, .filled = true},
                                       {.side = 3, .filled = true},
                                       {.multiple = 8},
                                       {.side = 2, .multiple = 4, .prefix = 5},
                                       {.prefix = 3}};

template <class Visit>
void for_each_sample(Visit visit) {
    for (const latent_patches& made : ways) {
        for (const std::uint32_t t : {0U, 1U, 3U, 4U}) {
            for (std::uint32_t h = 0; h < 6; ++h) {
                for (const std::uint32_t w : {1U, 4U, 5U}) {
                    for (const std::uint32_t text : {0U, 1U, 7U}) {
                        const grid sample{t, h, w, text};
                        if (mask::joint_pairs(made).problem_of(sample) == floptally::grid_problem::none) {
                            visit(made, sample);
                        }
                    }
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("tokens and pairs of an image grid with text equal an enumeration per stream", "[latents]") {
    std::size_t samples = 0;
    for_each_sample([&](const latent_patches& outcome, const grid& g) {
        INFO(g.t << " x " << g.h << " x " << g.w << " and " << g.keys << ", side " << outcome.side);
        REQUIRE(statistic(unit::latent_tokens(outcome))(g) == tokens(g, outcome, token_stream::grid).size());
        for (const token_stream queries : {token_stream::grid, token_stream::text, token_stream::joint}) {
            REQUIRE(statistic(unit::joint_tokens(outcome, queries))(g) == tokens(g, outcome, queries).size());
            for (const token_stream keys : {token_stream::grid, token_stream::text, token_stream::joint}) {
                std::uint64_t pairs = 0;
                for (std::size_t i = 0; i < tokens(g, outcome, queries).size(); ++i) {
                    pairs += tokens(g, outcome, keys).size();
                }
                REQUIRE(mask::joint_pairs(outcome, queries, keys).pairs(g) == pairs);
            }
        }
        const std::vector<token> all = tokens(g, outcome, token_stream::grid);
        REQUIRE(mask::latent_pairs(outcome).pairs(g) == all.size() * all.size());
        ++samples;
    });
    CHECK(samples > 300);
}

TEST_CASE("video pairs within a frame, or at one position of all frames, equal an enumeration", "[latents]") {
    for (const latent_patches& result : {latent_patches{}, latent_patches{.side = 2}, latent_patches{.frames = 2}}) {
        for (const grid& g : {grid{2, 2, 3}, grid{4, 4, 6}, grid{6, 2, 4, 9}, grid{0, 4, 4}}) {
            std::uint64_t of_frame = 0;
            std::uint64_t of_place = 0;
            for (const token& query : stream(g, result, false)) {
                for (const token& key : stream(g, result, false)) {
                    of_frame += query.frame == key.frame ? 1U : 0U;
                    of_place += query.place == key.place ? 1U : 0U;
                }
            }
            CHECK(mask::latent_pairs(result, latent_reach::frame).pairs(g) == of_frame);
            CHECK(mask::latent_pairs(result, latent_reach::place).pairs(g) == of_place);
        }
    }
}

TEST_CASE("counts of text or prefix tokens that are repeated for each frame or position equal an enumeration",
          "[latents]") {
    for_each_sample([](const latent_patches& patching, const grid& g) {
        for (const token_stream which : {token_stream::text, token_stream::joint}) {
            for (const latent_reach each : {latent_reach::frame, latent_reach::place}) {
                std::set<std::uint32_t> parts;
                std::size_t own = 0;
                for (const token& item : stream(g, {patching.side, patching.frames, 1, 0, patching.filled}, false)) {
                    parts.insert(each == latent_reach::frame ? item.frame : item.place);
                }
                std::size_t beside = 0;
                for (const token& position_of : tokens(g, patching, which)) {
                    (position_of.of == token::kind::grid ? own : beside) += 1;
                }
                if (!parts.empty()) {
                    REQUIRE(statistic(unit::joint_tokens(patching, which, each)).pairs(g) ==
                            own + parts.size() * beside);
                }
            }
        }
    });
    CHECK(floptally::statistic_named("vision.joint_tokens(2,prefix=1,streams=0,each=1)").pairs(grid{3, 4, 4, 9}) == 3);
    CHECK(statistic(unit::joint_tokens({}, token_stream::text, latent_reach::frame))
              .pairs(grid{1U << 31, 1, 1, 0x7FFF'FFFF}) == (std::uint64_t{1} << 31) * 0x7FFF'FFFF);
    CHECK(statistic(unit::joint_tokens({}, token_stream::text, latent_reach::frame)).pairs(grid{5, 0, 4, 9}) == 9);
}

TEST_CASE("pairs of joint image-text attention are summed sample by sample and never computed from means",
          "[latents]") {
    const mask joint = mask::joint_pairs({.side = 2});
    const statistic text = statistic(floptally::moment_statistics::keys{}).in(modality::vision);
    const statistic crossed = statistic(floptally::moment_statistics::crossed{}).in(modality::vision);
    tally batch{floptally::mask_set{joint, text, crossed, unit::clips()}};
    const std::vector<std::int32_t> grids{1, 4, 6, 2, 2, 2, 1, 8, 8};
    batch.add_grids_with_text(grids, std::vector<std::int64_t>{5, 0, 11});
    CHECK(batch.pairs(view::useful, joint) == 11 * 11 + 2 * 2 + 27 * 27);
    CHECK(batch.pairs(view::useful, text) == 16);
    CHECK(batch.get(view::useful, accumulator::keys, modality::vision) == 16);
    CHECK(batch.pairs(view::useful, crossed) == 24 * 5 + 64 * 11);
    CHECK(batch.get(view::useful, accumulator::crossed, modality::vision) == 24 * 5 + 64 * 11);
    CHECK(batch.pairs(view::useful, unit::clips()) == 3);
    batch.add(grid{1, 2, 2, 3}, grid{1, 4, 4, 7});
    CHECK(batch.pairs(view::useful, joint) == 11 * 11 + 2 * 2 + 27 * 27 + 4 * 4);
    CHECK(batch.pairs(view::padded, joint) == 11 * 11 + 2 * 2 + 27 * 27 + 11 * 11);
    CHECK(batch.pairs(view::padded, text) == 23);
    batch.add(grid{}, grid{1, 4, 4, 7});
    CHECK(batch.pairs(view::padded, joint) == 11 * 11 + 2 * 2 + 27 * 27 + 2 * 11 * 11);
    CHECK(batch.pairs(view::useful, unit::clips()) == 4);
}

TEST_CASE("tokens of samples with several texts and condition images equal an enumeration", "[latents]") {
    constexpr token_stream text = token_stream::text;
    constexpr token_stream second = token_stream::second;
    constexpr token_stream third = token_stream::third;
    constexpr token_stream fourth = token_stream::fourth;
    constexpr token_stream condition = token_stream::condition;
    struct stream_of {
        token_stream which;
        std::uint32_t grid::*length;
        std::uint32_t copies;
    };
    const stream_of texts[] = {{text, &grid::keys, 1},          {second, &grid::second, 1}, {second, &grid::second, 3},
                               {third, &grid::third, 1},        {third, &grid::third, 2},   {fourth, &grid::fourth, 1},
                               {condition, &grid::condition, 1}};
    std::size_t samples = 0;
    for (const latent_patches& patches :
         {latent_patches{}, latent_patches{.side = 2, .frames = 2}, latent_patches{.multiple = 4, .prefix = 3}}) {
        for (std::uint32_t seed = 0; seed < 40; ++seed) {
            const auto drawn = [&](std::uint32_t bits, std::uint32_t most) { return (seed * 7919U >> bits) % most; };
            const grid g{.t = 2,
                         .h = 2 + drawn(1, 5),
                         .w = 2 + drawn(3, 4),
                         .keys = drawn(2, 6),
                         .second = drawn(4, 7),
                         .third = drawn(5, 8),
                         .fourth = drawn(6, 3),
                         .condition = 8 * drawn(3, 4)};
            for (const stream_of& first : texts) {
                for (const stream_of& other : texts) {
                    if (first.which == other.which) {
                        continue;
                    }
                    // One token after the other: the grid's, then each copy of each stream, padded to the multiple.
                    std::vector<token> all = tokens(g, patches, token_stream::grid);
                    auto streams = static_cast<std::uint32_t>(token_stream::grid);
                    for (const stream_of& each_stream : {first, other}) {
                        for (std::uint32_t copy = 0; copy < each_stream.copies; ++copy) {
                            const std::uint32_t cells = each_stream.which == condition ? 1U : 0U;
                            const auto patch = static_cast<std::uint32_t>(patches.side * patches.side * patches.frames);
                            std::uint32_t count = 0;
                            for (std::uint32_t k = 0; k < g.*each_stream.length; k += cells == 1 ? patch : 1U) {
                                all.push_back({token::kind::text, 0, 0});
                                ++count;
                            }
                            for (; count % patches.multiple != 0; ++count) {
                                all.push_back({token::kind::text, 0, 0});
                            }
                            streams += static_cast<std::uint32_t>(each_stream.which);
                        }
                    }
                    const auto read = static_cast<token_stream>(streams);
                    REQUIRE(statistic(unit::joint_tokens(patches, read))(g) == all.size());
                    REQUIRE(mask::joint_pairs(patches, read, token_stream::grid).pairs(g) ==
                            all.size() * tokens(g, patches, token_stream::grid).size());
                    REQUIRE(mask::joint_pairs(patches, token_stream::grid, read).pairs(g) ==
                            all.size() * tokens(g, patches, token_stream::grid).size());
                    ++samples;
                }
            }
        }
    }
    CHECK(samples > 4000);
    CHECK(statistic(unit::joint_tokens({}, text + second + second)).name() == "vision.joint_tokens(1,streams=18)");
    tally batch{floptally::mask_set{
        mask::joint_pairs({.side = 2}, token_stream::grid + condition, token_stream::grid + condition)}};
    CHECK(error_of([&] { batch.add(floptally::grid{.t = 1, .h = 4, .w = 4, .condition = 6}); }) ==
          "grid: its condition of 6 cells must fill whole patches of 2 x 2: pad it");
    CHECK(error_of([&] {
              batch.add(floptally::grid{.t = 1, .h = 4, .w = 4, .condition = 8}, floptally::grid{1, 4, 4});
          }) == "condition: a slot of 0 has no room for 8: enlarge the slot");
    CHECK(error_of([&] {
              batch.add(floptally::grid{.t = 1, .h = 4, .w = 4, .second = 6}, floptally::grid{1, 4, 4});
          }) == "second: a slot of 0 has no room for 6: enlarge the slot");
}

TEST_CASE("empty latents, oversized texts and out-of-range numbers are errors", "[latents][errors]") {
    tally batch{floptally::mask_set{mask::joint_pairs({.side = 4})}};
    CHECK(error_of([&] {
              batch.add(grid{1, 3, 9, 2});
          }) == "grid: 1 x 3 x 9 patches are too few for convolutions over 4 x 4: resize the image or leave it out");
    CHECK(error_of([&] {
              batch.add(grid{1, 4, 4, 9}, grid{1, 8, 8, 3});
          }) == "keys: a slot of 3 has no room for 9: enlarge the slot");
    CHECK(error_of([&] {
              batch.add(grid{1024, 65535, 65535, 1});
          }) == "grid: 1024 x 65535 x 65535 patches: a clip must have at most 4294967295 patches; split it");
    CHECK(error_of([&] {
              batch.add_grids_with_text(std::vector<int>{1, 4, 4}, std::vector<int>{1, 2});
          }) == "encoder_lengths: must have one length for each grid (1), got 2");
    CHECK(error_of([&] {
              batch.add_grids_with_text(std::vector<int>{1, 4, 4}, std::vector<int>{-1});
          }) == "encoder_lengths[0]: must be at least 0, got -1");
    CHECK(error_of([] { return mask::joint_pairs({.side = 0}); }) == "side: must be from 1 to 65535, got 0");
    CHECK(error_of([] { return statistic(floptally::mask_statistics::latent_pairs{}); }) ==
          "side: side, frames and multiple must be at least 1, got 0, 0 and 0");
    CHECK(batch.pairs(view::useful, mask::joint_pairs({.side = 4})) == 0);
}

TEST_CASE("the tokens of all streams of a sample may reach the longest sequence length", "[latents]") {
    using floptally::grid_problem;
    constexpr std::uint32_t longest = 0xFFFF'FFFF;
    const statistic tokens = unit::latent_tokens();
    CHECK(tokens.problem_of(grid{1, 1, longest}) == grid_problem::none);
    CHECK(tokens.problem_of(grid{2, 1, longest}) == grid_problem::too_large);
    CHECK(tokens.problem_of(grid{1, 1, 1, longest - 1}) == grid_problem::none);
    CHECK(tokens.problem_of(grid{1, 1, 1, longest}) == grid_problem::too_large);
    const statistic prefixed = unit::latent_tokens({.prefix = 2});
    CHECK(prefixed.problem_of(grid{1, 1, 1, longest - 3}) == grid_problem::none);
    CHECK(prefixed.problem_of(grid{1, 1, 1, longest - 2}) == grid_problem::too_large);
    const statistic squares = unit::powers(2);
    CHECK(squares.problem_of(grid{1, 1, longest}) == grid_problem::none);
    CHECK(squares.problem_of(grid{2, 1, longest}) == grid_problem::too_large);
}

TEST_CASE("names of latent statistics list their non-default parameters", "[latents]") {
    CHECK(mask::joint_pairs({.side = 2, .frames = 3, .multiple = 32, .filled = true}, token_stream::grid).name() ==
          "vision.joint_pairs(2,frames=3,multiple=32,filled=1,queries=1)");
    CHECK(floptally::statistic_named("vision.joint_pairs(2,prefix=8,keys=2)") ==
          mask::joint_pairs({.side = 2, .prefix = 8}, token_stream::joint, token_stream::text));
    CHECK(mask::latent_pairs({}, latent_reach::place).name() == "vision.latent_pairs(1,reach=2)");
    CHECK(statistic(unit::joint_tokens({}, token_stream::text)).name() == "vision.joint_tokens(1,streams=2)");
}

}  // namespace latent_statistics_test
