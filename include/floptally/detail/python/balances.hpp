// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/assignment.hpp>
#include <floptally/balance.hpp>
#include <floptally/balance_report.hpp>
#include <floptally/detail/python/buffers.hpp>
#include <floptally/detail/python/gil.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>

namespace floptally::detail::python {

/// Costs of samples, [n] or [n, loads]: an array where it stands, or a list of exact ints or of floats.
class cost_argument {
  public:
    explicit cost_argument(py::handle value) : array_(array_argument::of(value, "costs")) {
        if (array_) {
            if (array_->shape().empty() || array_->shape().size() > 2) {
                throw error("costs", "must have the shape [samples] or [samples, loads], got " + array_->shape_text());
            }
            loads_ = array_->shape().size() == 2 ? array_->shape()[1] : 1;
            return;
        }
        if (!is_sequence(value)) {
            throw error("costs", "must be a list, an array or a tensor of numbers, got " + shown(value));
        }
        std::size_t row = 0;
        for (const py::handle item : py::reinterpret_borrow<py::object>(value)) {
            append_row(item, indexed("costs", row++));
        }
    }

    [[nodiscard]] std::size_t loads() const { return loads_; }
    [[nodiscard]] std::size_t size() const { return array_ ? array_->size() : exact_.size() + fractions_.size(); }

    /// Calls `with` with the span of costs.
    template <class With>
    decltype(auto) visit(With with) const {
        if (!array_) {
            return has_fractions_ ? with(std::span<const double>(fractions_)) : with(std::span<const flops>(exact_));
        }
        const element_type& type = array_->type();
        const auto of = [&](const auto* numbers) { return with(std::span(numbers, array_->size())); };
        const void* data = array_->data();
        if (type.is == element_type::kind::signed_integer && type.bytes == 8) {
            return of(static_cast<const std::int64_t*>(data));
        }
        if (type.is == element_type::kind::signed_integer && type.bytes == 4) {
            return of(static_cast<const std::int32_t*>(data));
        }
        if (type.is == element_type::kind::unsigned_integer && type.bytes == 8) {
            return of(static_cast<const std::uint64_t*>(data));
        }
        if (type.is == element_type::kind::unsigned_integer && type.bytes == 4) {
            return of(static_cast<const std::uint32_t*>(data));
        }
        if (type.name == "float64") {
            return of(static_cast<const double*>(data));
        }
        if (type.name == "float32") {
            return of(static_cast<const float*>(data));
        }
        throw error("costs", "must be int32, int64, uint32, uint64, float32 or float64, got " + type.name);
    }

  private:
    void append_row(py::handle item, const std::string& field) {
        if (!is_sequence(item)) {
            append(item, field);
            return;
        }
        const std::size_t width = py::len(item);
        if (size() != 0 && width != loads_) {
            throw error(field, "must have " + std::to_string(loads_) + " loads as the samples before, got " +
                                   std::to_string(width));
        }
        loads_ = width;
        std::size_t load = 0;
        for (const py::handle one : py::reinterpret_borrow<py::object>(item)) {
            append(one, indexed(field, load++));
        }
    }

    /// From the first fraction on, all are doubles.
    void append(py::handle item, const std::string& field) {
        if (const py::object index = index_of(item); index && !has_fractions_) {
            exact_.push_back(to_flops(py::reinterpret_borrow<py::int_>(index), field));
            return;
        }
        if (!has_fractions_) {
            has_fractions_ = true;
            for (const flops one : exact_) {
                fractions_.push_back(static_cast<double>(one.value()));
            }
            exact_.clear();
        }
        fractions_.push_back(to_number(item, field));
    }

    std::optional<array_argument> array_;
    std::size_t loads_ = 1;
    bool has_fractions_ = false;
    std::vector<flops> exact_;
    std::vector<double> fractions_;
};

/// An assignment beside what there would be without one.
struct shown_assignment {
    assignment found;
    balance_report report;
};

/// The integers of a list or an array, as another type, of which each must be one.
template <class To>
[[nodiscard]] std::vector<To> converted(const py::object& values, const char* field) {
    std::vector<To> out;
    if (values.is_none()) {
        return out;
    }
    integers(values, field).view().visit([&](const auto& all) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!std::in_range<To>(all[i])) {
                throw error(indexed(field, i), "must not be negative or too large, got " + std::to_string(all[i]));
            }
            out.push_back(static_cast<To>(all[i]));
        }
    });
    return out;
}

[[nodiscard]] inline shown_assignment balance(const py::object& costs, const py::object& ranks, const std::string& mode,
                                              const py::object& sizes, const py::object& capacity,
                                              const py::object& groups, const std::string& seed,
                                              const py::object& budget) {
    const cost_argument given(costs);
    const auto all_sizes = converted<std::uint64_t>(sizes, "sizes");
    const auto all_groups = converted<std::uint32_t>(groups, "groups");
    const balance_options how{.mode = from_word<balance_mode>(mode, "mode", {"equal_count", "free", "capacity"}),
                              .seed = from_word<balance_seed>(seed, "seed", {"best", "longest_first", "differencing"}),
                              .loads = given.loads(),
                              .sizes = all_sizes,
                              .capacity = to_count(capacity, "capacity"),
                              .groups = all_groups,
                              .budget = budget.is_none() ? automatic_budget : to_count(budget, "budget")};
    const std::uint64_t rank_count = to_count(ranks, "ranks");
    shown_assignment result;
    const py::gil_scoped_release released;  // a search takes long whatever the number of samples
    given.visit([&](const auto& all) {
        result.found = partition(all, rank_count, how);
        result.report = report_of(all, result.found);
    });
    return result;
}

/// A load in the unit of the costs: an exact int, or a float where these had fractions.
[[nodiscard]] inline py::object load_of(const assignment& found, uint128 load) {
    return found.exponent == 0
               ? to_int(load)
               : static_cast<py::object>(py::float_(std::ldexp(static_cast<double>(load), found.exponent)));
}

inline void bind_balance(py::module_& module) {
    py::class_<shown_assignment>(module, "Assignment", "Which rank has which samples.")
        .def_property_readonly(
            "rank_of", [](const shown_assignment& a) { return a.found.rank_of; }, "The rank of each sample.")
        .def_property_readonly(
            "ranks",
            [](const shown_assignment& a) {
                std::vector<std::vector<std::uint32_t>> ranks;
                for (std::size_t rank = 0; rank < a.found.ranks(); ++rank) {
                    const auto own = a.found.samples_of(rank);
                    ranks.emplace_back(own.begin(), own.end());
                }
                return ranks;
            },
            "The samples of each rank, ascending.")
        .def_property_readonly(
            "loads",
            [](const shown_assignment& a) {
                py::list ranks;
                for (std::size_t rank = 0; rank < a.found.ranks(); ++rank) {
                    py::list own;
                    for (std::size_t load = 0; load < a.found.loads_per_rank; ++load) {
                        own.append(load_of(a.found, a.found.loads[rank * a.found.loads_per_rank + load]));
                    }
                    ranks.append(own);
                }
                return ranks;
            },
            "The sums of each rank, one of each load.")
        .def_property_readonly(
            "max_over_mean", [](const shown_assignment& a) { return max_over_mean(a.report.after); },
            "The largest load over the mean; of several loads the worst.")
        .def_property_readonly(
            "max_over_mean_before", [](const shown_assignment& a) { return max_over_mean(a.report.before); },
            "The same of samples as they come, in as many even pieces as there are ranks.")
        .def_property_readonly(
            "predicted_speedup", [](const shown_assignment& a) { return a.report.predicted_speedup; },
            "Time before over time after, where a rank's time is its load.")
        .def_property_readonly(
            "moved", [](const shown_assignment& a) { return a.report.moved; }, "Samples on another rank than before.")
        .def("__repr__", [](const shown_assignment& a) {
            return "<Assignment of " + std::to_string(a.found.rank_of.size()) + " samples to " +
                   std::to_string(a.found.ranks()) + " ranks: max over mean " +
                   py::str(py::float_(max_over_mean(a.report.after))).cast<std::string>() + ">";
        });
    module.def("balance", &balance, py::arg("costs"), py::arg("ranks"), py::kw_only(), py::arg("mode") = "equal_count",
               py::arg("sizes") = py::none(), py::arg("capacity") = 0, py::arg("groups") = py::none(),
               py::arg("seed") = "best", py::arg("budget") = py::none(),
               R"(Samples to ranks so that the largest load is small.

costs: [samples] or [samples, loads] exact ints, integers or finite floats; an array is not copied. mode: "equal_count"
(as many samples on every rank), "free", or "capacity" (the sizes on a rank add up to its capacity at most). groups:
samples of one number stay on one rank. seed: "best" of "longest_first" and "differencing". budget: exchanges to look
at. The same costs give the same assignment on every rank.)");
}

}  // namespace floptally::detail::python
