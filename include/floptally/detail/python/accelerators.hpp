// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/accelerators.hpp>
#include <floptally/detail/did_you_mean.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/step/memory_bandwidth.hpp>
#include <floptally/step/peak.hpp>

namespace floptally::detail::python {

/// A precision by its name, or a dtype of a framework, which writes itself as "torch.bfloat16".
[[nodiscard]] inline precision to_precision(py::handle used) {
    const auto text = py::str(used).cast<std::string>();
    const std::string name = py::isinstance<py::str>(used) ? text : text.substr(text.rfind('.') + 1);
    try {
        return precision_named(name);
    } catch (const error& problem) {
        std::vector<std::string_view> known;
        for (std::size_t i = 0; i < precision_count; ++i) {
            known.push_back(floptally::name(static_cast<precision>(i)));
        }
        known.insert(known.end(), {"bfloat16", "float16", "float32", "float64"});
        throw error(problem.field(), std::string(problem.problem()).append(did_you_mean(name, known)));
    }
}

[[nodiscard]] inline std::optional<double> to_clock_mhz(const py::object& clock_mhz) {
    return clock_mhz.is_none() ? std::nullopt : std::optional(to_number(clock_mhz, "clock_mhz"));
}

/// The peak of `part` (a name, or an Accelerator) in a precision, at a clock where there is one, or the one that is
/// given.
[[nodiscard]] inline chosen_peak to_peak(const py::object& part, const py::object& peak_tflops, const py::object& used,
                                         const std::optional<std::string>& kind, const py::object& clock_mhz) {
    std::optional<std::string> product;
    if (py::isinstance<accelerator>(part)) {
        product = part.cast<const accelerator&>().name;
    } else if (py::isinstance<py::str>(part)) {
        product = part.cast<std::string>();
    } else if (!part.is_none()) {
        throw error("accelerator", "must be a name or a floptally.Accelerator, got " + shown(part));
    }
    return choose_peak(
        product, peak_tflops.is_none() ? std::nullopt : std::optional(to_number(peak_tflops, "peak_tflops")),
        name(to_precision(used)), kind ? peak_kind_named(*kind) : peak_kind::unsaid, to_clock_mhz(clock_mhz));
}

/// An MFU above 100 % is a wrong time, a wrong number of GPUs or a wrong peak: said once at each place, as a warning.
inline void warn_above_peak(double mfu) {
    if (mfu > 1 && PyErr_WarnEx(PyExc_RuntimeWarning,
                                ("mfu: " + to_percent(mfu) +
                                 " is more than the peak allows: seconds, gpus or the peak cannot all be right")
                                    .c_str(),
                                1) != 0) {
        throw py::error_already_set();
    }
}

inline void bind_accelerators(py::module_& module) {
    py::class_<accelerator>(module, "Accelerator", "A part and its dense peaks, each with its public source.")
        .def_property_readonly("name", [](const accelerator& a) { return std::string(a.name); })
        .def_property_readonly("vendor", [](const accelerator& a) { return std::string(a.vendor); })
        .def_property_readonly("form_factor", [](const accelerator& a) { return std::string(a.form_factor); })
        .def_property_readonly(
            "driver_names",
            [](const accelerator& a) {
                std::vector<std::string> names;
                for (const std::string_view one : a.driver_names) {
                    if (!one.empty()) {
                        names.emplace_back(one);
                    }
                }
                return names;
            },
            "What the driver or the framework calls it.")
        .def_property_readonly(
            "dense_tflops",
            [](const accelerator& a) {
                py::dict peaks;
                for (std::size_t i = 0; i < precision_count; ++i) {
                    const auto which = static_cast<precision>(i);
                    if (a.published_tflops(which) > 0) {
                        peaks[py::str(std::string(name(which)))] = a.published_tflops(which);
                    }
                }
                return peaks;
            },
            "Dense TFLOP/s by precision (TOP/s for int8); what is not published is not there.")
        .def_property_readonly(
            "memory_tbps",
            [](const accelerator& a) {
                py::dict rates;
                for (const std::string_view name : names_with_memory(a)) {
                    rates[py::str(std::string(name))] = memory_tbps_named(name);
                }
                return rates;
            },
            "TB/s of its memory by its names; parts of one name may have several, and what is not published is not "
            "there.")
        .def(
            "peak_tflops",
            [](const accelerator& a, const py::object& used) { return a.peak_tflops(to_precision(used)); },
            py::arg("precision") = "bf16", "Dense TFLOP/s of one device, or an Error that names what is published.")
        .def(
            "boost_tflops",
            [](const accelerator& a, const py::object& clock_mhz, const py::object& used) {
                return a.boost_tflops(to_precision(used), to_number(clock_mhz, "clock_mhz"));
            },
            py::arg("clock_mhz"), py::arg("precision") = "bf16",
            "Dense TFLOP/s of one device at a clock that it reports, which may be above the datasheet's.")
        .def_property_readonly(
            "quality", [](const accelerator& a) { return std::string(name(a.quality)); },
            "How good the source is: vendor_document, vendor_slide or third_party.")
        .def_property_readonly("source", [](const accelerator& a) { return std::string(a.source.title); })
        .def_property_readonly("source_url", [](const accelerator& a) { return std::string(a.source.url); })
        .def_property_readonly("note", [](const accelerator& a) { return std::string(a.note); })
        .def("__repr__", [](const accelerator& a) { return "<Accelerator " + std::string(a.name) + ">"; });
    module.def(
        "accelerator", [](const std::string& product) { return accelerator_named(product); }, py::arg("name"),
        "The part of that name, ours or the driver's (`torch.cuda.get_device_name()`), whole.");
    module.def(
        "accelerators", [] { return std::vector<accelerator>(accelerators().begin(), accelerators().end()); },
        "Every known part.");
}

}  // namespace floptally::detail::python
