// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `statistic_scope`: the placement of a counted value along each axis of the layout.

namespace floptally::inline v0_3 {

/// The ways in which a value can be distributed over the ranks along one axis.
enum class placement : std::uint8_t {
    replicated,  ///< all ranks have the same value; a sum over these ranks checks that their values are equal
    trusted,     ///< the caller states that all ranks have the same value; a sum may leave out ranks
    sharded,     ///< each rank has a different part of the value
    first,       ///< the first rank along the axis has the whole value, the other ranks have 0
    last         ///< the last rank along the axis has the whole value, the other ranks have 0
};

/// The scope of a counted value: its placement along each axis of a layout. The scope says how to get the global value
/// from a sum over ranks: divide the sum by the sizes of all replicated axes.
class statistic_scope {
  public:
    /// The scope of a value that is sharded over dp, replicated over cp, tp and pp, and added once for each microbatch.
    constexpr statistic_scope() = default;

    /// Returns this scope with another placement along one axis of dp, cp, tp and pp.
    [[nodiscard]] constexpr statistic_scope along(parallel_axis axis, placement kind) const {
        statistic_scope changed = *this;
        changed.placements_[index_of(axis)] = kind;
        return changed;
    }
    /// Returns this scope with another placement along the virtual stages of a rank. `first` or `last`: the value is
    /// added once for each microbatch. `replicated`: each virtual stage adds the value. `sharded`: each virtual stage
    /// adds a different part.
    [[nodiscard]] constexpr statistic_scope along_virtual_stages(placement kind) const {
        statistic_scope changed = *this;
        changed.virtual_stages_ = kind;
        return changed;
    }

    /// Returns this scope with each `replicated` placement changed to `trusted`, for a sum over a smaller group such as
    /// Megatron's data-parallel group. Such a sum cannot detect a wrong declaration for an axis that it leaves out.
    [[nodiscard]] constexpr statistic_scope trusting_replicas() const {
        statistic_scope changed = *this;
        for (placement& kind : changed.placements_) {
            kind = kind == placement::replicated ? placement::trusted : kind;
        }
        return changed;
    }

    [[nodiscard]] constexpr placement along(parallel_axis axis) const { return placements_[index_of(axis)]; }
    [[nodiscard]] constexpr placement along_virtual_stages() const { return virtual_stages_; }

    /// Returns whether all ranks along an axis have the same value.
    [[nodiscard]] constexpr bool is_copied(parallel_axis axis) const {
        return along(axis) == placement::replicated || along(axis) == placement::trusted;
    }

    /// Returns the number of different parts into which the value is divided in a layout.
    [[nodiscard]] constexpr std::uint64_t parts(const parallel_layout& layout) const {
        std::uint64_t product = 1;
        for (const parallel_axis axis : dense_axes) {
            product *= along(axis) == placement::sharded ? layout.size(axis) : 1;
        }
        return product;
    }

    /// Returns the axes over which a sum must be taken to contain every part of the value.
    [[nodiscard]] constexpr axis_set axes_of_parts() const {
        axis_set axes;
        for (const parallel_axis axis : dense_axes) {
            axes = is_copied(axis) ? axes : axes | axis;
        }
        return axes;
    }

    /// Returns true if the rank of `layout` has the value or a part of the value.
    [[nodiscard]] constexpr bool holds(const parallel_layout& layout) const {
        for (const parallel_axis axis : dense_axes) {
            if (layout.coordinate(axis) != holder(axis, layout)) {
                return false;
            }
        }
        return true;
    }

    /// Throws if `amount` is not 0 although the scope says that the rank of `layout` has no part of the value.
    constexpr void require_holder(std::string_view name, std::uint64_t amount, const parallel_layout& layout) const {
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t coordinate = layout.coordinate(axis);
            if (amount != 0 && coordinate != holder(axis, layout)) {
                detail::refuse(name, {where(axis), ", but rank ", coordinate, " of ", layout.size(axis), " counted ",
                                      amount, ": count nothing on the other ranks"});
            }
        }
    }

    /// Returns the global value from a `sum` over `axes`. Throws in three cases: `axes` lacks an axis that the sum must
    /// cover, the sum is not a multiple of the number of replicas, or the value does not fit 64 bits.
    [[nodiscard]] constexpr std::uint64_t global(std::string_view name, uint128 sum, const parallel_layout& layout,
                                                 axis_set axes) const {
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t size = layout.size(axis);
            if (size == 1 || along(axis) == placement::trusted || axes.contains(axis)) {
                continue;
            }
            detail::refuse(name, {where(axis), ", but the sum is over ", axes.name(),
                                  is_copied(axis) ? ", and cannot show that the " : " and contains 1 of ", size,
                                  is_copied(axis) ? " ranks agree: sum over " : " parts: sum over ", name_of(axis),
                                  is_copied(axis) ? " too, or declare it trusted" : " too"});
        }
        for (const parallel_axis axis : dense_axes) {
            if (axes.contains(axis) && is_copied(axis)) {
                sum = divide(name, sum, layout.size(axis), name_of(axis));
            }
        }
        if (virtual_stages_ == placement::replicated) {
            sum = divide(name, sum, layout.sizes().vpp, "vpp");
        }
        if ((sum >> 64) != 0) {
            throw overflow(name, "the sum over all ranks does not fit 64 bits: count fewer samples");
        }
        return static_cast<std::uint64_t>(sum);
    }

    [[nodiscard]] friend constexpr bool operator==(const statistic_scope&, const statistic_scope&) = default;

    /// Returns the placement along an axis as text for errors: "is sharded over cp".
    [[nodiscard]] std::string where(parallel_axis axis) const {
        const placement kind = along(axis);
        const bool on_one = kind == placement::first || kind == placement::last;
        return detail::text_of({is_copied(axis)              ? "is replicated over "
                                : kind == placement::sharded ? "is sharded over "
                                : kind == placement::first   ? "exists on the first rank of "
                                                             : "exists on the last rank of ",
                                name_of(axis), on_one ? " only" : ""});
    }

  private:
    [[nodiscard]] static constexpr std::size_t index_of(parallel_axis axis) {
        if (static_cast<std::size_t>(axis) >= dense_axis_count) {
            detail::refuse(
                "scope",
                {name_of(axis),
                 " cannot be used, because its ranks are also ranks of dp x cp x tp: name dp, cp or tp instead"});
        }
        return static_cast<std::size_t>(axis);
    }

    /// Returns the coordinate along an axis of the one rank that must have the value (`first`, `last`). For any other
    /// placement returns this rank's coordinate.
    [[nodiscard]] constexpr std::uint64_t holder(parallel_axis axis, const parallel_layout& layout) const {
        return along(axis) == placement::first  ? 0
               : along(axis) == placement::last ? layout.size(axis) - 1
                                                : layout.coordinate(axis);
    }

    [[nodiscard]] static constexpr uint128 divide(std::string_view name, uint128 sum, std::uint64_t replicas,
                                                  std::string_view over) {
        if (sum % replicas != 0) {
            detail::refuse(name, {"is declared replicated over ", over, ", but the sum, ", to_string(sum),
                                  ", is not a multiple of ", replicas,
                                  ", the number of replicas; declare it sharded if each rank holds a part"});
        }
        return sum / replicas;
    }

    placement placements_[dense_axis_count] = {placement::replicated, placement::replicated, placement::sharded,
                                               placement::replicated};
    placement virtual_stages_ = placement::first;
};

/// The scopes that trainers use most, as constants.
namespace scopes {

/// The scope of values that are counted over whole sequences, such as those of cu_seqlens before any split. All ranks
/// of a data-parallel replica have the same values.
inline constexpr statistic_scope microbatch{};

/// The scope of values that each rank counts over its context-parallel shard of every sequence.
inline constexpr statistic_scope context_slice = microbatch.along(parallel_axis::cp, placement::sharded);

/// The scope of values that only the first pipeline stage has, such as the number of images, if it runs the vision
/// tower.
inline constexpr statistic_scope first_stage = microbatch.along(parallel_axis::pp, placement::first);

/// The scope of values that only the last pipeline stage has, such as the number of loss tokens.
inline constexpr statistic_scope last_stage = microbatch.along(parallel_axis::pp, placement::last);

/// The scope of the number of visits to experts. The routers in a rank's layers count visits over the rank's shard of
/// the sequences.
inline constexpr statistic_scope own_routers =
    context_slice.along(parallel_axis::pp, placement::sharded).along_virtual_stages(placement::sharded);

}  // namespace scopes

/// A tag by which the caller states that numerator and denominator of a ratio have different scopes on purpose.
struct different_scopes_t {};
/// The tag itself: pass it as the last argument of `ratio_scope`.
inline constexpr different_scopes_t different_scopes{};

/// The scopes of a ratio's numerator and denominator. If a loss sums its numerator over fewer ranks than its
/// denominator, the loss is wrong by a factor, and no error shows it. So both scopes must be equal unless the caller
/// passes `different_scopes`.
class ratio_scope {
  public:
    constexpr ratio_scope(const statistic_scope& both)  // NOLINT(google-explicit-constructor): one scope for both
        : numerator_(both), denominator_(both) {}
    constexpr ratio_scope(const statistic_scope& numerator, const statistic_scope& denominator)
        : ratio_scope(numerator, denominator, different_scopes) {
        for (const parallel_axis axis : dense_axes) {
            if (numerator.along(axis) != denominator.along(axis)) {
                detail::refuse("scope", {"the numerator ", numerator.where(axis), " and the denominator ",
                                         denominator.where(axis), ": their ratio is wrong by a factor of the size of ",
                                         name_of(axis), "; declare both alike, or pass different_scopes"});
            }
        }
        if (numerator.along_virtual_stages() != denominator.along_virtual_stages()) {
            throw error("scope",
                        "the numerator and the denominator have different scopes along virtual stages: declare both "
                        "alike, or pass different_scopes");
        }
    }
    constexpr ratio_scope(const statistic_scope& numerator, const statistic_scope& denominator, different_scopes_t)
        : numerator_(numerator), denominator_(denominator) {}

    [[nodiscard]] constexpr const statistic_scope& numerator() const { return numerator_; }
    [[nodiscard]] constexpr const statistic_scope& denominator() const { return denominator_; }

  private:
    statistic_scope numerator_;
    statistic_scope denominator_;
};

}  // namespace floptally
