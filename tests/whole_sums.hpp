// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/length_sums.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>

/// @file
/// The sums of whole lists of lengths, in both forms of batch/length_sums.hpp, as tests compare and time them.

namespace whole_sums {

using namespace floptally;
using namespace floptally::detail;

/// Sums over the lengths of a call, with those of the masks.
struct length_sums : fixed_sums {
    list<std::uint64_t> pairs;  ///< one per mask, in the order of the masks

    constexpr explicit length_sums(const mask_set& masks) { pairs.fill(masks.size(), 0); }

    [[nodiscard]] friend constexpr bool operator==(const length_sums&, const length_sums&) = default;
};

/// The sums of a list of lengths, as a tally makes them.
template <class List>
[[nodiscard]] constexpr length_sums add_up(const List& list, std::size_t n, const mask_set& masks) {
    length_sums sums{masks};
    static_cast<fixed_sums&>(sums) = sums_of(list, n, {masks, sums.pairs.begin(), nullptr}, view::useful);
    return sums;
}
/// The sums of a list of lengths by the plain form.
template <class List>
[[nodiscard]] constexpr length_sums add_up_plainly(const List& list, std::size_t n, const mask_set& masks) {
    length_sums sums{masks};
    borrowed_sums whole{masks, sums.pairs.begin()};
    add_plainly(list, 0, n, masks, whole);
    static_cast<fixed_sums&>(sums) = whole;
    return sums;
}

/// Exact sums over `n` lengths; pairs[i] under masks[i], with no past and no keys. The plain form.
template <integer T>
[[nodiscard]] constexpr length_sums sum_lengths_plainly(const T* lengths, std::size_t n, const mask_set& masks,
                                                        const char* field = "lengths") {
    return add_up_plainly(plain_lengths<T>{lengths, field}, n, masks);
}

/// Equal to `sum_lengths_plainly`, and fast.
template <integer T>
[[nodiscard]] constexpr length_sums sum_lengths(const T* lengths, std::size_t n, const mask_set& masks,
                                                const char* field = "lengths") {
    return add_up(plain_lengths<T>{lengths, field}, n, masks);
}

/// Exact sums over the n − 1 differences of `n` boundaries, the first of which is 0. The plain form.
template <integer T>
[[nodiscard]] constexpr length_sums sum_cu_seqlens_plainly(const T* cu_seqlens, std::size_t n, const mask_set& masks,
                                                           const char* field = "cu_seqlens") {
    return add_up_plainly(between(cu_seqlens, n, field), n - 1, masks);
}

/// Equal to `sum_cu_seqlens_plainly`, and fast.
template <integer T>
[[nodiscard]] constexpr length_sums sum_cu_seqlens(const T* cu_seqlens, std::size_t n, const mask_set& masks,
                                                   const char* field = "cu_seqlens") {
    return add_up(between(cu_seqlens, n, field), n - 1, masks);
}

}  // namespace whole_sums
