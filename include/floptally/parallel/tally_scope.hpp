// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The scopes of all accumulators of a tally, including towers and measured accumulators.

namespace floptally::inline v0_3 {

/// The scopes of a tally's accumulators, for the text and for each tower. The pairs of all masks have the scope of
/// `accumulator::pairs`.
class tally_scope {
  public:
    constexpr tally_scope() = default;
    constexpr tally_scope(const statistic_scope& every) {  // NOLINT(google-explicit-constructor): one scope for all
        for (auto& tower_scopes : scopes_) {
            for (statistic_scope& scope : tower_scopes) {
                scope = every;
            }
        }
    }

    /// Returns these scopes with another scope for one accumulator, of text tokens or of a tower.
    [[nodiscard]] constexpr tally_scope with(accumulator which, const statistic_scope& scope,
                                             modality tower = modality::text) const {
        tally_scope changed = *this;
        changed.scopes_[static_cast<std::size_t>(tower)][static_cast<std::size_t>(which)] = scope;
        return changed;
    }

    /// Returns these scopes with another scope for all accumulators of a tower.
    [[nodiscard]] constexpr tally_scope with(modality tower, const statistic_scope& every) const {
        tally_scope changed = *this;
        for (statistic_scope& scope : changed.scopes_[static_cast<std::size_t>(tower)]) {
            scope = every;
        }
        return changed;
    }

    /// Returns these scopes with another scope for a measured accumulator (`measured(name)`). By default a measured
    /// accumulator has the scope of pairs. Set another scope for prompt tokens that every rank counts, for example, or
    /// for loss tokens that only the last stage has.
    [[nodiscard]] constexpr tally_scope with_measured(const component_name& name, const statistic_scope& scope) const {
        tally_scope changed = *this;
        for (measured_scope& entry : changed.measured_) {
            if (entry.name == name) {
                entry.scope = scope;
                return changed;
            }
        }
        changed.measured_.push_back({name, scope}, "scope");
        return changed;
    }
    [[nodiscard]] constexpr const statistic_scope& of_measured(std::string_view name, modality tower) const {
        for (const measured_scope& entry : measured_) {
            if (entry.name.view() == name) {
                return entry.scope;
            }
        }
        return of(tower, accumulator::pairs);
    }
    /// Throws if a scope was set for a measured accumulator that the model does not have: `has(name)` is false.
    template <class Has>
    constexpr void require_measured(Has has) const {
        for (const measured_scope& entry : measured_) {
            if (!has(entry.name.view())) {
                detail::refuse("scope", {"measured(", entry.name.view(),
                                         ") is not kept by these tallies: correct the name, or add this statistic to "
                                         "the model's cost by keep()"});
            }
        }
    }

    /// Returns the scope of an accumulator of text tokens.
    [[nodiscard]] constexpr const statistic_scope& operator[](accumulator which) const {
        return of(modality::text, which);
    }
    [[nodiscard]] constexpr const statistic_scope& of(modality tower, accumulator which) const {
        return scopes_[static_cast<std::size_t>(tower)][static_cast<std::size_t>(which)];
    }

    /// Throws unless the scope divides an accumulator into `loader_parts` parts. Pass the number of different sets of
    /// samples that the data loader returns on the ranks. This check finds an accumulator that is declared sharded
    /// although the ranks load the same samples.
    constexpr void require_parts(accumulator which, const parallel_layout& layout, std::uint64_t loader_parts,
                                 modality tower = modality::text) const {
        const std::uint64_t parts = of(tower, which).parts(layout);
        if (parts != loader_parts) {
            detail::refuse("scope", {qualified(tower, name_of(which)), " is declared in ", parts,
                                     " shards, but the data loader returns ", loader_parts, " different batches",
                                     ": declare it replicated where ranks load the same samples"});
        }
    }

    [[nodiscard]] friend constexpr bool operator==(const tally_scope&, const tally_scope&) = default;

  private:
    struct measured_scope {
        component_name name;
        statistic_scope scope;

        [[nodiscard]] friend constexpr bool operator==(const measured_scope&, const measured_scope&) = default;
    };

    statistic_scope scopes_[modality_count][accumulator_count]{};
    list<measured_scope> measured_{};
};

}  // namespace floptally
