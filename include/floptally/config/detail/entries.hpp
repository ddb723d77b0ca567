// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/config/detail/part_call.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/spec_language/lexer.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>

/// @file
/// Functions for the lines of a spec that add one entry to a cost: `linear`, `core`, `scores`, `state` and parameters.
/// Such a line gives the sizes of the entry and the values that the entry reads and writes.

namespace floptally::inline v0_3::detail::specs {

/// The two names in `as COMPONENT WEIGHT`: `as attention.qkv q_a_proj`.
struct entry_name {
    std::string_view component;
    std::string_view weight;
};
[[nodiscard]] inline entry_name name_of(const part_call& p, std::string_view otherwise) {
    lexer from(p.where.name, p.words("as"), p.line.line);
    const std::string_view component = from.word(true);
    return {component.empty() ? otherwise : component, from.word(true)};
}

/// Returns the sharding that an argument such as `split heads 32` declares. The sharding says how tensor and expert
/// parallelism split the entry, and how many heads or experts there are. Returns `otherwise` if the line has no
/// `split`.
[[gnu::cold]] inline tensor_sharding split_of(const part_call& p, const tensor_sharding& otherwise = {}) {
    struct known_kind {
        std::string_view name;
        sharding_kind kind;
        bool has_units;  ///< true if the number of heads or experts follows the name: `split heads 32`
    };
    constexpr known_kind kinds[] = {
        {"columns", sharding_kind::columns, false},  {"rows", sharding_kind::rows, false},
        {"heads", sharding_kind::heads, true},       {"kv_heads", sharding_kind::kv_heads, true},
        {"experts", sharding_kind::experts, true},   {"vocabulary", sharding_kind::vocabulary, false},
        {"even", sharding_kind::even, false},        {"replicated", sharding_kind::replicated, false},
        {"repeated", sharding_kind::repeated, false}};
    const value* const config_value = p.worth("sharding");
    const std::string_view name = config_value != nullptr ? config_value->text : p.words("split");
    for (const known_kind& known : kinds) {
        if (name != known.name) {
            continue;
        }
        const bool counts = config_value == nullptr && p.find("split")->type != value::kind::flag;
        if (counts != known.has_units) {
            p.fail({"split ", name,
                    counts ? " takes no number: remove it" : " needs the number of heads or experts after it"});
        }
        const std::uint64_t units = counts ? p.number("split") : 0;
        if (counts && units == 0) {
            p.fail({"the number after split ", name, " must be at least 1, got 0"});
        }
        return {known.kind, units, known.kind == sharding_kind::experts ? p.required("inner") : 0};
    }
    if (!name.empty()) {
        p.fail({"unknown split \"", name,
                "\"; known: columns, rows, heads, kv_heads, experts, vocabulary, even, replicated, repeated"});
    }
    return otherwise;
}

inline constexpr part_argument linear_arguments[] = {{"in", "in_features number"},
                                                     {"out", "out_features number"},
                                                     {"applied"},
                                                     {"stored"},
                                                     {"padded_out"},
                                                     {"per_sequence"},
                                                     {"of_keys"},
                                                     {"router"},
                                                     {"input"},
                                                     {"head"},
                                                     {"scan"},
                                                     {"units"},
                                                     {"no_lora"},
                                                     {"groups"},
                                                     {"as"},
                                                     {"from"},
                                                     {"to"},
                                                     {"split"},
                                                     {"inner"},
                                                     {"sharding"}};
/// Returns the cost of a matrix, from a line `linear in A, out B, as COMPONENT WEIGHT, from x, to q …`.
[[gnu::cold]] inline cost linear_of(const part_call& p) {
    const entry_name name = name_of(p, "linear");
    linear matrix{.in_features = p.required("in"),
                  .out_features = p.required("out"),
                  .applied = p.number("applied", 1),
                  .stored = p.number("stored"),
                  .padded_out_features = p.number("padded_out"),
                  .rows = p.on("per_sequence") ? accumulator::count
                          : p.on("of_keys")    ? accumulator::keys
                                               : accumulator::tokens,
                  .kind = p.on("router")  ? term::router
                          : p.on("input") ? term::input_linear
                          : p.on("head")  ? term::lm_head
                          : p.on("scan")  ? term::scan_convolution
                                          : term::linear,
                  .weight = name.weight,
                  .reads = p.values(p.words("from"), false),
                  .writes = p.values(p.words("to"), true),
                  .adaptable = !p.on("no_lora"),
                  .groups = static_cast<std::uint32_t>(p.number("groups", 1)),
                  .sharding = split_of(p)};
    if (p.number("groups", 1) == 0) {
        p.fail({"groups must be at least 1, got 0"});
    }
    cost sum;
    if (p.on("units")) {
        sum.add(name.component, matrix, p.attends("units", {}));
    } else {
        sum.add(name.component, matrix);
    }
    return sum;
}

/// Up to three sets of values, from an argument such as `from q k v`. `q+gate` is one set of two values.
struct value_sets {
    floptally::value::set first = 0;
    floptally::value::set second = 0;
    floptally::value::set third = 0;
};
[[gnu::cold]] inline value_sets read_by(const part_call& p) {
    lexer from(p.where.name, p.words("from"), p.line.line);
    value_sets sets;
    for (floptally::value::set* set : {&sets.first, &sets.second, &sets.third}) {
        if (from.at_end()) {
            break;
        }
        do {
            *set = static_cast<floptally::value::set>(*set | p.values(from.expect_name("a value"), false));
        } while (from.take("+"));
    }
    return sets;
}

inline constexpr part_argument core_arguments[] = {{"heads"},        {"dim"}, {"v_dim"}, {"pairs"},
                                                   {"per_sequence"}, {"as"},  {"from"},  {"to"}};
/// Returns the cost of an attention core, from a line `core heads H, dim D, from q k v, to out`: the products QKᵀ and
/// PV. With `pairs n` instead of a mask there are n pairs of query and key for each token, or for each sequence.
[[gnu::cold]] inline cost core_of(const part_call& p) {
    const value_sets sets = read_by(p);
    const std::uint64_t dim = p.required("dim");
    const attention_core core{.num_heads = p.required("heads"),
                              .qk_head_dim = dim,
                              .v_head_dim = p.number("v_dim", dim),
                              .q = sets.first,
                              .k = sets.second,
                              .v = sets.third,
                              .writes = p.values(p.words("to"), true)};
    cost sum;
    const std::string_view component = name_of(p, "attention.core").component;
    if (p.find("pairs") != nullptr) {
        sum.add(component, core, p.on("per_sequence") ? accumulator::count : accumulator::tokens, p.required("pairs"));
    } else {
        sum.add(component, core, p.place().attends);
    }
    return sum;
}

inline constexpr part_argument scores_arguments[] = {{"per"}, {"values"}, {"as"}, {"from"}, {"to"}, {"split"}};
/// Returns the cost of a line `scores`: attention scores that select keys, that is QKᵀ without PV. With the argument
/// `values` the line is a product of scores with values, without softmax.
[[gnu::cold]] inline cost scores_of(const part_call& p) {
    const value_sets sets = read_by(p);
    const entry_name name = name_of(p, "attention.core");
    const std::uint64_t per_pair = p.required("per");
    const dataflow flow{.reads = sets.first,
                        .also_reads = sets.second,
                        .fused_with = sets.third,
                        .writes = p.values(p.words("to"), true)};
    cost sum;
    sum.add_pairs(name.component, p.on("values") ? term::values : term::scores, per_pair, p.place().attends, flow,
                  split_of(p));
    return sum;
}

inline constexpr part_argument state_arguments[] = {{"per", "multiply_adds number to 281474976710656"},
                                                    {"delta_rule"},
                                                    {"scan"},
                                                    {"per_sequence"},
                                                    {"as"},
                                                    {"from"},
                                                    {"to"},
                                                    {"split"},
                                                    {"sharding"}};
/// Returns the cost of a product of two activations. The spec gives its multiply-adds per token or per sequence.
[[gnu::cold]] inline cost state_of(const part_call& p) {
    const floptally::value::set reads = p.values(p.words("from"), false);
    const floptally::value::set writes = p.values(p.words("to"), true);
    const entry_name name = name_of(p, "mixer.state");
    const std::uint64_t per_token = p.required("per");
    const term kind = p.on("delta_rule") ? term::delta_rule : p.on("scan") ? term::scan : term::state;
    cost sum;
    sum.add_state(name.component, per_token, kind, reads, writes, split_of(p),
                  p.on("per_sequence") ? accumulator::count : accumulator::tokens);
    return sum;
}

inline constexpr part_argument parameters_arguments[] = {{"count"}};
[[gnu::cold]] inline cost parameters_of(const part_call& p, const char* component, term kind) {
    cost sum;
    sum.add_parameters(component, kind, p.required("count"));
    return sum;
}
inline cost norm_of(const part_call& p) { return parameters_of(p, "norm", term::norm); }
inline cost bias_of(const part_call& p) { return parameters_of(p, "bias", term::bias); }
inline cost table_of(const part_call& p) { return parameters_of(p, "embedding", term::embedding); }
inline cost positions_of(const part_call& p) { return parameters_of(p, "embedding", term::position_embedding); }

}  // namespace floptally::detail::specs
