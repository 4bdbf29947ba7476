// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "app/commands.h"
#include "app/compare/judgement.h"
#include "app/explain/device_element.h"
#include "app/explain/model_trace.h"
#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/run/runnable_model.h"
#include "app/shell_word.h"
#include "app/text/diagnostic_text.h"
#include "app/text/explanation_text.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/document/operator_case.h"
#include "core/explain/element_name.h"
#include "core/judge/varied_run.h"
#include "core/model/model_text.h"

namespace dmlop {
namespace {

// One explanation, from the command line to the text.
class ElementExplanation {
 public:
  using Printer = std::function<void(std::string_view text)>;

  ElementExplanation(const ExplainOptions& options, const CommonOptions& common,
                     Printer print = PrintResult)
      : options_(options), common_(common), print_(std::move(print)), varied_("--as", options.as) {}

  ExitStatus Execute() {
    if (options_.descriptor.ends_with(']') && !options_.element.ends_with(']')) {
      throw Error(ErrorKind::kUsage, "the descriptor comes before the element: dmlop explain {} {}",
                  PathWord(options_.element), ShellWord(options_.descriptor));
    }
    if (is_graph_ && options_.dispatchable.empty()) return ExplainGraph(options_, common_);
    if (!is_graph_) {
      CheckInputArguments();
      descriptor_ = ReadDescriptor(options_.descriptor, options_.line);
    } else if (auto node = NodeOfGraph(options_, common_, diagnostics_)) {
      descriptor_ = *std::move(node);
    } else {
      return StatusOf(diagnostics_);
    }
    Document document =
        ReadDocument(descriptor_, kHighestFeatureLevel, {options_.confine, options_.input_folder},
                     diagnostics_, options_.sizes);
    if (options_.listed) return List(document);
    const auto name = ParseElementName(options_.element, element_faults_);
    if (document.model && options_.dispatchable.empty() && !diagnostics_.has_errors() &&
        !IsOfOperator(*document.model)) {
      return ExplainModel(options_, common_, descriptor_, *document.model, diagnostics_);
    }
    if (!name && !document.model) return RefuseElement();
    if (document.model) {
      const auto descriptor = TakeDispatchable(*document.model);
      if (!descriptor) return StatusOf(diagnostics_);
      descriptor_ = *descriptor;
      document = ReadDocument(descriptor_, kHighestFeatureLevel, {}, diagnostics_);
    } else if (document.op && !is_graph_) {
      RequireOptionsOfOperator();
    }
    if (!name) return RefuseElement();
    document_ = std::move(document.op);
    if (!document_ || !Check()) return RefuseDocument();
    const auto element = FindElement(*name, document_->op(), element_faults_);
    if (!element) return RefuseElement();
    case_->LoadInputs(diagnostics_);
    if (diagnostics_.has_errors()) return RefuseDocument();
    if (IsOfDevice()) RequireOutputOfInputs(*element);
    original_ = {document_->op(), case_->InputViews()};
    computation_ =
        varied_.empty() ? original_ : varied_.Changed(document_->op(), original_->inputs);
    Print(element->slot.role() == TensorRole::kOutput ? OfOutput(*element) : OfInput(*element));
    return ExitStatus::kSuccess;
  }

 private:
  void CheckInputArguments() const {
    std::vector<std::string> paths;
    for (const std::string& file : options_.inputs) paths.push_back(FileArgument::Parse(file).path);
    RequireOneReader(options_.descriptor, paths);
  }

  // Lists the tensors whose elements can be explained, even if the document has faults.
  ExitStatus List(const Document& document) const {
    if (!document.op && !document.model) return RefuseDocument();
    std::string text;
    const auto add = [&](const auto& names) {
      for (const auto& name : names) text += fmt::format("{}\n", name);
    };
    if (document.model) {
      const std::vector<ModelOperator> operators = OperatorsOf(*document.model);
      switch (*options_.listed) {
        case ListedNames::kTensors:
          add(TracedNames(*document.model));
          if (operators.size() == 1) add(FieldsOf(operators));
          break;
        case ListedNames::kFilled:
          add(FilledTensors(*document.model).ShortestNames());
          break;
        case ListedNames::kDispatchables:
          add(ShortestNames(operators));
      }
    } else if (*options_.listed == ListedNames::kTensors) {  // the others are for models
      for (const auto& slot : TensorSlots(document.op->op())) add(std::array{slot.path});
    }
    PrintResult(text);
    return ExitStatus::kSuccess;
  }

  // Refuses options of models, which would have no effect.
  void RequireOptionsOfOperator() const {
    if (!options_.dispatchable.empty()) {
      throw Error(ErrorKind::kUsage, "--dispatchable is for models");
    }
    if (!options_.input_folder.empty()) RefuseForOperator("--input-path is", "-i");
  }

  // Returns whether the element is in a tensor of the model's only operator, or of one of several
  // if the model has no such tensor.
  bool IsOfOperator(const ModelDocument& model) const {
    const std::vector<ModelOperator> operators = OperatorsOf(model);
    const std::string field = options_.element.substr(0, options_.element.find_first_of("/[@ "));
    const std::vector<std::string_view> fields = FieldsOf(operators);
    const bool is_field = std::ranges::find(fields, field) != fields.end();
    if (operators.size() == 1) return is_field;
    const std::vector<std::string> names = TracedNames(model);
    const bool is_traced = std::ranges::find(names, ModelTensorIn(options_.element)) != names.end();
    return !is_traced && (is_field || operators.empty());
  }

  // A model's operator as a descriptor, with the input values of its first dispatch. Null if the
  // model has faults, which are printed.
  std::optional<Descriptor> TakeDispatchable(const ModelDocument& model) {
    if (diagnostics_.has_errors()) {
      TellDiagnostics(diagnostics_, descriptor_, common_);
      return std::nullopt;
    }
    const OperatorDesc& op = ChosenOperator(model);
    auto inputs = BindModelInputs(model, options_.input_folder, descriptor_, common_, diagnostics_);
    if (!inputs) return std::nullopt;
    inputs->resources.Fill();
    ModelRun run(model, inputs->resources, std::move(inputs->bound));
    std::string name, text;
    const auto take = [&](const WrittenDescriptor& written) {
      if (&written.op != &op) return;
      name = written.name;
      text = written.text;
    };
    Diagnostics unbound;
    WriteDescriptors(model, run, take, unbound);
    diagnostics_ = {};  // already printed with the model
    return Descriptor{fmt::format("{}, '{}'", descriptor_.name, name), descriptor_.folder,
                      std::move(text)};
  }

  const OperatorDesc& ChosenOperator(const ModelDocument& model) const {
    const std::vector<ModelOperator> all = OperatorsOf(model);
    if (all.size() == 1 && options_.dispatchable.empty()) return *all.front().op;
    const ModelOperator* found = FindModelOperator(model, all, options_.dispatchable);
    if (found != nullptr) return *found->op;
    if (all.empty()) {
      throw Error(ErrorKind::kUsage, descriptor_.name + ": is a model without operators");
    }
    const std::vector<std::string> names = ShortestNames(all);
    const std::string meant =
        fmt::format("{}: is a model; --dispatchable NAME says which of {} is meant",
                    descriptor_.name, Listed(names));
    if (!options_.dispatchable.empty()) {
      throw Error(ErrorKind::kUsage, "{}, and there is no '{}'{}", meant, options_.dispatchable,
                  DidYouMean(options_.dispatchable,
                             std::vector<std::string_view>(names.begin(), names.end())));
    }
    const std::string tensor(ModelTensorIn(options_.element));
    const std::vector<std::string> tensors = TracedNames(model);
    throw Error(
        ErrorKind::kUsage, "{}, and the model has no tensor '{}'{}", meant, tensor,
        DidYouMeanOneOf(tensor, std::vector<std::string_view>(tensors.begin(), tensors.end())));
  }

  bool Check() {
    case_.emplace(*document_, CaseFiles{.shapes = options_.shapes, .reads_outputs = true});
    // The inputs of a model are not those of its nodes.
    case_->Bind(TensorRole::kInput, is_graph_ ? std::vector<std::string>() : options_.inputs);
    case_->Bind(TensorRole::kOutput, {});
    RequireOneReader(options_.descriptor, case_->InputPaths());
    return case_->Check(kHighestFeatureLevel, diagnostics_);
  }

  ExitStatus RefuseElement() const {
    PrintDiagnostics(element_faults_, "<element>", options_.element, UseColor(common_.color));
    return ExitStatus::kUsage;
  }

  ExitStatus RefuseDocument() const { return TellDiagnostics(diagnostics_, descriptor_, common_); }

  // Returns whether a device's value, or what it may have computed, is told as well.
  bool IsOfDevice() const {
    return !varied_.empty() || options_.actual || !options_.judged.empty();
  }

  void RequireOutputOfInputs(const NamedElement& element) const {
    const std::string_view asked = !varied_.empty()  ? "--as"
                                   : options_.actual ? "--actual"
                                                     : "--judge";
    if (element.slot.role() != TensorRole::kOutput) {
      throw Error(ErrorKind::kUsage, "{} is for elements of outputs", asked);
    }
    case_->RequireBoundInputs();
  }

  // Describes everything but the value.
  ExplainedElement Describe(TensorRole role, const Element& element) const {
    const TensorSlot slot = TensorSlots(computation_->op, role)[element.tensor];
    const DataType type = *slot.desc->data_type;
    const int64_t offset = OffsetOf(LayoutOf(*slot.desc), element.index);
    ExplainedElement described{DisplayName(slot.path),
                               type,
                               element.index,
                               offset * static_cast<int64_t>(BitWidth(type)) / 8,
                               {},
                               {}};
    if (role == TensorRole::kOutput) {
      const auto* movement = std::get_if<Movement>(&computation_->op.info().family);
      if (movement != nullptr && movement->window != nullptr) {
        described.window = movement->window(computation_->op, element.index);
      }
    }
    return described;
  }

  ExplainedElement DescribeInput(const Element& element) const {
    ExplainedElement described = Describe(TensorRole::kInput, element);
    const ConstTensorView& view = computation_->inputs[element.tensor];
    if (view.data == nullptr) return described;
    const size_t width = ByteWidth(view.type);
    const int64_t offset = OffsetOf(view.layout, element.index);
    described.value.emplace();
    std::memcpy(described.value->data(), view.data + offset * static_cast<int64_t>(width), width);
    return described;
  }

  Explanation OfOutput(const NamedElement& named) const {
    const OperatorDesc& desc = computation_->op;
    const Element output{named.number, named.index};
    Explanation explanation{desc, Describe(TensorRole::kOutput, output), true, 0, {}, {}, {}, {}};
    explanation.sources = SourcesOf(desc, output);
    for (const Region& region : explanation.sources) explanation.count += region.count();
    explanation.related = List(explanation.count, [&](int64_t k) {
      return DescribeInput(SourceAt(explanation.sources, k));
    });
    const std::vector<ConstTensorView>& inputs = computation_->inputs;
    const auto& sources = explanation.sources;
    const bool all_bound = std::all_of(sources.begin(), sources.end(), [&](const Region& source) {
      return inputs[source.tensor].data != nullptr;
    });
    if (!all_bound) return explanation;
    Outcome outcome = Calculate(desc, inputs, output, LengthOfLists(options_.full));
    explanation.element.value = outcome.value;
    explanation.calculation = std::move(outcome.calculation);
    explanation.activation = std::move(outcome.activation);
    if (!varied_.empty()) {
      explanation.varied = VariedValueOf(varied_, *original_, *computation_, output);
    }
    if (const auto actual = ActualOf(named)) {
      explanation.actual = ActualValueOf(*actual, *original_, output);
    }
    return explanation;
  }

  // The device's value, of the command line or of the judged file.
  std::optional<DeviceValue> ActualOf(const NamedElement& named) const {
    const TensorSlot& slot = named.slot;
    if (options_.actual) return ValueFrom(*options_.actual, *slot.desc->data_type);
    const auto files = case_->Assign(TensorRole::kOutput, options_.judged);
    const auto file = std::ranges::find(files, slot.path, &FileArgument::name);
    if (file == files.end()) return std::nullopt;
    const LoadedTensor tensor = LoadCompared(file->path, *slot.desc, options_.shapes);
    return ValueIn(tensor, file->path, *slot.desc, named.index);
  }

  static Element SourceAt(const std::vector<Region>& sources, int64_t k) {
    auto region = sources.begin();
    for (; k >= region->count(); ++region) k -= region->count();
    return {region->tensor, region->IndexAt(k)};
  }

  Explanation OfInput(const NamedElement& named) const {
    const OperatorDesc& desc = computation_->op;
    const Element input{named.number, named.index};
    const Targets targets = TargetsOf(desc, input, LengthOfLists(options_.full));
    Explanation explanation{desc, DescribeInput(input), false, targets.count, {}, {}, {}, {}};
    for (const Element& target : targets.listed) {
      explanation.related.push_back(Describe(TensorRole::kOutput, target));
    }
    return explanation;
  }

  // Lists all of `count` elements, or the first and last ones if there are many.
  template <typename DescribeAt>
  std::vector<ExplainedElement> List(int64_t count, DescribeAt&& describe) const {
    std::vector<ExplainedElement> list;
    ForEachListed(count, options_.full, [&](int64_t k) { list.push_back(describe(k)); });
    return list;
  }

  void Print(const Explanation& explanation) const {
    print_(options_.format == TextFormat::kJson ? ExplanationJson(explanation, options_.full)
                                                : ExplanationText(explanation, options_.full));
  }

  const ExplainOptions& options_;
  const CommonOptions& common_;
  const Printer print_;
  const bool is_graph_ = IsGraphModel(options_.descriptor);
  Descriptor descriptor_;
  Diagnostics diagnostics_;
  Diagnostics element_faults_;
  const VariedRun varied_;
  std::unique_ptr<OperatorDocument> document_;
  std::optional<OperatorCase> case_;
  std::optional<Computation> original_, computation_;  // as asked for, and as a device varies it
};

}  // namespace

std::string ExplainedText(const ExplainOptions& options) {
  std::string text;
  ElementExplanation(options, {.quiet = true}, [&](std::string_view part) {
    text += part;
  }).Execute();
  return text;
}

ExitStatus ExplainCommand(const ExplainOptions& options, const CommonOptions& common) {
  try {
    return ElementExplanation(options, common).Execute();
  } catch (const OtherTypeOrShape& other) {
    PrintMessage("dmlop: {}\n", Printable(other.what()));
    return ExitStatus::kDifferent;
  }
}

}  // namespace dmlop
