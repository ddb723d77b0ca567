// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/parts_of.hpp>

/// @file
/// Counts the bytes that an inference engine moves to decode requests together. Each step of the engine has its own
/// batch.

namespace floptally::inline v0_3 {

/// Consecutive steps of an inference engine. In every step the same requests process the same numbers of new tokens.
struct equal_steps {
    std::uint32_t steps = 0;
    std::vector<pass_run> runs{};  ///< for each request, its `steps` forward passes
};

/// Returns the steps of an engine that starts all requests together and drops each request when it is done. A new
/// `equal_steps` begins when the batch changes.
[[nodiscard]] inline std::vector<equal_steps> steps_of(std::span<const request> requests,
                                                       std::uint32_t prefill_chunk = whole_prompt) {
    static_cast<void>(request_passes(requests, prefill_chunk));  // This call throws for invalid requests.
    struct timed_run {
        pass_run run;
        std::uint32_t first;
    };
    std::vector<timed_run> timed_runs;
    std::vector<std::uint32_t> cuts{0};
    for (const request& asked : requests) {
        std::uint32_t now = 0;
        for_each_run(asked, prefill_chunk, [&](const pass_run& run) {
            timed_runs.push_back({run, now});
            now += run.passes;
            cuts.push_back(now);
        });
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<equal_steps> steps;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        equal_steps& now = steps.emplace_back(equal_steps{cuts[i + 1] - cuts[i]});
        for (const timed_run& timed : timed_runs) {
            if (timed.first <= cuts[i] && cuts[i] < timed.first + timed.run.passes) {
                now.runs.push_back(timed.run.after(cuts[i] - timed.first).first(now.steps));
            }
        }
    }
    return steps;
}

/// Counts the bytes of requests that are decoded together (`steps_of`). Each step reads the weights and the cache of
/// every request once. A step reads at most as many experts as its tokens visit. Throws `error` for a model whose cost
/// needs measured numbers.
template <model_record Model>
[[nodiscard]] step_bytes bytes_of_requests(const Model& model, std::span<const request> requests,
                                           std::uint32_t prefill_chunk = whole_prompt, const training_plan& plan = {},
                                           const element_bits& bits = {}) {
    step_bytes sum;
    for (const equal_steps& now : steps_of(requests, prefill_chunk)) {
        byte_counter counter(model, plan, bits, now.steps);
        counter.mark_alike();
        counter.add(pass_runs(now.runs));
        sum += counter.count();
    }
    return sum;
}

}  // namespace floptally
