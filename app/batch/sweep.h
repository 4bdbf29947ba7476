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

// Prints the manifest with a line for each combination that DirectML takes in place of each sweep;
// says why others are left out, each cause once. A line without a sweep that is not valid, a slip
// in a combination and a case that fails by a file end it with their status. Throws an Error of
// kind kUsage where a sweep has more cases than the options allow, or none that is valid.
ExitStatus ExpandSweeps(const BatchOptions& options, const CommonOptions& common);

}  // namespace dmlop
