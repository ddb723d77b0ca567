// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/batch/packing.hpp>

/// @file
/// Once it is decided which rank gets which sample: whose groups these are, which bytes go where, how they are packed.
