// SPDX-License-Identifier: Apache-2.0
// The comparisons of a run, with --expect and --judge: each is told, drawn and kept for reports.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/compare/judgement.h"
#include "app/files/reported_file.h"
#include "app/options/options.h"
#include "core/document/document_json.h"
#include "core/document/operator_case.h"
#include "core/graph/graph.h"
#include "core/model/model_document.h"

namespace dmlop {

class RunComparisons {
 public:
  RunComparisons(const RunOptions& options, const CommonOptions& common);

  // Throws an Error of kind kUsage if a picture of so many comparisons is asked for.
  void RequireDrawn(size_t count) const { drawing_.RequireOne(count); }

  // A tensor that is computed here and compared with a file.
  struct Computed {
    std::string name;  // of the tensor
    ConstTensorView view;
    Tolerance tolerance;
    OutputUnits units{};
    bool is_bool = false;
    bool is_cut = false;  // rounded toward zero, which bfloat16 is to be, too
  };

  // Compares and tells the tensor that `load` reads from a file; a file that is not there fails.
  // `explain` begins the command that explains an element:
  // what is between "dmlop explain " and the element, and what follows it.
  struct Command {
    std::string before, behind;
  };
  void Compare(const Computed& computed, const std::string& path,
               const std::function<LoadedTensor()>& load, Side side,
               const std::optional<Command>& explain);

  ExitStatus status() const { return status_; }
  const std::vector<ComparedFile>& all() const { return all_; }

  // The picture that was asked for; null if there is none.
  std::optional<ResultFile>& picture() { return picture_; }

 private:
  void TellDifference(const ComparedFile& compared, const std::optional<Command>& explain);

  const RunOptions& options_;
  const CommonOptions& common_;
  Drawing drawing_;
  std::optional<ResultFile> picture_;
  std::vector<ComparedFile> all_;
  ExitStatus status_ = ExitStatus::kSuccess;
};

// Returns text such as "the judged file of Y".
std::string RoleOfCompared(Side side, const std::string& tensor);

// --- reports -------------------------------------------------------------------------------------

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
