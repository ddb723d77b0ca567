// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/config/detail/part_call.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/page_language/lexer.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// Single rows, for products that no part has: a page gives what each multiplies, reads and makes.

namespace floptally::detail::pages {

/// The name in `as COMPONENT WEIGHT`: "attention.qkv q_a_proj".
struct row_name {
    std::string_view component;
    std::string_view weight;
};
[[nodiscard]] inline row_name name_of(const part_call& p, std::string_view otherwise) {
    lexer from(p.where.name, p.words("as"), p.line.line);
    const std::string_view component = from.word(true);
    return {component.empty() ? otherwise : component, from.word(true)};
}

/// The dealing in `split heads N`: how tensor and expert parallelism deal the row, and how many units there are to
/// deal. `dealt` is the same word where a config gives it.
[[gnu::cold]] inline dealing split_of(const part_call& p, const dealing& otherwise = {}) {
    struct word {
        std::string_view name;
        tensor_split by;
        bool has_units;  ///< a number of units to deal follows
    };
    constexpr word words[] = {
        {"columns", tensor_split::columns, false},  {"rows", tensor_split::rows, false},
        {"heads", tensor_split::heads, true},       {"kv_heads", tensor_split::kv_heads, true},
        {"experts", tensor_split::experts, true},   {"vocabulary", tensor_split::vocabulary, false},
        {"even", tensor_split::even, false},        {"replicated", tensor_split::replicated, false},
        {"repeated", tensor_split::repeated, false}};
    const value* const by_config = p.worth("dealt");
    const std::string_view said = by_config != nullptr ? by_config->text : p.words("split");
    for (const word& known : words) {
        if (said != known.name) {
            continue;
        }
        const bool counts = by_config == nullptr && p.find("split")->type != value::kind::flag;
        if (counts != known.has_units) {
            p.fail({"split ", said, (counts ? " takes no number" : " needs the number of them")});
        }
        const std::uint64_t units = counts ? p.number("split") : 0;
        if (counts && units == 0) {
            p.fail({"split ", said, " must be at least 1"});
        }
        return {known.by, units, known.by == tensor_split::experts ? p.required("inner") : 0};
    }
    if (!said.empty()) {
        p.fail({"is split \"", said,
                "\"; known: columns, rows, heads, kv_heads, experts, vocabulary, even, replicated, repeated"});
    }
    return otherwise;
}

inline constexpr part_word linear_words[] = {{"in", "in_features number"},
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
                                             {"dealt"}};
/// The cost of `linear in A, out B, as COMPONENT WEIGHT, from x, to q …`.
[[gnu::cold]] inline cost linear_of(const part_call& p) {
    const row_name name = name_of(p, "linear");
    linear matrix{.in_features = p.required("in"),
                  .out_features = p.required("out"),
                  .applied = p.number("applied", 1),
                  .stored = p.number("stored"),
                  .padded_out_features = p.number("padded_out"),
                  .rows = p.on("per_sequence") ? statistic::count
                          : p.on("of_keys")    ? statistic::keys
                                               : statistic::tokens,
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
                  .dealt = split_of(p)};
    if (p.number("groups", 1) == 0) {
        p.fail({"groups must be at least 1"});
    }
    cost sum;
    if (p.on("units")) {
        sum.add(name.component, matrix, p.attends("units", {}));
    } else {
        sum.add(name.component, matrix);
    }
    return sum;
}

/// The sets of values in `from q k v`, where `q+gate` is both: up to three.
struct value_sets {
    floptally::value::set first = 0;
    floptally::value::set second = 0;
    floptally::value::set third = 0;
};
[[gnu::cold]] inline value_sets read_by(const part_call& p) {
    lexer from(p.where.name, p.words("from"), p.line.line);
    value_sets sets;
    for (floptally::value::set* read : {&sets.first, &sets.second, &sets.third}) {
        if (from.at_end()) {
            break;
        }
        do {
            *read = static_cast<floptally::value::set>(*read | p.values(from.required_word("a value"), false));
        } while (from.take("+"));
    }
    return sets;
}

inline constexpr part_word core_words[] = {{"heads"},        {"dim"}, {"v_dim"}, {"pairs"},
                                           {"per_sequence"}, {"as"},  {"from"},  {"to"}};
/// The cost of `core heads H, dim D, from q k v, to out`: QKᵀ and PV. `pairs n` stands in place of a mask: n pairs a
/// token, or a sequence.
[[gnu::cold]] inline cost core_of(const part_call& p) {
    const value_sets read = read_by(p);
    const std::uint64_t dim = p.required("dim");
    const attention_core core{.num_heads = p.required("heads"),
                              .qk_head_dim = dim,
                              .v_head_dim = p.number("v_dim", dim),
                              .q = read.first,
                              .k = read.second,
                              .v = read.third,
                              .writes = p.values(p.words("to"), true)};
    cost sum;
    const std::string_view component = name_of(p, "attention.core").component;
    if (p.find("pairs") != nullptr) {
        sum.add(component, core, p.on("per_sequence") ? statistic::count : statistic::tokens, p.required("pairs"));
    } else {
        sum.add(component, core, p.place().attends);
    }
    return sum;
}

inline constexpr part_word scores_words[] = {{"per"}, {"values"}, {"as"}, {"from"}, {"to"}, {"split"}};
/// The cost of scores that choose keys, without a PV; with `values`, of a product with values and no softmax before it.
[[gnu::cold]] inline cost scores_of(const part_call& p) {
    const value_sets read = read_by(p);
    const row_name name = name_of(p, "attention.core");
    const std::uint64_t per_pair = p.required("per");
    const dataflow flow{.reads = read.first,
                        .also_reads = read.second,
                        .fused_with = read.third,
                        .writes = p.values(p.words("to"), true)};
    cost sum;
    sum.add_pairs(name.component, p.on("values") ? term::values : term::scores, per_pair, p.place().attends, flow,
                  split_of(p));
    return sum;
}

inline constexpr part_word state_words[] = {{"per", "multiply_adds number to 281474976710656"},
                                            {"delta_rule"},
                                            {"scan"},
                                            {"per_sequence"},
                                            {"as"},
                                            {"from"},
                                            {"to"},
                                            {"split"},
                                            {"dealt"}};
/// The cost of a product of activations, in multiply-adds a token or a sequence.
[[gnu::cold]] inline cost state_of(const part_call& p) {
    const floptally::value::set reads = p.values(p.words("from"), false);
    const floptally::value::set writes = p.values(p.words("to"), true);
    const row_name name = name_of(p, "mixer.state");
    const std::uint64_t per_token = p.required("per");
    const term kind = p.on("delta_rule") ? term::delta_rule : p.on("scan") ? term::scan : term::state;
    cost sum;
    sum.add_state(name.component, per_token, kind, reads, writes, split_of(p),
                  p.on("per_sequence") ? statistic::count : statistic::tokens);
    return sum;
}

inline constexpr part_word parameters_words[] = {{"count"}};
[[gnu::cold]] inline cost parameters_of(const part_call& p, const char* component, term kind) {
    cost sum;
    sum.add_parameters(component, kind, p.required("count"));
    return sum;
}
inline cost norm_of(const part_call& p) { return parameters_of(p, "norm", term::norm); }
inline cost bias_of(const part_call& p) { return parameters_of(p, "bias", term::bias); }
inline cost table_of(const part_call& p) { return parameters_of(p, "embedding", term::embedding); }
inline cost positions_of(const part_call& p) { return parameters_of(p, "embedding", term::position_embedding); }

}  // namespace floptally::detail::pages
