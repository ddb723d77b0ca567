// SPDX-License-Identifier: Apache-2.0
//
// The masked pairs that kernels compute, against a model whose mask is the tiles themselves, pair by pair.

#include <cstdint>
#include <string_view>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/waterfall/masked_tiles.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace masked_tiles_test {
namespace {

using floptally::breakdown;
using floptally::mask;
using floptally::masked_tiles;
using floptally::model_part;
using floptally::sequence;
using floptally::tally;
using floptally::training_plan;
using floptally::view;

/// Pairs of all tiles of 16 x 8 in which a query sees a key, of a window (0: of causal attention).
struct tiles_of_window {
    std::int32_t window;

    static constexpr std::string_view name = "tiles_of_window";

    constexpr std::uint64_t operator()(const sequence& s) const {
        std::uint64_t pairs = 0;
        for (std::uint64_t row = 0; row < s.length; row += 16) {
            for (std::uint64_t key = 0; key < s.length; key += 8) {
                bool touched = false;
                for (std::uint64_t i = row; i < row + 16 && i < s.length; ++i) {
                    for (std::uint64_t j = key; j < key + 8 && j <= i; ++j) {
                        touched = touched || window == 0 || i - j < static_cast<std::uint64_t>(window);
                    }
                }
                pairs += touched ? 16 * 8 : 0;
            }
        }
        return pairs;
    }
};

/// Two layers of causal and three of windowed attention, between matrices, as one's own model.
template <class Causal, class Window>
std::vector<model_part> model_of(const Causal& causal, const Window& window) {
    const auto layer = [](const floptally::statistic& attends, std::uint64_t first, std::uint64_t repeat) {
        namespace value = floptally::value;
        floptally::cost cost;
        cost.add(
            "attention.qkv",
            floptally::linear{.in_features = 8, .out_features = 24, .reads = value::stream, .writes = value::local(0)});
        cost.add("attention.core",
                 floptally::attention_core{.num_heads = 2,
                                           .qk_head_dim = 4,
                                           .v_head_dim = 6,
                                           .q = value::local(0),
                                           .k = value::local(0),
                                           .v = value::local(0),
                                           .writes = value::local(1)},
                 attends);
        return model_part{.name = "layer", .cost = cost, .first_layer = first, .repeat = repeat};
    };
    return {layer(causal, 0, 2), layer(window, 2, 3)};
}

}  // namespace

TEST_CASE("work in masked tiles is tile pairs minus mask pairs in each executed pass") {
    const std::vector<model_part> parts = model_of(mask::causal(), mask::sliding_window(20));
    const std::vector<model_part> tiled = model_of(tiles_of_window{0}, tiles_of_window{20});
    const std::vector<std::uint32_t> lengths = {1, 15, 16, 17, 40, 100, 7};
    masked_tiles counted(parts, {.rows = 16, .keys = 8});
    counted.add_lengths(lengths);
    std::vector<training_plan> plans(4);
    plans[1].flash_attention = false;
    plans[2].recomputed = floptally::recompute::full;
    plans[3].weights.push_back(
        {.weights = "*", .state = floptally::weight_state::frozen, .first_layer = 0, .last_layer = 2}, "statistics");
    for (const training_plan& plan : plans) {
        tally batch{floptally::cost_of(parts).masks()};
        batch.add_lengths(lengths);
        tally in_tiles{floptally::cost_of(tiled).masks()};
        in_tiles.add_lengths(lengths);
        const auto executed = [&](const std::vector<model_part>& source, const tally& in, floptally::phase during) {
            return floptally::evaluate(source, in, floptally::conventions::exact, plan)["attention.core"].get(
                view::executed, during);
        };
        const breakdown vain = counted.work(plan);
        CHECK(vain.total(view::useful) == floptally::flops{});
        CHECK(vain.total(view::padded) == floptally::flops{});
        CHECK(vain.total(view::executed) > floptally::flops{});
        for (const auto during : {floptally::phase::forward, floptally::phase::backward_data,
                                  floptally::phase::backward_weights, floptally::phase::recompute}) {
            CHECK(executed(parts, batch, during) + vain.get(view::executed, during) ==
                  executed(tiled, in_tiles, during));
        }
    }
}

TEST_CASE("work in masked tiles is timed at the peak of its attention component") {
    const std::vector<model_part> parts = model_of(mask::causal(), mask::sliding_window(20));
    const std::vector<model_part> tiled = model_of(tiles_of_window{0}, tiles_of_window{20});
    const std::vector<std::uint32_t> lengths = {1, 15, 16, 17, 40, 100, 7};
    masked_tiles counted(parts, {.rows = 16, .keys = 8});
    counted.add_lengths(lengths);
    // The second causal and the first windowed layer at 300, all else at 1000; projections at 500 have no tiles.
    const std::vector<floptally::precision_setting> settings = {
        {.component = "attention.core", .layers = floptally::index_range{1, 3}, .peak_tflops = 300},
        {.component = "attention.qkv", .peak_tflops = 500}};
    const training_plan plan;
    const auto core_at = [&](const std::vector<model_part>& model_parts, double peak) {
        const floptally::flop_counter whole(model_parts, floptally::conventions::exact, plan);
        tally batch{whole.masks()};
        batch.add_lengths(lengths);
        for (const floptally::work_at_peak& piece :
             floptally::mixed_precision(whole, model_parts, plan, settings, 1000).by_peak(batch)) {
            if (piece.peak_tflops == peak) {
                return piece.work["attention.core"].total(view::executed);
            }
        }
        return floptally::flops{};
    };
    std::uint64_t peaks = 0;
    for (const floptally::work_at_peak& piece : counted.by_peak(plan, 1000, settings)) {
        if (piece.peak_tflops == 500) {
            CHECK(piece.work.total(view::executed) == floptally::flops{});
            continue;
        }
        ++peaks;
        CHECK(core_at(parts, piece.peak_tflops) + piece.work.total(view::executed) ==
              core_at(tiled, piece.peak_tflops));
    }
    CHECK(peaks == 2);
}

TEST_CASE("masked tiles are counted over whole slots and leave the tally of the batch unchanged") {
    const std::vector<model_part> parts = model_of(mask::causal(), mask::causal());
    masked_tiles slots(parts, {.rows = 16, .keys = 8});
    slots.add_cu_seqlens(std::vector<std::int32_t>{0, 10, 30, 30}, std::vector<std::int32_t>{0, 16, 48, 64}, 2);
    masked_tiles full(parts, {.rows = 16, .keys = 8});
    full.add_lengths(std::vector<std::uint32_t>{16, 32, 16});
    CHECK(slots.work().total(view::executed) == full.work().total(view::executed));
    tally batch{slots.masks()};
    batch.add_cu_seqlens(std::vector<std::int32_t>{0, 10, 30, 30}, std::vector<std::int32_t>{0, 16, 48, 64}, 2);
    CHECK(slots.total() == batch);
    CHECK(masked_tiles(parts, {1, 1}).work().components().size() == 0);
}

TEST_CASE(
    "counting masked tiles is an error for a mask without tiles and for tile size zero, and the error adds nothing") {
    const std::vector<model_part> chosen = model_of(mask::top_k(4), mask::causal());
    masked_tiles counted(chosen, {});
    CHECK(error_of([&] { counted.add_lengths(std::vector<std::uint32_t>{9}); }) ==
          "mask: top_k(4) knows how many keys a query sees, but not which: pass a mask with `add_keys`, such as a "
          "window");
    CHECK(counted.total() == tally{counted.masks()});
    CHECK(error_of([&] { masked_tiles(chosen, {0, 8}); }) == "tile: must be at least 1, got 0");
}

}  // namespace masked_tiles_test
