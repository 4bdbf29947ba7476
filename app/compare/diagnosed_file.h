// SPDX-License-Identifier: Apache-2.0
// A device's file, and why it differs from an output.
#pragma once

#include <string>
#include <vector>

#include "core/compare/alignment.h"
#include "core/io/tensor_file.h"
#include "core/judge/diagnosis.h"

namespace dmlop {

struct DiagnosedFile {
  std::string tensor;  // such as "OutputTensors[1]"
  std::string path;
  std::vector<std::string> mismatches{};  // of type or shape; if any, there is no diagnosis
  bool is_missing = false;                // which is a mismatch
  Diagnosis diagnosis{};
  std::vector<std::string> checks{};  // for each cause, the command that shows that it is right

  bool passes() const {
    return mismatches.empty() && (diagnosis.verdict == DiagnosisVerdict::kEqual ||
                                  diagnosis.verdict == DiagnosisVerdict::kNoise);
  }
};

// Returns the diagnosis of a file that does not exist.
DiagnosedFile DiagnoseMissing(const Computation& computation, size_t output,
                              const std::string& path);

// Diagnoses the tensor of a file that a device has written for an output.
DiagnosedFile DiagnoseFile(const Computation& computation, size_t output, const std::string& path,
                           const LoadedTensor& actual, const DiagnosisOptions& options,
                           const Leniency& leniency);

// What the commands that show causes have in common.
struct CheckCommand {
  std::string begin;   // with the case and its inputs
  std::string judged;  // the argument of --judge
  std::string end{};
};

// Adds the command for each cause that computes as it says, and finds the device's file right; for
// a cause that computes nothing, the one that shows where the file is wrong.
void AddChecks(const CheckCommand& command, DiagnosedFile& file);

}  // namespace dmlop
