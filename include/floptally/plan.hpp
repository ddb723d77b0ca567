// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Reads training plans from text, and counts the parameters that a plan trains and the FLOPs of the optimizer Muon.
///
/// `training_plan` itself is in `core.hpp`.

#include <floptally/text/macros_begin.hpp>

#include <floptally/count/logits.hpp>
#include <floptally/count/muon.hpp>
#include <floptally/count/padding.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/trained_parameters.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/count/weight_setting_text.hpp>

#include <floptally/text/macros_end.hpp>
