// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/document/document_json.h"

namespace dmlop {
namespace {

// A model as it was read, or why it was not.
struct ReadModel {
  Diagnostics diagnostics;
  std::optional<Error> file_error;
  std::optional<GraphModel> model;
  const NamedGraph* graph = nullptr;  // null if it is refused

  ReadModel(GraphRequest request) {
    try {
      model.emplace(std::move(request), diagnostics);
      graph = model->Read(diagnostics);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kUsage) throw;
      file_error = error;
    }
  }

  // The nodes that there is something to tell of; null if the file is no model.
  const NamedGraph* nodes() const {
    if (graph != nullptr || !model) return graph;
    return model->judged();
  }

  ExitStatus status() const {
    if (file_error && !diagnostics.has_errors()) return StatusOf(file_error->kind());
    return StatusOf(diagnostics);
  }

  void Tell(const std::string& path, const CommonOptions& common) const {
    if (!common.quiet || diagnostics.has_errors()) {
      PrintDiagnostics(diagnostics, path, "", UseColor(common.color));
    }
    if (file_error) PrintMessage("dmlop: {}\n", Printable(file_error->what()));
  }
};

// Prints lines, in which names may have any characters.
void PrintLines(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const size_t length = text.find('\n');
    printable += Printable(text.substr(0, length)) + "\n";
    text.remove_prefix(length + 1);
  }
  PrintResult(printable);
}

// --- nodes ---------------------------------------------------------------------------------------

std::vector<std::string> OperatorsOf(const NamedGraph& graph, const ModelNode& node) {
  std::vector<std::string> operators;
  for (size_t n = node.begin; n < node.end; ++n) {
    operators.emplace_back(graph.graph.nodes[n].op.name());
  }
  return operators;
}

FeatureLevel LevelOf(const NamedGraph& graph, const ModelNode& node) {
  FeatureLevel level = FeatureLevels().front();
  for (size_t n = node.begin; n < node.end; ++n) {
    level = std::max(level, MinimumFeatureLevel(graph.graph.nodes[n].op));
  }
  return level;
}

FeatureLevel LevelOf(const NamedGraph& graph) {
  FeatureLevel level = FeatureLevels().front();
  for (const GraphNode& node : graph.graph.nodes) {
    level = std::max(level, MinimumFeatureLevel(node.op));
  }
  return level;
}

// "Conv 11"
std::string TypeOf(const ModelNode& node) {
  return node.version.empty() ? node.type : fmt::format("{} {}", node.type, node.version);
}

std::string_view TypeNameOf(const GraphPort& port) {
  return port.is_bool ? "BOOL" : Name(port.type);
}

std::string PortText(const GraphPort& port) {
  return fmt::format("{} [{}]", TypeNameOf(port), fmt::join(port.sizes, ", "));
}

Json PortsJson(const std::vector<GraphPort>& ports) {
  Json json = Json::array();
  for (const GraphPort& port : ports) {
    json.push_back({{"name", port.name}, {"dataType", TypeNameOf(port)}, {"sizes", port.sizes}});
  }
  return json;
}

// The outputs of a node's operators.
std::vector<const GraphPort*> FilledBy(const NamedGraph& graph, const ModelNode& node) {
  std::vector<const GraphPort*> filled;
  for (size_t n = node.begin; n < node.end; ++n) {
    for (const size_t edge : EdgesOf(graph.graph.nodes[n], TensorRole::kOutput)) {
      filled.push_back(&graph.tensors[edge]);
    }
  }
  return filled;
}

std::string NodeText(const NamedGraph& graph, const ModelNode& node) {
  const std::vector<std::string> operators = OperatorsOf(graph, node);
  std::string text = fmt::format("  node '{}' ({}): ", Printable(node.name), TypeOf(node));
  if (operators.empty()) return text + "known while the model is read\n";
  text +=
      fmt::format("{}, from feature level {}\n", Listed(operators), ToString(LevelOf(graph, node)));
  for (const std::string& note : node.notes) text += fmt::format("    {}\n", note);
  return text;
}

Json NodeJson(const NamedGraph& graph, const ModelNode& node) {
  Json json = {{"name", node.name}, {"type", node.type}};
  if (!node.version.empty()) json["version"] = node.version;
  json["operators"] = OperatorsOf(graph, node);
  json["minimumFeatureLevel"] = ToString(LevelOf(graph, node));
  json["outputs"] = Json::array();
  for (const GraphPort* port : FilledBy(graph, node)) {
    json["outputs"].push_back(
        {{"name", port->name}, {"dataType", TypeNameOf(*port)}, {"sizes", port->sizes}});
  }
  if (!node.notes.empty()) json["notes"] = node.notes;
  return json;
}

Json NodesJson(const NamedGraph& graph) {
  Json nodes = Json::array();
  for (const ModelNode& node : graph.nodes) {
    if (node.runs()) nodes.push_back(NodeJson(graph, node));
  }
  return nodes;
}

std::string NodesText(const NamedGraph& graph) {
  std::string text;
  for (const ModelNode& node : graph.nodes) {
    if (node.runs()) text += NodeText(graph, node);
  }
  return text;
}

// "m.onnx: 2 of 5 nodes run at feature level 5_0:"; empty if there is none.
std::string RunningText(const std::string& path, const NamedGraph& graph, FeatureLevel level) {
  const auto count = std::ranges::count(graph.nodes, true, &ModelNode::runs);
  if (count == 0) return "";
  return fmt::format("{}: {} of {} {} at feature level {}:\n", path, count,
                     Counted(graph.nodes.size(), "node"), ForCount(count, "runs", "run"),
                     ToString(level)) +
         NodesText(graph);
}

std::vector<std::string> UnjudgedNodes(const NamedGraph& graph) {
  std::vector<std::string> names;
  for (const ModelNode& node : graph.nodes) {
    if (node.is_unjudged) names.push_back(node.name);
  }
  return names;
}

// "m.onnx: 1 node could not be judged, ...:"; empty if there is none.
std::string UnjudgedText(const std::string& path, const NamedGraph& graph) {
  const auto count = std::ranges::count(graph.nodes, true, &ModelNode::is_unjudged);
  if (count == 0) return "";
  std::string text = fmt::format(
      "{}: {} could not be judged, as the model does not say the sizes of what is refused before "
      "{}:\n",
      path, Counted(static_cast<uint64_t>(count), "node"), ForCount(count, "it", "them"));
  for (const ModelNode& node : graph.nodes) {
    if (node.is_unjudged) text += fmt::format("  node '{}' ({})\n", node.name, TypeOf(node));
  }
  return text;
}

Json DiagnosticsJson(const Diagnostics& diagnostics) {
  Json json = Json::array();
  for (const Diagnostic& one : diagnostics.list()) {
    json.push_back({{"severity", one.severity == Severity::kError ? "error" : "warning"},
                    {"code", one.code},
                    {"pointer", one.pointer},
                    {"message", one.message}});
  }
  return json;
}

std::string VerdictJson(const std::string& path, const ReadModel& read) {
  Json json;
  SetPath("document", path, json);
  json["valid"] = read.graph != nullptr;
  json["minimumFeatureLevel"] = nullptr;
  if (read.graph != nullptr) json["minimumFeatureLevel"] = ToString(LevelOf(*read.graph));
  if (read.nodes() != nullptr) {
    json["nodes"] = NodesJson(*read.nodes());
    json["unjudged"] = UnjudgedNodes(*read.nodes());
  }
  json["diagnostics"] = DiagnosticsJson(read.diagnostics);
  if (read.diagnostics.omitted() > 0) json["omitted"] = read.diagnostics.omitted();
  if (read.file_error) json["fileError"] = read.file_error->what();
  return Utf8Text(json) + "\n";
}

}  // namespace

ExitStatus ValidateGraphModel(const std::string& path, const ValidateOptions& options,
                              const CommonOptions& common) {
  ReadModel read({path, options.inputs, options.sizes, options.level, options.confine});
  if (options.format == TextFormat::kJson) {
    PrintResult(VerdictJson(path, read));
    return read.status();
  }
  read.Tell(path, common);
  if (read.graph == nullptr) {
    const NamedGraph* judged = Exports(options) || common.quiet ? nullptr : read.nodes();
    if (judged != nullptr) {
      PrintLines(RunningText(path, *judged, options.level) + UnjudgedText(path, *judged));
    }
    return read.status();
  }
  if (Exports(options)) return ExportGraph(*read.model, *read.graph, options, common);
  if (common.quiet) return read.status();
  std::string text =
      fmt::format("{}: valid: {}; runs from feature level {}\n", path,
                  Counted(read.graph->nodes.size(), "node"), ToString(LevelOf(*read.graph)));
  PrintLines(text + NodesText(*read.graph));
  return read.status();
}

ExitStatus ShowGraphModel(const std::string& path, const ShowOptions& options,
                          const CommonOptions& common) {
  const ReadModel read({path, {}, options.sizes, kHighestFeatureLevel, ""});
  read.Tell(path, common);
  if (read.graph == nullptr) return read.status();
  const NamedGraph& graph = *read.graph;
  if (options.format == TextFormat::kJson) {
    Json json;
    SetPath("file", path, json);
    json.update({{"inputs", PortsJson(graph.inputs)},
                 {"outputs", PortsJson(graph.outputs)},
                 {"nodes", NodesJson(graph)}});
    PrintResult(Utf8Text(json) + "\n");
    return read.status();
  }
  std::string text = fmt::format("{}: {}\n", path, Counted(graph.nodes.size(), "node"));
  for (const GraphPort& port : graph.inputs) {
    text += fmt::format("  input '{}': {}{}\n", port.name, PortText(port),
                        port.has_default ? ", has values" : "");
  }
  for (const GraphPort& port : graph.outputs) {
    text += fmt::format("  output '{}': {}\n", port.name, PortText(port));
  }
  for (const ModelNode& node : graph.nodes) {
    text += fmt::format("  node '{}' ({}): ", Printable(node.name), TypeOf(node));
    const std::vector<std::string> operators = OperatorsOf(graph, node);
    text += operators.empty() ? "known while the model is read\n" : Listed(operators);
    std::string_view separator = " -> ";
    for (const GraphPort* port : FilledBy(graph, node)) {
      text += fmt::format("{}'{}' {}", separator, port->name, PortText(*port));
      separator = ", ";
    }
    if (!operators.empty()) text += "\n";
  }
  PrintLines(text);
  return read.status();
}

}  // namespace dmlop
