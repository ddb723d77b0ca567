// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/mask_set.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/rows.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/version.hpp>

namespace floptally::detail::python {

/// A model as it is counted by a convention and a plan: folded once, kept by its cost and shared by all that it
/// counted.
struct folded_model {
    folded_model(std::shared_ptr<const model_config> config, const convention& how, const training_plan& trains)
        : model(std::move(config)),
          plan(trains),
          counter(*model, how, trains),
          masks(counted_masks(model->cost, counter)) {}

    std::shared_ptr<const model_config> model;
    training_plan plan;
    flop_counter counter;
    mask_set masks;  ///< of the model, and those that the convention asks for besides
};

/// Python's `Cost`: a model as a config describes it, immutable, the plan by which it trains where none is given, and
/// what it was last folded to.
class model_cost {
  public:
    explicit model_cost(model_config model, training_plan plan = {})
        : model_(std::make_shared<const model_config>(std::move(model))), plan_(std::move(plan)) {}

    [[nodiscard]] const model_config& model() const { return *model_; }
    [[nodiscard]] const training_plan& plan() const { return plan_; }
    [[nodiscard]] model_cost with_plan(training_plan plan) const {
        model_cost other(*this);
        other.plan_ = std::move(plan);
        return other;
    }
    [[nodiscard]] const cost& of() const { return model_->cost; }

    /// Folding is the dear part of a count: the last few are kept.
    [[nodiscard]] std::shared_ptr<const folded_model> folded(const convention& how, const training_plan& plan) const {
        for (const std::shared_ptr<const folded_model>& one : kept_) {
            if (one->counter.counted_as().name == how.name && one->plan == plan) {
                return one;
            }
        }
        constexpr std::size_t most = 8;
        auto made = std::make_shared<const folded_model>(model_, how, plan);
        if (kept_.size() == most) {
            kept_.erase(kept_.begin());
        }
        return kept_.emplace_back(std::move(made));
    }

  private:
    std::shared_ptr<const model_config> model_;
    training_plan plan_;
    mutable std::vector<std::shared_ptr<const folded_model>> kept_;  // under the GIL
};

/// The same weights in the same places, trained alike, do the same work: names of types and notes may differ.
[[nodiscard]] inline bool operator==(const model_cost& a, const model_cost& b) {
    return a.of() == b.of() && a.plan() == b.plan();
}

/// A plan that is given, else the one that the model has.
[[nodiscard]] inline const training_plan& to_plan(py::handle plan, const model_cost& model) {
    return plan.is_none() ? model.plan() : to_plan(plan);
}

[[nodiscard]] inline py::tuple cost_state(const cost& model) {
    py::list rows;
    for (const whole_row& row : rows_of(model)) {
        rows.append(row.numbers());
    }
    return py::tuple(rows);
}

[[nodiscard]] inline cost cost_of_state(const py::handle& state) {
    std::vector<whole_row> rows;
    for (const py::handle row : py::reinterpret_borrow<py::object>(state)) {
        rows.push_back(whole_row::of_numbers(row.cast<py::tuple>()));
    }
    return cost_of_rows(rows);
}

/// The state of a pickle belongs to one version: numbers of a count are not carried over silently.
inline void require_version(const py::handle& kept, const char* what) {
    if (kept.cast<std::string>() != version) {
        throw error("version", std::string(what) + " was pickled by floptally " + kept.cast<std::string>() +
                                   ", this is " + version);
    }
}

/// One page: a path, or a str that has a line break and so is the text itself.
[[nodiscard]] inline std::string to_page(const py::handle& page, const std::string& field) {
    const bool is_path = py::hasattr(page, "__fspath__");
    if (!is_path && !py::isinstance<py::str>(page)) {
        throw error(field, "must be the path or the text of a page, got " + shown(page));
    }
    const std::string given = py::module_::import("os").attr("fsdecode")(page).cast<std::string>();
    if (!is_path && given.find('\n') != std::string::npos) {
        return given;
    }
    std::ifstream file(given, std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file) {
        throw error(field, "cannot read \"" + given + "\"; a str without a line break is the path of a page");
    }
    return text;
}

/// A page or a sequence of them.
[[nodiscard]] inline std::vector<std::string> to_pages(const py::object& pages) {
    std::vector<std::string> all;
    if (pages.is_none()) {
        return all;
    }
    if (!is_sequence(pages)) {
        all.push_back(to_page(pages, "page"));
        return all;
    }
    for (const py::handle one : pages) {
        all.push_back(to_page(one, indexed("page", all.size())));
    }
    return all;
}

[[nodiscard]] inline read_options to_read_options(const std::string& mla, const py::object& mtp,
                                                  const py::object& padded_vocab_size, const py::object& pages,
                                                  bool strict) {
    constexpr std::uint64_t most_layers = 100;
    return {.mla = from_word<mla_core>(mla, "mla", mla_core_names),
            .mtp_layers = to_count(mtp, "mtp", 0, most_layers),
            .padded_vocab_size = to_count(padded_vocab_size, "padded_vocab_size"),
            .pages = to_pages(pages),
            .strict = strict};
}

/// A `Row`, or a tuple of its first four or five arguments.
[[nodiscard]] inline whole_row to_row(py::handle item) {
    if (py::isinstance<whole_row>(item)) {
        return item.cast<whole_row>();
    }
    const bool is_tuple = is_sequence(item) && (py::len(item) == 4 || py::len(item) == 5);
    const py::tuple of = is_tuple ? py::tuple(py::reinterpret_borrow<py::object>(item)) : py::tuple();
    if (!is_tuple || !py::isinstance<py::str>(of[0]) || !py::isinstance<py::str>(of[2])) {
        throw error("row", "must be a floptally.Row or (component, unit, kind, flops_per_unit[, parameters]), got " +
                               shown(item));
    }
    return make_row(of[0].cast<std::string>(), of[1], of[2].cast<std::string>(), of[3],
                    of.size() == 5 ? py::object(of[4]) : py::int_(0), py::none(), "", "text", "unsaid", py::int_(0),
                    py::int_(0));
}

/// The rows of a list, with an error that says which of them is none.
[[nodiscard]] inline model_cost cost_from_rows(const py::iterable& rows, const std::string& model_type,
                                               const std::vector<std::string>& notes) {
    cost sum;
    std::size_t index = 0;
    for (const py::handle item : rows) {
        try {
            const whole_row row = to_row(item);
            sum.add_row(row.component, row.weight, row.row, row.attends);
        } catch (const overflow&) {
            throw;
        } catch (const error& problem) {
            throw error(indexed("rows", index).append(".").append(problem.field()), problem.problem());
        }
        ++index;
    }
    return model_cost({.model_type = model_type, .cost = sum, .notes = notes, .parts = {}, .towers = {}});
}

/// A sum has no parts: a plan with rules takes it as one part.
[[nodiscard]] inline model_cost sum_of(const model_cost& a, const model_cost& b) {
    if (!(a.plan() == b.plan())) {
        throw error("plan", "the two costs train by different plans: give both one by planned(), or count each alone");
    }
    model_config sum{.model_type = a.model().model_type + " + " + b.model().model_type,
                     .cost = a.of() + b.of(),
                     .notes = a.model().notes,
                     .parts = {},
                     .towers = a.model().towers};
    sum.notes.insert(sum.notes.end(), b.model().notes.begin(), b.model().notes.end());
    sum.towers.insert(sum.towers.end(), b.model().towers.begin(), b.model().towers.end());
    return model_cost(std::move(sum), a.plan());
}

}  // namespace floptally::detail::python
