// SPDX-License-Identifier: Apache-2.0
// Compares tensors of a model of any kind with files: run --expect and --judge of models. A tensor
// is judged as an operator fills it, and a resource of a DxDispatch model after all commands.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/files/file_roles.h"
#include "app/graph/graph_model.h"
#include "app/run/run_comparisons.h"
#include "app/run/runnable_model.h"
#include "core/graph/graph_run.h"

namespace dmlop {

class JudgedTensors {
 public:
  // Gives the files of the options their tensors: those without a name take `outputs` in order;
  // `others` are tensors that no operator needs to fill. The tensors must outlive this object.
  // Throws an Error of kind kUsage for names that there are not.
  JudgedTensors(const RunOptions& options, const CommonOptions& common, const FilledTensors& filled,
                const std::vector<std::string>& outputs,
                const std::vector<std::string>& others = {});

  void AddTo(FileRoles& roles) const;

  // Returns whether a file is compared with this output.
  bool Has(const std::string& output) const;

  // Returns whether steps must be taken, all of them one by one.
  bool needs_steps() const;

  // An output is judged as the tensor with this number, in place of Compare.
  void JudgeAsFilled(const std::string& output, size_t number);

  // An output is what these bytes hold after all commands: the tensor that was last put there, or a
  // list of elements as the desc says.
  void JudgeAsResource(const std::string& output, std::span<const std::byte> bytes,
                       const TensorDesc& desc);

  // Takes the tensors that a step has just filled.
  void Take(const Step& step);

  // Compares an output whose buffer this is.
  void Compare(const std::string& output, const std::byte* data, const TensorDesc& desc,
               bool is_bool);

  // Compares what resources hold, and says which tensors had no units although these are asked for.
  void Finish();

  RunComparisons& comparisons() { return comparisons_; }
  const RunComparisons& comparisons() const { return comparisons_; }

 private:
  struct Request {
    NamedFile file;
    Side side;
    std::optional<size_t> number = std::nullopt;  // of the tensor, if an operator fills it
    std::span<const std::byte> bytes = {};        // of a resource
    TensorDesc list = {};                         // all that a resource holds
    TensorDesc desc = {};                         // of the file's tensor
    // Null unless the operator reads only what the model begins with, which every device is given.
    const OperatorDesc* op = nullptr;
    std::optional<ErrorUnits> units = std::nullopt;
  };

  void Assign(const std::vector<std::string>& arguments, Side side,
              const std::vector<std::string>& outputs, const std::vector<std::string>& others);
  bool IsConcerned(const Step& step) const;
  void TakeOutput(const Step& step, size_t output, bool begins, Request& request);
  static void SetUnits(const Step& step, size_t output, bool begins, Request& request);
  void CompareRequest(const Request& request, const std::byte* data, bool is_bool);
  RunComparisons::Command ExplainCommand() const;

  const RunOptions& options_;
  const CommonOptions& common_;
  const FilledTensors& filled_;
  RunComparisons comparisons_;
  std::vector<Request> requests_;
  size_t next_ = 0;  // number of the tensor that comes next
  FilledMemory memory_;
  std::vector<std::string> without_units_;
};

}  // namespace dmlop
