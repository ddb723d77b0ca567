// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// Look-up of precisions by the names of the library, of frameworks and of trainers.

namespace floptally::inline v0_3 {

namespace detail {

/// A framework's or trainer's name of a precision.
struct precision_alias {
    const char* text;
    precision meaning;
};
/// Names of frameworks and trainers, without a prefix "torch." and without a suffix "-mixed" or "-true". "hybrid" is an
/// fp8 recipe of Transformer Engine. Lightning calls this recipe "transformer-engine". In accelerate, "no" means no
/// mixed precision.
inline constexpr precision_alias precision_aliases[] = {{"bfloat16", precision::bf16},
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
                                                        {"hybrid", precision::fp8},
                                                        {"transformer-engine", precision::fp8},
                                                        {"transformer-engine-float16", precision::fp8},
                                                        {"no", precision::fp32},
                                                        {"float4", precision::fp4},
                                                        {"float4_e2m1fn", precision::fp4},
                                                        {"float4_e2m1fn_x2", precision::fp4},
                                                        {"nvfp4", precision::fp4},
                                                        {"mxfp4", precision::fp4}};

/// Returns a precision's name without the prefix or suffix of a framework: "bf16" for "bf16-mixed", "amp_bf16" and
/// "torch.bf16".
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

/// Returns the precision named `text`. Names of frameworks and trainers work too ("torch.bfloat16", "bf16-mixed",
/// "16-true", "float8_e4m3fn"). Letter case and surrounding blanks do not matter. Throws `error` for any other name.
[[nodiscard]] inline precision precision_named(std::string_view text) {
    const std::string_view core = detail::precision_core(text);
    for (const detail::precision_alias& known : detail::precision_aliases) {
        if (detail::same_name(known.text, core)) {
            return known.meaning;
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
