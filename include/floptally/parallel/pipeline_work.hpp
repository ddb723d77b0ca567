// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>

/// @file
/// The work of each chunk of a pipeline, from a model's parts.

namespace floptally {

/// The executed work of each chunk of a pipeline for one of `microbatches` equal parts of a batch, in forward order and
/// in one unit for all chunks. `model` has the parts of the whole model, or those of one tensor parallel rank.
[[nodiscard]] inline std::vector<chunk_work> pipeline_work(std::span<const model_part> model,
                                                           const pipeline_split& split, const tally& batch,
                                                           std::uint64_t microbatches, const training_plan& plan = {}) {
    require_positive(microbatches, "microbatches");
    std::vector<std::uint64_t> layers;
    for (const index_range& chunk : split.chunks()) {
        layers.push_back(chunk.size());
    }
    const pipeline_split chunks(layers.size(), layers);  // each chunk on a rank of its own
    std::vector<flops> passes;
    flops sum;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const breakdown work = flop_counter(chunks.parts_of(model, i), conventions::exact, plan).evaluate(batch);
        passes.push_back(work.get(view::executed, phase::forward));
        passes.push_back(work.get(view::executed, phase::backward_data) + work.get(view::executed, phase::recompute));
        passes.push_back(work.get(view::executed, phase::backward_weights));
        sum += work.total(view::executed);
    }
    // The batch's FLOPs are a microbatch's in units of 1 / microbatches, so that all sums of a pipeline fit 64 bits.
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
