// SPDX-License-Identifier: Apache-2.0
// Writes tensors between the operators of a model to files: run --keep and --keep-all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/files/confinement.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/reported_file.h"
#include "app/options/options.h"
#include "app/run/filled_tensors.h"
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
  // Throws an Error of kind kUsage if no operator of the model fills a tensor of such a name, or
  // several do.
  KeptTensors(const RunOptions& options, const ModelDocument& model, NewFolders& folders);
  KeptTensors(const RunOptions& options, const NamedGraph& graph, NewFolders& folders);

  // Whether any tensor is kept.
  bool keeps() const;

  // Adds the files that will be written. Throws an Error of kind kUsage for a terminal.
  void AddTo(FileRoles& roles, StandardOutput& output) const;

  // Reports files of --keep-all that would be written through links out of their folder and out of
  // the model's confinement.
  void CheckConfinement(const Confinement& confinement, Diagnostics& diagnostics) const;

  // Takes the tensors that an operator has just filled. Operators come in the order of the model's
  // commands.
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

}  // namespace dmlop
