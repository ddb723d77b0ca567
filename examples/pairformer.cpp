// SPDX-License-Identifier: Apache-2.0
// The trunk of AlphaFold 3 (doi:10.1038/s41586-024-07487-w), built from its parts. It has a vector for each pair of
// tokens, so triangles of tokens dominate its FLOPs.

#include <cstdint>
#include <cstdio>
#include <string>

#include <floptally/floptally.hpp>

using namespace floptally;

namespace {

constexpr layer single{.hidden_size = 384};    // a vector of each token
constexpr layer pairs{.hidden_size = 128};     // of each pair of tokens
constexpr layer alignment{.hidden_size = 64};  // of each token of each aligned sequence

/// The layers on pairs, in both kinds of blocks.
constexpr cost pair_stack() {
    cost sum = 2 * triangle_multiplication{.width = 128}.cost(pairs);
    sum += 2 * triangle_attention{.num_heads = 4, .head_dim = 32}.cost(pairs);
    return sum += gated_mlp{.intermediate_size = 512}.cost(pairs).as_component("pairs.mlp").over(unit::powers(2));
}

constexpr cost alignment_block() {
    cost sum = outer_product_mean{.width = 32, .pair_size = 128}.cost(alignment);
    sum += pair_weighted_average{.num_heads = 8, .head_dim = 32, .pair_size = 128}.cost(alignment);
    sum += gated_mlp{.intermediate_size = 256}.cost(alignment).as_component("msa.mlp").over(unit::powers(1, 1));
    return sum += pair_stack();
}

constexpr cost pairformer_block() {
    cost sum = pair_biased_attention{.num_heads = 16, .head_dim = 24, .pair_size = 128}.cost(single);
    sum += gated_mlp{.intermediate_size = 1536}.cost(single).as_component("tokens.mlp");
    return sum += pair_stack();
}

}  // namespace

int main() {
    const flop_counter trunk(4 * alignment_block() + 48 * pairformer_block());

    // A batch of crops: their tokens, and the aligned sequences of each.
    tally batch{trunk.masks()};
    for (const std::uint32_t tokens : {384U, 256U, 311U}) {
        batch.add(sequence{.length = tokens, .keys = 1024});
    }
    const breakdown work = trunk.evaluate(batch);
    for (const component_flops& component : work.components()) {
        std::printf("%-15s %s\n", std::string(component.name.view()).c_str(),
                    to_string(component.total(view::useful)).c_str());
    }

    // A crop with twice the tokens: linears of pairs grow fourfold, triangles eightfold.
    const auto flops_of = [&trunk](std::uint32_t tokens) {
        return to_double(trunk.total_flops(sequence{.length = tokens, .keys = 1024}));
    };
    std::printf("768 tokens over 384: %.2f\n", flops_of(768) / flops_of(384));
}
