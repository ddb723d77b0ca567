// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/statistics/rule_text.hpp>

#include "../catch2.hpp"
#include "../error_of.hpp"
#include "../own_masks.hpp"

namespace rule_test {
namespace {

using namespace floptally;

/// Whether the query at position i sees key j: the definitions, in words.
bool sees(const dilated_window& m, std::int64_t i, std::int64_t j) {
    return j <= i && (i - j) % m.step == 0 && (i - j) / m.step < m.taps;
}
bool sees(const block_sparse& m, std::int64_t i, std::int64_t j) {
    const std::int64_t own = i / m.block;
    const std::int64_t other = j / m.block;
    return j <= i && (own - other <= m.local || other < m.global);
}

template <class Mask>
std::uint64_t enumerated(const Mask& m, const sequence& s) {
    std::uint64_t pairs = 0;
    for (std::int64_t i = s.past; i < std::int64_t{s.past} + s.length; ++i) {
        for (std::int64_t j = 0; j < std::int64_t{s.past} + s.length; ++j) {
            pairs += sees(m, i, j) ? 1U : 0U;
        }
    }
    return pairs;
}

constexpr dilated_window every_third{4, 3};
constexpr block_sparse sparse{8, 1, 1};
const std::vector<std::uint32_t> lengths{0, 1, 2, 7, 13, 40, 64, 65, 200};

/// A user's attention of one head with a mask of one's own.
struct own_attention {
    rule attends;

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        floptally::cost sum;
        sum.add("attention.qkv", linear{.in_features = where.hidden_size, .out_features = 3 * where.hidden_size});
        sum.add("attention.core", attention_core{1, where.hidden_size, where.hidden_size}, attends);
        return sum;
    }
};

// In a constant: the rule, a descriptor with it, its tally and its FLOPs.
static_assert(rule(every_third)(sequence{.length = 7}) == 1 * 3 + 2 * 3 + 3);
constexpr constant_cost<> constant = own_attention{every_third}.cost(layer{.hidden_size = 2});
static_assert(statistic_rule<dilated_window> && statistic_rule<block_sparse>);

}  // namespace

TEST_CASE("a user's mask counts what an enumeration counts, with a past too", "[rule]") {
    for (const std::uint32_t length : lengths) {
        for (const std::uint32_t past : {0U, 1U, 5U, 24U, 61U}) {
            const sequence s{.length = length, .past = past};
            REQUIRE(rule(every_third)(s) == enumerated(every_third, s));
            REQUIRE(rule(dilated_window{1, 5})(s) == enumerated(dilated_window{1, 5}, s));
            REQUIRE(rule(sparse)(s) == enumerated(sparse, s));
            REQUIRE(rule(block_sparse{5, 0, 2})(s) == enumerated(block_sparse{5, 0, 2}, s));
        }
    }
}

TEST_CASE("a user's mask goes into a tally by every way, also where lengths are summed in blocks", "[rule]") {
    mask_set masks;
    masks.find_or_add(every_third, "masks");
    masks.find_or_add(sparse, "masks");
    std::vector<std::uint32_t> many;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        many.push_back(i * 7919 % 3001);
    }
    many.push_back(1U << 20U);  // too long for the narrow blocks
    tally at_once{masks};
    at_once.add_lengths(many);
    tally singly{masks};
    std::uint64_t pairs = 0;
    for (const std::uint32_t length : many) {
        singly.add(sequence{.length = length});
        pairs += every_third(sequence{.length = length});
    }
    CHECK(at_once == singly);
    CHECK(at_once.pairs(view::useful, every_third) == pairs);
}

TEST_CASE("a user's mask under every convention, by what it says of its shape", "[rule]") {
    for (const convention* how : conventions::all) {
        INFO(std::string(how->name));
        const auto core = [&](const rule& attends, const std::vector<std::uint32_t>& batch) {
            const flop_counter counter(own_attention{attends}.cost(layer{.hidden_size = 6}), *how,
                                       {.counted = counted_passes::forward});
            tally sum{counter.masks()};
            sum.add_lengths(batch);
            const breakdown work = counter.evaluate(sum);
            for (const component_flops& one : work.components()) {
                if (one.name.view() == "attention.core") {
                    return one.total(view::useful).low();
                }
            }
            return std::uint64_t{0};
        };
        if (how->parameters == counted_weights::stored) {
            CHECK(core(every_third, lengths) == 0);
            continue;
        }
        std::uint64_t pairs = 0;
        std::uint64_t squares = 0;
        std::uint64_t blocks = 0;
        for (const std::uint32_t length : lengths) {
            pairs += enumerated(every_third, {.length = length});
            blocks += enumerated(sparse, {.length = length});
            squares += std::uint64_t{length} * length;
        }
        const std::uint64_t softmax = how->counted.contains(term::softmax) ? 3 : 0;
        const std::uint64_t half_a_pair = 2 * 6 + softmax / 2;
        const std::uint64_t per_pair = 2 * 12 + softmax;
        const bool full = how->causal == causal_pairs::full_square;
        const std::uint64_t expected = how->windows == window_pairs::exact ? pairs * per_pair
                                       : full                              ? squares * per_pair
                                                                           : squares * half_a_pair;
        CHECK(core(every_third, lengths) == expected);
        CHECK(core(sparse, lengths) == blocks * per_pair);
    }
}

TEST_CASE("a user's mask in a descriptor, a constant, a counter and a meter", "[rule]") {
    using model = transformer<own_attention, gated_mlp>;
    const model described{
        .hidden_size = 8, .num_layers = 3, .attention = {sparse}, .feed_forward = {16}, .vocab = {.size = 11}};
    const flop_counter counter(described.cost());
    meter steps(counter, metered_hardware{.gpus = 1, .peak_tflops = 1});
    std::uint64_t pairs = 0;
    steps.begin_step();
    for (const std::uint32_t length : lengths) {
        steps.microbatch().add(sequence{.length = length});
        pairs += enumerated(sparse, {.length = length});
    }
    steps.end_step(1.0);
    const tally& done = steps.last_step().batch;
    CHECK(done.pairs(view::useful, sparse) == pairs);
    CHECK(counter.evaluate(done)["attention.core"].get(view::useful, phase::forward).low() == 3 * pairs * 2 * 16);
    constexpr std::uint64_t seven = 1 * 3 + 2 * 3 + 3;
    tally batch{constant.masks()};
    batch.add(sequence{.length = 7});
    CHECK(evaluate(constant, batch)["attention.core"].get(view::useful, phase::forward).low() == seven * 2 * 4);
}

TEST_CASE("a user's mask over the ranks of a context-parallel group adds up to the row", "[rule]") {
    packed_row row;
    for (const std::uint32_t length : {24U, 8U, 64U}) {
        row.add(sequence{.length = length - 3}, sequence{.length = length});
    }
    mask_set masks;
    masks.find_or_add(every_third, "masks");
    masks.find_or_add(sparse, "masks");
    const context_parallel_row split(row, token_split::zigzag(row.tokens(), 4));
    tally sum{masks};
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        sum += split.tally_of(rank, masks).total();
    }
    CHECK(sum == row.tally_of(masks).total());
}

TEST_CASE("the tiles that a user's mask touches are those of an enumeration", "[rule]") {
    for (const std::uint32_t length : {1U, 9U, 40U}) {
        for (const std::uint32_t past : {0U, 7U}) {
            const sequence s{.length = length, .past = past};
            for (const std::int64_t rows : {1, 3, 8}) {
                for (const std::int64_t keys : {1, 4, 16}) {
                    std::uint64_t tiles = 0;
                    const std::int64_t end = std::int64_t{past} + length;
                    for (std::int64_t row = past; row < end; row += rows) {
                        for (std::int64_t key = 0; key < end; key += keys) {
                            bool touched = false;
                            for (std::int64_t i = row; i < std::min(row + rows, end); ++i) {
                                for (std::int64_t j = key; j < std::min(key + keys, end); ++j) {
                                    touched = touched || sees(every_third, i, j);
                                }
                            }
                            tiles += touched ? 1U : 0U;
                        }
                    }
                    REQUIRE(executed_pairs(every_third, s, static_cast<std::uint64_t>(rows),
                                           static_cast<std::uint64_t>(keys)) ==
                            tiles * static_cast<std::uint64_t>(rows * keys));
                }
            }
        }
    }
    CHECK(error_of([] { return executed_pairs(sparse, sequence{.length = 4}, 2, 2); }) ==
          "mask: block_sparse(8,1,1) says how many keys a query sees, not which");
}

TEST_CASE("F1: a rule asked for samples that it does not count is an error with both names, never 0", "[rule]") {
    CHECK(error_of([] { return mask::merged_patches(2).in(modality::text); }) ==
          "vision.merged_patches(2): counts no sequences");
    CHECK(error_of([] { return mask::grid_windows(7).in(modality::audio); }) ==
          "vision.grid_windows(7): counts no clips of sound");
    CHECK(error_of([] { return mask::strided_squares(1, 8).in(modality::vision); }) ==
          "audio.strided_squares(1,8): counts no grids of images");
    CHECK(error_of([] { return mask::cross_attention().in(modality::vision); }) ==
          "cross_attention: counts no grids of images");
    CHECK(error_of([] { return mask::merged_patches(2)(sequence{.length = 4}); }) ==
          "vision.merged_patches(2): counts no sequences");
    CHECK(error_of([] {
              return mask::strided_frames(1, 2)(grid{1, 4, 4});
          }) == "audio.strided_frames(1,2): counts no grids of images");
    CHECK(error_of([] { return rule(every_third).in(modality::vision); }) ==
          "dilated_window(4,3): counts no grids of images");
    CHECK(error_of([] {
              return cost{}.add("x", linear{1, 1}, mask::merged_patches(2)).in(modality::audio);
          }) == "vision.merged_patches(2): counts no clips of sound");
    // Where the sum of a grid passes 64 bits it does not wrap.
    CHECK(error_of([] {
              return mask::bidirectional()(grid{.t = 9, .h = 65536, .w = 32768});
          }).starts_with("bidirectional: "));
}

TEST_CASE("what a rule's text says is what is read again, for each rule of the library", "[rule]") {
    const std::vector<rule> all{mask::causal(),
                                mask::bidirectional(),
                                mask::sliding_window(4096),
                                mask::window(3, -1),
                                mask::window(-1, 3),
                                mask::chunked(8192),
                                mask::top_k(2048),
                                mask::compressed_keys(4),
                                mask::cross_attention(),
                                mask::encoder(),
                                mask::encoder_window(64, -1),
                                mask::prefix_lm(0),
                                mask::best_compressed_keys(4, 512),
                                mask::best_blocks(128, 16),
                                mask::best_pools(16, 128),
                                mask::box(512),
                                mask::hstu(),
                                mask::hstu({.is_causal = false, .contextual = false}),
                                mask::hstu({.max_attn_len = 64, .min_full_attn_seq_len = 8, .windowed_targets = false}),
                                mask::hstu({.max_attn_len = 64, .targets_share_place = true}),
                                mask::hstu_part(hstu_rows::targets, 2),
                                mask::bidirectional().in(modality::vision),
                                mask::sliding_window(9).in(modality::audio),
                                mask::grid_windows(7),
                                mask::grid_windows(7, 3),
                                mask::clip_squares(),
                                mask::clip_squares(5),
                                mask::merged_patches(2),
                                mask::merged_patches(2, 1),
                                mask::pooled_patches(2),
                                mask::clips(),
                                mask::pooled_clips(2),
                                mask::merged_pairs(2),
                                mask::merged_squares(2),
                                mask::later_image_tokens(4),
                                mask::later_image_tokens(4, 512),
                                mask::strided_frames(-3, 2),
                                mask::strided_frames(1, 2, 100),
                                mask::strided_squares(1, 8, 100, 104),
                                mask::strided_squares(1, 8, 0, 104),
                                mask::strided_band(1, 4, 12, 0),
                                mask::strided_cells(-2, 4),
                                mask::level_windows(7, 2, true, false),
                                mask::level_windows(7, 2, false, true),
                                mask::reduced_pairs(1, 2, 3, 4),
                                mask::across_frames(),
                                mask::window_lines(),
                                mask::window_lines(7),
                                mask::kept_patches(750'000, 1),
                                mask::kept_squares(750'000, 1),
                                measured("routed"),
                                measured("loss_mask_tokens"),
                                moment_rules::squares{},
                                rule(moment_rules::tokens{}).in(modality::vision),
                                make_rule<maxtext::window_squares>(8),
                                maxtext::chunk_squares{8},
                                maxtext::best_compressed_squares{4, 512},
                                make_rule<megatron_bridge::within_window>(8),
                                make_rule<megatron_bridge::limited_by_window>(8),
                                recsys_examples::history_squares{0},
                                recsys_examples::other_pairs{2},
                                mask_rules::compressed_box{4, 512},
                                mask_rules::compressed_box{128, mask_rules::compressed_box::every}};
    for (const rule& one : all) {
        INFO(one.name());
        CHECK(rule_named(one.name()) == one);
    }
    CHECK(mask::grid_windows(7, 3).name() == "vision.grid_windows(7,shift=3)");
    CHECK(rule(mask_rules::compressed_box{128, mask_rules::compressed_box::every}).name() == "compressed_box(128)");
    CHECK(mask::strided_squares(1, 8, 0, 104).name() == "audio.strided_squares(1,8,window=104)");
    CHECK(rule_named<dilated_window>("dilated_window(4,3)") == rule(every_third));
}

TEST_CASE("a text that is no rule is an error that says why", "[rule]") {
    const auto problem = [](const char* text) { return error_of([&] { return rule_named(text); }); };
    CHECK(problem("dilated_window(4,3)") == "rule: \"dilated_window(4,3)\" is none that is known here");
    CHECK(problem("") == "rule: \"\" is none that is known here");
    CHECK(problem("sliding_window") == "rule: \"sliding_window\" lacks a number, sliding_window");
    CHECK(problem("sliding_window(0)") == "sliding_window: must be from 1 to 2147483647, got 0");
    CHECK(problem("sliding_window(4x)") == "sliding_window: must be a whole number, got \"4x\"");
    CHECK(problem("sliding_window(4,5)") == "rule: \"sliding_window(4,5)\" has \"5\" besides its numbers");
    CHECK(problem("sliding_window(4") == "rule: \"sliding_window(4\": its numbers must stand in brackets");
    CHECK(problem("grid_windows(7)") == "rule: \"grid_windows(7)\" is none that is known here");
    CHECK(problem("audio.merged_patches(2)") == "vision.merged_patches(2): counts no clips of sound");
    CHECK(problem("vision.grid_windows(7,side=3)") ==
          "rule: \"grid_windows(7,side=3)\" has \"side=3\" besides its numbers");
    CHECK(problem("measured(Valid)") == "measured: a name has 1 to 16 of a-z, 0-9 and _, got \"Valid\"");
}

TEST_CASE("parameters of a user's rule are checked by what it says of them", "[rule]") {
    CHECK(error_of([] { return rule(dilated_window{0, 3}); }) == "taps: must be from 1 to 2147483647, got 0");
    CHECK(error_of([] { return make_rule<dilated_window>(4, 1LL << 40U); }) ==
          "step: must be from 1 to 2147483647, got 1099511627776");
    CHECK_FALSE(rule(dilated_window{4, 3}) == rule(dilated_window{3, 4}));
}

TEST_CASE("A12: words that a caller measures, as many as wanted, two kinds of experts among them", "[rule]") {
    moe text{.num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 5, .routed_is_measured = true};
    moe image = text;
    image.intermediate_size = 3;
    image.visits = "image_experts";
    const layer where{.hidden_size = 7};
    const cost model = text.cost(where) + image.cost(where).as_component("image");
    const flop_counter counter(model, conventions::exact, {.counted = counted_passes::forward});
    mask_set masks = counter.masks();
    masks.find_or_add(measured("valid_tokens"), "masks");
    tally batch{masks};
    batch.add(sequence{.length = 10});
    CHECK(error_of([&] { return counter.total(batch); }) ==
          "routed: this cost counts experts by measured visits, and the tally has none: call add_routed");
    batch.add_measured("routed", 11, 13);
    CHECK(error_of([&] { return counter.total(batch); }) ==
          "measured(image_experts): this cost counts it, and the tally has none: call add_measured");
    batch.add_measured("image_experts", 17, 19);
    batch.add_measured("valid_tokens", 6, 6);
    CHECK(batch.get(view::useful, statistic::routed) == 11);
    CHECK(batch.pairs(view::padded, measured("image_experts")) == 19);
    CHECK(batch.pairs(view::useful, measured("valid_tokens")) == 6);
    const std::uint64_t routers = 2 * 10 * 2 * 7 * 8;
    CHECK(counter.total(batch).low() == routers + 11 * 3 * 2 * 7 * 5 + 17 * 3 * 2 * 7 * 3);
    CHECK(error_of([&] { batch.add_measured("other", 1, 1); }) ==
          "other: this tally has no such word: build it with masks() that have measured(\"other\")");
    CHECK(error_of([&] { batch.add_measured("valid_tokens", 2, 1); }) == "valid_tokens: 1 padded are fewer than 2");
    // Visits are those of all layers: more layers are more weights, not more FLOPs a visit.
    CHECK((3 * model).parameters() == 3 * model.parameters());
}

namespace {

/// Counts a quarter of every causal square: what no tool does, and a user may.
counted_statistics a_quarter(const rule& attends, const convention& how, const attention_context& model) {
    if (attends.shape() == pair_shape::causal) {
        return {moment_rules::squares{}, 4};
    }
    return count_pairs(attends, how, model);
}
constexpr convention own_convention{.name = "quarters", .summary = "a user's own", .pairs = a_quarter};

}  // namespace

TEST_CASE("a user's convention is a value with one function", "[rule]") {
    const cost model = own_attention{mask::sliding_window(3)}.cost(layer{.hidden_size = 2});
    const flop_counter counter(model, own_convention, {.counted = counted_passes::forward});
    tally batch{counter.masks()};
    batch.add_lengths(std::vector<int>{4, 6});
    CHECK(counter.evaluate(batch)["attention.core"].total(view::useful).low() == (16 + 36) / 4 * 8);
}

TEST_CASE("A number in a rule's text is whole and fits 64 bits, or an error that names it", "[rule]") {
    const auto read = [](const char* text) {
        return error_of([&] { return std::to_string(floptally::detail::read_number(text, "shift")); });
    };
    CHECK(floptally::detail::read_number("0", "shift") == 0);
    CHECK(floptally::detail::read_number("-70", "shift") == -70);
    CHECK(floptally::detail::read_number("007", "shift") == 7);
    CHECK(floptally::detail::read_number("9223372036854775807", "shift") == std::numeric_limits<std::int64_t>::max());
    CHECK(floptally::detail::read_number("-9223372036854775807", "shift") == -std::numeric_limits<std::int64_t>::max());
    for (const char* text : {"", "-", "+5", "5 ", " 5", "5.0", "0x5", "--5", "9223372036854775808",
                             "92233720368547758070", "99999999999999999999999", "5:", "5/"}) {
        CHECK(read(text) == "shift: must be a whole number, got \"" + std::string(text) + "\"");
    }
}

namespace {

/// Half of a word for each sequence, so that two of them do not fit it and four would wrap to nothing.
struct half_of_a_word {
    static constexpr std::string_view name = "half_of_a_word";

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return s.length == 0 ? 0 : std::uint64_t{1} << 63U;
    }
};

}  // namespace

TEST_CASE("the sum of a rule without one of its own over blocks does not wrap", "[rule]") {
    tally batch{mask_set{rule(half_of_a_word{})}};
    const std::vector<int> sixteen(16, 1);
    CHECK(error_of([&] { batch.add_lengths(sixteen); }) == "half_of_a_word: the sum does not fit 64 bits");
    batch.add_lengths(std::vector<int>(16, 0));
    CHECK(batch == tally{mask_set{rule(half_of_a_word{})}});
}

}  // namespace rule_test
