// SPDX-License-Identifier: Apache-2.0
// Variations of what is read: terms of sums that are left out, inputs in another layout, and
// padding with what is at the edge.
//
//   tail-missing:axis=1,from=80            the terms from 80 on, along an axis of an input
//   head-missing:axis=1,to=16              the terms before 16
//   part-missing:axis=1,from=3,to=4        the terms between
//   head-missing:axis=1,every=1024         sums, or states, begin anew at every 1024-th element
//   other-layout:BTensor=[1,0]             read as if its axes were in this order in memory
//   other-layout:BTensor:written=[1,0]     laid out so in memory, and read in the usual order
//   padding-edge                           the nearest element of the input in place of padding
#pragma once

#include <optional>
#include <vector>

#include "core/judge/evidence.h"

namespace dmlop {

// Finds those that are promising, the simplest first. `few` are elements to try them on.
std::vector<Hypothesis> LayoutChangesOf(const Evidence& evidence, const Sample& few);
std::vector<Hypothesis> EdgePaddingsOf(const Evidence& evidence, const Sample& few);
std::vector<Hypothesis> MissingPartsOf(const Evidence& evidence, const Sample& few);

// --- the changed computations --------------------------------------------------------------------

// The axes of an input are in this order in memory and read in the usual one, or the other way
// round.
Computation WithLayout(const Computation& original, size_t input, const std::vector<size_t>& order,
                       bool is_written);

enum class Beyond { kNearest, kMirrored, kWrapped };

// Padding is made of elements; none if there is no padding.
std::optional<Computation> WithEdges(const Computation& original, Beyond beyond);

}  // namespace dmlop
