// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Writes reports, tables, comparisons, bytes, fits and layouts as JSON.

#include <floptally/text/macros_begin.hpp>

#include <floptally/config/json_text.hpp>
#include <floptally/json/byte_json.hpp>
#include <floptally/json/comparison_json.hpp>
#include <floptally/json/fit_json.hpp>
#include <floptally/json/report_json.hpp>
#include <floptally/json/search_json.hpp>
#include <floptally/json/table_json.hpp>

#include <floptally/text/macros_end.hpp>
