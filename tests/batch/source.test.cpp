// SPDX-License-Identifier: Apache-2.0
//
// Every format of a batch into everything that a batch can be added to, against a plain enumeration of its samples.

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/tree.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/parallel/packing.hpp>
#include <floptally/parallel/placed_sequences.hpp>
#include <floptally/step/meter.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace source_test {
namespace {

namespace unit = floptally::unit;
using floptally::accumulator;
using floptally::adds_batches;
using floptally::audio_clip;
using floptally::batch_source;
using floptally::error;
using floptally::grid;
using floptally::mask;
using floptally::mask_set;
using floptally::meter;
using floptally::modality;
using floptally::model_input;
using floptally::placed_sequences;
using floptally::sequence;
using floptally::slotted_sequence;
using floptally::split_tally;
using floptally::summed_source;
using floptally::tally;
using floptally::view;

using u64 = std::uint64_t;
using slot_list = std::vector<slotted_sequence>;

// ---- plain enumeration: tokens, squares and pairs counted one by one ----

constexpr u64 window = 3;
constexpr u64 chunk = 4;

const mask_set& masks() {
    static const mask_set both = [] {
        mask_set set;
        set.find_or_add(mask::sliding_window(static_cast<std::int64_t>(window)), "masks");
        set.find_or_add(mask::chunked(static_cast<std::int64_t>(chunk)), "masks");
        return set;
    }();
    return both;
}

/// count, tokens, keys, squares, cached, crossed, routed, and pairs under the window and the chunks.
std::vector<u64> enumerated(const sequence& s) {
    std::vector<u64> accumulators(9, 0);
    accumulators[0] = s.length != 0 ? 1 : 0;
    accumulators[2] = s.keys;
    for (u64 query = s.past; query < u64{s.past} + s.length; ++query) {
        ++accumulators[1];
        accumulators[3] += s.length;
        accumulators[4] += s.past;
        accumulators[5] += s.keys;
        for (u64 key = 0; key <= query; ++key) {
            accumulators[7] += query - key < window ? 1U : 0U;
            accumulators[8] += query / chunk == key / chunk ? 1U : 0U;
        }
    }
    return accumulators;
}

/// Useful and then padded, as `tally::accumulators` has them.
std::vector<u64> enumerated(const slot_list& samples) {
    std::vector<u64> accumulators(18, 0);
    for (const slotted_sequence& element : samples) {
        const std::vector<u64> useful = enumerated(element.real);
        const std::vector<u64> padded = enumerated(element.slot);
        for (std::size_t i = 0; i < 9; ++i) {
            accumulators[i] += useful[i];
            accumulators[9 + i] += padded[i];
        }
    }
    return accumulators;
}

std::vector<u64> accumulators_of(const tally& t) { return {t.accumulators().begin(), t.accumulators().end()}; }

slot_list twice(slot_list samples) {
    const slot_list once = samples;
    samples.insert(samples.end(), once.begin(), once.end());
    return samples;
}

/// The samples with a real token, or those without.
slot_list part_of(const slot_list& samples, bool real) {
    slot_list part;
    for (const slotted_sequence& slotted_sample : samples) {
        if ((slotted_sample.real.length != 0) == real) {
            part.push_back(slotted_sample);
        }
    }
    return part;
}

slot_list filled(const std::vector<std::uint32_t>& lengths) {
    slot_list samples;
    for (const std::uint32_t length : lengths) {
        samples.push_back({{.length = length}, {.length = length}});
    }
    return samples;
}

slot_list slotted(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& lengths) {
    slot_list samples;
    for (const auto& [real, slot] : lengths) {
        samples.push_back({{.length = real}, {.length = slot}});
    }
    return samples;
}

floptally::flop_counter small_model() {
    floptally::cost model;
    const floptally::attention_core core{.num_heads = 2, .qk_head_dim = 4, .v_head_dim = 4};
    for (const floptally::statistic& m : masks()) {
        model.add("attention.core", core, m);
    }
    return floptally::flop_counter(model);
}

// ---- every receiver ----

/// `add(receiver)` adds `samples`, to a tally, a split tally, a packed sequence and a meter, twice.
template <class Add>
void is_added(Add add, const slot_list& samples) {
    tally sum{masks()};
    add(sum);
    CHECK(accumulators_of(sum) == enumerated(samples));
    add(sum);
    CHECK(accumulators_of(sum) == enumerated(twice(samples)));

    split_tally split{masks()};
    add(split);
    add(split);
    CHECK(accumulators_of(split.real()) == enumerated(twice(part_of(samples, true))));
    CHECK(accumulators_of(split.mock()) == enumerated(twice(part_of(samples, false))));

    placed_sequences row;
    add(row);
    add(row);
    CHECK(row.sequences() == twice(samples));
    std::vector<u64> boundaries{0};
    std::vector<u64> key_boundaries{0};
    for (const slotted_sequence& item : twice(samples)) {
        boundaries.push_back(boundaries.back() + item.slot.length);
        key_boundaries.push_back(key_boundaries.back() + item.slot.keys);
    }
    CHECK(row.boundaries() == boundaries);
    CHECK(row.key_boundaries() == key_boundaries);
    CHECK(row.tally_of(masks()) == split);

    meter steps(small_model(), {.gpus = 1, .peak_tflops = 1});
    steps.begin_step();
    add(steps.microbatch());
    add(steps.microbatch());
    steps.end_step(1.0);
    CHECK(steps.last_step().batch == sum);
}

/// Checks that a tally takes a source as it takes the slots, and that the source visits these slots itself.
template <batch_source Source>
void is_source_of(const Source& source, const slot_list& samples) {
    slot_list seen;
    source.each([&seen](const sequence& real, const sequence& slot) { seen.push_back({real, slot}); });
    CHECK(seen == samples);
    is_added([&source](auto& receiver) { receiver.add(source); }, samples);
}

/// `add(receiver)` is this error for every receiver, and leaves it as it was.
template <class Add>
void is_refused(Add add, const std::string& expected) {
    INFO(expected);
    const std::array<int, 3> before{0, 4, 6};

    tally sum{masks()};
    sum.add_cu_seqlens(before);
    const tally same_sum = sum;
    CHECK(error_of([&] { add(sum); }) == expected);
    CHECK(sum == same_sum);

    split_tally split{masks()};
    split.add_cu_seqlens(before, std::array<int, 3>{0, 8, 16}, 1);
    const split_tally same_split = split;
    CHECK(error_of([&] { add(split); }) == expected);
    CHECK(split == same_split);

    placed_sequences row;
    row.add_cu_seqlens(before);
    CHECK(error_of([&] { add(row); }) == expected);
    CHECK(row.sequences() == filled({4, 2}));
    CHECK(row.boundaries() == std::vector<u64>{0, 4, 6});
    CHECK(row.key_boundaries() == std::vector<u64>{0, 0, 0});
    CHECK(row.tally_of(masks()).total() == same_sum);

    meter steps(small_model(), {.gpus = 1, .peak_tflops = 1});
    steps.begin_step();
    steps.microbatch().add_cu_seqlens(before);
    CHECK(error_of([&] { add(steps.microbatch()); }) == expected);
    steps.end_step(1.0);
    CHECK(steps.last_step().batch == same_sum);
}

// ---- sources of a user ----

/// A list that cannot be indexed.
struct linked_lengths {
    using sample = sequence;
    const std::list<std::pair<std::uint32_t, std::uint32_t>>* nodes;

    template <class Visit>
    void each(Visit visit) const {
        for (const auto& [real, slot] : *nodes) {
            visit(sequence{.length = real}, sequence{.length = slot});
        }
    }
};

/// A jagged tensor: rows begin at offsets and have lengths of their own, with holes after them.
struct jagged {
    using sample = sequence;
    std::span<const std::int64_t> offsets;
    std::span<const std::int32_t> lengths;

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (std::size_t i = 0; i < lengths.size(); ++i) {
            visit(sequence{.length = static_cast<std::uint32_t>(lengths[i])},
                  sequence{.length = static_cast<std::uint32_t>(offsets[i + 1] - offsets[i])});
        }
    }
};

/// Hands the fast sums on.
struct jagged_without_holes {
    using sample = sequence;
    std::span<const std::int64_t> offsets;

    template <class Visit>
    constexpr void each(Visit visit) const {
        floptally::packed_sequences(offsets).each(visit);
    }
    template <class Words>
    constexpr void add_to(Words& accumulators) const {
        floptally::packed_sequences(offsets).add_to(accumulators);
    }
};

/// Fails on the way.
struct broken_reader {
    using sample = sequence;

    template <class Visit>
    void each(Visit visit) const {
        visit(sequence{.length = 5}, sequence{.length = 8});
        throw error("reader", "ended early");
    }
};

/// Videos of so many frames, in slots of a whole number of `group` frames.
struct videos {
    using sample = grid;
    std::vector<std::uint32_t> frames;
    std::uint32_t group;

    template <class Visit>
    void each(Visit visit) const {
        for (const std::uint32_t t : frames) {
            visit(grid{t, 2, 3}, grid{(t + group - 1) / group * group, 2, 3});
        }
    }
};

/// A receiver of a user, with the short calls: how long is the longest?
class longest_sequence : public adds_batches<longest_sequence> {
  public:
    template <batch_source Source>
    void add(const Source& source) {
        source.each([this](const sequence& real, const sequence&) {
            longest_ = real.length > longest_ ? real.length : longest_;
        });
    }
    [[nodiscard]] std::uint32_t get() const { return longest_; }

  private:
    std::uint32_t longest_ = 0;
};

struct without_samples {
    template <class Visit>
    void each(Visit) const {}
};
struct of_integers {
    using sample = int;
    template <class Visit>
    void each(Visit) const {}
};
struct without_each {
    using sample = sequence;
};
static_assert(batch_source<linked_lengths> && batch_source<jagged> && batch_source<videos> &&
              batch_source<placed_sequences>);
static_assert(summed_source<jagged_without_holes> && !summed_source<jagged>);
static_assert(!batch_source<without_samples> && !batch_source<of_integers> && !batch_source<without_each>);
static_assert(!batch_source<tally> && !batch_source<sequence> && !batch_source<std::vector<int>>);

const std::array<std::int32_t, 5> cu_seqlens{0, 5, 11, 14, 16};
const std::array<std::int64_t, 5> slots{0, 8, 16, 20, 24};

}  // namespace

TEST_CASE("tallies, packs and meters count sequence lengths alike") {
    const std::vector<std::uint32_t> few{5, 0, 17, 1};
    std::vector<std::uint32_t> many;
    for (std::uint32_t i = 0; i < 40; ++i) {
        many.push_back(i * 7 % 23);
    }
    for (const std::vector<std::uint32_t>& lengths : {few, many, std::vector<std::uint32_t>{}}) {
        is_source_of(floptally::sequence_lengths(lengths), filled(lengths));
        is_added([&](auto& to) { to.add_lengths(lengths); }, filled(lengths));
        const std::vector<std::int64_t> wide(lengths.begin(), lengths.end());
        is_added([&](auto& to) { to.add_lengths(wide); }, filled(lengths));
    }
}

TEST_CASE("tallies, packs and meters count padded rows and batch shapes alike") {
    const std::array<std::int32_t, 4> lengths{5, 0, 9, 2};
    const slot_list rows = slotted({{5, 9}, {0, 9}, {9, 9}, {2, 9}});
    is_source_of(floptally::padded_rows(lengths, 9), rows);
    is_added([&](auto& to) { to.add_padded(lengths, 9); }, rows);
    is_source_of(floptally::full_rows({.rows = 3, .columns = 7}), filled({7, 7, 7}));
    is_added([&](auto& to) { to.add_shape({.rows = 3, .columns = 7}); }, filled({7, 7, 7}));
    is_added([&](auto& to) { to.add_shape({.rows = 0, .columns = 7}); }, {});
    is_added([&](auto& to) { to.add_shape({.rows = 3, .columns = 0}); }, filled({0, 0, 0}));
}

TEST_CASE("tallies, packs and meters count attention masks alike") {
    const std::array<std::uint8_t, 15> flags{1, 1, 1, 0, 0,   //
                                             0, 0, 0, 0, 0,   //
                                             0, 1, 1, 1, 1};  //
    const slot_list rows = slotted({{3, 5}, {0, 5}, {4, 5}});
    is_source_of(floptally::attention_mask_rows(flags, {.rows = 3, .columns = 5}), rows);
    is_added([&](auto& to) { to.add_attention_mask(flags, {.rows = 3, .columns = 5}); }, rows);
}

TEST_CASE("tallies, packs and meters count both sides of an encoder-decoder alike") {
    const std::array<std::int32_t, 3> lengths{5, 0, 9};
    const std::array<std::uint64_t, 3> encoder{7, 3, 1};
    const slot_list both{{{5, 0, 7}, {5, 0, 7}}, {{0, 0, 3}, {0, 0, 3}}, {{9, 0, 1}, {9, 0, 1}}};
    is_source_of(floptally::encoder_decoder_lengths(lengths, encoder), both);
    is_added([&](auto& to) { to.add_encoder_decoder(lengths, encoder); }, both);
}

TEST_CASE("tallies, packs and meters count cached tokens and HSTU samples alike") {
    const std::array<std::int32_t, 3> lengths{5, 0, 9};
    const std::array<std::int64_t, 3> past{7, 3, 0};
    const slot_list cached{{{5, 7}, {5, 7}}, {{0, 3}, {0, 3}}, {{9}, {9}}};
    is_source_of(floptally::cached_lengths(lengths, past), cached);
    is_added([&](auto& to) { to.add_new_tokens(lengths, past); }, cached);
    const std::array<std::int64_t, 3> targets{2, 0, 4};
    const std::span<const std::int64_t> none;
    const slot_list samples{{{5, 0, 0, 0, 2, 2}, {5, 0, 0, 0, 2, 2}},
                            {{0, 0, 0, 0, 0, 2}, {0, 0, 0, 0, 0, 2}},
                            {{9, 0, 0, 0, 4, 2}, {9, 0, 0, 0, 4, 2}}};
    is_added([&](auto& to) { to.add_hstu(lengths, none, targets, 2); }, samples);
    is_refused([&](auto& to) { to.add_hstu(lengths, std::span(targets).first(2), none); },
               "contextual: must be as many as lengths (3), got 2");
    is_refused([&](auto& to) { to.add_new_tokens(lengths, none); }, "past: must be as many as lengths (3), got 0");
}

TEST_CASE("tallies, packs and meters count packed slots and mock sequences alike") {
    is_source_of(floptally::packed_sequences(cu_seqlens), filled({5, 6, 3, 2}));
    is_added([&](auto& to) { to.add_cu_seqlens(cu_seqlens); }, filled({5, 6, 3, 2}));
    const slot_list all = slotted({{5, 8}, {6, 8}, {3, 4}, {2, 4}});
    for (std::size_t real = 0; real <= 4; ++real) {
        slot_list some = all;
        for (std::size_t i = real; i < 4; ++i) {
            some[i].real = {};
        }
        is_source_of(floptally::packed_slots(cu_seqlens, slots, real), some);
        is_added([&](auto& to) { to.add_cu_seqlens(cu_seqlens, slots, real); }, some);
    }
    is_added([&](auto& to) { to.add_cu_seqlens(cu_seqlens, slots); }, all);
    // A mock sequence may be longer than its slot: it is not counted.
    is_added(
        [&](auto& to) {
            to.add_cu_seqlens(std::array<int, 3>{0, 5, 99}, std::array<int, 3>{0, 8, 9}, 1);
        },
        slotted({{5, 8}, {0, 1}}));
}

TEST_CASE("passing boundaries of only the real sequences counts the same as passing num_real_seqs") {
    const slot_list two = slotted({{5, 8}, {6, 8}, {0, 4}, {0, 4}});
    const std::span<const std::int32_t> real = std::span(cu_seqlens).first(3);
    is_source_of(floptally::packed_real(real, slots), two);
    is_added([&](auto& to) { to.add_packed(real, slots); }, two);
    is_added([&](auto& to) { to.add_cu_seqlens(cu_seqlens, slots, 2); }, two);
    // A collator that mutated cu_seqlens and kept the boundaries from before.
    is_added([&](auto& to) { to.add_packed(real, cu_seqlens); }, slotted({{5, 5}, {6, 6}, {0, 3}, {0, 2}}));
    is_added([&](auto& to) { to.add_packed(cu_seqlens, cu_seqlens); }, filled({5, 6, 3, 2}));
    is_added([&](auto& to) { to.add_packed(std::array{0}, cu_seqlens); }, slotted({{0, 5}, {0, 6}, {0, 3}, {0, 2}}));

    is_refused([&](auto& to) { to.add_packed(slots, real); },
               "cu_seqlens_real: must have as many boundaries as cu_seqlens (3), got 5");
    is_refused([&](auto& to) { to.add_packed(std::vector<int>{}, slots); },
               "cu_seqlens_real: must have at least one boundary, the 0 at its beginning, got none");
    is_refused([&](auto& to) { to.add_packed(std::array{1, 5}, slots); }, "cu_seqlens_real[0]: must be 0, got 1");
    is_refused(
        [&](auto& to) {
            to.add_packed(std::array{0, 5, 3}, slots);
        },
        "cu_seqlens_real[2]: must be at least the boundary before it, 5, got 3");
    is_refused(
        [&](auto& to) {
            to.add_packed(std::array{0, 5, 14}, slots);
        },
        "cu_seqlens[2]: leaves a slot of 8 tokens for a sequence of 9: a slot must hold its sequence");
    is_refused(
        [&](auto& to) {
            to.add_packed(std::array{0, 9}, slots);
        },
        "cu_seqlens[1]: leaves a slot of 8 tokens for a sequence of 9: a slot must hold its sequence");
    is_refused(
        [&](auto& to) {
            to.add_packed(std::array{0, 1}, std::array{0, 8, 7});
        },
        "cu_seqlens[2]: must be at least the boundary before it, 8, got 7");
}

TEST_CASE("the boundaries passed to flops() may end with the last real sequence") {
    floptally::model_config model;
    model.model_type = "own";
    for (const floptally::statistic& m : masks()) {
        model.cost.add("attention.core", floptally::attention_core{.num_heads = 1, .qk_head_dim = 1, .v_head_dim = 1},
                       m);
    }
    const auto counted = [&](const model_input::packed& row) {
        tally sum{masks()};
        floptally::add_input({.boundaries = row}, model, sum);
        return accumulators_of(sum);
    };
    const std::span<const std::int32_t> real = std::span(cu_seqlens).first(3);
    CHECK(counted({.cu_seqlens = cu_seqlens, .cu_seqlens_real = real}) ==
          enumerated(slotted({{5, 5}, {6, 6}, {0, 3}, {0, 2}})));
    CHECK(counted({.cu_seqlens = cu_seqlens, .num_real_seqs = 2, .cu_seqlens_real = real}) ==
          counted({.cu_seqlens = cu_seqlens, .num_real_seqs = 2}));
    CHECK(counted({.cu_seqlens = cu_seqlens, .cu_seqlens_padded = slots, .cu_seqlens_real = real}) ==
          enumerated(slotted({{5, 8}, {6, 8}, {0, 4}, {0, 4}})));

    const std::array<int, 3> other{0, 5, 10};
    const std::array<int, 6> more{0, 5, 11, 14, 16, 18};
    const std::vector<int> none;
    const auto refusal = [&](const model_input::packed& row) { return error_of([&] { return counted(row); }); };
    CHECK(refusal({.cu_seqlens = cu_seqlens, .num_real_seqs = 3, .cu_seqlens_real = real}) ==
          "num_real_seqs: must be 2, the number of sequences in cu_seqlens_real, got 3");
    CHECK(refusal({.cu_seqlens = cu_seqlens, .cu_seqlens_padded = slots, .cu_seqlens_real = other}) ==
          "cu_seqlens_real[2]: must equal the same boundary of cu_seqlens, 11, got 10");
    CHECK(refusal({.cu_seqlens = cu_seqlens, .cu_seqlens_padded = slots, .cu_seqlens_real = more}) ==
          "cu_seqlens_real: must have as many boundaries as cu_seqlens (5), got 6");
    CHECK(refusal({.cu_seqlens = cu_seqlens, .cu_seqlens_real = more}) ==
          "cu_seqlens_real: must have as many boundaries as cu_seqlens (5), got 6");
    CHECK(refusal({.cu_seqlens = cu_seqlens, .cu_seqlens_real = none}) ==
          "cu_seqlens_real: must have at least one boundary, the 0 at its beginning, got none");
}

TEST_CASE("add_lengths and the other add functions accept lists in braces") {
    const std::size_t three = 3;
    is_added([&](auto& to) { to.add_lengths({5, 0, 17, 1}); }, filled({5, 0, 17, 1}));
    is_added([&](auto& to) { to.add_lengths({5, static_cast<std::int64_t>(three)}); }, filled({5, 3}));
    is_added([&](auto& to) { to.add_lengths({}); }, {});
    is_added([&](auto& to) { to.add_padded({5, 0}, 9); }, slotted({{5, 9}, {0, 9}}));
    is_added([&](auto& to) { to.add_cu_seqlens({0, 5, 9}); }, filled({5, 4}));
    is_added([&](auto& to) { to.add_cu_seqlens({0, 5, 9}, {0, 8, 16}, 1); }, slotted({{5, 8}, {0, 8}}));
    is_added(
        [&](auto& to) {
            to.add_cu_seqlens(cu_seqlens, {0, 8, 16, 20, 24}, 4);
        },
        slotted({{5, 8}, {6, 8}, {3, 4}, {2, 4}}));
    is_added([&](auto& to) { to.add_packed({0, 5}, {0, 8, 16}); }, slotted({{5, 8}, {0, 8}}));
    is_added(
        [&](auto& to) {
            to.add_attention_mask({1, 1, 0, 0, 1, 1}, {.rows = 2, .columns = 3});
        },
        slotted({{2, 3}, {2, 3}}));
    is_added([&](auto& to) { to.add_encoder_decoder({5}, {7}); }, {{{5, 0, 7}, {5, 0, 7}}});
    is_added([&](auto& to) { to.add_new_tokens({5}, {7}); }, {{{5, 7}, {5, 7}}});
    is_refused(
        [&](auto& to) {
            to.add_cu_seqlens({0, 5, 3});
        },
        "cu_seqlens[2]: must be at least the boundary before it, 5, got 3");

    tally towers{mask_set::of_towers()};
    towers.add_grid_thw({1, 2, 3});
    towers.add_audio_frames({7, 9});
    CHECK(towers.get(view::useful, accumulator::tokens, modality::vision) == 6);
    CHECK(towers.get(view::useful, accumulator::tokens, modality::audio) == 16);
}

TEST_CASE("tallies, packs and meters count prefix trees, packs added to packs and lists of samples alike") {
    const std::array<int, 4> parents{-1, 0, 0, 2};
    const std::array<int, 4> lengths{4, 3, 2, 5};
    const slot_list nodes{{{4}, {4}}, {{3, 4}, {3, 4}}, {{2, 4}, {2, 4}}, {{5, 6}, {5, 6}}};
    is_source_of(floptally::tree_nodes(parents, lengths), nodes);
    is_added([&](auto& to) { floptally::add_tree(to, parents, lengths); }, nodes);

    const floptally::packing rows = floptally::pack_by_capacity(std::array{5, 3}, 16, {.alignment = 4});
    is_source_of(rows.packs.at(0).source(), slotted({{5, 8}, {3, 4}}));

    placed_sequences row;
    row.add_cu_seqlens(cu_seqlens, slots, 3);
    const slot_list three = slotted({{5, 8}, {6, 8}, {3, 4}, {0, 4}});
    is_source_of(row, three);
    row.add(row);
    CHECK(row.sequences() == twice(three));
    is_source_of(floptally::listed_samples(three), three);
    const std::vector<sequence> plain{{.length = 5, .past = 2}, {.length = 1, .keys = 3}};
    is_source_of(floptally::listed_samples(plain), {{plain[0], plain[0]}, {plain[1], plain[1]}});
}

TEST_CASE("tallies, packs and meters count a user-defined batch source alike") {
    const std::list<std::pair<std::uint32_t, std::uint32_t>> nodes{{5, 8}, {0, 4}, {7, 7}};
    is_source_of(linked_lengths{&nodes}, slotted({{5, 8}, {0, 4}, {7, 7}}));
    const std::array<std::int64_t, 4> offsets{0, 6, 6, 11};
    const std::array<std::int32_t, 3> lengths{4, 0, 5};
    is_source_of(jagged{offsets, lengths}, slotted({{4, 6}, {0, 0}, {5, 5}}));
    is_source_of(jagged_without_holes{offsets}, filled({6, 0, 5}));

    longest_sequence longest;
    longest.add_padded(lengths, 30);
    CHECK(longest.get() == 5);
    longest.add_cu_seqlens(offsets);
    CHECK(longest.get() == 6);
    longest.add(linked_lengths{&nodes});
    CHECK(longest.get() == 7);
}

namespace {

constexpr std::array<std::int64_t, 3> constant_offsets{0, 6, 11};
constexpr std::array<std::int32_t, 2> constant_lengths{4, 5};
constexpr auto constant_split = [] {
    split_tally sum;
    sum.add(jagged{constant_offsets, constant_lengths});
    sum.add_cu_seqlens(constant_offsets, constant_offsets, 1);
    sum.add_packed(std::array{0, 6}, constant_offsets);
    sum.add_padded(constant_lengths, 9);
    sum.add_shape({.rows = 2, .columns = 3});
    sum.add_attention_mask(std::array{true, false, true, true}, {.rows = 2, .columns = 2});
    sum.add_encoder_decoder(constant_lengths, constant_lengths);
    sum.add_lengths(constant_lengths);
    return std::array{sum.real().get(view::useful, accumulator::tokens),
                      sum.real().get(view::padded, accumulator::tokens),
                      sum.mock().get(view::padded, accumulator::tokens)};
}();
static_assert(constant_split[0] == 9 + 6 + 6 + 9 + 6 + 3 + 9 + 9);
static_assert(constant_split[1] == 11 + 6 + 6 + 18 + 6 + 4 + 9 + 9);
static_assert(constant_split[2] == 5 + 5);

}  // namespace

TEST_CASE("an invalid batch gives the same error in tallies, packs and meters and leaves all of them unchanged") {
    is_refused([](auto& to) { to.add_lengths(std::array{5, -1}); }, "lengths[1]: must be at least 0, got -1");
    is_refused(
        [](auto& to) {
            to.add_lengths(std::array<std::int64_t, 2>{5, 4294967296});
        },
        "lengths[1]: must be at most 4294967295, got 4294967296");
    is_refused(
        [](auto& to) {
            to.add_lengths(std::array<u64, 2>{4294967295, 4294967295});
        },
        "squares: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers");
    is_refused([](auto& to) { to.add_padded(std::array{5, -1}, 8); }, "lengths[1]: must be at least 0, got -1");
    is_refused(
        [](auto& to) {
            to.add_padded(std::array{5, 9}, 8);
        },
        "lengths[1]: must be at most the row_length, 8, got 9");
    is_refused([](auto& to) { to.add_padded(std::array{5}, 4294967296); },
               "row_length: must be at most 4294967295, got 4294967296");
    is_refused([](auto& to) { to.add_shape({.rows = 2, .columns = 4294967296}); },
               "row_length: must be at most 4294967295, got 4294967296");
    is_refused([](auto& to) { to.add_shape({.rows = 2, .columns = 4294967295}); },
               "squares: the sum does not fit 64 bits: count fewer samples");
    const std::array<int, 6> hole{1, 0, 1, 1, 1, 1};
    is_refused([&](auto& to) { to.add_attention_mask(hole, {.rows = 2, .columns = 2}); },
               "attention_mask: must have 2 x 2 = 4 entries, got 6");
    is_refused([&](auto& to) { to.add_attention_mask(hole, {.rows = 2, .columns = 3}); },
               "attention_mask[2]: is 1 after the real tokens of row 0 have ended: the real tokens of a row "
               "must be consecutive, with padding only before or after them");
    is_refused(
        [](auto& to) {
            to.add_attention_mask(std::array{1, 1, 1, 7}, {.rows = 2, .columns = 2});
        },
        "attention_mask[3]: must be 0 or 1, got 7");
    is_refused(
        [](auto& to) {
            to.add_encoder_decoder(std::array{5, 6}, std::array{5});
        },
        "encoder_lengths: must be as many as lengths (2), got 1");
    is_refused(
        [](auto& to) {
            to.add_encoder_decoder(std::array{5, -6}, std::array{5, 5});
        },
        "lengths[1]: must be at least 0, got -6");
    is_refused(
        [](auto& to) {
            to.add_encoder_decoder(std::array{5, 6}, std::array{5, -5});
        },
        "encoder_lengths[1]: must be at least 0, got -5");
    is_refused([](auto& to) { to.add_cu_seqlens(std::vector<int>{}); },
               "cu_seqlens: must have at least one boundary, the 0 at its beginning, got none");
    is_refused([](auto& to) { to.add_cu_seqlens(std::array{1, 5}); }, "cu_seqlens[0]: must be 0, got 1");
    is_refused(
        [](auto& to) {
            to.add_cu_seqlens(std::array{0, 5, 3});
        },
        "cu_seqlens[2]: must be at least the boundary before it, 5, got 3");
    is_refused(
        [](auto& to) {
            to.add_cu_seqlens(std::array{0, 5}, std::array{0, 8, 9});
        },
        "cu_seqlens_padded: must have as many boundaries as cu_seqlens (2), got 3");
    is_refused(
        [](auto& to) {
            to.add_cu_seqlens(std::array{0, 5}, std::array{0, 4});
        },
        "cu_seqlens_padded[1]: leaves a slot of 4 tokens for a sequence of 5: a slot must hold its sequence");
    is_refused(
        [](auto& to) {
            to.add_cu_seqlens(std::array{0, 5}, std::array{0, 8}, 2);
        },
        "num_real_seqs: must be at most the 1 sequences of cu_seqlens, got 2");
    is_refused(
        [](auto& to) {
            floptally::add_tree(to, std::array{-1, 5}, std::array{1, 1});
        },
        "parents[1]: must be -1 (a root) or the index of an earlier node, got 5");
}

TEST_CASE("an invalid user-defined batch source leaves tallies, packs and meters unchanged") {
    is_refused([](auto& to) { to.add(broken_reader{}); }, "reader: ended early");
    const std::list<std::pair<std::uint32_t, std::uint32_t>> nodes{{5, 8}, {4, 3}};
    is_refused([&](auto& to) { to.add(linked_lengths{&nodes}); },
               "length: a slot of 3 has no room for 4: enlarge the slot");
    const std::vector<sequence> long_past{{.length = 5}, {.length = 1, .past = 4294967295}};
    is_refused([&](auto& to) { to.add(floptally::listed_samples(long_past)); },
               "past: past + length must be at most 4294967295, got 4294967295 + 1");
}

TEST_CASE(
    "images and audio clips can be padded to slots, and a split_tally counts mock samples apart from real samples") {
    mask_set every = mask_set::of_towers();
    const mask frames = mask::bidirectional().in(modality::vision);
    const std::array<int, 6> thw{1, 2, 3, 4, 2, 3};
    const std::array<u64, 2> clips{7, 9};
    tally sum{every};
    sum.add_grid_thw(thw);
    sum.add_audio_frames(clips);
    tally one_by_one{every};
    one_by_one.add(grid{1, 2, 3});
    one_by_one.add(grid{4, 2, 3});
    one_by_one.add(audio_clip{7});
    one_by_one.add(audio_clip{9});
    CHECK(sum == one_by_one);
    CHECK(sum.get(view::useful, accumulator::count, modality::vision) == 5);
    CHECK(sum.get(view::useful, accumulator::tokens, modality::vision) == 5 * 6);
    CHECK(sum.pairs(view::useful, frames) == 5 * 6 * 6);
    CHECK(sum.get(view::useful, accumulator::squares, modality::audio) == 7 * 7 + 9 * 9);

    split_tally split{every};
    split.add(videos{{3, 0, 4}, 4});
    split.add(audio_clip{}, audio_clip{9});
    split.add(audio_clip{7}, audio_clip{9});
    CHECK(split.real().get(view::useful, accumulator::tokens, modality::vision) == 7 * 6);
    CHECK(split.real().get(view::padded, accumulator::tokens, modality::vision) == 8 * 6);
    CHECK(split.mock().get(view::padded, accumulator::tokens, modality::vision) == 0);
    CHECK(split.mock().get(view::padded, accumulator::tokens, modality::audio) == 9);
    CHECK(split.real().get(view::padded, accumulator::tokens, modality::audio) == 9);
    split.add(grid{0, 2, 3}, grid{4, 2, 3});
    CHECK(split.mock().get(view::padded, accumulator::tokens, modality::vision) == 4 * 6);

    CHECK(error_of([&] {
              sum.add_grid_thw(std::array{1, 2, 3, 4});
          }) == "grid_thw: must have three numbers for each grid, got 4");
    CHECK(error_of([&] {
              sum.add_grid_thw(std::array{1, 2, 3, 4, 2, -3});
          }) == "grid_thw[5]: must be at least 0, got -3");
    CHECK(error_of([&] {
              split.add_audio_frames(std::array{5, -1});
          }) == "audio_frames[1]: must be at least 0, got -1");
    CHECK(error_of([] {
              tally{}.add_grid_thw(std::array{1, 2, 3});
          }) == "grid: this model has no vision tower: build the tally with the masks() of a model that has it");
    CHECK(sum == one_by_one);
}

TEST_CASE("adding n equal samples at once gives the result of n single adds") {
    mask_set every = mask_set::of_towers();
    every.find_or_add(mask::sliding_window(3), "masks");
    every.find_or_add(unit::merged_patches(2), "masks");
    tally at_once{every};
    at_once.add(floptally::equal_samples(grid{3, 4, 6}, 5));
    at_once.add(floptally::equal_samples(audio_clip{11}, 2));
    at_once.add(floptally::equal_samples(sequence{.length = 4, .past = 5, .keys = 6}, 3));
    tally singly{every};
    for (int i = 0; i < 5; ++i) {
        singly.add(grid{3, 4, 6});
        if (i < 2) {
            singly.add(audio_clip{11});
        }
        if (i < 3) {
            singly.add(sequence{.length = 4, .past = 5, .keys = 6});
        }
    }
    CHECK(at_once == singly);
    CHECK(error_of([&] {
              at_once.add(floptally::equal_samples(grid{1, 3, 6}, 1));
          }) == "grid: 1 x 3 x 6 patches do not divide by the spatial_merge_size 2: resize the image to a multiple");
    const u64 most = 0xFFFF'FFFF'FFFF'FFFF;
    CHECK(error_of([&] {
              at_once.add(floptally::equal_samples(grid{1, 2, 2}, most));
          }) == "vision.tokens: the sum does not fit 64 bits: count fewer samples");
    // Squares of 2^160, and of 2^125: no smaller number is taken for them.
    CHECK(error_of([&] {
              at_once.add(floptally::equal_samples(grid{0xFFFF'FFFE, 2, 0x7FFF'FFFE}, most));
          }) == "vision.count: the sum does not fit 64 bits: count fewer samples");
    CHECK(error_of([&] {
              at_once.add(floptally::equal_samples(grid{1, 0x8000, 0x1'0000}, u64{1} << 63U));
          }) == "vision.tokens: the sum does not fit 64 bits: count fewer samples");
    CHECK(at_once == singly);
}

}  // namespace source_test
