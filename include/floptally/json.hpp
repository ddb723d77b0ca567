// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/json_form.hpp>
#include <floptally/descriptors/model_config.hpp>

/// @file
/// Adapter: configs in, with nlohmann_json.
///
/// Alone it is all that is needed. Where FLOPTALLY_SEPARATE_COMPILATION is defined it only declares, and one unit of
/// the program includes <floptally/json_src.hpp>, which defines. The functions of each form have names of their own for
/// the linker, so that a program may have units of both.

namespace floptally {

inline namespace FLOPTALLY_JSON_NAMESPACE {

/// The cost of a Hugging Face config.json or of floptally's own format: what the implementation of that `model_type`
/// computes in a training forward pass. A field that is missing has the implementation's default; one that is mistyped,
/// out of range or contradictory is an `error` that names it.
[[nodiscard]] FLOPTALLY_JSON_INLINE model_config read_config(const nlohmann::json& config,
                                                             const read_options& options = {});

/// Reads a config from a stream of JSON text.
[[nodiscard]] FLOPTALLY_JSON_INLINE model_config read_config(std::istream& text, const read_options& options = {});

/// Reads a config from a file, or from the config.json in a folder; of the folder of a pipeline of diffusers, with its
/// model_index.json, the parts that the options choose.
[[nodiscard]] FLOPTALLY_JSON_INLINE model_config load_config(const std::filesystem::path& path,
                                                             const read_options& options = {});

/// Every `model_type` that `read_config` knows, floptally's own format last.
[[nodiscard]] FLOPTALLY_JSON_INLINE std::vector<std::string_view> known_model_types();

/// Where the page of a type stands, from the root of the project; empty where it is no page of the library.
[[nodiscard]] FLOPTALLY_JSON_INLINE std::string page_file(std::string_view type);

}  // namespace FLOPTALLY_JSON_NAMESPACE

}  // namespace floptally

#ifndef FLOPTALLY_SEPARATE_COMPILATION
#include <floptally/config/json_definitions.hpp>  // IWYU pragma: export
#endif
