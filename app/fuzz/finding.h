// SPDX-License-Identifier: Apache-2.0
// A fault of a device: the smallest case that fails, what it hangs on, and its cause.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/fuzz/device_verdict.h"
#include "core/document/document_json.h"
#include "core/fuzz/conditions.h"

namespace dmlop {

// What failures of one fault have in common.
struct FailureKey {
  std::string op;
  CaseClass what = CaseClass::kWrong;
  // How the engine ended; of wrong elements, the ids of the first cause without values and details
  // or, if there is none, the first class of their values.
  std::string code{};

  bool operator==(const FailureKey&) const = default;
};

// The first cause of an output that has one; null if none has.
const Cause* FirstCause(const std::vector<DiagnosedFile>& diagnoses);

// Puts a cause first whose key is this one, if it explains as much as the first one.
void PreferCause(const std::string& key, std::vector<DiagnosedFile>& diagnoses);

// "/desc/Axes" for "/desc/Axes=[4]": what does not hang on the rank.
std::string KeyOfCause(const std::vector<std::string>& ids);

FailureKey KeyOf(const NamedCase& one, const DeviceVerdict& verdict,
                 const std::vector<DiagnosedFile>& diagnoses);

// Whether all that is wrong has one of these causes by itself.
bool IsAccepted(const std::vector<DiagnosedFile>& diagnoses,
                const std::vector<std::string>& accepted);

struct Finding {
  int64_t number = 0;
  FailureKey key;
  bool has_cause = false;
  std::string text;   // "wrong values in [*, *, last]"
  std::string first;  // the name of the first case, or its path
  int64_t cases = 1;
  NamedCase first_case, smallest;
  std::vector<NamedCase> company{};        // with which it fails, itself last
  DeviceVerdict verdict{};                 // on the smallest case
  std::vector<DiagnosedFile> diagnoses{};  // likewise; the cause that was kept is the first one
  int64_t shrink_runs = 0;
  bool is_minimal = false;
  Conditions conditions{};

  std::string folder() const;  // "1-CONVOLUTION"

  // Whether another failure of the operator and class meets what this one hangs on.
  bool Covers(const NamedCase& other) const;
  // Whether both are one fault.
  bool IsLike(const Finding& other) const;
};

// The descriptor's line in a manifest of findings.
Json LineOf(const Finding& finding);

// A line of findings.jsonl, and what it tells of a finding.
Json RecordOf(const Finding& finding);
Finding FindingOf(const Json& record);

// Several lines for people; `folder` is that of the findings, or empty if it is not in one.
std::string FindingText(const Finding& finding, const std::string& folder);

// Writes the folder of a finding into the folder of all.
void WriteFinding(const Finding& finding, const std::string& folder);

}  // namespace dmlop
