// SPDX-License-Identifier: Apache-2.0
//
// Lines as public logs of these trainers have them.

#include <optional>
#include <string_view>

#include <floptally/conventions/trainer_log.hpp>

#include "catch2.hpp"

namespace trainer_log_test {
namespace {

using floptally::trainer_line_of;

bool between(const std::optional<floptally::printed_number>& printed, double least, double most) {
    const auto near = [](double a, double b) { return a - b < 1e-9 * b && b - a < 1e-9 * b; };
    return printed && near(printed->least, least) && near(printed->most, most);
}

floptally::trainer_line line_of(std::string_view trainer, std::string_view text) {
    const auto found = trainer_line_of(text);
    REQUIRE(found);
    CHECK(found->trainer == trainer);
    return *found;
}

}  // namespace

TEST_CASE("lines of nine trainers are read, each number with its rounding", "[comparison]") {
    const auto megatron = line_of(
        "Megatron-LM",
        "[default0]: [2025-05-27 15:23:07] iteration        1/    24000 | consumed samples:          1024 | elapsed "
        "time "
        "per iteration (ms): 271607.0 | throughput per GPU (TFLOP/s/GPU): 40.4 | learning rate: 1.500000E-06 | global "
        "batch size:  1024 | lm loss: 1.192634E+01 | loss scale: 1.0 |");
    CHECK(between(megatron.seconds, 271.60695, 271.60705));
    CHECK(between(megatron.tflops, 40.35, 40.45));
    CHECK(between(megatron.samples, 1024, 1024));
    CHECK(!megatron.mfu);

    const auto bridge = line_of("Megatron-Bridge", "job/0 Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU");
    CHECK(between(bridge.seconds, 9.085, 9.095));
    CHECK(between(bridge.tflops, 663.45, 663.55));

    const auto maxtext = line_of(
        "MaxText",
        "completed step: 11, seconds: 31.652, TFLOP/s/device: 225.491, Tokens/s/device: 2070.487, total_weights: "
        "33554432, "
        "loss: 11.825");
    CHECK(between(maxtext.seconds, 31.6515, 31.6525));
    CHECK(between(maxtext.tflops, 225.4905, 225.4915));

    const auto titan = line_of(
        "torchtitan",
        "[rank0]:[titan] 2025-10-30 14:32:58,990 - root - INFO - step:  2  loss:  6.1098  grad_norm:  4.6416  memory:  "
        "2.49GiB(3.14%)  tps: 177,138  tflops: 96.17  mfu: 9.72%");
    CHECK(between(titan.tokens_per_second, 177137.5, 177138.5));
    CHECK(between(titan.tflops, 96.165, 96.175));
    CHECK(!titan.seconds);

    const auto recsys =
        line_of("recsys-examples",
                "[train] [iter 99, tokens 131168, elapsed_time 58.51 ms, achieved FLOPS 1092.00 TFLOPS, MFU 6.90%]");
    CHECK(between(recsys.seconds, 0.058505, 0.058515));
    CHECK(between(recsys.all_tflops, 1091.995, 1092.005));

    const auto nanochat = line_of(
        "nanochat",
        "step 00004/21400 (0.02%) | loss: 8.893647 | lrm: 1.00 | dt: 989.44ms | tok/sec: 529,882 | mfu: 74.13 | total "
        "time: 0.00m");
    CHECK(between(nanochat.seconds, 0.989435, 0.989445));
    CHECK(between(nanochat.mfu, 0.74125, 0.74135));

    const auto nanogpt = line_of("nanoGPT", "iter 5000: loss 0.8205, time 9107.82ms, mfu 24.47%");
    CHECK(between(nanogpt.seconds, 9.107815, 9.107825));
    CHECK(between(nanogpt.mfu, 0.24465, 0.24475));
    CHECK(!trainer_line_of("iter 0: loss 4.2874, time 40523.31ms, mfu -100.00%"));  // before it has a mean

    const auto verl = line_of("verl",
                              "(TaskRunner pid=16292) step:2 - global_seqlen/min:538646.000 - perf/mfu/actor:1.018 - "
                              "perf/max_memory_allocated_gb:25.921 - timing_s/gen:74.020 - timing_s/ref:3.420 - "
                              "timing_s/update_actor:14.302 - timing_s/step:96.551 - timing_per_token_ms/adv:0.001");
    CHECK(between(verl.seconds, 14.3015, 14.3025));
    CHECK(between(verl.mfu, 1.0175, 1.0185));

    const auto hugging_face =
        line_of("Hugging Face Trainer",
                "TrainOutput(global_step=4152, training_loss=1.3124258081807336, metrics={'train_runtime': 2959.0362, "
                "'train_samples_per_second': 89.749, 'train_steps_per_second': 1.403, 'total_flos': "
                "2.602335381127373e+16, 'train_loss': 1.3124258081807336, 'epoch': 3.0})");
    CHECK(between(hugging_face.seconds, 2959.03615, 2959.03625));
    CHECK(between(hugging_face.samples, 2959.03615 * 89.7485, 2959.03625 * 89.7495));
    CHECK(between(hugging_face.flops, 2.6023353811273725e16, 2.6023353811273735e16));
    CHECK(!hugging_face.mfu);
    CHECK(floptally::known_trainers() ==
          "Megatron-LM, Megatron-Bridge, MaxText, torchtitan, recsys-examples, nanochat, nanoGPT, verl, Hugging Face "
          "Trainer");
}

TEST_CASE("other lines, half of a line and words that end alike are none", "[comparison]") {
    for (const char* line :
         {"", "seconds: 3", "http tps: 3", "completed step: 3, seconds: 2.1, loss: 3",
          "my_seconds: 3 TFLOP/s/device: 4", "seconds: x, TFLOP/s/device: 4", "seconds: 1.2.3, TFLOP/s/device: 4",
          "seconds: 1, TFLOP/s/device: 0.000", "seconds: 1, TFLOP/s/device: nan", "seconds: -1, TFLOP/s/device: 4",
          "tps: , tflops: 1", "seconds: 1, TFLOP/s/device: 4e999", "seconds: 1, TFLOP/s/device: 4e-999"}) {
        CAPTURE(line);
        CHECK(!trainer_line_of(line));
    }
    CHECK(trainer_line_of("my_seconds: 3, seconds: 4, TFLOP/s/device: 5."));
}

}  // namespace trainer_log_test
