// SPDX-License-Identifier: Apache-2.0
//
// Requests in closed form against their passes one by one, and speculative steps against a cache that is kept by hand.

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <floptally/batch/decoding.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/floptally.hpp>
#include <floptally/statistics/statistic_text.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "own_masks.hpp"

namespace decoding_test {
namespace {

using namespace floptally;

/// Small random numbers.
struct dice {
    std::mt19937 engine;
    std::uint32_t operator()(std::uint32_t below) { return static_cast<std::uint32_t>(engine() % below); }
};

/// Every kind of mask of text, causal or not, and measured accumulators.
mask_set all_masks() {
    mask_set all;
    for (const statistic& m :
         {statistic(mask_statistics::band{-1, 0}), statistic(mask_statistics::band{-1, -1}),
          statistic(mask_statistics::band{6, 0}), statistic(mask_statistics::band{3, 2}),
          statistic(mask_statistics::chunked{5}), statistic(mask_statistics::top_k{7}),
          statistic(mask_statistics::compressed_keys{4}), statistic(mask_statistics::best_compressed_keys{4, 3}),
          statistic(mask_statistics::best_blocks{4, 3}), statistic(mask_statistics::best_pools{4, 2}),
          statistic(mask_statistics::prefix_lm{9}), statistic(mask_statistics::box{{5}}), measured("logits")}) {
        all.find_or_add(m, "masks");
    }
    return all;
}

/// The passes of a request, as an engine runs them: it computes what is scheduled, and then has it cached.
std::vector<sequence> passes_of(const request& one, std::uint32_t chunk) {
    std::vector<sequence> passes;
    std::uint32_t computed = one.cached;
    std::uint32_t known = one.prompt;  // tokens whose ids are known
    for (std::uint32_t generated = 0;;) {
        if (computed < one.prompt) {
            const std::uint32_t left = one.prompt - computed;
            const std::uint32_t now = left < chunk ? left : chunk;
            passes.push_back({.length = now, .past = computed});
            computed += now;
        } else {
            passes.push_back({.length = 1, .past = computed});
            ++computed;
        }
        if (computed == known) {  // all that is known was read: the next token is sampled
            if (++generated >= one.generated) {
                return passes;
            }
            ++known;
        }
    }
}

tally one_by_one(const std::vector<request>& requests, std::uint32_t chunk, const mask_set& masks) {
    tally sum{masks};
    for (const request& one : requests) {
        for (const sequence& pass : passes_of(one, chunk)) {
            sum.add(pass);
        }
    }
    return sum;
}

}  // namespace

TEST_CASE("decoding requests counted by a closed form have the same sums as their engine passes counted one by one") {
    dice random{std::mt19937(7)};
    const mask_set masks = all_masks();
    for (int round = 0; round < 400; ++round) {
        std::vector<request> requests;
        for (unsigned i = random(4); i < 4; ++i) {
            const std::uint32_t prompt = 1 + random(40);
            requests.push_back({prompt, random(30), random(3) == 0 ? random(prompt) : 0});
        }
        const std::uint32_t chunk = random(2) == 0 ? whole_prompt : 1 + random(12);
        tally closed{masks};
        closed.add(request_passes(requests, chunk));
        CHECK(closed == one_by_one(requests, chunk, masks));
        split_tally each{masks};  // which sees the passes themselves
        each.add(request_passes(requests, chunk));
        CHECK(each.total() == closed);
    }
}

TEST_CASE("a prompt has the same attended pairs with every prefill chunk size") {
    const mask_set masks = all_masks();
    const std::vector<request> one{{1000, 1}};
    tally whole{masks};
    whole.add(request_passes(one));
    for (const std::uint32_t chunk : {1U, 7U, 256U, 999U, 1000U, 4096U}) {
        tally cut{masks};
        cut.add(request_passes(one, chunk));
        CHECK(cut.get(view::useful, accumulator::tokens) == 1000);
        CHECK(cut.get(view::useful, accumulator::count) == (1000 + chunk - 1) / chunk);
        for (const statistic& m :
             {statistic(mask_statistics::band{-1, 0}), statistic(mask_statistics::band{6, 0}),
              statistic(mask_statistics::chunked{5}), statistic(mask_statistics::top_k{7}),
              statistic(mask_statistics::best_blocks{4, 3}), statistic(mask_statistics::best_pools{4, 2}),
              statistic(mask_statistics::best_compressed_keys{4, 3})}) {
            CHECK(cut.pairs(view::useful, m) == whole.pairs(view::useful, m));
        }
    }
}

TEST_CASE("decoding requests are counted pass by pass under a mask whose attended pairs depend on where a pass ends") {
    const full_last_queries mask{3, 1};
    CHECK(statistic(mask).shape() == pair_shape::causal);
    CHECK(!statistic(mask).counts_by_position());
    const mask_set masks{statistic(mask), statistic(dilated_window{3, 2})};
    // A prompt of 10 tokens in one pass, then 4 passes of one token: 3 keys for each of the first 9 queries, but 1 and
    // 2 for the first two, then 10, 11, 12, 13 and 14 keys.
    const std::vector<request> element{{10, 5}};
    tally sum{masks};
    sum.add(request_passes(element));
    CHECK(sum.pairs(view::useful, mask) == 1 + 2 + 7 * 3 + 10 + 11 + 12 + 13 + 14);
    dice random{std::mt19937(11)};
    for (int round = 0; round < 100; ++round) {
        const std::uint32_t prompt = 1 + random(30);
        const std::vector<request> requests{{prompt, random(20), random(prompt)}};
        const std::uint32_t chunk = 1 + random(9);
        tally closed{masks};
        closed.add(request_passes(requests, chunk));
        CHECK(closed == one_by_one(requests, chunk, masks));
    }
}

TEST_CASE(
    "a mask whose pairs depend only on query positions has the same pairs however a prompt is split into passes") {
    std::vector<std::string> by_position;
    const auto check = [&](const statistic& which) {
        if (!which.counts_by_position()) {
            return;
        }
        by_position.push_back(which.name());
        INFO(which.name());
        for (std::uint32_t past = 0; past < 12; ++past) {
            for (std::uint32_t length = 1; length < 14; ++length) {
                for (std::uint32_t first = 0; first <= length; ++first) {
                    REQUIRE(which({.length = length, .past = past}) ==
                            which({.length = first, .past = past}) +
                                which({.length = length - first, .past = past + first}));
                }
            }
        }
    };
    for (const statistic& which : all_masks()) {
        check(which);
    }
    check(statistic(dilated_window{3, 2}));
    for (const detail::statistic_table* table : detail::tables_in(library_statistics{})) {
        for (const std::int32_t a : {-1, 0, 1, 2, 3, 5}) {
            for (const std::int32_t b : {0, 1, 2}) {
                try {
                    check(statistic(*table, {{a, b, 0, 0}}));
                } catch (const error&) {  // not in the range of its parameters
                }
            }
        }
    }
    for (const char* const causal : {"causal", "sliding_window(4)", "chunked(5)", "top_k(5)", "compressed_keys(5)",
                                     "best_compressed_keys(5,2)", "best_blocks(5,2)", "best_pools(5,2)"}) {
        INFO(causal);
        CHECK(std::find(by_position.begin(), by_position.end(), causal) != by_position.end());
    }
}

TEST_CASE("a shared prefix that is already cached is counted once") {
    // Eight rollouts of one prompt: an engine with a prefix cache computes it once, but for its last token.
    const mask_set masks = all_masks();
    std::vector<request> shared{{100, 50}};
    std::vector<request> alone{{100, 50}};
    for (int i = 1; i < 8; ++i) {
        shared.push_back({100, 50, 99});
        alone.push_back({100, 50});
    }
    tally with{masks};
    with.add(request_passes(shared));
    tally without{masks};
    without.add(request_passes(alone));
    CHECK(without.get(view::useful, accumulator::tokens) - with.get(view::useful, accumulator::tokens) == 7 * 99);
    CHECK(without.pairs(view::useful, mask::causal()) - with.pairs(view::useful, mask::causal()) == 7 * (99 * 100 / 2));
}

TEST_CASE("an invalid decoding request is an error that names the field") {
    const auto problem = [](const request& bad, std::uint32_t chunk = whole_prompt) {
        return error_of([&] {
            const std::vector<request> all{{5, 5}, bad};
            tally sum;
            sum.add(request_passes(all, chunk));
        });
    };
    CHECK(problem({0, 4}) == "requests[1]: must have a prompt of at least 1 token, got 0");
    CHECK(problem({4, 4, 4}) == "requests[1]: must have fewer cached tokens than the 4 tokens of its prompt, got 4");
    CHECK(problem({4'294'967'295U, 1}) == "requests[1]: prompt + generated must be at most 4294967295, got 4294967296");
    CHECK(problem({4, 4}, 0) == "prefill_chunk: must be at least 1, got 0");
    tally images{mask_set{statistic(unit::clips())}};
    CHECK(error_of([&] {
              images.add(request_passes(std::vector<request>{{5, 5}}));
          }) == "requests: this model has no text: build the tally with the masks() of a model that has it");
    tally sum;
    const std::vector<request> huge(4, request{4'294'967'295U, 0});
    CHECK(error_of([&] { sum.add(request_passes(huge)); }) ==
          "squares: 18446744065119617025 + 18446744065119617025 does not fit 64 bits: use smaller numbers");
    CHECK(sum == tally{});
    sum.add(request_passes(std::vector<request>{{2'000'000'000, 2'000'000'000}}));  // 8e18 pairs, which fit
    CHECK(sum.pairs(view::useful, mask::causal()) == 3'999'999'999ULL * 2'000'000'000ULL);
}

TEST_CASE("decoding requests can be counted at compile time") {
    constexpr std::uint64_t pairs = [] {
        const request item[] = {{2000, 38}};
        tally sum;
        sum.add(request_passes(item));
        return sum.pairs(view::useful, mask::causal());
    }();
    STATIC_REQUIRE(pairs == 2037 * 2038 / 2);
}

namespace {

/// A model that reads tokens into a cache and forgets those that were rejected.
struct cache {
    std::vector<std::uint64_t> read;  ///< ids of the tokens, in order
    tally work;

    /// Reads new tokens in one pass, of which the first `kept` stay.
    void pass(const std::vector<std::uint64_t>& tokens, const std::set<std::uint64_t>& remaining) {
        std::uint32_t stay = 0;
        for (const std::uint64_t token : tokens) {
            stay += remaining.contains(token) ? 1U : 0U;
        }
        const auto past = static_cast<std::uint32_t>(read.size());
        const sequence slot{.length = static_cast<std::uint32_t>(tokens.size()), .past = past};
        work.add(stay == 0 ? sequence{} : sequence{.length = stay, .past = past}, slot);
        read.insert(read.end(), tokens.begin(), tokens.end());
    }
};

}  // namespace

TEST_CASE("speculative decoding counts the passes of draft and target model, each with its own cache") {
    dice random{std::mt19937(11)};
    const mask_set masks = all_masks();
    for (int round = 0; round < 200; ++round) {
        const std::uint32_t prompt = 1 + random(30);
        std::vector<speculation> steps;
        for (unsigned i = random(6); i < 6; ++i) {
            const std::uint32_t drafted = random(6);
            steps.push_back({drafted, random(drafted + 1)});
        }
        cache target{{}, tally{masks}};
        cache draft{{}, tally{masks}};
        std::vector<std::uint64_t> text(prompt);  // the request: ids of its tokens
        std::uint64_t next = 0;
        for (std::uint64_t& token : text) {
            token = next++;
        }
        target.read = draft.read = text;  // both prefilled it
        text.push_back(next++);           // the first token, which the prefill gave
        std::uint64_t verified = 0;
        for (const speculation& step : steps) {
            std::vector<std::uint64_t> proposed;
            for (std::uint32_t n = 0; n < step.drafted; ++n) {
                proposed.push_back(next++);
            }
            std::set<std::uint64_t> expected(text.begin(), text.end());
            expected.insert(proposed.begin(), proposed.begin() + step.accepted);
            for (std::uint32_t n = 0; n < step.drafted; ++n) {
                const auto read = static_cast<std::ptrdiff_t>(draft.read.size());
                draft.pass(n == 0 ? std::vector<std::uint64_t>(text.begin() + read, text.end())
                                  : std::vector<std::uint64_t>{proposed[n - 1]},
                           expected);
            }
            std::vector<std::uint64_t> checked_tokens{text.back()};
            checked_tokens.insert(checked_tokens.end(), proposed.begin(), proposed.end());
            target.pass(checked_tokens, expected);
            verified += checked_tokens.size();
            text.insert(text.end(), proposed.begin(), proposed.begin() + step.accepted);
            text.push_back(next++);
            for (cache* memory : {&target, &draft}) {  // what was rejected is forgotten
                while (!memory->read.empty() && !expected.contains(memory->read.back())) {
                    memory->read.pop_back();
                }
            }
        }
        tally of_target{masks};
        of_target.add(speculative_passes(prompt, steps));
        CHECK(of_target == target.work);
        tally of_draft{masks};
        of_draft.add(speculative_passes(prompt, steps, speculating::draft));
        CHECK(of_draft == draft.work);
        CHECK(of_target.get(view::useful, accumulator::tokens) == text.size() - prompt - 1);
        CHECK(of_target.get(view::padded, accumulator::tokens) == verified);
    }
}

TEST_CASE("accepting more tokens than were drafted is an error") {
    const std::vector<speculation> steps{{3, 1}, {2, 3}};
    CHECK(error_of([&] { static_cast<void>(speculative_passes(10, steps)); }) ==
          "steps[1]: accepted tokens must be at most the 2 drafted, got 3");
    const std::vector<speculation> first{{2, 3}, {3, 1}};
    CHECK(error_of([&] { static_cast<void>(speculative_passes(10, first)); }) ==
          "steps[0]: accepted tokens must be at most the 2 drafted, got 3");
}

TEST_CASE("a decoding request or a speculative decoding step may end exactly at the longest sequence length") {
    constexpr std::uint32_t longest = 0xFFFF'FFFF;
    const auto problem = [](std::uint32_t prompt, std::uint32_t generated) {
        const std::vector<request> single_request{{prompt, generated}};
        return error_of([&] { static_cast<void>(request_passes(single_request)); });
    };
    CHECK(problem(longest - 2, 2) == "no error");
    CHECK(problem(longest - 2, 3) == "requests[0]: prompt + generated must be at most 4294967295, got 4294967296");
    const std::vector<speculation> steps{{2, 0}, {1, 1}, {0, 0}};  // one token, then two, then one
    CHECK(error_of([&] { static_cast<void>(speculative_passes(longest - 4, steps)); }) == "no error");
    CHECK(error_of([&] { static_cast<void>(speculative_passes(longest - 3, steps)); }) ==
          "steps[2]: the sequence must have at most 4294967295 tokens after this step: pass fewer steps");
    CHECK(error_of([&] { static_cast<void>(speculative_passes(longest - 2, steps)); }) ==
          "steps[0]: the sequence must have at most 4294967295 tokens after this step: pass fewer steps");
}

}  // namespace decoding_test
