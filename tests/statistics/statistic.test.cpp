// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/statistics/statistic_text.hpp>
#include <floptally/step/meter.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "own_masks.hpp"
#include "sanitized.hpp"

namespace statistic_test {
namespace {

using namespace floptally;

/// True where the query at position i sees key j: the definitions of the masks.
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
    statistic attends;

    [[nodiscard]] constexpr floptally::cost cost(const layer& where) const {
        floptally::cost sum;
        sum.add("attention.qkv", linear{.in_features = where.hidden_size, .out_features = 3 * where.hidden_size});
        sum.add("attention.core", attention_core{1, where.hidden_size, where.hidden_size}, attends);
        return sum;
    }
};

// In a constant: the statistic, a descriptor with it, its tally and its FLOPs.
static_assert(statistic(every_third)(sequence{.length = 7}) == 1 * 3 + 2 * 3 + 3);
constexpr constant_cost<> constant = own_attention{every_third}.cost(layer{.hidden_size = 2});
static_assert(statistic_type<dilated_window> && statistic_type<block_sparse>);

}  // namespace

TEST_CASE("a user's mask equals an enumeration, also after cached tokens", "[statistic]") {
    for (const std::uint32_t length : lengths) {
        for (const std::uint32_t past : {0U, 1U, 5U, 24U, 61U}) {
            const sequence s{.length = length, .past = past};
            REQUIRE(statistic(every_third)(s) == enumerated(every_third, s));
            REQUIRE(statistic(dilated_window{1, 5})(s) == enumerated(dilated_window{1, 5}, s));
            REQUIRE(statistic(sparse)(s) == enumerated(sparse, s));
            REQUIRE(statistic(block_sparse{5, 0, 2})(s) == enumerated(block_sparse{5, 0, 2}, s));
        }
    }
}

TEST_CASE("a user's mask counts every input format, also lengths in blocks", "[statistic]") {
    mask_set masks;
    masks.find_or_add(every_third, "masks");
    masks.find_or_add(sparse, "masks");
    std::vector<std::uint32_t> many;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        many.push_back(i * 7919 % 3001);
    }
    many.push_back(1U << 22U);  // too long for a block
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

TEST_CASE("conventions count a user's mask by the shape that the mask declares", "[statistic]") {
    for (const convention* how : conventions::all) {
        INFO(std::string(how->name));
        const auto core = [&](const statistic& attends, const std::vector<std::uint32_t>& batch) {
            const flop_counter counter(own_attention{attends}.cost(layer{.hidden_size = 6}), *how,
                                       {.counted = counted_passes::forward});
            tally sum{counter.masks()};
            sum.add_lengths(batch);
            const breakdown work = counter.evaluate(sum);
            for (const component_flops& component : work.components()) {
                if (component.name.view() == "attention.core") {
                    return component.total(view::useful).low();
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
        std::uint64_t tokens = 0;
        std::uint64_t blocks = 0;
        for (const std::uint32_t length : lengths) {
            pairs += enumerated(every_third, {.length = length});
            blocks += enumerated(sparse, {.length = length});
            squares += std::uint64_t{length} * length;
            tokens += length;
        }
        const std::uint64_t softmax = how->counted.contains(term::softmax) ? 3 : 0;
        const std::uint64_t half_a_pair = 2 * 6 + softmax / 2;
        const std::uint64_t per_pair = 2 * 12 + softmax;
        const bool full = how->causal == causal_pairs::full_square;
        const bool triangle = how->causal == causal_pairs::exact;  // a causal mask's pairs, whatever the window is
        const std::uint64_t expected = how->windows == window_pairs::exact ? pairs * per_pair
                                       : full                              ? squares * per_pair
                                       : triangle                          ? (squares + tokens) / 2 * per_pair
                                                                           : squares * half_a_pair;
        CHECK(core(every_third, lengths) == expected);
        CHECK(core(sparse, lengths) == blocks * per_pair);
    }
}

TEST_CASE("a user's mask works in a descriptor, a constexpr cost, a flop_counter and a meter", "[statistic]") {
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

TEST_CASE("a user's mask counted on context-parallel ranks adds up to the pack", "[statistic]") {
    placed_sequences row;
    for (const std::uint32_t length : {24U, 8U, 64U}) {
        row.add(sequence{.length = length - 3}, sequence{.length = length});
    }
    mask_set masks;
    masks.find_or_add(every_third, "masks");
    masks.find_or_add(sparse, "masks");
    const context_parallel_pack split(row, token_split::zigzag(row.tokens(), 4));
    tally sum{masks};
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        sum += split.tally_of(rank, masks).total();
    }
    CHECK(sum == row.tally_of(masks).total());
}

TEST_CASE("attention tiles of a user's mask equal an enumeration", "[statistic]") {
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
          "mask: block_sparse(8,1,1) knows how many keys a query sees, but not which: pass a mask with `add_keys`, "
          "such as a window");
}

TEST_CASE("a statistic that cannot count a kind of sample is an error that names the statistic and the kind",
          "[statistic]") {
    CHECK(error_of([] { return statistic(unit::merged_patches(2)).in(modality::text); }) ==
          "vision.merged_patches(2): cannot count sequences: use a statistic that can be called with them");
    CHECK(error_of([] { return mask::grid_windows(7).in(modality::audio); }) ==
          "vision.grid_windows(7): cannot count clips of sound: use a statistic that can be called with them");
    CHECK(error_of([] { return mask::strided_squares(1, 8).in(modality::vision); }) ==
          "audio.strided_squares(1,8): cannot count grids of images: use a statistic that can be called with them");
    CHECK(error_of([] { return mask::cross_attention().in(modality::vision); }) ==
          "cross_attention: cannot count grids of images: use a statistic that can be called with them");
    CHECK(error_of([] { return statistic(unit::merged_patches(2))(sequence{.length = 4}); }) ==
          "vision.merged_patches(2): cannot count sequences: use a statistic that can be called with them");
    CHECK(error_of([] {
              return statistic(unit::strided_frames(1, 2))(grid{1, 4, 4});
          }) ==
          "audio.strided_frames(1,2): cannot count grids of images: use a statistic that can be called with them");
    CHECK(error_of([] { return statistic(every_third).in(modality::vision); }) ==
          "dilated_window(4,3): cannot count grids of images: use a statistic that can be called with them");
    CHECK(error_of([] {
              return cost{}.add("x", linear{1, 1}, unit::merged_patches(2)).in(modality::audio);
          }) == "vision.merged_patches(2): cannot count clips of sound: use a statistic that can be called with them");
    // Where the sum of a grid passes 64 bits it does not wrap.
    CHECK(error_of([] {
              return mask::bidirectional()(grid{.t = 9, .h = 65536, .w = 32768});
          }).starts_with("bidirectional: "));
}

TEST_CASE("a statistic of sequences counts the frames of an audio clip as a sequence", "[statistic]") {
    const statistic chunks = maxtext::chunk_squares{4};
    CHECK(chunks(audio_clip{11}) == 4 * 4 + 4 * 4 + 3 * 3);
    CHECK(chunks(grid{2, 1, 11}) == 2 * (4 * 4 + 4 * 4 + 3 * 3));
    CHECK(mask::sliding_window(3).in(modality::audio)(audio_clip{5}) == 1 + 2 + 3 + 3 + 3);
    CHECK(mask::bidirectional().in(modality::audio)(audio_clip{5}) == 25);
}

TEST_CASE("a statistic tells whether it lists the keys of a query and which input streams it counts", "[statistic]") {
    CHECK(statistic(every_third).says_which_keys());
    CHECK_FALSE(statistic(sparse).says_which_keys());
    const auto streams = [](std::int64_t tokens, std::int64_t text, std::int64_t second) {
        return unit::powers(tokens, text, second).streams();
    };
    const auto make_single = [](token_stream stream) { return static_cast<std::uint64_t>(stream); };
    CHECK(streams(1, 0, 0) == make_single(token_stream::grid));
    CHECK(streams(0, 1, 0) == make_single(token_stream::text));
    CHECK(streams(0, 0, 1) == make_single(token_stream::second));
    CHECK(streams(1, 1, 1) ==
          make_single(token_stream::grid) + make_single(token_stream::text) + make_single(token_stream::second));
}

TEST_CASE("a grid smaller than a convolution kernel is an error, and an empty grid is allowed", "[statistic]") {
    const statistic cells = unit::level_cells({.field = 3, .stride = 2}, {.field = 2, .stride = 1});
    CHECK(cells.problem_of(grid{2, 3, 3}) == grid_problem::none);
    CHECK(cells.problem_of(grid{2, 3, 2}) == grid_problem::leaves_nothing);
    CHECK(cells.problem_of(grid{2, 2, 3}) == grid_problem::leaves_nothing);
    CHECK(cells.problem_of(grid{1, 3, 3}) == grid_problem::leaves_nothing);
    CHECK(cells.problem_of(grid{}) == grid_problem::none);
}

TEST_CASE("strides and sampling rates of a user's grid statistic must be at least 1", "[statistic][errors]") {
    const auto problem = [](std::int32_t stride, std::int32_t up, std::int32_t t_stride, std::int32_t t_up) {
        return error_of([&] {
            return statistic(unit_statistics::level_cells{{.field = 3,
                                                           .factors = stride + (up << 16),
                                                           .summands = 0,
                                                           .time = 0x801 + (t_stride << 12) + (t_up << 20)}});
        });
    };
    const std::string least = "stride: stride, up, t_stride and t_up must be at least 1, got ";
    CHECK(problem(1, 1, 1, 1) == "no error");
    CHECK(problem(0, 1, 1, 1) == least + "0, 1, 1 and 1");
    CHECK(problem(1, 0, 1, 1) == least + "1, 0, 1 and 1");
    CHECK(problem(1, 1, 0, 1) == least + "1, 1, 0 and 1");
    CHECK(problem(1, 1, 1, 0) == least + "1, 1, 1 and 0");
}

TEST_CASE("HSTU targets without a group size and invalid names of measured counts are errors", "[statistic]") {
    CHECK(detail::is_valid({.length = 9, .targets = 4, .target_group = 2}));
    CHECK_FALSE(detail::is_valid({.length = 9, .targets = 4, .target_group = 0}));
    CHECK(detail::is_valid({.length = 9, .targets = 0, .target_group = 0}));
    CHECK_FALSE(detail::is_valid({.length = 9, .targets = 10, .target_group = 1}));
    CHECK_FALSE(detail::is_valid({.length = 2, .past = 0xFFFF'FFFE}));
    CHECK(detail::history_of({.length = 9, .past = 4, .context = 3, .targets = 2, .target_group = 1}) == 8);
    CHECK(statistic(mask::causal().in(modality::vision)).of_length(5) == 0);
    CHECK(statistic(mask::causal()).of_length(5) == 15);
    const auto named = [](const char* accumulator) {
        return error_of([&] { return unit_statistics::measured::named(accumulator); });
    };
    CHECK(named("sixteen_letters_") == "no error");
    CHECK(named("az_09") == "no error");
    for (const char* outside : {"`", "{", "/", ":", "A", " "}) {
        CHECK(named(outside).starts_with("measured: "));
    }
    CHECK(named("seventeen_letters") ==
          "measured: a name must have 1 to 16 characters of a-z, 0-9 and _, got \"seventeen_letters\"");
    CHECK(named("") == "measured: a name must have 1 to 16 characters of a-z, 0-9 and _, got \"\"");
}

TEST_CASE("has_room() is true for a sequence and a slot exactly if require_room() does not throw", "[statistic]") {
    std::vector<sequence> all;
    for (std::uint32_t bits = 0; bits < 64; ++bits) {
        const auto bit = [bits](unsigned at) { return bits >> at & 1U; };
        const sequence s{.length = 2 + bit(0),
                         .past = bit(1),
                         .keys = bit(2),
                         .context = bit(3),
                         .targets = bit(4),
                         .target_group = 1 + bit(5)};
        all.push_back(s);
    }
    for (const sequence& real : all) {
        for (const sequence& slot : all) {
            const bool is_refused = error_of([&] { detail::require_room(real, slot); }) != "no error";
            REQUIRE(detail::has_room(real, slot) == !is_refused);
        }
    }
}

TEST_CASE("a statistic that is computed from sums over lengths equals the statistic summed over all sequences",
          "[statistic]") {
    const std::vector<sequence> batch{{.length = 5}, {.length = 0, .keys = 4}, {.length = 7, .past = 3, .keys = 2}};
    std::uint64_t count = 0;
    std::uint64_t tokens = 0;
    std::uint64_t squares = 0;
    std::uint64_t cached = 0;
    std::uint64_t keys = 0;
    std::uint64_t crossed = 0;
    for (const sequence& s : batch) {
        for (std::uint32_t query = 0; query < s.length; ++query) {
            count += query == 0 ? 1 : 0;
            tokens += 1;
            squares += s.length;
            cached += s.past;
            crossed += s.keys;
        }
        keys += s.keys;
    }
    for (const statistic& follows :
         {statistic(mask::causal()), statistic(mask::bidirectional()), statistic(mask::cross_attention()),
          statistic(moment_statistics::count{}), statistic(moment_statistics::tokens{}),
          statistic(moment_statistics::squares{}), statistic(moment_statistics::cached{}),
          statistic(moment_statistics::keys{}), statistic(moment_statistics::crossed{})}) {
        const moment_form form = follows.moments();
        std::uint64_t sum = 0;
        for (const sequence& s : batch) {
            sum += static_cast<std::uint64_t>(follows(s));
        }
        INFO(follows.name());
        CHECK(form.exists);
        CHECK(2 * sum ==
              form.half_squares * squares + form.half_tokens * tokens +
                  2 * (form.cached * cached + form.crossed * crossed + form.count * count + form.keys * keys));
        CHECK(form.routed == 0);
    }
    CHECK(statistic(unit_statistics::measured::named("routed")).moments() == moment_form{.exists = true, .routed = 1});
    CHECK_FALSE(statistic(unit_statistics::measured::named("visits")).moments().exists);
}

TEST_CASE("the name of a statistic's struct is found in the text by which each compiler names the type",
          "[statistic]") {
    CHECK(detail::struct_in("const char* spelled() [with Statistic = own::window]") == "own::window");
    CHECK(detail::struct_in("const char *spelled() [Statistic = own::window]") == "own::window");
    CHECK(detail::struct_in("spelled() [with Statistic=own::window]") == "own::window");
    CHECK(detail::struct_in("spelled() [with Statistic =own::table<Statistic = 3>]") == "3>");
    CHECK(detail::struct_in("Statistic=]").empty());
}

TEST_CASE("the text of every library statistic is parsed back to an equal statistic", "[statistic]") {
    const std::vector<statistic> all{
        mask::causal(),
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
        unit::hstu_part(hstu_rows::targets, 2),
        mask::bidirectional().in(modality::vision),
        mask::sliding_window(9).in(modality::audio),
        mask::grid_windows(7),
        mask::grid_windows(7, 3),
        mask::clip_squares(),
        mask::clip_squares(5),
        unit::merged_patches(2),
        unit::merged_patches(2, 1),
        unit::pooled_patches(2),
        unit::clips(),
        unit::pooled_clips(2),
        unit::merged_pairs(2),
        unit::merged_squares(2),
        mask::later_image_tokens(4),
        mask::later_image_tokens(4, 512),
        unit::strided_frames(-3, 2),
        unit::strided_frames(1, 2, 100),
        mask::strided_squares(1, 8, 100, 104),
        mask::strided_squares(1, 8, 0, 104),
        mask::strided_band(1, 4, 12, 0),
        unit::strided_cells(-2, 4),
        mask::level_windows(7, 2, true, false),
        mask::level_windows(7, 2, false, true),
        mask::reduced_pairs(1, 2, 3, 4),
        mask::across_frames(),
        mask::window_lines(),
        mask::window_lines(7),
        unit::kept_patches(750'000, 1),
        unit::kept_squares(750'000, 1),
        measured("routed"),
        measured("loss_mask_tokens"),
        moment_statistics::squares{},
        statistic(moment_statistics::tokens{}).in(modality::vision),
        make_statistic<maxtext::window_squares>(8),
        maxtext::chunk_squares{8},
        maxtext::best_compressed_squares{4, 512},
        make_statistic<megatron_bridge::within_window>(8),
        make_statistic<megatron_bridge::limited_by_window>(8),
        recsys_examples::history_squares{0},
        recsys_examples::other_pairs{2},
        mask_statistics::compressed_box{4, 512},
        mask_statistics::compressed_box{128, mask_statistics::compressed_box::every}};
    for (const statistic& value : all) {
        INFO(value.name());
        CHECK(statistic_named(value.name()) == value);
    }
    CHECK(mask::grid_windows(7, 3).name() == "vision.grid_windows(7,shift=3)");
    CHECK(statistic(mask_statistics::compressed_box{128, mask_statistics::compressed_box::every}).name() ==
          "compressed_box(128)");
    CHECK(mask::strided_squares(1, 8, 0, 104).name() == "audio.strided_squares(1,8,window=104)");
    CHECK(statistic_named<dilated_window>("dilated_window(4,3)") == statistic(every_third));
}

TEST_CASE("an invalid statistic text is an error with the reason", "[statistic]") {
    const auto problem = [](const char* text) { return error_of([&] { return statistic_named(text); }); };
    CHECK(problem("dilated_window(4,3)") ==
          "statistic: \"dilated_window(4,3)\" is not a known statistic; write one such as \"sliding_window(4096)\"");
    CHECK(problem("") == "statistic: \"\" is not a known statistic; write one such as \"sliding_window(4096)\"");
    CHECK(problem("sliding_window") ==
          "statistic: \"sliding_window\" lacks a number: write sliding_window in brackets after \"sliding_window\"");
    CHECK(problem("sliding_window(0)") == "sliding_window: must be from 1 to 2147483647, got 0");
    CHECK(problem("sliding_window(4x)") == "sliding_window: must be a whole number, got \"4x\"");
    CHECK(problem("sliding_window(4,5)") ==
          "statistic: \"sliding_window(4,5)\" has characters after its end: remove \"5\"");
    CHECK(problem("sliding_window(4") ==
          "statistic: \"sliding_window(4\": write its numbers in brackets, as in \"sliding_window(8)\"");
    CHECK(problem("grid_windows(7)") ==
          "statistic: \"grid_windows(7)\" is not a known statistic; write one such as \"sliding_window(4096)\"");
    CHECK(problem("audio.merged_patches(2)") ==
          "vision.merged_patches(2): cannot count clips of sound: use a statistic that can be called with them");
    CHECK(problem("vision.grid_windows(7,side=3)") ==
          "statistic: \"grid_windows(7,side=3)\" has characters after its end: remove \"side=3\"");
    CHECK(problem("measured(Valid)") ==
          "measured: a name must have 1 to 16 characters of a-z, 0-9 and _, got \"Valid\"");
}

TEST_CASE("parameters of a user's statistic are checked against the limits that the statistic declares",
          "[statistic]") {
    CHECK(error_of([] { return statistic(dilated_window{0, 3}); }) == "taps: must be from 1 to 2147483647, got 0");
    CHECK(error_of([] { return make_statistic<dilated_window>(4, 1LL << 40U); }) ==
          "step: must be from 1 to 2147483647, got 1099511627776");
    CHECK_FALSE(statistic(dilated_window{4, 3}) == statistic(dilated_window{3, 4}));
}

TEST_CASE("a model may have any number of named measured counts, two kinds of experts included", "[statistic]") {
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
    CHECK(error_of([&] { return counter.total_flops(batch); }) ==
          "routed: this cost counts experts by measured visits, and the tally has none: call add_routed with the "
          "visits of the batch");
    batch.add_measured("routed", {.useful = 11, .padded = 13});
    CHECK(error_of([&] { return counter.total_flops(batch); }) ==
          "measured(image_experts): the cost needs this amount, but the tally lacks it: pass it to add_measured");
    batch.add_measured("image_experts", {.useful = 17, .padded = 19});
    batch.add_measured("valid_tokens", {.useful = 6});
    CHECK(batch.get(view::useful, accumulator::routed) == 11);
    CHECK(batch.pairs(view::padded, measured("image_experts")) == 19);
    CHECK(batch.pairs(view::useful, measured("valid_tokens")) == 6);
    const std::uint64_t routers = 2 * 10 * 2 * 7 * 8;
    CHECK(counter.total_flops(batch).low() == routers + 11 * 3 * 2 * 7 * 5 + 17 * 3 * 2 * 7 * 3);
    CHECK(error_of([&] { batch.add_measured("other", {.useful = 1}); }) ==
          "other: is not kept by this tally: create the tally with masks that include measured(\"other\")");
    CHECK(error_of([&] { batch.add_measured("valid_tokens", {.useful = 2, .padded = 1}); }) ==
          "valid_tokens: the padded amount must include the useful amount, 2, got 1");
    // Visits are those of all layers: more layers are more weights, not more FLOPs a visit.
    CHECK((3 * model).parameters() == 3 * model.parameters());
}

namespace {

/// Counts a quarter of every causal square: what no tool does, and a user may.
counted_statistics a_quarter(const statistic& attends, const convention& how, const attention_context& model) {
    if (attends.shape() == pair_shape::causal) {
        return {moment_statistics::squares{}, 4};
    }
    return count_pairs(attends, how, model);
}
constexpr convention own_convention{.name = "quarters", .summary = "a user's own", .pairs = a_quarter};

}  // namespace

TEST_CASE("a user can write a convention as a value with one function", "[statistic]") {
    const cost model = own_attention{mask::sliding_window(3)}.cost(layer{.hidden_size = 2});
    const flop_counter counter(model, own_convention, {.counted = counted_passes::forward});
    tally batch{counter.masks()};
    batch.add_lengths(std::vector<int>{4, 6});
    CHECK(counter.evaluate(batch)["attention.core"].total(view::useful).low() == (16 + 36) / 4 * 8);
}

TEST_CASE("a number in a statistic text must be an integer that fits 64 bits", "[statistic]") {
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

/// Twice the squares of the lengths. The user sums up many lengths at once.
struct doubled_squares {
    static constexpr std::string_view name = "doubled_squares";
    static std::vector<std::size_t> blocks;  ///< the sizes of the blocks that were summed

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return 2 * std::uint64_t{s.length} * s.length;
    }
    [[nodiscard]] std::uint64_t over(const length_block& block) const {
        blocks.push_back(block.size);
        return 2 * block.squares;
    }
};
std::vector<std::size_t> doubled_squares::blocks;

/// An amount that needs more than 64 bits: 2^64 for each sequence.
struct wider_than_an_accumulator {
    static constexpr std::string_view name = "wider_than_an_accumulator";

    FLOPTALLY_HOST_DEVICE constexpr uint128 operator()(const sequence& s) const {
        return s.length == 0 ? uint128{0} : uint128{1} << 64U;
    }
};

/// Half of an accumulator for each sequence, so that two of them do not fit it and four would wrap to nothing.
struct half_of_an_accumulator {
    static constexpr std::string_view name = "half_of_an_accumulator";

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return s.length == 0 ? 0 : std::uint64_t{1} << 63U;
    }
};

}  // namespace

TEST_CASE("a statistic's parameter above 2^63 - 1 is an error that shows the parameter unchanged", "[statistic]") {
    constexpr std::uint64_t most = ~std::uint64_t{0};
    const std::string got = ", got 18446744073709551615";
    CHECK(error_of([] { return mask::chunked(most); }) == "attention_chunk_size: must be from 1 to 2147483647" + got);
    CHECK(error_of([] { return mask::window(1, most); }) == "window.right: must be from -1 to 2147483647" + got);
    CHECK(error_of([] { return mask::sliding_window(most); }) == "sliding_window: must be from 1 to 2147483647" + got);
    CHECK(error_of([] { return mask::grid_windows(7, most); }) == "shift: must be from 0 to 2147483647" + got);
    CHECK(error_of([] { return statistic(unit::merged_patches(most)); }) ==
          "spatial_merge_size: must be from 1 to 2147483647" + got);
    CHECK(error_of([] { return statistic(unit::hstu_part(hstu_rows::items, most)); }) ==
          "stride: must be from 1 to 2147483647" + got);
    CHECK(error_of([] { return make_statistic<mask_statistics::top_k>(most); }) ==
          "top_k: must be from 1 to 2147483647" + got);
    CHECK(error_of([] { return make_statistic<mask_statistics::hstu>(1, 1, most, 0, 1, 0); }) ==
          "max_attn_len: must be from 0 to 2147483647" + got);
}

TEST_CASE("a user's statistic may define a faster sum over a block of lengths", "[statistic]") {
    tally batch{mask_set{statistic(doubled_squares{})}};
    std::vector<std::uint32_t> many(700, 3);
    many[5] = 0;
    many[600] = 20;
    batch.add_lengths(many);
    CHECK(doubled_squares::blocks == std::vector<std::size_t>{512, 188});
    CHECK(batch.pairs(view::useful, doubled_squares{}) == 2 * (698 * 9 + 400));
    many[600] = 1U << 22U;  // too long for a block
    batch.clear();
    batch.add_lengths(many);
    CHECK(doubled_squares::blocks == std::vector<std::size_t>{512, 188, 512});
    CHECK(batch.pairs(view::useful, doubled_squares{}) == 2 * (698 * 9 + (std::uint64_t{1} << 44U)));
}

TEST_CASE("a statistic's value above 64 bits in a block of lengths is an overflow", "[statistic]") {
    tally batch{mask_set{statistic(wider_than_an_accumulator{})}};
    const tally before = batch;
    for (const std::size_t n : {1U, 2U, 16U, 600U}) {
        CAPTURE(n);
        CHECK(error_of([&] { batch.add_lengths(std::vector<int>(n, 1)); }) ==
              "wider_than_an_accumulator: 18446744073709551616 does not fit 64 bits: use a smaller sample");
        CHECK(batch == before);
    }
}

TEST_CASE("a block of lengths whose sum exceeds 64 bits is an overflow, and a block of empty sequences causes no error",
          "[statistic]") {
    tally batch{mask_set{statistic(half_of_an_accumulator{})}};
    const std::vector<int> sixteen(16, 1);
    CHECK(error_of([&] { batch.add_lengths(sixteen); }) ==
          "half_of_an_accumulator: the sum does not fit 64 bits: count fewer samples");
    batch.add_lengths(std::vector<int>(16, 0));
    CHECK(batch == tally{mask_set{statistic(half_of_an_accumulator{})}});
}

namespace {

namespace of_others {

/// The name and the numbers of `::dilated_window`, in the other order.
struct dilated_window {
    std::int32_t step;
    std::int32_t taps;

    static constexpr std::string_view name = "dilated_window";

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return ::dilated_window{taps, step}(s);
    }
};

}  // namespace of_others

/// Two names of one FNV-1a number.
struct costarring {
    static constexpr std::string_view name = "costarring";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length; }
};
struct liquid {
    static constexpr std::string_view name = "liquid";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return 2 * s.length; }
};

}  // namespace

TEST_CASE("statistics of two structs with one name are different and cannot be in one tally", "[statistic]") {
    constexpr statistic own = ::dilated_window{4, 2};
    constexpr statistic other = of_others::dilated_window{4, 2};
    CHECK((own != other && own == statistic(::dilated_window{4, 2})));
    CHECK((own.is<::dilated_window>() && !own.is<of_others::dilated_window>()));
    static_assert(statistic(costarring{}).id() == statistic(liquid{}).id() && !statistic(costarring{}).is<liquid>());
    const sequence hundred{.length = 100};
    CHECK(own(hundred) == enumerated(::dilated_window{4, 2}, hundred));
    CHECK(other(hundred) == enumerated(::dilated_window{2, 4}, hundred));

    mask_set masks{own};
    const std::string problem = error_of([&] { return masks.find_or_add(other, "masks"); });
    INFO(problem);
    CHECK(problem.starts_with(
        "masks: \"dilated_window\" is the name of two statistics, dilated_window and statistic_test::"));
    CHECK(problem.ends_with("::of_others::dilated_window: rename one of them"));
    CHECK(masks.size() == 1);
    CHECK(error_of([&] {
              return own_attention{own}.cost({.hidden_size = 2}) + own_attention{other}.cost({.hidden_size = 2});
          }) == problem);
    CHECK(error_of([&] { return tally{mask_set{own, other}}; }) == problem);
    CHECK(error_of([] {
              return statistic_named<::dilated_window, of_others::dilated_window>("dilated_window(4,2)");
          }).starts_with("statistic: \"dilated_window\" is the name of two statistics, "));
    // Names of one number are two accumulators of a tally.
    CHECK(tally{mask_set{statistic(costarring{}), statistic(liquid{})}}.masks().size() == 2);
}

TEST_CASE("a sample too large for a statistic is an overflow and never a wrapped number", "[statistic]") {
    const auto is_overflow = [](const statistic& what, const auto& sample) {
        INFO(what.name());
        try {
            static_cast<void>(what.pairs(sample));
        } catch (const overflow& e) {
            return std::string(e.what());
        }
        return std::string("no overflow");
    };
    const grid wide{1, 65536, 65536};
    const std::vector<statistic> of_grids{mask::causal().in(modality::vision),
                                          mask::bidirectional(),
                                          mask::grid_windows(7),
                                          mask::clip_squares(),
                                          mask::level_windows(7, 0, false, false),
                                          mask::reduced_pairs(1, 1, 1, 1),
                                          mask::window_lines(),
                                          mask::across_frames(),
                                          mask::later_image_tokens(1),
                                          unit::merged_patches(1),
                                          unit::pooled_patches(1),
                                          unit::pooled_clips(1),
                                          unit::clips(),
                                          unit::merged_pairs(1),
                                          unit::merged_squares(1),
                                          unit::strided_cells(1, 1),
                                          unit::kept_patches(0, 0),
                                          unit::kept_squares(0, 0),
                                          statistic(moment_statistics::squares{}).in(modality::vision)};
    for (const statistic& what : of_grids) {
        CHECK(is_overflow(what, wide) ==
              "grid: 1 x 65536 x 65536 patches: a frame must have at most 4294967295 patches; split the image");
        CHECK(is_overflow(what, grid{1, 100'000, 100'000}) ==
              "grid: 1 x 100000 x 100000 patches: a frame must have at most 4294967295 patches; split the image");
    }
    CHECK(is_overflow(mask::clip_squares(), grid{65536, 65536, 1}) ==
          "grid: 65536 x 65536 x 1 patches: a clip must have at most 4294967295 patches; split it");
    // The largest frame fits; clips of it, and tokens besides patches, may not.
    CHECK(statistic(unit::merged_squares(1))(grid{1, 65535, 65537}) == 0xFFFF'FFFFULL * 0xFFFF'FFFFULL);
    CHECK(is_overflow(unit::merged_squares(1), grid{2, 65535, 65537}) ==
          "vision.merged_squares(1): 36893488130239234050 does not fit 64 bits: use a smaller sample");
    CHECK(is_overflow(unit::kept_squares(0, 0x7FFF'FFFF), grid{1, 65535, 65537}) ==
          "vision.kept_squares(0,2147483647): 41505174140076687364 does not fit 64 bits: use a smaller sample");
    const audio_clip longest{0xFFFF'FFFF};
    CHECK(is_overflow(mask::strided_squares(-0x7FFF'FFFF, 1), longest) ==
          "audio.strided_squares(-2147483647,1): 41505174152961589249 does not fit 64 bits: use a smaller sample");
    CHECK(is_overflow(mask::strided_band(-0x7FFF'FFFF, 1, -1, -1), longest) ==
          "audio.strided_band(-2147483647,1,-1,-1): 41505174152961589249 does not fit 64 bits: use a smaller sample");
    const sequence beyond{.length = 2, .past = 0xFFFF'FFFE};
    for (const statistic& what :
         {statistic(mask::causal()), statistic(mask::chunked(4)), statistic(mask::prefix_lm(4))}) {
        CHECK(is_overflow(what, beyond) == "past: past + length must be at most 4294967295, got 4294967294 + 2");
    }
}

TEST_CASE("a statistic that cannot divide a grid evenly is an error with the grid", "[statistic]") {
    for (const statistic& merges : std::initializer_list<statistic>{unit::merged_patches(2), unit::pooled_patches(2),
                                                                    unit::merged_pairs(2), unit::merged_squares(2)}) {
        CHECK(error_of([&] {
                  return merges.pairs(grid{1, 7, 7});
              }) ==
              "grid: 1 x 7 x 7 patches do not divide by the spatial_merge_size 2: resize the image to a multiple");
    }
    CHECK(error_of([] {
              return statistic(unit::strided_cells(3, 1))(grid{1, 2, 2});
          }) == "grid: 1 x 2 x 2 patches are too few for convolutions over 3 x 3: resize the image or leave it out");
    CHECK(error_of([] {
              return statistic(unit::listed_units(4900, 256, 1225, 128))(grid{1, 2, 2});
          }) == "grid: 1 x 2 x 2 patches: a frame must have 4900 or 1225 patches; resize the image");
}

namespace {

/// Not one count for each row: what a kernel's last, partial block holds.
struct last_block {
    static constexpr std::string_view name = "last_block";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length % 128; }
};

}  // namespace

TEST_CASE("a statistic that decreases with more queries cannot be split over ranks", "[statistic]") {
    const sequence s{.length = 132};
    placed_sequences row;
    row.add(s, s);
    const context_parallel_pack split(row, token_split::contiguous(132, 2));
    const std::string problem =
        "last_block: counts 4 for queries 0 to 132, but 66 for queries 66 to 132: a statistic that is split over ranks "
        "must not count less for more queries; use another statistic";
    CHECK(error_of([&] { return split.pairs(0, last_block{}, view::useful); }) == problem);
    CHECK(error_of([&] { return split.tally_of(0, mask_set{statistic(last_block{})}).total(); }) == problem);
    CHECK(split.pairs(1, last_block{}, view::useful) == 66);
}

TEST_CASE("statistics with different parameters and equal pairs compare equal and count alike in every convention",
          "[statistic]") {
    struct pair_of_equals {
        statistic made;
        statistic equal;
        /// The count by the struct itself, whose own call and sums stay unchanged.
        std::uint64_t (*counted)(const sequence&);
    };
    const std::vector<pair_of_equals> equals{
        {mask::prefix_lm(0), mask::causal(), [](const sequence& s) { return mask_statistics::prefix_lm{0}(s); }},
        {mask::prefix_lm(1), mask::causal(), [](const sequence& s) { return mask_statistics::prefix_lm{1}(s); }},
        {mask::chunked(1), mask::sliding_window(1), [](const sequence& s) { return mask_statistics::chunked{1}(s); }},
        {mask::compressed_keys(1), mask::causal(),
         [](const sequence& s) { return mask_statistics::compressed_keys{1}(s); }},
        {mask::best_blocks(1, 9), mask::top_k(9),
         [](const sequence& s) {
             return mask_statistics::best_blocks{1, 9}(s);
         }},
        {mask::best_pools(1, 9), mask::top_k(9),
         [](const sequence& s) {
             return mask_statistics::best_pools{1, 9}(s);
         }},
        {mask::best_compressed_keys(1, 9), mask::top_k(9), [](const sequence& s) {
             return mask_statistics::best_compressed_keys{1, 9}(s);
         }}};
    for (const pair_of_equals& known : equals) {
        INFO(known.equal.name());
        CHECK(known.made == known.equal);
        CHECK(known.made.name() == known.equal.name());
        for (const std::uint32_t length : lengths) {
            for (const std::uint32_t past : {0U, 1U, 5U, 24U}) {
                const sequence s{.length = length, .past = past};
                CHECK(known.counted(s) == known.equal(s));
            }
        }
        for (const convention* how : conventions::all) {
            INFO(std::string(how->name));
            const auto total = [&](const statistic& attends) {
                const flop_counter counter(own_attention{attends}.cost(layer{.hidden_size = 6}), *how);
                tally sum{counter.masks()};
                sum.add_lengths(lengths);
                return counter.total_flops(sum).low();
            };
            CHECK(total(known.made) == total(known.equal));
        }
    }
    // As megatron, maxtext and verl count a causal mask: L²/2, not L².
    for (const convention* how : {&conventions::megatron, &conventions::maxtext, &conventions::verl}) {
        const flop_counter counter(own_attention{mask::prefix_lm(0)}.cost(layer{.hidden_size = 6}), *how,
                                   {.counted = counted_passes::forward});
        tally batch{counter.masks()};
        batch.add(sequence{.length = 10});
        CHECK(counter.evaluate(batch)["attention.core"].total(view::useful).low() == 2 * 12 * 10 * 10 / 2);
    }
    CHECK(statistic_named("prefix_lm(0)") == mask::causal());
    CHECK(mask::prefix_lm(2).name() == "prefix_lm(2)");
    CHECK_FALSE(mask::chunked(2) == mask::sliding_window(2));
}

TEST_CASE("a mask with several key ranges per query has attention tiles, also the mask in docs/extending.md",
          "[statistic]") {
    const ::dilated_window docs_own{512, 4};
    constexpr std::int64_t length = is_sanitized ? 300 : 3000;
    const sequence s{.length = length};
    for (const auto& [rows, keys] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {2, 3}, {64, 16}, {128, 128}}) {
        std::uint64_t tiles = 0;
        for (std::int64_t row = 0; row < length; row += rows) {
            std::vector<bool> touched(static_cast<std::size_t>(length / keys + 1), false);
            for (std::int64_t i = row; i < std::min(row + rows, length); ++i) {
                for (std::int64_t tap = 0; tap < 512 && i - 4 * tap >= 0; ++tap) {
                    touched[static_cast<std::size_t>((i - 4 * tap) / keys)] = true;
                }
            }
            tiles += static_cast<std::uint64_t>(std::count(touched.begin(), touched.end(), true));
        }
        CHECK(executed_pairs(docs_own, s, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(keys)) ==
              tiles * static_cast<std::uint64_t>(rows * keys));
    }
    CHECK(executed_pairs(docs_own, s, 1, 1) == statistic(docs_own)(s));
}

TEST_CASE("a set of key ranges equals a set of single keys, whatever the order of the ranges", "[statistic]") {
    std::uint32_t state = 1;
    const auto next = [&state](std::uint32_t below) {
        return (state = state * 1664525U + 1013904223U) / 65536U % below;
    };
    for (int round = 0; round < 2000; ++round) {
        seen_keys keys;
        std::vector<bool> seen(64, false);
        for (std::uint32_t i = next(20); i > 0; --i) {
            const std::uint32_t first = next(60);
            const std::uint32_t end = first + next(5);
            keys.add(first, end);
            std::fill(seen.begin() + first, seen.begin() + std::max(first, end), true);
        }
        const std::uint32_t limit = next(64);
        REQUIRE(keys.before(limit) == static_cast<std::uint64_t>(std::count(seen.begin(), seen.begin() + limit, true)));
        std::uint64_t blocks = 0;
        for (std::uint32_t at = 0; at < 64; at += 4) {
            blocks += std::count(seen.begin() + at, seen.begin() + at + 4, true) != 0 ? 1U : 0U;
        }
        REQUIRE(keys.blocks(4) == blocks);
    }
}

}  // namespace statistic_test
