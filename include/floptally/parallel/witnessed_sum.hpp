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
/// Words that travel with a sum and show which ranks it covers.

namespace floptally::detail {

/// A well-mixed hash of a word: splitmix64 (Steele, Lea, Flood 2014).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t value) {
    value += 0x9E37'79B9'7F4A'7C15U;
    value = (value ^ (value >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    value = (value ^ (value >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return value ^ (value >> 31U);
}

/// The random weight of one coordinate on one axis, odd so that products keep all bits.
[[nodiscard]] constexpr std::uint64_t weight(parallel_axis axis, std::uint64_t coordinate) {
    return mixed(coordinate * parallel_axis_count + static_cast<std::uint64_t>(axis)) | 1U;
}

/// The sum of the weights of an axis, modulo 2^64.
[[nodiscard]] constexpr std::uint64_t weights(parallel_axis axis, std::uint64_t size) {
    std::uint64_t sum = 0;
    for (std::uint64_t coordinate = 0; coordinate < size; ++coordinate) {
        sum += weight(axis, coordinate);
    }
    return sum;
}

/// One word of a message, computed from one value of a rank; a device fills the message from the same parts as the
/// host.
struct message_part {
    std::uint32_t value;  ///< index of the value
    std::uint32_t shift;
    std::uint64_t bits;    ///< mask of the bits that are kept after the shift
    std::uint64_t factor;  ///< modulo 2^64
    bool must_be_zero;     ///< this rank does not hold the value

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of(const std::uint64_t* values) const {
        return ((values[value] >> shift) & bits) * factor;
    }
};

/// A sum of words over ranks that shows which ranks it covers.
///
/// Beside its words each rank sends a 1 and the product of its weights on all axes. A group over some axes has a known
/// sum of these products (modulo 2^64), so that the sum shows which axes were added up, or that the ranks were no
/// group. A word goes in two halves, so that no sum wraps, and once more times the weight on each axis over which it is
/// replicated: if the replicas are equal, that sum follows from the first one. All of it is one SUM of unsigned words.
class witnessed_sum {
  public:
    /// A word of the sum: its name in errors and its scope.
    struct word {
        std::string name;
        statistic_scope scope{};
    };

    witnessed_sum(const parallel_layout& layout, std::vector<word> words) : layout_(layout), words_(std::move(words)) {
        size_ = header_size;
        for (const word& w : words_) {
            size_ += 2;
            for (const parallel_axis axis : dense_axes) {
                size_ += is_witnessed(w, axis) ? 1U : 0U;
            }
        }
        for (const parallel_axis axis : dense_axes) {
            weights_[static_cast<std::size_t>(axis)] = weights(axis, layout_.size(axis));
        }
    }

    [[nodiscard]] const parallel_layout& layout() const { return layout_; }
    [[nodiscard]] const std::vector<word>& words() const { return words_; }
    [[nodiscard]] std::size_t message_size() const { return size_; }

    /// The parts of a message after its header, word by word.
    [[nodiscard]] std::vector<message_part> parts() const {
        std::vector<message_part> all;
        for (std::uint32_t i = 0; i < words_.size(); ++i) {
            const bool absent = !words_[i].scope.holds(layout_);
            all.push_back({i, 0, low_half, 1, absent});
            all.push_back({i, 32, low_half, 1, absent});
            for (const parallel_axis axis : dense_axes) {
                if (is_witnessed(words_[i], axis)) {
                    all.push_back({i, 0, ~std::uint64_t{0}, weight(axis, layout_.coordinate(axis)), absent});
                }
            }
        }
        return all;
    }

    static constexpr std::size_t header_size = 4;  // ranks, Σ products of weights, ranks that refused, Σ their numbers
    struct message_header {
        std::uint64_t words[header_size];
    };
    [[nodiscard]] message_header header(bool refuses) const {
        return {{1, product_of_weights({}), refuses ? std::uint64_t{1} : 0, refuses ? layout_.rank() : 0}};
    }

    /// The message that this rank adds to the sum.
    [[nodiscard]] std::vector<std::uint64_t> message(std::span<const std::uint64_t> values) const {
        const message_header first = header(false);
        std::vector<std::uint64_t> sent(std::begin(first.words), std::end(first.words));
        sent.reserve(size_);
        for (std::size_t i = 0; i < words_.size(); ++i) {
            words_[i].scope.require_holder(words_[i].name, values[i], layout_);
        }
        for (const message_part& part : parts()) {
            sent.push_back(part.of(values.data()));
        }
        return sent;
    }

    /// Takes part in the sum of a rank that has an error of its own: the others learn of it and no rank waits. A
    /// message of usual size needs no memory.
    template <class Reducer>
    void refuse(Reducer& over) const {
        const message_header first = header(true);
        std::array<std::uint64_t, 1024> usual{};
        std::vector<std::uint64_t> large(size_ <= usual.size() ? 0 : size_);
        const std::span<std::uint64_t> sent(large.empty() ? usual.data() : large.data(), size_);
        std::copy(std::begin(first.words), std::end(first.words), sent.begin());
        over.sum(sent);
    }

    /// The axes that were added up; an axis of size 1 is not among them. Throws where the sum is of no group of this
    /// layout.
    [[nodiscard]] axis_set summed_axes(std::span<const std::uint64_t> sums) const {
        if (sums.size() != size_) {
            throw error("sum", "must have the " + std::to_string(size_) + " words of the message, got " +
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
                throw error("sum", "has every rank of " + axes.name() + " " + std::to_string(sums[0] / ranks) +
                                       " times: it was added up before");
            }
            return axes;
        }
        throw error("sum", "is of " + std::to_string(sums[0]) + " ranks that are no group of this layout (" +
                               layout_name() + ")");
    }

    /// The global values, from the sum of the messages. Throws the same error on every rank.
    [[nodiscard]] std::vector<std::uint64_t> globals(std::span<const std::uint64_t> sums) const {
        const axis_set axes = summed_axes(sums);
        if (sums[2] != 0) {
            throw error("sum", sums[2] == 1 ? "rank " + std::to_string(sums[3]) + " refused; its own error says why"
                                            : std::to_string(sums[2]) + " ranks refused; their own errors say why");
        }
        std::vector<std::uint64_t> found;
        const std::uint64_t* next = sums.data() + header_size;
        for (const word& w : words_) {
            const uint128 sum = (uint128{next[1]} << 32U) + next[0];
            next += 2;
            const std::uint64_t global = w.scope.global(w.name, sum, layout_, axes);
            for (const parallel_axis axis : dense_axes) {
                if (!is_witnessed(w, axis)) {
                    continue;
                }
                const std::uint64_t of_one = static_cast<std::uint64_t>(sum / layout_.size(axis));
                if (axes.contains(axis) && *next != of_one * weights_[static_cast<std::size_t>(axis)]) {
                    throw error(w.name, "is declared replicated over " + std::string(name_of(axis)) + ", and its " +
                                            std::to_string(layout_.size(axis)) + " ranks counted differently");
                }
                ++next;
            }
            found.push_back(global);
        }
        return found;
    }

  private:
    static constexpr std::uint64_t low_half = 0xFFFF'FFFFU;

    [[nodiscard]] bool is_witnessed(const word& w, parallel_axis axis) const {
        return w.scope.is_copied(axis) && layout_.size(axis) > 1;
    }

    /// The sum over the group of these axes of the product of weights, which factors into a product of sums.
    [[nodiscard]] std::uint64_t product_of_weights(axis_set axes) const {
        std::uint64_t product = 1;
        for (const parallel_axis axis : dense_axes) {
            product *=
                axes.contains(axis) ? weights_[static_cast<std::size_t>(axis)] : weight(axis, layout_.coordinate(axis));
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
    std::vector<word> words_;
    std::size_t size_ = 0;
    std::uint64_t weights_[dense_axis_count]{};
};

}  // namespace floptally::detail
