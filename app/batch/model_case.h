// SPDX-License-Identifier: Apache-2.0
// A model of any kind as a case of a batch:
//
//   {"model": "m.onnx", "data": "test_data_set_0"}      with ONNX's test data
//   {"model": "m.onnx", "inputs": {"X": "x.npy"}, "outputs": {"Y": "y.npy"}}
//   {"model": "m.json"}                                 a DxDispatch model, which binds its inputs
//
// or a DxDispatch model itself. Without "outputs" those of such a model are the files that its
// commands write.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/files/descriptor.h"
#include "app/files/reported_file.h"
#include "app/graph/graph_model.h"
#include "app/run/runnable_model.h"
#include "core/graph/graph_run.h"
#include "core/io/json.h"
#include "core/model/model_run.h"

namespace dmlop {

// The members of a line.
struct ModelLine {
  std::optional<std::string> name, model, data;
  std::vector<std::string> inputs;                           // [NAME=]FILE
  std::vector<std::pair<std::string, std::string>> outputs;  // names, empty for the next, and files
  std::optional<double> relative, absolute;
};

// Returns whether the line has a model, by the path of one or as the document itself.
bool IsModelLine(JsonCursor root);

// Reads a line; faults are reported. Paths are as they are written.
ModelLine ReadModelLine(JsonCursor root, Diagnostics& diagnostics);

// The files that the commands of a DxDispatch model write, as they are written.
std::vector<std::string> FilesWrittenBy(JsonCursor model);

class ModelCase {
 public:
  struct Settings {
    std::string folder;  // paths of lines are relative to it
    std::string confine;
    FeatureLevel level;
    ModelSizes sizes;
  };

  // Reads the model that `line` names. Its faults are reported; those of files are thrown.
  ModelCase(Settings settings, ModelLine line, Diagnostics& diagnostics);
  // Takes a model that was read from `descriptor`.
  ModelCase(Settings settings, Descriptor descriptor, std::unique_ptr<ModelDocument> model,
            Diagnostics& diagnostics);

  // An output with its file, as the line names it but in the manifest's folder.
  struct Output {
    std::string name;
    std::string path;
    TensorDesc desc;
    StoredForm form = {};
  };

  const std::vector<Output>& outputs() const { return outputs_; }
  const ModelLine& line() const { return line_; }
  // The folder of ONNX's test data, in the manifest's; empty if the line has none.
  const std::string& data() const { return data_; }
  bool is_document() const { return document_ != nullptr; }

  // The files that it reads, the model's own included.
  std::vector<std::string> InputPaths() const;
  // Throws an Error of kind kUsage if `path`, where `output` goes, is one of them that has no
  // input.
  void RequireUnread(const Output& output, const std::string& path) const;
  std::vector<ReportedFile> InputFiles() const;

  // The operators that it runs.
  std::vector<const OperatorDesc*> operators() const;

  // An output that an operator has just filled.
  struct Filling {
    const Step& step;
    size_t output;
    const FilledTensors::One& tensor;
    bool begins;  // the operator reads only what the model begins with
  };

  // Runs the model and passes each output with its buffer. With `by_steps`, those that are what one
  // operator fills come while its inputs are there; `filling` is null for the others, and where the
  // operator has overwritten its inputs.
  using TakeOutput =
      std::function<void(const Output&, const std::byte* data, const Filling* filling)>;
  void Run(const TakeOutput& take, bool by_steps);

 private:
  // The source of an output's elements: an output of the graph, a tensor that an operator fills, a
  // resource after all commands, or the tensor that a command writes.
  struct Source {
    enum class Kind { kPort, kFilled, kResource, kCommand } kind;
    size_t number;
    std::optional<size_t> filled = std::nullopt;  // number of the tensor that is taken by steps
  };

  struct Progress {
    size_t next = 0;  // number of the tensor that comes next
    FilledMemory memory;
  };

  std::string InFolder(const std::string& path) const;
  void FindData();
  void ReadGraph(Diagnostics& diagnostics);
  void ReadFile(Diagnostics& diagnostics);
  void ReadDocument(Diagnostics& diagnostics);
  void AddTestData();
  void AddGraphOutputs();
  void AddWrittenFiles();
  void AddDocumentOutputs();
  void Add(Source::Kind kind, size_t number, Output output);
  void AddFilled(const std::string& name, const std::string& path);
  TensorDesc DescOfResource(size_t resource);
  void RunGraphCase(const TakeOutput& take, bool by_steps);
  void RunDocument(const TakeOutput& take, bool by_steps);
  void FindFilledPorts();
  void FindFilledResources(ModelRun& run);
  StepWatch WatchFilled(const TakeOutput& take, Progress& progress) const;

  const Settings settings_;
  ModelLine line_;
  std::string path_;
  std::string data_;
  std::optional<GraphModel> model_;
  const NamedGraph* graph_ = nullptr;  // null if it is refused
  Descriptor descriptor_;
  std::unique_ptr<ModelDocument> document_;
  std::optional<ModelInputs> inputs_;  // of the document
  std::optional<FilledTensors> filled_;
  std::vector<Output> outputs_;
  std::vector<Source> sources_;  // of the outputs
};

}  // namespace dmlop
