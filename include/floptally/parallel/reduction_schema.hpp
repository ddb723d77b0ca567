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
#include <floptally/parallel/verified_sum.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/version.hpp>

/// @file
/// The message with which ranks check, before a sum, that they agree on masks, scopes, layout and convention.

namespace floptally::inline v0_3::detail {

/// The facts on which all ranks must agree before they sum, as a message. The size of the message does not depend on
/// the facts. Otherwise a rank with different masks would send a different number of integers, and the collective would
/// hang or return garbage.
class reduction_schema {
    static constexpr std::size_t facts = 7;

  public:
    /// Collects the facts on which ranks must agree before one sum. Leave out `counted_as` if the sum is not evaluated,
    /// so that ranks need not agree on a convention. `coefficients` is the `coefficient_hash` of the model that
    /// evaluates the sum, or 0 if only the convention is known.
    reduction_schema(const verified_sum& sum, const mask_set& masks, const std::optional<convention>& counted_as,
                     std::uint64_t coefficients = 0) {
        hashes_[0] = (schema_hash() << version).value();
        schema_hash masks_hash;
        for (const statistic& m : masks) {
            masks_hash << m.name() << static_cast<std::uint64_t>(m.in());
        }
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            masks_hash << std::uint64_t{masks.has(in)};
        }
        hashes_[1] = masks_hash.value();
        hashes_[2] = counted_as ? hash_of(*counted_as, masks) : 0;
        hashes_[3] = coefficients;
        schema_hash scope;
        schema_hash names;
        for (const verified_sum::accumulator& held : sum.accumulators()) {
            for (const parallel_axis axis : dense_axes) {
                scope << static_cast<std::uint64_t>(held.scope.along(axis));
            }
            scope << static_cast<std::uint64_t>(held.scope.along_virtual_stages());
            names << held.name;
        }
        hashes_[4] = scope.value();
        const parallel_layout& layout = sum.layout();
        schema_hash shape;
        for (const parallel_axis axis : dense_axes) {
            shape << layout.size(axis);
        }
        shape << layout.sizes().vpp;
        for (const std::uint64_t rank : layout.at(0).group(every_axis)) {  // The hash includes the order of all ranks.
            const parallel_coordinates coordinates = layout.at(rank).coordinates();
            shape << coordinates.dp << coordinates.cp << coordinates.tp << coordinates.pp;
        }
        hashes_[5] = shape.value();
        hashes_[6] = names.value();
    }

    [[nodiscard]] std::array<std::uint64_t, 2 * facts> message() const { return agreement_message(hashes_); }

    /// Throws if the messages of the ranks differ. `maxima` are the maxima of the messages over all ranks. Every rank
    /// has the same maxima, so every rank throws the same error.
    static void require_agreement(const std::array<std::uint64_t, 2 * facts>& maxima) {
        detail::require_agreement<facts>(
            maxima, {"version", "masks", "convention", "coefficients", "scope", "layout", "integers"},
            "so nothing was added up");
    }

  private:
    [[nodiscard]] static std::uint64_t hash_of(const convention& counting, const mask_set& masks) {
        // All members of `convention` are listed by name. If a member is added to it, this line does not compile until
        // the member is hashed, too.
        const auto& [name, summary, causal, windows, backward, counted, delta_rule_flops, channel_decay_flops,
                     delta_chunk, scan_flops, head, parameters, indexer, groups, operators, training, pairs] = counting;
        static_assert(std::is_same_v<decltype(pairs), const count_pairs_function>);
        schema_hash hash;
        hash << name << summary << static_cast<std::uint64_t>(causal) << static_cast<std::uint64_t>(windows)
             << static_cast<std::uint64_t>(backward) << std::uint64_t{delta_rule_flops}
             << std::uint64_t{channel_decay_flops} << std::uint64_t{delta_chunk} << std::uint64_t{scan_flops}
             << static_cast<std::uint64_t>(head) << static_cast<std::uint64_t>(parameters)
             << static_cast<std::uint64_t>(indexer) << static_cast<std::uint64_t>(groups)
             << static_cast<std::uint64_t>(operators) << static_cast<std::uint64_t>(training);
        for (std::size_t kind = 0; kind < term_count; ++kind) {
            hash << std::uint64_t{counted.contains(static_cast<term>(kind))};
        }
        // The convention's function `pairs` cannot be compared directly. So its results are hashed for masks of every
        // shape and for the tally's masks.
        const auto probe = [&, count_pairs = pairs](const statistic& attends) {
            for (const bool alternating : {false, true}) {
                for (const bool indexing : {false, true}) {
                    for (const auto& [counted_pairs, divisor] :
                         count_pairs(attends, counting, {alternating, indexing})) {
                        hash << std::string_view(counted_pairs.name()) << std::uint64_t{divisor};
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
        for (const statistic& own : masks) {
            probe(own);
        }
        return hash.value();
    }

    std::array<std::uint64_t, facts> hashes_{};
};

/// Returns a hash of everything in a `flop_counter` that determines its breakdowns. Ranks with a different model, plan
/// or convention have different hashes if any number of a breakdown could differ. If a member is added to one of the
/// hashed structs, this function does not compile until the member is hashed, too.
template <class Model>
[[nodiscard]] std::uint64_t coefficient_hash(const Model& model) {
    const auto& [masks, needs, is_upper_bound, names, groups, coefficients] = model.by_component();
    schema_hash hash;
    hash << std::uint64_t{masks.size()} << std::uint64_t{is_upper_bound};
    const auto& [routed, integers, counted] = needs;
    hash << std::uint64_t{routed} << std::uint64_t{integers} << std::uint64_t{counted};
    for (const auto& [component, continues, run, first, last] : groups) {
        const auto& [forward, backward_data, backward_weights, executed_more, recomputed_forward] = run;
        hash << names[component].view() << std::uint64_t{continues} << std::uint64_t{forward}
             << std::uint64_t{backward_data} << std::uint64_t{backward_weights} << std::uint64_t{recomputed_forward};
        for (const std::uint64_t more : executed_more) {
            hash << more;
        }
        for (std::size_t i = first; i < last; ++i) {
            const auto& [integer, useful, padded] = coefficients[i];
            hash << std::uint64_t{integer} << useful << padded;
        }
        hash << std::uint64_t{last};  // separates this group of coefficients from the next one in the hash
    }
    return hash.value();
}

}  // namespace floptally::detail
