// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/core.hpp>

/// @file
/// Samples with costs like those of real batches. They are drawn with integers only, so they are the same with every
/// compiler.

namespace workloads {

/// The generator SplitMix64 by Vigna.
class generator {
  public:
    explicit generator(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }

    /// A number from 0 to bound − 1. Small ones are more frequent, by less than bound ÷ 2^64.
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  private:
    std::uint64_t state_;
};

/// 2^(n / 65536) with 16 bits after the point: the product of 2^(1/2), 2^(1/4), … for the bits that n has.
inline std::uint64_t power_of_two(std::uint32_t n) {
    // 2^(2^-k) in 2^-32, for k = 1 … 16.
    constexpr std::array<std::uint64_t, 16> roots{
        6074000999, 5107605667, 4683695047, 4485121743, 4389014833, 4341736423, 4318288543, 4306612133,
        4300785773, 4297875550, 4296421177, 4295694174, 4295330720, 4295149004, 4295058149, 4295012722};
    std::uint64_t value = std::uint64_t{1} << 32;
    for (std::size_t k = 0; k < roots.size(); ++k) {
        if ((n >> (15 - k) & 1U) != 0) {
            value = (value >> 16) * (roots[k] >> 1) >> 15;
        }
    }
    return value >> 16 << (n >> 16);
}

/// Lengths from 1 to `longest` with a normal logarithm, with a median and a `sigma` in hundredths. The normal number is
/// the sum of twelve uniform ones, minus six.
inline std::vector<std::uint32_t> lognormal_lengths(std::size_t count, std::uint32_t median, std::uint32_t sigma,
                                                    std::uint32_t longest, std::uint64_t seed) {
    generator draw(seed);
    std::vector<std::uint32_t> lengths(count);
    for (std::uint32_t& length : lengths) {
        std::int64_t normal = -6 * 65536;
        for (int i = 0; i < 12; ++i) {
            normal += static_cast<std::int64_t>(draw.below(65536));
        }
        // The logarithm to base two; 1 ÷ ln 2 is 94548 ÷ 65536. Twenty octaves are added so that it is not negative.
        const std::int64_t octaves = normal * sigma / 100 * 94548 / 65536 + 20 * 65536;
        const std::uint64_t factor = power_of_two(static_cast<std::uint32_t>(octaves < 0 ? 0 : octaves));
        const std::uint64_t drawn = median * factor >> 36;
        length = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(drawn, 1, longest));
    }
    return lengths;
}

/// Lengths 64, 128, … up to `longest`. The n-th has a frequency proportional to 1 ÷ n.
inline std::vector<std::uint32_t> zipf_lengths(std::size_t count, std::uint32_t longest, std::uint64_t seed) {
    generator draw(seed);
    std::vector<std::uint64_t> sums;
    for (std::uint64_t n = 1; 64 * n <= longest; ++n) {
        sums.push_back((sums.empty() ? 0 : sums.back()) + (std::uint64_t{1} << 32) / n);
    }
    std::vector<std::uint32_t> lengths(count);
    for (std::uint32_t& length : lengths) {
        const auto n = std::upper_bound(sums.begin(), sums.end(), draw.below(sums.back())) - sums.begin() + 1;
        length = static_cast<std::uint32_t>(64 * n);
    }
    return lengths;
}

/// The images and the text of one sample. `text_tokens` does not include the tokens of images.
struct visual_sample {
    std::uint32_t text_tokens;
    std::vector<floptally::grid> images;
};

/// Samples of 0 to 8 images of 448 x 448 pixels in patches of 14, and some text.
inline std::vector<visual_sample> image_counts(std::size_t count, std::uint64_t seed) {
    generator draw(seed);
    const std::vector<std::uint32_t> texts = lognormal_lengths(count, 300, 80, 4096, seed + 1);
    std::vector<visual_sample> samples;
    for (const std::uint32_t text : texts) {
        samples.push_back({text, std::vector<floptally::grid>(draw.below(9), floptally::grid{1, 32, 32})});
    }
    return samples;
}

/// Samples like CORD's: one upright photo of a receipt, of any size, and its text.
inline std::vector<visual_sample> receipts(std::size_t count, std::uint64_t seed) {
    generator draw(seed);
    const std::vector<std::uint32_t> texts = lognormal_lengths(count, 200, 60, 2048, seed + 1);
    std::vector<visual_sample> samples;
    for (const std::uint32_t text : texts) {
        const auto width = static_cast<std::uint32_t>(2 * (15 + draw.below(30)));
        const auto height = static_cast<std::uint32_t>(width + 2 * draw.below(width / 2));
        samples.push_back({text, {floptally::grid{1, height, width}}});
    }
    return samples;
}

}  // namespace workloads
