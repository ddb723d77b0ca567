// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Counts the FLOPs and the MFU of a training step: `tally`, `cost`, `flop_counter`, `breakdown`, `utilization`.
///
/// Include this header in a training loop, since it compiles fastest. Descriptors of models are in `descriptors.hpp`,
/// peaks of GPUs in `hardware.hpp`.

#include <floptally/text/macros_begin.hpp>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>

#include <floptally/text/macros_end.hpp>
