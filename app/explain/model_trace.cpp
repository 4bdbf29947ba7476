#include "app/explain/model_trace.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/tensor/nibbles.h"

namespace dmlop {
namespace {

// Of a view of a buffer, where elements of 4 bits are packed.
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

// In a buffer where the view begins at a byte. If that is not the first one, the index is that of
// the buffer's elements, of which there is one list.
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

ModelResources Filled(ModelResources resources) {
  resources.Fill();
  return resources;
}

}  // namespace

std::vector<std::string> TracedNames(const ModelDocument& model) {
  std::vector<std::string> names;
  for (const ModelCommand& command : model.commands()) {
    const auto* dispatch = std::get_if<DispatchCommand>(&command.what);
    if (dispatch == nullptr || !model.dispatchables()[dispatch->dispatchable].is_valid) continue;
    for (FilledTensor& filled : TensorsFilledBy(model.dispatchables()[dispatch->dispatchable])) {
      names.push_back(std::move(filled.name));
    }
  }
  for (const ModelResource& resource : model.resources()) names.push_back(resource.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

ModelTrace::ModelTrace(const ModelDocument& model, ModelInputs&& inputs, bool full)
    : model_(model),
      resources_(Filled(std::move(inputs.resources))),
      run_(model, resources_, std::move(inputs.bound)),
      length_{full ? std::numeric_limits<int64_t>::max() : kLongestList,
              static_cast<size_t>(kListEdge)} {
  Plan();
}

void ModelTrace::Plan() {
  for (size_t i = 0; i < model_.commands().size(); ++i) {
    if (!std::holds_alternative<DispatchCommand>(model_.commands()[i].what)) continue;
    run_.ForEachStep(i, [&](const Step& step) { steps_.push_back(TraceStepOf(step)); });
  }
}

ModelTrace::Start ModelTrace::Find(const std::string& name) {
  for (size_t n = steps_.size(); n-- > 0;) {
    const TraceStep& step = steps_[n];
    const auto found = std::find(step.output_names.begin(), step.output_names.end(), name);
    if (found == step.output_names.end()) continue;
    const size_t output = static_cast<size_t>(found - step.output_names.begin());
    return {step.outputs[output], *TensorSlots(*step.op, TensorRole::kOutput)[output].desc, n + 1,
            output};
  }
  const auto& all = model_.resources();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  const size_t number = static_cast<size_t>(found - all.begin());
  const ModelResources::Shape& shape = resources_.shape(number);
  // Values of several types are bytes.
  const DataType type = shape.type == DataType::kUnknown ? DataType::kUint8 : shape.type;
  const size_t count = resources_.bytes(number).size() / ByteWidth(type);
  TensorDesc desc;
  desc.data_type = type;
  // Those behind that no tensor could have.
  desc.sizes.emplace({static_cast<uint32_t>(std::min<size_t>(count, UINT32_MAX))});
  return {{resources_.bytes(number).data(), type, LayoutOf(desc)}, desc, steps_.size(), {}};
}

std::optional<ModelTraceReport> ModelTrace::Explain(const ElementName& name, Diagnostics& faults) {
  const Start start = Find(name.field);
  const auto index = FindIndex(name, name.field, start.desc, faults);
  if (!index) return std::nullopt;
  const std::span<const TraceStep> steps(steps_.data(), start.steps);
  const Trace trace = TraceBack(steps, {start.view, *index}, length_);
  ModelTraceReport report{Described(name.field, start.view, *index), {}, {}};
  Describe(trace, report);
  TakeValues(start, trace, report);
  return report;
}

// The name of what the input is, as it is told of: a tensor that a step filled, or what the model
// begins with.
std::string ModelTrace::NameOf(const TraceStep& step, size_t number, size_t input) const {
  const ConstTensorView& view = step.inputs[input];
  if (const auto filled = FilledBefore(steps_, number, view)) {
    return steps_[filled->step].output_names[filled->output];
  }
  const auto origin = run_.OriginOf(view.data);
  return origin ? origin->name : "";
}

void ModelTrace::Describe(const Trace& trace, ModelTraceReport& report) const {
  for (const TracedStep& traced : trace.steps) {
    const TraceStep& step = steps_[traced.number];
    TracedOperator& told =
        report.operators.emplace_back(TracedOperator{step.name, step.op, {}, {}});
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
    const auto origin = run_.OriginOf(elements.view.data);
    if (!origin) continue;  // between the elements of a tensor, where nothing is
    TracedOrigin& told = report.origins.emplace_back(
        TracedOrigin{{origin->name, elements.count, {}}, origin->is_constant});
    for (const Dims& index : elements.listed) {
      ExplainedElement& element = told.list.elements.emplace_back(
          Described(origin->name, elements.view, index, origin->byte_offset));
      element.value = ValueOf(elements.view, index);
    }
  }
}

// Runs the model as far as that matters, and takes the values of the elements as they come.
void ModelTrace::TakeValues(const Start& start, const Trace& trace, ModelTraceReport& report) {
  size_t number = 0;  // of the step
  StepWatch watch;
  watch.after = [&](const Step& step) {
    ++number;
    if (number == start.steps && start.output) {
      report.element.value = ValueOf(AsConst(step.outputs[*start.output]), report.element.index);
    }
    for (size_t i = 0; i < trace.steps.size(); ++i) {
      if (trace.steps[i].number + 1 != number) continue;
      for (size_t k = 0; k < step.outputs.size(); ++k) {
        for (ExplainedElement& element : report.operators[i].outputs[k].elements) {
          element.value = ValueOf(AsConst(step.outputs[k]), element.index);
        }
      }
    }
  };
  for (size_t i = 0; i < model_.commands().size() && number < start.steps; ++i) {
    if (std::holds_alternative<DispatchCommand>(model_.commands()[i].what)) run_.Dispatch(i, watch);
  }
  if (!start.output) report.element.value = ValueOf(start.view, report.element.index);
}

}  // namespace dmlop
