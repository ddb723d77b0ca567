// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The meter of a training loop: MFU and goodput of the last step, the interval and the run.
///
/// The meter writes to loggers and Prometheus.

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
