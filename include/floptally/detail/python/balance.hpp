// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <floptally/balance/assignment.hpp>
#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>
#include <floptally/detail/python/buffers.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>

/// @file
/// Samples to ranks for Python.

namespace floptally::detail::python {

inline constexpr const char* balance_mode_words[] = {"equal_count", "free", "capacity"};
inline constexpr const char* balance_seed_words[] = {"best", "longest_first", "differencing"};

/// What each sample costs: an array [samples] or [samples, loads] where it stands, or a list of exact ints, of floats,
/// or of such lists.
class cost_argument {
  public:
    explicit cost_argument(const py::object& costs) : array_(costs, "costs") {
        if (array_.is_array()) {
            view_array();
        } else if (is_sequence(costs)) {
            copy(costs);
        } else {
            throw error("costs", "must be a list, an array or a tensor of numbers, got " + shown(costs));
        }
    }
    cost_argument(const cost_argument&) = delete;  // a view may be of own numbers
    cost_argument& operator=(const cost_argument&) = delete;

    [[nodiscard]] std::size_t loads() const { return loads_; }

    template <class With>
    decltype(auto) visit(With with) const {
        return std::visit(with, numbers_);
    }

  private:
    void view_array() {
        const std::span<const std::int64_t> shape = array_.shape();
        if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[1] == 0)) {
            throw error("costs", "must have shape (samples,) or (samples, loads), got " + array_.shape_text());
        }
        loads_ = shape.size() == 2 ? static_cast<std::size_t>(shape[1]) : 1;
        const std::string type = array_.type().name();
        if (!(view_as<std::int64_t>(type, "int64") || view_as<std::uint64_t>(type, "uint64") ||
              view_as<std::int32_t>(type, "int32") || view_as<std::uint32_t>(type, "uint32") ||
              view_as<double>(type, "float64") || view_as<float>(type, "float32"))) {
            throw error("costs", "must be int32, int64, uint32, uint64, float32 or float64, got " + type);
        }
    }

    template <class Number>
    [[nodiscard]] bool view_as(const std::string& type, const char* name) {
        if (type != name) {
            return false;
        }
        numbers_ = std::span(static_cast<const Number*>(array_.data()), array_.size());
        return true;
    }

    void copy(const py::object& costs) {
        std::vector<py::object> numbers;
        std::size_t sample = 0;
        for (const py::handle item : costs) {
            const std::size_t before = numbers.size();
            if (is_sequence(item)) {
                for (const py::handle load : py::reinterpret_borrow<py::object>(item)) {
                    numbers.push_back(py::reinterpret_borrow<py::object>(load));
                }
            } else {
                numbers.push_back(py::reinterpret_borrow<py::object>(item));
            }
            const std::size_t loads = numbers.size() - before;
            loads_ = sample == 0 ? loads : loads_;
            if (loads == 0 || loads != loads_) {
                throw error(indexed("costs", sample),
                            "must have as many loads as the first sample, at least 1, got " + std::to_string(loads));
            }
            ++sample;
        }
        bool exact = true;
        for (const py::object& number : numbers) {
            exact = exact && static_cast<bool>(index_of(number));
        }
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (exact) {
                whole_.push_back(to_flops(py::int_(index_of(numbers[i])), indexed("costs", i / loads_)).value());
            } else {
                fractions_.push_back(to_number(numbers[i], indexed("costs", i / loads_)));
            }
        }
        if (exact) {
            numbers_ = std::span<const uint128>(whole_);
        } else {
            numbers_ = std::span<const double>(fractions_);
        }
    }

    array_argument array_;
    std::size_t loads_ = 1;
    std::vector<uint128> whole_;
    std::vector<double> fractions_;
    std::variant<std::span<const uint128>, std::span<const std::int64_t>, std::span<const std::uint64_t>,
                 std::span<const std::int32_t>, std::span<const std::uint32_t>, std::span<const double>,
                 std::span<const float>>
        numbers_;
};

/// An assignment, and how it compares with the samples as they came.
struct held_assignment {
    assignment of;
    balance_report report;

    /// An exact int where costs were whole numbers.
    [[nodiscard]] py::object number(uint128 load) const {
        return of.exponent == 0 ? to_int(load) : py::float_(std::ldexp(static_cast<double>(load), of.exponent));
    }
};

template <class Number>
[[nodiscard]] std::vector<Number> copied(const py::object& list, const char* field) {
    std::vector<Number> out;
    if (!list.is_none()) {
        const integers numbers(list, field);
        numbers.view().visit([&](const auto& all) {
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (!std::in_range<Number>(all[i])) {
                    throw error(indexed(field, i), "must not be negative nor above " +
                                                       std::to_string(std::numeric_limits<Number>::max()) + ", got " +
                                                       std::to_string(all[i]));
                }
                out.push_back(static_cast<Number>(all[i]));
            }
        });
    }
    return out;
}

[[nodiscard]] inline held_assignment balanced(const py::object& costs, const py::object& ranks, const std::string& mode,
                                              const std::string& seed, const py::object& sizes,
                                              const py::object& capacity, const py::object& groups,
                                              const py::object& budget, const py::object& fineness) {
    const cost_argument given(costs);
    const std::uint64_t count = to_count(ranks, "ranks");
    const auto own_sizes = copied<std::uint64_t>(sizes, "sizes");
    const auto own_groups = copied<std::uint32_t>(groups, "groups");
    const balance_options how{.mode = from_word<balance_mode>(mode, "mode", balance_mode_words),
                              .seed = from_word<balance_seed>(seed, "seed", balance_seed_words),
                              .loads = given.loads(),
                              .sizes = own_sizes,
                              .capacity = capacity.is_none() ? 0 : to_count(capacity, "capacity"),
                              .groups = own_groups,
                              .budget = budget.is_none() ? automatic_budget : to_count(budget, "budget"),
                              .fineness = to_count(fineness, "fineness")};
    const py::gil_scoped_release released;
    return given.visit([&](const auto& numbers) {
        assignment found = partition(numbers, count, how);
        balance_report report = balance_report_of(numbers, found);
        return held_assignment{std::move(found), std::move(report)};
    });
}

template <class Number>
[[nodiscard]] py::array_t<std::int64_t> index_array(std::span<const Number> numbers) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(numbers.size()));
    std::int64_t* to = out.mutable_data();
    for (const Number number : numbers) {
        *to++ = static_cast<std::int64_t>(number);
    }
    return out;
}

inline void bind_balance(py::module_& module) {
    const auto spreads = [](const held_assignment& a, const std::vector<load_spread>& of) {
        py::list out;
        for (const load_spread& one : of) {
            py::dict spread;
            spread["largest"] = a.number(one.largest);
            spread["smallest"] = a.number(one.smallest);
            spread["max_over_mean"] = one.max_over_mean.ratio();
            spread["max_over_min"] = one.max_over_min ? py::object(py::float_(*one.max_over_min)) : py::none();
            spread["range_over_max"] = one.range_over_max;
            out.append(spread);
        }
        return out;
    };
    py::class_<held_assignment>(module, "Assignment", "Which rank has which samples, and what each rank has to do.")
        .def_property_readonly(
            "rank_of",
            [](const held_assignment& a) { return index_array(std::span<const std::uint32_t>(a.of.rank_of)); },
            "The rank of each sample, as a new int64 array.")
        .def_property_readonly(
            "ranks",
            [](const held_assignment& a) {
                py::list out;
                for (std::size_t rank = 0; rank < a.of.ranks(); ++rank) {
                    out.append(index_array(a.of.samples_of(rank)));
                }
                return out;
            },
            "The samples of each rank, ascending, as new int64 arrays.")
        .def_property_readonly(
            "loads",
            [](const held_assignment& a) {
                py::list out;
                for (std::size_t rank = 0; rank < a.of.ranks(); ++rank) {
                    py::list own;
                    for (std::size_t load = 0; load < a.of.loads_per_rank; ++load) {
                        own.append(a.number(a.of.loads[rank * a.of.loads_per_rank + load]));
                    }
                    out.append(a.of.loads_per_rank == 1 ? py::object(own[0]) : py::tuple(own));
                }
                return out;
            },
            "The load of each rank, exact where costs are ints; a tuple of several.")
        .def_property_readonly(
            "is_optimum", [](const held_assignment& a) { return a.of.is_optimum; },
            "Whether no assignment has a smaller largest load, where that is known.")
        .def_property_readonly(
            "report",
            [spreads](const held_assignment& a) {
                py::dict out;
                out["before"] = spreads(a, a.report.before);
                out["after"] = spreads(a, a.report.after);
                out["samples"] = a.report.samples;
                out["moved"] = a.report.moved;
                out["predicted_speedup"] = a.report.predicted_speedup;
                return out;
            },
            "Beside the samples as they came: spreads of each load before and after, samples that "
            "moved, and the predicted speed-up.")
        .def("__len__", [](const held_assignment& a) { return a.of.ranks(); })
        .def(
            "__eq__", [](const held_assignment& a, const held_assignment& b) { return a.of == b.of; },
            py::is_operator())
        .def("__repr__", [](const held_assignment& a) {
            return "<Assignment of " + std::to_string(a.of.rank_of.size()) + " samples to " +
                   std::to_string(a.of.ranks()) + " ranks, largest load over mean " +
                   std::to_string(max_over_mean(a.report.after)) + ">";
        });
    module.def(
        "balance", &balanced, py::arg("costs"), py::arg("ranks"), py::kw_only(), py::arg("mode") = "equal_count",
        py::arg("seed") = "best", py::arg("sizes") = py::none(), py::arg("capacity") = py::none(),
        py::arg("groups") = py::none(), py::arg("budget") = py::none(), py::arg("fineness") = 1024,
        R"(Samples to ranks so that the largest load is small: the same costs give the same assignment everywhere.

costs: of each sample, [n] ints (of any size), or floats; [n, loads] for several loads at once.
mode: "equal_count" (as many samples on every rank), "free", or "capacity" (`sizes` of a rank add up to `capacity` at
most). groups: samples of one number stay on one rank. seed: "best", "longest_first", "differencing". budget: exchanges
to look at, 0 for the seeds alone. fineness: more than 16 samples end where the largest load is within 1 / fineness of
the lower bound, with 0 at the bound or where nothing helps; fewer end at the optimum.)");
}

}  // namespace floptally::detail::python
