// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Measures the MFU and goodput of a training loop: of the last step, of the interval since the last log, and of the
/// run.
///
/// The meter can write to loggers and to Prometheus.

#include <floptally/text/macros_begin.hpp>

#include <floptally/step/clock.hpp>
#include <floptally/step/duration_histogram.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/open_metrics.hpp>
#include <floptally/step/step_totals.hpp>

#include <floptally/text/macros_end.hpp>
