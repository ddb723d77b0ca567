// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/constant_cost.hpp>
#include <floptally/descriptors/presets.hpp>

#include "catch2.hpp"

namespace presets_test {

// Parameters are those of transformers 5.23's own implementations of the published config.json files. The FLOPs of
// every model are a sum of named integers, written out beside the preset and independent of it; the literals that are
// marked "enumerated" come from a program that walks every matmul and every attended pair of the same model.

namespace {

using namespace floptally;

using lengths = std::vector<std::uint32_t>;
const lengths edges{1023, 1024, 1025, 4095};
const lengths mixed{512, 1024, 2048};

flops step(const cost& model, const lengths& batch) {
    tally sums{model.masks()};
    sums.add_lengths(batch);
    return evaluate(model, sums).total();
}

std::uint64_t tokens(const lengths& batch) {
    std::uint64_t sum = 0;
    for (const std::uint32_t length : batch) {
        sum += length;
    }
    return sum;
}

/// Pairs of a causal window, one by one; without a window every key up to the query's own.
std::uint64_t pairs(const lengths& batch, std::uint64_t window = ~std::uint64_t{0}) {
    std::uint64_t count = 0;
    for (const std::uint32_t length : batch) {
        for (std::uint64_t query = 0; query < length; ++query) {
            for (std::uint64_t key = 0; key <= query; ++key) {
                count += query - key < window ? 1U : 0U;
            }
        }
    }
    return count;
}

/// Three passes of 2 FLOPs a weight and token, and of 2 x (QKᵀ and PV) x width a pair and layer.
flops training(std::uint64_t weights, std::uint64_t rows, std::uint64_t attention_width, std::uint64_t layer_pairs) {
    return flops{uint128{6} * weights * rows + uint128{3} * 4 * attention_width * layer_pairs};
}

}  // namespace

TEST_CASE("the Llama-2-7B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::llama_2_7b.cost();
    static_assert(model.parameters() == 6'738'415'616);
    // Four square projections and three matrices of the MLP a layer, and the lm_head.
    constexpr std::uint64_t weights = 32ULL * (4 * 4096 * 4096 + 3 * 4096 * 11008) + 32000 * 4096;
    static_assert(weights + 32000 * 4096 + 32 * 2 * 4096 + 4096 == 6'738'415'616);
    CHECK(step(model, edges) == training(weights, tokens(edges), 4096, 32 * pairs(edges)));
    CHECK(step(model, edges) == flops{299'784'778'285'056});  // enumerated
    CHECK(step(model, mixed) == flops{146'410'737'500'160});  // enumerated
}

TEST_CASE("the Llama-3-8B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::llama_3_8b.cost();
    static_assert(model.parameters() == 8'030'261'248);
    // q and output 4096 x 4096, k and v 4096 x (8 x 128).
    constexpr std::uint64_t weights = 32ULL * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 128256 * 4096;
    static_assert(weights == 7'504'658'432);
    static_assert(weights + 128256 * 4096 + 32 * 2 * 4096 + 4096 == 8'030'261'248);
    CHECK(step(model, edges) == training(weights, tokens(edges), 4096, 32 * pairs(edges)));
    CHECK(step(model, edges) == flops{338'382'558'855'168});  // enumerated
    CHECK(step(model, mixed) == flops{165'712'320'528'384});  // enumerated
    constexpr flops compiled = [] {
        tally sums;
        sums.add(sequence{.length = 8192});
        return evaluate(presets::llama_3_8b.cost(), sums).total();
    }();
    static_assert(compiled == flops{421'651'971'833'856});
}

TEST_CASE("the Llama-3-70B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::llama_3_70b.cost();
    static_assert(model.parameters() == 70'553'706'496);
    constexpr std::uint64_t weights = 80ULL * (2 * 8192 * 8192 + 2 * 8192 * 1024 + 3 * 8192 * 28672) + 128256ULL * 8192;
    static_assert(weights + 128256ULL * 8192 + 80 * 2 * 8192 + 8192 == 70'553'706'496);
    CHECK(step(model, edges) == training(weights, tokens(edges), 8192, 80 * pairs(edges)));
    CHECK(step(model, edges) == flops{3'067'048'908'816'384});
    // Megatron-Bridge's test has it with the vocabulary padded to 128512, at 8192 tokens; enumerated.
    auto padded = presets::llama_3_70b;
    padded.vocab.padded_size = 128512;
    tally sums;
    sums.add(sequence{.length = 8192});
    CHECK(evaluate(padded.cost(), sums).total(view::padded) == flops{3'680'166'349'897'728});
}

TEST_CASE("the Llama-3.1-405B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::llama_3_1_405b.cost();
    static_assert(model.parameters() == 405'853'388'800);
    constexpr std::uint64_t weights =
        126ULL * (2ULL * 16384 * 16384 + 2 * 16384 * 1024 + 3ULL * 16384 * 53248) + 128256ULL * 16384;
    static_assert(weights + 128256ULL * 16384 + 126 * 2 * 16384 + 16384 == 405'853'388'800);
    CHECK(step(model, edges) == training(weights, tokens(edges), 16384, 126 * pairs(edges)));
    CHECK(step(model, edges) == flops{17'608'726'063'742'976});  // enumerated
    CHECK(step(model, mixed) == flops{8'750'426'077'790'208});   // enumerated
}

TEST_CASE("the Mistral-7B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::mistral_7b.cost();
    static_assert(model.parameters() == 7'241'732'096);
    constexpr std::uint64_t weights = 32ULL * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336) + 32000 * 4096;
    static_assert(weights + 32000 * 4096 + 32 * 2 * 4096 + 4096 == 7'241'732'096);
    // The window of 4096 is wider than the batch, so it is one longer sequence that shows it.
    CHECK(step(model, edges) == training(weights, tokens(edges), 4096, 32 * pairs(edges)));
    CHECK(step(model, edges) == flops{321'428'393'558'016});  // enumerated
    const lengths around{4095, 4096, 4097, 8192};
    CHECK(pairs(around, 4096) < pairs(around));
    CHECK(step(model, around) == training(weights, tokens(around), 4096, 32 * pairs(around, 4096)));
    CHECK(step(model, {8192}) == flops{389'075'718'635'520});  // enumerated
}

TEST_CASE("the Mixtral-8x7B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::mixtral_8x7b.cost();
    static_assert(model.parameters() == 46'702'792'704);
    constexpr std::uint64_t attention = 2 * 4096 * 4096 + 2 * 4096 * 1024;
    constexpr std::uint64_t expert = 3 * 4096 * 14336;
    // Two of eight experts run.
    constexpr std::uint64_t active = 32ULL * (attention + 4096 * 8 + 2 * expert) + 32000 * 4096;
    static_assert(active + 32ULL * 6 * expert + 32000 * 4096 + 32 * 2 * 4096 + 4096 == 46'702'792'704);
    CHECK(step(model, edges) == training(active, tokens(edges), 4096, 32 * pairs(edges)));
    CHECK(step(model, edges) == flops{563'881'975'480'320});  // enumerated
    CHECK(step(model, mixed) == flops{278'477'760'626'688});  // enumerated
}

TEST_CASE("the Qwen3-30B-A3B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::qwen3_30b_a3b.cost();
    static_assert(model.parameters() == 30'532'122'624);
    // Heads of 128 on a width of 2048: 32 of them are 4096 wide.
    constexpr std::uint64_t attention = 2 * 2048 * 4096 + 2 * 2048 * 512;
    constexpr std::uint64_t expert = 3 * 2048 * 768;
    constexpr std::uint64_t active = 48ULL * (attention + 2048 * 128 + 8 * expert) + 151936 * 2048;
    static_assert(active + 48ULL * 120 * expert + 151936 * 2048 + 48 * (2 * 2048 + 2 * 128) + 2048 == 30'532'122'624);
    CHECK(step(model, edges) == training(active, tokens(edges), 4096, 48 * pairs(edges)));
    CHECK(step(model, edges) == flops{154'298'182'533'120});  // enumerated
    CHECK(step(model, mixed) == flops{71'906'006'925'312});   // enumerated
}

TEST_CASE("the gpt-oss-20B preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::gpt_oss_20b.cost();
    static_assert(model.parameters() == 20'914'757'184);
    constexpr std::uint64_t attention = 2 * 2880 * 4096 + 2 * 2880 * 512;
    constexpr std::uint64_t expert = 3 * 2880 * 2880;
    constexpr std::uint64_t active = 24ULL * (attention + 2880 * 32 + 4 * expert) + 201088 * 2880;
    // Biases of q, k and v, output, router, gate and up, down; a sink a head; two norms a layer and one at the end.
    constexpr std::uint64_t other = 24 * (4096 + 2 * 512 + 2880 + 32 + 32 * (2 * 2880 + 2880) + 64 + 2 * 2880) + 2880;
    static_assert(active + 24ULL * 28 * expert + 201088 * 2880 + other == 20'914'757'184);
    // Twelve layers with a window of 128, twelve without.
    CHECK(step(model, edges) == training(active, tokens(edges), 4096, 12 * pairs(edges, 128) + 12 * pairs(edges)));
    CHECK(step(model, edges) == flops{161'511'465'369'600});           // enumerated
    CHECK(step(model, {100, 500, 600}) == flops{26'231'062'265'856});  // enumerated
    CHECK(step(model, {200, 300, 700}) == flops{26'230'839'312'384});  // enumerated: the same ΣL and ΣL²
}

TEST_CASE("the gemma-3-1b preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::gemma_3_1b.cost();
    static_assert(model.parameters() == 999'885'952);
    // Four heads of 256 share one of keys and values.
    constexpr std::uint64_t layer = 2 * 1152 * 1024 + 2 * 1152 * 256 + 3 * 1152 * 6912;
    constexpr std::uint64_t weights = 26ULL * layer + 262144 * 1152;
    static_assert(weights + 26 * (4 * 1152 + 2 * 256) + 1152 == 999'885'952);  // tied: no table besides the lm_head
    // Every sixth of 26 layers is full: 4 of them; 22 have a window of 512.
    CHECK(step(model, edges) == training(weights, tokens(edges), 1024, 22 * pairs(edges, 512) + 4 * pairs(edges)));
    CHECK(step(model, edges) == flops{44'331'464'835'072});           // enumerated
    CHECK(step(model, {100, 500, 600}) == flops{7'296'386'433'024});  // enumerated
    CHECK(step(model, {200, 300, 700}) == flops{7'292'642'279'424});  // enumerated: the same ΣL and ΣL²
}

TEST_CASE("the GPT-2 preset has the expected number of parameters and step FLOPs", "[presets]") {
    constexpr constant_cost model = presets::gpt2.cost();
    static_assert(model.parameters() == 124'439'808);
    constexpr std::uint64_t weights = 12 * (4 * 768 * 768 + 2 * 768 * 3072) + 50257 * 768;
    // Weights and biases of two LayerNorms a layer and one at the end, biases of four projections and two matrices.
    constexpr std::uint64_t other = 12 * (4 * 768 + 4 * 768 + 3072 + 768) + 2 * 768;
    static_assert(weights + other + 1024 * 768 == 124'439'808);
    const lengths batch{1024, 1000, 1, 77};
    CHECK(step(model, batch) == training(weights, tokens(batch), 768, 12 * pairs(batch)));
    CHECK(step(model, batch) == flops{1'671'708'183'552});
}

TEST_CASE("presets count new tokens after cached tokens", "[presets]") {
    // Enumerated: one token after 8191, and a prefill of 2048 after 6144 beside 300 after 1; as training steps.
    struct cached {
        cost model;
        std::uint64_t decode;
        std::uint64_t prefill;
    };
    const std::vector<cached> all{
        {presets::llama_2_7b.cost(), 52'527'366'144, 116'243'347'537'920},
        {presets::llama_3_8b.cost(), 57'912'852'480, 128'888'469'454'848},
        {presets::llama_3_1_405b.cost(), 2'625'424'588'800, 6'052'815'130'853'376},
        {presets::mistral_7b.cost(), 49'104'814'080, 113'436'854'845'440},
        {presets::mixtral_8x7b.cost(), 89'376'423'936, 202'764'935'233'536},
        {presets::qwen3_30b_a3b.cost(), 37'577'293'824, 77'595'123'646'464},
        {presets::gpt_oss_20b.cost(), 26'550'190'080, 59'676'036'562'944},
        {presets::gemma_3_1b.cost(), 6'539'575'296, 15'104'095'076'352},
    };
    for (const cached& preset : all) {
        tally decode{preset.model.masks()};
        decode.add(sequence{.length = 1, .past = 8191});
        CHECK(evaluate(preset.model, decode).total() == flops{preset.decode});
        tally prefill{preset.model.masks()};
        prefill.add(sequence{.length = 2048, .past = 6144});
        prefill.add(sequence{.length = 300, .past = 1});
        CHECK(evaluate(preset.model, prefill).total() == flops{preset.prefill});
    }
}

// ---- other published models, to show that the descriptors can say them ----

namespace {

/// Biases of q, k and v.
constexpr transformer<gqa, gated_mlp> qwen2_5_7b{
    .hidden_size = 3584,
    .num_layers = 28,
    .attention = {.num_heads = 28, .num_kv_heads = 4, .head_dim = 128, .elementwise = {.bias = 3584 + 2 * 512}},
    .feed_forward = {.intermediate_size = 18944},
    .vocab = {.size = 152064},
    .layer_elementwise = {.norm = 2 * 3584},
    .final_elementwise = {.norm = 3584}};
constexpr transformer<gqa, gated_mlp> qwen3_8b{
    .hidden_size = 4096,
    .num_layers = 36,
    .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128, .elementwise = {.norm = 2 * 128}},
    .feed_forward = {.intermediate_size = 12288},
    .vocab = {.size = 151936},
    .layer_elementwise = {.norm = 2 * 4096},
    .final_elementwise = {.norm = 4096}};
constexpr transformer<mha, moe> qwen1_5_moe{
    .hidden_size = 2048,
    .num_layers = 24,
    .attention = {.num_heads = 16, .head_dim = 128, .elementwise = {.bias = 3 * 2048}},
    .feed_forward = {.num_experts = 60,
                     .num_experts_per_tok = 4,
                     .intermediate_size = 1408,
                     .shared_intermediate_size = 5632,
                     .shared_expert_gate = true},
    .vocab = {.size = 151936},
    .layer_elementwise = {.norm = 2 * 2048},
    .final_elementwise = {.norm = 2048}};
constexpr transformer<mqa, gated_mlp> gemma_2b{.hidden_size = 2048,
                                               .num_layers = 18,
                                               .attention = {.num_heads = 8, .head_dim = 256},
                                               .feed_forward = {.intermediate_size = 16384},
                                               .vocab = {.size = 256000, .tied = true},
                                               .layer_elementwise = {.norm = 2 * 2048},
                                               .final_elementwise = {.norm = 2048}};
constexpr transformer<gqa, gated_mlp> gemma_2_9b{
    .hidden_size = 3584,
    .num_layers = 42,
    .attention = {.num_heads = 16, .num_kv_heads = 8, .head_dim = 256},
    .feed_forward = {.intermediate_size = 14336},
    .vocab = {.size = 256000, .tied = true},
    .masks = layer_masks::period({mask::sliding_window(4096), mask::causal()}),
    .layer_elementwise = {.norm = 4 * 3584},
    .final_elementwise = {.norm = 3584}};
constexpr transformer<mha, gated_mlp> phi_3_mini{.hidden_size = 3072,
                                                 .num_layers = 32,
                                                 .attention = {.num_heads = 32, .head_dim = 96},
                                                 .feed_forward = {.intermediate_size = 8192},
                                                 .vocab = {.size = 32064},
                                                 .masks = mask::sliding_window(2047),
                                                 .layer_elementwise = {.norm = 2 * 3072},
                                                 .final_elementwise = {.norm = 3072}};
constexpr transformer<mha, mlp> gpt_neox_20b{
    .hidden_size = 6144,
    .num_layers = 44,
    .attention = {.num_heads = 64, .head_dim = 96, .elementwise = {.bias = 4 * 6144}},
    .feed_forward = {.intermediate_size = 24576, .elementwise = {.bias = 24576 + 6144}},
    .vocab = {.size = 50432},
    .layer_elementwise = {.norm = 2 * 2 * 6144},
    .final_elementwise = {.norm = 2 * 6144}};
constexpr transformer<mha, gated_mlp> olmo_2_7b{
    .hidden_size = 4096,
    .num_layers = 32,
    .attention = {.num_heads = 32, .head_dim = 128, .elementwise = {.norm = 2 * 4096}},
    .feed_forward = {.intermediate_size = 11008},
    .vocab = {.size = 100352},
    .layer_elementwise = {.norm = 2 * 4096},
    .final_elementwise = {.norm = 4096}};
constexpr transformer<gqa, gated_mlp> granite_3_8b{.hidden_size = 4096,
                                                   .num_layers = 40,
                                                   .attention = {.num_heads = 32, .num_kv_heads = 8, .head_dim = 128},
                                                   .feed_forward = {.intermediate_size = 12800},
                                                   .vocab = {.size = 49155, .tied = true},
                                                   .layer_elementwise = {.norm = 2 * 4096},
                                                   .final_elementwise = {.norm = 4096}};
constexpr transformer<gqa, mlp> starcoder2_7b{
    .hidden_size = 4608,
    .num_layers = 32,
    .attention = {.num_heads = 36, .num_kv_heads = 4, .head_dim = 128, .elementwise = {.bias = 2 * 4608 + 2 * 512}},
    .feed_forward = {.intermediate_size = 18432, .elementwise = {.bias = 18432 + 4608}},
    .vocab = {.size = 49152, .tied = true},
    .masks = mask::sliding_window(4096),
    .layer_elementwise = {.norm = 2 * 2 * 4608},
    .final_elementwise = {.norm = 2 * 4608}};

}  // namespace

TEST_CASE("descriptors of published models without a preset have as many parameters as the models' implementations",
          "[presets]") {
    CHECK(qwen2_5_7b.cost().parameters() == 7'615'616'512);
    CHECK(qwen3_8b.cost().parameters() == 8'190'735'360);
    CHECK(qwen1_5_moe.cost().parameters() == 14'315'784'192);
    CHECK(gemma_2b.cost().parameters() == 2'506'172'416);
    CHECK(gemma_2_9b.cost().parameters() == 9'241'705'984);
    CHECK(phi_3_mini.cost().parameters() == 3'821'079'552);
    CHECK(gpt_neox_20b.cost().parameters() == 20'554'567'680);
    CHECK(olmo_2_7b.cost().parameters() == 7'298'617'344);
    CHECK(granite_3_8b.cost().parameters() == 8'170'848'256);
    CHECK(starcoder2_7b.cost().parameters() == 7'173'923'840);
}

TEST_CASE("descriptors of published models without a preset have the FLOPs of an enumerated training step",
          "[presets]") {
    CHECK(step(qwen2_5_7b.cost(), edges) == flops{316'031'659'302'912});
    CHECK(step(qwen2_5_7b.cost(), mixed) == flops{155'356'225'339'392});
    CHECK(step(qwen3_8b.cost(), mixed) == flops{167'618'027'716'608});

    // Twelve layers of cross attention alone: 1024 wide, the other side 768, 16 heads of 64.
    const cost cross = 12 * cross_attention{16, 16, 64, 768, {}}.cost({.hidden_size = 1024});
    const auto count = [&](const std::vector<sequence>& sequences) {
        tally sums{cross.masks()};
        for (const sequence& s : sequences) {
            sums.add(s);
        }
        return evaluate(cross, sums).total();
    };
    CHECK(count({{100, 0, 1500}, {7, 0, 33}}) == flops{211'915'358'208});
    CHECK(count({{1, 0, 1}}) == flops{264'388'608});
    CHECK(count({{4096, 0, 77}}) == flops{673'701'691'392});
}

}  // namespace presets_test
