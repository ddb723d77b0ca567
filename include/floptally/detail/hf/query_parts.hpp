// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/model/attention.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/term.hpp>
#include <floptally/statistic.hpp>

/// @file
/// Learned queries: a fixed number of rows for each image, which attend its tokens. Idefics-2's resampler and the
/// Q-Formers of BLIP-2.

namespace floptally::detail {

/// The same weights over `rows` rows for each image (or sequence), where `one` counts a single one.
[[nodiscard]] inline cost for_each_query(const cost& one, std::uint64_t rows) {
    require_positive(rows, "queries");
    return one + (rows - 1) * one.with_shared_weights();
}

/// A linear over learned queries.
[[nodiscard]] inline cost query_linear(const char* component, linear weight, std::uint64_t rows) {
    weight.rows = statistic::count;
    cost one;
    one.add(component, weight);
    return for_each_query(one, rows);
}

/// Attention of learned queries.
struct query_attention {
    std::uint64_t queries = 0;  ///< for each image
    std::uint64_t num_heads = 0;
    std::uint64_t num_kv_heads = 0;
    std::uint64_t head_dim = 0;
    std::uint64_t hidden_size = 0;   ///< of the queries
    std::uint64_t context_size = 0;  ///< of the tokens of an image
    bool over_context = true;        ///< they see the tokens of their image
    bool over_queries = true;        ///< they see each other, by the same keys and values

    [[nodiscard]] cost of() const {
        require_heads(num_heads, num_kv_heads, head_dim);
        const std::uint64_t query_width = checked_multiply(num_heads, head_dim, "queries");
        const std::uint64_t kv_width = checked_multiply(num_kv_heads, head_dim, "queries");
        const value::set q = value::made(0);
        const value::set k = value::made(1);
        const value::set v = value::made(2);
        const value::set out = value::made(3);
        const attention_core core{num_heads, head_dim, head_dim, q, k, v, out};
        cost sum = query_linear("queries.qkv",
                                {.in_features = hidden_size,
                                 .out_features = query_width,
                                 .weight = "q_proj",
                                 .reads = value::stream,
                                 .writes = q},
                                queries);
        for (const bool keys : {true, false}) {
            linear weight{.in_features = over_context ? context_size : hidden_size,
                          .out_features = kv_width,
                          .weight = keys ? "k_proj" : "v_proj",
                          .reads = over_context ? value::context : value::stream,
                          .writes = keys ? k : v};
            if (over_context) {
                sum.add("queries.qkv", weight);
            }
            if (over_queries) {
                const cost rows = query_linear("queries.qkv", weight, queries);
                sum += over_context ? rows.with_shared_weights() : rows;
            }
        }
        if (over_context) {
            sum.add("queries.core", core, statistic::tokens, queries);
        }
        if (over_queries) {
            sum.add("queries.core", core, statistic::count, checked_multiply(queries, queries, "queries"));
        }
        return sum +
               query_linear("queries.output",
                            {.in_features = query_width, .out_features = hidden_size, .weight = "o_proj", .reads = out},
                            queries);
    }
};

/// A feed-forward over learned queries.
struct query_mlp {
    std::uint64_t queries = 0;
    std::uint64_t hidden_size = 0;
    std::uint64_t intermediate_size = 0;
    bool gated = false;

    [[nodiscard]] cost of() const {
        const auto up = [&](const char* weight) {
            return query_linear("queries.mlp",
                                {.in_features = hidden_size,
                                 .out_features = intermediate_size,
                                 .weight = weight,
                                 .reads = value::stream,
                                 .writes = value::made(0)},
                                queries);
        };
        cost sum = up("up_proj");
        if (gated) {
            sum += up("gate_proj");
        }
        return sum + query_linear("queries.mlp",
                                  {.in_features = intermediate_size,
                                   .out_features = hidden_size,
                                   .weight = "down_proj",
                                   .reads = value::made(0)},
                                  queries);
    }
};

}  // namespace floptally::detail
