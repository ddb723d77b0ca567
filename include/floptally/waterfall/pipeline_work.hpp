// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/flops.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/parallel/index_range.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/waterfall/pipeline_schedule.hpp>

namespace floptally {

/// What each chunk of a pipeline executes for one of `microbatches` equal parts of a batch, in forward order, in a unit
/// that all of them share. `model` is the whole model's parts, or those of one tensor parallel rank.
[[nodiscard]] inline std::vector<chunk_work> pipeline_work(std::span<const model_part> model,
                                                           const pipeline_split& split, const tally& batch,
                                                           std::uint64_t microbatches, const training_plan& plan = {}) {
    require_positive(microbatches, "microbatches");
    std::vector<std::uint64_t> layers;
    for (const index_range& chunk : split.chunks()) {
        layers.push_back(chunk.size());
    }
    const pipeline_split chunks(layers.size(), layers);  // each on a rank of its own
    std::vector<flops> passes;
    flops sum;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const breakdown work = flop_counter(chunks.parts_of(model, i), conventions::exact, plan).evaluate(batch);
        passes.push_back(work.get(view::executed, phase::forward));
        passes.push_back(work.get(view::executed, phase::backward_data) + work.get(view::executed, phase::recompute));
        passes.push_back(work.get(view::executed, phase::backward_weights));
        sum += work.total(view::executed);
    }
    // The whole batch's FLOPs are those of a microbatch in parts of 1 / microbatches; all that a pipeline adds up fits.
    unsigned bits = 0;
    while (((microbatches * sum).value() >> bits) >> 62U != 0) {
        ++bits;
    }
    std::vector<chunk_work> work;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const auto scaled = [&](std::size_t pass) {
            return static_cast<std::uint64_t>(passes[3 * i + pass].value() >> bits);
        };
        work.push_back({scaled(0), scaled(1), scaled(2)});
    }
    return work;
}

}  // namespace floptally
