// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Writes waterfalls and component times as JSON, and reads traces of PyTorch's profiler.

#include <floptally/text/macros_begin.hpp>

#include <floptally/config/json_text.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/json/time_breakdown_json.hpp>
#include <floptally/json/waterfall_json.hpp>

#include <floptally/text/macros_end.hpp>
