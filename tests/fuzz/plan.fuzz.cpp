// SPDX-License-Identifier: Apache-2.0
//
// Any plan of a small model's training under each convention: views are in order, a
// breakdown adds up to its total, training is at least its forward, or an error names a field.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/transformer.hpp>

#include "fuzz_input.hpp"

namespace {

using namespace floptally;

constexpr std::array names{
    "*",       "attention", "attention.*", "attention.qkv/q_proj", "mlp",     "*/down_proj", "norm", "embedding",
    "lm_head", "router",    "layer",       "attention.core",       "encoder", "mtp",         ""};

/// A name of the list, or any bytes.
component_name name_of(reader& input) {
    const unsigned which = input.take<std::uint8_t>() % 18U;
    if (which < names.size()) {
        return names[which];
    }
    std::string text;
    for (unsigned size = input.take<std::uint8_t>() % 50U; text.size() < size;) {
        text += static_cast<char>(input.take<std::uint8_t>());
    }
    return text;
}

/// Small, or any.
std::uint64_t number(reader& input) {
    const unsigned byte = input.take<std::uint8_t>();
    return byte < 240 ? byte % 6U : input.take<std::uint64_t>();
}

training_plan plan_of(reader& input) {
    training_plan plan;
    plan.counted = static_cast<counted_passes>(input.take<std::uint8_t>() % std::size(counted_passes_names));
    plan.recomputed = static_cast<recompute>(input.take<std::uint8_t>() % std::size(recompute_names));
    plan.indexer = static_cast<indexer_training>(input.take<std::uint8_t>() % std::size(indexer_training_names));
    plan.logits = static_cast<logit_tokens>(input.take<std::uint8_t>() % std::size(logit_tokens_names));
    const unsigned how = input.take<std::uint8_t>();
    plan.flash_attention = (how & 1U) != 0;
    plan.recompute_every = (how & 2U) != 0 ? number(input) : 1;
    for (unsigned i = 0; i < (how >> 2U) % 4U; ++i) {
        plan.recomputed_components.push_back(name_of(input), "recomputed_components");
    }
    for (unsigned i = 0; i < (how >> 4U) % 4U; ++i) {
        weight_setting setting{.weights = name_of(input)};
        setting.state = static_cast<weight_state>(input.take<std::uint8_t>() % std::size(weight_state_names));
        setting.rank = number(input);
        const unsigned bounds = input.take<std::uint8_t>();
        setting.first_layer = (bounds & 1U) != 0 ? number(input) : any_layer;
        setting.last_layer = (bounds & 2U) != 0 ? number(input) : any_layer;
        setting.part = (bounds & 4U) != 0 ? name_of(input) : component_name("*");
        plan.weights.push_back(setting, "weights");
    }
    for (unsigned i = 0; i < how >> 6U; ++i) {
        plan.repeated.push_back({.weights = name_of(input), .ranks = number(input)}, "repeated");
    }
    return plan;
}

void count(reader& input) {
    constexpr transformer<gqa, gated_mlp> model{.hidden_size = 32,
                                                .num_layers = 4,
                                                .attention = {4, 2, 8, {}},
                                                .feed_forward = {.intermediate_size = 40},
                                                .vocab = {.size = 48}};
    training_plan plan = plan_of(input);
    const convention& how = *conventions::all[input.take<std::uint8_t>() % std::size(conventions::all)];
    const flop_counter counted(model, how, plan);
    tally batch{counted.masks()};
    batch.add({.length = 10U + input.take<std::uint8_t>()}, {.length = 300});
    batch.add({.length = 3}, {.length = 3});
    const breakdown work = counted.evaluate(batch);
    for (const view seen : {view::useful, view::padded, view::executed}) {
        require(counted.total_flops(batch, seen) == work.total(seen));
    }
    require(work.total(view::useful) <= work.total(view::padded));
    require(work.total(view::padded) <= work.total(view::executed));
    if (plan.counted == counted_passes::train) {
        plan.counted = counted_passes::forward;
        require(flop_counter(model, how, plan).total_flops(batch) <= work.total(view::useful));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    reader input(data, size);
    try {
        count(input);
    } catch (const error& problem) {
        require(!problem.field().empty() && !problem.problem().empty());
    }
    return 0;
}
