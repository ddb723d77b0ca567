// SPDX-License-Identifier: Apache-2.0
//
// Bytes against a step that is written down tensor by tensor: every product with the tensors that it reads and writes.

#include <bit>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/linear_attention.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/presets.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace byte_counter_test {
namespace {

using floptally::byte_counter;
using floptally::byte_kind;
using floptally::counted_passes;
using floptally::element_bits;
using floptally::mask;
using floptally::model_part;
using floptally::phase;
using floptally::sequence;
using floptally::step_bytes;
using floptally::training_plan;
using floptally::transformer;

/// The elements that a step moves, by component, phase and kind.
class tensor_trace {
  public:
    std::map<std::string, std::map<phase, std::map<byte_kind, std::uint64_t>>> moved;
    bool trains = true;
    std::set<std::string> frozen;  ///< components

    /// X [rows, in] · Wᵀ of W [out, in], and its backward.
    void linear(const std::string& component, std::uint64_t rows, std::uint64_t in, std::uint64_t out,
                bool input_trains = true) {
        const std::uint64_t x = rows * in;
        const std::uint64_t y = rows * out;
        const std::uint64_t w = in * out;
        put(component, phase::forward, byte_kind::weights, w);
        put(component, phase::forward, byte_kind::activations, x + y);
        if (!trains) {
            return;
        }
        if (input_trains) {  // dX = dY · W
            put(component, phase::backward_data, byte_kind::weights, w);
            put(component, phase::backward_data, byte_kind::activations, y + x);
        }
        if (!frozen.contains(component)) {  // dW = dYᵀ · X
            put(component, phase::backward_weights, byte_kind::activations, y + x);
            put(component, phase::backward_weights, byte_kind::gradients, w);
        }
    }
    /// LoRA beside a matrix: A [rank, in] and B [out, rank], each a product of its own.
    void adapter(const std::string& component, std::uint64_t rows, std::uint64_t in, std::uint64_t out,
                 std::uint64_t rank, bool input_trains) {
        const bool was_frozen = frozen.erase(component) != 0;
        linear(component, rows, in, rank, input_trains);
        linear(component, rows, rank, out);
        if (was_frozen) {
            frozen.insert(component);
        }
    }
    /// A fused kernel over q, k, v to o of so many elements, and its backward: q, k, v, o and do to dq, dk and dv.
    void attention(const std::string& component, std::uint64_t q, std::uint64_t k, std::uint64_t v, std::uint64_t o) {
        put(component, phase::forward, byte_kind::activations, q + k + v + o);
        if (trains) {
            put(component, phase::backward_data, byte_kind::activations, q + k + v + o + o + (q + k + v));
        }
    }
    void norm(std::uint64_t weights, bool input_trains = true) {
        put("norm", phase::forward, byte_kind::weights, weights);
        if (trains && input_trains) {
            put("norm", phase::backward_data, byte_kind::weights, weights);
        }
        if (trains && !frozen.contains("norm")) {
            put("norm", phase::backward_weights, byte_kind::gradients, weights);
        }
    }
    void look_up(std::uint64_t rows, std::uint64_t accumulators, std::uint64_t width) {
        put("embedding", phase::forward, byte_kind::weights, rows * width);
        put("embedding", phase::forward, byte_kind::activations, rows * width);
        if (trains && !frozen.contains("embedding")) {
            put("embedding", phase::backward_weights, byte_kind::activations, rows * width);
            put("embedding", phase::backward_weights, byte_kind::gradients, accumulators * width);
        }
    }
    void put(const std::string& component, phase during, byte_kind kind, std::uint64_t elements) {
        if (elements != 0) {
            moved[component][during][kind] += elements;
        }
    }
};

/// Every number of the one that the other does not have.
std::vector<std::string> differences(const tensor_trace& listed, const step_bytes& counted, const element_bits& bits) {
    std::vector<std::string> all;
    std::set<std::string> names;
    for (const auto& element : listed.moved) {
        names.insert(element.first);
    }
    for (const auto& item : counted.components) {
        names.insert(std::string(item.name.view()));
    }
    for (const std::string& component : names) {
        for (std::size_t during = 0; during < 4; ++during) {
            for (std::size_t kind = 0; kind < floptally::byte_kind_count; ++kind) {
                std::uint64_t expected = 0;
                const auto found = listed.moved.find(component);
                if (found != listed.moved.end()) {
                    auto phases = found->second;
                    expected = phases[static_cast<phase>(during)][static_cast<byte_kind>(kind)];
                }
                expected = (expected * bits.of(static_cast<byte_kind>(kind)) + 7) / 8;
                const auto* const own = counted.find(component);
                const auto made = own == nullptr ? floptally::uint128{0}
                                                 : own->get(static_cast<phase>(during), static_cast<byte_kind>(kind));
                if (made != expected) {
                    all.push_back(component + " phase " + std::to_string(during) + " " +
                                  std::string(name(static_cast<byte_kind>(kind))) + ": listed " +
                                  std::to_string(expected) + ", counted " + floptally::to_string(made));
                }
            }
        }
    }
    return all;
}

constexpr std::uint64_t hidden = 64;
constexpr std::uint64_t heads = 4;
constexpr std::uint64_t kv_heads = 2;
constexpr std::uint64_t head_dim = 12;
constexpr std::uint64_t inner = 96;
constexpr std::uint64_t vocabulary = 100;
constexpr std::uint64_t layers = 3;

transformer<floptally::gqa, floptally::gated_mlp> small(bool fused = false) {
    return {.hidden_size = hidden,
            .num_layers = layers,
            .attention = {.num_heads = heads, .num_kv_heads = kv_heads, .head_dim = head_dim, .fused_qkv = fused},
            .feed_forward = {.intermediate_size = inner},
            .vocab = {.size = vocabulary},
            .layer_elementwise = {.norm = 2 * hidden},
            .final_elementwise = {.norm = hidden}};
}

void list_small(tensor_trace& to, const std::vector<std::uint64_t>& lengths, bool fused = false) {
    std::uint64_t tokens = 0;
    for (const std::uint64_t amount : lengths) {
        tokens += amount;
    }
    const std::uint64_t q = heads * head_dim;
    const std::uint64_t kv = kv_heads * head_dim;
    to.look_up(tokens, vocabulary, hidden);
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        to.norm(hidden);
        if (fused) {
            to.linear("attention.qkv", tokens, hidden, q + 2 * kv);
        } else {
            to.linear("attention.qkv", tokens, hidden, q);
            to.linear("attention.qkv", tokens, hidden, kv);
            to.linear("attention.qkv", tokens, hidden, kv);
        }
        for (const std::uint64_t length : lengths) {
            to.attention("attention.core", length * q, length * kv, length * kv, length * q);
        }
        to.linear("attention.output", tokens, q, hidden);
        to.norm(hidden);
        to.linear("mlp", tokens, hidden, inner);
        to.linear("mlp", tokens, hidden, inner);
        to.linear("mlp", tokens, inner, hidden);
    }
    to.norm(hidden);
    to.linear("lm_head", tokens, hidden, vocabulary);
}

const std::vector<std::uint64_t> lengths = {5, 1, 33};

template <class Model>
step_bytes counted(const Model& model, const std::vector<std::uint64_t>& lengths_of, const training_plan& plan = {},
                   const element_bits& bits = {}, std::uint64_t batches = 1) {
    const floptally::listed_parts parts = parts_of(model);
    byte_counter counter({parts.begin(), parts.end()}, plan, bits, batches);
    counter.add_lengths(lengths_of);
    return counter.count();
}

/// One layer over sequences with a past.
step_bytes decoded(const floptally::cost& layer, const std::vector<sequence>& batch, const element_bits& bits = {}) {
    const std::vector<model_part> parts = {{.name = "layer", .cost = layer, .first_layer = 0, .repeat = layers}};
    byte_counter counter(parts, {.counted = counted_passes::forward}, bits);
    counter.add(floptally::listed_samples(batch));
    return counter.count();
}

}  // namespace

TEST_CASE("the bytes of a training step equal the sum over a list of its tensors") {
    for (const bool fused : {false, true}) {
        tensor_trace listed;
        list_small(listed, lengths, fused);
        const element_bits bits{.weights = 16, .gradients = 32, .activations = 8, .cache = 16};
        const step_bytes made = counted(small(fused), lengths, {}, bits);
        CHECK(differences(listed, made, bits) == std::vector<std::string>{});
        CHECK(made.is_exact());
    }
}

TEST_CASE("bytes of a forward pass with 4-bit weights match a hand calculation") {
    tensor_trace listed;
    listed.trains = false;
    list_small(listed, lengths);
    const element_bits bits{.weights = 4};
    CHECK(differences(listed, counted(small(), lengths, {.counted = counted_passes::forward}, bits), bits) ==
          std::vector<std::string>{});
}

TEST_CASE("frozen weights have no gradient bytes and recompute moves the forward bytes again") {
    training_plan plan;
    plan.weights.push_back({.weights = "mlp", .state = floptally::weight_state::frozen}, "weights");
    tensor_trace listed;
    listed.frozen = {"mlp"};
    list_small(listed, lengths);
    CHECK(differences(listed, counted(small(), lengths, plan), {}) == std::vector<std::string>{});

    plan.recomputed = floptally::recompute::full;
    for (auto& [component, phases] : listed.moved) {
        if (component.starts_with("attention") || component == "mlp" || component == "norm") {
            phases[phase::recompute] = phases[phase::forward];
        }
    }
    // The last norm is no layer's; the counter has it among the layers' place, as FLOPs have.
    CHECK(differences(listed, counted(small(), lengths, plan), {}) == std::vector<std::string>{});
}

TEST_CASE("each LoRA adapter adds two products, and only adapters have gradient bytes") {
    constexpr std::uint64_t rank = 5;
    auto model = small();
    model.layer_elementwise = {};
    model.final_elementwise = {};
    const training_plan plan{
        .weights = {{.weights = "*", .state = floptally::weight_state::frozen},
                    {.weights = "*/q_proj", .state = floptally::weight_state::lora, .rank = rank},
                    {.weights = "mlp/down_proj", .state = floptally::weight_state::lora, .rank = 2 * rank}}};
    constexpr std::uint64_t tokens = 39;
    tensor_trace listed;
    listed.frozen = {"embedding", "attention.qkv", "attention.output", "mlp", "lm_head"};
    listed.look_up(tokens, vocabulary, hidden);
    for (std::uint64_t layer = 0; layer < layers; ++layer) {
        const bool reached = layer != 0;  // nothing trains before the first q_proj
        listed.linear("attention.qkv", tokens, hidden, heads * head_dim, reached);
        listed.adapter("attention.qkv", tokens, hidden, heads * head_dim, rank, reached);
        listed.linear("attention.qkv", tokens, hidden, kv_heads * head_dim, reached);
        listed.linear("attention.qkv", tokens, hidden, kv_heads * head_dim, reached);
        listed.attention("attention.core", tokens * heads * head_dim, tokens * kv_heads * head_dim,
                         tokens * kv_heads * head_dim, tokens * heads * head_dim);
        listed.linear("attention.output", tokens, heads * head_dim, hidden);
        listed.linear("mlp", tokens, hidden, inner);
        listed.linear("mlp", tokens, hidden, inner);
        listed.linear("mlp", tokens, inner, hidden);
        listed.adapter("mlp", tokens, inner, hidden, 2 * rank, true);
    }
    listed.linear("lm_head", tokens, hidden, vocabulary);
    const element_bits bits{.weights = 8, .gradients = 32};
    CHECK(differences(listed, counted(model, lengths, plan, bits), bits) == std::vector<std::string>{});
}

TEST_CASE("weights are read once a microbatch, expert weights once for each token routed to the expert") {
    constexpr std::uint64_t experts = 8;
    const transformer<floptally::gqa, floptally::moe> model{
        .hidden_size = hidden,
        .num_layers = 1,
        .attention = {.num_heads = heads, .num_kv_heads = kv_heads, .head_dim = head_dim},
        .feed_forward = {.num_experts = experts, .num_experts_per_tok = 2, .intermediate_size = inner},
        .vocab = {.size = vocabulary}};
    const std::uint64_t expert = 3 * hidden * inner;
    const auto weights = [&](const std::vector<std::uint64_t>& single, std::uint64_t batches) {
        return counted(model, single, {.counted = counted_passes::forward}, {.weights = 8}, batches)["moe.experts"]
            .total(byte_kind::weights);
    };
    CHECK(weights({1}, 1) == 2 * expert);
    CHECK(weights({3}, 1) == 6 * expert);
    CHECK(weights({4}, 1) == 8 * expert);
    CHECK(weights({100}, 1) == 8 * expert);
    CHECK(weights({100}, 3) == 24 * expert);
    CHECK(weights({2, 3}, 3) == 10 * expert);
    const step_bytes all = counted(model, {50}, {.counted = counted_passes::forward}, {.weights = 8}, 2);
    CHECK(all.at_most == std::vector<std::string>{"moe.experts"});
    CHECK(counted(model, {1}, {.counted = counted_passes::forward}).is_exact());
    CHECK(all["lm_head"].total(byte_kind::weights) == 2 * hidden * vocabulary);
    // Each visit reads and writes its tokens' rows: h and i of gate, of up and of down.
    CHECK(all["moe.experts"].total(byte_kind::activations) == 2 * 50 * 2 * 3 * (hidden + inner));
}

TEST_CASE("expert weight bytes are an upper bound unless the number of visited experts is measured") {
    constexpr std::uint64_t experts = 8;
    constexpr std::uint64_t chosen = 2;
    const transformer<floptally::gqa, floptally::moe> model{
        .hidden_size = hidden,
        .num_layers = 3,
        .attention = {.num_heads = heads, .num_kv_heads = kv_heads, .head_dim = head_dim},
        .feed_forward = {.num_experts = experts, .num_experts_per_tok = chosen, .intermediate_size = inner},
        .vocab = {.size = vocabulary}};
    const std::uint64_t expert = 3 * hidden * inner;
    const floptally::listed_parts parts = parts_of(model);
    const auto read = [&](std::vector<std::uint64_t> tokens, std::optional<std::uint64_t> distinct,
                          const training_plan& plan = {.counted = counted_passes::forward}, std::uint64_t batches = 1) {
        byte_counter counter({parts.begin(), parts.end()}, plan, {.weights = 8, .gradients = 16}, batches);
        counter.add_lengths(tokens);
        if (distinct) {
            counter.add_distinct_experts(*distinct);
        }
        return counter.count();
    };
    // A batch of tokens whose choices are listed: 5, 3 and 2 distinct experts in the three layers.
    const std::uint64_t choices[3][4][chosen] = {
        {{0, 1}, {2, 3}, {3, 4}, {0, 4}}, {{7, 1}, {1, 7}, {7, 3}, {1, 3}}, {{2, 6}, {6, 2}, {2, 6}, {2, 6}}};
    std::uint64_t distinct = 0;
    std::uint64_t bytes = 0;
    for (const auto& layer : choices) {
        std::set<std::uint64_t> seen;
        for (const auto& token : layer) {
            seen.insert(std::begin(token), std::end(token));
        }
        distinct += seen.size();
        bytes += seen.size() * expert;
    }
    CHECK(distinct == 10);
    const step_bytes bound = read({4}, {});
    CHECK(bound["moe.experts"].total(byte_kind::weights) == 3 * 8 * expert);
    CHECK(bound.read_at_most == std::vector<std::string>{"moe.experts"});
    const step_bytes measured = read({4}, distinct);
    CHECK(measured["moe.experts"].total(byte_kind::weights) == bytes);
    CHECK(measured.read_at_most.empty());
    CHECK(measured.is_exact());
    CHECK_FALSE(measured.uniform_weights);
    CHECK(measured["lm_head"].total(byte_kind::weights) == bound["lm_head"].total(byte_kind::weights));
    CHECK(measured["moe.experts"].total(byte_kind::activations) == bound["moe.experts"].total(byte_kind::activations));

    // Both passes of a training step read them, and write a gradient of each; recompute reads them once more.
    const step_bytes trained = read({4}, distinct, {.recomputed = floptally::recompute::full});
    CHECK(trained["moe.experts"].total(byte_kind::weights) == 3 * bytes);
    CHECK(trained["moe.experts"].total(byte_kind::gradients) == 2 * bytes);

    // What is not known is at most, and has an estimate: by all choices of two of eight, each as likely.
    const auto used = floptally::model_bandwidth_utilization(bound, 1, 1, 1);
    CHECK(used.is_at_most);
    REQUIRE(used.uniform);
    CHECK_FALSE(floptally::model_bandwidth_utilization(measured, 1, 1, 1).is_at_most);
    CHECK_FALSE(floptally::model_bandwidth_utilization(read({1}, {}), 1, 1, 1).is_at_most);
    std::uint64_t pairs = 0;
    double sum = 0;  // over all choices of two tokens
    for (std::uint64_t a = 0; a < 256; ++a) {
        for (std::uint64_t b = 0; b < 256; ++b) {
            if (std::popcount(a) == 2 && std::popcount(b) == 2) {
                ++pairs;
                sum += std::popcount(a | b);
            }
        }
    }
    const double mean = sum / static_cast<double>(pairs);
    CHECK(floptally::uniform_distinct_experts(experts, chosen, 2) == Approx(mean));
    const step_bytes two = read({2}, {});
    REQUIRE(two.uniform_weights);
    const auto others =
        static_cast<double>(two.total(byte_kind::weights) - two["moe.experts"].total(byte_kind::weights));
    CHECK(static_cast<double>(*two.uniform_weights) == Approx(others + 3 * mean * static_cast<double>(expert)));
    // Two batches of a token each choose alone.
    CHECK(read({1, 1}, {}, {.counted = counted_passes::forward}, 2).uniform_weights ==
          read({1, 1}, {}, {.counted = counted_passes::forward}, 2).total(byte_kind::weights));

    const auto problem = [&](std::uint64_t count, std::uint64_t batches = 1) -> std::string {
        try {
            static_cast<void>(read({4}, count, {.counted = counted_passes::forward}, batches));
            return "";
        } catch (const floptally::error& e) {
            return e.what();
        }
    };
    CHECK(problem(5) == "distinct_experts: must be from 6 to 24 for 8 experts in each of 3 layers and 1 batch, got 5");
    CHECK(problem(25) ==
          "distinct_experts: must be from 6 to 24 for 8 experts in each of 3 layers and 1 batch, got 25");
    CHECK(problem(6).empty());
    CHECK(problem(24, 2).empty());
    CHECK(problem(25, 2) ==
          "distinct_experts: must be from 6 to 24 for 8 experts in each of 3 layers and 2 batches, got 25");
    const floptally::listed_parts others_parts = parts_of(small());
    byte_counter dense({others_parts.begin(), others_parts.end()});
    dense.add_distinct_experts(1);
    CHECK_THROWS_AS(dense.count(), floptally::error);
}

TEST_CASE("new tokens read the cached keys that their mask attends, once for each key-value head") {
    const std::vector<sequence> batch = {{.length = 1, .past = 40},
                                         {.length = 3, .past = 7},
                                         {.length = 5},
                                         {.length = 20, .past = 2},
                                         {.length = 2, .past = 33}};
    struct masked {
        mask attends;
        std::function<bool(std::uint64_t query, std::uint64_t key)> sees;
    };
    const std::vector<masked> masks = {
        {mask::causal(), [](auto query, auto key) { return key <= query; }},
        {mask::sliding_window(8), [](auto query, auto key) { return key <= query && query - key < 8; }},
        {mask::chunked(16), [](auto query, auto key) { return key <= query && query / 16 == key / 16; }}};
    for (const masked& case_of_mask : masks) {
        std::uint64_t keys = 0;
        for (const sequence& s : batch) {
            for (std::uint64_t key = 0; key < s.past; ++key) {
                bool seen = false;
                for (std::uint64_t query = s.past; query < s.past + s.length; ++query) {
                    seen = seen || case_of_mask.sees(query, key);
                }
                keys += seen ? 1 : 0;
            }
        }
        INFO(case_of_mask.attends.name());
        for (const bool fused : {false, true}) {
            const floptally::gqa attention{
                .num_heads = heads, .num_kv_heads = kv_heads, .head_dim = head_dim, .fused_qkv = fused};
            const step_bytes outcome = decoded(attention.cost({0, hidden, case_of_mask.attends}), batch, {.cache = 8});
            CHECK(outcome["attention.core"].total(byte_kind::cache) == layers * keys * 2 * kv_heads * head_dim);
        }
    }
}

TEST_CASE("a byte counter of latent attention counts cached latents and the keys and values expanded for every head") {
    floptally::mla attention{.num_heads = 4,
                             .q_lora_rank = 24,
                             .kv_lora_rank = 16,
                             .qk_nope_head_dim = 8,
                             .qk_rope_head_dim = 4,
                             .v_head_dim = 10};
    const std::vector<sequence> batch = {{.length = 2, .past = 9}};
    const auto make = [&] {
        return decoded(attention.cost({0, hidden, mask::causal()}), batch, {.activations = 8, .cache = 8});
    };
    const step_bytes expanded = make();
    CHECK(expanded["attention.core"].total(byte_kind::cache) == layers * 9 * (16 + 4));
    // q and k of 4 · 12, v and o of 4 · 10
    CHECK(expanded["attention.core"].total(byte_kind::activations) == layers * 2 * 4 * (12 + 12 + 10 + 10));
    attention.absorbed = true;
    const step_bytes latent = make();
    CHECK(latent["attention.core"].total(byte_kind::cache) == layers * 9 * (16 + 4));
    // 4 queries of 16 + 4, one latent key that is the value too, 4 results of 16
    CHECK(latent["attention.core"].total(byte_kind::activations) == layers * 2 * (4 * 20 + 20 + 4 * 16));
    CHECK(latent.is_exact());
}

TEST_CASE("pipeline stages together move the bytes of the whole model") {
    const floptally::listed_parts parts = parts_of(small());
    const std::vector<model_part> whole(parts.begin(), parts.end());
    const auto moved = [](const std::vector<model_part>& model_parts) {
        byte_counter counter(model_parts);
        counter.add_lengths(lengths);
        return counter.count().total();
    };
    floptally::uint128 sum = 0;
    for (const bool last : {false, true}) {
        std::vector<model_part> stage = whole;
        for (model_part& part : stage) {
            part.elsewhere = (part.name.view() == "lm_head" || part.name.view() == "norm") != last;
        }
        sum += moved(stage);
    }
    CHECK(sum == moved(whole));
    CHECK(sum != 0);
}

TEST_CASE("a byte counter adds up the bytes of its batches, and clear() resets the sum to zero") {
    const floptally::listed_parts parts = parts_of(small());
    byte_counter bytes_counter({parts.begin(), parts.end()}, {.counted = counted_passes::forward});
    byte_counter other = bytes_counter;
    byte_counter both = bytes_counter;
    const std::vector<sequence> first = {{.length = 1, .past = 9}};
    const std::vector<sequence> second = {{.length = 4, .past = 3}, {.length = 6}};
    bytes_counter.add(floptally::listed_samples(first));
    other.add(floptally::listed_samples(second));
    both.add(floptally::listed_samples(first));
    both.add(floptally::listed_samples(second));
    bytes_counter += other;
    CHECK(bytes_counter.count().total() == both.count().total());
    CHECK(bytes_counter.count()["attention.core"].total(byte_kind::cache) ==
          2 * layers * std::uint64_t{9 + 3} * 2 * kv_heads * head_dim);
    bytes_counter.clear();
    CHECK(bytes_counter.count().total() == 0);

    // A tally, with those of its sequences that have a past, gives the same bytes.
    bytes_counter.add_counted(both.total(), std::vector<sequence>{first[0], second[0]});
    CHECK(bytes_counter.count().total() == both.count().total());
    CHECK(bytes_counter.count()["attention.core"].total(byte_kind::cache) ==
          both.count()["attention.core"].total(byte_kind::cache));
    const floptally::tally others(floptally::mask_set{mask::bidirectional(), mask::sliding_window(3)});
    CHECK(error_of([&] { bytes_counter.add_counted(others); }) ==
          "masks: tallies of different masks cannot be added up: build both with the same masks");
    CHECK(bytes_counter.count().total() == both.count().total());
}

TEST_CASE("a recurrent state is read and written once for each sequence that continues from a cache") {
    const floptally::gated_delta_net mixer{
        .num_key_heads = 2, .num_value_heads = 4, .key_head_dim = 8, .value_head_dim = 6, .conv_kernel = 4};
    const std::vector<sequence> batch = {{.length = 2, .past = 9}, {.length = 7}, {.length = 1, .past = 1}};
    const step_bytes result = decoded(mixer.cost({0, hidden, mask::causal()}), batch, {.cache = 8});
    CHECK(result["mixer.state"].total(byte_kind::cache) == layers * 2 * 2 * (4 * 8 * 6));
}

TEST_CASE("arithmetic intensity, MBU and memory-bound time are computed from bytes") {
    const auto model = small();
    const floptally::listed_parts parts = parts_of(model);
    byte_counter counter({parts.begin(), parts.end()}, {.counted = counted_passes::forward});
    const std::vector<std::uint64_t> values = {8};
    counter.add_lengths(values);
    const step_bytes moved = counter.count();
    const floptally::breakdown work = floptally::evaluate(model, counter.total(), floptally::conventions::exact,
                                                          {.counted = counted_passes::forward});
    // [8, 64] · [64, 100]: 2·8·64·100 FLOPs; 16-bit operands and result.
    const double intensity = 2.0 * 8 * 64 * 100 / (2.0 * (8 * 64 + 64 * 100 + 8 * 100));
    CHECK(floptally::arithmetic_intensity(work["lm_head"].total(floptally::view::executed), moved["lm_head"].total()) ==
          intensity);
    CHECK(floptally::arithmetic_intensity(floptally::flops{5}, 0) == 0);
    const double weights = floptally::to_double(floptally::flops{moved.total(byte_kind::weights)});
    CHECK(floptally::model_bandwidth_utilization(moved, 1e-3, 2, weights / 1e12).mbu == 500);
    // At a bandwidth where everything waits for it, and at one where nothing does.
    const std::vector<floptally::work_at_peak> at = {{work, 1000}};
    const double slow = floptally::memory_bound_seconds(moved, at, 1e-6);
    const double moving = floptally::to_double(floptally::flops{moved.total()}) / 1e6;
    const double computing = floptally::to_double(work.total()) / 1e15;
    CHECK(slow < moving);
    CHECK(slow + computing >= moving * (1 - 1e-12));
    CHECK(floptally::memory_bound_seconds(moved, {{work, 1e-9}}, 1e6) < 1e-12);  // norms and look-ups are no FLOPs
    // Where kernels that multiply nothing have a time of their own, their bytes have none here.
    double of_norms = 0;
    for (const auto& component : moved.components) {
        const bool multiplies = component.name.view() != "norm" && component.name.view() != "embedding";
        of_norms += multiplies ? 0 : floptally::to_double(floptally::flops{component.total()}) / 1e6;
    }
    CHECK(of_norms > 0);
    CHECK(floptally::memory_bound_seconds(moved, at, 1e-6, true) == Approx(slow - of_norms));
}

TEST_CASE("a byte counter names the field of invalid input and lists its assumptions") {
    const floptally::listed_parts parts = parts_of(small());
    const std::span<const model_part> model(parts.begin(), parts.end());
    CHECK(error_of([&] { byte_counter(model, {}, {.weights = 0}); }) == "weights_bits: must be from 1 to 64, got 0");
    CHECK(error_of([&] { byte_counter(model, {}, {.cache = 65}); }) == "cache_bits: must be from 1 to 64, got 65");
    CHECK(error_of([&] { byte_counter(model, {}, {}, 0); }).starts_with("batches: must be at least 1"));
    CHECK(error_of([&] { static_cast<void>(step_bytes{}["mlp"]); }) ==
          "component: this model has no component named \"mlp\" that moves bytes: use a name of the table of bytes");
    CHECK(error_of([] {
              static_cast<void>(floptally::model_bandwidth_utilization({}, 0, 1, 1));
          }).starts_with("seconds: "));
    CHECK(
        error_of([] { static_cast<void>(floptally::memory_bound_seconds({}, {}, -1)); }).starts_with("memory_tbps: "));

    floptally::cost own;
    own.add("own", floptally::linear{.in_features = 9, .out_features = 4, .adaptable = false});
    const step_bytes moved_bytes = decoded(own, {{.length = 2}}, {.weights = 8});
    CHECK(moved_bytes.unsaid == std::vector<std::string>{"own"});
    CHECK(moved_bytes["own"].total() == layers * 36);

    // A core alone: whatever makes its keys, there are no more heads of them than of queries.
    floptally::cost core;
    core.add("core", floptally::attention_core{.num_heads = 4, .qk_head_dim = 3, .v_head_dim = 5}, mask::causal());
    const step_bytes most = decoded(core, {{.length = 2, .past = 7}}, {.activations = 8, .cache = 8});
    CHECK(most.at_most == std::vector<std::string>{"core"});
    CHECK(most["core"].total(byte_kind::activations) == layers * 2 * 4 * (3 + 3 + 5 + 5));
    CHECK(most["core"].total(byte_kind::cache) == layers * 7 * 4 * (3 + 5));
}

}  // namespace byte_counter_test
