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
/// Bytes of requests that an engine decodes together, each of its steps by the batch that it then has.

namespace floptally {

/// Steps of an engine in each of which the same requests run as many new tokens.
struct equal_steps {
    std::uint32_t steps = 0;
    std::vector<pass_run> runs{};  ///< one of each request, of `steps` passes
};

/// The steps of an engine that begins all requests at once and lets each go when it is done: their passes side by side,
/// cut where the batch changes.
[[nodiscard]] inline std::vector<equal_steps> steps_of(std::span<const request> requests,
                                                       std::uint32_t prefill_chunk = whole_prompt) {
    static_cast<void>(request_passes(requests, prefill_chunk));  // checks them
    struct timed_run {
        pass_run run;
        std::uint32_t first;
    };
    std::vector<timed_run> all;
    std::vector<std::uint32_t> cuts{0};
    for (const request& one : requests) {
        std::uint32_t now = 0;
        for_each_run(one, prefill_chunk, [&](const pass_run& run) {
            all.push_back({run, now});
            now += run.passes;
            cuts.push_back(now);
        });
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<equal_steps> steps;
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
        equal_steps& now = steps.emplace_back(equal_steps{cuts[i + 1] - cuts[i]});
        for (const timed_run& one : all) {
            if (one.first <= cuts[i] && cuts[i] < one.first + one.run.passes) {
                now.runs.push_back(one.run.after(cuts[i] - one.first).first(now.steps));
            }
        }
    }
    return steps;
}

/// Bytes of requests that are decoded together (`steps_of`): in each step the weights are read once, experts as far as
/// the tokens of that step visit them, and the cache of every request. A model with measured words has no such form.
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
