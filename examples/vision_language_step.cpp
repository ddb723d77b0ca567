// SPDX-License-Identifier: Apache-2.0
// Counts one training step of Qwen2.5-VL-7B with a frozen vision tower: packed text, images and a clip of any size, in
// one tally.

#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>

int main() {
    using namespace floptally;

    // Once: the config.json of the checkpoint (load_config("…/config.json")), and which weights train.
    const model_config model = read_config(nlohmann::json::parse(R"({"model_type": "qwen2_5_vl",
        "architectures": ["Qwen2_5_VLForConditionalGeneration"], "vocab_size": 152064, "hidden_size": 3584,
        "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
        "vision_config": {"depth": 32, "hidden_size": 1280, "intermediate_size": 3420, "num_heads": 16,
                          "out_hidden_size": 3584, "patch_size": 14, "spatial_merge_size": 2, "window_size": 112,
                          "fullatt_block_indexes": [7, 15, 23, 31]}})"));
    training_plan plan;
    plan.weights.push_back({.weights = "vision.*", .state = weight_state::frozen}, "weights");
    plan.weights.push_back({.weights = "vision.merger", .state = weight_state::trainable}, "weights");
    const flop_counter counted(model, conventions::exact, plan);

    // Every microbatch: boundaries of the packed text (its lengths include the image tokens), and the grids (t, h, w)
    // of images and clips in patches, as the processor gives them.
    tally step{counted.masks()};
    const std::vector<std::int32_t> cu_seqlens{0, 1200, 1900, 4096};
    const std::vector<std::int64_t> image_grid_thw{1, 54, 74, 1, 32, 32, 4, 24, 42};
    step.add_cu_seqlens(cu_seqlens);
    step.add_grid_thw(image_grid_thw);
    require_placeholders(model, step);

    const breakdown work = counted.evaluate(step);
    const double peak_tflops = accelerator_named("NVIDIA H100 80GB HBM3").peak_tflops(precision::bf16);
    const utilization rates = utilize(work, step, {.seconds = 0.41, .gpus = 1, .peak_tflops = peak_tflops});
    for (const component_flops& part : work.components()) {
        std::printf("%-24s %24s\n", std::string(part.name.view()).c_str(), to_string(part.total(view::useful)).c_str());
    }
    std::printf("patches %s, of which the text sees %s tokens\n",
                std::to_string(step.get(view::useful, accumulator::tokens, modality::vision)).c_str(),
                std::to_string(placeholder_tokens(model, step)).c_str());
    std::printf("MFU %.2f %%\n", 100 * rates.mfu);
}
