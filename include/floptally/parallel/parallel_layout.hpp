// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The arrangement of all ranks along the axes of parallelism, seen from one rank.

namespace floptally::inline v0_3 {

/// The ranks of a group in increasing order. They are computed, not stored.
class rank_group {
  public:
    class iterator {
      public:
        constexpr iterator(const rank_group& group, std::uint64_t index) : group_(&group), index_(index) {}
        [[nodiscard]] constexpr std::uint64_t operator*() const { return (*group_)[index_]; }
        constexpr iterator& operator++() {
            ++index_;
            return *this;
        }
        [[nodiscard]] constexpr bool operator==(const iterator& other) const { return index_ == other.index_; }

      private:
        const rank_group* group_;
        std::uint64_t index_;
    };

    constexpr explicit rank_group(std::uint64_t member) : first_(member) {}

    /// Adds an axis to the group. `coordinate` is this rank's coordinate along the axis. Call this function in the
    /// order of increasing strides.
    constexpr void span(std::uint64_t coordinate, std::uint64_t ranks, std::uint64_t stride) {
        first_ -= coordinate * stride;
        sizes_[axes_] = ranks;
        strides_[axes_++] = stride;
        size_ *= ranks;
    }

    [[nodiscard]] constexpr std::uint64_t size() const { return size_; }
    [[nodiscard]] constexpr std::uint64_t operator[](std::uint64_t index) const {
        std::uint64_t rank = first_;
        for (std::size_t axis = 0; axis < axes_; ++axis) {
            rank += index % sizes_[axis] * strides_[axis];
            index /= sizes_[axis];
        }
        return rank;
    }
    [[nodiscard]] constexpr iterator begin() const { return {*this, 0}; }
    [[nodiscard]] constexpr iterator end() const { return {*this, size_}; }

  private:
    std::uint64_t first_;
    std::uint64_t size_ = 1;
    std::size_t axes_ = 0;
    std::uint64_t sizes_[dense_axis_count]{};
    std::uint64_t strides_[dense_axis_count]{};
};

/// Megatron-Core's default order of ranks, the fastest axis first. PyTorch writes the slowest first: its device mesh
/// (pp, dp, cp, tp) has the same order.
inline constexpr std::string_view megatron_order = "tp-cp-ep-dp-pp";

/// The arrangement of all ranks along the axes of parallelism, seen from one rank. The same ranks are arranged in two
/// ways. Attention and all other dense weights use the axes dp, cp, tp and pp. Experts use expert_dp, ep, etp and pp.
class parallel_layout {
  public:
    /// Makes a layout seen from `rank`. `order` lists the axes as Megatron does, the fastest first. You may leave out
    /// axes that have only one rank. You may also leave out ep; it then comes before dp.
    ///
    /// `expert_order` lists the axes of experts: etp, ep, expert_dp and pp. If it is empty, it is derived from `order`
    /// as in Megatron: etp takes the place of tp, and expert_dp the place of dp.
    constexpr parallel_layout(const parallel_sizes& sizes, std::uint64_t world_size, std::uint64_t rank,
                              std::string_view order = megatron_order, std::string_view expert_order = {})
        : sizes_(sizes), rank_(rank), world_size_(world_size) {
        require_sizes();
        if (rank >= world_size) {
            detail::refuse("rank", {"must be below the world size, ", world_size, ", got ", rank});
        }
        read_order(order);
        if (!expert_order.empty()) {
            read_expert_order(expert_order);
        }
        set_strides();
    }

    /// Returns this layout seen from another rank.
    [[nodiscard]] constexpr parallel_layout at(std::uint64_t rank) const {
        parallel_layout other = *this;
        if (rank >= world_size_) {
            detail::refuse("rank", {"must be below the world size, ", world_size_, ", got ", rank});
        }
        other.rank_ = rank;
        return other;
    }

    [[nodiscard]] constexpr const parallel_sizes& sizes() const { return sizes_; }
    [[nodiscard]] constexpr std::uint64_t world_size() const { return world_size_; }
    [[nodiscard]] constexpr std::uint64_t rank() const { return rank_; }

    [[nodiscard]] constexpr std::uint64_t size(parallel_axis axis) const {
        const std::uint64_t sizes[parallel_axis_count] = {sizes_.tp,          sizes_.cp,          sizes_.dp,
                                                          sizes_.pp,          sizes_.ep,          sizes_.expert_dp(),
                                                          sizes_.expert_tp(), sizes_.dp_replicate};
        return sizes[static_cast<std::size_t>(axis)];
    }
    /// Returns the coordinate of this rank along an axis.
    [[nodiscard]] constexpr std::uint64_t coordinate(parallel_axis axis) const {
        require_experts(axis);
        return rank_ / strides_[static_cast<std::size_t>(axis)] % size(axis);
    }
    [[nodiscard]] constexpr parallel_coordinates coordinates() const {
        return {.dp = coordinate(parallel_axis::dp),
                .cp = coordinate(parallel_axis::cp),
                .tp = coordinate(parallel_axis::tp),
                .pp = coordinate(parallel_axis::pp)};
    }
    [[nodiscard]] constexpr std::uint64_t rank_of(const parallel_coordinates& coordinates) const {
        const std::uint64_t along[dense_axis_count] = {coordinates.tp, coordinates.cp, coordinates.dp, coordinates.pp};
        std::uint64_t rank = 0;
        for (std::size_t i = 0; i < dense_axis_count; ++i) {
            const auto axis = static_cast<parallel_axis>(i);
            if (along[i] >= size(axis)) {
                detail::refuse(name_of(axis),
                               {"the coordinate must be below the size of the axis, ", size(axis), ", got ", along[i]});
            }
            rank += along[i] * strides_[i];
        }
        return rank;
    }

    /// Returns the number of ranks of a group over these axes.
    [[nodiscard]] constexpr std::uint64_t size(axis_set axes) const { return group(axes).size(); }

    /// Returns this rank and all ranks that differ from this rank only along these axes.
    [[nodiscard]] constexpr rank_group group(axis_set axes) const {
        const bool for_experts = names_experts(axes);
        const bool is_mixed = for_experts && (axes.contains(parallel_axis::dp) || axes.contains(parallel_axis::cp) ||
                                              axes.contains(parallel_axis::dp_replicate) ||
                                              (axes.contains(parallel_axis::tp) && !tp_is_etp()));
        if (is_mixed) {
            detail::refuse("axes", {"must be of dense layers (dp, dp_replicate, cp, tp, pp) or of experts (ep, "
                                    "expert_dp, etp, pp), got ",
                                    axes.name(), ": pass axes of one kind"});
        }
        if (axes.contains(parallel_axis::dp) && axes.contains(parallel_axis::dp_replicate)) {
            throw error("axes", "dp contains the ranks of dp_replicate: leave dp_replicate out");
        }
        rank_group ranks(rank_);
        for (const parallel_axis axis : for_experts ? expert_order_ : order_) {
            const bool is_named =
                axes.contains(axis) || (axis == parallel_axis::etp && axes.contains(parallel_axis::tp));
            if (is_named) {
                ranks.span(coordinate(axis), size(axis), strides_[static_cast<std::size_t>(axis)]);
            } else if (axis == parallel_axis::dp && axes.contains(parallel_axis::dp_replicate)) {
                constexpr parallel_axis replicas = parallel_axis::dp_replicate;
                ranks.span(coordinate(replicas), size(replicas), strides_[static_cast<std::size_t>(replicas)]);
            }
        }
        return ranks;
    }

    /// Returns the ranks that shard one copy of a weight's states. These are the ranks of dp x cp, or of expert_dp for
    /// experts, that belong to this rank's replica.
    [[nodiscard]] constexpr rank_group sharding_group(bool of_experts) const {
        const parallel_axis split = of_experts ? parallel_axis::expert_dp : parallel_axis::dp;
        rank_group ranks(rank_);
        for (const parallel_axis axis : of_experts ? expert_order_ : order_) {
            const std::uint64_t stride = strides_[static_cast<std::size_t>(axis)];
            if (axis == split) {
                const std::uint64_t shards = size(axis) / sizes_.dp_replicate;
                ranks.span(coordinate(axis) % shards, shards, stride);
            } else if (axis == parallel_axis::cp) {
                ranks.span(coordinate(axis), size(axis), stride);
            }
        }
        return ranks;
    }

    /// Returns the ranks that hold the same shard of a weight's states as this rank. There is one such rank in each
    /// replica.
    [[nodiscard]] constexpr rank_group replica_group(bool of_experts) const {
        const parallel_axis split = of_experts ? parallel_axis::expert_dp : parallel_axis::dp;
        const std::uint64_t shards = size(split) / sizes_.dp_replicate;
        rank_group ranks(rank_);
        ranks.span(coordinate(split) / shards, sizes_.dp_replicate, shards * strides_[static_cast<std::size_t>(split)]);
        return ranks;
    }

    /// Returns the order of the axes of dense layers, the fastest first: "tp-cp-dp-pp".
    [[nodiscard]] std::string order() const { return text_of(order_); }
    /// Returns the order of the axes of experts, the fastest first: "etp-ep-expert_dp-pp".
    [[nodiscard]] std::string expert_order() const { return text_of(expert_order_); }

    [[nodiscard]] friend constexpr bool operator==(const parallel_layout&, const parallel_layout&) = default;

  private:
    [[nodiscard]] static constexpr bool names_experts(axis_set axes) {
        return axes.contains(parallel_axis::ep) || axes.contains(parallel_axis::expert_dp) ||
               axes.contains(parallel_axis::etp);
    }
    /// Returns true if the tp groups of dense layers are also the etp groups of experts.
    [[nodiscard]] constexpr bool tp_is_etp() const {
        return sizes_.tp == sizes_.expert_tp() &&
               (sizes_.tp == 1 || strides_[static_cast<std::size_t>(parallel_axis::tp)] ==
                                      strides_[static_cast<std::size_t>(parallel_axis::etp)]);
    }
    [[nodiscard]] static std::string text_of(const parallel_axis (&axes)[dense_axis_count]) {
        std::string text;
        for (const parallel_axis axis : axes) {
            detail::append(text, {text.empty() ? "" : "-", name_of(axis)});
        }
        return text;
    }

    constexpr void require_sizes() const {
        const struct {
            const char* name;
            std::uint64_t value;
        } sizes[] = {
            {"dp", sizes_.dp},   {"cp", sizes_.cp}, {"tp", sizes_.tp},           {"pp", sizes_.pp},
            {"vpp", sizes_.vpp}, {"ep", sizes_.ep}, {"etp", sizes_.expert_tp()}, {"dp_replicate", sizes_.dp_replicate}};
        for (const auto& size : sizes) {
            require_positive(size.value, size.name);
        }
        const std::uint64_t data = checked(sizes_.dp, "world_size") * sizes_.cp;
        const std::uint64_t product = data * (checked(sizes_.tp, "world_size") * sizes_.pp);
        if (product != world_size_) {
            detail::refuse("world_size", {"must be dp x cp x tp x pp = ", product, ", got ", world_size_, " ranks"});
        }
        static_cast<void>(checked(sizes_.pp, "vpp") * sizes_.vpp);
        const std::uint64_t of_stage = sizes_.stage_ranks();
        const std::uint64_t of_expert = std::uint64_t{checked(sizes_.ep, "ep") * sizes_.expert_tp()};
        if (of_stage % of_expert != 0) {
            detail::refuse(
                "ep", {"ep x etp must divide dp x cp x tp = ", of_stage, ", got ", sizes_.ep, " x ", sizes_.expert_tp(),
                       sizes_.etp == 0 && of_stage % sizes_.ep == 0
                           ? ": pass etp 1 if experts are not split, since etp is tp by default"
                           : ""});
        }
        if (sizes_.dp % sizes_.dp_replicate != 0) {
            detail::refuse("dp_replicate", {"must divide dp, ", sizes_.dp, ", got ", sizes_.dp_replicate});
        }
        if (sizes_.expert_dp() % sizes_.dp_replicate != 0) {
            detail::refuse("dp_replicate", {"must divide the ", sizes_.expert_dp(),
                                            " data-parallel ranks of each expert (dp x cp x tp / ep / etp), got ",
                                            sizes_.dp_replicate});
        }
    }

    /// Calls `append(token)` for each name of an axis in a text such as "tp-cp-dp-pp".
    template <class Append>
    static constexpr void for_each_name(std::string_view order, Append append) {
        for (std::size_t first = 0; first <= order.size();) {
            std::size_t last = order.find('-', first);
            last = last == std::string_view::npos ? order.size() : last;
            append(order.substr(first, last - first));
            first = last + 1;
        }
    }
    [[noreturn]] static void refuse_order(const char* field, std::string_view order,
                                          std::initializer_list<detail::piece> problem) {
        detail::refuse(field, {detail::text_of(problem), " in \"", order, "\""});
    }

    constexpr void read_order(std::string_view order) {
        axis_set named;
        std::size_t dense = 0;
        std::size_t num_expert_axes = 0;
        const auto append = [&](parallel_axis axis) {
            named = named | axis;
            if (axis == parallel_axis::dp && order.find("ep") == std::string_view::npos) {
                expert_order_[num_expert_axes++] = parallel_axis::ep;
            }
            if (axis != parallel_axis::ep) {
                order_[dense++] = axis;
            }
            if (axis != parallel_axis::cp) {
                expert_order_[num_expert_axes++] = axis == parallel_axis::dp   ? parallel_axis::expert_dp
                                                   : axis == parallel_axis::tp ? parallel_axis::etp
                                                                               : axis;
            }
        };
        for_each_name(order, [&](std::string_view token) {
            std::size_t index = 0;
            while (index <= static_cast<std::size_t>(parallel_axis::ep) &&
                   token != name_of(static_cast<parallel_axis>(index))) {
                ++index;
            }
            const auto axis = static_cast<parallel_axis>(index);
            if (index > static_cast<std::size_t>(parallel_axis::ep)) {
                refuse_order("order", order, {"unknown axis \"", token, "\", must be tp, cp, dp, pp or ep,"});
            }
            if (named.contains(axis)) {
                refuse_order("order", order, {token, " must be named once"});
            }
            append(axis);
        });
        for (const parallel_axis axis : dense_axes) {
            if (!named.contains(axis)) {
                if (size(axis) > 1) {
                    refuse_order("order", order, {name_of(axis), " has ", size(axis), " ranks, so it must be named"});
                }
                append(axis);
            }
        }
    }

    constexpr void read_expert_order(std::string_view order) {
        axis_set named;
        std::size_t count = 0;
        constexpr parallel_axis axes[] = {parallel_axis::etp, parallel_axis::ep, parallel_axis::expert_dp,
                                          parallel_axis::pp};
        for_each_name(order, [&](std::string_view token) {
            // Megatron and AReaL call the experts' axes tp and dp.
            const std::string_view name = token == "tp" ? "etp" : token == "dp" ? "expert_dp" : token;
            bool is_known = false;
            for (const parallel_axis axis : axes) {
                if (name == name_of(axis)) {
                    if (named.contains(axis)) {
                        refuse_order("expert_order", order, {token, " must be named once"});
                    }
                    named = named | axis;
                    expert_order_[count++] = axis;
                    is_known = true;
                }
            }
            if (!is_known) {
                refuse_order("expert_order", order,
                             {"unknown axis \"", token, "\", must be etp, ep, expert_dp or pp,"});
            }
        });
        for (const parallel_axis axis : axes) {
            if (!named.contains(axis)) {
                if (size(axis) > 1) {
                    refuse_order("expert_order", order,
                                 {name_of(axis), " has ", size(axis), " ranks, so it must be named"});
                }
                expert_order_[count++] = axis;
            }
        }
    }

    constexpr void set_strides() {
        const auto fill = [this](const parallel_axis(&order)[dense_axis_count]) {
            std::uint64_t stride = 1;
            for (const parallel_axis axis : order) {
                strides_[static_cast<std::size_t>(axis)] = stride;
                stride *= size(axis);
            }
        };
        fill(expert_order_);
        const std::uint64_t pp_stride = strides_[static_cast<std::size_t>(parallel_axis::pp)];
        fill(order_);
        strides_[static_cast<std::size_t>(parallel_axis::dp_replicate)] =
            strides_[static_cast<std::size_t>(parallel_axis::dp)] * (sizes_.dp / sizes_.dp_replicate);
        experts_fit_ = sizes_.pp == 1 || pp_stride == strides_[static_cast<std::size_t>(parallel_axis::pp)];
        if (sizes_.ep > 1 || sizes_.expert_tp() != sizes_.tp) {
            require_experts(parallel_axis::ep);
        }
    }

    /// Throws, as Megatron does, if the orders of axes give experts and dense layers different pp groups.
    constexpr void require_experts(parallel_axis axis) const {
        if (!experts_fit_ && names_experts(axis)) {
            throw error("order",
                        "order and expert_order must give the same pp groups: name pp last in both, or in both after "
                        "axes with the same number of ranks");
        }
    }

    parallel_sizes sizes_;
    std::uint64_t rank_;
    std::uint64_t world_size_;
    parallel_axis order_[dense_axis_count]{};         // axes of dense layers, the fastest first
    parallel_axis expert_order_[dense_axis_count]{};  // axes of experts: etp, ep, expert_dp, pp
    std::uint64_t strides_[parallel_axis_count]{};
    bool experts_fit_ = false;  // true if dense layers and experts have the same pp groups
};

/// How ranks are arranged: the orders of their axes, and the number of ranks on a node.
struct rank_order {
    std::string axes{megatron_order};  ///< the order of dense layers' axes, the fastest first
    std::string expert_axes{};         ///< the order of experts' axes; empty: derived from `axes`, as in Megatron
    std::uint64_t gpus_per_node = 0;   ///< consecutive ranks on one node, such as 8 or 72; 0: unknown

    [[nodiscard]] friend bool operator==(const rank_order&, const rank_order&) = default;
};

}  // namespace floptally
