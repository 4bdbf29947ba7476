// SPDX-License-Identifier: Apache-2.0
// Makes findings of failures: shrinks them, and finds what they hang on.
#pragma once

#include <vector>

#include "app/fuzz/device.h"
#include "app/fuzz/finding.h"
#include "core/fuzz/shrink.h"

namespace dmlop {

// A case that failed.
struct Failure {
  NamedCase one;
  ValueClasses classes{};  // of its inputs, as far as they are known
  DeviceVerdict verdict{};
  std::vector<DiagnosedFile> diagnoses{};
};

class FindingMaker {
 public:
  FindingMaker(Device& device, int64_t most_runs, const CaseBounds& bounds)
      : device_(device), most_runs_(most_runs), bounds_(bounds) {}

  Finding Make(const Failure& failure) const;

 private:
  void Shrink(const Failure& failure, Finding& finding) const;
  void TakeSmallest(const Failure& failure, Finding& finding) const;

  Device& device_;
  const int64_t most_runs_;  // 0: the first case is taken for the smallest
  const CaseBounds bounds_;
};

}  // namespace dmlop
