// An operator with its files: the unit of work of every command that runs something.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/error.h"
#include "core/document/file_argument.h"
#include "core/document/operator_document.h"
#include "core/io/tensor_file.h"

namespace dmlop {

// How the files of a case are taken.
struct CaseFiles {
  FileShapes shapes = FileShapes::kAsTheyAre;
  bool reads_outputs = false;  // those that the document binds are compared, not written
};

class OperatorCase {
 public:
  explicit OperatorCase(OperatorDocument& document, const CaseFiles& files = {})
      : document_(document), files_(files) {}

  // Binds files to the tensors of a role, in place of what the document binds: those without a name
  // take the tensors in order. What Assign throws is left to Check, for it may be the document that
  // is wrong.
  void Bind(TensorRole role, const std::vector<std::string>& arguments);

  // Files for tensors that may be left out, by their names, say that they are there.
  void AddOptionalTensors(TensorRole role, const std::vector<std::string>& arguments);

  // The same assignment without binding: each argument with the path of its tensor as its name.
  // Throws an Error of kind kUsage for names and numbers of files that the operator does not have.
  std::vector<FileArgument> Assign(TensorRole role,
                                   const std::vector<std::string>& arguments) const;

  // Completes the document by what the files and values bound to the inputs say, and checks it.
  // Faults of files that the document itself names are reported at their names; those of others are
  // thrown.
  void Judge(FeatureLevel level, Diagnostics& diagnostics);

  // The same, where inputs whose type or sizes are left out must be bound, and the files of the
  // command line must have tensors. False when the document has faults.
  bool Check(FeatureLevel level, Diagnostics& diagnostics);

  // The names of inputs without values.
  std::vector<std::string> UnboundInputs() const {
    return UnboundInputs(/*only_incomplete=*/false);
  }

  // Throws an Error of kind kUsage when there is one.
  void RequireBoundInputs() const { RequireBoundInputs(/*only_incomplete=*/false); }

  // Loads every input of a valid operator that is bound; the view of another has no data. Values in
  // the document and files that it names are reported where they do not fit.
  void LoadInputs(Diagnostics& diagnostics);

  // The slots of a role, in the order of the views that Run takes.
  std::vector<TensorSlot> Slots(TensorRole role) const;

  // The file bound to a tensor; empty for none, "-" also for a standard stream by its device.
  std::string PathOf(const TensorSlot& slot) const;

  // PathOf every input.
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

  // What a tensor's desc took from the file or the values that are bound to it.
  struct Told {
    std::string slot_path;
    bool type = false;
    bool sizes = false;
    bool is_bool = false;
  };

  // False where the document does not say how many tensors there are.
  bool KnowsTensors(FeatureLevel level) const;

  // `only_incomplete`: of those whose type or sizes are needed to judge the document.
  std::vector<std::string> UnboundInputs(bool only_incomplete) const;
  void RequireBoundInputs(bool only_incomplete) const;
  void TakeFromFiles(Diagnostics& diagnostics);
  // Faults of what files and values told name them.
  void NameSources(Diagnostics& diagnostics) const;
  std::string NoteOfSources(const Diagnostic& fault) const;
  std::string NoteOfValues(const Told& told, const Diagnostic& fault) const;
  // Calls body() and reports what it throws where the document names the file of that tensor.
  template <typename Body>
  void WithFile(const std::string& slot_path, Diagnostics& diagnostics, Body&& body) const;
  const LoadedTensor* FindLoaded(const std::string& slot_path) const;
  LoadedTensor LoadOne(const TensorSlot& slot, Diagnostics& diagnostics) const;
  bool ReadsStandardInput() const;

  OperatorDocument& document_;
  CaseFiles files_;
  std::optional<Error> usage_fault_;  // of the files that were to be bound
  std::vector<LoadedArray> loaded_;
  std::map<std::string, size_t> loaded_at_;  // in that list, by the paths of slots
  std::vector<Told> told_;
  std::vector<LoadedTensor> inputs_;  // fitted to their descs
};

}  // namespace dmlop
