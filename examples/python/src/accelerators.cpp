// SPDX-License-Identifier: Apache-2.0

#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/precision_words.hpp>
#include <floptally/step/precision_setting_text.hpp>

#include "classes.hpp"

namespace floptally::detail::python {

namespace {

/// A precision by its name, or a dtype of a framework, which has a name or writes itself as "torch.bfloat16".
precision to_precision(py::handle used) {
    const bool is_text = py::isinstance<py::str>(used);
    const char* const own = is_text                         ? nullptr
                            : py::hasattr(used, "name")     ? "name"
                            : py::hasattr(used, "__name__") ? "__name__"
                                                            : nullptr;
    const auto name =
        py::str(own == nullptr ? py::reinterpret_borrow<py::object>(used) : used.attr(own)).cast<std::string>();
    return with_hint(
        precision_core(name), [&name](std::string_view) { return precision_named(name); },
        [] {
            std::vector<std::string_view> known;
            for (std::size_t i = 0; i < precision_count; ++i) {
                known.push_back(floptally::name(static_cast<precision>(i)));
            }
            for (const precision_word& word : precision_words) {
                known.push_back(word.text);
            }
            return known;
        });
}

template <auto Text>
void text_property(const py::class_<accelerator>& type, const char* name) {
    property(type, name, [](const accelerator& a) { return std::string(a.*Text); });
}

}  // namespace

std::optional<std::string> to_product(py::handle part) {
    if (part.is_none()) {
        return {};
    }
    if (py::isinstance<accelerator>(part)) {
        return std::string(part.cast<const accelerator&>().name);
    }
    if (!py::isinstance<py::str>(part)) {
        throw error("accelerator", "must be a name or a floptally.Accelerator, got " + shown(part));
    }
    return part.cast<std::string>();
}

chosen_peak peak_of(const arguments& given) {
    const auto kind = given.some_text("peak_kind");
    const py::handle used = given.some("precision");
    return choose_peak(to_product(given["accelerator"]), given.some_number("peak_tflops"),
                       used ? name(to_precision(used)) : "bf16", kind ? peak_kind_named(*kind) : peak_kind::unsaid,
                       given.some_number("clock_mhz"));
}

std::optional<std::vector<precision_setting>> precisions_of(const arguments& given, const std::string& product) {
    const auto precisions = given.some_text("precisions");
    return precisions ? std::optional(precision_settings_named(*precisions,
                                                               product.empty() ? std::nullopt : std::optional(product),
                                                               given.some_number("clock_mhz")))
                      : std::nullopt;
}

void warn(const std::string& text) {
    if (!text.empty() && PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) != 0) {
        throw py::error_already_set();
    }
}

void warn_above_peak(double mfu) {
    if (mfu > 1) {
        warn("mfu: " + to_percent(mfu) +
             " is more than the peak allows: seconds, gpus or the peak cannot all be right");
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
    const py::class_<accelerator> type = new_class<accelerator>(module, "Accelerator");
    made_elsewhere(type, "floptally.accelerator(name)");
    text_property<&accelerator::name>(type, "name");
    text_property<&accelerator::vendor>(type, "vendor");
    text_property<&accelerator::form_factor>(type, "form_factor");
    text_property<&accelerator::note>(type, "note");
    property(type, "source", [](const accelerator& a) { return std::string(a.source.title); });
    property(type, "source_url", [](const accelerator& a) { return std::string(a.source.url); });
    property(type, "quality", [](const accelerator& a) { return std::string(name(a.quality)); });
    property(type, "driver_names", [](const accelerator& a) {
        py::list names;
        for (const std::string_view each : a.driver_names) {
            if (!each.empty()) {
                names.append(std::string(each));
            }
        }
        return names;
    });
    property(type, "dense_tflops", [](const accelerator& a) {
        py::dict peaks;
        for (std::size_t i = 0; i < precision_count; ++i) {
            const auto which = static_cast<precision>(i);
            if (a.published_tflops(which) > 0) {
                peaks[py::str(std::string(name(which)))] = a.published_tflops(which);
            }
        }
        return peaks;
    });
    property(type, "memory_tbps", [](const accelerator& a) {
        py::dict rates;
        for (const std::string_view each : names_with_memory(a)) {
            rates[py::str(std::string(each))] = memory_tbps_named(each);
        }
        return rates;
    });
    method(type, "peak_tflops", [](const accelerator& a, const arguments& given) {
        return a.peak_tflops(to_precision(given["precision"]));
    });
    method(type, "boost_tflops", [](const accelerator& a, const arguments& given) {
        return a.boost_tflops(to_precision(given["precision"]), given.number("clock_mhz"));
    });
    shown_as(type, [](const accelerator& a) { return "<Accelerator " + std::string(a.name) + ">"; });
    function(module, "accelerator", [](const arguments& given) { return accelerator_named(given.text("name")); });
    function(module, "accelerators",
             [](const arguments&) { return std::vector<accelerator>(accelerators().begin(), accelerators().end()); });
}

}  // namespace floptally::detail::python
