// The JSON record of a run (run --report).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/document/operator_case.h"

namespace dmlop {

struct RunTimes {
  double load_seconds = 0;
  double run_seconds = 0;
};

// `outputs` are those written to files, with their slots.
struct ReportedFile {
  std::string tensor;
  std::string path;
  std::string sha256;
};

std::string Sha256(std::span<const std::byte> bytes);

std::string ReportText(const OperatorDocument& document, const std::vector<ReportedFile>& inputs,
                       const std::vector<ReportedFile>& outputs, const RunTimes& times);

}  // namespace dmlop
