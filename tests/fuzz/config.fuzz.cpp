// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a config: a model whose views are in order, or a floptally::error. Nothing else may happen.

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include <floptally/batch/tally.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>

#include "fuzz_input.hpp"

namespace {

void count(const floptally::cost& model) {
    const floptally::flop_counter counted(model);
    floptally::tally batch{model.masks()};
    batch.add({.length = 1000, .keys = 70}, {.length = 1024, .keys = 128});
    batch.add({}, {.length = 64, .keys = 8});
    const floptally::breakdown work = counted.evaluate(batch);
    for (const floptally::view seen : {floptally::view::useful, floptally::view::padded, floptally::view::executed}) {
        require(counted.total_flops(batch, seen) == work.total(seen));
    }
    require(work.total(floptally::view::useful) <= work.total(floptally::view::padded));
    require(work.total(floptally::view::padded) <= work.total(floptally::view::executed));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    // The first byte chooses the options, the rest is the text.
    floptally::read_options options;
    options.mla = (data[0] & 1U) != 0 ? floptally::mla_core::absorbed : floptally::mla_core::expanded;
    options.mtp_layers = (data[0] >> 1U) & 3U;
    options.padded_vocab_size = (data[0] & 8U) != 0 ? 1U << (data[0] >> 4U) * 2U : 0;
    std::istringstream text(std::string(reinterpret_cast<const char*>(data + 1), size - 1));
    try {
        count(floptally::read_config(text, options).cost);
    } catch (const floptally::error& problem) {
        require(!problem.field().empty() && !problem.problem().empty());
    }
    return 0;
}
