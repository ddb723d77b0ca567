// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Arranges ranks for tensor, context, expert and data parallelism, and counts the work of each rank.

#include <floptally/text/macros_begin.hpp>

#include <floptally/parallel/context_parallel.hpp>
#include <floptally/parallel/head_split.hpp>
#include <floptally/parallel/imbalance.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/placed_sequences.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/redundant_work.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/tensor_parallel.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/step/layout_text.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/step/module_utilization.hpp>

#include <floptally/text/macros_end.hpp>
