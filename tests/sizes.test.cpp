// SPDX-License-Identifier: Apache-2.0
//
// Models of any size, objects that are small to move, and no allocation where a training loop spends its time.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/open_metrics.hpp>
#include <floptally/step/report.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "thread_world.hpp"

namespace {

thread_local std::size_t allocations = 0;
/// The allocation from which on none succeeds.
thread_local std::size_t last_allocation = std::numeric_limits<std::size_t>::max();

}  // namespace

// Not inlined: g++ would see a malloc that a delete frees, and warn.
[[gnu::noinline]] void* operator new(std::size_t size) {
    void* memory = ++allocations <= last_allocation ? std::malloc(size == 0 ? 1 : size) : nullptr;
    if (memory != nullptr) {
        return memory;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept {
    return ++allocations <= last_allocation ? std::malloc(size == 0 ? 1 : size) : nullptr;
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t& /*unused*/) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t /*unused*/) noexcept { std::free(memory); }

namespace sizes_test {
namespace {

using namespace floptally;
using u64 = std::uint64_t;

// ---- what moves is small ----

static_assert(sizeof(cost) <= 128 && sizeof(breakdown) <= 32 && sizeof(tally) <= 72);
static_assert(sizeof(training_plan) <= 80 && sizeof(flop_counter) <= 256);
static_assert(sizeof(report) <= 672 && sizeof(model_part) <= 256);
static_assert(std::is_nothrow_move_constructible_v<cost> && std::is_nothrow_move_assignable_v<cost>);
static_assert(std::is_nothrow_move_constructible_v<breakdown> && std::is_nothrow_move_assignable_v<tally>);
// A constant goes to a device by value.
static_assert(std::is_trivially_copyable_v<constant_cost<>>);

// ---- a cost that no bound of before would hold, with the sums by hand beside it ----

constexpr u64 components = 300;  // more than a byte numbers
constexpr u64 masks = 40;
constexpr u64 attentions = 20;  // under each mask

std::string name_of(u64 i) { return std::string("part.").append(std::to_string(i)); }

/// Component i: a matrix [i + 3, 2i + 5] called w(i % 40) and one over the other side, [i + 1, 7]; and in the first 20
/// components of each mask … a product of i + 2 multiply-adds a pair.
cost large_cost() {
    cost model;
    for (u64 i = 0; i < components; ++i) {
        const std::string weight = std::string("w").append(std::to_string(i % 60));
        model.add(name_of(i), linear{.in_features = i + 3, .out_features = 2 * i + 5, .weight = weight});
        model.add(name_of(i), linear{.in_features = i + 1, .out_features = 7, .rows = accumulator::keys});
    }
    for (u64 m = 0; m < masks; ++m) {
        for (u64 i = 0; i < attentions; ++i) {
            model.add_pairs(name_of(m + i), term::scores, i + 2, mask::sliding_window(static_cast<std::int64_t>(m + 1)),
                            {});
        }
    }
    return model;
}

struct sample {
    std::uint32_t length;
    std::uint32_t keys;
    std::uint32_t slot;
};
const std::vector<sample> samples{{1, 2, 3}, {17, 5, 17}, {64, 9, 70}, {200, 1, 256}, {0, 0, 11}};

/// Pairs that a window of w attends in n tokens, one row after the other.
u64 window_pairs(u64 n, u64 w) {
    u64 sum = 0;
    for (u64 row = 0; row < n; ++row) {
        sum += std::min(row + 1, w);
    }
    return sum;
}

struct sums {
    u64 tokens = 0;
    u64 keys = 0;
    std::vector<u64> pairs = std::vector<u64>(masks);
};
sums sums_by_hand(bool padded) {
    sums all;
    for (const sample& element : samples) {
        const u64 n = padded ? element.slot : element.length;
        all.tokens += n;
        all.keys += element.keys;
        for (u64 m = 0; m < masks; ++m) {
            all.pairs[m] += window_pairs(n, m + 1);
        }
    }
    return all;
}

/// Forward FLOPs of a component.
u64 forward_by_hand(u64 component, bool padded) {
    const sums all = sums_by_hand(padded);
    u64 sum = 2 * (component + 3) * (2 * component + 5) * all.tokens + 2 * (component + 1) * 7 * all.keys;
    for (u64 m = 0; m < masks; ++m) {
        if (component >= m && component - m < attentions) {
            sum += 2 * (component - m + 2) * all.pairs[m];
        }
    }
    return sum;
}

template <class Tally>
void add_samples(Tally& batch) {
    for (const sample& sample_of_rank : samples) {
        batch.add({.length = sample_of_rank.length, .keys = sample_of_rank.keys},
                  {.length = sample_of_rank.slot, .keys = sample_of_rank.keys});
    }
}

}  // namespace

TEST_CASE("a cost of 300 components, 1400 entries and 40 masks matches a hand count", "[sizes]") {
    const cost model = large_cost();
    CHECK(model.components().size() == components);
    CHECK(model.entries().size() == 2 * components + masks * attentions);
    CHECK(model.weights().size() == 60);
    CHECK(model.masks().size() == masks);

    const flop_counter counter(model);
    tally batch{counter.masks()};
    add_samples(batch);
    const breakdown work = counter.evaluate(batch);
    REQUIRE(work.components().size() == components);
    u64 forward = 0;
    for (u64 i = 0; i < components; ++i) {
        const component_flops& component_work = work[name_of(i)];
        REQUIRE(component_work.get(view::useful, phase::forward) == flops{forward_by_hand(i, false)});
        REQUIRE(component_work.get(view::padded, phase::forward) == flops{forward_by_hand(i, true)});
        // Two products of as many FLOPs: for both operands of scores, or for the input and the weight.
        REQUIRE(component_work.backward(view::useful) == flops{2 * forward_by_hand(i, false)});
        forward += forward_by_hand(i, false);
    }
    CHECK(counter.total_flops(batch) == flops{3 * forward});

    // Under every convention the sum of the components is the total, and that of the samples too.
    for (const convention* how : conventions::all) {
        const flop_counter other(model, *how);
        tally counted_batch{other.masks()};
        flops alone;
        for (const sample& item : samples) {
            counted_batch.add(sequence{.length = item.length, .keys = item.keys});
            alone += other.total_flops(sequence{.length = item.length, .keys = item.keys});
        }
        CHECK(other.total_flops(counted_batch) == other.evaluate(counted_batch).total());
        CHECK(alone == other.total_flops(counted_batch));
    }

    split_tally split{counter.masks()};
    add_samples(split);
    CHECK(split.total() == batch);
    CHECK(padding_of(counter, split).padded() == counter.total_flops(batch, view::padded));
    CHECK(padding_of(counter, split).useful == counter.total_flops(batch));
}

TEST_CASE("large costs can be added, scaled and compared", "[sizes]") {
    const cost model = large_cost();
    const cost twice = model + model;
    CHECK(twice == 2 * model);
    CHECK(twice.entries().size() == model.entries().size());
    CHECK(twice.parameters() == 2 * model.parameters());
    cost moved = twice;
    const cost taken = std::move(moved);
    CHECK(taken == twice);
    moved = model;
    CHECK(moved == model);
    moved += moved;
    CHECK(moved == twice);
    const cost& itself = moved;
    moved = itself;
    CHECK(moved == twice);
    cost other = model;
    other.add(name_of(0), linear{.in_features = 1, .out_features = 1});
    CHECK_FALSE(other == model);
    CHECK(large_cost() == model);
}

TEST_CASE("an error leaves a large cost unchanged", "[sizes][errors]") {
    const cost before = large_cost();
    cost model = before;
    constexpr u64 most = std::numeric_limits<u64>::max();
    // The last of the rows to be added is what does not fit.
    cost heavy = cost{}.add("new part", linear{.in_features = 1, .out_features = 1, .weight = "new weight"});
    heavy.add("new part", attention_core{1, 1, 1}, mask::sliding_window(1000));
    heavy.add_state(name_of(7), most / 2);
    heavy.add(name_of(7), linear{.in_features = most / 4, .out_features = 1, .weight = "w7"});
    heavy.add(name_of(7), linear{.in_features = most / 4, .out_features = 1, .weight = "w7"});
    CHECK(error_of([&] { model += heavy; }).find(name_of(7)) == 0);
    CHECK(model == before);
    CHECK(error_of([&] {
              model.add("core", attention_core{.num_heads = 1, .qk_head_dim = 1, .v_head_dim = most},
                        mask::sliding_window(2000));
          }).find("core: ") == 0);
    CHECK(model == before);
    CHECK(error_of([&] {
              model.add("x", linear{.in_features = most, .out_features = 2}, mask::sliding_window(3000));
          }).find("x: ") == 0);
    CHECK(model == before);
}

TEST_CASE("each of 40 weight settings of a plan trains the weights that it names", "[sizes]") {
    const cost model = large_cost();
    // Frozen throughout, but for every third of the first 117 components: 40 settings.
    training_plan plan;
    plan.weights.push_back({.weights = "*", .state = weight_state::frozen}, "weights");
    std::vector<bool> trains(components);
    for (u64 i = 0; i < 39; ++i) {
        plan.weights.push_back({.weights = name_of(3 * i), .state = weight_state::trainable}, "weights");
        trains[3 * i] = true;
    }
    REQUIRE(plan.weights.size() == 40);
    const flop_counter counter(model, conventions::exact, plan);
    tally batch{counter.masks()};
    add_samples(batch);
    const breakdown work = counter.evaluate(batch);
    const sums all = sums_by_hand(false);
    for (u64 i = 0; i < components; ++i) {
        const u64 weights = 2 * (i + 3) * (2 * i + 5) * all.tokens + 2 * (i + 1) * 7 * all.keys;
        REQUIRE(work[name_of(i)].get(view::useful, phase::forward) == flops{forward_by_hand(i, false)});
        REQUIRE(work[name_of(i)].get(view::useful, phase::backward_weights) == flops{trains[i] ? weights : 0});
    }
    // The last setting that names a weight holds, however many came before.
    plan.weights.push_back({.weights = "*", .state = weight_state::frozen}, "weights");
    CHECK(flop_counter(model, conventions::exact, plan).total_flops(batch) ==
          flop_counter(model, conventions::exact, {.counted = counted_passes::forward}).total_flops(batch));
}

TEST_CASE("a plan may name any number of components to recompute", "[sizes]") {
    const cost model = large_cost();
    training_plan plan;
    for (u64 i = 0; i < 30; ++i) {
        plan.recomputed_components.push_back(name_of(i), "recomputed_components");
    }
    const flop_counter counter(model, conventions::exact, plan);
    tally batch{counter.masks()};
    add_samples(batch);
    u64 again = 0;
    for (u64 i = 0; i < 30; ++i) {
        again += forward_by_hand(i, true);
    }
    CHECK(counter.evaluate(batch).get(view::executed, phase::recompute) == flops{again});
}

// ---- a UNet: 78 components and 125 rows, as Stable Diffusion's ----

TEST_CASE("a model cost as large as a UNet's can be evaluated, and can be constexpr with larger template bounds",
          "[sizes]") {
    const auto unet = [] {
        cost model;
        for (u64 i = 0; i < 78; ++i) {
            const char digits[] = {'b', static_cast<char>('0' + i / 10), static_cast<char>('0' + i % 10)};
            const std::string_view name(digits, 3);
            model.add(name, linear{.in_features = 320, .out_features = i + 1, .kind = term::linear});
            if (i < 47) {
                model.add(name, linear{.in_features = i + 1, .out_features = 640, .rows = accumulator::keys});
            }
        }
        return model;
    };
    constexpr constant_cost<78, 125> constant = unet();
    STATIC_REQUIRE(constant.components().size() == 78 && constant.entries().size() == 125);
    STATIC_REQUIRE(constant.parameters() == 320 * 78 * 79 / 2 + 640 * 47 * 48 / 2);
    CHECK(cost(constant) == unet());
    CHECK(constant == constant_cost<100, 200>(unet()));
    tally batch;
    batch.add(sequence{.length = 5, .keys = 3});
    CHECK(evaluate(constant, batch).total() ==
          flops{3 * 2 * (u64{5} * 320 * 78 * 79 / 2 + u64{3} * 640 * 47 * 48 / 2)});
    CHECK((2 * constant).parameters() == 2 * constant.parameters());
    CHECK((constant + constant) == 2 * cost(constant));

    const cost model = unet();
    CHECK(error_of([&] { static_cast<void>(constant_cost<>(model)); }) ==
          "components: 78 are more than the 48 of this constant_cost: pass larger bounds");
    CHECK(error_of([&] { static_cast<void>(constant_cost<78, 124>(model)); }) ==
          "rows: 125 are more than the 124 of this constant_cost: pass larger bounds");
    const cost large = large_cost();
    CHECK(error_of([&] { static_cast<void>(constant_cost<components, 1400, 60, 16>(large)); }) ==
          "masks: 40 are more than the 16 of this constant_cost: pass larger bounds");
    CHECK(error_of([&] { static_cast<void>(constant_cost<components, 1400, 59, 40>(large)); }) ==
          "weights: 60 are more than the 59 of this constant_cost: pass larger bounds");
    CHECK(cost(constant_cost<components, 1400, 60, 40>(large)) == large);
    const cost towers = model.in(modality::vision);
    CHECK(cost(constant_cost<78, 125>(towers)) == towers);
    CHECK(constant_cost<78, 125>(towers).masks() == towers.masks());
}

// ---- memory ----

namespace {

template <class Work>
std::size_t allocations_of(Work work) {
    const std::size_t before = allocations;
    work();
    return allocations - before;
}

}  // namespace

TEST_CASE("the allocation counter of these tests counts allocations", "[sizes]") {
    CHECK(allocations_of([] { std::vector<int>(3).swap(*std::make_unique<std::vector<int>>(4)); }) == 3);
    CHECK(allocations_of([] { tally{}.add(sequence{1}); }) == 1);
}

TEST_CASE("adding to a tally of 40 masks and evaluating the tally allocate no memory", "[sizes]") {
    const cost model = large_cost();
    const flop_counter counter(model);
    mask_set with_towers = counter.masks();
    with_towers.find_or_add(unit::merged_patches(2), "masks");
    with_towers.include(modality::audio);
    tally batch{counter.masks()};
    tally other{counter.masks()};
    tally towers{with_towers};
    const std::vector<std::int32_t> lengths{5, 7, 300, 12, 5, 7, 300, 12, 1, 0, 44, 3, 9};
    const std::vector<std::int64_t> boundaries{0, 5, 9, 20};
    const std::vector<std::int64_t> slots{0, 8, 16, 32};
    const std::vector<std::uint8_t> flags{1, 1, 0, 0, 1, 1};
    const std::vector<std::int64_t> grids{1, 4, 6, 2, 8, 2};
    const auto add_all = [&] {
        batch.add(sequence{.length = 4, .past = 3, .keys = 2}, sequence{.length = 5, .past = 3, .keys = 2});
        batch.add_lengths(lengths);
        batch.add_padded(lengths, 512);
        batch.add_shape({.rows = 3, .columns = 7});
        batch.add_attention_mask(flags, {.rows = 2, .columns = 3});
        batch.add_encoder_decoder(lengths, lengths);
        batch.add_cu_seqlens(boundaries);
        batch.add_cu_seqlens(boundaries, slots, 2);
        batch.add_routed({.useful = 3, .padded = 4});
        towers.add_grid_thw(grids);
        towers.add(grid{1, 2, 2}, grid{1, 4, 4});
        towers.add(audio_clip{30});
        towers.add_audio_frames(lengths);
        batch += other;
        other = batch;  // of equal length: in the memory that is there
        other.clear();
    };
    CHECK(allocations_of(add_all) == 0);

    breakdown into;
    counter.evaluate(batch, into);
    flops sum;
    CHECK(allocations_of([&] {
              counter.evaluate(batch, into);
              sum += counter.total_flops(batch) + counter.total_flops(batch, view::executed);
              sum += counter.total_flops(sequence{.length = 77});
          }) == 0);
    CHECK(into.total() == counter.evaluate(batch).total());
    // Neither does a tally with other masks than the counter's, whose accumulators are found one by one.
    mask_set more;
    more.find_or_add(mask::sliding_window(5000), "masks");
    for (const statistic& value : counter.masks()) {
        more.find_or_add(value, "masks");
    }
    tally wider{more};
    wider.add_lengths(lengths);
    CHECK(allocations_of([&] {
              counter.evaluate(wider, into);
              sum += counter.total_flops(wider);
          }) == 0);
    tally same{counter.masks()};
    same.add_lengths(lengths);
    CHECK(into.total() == counter.total_flops(same));
    // One memory for a breakdown that did not exist.
    CHECK(allocations_of([&] { static_cast<void>(counter.evaluate(batch)); }) == 1);
}

TEST_CASE("a failed evaluation leaves the caller's breakdown unchanged", "[sizes][errors]") {
    const flop_counter counter(large_cost());
    tally batch{counter.masks()};
    batch.add(sequence{.length = 9});
    breakdown into = counter.evaluate(batch);
    const flops before = into.total();
    CHECK(error_of([&] { counter.evaluate(tally{}, into); }).find("masks: ") == 0);
    CHECK(into.components().size() == components);
    CHECK(into.total() == before);
    // A smaller one after a larger one has the components of its own only.
    const flop_counter small(cost{}.add("mlp", linear{.in_features = 3, .out_features = 5}));
    small.evaluate(batch, into);
    CHECK(into.components().size() == 1);
    CHECK(into.total() == flops{3 * 2 * 15 * 9});
}

TEST_CASE("the steps of a meter allocate no memory", "[sizes]") {
    double now = 0;
    meter measured(flop_counter(large_cost()), {.gpus = 1, .peak_tflops = 100}, [&now] { return now += 1; });
    tally other{measured.model().masks()};
    const std::vector<std::int32_t> lengths{5, 7, 300, 12, 5, 7, 300, 12, 1, 0, 44, 3, 9};
    const auto step = [&] {
        measured.begin_step();
        measured.microbatch().add_lengths(lengths);
        other.clear();
        other.add_lengths(lengths);
        measured.microbatch() += other;
        measured.end_step();
    };
    step();
    step();
    const flops single_work = measured.last_step().useful;
    CHECK(allocations_of(step) == 0);
    CHECK(measured.last_step().useful == single_work);
    CHECK(measured.run().totals.steps == 3);
    CHECK(measured.run().totals.useful == 3 * single_work);
    CHECK(measured.interval().totals.useful == 3 * single_work);
}

TEST_CASE("a meter with 40 masks resumes from its saved state", "[sizes]") {
    const flop_counter counter(large_cost());
    const metered_hardware hardware{.gpus = 1, .peak_tflops = 100};
    meter first(counter, hardware);
    first.begin_step();
    add_samples(first.microbatch());
    first.end_step(1.0);
    const meter_state saved = state_of(first);
    CHECK(saved.masks.size() == masks);
    CHECK(saved.accumulators.size() == 2 * (7 + masks));
    meter second(counter, hardware);
    resume(second, saved);
    CHECK(second.run() == first.run());
    second.begin_step();
    add_samples(second.microbatch());
    second.end_step(1.0);
    CHECK(second.run().totals.useful == 2 * first.run().totals.useful);
}

TEST_CASE("an overflow error in a tally of 40 masks names the accumulator and changes nothing", "[sizes][errors]") {
    const flop_counter counter(large_cost());
    tally batch{counter.masks()};
    const std::vector<u64> longest(1, 4'294'967'295);
    batch.add_lengths(longest);
    const tally before = batch;
    const std::vector<u64> too_many(3, 4'294'967'295);
    CHECK(error_of([&] { batch.add_lengths(too_many); }).find("squares: ") == 0);
    CHECK(batch == before);
    CHECK(error_of([&] { batch.add_encoder_decoder(too_many, too_many); }).find("squares: ") == 0);
    CHECK(batch == before);
    batch.add_encoder_decoder(std::vector<u64>{2}, std::vector<u64>{3});
    tally again = before;
    again.add(sequence{.length = 2, .keys = 3});
    CHECK(batch == again);  // nothing of what was refused is left
}

TEST_CASE("a failed memory allocation at any point of a step keeps the totals of earlier steps") {
    const flop_counter model(presets::mistral_7b.cost());
    const auto make = [&] { return meter(model, {.gpus = 1, .peak_tflops = 989}); };
    const std::vector<std::int64_t> lengths{5000, 1, 700};
    const auto step = [&](meter& m) {
        m.begin_step();
        m.microbatch().add_lengths(lengths);
        m.end_step(0.5);
    };
    meter expected = make();
    step(expected);
    const step_series run_totals = expected.run();
    step(expected);
    const step_series two = expected.run();

    std::size_t failures = 0;
    for (bool failed = true; failed; failures += failed ? 1U : 0U) {
        meter m = make();
        step(m);
        failed = false;
        last_allocation = allocations + failures;
        try {
            step(m);
            static_cast<void>(m.model().evaluate(m.run().totals.batch));
            static_cast<void>(state_of(m));
            static_cast<void>(to_open_metrics(m));
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        last_allocation = std::numeric_limits<std::size_t>::max();
        const bool ended = m.run().totals.steps == 2;
        REQUIRE(m.run() == (ended ? two : run_totals));
        if (m.in_step()) {
            m.discard_step();
        }
        if (!ended) {
            step(m);
        }
        REQUIRE(m.run() == two);
    }
    CHECK(failures > 20);
}

TEST_CASE("a failed memory allocation on one rank makes no rank hang and adds no partial step") {
    const flop_counter model(presets::mistral_7b.cost());
    const std::vector<std::int64_t> lengths{5000, 1, 700};
    /// The collectives of a rank, which have memory of their own.
    struct with_memory {
        const thread_world::reducer& over;
        void sum(std::span<std::uint64_t> accumulators) const {
            const std::size_t most = std::exchange(last_allocation, std::numeric_limits<std::size_t>::max());
            over.sum(accumulators);
            last_allocation = most;
        }
        void max(std::span<std::uint64_t> accumulators) const {
            const std::size_t most = std::exchange(last_allocation, std::numeric_limits<std::size_t>::max());
            over.max(accumulators);
            last_allocation = most;
        }
    };
    std::size_t failures = 0;
    std::size_t all_refused = 0;
    for (bool failed = true; failed; ++failures) {
        thread_world world;
        std::uint64_t ended[2] = {};
        const std::vector<std::string> ends = thread_world::run(2, [&](std::uint64_t rank) {
            const parallel_layout here({.dp = 2}, 2, rank);
            const auto group = world.over(here, every_axis);
            const with_memory over{group};
            const tally_reduction reduction(model, scopes::microbatch, here, over);
            meter m(model, {.peak_tflops = 989}, reduction.by(over));
            m.begin_step();
            m.microbatch().add_lengths(lengths);
            last_allocation = rank == 1 ? allocations + failures : last_allocation;
            try {
                m.end_step(0.5);
            } catch (...) {
                last_allocation = std::numeric_limits<std::size_t>::max();
                thread_world::expect(m.in_step() && m.run() == m.interval() && m.run().totals.steps == 0,
                                     "no half step");
                throw;
            }
            last_allocation = std::numeric_limits<std::size_t>::max();
            ended[rank] = m.run().totals.steps;
            thread_world::expect(m.run().totals.useful == model.total_flops(m.run().totals.batch), "a whole step");
        });
        INFO("after " << failures << " allocations: " << ends[0] << "; " << ends[1]);
        failed = ends[1] != "no error";
        REQUIRE(ends[1] == (failed ? std::bad_alloc().what() : std::string("no error")));
        // The others refuse with it, or have ended the step before its memory was gone: then it must end the job.
        const bool refused = ends[0] == "sum: rank 1 failed: look at the error of that rank";
        REQUIRE((refused || ends[0] == "no error"));
        REQUIRE((failed || !refused));
        REQUIRE(ended[0] == (refused ? 0U : 1U));
        all_refused += refused ? 1U : 0U;
    }
    CHECK(all_refused > 0);
}

}  // namespace sizes_test
