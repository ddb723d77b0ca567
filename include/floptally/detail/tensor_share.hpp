// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/layer_place.hpp>
#include <floptally/error.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/training_plan.hpp>

/// @file
/// What one rank of a tensor parallel group runs of each row. Useful shares always add up to the row; padded ones to
/// more where ranks compute the same twice.

namespace floptally::detail {

class tensor_share {
  public:
    tensor_share(std::span<const model_part> model, const tensor_options& how, std::uint64_t tp, std::uint64_t tp_rank,
                 std::uint64_t ep)
        : model_(model), how_(how), tp_(tp), rank_(tp_rank), ep_(ep) {
        require_positive(tp, "tp");
        require_positive(ep, "ep");
        require_positive(how.make_vocab_size_divisible_by, "make_vocab_size_divisible_by");
        if (tp_rank >= tp) {
            throw error("tp_rank", "must be below tp, " + std::to_string(tp) + ", got " + std::to_string(tp_rank));
        }
    }

    /// The rank's part of one layer's part.
    [[nodiscard]] cost of(const cost& part) const {
        return part.with_rows([&](const cost_row& row) { return part_of(part, row); });
    }

  private:
    [[nodiscard]] tensor_split rule_of(const layer_place& place) const {
        const tensor_split* found = nullptr;
        const auto look = [&](const tensor_rule& rule, std::string_view component) {
            if (matches(plan_rule{.weights = rule.weights}, component, place.weight)) {
                found = &rule.split;
            }
        };
        for (const tensor_rule& rule : tensor_rules) {
            look(rule, place.component);
        }
        for (const tensor_rule& rule : how_.rules) {
            look(rule, place.named);
        }
        if (found == nullptr && tp_ != 1) {
            throw error(place.name(),
                        "no rule says how tensor parallelism splits it: give one in tensor_options::rules");
        }
        return found == nullptr ? tensor_split::replicated : *found;
    }

    [[nodiscard]] cost_row part_of(const cost& part, const cost_row& row) const {
        const layer_place place = place_in_layer(part, row);
        switch (rule_of(place)) {
            case tensor_split::columns:
                return divided(row, columns_of(row), place.width_field());
            case tensor_split::rows:
                return divided(row, row.per_rank.in / 2, place.width_field());
            case tensor_split::heads:
                return divided(row, heads_beside(part, row).count, place.field("num_attention_heads"));
            case tensor_split::kv_heads:
                return kv_share(part, row, place);
            case tensor_split::fused_qkv:
                return fused_share(part, row, place);
            case tensor_split::vocabulary:
                return vocabulary_share(row);
            case tensor_split::experts:
                return expert_share(part, row);
            case tensor_split::even:
                return divided(row, 0, place.named);
            case tensor_split::replicated:
                return whole(row, how_.sequence_parallel);
            case tensor_split::repeated:
                break;
        }
        return whole(row, false);
    }

    /// This rank's part of a number of FLOPs that is dealt in whole products: the first ranks take what is left over.
    [[nodiscard]] std::uint64_t dealt(std::uint64_t work, std::uint64_t product) const {
        const std::uint64_t of = work % product == 0 ? product : 1;
        const std::uint64_t products = work / of;
        return of * (products / tp_ + (rank_ < products % tp_ ? 1 : 0));
    }

    /// FLOPs that belong together: what a convention scales, or halves, must stay whole.
    [[nodiscard]] static std::uint64_t product_of(term kind) {
        return kind == term::delta_rule ? 6 : kind == term::scan ? 4 : kind == term::softmax ? 3 : 2;
    }

    /// Both matrices of an adapter are split, whatever the weight beside them is.
    [[nodiscard]] adapter dealt(const adapter& whole_adapter) const {
        const adapter part{.in = dealt(whole_adapter.in, 2),
                           .out = dealt(whole_adapter.out, 2),
                           .padded_out = dealt(whole_adapter.padded_out, 2),
                           .parameters = dealt(whole_adapter.parameters, 1)};
        if (part.in == 0 && whole_adapter.in != 0) {
            throw error("tp", "is above the width of a weight, so that a rank would have no part of its adapter");
        }
        return part;
    }

    /// `units` (0: not known) are what the framework deals.
    [[nodiscard]] cost_row divided(cost_row row, std::uint64_t units, std::string_view field) const {
        const std::uint64_t product = product_of(row.kind);
        if (units % tp_ != 0) {
            throw error(field, must_be("a multiple of", units));
        }
        for (std::uint64_t* part : {&row.useful, &row.padded}) {
            if (*part % tp_ != 0 || (*part % product == 0 && *part / product % tp_ != 0)) {
                throw error(field, must_be("a multiple of", *part / product) + " products a token");
            }
            *part /= tp_;
        }
        row.parameters = dealt(row.parameters, 1);
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    [[nodiscard]] cost_row whole(cost_row row, bool of_some_tokens) const {
        row.useful = dealt(row.useful, product_of(row.kind));
        row.padded = of_some_tokens ? dealt(row.padded, product_of(row.kind)) : row.padded;
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    /// `columns` of `all` that the rank runs, some of which others run too.
    [[nodiscard]] cost_row overlapping(cost_row row, std::uint64_t columns, std::uint64_t all) const {
        row.useful = dealt(row.useful, product_of(row.kind));
        row.padded = row.padded / all * columns;
        row.parameters = row.parameters / all * columns;
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    [[nodiscard]] bool requires_replicas(std::uint64_t kv_heads, const layer_place& place) const {
        if (kv_heads % tp_ != 0 && tp_ % kv_heads != 0) {
            throw error(place.field("num_key_value_heads"), must_be("a multiple or a divisor of", kv_heads));
        }
        return kv_heads < tp_ && how_.kv == few_kv_heads::replicated;
    }

    [[nodiscard]] cost_row kv_share(const cost& part, const cost_row& row, const layer_place& place) const {
        const attention_heads heads = heads_beside(part, row);
        const std::uint64_t head_dim = place.weight == "v_proj" ? heads.v_dim : heads.qk_dim;
        const std::uint64_t columns = columns_of_one(part, row);
        if (tp_ == 1) {
            return row;
        }
        if (head_dim == 0 || columns == 0 || columns % head_dim != 0) {
            throw error(place.name(),
                        "the attention beside it does not say how many key and value heads it has: give "
                        "a rule in tensor_options::rules");
        }
        return requires_replicas(columns / head_dim, place) ? overlapping(row, head_dim, columns)
                                                            : divided(row, columns, place.name());
    }

    /// q, k and v in one row: H heads and twice K of one width.
    [[nodiscard]] cost_row fused_share(const cost& part, const cost_row& row, const layer_place& place) const {
        const attention_heads heads = heads_beside(part, row);
        const std::uint64_t head_dim = heads.qk_dim;
        const std::uint64_t queries = heads.count * head_dim;
        const std::uint64_t columns = columns_of_one(part, row);
        if (tp_ == 1) {
            return row;
        }
        if (columns == queries && columns != 0) {
            return divided(row, heads.count, place.field("num_attention_heads"));
        }
        const bool known =
            head_dim != 0 && head_dim == heads.v_dim && columns > queries && (columns - queries) % (2 * head_dim) == 0;
        const std::uint64_t kv_heads = known ? (columns - queries) / (2 * head_dim) : 0;
        if (kv_heads == 0 || (place.weight.empty() && kv_heads % tp_ != 0)) {
            throw error(place.name(),
                        "q, k and v are one row that does not say how many heads each has: give a rule "
                        "in tensor_options::rules");
        }
        if (kv_heads == heads.count || !requires_replicas(kv_heads, place)) {
            return divided(row, heads.count, place.field("num_attention_heads"));
        }
        static_cast<void>(divided(row, heads.count, place.field("num_attention_heads")));
        return overlapping(row, queries / tp_ + 2 * head_dim, columns);
    }

    /// Slices of the padded vocabulary, of which the last ones may have no real row.
    [[nodiscard]] cost_row vocabulary_share(cost_row row) const {
        const std::uint64_t size = vocabulary_of(model_, row);
        if (size == 0) {  // a table of positions, a classifier, the dense before a vocabulary
            return whole(row, how_.sequence_parallel);
        }
        const std::uint64_t in = row.useful / 2 / size;
        const std::uint64_t padded = row.padded / 2 / in;
        const std::uint64_t multiple = checked_multiply(tp_, how_.make_vocab_size_divisible_by, "vocab_size");
        const std::uint64_t slice =
            checked_add(padded, multiple - 1, "vocab_size") / multiple * how_.make_vocab_size_divisible_by;
        const std::uint64_t first = slice * rank_;
        const std::uint64_t real = size <= first ? 0 : size - first < slice ? size - first : slice;
        row.parameters = row.parameters == 0 ? 0 : real * in;
        row.useful = 2 * in * real;
        row.padded = checked_multiply(2 * in, slice, "vocab_size");
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    /// Visits are dealt to experts as evenly as tokens, wherever the experts are: of its tokens' visits a rank runs
    /// 1 / tp, for other ranks run some of them and it runs as many of theirs. Measured visits are its own.
    [[nodiscard]] cost_row expert_share(const cost& part, cost_row row) const {
        const std::uint64_t experts = experts_beside(part);
        if (experts % ep_ != 0) {
            throw error("num_experts",
                        "must be a multiple of ep (" + std::to_string(ep_) + "), got " + std::to_string(experts));
        }
        if (row.parameters % (ep_ * tp_) != 0) {
            throw error("moe_intermediate_size", "the experts' " + std::to_string(row.parameters) +
                                                     " weights must be a multiple of ep x tp, " + std::to_string(ep_) +
                                                     " x " + std::to_string(tp_));
        }
        if (row.what == statistic::routed) {
            const std::uint64_t parameters = row.parameters / (ep_ * tp_);
            row = divided(row, columns_of(row), "moe_intermediate_size");
            row.parameters = parameters;
            return row;
        }
        row.useful = dealt(row.useful, 2);
        row.padded = dealt(row.padded, 2);
        row.parameters /= ep_ * tp_;
        row.per_rank = dealt(row.per_rank);
        row.per_rank.parameters /= ep_;
        return row;
    }

    [[nodiscard]] std::string must_be(const char* what, std::uint64_t got) const {
        return std::string("must be ").append(what) + " tp (" + std::to_string(tp_) + "), got " + std::to_string(got);
    }

    std::span<const model_part> model_;
    const tensor_options& how_;
    std::uint64_t tp_;
    std::uint64_t rank_;
    std::uint64_t ep_;
};

}  // namespace floptally::detail
