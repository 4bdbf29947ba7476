// SPDX-License-Identifier: Apache-2.0
// Variations of place: right values in wrong places, and elements that no computation explains.
//
//   not-written                 one value, or an untouched pattern, everywhere
//   not-written:[*, 8..15]      in a box; `120..159`: from one element to another in memory;
//                               `blocks,[*, *]`: in blocks within the box
//   from-input:ATensor          elements of an input
//   shifted:[0,0,1,1]           each element is the one so much further along each axis
//   reversed:axis=2             from the last to the first
//   permuted:[0,2,3,1]          written as if the axes were in this order
//   exchanged:[0,16]            two blocks, so far from one another, in each other's place
#pragma once

#include <vector>

#include "core/judge/evidence.h"

namespace dmlop {

// Finds those that are promising, the simplest first. `few` are elements to try them on.
std::vector<Hypothesis> PlaceChangesOf(const Evidence& evidence, const Sample& few);

// Returns the forms that unwritten elements may have, promising or not.
std::vector<Hypothesis> UnwrittenOf(const Evidence& evidence);

}  // namespace dmlop
