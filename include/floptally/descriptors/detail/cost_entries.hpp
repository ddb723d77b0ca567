// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// Returns the entry of a weight matrix.
[[nodiscard]] constexpr cost_entry entry_of(const component_name& component, const linear& weight) {
    const checked in(weight.in_features, component.view());
    const std::uint64_t out = weight.out_features;
    const std::uint64_t padded_out = weight.padded_out_features == 0 ? out : weight.padded_out_features;
    const checked per_unit = 2 * checked(weight.applied, component.view());
    const std::uint64_t stored = weight.shared ? 0 : weight.stored == 0 ? weight.applied : weight.stored;
    cost_entry entry{.what = weight.rows,
                     .kind = weight.kind,
                     .useful = per_unit * (in * out),
                     .padded = per_unit * (in * padded_out),
                     .parameters = stored * (in * out),
                     .groups = weight.groups,
                     .flow = {.reads = weight.reads, .writes = weight.writes},
                     .sharding = weight.sharding.of_matrix(in, out)};
    if (weight.adaptable && weight.groups == 1) {
        entry.per_rank = {.in = per_unit * in,
                          .out = per_unit * out,
                          .padded_out = per_unit * padded_out,
                          .parameters = stored * (in + out)};
    }
    return entry;
}

/// Multiplies an entry's FLOPs (per token, pair, …) by `times`, but not its number of stored weights.
constexpr void multiply_flops(cost_entry& entry, const checked& times) {
    adapter& per_rank = entry.per_rank;
    for (std::uint64_t* flops : {&entry.useful, &entry.padded, &per_rank.in, &per_rank.out, &per_rank.padded_out}) {
        *flops = times * *flops;
    }
}

/// The entries of a cost with the names and masks that they refer to. Entries with equal keys (component, weight,
/// accumulator, …) are merged.
class cost_entries {
  public:
    /// Adds `entry` of the cost `other` to this cost, under the given component.
    constexpr void put_from(const cost_entries& other, const cost_entry& entry, const component_name& component) {
        if (has_statistic(entry.what)) {
            put_over(component, other.weight_name(entry), entry, other.masks[entry.mask]);
        } else {
            put(component, other.weight_name(entry), entry);
        }
    }

    /// Merges an entry into an entry with equal keys, or appends the entry. If the call throws, nothing has changed.
    constexpr void put(const component_name& component, std::string_view weight, cost_entry entry) {
        add(component, weight, entry);
        masks.include(entry.in);
    }

    /// Adds an entry whose FLOPs are per pair of a mask, or per unit that another statistic counts. Merges it as `put`
    /// does. The amount of a measured statistic is usually summed over all layers already, so copies of a layer do not
    /// multiply the entry. If copies of a layer must multiply the entry, set `entry.what` to `accumulator::pairs`.
    constexpr void put_over(const component_name& component, std::string_view weight, cost_entry entry,
                            const statistic& attends) {
        entry.what =
            attends.is_measured() && entry.what != accumulator::pairs ? accumulator::routed : accumulator::pairs;
        entry.mask = static_cast<std::uint32_t>(masks.find(attends));
        entry.in = attends.in();
        if (entry.mask == masks.size()) {
            masks.make_room("masks");
        }
        add(component, weight, entry, !counts_passes(attends));
        masks.find_or_add(attends, "masks");
    }

    /// Returns the name of an entry's weight within its component, or an empty text.
    [[nodiscard]] constexpr std::string_view weight_name(const cost_entry& entry) const {
        return entry.weight == 0 ? std::string_view{} : weights[entry.weight - 1U].view();
    }

    /// Returns true if an entry's accumulator is already summed over all layers, such as visits of tokens to experts.
    /// Copies of a layer then do not multiply the entry.
    [[nodiscard]] constexpr bool is_of_all_layers(const cost_entry& entry) const {
        return entry.what == accumulator::routed && !counts_passes(masks[entry.mask]);
    }

    /// Returns these entries for a vision or audio tower. Their FLOPs are then multiplied by the sums over images or
    /// audio clips.
    [[nodiscard]] constexpr cost_entries in(modality which) const {
        cost_entries result;
        for (cost_entry entry : entries) {
            entry.in = which;
            if (entry.what == accumulator::pairs) {
                result.put_over(components[entry.component], weight_name(entry), entry, masks[entry.mask].in(which));
            } else {
                result.put(components[entry.component], weight_name(entry), entry);
            }
        }
        return result;
    }

    /// Returns the entries with FLOPs per unit that `units` counts instead of per token. `attends` replaces
    /// bidirectional attention.
    [[nodiscard]] constexpr cost_entries over(const statistic& units, const statistic& attends) const {
        cost_entries result;
        for (cost_entry entry : entries) {
            if (entry.what == accumulator::tokens || entry.what == accumulator::pairs) {
                const statistic& replaced = entry.what == accumulator::tokens ? units : masks[entry.mask];
                const statistic& statistic_after = replaced == mask::bidirectional() ? attends : replaced;
                entry.what = accumulator::pairs;
                result.put_over(components[entry.component], weight_name(entry), entry, statistic_after);
            } else {
                result.put_from(*this, entry, components[entry.component]);
            }
        }
        return result;
    }

    /// Returns the entries with `n` extra tokens in each sequence (see `cost::with_prefix_tokens`).
    [[nodiscard]] constexpr cost_entries with_prefix_tokens(std::uint64_t n) const {
        cost_entries sum = *this;
        const auto add = [&](cost_entry extra, accumulator unit, std::uint64_t times) {
            const component_name& component = components[extra.component];
            extra.what = unit;
            extra.parameters = extra.per_rank.parameters = 0;
            multiply_flops(extra, checked(times, component.view()));
            sum.put(component, weight_name(extra), extra);
        };
        for (const cost_entry& entry : entries) {
            if (entry.what == accumulator::tokens) {
                add(entry, accumulator::count, n);
            } else if (entry.what == accumulator::pairs) {
                const statistic& attends = masks[entry.mask];
                if (attends == mask::clip_squares(static_cast<std::int64_t>(n))) {
                    continue;  // this entry already counts the prefix tokens
                }
                if (!(attends == mask::bidirectional().in(attends.in()))) {
                    refuse("masks", {attends.name(), " cannot count prefix tokens: use a bidirectional mask"});
                }
                add(entry, accumulator::tokens, 2 * checked(n, "prefix tokens"));
                add(entry, accumulator::count, checked(n, "prefix tokens") * n);
            }
        }
        return sum;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost_entries&, const cost_entries&) = default;

    list<component_name> components{};
    list<cost_entry> entries{};
    list<component_name> weights{};
    mask_set masks{};

  private:
    /// Adds an entry that counts measured visits to experts. There is one measured number for the whole model, so the
    /// experts of all layers become one entry.
    constexpr void put_routed(const component_name& component, std::string_view weight, const cost_entry& entry) {
        for (cost_entry& existing : entries) {
            if (existing.what != accumulator::routed || existing.mask != entry.mask || existing.in != entry.in ||
                (existing.useful == 0 && existing.padded == 0)) {
                continue;  // skips entries of other accumulators, and entries without FLOPs (`0 * layer`)
            }
            const bool differs = existing.useful != entry.useful || existing.padded != entry.padded;
            if (existing.component != entry.component || existing.kind != entry.kind || differs) {
                throw error(component.view(),
                            "experts of two kinds cannot share one measured number of visits: give each kind its own "
                            "measured(\"NAME\") as `visits`");
            }
            existing.parameters = checked(existing.parameters, component.view()) + entry.parameters;
            existing.per_rank.parameters =
                checked(existing.per_rank.parameters, component.view()) + entry.per_rank.parameters;
            existing.sharding = sharding_of_sum(existing.sharding, entry.sharding);
            return;
        }
        append(component, weight, entry);
    }

    /// Merges or appends an entry. `summed` is true if a measured accumulator is already summed over all layers.
    constexpr void add(const component_name& component, std::string_view weight, cost_entry entry, bool summed = true) {
        entry.component = static_cast<std::uint32_t>(components.find(component));
        entry.weight = weight.empty() ? 0U : index_of_weight(weight);
        if (entry.sharding.by == sharding_kind::unsaid && is_elementwise_weight(entry.kind)) {
            entry.sharding = tensor_sharding::replicated();  // every rank has the whole vector or small table
        }
        if (entry.what == accumulator::routed && summed) {
            if (entry.useful != 0 || entry.padded != 0) {
                put_routed(component, weight, entry);
            }
            return;
        }
        for (cost_entry& existing : entries) {
            if (existing.component == entry.component && existing.kind == entry.kind && existing.what == entry.what &&
                existing.mask == entry.mask && existing.in == entry.in && existing.weight == entry.weight &&
                existing.groups == entry.groups && existing.flow == entry.flow) {
                const auto sum = [&component](std::uint64_t& total, std::uint64_t number) {
                    total = checked(total, component.view()) + number;
                };
                sum(entry.useful, existing.useful);
                sum(entry.padded, existing.padded);
                sum(entry.parameters, existing.parameters);
                sum(entry.per_rank.in, existing.per_rank.in);
                sum(entry.per_rank.out, existing.per_rank.out);
                sum(entry.per_rank.padded_out, existing.per_rank.padded_out);
                sum(entry.per_rank.parameters, existing.per_rank.parameters);
                entry.sharding = sharding_of_sum(existing.sharding, entry.sharding);
                existing = entry;
                return;
            }
        }
        append(component, weight, entry);
    }

    [[nodiscard]] constexpr std::uint32_t index_of_weight(std::string_view weight) const {
        std::size_t index = 0;
        while (index < weights.size() && !weights[index].is(weight)) {
            ++index;
        }
        return static_cast<std::uint32_t>(index + 1);
    }

    constexpr void append(const component_name& component, std::string_view weight, const cost_entry& entry) {
        const bool is_new = entry.component == components.size();
        const bool names_weight = entry.weight > weights.size();
        entries.make_room("rows");  // allocates first, so that nothing throws after a change
        if (is_new) {
            components.make_room("components");
        }
        if (names_weight) {
            weights.push_back(weight, "weights");
        }
        if (is_new) {
            components.push_back(component, "components");
        }
        entries.push_back(entry, "rows");
    }
};

}  // namespace floptally::detail
