// SPDX-License-Identifier: Apache-2.0
//
// Which layers a pipeline rank runs, against lists written by hand and against layers sharded one by one.

#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/parallel/pipeline_split.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace pipeline_split_test {
namespace {

using namespace floptally;
using layer_list = std::vector<std::uint64_t>;

/// "0-2 6-8": the layers of each of a rank's chunks.
std::string layers_of(const pipeline_split& split, std::uint64_t rank) {
    std::string text;
    for (std::size_t chunk = rank; chunk < split.chunks().size(); chunk += split.pp()) {
        const index_range layers = split.chunks()[chunk];
        text.append(text.empty() ? "" : " ").append(std::to_string(layers.first)).append("+");
        text.append(std::to_string(layers.size()));
    }
    return text;
}

transformer<gqa, gated_mlp> small_model(std::uint64_t num_layers) {
    return {.hidden_size = 8,
            .num_layers = num_layers,
            .attention = {.num_heads = 2, .num_kv_heads = 1, .head_dim = 4},
            .feed_forward = {.intermediate_size = 12},
            .vocab = {.size = 40},
            .masks = layer_masks::period({mask::sliding_window(3), mask::sliding_window(3), mask::causal()})};
}

/// The stages that a rank runs, and where: "embedding", "layer 3", …, once for each layer.
std::multiset<std::string> runs(const std::vector<model_part>& stages) {
    std::multiset<std::string> found;
    for (const model_part& part : stages) {
        for (std::uint64_t n = 0; n < part.repeat && !part.elsewhere; ++n) {
            const std::string name(part.name.view());
            found.insert(part.first_layer == no_layer ? name : name + " " + std::to_string(part.first_layer + n));
        }
    }
    return found;
}

}  // namespace

TEST_CASE("a pipeline split assigns layers evenly to ranks and virtual stages in turn") {
    // 8 layers on 2 ranks, in 2 and in 4 virtual stages: the examples of Megatron's own comment.
    CHECK(layers_of(pipeline_split::even(8, 2), 0) == "0+4");
    CHECK(layers_of(pipeline_split::even(8, 2), 1) == "4+4");
    CHECK(layers_of(pipeline_split::even(8, 2, 2), 0) == "0+2 4+2");
    CHECK(layers_of(pipeline_split::even(8, 2, 2), 1) == "2+2 6+2");
    CHECK(layers_of(pipeline_split::even(8, 2, 4), 0) == "0+1 2+1 4+1 6+1");
    CHECK(layers_of(pipeline_split::even(8, 2, 4), 1) == "1+1 3+1 5+1 7+1");
    CHECK(layers_of(pipeline_split::even(8, 1, 2), 0) == "0+4 4+4");
}

TEST_CASE("the first and last pipeline stage may have their own number of layers") {
    const pipeline_split deepseek_v3 = pipeline_split::even(61, 16, 1, {.num_layers_in_last_pipeline_stage = 1});
    CHECK(layers_of(deepseek_v3, 0) == "0+4");
    CHECK(layers_of(deepseek_v3, 14) == "56+4");
    CHECK(layers_of(deepseek_v3, 15) == "60+1");
    const pipeline_split both = pipeline_split::even(
        14, 4, 2, {.num_layers_in_first_pipeline_stage = 2, .num_layers_in_last_pipeline_stage = 4});
    CHECK(layers_of(both, 0) == "0+1 7+1");
    CHECK(layers_of(both, 1) == "1+2 8+2");
    CHECK(layers_of(both, 2) == "3+2 10+2");
    CHECK(layers_of(both, 3) == "5+2 12+2");
    CHECK(layers_of(pipeline_split::even(
                        5, 2, 1, {.num_layers_in_first_pipeline_stage = 2, .num_layers_in_last_pipeline_stage = 3}),
                    1) == "2+3");
}

TEST_CASE("the embedding and the loss may each count as a layer when the pipeline is split") {
    const pipeline_options places{.account_for_embedding_in_pipeline_split = true,
                                  .account_for_loss_in_pipeline_split = true};
    const pipeline_split llama_405b = pipeline_split::even(126, 16, 8, places);
    CHECK(llama_405b.num_layers() == 126);
    CHECK(layers_of(llama_405b, 0) == "0+0 15+1 31+1 47+1 63+1 79+1 95+1 111+1");
    CHECK(layers_of(llama_405b, 15) == "14+1 30+1 46+1 62+1 78+1 94+1 110+1 126+0");
    CHECK(layers_of(pipeline_split::even(7, 2, 1, {.account_for_loss_in_pipeline_split = true}), 1) == "4+3");
}

TEST_CASE("a pipeline split may list the layers of each chunk") {
    const layer_list chunks{1, 3, 0, 2};
    const pipeline_split split(2, chunks);
    CHECK(split.vpp() == 2);
    CHECK(split.num_layers() == 6);
    CHECK(layers_of(split, 0) == "0+1 4+0");
    CHECK(layers_of(split, 1) == "1+3 4+2");
    CHECK(split.rank_of_layer(0) == 0);
    CHECK(split.rank_of_layer(5) == 1);
}

TEST_CASE("every layer runs on one pipeline rank, the embedding on the first and the head on the last") {
    const std::vector<model_part> model = parts_of(small_model(12));
    for (const std::uint64_t pp : {1U, 2U, 3U, 4U, 6U, 12U}) {
        for (const std::uint64_t vpp : {1U, 2U, 3U}) {
            if (12 % (pp * vpp) != 0) {
                continue;
            }
            INFO(pp << " " << vpp);
            const pipeline_split split = pipeline_split::even(12, pp, vpp);
            for (std::uint64_t rank = 0; rank < pp; ++rank) {
                // Layer after layer into chunk after chunk, which go round the ranks.
                std::multiset<std::string> expected;
                for (std::uint64_t layer = 0; layer < 12; ++layer) {
                    if (layer / (12 / (pp * vpp)) % pp == rank) {
                        for (int part = 0; part < 3; ++part) {
                            expected.insert("layer " + std::to_string(layer));
                        }
                    }
                }
                if (rank == 0) {
                    expected.insert("embedding");
                }
                if (rank == pp - 1) {
                    expected.insert("norm");
                    expected.insert("lm_head");
                }
                CHECK(runs(split.parts_of(model, rank)) == expected);
            }
        }
    }
}

TEST_CASE("each pipeline rank lists all model parts and marks the parts of other ranks") {
    const std::vector<model_part> model = parts_of(small_model(12));
    const layer_list chunks{5, 0, 7};
    const pipeline_split split(3, chunks);
    for (std::uint64_t rank = 0; rank < 3; ++rank) {
        const std::vector<model_part> stages = split.parts_of(model, rank);
        CHECK(cost_of(stages) == cost_of(model));
        std::uint64_t next = 0;
        for (const model_part& part : stages) {
            if (part.first_layer != no_layer && part.first_layer >= next) {
                CHECK(part.first_layer == next);
                next += part.repeat;
            }
        }
        CHECK(next == 12);
    }
    CHECK(runs(split.parts_of(model, 1)).empty());
}

TEST_CASE("a model part between two layers goes to the pipeline rank of the layer before it") {
    const model_part layer{.name = "layer", .first_layer = 0, .repeat = 2};
    model_part later = layer;
    later.first_layer = 2;
    const std::vector<model_part> model{{.name = "embedding", .role = part_role::input},
                                        layer,
                                        {.name = "between"},
                                        later,
                                        {.name = "lm_head", .role = part_role::head}};
    const pipeline_split halves = pipeline_split::even(4, 2);
    CHECK(runs(halves.parts_of(model, 0)) == std::multiset<std::string>{"between", "embedding", "layer 0", "layer 1"});
    CHECK(runs(halves.parts_of(model, 1)) == std::multiset<std::string>{"layer 2", "layer 3", "lm_head"});
    const pipeline_split quarters = pipeline_split::even(4, 4);
    CHECK(runs(quarters.parts_of(model, 0)) == std::multiset<std::string>{"embedding", "layer 0"});
    CHECK(runs(quarters.parts_of(model, 1)) == std::multiset<std::string>{"between", "layer 1"});
}

TEST_CASE("a pipeline that cannot be split is an error that names the field") {
    CHECK(error_of([] { return pipeline_split::even(10, 4); }) ==
          "layers: the 10 remaining layers must be a multiple of the 4 pipeline stages that share them");
    CHECK(error_of([] { return pipeline_split::even(10, 4, 1, {.num_layers_in_first_pipeline_stage = 3}); }) ==
          "layers: the 7 remaining layers must be a multiple of the 3 pipeline stages that share them");
    CHECK(error_of([] { return pipeline_split::even(8, 1, 1, {.num_layers_in_first_pipeline_stage = 8}); }) ==
          "no error");
    CHECK(error_of([] { return pipeline_split::even(8, 1, 1, {.num_layers_in_last_pipeline_stage = 8}); }) ==
          "no error");
    CHECK(error_of([] { return even_share(8, 4, 4, "num_experts"); }) == "rank: must be below 4, got 4");
    CHECK(error_of([] { return pipeline_split(0, layer_list{1}); }) == "pp: must be at least 1, got 0");
    CHECK(error_of([] {
              return pipeline_split::even(
                  2, 1, 1, {.num_layers_in_first_pipeline_stage = 1, .num_layers_in_last_pipeline_stage = 1});
          }) ==
          "num_layers_in_last_pipeline_stage: must be 0 where pp is 1, because the only stage has "
          "num_layers_in_first_pipeline_stage layers");
    CHECK(error_of([] { return pipeline_split::even(8, 2, 3); }) ==
          "layers of a pipeline rank: must be a multiple of the 3 ranks that share it, got 4");
    CHECK(error_of([] { return pipeline_split::even(8, 0); }) == "pp: must be at least 1, got 0");
    CHECK(error_of([] { return pipeline_split::even(8, 2, 0); }) == "vpp: must be at least 1, got 0");
    CHECK(error_of([] { return pipeline_split::even(8, 2, 1, {.num_layers_in_first_pipeline_stage = 9}); }) ==
          "layers: the first and the last pipeline stage take 9 of 8 layers: lower num_layers_in_first_pipeline_stage "
          "or num_layers_in_last_pipeline_stage");
    CHECK(error_of([] {
              return pipeline_split::even(
                  8, 2, 1, {.num_layers_in_first_pipeline_stage = 2, .num_layers_in_last_pipeline_stage = 2});
          }) ==
          "layers: the first and the last pipeline stage take 4 of 8 layers: they must take all layers, because "
          "there is no other stage");
    CHECK(error_of([] {
              return pipeline_split::even(
                  8, 1, 1, {.num_layers_in_first_pipeline_stage = 4, .num_layers_in_last_pipeline_stage = 4});
          }) ==
          "num_layers_in_last_pipeline_stage: must be 0 where pp is 1, because the only stage has "
          "num_layers_in_first_pipeline_stage layers");
    CHECK(error_of([] {
              return pipeline_split::even(
                  8, 2, 1, {.num_layers_in_first_pipeline_stage = 4, .account_for_embedding_in_pipeline_split = true});
          }) ==
          "account_for_*_in_pipeline_split: must be false where num_layers_in_first_pipeline_stage or "
          "num_layers_in_last_pipeline_stage is set");
    CHECK(error_of([] {
              return pipeline_split::even(
                         0, 1, 1,
                         {.account_for_embedding_in_pipeline_split = true, .account_for_loss_in_pipeline_split = true})
                  .num_layers();
          }) == "no error");
    const layer_list three{1, 2, 3};
    CHECK(error_of([&] { return pipeline_split(2, three); }) ==
          "layers_of_chunks: must have pp (2) numbers, or a multiple of pp, got 3");
    const layer_list too_many{~std::uint64_t{0}, 1};
    CHECK(error_of([&] { return pipeline_split(2, too_many); }) ==
          "layers_of_chunks: 18446744073709551615 + 1 does not fit 64 bits: use smaller numbers");
    CHECK(error_of([&] { return pipeline_split(3, three).parts_of({}, 3); }) == "pp_rank: must be below pp, 3, got 3");
    CHECK(error_of([&] { return pipeline_split(3, three).parts_of(parts_of(small_model(5)), 0); }) ==
          "layers: must be 6, as in the pipeline split, got a model with 5 layers: make the split for this model");
    CHECK(error_of([&] { return pipeline_split(3, three).parts_of(parts_of(small_model(7)), 0); }) ==
          "layers: must be 6, as in the pipeline split, but the model has more: make the split for this model");
}

namespace {

std::vector<std::uint64_t> sizes_of(const pipeline_split& split) {
    std::vector<std::uint64_t> sizes;
    for (const floptally::index_range& chunk : split.chunks()) {
        sizes.push_back(chunk.size());
    }
    return sizes;
}

using counts = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("layers that do not divide evenly are split like in Megatron or torchtitan, and a note names the split") {
    // What torchtitan's generate_llm_fqn_per_model_part returns for these stages and layers, with weights of 1.
    const struct {
        std::uint64_t stages;
        std::uint64_t layers;
        counts sizes;
    } titan[] = {{8, 32, {4, 5, 4, 4, 4, 4, 4, 3}},
                 {4, 61, {15, 16, 16, 14}},
                 {16, 61, {3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2}},
                 {8, 94, {11, 12, 12, 12, 12, 12, 12, 11}},
                 {3, 10, {3, 4, 3}},
                 {2, 3, {2, 1}},
                 {1, 7, {7}}};
    for (const auto& [stages, layers, sizes] : titan) {
        CHECK(sizes_of(pipeline_split::by_torchtitan(layers, stages, 1)) == sizes);
        CHECK(sizes_of(pipeline_split::of(layers, stages, 1, {.layers = floptally::layer_split::torchtitan})) == sizes);
    }
    const pipeline_split even = pipeline_split::of(32, 4, 2);
    CHECK(even.described().empty());
    // Qwen3-235B's 94 and Llama-3.1-405B's 126 layers: their recipes count embedding and loss as layers.
    const pipeline_split qwen = pipeline_split::of(94, 8, 4);
    CHECK(qwen.vpp() == 4);
    CHECK(qwen.described() == "Megatron's split where embedding and loss count as a layer each: 2 x 1, 3 x 30, 2 x 1");
    CHECK(sizes_of(qwen) == sizes_of(pipeline_split::even(94, 8, 4,
                                                          {.account_for_embedding_in_pipeline_split = true,
                                                           .account_for_loss_in_pipeline_split = true})));
    CHECK(pipeline_split::of(7, 4, 1).described() == "Megatron's split where the loss counts as a layer: 2 x 3, 1 x 1");
    CHECK(pipeline_split::of(61, 16, 1).described() == "torchtitan's split: 3 x 1, 4 x 14, 2 x 1");
    CHECK(error_of([] {
              return pipeline_split::of(61, 16, 1, {.layers = floptally::layer_split::even});
          }).starts_with("layers: the 61 remaining layers must be a multiple of the 16"));
    CHECK(error_of([] { return pipeline_split::of(2, 8, 1); }) ==
          "layers: 2 layers plus the embedding and the loss are fewer than the pp x vpp = 8 chunks: pass a smaller pp "
          "or vpp");
}

TEST_CASE("Megatron's pipeline layout text places every layer, the embedding, the loss and multi-token prediction") {
    const auto read = [](const char* text, std::uint64_t layers, std::uint64_t pp, std::uint64_t vpp) {
        return pipeline_split::of(layers, pp, vpp, {.pipeline_model_parallel_layout = text});
    };
    // DeepSeek-V3 on 16 ranks with two chunks each. The expected split was written out by hand.
    counts deepseek{3};
    deepseek.insert(deepseek.end(), 29, 2);
    deepseek.push_back(0);
    deepseek.push_back(0);
    const pipeline_split split = read("Et*3|(tt|)*29,m|L", 61, 16, 2);
    CHECK(sizes_of(split) == deepseek);
    CHECK(counts(split.mtp_chunks().begin(), split.mtp_chunks().end()) == counts{30});
    CHECK(split.rank_of_layer(2) == 0);
    CHECK(split.rank_of_layer(3) == 1);
    CHECK(split.described() == "the split of the layout text: 3 x 1, 2 x 29, 0 x 2");
    // Llama-3-70B on 8 ranks with five chunks each.
    counts llama(35, 2);
    llama.push_back(3);
    llama.insert(llama.end(), 3, 2);
    llama.push_back(1);
    CHECK(sizes_of(read("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL", 80, 8, 5)) == llama);
    CHECK(sizes_of(read("E|t|t|tL", 3, 4, 1)) == counts{0, 1, 1, 1});
    CHECK(sizes_of(read("E((t|)*2)*2,L", 4, 5, 1)) == counts{1, 1, 1, 1, 0});

    const auto problem = [&](const char* text, std::uint64_t layers, std::uint64_t pp, std::uint64_t vpp = 1) {
        const std::string all = error_of([&] { return read(text, layers, pp, vpp); });
        return all.substr(all.find(": ") + 2);
    };
    CHECK(problem("Et|tL", 3, 2) == "must place the 3 layers of the model (t), got 2");
    CHECK(problem("Et|t|t|tL", 4, 2) == "has 4 chunks, but pp x vpp is 2 x 1: pass vpp 2");
    CHECK(problem("Et|t|tL", 3, 2) == "has 3 chunks, but pp x vpp is 2 x 1: pass a pp that divides the chunks, not 2");
    CHECK(problem("t|EtL", 2, 2) == "must begin with the embedding, E: it belongs to the first chunk");
    CHECK(problem("Et|t", 2, 2) ==
          "must begin with the embedding, E, end with the loss, L, and have each of them once");
    CHECK(problem("Et|xL", 2, 2).starts_with("must consist of the symbols E, t, m, L, |"));
    CHECK(problem("E(t|tL", 2, 2) == "has a ( without a ): add the )");
    CHECK(problem("Et*|tL", 2, 2) == "must have a number after *, such as t*3");
    CHECK(problem("Et*99999999|tL", 2, 2) == "must have at most 100000 symbols: lower a number after *");
    CHECK(error_of([] {
              return pipeline_split::of(
                  2, 2, 1, {.num_layers_in_first_pipeline_stage = 1, .pipeline_model_parallel_layout = "Et|tL"});
          }).starts_with("pipeline_model_parallel_layout: already places every layer: leave out"));
}

TEST_CASE("multi-token prediction layers run on the rank of their chunk, and their logits on the rank of the loss") {
    std::vector<model_part> model;
    const auto add = [&model](const char* name, floptally::part_role role, std::uint64_t first = floptally::no_layer,
                              std::uint64_t repeat = 1) {
        model.push_back({.name = name, .role = role, .first_layer = first, .repeat = repeat});
    };
    add("embedding", floptally::part_role::input);
    add("layer", floptally::part_role::layer, 0, 4);
    add("norm", floptally::part_role::layer);
    add("lm_head", floptally::part_role::head);
    add("mtp", floptally::part_role::layer);
    add("mtp", floptally::part_role::head);
    const auto on_rank = [&](const char* text, std::uint64_t pp, std::uint64_t vpp, std::uint64_t rank) {
        std::string names;
        const pipeline_split split = pipeline_split::of(4, pp, vpp, {.pipeline_model_parallel_layout = text});
        for (const model_part& part : split.parts_of(model, rank)) {
            if (!part.elsewhere) {
                names += (names.empty() ? "" : " ") + std::string(part.name.view());
                names += part.role == floptally::part_role::head ? "!"
                         : part.repeat > 1                       ? std::to_string(part.repeat)
                                                                 : "";
            }
        }
        return names;
    };
    CHECK(on_rank("Ett|tt|m|L", 4, 1, 0) == "embedding layer2");
    CHECK(on_rank("Ett|tt|m|L", 4, 1, 1) == "layer2");
    CHECK(on_rank("Ett|tt|m|L", 4, 1, 2) == "mtp");
    CHECK(on_rank("Ett|tt|m|L", 4, 1, 3) == "norm lm_head! mtp!");
    CHECK(on_rank("Ett|tt|m|L", 2, 2, 0) == "embedding layer2 mtp");
    CHECK(on_rank("Ett|tt|m|L", 2, 2, 1) == "layer2 norm lm_head! mtp!");
    CHECK(on_rank("Ett|ttmL", 2, 1, 1) == "layer2 norm lm_head! mtp mtp!");
    CHECK(error_of([&] {
              return on_rank("Ett|ttmm|L", 3, 1, 0);
          }).starts_with("pipeline_model_parallel_layout: places 2 layers of multi-token prediction (m)"));
}

}  // namespace pipeline_split_test
