// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/flops.hpp>
#include <floptally/statistic.hpp>

namespace floptally::detail::python {

/// Forward, backward and recompute of a component, or of all.
struct phase_flops {
    std::string name;
    flops forward;
    flops backward;
    flops recompute;

    [[nodiscard]] flops total() const { return forward + backward + recompute; }
};

/// One view of a breakdown.
struct view_flops {
    phase_flops all;
    std::vector<phase_flops> components;
};

[[nodiscard]] inline view_flops view_of(const breakdown& work, view seen) {
    view_flops out{{"total", work.get(seen, phase::forward), work.backward(seen), work.get(seen, phase::recompute)},
                   {}};
    for (const component_flops& c : work.components()) {
        out.components.push_back(
            {std::string(c.name.view()), c.get(seen, phase::forward), c.backward(seen), c.get(seen, phase::recompute)});
    }
    return out;
}

inline void bind_views(py::module_& module) {
    py::class_<phase_flops>(module, "Work", "FLOPs by phase, as exact ints.")
        .def_readonly("name", &phase_flops::name)
        .def_property_readonly("total", [](const phase_flops& w) { return to_int(w.total()); })
        .def_property_readonly("forward", [](const phase_flops& w) { return to_int(w.forward); })
        .def_property_readonly("backward", [](const phase_flops& w) { return to_int(w.backward); })
        .def_property_readonly("recompute", [](const phase_flops& w) { return to_int(w.recompute); })
        .def("__repr__", [](const phase_flops& w) { return "<Work " + w.name + ": " + to_string(w.total()) + ">"; });

    py::class_<view_flops>(module, "View", "One view of a breakdown: all work, and each component's.")
        .def_property_readonly("total", [](const view_flops& v) { return to_int(v.all.total()); })
        .def_property_readonly("forward", [](const view_flops& v) { return to_int(v.all.forward); })
        .def_property_readonly("backward", [](const view_flops& v) { return to_int(v.all.backward); })
        .def_property_readonly("recompute", [](const view_flops& v) { return to_int(v.all.recompute); })
        .def_property_readonly(
            "components",
            [](const view_flops& v) {
                py::dict out;
                for (const phase_flops& c : v.components) {
                    out[py::str(c.name)] = py::cast(c);
                }
                return out;
            },
            "Work by component's name, in the model's order.")
        .def("__repr__", [](const view_flops& v) { return "<View: " + to_string(v.all.total()) + ">"; });
}

}  // namespace floptally::detail::python
