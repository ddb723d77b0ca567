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
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The scope of each statistic of a tally, of its towers and of measured words.

namespace floptally {

/// The scopes of a tally's statistics, for the text and for each tower. All masks have that of `statistic::pairs`.
class tally_scope {
  public:
    constexpr tally_scope() = default;
    constexpr tally_scope(const statistic_scope& every) {  // NOLINT(google-explicit-constructor): one for all
        for (auto& tower_scopes : scopes_) {
            for (statistic_scope& scope : tower_scopes) {
                scope = every;
            }
        }
    }

    /// These scopes with another one for a statistic of the text, or of a tower.
    [[nodiscard]] constexpr tally_scope with(statistic what, const statistic_scope& scope,
                                             modality in = modality::text) const {
        tally_scope changed = *this;
        changed.scopes_[static_cast<std::size_t>(in)][static_cast<std::size_t>(what)] = scope;
        return changed;
    }

    /// These scopes with another one for all statistics of a tower.
    [[nodiscard]] constexpr tally_scope with(modality in, const statistic_scope& every) const {
        tally_scope changed = *this;
        for (statistic_scope& scope : changed.scopes_[static_cast<std::size_t>(in)]) {
            scope = every;
        }
        return changed;
    }

    /// These scopes with one for a word that a caller measures (`measured(name)`), whose default is that of pairs:
    /// prompt tokens that every rank counts, loss tokens of the last stage.
    [[nodiscard]] constexpr tally_scope with_measured(const component_name& name, const statistic_scope& scope) const {
        tally_scope changed = *this;
        for (measured_scope& known : changed.measured_) {
            if (known.name == name) {
                known.scope = scope;
                return changed;
            }
        }
        changed.measured_.push_back({name, scope}, "scope");
        return changed;
    }
    [[nodiscard]] constexpr const statistic_scope& of_measured(std::string_view name, modality in) const {
        for (const measured_scope& known : measured_) {
            if (known.name.view() == name) {
                return known.scope;
            }
        }
        return of(in, statistic::pairs);
    }
    /// Throws where there is a scope for a word that `has(name)` does not know.
    template <class Has>
    constexpr void require_measured(Has has) const {
        for (const measured_scope& known : measured_) {
            if (!has(known.name.view())) {
                detail::refuse("scope", {"no word that these tallies keep is measured(", known.name.view(),
                                         "): cost::keep and masks say which they keep"});
            }
        }
    }

    /// The scope of a statistic of the text.
    [[nodiscard]] constexpr const statistic_scope& operator[](statistic what) const { return of(modality::text, what); }
    [[nodiscard]] constexpr const statistic_scope& of(modality in, statistic what) const {
        return scopes_[static_cast<std::size_t>(in)][static_cast<std::size_t>(what)];
    }

    /// Throws unless a statistic has as many parts as the data loader deals samples to. So a statistic that is declared
    /// sharded over an axis whose ranks all load the same samples is found before the first step.
    constexpr void require_parts(statistic what, const parallel_layout& layout, std::uint64_t loader_parts,
                                 modality in = modality::text) const {
        const std::uint64_t parts = of(in, what).parts(layout);
        if (parts != loader_parts) {
            detail::refuse("scope", {qualified(in, name_of(what)), " is declared in ", parts,
                                     " parts, and the data loader deals samples to ", loader_parts});
        }
    }

    [[nodiscard]] friend constexpr bool operator==(const tally_scope&, const tally_scope&) = default;

  private:
    struct measured_scope {
        component_name name;
        statistic_scope scope;

        [[nodiscard]] friend constexpr bool operator==(const measured_scope&, const measured_scope&) = default;
    };

    statistic_scope scopes_[modality_count][statistic_count]{};
    detail::list<measured_scope> measured_{};
};

}  // namespace floptally
