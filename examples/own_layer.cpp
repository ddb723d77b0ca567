// SPDX-License-Identifier: Apache-2.0
//
// A layer that the library does not know, inside one of its models: a struct with a `cost` is enough.

#include <cstdint>
#include <cstdio>
#include <string>

#include <floptally/floptally.hpp>

using namespace floptally;

/// A gated MLP with a low-rank adapter beside it: h → rank → h, on every token.
struct adapted_mlp {
    std::uint64_t intermediate_size = 0;
    std::uint64_t rank = 0;

    constexpr floptally::cost cost(const layer& where) const {
        floptally::cost sum = gated_mlp{intermediate_size, {}}.cost(where);
        sum.add("adapter", linear{.in_features = where.hidden_size, .out_features = rank});
        sum.add("adapter", linear{.in_features = rank, .out_features = where.hidden_size});
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
}
