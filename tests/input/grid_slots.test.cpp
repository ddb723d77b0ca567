// SPDX-License-Identifier: Apache-2.0
//
// The samples of a diffusion model as a user names them: grids of latents, each with a text, padded or not.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace grid_slots_test {
namespace {

using namespace floptally;

/// Stable Diffusion 3 in small: patches of 2 x 2 cells, two blocks of 24 wide.
model_config small_model() {
    return read_config(nlohmann::json::parse(R"({"_class_name": "SD3Transformer2DModel", "_diffusers_version": "0.42.1",
        "patch_size": 2, "in_channels": 4, "num_layers": 2, "attention_head_dim": 8, "num_attention_heads": 3,
        "joint_attention_dim": 10, "caption_projection_dim": 24, "pooled_projection_dim": 6, "out_channels": null,
        "dual_attention_layers": [], "qk_norm": null, "sample_size": 8, "pos_embed_max_size": 24})"));
}

tally counted(const model_config& model, const model_input& input) {
    tally batch{model.cost.masks()};
    add_input(input, model, batch);
    return batch;
}
std::string refused(const model_input& input) {
    return error_of([&] { static_cast<void>(counted(small_model(), input)); });
}

}  // namespace

TEST_CASE("the tally of two images with different grids and text lengths is the sum of one tally per image",
          "[grid_slots]") {
    const model_config model = small_model();
    const std::vector<std::int64_t> texts{7, 3};
    const tally both = counted(model, {.encoder_lengths = texts, .grids = {{1, 8, 4}, {1, 2, 6}}});
    const std::vector<std::int64_t> first{7};
    const std::vector<std::int64_t> second{3};
    tally sums = counted(model, {.encoder_lengths = first, .grids = {{1, 8, 4}}});
    sums += counted(model, {.encoder_lengths = second, .grids = {{1, 2, 6}}});
    CHECK(both == sums);
    // What pairs cost is what remains of twice the tokens besides twice the work: attention over (n + m)².
    const flop_counter as(model);
    const auto core = [&](const tally& batch) {
        flops sum;
        const breakdown work = as.evaluate(batch);
        for (const component_flops& component : work.components()) {
            if (component.name.view() == "attention.core") {
                sum += component.get(view::useful, phase::forward);
            }
        }
        return sum;
    };
    CHECK(core(both) == flops{2 * 4 * 24 * std::uint64_t{(8 + 7) * (8 + 7) + (3 + 3) * (3 + 3)}});
}

TEST_CASE("padded latents and padded text tokens count only in the padded view", "[grid_slots]") {
    const model_config model = small_model();
    const std::vector<std::int64_t> texts{7, 3};
    const std::vector<std::int64_t> slot{16};
    const tally batch = counted(model, {.encoder_lengths = texts,
                                        .encoder_lengths_padded = slot,
                                        .grids = {{1, 8, 4}, {1, 2, 6}},
                                        .grids_padded = {{1, 8, 8}}});
    const mask joint = mask::joint_pairs({.side = 2});
    CHECK(batch.pairs(view::useful, joint) == 15 * 15 + 6 * 6);
    CHECK(batch.pairs(view::padded, joint) == 2 * (16 + 16) * (16 + 16));
    CHECK(batch.get(view::padded, accumulator::keys, modality::vision) == 32);
    CHECK(batch.pairs(view::padded, unit::clips()) == 2);
    const tally plain = counted(model, {.encoder_lengths = texts, .grids = {{1, 8, 4}, {1, 2, 6}}});
    CHECK(plain.pairs(view::padded, joint) == plain.pairs(view::useful, joint));
}

TEST_CASE("an image with a missing, additional or too long text is an error that names the text",
          "[grid_slots][errors]") {
    const std::vector<std::int64_t> item{7};
    const std::vector<std::int64_t> two{7, 3};
    const std::vector<std::int64_t> low{-1};
    const std::vector<std::int64_t> small{5};
    CHECK(refused({.grids = {{1, 8, 4}}}) ==
          "encoder_lengths: is missing; SD3Transformer2DModel attends to a text; give its number of tokens for each "
          "grid_thw");
    CHECK(refused({.encoder_lengths = two, .grids = {{1, 8, 4}}}) ==
          "encoder_lengths: must have one number for each grid_thw (1), got 2");
    CHECK(refused({.encoder_lengths = low, .grids = {{1, 8, 4}}}) ==
          "encoder_lengths[0]: must be from 0 to 4294967295, got -1");
    CHECK(refused({.encoder_lengths = item, .encoder_lengths_padded = small, .grids = {{1, 8, 4}}}) ==
          "keys: a slot of 5 has no room for 7: enlarge the slot");
    CHECK(refused({.encoder_lengths = item, .grids = {{1, 8, 4}}, .grids_padded = {{1, 4, 4}}}) ==
          "grid: a slot of 1 x 4 x 4 patches has no room for 1 x 8 x 4 patches: enlarge the slot");
    CHECK(refused({.encoder_lengths = two,
                   .grids = {{1, 8, 4}, {1, 2, 2}},
                   .grids_padded = {{1, 8, 8}, {1, 8, 8}, {1, 8, 8}}}) ==
          "grid_thw_padded: must have one number, or one for each grid_thw (2), got 3");
    CHECK(refused({.lengths = {{"lengths", item}}, .encoder_lengths = item}) ==
          "lengths: SD3Transformer2DModel has no text; use grid_thw, images or audio_frames");
}

TEST_CASE("a diffusion model with two text encoders takes two text lengths per image", "[grid_slots]") {
    const model_config model = read_config(nlohmann::json::parse(R"({"_class_name": "HiDreamImageTransformer2DModel",
        "patch_size": 2, "in_channels": 4, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 8,
        "num_attention_heads": 3, "caption_channels": [10, 12], "text_emb_dim": 6, "num_routed_experts": 4,
        "num_activated_experts": 2, "llama_layers": [0, 1]})"));
    const mask joint =
        mask::joint_pairs({.side = 2}, static_cast<token_stream>(1 + 2 + 16), static_cast<token_stream>(1 + 2 + 16));
    const std::vector<std::int64_t> texts{7, 3, 2, 5};
    const std::vector<std::int64_t> slot{8, 6};
    const tally batch =
        counted(model, {.encoder_lengths = texts, .encoder_lengths_padded = slot, .grids = {{1, 4, 4}, {1, 2, 2}}});
    CHECK(batch.pairs(view::useful, joint) == 17 * 17 + 13 * 13);  // llama's tokens stand twice
    CHECK(batch.pairs(view::padded, joint) == 24 * 24 + 21 * 21);
    const auto refusal = [&](const model_input& input) {
        return error_of([&] { static_cast<void>(counted(model, input)); });
    };
    const std::vector<std::int64_t> values{7};
    CHECK(refusal({.encoder_lengths = values, .grids = {{1, 4, 4}}}) ==
          "encoder_lengths: must have 2 numbers for each grid_thw (1), got 1");
    CHECK(refusal({.encoder_lengths = texts, .encoder_lengths_padded = values, .grids = {{1, 4, 4}, {1, 2, 2}}}) ==
          "encoder_lengths_padded: must have 2 numbers, or 2 for each grid_thw (2), got 1");
    CHECK(refusal({.grids = {{1, 4, 4}}}) ==
          "encoder_lengths: is missing; HiDreamImageTransformer2DModel attends to 2 texts; "
          "give their numbers of tokens for each grid_thw");
    CHECK(refusal({.encoder_lengths = texts, .grids = {{1, 4, 4}, {1, 2, 2}}, .condition_grids = {{1, 2, 2}}}) ==
          "condition_grid_thw: must be absent: HiDreamImageTransformer2DModel takes no condition grids");
}

TEST_CASE("the texts of an object detector count as sequences and in pairs with the patches of their image",
          "[grid_slots]") {
    const model_config model = read_config(nlohmann::json::parse(R"({"model_type": "grounding-dino", "d_model": 64,
        "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "num_queries": 5,
        "backbone_config": {"model_type": "swin", "image_size": 64, "window_size": 2, "out_indices": [2, 3, 4]},
        "text_config": {"model_type": "bert", "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
                        "intermediate_size": 32, "vocab_size": 1020}})"));
    const mask met = mask::joint_pairs({.side = 2, .filled = true}, token_stream::grid, token_stream::text);
    const std::vector<std::int64_t> words{7, 3};
    const std::vector<std::int64_t> other{9, 9};
    const std::vector<grid> images{{1, 8, 6}, {1, 3, 4}};
    const tally own = counted(model, {.lengths = {{"lengths", words}}, .grids = images});
    CHECK(own.pairs(view::useful, met) == 12 * 7 + 4 * 3);
    CHECK(own.get(view::useful, accumulator::tokens) == 10);
    CHECK(own == counted(model, {.lengths = {{"lengths", words}}, .encoder_lengths = words, .grids = images}));
    const tally named = counted(model, {.lengths = {{"lengths", words}}, .encoder_lengths = other, .grids = images});
    CHECK(named.pairs(view::useful, met) == 12 * 9 + 4 * 9);
    const tally rows = counted(model, {.lengths = {{"lengths", words, 16}}, .grids = images});
    CHECK(rows.pairs(view::useful, met) == 12 * 7 + 4 * 3);
    CHECK(rows.pairs(view::padded, met) == 12 * 16 + 4 * 16);
    const tally fixed = counted(model, {.lengths = {{"lengths", words}}, .images = 2});
    CHECK(fixed.pairs(view::useful, met) == 64 * 7 + 64 * 3);
    const auto refusal = [&](const model_input& input) {
        return error_of([&] { static_cast<void>(counted(model, input)); });
    };
    CHECK(refusal({.lengths = {{"lengths", words}}, .grids = {{1, 8, 6}}}) ==
          "lengths: must have one number for each grid_thw (1), got 2");
    CHECK(refusal({.lengths = {{"lengths", words}}, .images = 3}) ==
          "images: must be at most the number of texts (2), got 3");
    CHECK(refusal({.grids = images}) ==
          "encoder_lengths: is missing; grounding-dino attends to a text; give its number of tokens for each grid_thw");
}

TEST_CASE("a protein structure model takes alignment rows and atoms, each with padding of its own", "[grid_slots]") {
    const model_config model = read_config(nlohmann::json::parse(R"({"model_type": "boltz1", "atom_s": 4, "atom_z": 2,
        "token_s": 16, "token_z": 6, "num_bins": 8, "embedder_args": {"atom_encoder_depth": 1, "atom_encoder_heads": 1},
        "msa_args": {"msa_s": 2, "msa_blocks": 1}, "pairformer_args": {"num_blocks": 1, "num_heads": 2}})"));
    const std::vector<std::int64_t> texts{7, 33, 2, 32};
    const std::vector<std::int64_t> slot{8, 64};
    const tally batch = counted(model, {.encoder_lengths = texts,
                                        .encoder_lengths_padded = slot,
                                        .grids = {{1, 1, 5}, {1, 1, 3}},
                                        .grids_padded = {{1, 1, 6}}});
    const auto counts = [&](view seen, const statistic& lengths) {
        return batch.pairs(seen, lengths.in(modality::vision));
    };
    CHECK(counts(view::useful, unit::powers(3)) == 125 + 27);
    CHECK(counts(view::padded, unit::powers(3)) == 2 * 216);
    CHECK(counts(view::useful, unit::powers(2, 1)) == 25 * 7 + 9 * 2);
    CHECK(counts(view::useful, unit::powers(0, 0, 1, 32)) == 2 + 1);  // windows, the second one atom
    CHECK(counts(view::padded, unit::powers(1, 0, 1, 32)) == 2 * (6 * 2));
    const std::vector<std::int64_t> single{7};
    CHECK(error_of([&] {
              static_cast<void>(counted(model, {.encoder_lengths = single, .grids = {{1, 1, 5}}}));
          }) == "encoder_lengths: must have 2 numbers for each grid_thw (1), got 1");
}

TEST_CASE("condition images are counted together with the image to generate", "[grid_slots]") {
    const model_config model = read_config(nlohmann::json::parse(R"({"_class_name": "FluxTransformer2DModel",
        "in_channels": 8, "num_layers": 1, "num_single_layers": 1, "attention_head_dim": 8, "num_attention_heads": 2,
        "joint_attention_dim": 10, "pooled_projection_dim": 6, "guidance_embeds": false})"));
    const std::vector<std::int64_t> texts{5, 2};
    const tally edited = counted(model, {.encoder_lengths = texts,
                                         .grids = {{1, 4, 4}, {1, 2, 3}},
                                         .condition_grids = {{1, 2, 2}, {1, 1, 3}, {1, 3, 3}, {2, 1, 1}}});
    const tally longer = counted(model, {.encoder_lengths = texts, .grids = {{1, 1, 16 + 4 + 3}, {1, 1, 6 + 9 + 2}}});
    const flop_counter as(model);
    CHECK(as.evaluate(edited).total() == as.evaluate(longer).total());
    const auto refusal = [&](const model_input& input) {
        return error_of([&] { static_cast<void>(counted(model, input)); });
    };
    CHECK(refusal({.encoder_lengths = texts, .grids = {{1, 4, 4}, {1, 2, 3}}, .condition_grids = {{1, 2, 2}}}) ==
          "condition_grid_thw: the number of grids must be a multiple of the number of grid_thw (2), got 1");
    CHECK(refusal({.encoder_lengths = texts,
                   .grids = {{1, 4, 4}, {1, 2, 3}},
                   .condition_grids = {{2, 65536, 65535}, {1, 2, 2}}}) ==
          "condition_grid_thw: the condition grids of one image must have at most 4294967295 cells together: use "
          "smaller or fewer grids");
    CHECK(refusal({.condition_grids = {{1, 2, 2}}}) ==
          "encoder_lengths: is missing; FluxTransformer2DModel attends to a text; "
          "give its number of tokens for each grid_thw");
}

TEST_CASE("image sizes in pixels become grids by the spec's autoencoder and patch size", "[grid_slots]") {
    const model_config model = small_model();  // 8 x 8 pixels a cell
    const std::vector<std::int64_t> texts{7, 3};
    CHECK(counted(model, {.encoder_lengths = texts, .grids = {{1, 8, 4}}, .pixels = {{1, 16, 48}}}) ==
          counted(model, {.encoder_lengths = texts, .grids = {{1, 8, 4}, {1, 2, 6}}}));
    const auto wan = [](const char* channels) {
        return read_config(nlohmann::json::parse(
            std::string(R"({"_class_name": "WanTransformer3DModel", "num_layers": 1, "in_channels": )") + channels +
            "}"));
    };
    CHECK(cells_of({81, 480, 832}, wan("16")) == grid{21, 60, 104});
    CHECK(cells_of({1, 480, 832}, wan("16")) == grid{1, 60, 104});
    CHECK(cells_of({121, 704, 1280}, wan("48")) == grid{31, 44, 80});
    const auto bad = [&](const grid& pixels) {
        return error_of([&] { static_cast<void>(cells_of(pixels, wan("16"))); });
    };
    CHECK(bad({80, 480, 832}) ==
          "pixels: the number of frames must be one more than a multiple of 4 for WanTransformer3DModel, got 80");
    CHECK(bad({81, 480, 833}) ==
          "pixels: the height and width must be multiples of 8 for WanTransformer3DModel, got 480 x 833");
    const auto make = [](std::string_view name, std::string_view more, const grid& pixels) {
        return cells_of(pixels, read_config(nlohmann::json::parse("{\"_class_name\": \"" + std::string(name) + "\"" +
                                                                  std::string(more) + "}")));
    };
    CHECK(make("CosmosTransformer3DModel", "", {121, 704, 1280}) == grid{16, 88, 160});
    CHECK(make("CosmosTransformer3DModel", R"(, "extra_pos_embed_type": null)", {93, 704, 1280}) == grid{24, 88, 160});
    CHECK(make("SanaVideoTransformer3DModel", "", {81, 480, 832}) == grid{21, 60, 104});
    CHECK(make("SanaVideoTransformer3DModel", R"(, "in_channels": 128)", {81, 704, 1280}) == grid{11, 22, 40});
    CHECK(make("ErnieImageTransformer2DModel", "", {1, 1024, 848}) == grid{1, 64, 53});
    CHECK(make("PRXTransformer2DModel", "", {1, 512, 1024}) == grid{1, 64, 128});
    CHECK(make("PRXTransformer2DModel", R"(, "in_channels": 32)", {1, 512, 1024}) == grid{1, 16, 32});
    CHECK(make("PRXTransformer2DModel", R"(, "in_channels": 3)", {1, 512, 1024}) == grid{1, 512, 1024});
    const model_config ddpm = read_config(nlohmann::json::parse(R"({"_class_name": "UNet2DModel"})"));
    CHECK(error_of([&] {
              static_cast<void>(cells_of({1, 64, 64}, ddpm));
          }) == "pixels: must be absent: the spec of UNet2DModel does not say how pixels become a grid; use grid_thw");
    // A spec says so many as a cell can have.
    const auto said = [](const std::string& line) {
        return error_of([&] {
            static_cast<void>(read_config(nlohmann::json::parse(R"({"model_type": "wide"})"),
                                          {.specs = {"spec wide : SD3Transformer2DModel\n" + line + "\n"}}));
        });
    };
    CHECK(said("pixels = 65535") == "no error");
    CHECK(said("pixels = 65536").find("\"pixels\" must be from 0 to 65535, got 65536") != std::string::npos);
    CHECK(said("pixel_frames = 0").find("\"pixel_frames\" must be from 1 to 65535, got 0") != std::string::npos);
}

TEST_CASE("a diffusers config is read by its class and an unknown class is an error", "[grid_slots][errors]") {
    const auto read = [](const char* text) {
        return error_of([&] { static_cast<void>(read_config(nlohmann::json::parse(text))); });
    };
    CHECK(small_model().model_type == "SD3Transformer2DModel");
    CHECK(small_model().notes.empty());
    CHECK(read(R"({"_class_name": "SD3Transformer3DModel"})")
              .starts_with("_class_name: unknown type \"SD3Transformer3DModel\"; nearest: SD3Transformer2DModel\n"));
    CHECK(read(R"({"_class_name": 3})") == "_class_name: must be a string, got 3");
    CHECK(read(R"({"_class_name": "FluxPipeline", "transformer": ["diffusers", "FluxTransformer2DModel"],
               "text_encoder": ["transformers", "CLIPTextModel"], "image_encoder": [null, null], "x": 2})") ==
          "_class_name: \"FluxPipeline\" is a pipeline; pass its folder, or one of its parts: "
          "text_encoder/config.json "
          "(CLIPTextModel), transformer/config.json (FluxTransformer2DModel)");
    CHECK(read(R"({"num_layers": 3})").starts_with("model_type: is missing"));
}

}  // namespace grid_slots_test
