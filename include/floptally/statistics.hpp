// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Masks and other statistics of a sample: the library's own by name, and the requirements for your own.
///
/// `core.hpp` already has the library's masks.

#include <floptally/text/macros_begin.hpp>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/clip_statistics.hpp>
#include <floptally/statistics/counter_statistics.hpp>
#include <floptally/statistics/grid_masks.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/moments.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_checks.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_text.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/statistics/tile_bound.hpp>

#include <floptally/text/macros_end.hpp>
