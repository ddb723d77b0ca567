// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Counts the FLOPs and the MFU of a model's batch: all of `core.hpp`, and models, conventions and accelerators.
///
/// Include the other public headers by name: `meter.hpp`, `report.hpp`, `waterfall.hpp`, … (docs/reference/cpp.md). All
/// public headers together take nine times as long to compile as this header alone.

#include <floptally/text/macros_begin.hpp>

#include <floptally/batch/split_tally.hpp>
#include <floptally/conventions.hpp>
#include <floptally/core.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/count/trained_parameters.hpp>
#include <floptally/descriptors.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/tile_bound.hpp>
#include <floptally/step/memory.hpp>

#include <floptally/text/macros_end.hpp>
