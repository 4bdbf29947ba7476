// SPDX-License-Identifier: Apache-2.0
// Tensors of a model that run writes to files, with --keep and --keep-all, or compares with files,
// with --expect and --judge.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/reported_file.h"
#include "app/graph/graph_model.h"
#include "app/options/options.h"
#include "app/run/run_comparisons.h"
#include "app/run/runnable_model.h"
#include "core/graph/graph_run.h"
#include "core/io/output_file.h"
#include "core/io/output_tensor.h"
#include "core/model/model_run.h"

namespace dmlop {

// The name as part of a file's name.
std::string InFileName(std::string name);

// The beginning of a file's name for number `number` of `count` things, from 1. Such names sort in
// that order, so that folders of them can be compared in it.
std::string NumberedName(size_t number, size_t count, const std::string& name);

// The parts of such a file's name; the number is empty if it has none.
struct NumberedStem {
  std::string number, name;
};
NumberedStem TakeApart(const std::string& file_name);

class KeptTensors {
 public:
  // Throws an Error of kind kUsage unless just one operator of the model fills such a tensor.
  KeptTensors(const RunOptions& options, const ModelDocument& model, NewFolders& folders);
  KeptTensors(const RunOptions& options, const NamedGraph& graph, NewFolders& folders);

  // Returns whether any tensor is kept.
  bool keeps() const;

  // Adds the files that will be written. Throws an Error of kind kUsage for a terminal.
  void AddTo(FileRoles& roles, StandardOutput& output) const;

  // Reports files of --keep-all that would be written through links out of their folder and out of
  // the model's confinement.
  void CheckConfinement(const Confinement& confinement, Diagnostics& diagnostics) const;

  // Takes the tensors that an operator has just filled, in the order of the model's commands.
  void Keep(const Step& step);

  // The files as reports describe them.
  std::vector<ReportedFile> Reported() const;

  void Flush(OutputSet& files);

 private:
  struct Kept {
    std::string name;  // the tensor's
    TensorDesc desc;
    StoredForm form;
    std::optional<JsonCursor> place;  // the dispatchable's, in a document
    std::vector<std::string> paths;
  };

  struct File {
    std::string name;  // the tensor's
    std::string path;
    OutputTensor content;
  };

  void Request(const RunOptions& options, const FilledTensors& filled);
  void Write(const ConstTensorView& view, const Kept& kept, const std::string& path);

  NewFolders& folders_;
  std::vector<Kept> all_;  // in the order in which they are filled
  size_t next_ = 0;
  uint64_t in_memory_ = 0;  // bytes of tensors held in memory, up to a limit
  std::vector<File> files_;
};

// --- dumped tensors ------------------------------------------------------------------------------

// A folder with the tensors of a model that a device has dumped, each in a file with its name.
class DumpedTensors {
 public:
  // Lists the folder. Throws an Error of kind kFileSystem if it cannot be read.
  explicit DumpedTensors(const std::string& folder);

  const std::string& folder() const { return folder_; }

  // The file of a tensor that an operator fills, named as run --keep-all does, with the same number
  // or any other one, or by the tensor alone; empty if there is none. Characters that are neither
  // letters nor digits may be replaced.
  std::string FileOf(const RunnableModel& model, size_t number) const;

  // The file of a tensor that the model begins with.
  std::string FileOf(const std::string& name) const;

 private:
  struct File {
    std::string number;  // that its name begins with
    std::string path;
  };

  const File* Find(std::string_view name, std::string_view number) const;

  std::string folder_;
  std::map<std::string, std::vector<File>, std::less<>> by_name_;
};

// --- judged tensors ------------------------------------------------------------------------------

// Compares tensors of a model of any kind with files. A tensor is judged as an operator fills it, a
// resource of a DxDispatch model after all commands.
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
