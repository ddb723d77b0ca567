// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include <floptally/batch/context_shard.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/descriptors/latent_attention.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/held_tokens.hpp>
#include <floptally/parallel/placed_sequences.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/utilization.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"
#include "sanitized.hpp"
#include "thread_world.hpp"

namespace reduction_test {
namespace {

using floptally::accumulator;
using floptally::axis_set;
using floptally::every_axis;
using floptally::extremes;
using floptally::flop_counter;
using floptally::flops;
using floptally::mask;
using floptally::mask_set;
using floptally::microbatch_tally;
using floptally::microbatch_visits;
using floptally::parallel_axis;
using floptally::parallel_layout;
using floptally::parallel_sizes;
using floptally::placement;
using floptally::ratio;
using floptally::sequence;
using floptally::single_rank;
using floptally::statistic_scope;
using floptally::tally;
using floptally::tally_reduction;
using floptally::tally_scope;
using floptally::verified_sum;
using floptally::view;
using floptally::conventions::exact;
namespace scopes = floptally::scopes;

const flop_counter& mistral() {
    static const flop_counter model(floptally::presets::mistral_7b.cost());
    return model;
}

/// A sequence and the slots that it is padded to.
struct padded_sequence {
    std::uint32_t length;
    std::uint32_t slots;
};

std::vector<padded_sequence> random_batch(std::mt19937_64& random, std::size_t sequences) {
    constexpr std::uint32_t unit = 128 * 9 * 5 * 7;  // zigzag pieces of most cp up to 64 are whole; others are not cut
    std::vector<padded_sequence> batch;
    for (std::size_t i = 0; i < sequences; ++i) {
        const auto length = static_cast<std::uint32_t>(random() % 9000 + 1);
        batch.push_back({length, unit * static_cast<std::uint32_t>(1 + i % 2)});
    }
    return batch;
}

void add_whole(tally& to, const padded_sequence& one) { to.add(sequence{one.length}, sequence{one.slots}); }

/// The rows that one of cp ranks has of a sequence whose slots were cut into 2·cp pieces: pieces r and 2·cp − 1 − r.
void add_zigzag(tally& to, const padded_sequence& one, std::uint64_t cp, std::uint64_t r) {
    const auto rows = static_cast<std::uint32_t>(one.slots / (2 * cp));
    for (const std::uint64_t piece : {r, 2 * cp - 1 - r}) {
        const auto first = static_cast<std::uint32_t>(piece * rows);
        const std::uint32_t real = one.length <= first ? 0 : std::min(one.length - first, rows);
        to.add(sequence{.length = real, .past = real == 0 ? 0 : first}, sequence{.length = rows, .past = first});
    }
}

/// The values that must not depend on the layout.
struct global_numbers {
    std::vector<std::uint64_t> counts;
    std::vector<flops> work;

    explicit global_numbers(const tally& all) {
        for (const view seen : {view::useful, view::padded}) {
            counts.push_back(all.get(seen, accumulator::tokens));
            counts.push_back(all.pairs(seen, mask::causal()));
            counts.push_back(all.pairs(seen, mask::sliding_window(4096)));
            work.push_back(mistral().total_flops(all, seen));
        }
    }
    [[nodiscard]] bool operator==(const global_numbers&) const = default;
};

/// A way in which a framework might count.
struct counting {
    tally_scope scope;
    bool zigzag = false;
    bool every_virtual_stage = false;
};

const counting ways[] = {
    {.scope = scopes::microbatch},
    {.scope = scopes::microbatch.along_virtual_stages(placement::replicated), .every_virtual_stage = true},
    {.scope = scopes::context_slice, .zigzag = true},
    {.scope =
         scopes::context_slice.along(parallel_axis::pp, placement::last).along(parallel_axis::tp, placement::first),
     .zigzag = true},
    {.scope = scopes::microbatch.along(parallel_axis::cp, placement::first).along_virtual_stages(placement::replicated),
     .every_virtual_stage = true}};

/// The counts of a rank in a step: its replica's sequences, microbatch by microbatch, on each virtual stage.
tally counted_on(const parallel_layout& layout, const counting& way,
                 const std::vector<std::vector<padded_sequence>>& microbatches) {
    tally mine{mistral().masks()};
    if (!way.scope[accumulator::tokens].holds(layout)) {
        return mine;
    }
    for (std::uint64_t stage = 0; stage < (way.every_virtual_stage ? layout.sizes().vpp : 1); ++stage) {
        for (const auto& microbatch : microbatches) {
            for (const padded_sequence& one : microbatch) {
                if (way.zigzag) {
                    add_zigzag(mine, one, layout.sizes().cp, layout.coordinates().cp);
                } else {
                    add_whole(mine, one);
                }
            }
        }
    }
    return mine;
}

/// Deals the sequences to replicas and microbatches at random; some stay empty.
std::vector<std::vector<std::vector<padded_sequence>>> sharded(const std::vector<padded_sequence>& batch,
                                                               std::uint64_t replicas, std::mt19937_64& random) {
    std::vector<std::vector<std::vector<padded_sequence>>> of_replica(replicas);
    const std::uint64_t microbatches = random() % 4 + 1;
    for (auto& replica : of_replica) {
        replica.resize(microbatches);
    }
    for (const padded_sequence& one : batch) {
        of_replica[random() % replicas][random() % microbatches].push_back(one);
    }
    return of_replica;
}

mask_set some_masks() {
    mask_set masks;
    masks.push_back(mask::sliding_window(100), "masks");
    return masks;
}

tally tally_of(std::initializer_list<std::uint32_t> lengths) {
    tally mine{some_masks()};
    for (const std::uint32_t length : lengths) {
        mine.add(sequence{length});
    }
    return mine;
}

/// Counts what is asked of it.
struct counting_reducer {
    std::size_t sums = 0;
    std::size_t maxima = 0;
    void sum(std::span<std::uint64_t>) { ++sums; }
    void max(std::span<std::uint64_t>) { ++maxima; }
};

std::vector<std::string> no_error(std::size_t ranks) { return std::vector<std::string>(ranks, "no error"); }

template <class Reduction>
concept scales_without_saying = requires(const Reduction& reduction, const tally& mine) {
    reduction.scaled(mine);
};

/// A convention with pairs of its own in one place alone: in models with or without a layer without a window, and of
/// indexers or of layers.
template <bool WithoutWindow, bool OfIndexer>
void counts_otherwise(floptally::convention& how) {
    how.pairs = [](const floptally::statistic& attends, const floptally::convention& as,
                   const floptally::attention_context& model) {
        return model.has_layer_without_window == WithoutWindow && model.of_indexer == OfIndexer
                   ? floptally::counted_statistics()
                   : floptally::count_pairs(attends, as, model);
    };
}

}  // namespace

TEST_CASE(
    "reduced tokens, pairs and FLOPs are bit-identical for every layout up to 64 ranks and every microbatch split") {
    std::mt19937_64 random(1);
    const std::vector<padded_sequence> batch = random_batch(random, 12);
    tally all{mistral().masks()};
    for (const padded_sequence& one : batch) {
        add_whole(all, one);
    }
    const global_numbers expected(all);
    std::size_t layouts = 0;
    for (parallel_sizes sizes : layouts_up_to(64)) {
        for (sizes.vpp = 1; world_of(sizes) * sizes.vpp <= 64; ++sizes.vpp) {
            const counting& way = ways[layouts++ % std::size(ways)];
            if (skipped_when_sanitized(layouts, 7)) {
                continue;
            }
            const bool cuts =
                !way.zigzag || std::all_of(batch.begin(), batch.end(), [&](const padded_sequence& element) {
                    return element.slots % (2 * sizes.cp) == 0;
                });
            const counting& used = cuts ? way : ways[0];
            const parallel_layout layout(sizes, world_of(sizes), 0);
            const auto of_replica = sharded(batch, sizes.dp, random);
            const tally empty{mistral().masks()};
            std::vector<std::uint64_t> sums;
            for (std::uint64_t rank = 0; rank < layout.world_size(); ++rank) {
                const parallel_layout here = layout.at(rank);
                const tally mine = counted_on(here, used, of_replica[here.coordinates().dp]);
                const verified_sum sum(here, floptally::detail::scoped_accumulators(empty, used.scope));
                const std::vector<std::uint64_t> sent = sum.message(mine.accumulators());
                sums.resize(sent.size(), 0);
                std::transform(sent.begin(), sent.end(), sums.begin(), sums.begin(), std::plus<>());
            }
            for (const std::uint64_t rank : {std::uint64_t{0}, layout.world_size() - 1}) {
                const verified_sum sum(layout.at(rank), floptally::detail::scoped_accumulators(empty, used.scope));
                CHECK((global_numbers(tally::from_accumulators(mistral().masks(), sum.globals(sums))) == expected));
            }
        }
    }
    CHECK(layouts > 3000);
}

TEST_CASE("ranks that reduce concurrently get the same bytes, over all ranks and over the data-parallel group") {
    std::mt19937_64 random(11);
    const std::vector<padded_sequence> batch = random_batch(random, 10);
    tally all{mistral().masks()};
    for (const padded_sequence& item : batch) {
        add_whole(all, item);
    }
    for (const parallel_sizes& sizes :
         {parallel_sizes{.dp = 8}, {.dp = 2, .cp = 2, .tp = 2}, {.cp = 3, .tp = 2}, {.dp = 3, .pp = 2, .vpp = 2}, {}}) {
        const auto of_replica = sharded(batch, sizes.dp, random);
        for (const axis_set group : {every_axis, axis_set(parallel_axis::dp)}) {
            thread_world world;
            const statistic_scope scope =
                group == every_axis ? scopes::microbatch : scopes::microbatch.trusting_replicas();
            std::vector<tally> seen(world_of(sizes));
            const auto ends = thread_world::run(world_of(sizes), [&](std::uint64_t rank) {
                const parallel_layout here(sizes, world_of(sizes), rank);
                const auto over = world.over(here, group);
                const tally_reduction reduction(mistral(), scope, here, over);
                for (int step = 0; step < 3; ++step) {
                    const auto& mine = of_replica[here.coordinates().dp];
                    const microbatch_visits visits{.ran = mine.size(), .added = mine.size()};
                    seen[rank] = reduction.sum(counted_on(here, {.scope = scope}, mine), over, visits);
                }
            });
            for (std::uint64_t rank = 0; rank < seen.size(); ++rank) {
                CHECK(ends[rank] == "no error");
                CHECK(seen[rank] == all);
            }
        }
    }
}

TEST_CASE("building a reduction fails on ranks that count by different conventions") {
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    thread_world world;
    const auto ends = thread_world::run(2, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 2}, 2, rank);
        const auto over = world.over(here, every_axis);
        const flop_counter counter(model, rank == 0 ? exact : floptally::conventions::verl);
        static_cast<void>(tally_reduction(counter, scopes::microbatch, here, over));
    });
    for (const std::string& end : ends) {
        CHECK(end == "convention: the ranks have different values, so nothing was added up: configure all ranks alike");
    }
    // Where nothing is evaluated, there is none to agree on; and no default that stands for one.
    const parallel_layout layout({}, 1, 0);
    single_rank alone;
    CHECK(reduce(tally_of({5}), scopes::microbatch, layout, alone, std::nullopt) == tally_of({5}));
    static_assert(!std::is_constructible_v<tally_reduction, const mask_set&, const tally_scope&, const parallel_layout&,
                                           single_rank&>);
}

TEST_CASE("asking a tally for the executed view is an error") {
    const tally mine = tally_of({5, 200});
    const std::string problem = "view: must be useful or padded, since a tally has no executed amounts";
    for (const accumulator what :
         {accumulator::count, accumulator::tokens, accumulator::squares, accumulator::routed}) {
        CHECK(error_of([&] { return mine.get(view::executed, what); }) == problem);
    }
    for (const mask& m : {mask::causal(), mask::bidirectional(), mask::sliding_window(100), mask::cross_attention()}) {
        CHECK(error_of([&] { return mine.pairs(view::executed, m); }) == problem);
    }
    CHECK(error_of([&] { return mine.get(view::executed, accumulator::tokens, floptally::modality::vision); }) ==
          problem);
    // FLOPs of that view are counted from the padded amounts, as before.
    const flop_counter counter(floptally::presets::mistral_7b.cost());
    tally batch{counter.masks()};
    batch.add(sequence{10}, sequence{16});
    CHECK(counter.total_flops(batch, view::executed) == counter.evaluate(batch).total(view::executed));
}

TEST_CASE(
    "context-parallel shards that the scope declares replicated are an error on every rank, also if equal in size") {
    // Three slots over three ranks, each sequence cut into equal parts: 822 tokens, of which each rank counts 274.
    floptally::placed_sequences row;
    for (const std::uint32_t length : {300U, 222U, 300U}) {
        row.add(sequence{length});
    }
    const floptally::context_parallel_pack parts(
        row, floptally::token_split::zigzag_of_each(std::vector<std::uint32_t>{0, 300, 522, 822}, 3));
    const parallel_sizes sizes{.dp = 1, .cp = 3, .tp = 2};
    const auto summed = [&](const tally_scope& scope, auto shard_of) {
        thread_world world;
        std::vector<std::uint64_t> tokens(6);
        std::vector<std::string> ends = thread_world::run(6, [&](std::uint64_t rank) {
            const parallel_layout here(sizes, 6, rank);
            const auto over = world.over(here, every_axis);
            const tally_reduction reduction(mistral(), scope, here, over);
            tokens[rank] = reduction.sum(shard_of(here), over).get(view::useful, accumulator::tokens);
        });
        ends.push_back(std::to_string(tokens[0]));
        return ends;
    };
    const auto of_row = [&](const parallel_layout& here) {
        return parts.tally_of(here.coordinates().cp, mistral().masks()).total();
    };
    CHECK(parts.tokens(view::useful) == std::vector<std::uint64_t>{274, 274, 274});
    CHECK(summed(scopes::context_slice, of_row) ==
          std::vector<std::string>{"no error", "no error", "no error", "no error", "no error", "no error", "822"});
    for (const tally_scope& scope :
         {tally_scope(scopes::microbatch), tally_scope(scopes::microbatch.trusting_replicas()),
          tally_scope(scopes::microbatch.along(parallel_axis::cp, placement::first))}) {
        const std::vector<std::string> ends = summed(scope, of_row);
        for (std::uint64_t rank = 0; rank < 6; ++rank) {
            const std::string problem = "but this tally is the shard of cp rank " +
                                        std::to_string(parallel_layout(sizes, 6, rank).coordinates().cp) + " of 3";
            CHECK(ends[rank].find(problem) != std::string::npos);
        }
    }
    CHECK(summed(scopes::microbatch, of_row)[2] ==
          "tokens: is replicated over cp by its scope, but this tally is the shard of cp rank 1 of 3: use "
          "scopes::context_slice, which is sharded over cp");
    // One statistic alone that is declared otherwise, and the mask's pairs.
    for (const accumulator what : {accumulator::count, accumulator::tokens, accumulator::squares, accumulator::pairs}) {
        CHECK(summed(tally_scope(scopes::context_slice).with(what, scopes::microbatch), of_row)[0].find(
                  "is replicated over cp by its scope") != std::string::npos);
    }
    // All ranks have the same shard, of one and the same rank.
    const auto ends = summed(scopes::context_slice,
                             [&](const parallel_layout&) { return parts.tally_of(1, mistral().masks()).total(); });
    CHECK(ends[0] ==
          "cp_rank: this tally is the shard of cp rank 1 of 3, but this rank is 0: add up this rank's own shard");
    CHECK(ends[2] == "sum: 4 ranks failed: look at the errors of those ranks");

    // A rank's own addition is found where it says so: slots / cp, as AReaL's issue 1242 has it.
    const auto by_hand = [&](const parallel_layout& here) {
        tally mine{mistral().masks()};
        mine.add_lengths(std::vector<int>{100, 74, 100});
        mine.mark_shard({.cp = 3, .rank = here.coordinates().cp});
        return mine;
    };
    CHECK(summed(scopes::context_slice, by_hand)[6] == "822");
    CHECK(summed(scopes::microbatch, by_hand)[0] ==
          "count: is replicated over cp by its scope, but this tally is the shard of cp rank 0 of 3: use "
          "scopes::context_slice, which is sharded over cp");

    // A layout that has fewer parts than the row was cut into; one whose dp are the cp ranks as well.
    single_rank alone;
    const tally mine = parts.tally_of(2, mistral().masks()).total();
    const auto of_layout = [&](const parallel_sizes& layout_sizes) {
        const parallel_layout layout(layout_sizes, world_of(layout_sizes), 0);
        return error_of([&] {
            return tally_reduction(mistral(), scopes::microbatch, layout, alone).scaled(mine, floptally::equal_lengths);
        });
    };
    CHECK(of_layout({}) ==
          "tokens: has 1 parts by its scope, but this tally is the shard of cp rank 2 of 3: set cp = 3 in the layout "
          "and shard the scope over cp");
    CHECK(of_layout({.dp = 6}) == "no error");

    // Tokens that were told show it without any mark.
    thread_world world;
    const auto told = thread_world::run(6, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 6, rank);
        const auto over = world.over(here, every_axis);
        const std::vector<std::uint64_t> rows{here.coordinates().cp};
        const floptally::held_tokens held{std::span<const std::uint64_t>(rows)};
        tally_reduction(mistral(), scopes::context_slice, here, over).require_held(held, over);
        tally_reduction(mistral(), scopes::microbatch, here, over).require_held(held, over);
    });
    for (const std::string& end : told) {
        CHECK(end.find("are declared replicated but hold different tokens") != std::string::npos);
    }
}

TEST_CASE("reducing an already reduced tally is an error on every rank") {
    const std::string twice =
        "count: is sharded over dp by its scope, but this tally was added up over dp before: reduce it only once";
    const parallel_sizes sizes{.dp = 2};
    const auto run = [&](auto step) {
        thread_world world;
        return thread_world::run(2, [&](std::uint64_t rank) {
            const parallel_layout here(sizes, 2, rank);
            const auto over = world.over(here, every_axis);
            const tally_reduction q(mistral(), scopes::microbatch, here, over);
            tally mine{mistral().masks()};
            mine.add(sequence{rank == 0 ? 200U : 1U});
            step(q, mine, over);
        });
    };
    const std::vector<std::string> everywhere(2, twice);
    CHECK(run([](const auto& q, const tally& mine, const auto& over) {
              static_cast<void>(q.sum(q.sum(mine, over), over));
          }) == everywhere);
    CHECK(run([](const auto& q, const tally& mine, const auto& over) {
              static_cast<void>(q.sum(q.scaled(mine, floptally::equal_lengths), over));
          }) == everywhere);
    CHECK(run([](const auto& q, const tally& mine, const auto& over) {
              static_cast<void>(q.scaled(q.sum(mine, over), floptally::equal_lengths));
          }) == everywhere);
    CHECK(run([](const auto& q, const tally& mine, const auto& over) {
              tally both = mine;  // the mark goes with what is added
              both += q.sum(mine, over);
              static_cast<void>(q.sum(both, over));
          }) == everywhere);
    // One rank's tally alone is a sum: that rank says why, the other that there was one.
    CHECK(run([](const auto& q, const tally& mine, const auto& over) {
              const tally all = q.sum(mine, over);
              static_cast<void>(q.sum(q.messages().layout().rank() == 0 ? all : mine, over));
          }) == std::vector<std::string>{twice, "sum: rank 0 failed: look at the error of that rank"});
    // A meter that sums over the ranks, given the sum; one that does not is given nothing else.
    CHECK(run([&](const auto& q, const tally& mine, const auto& over) {
              const tally all = q.sum(mine, over);
              floptally::meter sums(mistral(), {.peak_tflops = 989}, q.by(over));
              sums.begin_step();
              sums.microbatch() += all;
              thread_world::expect(error_of([&] { sums.end_step(1); }) == twice, "the meter refuses");
              sums.discard_step();
              sums.begin_step();
              sums.microbatch() += mine;
              sums.end_step(1);
              thread_world::expect(sums.last_step().batch == all, "and counts the next step");
              floptally::meter declared(mistral(),
                                        {.gpus = 2, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus});
              declared.begin_step();
              declared.microbatch() += all;
              declared.end_step(1);
              thread_world::expect(declared.last_step().batch.get(view::useful, accumulator::tokens) == 201, "201");
          }) == no_error(2));
}

TEST_CASE("reducing ratios or extremes over the same ranks twice is an error") {
    const auto twice = [](const std::string& integer, const std::string& record) {
        return integer + ": is sharded over dp by its scope, but this " + record +
               " was added up over dp before: reduce it only once";
    };
    const parallel_sizes sizes{.dp = 2, .cp = 2};
    thread_world world;
    const auto ends = thread_world::run(4, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 4, rank);
        const auto over = world.over(here, every_axis);
        const auto problem = [&](const auto& record, const auto& scope) {
            return error_of([&] { static_cast<void>(reduce(record, scope, here, over)); });
        };
        const ratio accepted = reduce(ratio(rank, 4), scopes::context_slice, here, over);
        const extremes lengths = reduce(extremes(1, rank, rank), scopes::context_slice, here, over);
        thread_world::expect(accepted == ratio(6, 16) && lengths == extremes(4, 0, 3), "6 of 16; four, 0 to 3");
        const std::string said = problem(accepted, scopes::microbatch);
        thread_world::expect(said == twice("ratio.numerator", "ratio"), said);
        const std::string counted = problem(lengths, scopes::microbatch);
        thread_world::expect(counted == twice("extremes.count", "count"), counted);
        // The mark goes with what it is added to; replicas are divided out.
        ratio both(1, 2);
        both += accepted;
        extremes all(1, 9, 9);
        all += lengths;
        thread_world::expect(problem(both, scopes::microbatch) == twice("ratio.numerator", "ratio"),
                             "a ratio added to");
        thread_world::expect(problem(all, scopes::microbatch) == twice("extremes.count", "count"), "ends added to");
        const statistic_scope copies = scopes::microbatch.along(parallel_axis::dp, placement::replicated);
        thread_world::expect(reduce(accepted, copies, here, over) == accepted, "the same ratio");
        thread_world::expect(reduce(lengths, copies, here, over) == lengths, "the same ends");
        thread_world::expect(problem(reduce(ratio(), scopes::microbatch, here, over), scopes::microbatch) == "no error",
                             "nothing is nothing twice");
    });
    CHECK(ends == no_error(4));
}

TEST_CASE("a tally reduced over one parallel axis may be reduced over another axis") {
    const parallel_sizes sizes{.dp = 2, .cp = 2, .tp = 2};
    thread_world world;
    const auto ends = thread_world::run(8, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 8, rank);
        const auto cp = here.coordinates().cp;
        // First the slices of a sequence, by a layout of the ranks that shard it; then the replicas, which hold it
        // whole.
        const parallel_layout slices({.cp = 2}, 2, cp);
        const auto over_cp = world.over(here, parallel_axis::cp);
        const tally whole = reduce(tally_of({cp == 0 ? 3U : 4U}), scopes::context_slice, slices, over_cp, exact);
        const auto everyone = world.over(here, every_axis);
        const tally_reduction replicas(some_masks(), scopes::microbatch, here, everyone, exact);
        const tally all = replicas.sum(whole, everyone);
        thread_world::expect(all == tally_of({3, 4, 3, 4}), "two replicas");
        // As slices they would be added up again.
        const tally_reduction again(some_masks(), scopes::context_slice, here, everyone, exact);
        const std::string problem = error_of([&] { static_cast<void>(again.sum(whole, everyone)); });
        thread_world::expect(problem ==
                                 "count: is sharded over cp by its scope, but this tally was added up over cp before: "
                                 "reduce it only once",
                             problem);
        // A value that is replicated on all its axes is divided out, however often it is summed.
        const statistic_scope copies = scopes::microbatch.along(parallel_axis::dp, placement::replicated);
        const tally_reduction same(some_masks(), copies, here, everyone, exact);
        thread_world::expect(same.sum(same.sum(all, everyone), everyone) == all, "the same again");
        // A value that is not is found behind those that are.
        const tally_scope tokens_alone = tally_scope(copies).with(accumulator::tokens, scopes::microbatch);
        const tally_reduction tokens(some_masks(), tokens_alone, here, everyone, exact);
        const std::string behind = error_of([&] { static_cast<void>(tokens.sum(all, everyone)); });
        thread_world::expect(behind ==
                                 "tokens: is sharded over dp by its scope, but this tally was added up over dp before: "
                                 "reduce it only once",
                             behind);
        // Two levels by layouts whose axes have one name: the caller says so.
        tally of_node = all;
        of_node.mark_added_up({});
        thread_world::expect(replicas.sum(of_node, everyone) == tally_of({3, 4, 3, 4, 3, 4, 3, 4}), "of two nodes");
        // A cleared one is of one rank again; nothing is added up twice.
        of_node = all;
        of_node.clear();
        thread_world::expect(!of_node.added_up_over().is_marked(), "cleared");
        of_node.mark_added_up(all.added_up_over());
        thread_world::expect(replicas.sum(of_node, everyone) == tally_of({}), "nothing twice");
    });
    CHECK(ends == no_error(8));
    // Virtual stages are divided out once.
    single_rank alone;
    const parallel_layout interleaved({.vpp = 2}, 1, 0);
    const statistic_scope every = scopes::microbatch.along_virtual_stages(placement::replicated);
    const tally_reduction stages(some_masks(), every, interleaved, alone, exact);
    const microbatch_visits visits{.ran = 1, .added = 2};
    const tally once = stages.sum(tally_of({8, 8}), alone, visits);
    CHECK(once == tally_of({8}));
    CHECK(
        error_of([&] { static_cast<void>(stages.sum(once, alone, visits)); }) ==
        "count: is replicated over vpp by its scope, but this tally was added up over vpp before: reduce it only once");
}

TEST_CASE("building a reduction fails if any field of convention, plan or model differs between ranks") {
    using floptally::convention;
    using floptally::training_plan;
    const parallel_sizes sizes{.dp = 2};
    const auto run = [&](auto make) {
        thread_world world;
        const auto ends = thread_world::run(2, [&](std::uint64_t rank) {
            const parallel_layout here(sizes, 2, rank);
            const auto over = world.over(here, every_axis);
            make(rank, here, over);
        });
        CHECK(ends[0] == ends[1]);
        return ends[0];
    };
    const auto by_convention = [&](const auto& change) {
        return run([&](std::uint64_t rank, const parallel_layout& here, const auto& over) {
            convention how = exact;
            if (rank == 1) {
                change(how);
            }
            static_cast<void>(tally_reduction(some_masks(), scopes::microbatch, here, over, how));
        });
    };
    const std::string convention_error =
        "convention: the ranks have different values, so nothing was added up: configure all ranks alike";
    const std::string coefficient_error =
        "coefficients: the ranks have different values, so nothing was added up: configure all ranks alike";
    CHECK(by_convention([](convention&) {}) == "no error");
    void (*const changes[])(convention&) = {
        [](convention& how) { how.name = "other"; },
        [](convention& how) { how.summary = "other"; },
        [](convention& how) { how.causal = floptally::causal_pairs::full_square; },
        [](convention& how) { how.windows = floptally::window_pairs::ignored; },
        [](convention& how) { how.backward = floptally::attention_backward::flash; },
        [](convention& how) { how.counted = floptally::products; },
        [](convention& how) { how.delta_rule_flops = 7; },
        [](convention& how) { how.channel_decay_flops = 7; },
        [](convention& how) { how.delta_chunk = 7; },
        [](convention& how) { how.scan_flops = 7; },
        [](convention& how) { how.head = floptally::head_rows::one_per_sequence; },
        [](convention& how) { how.parameters = floptally::counted_weights::stored; },
        [](convention& how) { how.indexer = floptally::indexer_backward::as_layers; },
        [](convention& how) { how.groups = floptally::grouped_gradient::all_channels; },
        [](convention& how) { how.training = floptally::counted_training::every_weight; },
        [](convention& how) {  // that of the tally's own window, of no other
            how.pairs = [](const floptally::statistic& attends, const convention& as,
                           const floptally::attention_context& model) {
                return attends.name() == "sliding_window(100)"
                           ? floptally::counted_statistics(floptally::moment_statistics::tokens{})
                           : floptally::count_pairs(attends, as, model);
            };
        },
        counts_otherwise<false, false>,
        counts_otherwise<false, true>,
        counts_otherwise<true, false>,
        counts_otherwise<true, true>};
    for (const auto change : changes) {
        CHECK(by_convention(change) == convention_error);
    }

    // A plan, each member of it; the convention and the masks are the same.
    const auto by_counter = [&](const flop_counter& own, const flop_counter& other) {
        return run([&](std::uint64_t rank, const parallel_layout& here, const auto& over) {
            static_cast<void>(tally_reduction(rank == 0 ? own : other, scopes::microbatch, here, over));
        });
    };
    const auto& model = floptally::presets::mistral_7b;
    const auto planned = [&](const training_plan& plan) {
        return by_counter(flop_counter(model), flop_counter(model, exact, plan));
    };
    const auto& [counted, recomputed, flash, components, weights, every, repeated, indexer, logits] = training_plan{};
    static_cast<void>(std::tie(counted, recomputed, flash, components, weights, every, repeated, indexer, logits));
    CHECK(planned({}) == "no error");
    CHECK(planned({.counted = floptally::counted_passes::forward}) == coefficient_error);
    CHECK(planned({.recomputed = floptally::recompute::full}) == coefficient_error);
    CHECK(planned({.recomputed = floptally::recompute::full, .recompute_every = 2}) == coefficient_error);
    CHECK(planned({.flash_attention = false}) == coefficient_error);
    CHECK(planned({.logits = floptally::logit_tokens::last}) == coefficient_error);
    training_plan plan;
    plan.recomputed_components.push_back("mlp", "plan");
    CHECK(planned(plan) == coefficient_error);
    plan = {};
    plan.weights.push_back({.weights = "lm_head", .state = floptally::weight_state::frozen}, "plan");
    CHECK(planned(plan) == coefficient_error);
    plan = {};
    plan.repeated.push_back({.weights = "mlp", .ranks = 2}, "plan");
    CHECK(planned(plan) == coefficient_error);
    const auto trains_indexer = [](floptally::indexer_training trains) {
        floptally::cost layer = floptally::lightning_indexer{.num_heads = 2, .head_dim = 4, .query_size = 8}.cost(
            {.hidden_size = 8, .attends = mask::causal()});
        layer += floptally::gqa{.num_heads = 2, .num_kv_heads = 2, .head_dim = 4}.cost(
            {.hidden_size = 8, .attends = mask::top_k(3)});
        return flop_counter(layer, exact, {.indexer = trains});
    };
    CHECK(by_counter(trains_indexer(floptally::indexer_training::sparse_loss),
                     trains_indexer(floptally::indexer_training::dense_loss)) == coefficient_error);

    // Another model of the same masks, and one in which two components of equal coefficients have each other's name.
    auto wider = model;
    wider.vocab.size += 1;
    CHECK(by_counter(flop_counter(model), flop_counter(wider)) == coefficient_error);
    const auto named = [](const char* name) {
        return flop_counter(floptally::cost().add(name, {.in_features = 4, .out_features = 4}));
    };
    CHECK(by_counter(named("a"), named("a")) == "no error");
    CHECK(by_counter(named("a"), named("b")) == coefficient_error);
}

TEST_CASE("loss tokens and prompt tokens can be reduced as named statistics, each with its own scope") {
    // Prompt tokens are counted from the batch by every rank; loss tokens by the last pipeline stage, where the loss
    // is.
    using floptally::measured;
    floptally::cost model = floptally::presets::mistral_7b.cost();
    tally plain{mistral().masks()};
    plain.add(sequence{9});
    plain.add(sequence{4});
    const flops without = mistral().total_flops(plain);
    model.keep(measured("loss_tokens")).keep(measured("prompt_tokens"));
    const flop_counter counter(model);
    const parallel_sizes sizes{.dp = 2, .tp = 2, .pp = 2};
    const std::uint64_t loss_of_dp[] = {5, 3};
    const std::uint64_t prompt_of_dp[] = {4, 6};
    const tally_scope scope = tally_scope(scopes::microbatch).with_measured("loss_tokens", scopes::last_stage);
    std::vector<std::vector<std::uint64_t>> sums(8);
    const auto run = [&](const tally_scope& scopes_of_tally, bool loss_everywhere) {
        thread_world world;
        std::vector<std::string> ends = thread_world::run(8, [&](std::uint64_t rank) {
            const parallel_layout here(sizes, 8, rank);
            const auto over = world.over(here, every_axis);
            const tally_reduction reduction(counter, scopes_of_tally, here, over);
            tally mine{counter.masks()};
            mine.add(sequence{here.coordinates().dp == 0 ? 9U : 4U});
            const std::uint64_t prompt = prompt_of_dp[here.coordinates().dp];
            mine.add_measured("prompt_tokens", {.useful = prompt});
            if (here.coordinates().pp == 1 || loss_everywhere) {
                const std::uint64_t loss = loss_of_dp[here.coordinates().dp];
                mine.add_measured("loss_tokens", {.useful = loss});
            }
            const tally all = reduction.sum(mine, over);
            sums[rank] = {all.pairs(view::useful, measured("loss_tokens")),
                          all.pairs(view::useful, measured("prompt_tokens")),
                          all.get(view::useful, accumulator::tokens), counter.total_flops(all) == without ? 1U : 0U};
        });
        return ends;
    };
    for (const bool loss_everywhere : {false, true}) {
        for (const std::string& end : run(loss_everywhere ? tally_scope(scopes::microbatch) : scope, loss_everywhere)) {
            CHECK(end == "no error");
        }
        for (const std::vector<std::uint64_t>& sum : sums) {
            CHECK(sum == std::vector<std::uint64_t>{8, 10, 13, 1});  // the last: they multiply nothing
        }
    }
    CHECK(run(scope, true)[0] ==
          "measured(loss_tokens): exists on the last rank of pp only, but rank 0 of 2 counted 5: count nothing on the "
          "other ranks");
    CHECK(run(tally_scope(scopes::microbatch), false)[0].find(
              "measured(loss_tokens): is declared replicated over pp") == 0);
    CHECK(
        scope.with_measured("loss_tokens", scopes::microbatch).of_measured("loss_tokens", floptally::modality::text) ==
        scopes::microbatch);
    CHECK(run(scope.with_measured("los_tokens", scopes::microbatch), false)[0] ==
          "scope: measured(los_tokens) is not kept by these tallies: correct the name, or add this statistic to "
          "the model's cost by keep()");
    // A batch that lacks them is still counted, and one that has more than a counter asks for too.
    CHECK(counter.total_flops(plain) == without);
    tally both{counter.masks()};
    both.add(sequence{9});
    both.add(sequence{4});
    CHECK(mistral().total_flops(both) == without);
    CHECK(counter.evaluate(both).total() == without);
    // Experts that are measured are still asked for, beside integers that are only kept.
    const floptally::moe experts{.num_experts = 4,
                                 .num_experts_per_tok = 2,
                                 .intermediate_size = 5,
                                 .routed_is_measured = true,
                                 .visits = "visits"};
    const flop_counter sparse(experts.cost({.hidden_size = 8}).keep(measured("loss_tokens")));
    tally visited{sparse.masks()};
    visited.add(sequence{3});
    CHECK(error_of([&] { static_cast<void>(sparse.total_flops(visited)); }) ==
          "measured(visits): the cost needs this amount, but the tally lacks it: pass it to add_measured");
    visited.add_measured("visits", {.useful = 6});
    CHECK(sparse.total_flops(visited) == sparse.evaluate(visited).total());
}

TEST_CASE(
    "a measured amount of 0 is kept when tallies are reduced or scaled, and an amount missing on one rank is an "
    "error") {
    using floptally::measured;
    floptally::cost model = floptally::presets::mistral_7b.cost();
    model.add("head", floptally::linear{.in_features = 3, .out_features = 7}, measured("logits"));
    const flop_counter counter(model);
    const parallel_sizes sizes{.dp = 2, .pp = 2};
    const tally_scope scope = tally_scope(scopes::microbatch).with_measured("logits", scopes::last_stage);
    // The amounts of the two data-parallel ranks, on the last stage alone; -1: none is added.
    const auto run = [&](std::int64_t first, std::int64_t second, std::uint32_t tokens_of_second, bool by_meter) {
        thread_world world;
        return thread_world::run(4, [&](std::uint64_t rank) {
            const parallel_layout here(sizes, 4, rank);
            const auto over = world.over(here, every_axis);
            const tally_reduction reduction(counter, scope, here, over);
            tally mine{counter.masks()};
            const bool is_second = here.coordinates().dp == 1;
            if (!is_second || tokens_of_second != 0) {
                mine.add(sequence{is_second ? tokens_of_second : 9});
            }
            const std::int64_t amount = is_second ? second : first;
            if (here.coordinates().pp == 1 && amount >= 0) {
                mine.add_measured("logits", {.useful = static_cast<std::uint64_t>(amount)});
            }
            const tally all = by_meter ? reduction.by(over).sum([&] { return mine; }) : reduction.sum(mine, over);
            tally expected{counter.masks()};
            expected.add(sequence{9});
            if (tokens_of_second != 0) {
                expected.add(sequence{tokens_of_second});
            }
            const auto amount_of_all = static_cast<std::uint64_t>((first > 0 ? first : 0) + (second > 0 ? second : 0));
            expected.add_measured("logits", {.useful = amount_of_all});
            thread_world::expect(counter.total_flops(all) == counter.total_flops(expected), "FLOPs of the whole batch");
        });
    };
    for (const bool by_meter : {false, true}) {
        CHECK(run(0, 0, 4, by_meter) == std::vector<std::string>(4, "no error"));
        CHECK(run(0, 5, 4, by_meter) == std::vector<std::string>(4, "no error"));
        CHECK(run(0, -1, 0, by_meter) == std::vector<std::string>(4, "no error"));  // it has no tokens either
        const std::vector<std::string> ends = run(5, -1, 4, by_meter);
        CHECK(std::count_if(ends.begin(), ends.end(), [](const std::string& end) {
                  return end.find("measured(logits): is missing on this rank") == 0;
              }) == 1);
        CHECK(std::count_if(ends.begin(), ends.end(), [](const std::string& end) {
                  return end.find("failed: look at the error of that rank") != std::string::npos;
              }) == 3);
    }
    tally mine{counter.masks()};
    mine.add(sequence{9});
    const parallel_layout alone({.dp = 4}, 4, 0);
    floptally::single_rank single_reducer;
    const tally_reduction reduction(counter, scopes::microbatch, alone, single_reducer);
    CHECK(error_of([&] {
              static_cast<void>(reduction.scaled(mine, floptally::equal_lengths));
          }).find("measured(logits): is missing on this rank") == 0);
    mine.add_measured("logits", {.useful = 0});
    CHECK(counter.total_flops(reduction.scaled(mine, floptally::equal_lengths)).value() ==
          4 * counter.total_flops(mine).value());
    // Without a model the reduction knows no need: the sum has this rank's marks.
    const tally_reduction of_masks(counter.masks(), scopes::microbatch, parallel_layout({}, 1, 0), single_reducer,
                                   std::nullopt);
    CHECK(counter.total_flops(of_masks.sum(mine, single_reducer)) == counter.total_flops(mine));
    CHECK(counter.total_flops(mine.with_accumulators(mine.accumulators())) == counter.total_flops(mine));
    CHECK(error_of([&] {
              static_cast<void>(counter.total_flops(tally::from_accumulators(counter.masks(), mine.accumulators())));
          }) == "measured(logits): the cost needs this amount, but the tally lacks it: pass it to add_measured");
    // What splits a batch by cause keeps the amount too.
    CHECK_NOTHROW(floptally::padding_of(counter, {mine, tally{counter.masks()}}));
}

TEST_CASE("adding one of 70 measured statistics marks no other statistic as measured") {
    using floptally::measured;
    floptally::mask_set masks;
    std::vector<std::string> names;
    for (int i = 0; i < 70; ++i) {
        names.push_back("amount_" + std::to_string(i));
        masks.find_or_add(measured(names.back()), "masks");
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        tally expected_sums{masks};
        expected_sums.add_measured(names[i], {.useful = 0});
        for (std::size_t other = 0; other < names.size(); ++other) {
            REQUIRE(expected_sums.has_measured(measured(names[other])) == (other == i && i < 64));
        }
    }
}

TEST_CASE("a tally remembers its context-parallel shard until a different shard is added") {
    const auto marked = [](std::uint64_t cp, std::uint64_t rank) {
        tally counted_batch = tally_of({5});
        counted_batch.mark_shard({.cp = cp, .rank = rank});
        return counted_batch;
    };
    tally sum{some_masks()};
    CHECK_FALSE(sum.shard_of_context().is_known());
    sum += marked(3, 1);
    sum += marked(3, 1);
    CHECK(sum.shard_of_context() == floptally::context_shard({.cp = 3, .rank = 1}));
    sum += tally_of({7});
    CHECK(sum.shard_of_context() == floptally::context_shard({.cp = 3, .rank = 1}));
    CHECK(sum == tally_of({5, 5, 7}));
    sum += marked(3, 0);
    CHECK_FALSE(sum.shard_of_context().is_known());
    sum += marked(3, 2);
    CHECK_FALSE(sum.shard_of_context().is_known());
    sum.clear();
    sum += marked(1, 0);
    CHECK_FALSE(sum.shard_of_context().is_known());
    sum += marked(3, 2);
    CHECK(sum.shard_of_context() == floptally::context_shard({.cp = 3, .rank = 2}));
    CHECK(error_of([] { return floptally::context_shard({.cp = 2, .rank = 2}); }) ==
          "cp_rank: must be below cp = 2, got 2");
    CHECK(error_of([] { return floptally::context_shard({.cp = 0, .rank = 0}); }) ==
          "cp_rank: must be below cp = 0, got 0");
}

TEST_CASE("a reduced sum stores its axes, and adding two reduced sums keeps the axes of both") {
    using floptally::added_up;
    for (std::uint32_t number = 0; number < floptally::parallel_axis_count; ++number) {
        for (std::uint32_t other = 0; other < floptally::parallel_axis_count; ++other) {
            const added_up mark(1U << number, false);
            CHECK(mark.over(other) == (number == other));
            CHECK(added_up((1U << number) | (1U << other), false) == (added_up(mark) += added_up(1U << other, false)));
        }
        CHECK_FALSE(added_up().over(number));
        CHECK_FALSE(added_up(0, true).over(number));
    }
    CHECK_FALSE(added_up().is_marked());
    CHECK(added_up(0, true).is_marked());
    CHECK(added_up(1, false).is_marked());
    CHECK((added_up(1, false) += added_up(0, true)).over_visits());
}

TEST_CASE("reducing a tally that was not added once per microbatch is an error, also without virtual stages") {
    single_rank alone;
    const tally_reduction sum_of_ranks(some_masks(), scopes::microbatch, parallel_layout({}, 1, 0), alone, exact);
    const auto told = [&](std::uint64_t ran, std::uint64_t bytes_held) {
        return error_of([&] { return sum_of_ranks.sum(tally_of({9}), alone, {.ran = ran, .added = bytes_held}); });
    };
    CHECK(told(3, 3) == "no error");
    CHECK(told(0, 0) == "no error");
    CHECK(told(0, 3) ==
          "count: was added 3 times for 0 microbatches, but its scope expects 1 additions for each (vpp is 1): "
          "correct the number of additions or the scope");
    CHECK(told(3, 0) ==
          "count: was added 0 times for 3 microbatches, but its scope expects 1 additions for each (vpp is 1): "
          "correct the number of additions or the scope");
}

TEST_CASE(
    "a ratio is reduced as two sums, extremes are reduced as minimum and maximum, and a rank may have no tokens") {
    // Slices of 4 cp ranks: their ratios are 1, 1/2, nothing and 0; a mean of them would be 1/2 or 3/8.
    const std::uint64_t hits[] = {2, 50, 0, 0};
    const std::uint64_t seen[] = {2, 100, 0, 8};
    const std::vector<std::vector<std::uint64_t>> values{{7, 9}, {3, 1'000'000'000'000}, {}, {5}};
    const parallel_sizes sizes{.cp = 4, .tp = 2};
    thread_world world;
    const auto ends = thread_world::run(8, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 8, rank);
        const auto over = world.over(here, every_axis);
        const std::uint64_t cp = here.coordinates().cp;
        const ratio whole = reduce(ratio(hits[cp], seen[cp]), scopes::context_slice, here, over);
        thread_world::expect(whole == ratio(52, 110), "52 of 110");
        thread_world::expect(whole.value() == 52.0 / 110, "the quotient");
        extremes mine;
        for (const std::uint64_t value : values[cp]) {
            mine.add(value);
        }
        thread_world::expect(reduce(mine, scopes::context_slice, here, over) == extremes(5, 3, 1'000'000'000'000),
                             "the ends");
        thread_world::expect(reduce(extremes(), scopes::context_slice, here, over).empty(), "no ends");
        for (const std::uint64_t end : {std::uint64_t{0}, ~std::uint64_t{0}}) {  // of one rank, beside empty ones
            const extremes only = cp == 0 ? extremes(1, end, end) : extremes();
            thread_world::expect(reduce(only, scopes::context_slice, here, over) == extremes(1, end, end), "one end");
        }
        thread_world::expect(reduce(ratio(), scopes::context_slice, here, over).empty(), "no ratio");
        // Over tp only, a part of the values is missing.
        const auto tp = world.over(here, parallel_axis::tp);
        thread_world::expect(
            error_of([&] { return reduce(mine, scopes::context_slice, here, tp); }) ==
                "extremes.count: is sharded over cp, but the sum is over tp and contains 1 of 4 parts: sum over cp too",
            "the error over tp");
    });
    CHECK(ends == no_error(8));

    CHECK(error_of([] { return ratio(1, 0); }) == "ratio: must have a denominator above 0 for the numerator 1, got 0");
    CHECK(error_of([] { return ratio().value(); }) ==
          "ratio: has no value, because its denominator is 0: check empty() first");
    CHECK(error_of([] { return extremes().min(); }) ==
          "extremes: have no value, because no rank added a value: check empty() first");
    CHECK(error_of([] { return extremes().max(); }) ==
          "extremes: have no value, because no rank added a value: check empty() first");
    CHECK(error_of([] { return extremes(2, 5, 4); }) == "extremes: the minimum must be at most the maximum, 4, got 5");
    CHECK(extremes(0, 5, 9) == extremes());
    ratio sum(1, 2);
    sum += ratio();
    sum += ratio(3, 5);
    CHECK(sum == ratio(4, 7));
    extremes ends_of_two(1, 4, 4);
    ends_of_two += extremes(2, 3, 9);
    ends_of_two += extremes();
    CHECK(ends_of_two == extremes(3, 3, 9));
}

TEST_CASE(
    "a tally is reduced by one SUM all-reduce, or scaled without an all-reduce if all ranks declare equal lengths") {
    const parallel_layout layout({.dp = 4, .cp = 2}, 8, 3);
    counting_reducer counted;
    tally_reduction reduction(some_masks(), scopes::microbatch, layout, counted, exact);
    CHECK(counted.maxima == 1);
    CHECK(counted.sums == 0);
    static_cast<void>(error_of([&] { return reduction.sum(tally_of({5}), counted); }));  // no rank but this one came
    CHECK(counted.maxima == 1);
    CHECK(counted.sums == 1);

    const tally equal = reduction.scaled(tally_of({700, 300}), floptally::equal_lengths);
    CHECK(equal == tally_of({700, 300, 700, 300, 700, 300, 700, 300}));
    static_assert(!scales_without_saying<tally_reduction>);

    // Mixed lengths: the shortcut of no rank is the sum, and where it is one rank's it is not the other's.
    const std::uint32_t lengths[] = {100, 500, 600, 3000};
    thread_world world;
    const auto ends = thread_world::run(4, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 4}, 4, rank);
        const auto over = world.over(here, parallel_axis::dp);
        const tally_reduction exactly(some_masks(), scopes::microbatch, here, over, exact);
        const tally mine = tally_of({lengths[rank]});
        thread_world::expect(exactly.sum(mine, over) == tally_of({100, 500, 600, 3000}), "the sum");
        thread_world::expect(!(exactly.scaled(mine, floptally::equal_lengths) == tally_of({100, 500, 600, 3000})),
                             "the shortcut is wrong");
    });
    CHECK(ends == no_error(4));

    single_rank alone;
    const parallel_layout first_stage({.dp = 2, .pp = 2}, 4, 0);
    const tally_reduction of_last(some_masks(), scopes::last_stage, first_stage, alone, exact);
    CHECK(error_of([&] { return of_last.scaled(tally_of({}), floptally::equal_lengths); }) ==
          "count: cannot be scaled on this rank, because other ranks hold it: call sum() instead");
    const tally_reduction on_last(some_masks(), scopes::last_stage, first_stage.at(3), alone, exact);
    CHECK(on_last.scaled(tally_of({9}), floptally::equal_lengths) == tally_of({9, 9}));
    const parallel_layout virtual_stages({.dp = 2, .pp = 2, .vpp = 3}, 4, 0);
    const tally_reduction each(some_masks(), scopes::microbatch.along_virtual_stages(placement::replicated),
                               virtual_stages, alone, exact);
    CHECK(each.scaled(tally_of({9, 9, 9}), floptally::equal_lengths, {.ran = 1, .added = 3}) == tally_of({9, 9}));
}

TEST_CASE("a microbatch counts once under any number of virtual stages, and adding it twice is an error") {
    for (std::uint64_t vpp = 1; vpp <= 4; ++vpp) {
        const parallel_sizes sizes{.dp = 2, .pp = 2, .vpp = vpp};
        const std::uint64_t microbatches = 3;
        // A schedule on one rank: each virtual stage visits each microbatch. `adds` says which visits add.
        const auto run = [&](const statistic_scope& scope, auto adds, bool told = true) {
            thread_world world;
            return thread_world::run(4, [&](std::uint64_t rank) {
                const parallel_layout here(sizes, 4, rank);
                const auto over = world.over(here, every_axis);
                microbatch_tally mine(some_masks());
                std::uint64_t ran = 0;
                for (std::uint64_t stage = 0; stage < vpp; ++stage) {
                    for (std::uint64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
                        ran += stage == 0 ? 1 : 0;
                        if (adds(stage)) {
                            mine.microbatch().add(
                                sequence{static_cast<std::uint32_t>(10 * here.coordinates().dp + microbatch + 1)});
                        }
                    }
                }
                const tally all =
                    reduce(mine.all(), scope, here, over, told ? mine.visits(ran) : microbatch_visits{}, exact);
                thread_world::expect(all == tally_of({1, 2, 3, 11, 12, 13}), "each microbatch once");
            });
        };
        const auto once = [](std::uint64_t stage) { return stage == 0; };
        const auto always = [](std::uint64_t) { return true; };
        const statistic_scope every = scopes::microbatch.along_virtual_stages(placement::replicated);
        const std::vector<std::string> fine = no_error(4);
        CHECK(run(scopes::microbatch, once) == fine);
        CHECK(run(every, always) == fine);
        if (vpp == 1) {
            CHECK(run(scopes::microbatch, once, false) == fine);
            continue;
        }
        const std::string v = std::to_string(vpp);
        CHECK(run(scopes::microbatch, always) ==
              std::vector<std::string>(
                  4, "count: was added " + std::to_string(3 * vpp) +
                         " times for 3 microbatches, but its scope expects 1 additions for each (vpp is " + v +
                         "): correct the number of additions or the scope"));
        CHECK(run(every, once) ==
              std::vector<std::string>(4, "count: was added 3 times for 3 microbatches, but its scope expects " + v +
                                              " additions for each (vpp is " + v +
                                              "): correct the number of additions or the scope"));
        CHECK(run(scopes::microbatch, always, false) ==
              std::vector<std::string>(4,
                                       "microbatches: is missing: pass visits with the numbers of microbatches and "
                                       "of additions to the tally; needed because vpp is " +
                                           v + " and every virtual stage runs each microbatch"));
    }
}

TEST_CASE("each pipeline stage adds the expert visits of its own layers, and lengths are added once") {
    const parallel_sizes sizes{.dp = 2, .tp = 2, .pp = 2, .vpp = 2};
    const tally_scope scope = tally_scope(scopes::microbatch).with(accumulator::routed, scopes::own_routers);
    thread_world world;
    const auto ends = thread_world::run(8, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 8, rank);
        const auto over = world.over(here, every_axis);
        tally mine = tally_of({40, 60});
        for (std::uint64_t stage = 0; stage < 2; ++stage) {
            // Two experts a token, and one dropped less each stage.
            mine.add_routed({.useful = 100 * 2 + stage * sizes.pp + here.coordinate(parallel_axis::pp), .padded = 256});
        }
        const tally all = reduce(mine, scope, here, over, {.ran = 1, .added = 1}, exact);
        thread_world::expect(all.get(view::useful, accumulator::tokens) == 200, "tokens");
        thread_world::expect(all.get(view::useful, accumulator::routed) == 2 * (4 * 200 + 0 + 1 + 2 + 3), "visits");
        thread_world::expect(all.get(view::padded, accumulator::routed) == 2 * 4 * 256, "padded visits");
    });
    CHECK(ends == no_error(8));
}

TEST_CASE("MFU divides the data-parallel total by the peak of all ranks") {
    const parallel_sizes sizes{.dp = 2, .tp = 2, .pp = 2};
    tally all{mistral().masks()};
    all.add_lengths(std::vector<std::uint32_t>{4096, 8192});
    const double peak = 989;
    const double seconds = 2;
    const double expected = static_cast<double>(mistral().total_flops(all).value()) / (seconds * 8 * peak * 1e12);
    thread_world world;
    const auto ends = thread_world::run(8, [&](std::uint64_t rank) {
        const parallel_layout here(sizes, 8, rank);
        const auto over = world.over(here, parallel_axis::dp);
        tally mine{mistral().masks()};
        mine.add(sequence{here.coordinates().dp == 0 ? 4096U : 8192U});
        const tally global = reduce(mine, scopes::microbatch.trusting_replicas(), here, over, exact);
        thread_world::expect(global == all, "the totals");
        const auto rates = floptally::utilize(mistral().evaluate(global), global,
                                              {.seconds = seconds, .gpus = here.world_size(), .peak_tflops = peak});
        thread_world::expect(rates.mfu == Approx(expected), "MFU");
    });
    CHECK(ends == no_error(8));
}

TEST_CASE("if one rank reduces other accumulators than the rest, every rank gets an error and no rank hangs") {
    const parallel_sizes sizes{.dp = 3};
    const auto run = [&](auto mine_of, auto scope_of, auto layout_of, auto how_of) {
        thread_world world;
        return thread_world::run(3, [&](std::uint64_t rank) {
            const auto over = world.over(parallel_layout(sizes, 3, rank), every_axis);
            static_cast<void>(reduce(mine_of(rank), scope_of(rank), layout_of(rank), over, {}, how_of(rank)));
        });
    };
    const auto tallies = [](std::uint64_t) { return tally_of({5}); };
    const auto one_scope = [](std::uint64_t) { return scopes::microbatch; };
    const auto layouts = [&](std::uint64_t rank) { return parallel_layout(sizes, 3, rank); };
    const auto exactly = [](std::uint64_t) { return exact; };
    const auto every = [](const char* text) { return std::vector<std::string>(3, text); };
    CHECK(run(tallies, one_scope, layouts, exactly) == every("no error"));
    for (std::uint64_t odd = 0; odd < 3; ++odd) {
        CHECK(run([&](std::uint64_t rank) { return rank == odd ? tally{} : tally_of({5}); }, one_scope, layouts,
                  exactly) ==
              every("masks: the ranks have different values, so nothing was added up: configure all ranks alike"));
        CHECK(run(
                  tallies, [&](std::uint64_t rank) { return rank == odd ? scopes::last_stage : scopes::microbatch; },
                  layouts, exactly) ==
              every("scope: the ranks have different values, so nothing was added up: configure all ranks alike"));
        CHECK(run(
                  tallies, one_scope,
                  [&](std::uint64_t rank) {
                      return rank == odd ? parallel_layout({.tp = 3}, 3, rank) : parallel_layout(sizes, 3, rank);
                  },
                  exactly) ==
              every("layout: the ranks have different values, so nothing was added up: configure all ranks alike"));
        CHECK(run(tallies, one_scope, layouts,
                  [&](std::uint64_t rank) { return rank == odd ? floptally::conventions::megatron : exact; }) ==
              every("convention: the ranks have different values, so nothing was added up: configure all ranks alike"));
        // Another function for HSTU's pairs under the same name.
        CHECK(run(tallies, one_scope, layouts,
                  [&](std::uint64_t rank) {
                      floptally::convention how = exact;
                      how.pairs = rank == odd ? floptally::recsys_examples::count_pairs : how.pairs;
                      return how;
                  }) ==
              every("convention: the ranks have different values, so nothing was added up: configure all ranks alike"));
    }
    // Two ranks that both believe to be rank 1.
    CHECK(run(
              tallies, one_scope, [&](std::uint64_t rank) { return parallel_layout(sizes, 3, rank == 0 ? 1 : rank); },
              exactly) == every("sum: covers 3 ranks, which are no group of this layout (dp 3, cp 1, tp 1, pp 1): pass "
                                "a reducer over whole axes"));
    // Same sizes, another order of ranks.
    thread_world world;
    const auto ends = thread_world::run(4, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 2, .tp = 2}, 4, rank, rank == 3 ? "dp-tp-cp-pp" : "tp-cp-dp-pp");
        const auto over = world.over(parallel_layout({.dp = 4}, 4, rank), every_axis);
        static_cast<void>(reduce(tally_of({5}), scopes::microbatch, here, over, exact));
    });
    CHECK(ends ==
          std::vector<std::string>(
              4, "layout: the ranks have different values, so nothing was added up: configure all ranks alike"));
}

TEST_CASE("a rank with an error throws its own error, and other ranks report that a rank failed") {
    thread_world world;
    const auto ends = thread_world::run(3, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 3}, 3, rank);
        const auto over = world.over(here, every_axis);
        const tally_reduction reduction(some_masks(), scopes::microbatch, here, over, exact);
        static_cast<void>(reduction.sum(rank == 2 ? tally{} : tally_of({5}), over));
    });
    CHECK(
        ends ==
        std::vector<std::string>{
            "sum: rank 2 failed: look at the error of that rank", "sum: rank 2 failed: look at the error of that rank",
            "masks: must equal the masks of the reduction: make the tally with the masks() of the reduction's model"});
}

TEST_CASE("a rank out of memory throws, and other ranks report the failure and do not hang") {
    thread_world world;
    const std::vector<std::string> ends = thread_world::run(3, [&](std::uint64_t rank) {
        const parallel_layout here({.dp = 3}, 3, rank);
        const auto over = world.over(here, every_axis);
        const tally_reduction reduction(some_masks(), scopes::microbatch, here, over, exact);
        static_cast<void>(reduction.by(over).sum([rank] {
            if (rank == 1) {
                throw std::bad_alloc();
            }
            return tally_of({5});
        }));
    });
    CHECK(ends == std::vector<std::string>{"sum: rank 1 failed: look at the error of that rank",
                                           std::bad_alloc().what(),
                                           "sum: rank 1 failed: look at the error of that rank"});
}

TEST_CASE("a reduction over a single rank needs no communication") {
    single_rank alone;
    const parallel_layout layout({}, 1, 0);
    const tally mine = tally_of({5, 6, 200});
    CHECK(reduce(mine, scopes::microbatch, layout, alone, exact) == mine);
    CHECK(reduce(ratio(1, 4), scopes::microbatch, layout, alone) == ratio(1, 4));
    CHECK(reduce(extremes(2, 1, 4), scopes::microbatch, layout, alone) == extremes(2, 1, 4));
}

TEST_CASE("a reduced tally records the reduced axes that have several ranks") {
    const parallel_layout layout({.dp = 2, .cp = 2}, 4, 0);
    const auto mark = floptally::detail::added_up_over(parallel_axis::dp | parallel_axis::tp, layout);
    for (const parallel_axis axis : floptally::dense_axes) {
        CHECK(mark.over(static_cast<std::uint32_t>(axis)) == (axis == parallel_axis::dp));
    }
}

TEST_CASE("the hash of a list of texts depends on where each text ends") {
    using floptally::detail::schema_hash;
    CHECK((schema_hash() << "ab"
                         << "c")
              .value() != (schema_hash() << "a"
                                         << "bc")
                              .value());
    CHECK((schema_hash() << "ab"
                         << "")
              .value() != (schema_hash() << ""
                                         << "ab")
                              .value());
    CHECK((schema_hash() << "ab").value() == (schema_hash() << "ab").value());
}

TEST_CASE("a tally tells which accumulators of the useful and the padded view sum over text tokens") {
    using floptally::modality;
    mask_set masks{mask::sliding_window(4), mask::sliding_window(4).in(modality::vision)};
    masks.find_or_add(floptally::measured("loss_tokens"), "masks");
    const tally batch{masks};
    const std::size_t stride = batch.accumulators().size() / 2;
    REQUIRE(stride == 3 * tally::fixed_accumulators + 3);
    for (std::size_t i = 0; i < 2 * stride; ++i) {
        const std::size_t at = i % stride;
        const bool of_text = at < tally::fixed_accumulators && static_cast<accumulator>(at) != accumulator::routed;
        CHECK(floptally::detail::is_sum_over_text(batch, i) == (of_text || at == stride - 3));
    }
}

}  // namespace reduction_test
