// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>

namespace floptally {

/// What the ranks along one axis hold of a statistic.
enum class share : std::uint8_t {
    replicated,  ///< all of them the same, which a sum over them shows
    trusted,     ///< all of them the same, says the caller: a sum may leave them out
    sharded,     ///< each a part of its own
    first,       ///< the first all of it, the others 0
    last         ///< the last all of it, the others 0
};

/// What the ranks of a layout hold of a statistic, axis by axis. From it follows what a sum over ranks means:
/// global = sum ÷ product of the replicated sizes.
class statistic_scope {
  public:
    /// Sharded over dp, replicated over cp, tp and pp, added once for a microbatch.
    constexpr statistic_scope() = default;

    /// The same, but for one axis of dp, cp, tp and pp.
    [[nodiscard]] constexpr statistic_scope along(parallel_axis axis, share how) const {
        statistic_scope changed = *this;
        changed.shares_[index_of(axis)] = how;
        return changed;
    }
    /// The same, but for the virtual stages of a rank: `first` or `last` is added once for a microbatch, `replicated`
    /// once by every virtual stage, `sharded` is what each stage has of its own.
    [[nodiscard]] constexpr statistic_scope along_virtual_stages(share how) const {
        statistic_scope changed = *this;
        changed.virtual_stages_ = how;
        return changed;
    }

    /// The same with nothing to compare: for a sum over a smaller group (Megatron's data-parallel group, say), where a
    /// wrong declaration of an axis that it leaves out cannot be found.
    [[nodiscard]] constexpr statistic_scope trusting_replicas() const {
        statistic_scope changed = *this;
        for (share& held : changed.shares_) {
            held = held == share::replicated ? share::trusted : held;
        }
        return changed;
    }

    [[nodiscard]] constexpr share along(parallel_axis axis) const { return shares_[index_of(axis)]; }
    [[nodiscard]] constexpr share along_virtual_stages() const { return virtual_stages_; }

    /// True where the ranks along an axis hold the same.
    [[nodiscard]] constexpr bool is_copied(parallel_axis axis) const {
        return along(axis) == share::replicated || along(axis) == share::trusted;
    }

    /// In how many different parts the layout holds it.
    [[nodiscard]] constexpr std::uint64_t parts(const parallel_layout& layout) const {
        std::uint64_t product = 1;
        for (const parallel_axis axis : dense_axes) {
            product *= along(axis) == share::sharded ? layout.size(axis) : 1;
        }
        return product;
    }

    /// The axes over which a sum must go so that no part is missing.
    [[nodiscard]] constexpr axis_set axes_of_parts() const {
        axis_set axes;
        for (const parallel_axis axis : dense_axes) {
            axes = is_copied(axis) ? axes : axes | axis;
        }
        return axes;
    }

    /// False where it exists on other ranks only.
    [[nodiscard]] constexpr bool holds(const parallel_layout& layout) const {
        for (const parallel_axis axis : dense_axes) {
            if (layout.coordinate(axis) != holder(axis, layout)) {
                return false;
            }
        }
        return true;
    }

    /// Throws where a rank that must hold nothing of it has `amount`.
    constexpr void require_holder(std::string_view name, std::uint64_t amount, const parallel_layout& layout) const {
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t coordinate = layout.coordinate(axis);
            if (amount != 0 && coordinate != holder(axis, layout)) {
                throw error(name, where(axis) + ", and rank " + std::to_string(coordinate) + " of " +
                                      std::to_string(layout.size(axis)) + " counted " + std::to_string(amount));
            }
        }
    }

    /// The global value from `sum`, which was added up over `axes`; an error where the sum lacks an axis, is no
    /// multiple of the replicas in it, or does not fit.
    [[nodiscard]] constexpr std::uint64_t global(std::string_view name, uint128 sum, const parallel_layout& layout,
                                                 axis_set axes) const {
        for (const parallel_axis axis : dense_axes) {
            const std::uint64_t size = layout.size(axis);
            if (size == 1 || along(axis) == share::trusted || axes.contains(axis)) {
                continue;
            }
            throw error(name, where(axis) + ", and the sum is over " + axes.name() +
                                  (is_copied(axis) ? ": that its " + std::to_string(size) + " ranks agree was not seen"
                                                   : ": it has 1 of " + std::to_string(size) + " parts"));
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

    /// "is sharded over cp", as errors say it.
    [[nodiscard]] constexpr std::string where(parallel_axis axis) const {
        const std::string over(name_of(axis));
        return is_copied(axis)                 ? "is replicated over " + over
               : along(axis) == share::sharded ? "is sharded over " + over
               : along(axis) == share::first   ? "exists on the first rank of " + over + " only"
                                               : "exists on the last rank of " + over + " only";
    }

  private:
    [[nodiscard]] static constexpr std::size_t index_of(parallel_axis axis) {
        if (axis == parallel_axis::ep || axis == parallel_axis::expert_dp) {
            throw error("scope", std::string(name_of(axis)) + " is no axis of its own: its ranks are those of dp x cp");
        }
        return static_cast<std::size_t>(axis);
    }

    /// The coordinate that must hold it; this rank's own where several do.
    [[nodiscard]] constexpr std::uint64_t holder(parallel_axis axis, const parallel_layout& layout) const {
        return along(axis) == share::first  ? 0
               : along(axis) == share::last ? layout.size(axis) - 1
                                            : layout.coordinate(axis);
    }

    [[nodiscard]] static constexpr uint128 divide(std::string_view name, uint128 sum, std::uint64_t replicas,
                                                  std::string_view over) {
        if (sum % replicas != 0) {
            throw error(name, "is replicated over " + std::string(over) + ", and the sum, " + to_string(sum) +
                                  ", is no multiple of its " + std::to_string(replicas) + " replicas");
        }
        return sum / replicas;
    }

    share shares_[dense_axis_count] = {share::replicated, share::replicated, share::sharded, share::replicated};
    share virtual_stages_ = share::first;
};

namespace scopes {

/// Lengths of whole sequences, as every rank of a data-parallel replica has them: cu_seqlens before any split.
inline constexpr statistic_scope microbatch{};

/// What a rank counted on its own slice of each sequence under context parallelism.
inline constexpr statistic_scope context_slice = microbatch.along(parallel_axis::cp, share::sharded);

/// What the first pipeline stage alone has: images where the vision tower stands.
inline constexpr statistic_scope first_stage = microbatch.along(parallel_axis::pp, share::first);

/// Counted with the loss.
inline constexpr statistic_scope last_stage = microbatch.along(parallel_axis::pp, share::last);

/// Visits to experts as the routers of a rank's own layers counted them: they see a slice of the sequences.
inline constexpr statistic_scope own_routers =
    context_slice.along(parallel_axis::pp, share::sharded).along_virtual_stages(share::sharded);

}  // namespace scopes

/// Says that numerator and denominator of a ratio are meant to be held differently.
struct different_scopes_t {};
inline constexpr different_scopes_t different_scopes{};

/// The scopes of a ratio's two sides. A loss whose numerator is summed over fewer ranks than its denominator is off by
/// a parallel size and looks like any other, so that two scopes must be equal unless the caller says otherwise: each
/// side is then reduced as its own says.
class ratio_scope {
  public:
    constexpr ratio_scope(const statistic_scope& both)  // NOLINT(google-explicit-constructor): one for both
        : numerator_(both), denominator_(both) {}
    constexpr ratio_scope(const statistic_scope& numerator, const statistic_scope& denominator)
        : ratio_scope(numerator, denominator, different_scopes) {
        for (const parallel_axis axis : dense_axes) {
            if (numerator.along(axis) != denominator.along(axis)) {
                throw error("scope", "the numerator " + numerator.where(axis) + ", the denominator " +
                                         denominator.where(axis) +
                                         ": of one sum each, their ratio would be off by the size of " +
                                         std::string(name_of(axis)) + "; say different_scopes where it is meant");
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
