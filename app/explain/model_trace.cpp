// SPDX-License-Identifier: Apache-2.0
#include "app/explain/model_trace.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

TraceStep TraceStepOf(const Step& step) {
  TraceStep traced{std::string(step.name), &step.op,    step.inputs, {},
                   step.output_names,      step.cleared};
  for (const TensorView& output : step.outputs) traced.outputs.push_back(AsConst(output));
  return traced;
}

bool HasOneIndex(const ElementName& name) {
  return !name.byte && name.groups.size() == 1 && name.groups.front().numbers.size() == 1;
}

ModelResources Filled(ModelResources resources) {
  resources.Fill();
  return resources;
}

// A resource of the document as one list of elements.
TracedModel::Resource ResourceOf(ModelResources& resources, size_t number) {
  const ModelResources::Shape& shape = resources.shape(number);
  // A resource with several types is shown as bytes.
  const DataType type = shape.type == DataType::kUnknown ? DataType::kUint8 : shape.type;
  const size_t count = resources.bytes(number).size() / ByteWidth(type);
  TensorDesc desc;
  desc.data_type = type;
  // Elements beyond the greatest size of a tensor are left out.
  desc.sizes.emplace({static_cast<uint32_t>(std::min<size_t>(count, UINT32_MAX))});
  return {resources.name(number), {resources.bytes(number).data(), type, LayoutOf(desc)}, desc};
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

TracedModel TracedDocument(const ModelDocument& model, ModelInputs&& inputs) {
  const auto resources = std::make_shared<ModelResources>(Filled(std::move(inputs.resources)));
  const auto run = std::make_shared<ModelRun>(model, *resources, std::move(inputs.bound));
  const auto each_dispatch = [&model](const auto& take) {
    for (size_t i = 0; i < model.commands().size(); ++i) {
      if (std::holds_alternative<DispatchCommand>(model.commands()[i].what) && !take(i)) return;
    }
  };
  TracedModel traced{FilledTensors(model), {}, nullptr, nullptr, nullptr};
  for (size_t i = 0; i < model.resources().size(); ++i) {
    traced.resources.push_back(ResourceOf(*resources, i));
  }
  traced.for_each_step = [resources, run, each_dispatch](const VisitStep& visit) {
    each_dispatch([&](size_t i) {
      run->ForEachStep(i, visit);
      return true;
    });
  };
  traced.run = [resources, run, each_dispatch](const StepWatch& watch,
                                               const std::function<bool()>& goes_on) {
    each_dispatch([&](size_t i) {
      if (goes_on()) run->Dispatch(i, watch);
      return goes_on();
    });
  };
  traced.origin_of = [resources, run](const std::byte* data) { return run->OriginOf(data); };
  return traced;
}

TracedModel TracedGraph(const NamedGraph& named, std::vector<ConstTensorView> inputs) {
  const Graph& graph = named.graph;
  TracedModel traced{FilledTensors(named), {}, nullptr, nullptr, nullptr};
  const std::vector<TensorSlot> slots = SlotsOf(graph);
  const auto buffers = std::make_shared<std::vector<Buffer>>();
  std::vector<TensorView> outputs;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].role() == TensorRole::kInput) {
      traced.resources.push_back({slots[i].path, inputs[i], *slots[i].desc});
    } else {
      Buffer& buffer = buffers->emplace_back(SizeInBytes(*slots[i].desc));
      outputs.push_back({buffer.data(), *slots[i].desc->data_type, LayoutOf(*slots[i].desc)});
    }
  }
  traced.origin_of = [&graph, resources = traced.resources](
                         const std::byte* data) -> std::optional<ModelRun::Origin> {
    const auto offset_in = [&](std::span<const std::byte> bytes) -> std::optional<int64_t> {
      const bool is_in = data >= bytes.data() && data < bytes.data() + bytes.size();
      return is_in ? std::optional(data - bytes.data()) : std::nullopt;
    };
    for (const TracedModel::Resource& input : resources) {
      const auto offset = offset_in({input.view.data, SizeInBytes(input.desc)});
      if (offset) return ModelRun::Origin{input.name, false, *offset};
    }
    for (const GraphEdge& edge : graph.edges) {
      const auto offset = edge.constant ? offset_in(edge.constant->bytes) : std::nullopt;
      if (offset) return ModelRun::Origin{edge.name, true, *offset};
    }
    return std::nullopt;
  };
  traced.for_each_step = [&graph, buffers, inputs, outputs](const VisitStep& visit) {
    ForEachStep(graph, inputs, outputs, visit);
  };
  traced.run = [&graph, buffers, inputs, outputs](const StepWatch& watch,
                                                  const std::function<bool()>&) {
    RunGraph(graph, inputs, outputs, watch);
  };
  return traced;
}

ModelTrace::ModelTrace(TracedModel model, bool full)
    : model_(std::move(model)), length_(LengthOfLists(full)) {
  Plan();
}

void ModelTrace::Plan() {
  model_.for_each_step([&](const Step& step) { steps_.push_back(TraceStepOf(step)); });
  for (size_t step = 0; step < steps_.size(); ++step) {
    for (size_t k = 0; k < steps_[step].outputs.size(); ++k) outputs_.push_back({step, k});
  }
}

// Whether the resource, after all steps, begins with the tensor as this step filled it.
bool ModelTrace::IsLastIn(const TracedModel::Resource& resource, const StepOutput& output) {
  const ConstTensorView& whole = resource.view;
  const auto last = FilledBefore(steps_, steps_.size(), whole);
  return last && last->step == output.step && last->output == output.output &&
         steps_[output.step].outputs[output.output].data == whole.data;
}

ModelTrace::Start ModelTrace::StartOf(const StepOutput& filled) const {
  const TraceStep& step = steps_[filled.step];
  return {step.outputs[filled.output],
          *TensorSlots(*step.op, TensorRole::kOutput)[filled.output].desc, filled.step + 1,
          filled.output};
}

ModelTrace::Start ModelTrace::StartOf(const TracedModel::Resource& resource) const {
  return {resource.view, resource.desc, steps_.size(), {}};
}

// A resource of the document hides a tensor of the same name that an operator fills, except the
// tensor that it finally holds, which is more informative; but a single index then means the
// resource unless the tensor has one dimension.
std::optional<ModelTrace::Start> ModelTrace::Find(const ElementName& element, Diagnostics& faults) {
  const std::string& name = element.field;
  const std::vector<size_t> filled = model_.filled.Find(name);
  const auto& all = model_.resources;
  const auto resource = std::ranges::find(all, name, &TracedModel::Resource::name);
  if (resource != all.end()) {
    const bool is_last = !filled.empty() && IsLastIn(*resource, outputs_[filled.back()]);
    if (!is_last) return StartOf(*resource);
    const Start held = StartOf(outputs_[filled.back()]);
    return HasOneIndex(element) && held.desc.sizes->size() > 1 ? StartOf(*resource) : held;
  }
  if (filled.size() == 1) return StartOf(outputs_[filled.front()]);
  faults.Error("ELEM-2", "", model_.filled.SayWhich(name, filled), 0);
  return std::nullopt;
}

std::optional<ModelTraceReport> ModelTrace::Explain(const ElementName& name, Diagnostics& faults) {
  const auto start = Find(name, faults);
  if (!start) return std::nullopt;
  const auto index = FindIndex(name, name.field, start->desc, faults);
  if (!index) return std::nullopt;
  const std::span<const TraceStep> steps(steps_.data(), start->steps);
  const Trace trace = TraceBack(steps, {start->view, *index}, length_);
  ModelTraceReport report{Described(name.field, start->view, *index), {}, {}};
  Describe(trace, report);
  TakeValues(*start, trace, report);
  return report;
}

// The reported name of an input: a tensor that a step filled, or an origin of the model.
std::string ModelTrace::NameOf(const TraceStep& step, size_t number, size_t input) const {
  const ConstTensorView& view = step.inputs[input];
  if (const auto filled = FilledBefore(steps_, number, view)) {
    return steps_[filled->step].output_names[filled->output];
  }
  const auto origin = model_.origin_of(view.data);
  return origin ? origin->name : "";
}

void ModelTrace::Describe(const Trace& trace, ModelTraceReport& report) const {
  for (const TracedStep& traced : trace.steps) {
    const TraceStep& step = steps_[traced.number];
    TracedOperator& told = report.operators.emplace_back(TracedOperator{
        step.name, step.op, step.op->info().values_choose || traced.at_most, {}, {}});
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
      ExplainedElement& element = told.elements.emplace_back(
          Described(origin->name, elements.view, index, origin->byte_offset));
      element.value = ValueOf(elements.view, index);
    }
    const bool is_first = told.count == 0;
    told.count += elements.count;
    if (!is_first) Rearrange(told);
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
void ModelTrace::TakeValues(const Start& start, const Trace& trace, ModelTraceReport& report) {
  size_t number = 0;                 // of the step
  size_t next = trace.steps.size();  // one past its place in the trace, which goes backwards
  StepWatch watch;
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
  model_.run(watch, [&] { return number < start.steps; });
  if (!start.output) report.element.value = ValueOf(start.view, report.element.index);
}

}  // namespace dmlop
