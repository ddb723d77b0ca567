// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/descriptors/audio.hpp>
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/state_space.hpp>
#include <floptally/descriptors/transformer.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "traced.hpp"

namespace cost_test {
namespace {

using namespace floptally;

constexpr layer windowed{.index = 0, .hidden_size = 15, .attends = mask::sliding_window(3)};
constexpr layer causal{.index = 0, .hidden_size = 15, .attends = mask::causal()};

constexpr constant_cost attention = gqa{6, 2, 7, {.norm = 14, .bias = 3}}.cost(windowed);
constexpr constant_cost feed_forward = gated_mlp{37, {.bias = 5}}.cost(causal);
constexpr constant_cost sparse = moe{.num_experts = 7, .num_experts_per_tok = 2, .intermediate_size = 11}.cost(causal);
constexpr constant_cost head = vocabulary{.size = 101, .padded_size = 128}.head_cost(15);

/// Forward, backward and recompute of a batch with and without padding, in each view.
std::vector<flops> work_of(const cost& model) {
    tally batch{model.masks()};
    for (const std::uint32_t length : {1U, 2U, 3U, 4U, 13U}) {
        batch.add(sequence{.length = length, .keys = 2}, sequence{.length = length + 3, .keys = 5});
    }
    std::vector<flops> all;
    for (const convention* how : conventions::all) {
        const flop_counter folded(model, *how, {.recomputed = recompute::full});
        tally sums{folded.masks()};
        for (const std::uint32_t length : {1U, 2U, 3U, 4U, 13U}) {
            sums.add(sequence{.length = length, .keys = 2}, sequence{.length = length + 3, .keys = 5});
        }
        for (const view seen : {view::useful, view::padded, view::executed}) {
            all.push_back(folded.total_flops(sums, seen));
        }
    }
    for (const view seen : {view::useful, view::padded, view::executed}) {
        for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights, phase::recompute}) {
            all.push_back(evaluate(model, batch).get(seen, during));
        }
    }
    return all;
}

cost sum_of(const std::vector<cost>& parts) {
    cost sum;
    for (const cost& part : parts) {
        sum += part;
    }
    return sum;
}

}  // namespace

TEST_CASE("the sum of two costs counts the work of both, component by component", "[cost]") {
    const std::vector<flops> a = work_of(attention);
    const std::vector<flops> b = work_of(sparse);
    const std::vector<flops> both = work_of(attention + sparse);
    REQUIRE(both.size() == a.size());
    for (std::size_t i = 0; i < both.size(); ++i) {
        CHECK(both[i] == a[i] + b[i]);
    }
    CHECK((attention + sparse).parameters() == attention.parameters() + sparse.parameters());
    CHECK(attention + cost{} == attention);
    CHECK(cost{} + attention == attention);
    CHECK(work_of(cost{}) == std::vector<flops>(both.size()));
}

TEST_CASE("costs can be added in any order with the same result", "[cost]") {
    const std::vector<flops> expected = work_of(sum_of({attention, feed_forward, sparse, head}));
    CHECK(work_of(sum_of({head, sparse, feed_forward, attention})) == expected);
    CHECK(work_of(sum_of({sparse, attention, head, feed_forward})) == expected);
    CHECK(work_of((attention + feed_forward) + (sparse + head)) == expected);
    CHECK(work_of(attention + (feed_forward + (sparse + head))) == expected);
}

TEST_CASE("n times the cost of a layer equals the layer added n times", "[cost]") {
    const cost whole_cost = attention + feed_forward + sparse;
    cost copy;
    for (std::uint64_t times = 0; times <= 5; ++times) {
        if (times > 0) {
            CHECK(times * whole_cost == copy);
        }
        CHECK(work_of(times * whole_cost) ==
              (times > 0 ? work_of(copy) : std::vector<flops>(work_of(whole_cost).size())));
        CHECK((times * whole_cost).parameters() == times * whole_cost.parameters());
        copy += whole_cost;
    }
    cost doubled = whole_cost;
    doubled += doubled;
    CHECK(doubled == 2 * whole_cost);
}

TEST_CASE("cost entries with equal component, term, accumulator and mask merge into one", "[cost]") {
    constexpr linear up{.in_features = 15, .out_features = 37};
    cost sum;
    sum.add("mlp", up).add("mlp", up);
    CHECK(sum.entries().size() == 1);
    CHECK(sum.components().size() == 1);
    CHECK(sum.entries()[0].useful == 2 * (2 * 15 * 37));
    CHECK(sum.entries()[0].padded == 2 * (2 * 15 * 37));
    CHECK(sum.entries()[0].parameters == 2 * (15 * 37));

    SECTION("entries of another component stay apart") { sum.add("mtp", up); }
    SECTION("entries of another kind stay apart") {
        sum.add("mlp", linear{.in_features = 15, .out_features = 37, .kind = term::lm_head});
    }
    SECTION("entries of another accumulator stay apart") {
        sum.add("mlp", linear{.in_features = 15, .out_features = 37, .rows = accumulator::keys});
    }
    CHECK(sum.entries().size() == 2);
    CHECK(sum.entries()[0].useful == 2 * (2 * 15 * 37));
}

TEST_CASE("cost entries with different weights or data flows do not merge", "[cost]") {
    constexpr linear element{.in_features = 3, .out_features = 5, .weight = "q_proj", .reads = value::stream};
    cost sum;
    sum.add("attention.qkv", element).add("attention.qkv", element);
    REQUIRE(sum.entries().size() == 1);
    CHECK(sum.weight_name(sum.entries()[0]) == "q_proj");
    CHECK(sum.entries()[0].per_rank == adapter{2 * 2 * 3, 2 * 2 * 5, 2 * 2 * 5, 2 * (3 + 5)});
    linear other = element;
    other.weight = "k_proj";
    sum.add("attention.qkv", other);
    other.reads = value::context;
    sum.add("attention.qkv", other);
    other.weight = {};
    sum.add("attention.qkv", other);
    CHECK(sum.entries().size() == 4);
    CHECK(sum.weights().size() == 2);
    CHECK(sum.weight_name(sum.entries()[3]).empty());
    // In another order the weights have other numbers, and a sum knows which is which.
    cost reversed;
    other.weight = "k_proj";
    reversed.add("attention.qkv", other);
    reversed += sum;
    CHECK(reversed.entries().size() == 4);
    CHECK(reversed.weight_name(reversed.entries()[0]) == "k_proj");
    CHECK(reversed.entries()[0].useful == 2 * 2 * 3 * 5);
}

TEST_CASE("an attention core has cost entries for scores, values and softmax of each mask", "[cost]") {
    cost sum;
    sum.add("attention.core", attention_core{3, 5, 7}, mask::causal());
    sum.add("attention.core", attention_core{3, 5, 7}, mask::sliding_window(4));
    sum.add("attention.core", attention_core{2, 11, 13}, mask::causal());
    REQUIRE(sum.entries().size() == 6);
    CHECK(sum.masks().size() == 2);
    CHECK(sum.parameters() == 0);
    CHECK(sum.entries()[0] == cost_entry{.mask = 0,
                                         .what = accumulator::pairs,
                                         .kind = term::scores,
                                         .useful = 2 * 3 * 5 + 2 * 2 * 11,
                                         .padded = 2 * 3 * 5 + 2 * 2 * 11,
                                         .sharding = tensor_sharding::heads(1)});  // what divides 3 and 2 heads
    CHECK(sum.entries()[3].sharding == tensor_sharding::heads(3));
    CHECK(sum.entries()[1].kind == term::values);
    CHECK(sum.entries()[1].useful == 2 * 3 * 7 + 2 * 2 * 13);
    CHECK(sum.entries()[2].kind == term::softmax);
    CHECK(sum.entries()[2].useful == 3 * (3 + 2));
    CHECK(sum.entries()[3].mask == 1);
    CHECK(sum.entries()[3].useful == 2 * 3 * 5);

    // The other way round the masks have other numbers, and the sum knows which is which.
    cost reversed;
    reversed.add("attention.core", attention_core{3, 5, 7}, mask::sliding_window(4));
    reversed += sum;
    REQUIRE(reversed.masks().size() == 2);
    CHECK(reversed.masks()[0] == mask::sliding_window(4));
    CHECK(reversed.entries()[0].useful == 2 * (2 * 3 * 5));
    CHECK(reversed.entries()[3].mask == 1);
    CHECK(reversed.entries()[3].useful == 2 * 3 * 5 + 2 * 2 * 11);
}

TEST_CASE("a model's parameters include all experts, norms and biases, and a tied embedding table once", "[cost]") {
    CHECK(attention.parameters() == 15 * 42 + 2 * 15 * 14 + 42 * 15 + 14 + 3);
    CHECK(sparse.parameters() == 15 * 7 + 7 * 3 * 15 * 11);
    // A padded vocabulary is no more weights of the model.
    CHECK(head.parameters() == 101 * 15);

    cost tables;
    tables.add_parameters("embedding", term::embedding, 1000);
    CHECK(tables.parameters() == 1000);
    tables.add_parameters("embedding", term::tied_embedding, 500);
    CHECK(tables.parameters() == 1000);
    tables.add_parameters("embedding", term::position_embedding, 20);
    tables.add_parameters("norm", term::norm, 3);
    tables.add_parameters("bias", term::bias, 4);
    CHECK(tables.parameters() == 1027);
    CHECK(tables.entries().size() == 5);
    tables.add_parameters("norm", term::norm, 0);
    CHECK(tables.entries().size() == 5);
    CHECK(cost{}.add_parameters("norm", term::norm, 0).components().empty());
}

TEST_CASE("a cost counts the parameters of all stored experts and the FLOPs of only the applied experts", "[cost]") {
    cost sum;
    sum.add("moe.experts", linear{.in_features = 15, .out_features = 11, .applied = 6, .stored = 21});
    CHECK(sum.entries()[0].useful == 2 * 6 * 15 * 11);
    CHECK(sum.entries()[0].parameters == 21 * 15 * 11);
}

TEST_CASE("a recurrent state costs two FLOPs per multiply-add and has no parameters", "[cost]") {
    const cost sum = cost{}.add_state("mixer", 35);
    CHECK(sum.entries()[0] == cost_entry{.kind = term::state, .useful = 70, .padded = 70});
    CHECK(sum.parameters() == 0);
}

TEST_CASE("a coefficient that overflows is an error with the component and both factors", "[cost][errors]") {
    constexpr std::uint64_t wide = std::uint64_t{1} << 32;
    constexpr std::uint64_t half = std::uint64_t{1} << 63;
    const auto problem = [](const linear& weight) { return error_of([&] { return cost{}.add("mlp", weight); }); };
    CHECK(problem({.in_features = wide, .out_features = wide}) ==
          "mlp: 4294967296 x 4294967296 does not fit 64 bits: use smaller numbers");
    CHECK(problem({.in_features = wide, .out_features = wide / 4}) == "no error");
    CHECK(problem({.in_features = wide, .out_features = wide / 2}) ==
          "mlp: 2 x 9223372036854775808 does not fit 64 bits: use smaller numbers");
    CHECK(problem({.in_features = wide, .out_features = wide / 4, .applied = 2}) ==
          "mlp: 4 x 4611686018427387904 does not fit 64 bits: use smaller numbers");
    CHECK(problem({.in_features = 1, .out_features = 1, .applied = half}) ==
          "mlp: 2 x 9223372036854775808 does not fit 64 bits: use smaller numbers");
    CHECK(problem({.in_features = wide, .out_features = 1, .stored = wide}) ==
          "mlp: 4294967296 x 4294967296 does not fit 64 bits: use smaller numbers");
    CHECK(problem({.in_features = wide, .out_features = 1, .padded_out_features = wide}) ==
          "mlp: 4294967296 x 4294967296 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([] {
              return cost{}.add("attention.core", attention_core{wide, wide, 1}, mask::causal());
          }) == "attention.core: 8589934592 x 4294967296 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([] {
              return cost{}.add("attention.core", attention_core{half, 1, 1}, mask::causal());
          }) == "attention.core: 2 x 9223372036854775808 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([] { return cost{}.add_state("mixer", half); }) ==
          "mixer: 2 x 9223372036854775808 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([] { return cost{}.add_parameters("norm", term::norm, half); }) ==
          "norm: 2 x 9223372036854775808 does not fit 64 bits: use smaller numbers");

    const cost large = cost{}.add("mlp", linear{.in_features = wide, .out_features = wide / 4});
    CHECK(error_of([&] { return large + large; }) ==
          "mlp: 9223372036854775808 + 9223372036854775808 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([&] { return 2 * large; }) ==
          "mlp: 2 x 9223372036854775808 does not fit 64 bits: use smaller numbers");
    CHECK_THROWS_AS(2 * large, overflow);

    // Four components of 2^62 weights each: every entry fits, their sum does not.
    cost many;
    for (const char* name : {"a", "b", "c", "d"}) {
        many.add(name, linear{.in_features = wide, .out_features = wide / 4});
    }
    CHECK(error_of([&] { return many.parameters(); }) ==
          "parameters: 13835058055282163712 + 4611686018427387904 does not fit 64 bits: use smaller numbers");
}

TEST_CASE("a sum of costs that overflows leaves the cost unchanged", "[cost][errors]") {
    // error.hpp: "Nothing wraps: whatever was being added to keeps its old value".
    constexpr std::uint64_t wide = std::uint64_t{1} << 32;
    cost sum = cost{}.add("lm_head", linear{.in_features = 1, .out_features = 1, .padded_out_features = wide << 30});
    const cost before = sum;
    CHECK_THROWS_AS(sum += before, overflow);
    CHECK(sum == before);

    cost core = cost{}.add("attention.core", attention_core{1, 1, wide << 30}, mask::causal());
    const cost core_before = core;
    CHECK_THROWS_AS(core.add("attention.core", attention_core{1, 1, wide << 30}, mask::causal()), overflow);
    CHECK(core == core_before);
}

// ---- the same layer elsewhere ----

using matmul_trace::sequence_list;
using matmul_trace::step;
using traced::check_against_trace;

TEST_CASE("as_component() puts all entries of a cost under one component name and changes no FLOPs", "[cost]") {
    const cost whole = attention + feed_forward + sparse + head;
    const cost sum_of_costs = whole.as_component("mtp");
    CHECK(traced::component_names(sum_of_costs) == std::set<std::string>{"mtp"});
    CHECK(work_of(sum_of_costs) == work_of(whole));
    CHECK(sum_of_costs.parameters() == whole.parameters());
    CHECK(sum_of_costs.masks() == whole.masks());
    // Each weight stays an entry: seven of attention and MLP, three of an expert, the router, the lm_head; and scores,
    // values, softmax, norm and bias.
    CHECK(sum_of_costs.entries().size() == 17);
    CHECK(sum_of_costs.as_component("mtp") == sum_of_costs);
    CHECK(cost{}.as_component("mtp") == cost{});
    // Layers of two masks under one name keep both.
    const cost two = (attention + gqa{6, 2, 7, {}}.cost(causal)).as_component("tower");
    CHECK(two.masks().size() == 2);
    CHECK(work_of(two) == work_of(attention + gqa{6, 2, 7, {}}.cost(causal)));
}

TEST_CASE("on_encoder() counts the layers of a cost over the encoder's tokens", "[cost]") {
    constexpr layer both_ways{.index = 0, .hidden_size = 15, .attends = mask::bidirectional()};
    cost encoder =
        gqa{.num_heads = 6, .num_kv_heads = 2, .head_dim = 7, .elementwise = {.norm = 14, .bias = 3}}.cost(both_ways);
    encoder += gated_mlp{37, {}}.cost(both_ways);
    encoder += short_convolution{.conv_kernel = 3}.cost(both_ways);
    encoder.add("classifier", linear{.in_features = 15, .out_features = 2, .rows = accumulator::count});
    encoder.add_parameters("embedding", term::embedding, 1000);
    cost model = encoder.on_encoder();
    CHECK(traced::component_names(model) ==
          std::set<std::string>{"encoder.attention.qkv", "encoder.attention.core", "encoder.attention.output",
                                "encoder.mlp", "encoder.mixer.input", "encoder.mixer.convolution",
                                "encoder.mixer.output", "encoder.classifier", "embedding", "norm", "bias"});
    CHECK(model.parameters() == encoder.parameters());
    REQUIRE(model.masks().size() == 1);
    CHECK(model.masks()[0] == mask::encoder());
    model += cross_attention{.num_heads = 4, .num_kv_heads = 4, .head_dim = 3}.cost(windowed);
    model += gqa{.num_heads = 4, .num_kv_heads = 4, .head_dim = 3}.cost(windowed);
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        sequence_list other_side;
        for (const matmul_trace::sequence& s : sequences) {
            other_side.push_back({.length = s.keys});
            if (s.length != 0) {
                trace.weight("encoder.classifier", 1, 15, 2);
            }
        }
        const std::uint64_t keys = matmul_trace::tokens_of(other_side);
        trace.weight("encoder.attention.qkv", keys, 15, (6 + 2 + 2) * 7);
        matmul_trace::attention_core(trace, "encoder.attention.core", other_side, 6, 7, 7,
                                     matmul_trace::bidirectional());
        trace.weight("encoder.attention.output", keys, 6 * 7, 15);
        matmul_trace::mlp(trace, "encoder.mlp", keys, 15, 37, true);
        trace.weight("encoder.mixer.input", keys, 15, 3 * 15);
        trace.weight("encoder.mixer.convolution", keys, 3, 15);
        trace.weight("encoder.mixer.output", keys, 15, 15);
        matmul_trace::cross_attention(trace, sequences, 15, 15, 4, 4, 3);
        matmul_trace::attention(trace, sequences, 15, 4, 4, 3, matmul_trace::sliding_window(3));
    });
}

TEST_CASE("on_encoder() of a mask without an encoder counterpart is an error that names the mask", "[cost][errors]") {
    const auto problem = [](const mask& attends) {
        return error_of([&] { return gqa{6, 2, 7, {}}.cost({.hidden_size = 15, .attends = attends}).on_encoder(); });
    };
    const std::string rest = " cannot attend to an encoder's tokens: use bidirectional or a window";
    CHECK(problem(mask::bidirectional()) == "no error");
    CHECK(problem(mask::window(4, 4)) == "no error");
    CHECK(problem(mask::chunked(4)) == "masks: chunked(4)" + rest);
    CHECK(problem(mask::top_k(8)) == "masks: top_k(8)" + rest);
    CHECK(problem(mask::encoder()) == "masks: encoder" + rest);
    CHECK(error_of([] {
              return cross_attention{6, 2, 7, 0, {}}.cost(causal).on_encoder();
          }) == "cross_attention.qkv: an encoder has no other sequence to attend to: remove its cross attention");
    const std::string longest(31, 'x');
    const auto named = [](const std::string& name) {
        return error_of([&] { return cost{}.add(name, linear{1, 1}).on_encoder(); });
    };
    CHECK(named(longest) == "no error");
    CHECK(named(longest + "x") == "component: a name must have 1 to 39 characters, got \"encoder." + longest + "x\"");
}

TEST_CASE("a detached cost counts only forward FLOPs, and counts them twice in layers under full recompute", "[cost]") {
    cost whole = gqa{6, 2, 7, {}}.cost(windowed) + gated_mlp{37, {}}.cost(causal) + sparse;
    whole.add_state("mixer.state", 35);
    whole += vocabulary{.size = 101}.head_cost(15);
    const cost model = whole.detached();
    CHECK(model.parameters() == whole.parameters());
    CHECK(model.masks() == whole.masks());
    check_against_trace(model, [](step& trace, const sequence_list& sequences, bool) {
        // The forward of a trace of the whole, as products inside a layer; the head stands after the layers.
        step full;
        const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
        matmul_trace::attention(full, sequences, 15, 6, 2, 7, matmul_trace::sliding_window(3));
        matmul_trace::mlp(full, "mlp", tokens, 15, 37, true);
        matmul_trace::experts(full, tokens, 15, 7, 2, 11, true);
        full.outer_product("mixer.state", tokens, 5, 7);
        matmul_trace::lm_head(full, tokens, 15, 101);
        trace.append_forward(full);
    });
    CHECK(model.detached() == model);
    // Norms, biases and tables are no products and stay what conventions know them by.
    cost tables;
    tables.add_parameters("norm", term::norm, 3);
    CHECK(tables.detached() == tables);
}

TEST_CASE("a shared weight counts FLOPs but no stored parameters", "[cost]") {
    constexpr linear own{.in_features = 15, .out_features = 101};
    linear shared = own;
    shared.shared = true;
    CHECK(cost{}.add("lm_head", own).parameters() == 15 * 101);
    CHECK(cost{}.add("lm_head", shared).parameters() == 0);
    tally batch;
    batch.add({.length = 7});
    const auto work = [&](const linear& weight, const convention& how) {
        return evaluate(cost{}.add("lm_head", weight), batch, how).total();
    };
    CHECK(work(shared, conventions::exact) == work(own, conventions::exact));
    CHECK(work(own, conventions::hf_6nd) == flops{6 * 15 * 101 * 7});
    CHECK(work(shared, conventions::hf_6nd) == flops{});
}

// ---- measured visits ----

namespace {

constexpr moe by_visits{
    .num_experts = 7, .num_experts_per_tok = 2, .intermediate_size = 11, .routed_is_measured = true};

}  // namespace

TEST_CASE("experts with measured visits count only the measured visits, whatever the number of layers",
          "[cost][routed]") {
    // Three layers with routers of their own; a visit is 3 matrices of 15 x 11 wherever it happens.
    const cost model = 2 * by_visits.cost(causal) + by_visits.cost(causal);
    CHECK(model == 3 * by_visits.cost(causal));
    CHECK(model.parameters() == 3 * (15 * 7 + 7 * 3 * 15 * 11));
    tally batch{model.masks()};
    batch.add({.length = 5}, {.length = 8});
    // With drops and capacity slots: neither is a multiple of the tokens.
    batch.add_routed({.useful = 13, .padded = 17});
    step real;
    step slots;
    for (int index = 0; index < 3; ++index) {
        real.weight("moe.router", 5, 15, 7);
        slots.weight("moe.router", 8, 15, 7);
    }
    matmul_trace::mlp(real, "moe.experts", 13, 15, 11, true);
    matmul_trace::mlp(slots, "moe.experts", 17, 15, 11, true);
    CHECK(matmul_trace::mismatches(evaluate(model, batch), real, slots) == "");
    CHECK(flop_counter(model).total_flops(batch) == evaluate(model, batch).total());
}

TEST_CASE("FLOPs of work that runs once per pass, whatever the batch size, add up over layers", "[cost][routed]") {
    const statistic once = measured(passes_accumulator);
    cost one_layer;
    one_layer.add_entry(
        "table", "places",
        {.what = accumulator::routed, .kind = term::linear, .useful = 100, .padded = 100, .parameters = 50}, once);
    one_layer.add_entry("norm", "", {.what = accumulator::routed, .kind = term::detached, .useful = 7, .padded = 7},
                        once);
    one_layer.add_entry("table", "places",
                        {.what = accumulator::routed, .kind = term::linear, .useful = 11, .padded = 11}, once);
    const cost model = 3 * one_layer + one_layer;
    CHECK(model == 4 * one_layer);
    CHECK(model.parameters() == 200);
    tally batch{model.masks()};
    batch.add({.length = 5});
    batch.add_measured(passes_accumulator, {.useful = 2, .padded = 3});
    const breakdown seen = evaluate(model, batch);
    CHECK(seen.total(view::useful) == flops{4 * 2 * (3 * 111 + 7)});
    CHECK(seen.total(view::padded) == flops{4 * 3 * (3 * 111 + 7)});
}

TEST_CASE("measured expert visits that are spread evenly give the same FLOPs as experts per token from the config",
          "[cost][routed]") {
    tally batch;
    batch.add({.length = 19});
    tally counted = batch;
    counted.add_routed({.useful = 4 * 19 * 2});
    CHECK(evaluate(4 * by_visits.cost(causal), counted).total() == evaluate(4 * sparse, batch).total());
}

TEST_CASE("two kinds of experts cannot share one measured count of visits", "[cost][routed][errors]") {
    const std::string two_kinds =
        "moe.experts: experts of two kinds cannot share one measured number of visits: give each kind its own "
        "measured(\"NAME\") as `visits`";
    moe wide = by_visits;
    wide.intermediate_size = 13;
    CHECK(error_of([&] { return by_visits.cost(causal) + wide.cost(causal); }) == two_kinds);
    CHECK(error_of([&] { return by_visits.cost(causal) + by_visits.cost(causal).detached(); }) == two_kinds);
    CHECK(error_of([&] {
              return by_visits.cost(causal) +
                     cost{}.add("other", linear{.in_features = 15, .out_features = 33, .rows = accumulator::routed});
          }) ==
          "other: experts of two kinds cannot share one measured number of visits: give each kind its own "
          "measured(\"NAME\") as `visits`");
    cost sum = by_visits.cost(causal);
    const cost before = sum;
    CHECK_THROWS_AS(sum += wide.cost(causal), error);
    CHECK(sum == before);
    // No layers are no experts.
    CHECK(error_of([&] { return 0 * wide.cost(causal) + by_visits.cost(causal); }) == "no error");
    CHECK(error_of([&] { return by_visits.cost(causal) + 0 * wide.cost(causal); }) == "no error");
    // One count for a model and its MTP layer or encoder: the entry stays one.
    const cost with_mtp = by_visits.cost(causal) + by_visits.cost(causal).as_component("mtp");
    CHECK(with_mtp.parameters() == 2 * by_visits.cost(causal).parameters());
    CHECK(traced::component_names(with_mtp) == std::set<std::string>{"moe.router", "moe.experts", "mtp"});
    CHECK(traced::component_names(by_visits.cost(causal).on_encoder()) ==
          std::set<std::string>{"encoder.moe.router", "moe.experts"});
}

TEST_CASE("a batch without measured expert visits is an error for a model whose experts count measured visits",
          "[cost][routed][errors]") {
    const cost model = by_visits.cost(causal);
    const std::string missing =
        "routed: this cost counts experts by measured visits, and the tally has none: call add_routed with the visits "
        "of the batch";
    tally batch;
    CHECK(error_of([&] { return evaluate(model, batch); }) == "no error");
    batch.add({}, {.length = 4});
    CHECK(error_of([&] { return evaluate(model, batch); }) == missing);
    batch.add_routed({.useful = 0, .padded = 8});
    CHECK(error_of([&] { return evaluate(model, batch); }) == "no error");
    batch.add({.length = 4});
    CHECK(error_of([&] { return evaluate(model, batch); }) == missing);
    CHECK(error_of([&] { return flop_counter(model).total_flops(batch); }) == missing);
    CHECK(error_of([&] { return flop_counter(model).total_flops(sequence{.length = 3}); }) == missing);
    batch.add_routed({.useful = 8});
    CHECK(error_of([&] { return evaluate(model, batch); }) == "no error");
    CHECK(error_of([&] { return evaluate(0 * model, tally{}); }) == "no error");
    // A convention that does not count products asks for nothing.
    convention none = conventions::exact;
    none.counted = none.counted.without(term::linear);
    tally unmeasured;
    unmeasured.add({.length = 4});
    CHECK(error_of([&] { return evaluate(model, unmeasured, none); }) == "no error");
}

TEST_CASE("attended pairs of an encoder are exact in every convention", "[cost]") {
    const cost model = cost{}.add("attention.core", attention_core{1, 1, 1}, mask::bidirectional()).on_encoder();
    for (const convention* how : conventions::all) {
        INFO(how->name);
        const flop_counter folded(model, *how, {.counted = counted_passes::forward});
        tally batch{folded.masks()};
        batch.add({.length = 3, .keys = 5});
        const std::uint64_t of_a_pair =
            (how->counted.contains(term::scores) ? 4U : 0U) + (how->counted.contains(term::softmax) ? 3U : 0U);
        CHECK(folded.total_flops(batch) == flops{of_a_pair * 25});
    }
    // Nor does it make a windowed decoder one whose layers alternate.
    const cost decoder = cost{}.add("attention.core", attention_core{1, 1, 1}, mask::sliding_window(2));
    const auto windows = [](const cost& c) { return flop_counter(c, conventions::verl).masks(); };
    CHECK(windows(decoder + model) == [] {
        mask_set only;
        only.push_back(mask::encoder(), "masks");
        return only;
    }());
}

TEST_CASE("a prefix mask counts as full attention in conventions that ignore windows", "[cost]") {
    const cost model = cost{}.add("attention.core", attention_core{1, 1, 1}, mask::prefix_lm(4));
    const auto pairs = [&](const convention& how) {
        const flop_counter folded(model, how, {.counted = counted_passes::forward});
        tally batch{folded.masks()};
        batch.add({.length = 6});
        return folded.total_flops(batch);
    };
    CHECK(pairs(conventions::exact) == flops{4 * (4 * 4 + 5 + 6)});
    CHECK(pairs(conventions::torch_flop_counter_eager) == flops{4 * 36});
    CHECK(pairs(conventions::megatron) == flops{4 * 36});
}

TEST_CASE("products of every query with every compressed key are exact in every convention", "[cost]") {
    const cost model = cost{}.add_scores("attention.positions", 1, mask::box(4));
    for (const convention* how : conventions::all) {
        INFO(how->name);
        const flop_counter folded(model, *how, {.counted = counted_passes::forward});
        tally batch{folded.masks()};
        batch.add({.length = 6});
        batch.add({.length = 3});
        CHECK(folded.total_flops(batch) == flops{how->counted.contains(term::scores) ? 2U * (6 * 4 + 3 * 3) : 0U});
    }
}

TEST_CASE("a layer that runs again with shared weights costs the same FLOPs and stores no parameters", "[cost]") {
    cost layer = cost{}.add("mlp", linear{.in_features = 3, .out_features = 5});
    layer.add("attention.core", attention_core{1, 2, 2}, mask::causal()).add_parameters("norm", term::norm, 3);
    const cost twice = layer + layer.with_shared_weights();
    CHECK(twice.parameters() == layer.parameters());
    tally batch{layer.masks()};
    batch.add({.length = 7});
    for (const convention* how : conventions::all) {
        INFO(how->name);
        // 6 x stored parameters x tokens knows nothing of a second pass.
        const std::uint64_t passes = how->parameters == counted_weights::stored ? 1 : 2;
        CHECK(evaluate(twice, batch, *how).total(view::useful) ==
              evaluate(passes * layer, batch, *how).total(view::useful));
    }
}

TEST_CASE("a model part can declare 13 intermediate values, and a 14th is an error", "[cost][errors]") {
    static_assert(value::local(12) != 0);
    CHECK(error_of([] { return value::local(13); }) ==
          "value: must be from 0 to 12, since a part has at most 13 intermediate values, got 13");
    CHECK(error_of([] { return value::local(1U << 31U); }) != "no error");
}

TEST_CASE("the bit set of a model part's values has one bit for each of 13 intermediate values", "[cost]") {
    CHECK(value::local(12) == 0x8000);
    CHECK(value::local(0) == 2 * value::time);
}

TEST_CASE("a component appended to a breakdown starts with zero FLOPs", "[cost]") {
    breakdown work;
    // A used place: what stood there before must not be read.
    alignas(breakdown) unsigned char used[sizeof(breakdown)];
    std::memset(used, 0xA5, sizeof(used));
    breakdown* placed = new (used) breakdown;
    for (breakdown* part : {&work, placed}) {
        part->append("mine");
        CHECK((*part)["mine"].total(view::executed) == flops{});
        CHECK(part->total(view::padded) == flops{});
        CHECK((*part)["mine"].get(view::useful, phase::backward_weights) == flops{});
    }
    placed->~breakdown();
}

TEST_CASE("cost entries of one weight with different shardings merge into one with their greatest common divisor",
          "[cost]") {
    const auto sum_of = [](const tensor_sharding& a, const tensor_sharding& b) {
        cost sum;
        sum.add("mlp", linear{.in_features = 24, .out_features = 36, .sharding = a});
        sum.add("mlp", linear{.in_features = 24, .out_features = 36, .sharding = b});
        REQUIRE(sum.entries().size() == 1);
        return sum.entries()[0].sharding;
    };
    CHECK(sum_of(tensor_sharding::columns(), tensor_sharding::columns()) == tensor_sharding::columns(36));
    CHECK(sum_of(tensor_sharding::rows(), tensor_sharding::rows(18)) == tensor_sharding::rows(6));
    CHECK(sum_of(tensor_sharding::columns(), tensor_sharding::rows()) == tensor_sharding{sharding_kind::even, 12});
    CHECK(sum_of(tensor_sharding::heads(12), tensor_sharding::kv_heads(4)) == tensor_sharding{sharding_kind::even, 4});
    CHECK(sum_of(tensor_sharding::kv_heads(4), tensor_sharding::kv_heads(4)) ==
          tensor_sharding{sharding_kind::kv_heads, 4, 9});
    CHECK(sum_of(tensor_sharding::kv_heads(4), tensor_sharding::kv_heads(6)) ==
          tensor_sharding{sharding_kind::even, 2});
    CHECK(sum_of(tensor_sharding::fused_qkv(8, 6), tensor_sharding::heads(4)) ==
          tensor_sharding{sharding_kind::even, 2});
    CHECK(sum_of(tensor_sharding::experts(8, 12), tensor_sharding::experts(12, 8)) == tensor_sharding::experts(4, 4));
    CHECK(sum_of(tensor_sharding::columns(), tensor_sharding::replicated()).by == sharding_kind::several);
    CHECK(sum_of(tensor_sharding::vocabulary(), tensor_sharding::vocabulary(30)).by == sharding_kind::several);
    CHECK(sum_of({}, tensor_sharding::columns()).by == sharding_kind::several);
    CHECK(sum_of({}, {}) == tensor_sharding{});
    CHECK(sum_of(tensor_sharding::experts(8, 12), tensor_sharding::replicated()).by == sharding_kind::several);
    CHECK(
        sum_of(tensor_sharding{sharding_kind::kv_heads, 4, 5}, tensor_sharding{sharding_kind::kv_heads, 4, 5}).inner ==
        5);
    CHECK(sum_of(tensor_sharding::heads(4), tensor_sharding::heads(4)).inner == 0);
    // Layers that add up keep the numbers of one.
    cost layer;
    layer.add("mlp", linear{.in_features = 24, .out_features = 36, .sharding = tensor_sharding::columns()});
    CHECK((5 * layer).entries()[0].sharding == tensor_sharding::columns(36));
}

TEST_CASE("a cost entry for a statistic is multiplied by the statistic's pairs, visits or count instead of by tokens",
          "[cost]") {
    constexpr linear matrix{.in_features = 3, .out_features = 5};
    const auto only = [](const cost& sum) {
        REQUIRE(sum.entries().size() == 1);
        return sum.entries()[0];
    };
    CHECK(only(cost().add("merger", matrix, unit::merged_patches(2))).what == accumulator::pairs);
    CHECK(only(cost().add("merger", matrix, measured("frames"))).what == accumulator::routed);
    CHECK(only(cost().add("merger", matrix).over(measured("frames"))).what == accumulator::pairs);
    CHECK(only(cost().add_pairs("core", term::scores, 7, mask::causal().in(modality::vision), {})).in ==
          modality::vision);
    cost visits;
    visits.add_entry("experts", {}, {.what = accumulator::routed, .useful = 6, .padded = 6});
    CHECK(visits.masks()[only(visits).mask] == measured("routed"));
    CHECK(visits.masks().size() == 1);
    // What a cost keeps for a tally alone stays where costs add up.
    cost layer_cost;
    layer_cost.keep(unit::merged_patches(2));
    CHECK((visits + layer_cost).masks().size() == 2);
    CHECK((visits += layer_cost).masks().size() == 2);
}

TEST_CASE("only matrices can have LoRA adapters, and vectors are replicated on every rank", "[cost]") {
    const auto entry_of = [](const linear& matrix) { return cost().add("mlp", matrix).entries()[0]; };
    CHECK(entry_of({.in_features = 3, .out_features = 5}).per_rank == adapter{6, 10, 10, 8});
    CHECK(entry_of({.in_features = 3, .out_features = 5, .adaptable = false}).per_rank == adapter{});
    CHECK(entry_of({.in_features = 3, .out_features = 5, .groups = 2}).per_rank == adapter{});
    const convolution_stem stem{.in_channels = 3, .convolutions = {convolution{.out_channels = 4}}};
    CHECK(stem.cost().entries()[0].per_rank == adapter{});
    cost vectors;
    vectors.add_entry("norm", {}, {.kind = term::norm, .useful = 8, .padded = 8, .parameters = 4});
    vectors.add_entry("bias", {},
                      {.kind = term::bias, .useful = 8, .padded = 8, .sharding = tensor_sharding::columns(4)});
    vectors.add_entry("mlp", {}, {.useful = 8, .padded = 8, .parameters = 4});
    CHECK(vectors.entries()[0].sharding == tensor_sharding::replicated());
    CHECK(vectors.entries()[1].sharding == tensor_sharding::columns(4));
    CHECK(vectors.entries()[2].sharding == tensor_sharding{});
}

TEST_CASE("cost entries for one measured count merge if their useful and padded FLOPs per visit are equal",
          "[cost][routed]") {
    const auto entry = [](std::uint64_t useful, std::uint64_t padded,
                          const tensor_sharding& sharding = tensor_sharding::experts(4, 6)) {
        return cost_entry{
            .what = accumulator::routed, .useful = useful, .padded = padded, .parameters = 10, .sharding = sharding};
    };
    for (const std::uint64_t useful : {6U, 0U}) {
        cost sum;
        sum.add_entry("experts", {}, entry(useful, 6))
            .add_entry("experts", {}, entry(useful, 6, tensor_sharding::experts(6, 4)));
        REQUIRE(sum.entries().size() == 1);
        CHECK(sum.entries()[0].padded == 6);
        CHECK(sum.entries()[0].parameters == 20);
        CHECK(sum.entries()[0].sharding == tensor_sharding::experts(2, 2));
        CHECK(error_of([&] { return sum.add_entry("experts", {}, entry(useful, 7)); }) ==
              "experts: experts of two kinds cannot share one measured number of visits: give each kind its own "
              "measured(\"NAME\") as `visits`");
        sum.add_entry("experts", {}, entry(useful, 7), measured("others"));
        CHECK(sum.entries().size() == 2);
    }
    CHECK(cost().add_entry("experts", {}, entry(0, 0)).entries().empty());
}

TEST_CASE("a constexpr cost holds as many entries as its template argument allows", "[cost]") {
    cost sum;
    sum.add("mlp", linear{.in_features = 2, .out_features = 3, .weight = "up_proj"});
    sum.add("mlp", linear{.in_features = 3, .out_features = 2, .weight = "down_proj"});
    sum.add("attention.core", attention_core{1, 2, 2}, mask::causal());  // scores, values, softmax
    const constant_cost<2, 5, 2, 1> remaining = sum;
    CHECK(cost(remaining) == sum);
    CHECK(remaining.parameters() == 12);
    CHECK(remaining.weight_name(remaining.entries()[1]) == "down_proj");
    CHECK(remaining.weight_name(remaining.entries()[2]).empty());
    for (const modality in : {modality::text, modality::vision, modality::audio}) {
        const cost other = sum.in(in);
        const constant_cost<2, 5, 2, 1> same = other;
        CHECK(cost(same) == other);
        CHECK((same == remaining) == (in == modality::text));
        const cost no_masks = cost().add("mlp", linear{.in_features = 2, .out_features = 3}).in(in);
        CHECK(cost(constant_cost<1, 1, 1, 1>(no_masks)) == no_masks);
    }
    CHECK(error_of([&] { return constant_cost<1, 5, 2, 1>(sum); }) ==
          "components: 2 are more than the 1 of this constant_cost: pass larger bounds");
    CHECK(error_of([&] { return constant_cost<2, 4, 2, 1>(sum); }) ==
          "rows: 5 are more than the 4 of this constant_cost: pass larger bounds");
    CHECK(error_of([&] { return constant_cost<2, 5, 1, 1>(sum); }) ==
          "weights: 2 are more than the 1 of this constant_cost: pass larger bounds");
}

TEST_CASE("the table of product kinds (enum term) names every kind in the order of the enum", "[cost]") {
    for (std::size_t kind = 0; kind < term_count; ++kind) {
        const std::string_view name = meanings[kind].name;
        CHECK(is_of_indexer(static_cast<term>(kind)) == name.starts_with("index_"));
        CHECK(is_index_pairs(static_cast<term>(kind)) == (name == "index_scores" || name == "teacher_scores"));
    }
    const auto value_for = [](term kind) { return meaning_of(kind).name; };
    const std::string_view names[] = {value_for(term::linear),
                                      value_for(term::input_linear),
                                      value_for(term::preprocessing),
                                      value_for(term::router),
                                      value_for(term::lm_head),
                                      value_for(term::scores),
                                      value_for(term::values),
                                      value_for(term::state),
                                      value_for(term::delta_rule),
                                      value_for(term::scan),
                                      value_for(term::scan_convolution),
                                      value_for(term::detached),
                                      value_for(term::detached_head),
                                      value_for(term::embedding),
                                      value_for(term::tied_embedding),
                                      value_for(term::position_embedding),
                                      value_for(term::norm),
                                      value_for(term::latent_norm),
                                      value_for(term::bias),
                                      value_for(term::softmax),
                                      value_for(term::gating),
                                      value_for(term::residual),
                                      value_for(term::optimizer)};
    const std::string_view expected[] = {"linear",
                                         "input_linear",
                                         "preprocessing",
                                         "router",
                                         "lm_head",
                                         "scores",
                                         "values",
                                         "state",
                                         "delta_rule",
                                         "scan",
                                         "scan_convolution",
                                         "detached",
                                         "detached_head",
                                         "embedding",
                                         "tied_embedding",
                                         "position_embedding",
                                         "norm",
                                         "latent_norm",
                                         "bias",
                                         "softmax",
                                         "gating",
                                         "residual",
                                         "optimizer"};
    CHECK(std::equal(std::begin(names), std::end(names), std::begin(expected), std::end(expected)));
    // A detached term has no detached form but itself, and an element-wise term stays element-wise.
    for (std::size_t kind = 0; kind < term_count; ++kind) {
        const auto item = static_cast<term>(kind);
        const term detached = meaning_of(item).when_detached;
        CHECK(meaning_of(detached).when_detached == detached);
        CHECK(is_product(item) == is_product(detached));
        CHECK((is_product(item) ? is_detached(detached) : detached == item));
        CHECK(products.contains(item) == is_product(item));
        CHECK(is_elementwise_weight(item) == (has_weight(item) && !products.contains(item)));
    }
}

}  // namespace cost_test
