// SPDX-License-Identifier: Apache-2.0
//
// Lines as public logs of these trainers have them.

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

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

TEST_CASE("log lines of nine trainers are parsed, and each logged number is kept as its rounding interval",
          "[comparison]") {
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
          "Megatron-LM, Megatron-Bridge, MaxText, torchtitan, recsys-examples, nanochat, nanoGPT, verl, prime-rl, TRL, "
          "Automodel, ms-swift, OLMo-core, Lightning, Hugging Face Trainer");
}

TEST_CASE("log lines of trainers' 2026 releases are parsed", "[comparison]") {
    const auto nanochat = line_of(
        "nanochat",
        "step 00120/09000 (1.33%) | loss: 4.120334 | lrm: 1.00 | dt: 2310.50ms | tok/sec: 226,914 | bf16_mfu: 18.41 | "
        "epoch: 1 | total time: 4.12m | eta: 341.9m");
    CHECK(between(nanochat.seconds, 2.310495, 2.310505));
    CHECK(between(nanochat.mfu, 0.18405, 0.18415));
    CHECK(between(nanochat.all_tokens_per_second, 226913.5, 226914.5));

    // NumPy 2 writes the type of its numbers, and all their digits.
    const auto verl = line_of("verl",
                              "step:7 - perf/mfu/actor_infer:0 - perf/mfu/actor:np.float64(0.18) - "
                              "timing_s/update_actor:np.float64(14.25) - perf/total_num_tokens:np.int64(159906) - "
                              "timing_s/step:96.5514321");
    CHECK(between(verl.seconds, 14.245, 14.255));
    CHECK(between(verl.mfu, 0.175, 0.185));
    CHECK(between(verl.tokens, 159905.5, 159906.5));
    const auto precise =
        line_of("verl", "perf/mfu/actor:0.37076442236406741 - timing_s/update_actor:12.345678901234567");
    CHECK(precise.mfu->most > precise.mfu->least);
    CHECK(between(precise.mfu, 0.37076442236406741, 0.37076442236406741));

    const auto bridge =
        line_of("Megatron-Bridge", "Step Time : 0.79s GPU utilization: 62.4MODEL_TFLOP/s/GPU, 8421.05 tok/s/gpu");
    CHECK(between(bridge.tflops, 62.35, 62.45));

    const auto primus = line_of(
        "Megatron-LM",
        "iteration 40/ 50 | elapsed time per iteration (ms): 1041.5 | compute per GPU (TFLOP/s/GPU): 496.3 (avg "
        "496.1) | tokens/s/GPU inst/harmonic mean: 9640.7/9629.8 | global batch size: 32 |");
    CHECK(between(primus.tflops, 496.25, 496.35));
    CHECK(between(primus.tokens_per_second, 9640.65, 9640.75));

    const auto maxtext = line_of("MaxText",
                                 "completed step: 3, seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: "
                                 "4096.000, total_weights: 65536, loss: 9.1, lr: 3.0e-05");
    CHECK(between(maxtext.tokens_per_second, 4095.9995, 4096.0005));
}

TEST_CASE("log lines of Automodel, TRL, OLMo-core, prime-rl, ms-swift and Lightning are parsed", "[comparison]") {
    const auto automodel =
        line_of("Automodel", R"({"step": 7, "epoch": 0, "loss": 1.9, "lr": 1e-05, "tps": 52341.2, )"
                             R"("tps_per_gpu": 6542.65, "num_tokens_per_step": 65536, "mfu": 41.25})");
    CHECK(between(automodel.all_tokens_per_second, 52341.15, 52341.25));
    CHECK(between(automodel.mfu, 0.41245, 0.41255));
    CHECK(between(automodel.tokens, 65535.5, 65536.5));
    const auto console =
        line_of("Automodel", "step 7 | epoch 0 | tps 52341.20(6542.65/gpu) | mfu 41.25 | num_label_tokens 9");
    CHECK(between(console.all_tokens_per_second, 52341.195, 52341.205));

    const auto trl = line_of("TRL",
                             "{'loss': '0.0123', 'num_tokens': '81920', 'perf/forwarded_tok_s_fwd_bwd': '34112.3', "
                             "'perf/mfu_fwd_bwd': '31.25', 'perf/mfu_wall_clock': '12.5', "
                             "'perf/forwarded_tok_s_wall_clock': '13645', 'epoch': '0.1'}");
    CHECK(between(trl.all_tokens_per_second, 34112.25, 34112.35));
    CHECK(between(trl.mfu, 0.31245, 0.31255));
    const auto wall = line_of("TRL", R"({"train/perf/mfu_wall_clock": 12.5, )"
                                     R"("train/perf/forwarded_tok_s_wall_clock": 13645})");
    CHECK(between(wall.mfu, 0.1245, 0.1255));

    const auto prime =
        line_of("prime-rl",
                "12:01:07 SUCCESS Step 12 | Time: 4.20s | Loss: 0.0312 | Grad. Norm: 0.41 | LR: 1.00e-06 "
                "| Throughput: 32680 tokens/s | MFU: 41.2% | Peak Mem.: 64.5 GiB");
    CHECK(between(prime.all_tokens_per_second, 32679.5, 32680.5));
    CHECK(between(prime.mfu, 0.4115, 0.4125));
    CHECK(!prime.seconds);  // of another clock than the throughput
    CHECK(between(
        line_of("prime-rl", "{'perf/throughput': 32680.5, 'perf/throughput_per_gpu': 4085.06, 'perf/mfu': 41.25}").mfu,
        0.41245, 0.41255));

    const auto swift = line_of("ms-swift",
                               "{'loss': 0.143, 'grad_norm': 0.21, 'global_step/max_steps': '400/426', 'memory(GiB)': "
                               "113.6, 'train_speed(s/it)': 4.61, 'MFU': 0.412345}");
    CHECK(between(swift.seconds, 4.605, 4.615));
    CHECK(between(swift.mfu, 0.4123445, 0.4123455));
    const auto swift_of_2025 = line_of("ms-swift", R"x({"loss": 0.1, "train_speed(iter/s)": 0.25, "MFU": 0.4})x");
    CHECK(between(swift_of_2025.seconds, 1 / 0.255, 1 / 0.245));
    const auto swift_megatron =
        line_of("ms-swift", R"x({"throughput(TFLOP/s/GPU)": 412.345, "MFU": 0.41, "train_speed(s/it)": 9.5})x");
    CHECK(between(swift_megatron.tflops, 412.3445, 412.3455));

    const auto lightning = line_of("Lightning",
                                   "{'train/device/batches_per_sec': 2.5, 'train/device/items_per_sec': 20480.0, "
                                   "'train/device/flops_per_sec': 4.5e+14, 'train/device/mfu': 0.455}");
    CHECK(between(lightning.seconds, 1 / 2.55, 1 / 2.45));
    CHECK(between(lightning.tflops, 445, 455));
    CHECK(between(lightning.tokens_per_second, 20479.95, 20480.05));
    CHECK(between(line_of("Lightning", "device/batches_per_sec=2.5 device/mfu=0.45").mfu, 0.445, 0.455));
}

TEST_CASE("log records of several lines and CSV logs of trainers are parsed", "[comparison]") {
    const auto records_of = [](std::initializer_list<std::string_view> lines) {
        floptally::trainer_log_reader reader;
        std::vector<floptally::trainer_line> records;
        for (const std::string_view line : lines) {
            if (const auto found = reader.read(line)) {
                records.push_back(*found);
            }
        }
        return records;
    };
    // OLMo-core writes one number a line. The first step has no MFU: its rate must not meet the next one's.
    const auto olmo =
        records_of({"[step=1/400,epoch=1]", "    train/CE loss=11.2", "    throughput/device/TPS=9,876",
                    "[step=2/400,epoch=1,eta=1:02:03]", "    throughput/device/TPS=12,345",
                    "    throughput/device/TPS (actual avg)=11,000", "    throughput/device/MFU=41.25",
                    "    throughput/device/MFU (actual avg)=39.00", "    throughput/total tokens=80,000"});
    REQUIRE(olmo.size() == 1);
    CHECK(olmo[0].trainer == "OLMo-core");
    CHECK(between(olmo[0].tokens_per_second, 12345, 12346));  // cut off, not rounded
    CHECK(between(olmo[0].mfu, 0.41245, 0.41255));

    const auto metrics =
        records_of({"***** train metrics *****", "  epoch                    =        3.0",
                    "  total_flos               = 24236176GF", "  train_loss               =     1.3124",
                    "  train_runtime            = 1 day, 0:49:19.03", "  train_samples_per_second =      2.974"});
    REQUIRE(metrics.size() == 1);
    CHECK(metrics[0].trainer == "Hugging Face Trainer");
    CHECK(between(metrics[0].flops, 24236176.0 * 1073741824, 24236177.0 * 1073741824));  // GF are 2^30 FLOPs, cut off
    CHECK(between(metrics[0].seconds, 89359.025, 89359.035));

    const auto state =
        records_of({"{", " \"log_history\": [", "  {", "   \"loss\": 1.5,", "   \"step\": 10", "  },", "  {",
                    "   \"step\": 20,", "   \"total_flos\": 2.5e+16,", "   \"train_runtime\": 100.5,",
                    "   \"train_samples_per_second\": 8.25", "  }", " ],", " \"total_flos\": 2.5e+16,"});
    REQUIRE(state.size() == 1);
    CHECK(between(state[0].flops, 2.45e16, 2.55e16));
    CHECK(between(state[0].seconds, 100.45, 100.55));

    // Lightning's metrics.csv: rows of other loggers lie between.
    const auto table = records_of({"epoch,step,train/device/batches_per_sec,train/device/flops_per_sec,train_loss",
                                   "0,9,,,2.31", "0,9,2.5,4.5e+14,", "0,19,2.0,4.4e+14,"});
    REQUIRE(table.size() == 2);
    CHECK(table[0].trainer == "Lightning");
    CHECK(between(table[0].tflops, 445, 455));
    CHECK(between(table[1].seconds, 1 / 2.05, 1 / 1.95));
}

TEST_CASE("unrelated log lines and lines with a missing or invalid number are not taken for throughput lines",
          "[comparison]") {
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
