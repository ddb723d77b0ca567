// SPDX-License-Identifier: Apache-2.0
//
// The FLOPs of padding by cause, for a batch as a user names it, against its sequences one by one.

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/input/input_padding.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace input_padding_test {
namespace {

using namespace floptally;

model_config with_vocabulary(std::uint64_t padded) {
    const transformer<gqa, mlp> text{.hidden_size = 8,
                                     .num_layers = 2,
                                     .attention = {.num_heads = 2, .num_kv_heads = 1, .head_dim = 4},
                                     .feed_forward = {.intermediate_size = 16},
                                     .vocab = {.size = 33, .padded_size = padded}};
    model_config model;
    model.model_type = "own";
    model.cost = text.cost();
    return model;
}

struct counted {
    tally batch;
    std::optional<padding_flops> padding;
};

counted count(const model_config& model, const model_input& input) {
    const flop_counter as(model);
    counted counts{tally{as.masks()}, {}};
    add_input(input, model, counts.batch);
    counts.padding = padding_of(input, model, as, counts.batch);
    return counts;
}

struct row {
    std::uint32_t real;
    std::uint32_t slot;
};

/// Row by row: `whole` has the padded vocabulary, `plain` only the real one.
void is_spent(const counted& found, const std::vector<row>& rows, const model_config& whole,
              const model_config& plain) {
    const flop_counter all(whole);
    const flop_counter without(plain);
    uint128 useful = 0, in_slots = 0, mock = 0, vocabulary = 0;
    for (const row& line : rows) {
        const uint128 real = without.total_flops(sequence{.length = line.real}).value();
        const uint128 slot = without.total_flops(sequence{.length = line.slot}).value();
        useful += real;
        (line.real == 0 ? mock : in_slots) += slot - real;
        vocabulary += all.total_flops(sequence{.length = line.slot}, view::padded).value() - slot;
    }
    REQUIRE(found.padding.has_value());
    CHECK(found.padding->useful == flops{useful});
    CHECK(found.padding->in_slots == flops{in_slots});
    CHECK(found.padding->mock == flops{mock});
    CHECK(found.padding->vocabulary == flops{vocabulary});
    CHECK(found.padding->padded() == all.total_flops(found.batch, view::padded));
}

}  // namespace

TEST_CASE("padding is reported by cause (slots, mock sequences, vocabulary) for every input format") {
    const model_config plain = with_vocabulary(33);
    for (const std::uint64_t vocabulary : {33U, 64U}) {
        const model_config model = with_vocabulary(vocabulary);
        const std::vector<row> rows{{3, 8}, {8, 8}, {0, 8}, {5, 8}};
        const std::array lengths{3, 8, 0, 5};
        is_spent(count(model, {.lengths = {{.lengths = lengths, .row_length = 8}}}), rows, model, plain);
        const std::array<std::int64_t, 16> flags{1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0};
        const std::vector<row> by_flags{{3, 4}, {3, 4}, {0, 4}, {1, 4}};
        is_spent(count(model, {.attention_mask = model_input::flag_rows{flags, 4, 4}}), by_flags, model, plain);
        const std::array cu_seqlens{0, 3, 8, 12};
        const std::array slots{0, 4, 12, 16};
        is_spent(count(model, {.boundaries = model_input::packed{cu_seqlens, integer_view(slots), 2}}),
                 {{3, 4}, {5, 8}, {0, 4}}, model, plain);

        // Rows that were counted before, told apart, and what was counted before without padding are as good.
        const flop_counter as(model);
        split_tally before{as.masks()};
        before.add_padded(lengths, 8);
        tally dense{as.masks()};
        dense.add_lengths(std::array{7, 2});
        std::vector<row> more = rows;
        more.insert(more.end(), {{7, 7}, {2, 2}});
        is_spent(count(model, {.rows = {{"rows", before.real(), before.mock()}}, .tallies = {dense}}), more, model,
                 plain);
    }
}

TEST_CASE("padding by cause is absent if nothing is padded or the cause is unknown") {
    const model_config plain = with_vocabulary(33);
    const std::array lengths{3, 8};
    CHECK_FALSE(count(plain, {.lengths = {{.lengths = lengths}}}).padding.has_value());
    is_spent(count(with_vocabulary(64), {.lengths = {{.lengths = lengths}}}), {{3, 3}, {8, 8}}, with_vocabulary(64),
             plain);

    const flop_counter as(plain);
    tally padded{as.masks()};
    padded.add_padded(lengths, 8);
    CHECK_FALSE(count(plain, {.tallies = {padded}}).padding.has_value());
    CHECK_FALSE(
        count(plain, {.lengths = {{.lengths = lengths, .row_length = 9}}, .tallies = {padded}}).padding.has_value());

    // Visits to experts are those of the batch: as many of both views, or nobody knows whose the others are.
    const model_input visits{.lengths = {{.lengths = lengths, .row_length = 8}}, .measured = {{"routed", 4, 4}}};
    REQUIRE(count(plain, visits).padding.has_value());
    CHECK(count(plain, visits).batch.get(view::padded, accumulator::routed) == 4);
    CHECK_FALSE(count(plain, {.lengths = visits.lengths, .measured = {{"routed", 4, 6}}}).padding.has_value());
}

TEST_CASE("a measured accumulator that the model does not count is an error with the accumulator's name") {
    const model_config plain = with_vocabulary(33);
    CHECK(error_of([&] {
              return count(plain, {.measured = {{"prompt_tokens", 4, 4}}});
          }) == "measured: \"prompt_tokens\" is not an amount that own counts; remove it");
    model_config keeps = plain;
    keeps.cost.keep(measured("prompt_tokens"));
    const counted result = count(keeps, {.measured = {{"prompt_tokens", 4, 5}}});
    CHECK(result.batch.pairs(view::useful, measured("prompt_tokens")) == 4);
    CHECK(result.batch.pairs(view::padded, measured("prompt_tokens")) == 5);
}

}  // namespace input_padding_test
