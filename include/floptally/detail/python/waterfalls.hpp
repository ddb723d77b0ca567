// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/detail/python/account_keywords.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/component_tables.hpp>
#include <floptally/detail/python/html.hpp>
#include <floptally/detail/python/masked_tiles.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/detail/python/waterfall_account.hpp>
#include <floptally/error.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

/// @file
/// Where the time of a step went, for Python.

namespace floptally::detail::python {

/// Python's `Waterfall`, with what it was made of: another choice is the same with some of it changed.
struct shown_waterfall {
    /// `rate`: that of the kernels of another step; absent where this one was measured.
    shown_waterfall(py::object breakdown, py::dict keywords, std::optional<double> rate,
                    std::shared_ptr<const python_services> services)
        : work(std::move(breakdown)),
          said(std::move(keywords)),
          kernel_rate(rate),
          with(std::move(services)),
          made(make()) {}

    py::object work;
    py::dict said;
    std::optional<double> kernel_rate;
    std::shared_ptr<const python_services> with;
    std::optional<shown_components> components{};  ///< of a step that ran and whose components were timed
    waterfall made;

  private:
    [[nodiscard]] waterfall make() {
        const account_reader reader(work.cast<const shown_breakdown&>(), said);
        step_account account = reader.account();
        if (kernel_rate) {
            return floptally::what_if(std::move(account), *kernel_rate);
        }
        if (!said.contains("component_times")) {
            account.step.seconds = reader.seconds();
            return waterfall(account);
        }
        const measured_components times = to_times(*with, said["component_times"]);
        const bool says_seconds = times.seconds && (!said.contains("seconds") || said["seconds"].is_none());
        account.step.seconds = says_seconds ? *times.seconds : reader.seconds();
        components = {component_waterfall(account, times.times), {}};
        if (said.contains("notes")) {
            components->notes = said["notes"].cast<std::vector<std::string>>();
        }
        return waterfall(account);
    }
};

/// A line, and the GPUs that its time is over.
struct shown_line {
    waterfall_line line;
    std::uint64_t gpus = 1;

    [[nodiscard]] double points() const {
        const double share = 100 * line.share;
        return line.what == waterfall_step::useful ? share : 0 - share;
    }
};

[[nodiscard]] inline py::list lines_of(const waterfall& made) {
    py::list lines;
    for (const waterfall_line& line : made.lines()) {
        lines.append(shown_line{line, made.gpus()});
    }
    return lines;
}

/// The cells of the table, for a notebook; exact nanoseconds over all GPUs are the title of each time.
[[nodiscard]] inline std::string to_html(const waterfall& made) {
    std::string text = "<table><caption>MFU " + to_percent(made.mfu()) +
                       "</caption><tr><th></th><th>ms of a GPU</th><th>% of peak</th><th></th></tr>";
    // The rows are the peak, all lines but the first, and the first.
    const std::vector<waterfall_row> rows = floptally::detail::rows_of(made);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const waterfall_line& line = made.lines()[i % made.lines().size()];
        const std::string exact = std::to_string(line.gpu_nanoseconds) + " ns of GPUs";
        text.append("<tr><th style=\"text-align:left\">").append(escaped(rows[i].name));
        text.append("</th><td style=\"text-align:right\" title=\"").append(i == 0 || !line.is_known ? "" : exact);
        text.append("\">").append(rows[i].milliseconds).append("</td><td style=\"text-align:right\">");
        text.append(rows[i].points).append("</td><td style=\"text-align:left\">").append(escaped(rows[i].assumed));
        text.append("</td></tr>");
    }
    return text.append("</table>");
}

/// What the module's functions of the C protocol need of it: they are bare pointers.
[[nodiscard]] inline std::shared_ptr<const python_services>& services_of_waterfalls() {
    static std::shared_ptr<const python_services> held;
    return held;
}

/// `Breakdown.waterfall`
[[nodiscard]] inline py::object breakdown_waterfall(py::handle self, call_arguments& given) {
    py::dict said = account_of_call(given);
    given.require_no_other();
    const auto& work = self.cast<const shown_breakdown&>();
    read_times(*services_of_waterfalls(), work, said);
    return py::cast(shown_waterfall(py::reinterpret_borrow<py::object>(self),
                                    work.measured_by ? changed(py::dict(work.measured_by), said) : said, {},
                                    services_of_waterfalls()));
}

/// `Waterfall.what_if`
[[nodiscard]] inline py::object waterfall_what_if(py::handle self, call_arguments& given) {
    const auto& measured = self.cast<const shown_waterfall&>();
    const py::handle work = given.keyword("work");
    const py::handle rate = given.keyword("kernel_rate");
    const py::dict said = account_of_call(given, false);
    given.require_no_other();
    if (work && !work.is_none() && !py::isinstance<shown_breakdown>(work)) {
        throw error("work", "must be a floptally.Breakdown, got " + shown(work));
    }
    const bool is_counted = measured.said.contains("masked_tiles") && index_of(measured.said["masked_tiles"]);
    if (work && !work.is_none() && is_counted && !said.contains("masked_tiles")) {
        throw error("masked_tiles", "are FLOPs of the work before: give those of this one, or None where nobody knows");
    }
    return py::cast(shown_waterfall(
        work && !work.is_none() ? py::reinterpret_borrow<py::object>(work) : measured.work,
        changed(measured.said, said),
        rate && !rate.is_none() ? to_number(rate, "kernel_rate") : measured.made.kernel_rate(), measured.with));
}

inline void bind_waterfalls(py::module_& module, const std::shared_ptr<const python_services>& with) {
    services_of_waterfalls() = with;
    bind_masked_tiles(module);
    bind_component_tables(module, with);
    py::class_<shown_line>(module, "WaterfallLine", "A line of a waterfall. All of them add up to the step's time.")
        .def_property_readonly(
            "step", [](const shown_line& l) { return std::string(name_of(l.line.what)); },
            "What it is, in one word: useful (the MFU), padding, recompute, ...; \"apart\" of what the caller timed.")
        .def_property_readonly("name", [](const shown_line& l) { return l.line.name; })
        .def_property_readonly(
            "is_known", [](const shown_line& l) { return l.line.is_known; },
            "Whether it was said; else it is 0 here and part of the last line.")
        .def_property_readonly(
            "gpu_nanoseconds", [](const shown_line& l) { return l.line.gpu_nanoseconds; },
            "Over all GPUs, an exact int; below 0 only for precisions that are faster than the stated one.")
        .def_property_readonly(
            "seconds",
            [](const shown_line& l) {
                return static_cast<double>(l.line.gpu_nanoseconds) / 1e9 / static_cast<double>(l.gpus);
            },
            "Of one GPU.")
        .def_property_readonly("points", &shown_line::points,
                               "Per cent of the peak; below 0 is lost, as in the table. The first line's are the MFU.")
        .def_property_readonly(
            "note", [](const shown_line& l) { return l.line.assumed; }, "What it rests on.")
        .def("__repr__", [](const shown_line& l) {
            return "<WaterfallLine " + l.line.name + ": " +
                   (l.line.is_known ? fixed_decimal(l.points(), 2) + " points>" : "not known>");
        });

    py::class_<shown_waterfall> type(module, "Waterfall", R"(Where the time of a step went, from the peak to the MFU.

`Breakdown.waterfall()` makes one. str() is a table, in a notebook too; `floptally.plots.waterfall` is the picture.)");
    type.def_property_readonly(
            "lines", [](const shown_waterfall& w) { return lines_of(w.made); },
            "WaterfallLine of each; the first is what is left, the last what nothing explains.")
        .def_property_readonly(
            "mfu", [](const shown_waterfall& w) { return w.made.mfu(); }, "0.412 is 41.2 %.")
        .def_property_readonly(
            "kernel_rate", [](const shown_waterfall& w) { return w.made.kernel_rate(); },
            "What kernels reach of their peak in the time that is theirs; all that is not known is in it.")
        .def_property_readonly(
            "seconds", [](const shown_waterfall& w) { return w.made.seconds(); }, "Of the step.")
        .def_property_readonly("gpus", [](const shown_waterfall& w) { return w.made.gpus(); })
        .def_property_readonly(
            "gpu_nanoseconds",
            [](const shown_waterfall& w) {
                std::int64_t sum = 0;
                for (const waterfall_line& line : w.made.lines()) {
                    sum += line.gpu_nanoseconds;
                }
                return sum;
            },
            "Of all lines together, an exact int: the step's nanoseconds times its GPUs.")
        .def_property_readonly(
            "work", [](const shown_waterfall& w) { return w.work; }, "The Breakdown it is of.")
        .def_property_readonly(
            "components", [](const shown_waterfall& w) { return w.components; },
            "The same step by component, a ComponentWaterfall; None where no times of components were given.")
        .def(
            "to_table", [](const shown_waterfall& w) { return to_table(w.made); }, "What the program prints.")
        .def(
            "to_markdown", [](const shown_waterfall& w) { return to_markdown(w.made); }, "The same for a report.")
        .def(
            "to_json", [with](const shown_waterfall& w) { return with->waterfall_json(w.made); },
            "What the program prints as JSON: nanoseconds are decimal strings.")
        .def(
            "to_dict",
            [with](const shown_waterfall& w) -> py::dict {
                return py::module_::import("json").attr("loads")(with->waterfall_json(w.made));
            },
            "That JSON as a dict.")
        .def(
            "scalars",
            [](const shown_waterfall& w, const std::string& prefix) {
                py::dict out;
                for (const metric& one : metrics(w.made, prefix)) {
                    out[py::str(one.name)] = one.value;
                }
                return out;
            },
            py::arg("prefix") = "waterfall/",
            "What a logger takes: name to per cent of the peak, which add up to 100 with the MFU; lines that are not "
            "known are not there. Besides the rate of the kernels and the seconds.")
        .def("__str__", [](const shown_waterfall& w) { return to_table(w.made); })
        .def("_repr_html_", [](const shown_waterfall& w) { return to_html(w.made); })
        .def("__repr__",
             [](const shown_waterfall& w) {
                 return "<Waterfall: MFU " + to_percent(w.made.mfu()) + " of " + std::to_string(w.made.gpus()) +
                        (w.made.gpus() == 1 ? " GPU>" : " GPUs>");
             })
        .def(py::pickle([](const shown_waterfall& w) { return py::make_tuple(w.work, w.said, w.kernel_rate); },
                        [with](const py::tuple& state) {
                            return shown_waterfall(state[0], state[1].cast<py::dict>(),
                                                   state[2].cast<std::optional<double>>(), with);
                        }));
    add_fast_method<waterfall_what_if>(type, "what_if",
                                       "($self, /, *, work=None, kernel_rate=None, " + account_signature(false) + ")",
                                       R"(The same step as it would be with other choices: its seconds follow.

What is not given stays as it is; None is "not known". Kernels reach what they reach now, times apart stay. A bound, not a
promise: a smaller microbatch or a narrower matrix runs slower kernels, and nothing here knows that.

Args:
    work: another Breakdown: another plan, batch or model.
    kernel_rate: what kernels reach of their peak; 1 makes the MFU an upper bound.
)" + account_help(false));
    add_fast_method<breakdown_waterfall>(
        py::object(module.attr("Breakdown")), "waterfall", "($self, /, *, " + account_signature() + ")",
        R"(Where the time of a step went that did this work: from the peak down to the MFU, a line for each cause.

What is not given is named in the last line and never guessed; what `measure()` was told need not be given again.

Args:
)" + account_help());
}

}  // namespace floptally::detail::python
