// SPDX-License-Identifier: Apache-2.0
// Sweeps: a line of a manifest that stands for many cases.
//
//   {"type": "REDUCE", "desc": {...}, "bindings": {"OutputTensor": "{/desc/Function}.npy", ...},
//    "sweep": {"/desc/Function": ["SUM", "MAX"], "/desc/InputTensor/DataType": [...]}}
//
// stands for each combination of the values at the places that the JSON pointers lead to, the last
// pointer changing fastest. Several pointers with ", " between them change together: their values
// are arrays with a value for each. In the case's name and in the file names of the bindings, a
// pointer in braces is replaced by its value, and {case} by the number of the combination, from 0.
#pragma once

#include "app/exit_status.h"
#include "app/options/options.h"

namespace dmlop {

// Prints the manifest, with a line in place of each sweep for every combination that DirectML
// accepts, and says once for each cause why others are left out. An invalid line without a sweep, a
// slip in a combination, and a case whose files fail end it with their status. Throws an Error of
// kind kUsage if a sweep has more cases than the options allow, or no valid one.
ExitStatus ExpandSweeps(const BatchOptions& options, const CommonOptions& common);

}  // namespace dmlop
