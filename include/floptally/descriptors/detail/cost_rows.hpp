// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The row of a weight matrix.
[[nodiscard]] constexpr cost_row row_of(const component_name& component, const linear& weight) {
    const checked in(weight.in_features, component.view());
    const std::uint64_t out = weight.out_features;
    const std::uint64_t padded_out = weight.padded_out_features == 0 ? out : weight.padded_out_features;
    const checked per_unit = 2 * checked(weight.applied, component.view());
    const std::uint64_t stored = weight.shared ? 0 : weight.stored == 0 ? weight.applied : weight.stored;
    cost_row row{.what = weight.rows,
                 .kind = weight.kind,
                 .useful = per_unit * (in * out),
                 .padded = per_unit * (in * padded_out),
                 .parameters = stored * (in * out),
                 .groups = weight.groups,
                 .flow = {.reads = weight.reads, .writes = weight.writes},
                 .dealt = weight.dealt.of_matrix(in, out)};
    if (weight.adaptable && weight.groups == 1) {
        row.per_rank = {.in = per_unit * in,
                        .out = per_unit * out,
                        .padded_out = per_unit * padded_out,
                        .parameters = stored * (in + out)};
    }
    return row;
}

/// Multiplies what a unit of a statistic costs; the stored weights stay.
constexpr void multiply_flops(cost_row& row, const checked& times) {
    adapter& per_rank = row.per_rank;
    for (std::uint64_t* flops : {&row.useful, &row.padded, &per_rank.in, &per_rank.out, &per_rank.padded_out}) {
        *flops = times * *flops;
    }
}

/// The rows of a cost and what they refer to. Rows of one kind are one row.
class cost_rows {
  public:
    /// A row of other rows, under a component.
    constexpr void put_from(const cost_rows& other, const cost_row& row, const component_name& component) {
        if (has_rule(row.what)) {
            put_over(component, other.weight_name(row), row, other.masks[row.mask]);
        } else {
            put(component, other.weight_name(row), row);
        }
    }

    /// Adds a row to the one of its kind, or appends it; where that is an error, nothing has changed.
    constexpr void put(const component_name& component, std::string_view weight, cost_row row) {
        add(component, weight, row);
        masks.include(row.in);
    }

    /// Adds a row over the pairs of a mask, or over the units of another rule, as `put` does. A measured word counts
    /// visits, which are those of all layers already; in place of tokens or pairs (`over`) it counts units like a mask.
    constexpr void put_over(const component_name& component, std::string_view weight, cost_row row,
                            const rule& attends) {
        row.what = attends.is_measured() && row.what != statistic::pairs ? statistic::routed : statistic::pairs;
        row.mask = static_cast<std::uint32_t>(masks.find(attends));
        row.in = attends.in();
        if (row.mask == masks.size()) {
            masks.make_room("masks");
        }
        add(component, weight, row, !counts_passes(attends));
        masks.find_or_add(attends, "masks");
    }

    /// The name of a row's weight within its component; empty where it has none.
    [[nodiscard]] constexpr std::string_view weight_name(const cost_row& row) const {
        return row.weight == 0 ? std::string_view{} : weights[row.weight - 1U].view();
    }

    /// True where a row's units are those of all layers already, as visits of experts are: layers do not multiply it.
    [[nodiscard]] constexpr bool is_of_all_layers(const cost_row& row) const {
        return row.what == statistic::routed && !counts_passes(masks[row.mask]);
    }

    /// The rows over the statistics of a tower.
    [[nodiscard]] constexpr cost_rows in(modality which) const {
        cost_rows moved;
        for (cost_row row : rows) {
            row.in = which;
            if (row.what == statistic::pairs) {
                moved.put_over(components[row.component], weight_name(row), row, masks[row.mask].in(which));
            } else {
                moved.put(components[row.component], weight_name(row), row);
            }
        }
        return moved;
    }

    /// The rows of tokens over other units, and those of bidirectional attention under another mask.
    [[nodiscard]] constexpr cost_rows over(const rule& units, const rule& attends) const {
        cost_rows moved;
        for (cost_row row : rows) {
            if (row.what == statistic::tokens || row.what == statistic::pairs) {
                const rule& own = row.what == statistic::tokens ? units : masks[row.mask];
                const rule& now = own == mask::bidirectional() ? attends : own;
                row.what = statistic::pairs;
                moved.put_over(components[row.component], weight_name(row), row, now);
            } else {
                moved.put_from(*this, row, components[row.component]);
            }
        }
        return moved;
    }

    /// As `cost::with_prefix_tokens`.
    [[nodiscard]] constexpr cost_rows with_prefix_tokens(std::uint64_t n) const {
        cost_rows sum = *this;
        const auto add = [&](cost_row more, statistic unit, std::uint64_t times) {
            const component_name& component = components[more.component];
            more.what = unit;
            more.parameters = more.per_rank.parameters = 0;
            multiply_flops(more, checked(times, component.view()));
            sum.put(component, weight_name(more), more);
        };
        for (const cost_row& row : rows) {
            if (row.what == statistic::tokens) {
                add(row, statistic::count, n);
            } else if (row.what == statistic::pairs) {
                const rule& attends = masks[row.mask];
                if (attends == mask::clip_squares(static_cast<std::int64_t>(n))) {
                    continue;  // has them already
                }
                if (!(attends == mask::bidirectional().in(attends.in()))) {
                    refuse("masks", {attends.name(), " has no form with prefix tokens: only bidirectional"});
                }
                add(row, statistic::tokens, 2 * checked(n, "prefix tokens"));
                add(row, statistic::count, checked(n, "prefix tokens") * n);
            }
        }
        return sum;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost_rows&, const cost_rows&) = default;

    list<component_name> components{};
    list<cost_row> rows{};
    list<component_name> weights{};
    mask_set masks{};

  private:
    /// A measured count of visits is one number for the whole model: all that is counted by it is one row.
    constexpr void put_routed(const component_name& component, std::string_view weight, const cost_row& row) {
        for (cost_row& known : rows) {
            if (known.what != statistic::routed || known.mask != row.mask || known.in != row.in ||
                (known.useful == 0 && known.padded == 0)) {
                continue;  // or nothing but `0 * layer`
            }
            const bool other_size = known.useful != row.useful || known.padded != row.padded;
            if (known.component != row.component || known.kind != row.kind || other_size) {
                throw error(
                    component.view(),
                    "experts of two kinds cannot share one measured count of visits: give each a word of its own");
            }
            known.parameters = checked(known.parameters, component.view()) + row.parameters;
            known.per_rank.parameters = checked(known.per_rank.parameters, component.view()) + row.per_rank.parameters;
            known.dealt = dealing_of_sum(known.dealt, row.dealt);
            return;
        }
        append(component, weight, row);
    }

    /// `summed`: a measured row's number is one over all layers.
    constexpr void add(const component_name& component, std::string_view weight, cost_row row, bool summed = true) {
        row.component = static_cast<std::uint32_t>(components.find(component));
        row.weight = weight.empty() ? 0U : index_of_weight(weight);
        if (row.dealt.by == tensor_split::unsaid && is_elementwise_weight(row.kind)) {
            row.dealt = dealing::replicated();  // a vector or a small table, whatever its part is
        }
        if (row.what == statistic::routed && summed) {
            if (row.useful != 0 || row.padded != 0) {
                put_routed(component, weight, row);
            }
            return;
        }
        for (cost_row& known : rows) {
            if (known.component == row.component && known.kind == row.kind && known.what == row.what &&
                known.mask == row.mask && known.in == row.in && known.weight == row.weight &&
                known.groups == row.groups && known.flow == row.flow) {
                const auto sum = [&component](std::uint64_t& total, std::uint64_t more) {
                    total = checked(total, component.view()) + more;
                };
                sum(row.useful, known.useful);
                sum(row.padded, known.padded);
                sum(row.parameters, known.parameters);
                sum(row.per_rank.in, known.per_rank.in);
                sum(row.per_rank.out, known.per_rank.out);
                sum(row.per_rank.padded_out, known.per_rank.padded_out);
                sum(row.per_rank.parameters, known.per_rank.parameters);
                row.dealt = dealing_of_sum(known.dealt, row.dealt);
                known = row;
                return;
            }
        }
        append(component, weight, row);
    }

    [[nodiscard]] constexpr std::uint32_t index_of_weight(std::string_view weight) const {
        std::size_t index = 0;
        while (index < weights.size() && !weights[index].is(weight)) {
            ++index;
        }
        return static_cast<std::uint32_t>(index + 1);
    }

    constexpr void append(const component_name& component, std::string_view weight, const cost_row& row) {
        const bool is_new = row.component == components.size();
        const bool names_weight = row.weight > weights.size();
        rows.make_room("rows");  // first all that can fail
        if (is_new) {
            components.make_room("components");
        }
        if (names_weight) {
            weights.push_back(weight, "weights");
        }
        if (is_new) {
            components.push_back(component, "components");
        }
        rows.push_back(row, "rows");
    }
};

}  // namespace floptally::detail
