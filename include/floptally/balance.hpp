// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Assigns samples to ranks and packs so that all ranks have equal work, and plans the exchange that moves the samples.

#include <floptally/text/macros_begin.hpp>

#include <floptally/balance/assignment.hpp>
#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>
#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/balance/sample_loads.hpp>
#include <floptally/parallel/packing.hpp>

#include <floptally/text/macros_end.hpp>
