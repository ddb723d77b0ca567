// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/batch/tree.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/floptally.hpp>
#include <floptally/step/step_passes.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace step_passes_test {
namespace {

using namespace floptally;

/// Work of so many FLOPs, which an update runs three times.
breakdown work_of(std::uint64_t tera, bool trains) {
    cost model;
    model.add("mlp", {.in_features = 500'000, .out_features = 1'000'000});  // 10¹² a token
    const flop_counter counter(model, conventions::exact,
                               {.counted = trains ? counted_passes::train : counted_passes::forward});
    tally batch{counter.masks()};
    batch.add(sequence{static_cast<std::uint32_t>(tera)});
    return counter.evaluate(batch);
}

step_pass pass(const char* name, breakdown work, const measurement& time, bool learns = true) {
    step_pass rl_pass{.name = name, .work = std::move(work), .time = gpu_time(time), .learns = learns};
    return rl_pass;
}

}  // namespace

TEST_CASE("each RL pass is divided by its own GPU time, and the total by the wall clock") {
    // 8 GPUs of 100 TFLOP/s: a rollout on all of them, then the learner's passes; 2 seconds in which nothing runs.
    const std::vector<step_pass> passes{
        pass("rollout", work_of(400, false), {10, 8, 100}, false),
        pass("ref", work_of(400, false), {2, 8, 100}),
        pass("update", work_of(400, true), {6, 8, 100}),
    };
    const pass_rates made = rates_of(passes, gpu_time({20, 8, 100}));
    CHECK(made.passes[0].mfu == Approx(400. / (10 * 800)));
    CHECK(made.passes[1].mfu == Approx(400. / (2 * 800)));
    CHECK(made.passes[2].mfu == Approx(1200. / (6 * 800)));
    REQUIRE(made.learner);
    CHECK(made.learner->mfu == Approx(1600. / (8 * 800)));
    CHECK(made.whole.mfu == Approx(2000. / (20 * 800)));
    CHECK(made.whole.useful == flops{uint128{2000} * 1'000'000'000'000U});
    CHECK(made.no_pass == Approx(0.1));
    double sum = made.no_pass;
    double points = 0;
    for (const pass_rate& rate : made.passes) {
        sum += rate.points + rate.lost;
        points += rate.points;
    }
    CHECK(sum == Approx(1));
    CHECK(points == Approx(made.whole.mfu));
}

TEST_CASE("the time shares of RL passes with different peaks add up to the whole step") {
    // A rollout in fp8 fills 8 of 10 seconds, and the update in bf16 the rest.
    const std::vector<step_pass> passes{pass("rollout", work_of(4000, false), {8, 8, 1979}, false),
                                        pass("update", work_of(2000, true), {2, 8, 989})};
    const pass_rates made = rates_of(passes, gpu_time({10, 8, 989}));
    CHECK(made.no_pass == 0);
    CHECK(made.passes[0].points == Approx(4000. / (8 * 1979) / 10));
    CHECK(made.passes[1].points == Approx(6000. / (8 * 989) / 10));
    CHECK(made.passes[0].points + made.passes[0].lost == Approx(0.8));
    CHECK(made.passes[1].points + made.passes[1].lost == Approx(0.2));
    CHECK(made.whole.mfu == Approx(made.passes[0].points + made.passes[1].points));
    CHECK(made.whole.mfu == Approx(0.8 * made.passes[0].mfu + 0.2 * made.passes[1].mfu));
    CHECK(made.whole.mfu + made.whole.lost == Approx(1));
    REQUIRE(made.learner);
    CHECK(made.learner->mfu == Approx(6000. / (2 * 8 * 989)));
    CHECK(made.learner->wall_mfu == Approx(6000. / (10 * 8 * 989)));
    CHECK(to_table(made).find("no pass runs                           0.00") != std::string::npos);
    // Half of the GPUs idle for the whole step: half of the time has no pass, whatever the peaks are.
    CHECK(rates_of(passes, gpu_time({10, 16, 989})).no_pass == Approx(0.5));
    const std::vector<step_pass> learners{pass("values", work_of(4000, false), {8, 8, 1979}),
                                          pass("update", work_of(2000, true), {2, 8, 989})};
    CHECK(rates_of(learners, gpu_time({20, 8, 989})).learner->mfu == Approx(made.whole.mfu));
}

TEST_CASE("RL passes whose peak is unknown have FLOPs and times, and no MFU") {
    step_pass rollout = pass("rollout", work_of(100, false), {4, 8, 100}, false);
    rollout.time.peak_tflop = 0;
    const pass_rates outcome =
        rates_of(std::vector{rollout, pass("update", work_of(100, true), {4, 8, 100})}, gpu_time({10, 8, 100}));
    CHECK_FALSE(outcome.has_peak);
    CHECK(outcome.no_pass == Approx(0.2));
    CHECK(outcome.whole.useful == flops{uint128{400} * 1'000'000'000'000U});
    const std::string text = to_table(outcome);
    CHECK(text.find('%') == std::string::npos);
    CHECK(text.find("the peak is unknown, so that there is no MFU: pass peak_tflops") != std::string::npos);
}

TEST_CASE("RL passes on separate GPU pools may overlap, and only the total MFU counts idle GPUs") {
    // 12 GPUs generate while 4 learn; one second of four is the slower side's.
    const std::vector<step_pass> passes{pass("rollout", work_of(100, false), {4, 12, 100}, false),
                                        pass("update", work_of(200, true), {3, 4, 100})};
    const pass_rates result = rates_of(passes, gpu_time({4, 16, 100}));
    CHECK(result.learner->mfu == Approx(600. / 1200));
    CHECK(result.whole.mfu == Approx(700. / 6400));
    CHECK(result.no_pass == Approx(4. / 64));
}

TEST_CASE("the table of RL passes names a pass that did more FLOPs than its peak allows") {
    const std::vector<step_pass> passes{pass("rollout", work_of(100, false), {1, 8, 100}, false),
                                        pass("update", work_of(2000, true), {3, 8, 100})};
    const table shown = table_of(rates_of(passes, gpu_time({4, 8, 100})));
    REQUIRE(shown.notes.size() == 1);
    CHECK(shown.notes[0] == "update: more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right");
}

TEST_CASE("RL passes that need more time than all GPUs have are an error") {
    const std::vector<step_pass> passes{pass("rollout", work_of(1, false), {4, 8, 100}, false),
                                        pass("update", work_of(1, true), {4, 8, 100})};
    CHECK(error_of([&] {
              static_cast<void>(rates_of(passes, gpu_time({4, 8, 100})));
          }) ==
          "passes: took 64 GPU-seconds, more than the 32 of all GPUs in the step: pass the gpus of the whole job, and "
          "count each second of a GPU in one pass only");
    CHECK_NOTHROW(rates_of(passes, gpu_time({4, 16, 100})));
    const std::vector<step_pass> thirds{pass("rollout", work_of(1, false), {2. / 3, 8, 100}, false),
                                        pass("update", work_of(1, true), {2. / 3, 8, 100})};
    CHECK(error_of([&] {
              static_cast<void>(rates_of(thirds, gpu_time({1. / 3, 8, 100})));
          }).starts_with("passes: took 10.6667 GPU-seconds, more than the 2.66667 of"));
    const std::vector<step_pass> twice{passes[0], passes[0]};
    CHECK(error_of([&] {
              static_cast<void>(rates_of(twice, gpu_time({100, 8, 100})));
          }) == "passes[1]: \"rollout\" is the name of two passes: give each pass its own name");
    CHECK(error_of([&] {
              static_cast<void>(rates_of({}, gpu_time({4, 8, 100})));
          }) == "passes: must have at least one pass, got none");
    CHECK(error_of([&] {
              gpu_time without_peak({16, 8, 100});
              without_peak.peak_tflop = -1;
              static_cast<void>(rates_of(passes, without_peak));
          }) == "peak_tflops: must be a finite number above 0, got -1.000000");
    const std::vector<step_pass> untimed{step_pass{.name = "ref", .work = work_of(1, false)}};
    CHECK(error_of([&] {
              static_cast<void>(rates_of(untimed, gpu_time({4, 8, 100})));
          }) == "ref.seconds: must be a finite number above 0, got 0.000000");
}

TEST_CASE("a forward pass is a third of a training step's FLOPs only if all weights train") {
    // TRL's and verl's division by 3 is wrong for an adapter: a step is then twice its forward and what is around A, B.
    training_plan lora{.weights = {{"*", weight_state::frozen}, {"*/q_proj", weight_state::lora, 16}}};
    const auto total = [](training_plan plan, counted_passes counted) {
        plan.counted = counted;
        const flop_counter counter(presets::llama_3_8b, conventions::exact, plan);
        tally batch{counter.masks()};
        batch.add_lengths(std::vector<std::uint32_t>{1000, 500});
        return to_double(counter.total_flops(batch));
    };
    CHECK(total({}, counted_passes::train) == Approx(3 * total({}, counted_passes::forward)));
    CHECK(total(lora, counted_passes::train) < 2.1 * total(lora, counted_passes::forward));
}

TEST_CASE("an RL step reports rollouts of one prompt both as a tree and as separate sequences") {
    const flop_counter counter(presets::llama_3_8b);
    tally tree{counter.masks()};
    add_tree(tree, std::vector<int>{-1, 0, 0, 0}, std::vector<std::uint32_t>{500, 100, 200, 300});
    tally rows{counter.masks()};
    rows.add_lengths(std::vector<std::uint32_t>{600, 700, 800});
    step_pass update = pass("update", counter.evaluate(tree), {1, 8, 989});
    update.shared = flops{counter.total_flops(rows).value() - counter.total_flops(tree).value()};
    const pass_rates step_rates = rates_of(std::vector{update}, gpu_time({1, 8, 989}));
    CHECK(step_rates.whole.useful == counter.total_flops(tree));
    // Twice more the prompt: its tokens and the pairs among themselves.
    tally prompt{counter.masks()};
    prompt.add(sequence{500});
    CHECK(step_rates.whole.shared.value() == 2 * counter.total_flops(prompt).value());
    CHECK(to_table(step_rates).find(to_string(step_rates.whole.shared)) != std::string::npos);
}

TEST_CASE("the bytes of an RL pass add up over steps and give an MBU in addition to its MFU") {
    step_pass decode = pass("rollout", work_of(3, false), {1, 2, 100}, false);
    decode.bytes_read = 3'000'000'000'000U;
    decode.memory_bytes = 2 * 3e12;
    step_pass twice = decode;
    twice += decode;
    CHECK(twice.bytes_read == 6'000'000'000'000U);
    CHECK(twice.memory_bytes == 4 * 3e12);
    step_pass both = decode;
    both += pass("rollout", work_of(5, false), {3, 2, 100}, false);
    both.memory_bytes += 6 * 3e12;
    const pass_rates rates = rates_of(std::vector{both}, gpu_time({5, 2, 100}));
    CHECK(rates.passes[0].useful == flops{uint128{8} * 1'000'000'000'000U});
    CHECK(rates.passes[0].mfu == Approx(8. / 800));
    CHECK(*rates.passes[0].mbu == Approx(3. / 24));
    CHECK_FALSE(rates.learner);
    CHECK(to_table(rates) == R"(passes of a step

                                        TFLOP   seconds  GPU-seconds      MFU      HFU      MBU
  rollout                               8.000     4.000        8.000   1.00 %   1.00 %  12.50 %
  whole                                 8.000     5.000       10.000   0.80 %   0.80 %        -

  of the whole's time at the peak      points
  all GPUs at their peak               100.00
  no pass runs                         -20.00
  rollout below the peak               -79.20
  MFU of the whole                       0.80
)");
    // A learner stands between its passes and the whole.
    const pass_rates with_learner =
        rates_of(std::vector{both, pass("update", work_of(4, true), {1, 2, 100})}, gpu_time({5, 2, 100}));
    const std::string learns = to_table(with_learner);
    const std::string update = "12.000     1.000        2.000   6.00 %   6.00 %        -\n";
    CHECK(learns.find("  update                               " + update + "  learner                              " +
                      update + "  whole ") != std::string::npos);
}

}  // namespace step_passes_test
