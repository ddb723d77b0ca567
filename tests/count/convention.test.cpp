// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "matmul_trace.hpp"
#include "sanitized.hpp"

namespace convention_test {
namespace {

using namespace floptally;
using matmul_trace::pair_statistic;
using matmul_trace::sequence_list;
using matmul_trace::step;

/// Built for the convention, since a convention may count pairs of masks that the model does not have.
flops total(const cost& model, const convention& how, const std::vector<std::uint32_t>& lengths,
            view seen = view::useful) {
    const flop_counter folded(model, how);
    tally batch{folded.masks()};
    batch.add_lengths(lengths);
    return folded.total_flops(batch, seen);
}

// ---- the trace of a convention ----

/// A mask, the definition of the pairs that it attends, and what conventions look at.
struct traced_mask {
    mask attends;
    pair_statistic pairs;
    bool is_causal;
    std::uint64_t window = 0;  ///< of a sliding window, in tokens
    bool is_windowed = false;  ///< a window, chunks or top-k
};

/// All keys, or the half of them that causal attention needs, counted over the square of the new tokens. Keys of
/// cached tokens are attended by every query, so there is nothing to halve.
pair_statistic square(bool half) {
    return [half](const matmul_trace::sequence& s, std::uint64_t, std::uint64_t key) -> std::uint64_t {
        return half && key >= s.past ? 1U : 2U;
    };
}

/// Half of a box: every query against min(keys, window) keys.
pair_statistic half_of_box(std::uint64_t window) {
    return [window](const matmul_trace::sequence&, std::uint64_t, std::uint64_t key) -> std::uint64_t {
        return key < window ? 1U : 0U;
    };
}

pair_statistic box(std::uint64_t window) {
    return [window](const matmul_trace::sequence&, std::uint64_t, std::uint64_t key) -> std::uint64_t {
        return key < window ? 2U : 0U;
    };
}

/// The pairs of a statistic, where a triangle is half of a square: half of the diagonal where all keys before it are
/// attended in its chunk (0: no chunks) or window.
pair_statistic half_squares(const pair_statistic& pairs, std::uint64_t window) {
    return [pairs, window](const matmul_trace::sequence& s, std::uint64_t query, std::uint64_t key) {
        const bool in_triangle = window == 0 || query < window;
        return query == key && in_triangle ? pairs(s, query, key) / 2 : pairs(s, query, key);
    };
}

/// A window that limits some query, or half of the square.
pair_statistic if_limited(const pair_statistic& pairs, std::uint64_t window) {
    return [pairs, window](const matmul_trace::sequence& s, std::uint64_t query, std::uint64_t key) {
        return s.past + s.length > window ? pairs(s, query, key) : square(true)(s, query, key);
    };
}

/// Every query by every whole block of the sequence, later ones too, or half of that: a block by its last token.
pair_statistic every_block(std::uint64_t ratio, std::uint64_t weight) {
    return [ratio, weight](const matmul_trace::sequence& /*s*/, std::uint64_t /*query*/, std::uint64_t key) {
        return (key + 1) % ratio == 0 ? weight : 0U;
    };
}

pair_statistic counted_pairs(const traced_mask& m, const convention& how, bool layers_alternate) {
    if (m.attends.is<mask_statistics::compressed_keys>()) {
        const auto ratio = static_cast<std::uint64_t>(m.attends.as<mask_statistics::compressed_keys>().ratio);
        return how.pairs == floptally::torchtitan::count_pairs           ? every_block(ratio, 2)
               : how.pairs == floptally::maxtext::count_compressed_pairs ? every_block(ratio, 1)
                                                                         : m.pairs;
    }
    if (m.is_windowed &&
        (how.pairs == floptally::maxtext::count_pairs || how.pairs == floptally::maxtext::count_compressed_pairs)) {
        if (m.attends.is<mask_statistics::top_k>()) {  // as many pairs as a window
            const auto keys = static_cast<std::uint64_t>(m.attends.as<mask_statistics::top_k>().keys);
            return half_squares(matmul_trace::sliding_window(keys), keys);
        }
        if (m.is_causal) {
            return half_squares(m.pairs, m.window);
        }
    }
    if (m.attends.is<mask_statistics::top_k>() && how.pairs == floptally::megatron_2026_10::count_pairs) {
        const auto keys = static_cast<std::uint64_t>(m.attends.as<mask_statistics::top_k>().keys);
        return half_squares(matmul_trace::sliding_window(keys), keys);
    }
    if (m.window != 0 && how.pairs == floptally::megatron_bridge::count_pairs) {
        return if_limited(m.pairs, m.window);
    }
    if (m.window != 0 &&
        (how.pairs == floptally::vllm::count_pairs || how.pairs == floptally::torchtitan::count_pairs)) {
        return box(m.window);
    }
    if (m.window != 0 && how.pairs == floptally::verl::count_pairs && layers_alternate) {
        return half_of_box(m.window);
    }
    if (m.is_windowed && how.windows == window_pairs::exact) {
        return m.pairs;
    }
    if (!m.is_causal) {
        return square(false);
    }
    switch (how.causal) {
        case causal_pairs::exact:
            return matmul_trace::causal();
        case causal_pairs::half_square:
            return square(true);
        case causal_pairs::full_square:
            break;
    }
    return square(false);
}

constexpr std::uint64_t h = 15;

/// A model with an entry of every kind that a transformer has.
cost model_of(const std::vector<traced_mask>& layers, bool tied) {
    std::vector<mask> masks;
    for (const traced_mask& traced : layers) {
        masks.push_back(traced.attends);
    }
    return transformer<gqa, moe>{
        .hidden_size = h,
        .num_layers = layers.size(),
        .attention = {.num_heads = 3, .num_kv_heads = 1, .head_dim = 7, .elementwise = {.norm = 14, .bias = 5}},
        .feed_forward = {.num_experts = 5,
                         .num_experts_per_tok = 2,
                         .intermediate_size = 11,
                         .shared_intermediate_size = 13,
                         .shared_expert_gate = true,
                         .elementwise = {.bias = 3}},
        .vocab = {.size = 29, .padded_size = 32, .tied = tied, .positions = 17},
        .masks = layer_masks::list(masks),
        .layer_elementwise = {.norm = 30},
        .final_elementwise = {.norm = 15}}
        .cost();
}

void walk(step& trace, const sequence_list& sequences, const std::vector<traced_mask>& layers, bool tied, bool padded,
          const convention& how) {
    const std::uint64_t tokens = matmul_trace::tokens_of(sequences);
    bool some_windowed = false;
    bool some_without = false;
    for (const traced_mask& traced : layers) {
        (traced.window != 0 ? some_windowed : some_without) = true;
    }
    const bool layers_alternate = some_windowed && some_without;
    const auto parameters = [&](const char* component, term kind, std::uint64_t count) {
        for (std::uint64_t i = 0; i < count && how.counted.contains(kind); ++i) {
            trace.weight(component, tokens, 1, 1);
        }
    };
    step all;
    for (const traced_mask& traced : layers) {
        matmul_trace::attention(all, sequences, h, 3, 1, 7, counted_pairs(traced, how, layers_alternate));
        matmul_trace::experts(all, tokens, h, 5, 2, 11, true);
        matmul_trace::mlp(all, "moe.shared", tokens, h, 13, true);
        if (how.counted.contains(term::router)) {
            all.weight("moe.shared", tokens, h, 1);
        }
        if (how.counted.contains(term::softmax)) {
            matmul_trace::softmax(all, "attention.core", sequences, 3, counted_pairs(traced, how, layers_alternate));
        }
        parameters("norm", term::norm, 14 + 30);
        parameters("bias", term::bias, 5 + 3);
    }
    parameters("norm", term::norm, 15);
    if (how.counted.contains(tied ? term::tied_embedding : term::embedding)) {
        all.weight("embedding", tokens, 29, h);
    }
    if (how.counted.contains(term::position_embedding)) {
        all.weight("embedding", tokens, 17, h);
    }
    std::uint64_t sampled = tokens;
    if (how.head == head_rows::one_per_sequence) {
        sampled = 0;
        for (const matmul_trace::sequence& s : sequences) {
            sampled += s.length != 0;
        }
    }
    all.weight("lm_head", sampled, h, padded ? 32 : 29);
    trace.append(all, [&](const matmul_trace::matmul& product) {
        const term kind = product.component == "moe.router" ? term::router
                          : product.component == "lm_head"  ? term::lm_head
                                                            : term::linear;
        return how.counted.contains(kind);
    });
}

const std::vector<std::vector<traced_mask>>& layouts() {
    const traced_mask full{mask::causal(), matmul_trace::causal(), true};
    const traced_mask window{mask::sliding_window(4), matmul_trace::sliding_window(4), true, 4, true};
    const traced_mask wide{mask::sliding_window(9), matmul_trace::sliding_window(9), true, 9, true};
    const traced_mask chunks{mask::chunked(5), matmul_trace::chunked(5), true, 0, true};
    const traced_mask best{mask::top_k(3), matmul_trace::top_k(3), true, 0, true};
    const traced_mask both_sides{mask::window(3, 2), matmul_trace::window(3, 2), false, 0, true};
    const traced_mask every{mask::bidirectional(), matmul_trace::bidirectional(), false};
    const traced_mask blocks{mask::compressed_keys(3), matmul_trace::compressed_keys(3), true};
    static const std::vector<std::vector<traced_mask>> all{{full, full},
                                                           {window, window},
                                                           {window, full, window},
                                                           {full, wide, window},
                                                           {chunks, chunks, full},
                                                           {best, window},
                                                           {both_sides, full},
                                                           {both_sides},
                                                           {every, window},
                                                           {blocks, full},
                                                           {chunks},
                                                           {best}};
    return all;
}

void check_convention(const convention& how) {
    CAPTURE(std::string(how.name));
    for (const std::vector<traced_mask>& layers : layouts()) {
        for (const bool tied : {false, true}) {
            const cost model = model_of(layers, tied);
            const flop_counter folded(model, how);
            for (const matmul_trace::padded_batch& sequences : matmul_trace::mixed_batches()) {
                step real;
                step slots;
                walk(real, sequences.real, layers, tied, false, how);
                walk(slots, sequences.slots, layers, tied, true, how);
                const tally batch = matmul_trace::tally_of(folded.masks(), sequences);
                for (const bool flash : {true, false}) {
                    const training_plan plan{.flash_attention = flash};
                    const breakdown counted = flop_counter(model, how, plan).evaluate(batch);
                    const bool flash_convention = how.backward == attention_backward::flash;
                    REQUIRE(matmul_trace::mismatches(counted, real, slots, plan, flash_convention) == "");
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("every convention counts the matmuls of a recorded trace by its own formula", "[convention]") {
    std::size_t number = 0;
    for (const convention* how : conventions::all) {
        const bool counts_parameters_only = how == &conventions::hf_6nd;
        if (!counts_parameters_only && !skipped_when_sanitized(number++, 8)) {
            check_convention(*how);
        }
    }
}

TEST_CASE("a convention with any combination of options counts the matmuls of a recorded trace by these options",
          "[convention]") {
    std::size_t number = 0;
    for (const causal_pairs causal : {causal_pairs::exact, causal_pairs::half_square, causal_pairs::full_square}) {
        for (const window_pairs windows : {window_pairs::exact, window_pairs::ignored}) {
            for (const count_pairs_function pairs :
                 {static_cast<count_pairs_function>(floptally::count_pairs), floptally::maxtext::count_pairs,
                  floptally::megatron_bridge::count_pairs, floptally::vllm::count_pairs,
                  floptally::verl::count_pairs}) {
                for (const attention_backward backward : {attention_backward::twice, attention_backward::flash}) {
                    if (skipped_when_sanitized(number++, 23)) {
                        continue;
                    }
                    CAPTURE(static_cast<int>(causal), static_cast<int>(windows), static_cast<int>(backward));
                    check_convention({.name = "own",
                                      .summary = "a user's",
                                      .causal = causal,
                                      .windows = windows,
                                      .backward = backward,
                                      .pairs = pairs});
                }
            }
        }
    }
    for (const term kind : {term::embedding, term::tied_embedding, term::position_embedding, term::norm, term::bias}) {
        convention how = conventions::exact;
        how.counted = products.with(kind).without(term::router);
        check_convention(how);
    }
    convention last_token = conventions::megatron;
    last_token.head = head_rows::one_per_sequence;
    check_convention(last_token);
}

TEST_CASE("weight gradients of a grouped convolution count its groups, but PyTorch's counter counts all channels",
          "[convention]") {
    // 8 channels of 2 groups, over 9 cells: each of the 8 reads 9 x 4 numbers, or 9 x 8 as if there were one group.
    floptally::cost model;
    model.add("convolution", floptally::linear{.in_features = 36, .out_features = 8, .groups = 2});
    floptally::tally batch;
    batch.add(floptally::sequence{.length = 10});
    const auto weights = [&](const floptally::convention& how) {
        return to_string(evaluate(model, batch, how).get(floptally::view::useful, floptally::phase::backward_weights));
    };
    CHECK(weights(floptally::conventions::exact) == "5760");
    CHECK(weights(floptally::conventions::torch_flop_counter) == "11520");
    CHECK(weights(floptally::conventions::torch_flop_counter_eager) == "11520");
    CHECK(to_string(evaluate(model, batch, floptally::conventions::torch_flop_counter)
                        .get(floptally::view::useful, floptally::phase::backward_data)) == "5760");
}

TEST_CASE("each convention counts recurrent states and latent norms by its own formula", "[convention]") {
    // One gated delta net of a 3 x 5 state a head, one Mamba-2 of 6 x 7, one latent attention of 11 and 4.
    constexpr layer where{.hidden_size = 15};
    constexpr constant_cost delta =
        gated_delta_net{
            .num_key_heads = 1, .num_value_heads = 2, .key_head_dim = 3, .value_head_dim = 5, .conv_kernel = 4}
            .cost(where);
    constexpr constant_cost scan = mamba2{.num_heads = 2, .head_dim = 3, .state_size = 7, .conv_kernel = 4}.cost(where);
    constexpr constant_cost latent = mla{
        .num_heads = 2,
        .q_lora_rank = 11,
        .kv_lora_rank = 4,
        .qk_nope_head_dim = 3,
        .v_head_dim = 3,
        .elementwise = {.norm = 15,
                        .bias = 2}}.cost(where);
    tally batch;
    batch.add(sequence{.length = 13});
    const auto work = [&](const cost& model, const convention& how, const char* component) -> std::uint64_t {
        const breakdown all = evaluate(model, batch, how);
        for (const component_flops& part : all.components()) {
            if (part.name.view() == component) {
                CHECK(part.total(view::executed) == part.total(view::useful));
                return static_cast<std::uint64_t>(part.total(view::useful).value());
            }
        }
        return 0;
    };
    struct expected {
        const convention& how;
        std::uint64_t delta, scan, convolution, norms;
    };
    constexpr std::uint64_t step = 3 * 13;
    constexpr std::uint64_t taps = step * 2 * 4 * (6 + 2 * 7);
    for (const expected& e :
         {expected{conventions::exact, 6, 4, taps, 0}, expected{conventions::megatron, 8, 7, 0, 15},
          expected{conventions::megatron_bridge, 8, 7, 0, 15}, expected{conventions::nemo_automodel, 8, 7, 0, 0},
          expected{conventions::nemo_automodel_hybrid, 8, 7, 0, 0}, expected{conventions::maxtext, 8, 4, taps, 0},
          expected{conventions::torchtitan, 6, 4, taps, 15}, expected{conventions::palm, 6, 4, taps, 15},
          expected{conventions::verl, 6, 4, taps, 0}}) {
        CAPTURE(std::string(e.how.name));
        CHECK(work(delta, e.how, "mixer.state") == step * e.delta * 2 * 3 * 5);
        CHECK(work(delta, e.how, "mixer.convolution") == step * 2 * 4 * (2 * 3 + 10));
        CHECK(work(scan, e.how, "mixer.state") == step * e.scan * 6 * 7);
        CHECK(work(scan, e.how, "mixer.convolution") == e.convolution);
        CHECK(work(latent, e.how, "norm") == step * 2 * e.norms);
    }
    CHECK(latent.parameters() == 15 * 11 + 11 * 6 + 15 * 4 + 4 * 12 + 6 * 15 + 15 + 2);
}

TEST_CASE("an elementwise gate counts forward and backward FLOPs, and a residual sum only forward FLOPs",
          "[convention]") {
    convention how = conventions::exact;
    how.counted = term_set{term::gating, term::residual};
    cost model;
    model.add_elementwise("gate", term::gating, 7);
    model.add_elementwise("sum", term::residual, 5);
    const breakdown work = flop_counter(model, how).evaluate([] {
        tally batch;
        batch.add(sequence{.length = 10});
        return batch;
    }());
    CHECK(work["gate"].get(view::useful, phase::forward) == flops{70});
    CHECK(work["gate"].get(view::useful, phase::backward_data) == flops{70});
    CHECK(work["sum"].get(view::useful, phase::forward) == flops{50});
    CHECK(work["sum"].backward(view::useful) == flops{});
    CHECK(work.get(view::useful, phase::backward_weights) == flops{});
    // Where no gradient arrives there is no way back.
    const flop_counter frozen(model, how, {.weights = {{"*", weight_state::frozen}}});
    CHECK(frozen.total_flops(sequence{.length = 10}) == flops{120});
}

TEST_CASE("a convention may count up to four statistics for one cost entry", "[convention][errors]") {
    const auto pairs = [](count_pairs_function function) {
        convention how = conventions::exact;
        how.pairs = function;
        return to_string(flop_counter(cost{}.add("core", attention_core{1, 1, 1}, mask::causal()), how,
                                      {.counted = counted_passes::forward})
                             .total_flops(sequence{.length = 3}));
    };
    CHECK(pairs([](const statistic& attends, const convention&, const attention_context&) {
              return counted_statistics(attends).also(attends).also(attends).also(attends);
          }) == std::to_string(4 * 6 * 4));
    CHECK(error_of([&] {
              return pairs([](const statistic& attends, const convention&, const attention_context&) {
                  return counted_statistics(attends).also(attends).also(attends).also(attends).also(attends);
              });
          }) == "convention: must use at most 4 statistics for each entry of a cost: add fewer");
}

/// The pairs above the diagonal, which a kernel computes for a causal mask and the mask removes.
struct pairs_above_the_diagonal {
    static constexpr std::string_view name = "pairs_above_the_diagonal";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return std::uint64_t{s.length} * (s.length - 1) / 2;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::masked_out; }
};

/// The tokens of an operator that PyTorch's counter has no formula for.
struct tokens_without_formula {
    static constexpr std::string_view name = "tokens_without_formula";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::unregistered; }
};

TEST_CASE("pairs that a mask removes count only in conventions that count every mask as a square", "[convention]") {
    for (const convention* how : conventions::all) {
        const auto core = [&](const mask& attends) {
            return total(cost{}.add("core", attention_core{1, 1, 1}, attends), *how, {5});
        };
        const flops removed = core(mask(pairs_above_the_diagonal{}));
        INFO(how->name);
        // Of L² = 25 pairs a causal mask leaves 15.
        if (core(mask::causal()) == core(mask::bidirectional())) {
            CHECK(removed * 25 == core(mask::bidirectional()) * 10);
        } else {
            CHECK(removed == flops(0));
        }
    }
}

TEST_CASE("operators without a formula in FlopCounterMode count in all conventions but PyTorch's", "[convention]") {
    const cost with =
        cost{}.add_entry("core", "", {.what = accumulator::pairs, .kind = term::state, .useful = 6, .padded = 6},
                         mask(tokens_without_formula{}));
    const cost plain =
        cost{}.add_entry("core", "", {.what = accumulator::tokens, .kind = term::state, .useful = 6, .padded = 6});
    for (const convention* how : conventions::all) {
        const bool of_pytorch = how->name.starts_with("torch_flop_counter");
        INFO(how->name);
        CHECK(total(with, *how, {5}) == (of_pytorch ? flops(0) : total(plain, *how, {5})));
    }
}

TEST_CASE("half of an odd number of FLOPs per pair is an error and is never rounded", "[convention][errors]") {
    convention how = conventions::exact;
    how.counted = products.with(term::softmax);
    const auto problem = [&](std::uint64_t heads, const mask& attends) {
        return error_of([&] { return flop_counter(cost{}.add("core", attention_core{heads, 1, 1}, attends), how); });
    };
    CHECK(
        problem(3, mask::causal()) ==
        "convention: half of an odd number of FLOPs per pair is not an integer, as for the softmax of an odd number of "
        "heads: leave term::softmax out of `counted`");
    CHECK(problem(4, mask::causal()) == "no error");
    CHECK(problem(3, mask::bidirectional()) == "no error");
    CHECK(problem(3, mask::sliding_window(4)) == "no error");
    // Whether a real pair's or a padded one's.
    const auto problem_of = [](std::uint64_t useful, std::uint64_t padded) {
        const cost_entry entry{.what = accumulator::pairs, .kind = term::scores, .useful = useful, .padded = padded};
        return error_of([&] { return flop_counter(cost{}.add_entry("core", "", entry, mask::causal())); });
    };
    CHECK(problem_of(2, 4) == "no error");
    CHECK(problem_of(3, 4) == problem(3, mask::causal()));
    CHECK(problem_of(2, 3) == problem(3, mask::causal()));
}

TEST_CASE("the 6ND convention equals the formula of the transformers Trainer", "[convention]") {
    // `num_parameters(exclude_embeddings=True)` of transformers 5.23: all experts, no tables, no tied lm_head.
    struct model_size {
        cost model;
        std::uint64_t parameters;
    };
    for (const model_size& size :
         {model_size{presets::llama_3_8b.cost(), 7'504'924'672}, model_size{presets::mistral_7b.cost(), 7'110'660'096},
          model_size{presets::qwen3_30b_a3b.cost(), 30'220'957'696},
          model_size{presets::gemma_3_1b.cost(), 697'896'064}, model_size{presets::gpt2.cost(), 85'056'000}}) {
        CHECK(total(size.model, conventions::hf_6nd, {1000, 24}) == flops{uint128{6} * size.parameters * 1024});
    }
    // A part off the path of the loss, or for other tokens, still counts as parameters.
    cost model = presets::gpt2.cost().detached();
    CHECK(total(model, conventions::hf_6nd, {1024}) == flops{uint128{6} * 85'056'000 * 1024});
    model = cost{};
    model.add("cross_attention.qkv", linear{.in_features = 3, .out_features = 5, .rows = accumulator::keys});
    CHECK(total(model, conventions::hf_6nd, {7}) == flops{6 * 15 * 7});
}

TEST_CASE("a convention that counts half of L^2 gives exact FLOPs for odd L", "[convention]") {
    // 7 x 7 / 2 = 24.5 pairs: the FLOPs of one layer, 2·(qk + v)·49/2 a head, are whole all the same.
    cost model;
    model.add("attention.core", attention_core{3, 5, 11}, mask::causal());
    CHECK(total(model, conventions::megatron, {7}) == flops{3 * 3 * (5 + 11) * 49});
    CHECK(total(model, conventions::megatron, {1}) == flops{3 * 3 * (5 + 11)});
    // The exact count of length 1 is one pair, twice that.
    CHECK(total(model, conventions::exact, {1}) == flops{3 * 2 * 3 * (5 + 11)});
    // Three odd lengths: their squares add up to an odd number.
    CHECK(total(model, conventions::megatron, {7, 1, 3}) == flops{3 * 3 * (5 + 11) * (49 + 1 + 9)});
}

TEST_CASE("cross attention has the same FLOPs in every convention that counts attention", "[convention]") {
    cost model;
    model.add("cross_attention.core", attention_core{3, 5, 5}, mask::cross_attention());
    for (const convention* how : conventions::all) {
        if (!how->counted.contains(term::scores)) {
            continue;
        }
        CAPTURE(std::string(how->name));
        tally batch;
        batch.add(sequence{.length = 7, .keys = 3});
        // 21 pairs; a flash backward is 2.5 times the forward.
        const std::uint64_t forward = 2 * 3 * (5 + 5) * 21;
        const std::uint64_t backward = how->backward == attention_backward::flash ? forward / 2 * 5 : 2 * forward;
        const std::uint64_t softmax = how->counted.contains(term::softmax) ? 3 * 3 * 3 * 21 : 0;
        CHECK(evaluate(model, batch, *how).total() == flops{forward + backward + softmax});
    }
}

TEST_CASE("every convention accepts the longest sliding window of flash-attention", "[convention]") {
    // mask::window(2147483647, 0) is a mask; verl's box of one more token is not.
    cost model;
    model.add("attention.core", attention_core{1, 1, 1}, mask::window(0x7FFF'FFFF, 0));
    model.add("attention.core", attention_core{1, 1, 1}, mask::causal());
    for (const convention* how : conventions::all) {
        CAPTURE(std::string(how->name));
        CHECK_NOTHROW(flop_counter(model, *how));
    }
}

TEST_CASE("verl's convention ignores cross attention when it checks whether some layers have no sliding window",
          "[convention]") {
    // convention.hpp: half_box is "L·min(L, W)/2 where layers with and without a window alternate, else ignored".
    cost model;
    model.add("attention.core", attention_core{1, 1, 1}, mask::sliding_window(4));
    const flops alone = total(model, conventions::verl, {9});
    model.add("cross_attention.core", attention_core{1, 1, 1}, mask::cross_attention());
    CHECK(alone == flops{3 * 2 * 2 * 81 / 2});
    CHECK(total(model, conventions::verl, {9}) == alone);
}

// ---- one model, a number of each convention ----

TEST_CASE("Llama-3-8B at 8192 tokens has the published FLOPs of every convention", "[convention]") {
    constexpr constant_cost model = presets::llama_3_8b.cost();
    const std::vector<std::uint32_t> step{8192};
    CHECK(total(model, conventions::exact, step) == flops{421'651'971'833'856});
    CHECK(total(model, conventions::megatron, step) == flops{421'645'529'382'912});
    CHECK(total(model, conventions::flash_attention, step) == flops{430'441'622'405'120});
    CHECK(total(model, conventions::verl, step) == flops{447'466'872'766'464});
    CHECK(total(model, conventions::torch_flop_counter_eager, step) == flops{474'422'087'516'160});
    CHECK(total(model, conventions::torchtitan, step) == flops{474'435'173'744'640});
    CHECK(total(model, conventions::torchtitan_2026, step) == flops{474'435'173'744'640});
    CHECK(total(model, conventions::verl_2026, step) == flops{447'466'872'766'464});
    CHECK(total(model, conventions::torch_flop_counter, step) == flops{492'014'273'560'576});
    CHECK(total(model, conventions::palm, step) == flops{500'256'517'128'192});
    CHECK(total(model, conventions::nanogpt, step) == flops{500'256'517'128'192});
    CHECK(total(model, conventions::hf_6nd, step) == flops{6 * 7'504'924'672ULL * 8192});
    for (const convention* how :
         {&conventions::megatron_bridge, &conventions::nemo_automodel, &conventions::nemo_automodel_hybrid,
          &conventions::maxtext, &conventions::maxtext_2026}) {
        CHECK(total(model, *how, step) == total(model, conventions::megatron, step));
    }
    for (const convention* how : {&conventions::bionemo, &conventions::nanotron}) {
        CHECK(total(model, *how, step) == total(model, conventions::torch_flop_counter_eager, step));
    }
    CHECK(total(model, conventions::levanter, step) == flops{475'040'562'806'784});

    // 6ND, with all parameters and without the input embedding.
    CHECK(6 * model.parameters() * 8192 == 394'703'400'861'696);
    CHECK(6 * (model.parameters() - 128256 * 4096) * 8192 == 368'882'057'478'144);

    CHECK(total(model, conventions::exact, std::vector<std::uint32_t>(16, 512)) == flops{372'173'948'583'936});
}

TEST_CASE("the FLOPs of Llama-3-8B in each convention equal a hand calculation from named integers", "[convention]") {
    const flops zero;
    const uint128 tokens = 8192;
    const uint128 vocabulary = uint128{128256} * 4096;
    const uint128 matmul_weights = 7'504'658'432;
    const uint128 norms = 32 * 2 * 4096 + 4096;
    uint128 triangle = 0;
    for (std::uint64_t query = 0; query < 8192; ++query) {
        triangle += query + 1;
    }
    const uint128 square = tokens * tokens;
    const uint128 core = 4 * 32 * 128 * 32;  // of a pair
    const auto is = [&](const convention& how, uint128 expected) {
        return total(presets::llama_3_8b.cost(), how, {8192}) == flops{expected} && flops{expected} > zero;
    };
    CHECK(is(conventions::exact, 6 * matmul_weights * tokens + 3 * core * triangle));
    CHECK(is(conventions::megatron, 6 * matmul_weights * tokens + 3 * core * square / 2));
    CHECK(is(conventions::flash_attention, 6 * matmul_weights * tokens + 7 * core * square / 4));
    CHECK(is(conventions::verl, 6 * (matmul_weights + vocabulary) * tokens + 3 * core * square / 2));
    CHECK(is(conventions::torch_flop_counter_eager, 6 * matmul_weights * tokens + 3 * core * square));
    CHECK(is(conventions::torchtitan, 6 * (matmul_weights + norms) * tokens + 3 * core * square));
    CHECK(is(conventions::torch_flop_counter, 6 * matmul_weights * tokens + 7 * core * square / 2));
    CHECK(is(conventions::palm, 6 * (matmul_weights + norms + vocabulary) * tokens + 3 * core * square));
}

TEST_CASE("each 6N formula uses the parameter count that the formula's source defines", "[convention]") {
    // GPT-2: 12 layers of 768, 12 heads of 64; 124 439 808 parameters, of which 1024 x 768 are positions, 50257 x 768
    // the table that is also the lm_head's weight, and the rest matrices, norms and biases.
    constexpr constant_cost model = presets::gpt2.cost();
    constexpr std::uint64_t matrices = 12 * (4 * 768 * 768 + 2 * 768 * 3072);
    constexpr std::uint64_t table = 50257 * 768;
    constexpr std::uint64_t norms_and_biases = 12 * (4 * 768 + 4 * 768 + 3072 + 768) + 2 * 768;
    constexpr std::uint64_t positions = 1024 * 768;
    static_assert(matrices + table + norms_and_biases + positions == 124'439'808);
    const std::uint64_t tokens = 1024;
    const uint128 square_core = uint128{3} * 4 * 768 * 12 * tokens * tokens;
    const auto counted_parameters = [&](const convention& how, uint128 core) {
        const uint128 linear = total(model, how, {1024}).value() - core;
        CHECK(linear % (6 * tokens) == 0);
        return static_cast<std::uint64_t>(linear / (6 * tokens));
    };
    CHECK(counted_parameters(conventions::palm, square_core) == 124'439'808);
    CHECK(counted_parameters(conventions::nanogpt, square_core) == 123'653'376);
    CHECK(counted_parameters(conventions::torchtitan, square_core) == 123'653'376);
    CHECK(counted_parameters(conventions::torch_flop_counter_eager, square_core) == matrices + table);
    CHECK(counted_parameters(conventions::torch_flop_counter, square_core / 6 * 7) == matrices + table);
    CHECK(counted_parameters(conventions::megatron, square_core / 2) == matrices + table);
    CHECK(counted_parameters(conventions::verl, square_core / 2) == matrices + 2 * table);
}

TEST_CASE("Megatron does not count the router of a mixture of experts", "[convention]") {
    constexpr constant_cost model = presets::mixtral_8x7b.cost();
    tally batch{model.masks()};
    batch.add(sequence{.length = 512});
    CHECK(evaluate(model, batch)["moe.router"].total(view::useful) == flops{6 * 32 * 4096 * 8 * 512ULL});
    CHECK_THROWS_AS(evaluate(model, batch, conventions::megatron)["moe.router"], error);
}

// ---- names ----

TEST_CASE("a convention that ignores masks counts full attention between both copies of a block diffusion sequence",
          "[convention]") {
    const auto pairs_of = [](const mask& attends, const convention& how) {
        std::uint64_t sum = 0;
        for (const floptally::counted_statistics::divided& part : floptally::count_pairs(attends, how, {})) {
            sum += static_cast<std::uint64_t>(part.what(floptally::sequence{.length = 10})) / part.divisor;
        }
        return sum;
    };
    CHECK(pairs_of(mask::block_causal(4), conventions::torch_flop_counter) == 10 * 10);
    CHECK(2 * pairs_of(mask::block_causal(4, 2), conventions::torch_flop_counter) == 20 * 20);
    CHECK(pairs_of(mask::block_causal(4, 2), conventions::exact) == 4 * 4 + 4 * 8 + 2 * 10);
    CHECK(pairs_of(mask::block_causal(4, 2), conventions::megatron) == 4 * 4 + 4 * 8 + 2 * 10);
}

TEST_CASE("a convention is found by name, and an error for an unknown name lists all names", "[convention][errors]") {
    for (const convention* how : conventions::all) {
        CHECK(&convention_named(how->name) == how);
        CHECK_FALSE(how->summary.empty());
    }
    const auto problem = [](std::string_view name) {
        try {
            return std::string(convention_named(name).name);
        } catch (const error& e) {
            return std::string(e.what());
        }
    };
    std::string known;
    for (const convention* how : conventions::all) {
        known.append(known.empty() ? "" : ", ").append(how->name);
    }
    CHECK(known.starts_with("exact, megatron, megatron_2026_10, megatron_bridge, "));
    for (const conventions::counter_of_preset& counter : conventions::counters) {
        CAPTURE(counter.name);
        CHECK(&convention_named(counter.name) == counter.how);
        CHECK(counters_of(counter.how->name).find(counter.name) != std::string::npos);
        known.append(", ").append(counter.name);
    }
    CHECK(problem("magatron") == "convention: unknown name \"magatron\"; known: " + known);
    CHECK(problem("") == "convention: unknown name \"\"; known: " + known);
    CHECK(problem("Exact") == "exact");
    CHECK(problem("NeMo-RL") == "nemo_automodel");
    CHECK(problem("OLMo-core") == "olmo_core");
    CHECK(problem("prime-rl") == "nanotron");
    CHECK(problem("LLaMA-Factory") == "nanotron");
    CHECK(problem("TRL ").starts_with("convention: unknown name"));
    CHECK(counters_of("exact").empty());
}

}  // namespace convention_test
