// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <floptally/integer/checked.hpp>

/// @file
/// `length_block`: sums over a block of lengths. Compilers turn its loops into SSE2 by themselves: g++ from -O3,
/// clang++ from -O2.

namespace floptally::detail {

// Without the pragma clang picks vectors by the 32-bit sums and leaves half of each 16-bit vector empty; where it may
// not vectorise (-Os, sanitizers) its warning is off. With its own pragma g++ counts and jumps once for two vectors.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#define FLOPTALLY_VECTOR_LOOP _Pragma("clang loop vectorize_width(8) interleave_count(1)")
#elif !defined(__CUDACC__)  // whose front end does not know the pragma
#define FLOPTALLY_VECTOR_LOOP _Pragma("GCC unroll 2")
#else
#define FLOPTALLY_VECTOR_LOOP
#endif

/// The most lengths in a block: few enough for the 32-bit halves of `product_sum<std::int16_t>`.
inline constexpr std::size_t block_size = 512;

/// The longest length in a block of N, in tokens: below 2^15 or 2^22, so that the sum of a block is below 2^31.
template <class N>
inline constexpr std::int64_t longest = std::is_same_v<N, std::int16_t> ? 0x7FFF : 0x3F'FFFF;

/// True where a number is above every length in a block of N.
template <class N>
[[nodiscard]] constexpr bool is_beyond(std::int64_t number) {
    return number > longest<N>;
}

/// The sum Σ a·b of a block, for 0 ≤ a, b ≤ `longest`.
template <class N>
class product_sum {
  public:
    void add(N a, N b) { sum_ += std::uint64_t{static_cast<std::uint32_t>(a)} * static_cast<std::uint32_t>(b); }
    [[nodiscard]] std::uint64_t total() const { return sum_; }

  private:
    std::uint64_t sum_ = 0;
};

/// The sum Σ a·b for SSE2, which multiplies 16-bit integers and adds the products in one instruction, but to 32 bits.
/// So a = 128·high + low: Σ high·b < 2^8 · 2^15 · 512 = 2^32 is exact, and Σ low·b < 2^31 is what Σ a·b, modulo 2^32,
/// exceeds 128 times the former by.
template <>
class product_sum<std::int16_t> {
  public:
    void add(std::int16_t a, std::int16_t b) {
        wrapped_ += static_cast<std::uint32_t>(a * b);
        high_ += static_cast<std::uint32_t>(static_cast<std::int16_t>(a >> 7) * b);
    }
    [[nodiscard]] std::uint64_t total() const {
        const std::uint32_t low = wrapped_ - (high_ << 7);
        return (std::uint64_t{high_} << 7) + low;
    }

  private:
    std::uint32_t wrapped_ = 0;
    std::uint32_t high_ = 0;
};

/// The remainder x mod `divisor`, for x and divisor ≤ `longest`, without a division.
///
/// Let B = 2^16 or 2^32 and m = ⌊(B−1)/d⌋, so B/d − 1 ≤ m < B/d. Then x·m/B < x/d, and x·m/B ≥ x/d − x/B > x/d − 1:
/// its floor q is ⌊x/d⌋ or one less. Hence x − (q+1)·d is in [−d, d), and one conditional + d makes it the remainder.
template <class N>
class modulus {
    using bits_type = std::make_unsigned_t<N>;
    using wide = std::conditional_t<sizeof(N) == 2, std::uint32_t, std::uint64_t>;

  public:
    explicit modulus(N divisor)
        : divisor_(static_cast<bits_type>(divisor)),
          multiplier_(static_cast<bits_type>(std::numeric_limits<bits_type>::max() / divisor_)) {}

    [[nodiscard]] N operator()(N x) const {
        const auto quotient =
            static_cast<bits_type>((wide{static_cast<bits_type>(x)} * multiplier_) >> (8 * sizeof(N)));
        const auto r = static_cast<N>(static_cast<bits_type>(x) - (quotient + 1U) * divisor_);
        return static_cast<N>(r < 0 ? r + static_cast<N>(divisor_) : r);
    }

  private:
    bits_type divisor_;
    bits_type multiplier_;
};

/// The lengths of a block, narrowed, and their sums.
template <class N>
struct length_block {
    N lengths[block_size];  // unset from `size` on
    std::size_t size;
    std::uint64_t count;
    std::uint64_t tokens;
    std::uint64_t squares;

    /// Loads the lengths first … first + n − 1; false where they are too long for the block, or bad.
    template <class Source>
    [[nodiscard]] bool load(const Source& source, std::size_t first, std::size_t n) {
        decltype(source.unchecked(0)) bits = 0;
        N empty = 0;
        std::uint32_t added = 0;
        product_sum<N> products;
        FLOPTALLY_VECTOR_LOOP
        for (std::size_t i = 0; i < n; ++i) {
            const auto length = source.unchecked(first + i);
            const auto narrow = static_cast<N>(length);
            bits |= length;
            empty = static_cast<N>(empty + (narrow == 0));
            added += static_cast<std::uint32_t>(length);
            products.add(narrow, narrow);
            lengths[i] = narrow;
        }
        if (bits > static_cast<std::uint64_t>(longest<N>) || !source.unwrapped(first, n)) {
            return false;
        }
        size = n;
        count = n - static_cast<std::size_t>(empty);
        tokens = source.total(first, n, added);
        squares = products.total();
        return true;
    }

    /// The sum Σ a·b over the lengths, where `factors` adds a and b of one length.
    template <class Factors>
    [[nodiscard]] std::uint64_t sum_products(const Factors& factors) const {
        product_sum<N> products;
        FLOPTALLY_VECTOR_LOOP
        for (std::size_t i = 0; i < size; ++i) {
            factors(lengths[i], products);
        }
        return products.total();
    }

    /// The sum over the lengths of Σ min(i, cap) over 0 ≤ i < length; a cap below 0 is none. As in
    /// `detail::capped_ramp`, it is the triangle of length − 1 less the triangle of the excess over the cap.
    [[nodiscard]] std::uint64_t capped_ramps(std::int64_t cap) const {
        if (cap == 0) {
            return 0;
        }
        const std::uint64_t all = squares - tokens;
        if (cap < 0 || is_beyond<N>(cap + 1)) {
            return all / 2;
        }
        const auto window = static_cast<N>(cap + 1);
        const std::uint64_t beyond = sum_products([window](N length, product_sum<N>& sum) {
            const auto excess = static_cast<N>(larger(length, window) - window);
            sum.add(excess, static_cast<N>(excess + 1));
        });
        return (all - beyond) / 2;
    }

    /// The sum Σ r(c − r) over the lengths, with r = L mod c.
    [[nodiscard]] std::uint64_t unfilled_chunks(N c) const {
        const modulus<N> remainder(c);
        return sum_products([c, remainder](N length, product_sum<N>& sum) {
            const N r = remainder(length);
            sum.add(r, static_cast<N>(c - r));
        });
    }
};

#undef FLOPTALLY_VECTOR_LOOP
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

}  // namespace floptally::detail
