// SPDX-License-Identifier: Apache-2.0
//
// One batch, seen as useful and as padded: what real tokens need, and what kernels process.

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "golden.hpp"
#include "matmul_trace.hpp"

namespace views_test {
namespace {

namespace unit = floptally::unit;
using floptally::accumulator;
using floptally::breakdown;
using floptally::cost;
using floptally::error;
using floptally::evaluate;
using floptally::flop_counter;
using floptally::flops;
using floptally::mask;
using floptally::mask_set;
using floptally::modality;
using floptally::padding_flops;
using floptally::padding_of;
using floptally::phase;
using floptally::recompute;
using floptally::sequence;
using floptally::split_tally;
using floptally::tally;
using floptally::uint128;
using floptally::view;
using nlohmann::json;

std::vector<std::uint64_t> accumulators(const tally& t) { return {t.accumulators().begin(), t.accumulators().end()}; }

/// The masks of a model with a window: they need accumulators of their own.
const mask_set& windowed() {
    static const mask_set masks = [] {
        mask_set set;
        set.push_back(mask::sliding_window(3), "masks");
        set.push_back(mask::chunked(4), "masks");
        return set;
    }();
    return masks;
}

/// Real sequences in slots, added one by one: what every other way to add them is compared with.
tally one_by_one(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& sequences) {
    tally sum{windowed()};
    for (const auto& [real, slot] : sequences) {
        sum.add({.length = real}, {.length = slot});
    }
    return sum;
}

std::uint64_t enumerated_causal_pairs(std::uint64_t length) {
    std::uint64_t pairs = 0;
    for (std::uint64_t query = 0; query < length; ++query) {
        for (std::uint64_t key = 0; key <= query; ++key) {
            ++pairs;
        }
    }
    return pairs;
}

// ---- matmuls of the models ----

struct written_model {
    std::uint64_t hidden_size, layers, heads, kv_heads, head_dim, intermediate_size, vocabulary;
    bool gated, causal, dense_before_head;
};

const written_model esm2{1280, 33, 20, 20, 64, 5120, 33, false, false, true};
const written_model llama3{4096, 32, 32, 8, 128, 14336, 128256, true, true, false};
const written_model opengenome2{4096, 32, 32, 8, 128, 14336, 256, true, true, false};
const written_model encodon{2048, 18, 16, 16, 128, 8192, 69, false, false, true};

matmul_trace::step traced(const written_model& m, const matmul_trace::sequence_list& sequences,
                          std::uint64_t vocabulary) {
    const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
    matmul_trace::step step;
    for (std::uint64_t layer = 0; layer < m.layers; ++layer) {
        matmul_trace::attention(step, sequences, m.hidden_size, m.heads, m.kv_heads, m.head_dim,
                                m.causal ? matmul_trace::causal() : matmul_trace::bidirectional());
        matmul_trace::mlp(step, "mlp", tokens, m.hidden_size, m.intermediate_size, m.gated);
    }
    if (m.dense_before_head) {
        matmul_trace::lm_head(step, tokens, m.hidden_size, m.hidden_size);
    }
    matmul_trace::lm_head(step, tokens, m.hidden_size, vocabulary);
    return step;
}

json config_named(const std::string& id) {
    for (const json& output : golden("bionemo_models.json")) {
        if (output["id"] == id) {
            CHECK_FALSE(output["source"].get<std::string>().empty());
            return output["config"];
        }
    }
    FAIL("no model " << id);
    return {};
}

floptally::model_config model_named(const std::string& id, const floptally::read_options& options = {}) {
    return floptally::read_config(config_named(id), options);
}

}  // namespace

// ---- N: useful and padded ----

TEST_CASE("cu_seqlens, cu_seqlens_padded and num_real_seqs can be passed in any combination", "[views]") {
    const std::vector<std::int32_t> cu_seqlens{0, 5, 11, 14, 16};
    const std::vector<std::int32_t> cu_seqlens_padded{0, 8, 16, 20, 24};
    const auto add_case = [&](std::size_t num_real_seqs) {
        tally sum{windowed()};
        sum.add_cu_seqlens(cu_seqlens, cu_seqlens_padded, num_real_seqs);
        return sum;
    };
    CHECK(add_case(4) == one_by_one({{5, 8}, {6, 8}, {3, 4}, {2, 4}}));
    CHECK(add_case(floptally::all_sequences) == add_case(4));
    // One mock sequence, several, nothing else.
    CHECK(add_case(3) == one_by_one({{5, 8}, {6, 8}, {3, 4}, {0, 4}}));
    CHECK(add_case(2) == one_by_one({{5, 8}, {6, 8}, {0, 4}, {0, 4}}));
    CHECK(add_case(0) == one_by_one({{0, 8}, {0, 8}, {0, 4}, {0, 4}}));
    CHECK(add_case(2).get(view::useful, accumulator::tokens) == 11);
    CHECK(add_case(2).get(view::useful, accumulator::squares) == 25 + 36);
    CHECK(add_case(2).get(view::padded, accumulator::tokens) == 24);
    CHECK(add_case(2).get(view::padded, accumulator::squares) == 64 + 64 + 16 + 16);

    // A collator that appends its mock sequence to cu_seqlens itself, without slots: the same array is given twice.
    tally mutated{windowed()};
    mutated.add_cu_seqlens(cu_seqlens, cu_seqlens, 3);
    CHECK(mutated == one_by_one({{5, 5}, {6, 6}, {3, 3}, {0, 2}}));
    // Without num_real_seqs both views collapse to one inflated value.
    tally collapsed{windowed()};
    collapsed.add_cu_seqlens(cu_seqlens);
    CHECK(collapsed.get(view::useful, accumulator::squares) == mutated.get(view::padded, accumulator::squares));

    CHECK(error_of([&] { return add_case(5), 0; }) ==
          "num_real_seqs: must be at most the 4 sequences of cu_seqlens, got 5");
}

TEST_CASE("boundaries that end with the last real sequence count the same as num_real_seqs with all boundaries",
          "[views]") {
    // Option B of BioNeMo's issue 1561: the collator appends mock sequences to cu_seq_lens_q and keeps what was there.
    const std::vector<std::int32_t> cu_seq_lens_q{0, 5, 11, 14, 16};
    for (std::size_t real = 0; real <= 4; ++real) {
        const std::vector<std::int32_t> cu_seq_lens_q_real(
            cu_seq_lens_q.begin(), cu_seq_lens_q.begin() + static_cast<std::ptrdiff_t>(real) + 1);
        tally remaining{windowed()};
        remaining.add_packed(cu_seq_lens_q_real, cu_seq_lens_q);
        tally counted{windowed()};
        counted.add_cu_seqlens(cu_seq_lens_q, cu_seq_lens_q, real);
        CHECK(remaining == counted);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> sequences{{5, 5}, {6, 6}, {3, 3}, {2, 2}};
        for (std::size_t mock = real; mock < 4; ++mock) {
            sequences[mock].first = 0;
        }
        CHECK(remaining == one_by_one(sequences));
    }
}

TEST_CASE("add_attention_mask counts the sum of each mask row as useful length and the row's width as padded length",
          "[views]") {
    const std::array<std::int64_t, 16> right{1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0};
    const tally expected = one_by_one({{5, 8}, {3, 8}});
    const auto add_batch = [](const auto& flags, std::size_t rows, std::size_t columns) {
        tally sum{windowed()};
        sum.add_attention_mask(flags, {.rows = rows, .columns = columns});
        return sum;
    };
    CHECK(add_batch(right, 2, 8) == expected);
    CHECK(add_batch(right, 2, 8).get(view::useful, accumulator::squares) == 25 + 9);
    CHECK(add_batch(right, 2, 8).get(view::padded, accumulator::squares) == 128);

    // Left padding, both sides, and every type that flags come in.
    const bool left[]{false, false, false, true, true, true,  true,  true,
                      false, false, true,  true, true, false, false, false};
    CHECK(add_batch(left, 2, 8) == expected);
    CHECK(add_batch(std::vector<std::uint8_t>(right.begin(), right.end()), 2, 8) == expected);
    CHECK(add_batch(std::vector<std::int32_t>(right.begin(), right.end()), 2, 8) == expected);
    CHECK(add_batch(std::vector<signed char>(right.begin(), right.end()), 2, 8) == expected);

    // A shape gives the same numbers: rows of 8, and an entry without a token is a mock sequence.
    tally rows{windowed()};
    rows.add_padded(std::array{5, 3, 0, 8}, 8);
    CHECK(rows == one_by_one({{5, 8}, {3, 8}, {0, 8}, {8, 8}}));
    CHECK(add_batch(std::vector<int>{1, 1, 0, 0}, 2, 2) == one_by_one({{2, 2}, {0, 2}}));
    CHECK(add_batch(std::vector<int>{}, 0, 7) == tally{windowed()});
    CHECK(add_batch(std::vector<int>{}, 7, 0) == tally{windowed()});

    constexpr std::uint64_t constant = [] {
        constexpr bool flags[]{true, false, true, true};
        tally sum;
        sum.add_attention_mask(flags, {.rows = 2, .columns = 2});
        sum.add_padded(std::array{1, 2}, 2);
        return sum.get(view::useful, accumulator::squares) * 100 + sum.get(view::padded, accumulator::squares);
    }();
    CHECK(constant == 10 * 100 + 16);
}

TEST_CASE("an invalid attention mask or padded batch is an error that names the position", "[views]") {
    tally sum{windowed()};
    sum.add({.length = 4}, {.length = 6});
    const std::vector<std::uint64_t> before = accumulators(sum);
    const auto problem = [&](const std::vector<int>& flags, std::size_t rows, std::size_t columns) {
        const std::string text =
            error_of([&] { return sum.add_attention_mask(flags, {.rows = rows, .columns = columns}), 0; });
        CHECK(accumulators(sum) == before);
        return text;
    };
    CHECK(problem({1, 1, 0, 1, 2, 0}, 2, 3) == "attention_mask[4]: must be 0 or 1, got 2");
    CHECK(problem({1, 1, 0, -1, 1, 0}, 2, 3) == "attention_mask[3]: must be 0 or 1, got -1");
    CHECK(problem({1, 1, 1, 1, 0, 1}, 2, 3) ==
          "attention_mask[5]: is 1 after the real tokens of row 1 have ended: the real tokens of a row must be "
          "consecutive, with padding only before or after them");
    CHECK(problem({1, 1, 1, 1, 0}, 2, 3) == "attention_mask: must have 2 x 3 = 6 entries, got 5");
    CHECK(problem({1}, std::size_t{1} << 33, std::size_t{1} << 33) ==
          "attention_mask: 8589934592 x 8589934592 does not fit 64 bits: use smaller numbers");
    CHECK(problem({}, 0, std::size_t{1} << 33) ==
          "attention_mask: must have rows of at most 4294967295 tokens, got 8589934592");

    const auto rows = [&](const std::vector<int>& lengths, std::uint64_t row_length) {
        const std::string text = error_of([&] { return sum.add_padded(lengths, row_length), 0; });
        CHECK(accumulators(sum) == before);
        return text;
    };
    CHECK(rows({3, 9}, 8) == "lengths[1]: must be at most the row_length, 8, got 9");
    CHECK(rows({3, -1}, 8) == "lengths[1]: must be at least 0, got -1");
    CHECK(rows({3}, std::uint64_t{1} << 32) == "row_length: must be at most 4294967295, got 4294967296");
}

TEST_CASE("a block of padded rows counts the same as the rows added one by one", "[views]") {
    // More rows than a block of the vector code has.
    std::vector<std::int32_t> lengths;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> sequences;
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const std::uint32_t length = i * i * 7919 % 513;
        lengths.push_back(static_cast<std::int32_t>(length));
        sequences.emplace_back(length, 512);
    }
    tally sum{windowed()};
    sum.add_padded(lengths, 512);
    CHECK(sum == one_by_one(sequences));
}

TEST_CASE("the lm_head counts the real vocabulary in the useful view and the padded vocabulary in the padded view",
          "[views]") {
    // Entries of 9 with 7 and 4 real tokens.
    const matmul_trace::sequence_list real{{7}, {4}};
    const matmul_trace::sequence_list slots{{9}, {9}};
    const floptally::read_options padded{.padded_vocab_size = 64};
    const cost model = model_named("esm2-650m", padded).cost;
    tally batch{model.masks()};
    batch.add_padded(std::array{7, 4}, 9);
    CHECK(matmul_trace::mismatches(evaluate(model, batch), traced(esm2, real, 33), traced(esm2, slots, 64)) == "");
    // 6·h·V a token for the three passes; the dense layer before it has no vocabulary.
    const auto head = [&](view seen) { return evaluate(model, batch)["lm_head"].total(seen).low(); };
    CHECK(head(view::useful) == 11 * 6 * 1280 * (1280 + 33));
    CHECK(head(view::padded) == 18 * 6 * 1280 * (1280 + 64));
    // Parameters stay those of the real vocabulary.
    CHECK(model.parameters() == model_named("esm2-650m").cost.parameters());

    // In floptally's own format an option outranks the key too.
    json own = json::parse(R"({"model_type": "floptally", "hidden_size": 8, "vocab_size": 33, "padded_vocab_size": 40,
                               "layers": [{"parts": [{"type": "mlp", "intermediate_size": 8}]}]})");
    const auto own_head = [&](const floptally::read_options& options) {
        const cost written = floptally::read_config(own, options).cost;
        tally item{written.masks()};
        item.add(sequence{.length = 1});
        return evaluate(written, item)["lm_head"].total(view::padded).low();
    };
    CHECK(own_head({}) == 6 * 8 * 40);
    CHECK(own_head(padded) == 6 * 8 * 64);
    // Multi-token prediction computes the logits once more.
    const auto mtp = [&](const floptally::read_options& options, view seen) {
        const cost written = floptally::read_config(json{{"model_type", "llama"},
                                                         {"vocab_size", 33},
                                                         {"hidden_size", 8},
                                                         {"intermediate_size", 8},
                                                         {"num_hidden_layers", 1},
                                                         {"num_attention_heads", 1}},
                                                    options)
                                 .cost;
        tally expected_sums{written.masks()};
        expected_sums.add(sequence{.length = 1});
        return evaluate(written, expected_sums)["mtp"].total(seen).low();
    };
    CHECK(mtp({.mtp_layers = 1, .padded_vocab_size = 64}, view::padded) -
              mtp({.mtp_layers = 1, .padded_vocab_size = 64}, view::useful) ==
          6 * 8 * (64 - 33));

    CHECK(error_of([] { return model_named("esm2-650m", {.padded_vocab_size = 32}); }) ==
          "padded_vocab_size: must be at least vocab_size (33), got 32");
    CHECK(error_of([&] { return floptally::read_config(own, {.padded_vocab_size = 32}); }) ==
          "padded_vocab_size: must be at least vocab_size (33), got 32");
    json without = {{"model_type", "llama"}, {"architectures", {"LlamaForSequenceClassification"}}};
    CHECK(error_of([&] { return floptally::read_config(without, padded); }) ==
          "padded_vocab_size: needs a class with an lm_head, but the class in architectures has none: leave "
          "padded_vocab_size out, or "
          "name a class with one");
    own.erase("vocab_size");
    own.erase("padded_vocab_size");
    CHECK(error_of([&] { return floptally::read_config(own, padded); }) ==
          "padded_vocab_size: needs vocab_size in the config: add it, or leave padded_vocab_size out");
}

TEST_CASE("configs written by BioNeMo recipes count the same matmuls as the original configs", "[views]") {
    const matmul_trace::sequence_list real{{7}, {0}, {5}};
    const matmul_trace::sequence_list slots{{8}, {4}, {5}};
    const auto check = [&](const json& config, const written_model& written, std::uint64_t padded_vocabulary) {
        const cost model = floptally::read_config(config).cost;
        const tally batch = matmul_trace::tally_of(model.masks(), {real, slots});
        CHECK(matmul_trace::mismatches(evaluate(model, batch), traced(written, real, written.vocabulary),
                                       traced(written, slots, padded_vocabulary)) == "");
    };
    json esm = config_named("esm2-650m");
    esm.update({{"model_type", "nv_esm"}, {"architectures", {"NVEsmForMaskedLM"}}});
    check(esm, esm2, 64);
    esm["padded_vocab_size"] = 40;
    check(esm, esm2, 40);
    check({{"model_type", "codonfm"},
           {"architectures", {"CodonFMForMaskedLM"}},
           {"vocab_size", 69},
           {"hidden_size", 2048},
           {"intermediate_size", 8192},
           {"num_hidden_layers", 18},
           {"num_attention_heads", 16}},
          encodon, 69);
    json plain{{"model_type", "esmc"}, {"num_hidden_layers", 2}};
    json native = plain;
    native["model_type"] = "nv_esmc";
    CHECK(floptally::read_config(plain).cost == floptally::read_config(native).cost);
}

TEST_CASE("ESM-2, Llama-3, OpenGenome2 and CodonFM count the matmuls of their configs", "[views]") {
    const std::vector<std::pair<std::string, written_model>> models{
        {"esm2-650m", esm2}, {"llama-3-8b", llama3}, {"opengenome2-7b", opengenome2}, {"codonfm-encodon-1b", encodon}};
    const matmul_trace::sequence_list real{{7}, {0}, {5}};
    const matmul_trace::sequence_list slots{{8}, {4}, {5}};
    for (const auto& [id, written] : models) {
        INFO(id);
        const cost model = model_named(id).cost;
        const tally batch = matmul_trace::tally_of(model.masks(), {real, slots});
        CHECK(matmul_trace::mismatches(evaluate(model, batch), traced(written, real, written.vocabulary),
                                       traced(written, slots, written.vocabulary)) == "");
    }
    // OpenGenome2 is Llama-3 but for its vocabulary.
    const cost llama = model_named("llama-3-8b").cost;
    const cost genome = model_named("opengenome2-7b").cost;
    tally counted_batch{llama.masks()};
    counted_batch.add(sequence{.length = 8192});
    CHECK(evaluate(llama, counted_batch).total().low() - evaluate(genome, counted_batch).total().low() ==
          std::uint64_t{6} * 8192 * 4096 * (128256 - 256));
}

TEST_CASE("lengths of 32 bits are squared in 64 bits", "[views]") {
    // 46 341² is the first square above 2^31 − 1, 65 536² the first above 2^32 − 1.
    for (const std::int32_t length : {46'340, 46'341, 65'535, 65'536, 2'000'000'000}) {
        INFO(length);
        const auto wide = static_cast<std::uint64_t>(length);
        tally each[4];
        each[0].add_lengths(std::array<std::int32_t, 2>{length, 1});
        each[1].add_cu_seqlens(std::array<std::int32_t, 3>{0, length, length + 1});
        each[2].add_cu_seqlens(std::array<std::int32_t, 3>{0, length, length + 1},
                               std::array<std::int32_t, 3>{0, length, length + 1});
        each[3].add_padded(std::array<std::int32_t, 2>{length, 1}, wide);
        for (const tally& batch : each) {
            CHECK(batch.get(view::useful, accumulator::squares) == wide * wide + 1);
            CHECK(batch.pairs(view::useful, mask::causal()) == wide * (wide + 1) / 2 + 1);
        }
        CHECK(each[3].get(view::padded, accumulator::squares) == 2 * wide * wide);
    }
}

TEST_CASE("the FLOPs of a mock sequence are exactly padded minus useful FLOPs", "[views]") {
    // 99 993 real tokens, padded to a multiple of 8 by a mock sequence of 7: 7e-5 of the tokens, 1e-8 of the squares.
    const std::vector<std::int32_t> cu_seqlens{0, 40'000, 99'000, 99'993, 100'000};
    const cost model = model_named("llama-3-8b").cost;
    const flop_counter counted(model);
    tally batch{model.masks()};
    batch.add_cu_seqlens(cu_seqlens, cu_seqlens, 3);
    const breakdown work = counted.evaluate(batch);

    const matmul_trace::sums mock = matmul_trace::add_up(traced(llama3, {{7}}, 128256), {}, view::useful);
    std::uint64_t sum = 0;
    for (const auto& [component, phases] : mock) {
        const std::uint64_t expected = phases[0] + phases[1] + phases[2];
        const auto& counts = work[component];
        INFO(component);
        CHECK(counts.total(view::padded).value() - counts.total(view::useful).value() == expected);
        sum += expected;
    }
    CHECK(work.total(view::padded).value() - work.total(view::useful).value() == sum);
    CHECK(counted.total_flops(batch, view::padded).value() - counted.total_flops(batch).value() == sum);
    // Single precision would have lost most of it: neighbours at this size are further apart than the whole difference
    // of the attention core.
    const auto core = [&](view seen) { return static_cast<float>(work["attention.core"].total(seen).low()); };
    CHECK(core(view::padded) == core(view::useful));
    CHECK(work["attention.core"].total(view::padded) != work["attention.core"].total(view::useful));

    split_tally split{model.masks()};
    split.add_cu_seqlens(cu_seqlens, cu_seqlens, 3);
    CHECK(padding_of(counted, split).mock == flops{sum});
    CHECK(padding_of(counted, split).in_slots == flops{});
}

// ---- M: packs and mixed lengths ----

TEST_CASE("attention FLOPs of mixed sequence lengths are proportional to the sum of their attended pairs", "[views]") {
    const std::vector<std::uint32_t> lengths{100, 500, 600};
    cost core;
    core.add("attention.core", floptally::attention_core{.num_heads = 3, .qk_head_dim = 5, .v_head_dim = 7},
             mask::causal());
    std::uint64_t pairs = 0;
    tally step{core.masks()};
    for (const std::uint32_t length : lengths) {
        tally microbatch{core.masks()};
        microbatch.add_lengths(std::array{length});
        step += microbatch;
        pairs += enumerated_causal_pairs(length);
    }
    const std::uint64_t per_pair = 3 * 2 * 3 * (5 + 7);
    CHECK(evaluate(core, step).total() == flops{per_pair * pairs});
    // (ΣL)²/B, the squared mean, is a different number: 480 000 against Σ L² = 620 000.
    CHECK(step.get(view::useful, accumulator::squares) == 620'000);
    CHECK(1200 * 1200 / 3 == 480'000);
    // A batch of equal lengths hides the mistake.
    tally equal;
    equal.add_lengths(std::array{400, 400, 400});
    CHECK(equal.get(view::useful, accumulator::squares) == 480'000);
}

TEST_CASE("matmuls and attention of a pack both count real lengths in the useful view and slots in the padded view",
          "[views]") {
    cost model;
    model.add("linear", floptally::linear{.in_features = 3, .out_features = 5});
    model.add("attention.core", floptally::attention_core{.num_heads = 1, .qk_head_dim = 2, .v_head_dim = 2},
              mask::causal());
    const std::vector<std::int32_t> real{0, 1000, 3500, 4001};
    const std::vector<std::int32_t> slots{0, 1024, 3584, 4096};
    const auto in = [&](const tally& batch, view seen) {
        const breakdown work = evaluate(model, batch);
        return std::pair{work["linear"].total(seen).low(), work["attention.core"].total(seen).low()};
    };
    const auto expected = [](const std::vector<std::uint64_t>& lengths) {
        std::uint64_t tokens = 0;
        std::uint64_t pairs = 0;
        for (const std::uint64_t length : lengths) {
            tokens += length;
            pairs += enumerated_causal_pairs(length);
        }
        return std::pair{3 * 2 * 3 * 5 * tokens, 3 * 2 * (2 + 2) * pairs};
    };
    tally pack{model.masks()};
    pack.add_cu_seqlens(real, slots);
    CHECK(in(pack, view::useful) == expected({1000, 2500, 501}));
    CHECK(in(pack, view::padded) == expected({1024, 2560, 512}));
    // A packed sequence is not one long sequence.
    CHECK(in(pack, view::padded).second < expected({4096}).second);

    // Trailing repeats, and the same truncated at the last one that is new.
    const std::vector<std::int32_t> real_repeated{0, 1000, 3500, 4001, 4001, 4001, 4001};
    const std::vector<std::int32_t> slots_repeated{0, 1024, 3584, 4096, 4096, 4096, 4096};
    tally repeated{model.masks()};
    repeated.add_cu_seqlens(real_repeated, slots_repeated);
    CHECK(repeated == pack);
    tally truncated{model.masks()};
    truncated.add_cu_seqlens(std::span{real_repeated}.first(4), std::span{slots_repeated}.first(4));
    CHECK(truncated == pack);
    // Repeats of the padded boundaries that end later are slots of mock sequences.
    const std::vector<std::int32_t> slots_tail{0, 1024, 3584, 4096, 4100, 4100, 4100};
    tally tail{model.masks()};
    tail.add_cu_seqlens(real_repeated, slots_tail);
    CHECK(in(tail, view::useful) == expected({1000, 2500, 501}));
    CHECK(in(tail, view::padded) == expected({1024, 2560, 512, 4}));
}

TEST_CASE("batches copied from public test suites have the sums that those suites assert", "[views][golden]") {
    std::size_t rows = 0;
    for (const json& report : golden("batch_layouts.json")) {
        INFO(report["id"]);
        ++rows;
        const json& expected = report["expected"];
        tally step;
        std::uint64_t merged = 0;
        std::uint64_t patches = 0;
        std::uint64_t frame_squares = 0;
        const auto boundaries = [](const json& batch, const char* key) {
            auto all = batch[key].get<std::vector<std::int32_t>>();
            if (batch.contains("cu_seqlens_argmin") && std::string(key) == "cu_seqlens") {
                all.resize(batch["cu_seqlens_argmin"].get<std::size_t>());
            }
            return all;
        };
        for (const json& batch : report.value("microbatches", json::array())) {
            if (batch.contains("cross_cu_seqlens")) {
                const auto length = [&](const char* key, std::size_t i) {
                    return batch[key][i + 1].get<std::uint32_t>() - batch[key][i].get<std::uint32_t>();
                };
                for (std::size_t i = 0; i + 1 < batch["cu_seqlens"].size(); ++i) {
                    step.add(
                        {.length = length("cu_seqlens_unpadded", i), .keys = length("cross_cu_seqlens_unpadded", i)},
                        {.length = length("cu_seqlens", i), .keys = length("cross_cu_seqlens", i)});
                }
            } else if (batch.contains("cu_seqlens_unpadded")) {
                // The peer's padded boundaries repeat their end: one slot of the whole entry.
                step.add_cu_seqlens(boundaries(batch, "cu_seqlens_unpadded"));
            } else if (batch.contains("cu_seqlens") && batch["cu_seqlens"].size() > 1) {
                step.add_cu_seqlens(boundaries(batch, "cu_seqlens"));
            } else {
                // No boundaries: every entry is one sequence, whole where a rank holds a part of it.
                const auto length = batch.value("config_seq_len", batch["tokens"][1].get<std::uint32_t>());
                step.add_padded(std::vector<std::uint32_t>(batch["tokens"][0].get<std::size_t>(), length), length);
            }
        }
        for (const json& lengths : report.value("per_dp_rank_lengths", json::array())) {
            tally rank;
            rank.add_lengths(lengths.get<std::vector<std::uint32_t>>());
            step += rank;
        }
        for (const json& grid : report.value("grid_thw", json::array())) {
            const auto side = report["spatial_merge_size"].get<std::uint32_t>();
            const std::uint32_t t = grid[0];
            const std::uint32_t h = grid[1];
            const std::uint32_t w = grid[2];
            mask_set merging;
            merging.find_or_add(unit::merged_patches(side), "masks");
            tally image{merging};
            image.add(floptally::grid{t, h, w});
            patches += image.get(view::useful, accumulator::tokens, modality::vision);
            frame_squares += image.get(view::useful, accumulator::squares, modality::vision);
            merged += image.pairs(view::useful, unit::merged_patches(side));
        }
        const bool cross = expected.contains("cross_product");
        for (const auto& [name, value] : expected.items()) {
            INFO(name);
            const std::uint64_t sum = value;
            if (name == "total_tokens") {
                // The peer mixes its views in this one: padded tokens beside unpadded squares.
                CHECK(step.get(cross ? view::padded : view::useful, accumulator::tokens) == sum);
            } else if (name == "patches") {
                CHECK(patches == sum);
            } else if (name == "sum_frame_patches_squared") {
                CHECK(frame_squares == sum);
            } else if (name == "sum_L_squared") {
                CHECK(step.get(view::useful, accumulator::squares) == sum);
            } else if (name == "merged_tokens") {
                CHECK(merged == sum);
            } else if (name == "cross_total") {
                CHECK(step.get(view::padded, accumulator::keys) == sum);
            } else if (name == "cross_product") {
                CHECK(step.get(view::useful, accumulator::crossed) == sum);
            } else {
                FAIL("unknown sum " << name);
            }
        }
    }
    CHECK(rows == 28);
}

// ---- A5 and H5 ----

TEST_CASE("padding inside slots and padding by mock sequences are reported separately and add up", "[views]") {
    // An attention core and a vocabulary of 33 padded to 64: every kind of padding in one batch.
    cost model;
    model.add("attention.core", floptally::attention_core{.num_heads = 2, .qk_head_dim = 3, .v_head_dim = 4},
              mask::sliding_window(3));
    model.add("lm_head", floptally::linear{.in_features = 5, .out_features = 33, .padded_out_features = 64});
    const flop_counter counted(model);
    const std::vector<std::int32_t> real{0, 5, 11, 14, 14};
    const std::vector<std::int32_t> slots{0, 8, 16, 20, 32};
    split_tally batch{model.masks()};
    batch.add_cu_seqlens(real, slots, 2);

    CHECK(batch.real() == [&] {
        tally t{model.masks()};
        t.add({.length = 5}, {.length = 8});
        t.add({.length = 6}, {.length = 8});
        return t;
    }());
    CHECK(batch.mock().get(view::useful, accumulator::tokens) == 0);
    CHECK(batch.mock().get(view::padded, accumulator::tokens) == 4 + 12);
    CHECK(batch.mock().get(view::padded, accumulator::count) == 2);
    tally whole{model.masks()};
    whole.add_cu_seqlens(real, slots, 2);
    CHECK(batch.total() == whole);

    // Pairs one by one; three passes of 2·2·(3 + 4) FLOPs a pair and 2·5·V a token.
    const auto pairs = [](std::uint64_t length) {
        std::uint64_t sum = 0;
        for (std::uint64_t query = 0; query < length; ++query) {
            for (std::uint64_t key = 0; key <= query; ++key) {
                sum += query - key < 3 ? 1U : 0U;
            }
        }
        return sum;
    };
    const auto work = [](std::uint64_t attended, std::uint64_t tokens) {
        return flops{3 * (28 * attended + 330 * tokens)};
    };
    const padding_flops parts = padding_of(counted, batch);
    CHECK(parts.useful == work(pairs(5) + pairs(6), 11));
    CHECK(parts.in_slots == work(2 * pairs(8) - pairs(5) - pairs(6), 5));
    CHECK(parts.mock == work(pairs(4) + pairs(12), 16));
    CHECK(parts.vocabulary == flops{3 * 10 * (64 - 33) * 32});
    CHECK(parts.padded() == counted.total_flops(whole, view::padded));
    CHECK(parts.useful == counted.total_flops(whole));

    // Entries and masks, and microbatches that add up.
    split_tally rows{model.masks()};
    rows.add_padded(std::array{5, 0, 6}, 8);
    split_tally flags{model.masks()};
    flags.add_attention_mask(std::array{0, 1, 1, 0, 0, 0}, {.rows = 2, .columns = 3});
    CHECK(rows.mock().get(view::padded, accumulator::tokens) == 8);
    CHECK(rows.real().get(view::padded, accumulator::tokens) == 16);
    CHECK(flags.mock().get(view::padded, accumulator::tokens) == 3);
    CHECK(flags.real().get(view::useful, accumulator::tokens) == 2);
    split_tally step = rows;
    step += flags;
    CHECK(step.total().get(view::padded, accumulator::tokens) == 24 + 6);
    CHECK(step.mock().get(view::padded, accumulator::tokens) == 11);
    step.add(sequence{.length = 3});
    CHECK(step.real().get(view::useful, accumulator::tokens) == 11 + 2 + 3);

    const split_tally before = batch;
    CHECK(error_of([&] { return batch.add_cu_seqlens(real, slots, 9), 0; }).starts_with("num_real_seqs: "));
    CHECK(error_of([&] { return batch.add_padded(std::array{1, 9}, 8), 0; }).starts_with("lengths[1]: "));
    CHECK(error_of([&] {
              return batch.add_attention_mask(std::array{1, 2}, {.rows = 1, .columns = 2}), 0;
          }).starts_with("attention_mask[1]: "));
    CHECK(batch == before);
}

TEST_CASE("every HSTU term has its published multiplier for model FLOPs and for hardware FLOPs", "[views]") {
    // Unequal head dims, as of latent attention: QKᵀ 7 wide, PV 3.
    cost model;
    model.add("gemm", floptally::linear{.in_features = 5, .out_features = 11});
    model.add("core", floptally::attention_core{.num_heads = 2, .qk_head_dim = 7, .v_head_dim = 3}, mask::causal());
    tally batch{model.masks()};
    batch.add({.length = 9}, {.length = 12});
    const auto total = [&](const floptally::training_plan& plan, const char* component, view seen) {
        return evaluate(model, batch, floptally::conventions::exact, plan)[component].total(seen).low();
    };
    const auto qk = [](std::uint64_t length) { return 2 * 2 * 7 * enumerated_causal_pairs(length); };
    const auto pv = [](std::uint64_t length) { return 2 * 2 * 3 * enumerated_causal_pairs(length); };
    const auto gemm = [](std::uint64_t length) { return 2 * 5 * 11 * length; };

    // The model: 3 for every term, whatever the hardware does.
    for (const recompute again : {recompute::none, recompute::attention, recompute::full}) {
        const floptally::training_plan plan{.recomputed = again};
        CHECK(total(plan, "gemm", view::useful) == 3 * gemm(9));
        CHECK(total(plan, "core", view::useful) == 3 * (qk(9) + pv(9)));
        CHECK(total(plan, "gemm", view::padded) == 3 * gemm(12));
        CHECK(total(plan, "core", view::padded) == 3 * (qk(12) + pv(12)));
    }
    // The hardware: 4·QK + 3·PV, and one more of what is recomputed.
    CHECK(total({}, "core", view::executed) == 4 * qk(12) + 3 * pv(12));
    CHECK(total({}, "gemm", view::executed) == 3 * gemm(12));
    CHECK(total({.recomputed = recompute::full}, "gemm", view::executed) == 4 * gemm(12));
    CHECK(total({.recomputed = recompute::full}, "core", view::executed) == 5 * qk(12) + 4 * pv(12));
    CHECK(total({.recomputed = recompute::attention}, "gemm", view::executed) == 3 * gemm(12));
    CHECK(total({.recomputed = recompute::attention}, "core", view::executed) == 5 * qk(12) + 4 * pv(12));
    CHECK(total({.flash_attention = false}, "core", view::executed) == 3 * (qk(12) + pv(12)));
    // 3.5 only where the head dims are equal.
    CHECK(2 * total({}, "core", view::executed) != 7 * (qk(12) + pv(12)));
    cost equal;
    equal.add("core", floptally::attention_core{.num_heads = 2, .qk_head_dim = 5, .v_head_dim = 5}, mask::causal());
    CHECK(2 * evaluate(equal, batch).total(view::executed).low() ==
          7 * evaluate(equal, batch, floptally::conventions::exact, {.counted = floptally::counted_passes::forward})
                  .total(view::executed)
                  .low());
    // MFU and HFU are two numbers, each of one view only.
    const floptally::measurement step{.seconds = 1, .gpus = 1, .peak_tflops = 1};
    const floptally::training_plan full{.recomputed = recompute::full};
    const auto work = evaluate(model, batch, floptally::conventions::exact, full);
    const floptally::utilization rates = floptally::utilize(work, batch, step);
    CHECK(rates.mfu * 1e12 == static_cast<double>(work.total(view::useful).low()));
    CHECK(rates.padded_mfu * 1e12 == static_cast<double>(work.total(view::padded).low()));
    CHECK(rates.hfu * 1e12 == static_cast<double>(work.total(view::executed).low()));
}

}  // namespace views_test
