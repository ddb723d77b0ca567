// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Reports of a step, and tables as text, Markdown and HTML.
///
/// A report can show the MFU of steps with several precisions, passes or components.

#include <floptally/text/macros_begin.hpp>

#include <floptally/step/component_rates.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/precision_setting_text.hpp>
#include <floptally/step/report.hpp>
#include <floptally/step/report_table.hpp>
#include <floptally/step/step_passes.hpp>
#include <floptally/step/work_unit.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>

#include <floptally/text/macros_end.hpp>
