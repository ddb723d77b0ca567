// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/convention.hpp>
#include <floptally/detail/witnessed_sum.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel_layout.hpp>
#include <floptally/statistic_scope.hpp>
#include <floptally/tally.hpp>
#include <floptally/term.hpp>
#include <floptally/tower.hpp>
#include <floptally/version.hpp>

namespace floptally::detail {

/// A word for any sequence of words and texts.
class schema_hash {
  public:
    schema_hash& operator<<(std::uint64_t value) {
        value_ = mixed(value_ ^ value);
        return *this;
    }
    schema_hash& operator<<(std::string_view text) {
        *this << std::uint64_t{text.size()};
        for (const char c : text) {
            *this << std::uint64_t{static_cast<unsigned char>(c)};
        }
        return *this;
    }
    [[nodiscard]] std::uint64_t value() const { return value_; }

  private:
    std::uint64_t value_ = 0;
};

/// What all ranks must agree on before they add up, in a message whose size is the same whatever they believe: a rank
/// with other masks would send another number of words, and the sum would hang or mix them up.
class reduction_schema {
  public:
    static constexpr std::size_t fields = 6;
    using message_words = std::array<std::uint64_t, 2 * fields>;

    reduction_schema(const witnessed_sum& sum, const mask_set& masks, const convention& counted_as) {
        hashes_[0] = (schema_hash() << version).value();
        schema_hash of_masks;
        for (const mask& m : masks) {
            of_masks << m.name() << static_cast<std::uint64_t>(m.in());
        }
        for (const tower in : {tower::text, tower::vision, tower::audio}) {
            of_masks << std::uint64_t{masks.has(in)};
        }
        hashes_[1] = of_masks.value();
        hashes_[2] = hash_of(counted_as);
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

    /// Each hash and its complement: under MAX they give the largest and the least.
    [[nodiscard]] message_words message() const {
        message_words words{};
        for (std::size_t i = 0; i < fields; ++i) {
            words[2 * i] = hashes_[i];
            words[2 * i + 1] = ~hashes_[i];
        }
        return words;
    }

    /// From the maxima over the ranks, which are the same on all of them: so is the error.
    static void require_agreement(const message_words& maxima) {
        constexpr const char* names[fields] = {"version", "masks", "convention", "scope", "layout", "words"};
        for (std::size_t i = 0; i < fields; ++i) {
            if (maxima[2 * i] != ~maxima[2 * i + 1]) {
                throw error(names[i], "the ranks do not agree on it, so nothing was added up");
            }
        }
    }

  private:
    [[nodiscard]] static std::uint64_t hash_of(const convention& how) {
        schema_hash hash;
        hash << how.name << static_cast<std::uint64_t>(how.causal) << static_cast<std::uint64_t>(how.windows)
             << static_cast<std::uint64_t>(how.backward) << std::uint64_t{how.delta_rule_flops}
             << std::uint64_t{how.scan_flops} << static_cast<std::uint64_t>(how.head)
             << static_cast<std::uint64_t>(how.parameters);
        for (std::size_t kind = 0; kind < term_count; ++kind) {
            hash << std::uint64_t{how.counted.contains(static_cast<term>(kind))};
        }
        return hash.value();
    }

    std::uint64_t hashes_[fields]{};
};

}  // namespace floptally::detail
