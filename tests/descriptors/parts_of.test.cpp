// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>  // and no other of ours: what most users include

#include "catch2.hpp"

namespace parts_of_test {
namespace {

using namespace floptally;

/// A descriptor of a user's own, without parts.
struct one_matrix {
    [[nodiscard]] constexpr floptally::cost cost() const {
        floptally::cost sum;
        sum.add("mlp", linear{.in_features = 64, .out_features = 32});
        sum.add("lm_head", linear{.in_features = 32, .out_features = 100});
        return sum;
    }
};

/// The result of a reader of configs, in a test that needs no reader.
struct read_config {
    floptally::cost cost;
    std::vector<model_part> parts;
};

constexpr transformer<gqa, gated_mlp> small{.hidden_size = 64,
                                            .num_layers = 3,
                                            .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 16},
                                            .feed_forward = {.intermediate_size = 96},
                                            .vocab = {.size = 1000},
                                            .masks = mask::sliding_window(4)};

/// Only the lm_head trains: no gradient passes a layer, which a cost alone cannot know.
training_plan head_alone() { return {.weights = {{"*", weight_state::frozen}, {"lm_head", weight_state::trainable}}}; }

tally batch_of(const flop_counter& model) {
    tally batch{model.masks()};
    batch.add_lengths(std::vector<int>{3, 17, 9});
    return batch;
}

/// Every number of a breakdown by the name of its component, whose order is that of the cost or of the parts.
std::map<std::string, std::vector<std::string>> numbers(const breakdown& work) {
    std::map<std::string, std::vector<std::string>> all;
    for (const component_flops& component_work : work.components()) {
        std::vector<std::string>& names = all[std::string(component_work.name.view())];
        for (const std::size_t pass : {0U, 1U, 2U}) {
            names.push_back(to_string(component_work.useful[pass]));
            names.push_back(to_string(component_work.padded[pass]));
            names.push_back(to_string(component_work.executed_more[pass]));
        }
        names.push_back(to_string(component_work.recomputed_forward));
    }
    return all;
}

}  // namespace

TEST_CASE("parts_of works for a descriptor and for a single tower if only floptally.hpp is included", "[parts_of]") {
    const std::vector<model_part> parts = parts_of(small);
    REQUIRE(parts.size() == 6);
    CHECK(parts.front().name == "embedding");
    CHECK(parts.back().name == "lm_head");
    const flop_counter counted(small.cost());
    const tally batch = batch_of(counted);
    CHECK(numbers(flop_counter(cost_of(parts)).evaluate(batch)) == numbers(counted.evaluate(batch)));
    for (const model_part& each_part : parts_of(parts, modality::vision)) {
        CHECK(each_part.elsewhere);
    }
    for (const model_part& part : parts_of(parts, modality::text)) {
        CHECK_FALSE(part.elsewhere);
    }
}

TEST_CASE("moving a list of parts does not copy its elements", "[parts_of]") {
    auto parts = parts_of(small);
    const auto moved = std::move(parts);
    REQUIRE(moved.size() == 6);
    CHECK(moved.begin() == moved.data());
    CHECK(moved[5].name == "lm_head");
}

TEST_CASE("a list of parts is empty only if the model has no parts", "[parts_of]") {
    CHECK_FALSE(parts_of(std::vector<model_part>(1), modality::text).empty());
    CHECK(parts_of(std::vector<model_part>(), modality::text).empty());
    static_assert(parts_of(small).size() == 6);  // a constant, which must give its memory back
}

TEST_CASE(
    "a flop_counter of a descriptor uses the model's parts if the plan freezes weights, and the model's cost otherwise",
    "[flop_counter]") {
    const flop_counter plain(small);
    const flop_counter of_cost(small.cost());
    const tally batch = batch_of(of_cost);
    CHECK(plain.masks() == of_cost.masks());
    CHECK(numbers(plain.evaluate(batch)) == numbers(of_cost.evaluate(batch)));
    CHECK(numbers(evaluate(small, batch)) == numbers(of_cost.evaluate(batch)));
    CHECK(plain.counted_as().name == conventions::exact.name);

    for (const convention* how : conventions::all) {
        for (const training_plan& plan :
             {training_plan{}, training_plan{.counted = counted_passes::forward},
              training_plan{.recomputed = recompute::full, .recompute_every = 2}, head_alone()}) {
            const flop_counter counted(small, *how, plan);
            const tally of_how = batch_of(counted);
            CHECK(numbers(counted.evaluate(of_how)) ==
                  numbers(flop_counter(parts_of(small), *how, plan).evaluate(of_how)));
            CHECK(numbers(evaluate(small, of_how, *how, plan)) == numbers(counted.evaluate(of_how)));
            CHECK_FALSE(counted.is_upper_bound());
            CHECK(counted.counted_as().name == how->name);
        }
    }
    // A matrix of the head by hand: forward, and the gradient of its weight, whatever stands below it.
    const flop_counter counted(small, conventions::exact, head_alone());
    const breakdown work = counted.evaluate(batch);
    flops backward{};
    for (const component_flops& component : work.components()) {
        backward += flops{component.useful[1] + component.useful[2]};
    }
    CHECK(backward == flops{uint128{2} * 29 * 64 * 1000});
    CHECK(flop_counter(small.cost(), conventions::exact, head_alone()).total_flops(batch) > counted.total_flops(batch));
}

TEST_CASE("a flop_counter of a config uses the model's parts if the plan needs parts, and the model's cost otherwise",
          "[flop_counter]") {
    const read_config config{.cost = small.cost(), .parts = parts_of(small)};
    const flop_counter counted(config, conventions::exact, head_alone());
    const tally batch = batch_of(counted);
    CHECK(numbers(counted.evaluate(batch)) ==
          numbers(flop_counter(small, conventions::exact, head_alone()).evaluate(batch)));
    CHECK_FALSE(counted.is_upper_bound());
    CHECK(numbers(flop_counter(config).evaluate(batch)) == numbers(flop_counter(small.cost()).evaluate(batch)));
    CHECK(numbers(evaluate(config, batch, conventions::exact, head_alone())) == numbers(counted.evaluate(batch)));
    // Made by hand, with nothing but a cost, it is what a cost is: an upper bound, and it says so.
    const read_config bare{.cost = small.cost(), .parts = {}};
    CHECK(flop_counter(bare, conventions::exact, head_alone()).is_upper_bound());
    CHECK(numbers(flop_counter(bare).evaluate(batch)) == numbers(flop_counter(config).evaluate(batch)));
}

TEST_CASE("a descriptor that lists no model parts counts an upper bound if the plan freezes weights",
          "[flop_counter]") {
    const flop_counter plain{one_matrix{}};
    const tally batch = batch_of(plain);
    CHECK(plain.total_flops(batch) == flops{uint128{6} * 29 * (64 * 32 + 32 * 100)});
    CHECK_FALSE(plain.is_upper_bound());
    CHECK(flop_counter(one_matrix{}, conventions::exact, head_alone()).is_upper_bound());
    // A constant of any of them, as of a cost.
    static_assert(flop_counter(one_matrix{}).total_flops(sequence{.length = 2}) ==
                  flops{uint128{12} * (64 * 32 + 32 * 100)});
    static_assert(flop_counter(small).total_flops(sequence{.length = 5}) ==
                  flop_counter(small.cost()).total_flops(sequence{.length = 5}));
}

}  // namespace parts_of_test
