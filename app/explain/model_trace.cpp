// SPDX-License-Identifier: Apache-2.0
#include "app/explain/model_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "app/commands.h"
#include "app/compare/judgement.h"
#include "app/explain/device_element.h"
#include "app/files/descriptor.h"
#include "app/files/output.h"
#include "app/graph/graph_model.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/model/model_text.h"
#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// The value in a view of a buffer, in which 4-bit elements are packed.
ElementBytes ValueOf(const ConstTensorView& view, const Dims& index) {
  ElementBytes value{};
  const int64_t offset = OffsetOf(view.layout, index);
  if (HasNibbles(view.type)) {
    const int byte = std::to_integer<int>(view.data[offset / 2]);
    value[0] = static_cast<std::byte>(
        Wrapped(view.type, static_cast<int8_t>(offset % 2 == 0 ? byte & 15 : byte >> 4)));
  } else {
    const size_t width = ByteWidth(view.type);
    std::memcpy(value.data(), view.data + offset * static_cast<int64_t>(width), width);
  }
  return value;
}

// Describes an element of a view that begins at byte `begin` of a buffer. Unless that is 0, the
// index is that of the buffer's elements, which are one list.
ExplainedElement Described(const std::string& tensor, const ConstTensorView& view,
                           const Dims& index, int64_t begin = 0) {
  const int64_t width = static_cast<int64_t>(BitWidth(view.type));
  const int64_t offset = begin * 8 / width + OffsetOf(view.layout, index);
  return {tensor, view.type, begin == 0 ? index : Dims{offset}, offset * width / 8, {}, {}};
}

// The index, in another layout of the same memory, of an element that a layout has at `index`.
Dims IndexIn(const Layout& layout, const Layout& of_index, const Dims& index) {
  if (layout.sizes == of_index.sizes && layout.strides == of_index.strides) return index;
  const Dims found = IndexAtPlace(layout, OffsetOf(of_index, index));
  return found.empty() ? index : found;
}

// Describes an element of what the model begins with by the whole tensor's desc, if any.
ExplainedElement DescribedOrigin(const ModelRun::Origin& origin, const ConstTensorView& view,
                                 const Dims& index) {
  ExplainedElement element = Described(origin.name, view, index, origin.byte_offset);
  if (origin.desc == nullptr) return element;
  if (origin.byte_offset == 0) {
    element.index = IndexIn(LayoutOf(*origin.desc), view.layout, index);
  } else {
    const Dims found = IndexAtPlace(LayoutOf(*origin.desc), element.index[0]);
    if (!found.empty()) element.index = found;
  }
  return element;
}

bool HasOneIndex(const ElementName& name) {
  return !name.byte && name.groups.size() == 1 && name.groups.front().numbers.size() == 1;
}

}  // namespace

std::vector<std::string> TracedNames(const ModelDocument& model) {
  std::vector<std::string> names;
  const FilledTensors filled(model);
  for (const FilledTensors::One& one : filled.all()) {
    names.push_back(one.name);
    names.push_back(one.full_name);
  }
  for (const ModelResource& resource : model.resources()) names.push_back(resource.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

ModelTrace::ModelTrace(RunnableModel model, bool full)
    : model_(std::move(model)), length_(LengthOfLists(full)) {}

// Returns whether the resource, after all steps, begins with the tensor as this step filled it.
bool ModelTrace::IsLastIn(const RunnableModel::Resource& resource, const StepOutput& output) {
  const ConstTensorView& whole = resource.view;
  const auto last = FilledBefore(model_.steps, model_.steps.size(), whole);
  return last && last->step == output.step && last->output == output.output &&
         model_.steps[output.step].outputs[output.output].data == whole.data;
}

ModelTrace::Start ModelTrace::StartOf(size_t filled) const {
  const auto [step, output] = model_.outputs[filled];
  return {model_.steps[step].outputs[output], *model_.filled.all()[filled].desc, step + 1, output};
}

ModelTrace::Start ModelTrace::StartOf(const RunnableModel::Resource& resource) const {
  return {resource.view, resource.desc, model_.steps.size(), {}};
}

// A resource of the document hides a tensor of the same name that an operator fills, except the
// tensor that it finally holds, which is more informative; but a single index then means the
// resource unless the tensor has one dimension.
std::optional<ModelTrace::Start> ModelTrace::Find(const ElementName& element, Diagnostics& faults) {
  const std::string& name = element.field;
  const std::vector<size_t> filled = model_.filled.Find(name);
  const auto& all = model_.resources;
  const auto resource = std::ranges::find(all, name, &RunnableModel::Resource::name);
  if (resource != all.end()) {
    const bool is_last = !filled.empty() && IsLastIn(*resource, model_.outputs[filled.back()]);
    if (!is_last) return StartOf(*resource);
    const Start held = StartOf(filled.back());
    return HasOneIndex(element) && held.desc.sizes->size() > 1 ? StartOf(*resource) : held;
  }
  if (filled.size() == 1) return StartOf(filled.front());
  faults.Error("ELEM-2", "", model_.filled.SayWhich(name, filled), 0);
  return std::nullopt;
}

std::optional<ModelTraceReport> ModelTrace::Explain(const ElementName& name, Diagnostics& faults,
                                                    const AskOfDevice& ask) {
  const auto start = Find(name, faults);
  if (!start) return std::nullopt;
  if (ask && !start->output) {
    throw Error(ErrorKind::kUsage,
                "--as, --actual and --judge are for elements that an operator computes, and '{}' "
                "is not the tensor of one",
                name.field);
  }
  const auto known = FindIndex(name, name.field, start->desc, faults);
  if (!known) return std::nullopt;
  const Dims index = IndexIn(start->view.layout, LayoutOf(start->desc), *known);
  const std::span<const TraceStep> steps(model_.steps.data(), start->steps);
  const Trace trace = TraceBack(steps, {start->view, index}, length_);
  ModelTraceReport report{Described(name.field, start->view, index), {}, {}};
  Describe(trace, report);
  TakeValues(*start, trace, ask, report);
  IndexAsKnown(*start, trace, report);
  return report;
}

// The reported name of an input: a tensor that a step filled, or an origin of the model.
std::string ModelTrace::NameOf(const TraceStep& step, size_t number, size_t input) const {
  const ConstTensorView& view = step.inputs[input];
  if (const auto filled = FilledBefore(model_.steps, number, view)) {
    return model_.steps[filled->step].output_names[filled->output];
  }
  const auto origin = model_.origin_of(view.data);
  return origin ? origin->name : "";
}

void ModelTrace::Describe(const Trace& trace, ModelTraceReport& report) const {
  for (const TracedStep& traced : trace.steps) {
    const TraceStep& step = model_.steps[traced.number];
    TracedOperator& told = report.operators.emplace_back(TracedOperator{
        step.name, step.op, step.op->info().reads_by_index || traced.at_most, {}, {}});
    for (const size_t input : traced.inputs) {
      told.inputs.push_back(NameOf(step, traced.number, input));
    }
    for (size_t i = 0; i < traced.outputs.size(); ++i) {
      const TracedElements& elements = traced.outputs[i];
      TracedList& list =
          told.outputs.emplace_back(TracedList{step.output_names[i], elements.count, {}});
      for (const Dims& index : elements.listed) {
        list.elements.push_back(Described(list.name, elements.view, index));
      }
    }
  }
  for (const TracedElements& elements : trace.origins) {
    const auto origin = model_.origin_of(elements.view.data);
    if (!origin) continue;  // gaps between the elements of a tensor have none
    TracedList& told = ListOf(*origin, report.origins);
    for (const Dims& index : elements.listed) {
      ExplainedElement& element =
          told.elements.emplace_back(DescribedOrigin(*origin, elements.view, index));
      element.value = ValueOf(elements.view, index);
    }
    const bool is_first = told.count == 0;
    told.count += elements.count;
    if (!is_first) Rearrange(told);
  }
}

// Replaces the indices of operators, by which values are taken, by those that users know.
void ModelTrace::IndexAsKnown(const Start& start, const Trace& trace,
                              ModelTraceReport& report) const {
  const auto replace = [](const TensorDesc& desc, const Layout& layout, ExplainedElement& element) {
    element.index = IndexIn(LayoutOf(desc), layout, element.index);
  };
  replace(start.desc, start.view.layout, report.element);
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const size_t step = trace.steps[i].number;
    const size_t first = model_.FirstOutputOf(step);
    for (size_t k = 0; k < report.operators[i].outputs.size(); ++k) {
      for (ExplainedElement& element : report.operators[i].outputs[k].elements) {
        replace(*model_.filled.all()[first + k].desc, model_.steps[step].outputs[k].layout,
                element);
      }
    }
  }
}

// Several tensors of operators may lie in one resource, which has one list.
TracedList& ModelTrace::ListOf(const ModelRun::Origin& origin, std::vector<TracedOrigin>& told) {
  for (TracedOrigin& one : told) {
    if (one.list.name == origin.name && one.is_constant == origin.is_constant) return one.list;
  }
  return told.emplace_back(TracedOrigin{{origin.name, 0, {}}, origin.is_constant}).list;
}

// Sorts the elements of several tensors by place and keeps all, or the first and last ones.
void ModelTrace::Rearrange(TracedList& list) const {
  std::ranges::stable_sort(list.elements, {}, &ExplainedElement::byte_offset);
  if (list.count <= length_.most) return;
  const auto middle = list.elements.begin() + static_cast<ptrdiff_t>(length_.edge);
  list.elements.erase(middle, list.elements.end() - static_cast<ptrdiff_t>(length_.edge));
}

// Runs the model as far as necessary, and takes the values of the elements as they are computed.
void ModelTrace::TakeValues(const Start& start, const Trace& trace, const AskOfDevice& ask,
                            ModelTraceReport& report) {
  size_t number = 0;                 // of the step
  size_t next = trace.steps.size();  // one past its place in the trace, which goes backwards
  StepWatch watch;
  watch.before = [&](const Step& step) {
    const bool is_asked = ask && start.output && number + 1 == start.steps;
    if (!is_asked) return;
    const size_t tensor = model_.FirstOutputOf(number) + *start.output;
    ask(ComputationOf(step), {*start.output, report.element.index}, model_.filled.all()[tensor],
        report);
  };
  watch.after = [&](const Step& step) {
    if (number + 1 == start.steps && start.output) {
      report.element.value = ValueOf(AsConst(step.outputs[*start.output]), report.element.index);
    }
    if (next > 0 && trace.steps[next - 1].number == number) {
      --next;
      for (size_t k = 0; k < step.outputs.size(); ++k) {
        for (ExplainedElement& element : report.operators[next].outputs[k].elements) {
          element.value = ValueOf(AsConst(step.outputs[k]), element.index);
        }
      }
    }
    ++number;
  };
  watch.goes_on = [&] { return number < start.steps; };
  model_.run(watch);
  if (!start.output) report.element.value = ValueOf(start.view, report.element.index);
}

namespace {

// Throws an Error of kind kUsage if the name is that of a graph, which is not one operator.
void RequireNoGraph(const ModelDocument& model, const std::string& name) {
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    if (dispatchable.graph() == nullptr || dispatchable.name != name) continue;
    std::vector<std::string> names;
    for (const auto& named : dispatchable.operators()) names.push_back(named.name);
    throw Error(ErrorKind::kUsage,
                "{} is a graph; --dispatchable takes one of its operators, {}, and the names of "
                "its edges need none",
                name, Listed(names));
  }
}

}  // namespace

std::vector<ModelOperator> OperatorsOf(const ModelDocument& model) {
  std::vector<ModelOperator> all;
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    for (auto& named : dispatchable.operators()) {
      const bool is_node = dispatchable.graph() != nullptr;
      std::string in_graph = is_node ? fmt::format("{}.{}", dispatchable.name, named.name) : "";
      all.push_back({std::move(named.name), std::move(in_graph), named.op});
    }
  }
  return all;
}

std::vector<std::string> ShortestNames(const std::vector<ModelOperator>& all) {
  std::map<std::string_view, size_t> count;
  for (const ModelOperator& one : all) ++count[one.name];
  std::vector<std::string> names;
  for (const ModelOperator& one : all) {
    const bool needs_graph = count[one.name] > 1 && !one.name_in_graph.empty();
    names.push_back(needs_graph ? one.name_in_graph : one.name);
  }
  return names;
}

std::vector<std::string_view> FieldsOf(const std::vector<ModelOperator>& all) {
  std::vector<std::string_view> fields;
  for (const ModelOperator& one : all) {
    for (const TensorSlot& slot : TensorSlots(*one.op)) {
      const std::string_view field = slot.field->name;
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
    }
  }
  return fields;
}

const ModelOperator* FindModelOperator(const ModelDocument& model,
                                       const std::vector<ModelOperator>& all,
                                       const std::string& name) {
  std::vector<const ModelOperator*> nodes;
  for (const ModelOperator& one : all) {
    const bool is_node = !one.name_in_graph.empty();
    if (!is_node && one.name == name) return &one;
    if (is_node && (one.name == name || one.name_in_graph == name)) nodes.push_back(&one);
  }
  if (nodes.empty()) RequireNoGraph(model, name);
  if (nodes.size() <= 1) return nodes.empty() ? nullptr : nodes.front();
  std::vector<std::string> names;
  for (const ModelOperator* node : nodes) names.push_back(node->name_in_graph);
  throw Error(
      ErrorKind::kUsage,
      "--dispatchable {}: is the name of {} nodes, {}; the elements of their tensors need none",
      name, nodes.size(), Listed(names));
}

// --- explain of models ---------------------------------------------------------------------------

namespace {

// The explanation of the element that the options name. Member functions are in calling order.
class ModelElementExplanation {
 public:
  ModelElementExplanation(const ExplainOptions& options, const CommonOptions& common)
      : options_(options), common_(common), varied_("--as", options.as) {}

  // The names are those of the model's tensors, and what else an element may be called.
  ExitStatus Explain(RunnableModel model, const std::vector<std::string>& names) {
    const auto name = ParseModelElementName(options_.element, faults_);
    if (!name || !HasTensor(model, *name, names)) return Refuse();
    AskOfDevice ask;
    if (IsOfDevice()) {
      ask = [this, &names](const Computation& computation, const Element& output,
                           const FilledTensors::One& tensor, ModelTraceReport& report) {
        Ask(tensor, names, computation, output, report);
      };
    }
    ModelTrace trace(std::move(model), options_.full);
    const auto report = trace.Explain(*name, faults_, ask);
    if (!report) return Refuse();
    PrintResult(options_.format == TextFormat::kJson ? ModelTraceJson(*report, options_.full)
                                                     : ModelTraceText(*report, options_.full));
    return ExitStatus::kSuccess;
  }

 private:
  bool HasTensor(const RunnableModel& model, const ElementName& name,
                 const std::vector<std::string>& names) {
    const bool begins = std::ranges::find(model.resources, name.field,
                                          &RunnableModel::Resource::name) != model.resources.end();
    if (begins || !model.filled.Find(name.field).empty()) return true;
    const std::vector<std::string_view> all(names.begin(), names.end());
    faults_.Error(
        "ELEM-2", "",
        fmt::format("the model has no tensor '{}'{}", name.field, DidYouMeanOneOf(name.field, all)),
        0);
    return false;
  }

  ExitStatus Refuse() const {
    PrintDiagnostics(faults_, "<element>", options_.element, UseColor(common_.color));
    return ExitStatus::kUsage;
  }

  bool IsOfDevice() const {
    return !varied_.empty() || options_.actual || !options_.judged.empty();
  }

  void Ask(const FilledTensors::One& tensor, const std::vector<std::string>& names,
           const Computation& computation, const Element& output, ModelTraceReport& report) const {
    if (!varied_.empty()) {
      report.varied = VariedValueOf(varied_, computation,
                                    varied_.Changed(computation.op, computation.inputs), output);
    }
    const auto actual = ActualOf(tensor, report.element.tensor, names, computation.op, output);
    if (actual) report.actual = ActualValueOf(*actual, computation, output);
  }

  // The device's value, of the command line or of the judged file.
  std::optional<DeviceValue> ActualOf(const FilledTensors::One& tensor, const std::string& name,
                                      const std::vector<std::string>& names, const OperatorDesc& op,
                                      const Element& output) const {
    const TensorDesc& desc = *TensorSlots(op, TensorRole::kOutput)[output.tensor].desc;
    if (options_.actual) return ValueFrom(*options_.actual, *desc.data_type);
    const auto files = AssignFiles(options_.judged, {name}, "tensor", names);
    const auto file = std::ranges::find(files, name, &NamedFile::name);
    if (file == files.end()) return std::nullopt;
    const LoadedTensor judged = LoadFilled(file->path, tensor, desc, options_.shapes);
    return ValueIn(judged, file->path, desc, output.index);
  }

  const ExplainOptions& options_;
  const CommonOptions& common_;
  const VariedRun varied_;
  Diagnostics faults_;  // of the element
};

// The model as a whole; null if it has faults. Prints what is found.
const NamedGraph* ReadGraphModel(GraphModel& model, const CommonOptions& common,
                                 Diagnostics& diagnostics) {
  const NamedGraph* read = model.Read(diagnostics);
  if (read == nullptr || !common.quiet) {
    PrintDiagnostics(diagnostics, model.path(), "", UseColor(common.color));
  }
  return read;
}

GraphRequest RequestOf(const ExplainOptions& options) {
  return {options.descriptor, options.inputs, options.sizes, kHighestFeatureLevel, options.confine};
}

std::vector<std::string> NamesOf(const NamedGraph& graph, ListedNames listed) {
  std::vector<std::string> names;
  if (listed == ListedNames::kDispatchables) {
    for (const GraphNode& node : graph.graph.nodes) names.push_back(node.name);
    return names;
  }
  const FilledTensors filled(graph);
  for (const FilledTensors::One& one : filled.all()) names.push_back(one.name);
  return names;
}

}  // namespace

ExitStatus ExplainGraph(const ExplainOptions& options, const CommonOptions& common) {
  Diagnostics diagnostics;
  GraphModel model(RequestOf(options), diagnostics);
  const NamedGraph* read = ReadGraphModel(model, common, diagnostics);
  if (read == nullptr) return StatusOf(diagnostics);
  const NamedGraph graph = WithAlignedConstants(*read);
  std::vector<std::string> names = NamesOf(graph, options.listed.value_or(ListedNames::kTensors));
  if (options.listed) {
    for (const std::string& name : names) PrintResult(name + "\n");
    return ExitStatus::kSuccess;
  }
  model.RequireBoundInputs();
  for (const GraphPort& port : graph.inputs) names.push_back(port.name);
  return ModelElementExplanation(options, common)
      .Explain(RunnableOf(graph, model.InputViews()), names);
}

std::optional<Descriptor> NodeOfGraph(const ExplainOptions& options, const CommonOptions& common,
                                      Diagnostics& diagnostics) {
  GraphModel model(RequestOf(options), diagnostics);
  const NamedGraph* read = ReadGraphModel(model, common, diagnostics);
  if (read == nullptr) return std::nullopt;
  const std::string& name = options.dispatchable;
  const std::vector<std::string> names = NamesOf(*read, ListedNames::kDispatchables);
  if (std::ranges::find(names, name) == names.end()) {
    throw Error(ErrorKind::kUsage, "the model has no node '{}'{}", name,
                DidYouMeanOneOf(name, std::vector<std::string_view>(names.begin(), names.end())));
  }
  const GraphOutputs outputs(read->graph);
  std::string text;
  WriteDescriptors(
      read->graph, model.InputViews(), outputs.views(),
      [&](std::string_view node) { return node == name; },
      [&](const WrittenDescriptor& written) { text = written.text; }, diagnostics);
  diagnostics = {};  // inputs that are left out are not explained with values
  return Descriptor{fmt::format("{}, '{}'", options.descriptor, name), "", std::move(text)};
}

ExitStatus ExplainModel(const ExplainOptions& options, const CommonOptions& common,
                        const Descriptor& descriptor, const ModelDocument& model,
                        Diagnostics& diagnostics) {
  if (!options.inputs.empty()) RefuseForModel("-i is");
  ModelElementExplanation explanation(options, common);
  auto inputs = BindModelInputs(model, options.input_folder, descriptor, common, diagnostics);
  if (!inputs) return StatusOf(diagnostics);
  std::vector<std::string> names = TracedNames(model);
  for (const std::string_view field : FieldsOf(OperatorsOf(model))) names.emplace_back(field);
  return explanation.Explain(RunnableOf(model, std::move(*inputs)), names);
}

}  // namespace dmlop
