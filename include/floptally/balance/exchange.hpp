// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/parallel/packing.hpp>

/// @file
/// The headers of an exchange of samples: canonical groups, the plan of bytes, packing.
