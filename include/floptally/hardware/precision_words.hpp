// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// Precisions by their names, and by the words of frameworks and trainers.

namespace floptally {

namespace detail {

/// A precision as a framework or a trainer calls it.
struct precision_word {
    const char* text;
    precision is;
};
/// The words of frameworks and trainers, without "torch." before them and "-mixed" or "-true" after them.
inline constexpr precision_word precision_words[] = {{"bfloat16", precision::bf16},
                                                     {"float16", precision::fp16},
                                                     {"half", precision::fp16},
                                                     {"16", precision::fp16},
                                                     {"f16", precision::fp16},
                                                     {"float32", precision::fp32},
                                                     {"float", precision::fp32},
                                                     {"32", precision::fp32},
                                                     {"f32", precision::fp32},
                                                     {"float64", precision::fp64},
                                                     {"double", precision::fp64},
                                                     {"64", precision::fp64},
                                                     {"f64", precision::fp64},
                                                     {"tensorfloat32", precision::tf32},
                                                     {"float8", precision::fp8},
                                                     {"mxfp8", precision::fp8},
                                                     {"float8_e4m3", precision::fp8},
                                                     {"float8_e4m3fn", precision::fp8},
                                                     {"float8_e4m3fnuz", precision::fp8},
                                                     {"float8_e4m3b11fnuz", precision::fp8},
                                                     {"float8_e5m2", precision::fp8},
                                                     {"float8_e5m2fnuz", precision::fp8},
                                                     {"fp8_e4m3", precision::fp8},
                                                     {"fp8_e5m2", precision::fp8},
                                                     {"e4m3", precision::fp8},
                                                     {"e5m2", precision::fp8},
                                                     {"float4", precision::fp4},
                                                     {"float4_e2m1fn", precision::fp4},
                                                     {"float4_e2m1fn_x2", precision::fp4},
                                                     {"nvfp4", precision::fp4},
                                                     {"mxfp4", precision::fp4}};

/// The core of a precision's name: "bf16" of "bf16-mixed", "amp_bf16" and "torch.bf16".
[[nodiscard]] constexpr std::string_view precision_core(std::string_view text) {
    std::string_view core = trimmed(text);
    for (const std::string_view module : {"torch.", "jnp.", "jax.numpy.", "np.", "numpy.", "tf.", "mx.", "paddle."}) {
        if (core.size() > module.size() && same_name(core.substr(0, module.size()), module)) {
            core.remove_prefix(module.size());
            break;
        }
    }
    for (const std::string_view before : {"amp_", "mixed_"}) {
        if (core.size() > before.size() && same_name(core.substr(0, before.size()), before)) {
            core.remove_prefix(before.size());
            break;
        }
    }
    for (const std::string_view after : {"-mixed", "-true", "_mixed"}) {
        if (core.size() > after.size() && same_name(core.substr(core.size() - after.size()), after)) {
            core.remove_suffix(after.size());
            break;
        }
    }
    return core;
}

}  // namespace detail

/// The precision called `text`, or as frameworks and trainers call it ("torch.bfloat16", "bf16-mixed", "16-true",
/// "float8_e4m3fn"); letter case and surrounding blanks do not count.
[[nodiscard]] inline precision precision_named(std::string_view text) {
    const std::string_view core = detail::precision_core(text);
    for (const detail::precision_word& known : detail::precision_words) {
        if (detail::same_name(known.text, core)) {
            return known.is;
        }
    }
    std::string known;
    for (std::size_t i = 0; i < precision_count; ++i) {
        const auto which = static_cast<precision>(i);
        if (detail::same_name(name(which), core)) {
            return which;
        }
        append_item(known, name(which));
    }
    detail::refuse("precision", {"must be one of ", known, ", got \"", text, "\""});
}

}  // namespace floptally
