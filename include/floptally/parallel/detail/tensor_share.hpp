// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/detail/named_row.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The share of each row that one rank of a tensor parallel group runs, by the row's dealing. Useful shares always add
/// up to the row; padded ones add up to more where ranks compute the same products.

namespace floptally::detail {

/// The share of a model that one rank of a tensor parallel group runs.
class tensor_share {
  public:
    tensor_share(const tensor_options& how, std::uint64_t tp, std::uint64_t tp_rank, std::uint64_t ep)
        : how_(how), tp_(tp), rank_(tp_rank), ep_(ep) {
        require_positive(tp, "tp");
        require_positive(ep, "ep");
        require_positive(how.make_vocab_size_divisible_by, "make_vocab_size_divisible_by");
        if (tp_rank >= tp) {
            refuse("tp_rank", {"must be below tp, ", tp, ", got ", tp_rank});
        }
        for (const weight_split& said : how.splits) {
            if (said.split == tensor_split::unsaid || said.split == tensor_split::several) {
                throw error("tensor_options::splits", "must say how its weights are split");
            }
        }
    }

    /// The rank's share of the cost of a part.
    [[nodiscard]] cost share_of(const cost& part) const {
        return part.with_rows([&](const cost_row& row) {
            return part_of(row, named_row{part.components()[row.component].view(), part.weight_name(row), row.in});
        });
    }

  private:
    [[nodiscard]] bool names(const weight_split& said, const named_row& row) const {
        const weight_setting named{.weights = said.weights};
        return matches(named, row.component, row.weight) || matches(named, row.known_as(), row.weight);
    }

    /// The dealing of a row, or that which a caller says for it. A `weight_split` has no numbers: those of the row are
    /// used where it is dealt alike, otherwise the columns and rows of its matrix.
    [[nodiscard]] dealing dealing_of(const cost_row& row, const named_row& place) const {
        dealing dealt = row.dealt;
        for (const weight_split& said : how_.splits) {
            if (names(said, place)) {
                dealt = said.split == row.dealt.by
                            ? row.dealt
                            : dealing{said.split}.of_matrix(row.per_rank.in / 2, columns_of(row));
            }
        }
        const bool stores_more = row.parameters > row.useful / 2;
        const bool matters = tp_ != 1 || (ep_ != 1 && (stores_more || row.what == statistic::routed));
        if (matters && dealt.by == tensor_split::unsaid) {
            throw error(
                place.name(),
                "nothing says how tensor parallelism splits it: say it where the row is made (linear::dealt), or in "
                "tensor_options::splits");
        }
        if (matters && dealt.by == tensor_split::several) {
            throw error(place.name(),
                        "several matrices that are split differently are one row: give them names (linear::weight), or "
                        "one split in tensor_options::splits");
        }
        return dealt;
    }

    /// Σ out of all [out, in] matrices that a unit passes.
    [[nodiscard]] static std::uint64_t columns_of(const cost_row& row) { return row.per_rank.out / 2; }

    [[nodiscard]] cost_row part_of(const cost_row& row, const named_row& place) const {
        const dealing dealt_as = dealing_of(row, place);
        switch (dealt_as.by) {
            case tensor_split::columns:
            case tensor_split::rows:
                return divided(row, dealt_as.units, place.width(), place);
            case tensor_split::heads:
                return divided(row, dealt_as.units, place.field("num_attention_heads"), place);
            case tensor_split::kv_heads:
                return kv_share(row, dealt_as, place);
            case tensor_split::fused_qkv:
                return fused_share(row, dealt_as, place);
            case tensor_split::vocabulary:
                return vocabulary_share(row, dealt_as, place);
            case tensor_split::experts:
                return expert_share(row, dealt_as, place);
            case tensor_split::even:
                return divided(row, dealt_as.units, place.known_as(), place);
            case tensor_split::replicated:
                return whole(row, how_.sequence_parallel);
            case tensor_split::unsaid:
            case tensor_split::several:
            case tensor_split::repeated:
                break;
        }
        return whole(row, false);
    }
    /// This rank's share of FLOPs that are dealt in whole products: the first ranks take the products left over.
    [[nodiscard]] std::uint64_t dealt(std::uint64_t work, std::uint64_t product) const {
        const std::uint64_t unit = work % product == 0 ? product : 1;
        const std::uint64_t products = work / unit;
        return unit * (products / tp_ + (rank_ < products % tp_ ? 1 : 0));
    }

    /// This rank's share of an adapter, both of whose matrices are split, however the weight beside them is.
    [[nodiscard]] adapter dealt(const adapter& whole_adapter) const {
        const adapter part{.in = dealt(whole_adapter.in, 2),
                           .out = dealt(whole_adapter.out, 2),
                           .padded_out = dealt(whole_adapter.padded_out, 2),
                           .parameters = dealt(whole_adapter.parameters, 1)};
        if (whole_adapter.in != 0 && part.in == 0) {
            throw error("tp", "is above the width of a weight, so that a rank would have no part of its adapter");
        }
        return part;
    }

    /// An equal share of a row whose framework deals `units` of it (0: not known).
    [[nodiscard]] cost_row divided(cost_row row, std::uint64_t units, std::string_view field,
                                   const named_row& place) const {
        const std::uint64_t product = meaning_of(row.kind).flops_together;
        if (units % tp_ != 0) {
            refuse_size(field, "a multiple of", units, place.said_after(field));
        }
        for (std::uint64_t* part : {&row.useful, &row.padded}) {
            if (*part % tp_ != 0 || (*part % product == 0 && *part / product % tp_ != 0)) {
                refuse_size(field, "a multiple of", *part / product,
                            text_of({" products a token", place.said_after(field)}));
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

    /// A share of `columns` of `all`, some of which other ranks run too.
    [[nodiscard]] cost_row overlapping(cost_row row, std::uint64_t columns, std::uint64_t all) const {
        row.useful = dealt(row.useful, meaning_of(row.kind).flops_together);
        row.padded = row.padded / all * columns;
        row.parameters = row.parameters / all * columns;
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    [[nodiscard]] bool requires_replicas(std::uint64_t kv_heads, const named_row& place) const {
        if (kv_heads % tp_ != 0 && tp_ % kv_heads != 0) {
            refuse_size(place.field("num_key_value_heads"), "a multiple or a divisor of", kv_heads,
                        place.said_after("num_key_value_heads"));
        }
        return kv_heads < tp_ && how_.kv == few_kv_heads::replicated;
    }

    [[nodiscard]] cost_row kv_share(const cost_row& row, const dealing& own, const named_row& place) const {
        if (tp_ == 1) {
            return row;
        }
        if (own.units == 0 || own.inner == 0) {
            throw error(
                place.name(),
                "its row does not say how many key and value heads it has: its dealt must be dealing::kv_heads of "
                "their number");
        }
        const std::uint64_t columns = own.units * own.inner;
        return requires_replicas(own.units, place) ? overlapping(row, 1, own.units)
                                                   : divided(row, columns, place.name(), place);
    }

    /// A share of q, k and v in one row: H heads and twice K heads of one width.
    [[nodiscard]] cost_row fused_share(const cost_row& row, const dealing& own, const named_row& place) const {
        const std::uint64_t kv_heads = own.inner;
        if (tp_ == 1) {
            return row;
        }
        if (own.units == 0 || kv_heads == 0) {
            throw error(place.name(),
                        "q, k and v are one row that does not say how many heads each has: its dealt must be "
                        "dealing::fused_qkv of both numbers");
        }
        const bool replicas = kv_heads != own.units && requires_replicas(kv_heads, place);
        return replicas && own.units % tp_ == 0 ? overlapping(row, own.units / tp_ + 2, own.units + 2 * kv_heads)
                                                : divided(row, own.units, place.field("num_attention_heads"), place);
    }

    /// A slice of the padded vocabulary; the last slices may have no real row.
    [[nodiscard]] cost_row vocabulary_share(cost_row row, const dealing& own, const named_row& place) const {
        const std::uint64_t size = own.units;
        if (size == 0) {
            throw error(
                place.name(),
                "its row does not say how many words it has: its dealt must be dealing::vocabulary of their number");
        }
        if (row.useful % (2 * size) != 0) {
            refuse(place.name(), {"its row does not divide into the ", size, " words that it says"});
        }
        const std::uint64_t in = row.useful / 2 / size;
        if (in == 0) {
            return row;
        }
        const std::uint64_t padded = row.padded / 2 / in;
        const std::uint64_t multiple = checked(tp_, "vocab_size") * how_.make_vocab_size_divisible_by;
        const std::uint64_t rounded_up = checked(padded, "vocab_size") + (multiple - 1);
        const std::uint64_t slice = rounded_up / multiple * how_.make_vocab_size_divisible_by;
        const std::uint64_t first = slice * rank_;
        const std::uint64_t real = smaller(size - smaller(size, first), slice);
        row.parameters = row.parameters == 0 ? 0 : real * in;
        row.useful = 2 * in * real;
        row.padded = 2 * in * checked(slice, "vocab_size");
        row.per_rank = dealt(row.per_rank);
        return row;
    }

    /// Visits are dealt to experts as evenly as tokens, wherever the experts are: of its tokens' visits a rank runs
    /// 1 / tp, for other ranks run some of them and it runs as many of theirs. Measured visits are its own.
    [[nodiscard]] cost_row expert_share(cost_row row, const dealing& own, const named_row& place) const {
        const std::uint64_t experts = own.units;
        if (experts % ep_ != 0) {
            throw error("num_experts", "must be a multiple of ep (" + std::to_string(ep_) + "), got " +
                                           std::to_string(experts) + place.said_after("num_experts"));
        }
        if (row.parameters % (ep_ * tp_) != 0) {
            refuse("moe_intermediate_size",
                   {"the experts' ", row.parameters, " weights must be a multiple of ep x tp, ", ep_, " x ", tp_});
        }
        if (row.what == statistic::routed) {
            const std::uint64_t parameters = row.parameters / (ep_ * tp_);
            row = divided(row, own.inner, "moe_intermediate_size", place);
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

    [[noreturn]] void refuse_size(std::string_view field, const char* relation, std::uint64_t size,
                                  std::string_view rest = "") const {
        refuse(field, {"must be ", relation, " tp (", tp_, "), got ", size, rest});
    }

    const tensor_options& how_;
    std::uint64_t tp_;
    std::uint64_t rank_;
    std::uint64_t ep_;
};

}  // namespace floptally::detail
