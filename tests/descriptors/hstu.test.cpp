// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "hstu_definition.hpp"
#include "sanitized.hpp"
#include "traced.hpp"

namespace hstu_test {

// Dimensions are odd or prime, and all different, so that no two of them can be taken for each other.

namespace {

using namespace floptally;
using hstu_definition::parts;
using matmul_trace::place;
using matmul_trace::step;

struct slots {
    std::vector<parts> real;
    std::vector<parts> padded;
};

/// Contexts, targets and cached rows; a slot is longer in its history, or mock.
const slots& batch() {
    static const slots all{
        .real = {{3, 7, 5, 2}, {0, 4, 0}, {2, 0, 3, 3}, {1, 9, 4, 1, 6}, {0, 0, 0}, {0, 0, 4, 3}},
        .padded = {{3, 9, 5, 2}, {0, 4, 0}, {2, 0, 3, 3}, {1, 10, 4, 1, 6}, {4, 4, 4, 2}, {0, 2, 4, 3}}};
    return all;
}

tally tally_of(const mask_set& masks, const slots& sequences) {
    tally sum{masks};
    for (std::size_t i = 0; i < sequences.real.size(); ++i) {
        const parts& real = sequences.real[i];
        sum.add(real.length() == 0 ? sequence{} : real.record(), sequences.padded[i].record());
    }
    return sum;
}

constexpr hstu_layer layer_of(std::uint64_t blocks) {
    return {.num_heads = 3, .attention_dim = 5, .linear_dim = 7, .output_blocks = blocks};
}

/// A layer as an implementation runs it: u, v, q and k of each head, the pairs row by row, the concatenated blocks.
void trace_layer(step& trace, const std::vector<parts>& sequences, std::uint64_t hidden_size, const hstu_layer& layer,
                 const hstu_mask& statistic) {
    for (const parts& s : sequences) {
        const auto rows = static_cast<std::uint64_t>(s.length() - s.past);
        for (std::uint64_t head = 0; head < layer.num_heads; ++head) {
            for (const std::uint64_t width :
                 {layer.linear_dim, layer.linear_dim, layer.attention_dim, layer.attention_dim}) {
                trace.weight("hstu.uvqk", rows, hidden_size, width);
            }
            for (std::int64_t i = s.past; i < s.length(); ++i) {
                std::uint64_t keys = 0;
                for (std::int64_t j = 0; j < s.length(); ++j) {
                    keys += hstu_definition::attends(statistic, s, i, j) ? 1U : 0U;
                }
                trace.scores_row("hstu.qk", keys, layer.attention_dim);
                trace.values_row("hstu.pv", keys, layer.linear_dim);
            }
        }
        std::uint64_t blocks = 0;
        for (std::uint64_t block = 0; block < layer.output_blocks; ++block) {
            blocks += layer.num_heads * layer.linear_dim;
        }
        trace.weight("hstu.output", rows, blocks, hidden_size);
    }
}

template <class Walk>
void check(const cost& model, Walk walk) {
    step real;
    step padded;
    walk(real, batch().real);
    walk(padded, batch().padded);
    const tally sums = tally_of(model.masks(), batch());
    for (const training_plan& plan : traced::every_plan()) {
        REQUIRE(matmul_trace::mismatches(evaluate(model, sums, conventions::exact, plan), real, padded, plan) == "");
    }
}

/// Rows of a part, one by one.
std::uint64_t rows_of(const parts& s, hstu_rows part, std::int64_t stride) {
    const std::int64_t first = part == hstu_rows::all || part == hstu_rows::context ? 0
                               : part == hstu_rows::targets                         ? s.context + s.history
                                                                                    : s.context;
    const std::int64_t end = part == hstu_rows::context   ? s.context
                             : part == hstu_rows::history ? s.context + s.history
                                                          : s.length();
    std::uint64_t rows = 0;
    for (std::int64_t i = first; i < end; i += stride) {
        rows += i >= s.past ? 1U : 0U;
    }
    return rows;
}

constexpr hstu benchmark_model() {
    return {.hidden_size = 1024, .num_layers = 8, .layer = {.num_heads = 4, .attention_dim = 256, .linear_dim = 256}};
}

/// 32 sequences of 3 contextual tokens and 2048 items, each followed by its action.
tally benchmark_batch(const mask_set& masks) {
    tally sum{masks};
    for (int i = 0; i < 32; ++i) {
        sum.add(sequence{.length = 3 + 2 * 2048, .context = 3});
    }
    return sum;
}

std::string tera(flops amount, const char* format = "%.2f") {
    char text[32];
    static_cast<void>(std::snprintf(text, sizeof text, format, static_cast<double>(amount.value()) / 1e12));
    return text;
}

constexpr constant_cost at_compile_time = benchmark_model().cost();
static_assert(at_compile_time.parameters() == 8 * (1024 * 4096 + 1024 * 1024));

}  // namespace

static_assert(hstu_mlp{}.num_layers() == 0);
static_assert(hstu_mlp{.layer_sizes = {8, 4, 0, 2}}.num_layers() == 2);
static_assert(hstu_mlp{.layer_sizes = {8, 7, 6, 5, 4, 3, 2, 1}}.num_layers() == hstu_mlp::max_layers);

TEST_CASE("the cost of an HSTU layer equals its matmuls under every mask and output option", "[hstu][descriptors]") {
    std::size_t number = 0;
    for (const std::uint64_t blocks : {1U, 2U, 3U}) {
        for (const hstu_mask& statistic : hstu_definition::statistics({1, 4, 9}, {0, 2})) {
            if (skipped_when_sanitized(number++, 5)) {
                continue;
            }
            const hstu_layer layer = layer_of(blocks);
            const cost model = layer.cost({.hidden_size = 11, .attends = mask::hstu(statistic)});
            check(model, [&](step& trace, const std::vector<parts>& sequences) {
                trace_layer(trace, sequences, 11, layer, statistic);
            });
        }
    }
}

TEST_CASE("the cost of an HSTU model is the sum of its layers and the MLPs before and after them",
          "[hstu][descriptors]") {
    hstu model{.hidden_size = 11, .num_layers = 3, .layer = layer_of(3)};
    model.preprocessing[0] = {.input_size = 13, .layer_sizes = {17, 11}, .rows = hstu_rows::items};
    model.preprocessing[1] = {.input_size = 19, .layer_sizes = {11}, .rows = hstu_rows::context};
    model.prediction[0] = {.layer_sizes = {23, 29, 2}, .rows = hstu_rows::targets, .stride = 2};
    model.prediction[1] = {.layer_sizes = {3}};
    const cost sum = model.cost();
    CHECK(traced::component_names(sum) == std::set<std::string>{"hstu.preprocessing", "hstu.uvqk", "hstu.qk", "hstu.pv",
                                                                "hstu.elementwise", "hstu.output", "hstu.prediction",
                                                                "bias"});
    check(sum, [&](step& trace, const std::vector<parts>& sequences) {
        for (int layer = 0; layer < 3; ++layer) {
            trace_layer(trace, sequences, 11, model.layer, {});
        }
        for (const parts& s : sequences) {
            const std::uint64_t items = rows_of(s, hstu_rows::items, 1);
            const std::uint64_t every_second = rows_of(s, hstu_rows::targets, 2);
            const auto before = [&](std::uint64_t rows, std::uint64_t in, std::uint64_t out) {
                trace.weight("hstu.preprocessing", rows, in, out, place::after_layers);
            };
            const auto after = [&](std::uint64_t rows, std::uint64_t in, std::uint64_t out) {
                trace.weight("hstu.prediction", rows, in, out, place::after_layers);
            };
            before(items, 13, 17);
            before(items, 17, 11);
            before(rows_of(s, hstu_rows::context, 1), 19, 11);
            after(every_second, 11, 23);
            after(every_second, 23, 29);
            after(every_second, 29, 2);
            after(rows_of(s, hstu_rows::all, 1), 11, 3);
        }
    });
    CHECK(evaluate(parts_of(model), tally_of(sum.masks(), batch())).total() ==
          evaluate(sum, tally_of(sum.masks(), batch())).total());
}

TEST_CASE("HSTU with unequal head dims executes 4 QK and 3 PV products, and its MFU counts 3 of each", "[hstu]") {
    const cost model = layer_of(1).cost({.hidden_size = 11, .attends = mask::hstu()});
    const tally sums = tally_of(model.masks(), batch());
    const breakdown forward = evaluate(model, sums, conventions::exact, {.counted = counted_passes::forward});
    const breakdown step = evaluate(model, sums);
    const breakdown again = evaluate(model, sums, conventions::exact, {.recomputed = recompute::full});
    const auto look_up = [](const breakdown& work, std::string_view name, view seen) {
        for (const component_flops& item : work.components()) {
            if (item.name.is(name)) {
                return item.total(seen).value();
            }
        }
        return uint128{0};
    };
    const char* names[] = {"hstu.uvqk", "hstu.qk", "hstu.pv", "hstu.output"};
    for (const char* name : names) {
        CAPTURE(name);
        const uint128 once = look_up(forward, name, view::padded);
        const bool scores = std::string(name) == "hstu.qk";
        CHECK((look_up(step, name, view::useful) == 3 * look_up(forward, name, view::useful)));
        CHECK((look_up(step, name, view::padded) == 3 * once));
        CHECK((look_up(step, name, view::executed) == (scores ? 4 : 3) * once));
        CHECK((look_up(again, name, view::useful) == look_up(step, name, view::useful)));
        CHECK((look_up(again, name, view::executed) == look_up(step, name, view::executed) + once));
    }
}

TEST_CASE("the recsys-examples convention gives the FLOPs that the recsys-examples benchmark publishes",
          "[hstu][convention]") {
    const cost model = benchmark_model().cost();
    const flop_counter counted(model, conventions::recsys_examples);
    const breakdown work = counted.evaluate(benchmark_batch(counted.masks()));
    const auto value_for = [&](std::string_view name) {
        for (const component_flops& component_work : work.components()) {
            if (component_work.name.is(name)) {
                return component_work.total(view::useful);
            }
        }
        return flops{};
    };
    CHECK(tera(value_for("hstu.uvqk")) == "26.41");
    CHECK(tera(value_for("hstu.output")) == "6.60");
    CHECK(tera(value_for("hstu.qk") + value_for("hstu.pv")) == "30.88");
    CHECK(tera(value_for("hstu.elementwise"), "%.5f") == "0.00645");
    CHECK(tera(work.total()) == "63.89");
    // Without the element-wise work, which changes no digit here.
    convention products_only = conventions::recsys_examples;
    products_only.counted = products_only.counted.without(term::gating).without(term::residual);
    const flop_counter without(model, products_only);
    CHECK(tera(without.total_flops(benchmark_batch(without.masks()))) == "63.89");
}

TEST_CASE("exact HSTU attention FLOPs are those of recsys-examples plus a formula of history and target lengths",
          "[hstu][convention]") {
    // 4·N·D·(h/2 + T_g − t) for each sequence, N = 3 heads of D = 8, forward.
    const cost model = hstu_layer{.num_heads = 3, .attention_dim = 8, .linear_dim = 8, .residual = false}.cost(
        {.hidden_size = 11, .attends = mask::hstu()});
    convention attention = conventions::recsys_examples;
    attention.counted = term_set{term::scores, term::values};
    convention exact = conventions::exact;
    exact.counted = attention.counted;
    const training_plan forward{.counted = counted_passes::forward};
    const flop_counter by_recsys(model, attention, forward);
    const flop_counter by_pairs(model, exact, forward);
    for (std::int64_t context = 0; context <= 4; ++context) {
        for (std::int64_t history = 0; history <= 9; ++history) {
            for (std::int64_t targets = 0; targets <= 7; ++targets) {
                for (std::int64_t group = 1; group <= 4; ++group) {
                    const parts s{.context = context, .history = history, .targets = targets, .group = group};
                    std::uint64_t own = 0;  // T_g, pair by pair
                    for (std::int64_t i = 0; i < targets; ++i) {
                        for (std::int64_t j = 0; j <= i; ++j) {
                            own += i / group == j / group ? 1U : 0U;
                        }
                    }
                    const std::uint64_t difference = 4 * 3 * 8 * own + 2 * 3 * 8 * static_cast<std::uint64_t>(history) -
                                                     4 * 3 * 8 * static_cast<std::uint64_t>(targets);
                    REQUIRE(to_string(by_pairs.total_flops(s.record())) ==
                            to_string(by_recsys.total_flops(s.record()) + flops{difference}));
                }
            }
        }
    }
}

TEST_CASE("conventions other than recsys-examples count HSTU by their own formulas", "[hstu][convention]") {
    const cost model = hstu_layer{.num_heads = 1, .attention_dim = 1, .linear_dim = 1, .residual = false}.cost(
        {.hidden_size = 1, .attends = mask::hstu({.max_attn_len = 2})});
    const parts s{.context = 2, .history = 5, .targets = 3, .group = 2};
    const auto attention = [&](const convention& how) {
        convention only = how;
        only.counted = term_set{term::scores};
        const flop_counter folded(model, only, {.counted = counted_passes::forward});
        return to_string(folded.total_flops(s.record()));
    };
    const std::string attended = std::to_string(2 * hstu_definition::pairs({.max_attn_len = 2}, s));
    for (const convention* how : conventions::all) {
        CAPTURE(std::string(how->name));
        const std::string expected = how->parameters == counted_weights::stored ? "0"
                                     : how->name == "recsys_examples"           ? "121"  // 2·(10·7 − 25/2 + 3)
                                     : how->causal == causal_pairs::full_square ? "200"
                                                                                : attended;
        CHECK(attention(*how) == expected);
    }
}

TEST_CASE("the FLOPs of single HSTU sequences add up to the FLOPs of the batch", "[hstu][cost]") {
    const cost model = benchmark_model().cost();
    const flop_counter folded(model);
    flops sum;
    for (const parts& s : batch().real) {
        sum += folded.total_flops(s.record());
    }
    tally all{model.masks()};
    for (const parts& s : batch().real) {
        all.add(s.record());
    }
    CHECK(folded.total_flops(all) == sum);
}

TEST_CASE("an invalid HSTU model is an error", "[hstu][descriptors]") {
    const auto refusal = [](auto change) {
        hstu model = benchmark_model();
        change(model);
        return error_of([&] { static_cast<void>(model.cost()); });
    };
    CHECK(refusal([](hstu& m) { m.hidden_size = 0; }) == "hidden_size: must be at least 1, got 0");
    CHECK(refusal([](hstu& m) { m.num_layers = 0; }) == "num_layers: must be at least 1, got 0");
    CHECK(refusal([](hstu& m) {
              const mask each_mask[] = {mask::hstu()};
              m.num_layers = 2;
              m.masks = layer_masks::list(each_mask);
          }) == "layer_types: lists 1 layers, but the model has 2: list one for each layer");
    CHECK(refusal([](hstu& m) { m.layer.num_heads = 0; }) == "num_attention_heads: must be at least 1, got 0");
    CHECK(refusal([](hstu& m) { m.layer.attention_dim = 0; }) == "attention_dim: must be at least 1, got 0");
    CHECK(refusal([](hstu& m) { m.layer.linear_dim = 0; }) == "linear_dim: must be at least 1, got 0");
    CHECK(refusal([](hstu& m) { m.layer.output_blocks = 4; }) == "output_blocks: must be 1, 2 or 3, got 4");
    CHECK(refusal([](hstu& m) { m.layer.output_blocks = 0; }) == "output_blocks: must be 1, 2 or 3, got 0");
    CHECK(refusal([](hstu& m) {
              m.preprocessing[2].layer_sizes = {9, 1023};
          }) == "preprocessing_mlps: the last layer must be as wide as hidden_size (1024), got 1023");
    CHECK(refusal([](hstu& m) { m.prediction[0] = {.layer_sizes = {1}, .rows = hstu_rows::targets, .stride = 0}; }) ==
          "stride: must be from 1 to 2147483647, got 0");
}

TEST_CASE("HSTU layers with equal masks are grouped without a change of the cost", "[hstu]") {
    const mask near = mask::hstu({.max_attn_len = 4});
    const hstu model{.hidden_size = 11,
                     .num_layers = 5,
                     .layer = layer_of(3),
                     .masks = layer_masks::period({mask::hstu(), mask::hstu(), near})};
    cost one_by_one;
    for (std::uint64_t i = 0; i < model.num_layers; ++i) {
        one_by_one += model.layer.cost({i, model.hidden_size, i == 2 ? near : mask::hstu()});
    }
    CHECK(model.cost() == one_by_one);
    const std::vector<model_part> stages = parts_of(model);
    REQUIRE(stages.size() == 3);
    for (const std::size_t run : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
        CHECK(stages[run].repeat == (run == 1 ? 1U : 2U));
        CHECK(stages[run].first_layer == (run == 0 ? 0U : run == 1 ? 2U : 3U));
    }
}

TEST_CASE("a frozen HSTU model with LoRA on one matrix counts the products that autograd runs", "[hstu][plan]") {
    // Only uvqk_proj of layer 1 adapts: nothing below it needs a gradient, everything above it does.
    hstu model{.hidden_size = 11, .num_layers = 2, .layer = layer_of(1)};
    const std::vector<model_part> stages = parts_of(model);
    CHECK(stages.size() == 1);
    const tally sums = tally_of(model.cost().masks(), batch());
    const breakdown all = evaluate(stages, sums);
    training_plan plan;
    plan.weights.push_back({.weights = "*", .state = weight_state::frozen}, "weights");
    plan.weights.push_back(
        {.weights = "hstu.uvqk/uvqk_proj", .state = weight_state::lora, .rank = 2, .first_layer = 1, .last_layer = 1},
        "weights");
    const breakdown adapted = evaluate(stages, sums, conventions::exact, plan);
    for (std::size_t i = 0; i < all.components().size(); ++i) {
        const component_flops& trained = all.components()[i];
        const component_flops& component = adapted.components()[i];
        CAPTURE(std::string(component.name.view()));
        REQUIRE(component.name == trained.name);
        if (!component.name.is("hstu.uvqk")) {
            CHECK(component.get(view::useful, phase::backward_weights) == flops{});
            CHECK(2 * component.get(view::useful, phase::backward_data).value() ==
                  trained.get(view::useful, phase::backward_data).value());
        }
    }
    CHECK(all.components().size() == adapted.components().size());
}

TEST_CASE("a gate or a residual sum has no trainable weight", "[hstu][plan]") {
    const hstu model{.hidden_size = 11, .num_layers = 2, .layer = layer_of(1)};
    training_plan plan;
    for (const char* weights : {"embedding", "hstu.uvqk/*", "hstu.output/*"}) {
        plan.weights.push_back({.weights = weights, .state = weight_state::frozen}, "weights");
    }
    const flop_counter folded(parts_of(model), conventions::recsys_examples, plan);
    CHECK(folded.evaluate(tally_of(folded.masks(), batch())).backward(view::useful) == flops{});
}

}  // namespace hstu_test
