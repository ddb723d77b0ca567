// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Host code for a CUDA device: detects the accelerator, samples its memory and times steps.

#include <floptally/text/macros_begin.hpp>

#include <floptally/cuda/cuda_device.hpp>
#include <floptally/cuda/cuda_error.hpp>
#include <floptally/cuda/cuda_memory.hpp>
#include <floptally/cuda/step_timer.hpp>

#include <floptally/text/macros_end.hpp>
