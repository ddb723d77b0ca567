// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Experts that tokens choose among, and how many of them a pass reads.

namespace floptally::detail {

/// A choice among experts, as a row of their weights says it.
struct expert_choice {
    std::uint64_t experts = 0;  ///< 0: the row is of no choice
    std::uint64_t chosen = 0;   ///< by a token
    std::uint64_t size = 0;     ///< elements of one expert's matrix

    [[nodiscard]] static constexpr expert_choice of(const cost_row& row) {
        const std::uint64_t experts = row.dealt.by == tensor_split::experts ? row.dealt.units : 0;
        const std::uint64_t size = experts == 0 ? 0 : row.parameters / experts;
        const bool is_choice = size != 0 && row.what != statistic::routed && size * experts == row.parameters &&
                               row.padded / 2 % size == 0 && row.padded / 2 < row.parameters;
        return is_choice ? expert_choice{experts, row.padded / 2 / size, size} : expert_choice{};
    }
};

/// The layers of a model with experts that tokens choose among.
struct expert_layers {
    std::uint64_t layers = 0;
    expert_choice choice{};
    bool are_alike = true;  ///< as many experts in each, of the same size
    bool are_all = true;    ///< no row of experts is without such a choice

    explicit expert_layers(std::span<const model_part> parts) {
        std::uint64_t of_layer = 0;
        for (const model_part& part : parts) {
            expert_choice own;
            for (const cost_row& row : part.elsewhere ? std::span<const cost_row>{} : rows_of(part)) {
                const expert_choice next = expert_choice::of(row);
                const bool is_matrix = meaning_of(row.kind).operands == term_operands::matrix;
                are_all = are_all && (next.experts != 0 || !is_matrix || row.parameters <= row.padded / 2);
                if (next.experts != 0) {
                    are_alike = are_alike && (own.experts == 0 || own.experts == next.experts);
                    own = {next.experts, next.chosen, own.size + next.size};
                }
            }
            if (own.experts != 0) {
                are_alike = are_alike && (of_layer == 0 || (of_layer == own.size && choice.experts == own.experts &&
                                                            choice.chosen == own.chosen));
                of_layer = own.size;
                choice = own;
                layers += part.repeat;
            }
        }
    }

    /// Throws where so many distinct experts, over all layers and batches, cannot have been read by `tokens` tokens.
    void require_possible(std::uint64_t distinct, std::uint64_t tokens, std::uint64_t batches) const {
        constexpr const char* field = "distinct_experts";
        if (layers == 0) {
            refuse(field, {"this model has no experts that tokens choose among"});
        }
        if (!are_alike || !are_all) {
            refuse(field, {"this model's layers have experts of several kinds, which one number cannot tell apart"});
        }
        const std::uint64_t least = checked(tokens == 0 ? 0 : layers, field) * choice.chosen;
        const std::uint64_t most =
            checked(layers, field) *
            std::min<std::uint64_t>(checked(batches, field) * choice.experts, checked(tokens, field) * choice.chosen);
        if (distinct < least || distinct > most) {
            refuse(field,
                   {"must be from ", least, " to ", most, ": of ", choice.experts, " experts in each of ", layers,
                    " layers and ", batches, batches == 1 ? " batch, got " : " batches, got ", distinct});
        }
    }

  private:
    [[nodiscard]] static std::span<const cost_row> rows_of(const model_part& part) {
        return {part.cost.rows().begin(), part.cost.rows().end()};
    }
};

/// A number over all layers, of a sum that has one part of each.
struct layer_share {
    std::uint64_t times = 1;
    std::uint64_t layers = 1;
};

}  // namespace floptally::detail
