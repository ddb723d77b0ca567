// SPDX-License-Identifier: Apache-2.0
//
// The products of Muon in a step, against those of its iterations, matrix by matrix.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <floptally/count/muon.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace muon_test {
namespace {

using namespace floptally;

/// A matrix of zeros that counts what it is multiplied with.
struct matrix {
    std::uint64_t rows;
    std::uint64_t columns;
};

struct machine {
    std::uint64_t flops = 0;

    /// Multiply and add for each element of each sum.
    matrix times(const matrix& a, const matrix& b) {
        REQUIRE(a.columns == b.rows);
        for (std::uint64_t i = 0; i < a.rows; ++i) {
            for (std::uint64_t j = 0; j < b.columns; ++j) {
                flops += 2 * a.columns;
            }
        }
        return {a.rows, b.columns};
    }
    [[nodiscard]] static matrix transposed(const matrix& a) { return {a.columns, a.rows}; }

    /// As the optimizer is published: X is wide; X <- aX + (bA + cA²)X with A = XXᵀ.
    void orthogonalise(matrix x, int iterations) {
        x = x.rows > x.columns ? transposed(x) : x;
        for (int i = 0; i < iterations; ++i) {
            const matrix a = times(x, transposed(x));
            const matrix squared = times(a, a);
            x = times(squared, x);
        }
    }
};

constexpr std::uint64_t h = 12;

struct named_matrix {
    std::string name;
    matrix shape;
};

/// Every weight matrix of the model below, layer by layer, as an implementation stores them: [out, in].
std::vector<named_matrix> all_matrices() {
    std::vector<named_matrix> all;
    for (int layer = 0; layer < 3; ++layer) {
        const std::string at = std::to_string(layer) + ".";
        all.push_back({at + "q_proj", {4 * 5, h}});
        all.push_back({at + "k_proj", {2 * 5, h}});
        all.push_back({at + "v_proj", {2 * 5, h}});
        all.push_back({at + "o_proj", {h, 4 * 5}});
        if (layer == 0) {
            all.push_back({at + "gate_proj", {30, h}});
            all.push_back({at + "up_proj", {30, h}});
            all.push_back({at + "down_proj", {h, 30}});
            continue;
        }
        all.push_back({at + "router", {6, h}});
        for (int expert = 0; expert < 6; ++expert) {
            all.push_back({at + "expert.gate", {7, h}});
            all.push_back({at + "expert.up", {7, h}});
            all.push_back({at + "expert.down", {h, 7}});
        }
    }
    return all;
}

using model_type = transformer<gqa, dense_first<gated_mlp, moe>>;

model_type model() {
    return {.hidden_size = h,
            .num_layers = 3,
            .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 5, .elementwise = {.norm = 10}},
            .feed_forward = {.num_dense_layers = 1,
                             .dense = {.intermediate_size = 30},
                             .sparse = {.num_experts = 6, .num_experts_per_tok = 2, .intermediate_size = 7}},
            .vocab = {.size = 40}};
}

std::uint64_t enumerated(int iterations, const std::function<bool(const std::string&)>& is_stepped) {
    machine m;
    for (const named_matrix& each_matrix : all_matrices()) {
        if (is_stepped(each_matrix.name)) {
            m.orthogonalise(each_matrix.shape, iterations);
        }
    }
    return m.flops;
}

/// A model with Muon, and a batch of some sequences and steps.
struct trained {
    model_config config;
    training_plan plan;

    explicit trained(const training_plan& trained_plan = {}, const muon& how = {}) : plan(trained_plan) {
        for (const model_part& model_piece : parts_of(model())) {
            config.parts.push_back(model_piece);
        }
        config.cost = model().cost();
        config = with_muon(config, plan, how);
    }

    [[nodiscard]] breakdown step(std::uint64_t steps, const convention& how = conventions::exact) const {
        const flop_counter counter(config, how, plan);
        mask_set masks = config.cost.masks();
        for (const statistic& parsed : counter.masks()) {
            masks.find_or_add(parsed, "masks");
        }
        tally batch{masks};
        batch.add(sequence{.length = 9}, sequence{.length = 11});
        batch.add_measured(muon::accumulator, {.useful = steps});
        return counter.evaluate(batch);
    }
};

}  // namespace

TEST_CASE("Muon counts its Newton-Schulz iterations once a step for every weight matrix and expert", "[muon]") {
    const auto every = [](const std::string&) { return true; };
    for (const int iterations : {1, 5, 6}) {
        const trained with({}, {.iterations = static_cast<std::uint64_t>(iterations)});
        const breakdown work = with.step(3);
        const flops expected{3 * enumerated(iterations, every)};
        for (const view seen : {view::useful, view::padded, view::executed}) {
            CHECK(work["optimizer.muon"].total(seen) == expected);
            CHECK(work["optimizer.muon"].get(seen, phase::backward_weights) == expected);
        }
    }
    const trained no_router({}, {.others = {"moe.router", "*/v_proj"}});
    CHECK(no_router.step(1)["optimizer.muon"].total(view::useful) == flops{enumerated(5, [](const std::string& name) {
              return name.find("router") == std::string::npos && name.find("v_proj") == std::string::npos;
          })});
}

TEST_CASE("Muon counts only trained weights, with LoRA only the adapters", "[muon]") {
    const trained layer_two({.weights = {{"*", weight_state::frozen}, {"*", weight_state::trainable, 0, 2, 2}}});
    CHECK(layer_two.step(1)["optimizer.muon"].total(view::useful) ==
          flops{enumerated(5, [](const std::string& name) { return name.starts_with("2."); })});
    const trained lora({.weights = {{"*", weight_state::frozen}, {"*/q_proj", weight_state::lora, 4}}});
    machine m;
    for (int layer = 0; layer < 3; ++layer) {
        m.orthogonalise({4, h}, 5);      // A
        m.orthogonalise({4 * 5, 4}, 5);  // B
    }
    CHECK(lora.step(2)["optimizer.muon"].total(view::useful) == flops{2 * m.flops});
}

TEST_CASE("Muon's FLOPs are a separate component, off by default, and only the exact convention counts them",
          "[muon]") {
    const trained with;
    const cost without = model().cost();
    for (const convention* how : conventions::all) {
        const flop_counter plain(without, *how);
        tally batch{plain.masks()};
        batch.add(sequence{.length = 9}, sequence{.length = 11});
        const breakdown expected = plain.evaluate(batch);
        const breakdown work = with.step(1, *how);
        CAPTURE(how->name);
        for (const component_flops& component : work.components()) {
            if (component.name.view() == "optimizer.muon") {
                CHECK(how->name == "exact");
            } else {
                for (const view seen : {view::useful, view::padded, view::executed}) {
                    CHECK(component.total(seen) == expected[component.name.view()].total(seen));
                }
            }
        }
        CHECK(work.components().size() == expected.components().size() + (how->name == "exact" ? 1 : 0));
    }
    CHECK(with.config.cost.parameters() == without.parameters());

    // Nothing of it is forward, and recompute does not reach it.
    training_plan forward{.counted = counted_passes::forward, .recomputed = recompute::full};
    CHECK(trained(forward).step(1)["optimizer.muon"].total(view::executed) == flops{});
    training_plan again{.recomputed = recompute::full};
    CHECK(trained(again).step(1)["optimizer.muon"].total(view::executed) ==
          with.step(1)["optimizer.muon"].total(view::useful));
    // Two data parallel ranks that both orthogonalise everything.
    trained ranks;
    ranks.plan.repeated.push_back({"optimizer.*", 2}, "repeated");
    CHECK(ranks.step(1)["optimizer.muon"].total(view::useful) == with.step(1)["optimizer.muon"].total(view::useful));
    CHECK(ranks.step(1)["optimizer.muon"].total(view::executed) ==
          with.step(1)["optimizer.muon"].total(view::useful) + with.step(1)["optimizer.muon"].total(view::useful));
}

TEST_CASE("with_muon() adds one part for the optimizer to a model and adds the FLOPs of this part to the model's cost",
          "[muon]") {
    const trained with;
    model_config by_hand;
    for (const model_part& each_part : parts_of(model())) {
        by_hand.parts.push_back(each_part);
    }
    const model_part steps = muon_part(by_hand.parts);
    CHECK(with.config.parts.size() == by_hand.parts.size() + 1);
    CHECK(with.config.parts.back().cost == steps.cost);
    CHECK(with.config.cost == model().cost() + steps.cost);

    // Layers that are merged into one entry have as many matrices as before.
    model_config alone;
    alone.cost = model().cost();
    alone = with_muon(alone);
    CHECK(alone.parts.empty());
    CHECK(alone.cost == with.config.cost);
    // Its rows read nothing of the model, so that no plan becomes a bound by them.
    const trained frozen({.weights = {{"*", weight_state::frozen}, {"mlp", weight_state::trainable}}});
    CHECK_FALSE(frozen.step(1).is_upper_bound());
    // Nothing is stepped: a step that is added counts nothing, and is no error.
    const trained none({.weights = {{"*", weight_state::frozen}}});
    CHECK(none.step(1).total() == none.step(1).get(view::useful, phase::forward));
}

TEST_CASE("counting Muon is an error for a matrix without a name, for zero iterations and for a batch without steps",
          "[muon]") {
    const trained with;
    tally no_steps(flop_counter(with.config.cost).masks());
    no_steps.add({.length = 4});
    CHECK(error_of([&] { static_cast<void>(flop_counter(with.config.cost).evaluate(no_steps)); }) ==
          "measured(optimizer_steps): the cost needs this amount, but the tally lacks it: pass it to add_measured");
    CHECK(error_of([&] { static_cast<void>(muon_part(with.config.parts, {}, {.iterations = 0})); }) ==
          "iterations: must be at least 1, got 0");
    model_part own{.name = "layer"};
    own.cost.add("mlp", linear{.in_features = 4, .out_features = 4});
    CHECK(error_of([&] {
              static_cast<void>(muon_part({&own, 1}));
          }) ==
          "mlp: Muon needs a name for each matrix of this component: name them, or name the component in `others`");
    CHECK(muon_part({&own, 1}, {}, {.others = {"mlp"}}).cost.entries().size() == 0);
    CHECK(error_of([&] {
              static_cast<void>(muon_part(with.config.parts, {}, {.others = {"moe.router", "moe.ruoter"}}));
          }) == "others[1]: no weight of this model is named \"moe.ruoter\"; use the names that the breakdown shows");
    CHECK(error_of([&] {
              static_cast<void>(muon_part(with.config.parts, {}, {.others = {"moe.ruoter", "moe.router"}}));
          }) == "others[0]: no weight of this model is named \"moe.ruoter\"; use the names that the breakdown shows");
    model_part by_hand{.name = "layer"};
    by_hand.cost.add_entry("mlp", "w", cost_entry{.useful = 48, .padded = 48, .parameters = 24});
    CHECK(error_of([&] {
              static_cast<void>(muon_part({&by_hand, 1}));
          }) ==
          "mlp: Muon needs the rows and columns of this component's weights: state them, or name the component in "
          "`others`");
    CHECK(muon_part({&by_hand, 1}, {}, {.others = {"mlp/w"}}).cost.entries().size() == 0);
    model_part fits_none{.name = "layer"};  // as a convolution, which says what it reads
    fits_none.cost.add_entry(
        "mlp", "w", cost_entry{.useful = 48, .padded = 48, .parameters = 24, .flow = {.reads = value::stream}});
    CHECK(muon_part({&fits_none, 1}).cost.entries().size() == 0);
    const auto of_two = [](linear item, linear other) {
        model_part part{.name = "layer"};
        for (linear matrix : {item, other}) {
            matrix.weight = "w";
            part.cost.add("mlp", matrix);
        }
        return part;
    };
    for (const model_part& merged :
         {of_two({.in_features = 4, .out_features = 6}, {.in_features = 6, .out_features = 4}),
          // Their 28 weights over 4 columns are 7 rows, but over 12 rows 2⅓ columns.
          of_two({.in_features = 1, .out_features = 4}, {.in_features = 3, .out_features = 8})}) {
        CHECK(error_of([&] {
                  static_cast<void>(muon_part({&merged, 1}));
              }) ==
              "mlp: several matrices of different shapes have this name: give each its own name, so that Muon can "
              "count them");
    }
    const model_part twice = of_two({.in_features = 4, .out_features = 6}, {.in_features = 4, .out_features = 6});
    CHECK(muon_part({&twice, 1}).cost.entries()[0].useful == 2 * 5 * (4 * 4 * 4 * 6 + 2 * 4 * 4 * 4));
    model_part least{.name = "layer"};  // of one weight
    least.cost.add("mlp", linear{.in_features = 1, .out_features = 1, .weight = "w"});
    REQUIRE(muon_part({&least, 1}).cost.entries().size() == 1);
    CHECK(muon_part({&least, 1}).cost.entries()[0].useful == 5 * (4 + 2));
}

}  // namespace muon_test
