// SPDX-License-Identifier: Apache-2.0
// The verdict on what a device made of a case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/compare/diagnosed_file.h"
#include "app/compare/judgement.h"
#include "app/fuzz/case_folder.h"

namespace dmlop {

// What became of a case; all from kEngine on are failures.
enum class CaseClass {
  kNotRun,
  kDone,
  kUnsupported,
  kAccepted,
  kEngine,   // the engine failed
  kHang,     // it took too long
  kMissing,  // an output is no whole .npy file
  kShape,    // an output has another type or shape
  kCompany,  // it fails only after other cases
  kUnsteady,
  kWrong,  // elements are wrong
};
std::string_view Name(CaseClass what);
constexpr bool IsFailure(CaseClass what) {
  return what >= CaseClass::kEngine;
}

// An output that a device wrote. Without mismatches, the judgement lists all wrong elements.
struct JudgedOutput {
  size_t number = 0;
  LoadedTensor actual;
  Judgement judgement;
};

struct DeviceVerdict {
  CaseClass what = CaseClass::kNotRun;
  std::string code{};                   // of the engine's failure, "status 3"
  std::string text{};                   // in words, with what the engine said
  std::vector<JudgedOutput> outputs{};  // all, if all are there and one of them is not right
  std::vector<NamedCase> company{};     // with which a case fails, itself last

  bool fails() const { return IsFailure(what); }
};

// Judges outputs by the rules of a command line.
class CaseJudge {
 public:
  explicit CaseJudge(ComparisonRules rules) : rules_(std::move(rules)) {}

  const ComparisonRules& rules() const { return rules_; }

  // The verdict on the outputs in a folder of a device that ended well.
  DeviceVerdict Judge(const NamedCase& one, const std::string& folder) const;

  // Whether two verdicts have the same wrong elements, with values that agree within the tolerance.
  bool AreAlike(const NamedCase& one, const DeviceVerdict& a, const DeviceVerdict& b) const;

  // Why the outputs differ that are wrong.
  std::vector<DiagnosedFile> Diagnose(const NamedCase& one, const DeviceVerdict& verdict) const;

 private:
  ComparisonRules rules_;
};

// The exact outputs of a case, packed.
struct ExactOutputs {
  explicit ExactOutputs(const Computation& computation);

  std::vector<Buffer> storage;
  std::vector<ConstTensorView> views;
};

}  // namespace dmlop
