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
/// The scope of a statistic: its share on each rank, axis by axis.

namespace floptally {

/// The share of a statistic that each rank along one axis holds.
enum class share : std::uint8_t {
    replicated,  ///< all ranks hold the same value, which a sum over them checks
    trusted,     ///< all ranks hold the same value by the caller's word, so that a sum may leave them out
    sharded,     ///< each rank holds a part of its own
    first,       ///< the first rank holds all, the others 0
    last         ///< the last rank holds all, the others 0
};

/// The scope of a statistic: its share on the ranks of a layout, axis by axis. It gives a sum over ranks its meaning:
/// global = sum ÷ product of the replicated sizes.
class statistic_scope {
  public:
    /// A statistic that is sharded over dp, replicated over cp, tp and pp, and added once for a microbatch.
    constexpr statistic_scope() = default;

    /// This scope with another share along one axis of dp, cp, tp and pp.
    [[nodiscard]] constexpr statistic_scope along(parallel_axis axis, share how) const {
        statistic_scope changed = *this;
        changed.shares_[index_of(axis)] = how;
        return changed;
    }
    /// This scope with another share along the virtual stages of a rank: `first` or `last` is added once for a
    /// microbatch, `replicated` once by each virtual stage, and `sharded` is each stage's own part.
    [[nodiscard]] constexpr statistic_scope along_virtual_stages(share how) const {
        statistic_scope changed = *this;
        changed.virtual_stages_ = how;
        return changed;
    }

    /// This scope with all replicas trusted, for a sum over a smaller group (such as Megatron's data-parallel group),
    /// which cannot find a wrong declaration of an axis that it leaves out.
    [[nodiscard]] constexpr statistic_scope trusting_replicas() const {
        statistic_scope changed = *this;
        for (share& held : changed.shares_) {
            held = held == share::replicated ? share::trusted : held;
        }
        return changed;
    }

    [[nodiscard]] constexpr share along(parallel_axis axis) const { return shares_[index_of(axis)]; }
    [[nodiscard]] constexpr share along_virtual_stages() const { return virtual_stages_; }

    /// True where all ranks along an axis hold the same value.
    [[nodiscard]] constexpr bool is_copied(parallel_axis axis) const {
        return along(axis) == share::replicated || along(axis) == share::trusted;
    }

    /// The number of different parts in which the layout holds the statistic.
    [[nodiscard]] constexpr std::uint64_t parts(const parallel_layout& layout) const {
        std::uint64_t product = 1;
        for (const parallel_axis axis : dense_axes) {
            product *= along(axis) == share::sharded ? layout.size(axis) : 1;
        }
        return product;
    }

    /// The axes over which a sum must go to contain all parts.
    [[nodiscard]] constexpr axis_set axes_of_parts() const {
        axis_set axes;
        for (const parallel_axis axis : dense_axes) {
            axes = is_copied(axis) ? axes : axes | axis;
        }
        return axes;
    }

    /// True where the layout's rank holds the statistic or a part of it.
    [[nodiscard]] constexpr bool holds(const parallel_layout& layout) const {
        for (const parallel_axis axis : dense_axes) {
            if (layout.coordinate(axis) != holder(axis, layout)) {
                return false;
            }
        }
        return true;
    }

    /// Throws where a rank that must hold 0 of the statistic has an `amount`.
    constexpr void require_holder(std::string_view name, std::uint64_t amount, const parallel_layout& layout) const {
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t coordinate = layout.coordinate(axis);
            if (amount != 0 && coordinate != holder(axis, layout)) {
                detail::refuse(
                    name, {where(axis), ", and rank ", coordinate, " of ", layout.size(axis), " counted ", amount});
            }
        }
    }

    /// The global value from `sum`, which was added up over `axes`. An error where the sum lacks an axis, is no
    /// multiple of the replicas in it, or does not fit 64 bits.
    [[nodiscard]] constexpr std::uint64_t global(std::string_view name, uint128 sum, const parallel_layout& layout,
                                                 axis_set axes) const {
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t size = layout.size(axis);
            if (size == 1 || along(axis) == share::trusted || axes.contains(axis)) {
                continue;
            }
            detail::refuse(name, {where(axis), ", and the sum is over ", axes.name(),
                                  is_copied(axis) ? ": that its " : ": it has 1 of ", size,
                                  is_copied(axis) ? " ranks agree was not seen" : " parts"});
        }
        for (const parallel_axis axis : dense_axes) {
            if (axes.contains(axis) && is_copied(axis)) {
                sum = divide(name, sum, layout.size(axis), name_of(axis));
            }
        }
        if (virtual_stages_ == share::replicated) {
            sum = divide(name, sum, layout.sizes().vpp, "vpp");
        }
        if ((sum >> 64) != 0) {
            throw overflow(name, "the sum over all ranks does not fit 64 bits");
        }
        return static_cast<std::uint64_t>(sum);
    }

    [[nodiscard]] friend constexpr bool operator==(const statistic_scope&, const statistic_scope&) = default;

    /// The share along an axis in the words of errors: "is sharded over cp".
    [[nodiscard]] std::string where(parallel_axis axis) const {
        const share held = along(axis);
        const bool on_one = held == share::first || held == share::last;
        return detail::text_of({is_copied(axis)          ? "is replicated over "
                                : held == share::sharded ? "is sharded over "
                                : held == share::first   ? "exists on the first rank of "
                                                         : "exists on the last rank of ",
                                name_of(axis), on_one ? " only" : ""});
    }

  private:
    [[nodiscard]] static constexpr std::size_t index_of(parallel_axis axis) {
        if (axis == parallel_axis::ep || axis == parallel_axis::expert_dp) {
            detail::refuse("scope", {name_of(axis), " is no axis of its own: its ranks are those of dp x cp"});
        }
        return static_cast<std::size_t>(axis);
    }

    /// The coordinate that must hold the statistic; this rank's own where several do.
    [[nodiscard]] constexpr std::uint64_t holder(parallel_axis axis, const parallel_layout& layout) const {
        return along(axis) == share::first  ? 0
               : along(axis) == share::last ? layout.size(axis) - 1
                                            : layout.coordinate(axis);
    }

    [[nodiscard]] static constexpr uint128 divide(std::string_view name, uint128 sum, std::uint64_t replicas,
                                                  std::string_view over) {
        if (sum % replicas != 0) {
            detail::refuse(name, {"is replicated over ", over, ", and the sum, ", to_string(sum),
                                  ", is no multiple of its ", replicas, " replicas"});
        }
        return sum / replicas;
    }

    share shares_[dense_axis_count] = {share::replicated, share::replicated, share::sharded, share::replicated};
    share virtual_stages_ = share::first;
};

namespace scopes {

/// The scope of whole sequences, which every rank of a data-parallel replica has: cu_seqlens before any split.
inline constexpr statistic_scope microbatch{};

/// The scope of counts over a rank's own slice of each sequence under context parallelism.
inline constexpr statistic_scope context_slice = microbatch.along(parallel_axis::cp, share::sharded);

/// The scope of counts that the first pipeline stage alone has: images where it runs the vision tower.
inline constexpr statistic_scope first_stage = microbatch.along(parallel_axis::pp, share::first);

/// The scope of counts that the last pipeline stage makes with the loss.
inline constexpr statistic_scope last_stage = microbatch.along(parallel_axis::pp, share::last);

/// The scope of visits to experts that the routers of a rank's own layers counted over its slice of the sequences.
inline constexpr statistic_scope own_routers =
    context_slice.along(parallel_axis::pp, share::sharded).along_virtual_stages(share::sharded);

}  // namespace scopes

/// The tag by which a caller says that the sides of a ratio have different scopes on purpose.
struct different_scopes_t {};
inline constexpr different_scopes_t different_scopes{};

/// The scopes of a ratio's two sides. A loss whose numerator is summed over fewer ranks than its denominator is off by
/// a parallel size and looks like any other, so both scopes must be equal unless the caller says `different_scopes`.
class ratio_scope {
  public:
    constexpr ratio_scope(const statistic_scope& both)  // NOLINT(google-explicit-constructor): one for both
        : numerator_(both), denominator_(both) {}
    constexpr ratio_scope(const statistic_scope& numerator, const statistic_scope& denominator)
        : ratio_scope(numerator, denominator, different_scopes) {
        for (const parallel_axis axis : dense_axes) {
            if (numerator.along(axis) != denominator.along(axis)) {
                detail::refuse("scope",
                               {"the numerator ", numerator.where(axis), ", the denominator ", denominator.where(axis),
                                ": of one sum each, their ratio would be off by the size of ", name_of(axis),
                                "; say different_scopes where it is meant"});
            }
        }
        if (numerator.along_virtual_stages() != denominator.along_virtual_stages()) {
            throw error("scope",
                        "numerator and denominator are not held alike along virtual stages; say "
                        "different_scopes where it is meant");
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
