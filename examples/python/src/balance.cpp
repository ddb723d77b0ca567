// SPDX-License-Identifier: Apache-2.0

#include <variant>

#include <floptally/balance/assignment.hpp>
#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>

#include "classes.hpp"

/// @file
/// Assigns samples to ranks. Python's `Assignment` is constructed from the result.

namespace floptally::python {

namespace {

constexpr const char* balance_mode_names[] = {"equal_count", "free", "capacity"};
constexpr const char* balance_seed_names[] = {"best", "longest_first", "differencing"};

/// Costs of the samples: an array [samples] or [samples, loads] read in place, or a list of exact ints, of floats, or
/// of such lists.
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
    cost_argument(const cost_argument&) = delete;  // a view may point to `this`
    cost_argument& operator=(const cost_argument&) = delete;

    std::size_t loads() const { return loads_; }

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
    bool view_as(const std::string& type, const char* name) {
        if (type != name) {
            return false;
        }
        numbers_ = std::span(static_cast<const Number*>(array_.data()), array_.size());
        return true;
    }

    void copy(const py::object& costs) {
        std::vector<py::object> numbers;
        std::size_t sample = 0;
        for (const py::handle item : items_of(costs, "costs")) {
            const std::size_t before = numbers.size();
            if (is_sequence(item)) {
                for (const py::handle load : items_of(item, indexed("costs", sample), "numbers")) {
                    numbers.push_back(py::reinterpret_borrow<py::object>(load));
                }
            } else {
                numbers.push_back(py::reinterpret_borrow<py::object>(item));
            }
            const std::size_t loads = numbers.size() - before;
            loads_ = sample == 0 ? loads : loads_;
            if (loads == 0 || loads != loads_) {
                throw error(
                    indexed("costs", sample),
                    "must have " +
                        (loads_ == 0 ? "at least 1 load" : std::to_string(loads_) + " loads, as the first sample has") +
                        ", got " + std::to_string(loads));
            }
            ++sample;
        }
        bool exact = true;
        for (const py::object& number : numbers) {
            exact = exact && static_cast<bool>(index_of(number));
        }
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            if (exact) {
                whole_.push_back(to_flops(numbers[i], indexed("costs", i / loads_)).value());
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

template <class Number>
std::vector<Number> copied(const arguments& args, const char* field) {
    std::vector<Number> out;
    if (const py::handle list = args.some(field)) {
        const integers numbers(list, field);
        numbers.view().visit([&](const auto& all) {
            for (std::size_t i = 0; i < all.size(); ++i) {
                if (!std::in_range<Number>(all[i])) {
                    throw error(indexed(field, i), "must be from 0 to " +
                                                       std::to_string(std::numeric_limits<Number>::max()) + ", got " +
                                                       std::to_string(all[i]));
                }
                out.push_back(static_cast<Number>(all[i]));
            }
        });
    }
    return out;
}

template <class Number>
py::array_t<std::int64_t> index_array(std::span<const Number> numbers) {
    py::array_t<std::int64_t> out(static_cast<py::ssize_t>(numbers.size()));
    std::int64_t* to = out.mutable_data();
    for (const Number number : numbers) {
        *to++ = static_cast<std::int64_t>(number);
    }
    return out;
}

/// The largest load, the smallest and their ratios, for each kind of load.
py::tuple spreads_of(const std::vector<load_spread>& spreads) {
    py::list all;
    for (const load_spread& each : spreads) {
        all.append(py::make_tuple(to_int(each.largest), to_int(each.smallest), each.max_over_mean.ratio(),
                                  each.max_over_min, each.range_over_max));
    }
    return py::tuple(all);
}

/// Python's `Assignment`.
py::object shown_assignment(const assignment& found, const balance_report& report) {
    py::list ranks;
    for (std::size_t rank = 0; rank < found.ranks(); ++rank) {
        ranks.append(index_array(found.samples_of(rank)));
    }
    py::list loads;
    for (const uint128 load : found.loads) {
        loads.append(to_int(load));
    }
    return package_attribute("_balance", "assignment")(
        index_array(std::span<const std::uint32_t>(found.rank_of)), ranks, loads, found.exponent, found.is_optimum,
        spreads_of(report.before), spreads_of(report.after), report.samples, report.moved, report.predicted_speedup,
        max_over_mean(report.after));
}

py::object balanced(const arguments& args) {
    const cost_argument costs(args["costs"]);
    const std::uint64_t ranks = args.count("ranks");
    const auto sizes = copied<std::uint64_t>(args, "sizes");
    const auto groups = copied<std::uint32_t>(args, "groups");
    const balance_options how{.mode = from_name<balance_mode>(args.text("mode"), "mode", balance_mode_names),
                              .seed = from_name<balance_seed>(args.text("seed"), "seed", balance_seed_names),
                              .loads = costs.loads(),
                              .sizes = sizes,
                              .capacity = args.some_count("capacity").value_or(0),
                              .groups = groups,
                              .budget = args.some_count("budget").value_or(automatic_budget),
                              .fineness = args.count("fineness")};
    const auto [found, report] = costs.visit([&](const auto& numbers) {
        const py::gil_scoped_release released;
        assignment best = partition(numbers, ranks, how);
        balance_report beside = balance_report_of(numbers, best);
        return std::pair(std::move(best), std::move(beside));
    });
    return shown_assignment(found, report);
}

}  // namespace

void bind_balance(py::module_& module) {
    function(module, "balance", [](const arguments& args) { return balanced(args); });
}

}  // namespace floptally::python
