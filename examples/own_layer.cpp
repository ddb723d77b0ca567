// SPDX-License-Identifier: Apache-2.0
//
// A layer that the library does not know, inside one of its models: a struct with a `cost` is enough.

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/layout.hpp>

using namespace floptally;

/// A gated MLP with a low-rank adapter beside it: h → rank → h, on every token.
///
/// `reads` and `writes` are for plans that train some weights only: without them FLOPs are an upper bound, and every
/// report says so. `sharded` is for tensor parallelism, which is an error where a row does not say it.
struct adapted_mlp {
    std::uint64_t intermediate_size = 0;
    std::uint64_t rank = 0;

    constexpr floptally::cost cost(const layer& where) const {
        floptally::cost sum = gated_mlp{intermediate_size, {}}.cost(where);
        const value::set narrow = value::local(12);  // any value that the MLP does not produce
        sum.add("adapter", linear{.in_features = where.hidden_size,
                                  .out_features = rank,
                                  .weight = "down",
                                  .reads = value::stream,
                                  .writes = narrow,
                                  .sharding = tensor_sharding::columns()});
        sum.add("adapter", linear{.in_features = rank,
                                  .out_features = where.hidden_size,
                                  .weight = "up",
                                  .reads = narrow,
                                  .sharding = tensor_sharding::rows()});
        return sum;
    }
};
static_assert(layer_part<adapted_mlp>);

int main() {
    constexpr transformer<gqa, adapted_mlp> model{
        .hidden_size = 2048,
        .num_layers = 16,
        .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 64},
        .feed_forward = {.intermediate_size = 8192, .rank = 16},
        .vocab = {.size = 128256, .tied = true},
        .masks = layer_masks::period({mask::sliding_window(1024), mask::causal()})};

    const cost coefficients = model.cost();
    tally batch{coefficients.masks()};
    batch.add(sequence{.length = 4096});
    const breakdown work = evaluate(coefficients, batch);
    for (const component_flops& component : work.components()) {
        std::printf("%-18s %s\n", std::string(component.name.view()).c_str(),
                    to_string(component.total(view::useful)).c_str());
    }

    // Only the adapters train. Gradients pass the frozen layers, down to the first adapter.
    training_plan adapters;
    adapters.weights = {{"*", weight_state::frozen}, {"adapter", weight_state::trainable}};
    const std::vector<model_part> parts = parts_of(model);
    const breakdown tuning = evaluate(parts, batch, conventions::exact, adapters);
    std::printf("%-18s %s%s\n", "adapters train", to_string(tuning.total()).c_str(),
                tuning.is_upper_bound() ? ", an upper bound" : "");
    // On the first of two ranks of tensor parallelism.
    const std::vector<model_part> half = tensor_parts(parts, 2, 0);
    std::printf("%-18s %s\n", "on one of two",
                to_string(evaluate(half, batch, conventions::exact, adapters).total()).c_str());
}
