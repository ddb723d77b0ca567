// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>

#include <floptally/bytes/step_bytes.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/byte_counts.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/services.hpp>

namespace floptally::detail::python {

inline void bind_bytes(py::module_& module, const std::shared_ptr<const python_services>& with) {
    py::class_<shown_component_bytes>(module, "ComponentBytes", "Bytes of a component, as exact ints.")
        .def_property_readonly("name", [](const shown_component_bytes& c) { return std::string(c.moved.name.view()); })
        .def_property_readonly("total", [](const shown_component_bytes& c) { return to_int(flops{c.moved.total()}); })
        .def_property_readonly(
            "kinds",
            [](const shown_component_bytes& c) {
                return by_kind([&c](byte_kind what) { return c.moved.total(what); });
            },
            "Bytes by kind: weights, gradients, activations, cache.")
        .def_property_readonly(
            "phases",
            [](const shown_component_bytes& c) {
                py::dict out;
                for (std::size_t during = 0; during < phase_words.size(); ++during) {
                    out[phase_words[during]] =
                        by_kind([&](byte_kind what) { return c.moved.get(static_cast<phase>(during), what); });
                }
                return out;
            },
            "The same of each phase: forward, backward_data, backward_weights, recompute.")
        .def_property_readonly(
            "flops", [](const shown_component_bytes& c) { return to_int(c.executed); }, "FLOPs that it executes.")
        .def_property_readonly(
            "intensity",
            [](const shown_component_bytes& c) { return arithmetic_intensity(c.executed, c.moved.total()); },
            "FLOPs for each byte.")
        .def("__repr__", [](const shown_component_bytes& c) {
            return "<ComponentBytes " + std::string(c.moved.name.view()) + ": " + to_string(flops{c.moved.total()}) +
                   ">";
        });

    py::class_<shown_bytes>(module, "Bytes", R"(What a batch moves between memory and units: component x phase x kind.

`Cost.bytes()` or `Breakdown.bytes()` makes one. str() is a table, in a notebook too.)")
        .def_property_readonly(
            "total", [](const shown_bytes& b) { return to_int(flops{b.made.moved.total()}); }, "An exact int.")
        .def_property_readonly(
            "kinds",
            [](const shown_bytes& b) { return by_kind([&b](byte_kind what) { return b.made.moved.total(what); }); },
            "Bytes by kind: weights, gradients, activations, cache.")
        .def_property_readonly(
            "components",
            [](const shown_bytes& b) {
                py::dict out;
                for (const component_bytes& one : b.made.moved.components) {
                    out[py::str(std::string(one.name.view()))] =
                        shown_component_bytes{one, b.made.executed(one.name.view())};
                }
                return out;
            },
            "ComponentBytes by component's name.")
        .def_property_readonly(
            "flops", [](const shown_bytes& b) { return to_int(b.made.executed()); },
            "FLOPs that components execute which move bytes.")
        .def_property_readonly(
            "intensity",
            [](const shown_bytes& b) { return arithmetic_intensity(b.made.executed(), b.made.moved.total()); },
            "FLOPs for each byte. Below those of the device in the time of a byte, memory is what is waited for.")
        .def_property_readonly(
            "unsaid", [](const shown_bytes& b) { return b.made.moved.unsaid; },
            "Components whose activations are not counted: their rows do not say what they read.")
        .def_property_readonly(
            "at_most", [](const shown_bytes& b) { return b.made.moved.at_most; }, "Components that may move less.")
        .def_property_readonly(
            "is_exact", [](const shown_bytes& b) { return b.made.moved.is_exact(); }, "Whether both lists are empty.")
        .def_property_readonly(
            "work", [](const shown_bytes& b) { return b.work; }, "The Breakdown of the same batch.")
        .def(
            "mbu",
            [](const shown_bytes& b, const py::object& seconds, const py::object& gpus, const py::object& part,
               const py::object& memory_tbps) { return b.mbu(to_number(seconds, "seconds"), gpus, part, memory_tbps); },
            py::arg("seconds"), py::kw_only(), py::arg("gpus"), py::arg("accelerator") = py::none(),
            py::arg("memory_tbps") = py::none(),
            "Of a decode step: weights and cache over what the memories of all GPUs could move; 0.412 is 41.2 %.")
        .def(
            "to_table", [with](const shown_bytes& b) { return with->bytes_table(b.made); }, "What the program prints.")
        .def(
            "to_json", [with](const shown_bytes& b) { return with->bytes_json(b.made); },
            "What the program prints as JSON: counts are decimal strings.")
        .def(
            "to_dict",
            [with](const shown_bytes& b) -> py::dict {
                return py::module_::import("json").attr("loads")(with->bytes_json(b.made));
            },
            "That JSON as a dict.")
        .def("__str__", [with](const shown_bytes& b) { return with->bytes_table(b.made); })
        .def("_repr_html_", [](const shown_bytes& b) { return to_html(b.made); })
        .def("__repr__",
             [](const shown_bytes& b) {
                 return "<Bytes of " + b.made.model_type + ": " + to_string(flops{b.made.moved.total()}) + ">";
             })
        .def(py::pickle(
            [](const shown_bytes& b) {
                const element_bits& bits = b.choice.bits;
                return py::make_tuple(b.work, bits.weights, bits.gradients, bits.activations, bits.cache,
                                      b.choice.batches);
            },
            [](const py::tuple& state) {
                const auto number = [&state](std::size_t i) { return state[i].cast<std::uint64_t>(); };
                return shown_bytes(state[0].cast<const shown_breakdown&>(),
                                   {{number(1), number(2), number(3), number(4)}, number(5)});
            }));
    add_fast_method<breakdown_bytes>(
        py::object(module.attr("Breakdown")), "bytes", "($self, /, *, " + byte_signature() + ")",
        R"(Bytes that this work moves between memory and units: component x phase x kind, as exact ints.

Work of a tally or a meter is taken to have no cached past where it trains, and is an Error where it does not.

Args:
)" + byte_help());
}

}  // namespace floptally::detail::python
