// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/parallel/parallel_layout.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"

namespace parallel_layout_test {
namespace {

using floptally::axis_set;
using floptally::megatron_order;
using floptally::parallel_axis;
using floptally::parallel_layout;
using floptally::parallel_sizes;
using ranks = std::vector<std::uint64_t>;

ranks group_of(const parallel_layout& layout, axis_set axes) {
    ranks all = members(layout.group(axes));
    CHECK(all.size() == layout.size(axes));
    return all;
}

constexpr parallel_layout constant({.dp = 2, .cp = 2, .tp = 2, .pp = 2}, 16, 5);
static_assert(constant.coordinates() == floptally::parallel_coordinates{.dp = 1, .cp = 0, .tp = 1, .pp = 0});
static_assert(constant.group(parallel_axis::tp)[0] == 4);

}  // namespace

TEST_CASE("groups of ranks equal Megatron-Core's documentation for 16 GPUs") {
    // parallel_state.py, initialize_model_parallel: 16 GPUs, tensor 2, pipeline 4, so that data is 2.
    const parallel_layout first({.dp = 2, .tp = 2, .pp = 4}, 16, 0);
    CHECK(group_of(first, parallel_axis::dp) == ranks{0, 2});
    CHECK(group_of(first.at(13), parallel_axis::dp) == ranks{13, 15});
    CHECK(group_of(first.at(7), parallel_axis::tp) == ranks{6, 7});
    CHECK(group_of(first, parallel_axis::pp) == ranks{0, 4, 8, 12});
    CHECK(group_of(first.at(3), parallel_axis::pp) == ranks{3, 7, 11, 15});
    CHECK(group_of(first.at(3), parallel_axis::tp | parallel_axis::pp) == ranks{2, 3, 6, 7, 10, 11, 14, 15});
}

TEST_CASE("rank coordinates count up like digits in every axis order up to 24 ranks") {
    for (const std::string order : {"tp-cp-ep-dp-pp", "tp-cp-pp-dp", "pp-dp-cp-tp", "cp-tp-pp-dp", "tp-pp-dp"}) {
        for (const parallel_sizes& s : layouts_up_to(24)) {
            if (order == "tp-pp-dp" && s.cp > 1) {
                continue;
            }
            std::vector<std::uint64_t> wheel(4, 0);  // of the axes as the order names them
            std::vector<std::string> names;
            for (std::size_t at = 0; at < order.size(); at += 3) {
                if (order.substr(at, 2) != "ep") {
                    names.push_back(order.substr(at, 2));
                }
            }
            if (names.size() == 3) {
                names.emplace_back("cp");  // of one rank
            }
            const auto size_of = [&s](const std::string& name) {
                return name == "dp" ? s.dp : name == "cp" ? s.cp : name == "tp" ? s.tp : s.pp;
            };
            const parallel_layout layout(s, world_of(s), 0, order);
            for (std::uint64_t rank = 0; rank < world_of(s); ++rank) {
                const auto where = layout.at(rank).coordinates();
                for (std::size_t i = 0; i < 4; ++i) {
                    CHECK(wheel[i] == (names[i] == "dp"   ? where.dp
                                       : names[i] == "cp" ? where.cp
                                       : names[i] == "tp" ? where.tp
                                                          : where.pp));
                }
                CHECK(layout.rank_of(where) == rank);
                for (std::size_t i = 0; i < 4 && ++wheel[i] == size_of(names[i]); ++i) {
                    wheel[i] = 0;
                }
            }
        }
    }
}

TEST_CASE("groups of ranks over any axes partition the world, and each member computes the same group") {
    const parallel_axis dense[] = {parallel_axis::tp, parallel_axis::cp, parallel_axis::dp, parallel_axis::pp};
    const parallel_axis experts[] = {parallel_axis::tp, parallel_axis::ep, parallel_axis::expert_dp, parallel_axis::pp};
    for (parallel_sizes s : layouts_up_to(16)) {
        for (const bool of_experts : {false, true}) {
            s.ep = of_experts && s.dp * s.cp % 2 == 0 ? 2 : 1;
            for (unsigned bits = 0; bits < 16; ++bits) {
                axis_set axes;
                for (unsigned i = 0; i < 4; ++i) {
                    axes = (bits >> i & 1U) != 0 ? axes | (of_experts ? experts[i] : dense[i]) : axes;
                }
                const parallel_layout layout(s, world_of(s), 0);
                std::set<ranks> groups;
                std::size_t members = 0;
                for (std::uint64_t rank = 0; rank < world_of(s); ++rank) {
                    const ranks group = group_of(layout.at(rank), axes);
                    CHECK(std::set<std::uint64_t>(group.begin(), group.end()).count(rank) == 1);
                    CHECK(std::is_sorted(group.begin(), group.end()));
                    members += groups.insert(group).second ? group.size() : 0;
                }
                CHECK(members == world_of(s));
            }
        }
    }
}

TEST_CASE("expert-parallel groups divide the dp x cp ranks and do not add ranks") {
    // dp x cp = 4 ranks of one tp coordinate, two by two.
    const parallel_layout layout({.dp = 2, .cp = 2, .tp = 2, .pp = 2, .ep = 2}, 16, 0);
    CHECK(layout.world_size() == 16);
    CHECK(layout.size(parallel_axis::expert_dp) == 2);
    CHECK(group_of(layout, parallel_axis::ep) == ranks{0, 2});
    CHECK(group_of(layout, parallel_axis::expert_dp) == ranks{0, 4});
    CHECK(group_of(layout.at(7), parallel_axis::ep) == ranks{5, 7});
    CHECK(group_of(layout, parallel_axis::ep | parallel_axis::expert_dp) ==
          group_of(layout, parallel_axis::dp | parallel_axis::cp));
    // ep written after dp: neighbours along ep are further apart.
    const parallel_layout late({.dp = 4, .ep = 2}, 4, 0, "tp-cp-dp-ep-pp");
    CHECK(group_of(late, parallel_axis::ep) == ranks{0, 2});
    CHECK(group_of(parallel_layout({.dp = 4, .ep = 2}, 4, 0), parallel_axis::ep) == ranks{0, 1});
    // Not written at all: before dp.
    const parallel_layout unnamed({.dp = 4, .cp = 2, .ep = 2}, 8, 0, "tp-cp-dp-pp");
    CHECK(group_of(unnamed, parallel_axis::ep) == ranks{0, 1});
    CHECK(group_of(unnamed, parallel_axis::expert_dp) == ranks{0, 2, 4, 6});
    CHECK(
        error_of([&] { return layout.group(parallel_axis::ep | parallel_axis::dp); }) ==
        "axes: must be of dense layers (dp, dp_replicate, cp, tp, pp) or of experts (ep, expert_dp, etp, pp), got dp x "
        "ep: pass axes of one kind");
}

TEST_CASE("an axis order that gives experts other pipeline groups than dense layers is an error") {
    // Ranks of an odometer share a group along an axis where all their other coordinates are equal.
    const auto groups = [](const std::vector<std::string>& names, const std::map<std::string, std::uint64_t>& sizes,
                           std::uint64_t world, const std::string& axis) {
        std::vector<ranks> others(world);
        for (std::uint64_t rank = 0; rank < world; ++rank) {
            std::uint64_t left = rank;
            for (const std::string& name : names) {
                others[rank].push_back(name == axis ? 0 : left % sizes.at(name));
                left /= sizes.at(name);
            }
        }
        std::set<ranks> found;
        for (std::uint64_t rank = 0; rank < world; ++rank) {
            ranks group;
            for (std::uint64_t other = 0; other < world; ++other) {
                if (others[other] == others[rank]) {
                    group.push_back(other);
                }
            }
            found.insert(group);
        }
        return found;
    };
    std::vector<std::string> axes{"cp", "dp", "ep", "pp", "tp"};
    std::size_t refused = 0;
    std::size_t taken = 0;
    do {
        for (unsigned bits = 0; bits < 16; ++bits) {
            const auto size = [bits](unsigned i) { return (bits >> i & 1U) != 0 ? 2U : 1U; };
            const parallel_sizes s{.dp = size(0) * 2, .cp = size(1), .tp = size(2), .pp = size(3), .ep = 2};
            std::vector<std::string> dense;
            std::vector<std::string> of_experts;
            std::string order;
            for (const std::string& axis : axes) {
                order += (order.empty() ? "" : "-") + axis;
                if (axis != "ep") {
                    dense.push_back(axis);
                }
                if (axis != "cp") {
                    of_experts.push_back(axis);
                }
            }
            const std::map<std::string, std::uint64_t> of_dense{{"dp", s.dp}, {"cp", s.cp}, {"tp", s.tp}, {"pp", s.pp}};
            const std::map<std::string, std::uint64_t> expert_sizes{
                {"dp", s.dp * s.cp / s.ep}, {"ep", s.ep}, {"tp", s.tp}, {"pp", s.pp}};
            const bool alike =
                groups(dense, of_dense, world_of(s), "pp") == groups(of_experts, expert_sizes, world_of(s), "pp");
            const std::string error = error_of([&] { return parallel_layout(s, world_of(s), 0, order); });
            INFO(order << ": dp " << s.dp << " cp " << s.cp << " tp " << s.tp << " pp " << s.pp);
            CHECK(error.substr(0, 14) == (alike ? "no error" : "order: order a"));
            if (alike) {  // the experts' groups are the odometer's too
                for (const auto& [name, axis] :
                     {std::pair{"tp", parallel_axis::etp}, std::pair{"ep", parallel_axis::ep},
                      std::pair{"dp", parallel_axis::expert_dp}}) {
                    std::set<ranks> found;
                    for (std::uint64_t rank = 0; rank < world_of(s); ++rank) {
                        found.insert(group_of(parallel_layout(s, world_of(s), rank, order), axis));
                    }
                    CHECK(found == groups(of_experts, expert_sizes, world_of(s), name));
                }
            }
            ++(alike ? taken : refused);
        }
    } while (std::next_permutation(axes.begin(), axes.end()));
    CHECK(taken + refused == 120 * 16);
    CHECK(refused > 50);
}

TEST_CASE("an impossible parallel layout is an error that names the axis") {
    const auto error_for = [](const parallel_sizes& sizes, std::uint64_t world, std::uint64_t rank = 0,
                              std::string_view order = megatron_order) {
        return error_of([&] { return parallel_layout(sizes, world, rank, order); });
    };
    CHECK(error_for({.dp = 0}, 1) == "dp: must be at least 1, got 0");
    CHECK(error_for({.cp = 0}, 1) == "cp: must be at least 1, got 0");
    CHECK(error_for({.tp = 0}, 1) == "tp: must be at least 1, got 0");
    CHECK(error_for({.pp = 0}, 1) == "pp: must be at least 1, got 0");
    CHECK(error_for({.vpp = 0}, 1) == "vpp: must be at least 1, got 0");
    CHECK(error_for({.ep = 0}, 1) == "ep: must be at least 1, got 0");
    CHECK(error_for({.dp = 2, .tp = 4}, 16) == "world_size: must be dp x cp x tp x pp = 8, got 16 ranks");
    CHECK(error_for({.dp = 1ULL << 33U, .tp = 1ULL << 33U}, 16) ==
          "world_size: 8589934592 x 8589934592 does not fit 64 bits: use smaller numbers");
    CHECK(error_for({.dp = 6, .tp = 4, .ep = 4}, 24) ==
          "ep: ep x etp must divide dp x cp x tp = 24, got 4 x 4: pass etp 1 if experts are not split, since etp is tp "
          "by default");
    CHECK(error_for({.dp = 6, .tp = 4, .ep = 5, .etp = 1}, 24) ==
          "ep: ep x etp must divide dp x cp x tp = 24, got 5 x 1");
    CHECK(error_for({.dp = 6, .dp_replicate = 4}, 6) == "dp_replicate: must divide dp, 6, got 4");
    CHECK(error_for({.dp = 6, .dp_replicate = 0}, 6) == "dp_replicate: must be at least 1, got 0");
    CHECK(error_for({.dp = 4, .ep = 4, .dp_replicate = 2}, 4) ==
          "dp_replicate: must divide the 1 data-parallel ranks of each expert (dp x cp x tp / ep / etp), got 2");
    CHECK(error_for({.dp = 2}, 2, 2) == "rank: must be below the world size, 2, got 2");
    CHECK(error_of([] { return constant.at(16); }) == "rank: must be below the world size, 16, got 16");
    CHECK(error_of([] { return constant.rank_of({.cp = 2}); }) ==
          "cp: the coordinate must be below the size of the axis, 2, got 2");
    CHECK(error_for({.pp = 2}, 2, 0, "tp-cp-dp") == "order: pp has 2 ranks, so it must be named in \"tp-cp-dp\"");
    CHECK(error_for({}, 1, 0, "expert_dp-dp") ==
          "order: unknown axis \"expert_dp\", must be tp, cp, dp, pp or ep, in \"expert_dp-dp\"");
    CHECK(error_for({}, 1, 0, "tp-cp-dp-pp-") ==
          "order: unknown axis \"\", must be tp, cp, dp, pp or ep, in \"tp-cp-dp-pp-\"");
    CHECK(error_for({}, 1, 0, "tp-cp-tp-dp-pp") == "order: tp must be named once in \"tp-cp-tp-dp-pp\"");
    CHECK(error_for({}, 1, 0, "tp-cp-usp-dp-pp") ==
          "order: unknown axis \"usp\", must be tp, cp, dp, pp or ep, in \"tp-cp-usp-dp-pp\"");
    const std::string apart =
        "order: order and expert_order must give the same pp groups: name pp last in both, or in both after axes with "
        "the same number of ranks";
    CHECK(error_for({.dp = 2, .cp = 2, .pp = 2, .ep = 2}, 8, 0, "tp-cp-pp-dp") == apart);
    CHECK(error_of([] {
              return parallel_layout({.dp = 2, .cp = 2, .pp = 2}, 8, 0, "tp-cp-pp-dp").group(parallel_axis::expert_dp);
          }) == apart);
}

TEST_CASE(
    "the ranks of a pipeline stage are divided for experts by the experts' own axis order and tensor-parallel size") {
    // AReaL's measured run: attention by tp 2 and cp 4, eight whole experts on the same eight ranks.
    const parallel_layout areal({.cp = 4, .tp = 2, .ep = 8, .etp = 1}, 8, 3);
    CHECK(group_of(areal, parallel_axis::tp) == ranks{2, 3});
    CHECK(group_of(areal, parallel_axis::cp) == ranks{1, 3, 5, 7});
    CHECK(group_of(areal, parallel_axis::ep) == ranks{0, 1, 2, 3, 4, 5, 6, 7});
    CHECK(group_of(areal, parallel_axis::etp) == ranks{3});
    CHECK(areal.size(parallel_axis::expert_dp) == 1);
    CHECK(areal.order() == "tp-cp-dp-pp");
    CHECK(areal.expert_order() == "etp-ep-expert_dp-pp");
    // Wider experts than attention.
    const parallel_layout wide({.dp = 4, .tp = 1, .pp = 2, .ep = 2, .etp = 2}, 8, 5);
    CHECK(group_of(wide, parallel_axis::etp) == ranks{4, 5});
    CHECK(group_of(wide, parallel_axis::ep) == ranks{5, 7});
    // An order of the experts' own: ep fastest, as a mesh (pp, expert_dp, etp, ep) has it.
    const parallel_layout own({.dp = 4, .tp = 2, .ep = 2}, 8, 0, megatron_order, "ep-etp-expert_dp-pp");
    CHECK(group_of(own, parallel_axis::ep) == ranks{0, 1});
    CHECK(group_of(own, parallel_axis::etp) == ranks{0, 2});
    CHECK(group_of(own, parallel_axis::tp) == ranks{0, 1});
    CHECK(own.expert_order() == "ep-etp-expert_dp-pp");
    CHECK(own == parallel_layout({.dp = 4, .tp = 2, .ep = 2, .etp = 2}, 8, 0, megatron_order, "ep-tp-dp-pp"));
    CHECK(error_of([&] { return own.group(parallel_axis::tp | parallel_axis::ep); }).substr(0, 28) ==
          "axes: must be of dense layer");
    CHECK(error_of([] { return parallel_layout({.dp = 2}, 2, 0, megatron_order, "ep-cp"); }) ==
          "expert_order: unknown axis \"cp\", must be etp, ep, expert_dp or pp, in \"ep-cp\"");
    CHECK(error_of([] { return parallel_layout({.dp = 2}, 2, 0, megatron_order, "ep-etp-ep"); }) ==
          "expert_order: ep must be named once in \"ep-etp-ep\"");
    CHECK(error_of([] { return parallel_layout({.dp = 2}, 2, 0, megatron_order, "ep-etp"); }) ==
          "expert_order: expert_dp has 2 ranks, so it must be named in \"ep-etp\"");
}

TEST_CASE("replicas of sharded states are the slowest-varying part of the data-parallel axis") {
    const parallel_layout layout({.dp = 4, .cp = 2, .tp = 2, .ep = 2, .dp_replicate = 2}, 16, 5);
    CHECK(members(layout.sharding_group(false)) == ranks{1, 3, 5, 7});
    CHECK(members(layout.replica_group(false)) == ranks{5, 13});
    CHECK(group_of(layout, parallel_axis::dp_replicate) == ranks{5, 13});
    CHECK(group_of(layout, parallel_axis::dp_replicate | parallel_axis::cp) == ranks{5, 7, 13, 15});
    CHECK(members(layout.sharding_group(true)) == ranks{1, 5});
    CHECK(members(layout.replica_group(true)) == ranks{5, 13});
    CHECK(error_of([&] { return layout.group(parallel_axis::dp | parallel_axis::dp_replicate); }) ==
          "axes: dp contains the ranks of dp_replicate: leave dp_replicate out");
}

}  // namespace parallel_layout_test
