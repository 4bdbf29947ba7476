// SPDX-License-Identifier: Apache-2.0
// Makes a case that a device fails as small as it can be.
//
// Smaller is, in this order: fewer tensors; fewer fields that are not at their defaults; a lower
// rank; fewer elements; smaller integers in fields; packed layouts; simpler values; FLOAT32. A
// single step changes one of these, and whatever else must change for the case to be valid.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/fuzz/case_change.h"

namespace dmlop {

enum class TryResult : uint8_t { kFails, kPasses, kNotSupported };

// Runs cases, which do not depend on each other, on the device, and tells the results in order. If
// the caller wants only the first failure, results behind that may be left out; which case is the
// first one does not depend on how many run at once.
enum class TryUntil : uint8_t { kEnd, kFirstFailure };
using TryAll =
    std::function<std::vector<TryResult>(std::span<const Computation> cases, TryUntil until)>;

struct ShrinkResult {
  Computation smallest;
  int64_t runs = 0;         // of cases, up to the first failure of each call
  bool is_minimal = false;  // no single step keeps the failure; false if the runs were used up
};

// Requires a valid case that fails. A step is taken if `run` says that its case fails.
ShrinkResult Shrink(const Computation& failing, const TryAll& run, int64_t most_runs,
                    const CaseBounds& bounds);

}  // namespace dmlop
