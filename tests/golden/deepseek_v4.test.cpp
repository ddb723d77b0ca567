// SPDX-License-Identifier: Apache-2.0
//
// DeepSeek-V4-Flash by torchtitan (its change 4441): 92 762 352 876 FLOPs a token with one layer of multi-token
// prediction, at 4096 tokens. What its formula has otherwise than `exact` is a sum of six terms.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "markdown.hpp"

namespace deepseek_v4_test {
namespace {

using namespace floptally;
using nlohmann::json;

constexpr std::uint32_t tokens = 4096;

json flash() {
    for (const json& model : golden("published.json")) {
        if (model["name"] == "deepseek-ai/DeepSeek-V4-Flash") {
            return model["config"];
        }
    }
    FAIL("published.json has no DeepSeek-V4-Flash");
    return {};
}

/// Σ over the rows for which `select` has true of FLOPs per unit, times `count(entry)`, in a step of three passes or
/// one.
template <class Select, class Count>
std::int64_t sum_of(const cost& model, Select select, Count count) {
    std::int64_t sum = 0;
    for (const cost_entry& entry : model.entries()) {
        if (select(entry)) {
            sum += static_cast<std::int64_t>(entry.useful) * count(entry);
        }
    }
    return sum;
}

std::string spaced(std::int64_t number) {
    std::string digits = std::to_string(number < 0 ? -number : number);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, " ");
    }
    return number < 0 ? "\xE2\x88\x92" + digits : digits;
}

}  // namespace

TEST_CASE("torchtitan's FLOPs for DeepSeek-V4-Flash are the exact FLOPs plus six named terms") {
    const model_config config = read_config(flash(), {.mtp_layers = 1});
    const cost& model = config.cost;
    CHECK(model.parameters() == 290'942'278'866);

    const auto length = static_cast<std::int64_t>(tokens);
    const sequence text{.length = tokens};
    const auto attended = [&](const cost_entry& entry) {
        return static_cast<std::int64_t>(model.masks()[entry.mask].pairs(text));
    };
    // Its pairs: whole windows for every query, and every compressed key of the sequence, or as many as are best.
    const auto theirs = [&](const cost_entry& entry) {
        const statistic& attends = model.masks()[entry.mask];
        if (attends.is<mask_statistics::best_compressed_keys>()) {
            const auto best = attends.as<mask_statistics::best_compressed_keys>();
            return length * std::min<std::int64_t>(best.keys, length / best.ratio);
        }
        if (attends.is<mask_statistics::compressed_keys>()) {
            return length * (length / attends.as<mask_statistics::compressed_keys>().ratio);
        }
        return length * (attends.as<mask_statistics::band>().left + 1);
    };
    const auto more = [&](const cost_entry& entry) { return theirs(entry) - attended(entry); };
    const auto is_core = [](const cost_entry& entry) {
        return entry.what == accumulator::pairs && (entry.kind == term::scores || entry.kind == term::values);
    };
    const auto is_window = [&](const cost_entry& entry) {
        return model.masks()[entry.mask].is<mask_statistics::band>();
    };
    const auto is_score = [](const cost_entry& entry) {
        return entry.what == accumulator::pairs && is_detached(entry.kind);
    };
    const auto is_indexer = [](const cost_entry& entry) { return is_detached(entry.kind); };
    const auto units = [&](const cost_entry& entry) {
        return entry.what == accumulator::pairs ? theirs(entry) : length;
    };

    tally batch{model.masks()};
    batch.add(text);
    const flops exact = evaluate(model, batch).total(view::useful);
    REQUIRE(exact.high() == 0);
    const std::vector<std::int64_t> terms{
        static_cast<std::int64_t>(exact.low()),
        3 * sum_of(
                model, [&](const cost_entry& entry) { return is_core(entry) && is_window(entry); }, more),
        3 * sum_of(
                model, [&](const cost_entry& entry) { return is_core(entry) && !is_window(entry); }, more),
        sum_of(model, is_score, more),
        2 * sum_of(model, is_indexer, units),
        3 * sum_of(
                model,
                [](const cost_entry& entry) {
                    return entry.kind == term::norm || entry.kind == term::latent_norm || entry.kind == term::bias;
                },
                units),
        -3 * sum_of(
                 model, [](const cost_entry& entry) { return entry.kind == term::state; }, units)};
    std::int64_t sum = 0;
    for (const std::int64_t value : terms) {
        sum += value;
    }
    CHECK(sum == length * 92'762'352'876);
    const flop_counter theirs_by_name(model, conventions::torchtitan_2026);
    tally counted{theirs_by_name.masks()};
    counted.add(text);
    CHECK(to_string(theirs_by_name.total_flops(counted, view::useful)) == std::to_string(length * 92'762'352'876));

    // docs/conventions.md lists them.
    const std::string page = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/conventions.md");
    for (const std::int64_t value : terms) {
        INFO(spaced(value));
        CHECK(page.find("| " + spaced(value) + " |") != std::string::npos);
    }
    CHECK(page.find("| " + spaced(sum) + " |") != std::string::npos);
}

TEST_CASE(
    "MaxText's FLOPs for DeepSeek-V4-Flash are those of the library's MaxText convention plus three named terms") {
    // calculate_deepseek4_tflops_training_per_device of AI-Hypercomputer/maxtext@e591f30cbbf2, with its config
    // deepseek4-284b.yml, one sequence a device, run on fractions.
    struct counted {
        std::uint32_t length;
        std::int64_t flops;
    };
    const model_config config = read_config(flash());
    const json model = flash();
    const std::int64_t h = model["hidden_size"];
    const std::int64_t layers = model["num_hidden_layers"];
    const std::int64_t streams = model["hc_mult"];
    const std::int64_t sparse = 21;  // layers whose ratio is 4
    for (const auto& [length, theirs] : {counted{4096, 350'679'918'968'832}, counted{8192, 711'221'619'720'192}}) {
        const flop_counter preset(config.cost, conventions::maxtext_2026, {.flash_attention = false});
        tally batch{preset.masks()};
        batch.add(sequence{.length = length});
        const std::int64_t step_tokens = length;
        // Streams contracted to one and spread again, twice a layer.
        const std::int64_t contracted = 3 * 2 * layers * step_tokens * (2 * streams * h + streams * h);
        // The head that contracts the streams after the last layer.
        const std::int64_t head = 3 * step_tokens * 2 * streams * h * streams;
        // The sum over an indexer's heads as a product, half of the box.
        const std::int64_t head_sums =
            3 * sparse * step_tokens * (step_tokens / 4) * model["index_n_heads"].get<std::int64_t>();
        CHECK(to_string(preset.total_flops(batch, view::useful)) ==
              std::to_string(theirs - contracted + head - head_sums));
    }
}

}  // namespace deepseek_v4_test
