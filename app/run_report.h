// The JSON record of a run (run --report).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/document/operator_case.h"
#include "core/model/model_document.h"

namespace dmlop {

struct RunTimes {
  double load_seconds = 0;
  double run_seconds = 0;
};

struct ReportedFile {
  std::string tensor;  // or resource
  std::string path;
  std::string sha256;
};

// Files that were read, and files that are written.
struct ReportedFiles {
  std::vector<ReportedFile> inputs;
  std::vector<ReportedFile> outputs;
};

std::string Sha256(std::span<const std::byte> bytes);

std::string ReportText(const OperatorDocument& document, const ReportedFiles& files,
                       const RunTimes& times);
std::string ReportText(const ModelDocument& model, const ReportedFiles& files,
                       const RunTimes& times);

}  // namespace dmlop
