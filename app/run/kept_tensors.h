// SPDX-License-Identifier: Apache-2.0
// Writes tensors between the operators of a model to files: run --keep and --keep-all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/reported_file.h"
#include "app/options/options.h"
#include "app/run/runnable_model.h"
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

}  // namespace dmlop
