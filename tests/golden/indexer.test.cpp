// SPDX-License-Identifier: Apache-2.0
//
// Indexers that train by a loss of their own: indexer.json is what PyTorch ran of a small real model
// (generate_indexer.py), and the pairs of each stage are counted one by one.

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "golden.hpp"

namespace indexer_test {
namespace {

using namespace floptally;
using nlohmann::json;

constexpr lightning_indexer small_indexer{.num_heads = 3, .head_dim = 5, .query_size = 12, .head_sum_is_product = true};

/// A layer of attention, with an indexer of its own or the choice of the layer before it.
model_part layer_part_of(const json& model, std::uint64_t index, bool has_indexer, const mask& attends) {
    const layer where{.index = index, .hidden_size = model["hidden_size"], .attends = attends};
    const std::uint64_t heads = model["num_heads"];
    cost sum = gqa{.num_heads = heads, .num_kv_heads = heads, .head_dim = model["head_dim"]}.cost(where);
    if (has_indexer) {
        sum += lightning_indexer{.num_heads = model["index_n_heads"],
                                 .head_dim = model["index_head_dim"],
                                 .query_size = model["hidden_size"],
                                 .head_sum_is_product = true}
                   .cost(where);
    }
    return {.name = "layer", .role = part_role::layer, .cost = sum, .first_layer = index};
}

std::vector<model_part> two_layers(const json& model) {
    const mask best = mask::top_k(model["index_topk"].get<std::int64_t>());
    cost head;
    head.add("lm_head", linear{.in_features = model["hidden_size"],
                               .out_features = model["vocab_size"],
                               .kind = term::lm_head,
                               .weight = "lm_head",
                               .reads = value::stream});
    return {layer_part_of(model, 0, true, best),
            layer_part_of(model, 1, false, best),
            {.name = "lm_head", .role = part_role::head, .cost = head}};
}

indexer_training training_named(const std::string& name) {
    for (std::size_t i = 0; i < std::size(indexer_training_names); ++i) {
        if (name == indexer_training_names[i]) {
            return static_cast<indexer_training>(i);
        }
    }
    FAIL("no plan is called " << name);
    return indexer_training::frozen;
}

training_plan plan_of(const json& report) {
    training_plan plan{.flash_attention = false, .indexer = training_named(report["plan"])};
    const std::string frozen = report["frozen"];
    if (frozen.starts_with("all but")) {
        plan.weights.push_back({"*", weight_state::frozen}, "weights");
        plan.weights.push_back({"embedding", weight_state::frozen}, "weights");
        plan.weights.push_back({frozen == "all but wq_b" ? "attention.indexer/wq_b" : "attention.indexer"}, "weights");
    } else if (!frozen.empty()) {
        plan.weights.push_back({component_name("attention.indexer/" + frozen), weight_state::frozen}, "weights");
    }
    return plan;
}

std::uint64_t number(flops count) {
    REQUIRE(count.high() == 0);
    return count.low();
}

breakdown counted(const std::vector<model_part>& parts, const training_plan& plan, const convention& how,
                  std::vector<std::uint32_t> lengths) {
    const flop_counter model(parts, how, plan);
    CHECK_FALSE(model.is_upper_bound());
    tally batch{model.masks()};
    batch.add_lengths(lengths);
    return model.evaluate(batch);
}

std::uint64_t forward_of(const breakdown& work) { return number(work.get(view::useful, phase::forward)); }
std::uint64_t backward_of(const breakdown& work) { return number(work.backward(view::useful)); }

}  // namespace

TEST_CASE("the counted FLOPs of a trained indexer of sparse attention equal those of PyTorch's FLOP counter",
          "[indexer]") {
    const json measured = golden("indexer.json");
    const json& model = measured["model"];
    const auto parts = two_layers(model);
    CHECK(measured["cases"].size() == 6);
    for (const auto& [name, one] : measured["cases"].items()) {
        CAPTURE(name);
        const breakdown work = counted(parts, plan_of(one), conventions::torch_flop_counter_eager, {model["length"]});
        CHECK(forward_of(work) == one["forward"].get<std::uint64_t>());
        CHECK(backward_of(work) == one["backward"].get<std::uint64_t>());
        CHECK(number(work.total(view::executed)) ==
              one["forward"].get<std::uint64_t>() + one["backward"].get<std::uint64_t>());
    }
}

namespace {

/// The numbers of keys of a query at `position`: those that its indexer scores, those that it chooses of them, and
/// those that its attention sees, of all keys and of the chosen ones.
struct looked_at {
    std::uint64_t scored;
    std::uint64_t chosen;
    std::uint64_t all_keys;
    std::uint64_t attended;
};

looked_at look(const mask& attends, std::uint64_t position) {
    const std::uint64_t seen = position + 1;
    const statistic best = attends;
    if (best.is<mask_statistics::top_k>()) {
        const std::uint64_t chosen = std::min<std::uint64_t>(seen, 4);
        return {seen, chosen, seen, chosen};
    }
    if (best.is<mask_statistics::best_compressed_keys>()) {  // 3 blocks of 2 tokens
        const std::uint64_t chosen = std::min<std::uint64_t>(seen / 2, 3);
        return {seen / 2, chosen, seen / 2, chosen};
    }
    if (best.is<mask_statistics::best_blocks>()) {  // 2 blocks of 3 tokens, the query's own among them
        const std::uint64_t own = position % 3 + 1;
        const std::uint64_t chosen = std::min(seen, own + 3);
        return {seen, chosen, seen, chosen};
    }
    // 2 pools of 3 tokens, and the tokens after the last whole pool
    const std::uint64_t pools = std::min<std::uint64_t>(seen / 3, 2);
    return {seen / 3, pools, seen, 3 * pools + seen % 3};
}

}  // namespace

TEST_CASE("attended pairs of an indexer's loss and of its teacher attention equal an enumeration", "[indexer]") {
    struct shape {
        mask attends;
        std::uint64_t ratio;
    };
    const json model = golden("indexer.json")["model"];
    const std::uint64_t core = 2 * 4 * 6;           // QKᵀ of the attention's heads
    const std::uint64_t score = 2 * 3 * 5 + 2 * 3;  // of the indexer's heads, and their sum
    const std::uint64_t index_weights = 12 * (3 * 5 + 5 + 3);
    const std::uint64_t weights = 4 * 12 * 4 * 6 + index_weights;
    for (const shape& example : {shape{mask::top_k(4), 0}, shape{mask::best_compressed_keys(2, 3), 2},
                                 shape{mask::best_blocks(3, 2), 0}, shape{mask::best_pools(3, 2), 3}}) {
        const layer where{.hidden_size = 12, .attends = example.attends};
        lightning_indexer indexer = small_indexer;
        indexer.compress_ratio = example.ratio;
        const cost sum = gqa{.num_heads = 4, .num_kv_heads = 4, .head_dim = 6}.cost(where) + indexer.cost(where);
        const std::vector<model_part> parts{{.name = "layer", .cost = sum, .first_layer = 0}};
        const std::vector<std::uint32_t> lengths{1, 2, 7, 23};
        std::uint64_t tokens = 0;
        looked_at all{};
        for (const std::uint64_t length : lengths) {
            tokens += length;
            for (std::uint64_t position = 0; position < length; ++position) {
                const looked_at here = look(example.attends, position);
                all = {all.scored + here.scored, all.chosen + here.chosen, all.all_keys + here.all_keys,
                       all.attended + here.attended};
            }
        }
        const auto work_of = [&](indexer_training how) {
            return counted(parts, {.flash_attention = false, .indexer = how}, conventions::exact, lengths);
        };
        const std::uint64_t once = 2 * tokens * weights;
        const auto check = [&](indexer_training how, std::uint64_t attended, std::uint64_t teacher,
                               std::uint64_t in_loss) {
            CAPTURE(indexer_training_names[static_cast<std::size_t>(how)], example.ratio);
            const breakdown work = work_of(how);
            CHECK(forward_of(work) == once + 2 * core * attended + score * all.scored + core * teacher);
            const std::uint64_t of_indexer =
                how == indexer_training::frozen ? 0 : 2 * tokens * index_weights + 2 * score * in_loss;
            CHECK(backward_of(work) == 2 * (once - 2 * tokens * index_weights) + 4 * core * attended + of_indexer);
        };
        check(indexer_training::frozen, all.attended, 0, 0);
        check(indexer_training::sparse_loss, all.attended, all.attended, all.chosen);
        check(indexer_training::dense_loss, all.attended, all.all_keys, all.scored);
        check(indexer_training::warm_up, all.all_keys, all.all_keys, all.scored);
    }
}

TEST_CASE("an indexer loss for a model without an indexer or with an unknown setting is an error", "[indexer]") {
    const json model = golden("indexer.json")["model"];
    const auto message = [](const std::vector<model_part>& parts, const training_plan& plan) {
        try {
            return std::to_string(flop_counter(parts, conventions::exact, plan).masks().size());
        } catch (const error& e) {
            return std::string(e.what());
        }
    };
    const training_plan sparse{.indexer = indexer_training::sparse_loss};
    const mask best = mask::top_k(4);
    CHECK(message({layer_part_of(model, 0, false, best)}, sparse) ==
          "plan.indexer: the model has no indexer with a loss of its own: leave indexer at frozen");
    CHECK(message({layer_part_of(model, 0, true, mask::causal())}, sparse) ==
          "plan.indexer: a layer with an indexer has no attention with a top-k mask: give its attention such a mask, "
          "or leave plan.indexer at frozen");
    CHECK(message({layer_part_of(model, 0, true, mask::causal())}, {}) != "");

    // From a cost alone the count is as if every layer had an indexer, and is marked as an upper bound.
    const cost whole = cost_of(array_view<model_part>(two_layers(model)));
    const flop_counter bound(whole, conventions::exact, sparse);
    CHECK(bound.is_upper_bound());
    CHECK_FALSE(flop_counter(whole).is_upper_bound());
    const std::vector<model_part> one_layer{layer_part_of(model, 0, true, best)};
    CHECK_FALSE(flop_counter(one_layer, conventions::exact, sparse).is_upper_bound());
    cost several = whole;
    several += layer_part_of(model, 2, true, mask::top_k(5)).cost;
    try {
        static_cast<void>(flop_counter(several, conventions::exact, sparse));
        FAIL("two choices were accepted");
    } catch (const error& e) {
        CHECK(std::string(e.what()).starts_with("plan.indexer: the cost has indexers and several top-k masks"));
    }

    // It is the scores of an attention that say which keys were chosen for it, whatever else its layer has of others.
    model_part beside = one_layer.front();
    beside.cost.add_entry("memory", "",
                          cost_entry{.what = accumulator::pairs, .kind = term::values, .useful = 1, .padded = 1},
                          mask::top_k(5));
    CHECK_NOTHROW(flop_counter(std::vector<model_part>{beside}, conventions::exact, sparse));

    // Gradients of the indexer stop at what it reads: nothing of the layers changes.
    const auto parts = two_layers(model);
    const auto with = [&](indexer_training how) {
        return counted(parts, {.flash_attention = false, .indexer = how}, conventions::exact, {11});
    };
    const breakdown off = with(indexer_training::frozen);
    const breakdown on = with(indexer_training::sparse_loss);
    for (const char* component : {"attention.qkv", "attention.core", "attention.output", "lm_head"}) {
        CHECK(on[component].total(view::useful) == off[component].total(view::useful));
    }
    CHECK(number(on["attention.indexer"].get(view::useful, phase::backward_weights)) == 2 * 11 * 12 * (15 + 5 + 3));
    CHECK(number(off["attention.indexer"].backward(view::useful)) == 0);
    // Its loss measures by the attention's scores of the chosen keys, of which a query has 4 at most.
    const std::uint64_t chosen = 1 + 2 + 3 + 8 * 4;
    const std::uint64_t scored = 2 * model["num_heads"].get<std::uint64_t>() * model["head_dim"].get<std::uint64_t>();
    CHECK(number(on["attention.indexer"].get(view::useful, phase::forward)) ==
          number(off["attention.indexer"].get(view::useful, phase::forward)) + scored * chosen);
    // Scores that name one of their two sides have the gradients of both.
    const auto backward = [&](const model_part& part) {
        return backward_of(counted({part}, {.flash_attention = false, .indexer = indexer_training::sparse_loss},
                                   conventions::exact, {11}));
    };
    model_part one_side = one_layer.front();
    one_side.cost.add_pairs("attention.indexer", term::index_scores, 7, best, {.reads = value::local(0)});
    CHECK(backward(one_side) - backward(one_layer.front()) == 2 * 2 * 7 * chosen);
    // Two ranks that both run all of it execute twice as much, forward and back.
    training_plan twice = {.flash_attention = false, .indexer = indexer_training::sparse_loss};
    twice.repeated.push_back({"*", 2}, "repeated");
    const breakdown both = counted(parts, twice, conventions::exact, {11});
    for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
        CHECK(number(both.get(view::executed, during)) == 2 * number(on.get(view::executed, during)));
    }

    // A convention that counts an indexer like any layer does so whatever the plan is.
    convention as_layers = conventions::exact;
    as_layers.indexer = indexer_backward::as_layers;
    const breakdown thrice = counted(parts, {.flash_attention = false}, as_layers, {11});
    CHECK(backward_of(thrice) - backward_of(off) == 2 * number(off["attention.indexer"].total(view::useful)));
}

}  // namespace indexer_test
