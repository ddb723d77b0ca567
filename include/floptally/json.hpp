// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/text/macros_begin.hpp>

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/json_form.hpp>
#include <floptally/descriptors/model_config.hpp>

/// @file
/// Reads models from their config.json, with nlohmann_json.
///
/// Including json.hpp alone is enough. To compile the definitions only once, define FLOPTALLY_SEPARATE_COMPILATION:
/// this header then has only declarations, and one source file of the program includes <floptally/json_src.hpp>. The
/// functions have different linker names with and without the macro, so one program may contain both.

namespace floptally::inline v0_3 {

inline namespace FLOPTALLY_JSON_NAMESPACE {

/// Reads the cost of a model from a Hugging Face config.json or from floptally's own format. The cost is that of the
/// matrix products in a training forward pass of the `model_type`'s implementation.
///
/// For a missing field, `read_config` uses the default of the `model_type`'s implementation. A mistyped, out-of-range
/// or contradictory field throws an `error` that names it.
[[nodiscard]] FLOPTALLY_JSON_INLINE model_config read_config(const nlohmann::json& config,
                                                             const read_options& options = {});

/// Reads a config from a stream of JSON text.
[[nodiscard]] FLOPTALLY_JSON_INLINE model_config read_config(std::istream& text, const read_options& options = {});

/// Reads a config from a file, or from the config.json in a folder. A `std::filesystem::path` converts to the argument,
/// except on Windows. In the folder of a diffusers pipeline (with a model_index.json) `load_config` reads those models
/// of the pipeline that `options` choose.
///
/// Throws `error` for a file that cannot be read or is no JSON, and for a config that cannot be counted.
[[nodiscard]] FLOPTALLY_JSON_INLINE model_config load_config(const std::string& path, const read_options& options = {});

/// Returns every `model_type` that `read_config` knows, floptally's own format last.
[[nodiscard]] FLOPTALLY_JSON_INLINE std::vector<std::string_view> known_model_types();

/// Returns the path of a `model_type`'s spec, relative to the root of the project. Empty if the library has no such
/// spec.
[[nodiscard]] FLOPTALLY_JSON_INLINE std::string spec_file(std::string_view type);

}  // namespace FLOPTALLY_JSON_NAMESPACE

}  // namespace floptally

#ifndef FLOPTALLY_SEPARATE_COMPILATION
#include <floptally/config/json_definitions.hpp>  // IWYU pragma: export
#endif

#include <floptally/text/macros_end.hpp>
