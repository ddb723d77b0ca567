// SPDX-License-Identifier: Apache-2.0
//
// A step by every convention, and from each to exact term by term. The terms of public counters are in
// golden/peers.test.cpp.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/conventions/comparison.hpp>
#include <floptally/floptally.hpp>

#include "catch2.hpp"

namespace comparison_test {
namespace {

using namespace floptally;
__extension__ using int128 = __int128;

int128 signed_number(const std::string& text) {
    int128 value = 0;
    for (const char c : text) {
        value = c == '-' ? value : 10 * value + (c - '0');
    }
    return text.front() == '-' ? -value : value;
}

const compared_convention& line_of(const std::vector<compared_convention>& all, std::string_view name) {
    for (const compared_convention& line : all) {
        if (line.how.name == name) {
            return line;
        }
    }
    throw error("name", "is not compared");
}

/// "causal_pairs 6442450944, embedding -25821343383552"
std::string terms_of(const compared_convention& line) {
    std::string text;
    for (const convention_term& term : line.terms) {
        text.append(text.empty() ? "" : ", ").append(term.name).append(" ").append(term.difference());
    }
    return text;
}

/// Full attention, windows in all layers and in some, experts, biases. Configs of every other kind are in
/// peers.test.cpp.
const std::vector<cost>& models() {
    static const std::vector<cost> all{presets::llama_3_8b.cost(), presets::mistral_7b.cost(),
                                       presets::gemma_3_1b.cost(), presets::mixtral_8x7b.cost(),
                                       presets::gpt_oss_20b.cost()};
    return all;
}

}  // namespace

TEST_CASE("a convention's FLOPs plus its listed difference terms equal the exact FLOPs in every view and phase",
          "[comparison]") {
    for (const cost& model : models()) {
        for (const counted_passes passes : {counted_passes::train, counted_passes::forward, counted_passes::backward}) {
            const training_plan plan{.counted = passes, .recomputed = recompute::full};
            const convention_comparison compared(model, plan);
            tally batch{compared.masks()};
            batch.add_lengths(std::vector<std::uint32_t>{1, 130, 700, 5000});
            batch.add_cu_seqlens(std::vector<std::int32_t>{0, 300, 9000}, std::vector<std::int32_t>{0, 512, 9728});
            const flops exact = flop_counter(model, conventions::exact, plan).total_flops(batch);
            REQUIRE(compared.exact(batch) == exact);
            for (const view seen : {view::useful, view::padded, view::executed}) {
                const auto lines = compared.compare(batch, seen);
                REQUIRE(lines.size() == conventions::all.size());
                for (const compared_convention& line : lines) {
                    CAPTURE(std::string(line.how.name));
                    CHECK(line.total == flop_counter(model, line.how, plan).total_flops(batch, seen));
                    int128 sum = static_cast<int128>(line.total.value());
                    for (const convention_term& term : line.terms) {
                        CHECK(!(term.before == term.after));
                        sum += signed_number(term.difference());
                    }
                    CHECK(sum == static_cast<int128>(exact.value()));
                }
            }
        }
    }
}

TEST_CASE(
    "the differences between conventions and the exact FLOPs of Llama-3-8B at 8192 tokens match a hand calculation",
    "[comparison]") {
    // h 4096, 32 layers of 32 heads of 128, vocabulary 128256; 65 norms. A product of a training step counts 6 FLOPs a
    // weight and token, attention 12 a pair, head and dimension.
    constexpr std::int64_t tokens = 8192;
    constexpr std::int64_t attention = std::int64_t{12} * 32 * 128 * 32;  // a pair
    constexpr std::int64_t embedding = std::int64_t{6} * 128256 * 4096 * tokens;
    constexpr std::int64_t norms = std::int64_t{6} * 65 * 4096 * tokens;
    constexpr std::int64_t triangle = tokens * (tokens + 1) / 2;
    const std::string half = std::to_string(attention * (triangle - tokens * tokens / 2));
    const std::string square = std::to_string(attention * (triangle - tokens * tokens));

    const convention_comparison compared(presets::llama_3_8b);
    tally batch{compared.masks()};
    batch.add_lengths(std::vector<std::int64_t>{tokens});
    const auto lines = compared.compare(batch);
    CHECK(terms_of(line_of(lines, "exact")).empty());
    CHECK(terms_of(line_of(lines, "megatron")) == "causal_pairs " + half);
    CHECK(terms_of(line_of(lines, "verl")) == "embedding " + std::to_string(-embedding) + ", causal_pairs " + half);
    CHECK(terms_of(line_of(lines, "palm")) ==
          "embedding " + std::to_string(-embedding) + ", norms " + std::to_string(-norms) + ", causal_pairs " + square);
    CHECK(terms_of(line_of(lines, "torchtitan")) == "norms " + std::to_string(-norms) + ", causal_pairs " + square);
    CHECK(terms_of(line_of(lines, "torch_flop_counter")) ==
          "attention_backward " + std::to_string(-attention / 6 * tokens * tokens) + ", causal_pairs " + square);
    CHECK(terms_of(line_of(lines, "flash_attention")) ==
          "attention_backward " + std::to_string(-attention / 6 * tokens * tokens / 2) + ", causal_pairs " + half);
    CHECK(terms_of(line_of(lines, "hf_6nd")) ==
          "norms " + std::to_string(-norms) + ", attention " + std::to_string(attention * triangle));
}

TEST_CASE("a comparison of the exact convention with itself has no difference terms", "[comparison]") {
    using floptally::detail::settled_part;
    for (const floptally::detail::convention_choice& choice : floptally::detail::convention_choices) {
        for (const auto part : {settled_part::entries_too_many, settled_part::amounts, settled_part::entries_missing}) {
            convention how = conventions::exact;
            CHECK_FALSE(floptally::detail::settle(choice, part, how));
        }
    }
}

TEST_CASE(
    "comparing conventions lists padding as a difference in the padded view, and repeated work too in the executed "
    "view",
    "[comparison]") {
    const convention_comparison compared(presets::llama_3_8b, {.recomputed = recompute::full});
    tally batch{compared.masks()};
    batch.add_padded(std::vector<std::int32_t>{1000, 3000}, 4096);
    const auto padded = compared.compare(batch, view::padded);
    CHECK(line_of(padded, "exact").terms.size() == 1);
    CHECK(line_of(padded, "exact").terms[0].name == "padding");
    const auto executed = compared.compare(batch, view::executed);
    REQUIRE(line_of(executed, "exact").terms.size() == 2);
    CHECK(line_of(executed, "exact").terms[0].name == "executed_again");
    CHECK(line_of(executed, "exact").terms[1].difference() == line_of(padded, "exact").terms[0].difference());
}

TEST_CASE("a user's convention is compared like the library's conventions", "[comparison]") {
    static constexpr convention counting{.name = "ours",
                                         .summary = "no router, every mask as the square",
                                         .causal = causal_pairs::full_square,
                                         .counted = products.without(term::router)};
    const convention* const only[] = {&counting};
    const convention_comparison compared(presets::mixtral_8x7b, {}, only);
    tally batch{compared.masks()};
    batch.add_lengths(std::vector<std::int32_t>{64});
    const auto lines = compared.compare(batch);
    REQUIRE(lines.size() == 1);
    // Attention of 32 layers of 32 heads of 128, a router of 8 experts on 4096 in each layer.
    const std::int64_t square = std::int64_t{12} * 32 * 128 * 32 * (64 * 65 / 2 - 64 * 64);
    const std::int64_t router = std::int64_t{6} * 32 * 8 * 4096 * 64;
    CHECK(terms_of(lines[0]) == "causal_pairs " + std::to_string(square) + ", router " + std::to_string(router));
}

TEST_CASE(
    "a tally for comparing conventions includes masks that a convention counts only without a fused attention kernel",
    "[comparison]") {
    // Neither the convention, whose backward is of 2.5 times the forward, nor exact counts the window of 2.
    static constexpr convention user_convention{
        .name = "ours",
        .summary = "a window, unless a fused kernel is counted",
        .backward = attention_backward::flash,
        .pairs = [](const statistic& attends, const convention& how, const attention_context& model) {
            return how.backward == attention_backward::flash ? count_pairs(attends, how, model)
                                                             : counted_statistics(mask::sliding_window(2));
        }};
    const convention* const only[] = {&user_convention};
    const convention_comparison compared(presets::llama_3_8b, {}, only);
    REQUIRE(compared.masks().size() == 1);
    tally batch{compared.masks()};
    batch.add_lengths(std::vector<std::int32_t>{64});
    // Two products of a forward, of 32 layers of 32 heads of 128; a step has 3.5 times those, then 3 times.
    const std::int64_t forward = std::int64_t{4} * 32 * 128 * 32;
    const std::int64_t triangle = 64 * 65 / 2;
    const std::int64_t window = 1 + 63 * 2;
    CHECK(terms_of(line_of(compared.compare(batch), "ours")) ==
          "attention_backward " + std::to_string(3 * forward * window - forward * 7 / 2 * triangle) + ", windows " +
              std::to_string(3 * forward * (triangle - window)));
}

}  // namespace comparison_test
