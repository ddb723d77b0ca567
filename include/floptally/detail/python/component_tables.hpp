// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/detail/fixed_decimal.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/html.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/error.hpp>
#include <floptally/training_plan.hpp>
#include <floptally/waterfall/component_text.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/module_rules.hpp>
#include <floptally/waterfall/step_account.hpp>
#include <floptally/waterfall/trace_times.hpp>

/// @file
/// A step by component from measured times, for Python.

namespace floptally::detail::python {

/// Python's `ComponentWaterfall`.
struct shown_components {
    component_waterfall made;
    std::vector<std::string> notes{};
};

/// A line, and the step that it is of.
struct shown_component_line {
    component_line line;
    std::int64_t all = 1;  ///< nanoseconds of the step over all GPUs
    std::uint64_t gpus = 1;

    [[nodiscard]] double points(std::int64_t nanoseconds) const {
        return 100 * static_cast<double>(nanoseconds) / static_cast<double>(all);
    }
};

[[nodiscard]] inline std::string path_of(const py::object& path) {
    return py::module_::import("os").attr("fsdecode")(path).cast<std::string>();
}

[[nodiscard]] inline bool is_path(const py::object& given) {
    return py::isinstance<py::str>(given) || py::hasattr(given, "__fspath__");
}

/// What a file of times has, as a dict.
[[nodiscard]] inline py::dict as_dict(const measured_components& times) {
    py::list all;
    for (const timed_part& one : times.times) {
        py::dict part;
        part["name"] = one.name;
        part["components"] = one.components;
        part["pass"] = counted_passes_names[static_cast<std::size_t>(one.timed)];
        part["seconds"] = one.seconds;
        all.append(part);
    }
    py::dict out;
    if (times.seconds) {
        out["seconds"] = *times.seconds;
    }
    out["times"] = all;
    return out;
}

/// A dict of times as the reader of such files takes it.
[[nodiscard]] inline measured_components to_times(const python_services& with, const py::object& given) {
    using namespace py::literals;
    std::string text;
    try {
        text = py::module_::import("json").attr("dumps")(given, "allow_nan"_a = false).cast<std::string>();
    } catch (const py::error_already_set& problem) {
        throw error("component_times", "cannot be written as JSON: " + py::str(problem.value()).cast<std::string>());
    }
    return with.read_component_times(text);
}

/// The measured times among the keywords of a call, read here once: files may go and timers go on. Instead of a path, a
/// timer or a trace the account has their dict, and "notes" of a trace.
inline void read_times(const python_services& with, const shown_breakdown& work, py::dict& said) {
    const auto take = [&said](const char* name) { return py::object(said.attr("pop")(name, py::none())); };
    py::object times = take("component_times");
    const py::object path = take("trace");
    const py::object modules = take("modules");
    if (!times.is_none() && !path.is_none()) {
        throw error("component_times", "is given beside trace: one of them says the times");
    }
    if (!modules.is_none() && (path.is_none() || !py::isinstance<py::str>(modules))) {
        throw error("modules", path.is_none() ? "is given without trace, whose modules it names"
                                              : "must be a str, got " + shown(modules));
    }
    if (!path.is_none()) {
        if (!is_path(path)) {
            throw error("trace", "must be a path, got " + shown(path));
        }
        const trace_times made(with.load_trace(path_of(path)),
                               modules.is_none() ? module_rules{} : module_rules_named(modules.cast<std::string>()));
        said["component_times"] = as_dict({made.seconds(), made.parts(work.work)});
        said["notes"] = std::vector<std::string>(made.notes().begin(), made.notes().end());
    } else if (!times.is_none()) {
        if (py::hasattr(times, "times") && !py::isinstance<py::dict>(times)) {
            times = times.attr("times")(py::cast(work));
        } else if (is_path(times)) {
            const std::string name = path_of(times);
            try {
                times = py::module_::import("json").attr("loads")(
                    py::module_::import("pathlib").attr("Path")(name).attr("read_text")("utf-8"));
            } catch (const py::error_already_set& problem) {
                throw error("component_times",
                            "cannot be read from \"" + name + "\": " + py::str(problem.value()).cast<std::string>());
            }
        }
        said["component_times"] = as_dict(to_times(with, times));
    }
}

[[nodiscard]] inline std::string to_html(const component_waterfall& made) {
    std::string text = "<table><tr><th></th>";
    for (const char* const column : floptally::detail::component_columns) {
        text.append("<th>").append(column).append("</th>");
    }
    text.append("</tr>");
    for (const floptally::detail::component_cells& row : floptally::detail::rows_of(made)) {
        text.append("<tr><th style=\"text-align:left\">").append(escaped(row.front())).append("</th>");
        for (std::size_t i = 1; i < row.size(); ++i) {
            text.append(i + 1 == row.size() ? "<td>" : "<td style=\"text-align:right\">");
            text.append(escaped(row[i])).append("</td>");
        }
        text.append("</tr>");
    }
    return text.append("</table>");
}

inline void bind_component_tables(py::module_& module, const std::shared_ptr<const python_services>& with) {
    py::class_<shown_component_line> line(
        module, "ComponentLine", "A line of a step by component. The points of all add up to 100 less the MFU.");
    line.def_property_readonly("name", [](const shown_component_line& l) { return l.line.name; })
        .def_property_readonly(
            "components", [](const shown_component_line& l) { return l.line.components; }, "Whose FLOPs it ran.")
        .def_property_readonly(
            "passes",
            [](const shown_component_line& l) { return counted_passes_names[static_cast<std::size_t>(l.line.timed)]; },
            "Those that its time is of: train (all), forward or backward.")
        .def_property_readonly(
            "is_timed", [](const shown_component_line& l) { return l.line.is_timed; },
            "Else it is all that nobody timed, waits and idle GPUs among it.")
        .def_property_readonly(
            "gpu_nanoseconds", [](const shown_component_line& l) { return l.line.gpu_nanoseconds; },
            "Over all GPUs, an exact int.")
        .def_property_readonly(
            "seconds",
            [](const shown_component_line& l) {
                return static_cast<double>(l.line.gpu_nanoseconds) / 1e9 / static_cast<double>(l.gpus);
            },
            "Of one GPU.")
        .def_property_readonly(
            "share", [](const shown_component_line& l) { return l.line.share; }, "Of the step's time.")
        .def_property_readonly(
            "mfu", [](const shown_component_line& l) { return l.line.mfu; }, "Of its own time.")
        .def_property_readonly(
            "kernel_rate", [](const shown_component_line& l) { return l.line.kernel_rate; },
            "The same of all that it executes.");
    const auto points = [&line](const char* name, std::int64_t (component_line::*which)() const, const char* meaning) {
        line.def_property_readonly(
            name, [which](const shown_component_line& l) { return l.points((l.line.*which)()); }, meaning);
    };
    points("points_lost", &component_line::lost, "What it takes from the MFU, in per cent of the peak.");
    points("points_not_useful", &component_line::besides, "Of them: executed and not useful.");
    points("points_below_peak", &component_line::below, "Of them: kernels below their peak.");
    line.def("__repr__", [](const shown_component_line& l) {
        return "<ComponentLine " + l.line.name + ": " + fixed_decimal(l.points(l.line.lost()), 2) + " points lost>";
    });

    py::class_<shown_components>(module, "ComponentWaterfall", R"(A step by component: what each made of its own time.

`Waterfall.components` is one, where times were measured. str() is a table, in a notebook too.)")
        .def_property_readonly(
            "lines",
            [](const shown_components& c) {
                py::list lines;
                for (const component_line& one : c.made.lines()) {
                    lines.append(shown_component_line{one, c.made.gpu_nanoseconds(), c.made.whole().gpus()});
                }
                return lines;
            },
            "ComponentLine of each time, then of those apart; the last is all that nobody timed.")
        .def_property_readonly(
            "notes", [](const shown_components& c) { return c.notes; }, "What a trace does not say.")
        .def_property_readonly(
            "gpu_nanoseconds", [](const shown_components& c) { return c.made.gpu_nanoseconds(); },
            "Of all lines together, an exact int.")
        .def(
            "to_table", [](const shown_components& c) { return to_table(c.made); }, "What the program prints.")
        .def(
            "to_markdown", [](const shown_components& c) { return to_markdown(c.made); }, "The same for a report.")
        .def(
            "to_json", [with](const shown_components& c) { return with->components_json(c.made); },
            "What the program prints as JSON: nanoseconds are decimal strings.")
        .def("__str__", [](const shown_components& c) { return to_table(c.made); })
        .def("_repr_html_", [](const shown_components& c) { return to_html(c.made); })
        .def("__repr__", [](const shown_components& c) {
            return "<ComponentWaterfall of " + std::to_string(c.made.lines().size()) + " lines>";
        });
}

}  // namespace floptally::detail::python
