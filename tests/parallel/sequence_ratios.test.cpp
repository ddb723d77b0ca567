// SPDX-License-Identifier: Apache-2.0
//
// Ratios of sequences over ranks, against sums over all tokens of each sequence.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <floptally/parallel/sequence_ratios.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"
#include "thread_world.hpp"

namespace sequence_ratios_test {
namespace {

using floptally::axis_set;
using floptally::different_scopes;
using floptally::every_axis;
using floptally::number_ratio;
using floptally::parallel_axis;
using floptally::parallel_layout;
using floptally::parallel_sizes;
using floptally::placement;
using floptally::ratio;
using floptally::ratio_scope;
using floptally::ratio_summary;
using floptally::reduce_sequences;
using floptally::single_rank;
using floptally::statistic_scope;
namespace scopes = floptally::scopes;

constexpr axis_set sharing = parallel_axis::cp | parallel_axis::tp | parallel_axis::pp;

/// One sequence: log-probabilities of its tokens in 2^-20, and whether a token counts.
struct token {
    std::int64_t logp;
    bool valid;
};
using tokens = std::vector<token>;

std::vector<tokens> random_sequences(std::mt19937_64& random, std::size_t count) {
    std::vector<tokens> all;
    for (std::size_t i = 0; i < count; ++i) {
        tokens hash_of_tokens;
        const std::size_t length = 24 * (random() % 20 + 1);  // 2 cp pieces for cp 1, 2, 3, 4, 6
        const std::size_t prompt = random() % length;
        for (std::size_t t = 0; t < length; ++t) {
            hash_of_tokens.push_back({-static_cast<std::int64_t>(random() % (5U << 20U)) + (1 << 18), t >= prompt});
        }
        all.push_back(hash_of_tokens);
    }
    all[count / 2] = tokens(24, {-7, false});  // no token of it counts
    return all;
}

template <class Number>
struct sides {
    std::vector<Number> numerators;
    std::vector<std::uint64_t> denominators;
};

/// The sums of a rank of a zigzag split over its slice of each sequence of its replica.
template <class Number>
sides<Number> slices_of(const std::vector<tokens>& all, const parallel_layout& here) {
    const std::uint64_t cp = here.sizes().cp;
    const auto at = here.coordinates();
    sides<Number> mine;
    for (std::size_t s = at.dp; s < all.size(); s += here.sizes().dp) {
        const std::size_t piece = all[s].size() / (2 * cp);
        Number sum{};
        std::uint64_t valid = 0;
        for (const std::uint64_t p : {at.cp, 2 * cp - 1 - at.cp}) {
            for (std::size_t t = p * piece; t < (p + 1) * piece; ++t) {
                sum += all[s][t].valid ? static_cast<Number>(all[s][t].logp) : Number{};
                valid += all[s][t].valid ? 1U : 0U;
            }
        }
        mine.numerators.push_back(sum);
        mine.denominators.push_back(valid);
    }
    return mine;
}

double perplexity(double mean_logp) { return std::exp(-mean_logp / (1 << 20)); }

template <class Number>
ratio_summary perplexities(const sides<Number>& mine, const parallel_layout& here, thread_world& world,
                           const ratio_scope& scope = scopes::context_slice) {
    auto within = world.over(here, sharing);
    auto over_dp = world.over(here, parallel_axis::dp);
    return reduce_sequences(std::span<const Number>(mine.numerators), std::span<const std::uint64_t>(mine.denominators),
                            scope, here, within, over_dp, perplexity);
}

/// Every sequence whole, one after the other: Σ over its tokens, token by token.
ratio_summary enumerated(const std::vector<tokens>& all, std::uint64_t dp) {
    ratio_summary found;
    for (std::uint64_t replica = 0; replica < dp; ++replica) {
        double sum = 0;
        for (std::size_t s = replica; s < all.size(); s += dp) {
            std::int64_t logp = 0;
            std::int64_t valid = 0;
            for (const token& position_of : all[s]) {
                logp += position_of.valid ? position_of.logp : 0;
                valid += position_of.valid ? 1 : 0;
            }
            if (valid == 0) {
                ++found.empty;
                continue;
            }
            const double value = perplexity(static_cast<double>(logp) / static_cast<double>(valid));
            found.least = found.sequences == 0 ? value : std::min(found.least, value);
            found.largest = found.sequences == 0 ? value : std::max(found.largest, value);
            sum += value;
            ++found.sequences;
        }
        found.sum += sum;
    }
    return found;
}

std::string no_error() { return "no error"; }

}  // namespace

TEST_CASE("perplexity per sequence is bit-identical for every cp, tp and pp") {
    std::mt19937_64 random(21);
    const std::vector<tokens> all = random_sequences(random, 13);
    for (const parallel_sizes& sizes : {parallel_sizes{},
                                        {.cp = 2},
                                        {.cp = 4},
                                        {.cp = 3, .tp = 2},
                                        {.dp = 2, .cp = 2},
                                        {.dp = 3, .tp = 2, .pp = 2},
                                        {.dp = 2, .cp = 6},
                                        {.dp = 2, .cp = 4, .pp = 2}}) {
        const ratio_summary expected = enumerated(all, sizes.dp);
        REQUIRE(expected.empty == 1);
        thread_world world;
        const auto ends = thread_world::run(world_of(sizes), [&](std::uint64_t rank) {
            const parallel_layout here(sizes, world_of(sizes), rank);
            const ratio_summary found = perplexities(slices_of<std::int64_t>(all, here), here, world);
            thread_world::expect(found == expected, "mean " + std::to_string(found.mean()));
            thread_world::expect(found.mean() == expected.sum / 12 && found.max() == expected.largest, "ends");
            // In floating point: the integers above are exact in it, so that any order gives the same.
            thread_world::expect(perplexities(slices_of<double>(all, here), here, world) == expected, "in doubles");
        });
        CHECK(std::count(ends.begin(), ends.end(), no_error()) == static_cast<std::ptrdiff_t>(ends.size()));
        CHECK(ends[0] == no_error());
    }
}

TEST_CASE("the mean of per-sequence ratios is wrong if cp slices of a sequence are averaged as sequences") {
    std::mt19937_64 random(22);
    const std::vector<tokens> all = random_sequences(random, 12);
    const ratio_summary whole = enumerated(all, 1);
    const parallel_layout here({.cp = 2}, 2, 0);
    const sides<std::int64_t> mine = slices_of<std::int64_t>(all, here);
    const parallel_layout alone({}, 1, 0);
    single_rank only;
    const ratio_summary slice = reduce_sequences(std::span<const std::int64_t>(mine.numerators),
                                                 std::span<const std::uint64_t>(mine.denominators),
                                                 scopes::context_slice, alone, only, only, perplexity);
    CHECK(std::abs(slice.max() / whole.max() - 1) > 1e-3);
    CHECK(std::abs(slice.mean() / whole.mean() - 1) > 1e-4);
}

TEST_CASE("floating-point sums over ranks run in rank order and have the same bits on every rank") {
    const parallel_sizes sizes{.dp = 3, .cp = 4, .tp = 2};
    const std::size_t sequences = 5;
    const auto value = [](std::uint64_t dp, std::uint64_t cp, std::size_t s) {
        return std::sin(static_cast<double>(1 + 100 * dp + 10 * cp + s)) *
               std::pow(10.0, 8.0 - 5.0 * static_cast<double>(cp));
    };
    double by_order = 0;
    double other_order = 0;
    for (std::uint64_t dp = 0; dp < 3; ++dp) {
        double replica = 0;
        for (std::size_t s = 0; s < sequences; ++s) {
            const double forth = ((value(dp, 0, s) + value(dp, 1, s)) + value(dp, 2, s)) + value(dp, 3, s);
            const double back = ((value(dp, 3, s) + value(dp, 2, s)) + value(dp, 1, s)) + value(dp, 0, s);
            replica += forth / 40;
            other_order += back / 40;
        }
        by_order += replica;
    }
    REQUIRE(by_order != other_order);
    thread_world world;
    const auto ends = thread_world::run(world_of(sizes), [&](std::uint64_t rank) {
        const parallel_layout here(sizes, world_of(sizes), rank);
        auto within = world.over(here, sharing);
        auto over_dp = world.over(here, parallel_axis::dp);
        std::vector<double> numerators;
        for (std::size_t s = 0; s < sequences; ++s) {
            numerators.push_back(value(here.coordinates().dp, here.coordinates().cp, s));
        }
        const std::vector<std::uint64_t> denominators(sequences, 10);
        for (int again = 0; again < 20; ++again) {
            const ratio_summary found =
                reduce_sequences(std::span<const double>(numerators), std::span<const std::uint64_t>(denominators),
                                 scopes::context_slice, here, within, over_dp);
            thread_world::expect(std::bit_cast<std::uint64_t>(found.sum) == std::bit_cast<std::uint64_t>(by_order),
                                 "bits of " + std::to_string(found.sum));
        }
    });
    CHECK(ends == std::vector<std::string>(24, no_error()));
}

TEST_CASE("a loss over all ranks is a signed or floating-point sum divided by a count") {
    const parallel_sizes sizes{.dp = 2, .cp = 2, .tp = 2};
    thread_world world;
    const auto ends = thread_world::run(8, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 8, rank);
        auto everyone = world.over(here, every_axis);
        const auto at = here.coordinates();
        const double sums[2][2] = {{-1.5, 2.25}, {0, 1e6}};
        const std::uint64_t counts[2][2] = {{3, 4}, {0, 1}};
        const number_ratio<double> mine{sums[at.dp][at.cp], counts[at.dp][at.cp]};
        const number_ratio<double> all = reduce(mine, scopes::context_slice, here, everyone);
        thread_world::expect(all.numerator == -1.5 + 2.25 + 1e6 && all.denominator == 8, "of doubles");
        const number_ratio<std::int64_t, std::int64_t> negative{at.dp == 0 ? -9 : 4, 5};
        const auto sum = reduce(negative, scopes::context_slice, here, everyone);
        thread_world::expect(sum.numerator == -10 && sum.denominator == 20 && sum.value() == -0.5, "of integers");
        const auto none = reduce(number_ratio<double>{}, scopes::context_slice, here, everyone);
        thread_world::expect(error_of([&] { return none.value(); }) ==
                                 "ratio: has no value, because numerator and denominator are 0 on all ranks: check "
                                 "first that the denominator is above 0",
                             "none");
    });
    CHECK(ends == std::vector<std::string>(8, no_error()));
}

TEST_CASE("reducing a loss over the same ranks twice is an error") {
    const parallel_sizes sizes{.dp = 2};
    thread_world world;
    const auto ends = thread_world::run(2, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 2, rank);
        const auto over = world.over(here, every_axis);
        const number_ratio<double> mine{.numerator = -1.5, .denominator = 2};
        const number_ratio<double> all = reduce(mine, scopes::microbatch, here, over);
        thread_world::expect(all.numerator == -3 && all.denominator == 4, "-3 over 4");
        const std::string problem = error_of([&] { static_cast<void>(reduce(all, scopes::microbatch, here, over)); });
        thread_world::expect(problem ==
                                 "ratio.numerator: is sharded over dp by its scope, but this ratio was added up over "
                                 "dp before: reduce it only once",
                             problem);
        const statistic_scope copies = scopes::microbatch.along(parallel_axis::dp, placement::replicated);
        thread_world::expect(reduce(all, copies, here, over).numerator == -3, "replicas are one");
    });
    CHECK(ends == std::vector<std::string>(2, no_error()));
}

TEST_CASE(
    "a numerator and a denominator with different scopes are an error unless the caller allows different scopes") {
    // The loss that was off by tp: its sum over dp, its tokens over dp x tp.
    const statistic_scope over_dp = scopes::microbatch;
    const statistic_scope over_tp_too = scopes::microbatch.along(parallel_axis::tp, placement::sharded);
    CHECK(
        error_of([&] { return ratio_scope(over_dp, over_tp_too).numerator(); }) ==
        "scope: the numerator is replicated over tp and the denominator is sharded over tp: their ratio is wrong by a "
        "factor of the size of tp; declare both alike, or pass different_scopes");
    CHECK(error_of([&] {
              return ratio_scope(over_dp, over_dp.along_virtual_stages(placement::sharded)).numerator();
          }).rfind("scope: the numerator and the denominator have different scopes along virtual stages", 0) == 0);
    CHECK(ratio_scope(over_dp, over_dp).denominator() == over_dp);
    const ratio_scope meant(over_dp, over_tp_too, different_scopes);
    thread_world world;
    const auto ends = thread_world::run(4, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 2, .tp = 2}, 4, rank);
        auto everyone = world.over(here, every_axis);
        // Every tensor rank has the whole loss of its replica, and counts half of its tokens.
        const std::uint64_t loss = here.coordinates().dp == 0 ? 600 : 200;
        thread_world::expect(reduce(ratio(loss, 50), meant, here, everyone) == ratio(800, 200), "counts");
        const auto found = reduce(number_ratio<double>{static_cast<double>(loss), 50}, meant, here, everyone);
        thread_world::expect(found.numerator == 800 && found.denominator == 200 && found.value() == 4, "doubles");
    });
    CHECK(ends == std::vector<std::string>(4, no_error()));
}

TEST_CASE("an invalid ratio on one rank is an error on all ranks, and no rank hangs") {
    const std::vector<tokens> all(6, tokens(24, {-5, true}));
    // Changes what rank 3 of dp 2 x cp 2 brings; the errors of all four.
    const auto errors = [&](auto change, const ratio_scope& scope = scopes::context_slice) {
        thread_world world;
        return thread_world::run(4, [&](std::uint64_t rank) {
            const parallel_layout here({.dp = 2, .cp = 2}, 4, rank);
            sides<double> mine = slices_of<double>(all, here);
            if (rank == 3) {
                change(mine);
            }
            static_cast<void>(perplexities(mine, here, world, scope));
        });
    };
    using list = std::vector<std::string>;
    const auto not_a_number = [](sides<double>& mine) { mine.numerators[1] = std::nan(""); };
    CHECK(errors(not_a_number) == list{"sum: rank 2 failed: look at the error of that rank",
                                       "sum: rank 3 failed: look at the error of that rank",
                                       "sum: rank 3 failed: look at the error of that rank",
                                       "numerators: must be finite on every rank, and so must the sum over the ranks"});
    CHECK(errors([](sides<double>& mine) { mine.denominators.pop_back(); })[3] ==
          "denominators: must be as many as the numerators, 3, got 2");
    for (const std::string& problem : errors([](sides<double>& mine) {
             mine.denominators.pop_back();
             mine.numerators.pop_back();
         })) {
        CHECK((problem == "sequences: must be the same number on all ranks that share the sequences, got from 2 to 3" ||
               problem.rfind("sum: rank", 0) == 0));
    }
    CHECK(errors([](sides<double>& mine) {
              mine.denominators = {0, 0, 0};
          })[3] == no_error());  // its slice has no token: legal, if the sum has none either
    CHECK(errors([](sides<double>& mine) { mine.numerators[0] = 1; }, scopes::microbatch)[3] ==
          "numerators: is declared replicated, but ranks 2 and 3 hold different values; declare it sharded if each "
          "holds a part");
    CHECK(errors([](sides<double>&) {}, scopes::microbatch.along(parallel_axis::dp, placement::replicated))[0] ==
          "scope: must be sharded over dp, because each data-parallel rank has different sequences");
    CHECK(errors([](sides<double>&) {}, scopes::microbatch.along(parallel_axis::cp, placement::first))[1] ==
          "numerators: must be 0 on rank 1, because its scope says that other ranks hold it");

    const ratio_scope of_first = scopes::context_slice.along(parallel_axis::tp, placement::first);
    thread_world two;
    for (const std::string& problem : thread_world::run(4, [&](std::uint64_t rank) {
             const parallel_layout here({.dp = 2, .cp = 2}, 4, rank);
             static_cast<void>(
                 perplexities(slices_of<double>(all, here), here, two, rank == 3 ? of_first : scopes::context_slice));
         })) {
        CHECK(problem == "scope: the ranks have different values, so nothing was added up: configure all ranks alike");
    }

    const parallel_layout alone({}, 1, 0);
    single_rank only;
    const auto make_single = [&](double numerator, std::uint64_t denominator) {
        return error_of([&] {
            const double numerators[] = {numerator};
            const std::uint64_t denominators[] = {denominator};
            return reduce_sequences(std::span<const double>(numerators), std::span<const std::uint64_t>(denominators),
                                    scopes::microbatch, alone, only, only)
                .mean();
        });
    };
    CHECK(make_single(-3, 2) == no_error());
    CHECK(
        make_single(0, 0) ==
        "ratio: has no value, because no sequence has a denominator above 0: check first that `sequences` is above 0");
    CHECK(make_single(-3, 0).rfind("denominators[0]: must be above 0, or 0 where the numerator is 0", 0) == 0);
    CHECK(make_single(std::numeric_limits<double>::infinity(), 2).rfind("numerators: must be finite", 0) == 0);
    const number_ratio<std::int64_t> large{std::numeric_limits<std::int64_t>::max(), 1};
    thread_world world;
    for (const std::string& problem : thread_world::run(2, [&](std::uint64_t rank) {
             const parallel_layout here({.dp = 2}, 2, rank);
             auto everyone = world.over(here, every_axis);
             static_cast<void>(reduce(large, scopes::microbatch, here, everyone));
         })) {
        CHECK(problem.find("the sum over the ranks does not fit 64 bits: use smaller numbers") != std::string::npos);
    }
}

TEST_CASE("a ratio reduced over another group of ranks than its scope needs is an error") {
    thread_world world;
    const auto ends = thread_world::run(4, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 2, .cp = 2}, 4, rank);
        auto wrong = world.over(here, parallel_axis::dp);
        // The sum over dp, where it must be over dp x cp: one of two slices.
        static_cast<void>(reduce(number_ratio<double>{1, 1}, scopes::context_slice, here, wrong));
    });
    for (const std::string& problem : ends) {
        CHECK(problem == "sum: must contain exactly the ranks of dp x cp x tp x pp: pass a reducer over these ranks");
    }
    // Axes that the scopes trust may be left out.
    const auto fine = thread_world::run(4, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 2, .tp = 2}, 4, rank);
        auto replicas = world.over(here, parallel_axis::dp | parallel_axis::cp);
        const auto all =
            reduce(number_ratio<double>{0.5, 1}, scopes::context_slice.trusting_replicas(), here, replicas);
        thread_world::expect(all.numerator == 1 && all.denominator == 2, "both replicas");
    });
    CHECK(fine == std::vector<std::string>(4, no_error()));
}

}  // namespace sequence_ratios_test
