// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <floptally/parallel/held_tokens.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/verified_sum.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"
#include "refusal_of.hpp"
#include "sanitized.hpp"

namespace statistic_scope_test {
namespace {

using floptally::accumulator;
using floptally::axis_set;
using floptally::dense_axes;
using floptally::every_axis;
using floptally::held_tokens;
using floptally::parallel_axis;
using floptally::parallel_layout;
using floptally::parallel_sizes;
using floptally::placement;
using floptally::require_held;
using floptally::statistic_scope;
using floptally::tally_scope;
using floptally::verified_sum;
namespace scopes = floptally::scopes;

constexpr placement placements[] = {placement::replicated, placement::sharded, placement::first, placement::last,
                                    placement::trusted};

/// Every scope over the axes that have more than one rank.
std::vector<statistic_scope> scopes_of(const parallel_layout& layout) {
    std::vector<statistic_scope> all{statistic_scope{}};
    for (const parallel_axis axis : dense_axes) {
        std::vector<statistic_scope> more;
        for (const statistic_scope& scope : all) {
            for (const placement how : placements) {
                more.push_back(scope.along(axis, layout.size(axis) == 1 ? placement::trusted : how));
                if (layout.size(axis) == 1) {
                    break;
                }
            }
        }
        all = more;
    }
    return all;
}

/// A statistic that is really held as a scope says: parts at random places of a table, and their sum.
struct held_statistic {
    std::vector<std::uint64_t> of_rank;
    std::uint64_t global = 0;
};

/// Equal parts are what a batch of equal slots is, cut evenly: no sum tells them from replicas.
enum class drawn : std::uint8_t { at_random, equal };

held_statistic hold(const statistic_scope& scope, const parallel_layout& layout, std::mt19937_64& random,
                    drawn how = drawn::at_random) {
    const std::uint64_t every = random() % 1'000'000'000 + 1;
    std::map<std::vector<std::uint64_t>, std::uint64_t> parts;
    held_statistic held;
    for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
        const parallel_layout here = layout.at(rank);
        std::vector<std::uint64_t> part;
        bool holds = true;
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t at = here.coordinate(axis);
            part.push_back(scope.along(axis) == placement::sharded ? at : 0);
            holds = holds && (scope.along(axis) != placement::first || at == 0);
            holds = holds && (scope.along(axis) != placement::last || at + 1 == layout.size(axis));
        }
        if (holds && parts.count(part) == 0) {
            parts[part] = how == drawn::equal ? every : random() % 1'000'000'000 + 1;
            held.global += parts[part];
        }
        held.of_rank.push_back(holds ? parts[part] : 0);
    }
    return held;
}

/// The message of every rank where the scope is declared; that of a rank with an error of its own is a refusal.
std::vector<std::vector<std::uint64_t>> messages(const statistic_scope& declared, const parallel_layout& layout,
                                                 const std::vector<std::uint64_t>& values) {
    std::vector<std::vector<std::uint64_t>> sent;
    for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
        const verified_sum sum(layout.at(rank), {{"tokens", declared}});
        try {
            sent.push_back(sum.message(std::span(&values[rank], 1)));
        } catch (const floptally::error&) {
            sent.push_back(refusal_of(sum));
        }
    }
    return sent;
}

/// The global value as rank sees it after a sum over some ranks, or the error.
std::string seen_by(std::uint64_t rank, const statistic_scope& declared, const parallel_layout& layout,
                    const std::vector<std::uint64_t>& sums) {
    try {
        const verified_sum sum(layout.at(rank), {{"tokens", declared}});
        return std::to_string(sum.globals(sums).at(0));
    } catch (const floptally::error& problem) {
        return problem.what();
    }
}

/// The tokens that a rank really holds: a part of its own, told by its coordinates on the axes of parts.
held_tokens tokens_of(const statistic_scope& real, const parallel_layout& here) {
    std::uint64_t part = 1;
    for (const parallel_axis axis : dense_axes) {
        part = 100 * part + (real.along(axis) == placement::sharded ? here.coordinate(axis) : 0);
    }
    return held_tokens(std::span<const std::uint64_t>(&part, 1));
}

/// The result of a collective over all ranks, without ranks: the integers that all of them send are known.
struct known_sum {
    std::vector<std::uint64_t> sums;
    void sum(std::span<std::uint64_t> integers) const { std::copy(sums.begin(), sums.end(), integers.begin()); }
};
struct recorder {
    std::vector<std::uint64_t> sent;
    void sum(std::span<std::uint64_t> integers) { sent.assign(integers.begin(), integers.end()); }
};

/// The error of `require_held` on a rank of a layout whose ranks hold as `real` says, where `declared` is declared.
std::string held_error(std::uint64_t rank, const statistic_scope& real, const statistic_scope& declared,
                       const parallel_layout& layout) {
    std::vector<std::vector<std::uint64_t>> sent;
    for (std::uint64_t each = 0; each < layout.world_size(); ++each) {
        recorder own;
        // Alone with its own integers a rank sees a group that is none; what it sent is what counts here.
        static_cast<void>(error_of([&] {
            require_held(declared, tokens_of(real, layout.at(each)), layout.at(each), own);
            return 0;
        }));
        sent.push_back(own.sent);
    }
    const known_sum over{added_up(sent, members(layout.group(every_axis)))};
    return error_of([&] {
        require_held(declared, tokens_of(real, layout.at(rank)), layout.at(rank), over);
        return 0;
    });
}

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

}  // namespace

TEST_CASE("a statistic reduced over any group of ranks is the global value or an error on every rank") {
    std::mt19937_64 random(2);
    for (const parallel_sizes& sizes : layouts_up_to(is_sanitized ? 8 : 16)) {
        const parallel_layout layout(sizes, world_of(sizes), 0);
        for (const statistic_scope& scope : scopes_of(layout)) {
            const held_statistic held = hold(scope, layout, random);
            const auto sent = messages(scope, layout, held.of_rank);
            for (const axis_set axes : all_groups()) {
                bool lacks_parts = false;
                for (const parallel_axis axis : dense_axes) {
                    lacks_parts = lacks_parts || (scope.along(axis) != placement::trusted && layout.size(axis) > 1 &&
                                                  !axes.contains(axis));
                }
                for (const std::uint64_t rank : {std::uint64_t{0}, random() % layout.world_size()}) {
                    const std::string seen =
                        seen_by(rank, scope, layout, added_up(sent, members(layout.at(rank).group(axes))));
                    CHECK(is_number(seen) == !lacks_parts);
                    if (!lacks_parts) {
                        CHECK(seen == std::to_string(held.global));
                    }
                }
            }
        }
    }
}

TEST_CASE("a statistic scope that is wrong on one axis either changes no value or causes an error") {
    std::mt19937_64 random(3);
    std::size_t parts_as_replicas = 0;
    std::size_t replicas_as_parts = 0;
    for (const parallel_sizes& sizes : layouts_up_to(is_sanitized ? 4 : 8)) {
        const parallel_layout layout(sizes, world_of(sizes), 0);
        const std::uint64_t rank = random() % layout.world_size();
        for (const statistic_scope& real : scopes_of(layout)) {
            if (!(real.trusting_replicas() == real)) {
                continue;  // held as one that trusts, which is declared otherwise below
            }
            CHECK(held_error(rank, real, real, layout) == "no error");
            for (const drawn how_drawn : {drawn::at_random, drawn::equal}) {
                const held_statistic held = hold(real, layout, random, how_drawn);
                for (const parallel_axis axis : dense_axes) {
                    if (layout.size(axis) == 1) {
                        continue;
                    }
                    for (const placement how :
                         {placement::replicated, placement::sharded, placement::first, placement::last}) {
                        const statistic_scope declared = real.along(axis, how);
                        const auto sent = messages(declared, layout, held.of_rank);
                        bool is_wrong = false;
                        for (const axis_set axes : all_groups()) {
                            const std::string seen =
                                seen_by(0, declared, layout, added_up(sent, members(layout.group(axes))));
                            is_wrong = is_wrong || (is_number(seen) && seen != std::to_string(held.global));
                        }
                        if (!is_wrong) {
                            continue;
                        }
                        // No count can show it: equal parts look like replicas, and replicas like equal parts.
                        const bool as_parts = real.is_copied(axis) && how == placement::sharded;
                        const bool as_replicas = real.along(axis) == placement::sharded &&
                                                 how == placement::replicated && how_drawn == drawn::equal;
                        CHECK((as_parts || as_replicas));
                        replicas_as_parts += as_parts ? 1U : 0U;
                        parts_as_replicas += as_replicas ? 1U : 0U;
                        // The tokens themselves do, and in how many parts the data loader shards them does.
                        CHECK(held_error(rank, real, declared, layout) != "no error");
                        CHECK(error_of([&] {
                                  tally_scope(declared).require_parts(accumulator::tokens, layout, real.parts(layout));
                                  return 0;
                              }) != "no error");
                    }
                }
            }
        }
    }
    CHECK(parts_as_replicas > 0);
    CHECK(replicas_as_parts > 0);
}

TEST_CASE("a scope that contradicts the tokens of ranks is an error with the ranks and axes") {
    const parallel_layout layout({.dp = 2, .cp = 2, .tp = 2}, 8, 0);
    CHECK(held_error(3, scopes::context_slice, scopes::microbatch, layout) ==
          "tokens: ranks 0 and 2, which differ in cp, are declared replicated but hold different tokens: declare them "
          "sharded if each holds a part");
    CHECK(held_error(7, scopes::microbatch, scopes::context_slice, layout) ==
          "tokens: ranks 0 and 2, which differ in cp, are declared sharded but hold the same tokens: declare them "
          "replicated if they load the same samples");
    CHECK(
        held_error(0, scopes::microbatch.along(parallel_axis::dp, placement::replicated), scopes::microbatch, layout) ==
        "tokens: ranks 0 and 4, which differ in dp, are declared sharded but hold the same tokens: declare them "
        "replicated if they load the same samples");
    CHECK(held_error(0, scopes::context_slice, scopes::microbatch.along(parallel_axis::cp, placement::first), layout) ==
          "no error");
    // Without a token there is nothing to compare: an empty slice on one rank is legal, nothing on all is a mistake.
    const parallel_layout alone({}, 1, 0);
    recorder own;
    CHECK(error_of([&] { return require_held(scopes::microbatch, held_tokens(), alone, own), 0; }) ==
          "tokens: no rank has token ids, so that nothing was compared: add the token ids of each rank to held_tokens");
    const std::vector<std::int32_t> ids{5, 6, 7};
    CHECK(error_of([&] {
              return require_held(scopes::microbatch, held_tokens(std::span<const std::int32_t>(ids)), alone, own), 0;
          }) == "no error");
    // The order counts, and how the ids are handed in does not.
    const std::vector<std::int64_t> turned{6, 5, 7};
    held_tokens in_two;
    in_two.add(std::span<const std::int32_t>(ids).first(1));
    in_two.add(std::span<const std::int32_t>(ids).subspan(1));
    CHECK(in_two.hash() == held_tokens(std::span<const std::int32_t>(ids)).hash());
    CHECK(in_two.hash() != held_tokens(std::span<const std::int64_t>(turned)).hash());
    CHECK(in_two.count() == 3);
}

TEST_CASE("summing over ranks that do not form a group, or twice over one group, is an error") {
    std::mt19937_64 random(4);
    for (const parallel_sizes& sizes : layouts_up_to(is_sanitized ? 8 : 12)) {
        const parallel_layout layout(sizes, world_of(sizes), 0);
        const held_statistic held = hold(scopes::context_slice, layout, random);
        const auto sent = messages(scopes::context_slice, layout, held.of_rank);
        std::set<std::vector<std::uint64_t>> groups;
        for (const axis_set axes : all_groups()) {
            groups.insert(members(layout.group(axes)));
        }
        for (std::uint64_t bits = 1; bits < (1ULL << layout.world_size()); bits += 2) {  // all subsets with rank 0
            std::vector<std::uint64_t> ranks;
            for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
                if ((bits >> rank & 1U) != 0) {
                    ranks.push_back(rank);
                }
            }
            if (groups.count(ranks) == 0) {
                CHECK_FALSE(is_number(seen_by(0, scopes::context_slice, layout, added_up(sent, ranks))));
            }
        }
        for (const axis_set axes : all_groups()) {
            std::vector<std::uint64_t> sums = added_up(sent, members(layout.group(axes)));
            for (std::uint64_t& sum : sums) {
                sum *= 2;
            }
            CHECK_FALSE(is_number(seen_by(0, scopes::context_slice, layout, sums)));
        }
    }
}

TEST_CASE("scope errors name the statistic and the axes") {
    const parallel_layout layout({.dp = 2, .cp = 2, .tp = 2}, 8, 0);
    const std::vector<std::uint64_t> replicas{10, 10, 20, 20, 30, 30, 40, 40};  // along tp
    const auto seen = [&](const statistic_scope& scope, const std::vector<std::uint64_t>& values, axis_set axes) {
        return seen_by(0, scope, layout, added_up(messages(scope, layout, values), members(layout.group(axes))));
    };
    const axis_set dp_cp = parallel_axis::dp | parallel_axis::cp;
    CHECK(seen(scopes::context_slice, replicas, every_axis) == "100");
    CHECK(seen(scopes::context_slice.trusting_replicas(), replicas, dp_cp) == "100");
    CHECK(
        seen(scopes::context_slice, replicas, dp_cp) ==
        "tokens: is replicated over tp, but the sum is over dp x cp, and cannot show that the 2 ranks agree: sum over "
        "tp too, or declare it trusted");
    CHECK(seen(scopes::context_slice.trusting_replicas(), replicas, parallel_axis::dp) ==
          "tokens: is sharded over cp, but the sum is over dp and contains 1 of 2 parts: sum over cp too");
    CHECK(seen(scopes::context_slice.trusting_replicas(), replicas, {}) ==
          "tokens: is sharded over cp, but the sum is over no axis and contains 1 of 2 parts: sum over cp too");
    CHECK(seen(scopes::context_slice, {10, 11, 20, 20, 30, 30, 40, 40}, every_axis) ==
          "tokens: is declared replicated over tp, but the sum, 201, is not a multiple of 2, the number of replicas; "
          "declare it sharded if each rank holds a part");
    CHECK(seen(scopes::context_slice, {10, 12, 20, 20, 30, 30, 40, 40}, every_axis) ==
          "tokens: is declared replicated over tp, but its 2 ranks hold different values; declare it sharded if each "
          "holds a part");
    // Equal data on every cp rank, and half of it on each tp rank: two mistakes whose factors cancel in the sum.
    CHECK(seen(scopes::context_slice, {10, 20, 10, 20, 30, 40, 30, 40}, every_axis) ==
          "tokens: is declared replicated over tp, but its 2 ranks hold different values; declare it sharded if each "
          "holds a part");
    const statistic_scope last = scopes::context_slice.along(parallel_axis::tp, placement::last);
    CHECK(seen(last, replicas, every_axis) == "sum: 4 ranks failed: look at the errors of those ranks");
    CHECK(seen(last, {0, 10, 0, 20, 5, 30, 0, 40}, every_axis) == "sum: rank 4 failed: look at the error of that rank");
    CHECK(seen(last, {0, 10, 0, 20, 0, 30, 0, 40}, every_axis) == "100");
    CHECK(seen(last, {0, 10, 0, 20, 0, 30, 0, 40}, dp_cp) ==
          "tokens: exists on the last rank of tp only, but the sum is over dp x cp and contains 1 of 2 parts: sum over "
          "tp "
          "too");
    CHECK(error_of([&] {
              last.require_holder("tokens", 5, layout.at(4));
              return 0;
          }) ==
          "tokens: exists on the last rank of tp only, but rank 0 of 2 counted 5: count nothing on the other ranks");
    const auto sent = messages(scopes::context_slice, layout, replicas);
    CHECK(seen_by(0, scopes::context_slice, layout, added_up(sent, {0, 1, 2})) ==
          "sum: covers 3 ranks, which are no group of this layout (dp 2, cp 2, tp 2, pp 1): pass a reducer over whole "
          "axes");
    std::vector<std::uint64_t> twice = added_up(sent, members(layout.group(dp_cp)));
    for (std::uint64_t& sum : twice) {
        sum *= 2;
    }
    CHECK(seen_by(0, scopes::context_slice, layout, twice) ==
          "sum: contains every rank of dp x cp 2 times, because it was reduced before: reduce each message once");
    CHECK(error_of([&] {
              tally_scope(scopes::context_slice.along(parallel_axis::tp, placement::sharded))
                  .require_parts(accumulator::tokens, layout, 4);
              return 0;
          }) ==
          "scope: tokens is declared in 8 shards, but the data loader returns 4 different batches: declare "
          "it replicated where "
          "ranks load the same samples");
    CHECK(error_of([] { return statistic_scope{}.along(parallel_axis::ep, placement::sharded); }) ==
          "scope: ep cannot be used, because its ranks are also ranks of dp x cp x tp: name dp, cp or tp instead");
    CHECK(error_of([&] { return verified_sum(layout, {}).globals({}); }) ==
          "sum: must have the 4 integers of the message, got 0");
}

TEST_CASE("intermediate sums over ranks may exceed 64 bits if the global value fits, and are an overflow otherwise") {
    const std::uint64_t max64 = ~std::uint64_t{0};
    const parallel_layout replicas({.tp = 8}, 8, 0);
    const std::vector<std::uint64_t> all(8, max64);
    CHECK(seen_by(0, scopes::microbatch, replicas,
                  added_up(messages(scopes::microbatch, replicas, all), members(replicas.group(every_axis)))) ==
          std::to_string(max64));
    const parallel_layout shards({.dp = 8}, 8, 0);
    CHECK(seen_by(0, scopes::microbatch, shards,
                  added_up(messages(scopes::microbatch, shards, all), members(shards.group(every_axis)))) ==
          "tokens: the sum over all ranks does not fit 64 bits: count fewer samples");
}

TEST_CASE("a statistic that only one pipeline stage has is summed without double counting") {
    std::mt19937_64 random(7);
    for (const parallel_sizes& sizes : layouts_up_to(24)) {
        const parallel_layout layout(sizes, world_of(sizes), 0);
        std::vector<std::uint64_t> loss_tokens;  // of the last stage, sharded over dp; the same on cp and tp ranks
        std::vector<std::uint64_t> of_replica;
        std::uint64_t global = 0;
        for (std::uint64_t dp = 0; dp < sizes.dp; ++dp) {
            of_replica.push_back(random() % 1000);
            global += of_replica.back();
        }
        for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
            const auto at = layout.at(rank).coordinates();
            loss_tokens.push_back(at.pp + 1 == sizes.pp ? of_replica[at.dp] : 0);
        }
        const auto sent = messages(scopes::last_stage, layout, loss_tokens);
        for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
            const auto seen = [&](axis_set axes) {
                return seen_by(rank, scopes::last_stage, layout, added_up(sent, members(layout.at(rank).group(axes))));
            };
            CHECK(seen(every_axis) == std::to_string(global));
            if (sizes.pp > 1 && sizes.dp * sizes.cp * sizes.tp > 1) {
                CHECK(seen(parallel_axis::dp | parallel_axis::cp | parallel_axis::tp).find("last rank of pp only") !=
                      std::string::npos);
            }
        }
    }
}

TEST_CASE("the largest accepted sum over ranks fits exactly in 64 bits") {
    const parallel_layout layout({.dp = 2}, 2, 0);
    const statistic_scope scope = statistic_scope{}.along(parallel_axis::dp, placement::sharded);
    const floptally::uint128 beyond = floptally::uint128{1} << 64;
    CHECK(scope.global("tokens", beyond - 1, layout, every_axis) == ~std::uint64_t{0});
    CHECK(error_of([&] { static_cast<void>(scope.global("tokens", beyond, layout, every_axis)); }) ==
          "tokens: the sum over all ranks does not fit 64 bits: count fewer samples");
}

}  // namespace statistic_scope_test
