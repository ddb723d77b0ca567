// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Tallies and meters in the memory of a CUDA device, also for use inside your own kernels.

#include <floptally/text/macros_begin.hpp>

#include <floptally/cuda/basic_device_tally.hpp>
#include <floptally/cuda/device_meter.cuh>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/cuda/device_reduction.cuh>
#include <floptally/cuda/device_tally.cuh>
#include <floptally/cuda/device_tally_ref.hpp>

#include <floptally/text/macros_end.hpp>
