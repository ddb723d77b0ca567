// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Sums tallies over ranks, and verifies that a sum contains each rank once.
///
/// Pass a reducer to `reduce`: the one of `mpi.hpp`, the one of `nccl.hpp`, or your own.

#include <floptally/text/macros_begin.hpp>

#include <floptally/parallel/held_tokens.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/rank_agreement.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/parallel/sequence_ratios.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/verified_sum.hpp>

#include <floptally/text/macros_end.hpp>
