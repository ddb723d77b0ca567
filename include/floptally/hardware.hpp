// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Finds accelerators by the name that the driver reports: peak rates by precision, memory size and bandwidth.

#include <floptally/text/macros_begin.hpp>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>
#include <floptally/hardware/metered_hardware.hpp>
#include <floptally/hardware/peak.hpp>
#include <floptally/hardware/precision_names.hpp>

#include <floptally/text/macros_end.hpp>
