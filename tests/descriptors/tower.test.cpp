// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace tower_test {

namespace unit = floptally::unit;
using floptally::accumulator;
using floptally::attention_core;
using floptally::audio_clip;
using floptally::cost;
using floptally::flop_counter;
using floptally::grid;
using floptally::linear;
using floptally::mask;
using floptally::mask_set;
using floptally::modality;
using floptally::phase;
using floptally::sequence;
using floptally::statistic;
using floptally::tally;
using floptally::term;
using floptally::view;

namespace {

mask_set set_of(std::initializer_list<mask> masks) {
    mask_set set;
    for (const floptally::statistic& m : masks) {
        set.find_or_add(m, "masks");
    }
    return set;
}

/// The window that a cell is in: 0 in the first piece of `shift` cells, then by windows.
std::uint64_t window_of(std::uint64_t cell, std::uint64_t window, std::uint64_t shift) {
    return cell < shift ? 0 : 1 + (cell - shift) / window;
}

/// Every pair of patches of a frame that stand in one window.
std::uint64_t pairs_in_windows(const grid& g, std::uint64_t window, std::uint64_t shift) {
    std::uint64_t pairs = 0;
    for (std::uint64_t query = 0; query < g.frame_patches(); ++query) {
        for (std::uint64_t key = 0; key < g.frame_patches(); ++key) {
            const bool entry = window_of(query / g.w, window, shift) == window_of(key / g.w, window, shift);
            const bool column = window_of(query % g.w, window, shift) == window_of(key % g.w, window, shift);
            pairs += entry && column ? 1U : 0U;
        }
    }
    return g.t * pairs;
}

/// Pairs of tokens of one image, without those that a causal window has.
std::uint64_t later_pairs(std::uint64_t tokens, std::int64_t window) {
    std::uint64_t pairs = 0;
    for (std::uint64_t query = 0; query < tokens; ++query) {
        for (std::uint64_t key = 0; key < tokens; ++key) {
            const bool in_window = window < 0 || query < key + static_cast<std::uint64_t>(window);
            pairs += key <= query && in_window ? 0U : 1U;
        }
    }
    return pairs;
}

constexpr tally of_constants() {
    tally t{mask_set::of_towers()};
    t.add(sequence{512});
    t.add(grid{2, 10, 10});
    t.add(audio_clip{3000});
    return t;
}

static_assert(of_constants().get(view::useful, accumulator::tokens) == 512);
static_assert(of_constants().get(view::useful, accumulator::tokens, modality::vision) == 200);
static_assert(of_constants().get(view::useful, accumulator::squares, modality::vision) == 20'000);
static_assert(of_constants().get(view::padded, accumulator::count, modality::vision) == 2);
static_assert(of_constants().get(view::padded, accumulator::squares, modality::audio) == 9'000'000);
static_assert(of_constants().pairs(view::useful, mask::bidirectional().in(modality::vision)) == 20'000);

}  // namespace

TEST_CASE("a model with one tower counts only the input of that tower") {
    const auto keep = [](floptally::tower_input tower) {
        cost model;
        floptally::keep_units(tower, model);
        return model.masks().size();
    };
    const mask units = mask::bidirectional();
    CHECK(keep({.units = units, .per_unit = 1}) == 1);
    CHECK(keep({.units = units}) == 0);
    CHECK(keep({.units = units, .per_frame = 3}) == 0);
    CHECK(keep({.units = units, .per_unit = 1, .are_keys = true}) == 0);
    CHECK(keep({.units = units, .are_keys = true}) == 0);
}

TEST_CASE("L^2 of a video is summed per frame and not over the whole clip") {
    struct clip_entry {
        std::vector<grid> grids;
        std::uint64_t patches;
        std::uint64_t squares;
    };
    // NVIDIA-NeMo/Megatron-Bridge@067f987df03b: the first is asserted in its tests/unit_tests/training/utils/
    // test_flop_utils.py:1891, the others were computed by its src/megatron/bridge/training/utils/flop_utils.py:499.
    const std::vector<clip_entry> rows{
        {{{2, 10, 10}}, 200, 20'000},
        {{{1, 32, 32}}, 1024, 1'048'576},
        {{{1, 32, 32}, {1, 20, 46}, {1, 64, 64}, {1, 2, 2}}, 6044, 18'672'208},
        {{{4, 24, 42}}, 4032, 4'064'256},
        {{{1, 36, 50}, {8, 16, 16}}, 3848, 3'764'288},
    };
    for (const clip_entry& entry : rows) {
        tally t{mask_set::of_towers()};
        tally by_thw{mask_set::of_towers()};
        std::uint64_t frames = 0;
        std::vector<std::int64_t> grid_thw;
        for (const grid& clip : entry.grids) {
            t.add(clip);
            frames += clip.t;
            grid_thw.insert(grid_thw.end(), {clip.t, clip.h, clip.w});
        }
        by_thw.add_grid_thw(grid_thw);
        CHECK(t == by_thw);
        for (const view seen : {view::useful, view::padded}) {
            CHECK(t.get(seen, accumulator::count, modality::vision) == frames);
            CHECK(t.get(seen, accumulator::tokens, modality::vision) == entry.patches);
            CHECK(t.get(seen, accumulator::squares, modality::vision) == entry.squares);
            CHECK(t.get(seen, accumulator::tokens) == 0);
        }
    }
}

TEST_CASE("masks over image grids equal an enumeration of all pairs of patches") {
    for (std::uint32_t h = 0; h <= 7; ++h) {
        for (std::uint32_t w = 0; w <= 6; ++w) {
            for (std::uint32_t t = 0; t <= 2; ++t) {
                const grid g{t, h, w};
                for (std::uint32_t window = 1; window <= 8; ++window) {
                    for (std::uint32_t shift = 0; shift <= window; ++shift) {
                        INFO(t << " x " << h << " x " << w << ", windows of " << window << ", shift " << shift);
                        REQUIRE(mask::grid_windows(window, shift).pairs(g) == pairs_in_windows(g, window, shift));
                    }
                }
                REQUIRE(mask::bidirectional().in(modality::vision).pairs(g) == pairs_in_windows(g, 100, 0));
                const std::uint64_t patches = std::uint64_t{t} * h * w;
                REQUIRE(mask::clip_squares().pairs(g) == patches * patches);
                const std::uint64_t with_prefix = patches == 0 ? 0 : patches + std::uint64_t{t} * 3;
                REQUIRE(mask::clip_squares(3).pairs(g) == with_prefix * with_prefix);
                REQUIRE(statistic(unit::clips()).pairs(g) == (patches == 0 ? 0 : 1));
            }
        }
    }
    CHECK(statistic(unit::merged_patches(2)).pairs(grid{3, 4, 10}) == 3 * 2 * 5);
    CHECK(statistic(unit::pooled_clips(2)).pairs(grid{3, 5, 10}) == 3 * 2 * 5);  // a rest is cut off
    CHECK(statistic(unit::pooled_clips(2)).pairs(grid{1, 5, 10}) == 5 * 10);     // an image is not pooled
    CHECK(statistic(unit::merged_pairs(2)).pairs(grid{1, 4, 10}) == 2 * 5);      // an image has no second frame
    CHECK(statistic(unit::merged_pairs(2)).pairs(grid{5, 4, 10}) == 2 * 2 * 5);  // nor has the last of five
    CHECK(statistic(unit::merged_pairs(2)).pairs(grid{0, 4, 10}) == 0);
    CHECK(statistic(unit::merged_squares(2)).pairs(grid{3, 4, 10}) == 3 * (2 * 5) * (2 * 5));
    for (std::uint32_t side = 1; side <= 3; ++side) {
        for (const std::int64_t window : {-1, 1, 2, 3, 5, 11, 12, 13}) {
            INFO("side " << side << ", window " << window);
            REQUIRE(mask::later_image_tokens(side, window).pairs(grid{2, 3, 4}) ==
                    2 * later_pairs(3 / side * (4 / side), window));
            REQUIRE(mask::later_image_tokens(side, window).pairs(grid{2, 0, 4}) == 0);
        }
    }
}

TEST_CASE(
    "conventions that count causal attention as a full square add no pairs for image tokens that attend later image "
    "tokens") {
    cost model;
    model.add("text", attention_core{.num_heads = 3, .qk_head_dim = 5, .v_head_dim = 5}, mask::causal());
    model.add("text", attention_core{.num_heads = 3, .qk_head_dim = 5, .v_head_dim = 5}, mask::later_image_tokens(2));
    tally batch{model.masks()};
    batch.add(sequence{20});
    batch.add(grid{1, 4, 6});
    const auto forward = [&](const floptally::convention& how) {
        return evaluate(model, batch, how)["text"].get(view::useful, phase::forward).value();
    };
    CHECK(forward(floptally::conventions::exact) == 2 * 3 * 10 * (210 + 15));
    CHECK(forward(floptally::conventions::torch_flop_counter_eager) == 2 * 3 * 10 * 400);
}

/// Windows of Qwen2.5-VL as its get_window_index makes them: merged cells, padded on both axes by one window less the
/// rest (by a whole one where there is none); a window has the cells that are real. Sums of squares, and of lengths.
struct listed_windows {
    std::uint64_t pairs = 0;
    std::uint64_t patches = 0;
    std::uint64_t merged = 0;
};

listed_windows windows_of_merged_cells(const grid& g, std::uint64_t merge, std::uint64_t window) {
    const std::uint64_t height = g.h / merge;
    const std::uint64_t width = g.w / merge;
    const std::uint64_t rows = (height + window - height % window) / window;
    const std::uint64_t columns = (width + window - width % window) / window;
    listed_windows sums;
    for (std::uint64_t frame = 0; frame < g.t; ++frame) {
        for (std::uint64_t entry = 0; entry < rows; ++entry) {
            for (std::uint64_t column = 0; column < columns; ++column) {
                std::uint64_t cells = 0;
                for (std::uint64_t y = entry * window; y < (entry + 1) * window; ++y) {
                    for (std::uint64_t x = column * window; x < (column + 1) * window; ++x) {
                        cells += y < height && x < width ? 1U : 0U;
                    }
                }
                const std::uint64_t length = cells * merge * merge;
                sums.pairs += length * length;
                sums.patches += length;
                sums.merged += cells;
            }
        }
    }
    return sums;
}

TEST_CASE("windows of merged patches cover every patch if the grid is not a multiple of the window") {
    for (const std::uint32_t merge : {1U, 2U, 3U}) {
        for (std::uint32_t height = 1; height <= 11; ++height) {
            for (std::uint32_t width = 1; width <= 9; ++width) {
                for (const std::uint32_t frames : {1U, 3U}) {
                    const grid g{frames, merge * height, merge * width};
                    for (std::uint32_t window = 1; window <= 12; ++window) {
                        INFO(frames << " x " << g.h << " x " << g.w << ", windows of " << window << " cells of "
                                    << merge);
                        const listed_windows all = windows_of_merged_cells(g, merge, window);
                        REQUIRE(mask::grid_windows(window * merge).pairs(g) == all.pairs);
                        REQUIRE(g.t * g.frame_patches() == all.patches);
                        REQUIRE(statistic(unit::merged_patches(merge)).pairs(g) == all.merged);
                        // A learned entry at the end of each line, and frames that are pooled before.
                        REQUIRE(statistic(unit::merged_patches(merge, 1)).pairs(g) == all.merged + frames * height);
                        REQUIRE(statistic(unit::pooled_patches(merge)).pairs(g) == all.merged / frames);
                    }
                }
            }
        }
    }
    CHECK(statistic(unit::pooled_patches(2)).pairs(grid{0, 4, 4}) == 0);
    tally batch{set_of({unit::pooled_patches(2), unit::merged_patches(2, 1)})};
    batch.add(grid{3, 4, 6});
    batch.add(grid{1, 2, 8});
    CHECK(batch.pairs(view::useful, unit::pooled_patches(2)) == 6 + 4);
    CHECK(batch.pairs(view::useful, unit::merged_patches(2, 1)) == 3 * 2 * 4 + 5);
}

namespace {

/// Pairs of a grid; 0 where it is refused since convolutions leave nothing of it.
std::uint64_t pairs_or_nothing(const mask& which, const grid& g) {
    std::uint64_t pairs = 0;
    const std::string problem = error_of([&] { return std::to_string(pairs = which.pairs(g)); });
    REQUIRE((problem == "no error") == (pairs != 0));
    REQUIRE((pairs != 0 || problem.find(" are too few for convolutions over ") != problem.npos));
    return pairs;
}

}  // namespace

TEST_CASE(
    "strided cells of an image grid and windows over these cells are counted as if the grid were halved repeatedly") {
    for (std::uint32_t h = 1; h < 14; ++h) {
        for (std::uint32_t w = 1; w < 14; ++w) {
            grid up{2, h, w};
            grid down{2, h, w};
            for (std::int64_t level = 0; level < 4; ++level) {
                const std::int64_t stride = std::int64_t{1} << level;
                const grid whole{2, h, w};
                REQUIRE(statistic(unit::strided_cells(1, stride)).pairs(whole) == 2 * up.frame_patches());
                REQUIRE(pairs_or_nothing(unit::strided_cells(stride, stride), whole) == 2 * down.frame_patches());
                for (const std::int64_t window : {2, 3, 5}) {
                    const auto side = static_cast<std::uint64_t>(window);
                    const std::uint64_t shorter = std::min(up.h, up.w);
                    const bool small = shorter <= side;
                    const auto pairs = [&](bool shifted, bool shrinking) {
                        return mask::level_windows(window, level, shifted, shrinking).pairs(whole);
                    };
                    REQUIRE(pairs(false, false) == pairs_in_windows(up, side, 0));
                    REQUIRE(pairs(true, false) == pairs_in_windows(up, side, side / 2));
                    REQUIRE(pairs(false, true) == pairs_in_windows(up, small ? shorter : side, 0));
                    REQUIRE(pairs(true, true) == pairs_in_windows(up, small ? shorter : side, small ? 0 : side / 2));
                }
                up = {2, (up.h + 1) / 2, (up.w + 1) / 2};
                down = {2, down.h / 2, down.w / 2};
            }
        }
    }
    CHECK(mask::level_windows(7, 2, true, true).name() == "vision.level_windows(7,2,shifted=1,shrinking=1)");
    CHECK(mask::level_windows(7, 0, false, false).name() == "vision.level_windows(7,0)");
    CHECK(statistic(unit::strided_cells(1, 4)).name() == "vision.strided_cells(1,4)");
    tally coarse{set_of({unit::strided_cells(4, 4)})};
    CHECK(error_of([&] {
              coarse.add(grid{1, 3, 9});
          }) == "grid: 1 x 3 x 9 patches are too few for convolutions over 4 x 4: resize the image or leave it out");
    CHECK_NOTHROW(coarse.add(grid{1, 4, 9}));
    CHECK(error_of([] { static_cast<void>(mask::level_windows(7, 31, false, false)); }) ==
          "level: must be from 0 to 30, got 31");
}

TEST_CASE(
    "pairs of grid masks that attend strided keys, one position in all frames, or a row and a column equal an "
    "enumeration") {
    const auto left = [](std::uint32_t cells, std::int64_t field, std::int64_t stride) {
        std::uint64_t count = 0;
        for (std::int64_t first = 0; first + field <= std::int64_t{cells}; first += stride) {
            ++count;
        }
        return count;
    };
    for (std::uint32_t h = 1; h < 14; ++h) {
        for (std::uint32_t w = 1; w < 14; ++w) {
            for (std::int64_t stride = 1; stride < 4; ++stride) {
                for (std::int64_t ratio = 1; ratio < 4; ++ratio) {
                    // `ratio` x `ratio` of the cells that a stride leaves become one.
                    const std::uint64_t rows = left(h, 1, stride);
                    const std::uint64_t columns = left(w, 1, stride);
                    const std::uint64_t keys = left(static_cast<std::uint32_t>(rows), ratio, ratio) *
                                               left(static_cast<std::uint32_t>(columns), ratio, ratio);
                    const mask reduced = mask::reduced_pairs(1, stride, 1 + (ratio - 1) * stride, ratio * stride);
                    REQUIRE(pairs_or_nothing(reduced, grid{3, h, w}) == 3 * rows * columns * keys);
                }
            }
            std::uint64_t pairs = 0;
            for (std::uint32_t query = 0; query < 3 * h * w; ++query) {
                for (std::uint32_t key = 0; key < 3 * h * w; ++key) {
                    pairs += query % (h * w) == key % (h * w) ? 1 : 0;
                }
            }
            REQUIRE(mask::across_frames().pairs(grid{3, h, w}) == pairs);
            for (const std::uint32_t window : {0U, 1U, 3U, 5U, 20U}) {
                std::uint64_t lines = 0;
                const std::uint32_t side = window == 0 ? 14 : window;
                for (std::uint32_t entry = 0; entry < h; ++entry) {
                    for (std::uint32_t column = 0; column < w; ++column) {
                        for (std::uint32_t other = 0; other < h; ++other) {
                            lines += other / side == entry / side ? 1 : 0;
                        }
                        for (std::uint32_t other = 0; other < w; ++other) {
                            lines += other / side == column / side ? 1 : 0;
                        }
                    }
                }
                REQUIRE(mask::window_lines(window).pairs(grid{3, h, w}) == 3 * lines);
            }
        }
    }
    CHECK(mask::reduced_pairs(1, 2, 3, 4).name() == "vision.reduced_pairs(3,4,1,2)");
    CHECK(mask::window_lines(7).pairs(grid{1, 0, 5}) == 0);
    CHECK(mask::window_lines().pairs(grid{1, 0, 5}) == 0);
    CHECK(mask::window_lines(7).name() == "vision.window_lines(window_size=7)");
    CHECK(mask::across_frames().name() == "vision.across_frames");
    tally coarse{set_of({mask::reduced_pairs(1, 1, 4, 4)})};
    CHECK(error_of([&] {
              coarse.add(grid{1, 3, 9});
          }) == "grid: 1 x 3 x 9 patches are too few for convolutions over 4 x 4: resize the image or leave it out");
}

TEST_CASE("the number of unmasked patches is rounded as in MAE") {
    const auto keep_only = [](std::uint32_t h, std::uint32_t w, std::int64_t millionths) {
        return statistic(unit::kept_patches(millionths, 1)).pairs(grid{1, h, w});
    };
    CHECK(keep_only(14, 14, 750'000) == 50);
    CHECK(keep_only(3, 5, 750'000) == 4);
    CHECK(keep_only(2, 5, 900'000) == 1);  // 1 - 0.9 is below 0.1
    CHECK(keep_only(4, 4, 0) == 17);
    CHECK(keep_only(0, 4, 0) == 0);
    CHECK(statistic(unit::kept_squares(750'000, 1)).pairs(grid{2, 14, 14}) == 2 * 50 * 50);
    CHECK(statistic(unit::kept_squares(750'000, 1)).name() == "vision.kept_squares(750000,1)");
    CHECK(error_of([] { static_cast<void>(unit::kept_patches(1'000'001, 0)); }) ==
          "mask_ratio: must be from 0 to 1000000, got 1000001");
}

TEST_CASE("the FLOPs per cell of a layer over grid cells equal the FLOPs per token of the same layer over tokens") {
    const mask cells = unit::strided_cells(1, 2);
    const floptally::layer where{0, 12, mask::level_windows(3, 1, false, false)};
    const cost tokens = floptally::mha{.num_heads = 3, .head_dim = 4, .elementwise = {.norm = 24}}.cost(where);
    const cost coarse = tokens.over(cells);
    CHECK(coarse.parameters() == tokens.parameters());
    CHECK(coarse.masks().size() == 2);
    tally images{coarse.masks()};
    images.add(grid{1, 5, 8});
    // 12 cells: 3 x 4 in windows of 3 x 3 and 3 x 1
    const std::uint64_t linears = 12 * 2 * 4 * 12 * 12;
    const std::uint64_t cores = (9 * 9 + 3 * 3) * 2 * 2 * 12;
    CHECK(evaluate(coarse.in(modality::vision), images, floptally::conventions::exact)
              .get(view::useful, phase::forward)
              .low() == linears + cores);
}

TEST_CASE("the number of strided audio frames equals the number of outputs of a sliding convolution") {
    // Kernel, stride and padding of convolutions one after the other: Whisper's stem, wav2vec 2.0's seven.
    struct convolution {
        std::int64_t kernel;
        std::int64_t stride;
        std::int64_t padding;
    };
    const std::vector<std::vector<convolution>> stacks{
        {{3, 1, 1}, {3, 2, 1}},
        {{10, 5, 0}, {3, 2, 0}, {3, 2, 0}, {3, 2, 0}, {3, 2, 0}, {2, 2, 0}, {2, 2, 0}},
        {{3, 2, 1}, {3, 2, 1}, {3, 2, 1}}};
    for (const std::vector<convolution>& stack : stacks) {
        std::int64_t field = 1;
        std::int64_t stride = 1;
        for (const convolution& item : stack) {
            field += (item.kernel - 1 - 2 * item.padding) * stride;
            stride *= item.stride;
        }
        for (std::uint32_t frames = 0; frames < 2000; frames += 1 + frames / 40) {
            std::int64_t left = frames;
            for (const convolution& each_convolution : stack) {
                std::int64_t positions = 0;
                for (std::int64_t at = -each_convolution.padding;
                     left != 0 && at + each_convolution.kernel <= left + each_convolution.padding;
                     at += each_convolution.stride) {
                    ++positions;
                }
                left = positions;
            }
            INFO(frames);
            const auto expected = static_cast<std::uint64_t>(left);
            REQUIRE(statistic(unit::strided_frames(field, stride)).pairs(audio_clip{frames}) == expected);
            REQUIRE(mask::strided_squares(field, stride).pairs(audio_clip{frames}) == expected * expected);
        }
    }
}

TEST_CASE("the numbers of audio chunks and of pairs within their windows equal an enumeration") {
    struct stack {
        std::int64_t kernel;
        std::int64_t stride;
        std::int64_t padding;
        int times;
    };
    for (const stack& layers : {stack{3, 2, 1, 1}, stack{3, 2, 1, 3}, stack{4, 3, 0, 2}}) {
        floptally::frame_rate rate;
        for (int i = 0; i < layers.times; ++i) {
            rate = rate.after({.kernel_size = layers.kernel, .stride = layers.stride, .padding = layers.padding});
        }
        for (const std::int64_t chunk : {0, 7, 16, 100}) {
            for (const std::int64_t window : {0, 1, 5, 26}) {
                for (std::uint32_t frames = 0; frames < 330; frames += 1 + frames / 20) {
                    std::uint64_t left = 0;
                    for (std::int64_t start = 0; start < frames; start += chunk == 0 ? frames : chunk) {
                        const std::int64_t rest = frames - start;
                        std::int64_t length = chunk == 0 || rest < chunk ? rest : chunk;
                        for (int i = 0; i < layers.times && length > 0; ++i) {
                            std::int64_t positions = 0;
                            for (std::int64_t at = -layers.padding; at + layers.kernel <= length + layers.padding;
                                 at += layers.stride) {
                                ++positions;
                            }
                            length = positions;
                        }
                        left += static_cast<std::uint64_t>(length);
                    }
                    std::uint64_t pairs = 0;
                    for (std::uint64_t query = 0; query < left; ++query) {
                        for (std::uint64_t key = 0; key < left; ++key) {
                            const auto size = static_cast<std::uint64_t>(window);
                            pairs += size == 0 || query / size == key / size ? 1U : 0U;
                        }
                    }
                    INFO(frames << " frames, chunks of " << chunk << ", windows of " << window);
                    const audio_clip clip{frames};
                    REQUIRE(statistic(unit::strided_frames(rate.field, rate.stride, chunk)).pairs(clip) == left);
                    REQUIRE(mask::strided_squares(rate.field, rate.stride, chunk, window).pairs(clip) == pairs);
                }
            }
        }
    }
    for (const std::int64_t left : {-1, 0, 3, 40}) {
        for (const std::int64_t right : {-1, 0, 2}) {
            for (std::uint32_t frames = 0; frames < 130; ++frames) {
                const std::int64_t number = frames < 3 ? 0 : (frames - 3) / 2 + 1;
                std::uint64_t pairs = 0;
                for (std::int64_t query = 0; query < number; ++query) {
                    for (std::int64_t key = 0; key < number; ++key) {
                        const bool before = key <= query && (left < 0 || query - key <= left);
                        const bool behind = key > query && (right < 0 || key - query <= right);
                        pairs += before || behind ? 1U : 0U;
                    }
                }
                INFO(frames << " frames, " << left << " before and " << right << " behind");
                REQUIRE(mask::strided_band(3, 2, left, right).pairs(audio_clip{frames}) == pairs);
            }
        }
    }
    CHECK(mask::strided_band(3, 2, 40, 0).name() == "audio.strided_band(3,2,40,0)");
    CHECK(statistic(unit::strided_frames(1, 2)).name() == "audio.strided_frames(1,2)");
    CHECK(statistic(unit::strided_frames(1, 8, 100)).name() == "audio.strided_frames(1,8,chunk=100)");
    CHECK(mask::strided_squares(1, 2, 0, 100).name() == "audio.strided_squares(1,2,window=100)");
    CHECK(error_of([] { static_cast<void>(unit::strided_frames(1, 2, -1)); }) ==
          "chunk: must be from 0 to 65535, got -1");
    CHECK(error_of([] { static_cast<void>(mask::strided_squares(1, 2, 0, 65536)); }) ==
          "window: must be from 0 to 65535, got 65536");
}

TEST_CASE("the number of outputs of convolutions over time equals an enumeration") {
    // Dense and padded, grouped and dilated, gated, over bins too.
    const floptally::convolution_stem stem{
        .in_channels = 3,
        .convolutions = {{.out_channels = 10, .kernel_size = 5, .stride = 2, .padding = 2, .bias = true},
                         {.out_channels = 8, .kernel_size = 3, .dilation = 2, .groups = 2, .gated = true},
                         {.out_channels = 7, .kernel_size = 2, .stride = 3, .bins = 6, .bin_kernel = 3}}};
    const cost of_stem = stem.cost();
    CHECK(of_stem.parameters() == 5 * 3 * 10 + 10 + 3 * 5 * 8 + 2 * 3 * 4 * 7);
    for (const std::uint32_t frames : {5U, 13U, 40U, 41U}) {
        tally batch{of_stem.masks()};
        batch.add(audio_clip{frames});
        const std::uint64_t first = (frames - 1) / 2 + 1;
        const std::uint64_t second = first < 5 ? 0 : first - 4;
        const std::uint64_t third = second < 2 ? 0 : (second - 2) / 3 + 1;
        const std::uint64_t at_input = 2 * 5 * 3 * 10 * first;
        const std::uint64_t behind = 2 * 3 * 5 * 8 * second + 2 * 2 * 3 * 4 * 7 * 6 * third;
        const floptally::breakdown work = evaluate(of_stem, batch);
        CHECK(work.get(view::useful, phase::forward).value() == at_input + behind);
        CHECK(work.backward(view::useful).value() == at_input + 2 * behind);
    }
    CHECK(stem.after() == floptally::frame_rate{1, 1}
                              .after(stem.convolutions[0])
                              .after(stem.convolutions[1])
                              .after(stem.convolutions[2]));
    floptally::convolution_stem odd = stem;
    odd.convolutions[1].groups = 3;
    CHECK(error_of([&] { static_cast<void>(odd.cost()); }) ==
          "groups: must divide the input and output channels (10 and 8), got 3");
    odd.convolutions[1].groups = 2;
    odd.convolutions[2].stride = 0;
    CHECK(error_of([&] { static_cast<void>(odd.cost()); }) ==
          "conv_kernel: kernel_size, stride and dilation must be at least 1, got 2, 0 and 1");
}

TEST_CASE("layers over frames or grid cells cost the same as layers over an equal number of tokens") {
    cost layer;
    layer.add("mlp", linear{.in_features = 3, .out_features = 5, .weight = "up"});
    layer.add("core", attention_core{.num_heads = 2, .qk_head_dim = 7, .v_head_dim = 11}, mask::bidirectional());
    layer.add("pooled", linear{.in_features = 13, .out_features = 17, .rows = accumulator::count});
    layer.add_parameters("norm", term::norm, 13);
    const floptally::frame_rate rate{1, 2, 0};
    const cost strided = layer.over(rate.frames(), rate.squares()).in(modality::audio);
    CHECK(strided.parameters() == layer.parameters());
    tally clips{strided.masks()};
    tally tokens{layer.masks()};
    for (const std::uint32_t frames : {1U, 8U, 31U}) {
        clips.add(audio_clip{frames});
        tokens.add(sequence{(frames + 1) / 2});
    }
    for (const floptally::convention& how :
         {floptally::conventions::exact, floptally::conventions::torch_flop_counter}) {
        CHECK(evaluate(strided, clips, how).total() == evaluate(layer, tokens, how).total());
    }
    const cost windows = layer.over(rate.frames(), rate.squares(3)).in(modality::audio);
    tally windowed{windows.masks()};
    windowed.add(audio_clip{15});
    CHECK(evaluate(windows, windowed)["core"].get(view::useful, phase::forward).value() == 2 * 2 * 18 * (9 + 9 + 4));
}

TEST_CASE("each tower has its own accumulators, and the FLOPs of all towers add up to the total") {
    const mask_set masks = set_of({mask::sliding_window(4), mask::grid_windows(4), unit::clips(),
                                   unit::strided_frames(1, 2), mask::window(2, 1)});
    std::mt19937 random(7);
    tally whole{masks};
    tally parts{masks};
    std::uint64_t text = 0;
    std::uint64_t windows = 0;
    std::uint64_t halves = 0;
    for (int round = 0; round < 200; ++round) {
        const auto n = static_cast<std::uint32_t>(random() % 30);
        const grid image{1 + static_cast<std::uint32_t>(random() % 3), static_cast<std::uint32_t>(random() % 9),
                         static_cast<std::uint32_t>(random() % 9)};
        const audio_clip clip{static_cast<std::uint32_t>(random() % 50)};
        whole.add(sequence{n});
        whole.add(image);
        whole.add(clip);
        tally counted_batch{masks};
        const std::array<std::uint32_t, 1> length{n};
        counted_batch.add_lengths(length);
        counted_batch.add_audio_frames(std::array<std::int64_t, 1>{clip.frames});
        counted_batch.add(image);
        parts += counted_batch;
        text += mask::sliding_window(4).pairs(sequence{n});
        windows += pairs_in_windows(image, 4, 0);
        halves += (clip.frames + 1) / 2;
    }
    CHECK(whole == parts);
    CHECK(whole == tally::from_accumulators(masks, whole.accumulators()));
    CHECK(whole.pairs(view::useful, mask::sliding_window(4)) == text);
    CHECK(whole.pairs(view::useful, mask::grid_windows(4)) == windows);
    CHECK(whole.pairs(view::useful, unit::strided_frames(1, 2)) == halves);
    CHECK(whole.accumulators().size() == 2 * (3 * tally::fixed_accumulators + masks.size()));
}

TEST_CASE("images and audio with padding have different useful and padded FLOPs") {
    tally t{set_of({mask::grid_windows(4), unit::strided_frames(1, 2)})};
    t.add(grid{1, 3, 5}, grid{1, 8, 8});
    t.add(audio_clip{100}, audio_clip{3000});
    CHECK(t.get(view::useful, accumulator::tokens, modality::vision) == 15);
    CHECK(t.get(view::padded, accumulator::tokens, modality::vision) == 64);
    CHECK(t.get(view::useful, accumulator::squares, modality::vision) == 225);
    CHECK(t.pairs(view::padded, mask::grid_windows(4)) == 4 * 256);
    CHECK(t.pairs(view::useful, unit::strided_frames(1, 2)) == 50);
    CHECK(t.pairs(view::padded, unit::strided_frames(1, 2)) == 1500);
}

TEST_CASE("input that a tower cannot process is an error that names the input and leaves the tally unchanged") {
    const mask_set masks = set_of({unit::merged_patches(2), mask::clip_squares()});
    tally vision{masks};
    vision.add(grid{1, 4, 6});
    const tally before = vision;
    const auto refused = [&](auto add) {
        const std::string text = error_of([&] { add(vision); });
        CHECK(vision == before);
        return text;
    };
    CHECK(refused([](tally& t) {
              t.add(grid{1, 27, 30});
          }) == "grid: 1 x 27 x 30 patches do not divide by the spatial_merge_size 2: resize the image to a multiple");
    tally pooled{set_of({unit::pooled_patches(2)})};
    CHECK(error_of([&] {
              pooled.add(grid{1, 4, 5});
          }) == "grid: 1 x 4 x 5 patches do not divide by the spatial_merge_size 2: resize the image to a multiple");
    CHECK(refused([](tally& t) {
              t.add(grid{1, 65536, 65536});
          }) == "grid: 1 x 65536 x 65536 patches: a frame must have at most 4294967295 patches; split the image");
    CHECK(refused([](tally& t) {
              t.add(grid{70000, 256, 256});
          }) == "grid: 70000 x 256 x 256 patches: a clip must have at most 4294967295 patches; split it");
    CHECK(refused([](tally& t) {
              t.add(grid{1, 4, 6}, grid{1, 8, 4});
          }) == "grid: a slot of 1 x 8 x 4 patches has no room for 1 x 4 x 6 patches: enlarge the slot");
    CHECK(refused([](tally& t) {
              t.add_grid_thw(std::array<int, 4>{1, 2, 2, 1});
          }) == "grid_thw: must have three numbers for each grid, got 4");
    CHECK(refused([](tally& t) {
              t.add_grid_thw(std::array<int, 6>{1, 2, 2, 1, -2, 2});
          }) == "grid_thw[4]: must be at least 0, got -2");
    CHECK(refused([](tally& t) { t.add(audio_clip{5}); }) ==
          "audio_frames: this model has no audio tower: build the tally with the masks() of a model that has it");
    CHECK(refused([](tally& t) { t.add(sequence{5}); }) ==
          "length: this model has no text: build the tally with the masks() of a model that has it");
    CHECK(refused([](tally& t) {
              t.add_lengths(std::array<int, 2>{5, 6});
          }) == "lengths: this model has no text: build the tally with the masks() of a model that has it");
    tally text;
    CHECK(error_of([&] {
              text.add(grid{1, 2, 2});
          }) == "grid: this model has no vision tower: build the tally with the masks() of a model that has it");
    CHECK(text == tally{});
}

TEST_CASE(
    "an audio clip adds cross-attention keys for a decoder only if the audio tower's output is declared as keys") {
    floptally::model_config model;
    CHECK(keys_of(model, audio_clip{9}) == 0);
    model.towers.push_back({.in = modality::audio, .units = unit::level_cells({.field = 3, .stride = 2})});
    CHECK(keys_of(model, audio_clip{9}) == 0);
    model.towers[0].are_keys = true;
    CHECK(keys_of(model, audio_clip{9}) == 4);  // the places of three frames of nine, two apart
}

TEST_CASE("an overflow error names the tower's accumulator and leaves the tally unchanged") {
    tally t{mask_set::of_towers()};
    t.add(grid{1, 65535, 65537});
    const tally before = t;
    CHECK(error_of([&] {
              t.add(grid{2, 65535, 65537});
          }) == "vision.squares: the sum does not fit 64 bits: count fewer samples");
    CHECK(error_of([&] {
              t.add(grid{1, 65535, 65537});
          }) == "vision.squares: the sum does not fit 64 bits: count fewer samples");
    CHECK(t == before);
}

TEST_CASE("a cost assigned to a tower uses the statistics and masks of that tower") {
    cost block;
    block.add("blocks", linear{.in_features = 3, .out_features = 5});
    block.add("blocks", attention_core{.num_heads = 2, .qk_head_dim = 7, .v_head_dim = 11}, mask::bidirectional());
    cost text;
    text.add("text", linear{.in_features = 13, .out_features = 17});
    text.add("text", attention_core{.num_heads = 2, .qk_head_dim = 7, .v_head_dim = 11}, mask::sliding_window(4));
    cost merger;
    merger.add("merger", linear{.in_features = 19, .out_features = 23}, unit::merged_patches(2));
    cost stem;
    stem.add("stem", linear{.in_features = 29, .out_features = 31, .kind = term::input_linear});
    const cost model = text + block.in(modality::vision) + merger + stem.in(modality::vision);

    tally batch{model.masks()};
    batch.add(sequence{9});
    batch.add(grid{2, 4, 6});
    const floptally::breakdown work = evaluate(model, batch);
    const auto forward = [&](const char* name) { return work[name].get(view::useful, phase::forward).value(); };
    CHECK(forward("text") == 2 * 13 * 17 * 9 + 2 * 2 * 18 * (1 + 2 + 3 + 4 * 6));
    CHECK(forward("blocks") == 2 * 3 * 5 * 48 + 2 * 2 * 18 * (2 * 24 * 24));
    CHECK(forward("merger") == 2 * 19 * 23 * 12);
    CHECK(forward("stem") == 2 * 29 * 31 * 48);
    // Pixels need no gradient: the backward of the stem is that of its weights.
    CHECK(work["stem"].get(view::useful, phase::backward_data).value() == 0);
    CHECK(work["stem"].get(view::useful, phase::backward_weights).value() == forward("stem"));
    CHECK(work["merger"].backward(view::useful).value() == 2 * forward("merger"));
    CHECK(flop_counter(model).total_flops(batch) == work.total());
    CHECK(model.masks().find(mask::bidirectional().in(modality::vision)) < model.masks().size());
}

TEST_CASE("one part of a model can be evaluated with the batch of the whole model") {
    cost text;
    text.add("text", linear{.in_features = 3, .out_features = 5});
    cost vision;
    vision.add("vision", linear{.in_features = 7, .out_features = 11}, unit::merged_patches(2));
    const cost model = text + vision;
    tally batch{model.masks()};
    batch.add(sequence{10});
    batch.add(grid{1, 4, 4});
    CHECK(evaluate(text, batch).total() + evaluate(vision, batch).total() == evaluate(model, batch).total());
}

TEST_CASE("n prefix tokens of a tower cost the same as n more tokens in each sequence") {
    cost layer;
    layer.add("mlp", linear{.in_features = 3, .out_features = 5, .weight = "up"});
    layer.add("core", attention_core{.num_heads = 2, .qk_head_dim = 7, .v_head_dim = 11}, mask::bidirectional());
    layer.add_parameters("norm", term::norm, 13);
    for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{5}}) {
        const cost longer = layer.with_prefix_tokens(n);
        CHECK(longer.parameters() == layer.parameters());
        tally batch{longer.masks()};
        tally counted_in{layer.masks()};
        for (const std::uint32_t length : {4U, 9U, 16U}) {
            batch.add(sequence{length});
            counted_in.add(sequence{length + static_cast<std::uint32_t>(n)});
        }
        for (const floptally::convention& how :
             {floptally::conventions::exact, floptally::conventions::torch_flop_counter}) {
            CHECK(evaluate(longer, batch, how).total() == evaluate(layer, counted_in, how).total());
        }
    }
    cost windowed;
    windowed.add("core", attention_core{.num_heads = 1, .qk_head_dim = 2, .v_head_dim = 2}, mask::sliding_window(4));
    CHECK(error_of([&] { static_cast<void>(windowed.with_prefix_tokens(1)); }) ==
          "masks: sliding_window(4) cannot count prefix tokens: use a bidirectional mask");
    cost tiles;
    tiles.add("core", attention_core{.num_heads = 1, .qk_head_dim = 2, .v_head_dim = 2}, mask::clip_squares(2));
    CHECK(tiles.with_prefix_tokens(2) == tiles);
    CHECK(error_of([&] { static_cast<void>(tiles.with_prefix_tokens(1)); }) ==
          "masks: vision.clip_squares(prefix_tokens=2) cannot count prefix tokens: use a bidirectional mask");
}

TEST_CASE("learned queries have a fixed number of self-attention pairs per image") {
    cost queries;
    queries.add("self", attention_core{.num_heads = 3, .qk_head_dim = 4, .v_head_dim = 5}, accumulator::count, 32 * 32);
    queries.add("cross", attention_core{.num_heads = 3, .qk_head_dim = 4, .v_head_dim = 5}, accumulator::tokens, 32);
    tally batch{queries.in(modality::vision).masks()};
    batch.add(grid{1, 3, 5});
    batch.add(grid{1, 2, 2});
    const floptally::breakdown work = evaluate(queries.in(modality::vision), batch);
    CHECK(work["self"].get(view::useful, phase::forward).value() == 2 * 3 * 9 * 32 * 32 * 2);
    CHECK(work["cross"].get(view::useful, phase::forward).value() == 2 * 3 * 9 * 32 * 19);
    CHECK(work["self"].backward(view::useful).value() == 2 * work["self"].get(view::useful, phase::forward).value());
}

TEST_CASE("the name of a tower's mask includes the tower") {
    CHECK(mask::bidirectional().in(modality::vision).name() == "vision.bidirectional");
    CHECK(mask::grid_windows(8).name() == "vision.grid_windows(8)");
    CHECK(mask::grid_windows(7, 3).name() == "vision.grid_windows(7,shift=3)");
    CHECK(statistic(unit::merged_patches(2)).name() == "vision.merged_patches(2)");
    CHECK(statistic(unit::merged_patches(2, 1)).name() == "vision.merged_patches(2,line_ends=1)");
    CHECK(statistic(unit::pooled_patches(2)).name() == "vision.pooled_patches(2)");
    CHECK(statistic(unit::pooled_clips(2)).name() == "vision.pooled_clips(2)");
    CHECK(mask::later_image_tokens(1).name() == "vision.later_image_tokens(1)");
    CHECK(mask::later_image_tokens(2, 512).name() == "vision.later_image_tokens(2,sliding_window=512)");
    CHECK(statistic(unit::strided_frames(1, 2)).name() == "audio.strided_frames(1,2)");
    CHECK(error_of([] { static_cast<void>(mask::later_image_tokens(1, 0)); }) ==
          "sliding_window: must be from 1 to 2147483647, or -1 for no window, got 0");
    CHECK(error_of([] { static_cast<void>(mask::grid_windows(0)); }) ==
          "window_size: must be from 1 to 2147483647, got 0");
}

}  // namespace tower_test
