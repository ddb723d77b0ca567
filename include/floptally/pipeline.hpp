// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Splits layers over the ranks of a pipeline, and simulates its schedule: the time of each pass and the idle time.
/// Finds splits that fit the memory.

#include <floptally/text/macros_begin.hpp>

#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/step/pipelines.hpp>

#include <floptally/text/macros_end.hpp>
