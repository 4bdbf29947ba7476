// SPDX-License-Identifier: Apache-2.0
// A model that is one file: an ONNX model (.onnx) or a serialized graph (.bin), and the tensors
// that are bound to it by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/exit_status.h"
#include "app/files/file_roles.h"
#include "app/options/options.h"
#include "core/base/diagnostic.h"
#include "core/graph/graph.h"
#include "core/io/file.h"
#include "core/io/output_tensor.h"
#include "core/io/tensor_file.h"
#include "core/model/model_document.h"
#include "core/onnx/onnx_model.h"

namespace dmlop {

// True for what the commands take for such a model, by the extension of a path.
bool IsGraphModel(const std::string& argument);

// Returns whether a file is a serialized graph, even a faulty one. Raw tensors may be named alike.
bool IsSerializedGraph(const std::string& path);

// A file of the command line for a tensor.
struct NamedFile {
  std::string name;
  std::string path;
};

// Gives each [NAME=]FILE its tensor: of several readings the longest NAME counts, and files without
// a name take those tensors in order that no other has; `others` must be named. Throws an Error of
// kind kUsage.
std::vector<NamedFile> AssignFiles(const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& names, std::string_view what,
                                   const std::vector<std::string>& others = {});

// Parses the sizes of the command line. Throws an Error of kind kUsage.
StatedSizes ParseSizes(const ModelSizes& sizes);

struct GraphRequest {
  std::string path;
  std::vector<std::string> inputs;  // [NAME=]FILE
  ModelSizes sizes;
  FeatureLevel level;
  std::string confine;
};

class GraphModel {
 public:
  // Opens the file and reads its names. Errors of files are thrown; all else is reported.
  GraphModel(GraphRequest request, Diagnostics& diagnostics);

  // Binds the inputs that have no file to those that `file_of` names, unless it is empty.
  void BindOthers(const std::function<std::string(const std::string& input)>& file_of);

  // Loads the files of inputs and makes the graph. Null if the model is refused.
  const NamedGraph* Read(Diagnostics& diagnostics);

  // The nodes of a refused ONNX model, as far as they are read; null if there is none.
  const NamedGraph* judged() const { return judged_.get(); }

  const std::string& path() const { return request_.path; }
  // The model's file and those that have its constants, by their roles.
  const std::vector<NamedFile>& own_files() const { return own_files_; }
  // Adds all files that the model and its inputs are read from.
  void AddTo(FileRoles& roles) const;
  const std::vector<NamedFile>& input_files() const { return input_files_; }
  // The tensor that is bound to an input; null if there is none.
  const LoadedTensor* BoundTo(const std::string& input) const;

  // Throws an Error of kind kUsage if an input that needs values has none.
  void RequireBoundInputs() const;

  // The inputs for RunGraph, without gaps. Inputs without values have no data.
  std::vector<ConstTensorView> InputViews();

 private:
  void Assign();
  LoadedTensor Load(const NamedFile& file) const;
  void ReadOnnx(Diagnostics& diagnostics);
  std::shared_ptr<const NamedGraph> ReadSerialized(Diagnostics& diagnostics);
  std::optional<TensorDesc> DescOfInput(const std::string& name) const;
  const std::byte* InBuffer(const LoadedTensor& tensor, const TensorDesc& desc);
  std::string PathBeside(const std::string& name) const;
  // The same for a file with constants, which becomes one of the model's own.
  std::string PathOfConstants(const std::string& name);

  GraphRequest request_;
  StatedSizes sizes_;
  std::shared_ptr<const InputFile> file_;
  std::optional<OnnxModel> onnx_;
  std::vector<std::string> input_names_;
  std::vector<NamedFile> input_files_;
  std::vector<NamedFile> own_files_;
  std::map<std::string, LoadedTensor> bound_;
  std::shared_ptr<const NamedGraph> graph_, judged_;
  std::vector<Buffer> packed_;  // inputs that files do not have without gaps
};

// Memory for what a graph computes.
class GraphOutputs {
 public:
  explicit GraphOutputs(const Graph& graph);

  const std::vector<TensorView>& views() const { return views_; }  // for RunGraph

 private:
  std::vector<Buffer> buffers_;
  std::vector<TensorView> views_;
};

// The same graph with constants whose elements are aligned, which tools that keep views need.
NamedGraph WithAlignedConstants(const NamedGraph& graph);

// Copies elements, those of 4 bits each in a byte, into a buffer that has them as the desc says.
void CopyIntoBuffer(const ConstTensorView& elements, const TensorDesc& desc, std::byte* buffer);

// A tensor of a port as a file has it: its desc without gaps and its form.
TensorDesc DescOf(const GraphPort& port);
StoredForm FormOf(const GraphPort& port);

// The elements of a graph's tensor in `bytes`, by its desc; those of 4 bits get a byte each.
struct PortView {
  ConstTensorView view;
  std::shared_ptr<const void> storage;
};
PortView ViewOf(const GraphPort& port, const TensorDesc& desc, const std::byte* bytes);

// --- other forms ---------------------------------------------------------------------------------

// True if the options ask for another form.
inline bool Exports(const ValidateOptions& options) {
  return options.to_model || options.print_complete || !options.cases_folder.empty();
}

// Prints the model as one of DxDispatch, with a dispatch for each operator and a resource for each
// tensor, or prints the descriptors of its operators, or runs it and writes these with their
// tensors as cases of a manifest. Constants that are not equal numbers are in the model up to a
// limit, and beyond that files of the output folder; without one, throws an Error of kind kUsage.
ExitStatus ExportGraph(GraphModel& model, const NamedGraph& graph, const ValidateOptions& options,
                       const CommonOptions& common);

}  // namespace dmlop
