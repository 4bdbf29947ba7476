// SPDX-License-Identifier: Apache-2.0
// An operator with its files, the unit of work of every command that runs something.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/error.h"
#include "core/document/operator_document.h"
#include "core/io/output_tensor.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"

namespace dmlop {

// --- files on the command line -------------------------------------------------------------------

// The parts of "[NAME=]FILE"; NAME is a path such as "InputTensors/0", or empty.
struct FileArgument {
  std::string name;
  std::string path;

  static FileArgument Parse(const std::string& text);
};

bool FileExists(const std::string& path);

// --- cases ---------------------------------------------------------------------------------------

// Tells how the files of a case are used.
struct CaseFiles {
  FileShapes shapes = FileShapes::kAsTheyAre;
  bool reads_outputs = false;  // files for outputs are compared or left alone, not written
};

class OperatorCase {
 public:
  explicit OperatorCase(OperatorDocument& document, const CaseFiles& files = {})
      : document_(document), files_(files) {}

  // Binds files to the tensors of a role, replacing the document's bindings: files without a name
  // take the tensors in order. Check throws what Assign would, as the document may be at fault.
  void Bind(TensorRole role, const std::vector<std::string>& arguments);

  // Makes optional tensors present if files name them.
  void AddOptionalTensors(TensorRole role, const std::vector<std::string>& arguments);

  // Assigns without binding: returns each argument with the path of its tensor as its name. Throws
  // an Error of kind kUsage for names and numbers of files that the operator does not have.
  std::vector<FileArgument> Assign(TensorRole role,
                                   const std::vector<std::string>& arguments) const;

  // Completes the document from the files and values that are bound to the inputs, and checks it.
  // Faults of files that the document names are reported at their names; those of others are
  // thrown.
  void Judge(FeatureLevel level, Diagnostics& diagnostics);

  // Does the same, but inputs whose type or sizes are left out must be bound, and the files of the
  // command line must have tensors. Returns false if the document has faults.
  bool Check(FeatureLevel level, Diagnostics& diagnostics);

  // Returns the names of inputs without values.
  std::vector<std::string> UnboundInputs() const {
    return UnboundInputs(/*only_incomplete=*/false);
  }

  // Throws an Error of kind kUsage if there are any.
  void RequireBoundInputs() const { RequireBoundInputs(/*only_incomplete=*/false); }

  // Loads every bound input of a valid operator; the view of any other has no data. Values in the
  // document, and files that it names, are reported if they do not fit.
  void LoadInputs(Diagnostics& diagnostics);

  // Creates a tensor for each output of a valid operator, to be written to the file that is bound
  // to it, if there is one and files are written.
  std::vector<OutputTensor> CreateOutputs(bool writes_files) const;

  // Returns the slots of a role, in the order of the views that Run takes.
  std::vector<TensorSlot> Slots(TensorRole role) const;

  // Returns the file bound to a tensor; empty for none, "-" also for a standard stream's device.
  std::string PathOf(const TensorSlot& slot) const;

  // Returns PathOf every input.
  std::vector<std::string> InputPaths() const;

  const std::vector<LoadedTensor>& inputs() const { return inputs_; }
  std::vector<ConstTensorView> InputViews() const;

  const OperatorDocument& document() const { return document_; }

 private:
  // An array that TakeFromFiles opened.
  struct LoadedArray {
    std::string slot_path;
    LoadedTensor tensor;
  };

  // The fields of a tensor's desc that came from the file or the values bound to it.
  struct TakenFields {
    std::string slot_path;
    bool type = false;
    bool sizes = false;
    bool is_bool = false;
  };

  // Returns false if the document does not say how many tensors there are.
  bool KnowsTensors(FeatureLevel level) const;

  // With `only_incomplete`, only those whose type or sizes are needed to judge the document.
  std::vector<std::string> UnboundInputs(bool only_incomplete) const;
  void RequireBoundInputs(bool only_incomplete) const;
  void TakeFromFiles(Diagnostics& diagnostics);
  // Names files and values in the faults of what they provided.
  void NameSources(Diagnostics& diagnostics) const;
  std::string NoteOfSources(const Diagnostic& fault) const;
  std::string NoteOfValues(const TakenFields& taken, const Diagnostic& fault) const;
  // Calls body(), and reports what it throws if the document names the file of that tensor.
  template <typename Body>
  void WithFile(const std::string& slot_path, Diagnostics& diagnostics, Body&& body) const;
  const LoadedTensor* FindLoaded(const std::string& slot_path) const;
  LoadedTensor LoadOne(const TensorSlot& slot, Diagnostics& diagnostics) const;
  bool ReadsStandardInput() const;

  OperatorDocument& document_;
  CaseFiles files_;
  std::optional<Error> usage_fault_;  // about the files to be bound
  std::vector<LoadedArray> loaded_;
  std::map<std::string, size_t> loaded_at_;  // index into that list, by paths of slots
  std::vector<TakenFields> taken_;
  std::vector<LoadedTensor> inputs_;  // fitted to their descs
};

// Runs a valid desc. Large files are written piece by piece while more is computed: writing is
// faster than filling pages that are mapped from a new file, and takes no memory.
void RunInto(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
             std::span<OutputTensor* const> outputs);

}  // namespace dmlop
