// SPDX-License-Identifier: Apache-2.0
// The comparisons of a run, with --expect and --judge: each is told, drawn and kept for reports.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/compare/drawing.h"
#include "app/compare/judgement.h"
#include "app/options/options.h"

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

}  // namespace dmlop
