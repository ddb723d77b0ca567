// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Counts one step by every convention, and finds the convention that explains a number from a dashboard or a log.

#include <floptally/text/macros_begin.hpp>

#include <floptally/conventions/comparison.hpp>
#include <floptally/conventions/trainer_log.hpp>
#include <floptally/step/comparison_report.hpp>
#include <floptally/step/observed_work.hpp>

#include <floptally/text/macros_end.hpp>
