// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A sum over ranks, with additional integers that show over which ranks it was taken.

namespace floptally::inline v0_3::detail {

/// Returns a well-mixed hash of an integer: splitmix64 (Steele, Lea, Flood 2014).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) {
    value += 0x9E37'79B9'7F4A'7C15U;
    value = (value ^ (value >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    value = (value ^ (value >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return value ^ (value >> 31U);
}

/// Returns a pseudo-random factor for one coordinate on an axis. Checksums of ranks are products of such factors. The
/// factor is odd, so products modulo 2^64 lose no bits.
[[nodiscard]] constexpr std::uint64_t weight(parallel_axis axis, std::uint64_t coordinate) {
    // The number 6 is part of the format of the messages that ranks sum. It must not change: other programs write them,
    // too.
    constexpr std::uint64_t step = 6;
    return mixed(coordinate * step + static_cast<std::uint64_t>(axis)) | 1U;
}

/// Returns the sum of the pseudo-random factors (`weight`) of all coordinates on an axis, modulo 2^64.
[[nodiscard]] constexpr std::uint64_t weights(parallel_axis axis, std::uint64_t size) {
    std::uint64_t sum = 0;
    for (std::uint64_t coordinate = 0; coordinate < size; ++coordinate) {
        sum += weight(axis, coordinate);
    }
    return sum;
}

}  // namespace floptally::inline v0_3

namespace floptally::inline v0_3 {

/// The rule that computes one integer of a message from one of a rank's values. Host and device use the same list of
/// rules.
struct message_part {
    std::uint32_t value;  ///< index of the value among the rank's values
    std::uint32_t shift;
    std::uint64_t bits;    ///< mask of the bits of the shifted value that are sent
    std::uint64_t factor;  ///< factor of the value, modulo 2^64
    bool must_be_zero;     ///< true: the scope says that this rank does not have the value, so the value must be 0

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t integer_of(const std::uint64_t* values) const {
        return ((values[value] >> shift) & bits) * factor;
    }
};

/// A sum of accumulators over ranks that shows over which ranks it was taken.
///
/// Every coordinate on an axis has a pseudo-random factor. Each rank sends its accumulators, a 1 and the product of the
/// factors of its coordinates. For every set of axes the sum of these products over a group of ranks (modulo 2^64) is
/// known. So the received sum shows over which axes it was taken, or that the ranks are not a group of this layout.
///
/// An accumulator is sent in two halves, so that no sum overflows. For each axis over which the accumulator is
/// replicated, the rank sends the accumulator again, multiplied by the pseudo-random factor of its coordinate on that
/// axis. If the replicas are equal, the second sum can be computed from the first one. All integers are 64-bit and
/// unsigned. One all-reduce (SUM) adds them all.
class verified_sum {
  public:
    /// An accumulator of the sum: its name in errors and its scope.
    struct accumulator {
        std::string name;
        statistic_scope scope{};
    };

    verified_sum(const parallel_layout& layout, std::vector<accumulator> accumulators)
        : layout_(layout), accumulators_(std::move(accumulators)) {
        size_ = header_size;
        for (const accumulator& w : accumulators_) {
            size_ += 2;
            for (const parallel_axis axis : dense_axes) {
                size_ += is_verified(w, axis) ? 1U : 0U;
            }
        }
        for (const parallel_axis axis : dense_axes) {
            weights_[static_cast<std::size_t>(axis)] = detail::weights(axis, layout_.size(axis));
        }
    }

    [[nodiscard]] const parallel_layout& layout() const { return layout_; }
    [[nodiscard]] const std::vector<accumulator>& accumulators() const { return accumulators_; }
    [[nodiscard]] std::size_t message_size() const { return size_; }

    /// Returns the rules that compute the integers after the header of a message, in the order of the accumulators.
    [[nodiscard]] std::vector<message_part> parts() const {
        std::vector<message_part> all;
        for (std::uint32_t i = 0; i < accumulators_.size(); ++i) {
            const bool absent = !accumulators_[i].scope.holds(layout_);
            all.push_back({i, 0, low_half, 1, absent});
            all.push_back({i, 32, low_half, 1, absent});
            for (const parallel_axis axis : dense_axes) {
                if (is_verified(accumulators_[i], axis)) {
                    all.push_back({i, 0, ~std::uint64_t{0}, detail::weight(axis, layout_.coordinate(axis)), absent});
                }
            }
        }
        return all;
    }

    /// A message begins with four integers. After the sum they are: the number of ranks, a checksum of their
    /// coordinates in the layout, the number of ranks with an error, and the sum of these ranks' indices.
    static constexpr std::size_t header_size = 4;
    struct message_header {
        std::uint64_t integers[header_size];
    };
    [[nodiscard]] message_header header(bool refuses) const {
        return {{1, product_of_weights({}), refuses ? std::uint64_t{1} : 0, refuses ? layout_.rank() : 0}};
    }

    /// Returns the message that this rank adds to the sum.
    [[nodiscard]] std::vector<std::uint64_t> message(std::span<const std::uint64_t> values) const {
        const message_header first = header(false);
        std::vector<std::uint64_t> message(std::begin(first.integers), std::end(first.integers));
        message.reserve(size_);
        for (std::size_t i = 0; i < accumulators_.size(); ++i) {
            accumulators_[i].scope.require_holder(accumulators_[i].name, values[i], layout_);
        }
        for (const message_part& part : parts()) {
            message.push_back(part.integer_of(values.data()));
        }
        return message;
    }

    /// Takes part in the sum on a rank that has an error. The other ranks see the error and do not wait. Messages of up
    /// to 1024 integers need no memory allocation.
    template <class Reducer>
    void refuse(Reducer& reducer) const {
        const message_header first = header(true);
        std::array<std::uint64_t, 1024> usual{};
        std::vector<std::uint64_t> large(size_ <= usual.size() ? 0 : size_);
        const std::span<std::uint64_t> message(large.empty() ? usual.data() : large.data(), size_);
        std::copy(std::begin(first.integers), std::end(first.integers), message.begin());
        reducer.sum(message);
    }

    /// Returns the axes over which the sum was taken, not counting axes of size 1. Throws if the summed ranks are not a
    /// group of this layout.
    [[nodiscard]] axis_set summed_axes(std::span<const std::uint64_t> sums) const {
        if (sums.size() != size_) {
            throw error("sum", "must have the " + std::to_string(size_) + " integers of the message, got " +
                                   std::to_string(sums.size()));
        }
        for (unsigned bits = 0; bits < 1U << dense_axis_count; ++bits) {
            axis_set axes;
            bool is_least = true;
            for (const parallel_axis axis : dense_axes) {
                if ((bits >> static_cast<unsigned>(axis) & 1U) != 0) {
                    axes = axes | axis;
                    is_least = is_least && layout_.size(axis) > 1;
                }
            }
            const std::uint64_t ranks = layout_.size(axes);
            if (!is_least || sums[0] % ranks != 0 || sums[1] != sums[0] / ranks * product_of_weights(axes)) {
                continue;
            }
            if (sums[0] != ranks) {
                throw error("sum", "contains every rank of " + axes.name() + " " + std::to_string(sums[0] / ranks) +
                                       " times, because it was reduced before: reduce each message once");
            }
            return axes;
        }
        throw error("sum", "covers " + std::to_string(sums[0]) + " ranks, which are no group of this layout (" +
                               layout_name() + "): pass a reducer over whole axes");
    }

    /// Returns the global values from the sum of the messages. Throws the same error on every rank.
    [[nodiscard]] std::vector<std::uint64_t> globals(std::span<const std::uint64_t> sums) const {
        const axis_set axes = summed_axes(sums);
        if (sums[2] != 0) {
            throw error("sum", sums[2] == 1
                                   ? "rank " + std::to_string(sums[3]) + " failed: look at the error of that rank"
                                   : std::to_string(sums[2]) + " ranks failed: look at the errors of those ranks");
        }
        std::vector<std::uint64_t> values;
        const std::uint64_t* next = sums.data() + header_size;
        for (const accumulator& w : accumulators_) {
            const uint128 sum = (uint128{next[1]} << 32U) + next[0];
            next += 2;
            const std::uint64_t global = w.scope.global(w.name, sum, layout_, axes);
            for (const parallel_axis axis : dense_axes) {
                if (!is_verified(w, axis)) {
                    continue;
                }
                const std::uint64_t one_replica = static_cast<std::uint64_t>(sum / layout_.size(axis));
                if (axes.contains(axis) && *next != one_replica * weights_[static_cast<std::size_t>(axis)]) {
                    throw error(w.name, "is declared replicated over " + std::string(name_of(axis)) + ", but its " +
                                            std::to_string(layout_.size(axis)) +
                                            " ranks hold different values; declare it sharded if each holds a part");
                }
                ++next;
            }
            values.push_back(global);
        }
        return values;
    }

  private:
    static constexpr std::uint64_t low_half = 0xFFFF'FFFFU;

    [[nodiscard]] bool is_verified(const accumulator& w, parallel_axis axis) const {
        return w.scope.is_copied(axis) && layout_.size(axis) > 1;
    }

    /// Each rank has a checksum: the product of `weight` over its coordinates. Returns the sum of the checksums of all
    /// ranks in the group that spans `axes`.
    [[nodiscard]] std::uint64_t product_of_weights(axis_set axes) const {
        std::uint64_t product = 1;
        for (const parallel_axis axis : dense_axes) {
            product *= axes.contains(axis) ? weights_[static_cast<std::size_t>(axis)]
                                           : detail::weight(axis, layout_.coordinate(axis));
        }
        return product;
    }

    [[nodiscard]] std::string layout_name() const {
        std::string text;
        for (const parallel_axis axis : {parallel_axis::dp, parallel_axis::cp, parallel_axis::tp, parallel_axis::pp}) {
            append_item(text, std::string(name_of(axis)).append(" ").append(std::to_string(layout_.size(axis))));
        }
        return text;
    }

    parallel_layout layout_;
    std::vector<accumulator> accumulators_;
    std::size_t size_ = 0;
    std::uint64_t weights_[dense_axis_count]{};
};

}  // namespace floptally::inline v0_3
