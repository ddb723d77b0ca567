// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <floptally/convention.hpp>
#include <floptally/detail/rank_agreement.hpp>
#include <floptally/detail/witnessed_sum.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/term.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/tally.hpp>
#include <floptally/version.hpp>

namespace floptally::detail {

/// What all ranks must agree on before they add up, in a message whose size is the same whatever they believe: a rank
/// with other masks would send another number of words, and the sum would hang or mix them up.
class reduction_schema {
  public:
    /// Without `counted_as` nothing is evaluated of the sum, so that ranks need not agree on how.
    reduction_schema(const witnessed_sum& sum, const mask_set& masks, const std::optional<convention>& counted_as) {
        hashes_[0] = (schema_hash() << version).value();
        schema_hash of_masks;
        for (const rule& m : masks) {
            of_masks << m.name() << static_cast<std::uint64_t>(m.in());
        }
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            of_masks << std::uint64_t{masks.has(in)};
        }
        hashes_[1] = of_masks.value();
        hashes_[2] = counted_as ? hash_of(*counted_as) : 0;
        schema_hash scope;
        schema_hash names;
        for (const witnessed_sum::word& w : sum.words()) {
            for (const parallel_axis axis : dense_axes) {
                scope << static_cast<std::uint64_t>(w.scope.along(axis));
            }
            scope << static_cast<std::uint64_t>(w.scope.along_virtual_stages());
            names << w.name;
        }
        hashes_[3] = scope.value();
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
        hashes_[4] = shape.value();
        hashes_[5] = names.value();
    }

    [[nodiscard]] agreement_words message() const { return agreement_message(hashes_); }

    /// From the maxima over the ranks, which are the same on all of them: so is the error.
    static void require_agreement(const agreement_words& maxima) {
        detail::require_agreement(maxima, {"version", "masks", "convention", "scope", "layout", "words"},
                                  "so nothing was added up");
    }

  private:
    [[nodiscard]] static std::uint64_t hash_of(const convention& how) {
        schema_hash hash;
        hash << how.name << static_cast<std::uint64_t>(how.causal) << static_cast<std::uint64_t>(how.windows)
             << static_cast<std::uint64_t>(how.backward) << std::uint64_t{how.delta_rule_flops}
             << std::uint64_t{how.scan_flops} << static_cast<std::uint64_t>(how.head)
             << static_cast<std::uint64_t>(how.parameters);
        // Its function, by what it makes of masks of every kind.
        for (const mask& probe :
             {mask::causal(), mask::bidirectional(), mask::sliding_window(4), mask::chunked(4), mask::top_k(4),
              mask::prefix_lm(4), mask::hstu(), mask::hstu({.is_causal = false}), mask::later_image_tokens(2)}) {
            for (const bool alternating : {false, true}) {
                for (const auto& [what, divisor] : how.pairs(probe, how, {.has_layer_without_window = alternating})) {
                    hash << std::string_view(what.name()) << std::uint64_t{divisor};
                }
            }
        }
        for (std::size_t kind = 0; kind < term_count; ++kind) {
            hash << std::uint64_t{how.counted.contains(static_cast<term>(kind))};
        }
        return hash.value();
    }

    agreement_hashes hashes_{};
};

}  // namespace floptally::detail
