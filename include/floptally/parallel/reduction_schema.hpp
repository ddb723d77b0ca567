// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include <floptally/batch/tally.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/rank_agreement.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/text/version.hpp>

/// @file
/// The message in which ranks compare all that they must agree on before they add up.

namespace floptally::detail {

/// The facts that all ranks must agree on before they add up, in a message whose size never depends on them: a rank
/// with other masks would send another number of words, and the sum would hang or mix them up.
class reduction_schema {
    static constexpr std::size_t things = 7;

  public:
    /// A schema of a sum. Without `counted_as` no count is evaluated from the sum, so that ranks need not agree on a
    /// convention. `coefficients` is the `coefficient_hash` of the model that evaluates it, 0 where only the convention
    /// is known.
    reduction_schema(const witnessed_sum& sum, const mask_set& masks, const std::optional<convention>& counted_as,
                     std::uint64_t coefficients = 0) {
        hashes_[0] = (schema_hash() << version).value();
        schema_hash of_masks;
        for (const rule& m : masks) {
            of_masks << m.name() << static_cast<std::uint64_t>(m.in());
        }
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            of_masks << std::uint64_t{masks.has(in)};
        }
        hashes_[1] = of_masks.value();
        hashes_[2] = counted_as ? hash_of(*counted_as, masks) : 0;
        hashes_[3] = coefficients;
        schema_hash scope;
        schema_hash names;
        for (const witnessed_sum::word& w : sum.words()) {
            for (const parallel_axis axis : dense_axes) {
                scope << static_cast<std::uint64_t>(w.scope.along(axis));
            }
            scope << static_cast<std::uint64_t>(w.scope.along_virtual_stages());
            names << w.name;
        }
        hashes_[4] = scope.value();
        const parallel_layout& layout = sum.layout();
        schema_hash shape;
        for (const parallel_axis axis : dense_axes) {
            shape << layout.size(axis);
        }
        shape << layout.sizes().vpp;
        for (const std::uint64_t rank : layout.at(0).group(every_axis)) {  // the order of ranks, through coordinates
            const parallel_coordinates at = layout.at(rank).coordinates();
            shape << at.dp << at.cp << at.tp << at.pp;
        }
        hashes_[5] = shape.value();
        hashes_[6] = names.value();
    }

    [[nodiscard]] std::array<std::uint64_t, 2 * things> message() const { return agreement_message(hashes_); }

    /// Throws where ranks differ, from the maxima over the ranks; these are equal on all ranks, and so is the error.
    static void require_agreement(const std::array<std::uint64_t, 2 * things>& maxima) {
        detail::require_agreement<things>(
            maxima, {"version", "masks", "convention", "coefficients", "scope", "layout", "words"},
            "so nothing was added up");
    }

  private:
    [[nodiscard]] static std::uint64_t hash_of(const convention& how, const mask_set& masks) {
        // All members are named, so that a new one does not compile before it is compared.
        const auto& [name, summary, causal, windows, backward, counted, delta_rule_flops, scan_flops, head, parameters,
                     indexer, groups, pairs] = how;
        static_assert(std::is_same_v<decltype(pairs), const count_pairs_function>);
        schema_hash hash;
        hash << name << summary << static_cast<std::uint64_t>(causal) << static_cast<std::uint64_t>(windows)
             << static_cast<std::uint64_t>(backward) << std::uint64_t{delta_rule_flops} << std::uint64_t{scan_flops}
             << static_cast<std::uint64_t>(head) << static_cast<std::uint64_t>(parameters)
             << static_cast<std::uint64_t>(indexer) << static_cast<std::uint64_t>(groups);
        for (std::size_t kind = 0; kind < term_count; ++kind) {
            hash << std::uint64_t{counted.contains(static_cast<term>(kind))};
        }
        // A function is compared by its results for masks of every shape and for the tally's own.
        const auto probe = [&, count_pairs = pairs](const rule& attends) {
            for (const bool alternating : {false, true}) {
                for (const bool indexing : {false, true}) {
                    for (const auto& [what, divisor] : count_pairs(attends, how, {alternating, indexing})) {
                        hash << std::string_view(what.name()) << std::uint64_t{divisor};
                    }
                    hash << std::uint64_t{0};
                }
            }
        };
        constexpr mask shapes[] = {mask::causal(),
                                   mask::bidirectional(),
                                   mask::sliding_window(4),
                                   mask::chunked(4),
                                   mask::top_k(4),
                                   mask::prefix_lm(4),
                                   mask::hstu(),
                                   mask::hstu({.is_causal = false}),
                                   mask::later_image_tokens(2),
                                   mask::cross_attention(),
                                   mask::encoder()};
        for (const mask& shape : shapes) {
            probe(shape);
        }
        for (const rule& own : masks) {
            probe(own);
        }
        return hash.value();
    }

    std::array<std::uint64_t, things> hashes_{};
};

/// A hash of all that a `flop_counter` evaluates a tally with, as one word: ranks with another model, plan or
/// convention have another hash wherever a number of a breakdown would differ. It names all members, so that a new one
/// does not compile before it is compared.
template <class Model>
[[nodiscard]] std::uint64_t coefficient_hash(const Model& model) {
    const auto& [masks, needs, is_upper_bound, names, groups, entries] = model.by_component();
    schema_hash hash;
    hash << std::uint64_t{masks.size()} << std::uint64_t{is_upper_bound};
    const auto& [routed, words, counted] = needs;
    hash << std::uint64_t{routed} << std::uint64_t{words} << std::uint64_t{counted};
    for (const auto& [component, continues, run, first, last] : groups) {
        const auto& [forward, backward_data, backward_weights, executed_more, recomputed_forward] = run;
        hash << names[component].view() << std::uint64_t{continues} << std::uint64_t{forward}
             << std::uint64_t{backward_data} << std::uint64_t{backward_weights} << std::uint64_t{recomputed_forward};
        for (const std::uint64_t more : executed_more) {
            hash << more;
        }
        for (std::size_t i = first; i < last; ++i) {
            const auto& [word, useful, padded] = entries[i];
            hash << std::uint64_t{word} << useful << padded;
        }
        hash << std::uint64_t{last};  // where the next begins
    }
    return hash.value();
}

}  // namespace floptally::detail
