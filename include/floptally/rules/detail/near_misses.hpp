// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

#include <floptally/rules/length_block.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Members of a user's struct that were meant as those of a rule, but that no rule reads: not const, of another
/// signature, or misspelt. Each is a compile error, since a rule read without them would silently count another way.

namespace floptally::detail {

class seen_keys;

/// The names of the optional members of a rule, and after them names that they are mistaken for. A struct that derives
/// from this and from a rule finds a name ambiguous where the rule has it too.
struct optional_names {
    int parameters, shape, moments, canonical, equal, frames_are_sequences, of_frame, problem_of, over, add_keys;
    int is_of_other_side, reads_other_side;
    int parameter, params, shapes, get_shape, pair_shape, moment, canon, canonic, frame_is_sequence,
        frames_as_sequences;
    int of_frames, problems_of, add_key, adds_keys, is_other_side, of_other_side, read_other_side, overs;
};
/// A rule beside these names.
template <class Rule>
struct beside_names : Rule, optional_names {};

/// The members that a rule has, by their names: true for each that is there, whatever it is.
template <class Rule>
struct member_names {
    using both = beside_names<Rule>;
    static constexpr bool parameters = !requires { &both::parameters; };
    static constexpr bool shape = !requires { &both::shape; };
    static constexpr bool moments = !requires { &both::moments; };
    static constexpr bool canonical = !requires { &both::canonical; };
    static constexpr bool equal = !requires { &both::equal; };
    static constexpr bool frames_are_sequences = !requires { &both::frames_are_sequences; };
    static constexpr bool of_frame = !requires { &both::of_frame; };
    static constexpr bool problem_of = !requires { &both::problem_of; };
    static constexpr bool over = !requires { &both::over; };
    static constexpr bool add_keys = !requires { &both::add_keys; };
    static constexpr bool is_of_other_side = !requires { &both::is_of_other_side; };
    static constexpr bool reads_other_side = !requires { &both::reads_other_side; };

    /// True where it has a name that is nearly one of these.
    static constexpr bool misspelt = !requires { &both::parameter; }
    || !requires { &both::params; }
    || !requires { &both::shapes; }
    || !requires { &both::get_shape; }
    || !requires { &both::pair_shape; }
    || !requires { &both::moment; }
    || !requires { &both::canon; }
    || !requires { &both::canonic; }
    || !requires { &both::frame_is_sequence; }
    || !requires { &both::frames_as_sequences; }
    || !requires { &both::of_frames; }
    || !requires { &both::problems_of; }
    || !requires { &both::overs; }
    || !requires { &both::add_key; }
    || !requires { &both::adds_keys; }
    || !requires { &both::is_other_side; }
    || !requires { &both::of_other_side; }
    || !requires { &both::read_other_side; };
};

/// A rule that has a call for that sample, but not one that a rule can use.
template <class Rule, class Sample>
concept misses_call = called_with<Rule, Sample> && !counts<Rule, Sample>;

/// Fails to compile with what to mend in a rule that has such a member.
template <class Rule>
constexpr void refuse_near_misses() {
    using has = member_names<Rule>;
    static_assert(!misses_call<Rule, sequence> && !misses_call<Rule, grid> && !misses_call<Rule, audio_clip>,
                  "this rule has a call that none reads: each operator() must be const and return an unsigned integer");
    static_assert(!has::parameters || names_parameters<Rule>,
                  "this rule has `parameters` that none reads: static constexpr rule_parameter parameters[]");
    static_assert(
        !has::shape ||
            requires(const Rule& made) {
                { made.shape() } -> std::same_as<pair_shape>;
            },
        "this rule has a `shape` that none reads: constexpr pair_shape shape() const");
    static_assert(
        !has::moments ||
            requires(const Rule& made) {
                { made.moments() } -> std::same_as<moment_form>;
            },
        "this rule has `moments` that none reads: constexpr moment_form moments() const");
    static_assert(
        !has::canonical || requires(const Rule& made) { made.canonical(); },
        "this rule has a `canonical` that none reads: constexpr … canonical() const, which returns a rule");
    static_assert(
        !has::equal || requires(const Rule& made) { made.equal().exists; },
        "this rule has an `equal` that none reads: constexpr equal_rule<…> equal() const");
    static_assert(
        !has::frames_are_sequences ||
            requires {
                { Rule::frames_are_sequences } -> std::convertible_to<bool>;
            },
        "this rule has `frames_are_sequences` that none reads: static constexpr bool frames_are_sequences");
    static_assert(!has::of_frame || counts_frame<Rule>,
                  "this rule has an `of_frame` that none reads: constexpr std::uint64_t of_frame(const grid&) const");
    static_assert(
        !has::problem_of ||
            requires(const Rule& made, const grid& g) {
                { made.problem_of(g) } -> std::same_as<grid_problem>;
            },
        "this rule has a `problem_of` that none reads: constexpr grid_problem problem_of(const grid&) const");
    static_assert(
        !has::over || requires(const Rule& made, const length_block<std::int16_t>& block) { made.over(block); } ||
            requires(const Rule& made, const length_block<std::int32_t>& block) { made.over(block); },
        "this rule has an `over` that none reads: template <class Block> std::uint64_t over(const Block&) const");
    static_assert(
        !has::add_keys || requires(const Rule& made, const sequence& s,
                                   seen_keys& keys) { made.add_keys(s, std::uint64_t{0}, std::uint64_t{1}, keys); },
        "this rule has an `add_keys` that none reads: constexpr void add_keys(const sequence&, std::uint64_t first, "
        "std::uint64_t end, auto& keys) const");
    static_assert(
        !has::is_of_other_side ||
            requires {
                { Rule::is_of_other_side } -> std::convertible_to<bool>;
            },
        "this rule has `is_of_other_side` that none reads: static constexpr bool is_of_other_side");
    static_assert(
        !has::reads_other_side ||
            requires {
                { Rule::reads_other_side } -> std::convertible_to<bool>;
            },
        "this rule has `reads_other_side` that none reads: static constexpr bool reads_other_side");
    static_assert(
        !has::misspelt,
        "this rule has a member whose name is nearly that of one that a rule may have, and that none reads: "
        "parameters, shape, moments, canonical, equal, frames_are_sequences, of_frame, problem_of, over, add_keys, "
        "is_of_other_side, reads_other_side");
}

}  // namespace floptally::detail
