// SPDX-License-Identifier: Apache-2.0
#include "app/run/run_comparisons.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/files/output.h"
#include "app/shell_word.h"
#include "core/base/parallel.h"
#include "core/kernels/simd/isa.h"

namespace dmlop {

RunComparisons::RunComparisons(const RunOptions& options, const CommonOptions& common)
    : options_(options),
      common_(common),
      drawing_(options.drawing, common.color,
               {.text = options.format == TextFormat::kText,
                .json = options.format == TextFormat::kJson || !options.report.empty()}) {}

void RunComparisons::Compare(const Computed& computed, const std::string& path,
                             const std::function<LoadedTensor()>& load, Side side,
                             const std::optional<Command>& explain) {
  if (IsMissing(path)) {
    all_.push_back(
        MissingFile({computed.name, path, ""}, side, computed.view.layout.element_count()));
  } else {
    const LoadedTensor tensor = load();
    Leniency leniency = options_.rules.leniency;
    leniency.cuts_to_bfloat16 = computed.is_cut;
    const bool is_reported = !options_.report.empty() || options_.format == TextFormat::kJson;
    all_.push_back(
        CompareWith({computed.name, path, is_reported ? Sha256(tensor.file_bytes) : std::string()},
                    tensor, side, computed.view, computed.tolerance, leniency, computed.units,
                    computed.is_bool, drawing_.details()));
  }
  const ComparedFile& compared = all_.back();
  status_ = std::max(status_, StatusOf(compared.judgement));
  auto picture = drawing_.MakePicture(compared.judgement);
  if (picture) picture_.emplace(std::move(*picture));
  if (!compared.judgement.passes()) {
    TellDifference(compared, explain);
  } else if (common_.verbose) {
    PrintMessage("dmlop: {}\n", Printable(AgreesText(compared)));
  }
}

void RunComparisons::TellDifference(const ComparedFile& compared,
                                    const std::optional<Command>& explain) {
  if (compared.judgement.is_missing) {
    return PrintMessage("dmlop: {}: {}\n", Printable(DiffersText(compared)),
                        JudgementLine(compared.judgement));
  }
  if (common_.quiet || options_.format == TextFormat::kJson) return;
  PrintResult(fmt::format("{}: {}{}", Printable(DiffersText(compared)),
                          JudgementText(compared.judgement), drawing_.Text(compared.judgement)));
  const std::string element = WorstElement(compared);
  if (element.empty() || !explain) return;
  PrintResult(fmt::format("how the worst element comes about:\n  {}\n",
                          Printable(fmt::format("dmlop explain {} {}{}", explain->before,
                                                ShellWord(element), explain->behind))));
}

std::string RoleOfCompared(Side side, const std::string& tensor) {
  return (side == Side::kActual ? "the judged file of " : "the expected file of ") + tensor;
}

// --- reports -------------------------------------------------------------------------------------

namespace {

// Null for a tensor without a file.
Json BindingJson(const OperatorCase& operator_case, const TensorSlot& slot) {
  const auto& bindings = operator_case.document().bindings();
  const auto binding = bindings.find(slot.path);
  if (binding == bindings.end()) return nullptr;
  if (binding->second.values) return AsWritten(*binding->second.values);
  return operator_case.PathOf(slot);
}

Json BindingsJson(const OperatorCase& operator_case) {
  Json json = Json::object();
  for (const TensorRole role : {TensorRole::kInput, TensorRole::kOutput}) {
    for (const TensorSlot& slot : operator_case.Slots(role)) {
      SetSlot(slot.path, BindingJson(operator_case, slot), json);
    }
  }
  return json;
}

// `what` describes what was run.
std::string Text(const Json& what, const ReportedFiles& files, const Diagnostics& warnings,
                 const RunTimes& times) {
  Json json = {{"dmlop", DMLOP_VERSION}};
  json.update(what);
  if (!files.as.empty()) json["as"] = files.as;
  json.update({{"inputs", FilesJson(files.inputs)}, {"outputs", FilesJson(files.outputs)}});
  if (!files.compared.empty()) json["comparisons"] = ComparisonsJson(files.compared);
  for (const Diagnostic& warning : warnings.list()) json["warnings"].push_back(LineOf(warning));
  json.update(
      {{"threads", SettledThreadCount()}, {"isa", CurrentIsa()}, {"seconds", SecondsJson(times)}});
  return Pretty(json) + "\n";
}

}  // namespace

std::vector<ReportedFile> InputFilesOf(const OperatorCase& files) {
  std::vector<ReportedFile> reported;
  const std::vector<TensorSlot> slots = files.Slots(TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::span<const std::byte> bytes = files.inputs()[i].file_bytes;
    if (bytes.empty()) continue;  // values in the document
    reported.push_back({DisplayName(slots[i].path), files.PathOf(slots[i]), Sha256(bytes)});
  }
  return reported;
}

Json SecondsJson(const RunTimes& times) {
  return {{"load", times.load_seconds}, {"run", times.run_seconds}};
}

Json DescriptorJson(const OperatorCase& operator_case) {
  Json json = OperatorJson(operator_case.document().op());
  json["bindings"] = BindingsJson(operator_case);
  return json;
}

std::string ReportText(const OperatorCase& operator_case, const ReportedFiles& files,
                       const Diagnostics& warnings, const RunTimes& times) {
  return Text({{"descriptor", DescriptorJson(operator_case)}}, files, warnings, times);
}

Json NodesJson(const Graph& graph) {
  Json nodes = Json::array();
  for (const GraphNode& node : graph.nodes) {
    Json json = OperatorJson(node.op);
    json["name"] = node.name;
    nodes.push_back(std::move(json));
  }
  return nodes;
}

Json DispatchableJson(const ModelDispatchable& dispatchable) {
  if (dispatchable.op() != nullptr) return OperatorJson(*dispatchable.op());
  return {{"type", kGraphType}, {"nodes", NodesJson(*dispatchable.graph())}};
}

std::string ReportText(const NamedGraph& graph, const ReportedFiles& files,
                       const Diagnostics& warnings, const RunTimes& times) {
  return Text({{"nodes", NodesJson(graph.graph)}}, files, warnings, times);
}

std::string ReportText(const ModelDocument& model, const ReportedFiles& files,
                       const Diagnostics& warnings, const RunTimes& times) {
  Json dispatchables = Json::object();
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    dispatchables[dispatchable.name] = DispatchableJson(dispatchable);
  }
  return Text({{"dispatchables", dispatchables}}, files, warnings, times);
}

}  // namespace dmlop
