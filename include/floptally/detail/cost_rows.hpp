// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/list.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model/dealing.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/term.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/measured.hpp>

namespace floptally::detail {

/// The row of a weight matrix.
[[nodiscard]] constexpr cost_row row_of(const component_name& component, const linear& weight) {
    const auto product = [&component](std::uint64_t a, std::uint64_t b) {
        return checked_multiply(a, b, component.view());
    };
    const std::uint64_t in = weight.in_features;
    const std::uint64_t out = weight.out_features;
    const std::uint64_t padded_out = weight.padded_out_features == 0 ? out : weight.padded_out_features;
    const std::uint64_t per_unit = product(2, weight.applied);
    const std::uint64_t stored = weight.shared ? 0 : weight.stored == 0 ? weight.applied : weight.stored;
    cost_row row{.what = weight.rows,
                 .kind = weight.kind,
                 .useful = product(per_unit, product(in, out)),
                 .padded = product(per_unit, product(in, padded_out)),
                 .parameters = product(stored, product(in, out)),
                 .flow = {.reads = weight.reads, .writes = weight.writes},
                 .dealt = weight.dealt.of_matrix(in, out)};
    if (weight.adaptable) {
        row.per_rank = {.in = product(per_unit, in),
                        .out = product(per_unit, out),
                        .padded_out = product(per_unit, padded_out),
                        .parameters = product(stored, checked_add(in, out, component.view()))};
    }
    return row;
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

    /// The same of a row over the pairs of a mask, or the units of another rule. A measured word counts visits, which
    /// are those of all layers already; where it was put in place of tokens or pairs (`over`), it counts units like a
    /// mask.
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

    /// Whether its units are those of all layers already, as visits of experts are: not multiplied with the layers.
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

    /// The same layers over sequences that are longer by `n` tokens which no tally counts: class tokens, registers.
    /// (L + n)² is L² + 2nL + n². A mask other than bidirectional has no such form.
    [[nodiscard]] constexpr cost_rows with_prefix_tokens(std::uint64_t n) const {
        cost_rows sum = *this;
        const auto add = [&](cost_row more, statistic unit, std::uint64_t times) {
            const component_name& component = components[more.component];
            more.what = unit;
            more.parameters = more.per_rank.parameters = 0;
            for (std::uint64_t* flops :
                 {&more.useful, &more.padded, &more.per_rank.in, &more.per_rank.out, &more.per_rank.padded_out}) {
                *flops = checked_multiply(times, *flops, component.view());
            }
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
                add(row, statistic::tokens, checked_multiply(2, n, "prefix tokens"));
                add(row, statistic::count, checked_multiply(n, n, "prefix tokens"));
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
            known.parameters = checked_add(known.parameters, row.parameters, component.view());
            known.per_rank.parameters =
                checked_add(known.per_rank.parameters, row.per_rank.parameters, component.view());
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
                known.mask == row.mask && known.in == row.in && known.weight == row.weight && known.flow == row.flow) {
                const auto sum = [&component](std::uint64_t& of, std::uint64_t more) {
                    of = checked_add(of, more, component.view());
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
