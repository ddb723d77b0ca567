// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Writes the metrics of meters as JSON lines, and saves and loads the state of meters.

#include <floptally/text/macros_begin.hpp>

#include <floptally/json/meter_json.hpp>
#include <floptally/text/whole_file.hpp>

#include <floptally/text/macros_end.hpp>
