// SPDX-License-Identifier: Apache-2.0
#include "app/batch/model_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/files/file_roles.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"
#include "core/document/value_reader.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// The files NAME_0.pb, NAME_1.pb, ... of a folder.
std::vector<std::string> FilesOf(const std::string& folder, std::string_view name) {
  std::vector<std::string> files;
  while (true) {
    const std::string path =
        (fs::path(folder) / fmt::format("{}_{}.pb", name, files.size())).string();
    if (!FileExists(path)) return files;
    files.push_back(path);
  }
}

// Reads an object of names with files, or an array of files; names are empty then.
std::vector<std::pair<std::string, std::string>> ReadFiles(JsonCursor files,
                                                           const ValueReader& values) {
  std::vector<std::pair<std::string, std::string>> read;
  if (!files.is_array() && !values.Expect(files, JsonKind::kObject, "{\"X\": \"x.npy\"}")) {
    return read;
  }
  for (auto file = files.first_child(); file; file = file->next()) {
    if (const auto path = values.FileName(*file)) {
      read.emplace_back(files.is_array() ? "" : file->key(), *path);
    }
  }
  return read;
}

}  // namespace

bool IsModelLine(JsonCursor root) {
  const auto model = root.is_object() ? root.Find("model") : std::nullopt;
  return model && model->is_string();
}

ModelLine ReadModelLine(JsonCursor root, Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 7> kKeys = {"name",    "model", "data", "inputs",
                                                     "outputs", "rtol",  "atol"};
  const ValueReader values(diagnostics);
  values.CheckKeys(root, kKeys);
  ModelLine line;
  const auto text = [&](std::string_view key) {
    const auto member = values.Find(root, key);
    return member ? values.String(*member) : std::nullopt;
  };
  line.name = text("name");
  line.model = text("model");
  line.data = text("data");
  const auto number = [&](std::string_view key) {
    const auto member = values.Find(root, key);
    return member ? values.Number(*member) : std::nullopt;
  };
  line.relative = number("rtol");
  line.absolute = number("atol");
  if (const auto inputs = values.Find(root, "inputs")) {
    for (const auto& [name, path] : ReadFiles(*inputs, values)) {
      line.inputs.push_back(name.empty() ? path : name + "=" + path);
    }
  }
  if (const auto outputs = values.Find(root, "outputs")) line.outputs = ReadFiles(*outputs, values);
  if (!line.model) diagnostics.Error("JSON-2", "", "'model' is not the path of a model");
  return line;
}

std::vector<std::string> FilesWrittenBy(JsonCursor model) {
  std::vector<std::string> paths;
  const auto commands = model.is_object() ? model.Find("commands") : std::nullopt;
  if (!commands || !commands->is_array()) return paths;
  for (auto command = commands->first_child(); command; command = command->next()) {
    const auto path = command->is_object() ? command->Find("targetPath") : std::nullopt;
    if (path && path->is_string()) paths.push_back(path->string());
  }
  return paths;
}

// --- reading -------------------------------------------------------------------------------------

ModelCase::ModelCase(Settings settings, ModelLine line, Diagnostics& diagnostics)
    : settings_(std::move(settings)), line_(std::move(line)), path_(InFolder(*line_.model)) {
  IsGraphModel(path_) ? ReadGraph(diagnostics) : ReadFile(diagnostics);
}

void ModelCase::ReadFile(Diagnostics& diagnostics) {
  if (line_.data || !line_.inputs.empty()) {
    throw Error(ErrorKind::kUsage,
                path_ +
                    ": 'data' and 'inputs' are for ONNX models and serialized graphs; a "
                    "DxDispatch model binds its tensors itself");
  }
  descriptor_ = ReadDescriptor(path_);
  Diagnostics found;
  Document document =
      dmlop::ReadDocument(descriptor_, settings_.level, {settings_.confine, "", settings_.folder},
                          found, settings_.sizes);
  document_ = std::move(document.model);
  if (document_ != nullptr && !found.has_errors()) ReadDocument(found);
  if (document_ == nullptr && !found.has_errors()) {
    throw Error(ErrorKind::kUsage,
                path_ + ": is no model; expected .onnx, .bin for a graph, or one of DxDispatch");
  }
  for (Diagnostic& one : found.list()) {  // places are those of another text
    one.message = fmt::format("{}: {}", path_, one.message);
    one.offset.reset();
  }
  diagnostics.AppendAll(found);
}

ModelCase::ModelCase(Settings settings, Descriptor descriptor, std::unique_ptr<ModelDocument> model,
                     Diagnostics& diagnostics)
    : settings_(std::move(settings)),
      descriptor_(std::move(descriptor)),
      document_(std::move(model)) {
  if (!diagnostics.has_errors()) ReadDocument(diagnostics);
}

std::string ModelCase::InFolder(const std::string& path) const {
  const std::string whole = (fs::path(settings_.folder) / path).string();
  if (settings_.confine.empty() || LiesIn(whole, settings_.confine)) return whole;
  throw Error(ErrorKind::kUsage, "'{}' leads out of {}, to which --confine keeps this document",
              whole, settings_.confine);
}

// ONNX keeps the folders of test data in that of the model.
void ModelCase::FindData() {
  const fs::path beside = fs::path(*line_.model).parent_path() / *line_.data;
  std::error_code ignored;
  for (const std::string& path : {*line_.data, beside.string()}) {
    if (!fs::is_directory(InFolder(path), ignored)) continue;
    data_ = path;
    return;
  }
  throw Error(ErrorKind::kFileSystem, InFolder(*line_.data) + ": there is no such folder");
}

void ModelCase::ReadGraph(Diagnostics& diagnostics) {
  if (!line_.data && line_.outputs.empty()) {
    throw Error(ErrorKind::kUsage,
                "the line has neither 'data', the folder of output_0.pb, nor 'outputs' with the "
                "files of tensors");
  }
  std::vector<std::string> inputs;
  if (line_.data) {
    FindData();
    inputs = FilesOf(InFolder(data_), "input");
  }
  for (const std::string& input : line_.inputs) {
    const size_t path = input.rfind('=') + 1;  // 0 without a name
    inputs.push_back(input.substr(0, path) + InFolder(input.substr(path)));
  }
  model_.emplace(GraphRequest{path_, inputs, settings_.sizes, settings_.level, settings_.confine},
                 diagnostics);
  graph_ = model_->Read(diagnostics);
  if (graph_ == nullptr) return;
  model_->RequireBoundInputs();
  filled_.emplace(*graph_);
  AddGraphOutputs();
  if (line_.data) AddTestData();
}

void ModelCase::Add(Source::Kind kind, size_t number, Output output) {
  sources_.push_back({kind, number});
  if (kind == Source::Kind::kFilled) sources_.back().filled = number;
  outputs_.push_back(std::move(output));
}

void ModelCase::AddFilled(const std::string& name, const std::string& path) {
  const std::vector<size_t> found = filled_->Find(name);
  if (found.size() > 1) throw Error(ErrorKind::kUsage, filled_->SayWhich(name, found));
  if (found.empty()) {
    throw Error(ErrorKind::kUsage, "the model has no output '{}'{}", name,
                DidYouMeanOneOf(name, filled_->ShortestNames()));
  }
  const FilledTensors::One& one = filled_->all()[found.front()];
  Add(Source::Kind::kFilled, found.front(),
      {name, path, *one.desc, one.form.value_or(StoredForm{.name = name})});
}

void ModelCase::AddGraphOutputs() {
  size_t next = 0;
  for (const auto& [name, file] : line_.outputs) {
    const std::string path = InFolder(file);
    const auto port = name.empty()
                          ? graph_->outputs.begin() +
                                static_cast<ptrdiff_t>(std::min(next++, graph_->outputs.size()))
                          : std::ranges::find(graph_->outputs, name, &GraphPort::name);
    if (port != graph_->outputs.end()) {
      Add(Source::Kind::kPort, static_cast<size_t>(port - graph_->outputs.begin()),
          {port->name, path, DescOf(*port), FormOf(*port)});
    } else if (!name.empty()) {
      AddFilled(name, path);
    } else {
      throw Error(ErrorKind::kUsage, "{}: the model has {} only", file,
                  Counted(graph_->outputs.size(), "output"));
    }
  }
}

void ModelCase::AddTestData() {
  const std::string folder = InFolder(data_);
  const std::vector<std::string> files = FilesOf(folder, "output");
  if (files.empty() && outputs_.empty()) {
    throw Error(ErrorKind::kFileSystem, "{}/output_0.pb: is not there", folder);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    if (i == graph_->outputs.size()) {
      throw Error(ErrorKind::kTensorFile, files[i] + ": the model has no such output");
    }
    const GraphPort& port = graph_->outputs[i];
    Add(Source::Kind::kPort, i, {port.name, files[i], DescOf(port), FormOf(port)});
  }
}

void ModelCase::ReadDocument(Diagnostics& diagnostics) {
  auto inputs = BindModelInputs(*document_, descriptor_.folder, diagnostics);
  if (!inputs) return;
  inputs_.emplace(std::move(*inputs));
  filled_.emplace(*document_);
  line_.outputs.empty() ? AddWrittenFiles() : AddDocumentOutputs();
  if (!outputs_.empty()) return;
  throw Error(ErrorKind::kUsage,
              "the model writes no file; a \"writeFile\" or 'outputs' says what is the case's "
              "output");
}

void ModelCase::AddWrittenFiles() {
  const auto& commands = document_->commands();
  for (size_t i = 0; i < commands.size(); ++i) {
    const auto* write = std::get_if<WriteFileCommand>(&commands[i].what);
    if (write == nullptr) continue;
    TensorDesc desc = ListIn(inputs_->resources, write->resource);
    if (!write->dimensions.empty()) {
      desc.sizes = write->dimensions;
    } else if (!IsRaw(write->target_path)) {  // which has the initial values' number of elements
      desc.sizes = {
          static_cast<uint32_t>(inputs_->resources.shape(write->resource).element_count())};
    }
    const std::string path = InFolder(PathIn("", write->target_path));
    // A later command replaces the file.
    const auto same = std::ranges::find(outputs_, path, &Output::path);
    if (same != outputs_.end()) {
      sources_.erase(sources_.begin() + (same - outputs_.begin()));
      outputs_.erase(same);
    }
    const std::string& name = inputs_->resources.name(write->resource);
    Add(Source::Kind::kCommand, i, {name, path, desc, {.name = name}});
  }
}

void ModelCase::AddDocumentOutputs() {
  for (const auto& [name, file] : line_.outputs) {
    if (name.empty()) {
      throw Error(ErrorKind::kUsage,
                  "'outputs' of a DxDispatch model is an object with the names of tensors");
    }
    const auto& resources = document_->resources();
    const auto resource = std::ranges::find(resources, name, &ModelResource::name);
    if (resource == resources.end()) {
      AddFilled(name, InFolder(file));
      continue;
    }
    const auto number = static_cast<size_t>(resource - resources.begin());
    Add(Source::Kind::kResource, number,
        {name, InFolder(file), DescOfResource(number), {.name = name}});
  }
}

// The tensor that a resource begins with after all commands; a list of elements if it is none.
TensorDesc ModelCase::DescOfResource(size_t resource) {
  TensorDesc desc = ListIn(inputs_->resources, resource);
  for (size_t i = 0; i < document_->commands().size(); ++i) {
    const auto* dispatch = std::get_if<DispatchCommand>(&document_->commands()[i].what);
    if (dispatch == nullptr) continue;
    const std::vector<TensorSlot> slots =
        document_->dispatchables()[dispatch->dispatchable].slots();
    for (size_t k = 0; k < slots.size(); ++k) {
      const auto& bound = inputs_->bound.dispatches[i][k];
      if (slots[k].role() == TensorRole::kInput || !bound || bound->resource != resource) continue;
      desc = bound->offset == 0 ? *slots[k].desc : ListIn(inputs_->resources, resource);
    }
  }
  return desc;
}

std::vector<std::string> ModelCase::InputPaths() const {
  std::vector<std::string> paths;
  if (model_) {
    for (const NamedFile& file : model_->own_files()) paths.push_back(file.path);
    for (const NamedFile& file : model_->input_files()) paths.push_back(file.path);
  }
  if (!inputs_) return paths;
  if (!path_.empty()) paths.push_back(path_);
  for (const ModelDispatchable& dispatchable : document_->dispatchables()) {
    for (const ModelFile& file : dispatchable.files) paths.push_back(file.path);
  }
  for (const ModelResources::SourceFile& source : inputs_->resources.files()) {
    paths.push_back(source.path);
  }
  return paths;
}

void ModelCase::RequireUnread(const Output& output, const std::string& path) const {
  if (!model_) return;
  FileRoles roles;
  for (const NamedFile& file : model_->own_files()) roles.Reads(file.path, file.name);
  roles.WritesTensor(path, output.name);
  roles.RequireSeparate();
}

std::vector<ReportedFile> ModelCase::InputFiles() const {
  std::vector<ReportedFile> files;
  if (model_) {
    for (const NamedFile& file : model_->input_files()) {
      files.push_back({file.name, file.path, Sha256(model_->BoundTo(file.name)->file_bytes)});
    }
  }
  if (!inputs_) return files;
  for (const ModelResources::SourceFile& source : inputs_->resources.files()) {
    files.push_back(
        {document_->resources()[source.resource].name, source.path, Sha256(source.file.bytes())});
  }
  return files;
}

std::vector<const OperatorDesc*> ModelCase::operators() const {
  std::vector<const OperatorDesc*> all;
  if (graph_ != nullptr) {
    for (const GraphNode& node : graph_->graph.nodes) all.push_back(&node.op);
  }
  if (document_ == nullptr) return all;
  for (const ModelDispatchable& dispatchable : document_->dispatchables()) {
    for (const auto& named : dispatchable.operators()) all.push_back(named.op);
  }
  return all;
}

}  // namespace dmlop
