// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/commands.h"
#include "app/compare/judgement.h"
#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/options/option_kinds.h"
#include "app/run/model_tensors.h"
#include "app/run/runnable_model.h"
#include "app/shell_word.h"
#include "app/text/comparison_text.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"

namespace dmlop {
namespace {

// One diagnosis, from the command line to the text. Member functions are in the order in which they
// are called.
class OutputDiagnosis {
 public:
  OutputDiagnosis(const DiagnoseOptions& options, const CommonOptions& common)
      : options_(options), common_(common) {}

  ExitStatus Execute() {
    RequireOneReader(options_.descriptor, GivenPaths());
    descriptor_ = ReadDescriptor(options_.descriptor, options_.line);
    Document document = ReadDocument(descriptor_, kHighestFeatureLevel, {options_.confine},
                                     diagnostics_, options_.sizes);
    if (document.model) {
      return DiagnoseModel(options_, common_, descriptor_, *document.model, diagnostics_);
    }
    document_ = std::move(document.op);
    if (document_) RequireOptionsOfOperator();
    if (!document_ || !Check()) return Refuse();
    const std::vector<FileArgument> files = case_->Assign(TensorRole::kOutput, options_.actual);
    case_->RequireBoundInputs();
    case_->LoadInputs(diagnostics_);
    if (diagnostics_.has_errors()) return Refuse();
    std::vector<ActualFile> actual;
    for (const FileArgument& file : files) actual.push_back(Actual(file));
    diagnosed_ =
        DiagnoseFiles({document_->op(), case_->InputViews()}, actual, options_.rules.leniency);
    for (size_t i = 0; i < files.size(); ++i) AddChecks(files[i], diagnosed_[i]);
    Print();
    if (std::ranges::any_of(diagnosed_, &DiagnosedFile::is_missing)) return ExitStatus::kFileSystem;
    const bool passes = std::ranges::all_of(diagnosed_, &DiagnosedFile::passes);
    return passes ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  std::vector<std::string> GivenPaths() const {
    std::vector<std::string> paths;
    for (const auto* files : {&options_.inputs, &options_.actual}) {
      for (const std::string& file : *files) paths.push_back(FileArgument::Parse(file).path);
    }
    return paths;
  }

  void RequireOptionsOfOperator() const {
    if (options_.node.empty() && options_.from.empty()) return;
    throw Error(ErrorKind::kUsage, "{}: is an operator; --node and --from are for models",
                descriptor_.name);
  }

  ExitStatus Refuse() const { return TellDiagnostics(diagnostics_, descriptor_, common_); }

  // Returns false if the document has faults.
  bool Check() {
    case_.emplace(*document_, CaseFiles{.shapes = options_.rules.shapes, .reads_outputs = true});
    case_->Bind(TensorRole::kInput, options_.inputs);
    case_->AddOptionalTensors(TensorRole::kOutput, options_.actual);
    case_->Bind(TensorRole::kOutput, {});
    RequireOneReader(options_.descriptor, case_->InputPaths());
    return case_->Check(kHighestFeatureLevel, diagnostics_);
  }

  ActualFile Actual(const FileArgument& file) const {
    const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
    size_t output = 0;
    while (slots[output].path != file.name) ++output;
    const TensorDesc& desc = *slots[output].desc;
    ActualFile actual{output,
                      file.path,
                      std::nullopt,
                      {ToleranceFor(options_.rules, *document_, *desc.data_type),
                       UnitToleranceFor(options_.rules, *document_), options_.is_thorough}};
    if (!IsMissing(file.path)) {
      actual.tensor = LoadCompared(file.path, desc, options_.rules.shapes);
    }
    return actual;
  }

  // Standard input cannot be read again.
  void AddChecks(const FileArgument& file, DiagnosedFile& diagnosed) const {
    std::vector<std::string> paths = case_->InputPaths();
    paths.insert(paths.end(), {options_.descriptor, file.path});
    if (std::ranges::find(paths, kStandardStream) != paths.end()) return;
    std::string command = fmt::format("dmlop run {}", PathWord(options_.descriptor));
    if (options_.line) command += fmt::format(" --line {}", *options_.line);
    for (const std::string& input : options_.inputs) command += " -i " + PathWord(input);
    const bool is_named = case_->Slots(TensorRole::kOutput).size() > 1;
    dmlop::AddChecks({command, is_named ? file.name + "=" + file.path : file.path,
                      LeniencyWords(options_.rules) + ConfineWords(options_.confine)},
                     diagnosed);
  }

  void Print() const {
    if (options_.format == TextFormat::kText) return PrintResult(DiagnosisText(diagnosed_));
    Json outputs = Json::array();
    for (const DiagnosedFile& file : diagnosed_) outputs.push_back(DiagnosisJson(file));
    PrintResult(Utf8Text({{"outputs", outputs}}) + "\n");
  }

  const DiagnoseOptions& options_;
  const CommonOptions& common_;
  Descriptor descriptor_;
  Diagnostics diagnostics_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::vector<DiagnosedFile> diagnosed_;
};

}  // namespace

ExitStatus DiagnoseCommand(const DiagnoseOptions& options, const CommonOptions& common) {
  if (options.actual.empty() && options.from.empty()) {
    throw Error(ErrorKind::kUsage, "ACTUAL is missing: the file that a device has written");
  }
  if (IsGraphModel(options.descriptor)) return DiagnoseGraph(options, common);
  return OutputDiagnosis(options, common).Execute();
}

// --- models --------------------------------------------------------------------------------------

namespace {

using Node = RunnableModel::Node;

std::string NodeText(const Node& node) {
  return fmt::format("node '{}' ({})", Printable(node.full_name), node.type);
}

// A node that is judged: the files of its outputs, by the number of the tensor, and what is found.
struct JudgedNode {
  const Node* node;
  std::map<size_t, std::string> files;
  std::vector<std::string> missing = {};  // the tensors that it was given without a file
  bool lacks_input = false;               // of the model
  std::vector<DiagnosedFile> diagnosed = {};

  bool passes() const { return std::ranges::all_of(diagnosed, &DiagnosedFile::passes); }
};

// Judges one node, or all of a dump up to the first that is wrong.
class NodeDiagnosis {
 public:
  NodeDiagnosis(const DiagnoseOptions& options, const DumpedTensors* dump, RunnableModel model)
      : options_(options), dump_(dump), model_(std::move(model)) {}

  ExitStatus Execute() {
    if (const Node* node = AskedNode()) {
      judged_.push_back({node, FilesOf(*node)});
    } else {
      AddNodesOfDump();
    }
    dump_ == nullptr ? RunToNode() : JudgeOnDump();
    options_.format == TextFormat::kText ? PrintText() : PrintJson();
    const bool passes = std::ranges::all_of(judged_, &JudgedNode::passes);
    return passes ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  // --- what is judged ----------------------------------------------------------------------------

  // Null for all nodes of a dump.
  const Node* AskedNode() const {
    if (!options_.node.empty()) return &model_.NodeCalled(options_.node);
    if (dump_ != nullptr && options_.actual.empty()) return nullptr;
    std::vector<std::string> names;
    const Node* last = nullptr;
    for (const Node& node : model_.nodes) {
      if (node.begin == node.end) continue;
      names.push_back(node.full_name);
      last = &node;
    }
    if (names.size() == 1) return last;
    throw Error(ErrorKind::kUsage, "{}: is a model; --node NAME says which of {} is meant",
                options_.descriptor, Listed(names));
  }

  // The numbers of the tensors that a node fills: its outputs, then what it only uses itself.
  std::vector<size_t> OutputsOf(const Node& node) const {
    std::vector<size_t> numbers;
    for (size_t n = model_.FirstOutputOf(node.begin); n < model_.FirstOutputOf(node.end); ++n) {
      numbers.push_back(n);
    }
    std::stable_partition(numbers.begin(), numbers.end(),
                          [&](size_t n) { return !IsReadWithin(node, n); });
    return numbers;
  }

  bool IsReadWithin(const Node& node, size_t number) const {
    for (size_t step = model_.outputs[number].step + 1; step < node.end; ++step) {
      for (size_t i = 0; i < model_.steps[step].inputs.size(); ++i) {
        if (model_.FilledInput(step, i) == number) return true;
      }
    }
    return false;
  }

  const FilledTensors::One& Tensor(size_t number) const { return model_.filled.all()[number]; }

  // The name of an output among those of its node.
  std::string NameInNode(size_t number) const {
    const FilledTensors::One& one = Tensor(number);
    const std::string& name = one.form ? one.form->name : one.name;
    const auto [step, output] = model_.outputs[number];
    const std::string prefix = model_.steps[step].name + ".";
    return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
  }

  // The device's files of a node's outputs, by the command line or by the dump.
  std::map<size_t, std::string> FilesOf(const Node& node) const {
    const std::vector<size_t> numbers = OutputsOf(node);
    std::map<size_t, std::string> files;
    std::vector<std::string> names;
    for (const size_t number : numbers) names.push_back(NameInNode(number));
    for (const NamedFile& file : AssignFiles(options_.actual, names, "output")) {
      files[numbers[static_cast<size_t>(std::ranges::find(names, file.name) - names.begin())]] =
          file.path;
    }
    if (!files.empty()) return files;
    if (dump_ == nullptr) {
      throw Error(ErrorKind::kUsage,
                  "a file is missing that a device has written for {}; expected one behind the "
                  "model, or --from DIR with its dump",
                  Listed(names));
    }
    files = FilesInDump(node);
    if (!files.empty()) return files;
    throw Error(ErrorKind::kFileSystem, "{}: has no file of {} that {} fills; expected {}.npy",
                options_.from, Listed(names), NodeText(node), FileNameOf(numbers.front()));
  }

  std::map<size_t, std::string> FilesInDump(const Node& node) const {
    std::map<size_t, std::string> files;
    for (const size_t number : OutputsOf(node)) {
      std::string path = dump_->FileOf(model_, number);
      if (!path.empty()) files.emplace(number, std::move(path));
    }
    return files;
  }

  std::string FileNameOf(size_t number) const {
    return NumberedName(number + 1, model_.filled.all().size(), Tensor(number).name);
  }

  void AddNodesOfDump() {
    for (const Node& node : model_.nodes) {
      if (node.begin == node.end) continue;
      auto files = FilesInDump(node);
      if (!files.empty()) judged_.push_back({&node, std::move(files)});
    }
    if (!judged_.empty()) return;
    throw Error(ErrorKind::kFileSystem,
                "{}: has no tensor of the model; expected files such as {}.npy, which run "
                "--keep-all writes",
                options_.from, model_.outputs.empty() ? "0001-Conv_0.Y" : FileNameOf(0));
  }

  // --- on what the model computes here -----------------------------------------------------------

  void RunToNode() {
    JudgedNode& judged = judged_.front();
    size_t number = 0;
    StepWatch watch;
    watch.before = [&](const Step& step) { Judge(step, number++, judged); };
    watch.goes_on = [&] { return number < judged.node->end; };
    model_.run(watch);
  }

  void Judge(const Step& step, size_t number, JudgedNode& judged) const {
    if (number < judged.node->begin) return;
    const size_t first = model_.FirstOutputOf(number);
    std::vector<ActualFile> actual;
    for (size_t k = 0; k < step.outputs.size(); ++k) {
      const auto file = judged.files.find(first + k);
      if (file == judged.files.end()) continue;
      actual.push_back(Actual(step, k, first + k, file->second));
    }
    std::vector<DiagnosedFile> diagnosed =
        DiagnoseFiles(ComputationOf(step), actual, options_.rules.leniency);
    for (size_t i = 0; i < diagnosed.size(); ++i) {
      DiagnosedFile& one = diagnosed[i];
      one.tensor = model_.filled.ShortestName(first + actual[i].output);
      const size_t checks = dump_ == nullptr ? one.diagnosis.causes.size() : 0;
      one.checks.assign(checks, CheckCommand(one));
      judged.diagnosed.push_back(std::move(one));
    }
  }

  ActualFile Actual(const Step& step, size_t output, size_t number, const std::string& path) const {
    const ComparisonRules& rules = options_.rules;
    const TensorDesc& desc = *TensorSlots(step.op, TensorRole::kOutput)[output].desc;
    return {output,
            path,
            LoadFilled(path, Tensor(number), desc, rules.shapes),
            {ToleranceFor(rules, step.op, *desc.data_type), rules.units, options_.is_thorough}};
  }

  // The command that shows where the file is wrong.
  std::string CheckCommand(const DiagnosedFile& file) const {
    std::string command = fmt::format("dmlop run {}", PathWord(options_.descriptor));
    for (const std::string& input : options_.inputs) command += " -i " + PathWord(input);
    command += " --judge " + ShellWord(file.tensor + "=" + file.path);
    return command + " --map" + LeniencyWords(options_.rules) + ConfineWords(options_.confine);
  }

  // --- on what the device dumped -----------------------------------------------------------------

  void JudgeOnDump() {
    size_t number = 0;
    auto judged = judged_.begin();
    std::vector<TensorView> filled;  // of the steps so far, at their places in this run
    model_.for_each_step([&](const Step& step) {
      const size_t current = number++;
      filled.insert(filled.end(), step.outputs.begin(), step.outputs.end());
      if (judged == judged_.end() || current < judged->node->begin) return;
      GiveInputs(step, current, filled, *judged);
      if (judged->missing.empty()) Judge(step, current, *judged);
      if (number < judged->node->end) {
        if (judged->missing.empty()) RunStep(step, {});
        return;
      }
      const bool goes_on = judged->passes();
      ++judged;
      if (!goes_on) judged = judged_.end();
      if (!goes_on) ended_at_ = number;
    });
  }

  // Fills the inputs of a step with what the device has for them, but those that the node computes
  // itself; notes what has no file.
  void GiveInputs(const Step& step, size_t number, const std::vector<TensorView>& filled,
                  JudgedNode& judged) const {
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const auto tensor = model_.FilledInput(number, i);
      if (!tensor) {
        if (step.inputs[i].data == nullptr) AddUnboundInput(number, i, judged);
        continue;
      }
      if (model_.outputs[*tensor].step >= judged.node->begin) continue;
      const std::string path = dump_->FileOf(model_, *tensor);
      if (path.empty()) {
        judged.missing.push_back(FileNameOf(*tensor) + ".npy");
        continue;
      }
      const TensorDesc& desc = *Tensor(*tensor).desc;
      CopyIntoBuffer(LoadInput(path, desc, options_.rules.shapes).view, desc, filled[*tensor].data);
    }
    const bool is_asked = judged_.size() == 1 && !options_.node.empty();
    if (judged.missing.empty() || !is_asked) return;
    throw Error(ErrorKind::kFileSystem, "{}: has no file of what {} reads; expected {}{}",
                options_.from, NodeText(*judged.node), Listed(judged.missing),
                judged.lacks_input ? ", or -i for an input of the model" : "");
  }

  void AddUnboundInput(size_t number, size_t input, JudgedNode& judged) const {
    judged.missing.push_back(InFileName(model_.name_of_input(number, input)) + ".npy");
    judged.lacks_input = true;
  }

  // --- results -----------------------------------------------------------------------------------

  // The nodes that were looked at, and of these, those that lack what they were given.
  std::vector<const JudgedNode*> LookedAt(bool lacks) const {
    std::vector<const JudgedNode*> nodes;
    for (const JudgedNode& one : judged_) {
      const bool is_looked_at = !ended_at_ || one.node->end <= *ended_at_;
      if (is_looked_at && one.missing.empty() != lacks) nodes.push_back(&one);
    }
    return nodes;
  }

  void PrintText() const {
    const auto judged = LookedAt(/*lacks=*/false), lacking = LookedAt(/*lacks=*/true);
    std::string text;
    if (options_.node.empty() && dump_ != nullptr && options_.actual.empty()) {
      const bool passes = judged.empty() || judged.back()->passes();
      const size_t right = judged.size() - (passes ? 0 : 1);
      text += fmt::format("{} {} right about what {} given", Counted(right, "node"),
                          ForCount(right, "is", "are"), ForCount(right, "it was", "they were"));
      if (!passes)
        text += fmt::format("; the first wrong one is {}", NodeText(*judged.back()->node));
      text += "\n";
      if (!lacking.empty()) {
        text += fmt::format("{} {} not judged: {} has no {}, which {} reads\n",
                            Counted(lacking.size(), "node"), ForCount(lacking.size(), "is", "are"),
                            Printable(options_.from), Printable(lacking.front()->missing.front()),
                            NodeText(*lacking.front()->node));
      }
      if (!passes) text += DiagnosisText(judged.back()->diagnosed);
      return PrintResult(text);
    }
    PrintResult(NodeText(*judged.front()->node) + ":\n" + DiagnosisText(judged.front()->diagnosed));
  }

  // The node that is asked for or that is wrong, how many were judged, and which were not.
  void PrintJson() const {
    const auto judged = LookedAt(/*lacks=*/false);
    Json json = {{"node", nullptr}, {"outputs", Json::array()}};
    const bool is_told = !judged.empty() && (!options_.node.empty() || !judged.back()->passes() ||
                                             judged_.size() == 1);
    if (is_told) {
      json["node"] = judged.back()->node->full_name;
      for (const DiagnosedFile& file : judged.back()->diagnosed) {
        json["outputs"].push_back(DiagnosisJson(file));
      }
    }
    json["judged"] = judged.size();
    json["notJudged"] = Json::array();
    for (const JudgedNode* one : LookedAt(/*lacks=*/true)) {
      json["notJudged"].push_back({{"node", one->node->full_name}, {"missing", one->missing}});
    }
    PrintResult(Utf8Text(json) + "\n");
  }

  const DiagnoseOptions& options_;
  const DumpedTensors* dump_;  // null if the model is run
  const RunnableModel model_;
  std::vector<JudgedNode> judged_;  // in the order in which they run
  std::optional<size_t> ended_at_;  // the step behind the first node that is wrong
};

std::optional<DumpedTensors> DumpOf(const DiagnoseOptions& options) {
  return options.from.empty() ? std::nullopt : std::optional<DumpedTensors>(options.from);
}

}  // namespace

ExitStatus DiagnoseGraph(const DiagnoseOptions& options, const CommonOptions& common) {
  if (options.line) throw Error(ErrorKind::kUsage, "--line is for manifests");
  const std::optional<DumpedTensors> dump = DumpOf(options);
  Diagnostics diagnostics;
  GraphModel model(
      {options.descriptor, options.inputs, options.sizes, kHighestFeatureLevel, options.confine},
      diagnostics);
  if (dump) model.BindOthers([&](const std::string& input) { return dump->FileOf(input); });
  const NamedGraph* read = model.Read(diagnostics);
  if (read == nullptr || !common.quiet) {
    PrintDiagnostics(diagnostics, options.descriptor, "", UseColor(common.color));
  }
  if (read == nullptr) return StatusOf(diagnostics);
  if (!dump) model.RequireBoundInputs();
  const NamedGraph graph = WithAlignedConstants(*read);
  return NodeDiagnosis(options, dump ? &*dump : nullptr, RunnableOf(graph, model.InputViews()))
      .Execute();
}

ExitStatus DiagnoseModel(const DiagnoseOptions& options, const CommonOptions& common,
                         const Descriptor& descriptor, const ModelDocument& model,
                         Diagnostics& diagnostics) {
  if (!options.inputs.empty()) RefuseForModel("-i is");
  const std::optional<DumpedTensors> dump = DumpOf(options);
  auto inputs = BindModelInputs(model, "", descriptor, common, diagnostics);
  if (!inputs) return StatusOf(diagnostics);
  return NodeDiagnosis(options, dump ? &*dump : nullptr, RunnableOf(model, std::move(*inputs)))
      .Execute();
}

}  // namespace dmlop
