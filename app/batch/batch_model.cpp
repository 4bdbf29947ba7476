// SPDX-License-Identifier: Apache-2.0
// Cases that are models with ONNX's test data: {"model": "model.onnx", "data": "test_data_set_0"}.
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "app/batch/batch_case.h"
#include "app/compare/judgement.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/document/file_argument.h"
#include "core/document/value_reader.h"
#include "core/graph/graph_run.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

constexpr double kRelative = 1e-3, kAbsolute = 1e-7;  // those of ONNX's own tests

// The files NAME_0.pb, NAME_1.pb, ... of a folder.
std::vector<std::string> FilesOf(const std::string& folder, std::string_view name) {
  std::vector<std::string> files;
  while (true) {
    const auto path = std::filesystem::path(folder) / fmt::format("{}_{}.pb", name, files.size());
    if (!FileExists(path.string())) return files;
    files.push_back(path.string());
  }
}

// The members of a line.
struct ModelLine {
  std::optional<std::string> name, model, data;
  double relative = kRelative, absolute = kAbsolute;
};

ModelLine ReadLine(JsonCursor root, Diagnostics& diagnostics) {
  constexpr std::array<std::string_view, 5> kKeys = {"name", "model", "data", "rtol", "atol"};
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
  for (const auto& [key, number] : {std::pair("rtol", &line.relative), {"atol", &line.absolute}}) {
    const auto member = values.Find(root, key);
    if (const auto given = member ? values.Number(*member) : std::nullopt) *number = *given;
  }
  if (!line.model) diagnostics.Error("JSON-2", "", "'model' is not the path of a model");
  if (!line.data) diagnostics.Error("JSON-2", "", "'data' is missing: the folder of input_0.pb");
  return line;
}

}  // namespace

bool BatchCase::IsModelLine(JsonCursor root) {
  const auto model = root.is_object() ? root.Find("model") : std::nullopt;
  return model && model->is_string();
}

std::string BatchCase::InFolder(const std::string& path) const {
  const std::string whole = (std::filesystem::path(settings_.folder) / path).string();
  if (settings_.confine.empty() || LiesIn(whole, settings_.confine)) return whole;
  throw Error(ErrorKind::kUsage,
              fmt::format("'{}' leads out of {}, to which --confine keeps this document", whole,
                          settings_.confine));
}

void BatchCase::ReadModel(JsonCursor root) {
  Diagnostics diagnostics;
  const ModelLine line = ReadLine(root, diagnostics);
  if (diagnostics.has_errors()) return Refuse(diagnostics);
  const std::string data = InFolder(*line.data);
  outcome_.name = line.name.value_or(*line.data);
  outcome_.type = "model";
  const std::string path = InFolder(*line.model);
  if (!IsGraphModel(path)) {
    throw Error(ErrorKind::kUsage, path + ": is no model; expected .onnx, or .bin for a graph");
  }
  model_.emplace(
      ModelFiles{GraphModel({path, FilesOf(data, "input"), {}, settings_.level, settings_.confine},
                            diagnostics),
                 nullptr, FilesOf(data, "output"),
                 Tolerance{.absolute = line.absolute, .relative = line.relative}});
  model_->graph = model_->model.Read(diagnostics);
  if (model_->graph == nullptr) return Refuse(diagnostics);
  outcome_.warnings = FaultsOf(diagnostics, Severity::kWarning);
  model_->model.RequireBoundInputs();
  if (model_->expected.empty()) {
    throw Error(ErrorKind::kFileSystem, fmt::format("{}/output_0.pb: is not there", data));
  }
}

void BatchCase::RunModel() {
  const NamedGraph& graph = *model_->graph;
  std::vector<Buffer> buffers;
  std::vector<TensorView> outputs;
  for (const GraphPort& port : graph.outputs) {
    Buffer& buffer = buffers.emplace_back(port.edge ? SizeInBytes(DescOf(port)) : 0);
    if (!port.edge) continue;
    const TensorDesc& desc = *graph.graph.edges[*port.edge].desc;
    outputs.push_back({buffer.data(), port.type, LayoutOf(desc)});
  }
  const Clock::time_point start = Clock::now();
  RunGraph(graph.graph, model_->model.InputViews(), outputs, {.may_chain = true});
  outcome_.times.run_seconds = SecondsSince(start);
  for (size_t i = 0; i < model_->expected.size(); ++i) {
    const std::string& path = model_->expected[i];
    if (i == graph.outputs.size()) {
      throw Error(ErrorKind::kTensorFile, path + ": the model has no such output");
    }
    const GraphPort& port = graph.outputs[i];
    const LoadedTensor tensor = LoadCompared(path, DescOf(port), settings_.rules.shapes);
    const PortView computed = ViewOf(port, DescOf(port), buffers[i].data());
    outcome_.files.compared.push_back(CompareWith(
        {port.name, path, settings_.is_reported ? Sha256(tensor.file_bytes) : std::string()},
        tensor, Side::kExpected, computed.view, model_->tolerance, settings_.rules.leniency, {},
        port.is_bool));
    const ComparedFile& compared = outcome_.files.compared.back();
    if (!compared.judgement.passes()) TellDifference(DiffersText(compared), compared.judgement);
  }
}

std::vector<const OperatorDesc*> BatchCase::operators() const {
  if (!model_) return {&document_->op()};
  std::vector<const OperatorDesc*> all;
  for (const GraphNode& node : model_->graph->graph.nodes) all.push_back(&node.op);
  return all;
}

}  // namespace dmlop
