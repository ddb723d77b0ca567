// SPDX-License-Identifier: Apache-2.0
//
// The folder of a pipeline of diffusers: models with configs of their own, which are read and added up by their names.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace pipeline_test {
namespace {

using namespace floptally;

constexpr std::string_view flux = R"({"_class_name": "FluxTransformer2DModel", "in_channels": 8, "num_layers": 1,
    "num_single_layers": 1, "attention_head_dim": 8, "num_attention_heads": 2, "joint_attention_dim": 10,
    "pooled_projection_dim": 6, "guidance_embeds": false})";
constexpr std::string_view clip = R"({"architectures": ["CLIPTextModel"], "model_type": "clip_text_model",
    "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 50,
    "max_position_embeddings": 77, "projection_dim": 16})";

/// A folder that is gone with it.
class folder {
  public:
    folder() : path_(std::filesystem::temp_directory_path() / "floptally_pipeline_test") {
        std::filesystem::remove_all(path_);
        write("model_index.json",
              R"({"_class_name": "FluxPipeline", "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
                  "text_encoder": ["transformers", "CLIPTextModel"], "tokenizer": ["transformers", "CLIPTokenizer"],
                  "transformer": ["diffusers", "FluxTransformer2DModel"], "image_encoder": [null, null],
                  "transformer_2": ["diffusers", "FluxTransformer2DModel"], "safety": ["made_up", "SafetyModel"]})");
        write("transformer/config.json", flux);
        write("transformer_2/config.json", flux);
        write("text_encoder/config.json", clip);
        write("safety/config.json", R"({"model_type": "made_up"})");
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    ~folder() { std::filesystem::remove_all(path_); }

    void write(const std::string& name, std::string_view text) const {
        std::filesystem::create_directories((path_ / name).parent_path());
        std::ofstream(path_ / name) << text;
    }
    [[nodiscard]] std::filesystem::path path(std::string_view name = "") const { return path_ / name; }

  private:
    std::filesystem::path path_;
};

tally sample(const model_config& model) {
    tally batch{model.cost.masks()};
    if (batch.masks().has(modality::vision)) {
        batch.add(grid{1, 4, 6, 5});
    }
    if (batch.masks().has(modality::text)) {
        batch.add(sequence{.length = 9});
    }
    return batch;
}
flops forward_of(const model_config& model) {
    return evaluate(model.cost, sample(model)).get(view::useful, phase::forward);
}
flops backward_of(const model_config& model) { return evaluate(model.cost, sample(model)).backward(view::useful); }

}  // namespace

TEST_CASE(
    "only the denoiser of a diffusers pipeline folder is counted, and a note lists the models with cached results") {
    const folder at;
    const model_config whole = load_config(at.path());
    const model_config alone = load_config(at.path("transformer"));
    CHECK(whole.model_type == "FluxPipeline");
    CHECK(whole.cost.parameters() == alone.cost.parameters());
    CHECK(forward_of(whole) == forward_of(alone));
    CHECK(backward_of(whole) == backward_of(alone));
    for (const component_name& name : whole.cost.components()) {
        CHECK(name.view().starts_with("transformer."));
    }
    CHECK(whole.notes.back() ==
          "not counted of FluxPipeline, since their results are cached: safety (SafetyModel), "
          "text_encoder (CLIPTextModel), transformer_2 (FluxTransformer2DModel)");
    CHECK(load_config(at.path("model_index.json")).cost == whole.cost);
    CHECK(load_config(at.path().string() + "/").cost == whole.cost);
    CHECK(load_config(at.path().string() + "/.").cost == whole.cost);
}

TEST_CASE(
    "the first named part of a diffusers pipeline trains, and the other named parts run frozen and forward-only") {
    const folder at;
    const model_config transformer = load_config(at.path("transformer"));
    const model_config encoder = load_config(at.path("text_encoder"));
    const model_config both = load_config(at.path(), {.parts = {"transformer", "text_encoder"}});
    CHECK(both.cost.parameters() == transformer.cost.parameters() + encoder.cost.parameters());
    CHECK(forward_of(both) == forward_of(transformer) + forward_of(encoder));
    CHECK(backward_of(both) == backward_of(transformer));
    const model_config other = load_config(at.path(), {.parts = {"text_encoder"}});
    CHECK(backward_of(other) == backward_of(encoder));
    // No token of the encoder's text stands for a latent.
    const std::vector<std::int64_t> lengths{9};
    const std::vector<std::int64_t> texts{5};
    tally batch{both.cost.masks()};
    add_input({.lengths = {{"lengths", lengths}}, .encoder_lengths = texts, .grids = {{1, 4, 6}}}, both, batch);
    CHECK(batch == sample(both));
    // A plan that says what trains walks the same parts.
    const training_plan plan{
        .weights = {{"*", weight_state::frozen}, {"transformer.attention.*", weight_state::lora, 4}}};
    const training_plan of_one{.weights = {{"*", weight_state::frozen}, {"attention.*", weight_state::lora, 4}}};
    CHECK(flop_counter(both, conventions::exact, plan).evaluate(sample(both)).backward(view::useful) ==
          flop_counter(transformer, conventions::exact, of_one).evaluate(sample(transformer)).backward(view::useful));
}

TEST_CASE(
    "an unknown diffusers pipeline part, a part with another grid size or a part without a spec is an error that names "
    "the part") {
    const folder at;
    const auto refusal = [&](std::vector<std::string> parts) {
        return error_of([&] { static_cast<void>(load_config(at.path(), {.parts = std::move(parts)})); });
    };
    CHECK(refusal({"vae"}).starts_with(
        "parts: \"vae\" is not a part of FluxPipeline; choose among safety/config.json (SafetyModel), "));
    CHECK(refusal({"transformer", "transformer"}) == "parts: \"transformer\" is named twice; remove one");
    CHECK(refusal({"transformer", "transformer_2"}) ==
          "parts: \"transformer\" and \"transformer_2\" take grids of different sizes, so that no batch fits both: "
          "count each alone");
    CHECK(refusal({"transformer", "safety"}).starts_with("safety/config.json: model_type: unknown type \"made_up\""));
    CHECK(error_of([&] { static_cast<void>(load_config(at.path("transformer"), {.parts = {"transformer"}})); }) ==
          "parts: must be left out: parts choose among the models of a pipeline's folder, but this is the config of "
          "one model");
    at.write("model_index.json", R"({"_class_name": "OddPipeline", "vae": ["diffusers", "AutoencoderKL"]})");
    CHECK(refusal({}) ==
          "parts: are missing; OddPipeline has no transformer, unet, prior or decoder: choose among vae/config.json "
          "(AutoencoderKL)");
}

}  // namespace pipeline_test
