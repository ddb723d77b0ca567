// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/pages/lexer.hpp>
#include <floptally/detail/pages/part_call.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/dealing.hpp>
#include <floptally/statistic.hpp>

/// @file
/// Single rows, for what no part is: a page says what each multiplies, reads and makes.

namespace floptally::detail::pages {

/// `as COMPONENT WEIGHT`: "attention.qkv q_a_proj".
struct row_name {
    std::string_view component;
    std::string_view weight;
};
[[nodiscard]] inline row_name name_of(const part_call& p, std::string_view otherwise) {
    lexer from(p.where.name, p.words("as"), p.line.line);
    const std::string_view component = from.word(true);
    return {component.empty() ? otherwise : component, from.word(true)};
}

/// `split heads N`: how tensor and expert parallelism deal the row, and what there is to deal. `dealt` is the same word
/// where a config says it.
[[gnu::cold]] inline dealing split_of(const part_call& p, const dealing& otherwise = {}) {
    struct word {
        std::string_view name;
        tensor_split by;
        bool has_units;  ///< a number follows: of what there is to deal
    };
    constexpr word words[] = {
        {"columns", tensor_split::columns, false},  {"rows", tensor_split::rows, false},
        {"heads", tensor_split::heads, true},       {"kv_heads", tensor_split::kv_heads, true},
        {"experts", tensor_split::experts, true},   {"vocabulary", tensor_split::vocabulary, false},
        {"even", tensor_split::even, false},        {"replicated", tensor_split::replicated, false},
        {"repeated", tensor_split::repeated, false}};
    const value* const by_config = p.find("dealt");
    const std::string_view said = by_config != nullptr ? by_config->text : p.words("split");
    for (const word& one : words) {
        if (said != one.name) {
            continue;
        }
        const bool counts = by_config == nullptr && p.find("split")->is != value::kind::flag;
        if (counts != one.has_units) {
            p.fail({"split ", said, (counts ? " takes no number" : " needs the number of them")});
        }
        const std::uint64_t units = counts ? p.number("split") : 0;
        if (counts && units == 0) {
            p.fail({"split ", said, " must be at least 1"});
        }
        return {one.by, units, one.by == tensor_split::experts ? p.must("inner") : 0};
    }
    if (!said.empty()) {
        p.fail({"is split \"", said,
                "\"; known: columns, rows, heads, kv_heads, experts, vocabulary, even, replicated, repeated"});
    }
    return otherwise;
}

/// linear in A, out B, as COMPONENT WEIGHT, from x, to q …
[[gnu::cold]] inline cost linear_of(const part_call& p) {
    const row_name name = name_of(p, "linear");
    linear one{.in_features = p.must("in"),
               .out_features = p.must("out"),
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
               .dealt = split_of(p)};
    cost sum;
    if (p.on("units")) {
        sum.add(name.component, one, p.attends("units", {}));
    } else {
        sum.add(name.component, one);
    }
    return sum;
}

/// `from q k v`, where `q+gate` is both: up to three sets of values.
struct value_sets {
    floptally::value::set first = 0;
    floptally::value::set second = 0;
    floptally::value::set third = 0;
};
[[gnu::cold]] inline value_sets read_by(const part_call& p) {
    lexer from(p.where.name, p.words("from"), p.line.line);
    value_sets sets;
    for (floptally::value::set* one : {&sets.first, &sets.second, &sets.third}) {
        if (from.at_end()) {
            break;
        }
        do {
            *one = static_cast<floptally::value::set>(*one | p.values(from.required_word("a value"), false));
        } while (from.take("+"));
    }
    return sets;
}

/// core heads H, dim D, from q k v, to out: QKᵀ and PV. `pairs n` of them a token, or a sequence, in place of a mask.
[[gnu::cold]] inline cost core_of(const part_call& p) {
    const value_sets read = read_by(p);
    const std::uint64_t dim = p.must("dim");
    const attention_core core{.num_heads = p.must("heads"),
                              .qk_head_dim = dim,
                              .v_head_dim = p.number("v_dim", dim),
                              .q = read.first,
                              .k = read.second,
                              .v = read.third,
                              .writes = p.values(p.words("to"), true)};
    cost sum;
    const std::string_view component = name_of(p, "attention.core").component;
    if (p.find("pairs") != nullptr) {
        sum.add(component, core, p.on("per_sequence") ? statistic::count : statistic::tokens, p.must("pairs"));
    } else {
        sum.add(component, core, p.place().attends);
    }
    return sum;
}

/// Scores that choose keys, without a PV; with `values` a product with values and no softmax before it.
[[gnu::cold]] inline cost scores_of(const part_call& p) {
    const value_sets read = read_by(p);
    const row_name name = name_of(p, "attention.core");
    const std::uint64_t per_pair = p.must("per");
    const dataflow flow{.reads = read.first,
                        .also_reads = read.second,
                        .fused_with = read.third,
                        .writes = p.values(p.words("to"), true)};
    cost sum;
    sum.add_pairs(name.component, p.on("values") ? term::values : term::scores, per_pair, p.place().attends, flow,
                  split_of(p));
    return sum;
}

/// A product of activations, so many multiply-adds a token.
[[gnu::cold]] inline cost state_of(const part_call& p) {
    const floptally::value::set reads = p.values(p.words("from"), false);
    const floptally::value::set writes = p.values(p.words("to"), true);
    const row_name name = name_of(p, "mixer.state");
    const std::uint64_t per_token = p.must("per");
    const term kind = p.on("delta_rule") ? term::delta_rule : p.on("scan") ? term::scan : term::state;
    cost sum;
    sum.add_state(name.component, per_token, kind, reads, writes, split_of(p));
    return sum;
}

[[gnu::cold]] inline cost parameters_of(const part_call& p, const char* component, term kind) {
    cost sum;
    sum.add_parameters(component, kind, p.must("count"));
    return sum;
}
inline cost norm_of(const part_call& p) { return parameters_of(p, "norm", term::norm); }
inline cost bias_of(const part_call& p) { return parameters_of(p, "bias", term::bias); }
inline cost table_of(const part_call& p) { return parameters_of(p, "embedding", term::embedding); }
inline cost positions_of(const part_call& p) { return parameters_of(p, "embedding", term::position_embedding); }

}  // namespace floptally::detail::pages
