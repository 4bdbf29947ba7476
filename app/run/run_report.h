// SPDX-License-Identifier: Apache-2.0
// The JSON record of a run (run --report).
#pragma once

#include <string>
#include <vector>

#include "app/compare/judgement.h"
#include "app/files/reported_file.h"
#include "core/document/document_json.h"
#include "core/document/operator_case.h"
#include "core/graph/graph.h"
#include "core/model/model_document.h"

namespace dmlop {

struct RunTimes {
  double load_seconds = 0;
  double run_seconds = 0;
};

// Files read, written and compared.
struct ReportedFiles {
  std::vector<std::string> as;  // ids of what was computed in place of DirectML's result
  std::vector<ReportedFile> inputs;
  std::vector<ReportedFile> outputs;
  std::vector<ComparedFile> compared;
};

// The files of the inputs that the case has loaded.
std::vector<ReportedFile> InputFilesOf(const OperatorCase& files);

Json SecondsJson(const RunTimes& times);

// The complete descriptor, with the bindings that the run uses.
Json DescriptorJson(const OperatorCase& operator_case);

// The descriptor has the bindings that the run used.
std::string ReportText(const OperatorCase& operator_case, const ReportedFiles& files,
                       const Diagnostics& warnings, const RunTimes& times);
std::string ReportText(const NamedGraph& graph, const ReportedFiles& files,
                       const Diagnostics& warnings, const RunTimes& times);
std::string ReportText(const ModelDocument& model, const ReportedFiles& files,
                       const Diagnostics& warnings, const RunTimes& times);

}  // namespace dmlop
