// SPDX-License-Identifier: Apache-2.0
//
// Logits of some tokens: the head over what its matmuls run on, everything else as it was.

#include <cstdint>
#include <string>
#include <vector>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace logits_test {
namespace {

using namespace floptally;

constexpr std::uint64_t h = 4096;
constexpr std::uint64_t accumulators = 128256;

constexpr training_plan with(logit_tokens of, counted_passes passes = counted_passes::train) {
    return {.counted = passes, .logits = of};
}

tally batch_of(const flop_counter& counter) {
    tally batch{counter.masks()};
    batch.add_padded(std::vector<std::uint32_t>{700, 0, 300}, 1024);
    return batch;
}

/// FLOPs of Y = X · Wᵀ [rows, in] x [in, out], one multiply-add at a time in rows.
flops matmul(std::uint64_t rows, std::uint64_t in, std::uint64_t out) {
    flops sum;
    for (std::uint64_t row = 0; row < rows; ++row) {
        sum += flops{uint128{2} * in * out};
    }
    return sum;
}

}  // namespace

TEST_CASE("a request of 2000 prompt and 38 generated tokens has its published FLOPs") {
    // The first pass gives the first token, 37 more passes the rest.
    const auto count = [](logit_tokens of) {
        const flop_counter counter(presets::llama_3_8b, conventions::exact, with(of, counted_passes::forward));
        tally batch{counter.masks()};
        batch.add(sequence{.length = 2000});
        for (std::uint32_t step = 0; step < 37; ++step) {
            batch.add(sequence{.length = 1, .past = 2000 + step});
        }
        return counter.evaluate(batch).total();
    };
    CHECK(count(logit_tokens::all) == flops{31'662'244'626'432U});
    CHECK(count(logit_tokens::last) == flops{29'561'948'995'584U});
}

TEST_CASE("the plan's logits setting changes only the FLOPs of the lm_head") {
    const flop_counter all(presets::llama_3_8b, conventions::exact, with(logit_tokens::all));
    const breakdown before = all.evaluate(batch_of(all));
    for (const logit_tokens subject : {logit_tokens::last, logit_tokens::measured}) {
        const flop_counter counter(presets::llama_3_8b, conventions::exact, with(subject));
        tally batch = batch_of(counter);
        std::uint64_t useful = 2;
        std::uint64_t padded = 3;  // with the mock row
        if (subject == logit_tokens::measured) {
            useful = 250;
            padded = 600;
            batch.add_measured("logits", {.useful = useful, .padded = padded});
        }
        const breakdown after = counter.evaluate(batch);
        for (const component_flops& component : before.components()) {
            for (const view seen : {view::useful, view::padded, view::executed}) {
                for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
                    const flops counted = after[component.name.view()].get(seen, during);
                    if (component.name.view() == "lm_head") {  // the logits, dX and dW are a product each
                        CHECK(counted == matmul(seen == view::useful ? useful : padded, h, accumulators));
                    } else {
                        CHECK(counted == component.get(seen, during));
                    }
                }
            }
        }
        CHECK(after.components().size() == before.components().size());
        CHECK(counter.total_flops(batch) == after.total());
    }
}

TEST_CASE("the logits setting also applies to multi-token prediction and to plans that name parts") {
    const auto model = transformer<gqa, gated_mlp>{.hidden_size = 64,
                                                   .num_layers = 3,
                                                   .attention = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 16},
                                                   .feed_forward = {.intermediate_size = 128},
                                                   .vocab = {.size = 1000}};
    training_plan plan{.weights = {{"*", weight_state::frozen}, {"lm_head", weight_state::lora, 8}}};
    const auto head_of = [&](logit_tokens source, std::uint64_t measured_tokens) {
        plan.logits = source;
        const flop_counter counter(model, conventions::exact, plan);
        CHECK_FALSE(counter.is_upper_bound());
        tally batch{counter.masks()};
        batch.add_lengths(std::vector<std::uint32_t>{40, 60});
        if (source == logit_tokens::measured) {
            batch.add_measured("logits", {.useful = measured_tokens});
        }
        return counter.evaluate(batch)["lm_head"];
    };
    for (const auto& [of, rows] : std::vector<std::pair<logit_tokens, std::uint64_t>>{
             {logit_tokens::all, 100}, {logit_tokens::last, 2}, {logit_tokens::measured, 37}}) {
        const component_flops head = head_of(of, rows);
        // X · Wᵀ, X · Aᵀ, XA · Bᵀ; then dB, dA and the gradient of XA, and nothing below, where all is frozen.
        CHECK(head.get(view::useful, phase::forward) ==
              matmul(rows, 64, 1000) + matmul(rows, 64, 8) + matmul(rows, 8, 1000));
        CHECK(head.get(view::useful, phase::backward_weights) == matmul(rows, 64, 8) + matmul(rows, 8, 1000));
        CHECK(head.get(view::useful, phase::backward_data) == matmul(rows, 8, 1000));
    }
}

TEST_CASE("a flop_counter requests the accumulator of a mask added with cost::keep() under every logits setting") {
    cost model = presets::llama_3_8b.cost();
    model.keep(mask::sliding_window(7));
    for (const logit_tokens tokens_with_logits : {logit_tokens::all, logit_tokens::last}) {
        const flop_counter counter(model, conventions::exact, {.logits = tokens_with_logits});
        CHECK(std::ranges::count(counter.masks(), statistic(mask::sliding_window(7))) == 1);
    }
}

TEST_CASE("every convention counts the number of logits that the plan sets") {
    for (const convention* how : conventions::all) {
        const flop_counter all(presets::llama_3_8b, *how, with(logit_tokens::all, counted_passes::forward));
        const flop_counter some(presets::llama_3_8b, *how, with(logit_tokens::measured, counted_passes::forward));
        if (how->parameters == counted_weights::stored || !how->counted.contains(term::lm_head)) {
            CHECK(some.total_flops(batch_of(some)) == all.total_flops(batch_of(all)));  // it knows no logits
            continue;
        }
        tally batch = batch_of(some);
        batch.add_measured("logits", {.useful = 10, .padded = 20});
        const flops more = how->head == head_rows::one_per_sequence ? flops{} : matmul(990, h, accumulators);
        const flops fewer = how->head == head_rows::one_per_sequence ? matmul(8, h, accumulators) : flops{};
        INFO(std::string(how->name));
        CHECK(all.total_flops(batch_of(all)) + fewer == some.total_flops(batch) + more);
    }
}

TEST_CASE("a batch without a number of logits is an error if the plan requires one") {
    const flop_counter counter(presets::llama_3_8b, conventions::exact, with(logit_tokens::measured));
    const tally batch = batch_of(counter);
    CHECK(error_of([&] { static_cast<void>(counter.evaluate(batch)); }) ==
          "measured(logits): the cost needs this amount, but the tally lacks it: pass it to add_measured");
    for (const std::uint32_t length : {1U, 5U}) {
        CHECK(error_of([&] { static_cast<void>(counter.total_flops(sequence{.length = length})); }) ==
              "measured(logits): the cost needs this amount, but the tally lacks it: pass it to add_measured");
    }
    CHECK(counter.total_flops(tally{counter.masks()}) == flops{});  // without tokens there is none to miss
    // An accumulator that is kept and not counted is not asked for.
    cost model = presets::llama_3_8b.cost();
    model.keep(measured("kept"));
    const flop_counter keeping(model, conventions::exact, with(logit_tokens::measured));
    tally with_logits{keeping.masks()};
    with_logits.add(sequence{.length = 5});
    with_logits.add_measured("logits", {.useful = 3});
    CHECK(error_of([&] { return keeping.total_flops(with_logits); }) == "no error");
    model = cost{}.add("mlp", linear{.in_features = 3, .out_features = 5});
    model.keep(measured("kept"));
    CHECK(flop_counter(model).total_flops(sequence{.length = 5}) == flops{3 * 5 * 2 * 3 * 5});
}

TEST_CASE("the lm_head moves the bytes of only those tokens whose logits are computed") {
    const auto bytes = [](logit_tokens which) {
        byte_counter counter(parts_of(presets::llama_3_8b), with(which, counted_passes::forward));
        counter.add_lengths(std::vector<std::uint32_t>{700, 300});
        if (which == logit_tokens::measured) {
            counter.add_measured("logits", {.useful = 120});
        }
        return counter.count();
    };
    const step_bytes all = bytes(logit_tokens::all);
    for (const auto& [of, rows] : std::vector<std::pair<logit_tokens, std::uint64_t>>{
             {logit_tokens::all, 1000}, {logit_tokens::last, 2}, {logit_tokens::measured, 120}}) {
        const step_bytes some = bytes(of);
        // Reads x [rows, h] and W [accumulators, h], writes y [rows, accumulators].
        CHECK(some["lm_head"].get(phase::forward, byte_kind::activations) == uint128{2} * rows * (h + accumulators));
        CHECK(some["lm_head"].get(phase::forward, byte_kind::weights) == uint128{2} * accumulators * h);
        CHECK(some["mlp"].total() == all["mlp"].total());
        CHECK(some["attention.core"].total() == all["attention.core"].total());
    }
}

TEST_CASE("logits of only some tokens can be counted at compile time") {
    constexpr flops counted = [] {
        const flop_counter counter(presets::llama_3_8b.cost(), conventions::exact,
                                   {.counted = counted_passes::forward, .logits = logit_tokens::last});
        tally batch{counter.masks()};
        batch.add(sequence{.length = 1000});
        return counter.evaluate(batch)["lm_head"].total(view::useful);
    }();
    STATIC_REQUIRE(counted == flops{uint128{2} * h * accumulators});
}

}  // namespace logits_test
