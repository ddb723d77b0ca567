// SPDX-License-Identifier: Apache-2.0

#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/precision_names.hpp>
#include <floptally/step/precision_setting_text.hpp>

#include "classes.hpp"

namespace floptally::python {

namespace {

/// A precision by its name, or by a framework's dtype. A dtype has a name, or prints as "torch.bfloat16".
precision to_precision(py::handle used) {
    const bool is_text = py::isinstance<py::str>(used);
    const char* const own = is_text                         ? nullptr
                            : py::hasattr(used, "name")     ? "name"
                            : py::hasattr(used, "__name__") ? "__name__"
                                                            : nullptr;
    const std::string name =
        to_text(py::str(own == nullptr ? py::reinterpret_borrow<py::object>(used) : used.attr(own)), "precision");
    return with_hint(
        detail::precision_core(name), [&name](std::string_view) { return precision_named(name); },
        [] {
            std::vector<std::string_view> known;
            for (std::size_t i = 0; i < precision_count; ++i) {
                known.push_back(floptally::name(static_cast<precision>(i)));
            }
            for (const detail::precision_alias& word : detail::precision_aliases) {
                known.push_back(word.text);
            }
            return known;
        });
}

/// The fields of Python's `Accelerator`, in order.
py::tuple fields_of(const accelerator& part) {
    py::list driver_names;
    for (const std::string_view each : part.driver_names) {
        if (!each.empty()) {
            driver_names.append(each);
        }
    }
    py::dict peaks;
    for (std::size_t i = 0; i < precision_count; ++i) {
        const auto which = static_cast<precision>(i);
        if (part.published_tflops(which) > 0) {
            peaks[py::str(name(which))] = part.published_tflops(which);
        }
    }
    py::dict rates;
    py::dict sizes;
    for (const std::string_view each : names_with_memory(part)) {
        if (const auto known = memory_bandwidth_named(each)) {
            rates[py::str(each)] = known->tbps;
        }
        if (const auto known = memory_size_named(each)) {
            sizes[py::str(each)] = known->gib;
        }
    }
    return py::make_tuple(part.name, part.vendor, part.form_factor, driver_names, peaks, rates, sizes,
                          part.source.title, part.source.url, part.note, name(part.quality));
}

}  // namespace

std::optional<std::string> to_product(py::handle part) {
    if (part.is_none()) {
        return {};
    }
    const bool is_object = py::isinstance(part, package_attribute("_accelerators", "Accelerator"));
    if (!is_object && !py::isinstance<py::str>(part)) {
        throw error("accelerator", "must be a name or a floptally.Accelerator, got " + shown(part));
    }
    return to_text(is_object ? py::object(part.attr("name")) : py::reinterpret_borrow<py::object>(part), "accelerator");
}

chosen_peak peak_of(const arguments& args) {
    auto kind = args.some_text("peak_kind");
    py::object used = py::reinterpret_borrow<py::object>(args["precision"]);
    const py::handle number = args.some("peak_tflops");
    if (number && py::isinstance(number, package_attribute("_accelerators", "MeasuredPeak"))) {
        kind = kind ? kind : std::optional<std::string>("measured");
        used = number.attr("precision");
    }
    return choose_peak(to_product(args["accelerator"]), args.some_number("peak_tflops"),
                       used.is_none() ? "bf16" : name(to_precision(used)),
                       kind ? peak_kind_named(*kind) : peak_kind::unsaid, args.some_number("clock_mhz"));
}

std::optional<std::vector<precision_setting>> precisions_of(const arguments& args, const std::string& product) {
    const auto precisions = args.some_text("precisions");
    return precisions ? std::optional(precision_settings_named(*precisions,
                                                               product.empty() ? std::nullopt : std::optional(product),
                                                               args.some_number("clock_mhz")))
                      : std::nullopt;
}

void warn(const std::string& text) {
    if (!text.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) {
        throw py::error_already_set();
    }
}

void warn_above_peak(double mfu) {
    if (mfu > 1) {
        warn("mfu: " + to_percent(mfu) + " is above 100 %: check seconds, gpus and the peak, one of them is wrong");
    }
}

void warn_if_absurd(double mfu, counted_passes counted) {
    warn_above_peak(mfu);
    if (mfu <= 1) {
        const std::string doubt = doubt_of(mfu, counted);
        warn(doubt.empty() ? doubt : "mfu: " + doubt);
    }
}

void bind_accelerators(py::module_& module) {
    function(module, "_accelerators", [](const arguments& args) {
        py::list parts;
        if (const auto name = args.some_text("name")) {
            parts.append(fields_of(accelerator_named(*name)));
            return parts;
        }
        for (const accelerator& each : accelerators()) {
            parts.append(fields_of(each));
        }
        return parts;
    });
    function(module, "_precision_name",
             [](const arguments& args) { return std::string(name(to_precision(args["precision"]))); });
    function(module, "_peak_tflops", [](const arguments& args) {
        const accelerator part = accelerator_named(args.text("name"));
        const precision used = to_precision(args["precision"]);
        const auto clock = args.some_number("clock_mhz");
        return clock ? part.boost_tflops(used, *clock) : part.peak_tflops(used);
    });
}

}  // namespace floptally::python
