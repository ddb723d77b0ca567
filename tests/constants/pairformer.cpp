// SPDX-License-Identifier: Apache-2.0
#define main example
#include "../../examples/pairformer.cpp"
#undef main

/// @file
/// The model of examples/pairformer.cpp as a constant.

namespace {

static_assert(pairformer_block().parameters() > 0);

}  // namespace
