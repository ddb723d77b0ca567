// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "matmul_trace.hpp"

namespace flop_counter_test {
namespace {

using namespace floptally;

constexpr view every_view[] = {view::useful, view::padded, view::executed};
constexpr counted_passes every_passes[] = {counted_passes::train, counted_passes::forward, counted_passes::backward};
constexpr recompute every_recompute[] = {recompute::none, recompute::full, recompute::attention};

/// Windows, chunks and full layers, experts, cross attention, a padded vocabulary.
struct both_attentions {
    gqa self{};
    cross_attention cross{};
    constexpr floptally::cost cost(const layer& where) const { return self.cost(where) + cross.cost(where); }
};
constexpr constant_cost mixed_model = transformer<both_attentions, moe>{
    .hidden_size = 15,
    .num_layers = 5,
    .attention = {.self = {.num_heads = 6, .num_kv_heads = 2, .head_dim = 7},
                  .cross = {.num_heads = 2, .num_kv_heads = 1, .head_dim = 5, .context_size = 13}},
    .feed_forward = {.num_experts = 5, .num_experts_per_tok = 2, .intermediate_size = 11},
    .vocab = {.size = 101, .padded_size = 128},
    .masks = layer_masks::period({mask::sliding_window(4), mask::chunked(3), mask::causal()}),
    .layer_elementwise = {.norm = 30}}.cost();

struct slot {
    sequence real;
    sequence padded;
};
const std::vector<slot>& samples() {
    static const std::vector<slot> all{{{1, 0, 4}, {1, 0, 4}},  {{7, 0, 2}, {8, 0, 2}},    {{12, 5, 0}, {16, 5, 3}},
                                       {{0, 0, 0}, {4, 0, 0}},  {{3, 9, 1}, {3, 9, 1}},    {{25, 0, 11}, {32, 1, 16}},
                                       {{4, 0, 1}, {12, 0, 1}}, {{33, 2, 40}, {33, 2, 40}}};
    return all;
}

template <class F>
void for_every_fold(const cost& model, F check) {
    for (const convention* how : conventions::all) {
        for (const counted_passes counted : every_passes) {
            for (const recompute again : every_recompute) {
                for (const bool flash : {true, false}) {
                    CAPTURE(std::string(how->name), static_cast<int>(counted), static_cast<int>(again), flash);
                    check(flop_counter(model, *how, {counted, again, flash}));
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("total_flops() equals the total of evaluate() in every view", "[flop_counter]") {
    for_every_fold(mixed_model, [](const flop_counter& folded) {
        tally batch{folded.masks()};
        for (const slot& s : samples()) {
            batch.add(s.real, s.padded);
            const breakdown work = folded.evaluate(batch);
            for (const view seen : every_view) {
                REQUIRE(folded.total_flops(batch, seen) == work.total(seen));
            }
        }
        REQUIRE(folded.total_flops(batch) == folded.total_flops(batch, view::useful));
    });
}

TEST_CASE("the FLOPs of single sequences add up to those of their batch", "[flop_counter]") {
    for_every_fold(mixed_model, [](const flop_counter& folded) {
        tally batch{folded.masks()};
        flops useful;
        flops executed;
        flops padded;
        for (const slot& s : samples()) {
            batch.add(s.real, s.padded);
            useful += folded.total_flops(s.real);
            padded += folded.total_flops(s.padded, view::padded);
            executed += folded.total_flops(s.padded, view::executed);
        }
        REQUIRE(folded.total_flops(batch, view::useful) == useful);
        REQUIRE(folded.total_flops(batch, view::padded) == padded);
        REQUIRE(folded.total_flops(batch, view::executed) == executed);
    });
}

TEST_CASE("an invalid sequence is an error before anything is counted", "[flop_counter][errors]") {
    const flop_counter counter(floptally::presets::llama_3_8b.cost());
    CHECK(error_of([&] { return counter.total_flops(sequence{.length = 3, .targets = 7, .target_group = 1}); }) ==
          "targets: context + targets must be at most past + length (3), got 0 + 7");
}

TEST_CASE("the FLOPs of microbatches add up to the FLOPs of the step", "[flop_counter]") {
    const flop_counter folded(mixed_model, conventions::exact, {.recomputed = recompute::full});
    tally step{folded.masks()};
    flops single_work[3];
    for (const slot& s : samples()) {
        tally micro{folded.masks()};
        micro.add(s.real, s.padded);
        step += micro;
        for (const view seen : every_view) {
            single_work[static_cast<std::size_t>(seen)] += folded.evaluate(micro).total(seen);
        }
    }
    for (const view seen : every_view) {
        CHECK(folded.evaluate(step).total(seen) == single_work[static_cast<std::size_t>(seen)]);
    }
}

TEST_CASE("neither the order of masks in a tally nor additional masks change the FLOPs", "[flop_counter]") {
    for (const convention* how : conventions::all) {
        CAPTURE(std::string(how->name));
        const flop_counter folded(mixed_model, *how, {.recomputed = recompute::attention});
        mask_set reversed;
        for (std::size_t i = folded.masks().size(); i > 0; --i) {
            reversed.find_or_add(folded.masks()[i - 1], "masks");
        }
        mask_set more;
        more.find_or_add(mask::top_k(2), "masks");
        more.find_or_add(mask::causal(), "masks");
        std::int64_t window = 100;
        for (const statistic& m : reversed) {
            more.find_or_add(m, "masks");
            more.find_or_add(mask::sliding_window(++window), "masks");
        }
        tally same{folded.masks()};
        tally other_order{reversed};
        tally superset{more};
        for (const slot& s : samples()) {
            same.add(s.real, s.padded);
            other_order.add(s.real, s.padded);
            superset.add(s.real, s.padded);
        }
        for (const view seen : every_view) {
            CHECK(folded.total_flops(other_order, seen) == folded.total_flops(same, seen));
            CHECK(folded.total_flops(superset, seen) == folded.total_flops(same, seen));
            CHECK(folded.evaluate(superset).total(seen) == folded.evaluate(same).total(seen));
        }
        const breakdown a = folded.evaluate(same);
        const breakdown b = folded.evaluate(superset);
        REQUIRE(a.components().size() == b.components().size());
        for (std::size_t i = 0; i < a.components().size(); ++i) {
            CHECK(a.components()[i].name == b.components()[i].name);
            CHECK(a.components()[i].total(view::executed) == b.components()[i].total(view::executed));
        }
    }
}

TEST_CASE("a tally without the accumulator of a mask that the model uses is an error that names the mask",
          "[flop_counter][errors]") {
    const flop_counter folded(mixed_model);
    mask_set windows;
    windows.find_or_add(mask::sliding_window(4), "masks");
    const tally without_chunks{windows};
    CHECK(error_of([&] { return folded.total_flops(without_chunks); }) ==
          "masks: this tally keeps no pairs of chunked(3): build it with the masks() of the cost that is evaluated");
    CHECK(error_of([&] { return folded.evaluate(tally{}).total(); }) ==
          "masks: this tally keeps no pairs of sliding_window(4): build it with the masks() of the cost that is "
          "evaluated");
    // Where a convention ignores the windows, their pairs are not needed.
    CHECK(error_of([&] { return flop_counter(mixed_model, conventions::megatron).total_flops(tally{}); }) ==
          "no error");
    CHECK(flop_counter(mixed_model, conventions::megatron).masks().empty());
}

TEST_CASE("a flop_counter requests no accumulator for masks whose pairs follow from sums of L and L^2",
          "[flop_counter]") {
    const flop_counter exact(mixed_model);
    REQUIRE(exact.masks().size() == 2);
    CHECK(exact.masks()[0] == mask::sliding_window(4));
    CHECK(exact.masks()[1] == mask::chunked(3));
    CHECK(flop_counter(mixed_model, conventions::verl).masks()[0] == mask::box(4));
    CHECK(exact.counted_as().name == "exact");
    CHECK(flop_counter(mixed_model, conventions::verl).counted_as().name == "verl");
}

// ---- phases ----

TEST_CASE("forward and backward FLOPs add up to a training step", "[flop_counter]") {
    for (const convention* how : conventions::all) {
        for (const recompute again : every_recompute) {
            for (const bool flash : {true, false}) {
                const auto folded = [&](counted_passes counted) {
                    return flop_counter(mixed_model, *how, {counted, again, flash});
                };
                tally batch{folded(counted_passes::train).masks()};
                for (const slot& s : samples()) {
                    batch.add(s.real, s.padded);
                }
                const breakdown step = folded(counted_passes::train).evaluate(batch);
                const breakdown forward = folded(counted_passes::forward).evaluate(batch);
                const breakdown backward = folded(counted_passes::backward).evaluate(batch);
                for (const view seen : every_view) {
                    CHECK(forward.total(seen) + backward.total(seen) == step.total(seen));
                    CHECK(forward.total(seen) == step.get(seen, phase::forward));
                    CHECK(forward.backward(seen) == flops{});
                    CHECK(forward.get(seen, phase::recompute) == flops{});
                    CHECK(backward.get(seen, phase::forward) == flops{});
                    CHECK(backward.total(seen) == step.backward(seen) + step.get(seen, phase::recompute));
                }
            }
        }
    }
}

TEST_CASE(
    "with unpadded sequences and an unfused backward, useful and executed FLOPs differ only by the padded vocabulary",
    "[flop_counter]") {
    tally unpadded{mixed_model.masks()};
    for (const slot& s : samples()) {
        unpadded.add(s.padded);
    }
    const breakdown work = evaluate(mixed_model, unpadded, conventions::exact, {.flash_attention = false});
    CHECK(work.total(view::executed) == work.total(view::padded));
    CHECK(work["attention.core"].total(view::padded) == work["attention.core"].total(view::useful));
    // The vocabulary is padded from 101 to 128 even where the sequences are not.
    CHECK(101 * work["lm_head"].total(view::padded) == 128 * work["lm_head"].total(view::useful));
}

TEST_CASE("without fused attention the backward recomputes no attention product", "[flop_counter]") {
    cost model;
    model.add("attention.core", attention_core{3, 5, 11}, mask::causal());
    tally batch;
    batch.add(sequence{.length = 4}, sequence{.length = 6});
    // 10 real and 21 padded pairs; a pair is 2·3·5 FLOPs of scores and 2·3·11 of values.
    const breakdown fused = evaluate(model, batch);
    const breakdown eager = evaluate(model, batch, conventions::exact, {.flash_attention = false});
    CHECK(fused.total(view::useful) == flops{3 * (30 + 66) * 10});
    CHECK(fused.total(view::padded) == flops{3 * (30 + 66) * 21});
    CHECK(fused.total(view::executed) == flops{(3 * (30 + 66) + 30) * 21});
    CHECK(fused.get(view::executed, phase::backward_data) == flops{(2 * (30 + 66) + 30) * 21});
    CHECK(eager.total(view::useful) == fused.total(view::useful));
    CHECK(eager.total(view::padded) == fused.total(view::padded));
    CHECK(eager.total(view::executed) == flops{3 * (30 + 66) * 21});
    // A convention that counts the product in its backward counts it once, in every view.
    for (const bool flash : {true, false}) {
        const breakdown counted = evaluate(model, batch, conventions::flash_attention, {.flash_attention = flash});
        CHECK(counted.total(view::useful) == flops{(3 * (30 + 66) + 30) * 16 / 2});
        CHECK(counted.total(view::executed) == flops{(3 * (30 + 66) + 30) * 36 / 2});
    }
}

TEST_CASE("full recompute runs whole layers again, and attention recompute runs only the attention core again",
          "[flop_counter]") {
    tally batch{mixed_model.masks()};
    for (const slot& s : samples()) {
        batch.add(s.real, s.padded);
    }
    const auto with = [&](recompute again) {
        return evaluate(mixed_model, batch, conventions::exact, {.recomputed = again});
    };
    const breakdown none = with(recompute::none);
    const breakdown full = with(recompute::full);
    const breakdown attention = with(recompute::attention);
    for (const component_flops& component : full.components()) {
        const std::string name(component.name.view());
        CAPTURE(name);
        const flops forward = component.get(view::padded, phase::forward);
        const bool is_core = name == "attention.core" || name == "cross_attention.core";
        CHECK(component.get(view::executed, phase::recompute) == (name == "lm_head" ? flops{} : forward));
        CHECK(attention[name].get(view::executed, phase::recompute) == (is_core ? forward : flops{}));
        CHECK(none[name].get(view::executed, phase::recompute) == flops{});
    }
    for (const view seen : {view::useful, view::padded}) {
        CHECK(full.total(seen) == none.total(seen));
        CHECK(attention.total(seen) == none.total(seen));
        CHECK(full.get(seen, phase::recompute) == flops{});
    }
}

TEST_CASE("a detached product has no backward FLOPs, and a recurrent state has two gradient products",
          "[flop_counter]") {
    cost model;
    model.add("indexer", linear{.in_features = 15, .out_features = 7, .kind = term::detached});
    model.add_state("mixer", 5 * 11);
    for (const matmul_trace::padded_batch& sequences : matmul_trace::mixed_batches()) {
        const auto walk = [](const matmul_trace::sequence_list& list) {
            matmul_trace::step trace;
            trace.detached("indexer", matmul_trace::tokens_of(list), 15, 7);
            trace.outer_product("mixer", matmul_trace::tokens_of(list), 5, 11);
            return trace;
        };
        for (const counted_passes counted : every_passes) {
            for (const recompute again : {recompute::none, recompute::attention}) {
                const training_plan plan{.counted = counted, .recomputed = again};
                const breakdown work = evaluate(model, matmul_trace::tally_of({}, sequences), conventions::exact, plan);
                CHECK(matmul_trace::mismatches(work, walk(sequences.real), walk(sequences.slots), plan) == "");
            }
        }
    }
}

TEST_CASE("full recompute also runs a detached product of a layer again", "[flop_counter]") {
    // training_plan.hpp: full is "one more forward of every layer". An indexer chooses the keys of its layer, so the
    // layer cannot run again without it.
    cost model;
    model.add("indexer", linear{.in_features = 15, .out_features = 7, .kind = term::detached});
    tally batch;
    batch.add(sequence{.length = 4});
    const breakdown work = evaluate(model, batch, conventions::exact, {.recomputed = recompute::full});
    CHECK(work.get(view::executed, phase::recompute) == work.get(view::padded, phase::forward));
}

TEST_CASE("a gradient product runs once in the backward, and no recompute repeats it", "[flop_counter]") {
    cost model;
    model.add("adapter", linear{.in_features = 3, .out_features = 2});
    model.add_state("adapter.solve", 8, term::gradient);
    tally batch;
    batch.add(sequence{.length = 4});
    for (const counted_passes counted : every_passes) {
        for (const recompute again : {recompute::none, recompute::full}) {
            const breakdown work =
                evaluate(model, batch, conventions::exact, {.counted = counted, .recomputed = again});
            const bool runs = counted != counted_passes::forward;
            for (const view seen : {view::useful, view::padded, view::executed}) {
                CHECK(work["adapter.solve"].total(seen) == flops{runs ? 4U * 2U * 8U : 0U});
                CHECK(work["adapter.solve"].get(seen, phase::forward) == flops{});
                CHECK(work["adapter.solve"].get(seen, phase::recompute) == flops{});
            }
        }
    }
    // A frozen model has no backward.
    const training_plan frozen{.weights = {{.weights = "*", .state = weight_state::frozen}}};
    CHECK(evaluate(model, batch, conventions::exact, frozen)["adapter.solve"].total(view::useful) == flops{});
}

// ---- components ----

TEST_CASE("a component of a breakdown is found by name, and an unknown name is an error", "[flop_counter][errors]") {
    tally batch{mixed_model.masks()};
    batch.add(sequence{.length = 9, .keys = 4});
    const breakdown work = evaluate(mixed_model, batch);
    flops sum;
    for (const component_flops& component : work.components()) {
        CHECK(&work[component.name.view()] == &component);
        sum += component.total(view::useful);
    }
    CHECK(sum == work.total());
    CHECK(error_of([&] { return work["moe.shared"].total(view::useful); }) ==
          R"(component: this model counts no component named "moe.shared": use a name that the breakdown shows)");
    // A component that the convention does not count is none of the breakdown's.
    CHECK(error_of([&] { return work["norm"].total(view::useful); }) ==
          R"(component: this model counts no component named "norm": use a name that the breakdown shows)");
    CHECK(error_of([&] { return breakdown{}[""].total(view::useful); }) ==
          R"(component: this model counts no component named "": use a name that the breakdown shows)");
    CHECK(breakdown{}.total() == flops{});
}

TEST_CASE("an empty batch has zero FLOPs and still lists all components", "[flop_counter]") {
    const breakdown work = evaluate(mixed_model, tally{mixed_model.masks()});
    CHECK(work.components().size() == 9);
    for (const view seen : every_view) {
        CHECK(work.total(seen) == flops{});
    }
}

// ---- sizes ----

TEST_CASE("Llama-3.1-405B on 16M tokens exceeds 2^64 FLOPs and is exact", "[flop_counter]") {
    // 2048 sequences of 8192 tokens. Weights of a layer: q and output 16384 x 16384, k and v 16384 x 1024, gate, up and
    // down 16384 x 53248; 126 layers and an lm_head of 128256 x 16384. 6 FLOPs a weight and token; 3 x 4 x 128 heads x
    // 128 FLOPs a pair and layer.
    const uint128 layer_weights = uint128{2} * 16384 * 16384 + 2 * 16384 * 1024 + uint128{3} * 16384 * 53248;
    const uint128 weights = 126 * layer_weights + uint128{128256} * 16384;
    const uint128 tokens = 2048 * 8192;
    uint128 pairs = 0;
    for (std::uint64_t query = 0; query < 8192; ++query) {
        pairs += 2048 * (query + 1);
    }
    const uint128 expected = 6 * weights * tokens + 3 * 4 * uint128{128} * 128 * 126 * pairs;
    REQUIRE((expected >> 64) != 0);

    constexpr constant_cost model = presets::llama_3_1_405b.cost();
    tally batch{model.masks()};
    batch.add_lengths(std::vector<std::uint32_t>(2048, 8192));
    CHECK(evaluate(model, batch).total() == flops{expected});
    CHECK(flop_counter(model).total_flops(batch) == flops{expected});
    CHECK(to_string(evaluate(model, batch).total()) == "42345162566560382976");
}

TEST_CASE("components that a plan recomputes run forward once more in the executed view only", "[flop_counter]") {
    constexpr constant_cost model = presets::mixtral_8x7b.cost();
    tally batch{model.masks()};
    batch.add(sequence{.length = 7}, sequence{.length = 8});
    training_plan plan{.flash_attention = false};
    const breakdown plain = evaluate(model, batch, conventions::exact, plan);
    for (const char* name : {"moe.experts", "attention.core", "lm_head"}) {
        plan.recomputed_components.push_back(name, "recomputed_components");
    }
    const breakdown again = evaluate(model, batch, conventions::exact, plan);
    for (const component_flops& component : plain.components()) {
        INFO(component.name.view());
        const bool named =
            component.name == "moe.experts" || component.name == "attention.core" || component.name == "lm_head";
        CHECK(again[component.name.view()].get(view::executed, phase::recompute) ==
              (named ? component.get(view::padded, phase::forward) : flops{}));
        CHECK(again[component.name.view()].total(view::useful) == component.total(view::useful));
        CHECK(again[component.name.view()].total(view::padded) == component.total(view::padded));
    }
    // Named or by the mode of the plan: once more, not twice. What is not in the model changes nothing.
    plan.recomputed_components.push_back("no such component", "recomputed_components");
    plan.recomputed = recompute::attention;
    CHECK(evaluate(model, batch, conventions::exact, plan).total(view::executed) == again.total(view::executed));
    plan.counted = counted_passes::forward;
    CHECK(evaluate(model, batch, conventions::exact, plan).total(view::executed) ==
          plain.get(view::padded, phase::forward));
}

TEST_CASE("the largest tally multiplied by the largest FLOP coefficients stays below 2^128 FLOPs", "[flop_counter]") {
    // All coefficients together are below 2^64 and so is every accumulator, hence no sum can wrap.
    constexpr std::uint64_t most = ~std::uint64_t{0};
    cost model;
    model.add("a", linear{.in_features = std::uint64_t{1} << 30, .out_features = std::uint64_t{1} << 29});
    model.add("b", attention_core{std::uint64_t{1} << 28, std::uint64_t{1} << 29, 1}, mask::causal());
    const flop_counter folded(model);
    std::vector<std::uint64_t> accumulators(2 * tally::fixed_accumulators, most);
    const tally full = tally::from_accumulators({}, accumulators);
    // Words of useful tokens, squares and cached: 2^60, and half of 2·2^28·(2^29 + 1) each, three times over.
    const uint128 core = uint128{2} * (std::uint64_t{1} << 28) * ((std::uint64_t{1} << 29) + 1);
    const uint128 per_accumulator = (uint128{1} << 60) + core / 2 + core / 2 + core;
    CHECK(folded.total_flops(full) == flops{3 * per_accumulator * most});
    CHECK(folded.evaluate(full).total() == folded.total_flops(full));
}

TEST_CASE("FLOP coefficients whose sum exceeds 64 bits are an error at construction", "[flop_counter][errors]") {
    const auto problem = [](std::uint64_t width, const training_plan& plan) {
        return error_of([&] {
            cost model;
            model.add("mlp", linear{.in_features = std::uint64_t{1} << 30, .out_features = width});
            return flop_counter(model, conventions::exact, plan).total_flops(tally{});
        });
    };
    // A weight counts 2 FLOPs in each of three phases and three views: 18 x 2^30 x width.
    constexpr std::uint64_t widest = (std::uint64_t{1} << 34) / 18;
    CHECK(problem(widest, {}) == "no error");
    CHECK(problem(widest + 1, {}).starts_with("cost: "));
    CHECK(problem(widest + 1, {}).ends_with(" does not fit 64 bits: use smaller numbers"));
    CHECK(problem(widest + 1, {.counted = counted_passes::forward}) == "no error");
    // Full recompute is a tenth count of them.
    CHECK(problem((std::uint64_t{1} << 34) / 20, {.recomputed = recompute::full}) == "no error");
    CHECK(problem((std::uint64_t{1} << 34) / 20 + 1, {.recomputed = recompute::full}).starts_with("cost: "));
    // One coefficient alone that does not fit: 2 x 2^62 to data and weights, three times.
    cost core;
    core.add("attention.core", attention_core{std::uint64_t{1} << 61, 3, 1}, mask::bidirectional());
    CHECK(error_of([&] { return flop_counter(core).total_flops(tally{}); }).starts_with("cost: "));
    CHECK_THROWS_AS(flop_counter(core), overflow);
}

TEST_CASE("FLOP coefficients whose sum over all views fits 64 bits are accepted") {
    const auto counted = [](std::uint64_t useful) {
        const cost_entry entry{.what = accumulator::pairs, .kind = term::scores, .useful = useful, .padded = useful};
        return flop_counter(cost{}.add_entry("core", "", entry, mask::bidirectional()), conventions::exact,
                            {.counted = counted_passes::forward})
            .total_flops(sequence{.length = 3});
    };
    // n² and n·past, in three views: a sixth of 2^64 − 1.
    constexpr std::uint64_t sixth = 3'074'457'345'618'258'602;
    CHECK(counted(sixth) == flops{uint128{9} * sixth});
    CHECK_THROWS_AS(counted(sixth + 1), overflow);
}

}  // namespace flop_counter_test
