// SPDX-License-Identifier: Apache-2.0
//
// Which layers a pipeline rank runs, against lists written by hand and against layers dealt one by one.

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

TEST_CASE("Layers are dealt evenly, and virtual stages in turn") {
    // 8 layers on 2 ranks, in 2 and in 4 virtual stages: the examples of Megatron's own comment.
    CHECK(layers_of(pipeline_split::even(8, 2), 0) == "0+4");
    CHECK(layers_of(pipeline_split::even(8, 2), 1) == "4+4");
    CHECK(layers_of(pipeline_split::even(8, 2, 2), 0) == "0+2 4+2");
    CHECK(layers_of(pipeline_split::even(8, 2, 2), 1) == "2+2 6+2");
    CHECK(layers_of(pipeline_split::even(8, 2, 4), 0) == "0+1 2+1 4+1 6+1");
    CHECK(layers_of(pipeline_split::even(8, 2, 4), 1) == "1+1 3+1 5+1 7+1");
    CHECK(layers_of(pipeline_split::even(8, 1, 2), 0) == "0+4 4+4");
}

TEST_CASE("The first and the last pipeline stage may have a number of layers of their own") {
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

TEST_CASE("The embedding and the loss may take the place of a layer") {
    const pipeline_options places{.account_for_embedding_in_pipeline_split = true,
                                  .account_for_loss_in_pipeline_split = true};
    const pipeline_split llama_405b = pipeline_split::even(126, 16, 8, places);
    CHECK(llama_405b.num_layers() == 126);
    CHECK(layers_of(llama_405b, 0) == "0+0 15+1 31+1 47+1 63+1 79+1 95+1 111+1");
    CHECK(layers_of(llama_405b, 15) == "14+1 30+1 46+1 62+1 78+1 94+1 110+1 126+0");
    CHECK(layers_of(pipeline_split::even(7, 2, 1, {.account_for_loss_in_pipeline_split = true}), 1) == "4+3");
}

TEST_CASE("A list of layers for each chunk") {
    const layer_list chunks{1, 3, 0, 2};
    const pipeline_split split(2, chunks);
    CHECK(split.vpp() == 2);
    CHECK(split.num_layers() == 6);
    CHECK(layers_of(split, 0) == "0+1 4+0");
    CHECK(layers_of(split, 1) == "1+3 4+2");
    CHECK(split.rank_of_layer(0) == 0);
    CHECK(split.rank_of_layer(5) == 1);
}

TEST_CASE("Every layer runs on one rank, the embedding on the first, the head on the last") {
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

TEST_CASE("Stages of other ranks stay where they are") {
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

TEST_CASE("What stands between two layers goes with the one before it") {
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

TEST_CASE("A pipeline that cannot be split is a named error") {
    CHECK(error_of([] { return pipeline_split::even(10, 4); }) ==
          "layers: 10 must be a multiple of the 4 pipeline stages that share them");
    CHECK(error_of([] { return pipeline_split::even(10, 4, 1, {.num_layers_in_first_pipeline_stage = 3}); }) ==
          "layers: 7 must be a multiple of the 3 pipeline stages that share them");
    CHECK(error_of([] { return pipeline_split::even(8, 1, 1, {.num_layers_in_first_pipeline_stage = 8}); }) ==
          "no error");
    CHECK(error_of([] { return pipeline_split::even(8, 1, 1, {.num_layers_in_last_pipeline_stage = 8}); }) ==
          "no error");
    CHECK(error_of([] { return even_share(8, 4, 4, "num_experts"); }) == "rank: must be below 4, got 4");
    CHECK(error_of([] { return pipeline_split(0, layer_list{1}); }) == "pp: must be at least 1, got 0");
    CHECK(error_of([] {
              return pipeline_split::even(
                  2, 1, 1, {.num_layers_in_first_pipeline_stage = 1, .num_layers_in_last_pipeline_stage = 1});
          }) == "num_layers_in_last_pipeline_stage: pp is 1: the first stage is the last");
    CHECK(error_of([] { return pipeline_split::even(8, 2, 3); }) ==
          "layers of a pipeline rank: must be a multiple of the 3 ranks that share it, got 4");
    CHECK(error_of([] { return pipeline_split::even(8, 0); }) == "pp: must be at least 1, got 0");
    CHECK(error_of([] { return pipeline_split::even(8, 2, 0); }) == "vpp: must be at least 1, got 0");
    CHECK(error_of([] { return pipeline_split::even(8, 2, 1, {.num_layers_in_first_pipeline_stage = 9}); }) ==
          "layers: the first and the last pipeline stage name 9 of 8");
    CHECK(error_of([] {
              return pipeline_split::even(
                  8, 2, 1, {.num_layers_in_first_pipeline_stage = 2, .num_layers_in_last_pipeline_stage = 2});
          }) == "layers: the first and the last pipeline stage name 4 of 8");
    CHECK(error_of([] {
              return pipeline_split::even(
                  8, 1, 1, {.num_layers_in_first_pipeline_stage = 4, .num_layers_in_last_pipeline_stage = 4});
          }) == "num_layers_in_last_pipeline_stage: pp is 1: the first stage is the last");
    CHECK(error_of([] {
              return pipeline_split::even(
                  8, 2, 1, {.num_layers_in_first_pipeline_stage = 4, .account_for_embedding_in_pipeline_split = true});
          }) ==
          "account_for_*_in_pipeline_split: has no meaning where the first or the last stage has a number of "
          "layers of its own");
    CHECK(error_of([] {
              return pipeline_split::even(
                         0, 1, 1,
                         {.account_for_embedding_in_pipeline_split = true, .account_for_loss_in_pipeline_split = true})
                  .num_layers();
          }) == "no error");
    const layer_list three{1, 2, 3};
    CHECK(error_of([&] { return pipeline_split(2, three); }) ==
          "layers_of_chunks: must be as many as pp (2) or a multiple, got 3");
    const layer_list too_many{~std::uint64_t{0}, 1};
    CHECK(error_of([&] { return pipeline_split(2, too_many); }) ==
          "layers_of_chunks: 18446744073709551615 + 1 does not fit 64 bits");
    CHECK(error_of([&] { return pipeline_split(3, three).parts_of({}, 3); }) == "pp_rank: must be below pp, 3, got 3");
    CHECK(error_of([&] { return pipeline_split(3, three).parts_of(parts_of(small_model(5)), 0); }) ==
          "layers: the pipeline is split for 6, the model has 5");
    CHECK(error_of([&] { return pipeline_split(3, three).parts_of(parts_of(small_model(7)), 0); }) ==
          "layers: the pipeline is split for 6, the model has more");
}

}  // namespace pipeline_split_test
