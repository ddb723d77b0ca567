// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The arrangement of all ranks along the axes of parallelism, seen from one of them.

namespace floptally {

/// The ranks of a group in increasing order, as a range of computed integers.
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

    /// Adds an axis, slower than those before it, on which the member has `coordinate`.
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

/// Megatron-Core's default order of ranks, the fastest first. A device mesh (pp, dp, cp, tp), slowest first as PyTorch
/// writes it, is the same.
inline constexpr std::string_view megatron_order = "tp-cp-ep-dp-pp";

/// The arrangement of all ranks, seen from one of them.
class parallel_layout {
  public:
    /// A layout seen from `rank`. `order` is as Megatron writes it, the fastest first. An axis of one rank may be left
    /// out, and so may ep, which then comes before dp.
    constexpr parallel_layout(const parallel_sizes& sizes, std::uint64_t world_size, std::uint64_t rank,
                              std::string_view order = megatron_order)
        : sizes_(sizes), rank_(rank), world_size_(world_size) {
        require_sizes();
        if (rank >= world_size) {
            detail::refuse("rank", {"must be below the world size, ", world_size, ", got ", rank});
        }
        read_order(order);
        set_strides();
    }

    /// This layout seen from another rank.
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
        const std::uint64_t sizes[parallel_axis_count] = {sizes_.tp, sizes_.cp, sizes_.dp,
                                                          sizes_.pp, sizes_.ep, sizes_.dp * sizes_.cp / sizes_.ep};
        return sizes[static_cast<std::size_t>(axis)];
    }
    /// The coordinate of this rank along an axis.
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
    [[nodiscard]] constexpr std::uint64_t rank_of(const parallel_coordinates& where) const {
        const std::uint64_t coordinates[dense_axis_count] = {where.tp, where.cp, where.dp, where.pp};
        std::uint64_t rank = 0;
        for (std::size_t i = 0; i < dense_axis_count; ++i) {
            const auto axis = static_cast<parallel_axis>(i);
            if (coordinates[i] >= size(axis)) {
                detail::refuse(name_of(axis),
                               {"the coordinate must be below the size, ", size(axis), ", got ", coordinates[i]});
            }
            rank += coordinates[i] * strides_[i];
        }
        return rank;
    }

    /// The number of ranks of a group over these axes.
    [[nodiscard]] constexpr std::uint64_t size(axis_set axes) const { return group(axes).size(); }

    /// The ranks that differ from this one along these axes only, itself among them.
    [[nodiscard]] constexpr rank_group group(axis_set axes) const {
        const bool of_experts = axes.contains(parallel_axis::ep) || axes.contains(parallel_axis::expert_dp);
        if (of_experts && (axes.contains(parallel_axis::dp) || axes.contains(parallel_axis::cp))) {
            detail::refuse("axes", {"a group over ", axes.name(),
                                    " has no meaning: ep and expert_dp are the ranks of dp x cp, arranged again"});
        }
        rank_group ranks(rank_);
        for (const parallel_axis axis : of_experts ? expert_order_ : order_) {
            if (axes.contains(axis)) {
                ranks.span(coordinate(axis), size(axis), strides_[static_cast<std::size_t>(axis)]);
            }
        }
        return ranks;
    }

    /// The number of stages of a model, which are dealt to pipeline ranks in turn.
    [[nodiscard]] constexpr std::uint64_t num_stages() const { return sizes_.pp * sizes_.vpp; }
    /// The stage that is this rank's virtual stage v: v·pp + p for pipeline rank p.
    [[nodiscard]] constexpr std::uint64_t stage(std::uint64_t virtual_stage = 0) const {
        if (virtual_stage >= sizes_.vpp) {
            detail::refuse("virtual_stage", {"must be below vpp, ", sizes_.vpp, ", got ", virtual_stage});
        }
        return virtual_stage * sizes_.pp + coordinate(parallel_axis::pp);
    }
    [[nodiscard]] constexpr bool is_first_pipeline_rank() const { return coordinate(parallel_axis::pp) == 0; }
    [[nodiscard]] constexpr bool is_last_pipeline_rank() const {
        return coordinate(parallel_axis::pp) + 1 == sizes_.pp;
    }

    [[nodiscard]] friend constexpr bool operator==(const parallel_layout&, const parallel_layout&) = default;

  private:
    constexpr void require_sizes() const {
        const struct {
            const char* name;
            std::uint64_t value;
        } given[] = {{"dp", sizes_.dp}, {"cp", sizes_.cp},   {"tp", sizes_.tp},
                     {"pp", sizes_.pp}, {"vpp", sizes_.vpp}, {"ep", sizes_.ep}};
        for (const auto& size : given) {
            require_positive(size.value, size.name);
        }
        const std::uint64_t data = checked(sizes_.dp, "world_size") * sizes_.cp;
        const std::uint64_t product = data * (checked(sizes_.tp, "world_size") * sizes_.pp);
        if (product != world_size_) {
            detail::refuse("world_size", {"dp x cp x tp x pp is ", product, ", the world has ", world_size_, " ranks"});
        }
        static_cast<void>(checked(sizes_.pp, "vpp") * sizes_.vpp);
        if (data % sizes_.ep != 0) {
            detail::refuse("ep", {"must divide dp x cp, ", data, ", got ", sizes_.ep});
        }
    }

    constexpr void read_order(std::string_view order) {
        const auto fail = [order](std::initializer_list<detail::piece> problem) {
            detail::refuse("order", {detail::text_of(problem), " in \"", order, "\""});
        };
        axis_set named;
        std::size_t dense = 0;
        std::size_t of_experts = 0;
        const auto append = [&](parallel_axis axis) {
            named = named | axis;
            if (axis == parallel_axis::dp && order.find("ep") == std::string_view::npos) {
                expert_order_[of_experts++] = parallel_axis::ep;
            }
            if (axis != parallel_axis::ep) {
                order_[dense++] = axis;
            }
            if (axis != parallel_axis::cp) {
                expert_order_[of_experts++] = axis == parallel_axis::dp ? parallel_axis::expert_dp : axis;
            }
        };
        for (std::size_t first = 0; first <= order.size();) {
            std::size_t last = order.find('-', first);
            last = last == std::string_view::npos ? order.size() : last;
            const std::string_view token = order.substr(first, last - first);
            std::size_t index = 0;
            while (index < parallel_axis_count && token != name_of(static_cast<parallel_axis>(index))) {
                ++index;
            }
            const auto axis = static_cast<parallel_axis>(index);
            if (index == parallel_axis_count || axis == parallel_axis::expert_dp) {
                fail({"unknown axis \"", token, "\""});
            }
            if (named.contains(axis)) {
                fail({token, " stands twice"});
            }
            append(axis);
            first = last + 1;
        }
        for (const parallel_axis axis : dense_axes) {
            if (!named.contains(axis)) {
                if (size(axis) > 1) {
                    fail({name_of(axis), " has ", size(axis), " ranks and is missing"});
                }
                append(axis);
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
        const std::uint64_t of_experts[] = {strides_[0], strides_[3]};
        fill(order_);
        experts_fit_ = (sizes_.tp == 1 || of_experts[0] == strides_[0]) &&  //
                       (sizes_.pp == 1 || of_experts[1] == strides_[3]);
        if (sizes_.ep > 1) {
            require_experts(parallel_axis::ep);
        }
    }

    /// Throws where an order gives experts other tp or pp groups than dense layers, as Megatron does.
    constexpr void require_experts(parallel_axis axis) const {
        if (!experts_fit_ && (axis == parallel_axis::ep || axis == parallel_axis::expert_dp)) {
            throw error("order",
                        "experts would have other tp or pp groups than dense layers: pp must not stand "
                        "between cp and dp, nor tp after cp");
        }
    }

    parallel_sizes sizes_;
    std::uint64_t rank_;
    std::uint64_t world_size_;
    parallel_axis order_[dense_axis_count]{};         // the fastest first
    parallel_axis expert_order_[dense_axis_count]{};  // tp, ep, expert_dp, pp
    std::uint64_t strides_[parallel_axis_count]{};
    bool experts_fit_ = false;  // dense layers and experts have the same tp and pp groups
};

}  // namespace floptally
