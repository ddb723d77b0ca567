// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "matmul_trace.hpp"

namespace {

using namespace floptally;
using matmul_trace::pair_rule;
using matmul_trace::sequence_list;
using matmul_trace::step;

/// Built for the convention, since a convention may count pairs of masks that the model does not have.
flops total(const cost& model, const convention& how, const std::vector<std::uint32_t>& lengths,
            view seen = view::useful) {
    const folded_cost folded(model, how);
    tally batch{folded.masks()};
    batch.add_lengths(lengths);
    return folded.total(batch, seen);
}

// ---- the trace of a convention ----

/// A mask, the definition of the pairs that it attends, and what conventions look at.
struct traced_mask {
    mask attends;
    pair_rule pairs;
    bool is_causal;
    std::uint64_t window = 0;  ///< of a sliding window, in tokens
    bool is_windowed = false;  ///< a window, chunks or top-k
};

/// All keys, or the half of them that causal attention needs, counted over the square of the new tokens. Keys of
/// cached tokens are attended by every query, so there is nothing to halve.
pair_rule square(bool half) {
    return [half](const matmul_trace::sequence& s, std::uint64_t, std::uint64_t key) -> std::uint64_t {
        return half && key >= s.past ? 1U : 2U;
    };
}

/// Half of a box: every query against min(keys, window) keys.
pair_rule half_of_box(std::uint64_t window) {
    return [window](const matmul_trace::sequence&, std::uint64_t, std::uint64_t key) -> std::uint64_t {
        return key < window ? 1U : 0U;
    };
}

pair_rule counted_pairs(const traced_mask& m, const convention& how, bool layers_alternate) {
    const bool is_exact_mask = m.attends.kind() == mask_kind::compressed_keys;
    if (is_exact_mask || (m.is_windowed && how.windows == window_pairs::exact)) {
        return m.pairs;
    }
    if (m.window != 0 && how.windows == window_pairs::half_box && layers_alternate) {
        return half_of_box(m.window);
    }
    if (!m.is_causal) {
        return square(false);
    }
    switch (how.causal) {
        case causal_pairs::exact:
            return matmul_trace::causal();
        case causal_pairs::half_square:
            return square(true);
        case causal_pairs::full_square:
            break;
    }
    return square(false);
}

constexpr std::uint64_t h = 15;

/// A model with a row of every kind that a transformer has.
cost model_of(const std::vector<traced_mask>& layers, bool tied) {
    std::vector<mask> masks;
    for (const traced_mask& one : layers) {
        masks.push_back(one.attends);
    }
    return transformer<gqa, moe>{
        .hidden_size = h,
        .num_layers = layers.size(),
        .attention = {.num_heads = 3, .num_kv_heads = 1, .head_dim = 7, .elementwise = {.norm = 14, .bias = 5}},
        .feed_forward = {.num_experts = 5,
                         .num_experts_per_tok = 2,
                         .intermediate_size = 11,
                         .shared_intermediate_size = 13,
                         .shared_expert_gate = true,
                         .elementwise = {.bias = 3}},
        .vocab = {.size = 29, .padded_size = 32, .tied = tied, .positions = 17},
        .masks = layer_masks::list(masks),
        .layer_elementwise = {.norm = 30},
        .final_elementwise = {.norm = 15}}
        .cost();
}

void walk(step& trace, const sequence_list& sequences, const std::vector<traced_mask>& layers, bool tied, bool padded,
          const convention& how) {
    const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
    bool some_windowed = false;
    bool some_without = false;
    for (const traced_mask& one : layers) {
        (one.window != 0 ? some_windowed : some_without) = true;
    }
    const bool layers_alternate = some_windowed && some_without;
    const auto parameters = [&](const char* component, term kind, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count && how.counted.contains(kind); ++i) {
            trace.weight(component, tokens, 1, 1);
        }
    };
    step all;
    for (const traced_mask& one : layers) {
        matmul_trace::attention(all, sequences, h, 3, 1, 7, counted_pairs(one, how, layers_alternate));
        matmul_trace::experts(all, tokens, h, 5, 2, 11, true);
        matmul_trace::mlp(all, "moe.shared", tokens, h, 13, true);
        all.weight("moe.shared", tokens, h, 1);
        parameters("norm", term::norm, 14 + 30);
        parameters("bias", term::bias, 5 + 3);
    }
    parameters("norm", term::norm, 15);
    if (how.counted.contains(tied ? term::tied_embedding : term::embedding)) {
        all.weight("embedding", tokens, 29, h);
    }
    if (how.counted.contains(term::position_embedding)) {
        all.weight("embedding", tokens, 17, h);
    }
    all.weight("lm_head", tokens, h, padded ? 32 : 29);
    trace.append(all, [&](const matmul_trace::matmul& product) {
        return product.component != "moe.router" || how.counted.contains(term::router);
    });
}

const std::vector<std::vector<traced_mask>>& layouts() {
    const traced_mask full{mask::causal(), matmul_trace::causal(), true};
    const traced_mask window{mask::sliding_window(4), matmul_trace::sliding_window(4), true, 4, true};
    const traced_mask wide{mask::sliding_window(9), matmul_trace::sliding_window(9), true, 9, true};
    const traced_mask chunks{mask::chunked(5), matmul_trace::chunked(5), true, 0, true};
    const traced_mask best{mask::top_k(3), matmul_trace::top_k(3), true, 0, true};
    const traced_mask both_sides{mask::window(3, 2), matmul_trace::window(3, 2), false, 0, true};
    const traced_mask every{mask::bidirectional(), matmul_trace::bidirectional(), false};
    const traced_mask blocks{mask::compressed_keys(3), matmul_trace::compressed_keys(3), true};
    static const std::vector<std::vector<traced_mask>> all{{full, full},
                                                           {window, window},
                                                           {window, full, window},
                                                           {full, wide, window},
                                                           {chunks, chunks, full},
                                                           {best, window},
                                                           {both_sides, full},
                                                           {both_sides},
                                                           {every, window},
                                                           {blocks, full},
                                                           {chunks},
                                                           {best}};
    return all;
}

void check_convention(const convention& how) {
    CAPTURE(std::string(how.name));
    for (const std::vector<traced_mask>& layers : layouts()) {
        for (const bool tied : {false, true}) {
            const cost model = model_of(layers, tied);
            const folded_cost folded(model, how);
            for (const matmul_trace::padded_batch& sequences : matmul_trace::mixed_batches()) {
                step real;
                step slots;
                walk(real, sequences.real, layers, tied, false, how);
                walk(slots, sequences.slots, layers, tied, true, how);
                const tally batch = matmul_trace::tally_of(folded.masks(), sequences);
                for (const bool flash : {true, false}) {
                    const training_plan plan{.flash_attention = flash};
                    const breakdown counted = folded_cost(model, how, plan).evaluate(batch);
                    const bool flash_convention = how.backward == attention_backward::flash;
                    REQUIRE(matmul_trace::mismatches(counted, real, slots, plan, flash_convention) == "");
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("every preset counts what its trace runs", "[convention]") {
    for (const convention* how : conventions::all) {
        check_convention(*how);
    }
}

TEST_CASE("every knob of a convention counts what its trace runs, whatever the others say", "[convention]") {
    for (const causal_pairs causal : {causal_pairs::exact, causal_pairs::half_square, causal_pairs::full_square}) {
        for (const window_pairs windows : {window_pairs::exact, window_pairs::ignored, window_pairs::half_box}) {
            for (const attention_backward backward : {attention_backward::twice, attention_backward::flash}) {
                CAPTURE(static_cast<int>(causal), static_cast<int>(windows), static_cast<int>(backward));
                check_convention({"own", "a user's", causal, windows, backward, products});
            }
        }
    }
    for (const term kind : {term::embedding, term::tied_embedding, term::position_embedding, term::norm, term::bias}) {
        convention how = conventions::exact;
        how.counted = products.with(kind).without(term::router);
        check_convention(how);
    }
}

TEST_CASE("half a square of an odd length is exact", "[convention]") {
    // 7 x 7 / 2 = 24.5 pairs: the FLOPs of one layer, 2·(qk + v)·49/2 a head, are whole all the same.
    cost model;
    model.add("attention.core", attention_core{3, 5, 11}, mask::causal());
    CHECK(total(model, conventions::megatron, {7}) == flops{3 * 3 * (5 + 11) * 49});
    CHECK(total(model, conventions::megatron, {1}) == flops{3 * 3 * (5 + 11)});
    // The exact count of length 1 is one pair, twice that.
    CHECK(total(model, conventions::exact, {1}) == flops{3 * 2 * 3 * (5 + 11)});
    // Three odd lengths: their squares add up to an odd number.
    CHECK(total(model, conventions::megatron, {7, 1, 3}) == flops{3 * 3 * (5 + 11) * (49 + 1 + 9)});
}

TEST_CASE("cross attention is counted alike by every convention", "[convention]") {
    cost model;
    model.add("cross_attention.core", attention_core{3, 5, 5}, mask::cross_attention());
    for (const convention* how : conventions::all) {
        CAPTURE(std::string(how->name));
        tally batch;
        batch.add(sequence{.length = 7, .keys = 3});
        // 21 pairs; a flash backward is 2.5 times the forward.
        const std::uint64_t forward = 2 * 3 * (5 + 5) * 21;
        const std::uint64_t backward = how->backward == attention_backward::flash ? forward / 2 * 5 : 2 * forward;
        CHECK(evaluate(model, batch, *how).total() == flops{forward + backward});
    }
}

TEST_CASE("the longest window of flash-attention's kind is counted by every convention", "[convention]") {
    // mask::window(2147483647, 0) is a mask; verl's box of one more token is not.
    cost model;
    model.add("attention.core", attention_core{1, 1, 1}, mask::window(0x7FFF'FFFF, 0));
    model.add("attention.core", attention_core{1, 1, 1}, mask::causal());
    for (const convention* how : conventions::all) {
        CAPTURE(std::string(how->name));
        CHECK_NOTHROW(folded_cost(model, *how));
    }
}

TEST_CASE("cross attention beside a uniform window makes no alternation of windows", "[convention]") {
    // convention.hpp: half_box is "L·min(L, W)/2 where layers with and without a window alternate, else ignored".
    cost model;
    model.add("attention.core", attention_core{1, 1, 1}, mask::sliding_window(4));
    const flops alone = total(model, conventions::verl, {9});
    model.add("cross_attention.core", attention_core{1, 1, 1}, mask::cross_attention());
    CHECK(alone == flops{3 * 2 * 2 * 81 / 2});
    CHECK(total(model, conventions::verl, {9}) == alone);
}

// ---- one model, nine numbers ----

TEST_CASE("Llama-3-8B on one sequence of 8192 tokens has the published number of every convention", "[convention]") {
    constexpr cost model = presets::llama_3_8b.cost();
    const std::vector<std::uint32_t> step{8192};
    CHECK(total(model, conventions::exact, step) == flops{421'651'971'833'856});
    CHECK(total(model, conventions::megatron, step) == flops{421'645'529'382'912});
    CHECK(total(model, conventions::flash_attention, step) == flops{430'441'622'405'120});
    CHECK(total(model, conventions::verl, step) == flops{447'466'872'766'464});
    CHECK(total(model, conventions::torch_flop_counter_eager, step) == flops{474'422'087'516'160});
    CHECK(total(model, conventions::torchtitan, step) == flops{474'435'173'744'640});
    CHECK(total(model, conventions::torch_flop_counter, step) == flops{492'014'273'560'576});
    CHECK(total(model, conventions::palm, step) == flops{500'256'517'128'192});
    CHECK(total(model, conventions::nanogpt, step) == flops{500'256'517'128'192});

    // 6ND, with all parameters and without the input embedding.
    CHECK(6 * model.parameters() * 8192 == 394'703'400'861'696);
    CHECK(6 * (model.parameters() - 128256 * 4096) * 8192 == 368'882'057'478'144);

    CHECK(total(model, conventions::exact, std::vector<std::uint32_t>(16, 512)) == flops{372'173'948'583'936});
}

TEST_CASE("the numbers of Llama-3-8B are its sums of named integers", "[convention]") {
    const flops zero;
    const uint128 tokens = 8192;
    const uint128 vocabulary = uint128{128256} * 4096;
    const uint128 matmul_weights = 7'504'658'432;
    const uint128 norms = 32 * 2 * 4096 + 4096;
    uint128 triangle = 0;
    for (std::uint64_t query = 0; query < 8192; ++query) {
        triangle += query + 1;
    }
    const uint128 square = tokens * tokens;
    const uint128 core = 4 * 32 * 128 * 32;  // of a pair
    const auto is = [&](const convention& how, uint128 expected) {
        return total(presets::llama_3_8b.cost(), how, {8192}) == flops{expected} && flops{expected} > zero;
    };
    CHECK(is(conventions::exact, 6 * matmul_weights * tokens + 3 * core * triangle));
    CHECK(is(conventions::megatron, 6 * matmul_weights * tokens + 3 * core * square / 2));
    CHECK(is(conventions::flash_attention, 6 * matmul_weights * tokens + 7 * core * square / 4));
    CHECK(is(conventions::verl, 6 * (matmul_weights + vocabulary) * tokens + 3 * core * square / 2));
    CHECK(is(conventions::torch_flop_counter_eager, 6 * matmul_weights * tokens + 3 * core * square));
    CHECK(is(conventions::torchtitan, 6 * (matmul_weights + norms) * tokens + 3 * core * square));
    CHECK(is(conventions::torch_flop_counter, 6 * matmul_weights * tokens + 7 * core * square / 2));
    CHECK(is(conventions::palm, 6 * (matmul_weights + norms + vocabulary) * tokens + 3 * core * square));
}

TEST_CASE("6N counts the N that each formula means", "[convention]") {
    // GPT-2: 12 layers of 768, 12 heads of 64; 124 439 808 parameters, of which 1024 x 768 are positions, 50257 x 768
    // the table that is also the lm_head's weight, and the rest matrices, norms and biases.
    constexpr cost model = presets::gpt2.cost();
    constexpr std::uint64_t matrices = 12 * (4 * 768 * 768 + 2 * 768 * 3072);
    constexpr std::uint64_t table = 50257 * 768;
    constexpr std::uint64_t norms_and_biases = 12 * (4 * 768 + 4 * 768 + 3072 + 768) + 2 * 768;
    constexpr std::uint64_t positions = 1024 * 768;
    static_assert(matrices + table + norms_and_biases + positions == 124'439'808);
    const std::uint64_t tokens = 1024;
    const uint128 square_core = uint128{3} * 4 * 768 * 12 * tokens * tokens;
    const auto counted_parameters = [&](const convention& how, uint128 core) {
        const uint128 linear = total(model, how, {1024}).value() - core;
        CHECK(linear % (6 * tokens) == 0);
        return static_cast<std::uint64_t>(linear / (6 * tokens));
    };
    CHECK(counted_parameters(conventions::palm, square_core) == 124'439'808);
    CHECK(counted_parameters(conventions::nanogpt, square_core) == 123'653'376);
    CHECK(counted_parameters(conventions::torchtitan, square_core) == 123'653'376);
    CHECK(counted_parameters(conventions::torch_flop_counter_eager, square_core) == matrices + table);
    CHECK(counted_parameters(conventions::torch_flop_counter, square_core / 6 * 7) == matrices + table);
    CHECK(counted_parameters(conventions::megatron, square_core / 2) == matrices + table);
    CHECK(counted_parameters(conventions::verl, square_core / 2) == matrices + 2 * table);
}

TEST_CASE("the router of a mixture of experts is no work to Megatron", "[convention]") {
    constexpr cost model = presets::mixtral_8x7b.cost();
    tally batch{model.masks()};
    batch.add(sequence{.length = 512});
    CHECK(evaluate(model, batch)["moe.router"].total(view::useful) == flops{6 * 32 * 4096 * 8 * 512ULL});
    CHECK_THROWS_AS(evaluate(model, batch, conventions::megatron)["moe.router"], error);
}

// ---- names ----

TEST_CASE("a preset is found by its name, and an unknown name is an error that lists them", "[convention][errors]") {
    for (const convention* how : conventions::all) {
        CHECK(&convention_named(how->name) == how);
        CHECK_FALSE(how->summary.empty());
    }
    const auto problem = [](std::string_view name) {
        try {
            return std::string(convention_named(name).name);
        } catch (const error& e) {
            return std::string(e.what());
        }
    };
    const std::string known =
        "exact, megatron, palm, nanogpt, torchtitan, verl, flash_attention, torch_flop_counter, "
        "torch_flop_counter_eager";
    CHECK(problem("magatron") == "convention: unknown name \"magatron\"; known: " + known);
    CHECK(problem("") == "convention: unknown name \"\"; known: " + known);
    CHECK(problem("Exact") == "convention: unknown name \"Exact\"; known: " + known);
}

// ---- the numbers of public counters ----

namespace {

// volcengine/verl@b178a3cd56f5 tests/utils/test_flops_counter.py, lines 33 to 230: the models of its own test.
constexpr transformer<gqa, gated_mlp> qwen2_7b{.hidden_size = 3584,
                                               .num_layers = 28,
                                               .attention = {.num_heads = 28, .num_kv_heads = 4, .head_dim = 128},
                                               .feed_forward = {.intermediate_size = 18944},
                                               .vocab = {.size = 152064}};
constexpr transformer<gqa, gated_mlp> qwen3_8b{.hidden_size = 4096,
                                               .num_layers = 36,
                                               .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
                                               .feed_forward = {.intermediate_size = 12288},
                                               .vocab = {.size = 151936}};
constexpr transformer<gqa, gated_mlp> mistral_small_24b{
    .hidden_size = 5120,
    .num_layers = 40,
    .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
    .feed_forward = {.intermediate_size = 32768},
    .vocab = {.size = 131072}};
constexpr transformer<gqa, gated_mlp> gemma_3_12b{
    .hidden_size = 3840,
    .num_layers = 48,
    .attention = {.num_heads = 16, .num_kv_heads = 8, .head_dim = 256},
    .feed_forward = {.intermediate_size = 15360},
    .vocab = {.size = 262208, .tied = true},
    .masks = layer_masks::period({mask::sliding_window(1024), mask::sliding_window(1024), mask::sliding_window(1024),
                                  mask::sliding_window(1024), mask::sliding_window(1024), mask::causal()})};

constexpr cost llama_3_8b_tied_cost = [] {
    auto model = presets::llama_3_8b;
    model.vocab.tied = true;
    return model.cost();
}();
constexpr cost llama_2_7b_cost = presets::llama_2_7b.cost();
constexpr cost llama_3_8b_cost = presets::llama_3_8b.cost();
constexpr cost mistral_7b_cost = presets::mistral_7b.cost();
constexpr cost qwen3_30b_a3b_cost = presets::qwen3_30b_a3b.cost();
constexpr cost gpt_oss_20b_cost = presets::gpt_oss_20b.cost();
constexpr cost gemma_3_1b_cost = presets::gemma_3_1b.cost();
constexpr cost qwen2_7b_cost = qwen2_7b.cost();
constexpr cost qwen3_8b_cost = qwen3_8b.cost();
constexpr cost mistral_small_24b_cost = mistral_small_24b.cost();
constexpr cost gemma_3_12b_cost = gemma_3_12b.cost();

using lengths = std::vector<std::uint32_t>;
const lengths tiny{1, 1, 7};
const lengths mixed{512, 1024, 2048};
const lengths edges{1023, 1024, 1025, 4095};
const lengths equal_sums_a{100, 500, 600};
const lengths equal_sums_b{200, 300, 700};
const lengths one_of_8192{8192};
const lengths three_of_4096{4096, 4096, 4096};
const lengths pack_of_512(16, 512);

struct peer_case {
    const char* id;
    const cost& model;
    const convention& how;
    const lengths& batch;
    std::uint64_t expected;  ///< the peer's number
    std::uint64_t exact;     ///< every matmul and every attended pair, enumerated elsewhere
};

/// Each number is what the peer's own function gives at the commit named, or what its own test asserts. In none of
/// these is a mistake of the peer's: what parts it from the exact count is its convention.
const std::vector<peer_case>& peer_cases() {
    static const std::vector<peer_case> all{
        // NVIDIA/Megatron-LM@d98e8a64ddf3 megatron/training/training.py:802
        {"megatron_lm/llama-3-8b/fixed8k", llama_3_8b_cost, conventions::megatron, one_of_8192, 421645529382912,
         421651971833856},
        {"megatron_lm/llama-3-8b/mixed", llama_3_8b_cost, conventions::megatron, mixed, 165709501956096,
         165712320528384},
        {"megatron_lm/llama-3-8b/pack16x512", llama_3_8b_cost, conventions::megatron, pack_of_512, 372167506132992,
         372173948583936},
        {"megatron_lm/llama-3-8b/equal_sums_a", llama_3_8b_cost, conventions::megatron, equal_sums_a, 54521128550400,
         54522072268800},
        {"megatron_lm/llama-3-8b/equal_sums_b", llama_3_8b_cost, conventions::megatron, equal_sums_b, 54521128550400,
         54522072268800},
        {"megatron_lm/mistral-7b-v0.1/fixed8k", mistral_7b_cost, conventions::megatron, one_of_8192, 402266636943360,
         389075718635520},
        {"megatron_lm/mistral-7b-v0.1/mixed", mistral_7b_cost, conventions::megatron, mixed, 157231236513792,
         157234055086080},
        {"megatron_lm/mistral-7b-v0.1/pack16x512", mistral_7b_cost, conventions::megatron, pack_of_512, 352788613693440,
         352795056144384},
        {"megatron_lm/mistral-7b-v0.1/equal_sums_a", mistral_7b_cost, conventions::megatron, equal_sums_a,
         51682423603200, 51683367321600},
        {"megatron_lm/mistral-7b-v0.1/equal_sums_b", mistral_7b_cost, conventions::megatron, equal_sums_b,
         51682423603200, 51683367321600},
        {"megatron_lm/qwen3-30b-a3b/fixed8k", qwen3_30b_a3b_cost, conventions::megatron, one_of_8192, 228049878515712,
         228678017482752},
        {"megatron_lm/qwen3-30b-a3b/mixed", qwen3_30b_a3b_cost, conventions::megatron, mixed, 71631196127232,
         71906006925312},
        {"megatron_lm/qwen3-30b-a3b/pack16x512", qwen3_30b_a3b_cost, conventions::megatron, pack_of_512,
         153832843640832, 154460982607872},
        {"megatron_lm/qwen3-30b-a3b/equal_sums_a", qwen3_30b_a3b_cost, conventions::megatron, equal_sums_a,
         22540713984000, 22632726528000},
        {"megatron_lm/qwen3-30b-a3b/equal_sums_b", qwen3_30b_a3b_cost, conventions::megatron, equal_sums_b,
         22540713984000, 22632726528000},
        // volcengine/verl@b178a3cd56f5 tests/utils/test_flops_counter.py, asserted there
        {"verl/test/llama/0", llama_2_7b_cost, conventions::verl, mixed, 149226491215872, 146410737500160},
        {"verl/test/llama/1", llama_2_7b_cost, conventions::verl, three_of_4096, 536372695793664, 526718683054080},
        {"verl/test/qwen2/0", qwen2_7b_cost, conventions::verl, mixed, 167073690943488, 155356225339392},
        {"verl/test/qwen2/1", qwen2_7b_cost, conventions::verl, three_of_4096, 591764889010176, 551590721224704},
        {"verl/test/qwen3/0", qwen3_8b_cost, conventions::verl, mixed, 180997438046208, 167618027716608},
        {"verl/test/qwen3/1", qwen3_8b_cost, conventions::verl, three_of_4096, 648394032807936, 602521768820736},
        {"verl/test/qwen3_moe/0", qwen3_30b_a3b_cost, conventions::verl, mixed, 78593069678592, 71906006925312},
        {"verl/test/qwen3_moe/1", qwen3_30b_a3b_cost, conventions::verl, three_of_4096, 306570470621184,
         283643398324224},
        {"verl/test/mistral/0", mistral_small_24b_cost, conventions::verl, mixed, 512303699066880, 497876132167680},
        {"verl/test/mistral/1", mistral_small_24b_cost, conventions::verl, three_of_4096, 1787393589903360,
         1737927646248960},
        {"verl/test/gemma3_text/0", gemma_3_12b_cost, conventions::verl, mixed, 279084659638272, 258466753019904},
        {"verl/test/gemma3_text/1", gemma_3_12b_cost, conventions::verl, three_of_4096, 963929979224064,
         898977390133248},
        {"verl/test/gpt_oss/0", gpt_oss_20b_cost, conventions::verl, mixed, 91780464771072, 79448745443328},
        {"verl/test/gpt_oss/1", gpt_oss_20b_cost, conventions::verl, three_of_4096, 323953008574464, 281707756388352},
        // volcengine/verl@b178a3cd56f5 verl/utils/flops_counter.py:88, 318 (experts), 355 (gemma-3)
        {"verl/llama-3-8b/tiny", llama_3_8b_cost, conventions::verl, tiny, 433659838464, 405298741248},
        {"verl/llama-3-8b/fixed8k", llama_3_8b_cost, conventions::verl, one_of_8192, 447466872766464, 421651971833856},
        {"verl/llama-3-8b/mixed", llama_3_8b_cost, conventions::verl, mixed, 177006339686400, 165712320528384},
        {"verl/llama-3-8b/edges1024", llama_3_8b_cost, conventions::verl, edges, 360967445938176, 338382558855168},
        {"verl/llama-3-8b/pack16x512", llama_3_8b_cost, conventions::verl, pack_of_512, 397988849516544,
         372173948583936},
        {"verl/llama-3-8b/equal_sums_a", llama_3_8b_cost, conventions::verl, equal_sums_a, 58303551897600,
         54522072268800},
        {"verl/llama-3-8b/equal_sums_b", llama_3_8b_cost, conventions::verl, equal_sums_b, 58303551897600,
         54522072268800},
        {"verl/mistral-7b-v0.1/tiny", mistral_7b_cost, conventions::verl, tiny, 391079264256, 384008454144},
        {"verl/mistral-7b-v0.1/fixed8k", mistral_7b_cost, conventions::verl, one_of_8192, 408709087887360,
         389075718635520},
        {"verl/mistral-7b-v0.1/mixed", mistral_7b_cost, conventions::verl, mixed, 160049808801792, 157234055086080},
        {"verl/mistral-7b-v0.1/edges1024", mistral_7b_cost, conventions::verl, edges, 327059115343872, 321428393558016},
        {"verl/mistral-7b-v0.1/pack16x512", mistral_7b_cost, conventions::verl, pack_of_512, 359231064637440,
         352795056144384},
        {"verl/mistral-7b-v0.1/equal_sums_a", mistral_7b_cost, conventions::verl, equal_sums_a, 52626142003200,
         51683367321600},
        {"verl/mistral-7b-v0.1/equal_sums_b", mistral_7b_cost, conventions::verl, equal_sums_b, 52626142003200,
         51683367321600},
        {"verl/qwen3-30b-a3b/tiny", qwen3_30b_a3b_cost, conventions::verl, tiny, 181112537088, 164320247808},
        {"verl/qwen3-30b-a3b/fixed8k", qwen3_30b_a3b_cost, conventions::verl, one_of_8192, 243962732347392,
         228678017482752},
        {"verl/qwen3-30b-a3b/mixed", qwen3_30b_a3b_cost, conventions::verl, mixed, 78593069678592, 71906006925312},
        {"verl/qwen3-30b-a3b/edges1024", qwen3_30b_a3b_cost, conventions::verl, edges, 167670442229760,
         154298182533120},
        {"verl/qwen3-30b-a3b/pack16x512", qwen3_30b_a3b_cost, conventions::verl, pack_of_512, 169745697472512,
         154460982607872},
        {"verl/qwen3-30b-a3b/equal_sums_a", qwen3_30b_a3b_cost, conventions::verl, equal_sums_a, 24871698432000,
         22632726528000},
        {"verl/qwen3-30b-a3b/equal_sums_b", qwen3_30b_a3b_cost, conventions::verl, equal_sums_b, 24871698432000,
         22632726528000},
        {"verl/gemma-3-1b/tiny", gemma_3_1b_cost, conventions::verl, tiny, 70302191616, 53996175360},
        {"verl/gemma-3-1b/fixed8k", gemma_3_1b_cost, conventions::verl, one_of_8192, 66199404675072, 51887770435584},
        {"verl/gemma-3-1b/mixed", gemma_3_1b_cost, conventions::verl, mixed, 28375976509440, 22024015577088},
        {"verl/gemma-3-1b/edges1024", gemma_3_1b_cost, conventions::verl, edges, 56962915442688, 44331464835072},
        {"verl/gemma-3-1b/pack16x512", gemma_3_1b_cost, conventions::verl, pack_of_512, 64653216448512, 49811118096384},
        {"verl/gemma-3-1b/equal_sums_a", gemma_3_1b_cost, conventions::verl, equal_sums_a, 9464443699200,
         7296386433024},
        {"verl/gemma-3-1b/equal_sums_b", gemma_3_1b_cost, conventions::verl, equal_sums_b, 9453792460800,
         7292642279424},
        // pytorch/torchtitan@b5bcd76c66d0 torchtitan/models/utils.py:412, 418 (tied), 462 (experts)
        {"torchtitan/llama-3-8b/1x8192", llama_3_8b_cost, conventions::torchtitan, one_of_8192, 474435173744640,
         421651971833856},
        {"torchtitan/qwen3-30b-a3b/1x8192", qwen3_30b_a3b_cost, conventions::torchtitan, one_of_8192, 307843559325696,
         228678017482752},
        {"torchtitan/llama-3-8b-tied/1x8192", llama_3_8b_tied_cost, conventions::torchtitan, one_of_8192,
         474435173744640, 421651971833856},
        // huggingface/nanotron@2411b022a75f src/nanotron/models/llama.py:1157
        {"nanotron/llama-3-8b/1x8192", llama_3_8b_cost, conventions::torch_flop_counter_eager, one_of_8192,
         474422087516160, 421651971833856},
        {"nanotron/mistral-7b-v0.1/1x8192", mistral_7b_cost, conventions::torch_flop_counter_eager, one_of_8192,
         455043195076608, 389075718635520},
        // NVIDIA/bionemo-framework@f8f84cb7fa00 bionemo-recipes/recipes/llama3_native_te/tests/test_perf_logger.py:225
        {"bionemo/test/llama_gqa_swiglu", llama_3_8b_cost, conventions::torch_flop_counter_eager, one_of_8192,
         474422087516160, 421651971833856},
    };
    return all;
}

}  // namespace

TEST_CASE("presets reproduce the numbers of the counters that they are named after", "[convention][peers]") {
    for (const peer_case& one : peer_cases()) {
        CAPTURE(one.id);
        CHECK(to_string(total(one.model, one.how, one.batch)) == std::to_string(one.expected));
        CHECK(to_string(total(one.model, conventions::exact, one.batch)) == std::to_string(one.exact));
    }
}
