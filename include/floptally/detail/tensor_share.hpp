// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/dealing.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/term.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/statistic.hpp>
#include <floptally/training_plan.hpp>

/// @file
/// What one rank of a tensor parallel group runs of each row, as the row says. Useful shares always add up to the row;
/// padded ones to more where ranks compute the same twice.

namespace floptally::detail {

class tensor_share {
  public:
    tensor_share(const tensor_options& how, std::uint64_t tp, std::uint64_t tp_rank, std::uint64_t ep)
        : how_(how), tp_(tp), rank_(tp_rank), ep_(ep) {
        require_positive(tp, "tp");
        require_positive(ep, "ep");
        require_positive(how.make_vocab_size_divisible_by, "make_vocab_size_divisible_by");
        if (tp_rank >= tp) {
            throw error("tp_rank", "must be below tp, " + std::to_string(tp) + ", got " + std::to_string(tp_rank));
        }
        for (const tensor_rule& rule : how.rules) {
            if (rule.split == tensor_split::unsaid || rule.split == tensor_split::several) {
                throw error("tensor_options::rules", "a rule must say how its weights are split");
            }
        }
    }

    /// The rank's part of one layer's part.
    [[nodiscard]] cost of(const cost& part) const {
        return part.with_rows([&](const cost_row& row) {
            return part_of(row, named_row{part.components()[row.component].view(), part.weight_name(row), row.in});
        });
    }

  private:
    /// A row's names, for rules and errors.
    struct named_row {
        std::string_view component;
        std::string_view weight;
        modality in = modality::text;

        [[nodiscard]] std::string name() const {
            std::string text(known_as());
            return weight.empty() ? text : text.append("/").append(weight);
        }
        [[nodiscard]] bool is_in(std::string_view side) const {
            return component.substr(0, side.size()) == side && component.substr(side.size(), 1) == ".";
        }
        [[nodiscard]] bool is_in_tower() const { return in != modality::text && is_in(name_of(in)); }
        /// The component in its layer: without the tower that stands beside a text, or the side of an encoder.
        [[nodiscard]] std::string_view in_layer() const {
            return is_in_tower()      ? component.substr(std::string_view(name_of(in)).size() + 1)
                   : is_in("encoder") ? component.substr(8)
                                      : component;
        }
        [[nodiscard]] std::string field(std::string_view config_name) const {
            return is_in_tower() ? qualified(in, config_name) : std::string(config_name);
        }
        /// The component as rules name it.
        [[nodiscard]] std::string_view known_as() const { return is_in_tower() ? component : in_layer(); }
        /// What configs call the width of its matrices, in an error.
        [[nodiscard]] std::string width() const {
            const std::string_view own = in_layer();
            return weight == "eh_proj"                               ? field("hidden_size")
                   : own == "moe.shared"                             ? field("shared_expert_intermediate_size")
                   : own == "mlp" || own == "blocks" || own == "mtp" ? field("intermediate_size")
                                                                     : std::string(known_as());
        }
    };

    [[nodiscard]] bool names(const tensor_rule& rule, const named_row& row) const {
        const plan_rule named{.weights = rule.weights};
        return matches(named, row.component, row.weight) || matches(named, row.known_as(), row.weight);
    }

    /// What the row says, or the caller above it. A caller's word has no numbers: those of the row hold where it is
    /// dealt alike, and a matrix has its columns and rows.
    [[nodiscard]] dealing dealing_of(const cost_row& row, const named_row& place) const {
        dealing dealt = row.dealt;
        for (const tensor_rule& rule : how_.rules) {
            if (names(rule, place)) {
                dealt = rule.split == row.dealt.by
                            ? row.dealt
                            : dealing{rule.split}.of_matrix(row.per_rank.in / 2, columns_of(row));
            }
        }
        const bool stores_more = row.useful != 0 && row.parameters > row.useful / 2;
        const bool matters = tp_ != 1 || (ep_ != 1 && (stores_more || row.what == statistic::routed));
        if (matters && dealt.by == tensor_split::unsaid) {
            throw error(place.name(),
                        "no rule says how tensor parallelism splits it: give one in tensor_options::rules");
        }
        if (matters && dealt.by == tensor_split::several) {
            throw error(place.name(),
                        "several matrices that are split differently are one row: give them names (linear::weight), or "
                        "a rule in tensor_options::rules");
        }
        return dealt;
    }

    /// Of all matrices that a unit passes, [out, in] each: Σ out.
    [[nodiscard]] static std::uint64_t columns_of(const cost_row& row) { return row.per_rank.out / 2; }

    [[nodiscard]] cost_row part_of(const cost_row& row, const named_row& place) const {
        const dealing dealt_as = dealing_of(row, place);
        switch (dealt_as.by) {
            case tensor_split::columns:
            case tensor_split::rows:
                return divided(row, dealt_as.units, place.width());
            case tensor_split::heads:
                return divided(row, dealt_as.units, place.field("num_attention_heads"));
            case tensor_split::kv_heads:
                return kv_share(row, dealt_as, place);
            case tensor_split::fused_qkv:
                return fused_share(row, dealt_as, place);
            case tensor_split::vocabulary:
                return vocabulary_share(row, dealt_as, place);
            case tensor_split::experts:
                return expert_share(row, dealt_as);
            case tensor_split::even:
                return divided(row, dealt_as.units, place.known_as());
            case tensor_split::replicated:
                return whole(row, how_.sequence_parallel);
            case tensor_split::unsaid:
            case tensor_split::several:
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
        const std::uint64_t product = meaning_of(row.kind).flops_together;
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
        row.useful = dealt(row.useful, meaning_of(row.kind).flops_together);
        row.padded = of_some_tokens ? dealt(row.padded, meaning_of(row.kind).flops_together) : row.padded;
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    /// `columns` of `all` that the rank runs, some of which others run too.
    [[nodiscard]] cost_row overlapping(cost_row row, std::uint64_t columns, std::uint64_t all) const {
        row.useful = dealt(row.useful, meaning_of(row.kind).flops_together);
        row.padded = row.padded / all * columns;
        row.parameters = row.parameters / all * columns;
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    [[nodiscard]] bool requires_replicas(std::uint64_t kv_heads, const named_row& place) const {
        if (kv_heads % tp_ != 0 && tp_ % kv_heads != 0) {
            throw error(place.field("num_key_value_heads"), must_be("a multiple or a divisor of", kv_heads));
        }
        return kv_heads < tp_ && how_.kv == few_kv_heads::replicated;
    }

    [[nodiscard]] cost_row kv_share(const cost_row& row, const dealing& own, const named_row& place) const {
        if (tp_ == 1) {
            return row;
        }
        if (own.units == 0 || own.inner == 0) {
            throw error(place.name(),
                        "its row does not say how many key and value heads it has: give another rule in "
                        "tensor_options::rules");
        }
        const std::uint64_t columns = own.units * own.inner;
        return requires_replicas(own.units, place) ? overlapping(row, 1, own.units)
                                                   : divided(row, columns, place.name());
    }

    /// q, k and v in one row: H heads and twice K of one width.
    [[nodiscard]] cost_row fused_share(const cost_row& row, const dealing& own, const named_row& place) const {
        const std::uint64_t kv_heads = own.inner;
        if (tp_ == 1) {
            return row;
        }
        if (own.units == 0 || kv_heads == 0) {
            throw error(place.name(),
                        "q, k and v are one row that does not say how many heads each has: give another rule in "
                        "tensor_options::rules");
        }
        const bool replicas = kv_heads != own.units && requires_replicas(kv_heads, place);
        return replicas && own.units % tp_ == 0 ? overlapping(row, own.units / tp_ + 2, own.units + 2 * kv_heads)
                                                : divided(row, own.units, place.field("num_attention_heads"));
    }

    /// Slices of the padded vocabulary, of which the last ones may have no real row.
    [[nodiscard]] cost_row vocabulary_share(cost_row row, const dealing& own, const named_row& place) const {
        const std::uint64_t size = own.units;
        if (size == 0) {
            throw error(place.name(),
                        "its row does not say how many words it has: give another rule in "
                        "tensor_options::rules");
        }
        if (row.useful % (2 * size) != 0) {
            throw error(place.name(), "its row is not of the " + std::to_string(size) + " words that it says");
        }
        const std::uint64_t in = row.useful / 2 / size;
        if (in == 0) {
            return row;
        }
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
    [[nodiscard]] cost_row expert_share(cost_row row, const dealing& own) const {
        const std::uint64_t experts = own.units;
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
            row = divided(row, own.inner, "moe_intermediate_size");
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

    const tensor_options& how_;
    std::uint64_t tp_;
    std::uint64_t rank_;
    std::uint64_t ep_;
};

}  // namespace floptally::detail
