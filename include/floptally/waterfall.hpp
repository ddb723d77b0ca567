// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Explains the MFU: divides the time of a step by cause, from the peak down, from measured times or traces.

#include <floptally/text/macros_begin.hpp>

#include <floptally/step/time_breakdown.hpp>
#include <floptally/waterfall/component_comparison.hpp>
#include <floptally/waterfall/component_times.hpp>
#include <floptally/waterfall/masked_tiles.hpp>
#include <floptally/waterfall/module_map.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/trace.hpp>
#include <floptally/waterfall/trace_times.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_line.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>
#include <floptally/waterfall/what_if.hpp>

#include <floptally/text/macros_end.hpp>
