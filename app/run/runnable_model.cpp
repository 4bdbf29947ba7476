// SPDX-License-Identifier: Apache-2.0
#include "app/run/runnable_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "app/compare/judgement.h"
#include "app/graph/graph_model.h"
#include "app/run/model_tensors.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/tensor/nibbles.h"

namespace dmlop {

std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           Diagnostics& diagnostics) {
  ModelResources resources(model, folder, diagnostics);
  BoundModel bound = BindModel(model, resources, diagnostics);
  if (!diagnostics.has_errors()) CheckMemory(model, resources, bound, diagnostics);
  diagnostics.SortByPlace();
  if (diagnostics.has_errors()) return std::nullopt;
  return ModelInputs{std::move(resources), std::move(bound)};
}

std::optional<ModelInputs> BindModelInputs(const ModelDocument& model, const std::string& folder,
                                           const Descriptor& descriptor,
                                           const CommonOptions& common, Diagnostics& diagnostics) {
  auto inputs = BindModelInputs(model, folder.empty() ? descriptor.folder : folder, diagnostics);
  if (!common.quiet || !inputs) TellDiagnostics(diagnostics, descriptor, common);
  return inputs;
}

std::string RoleOf(const ModelResource& resource) {
  return fmt::format("resource '{}'", resource.name);
}

void AddSources(const ModelDocument& model, const ModelResources& resources, FileRoles& roles) {
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    for (const ModelFile& file : dispatchable.files) {
      roles.Reads(file.path, fmt::format("the graph '{}'", dispatchable.name));
    }
  }
  for (const ModelResources::SourceFile& source : resources.files()) {
    roles.ReadsTensor(source.path, RoleOf(model.resources()[source.resource]));
  }
}

namespace {

using Node = RunnableModel::Node;
using Nodes = std::vector<const Node*>;

TraceStep TraceStepOf(const Step& step) {
  TraceStep traced{std::string(step.name), &step.op,    step.inputs, {},
                   step.output_names,      step.cleared};
  for (const TensorView& output : step.outputs) traced.outputs.push_back(AsConst(output));
  return traced;
}

RunnableModel Planned(RunnableModel model) {
  model.for_each_step([&](const Step& step) { model.steps.push_back(TraceStepOf(step)); });
  for (size_t step = 0; step < model.steps.size(); ++step) {
    for (size_t k = 0; k < model.steps[step].outputs.size(); ++k) {
      model.outputs.push_back({step, k});
    }
  }
  return model;
}

// --- documents -----------------------------------------------------------------------------------

ModelResources Filled(ModelResources resources) {
  resources.Fill();
  return resources;
}

void AddNodes(const ModelDispatchable& dispatchable, std::vector<Node>& nodes) {
  for (const auto& [name, op] : dispatchable.operators()) {
    const bool is_in_graph = dispatchable.graph() != nullptr;
    const size_t begin = nodes.size();
    nodes.push_back({name, is_in_graph ? fmt::format("{}.{}", dispatchable.name, name) : name,
                     std::string(op->name()), begin, begin + 1});
  }
}

// --- names of nodes ------------------------------------------------------------------------------

template <typename Is>
Nodes NodesThat(const RunnableModel& model, Is&& is) {
  Nodes found;
  for (const Node& node : model.nodes) {
    if (is(node)) found.push_back(&node);
  }
  return found;
}

// The nodes that fill a tensor that `is` wanted.
template <typename Is>
Nodes NodesFilling(const RunnableModel& model, Is&& is) {
  Nodes found;
  for (size_t i = 0; i < model.outputs.size(); ++i) {
    if (is(i)) found.push_back(&model.NodeOf(model.outputs[i].step));
  }
  return found;
}

// Goes from the surest to the loosest reading of a name.
Nodes NodesCalled(const RunnableModel& model, const std::string& name) {
  Nodes found = NodesThat(model, [&](const Node& node) { return node.full_name == name; });
  if (found.empty()) found = NodesThat(model, [&](const Node& node) { return node.name == name; });
  if (found.empty()) {
    for (const size_t number : model.filled.Find(name)) {
      found.push_back(&model.NodeOf(model.outputs[number].step));
    }
  }
  if (found.empty()) {
    const std::string stem = TakeApart(name).name;
    found = NodesThat(model, [&](const Node& node) { return InFileName(node.name) == stem; });
    if (found.empty()) {
      found = NodesFilling(
          model, [&](size_t i) { return InFileName(model.filled.ShortestName(i)) == stem; });
    }
  }
  if (found.empty()) {
    const auto number = ParseNumber<size_t>(name);
    found = NodesFilling(model, [&](size_t i) { return number == i + 1; });
  }
  return found;
}

}  // namespace

size_t RunnableModel::FirstOutputOf(size_t step) const {
  return static_cast<size_t>(std::ranges::lower_bound(outputs, step, {}, &StepOutput::step) -
                             outputs.begin());
}

std::optional<size_t> RunnableModel::FilledInput(size_t step, size_t input) const {
  const auto filled_by = FilledBefore(steps, step, steps[step].inputs[input]);
  if (!filled_by) return std::nullopt;
  return FirstOutputOf(filled_by->step) + filled_by->output;
}

const RunnableModel::Node& RunnableModel::NodeOf(size_t step) const {
  return *std::ranges::find_if(
      nodes, [&](const Node& node) { return node.begin <= step && step < node.end; });
}

std::vector<std::string> RunnableModel::OtherNamesOf(size_t number) const {
  const TraceStep& step = steps[outputs[number].step];
  const auto origin = origin_of(step.outputs[outputs[number].output].data);
  if (!origin || origin->byte_offset != 0) return {};
  return {fmt::format("{}.{}", step.name, origin->name), origin->name};
}

const RunnableModel::Node& RunnableModel::NodeCalled(const std::string& name) const {
  const Nodes found = NodesCalled(*this, name);
  if (found.empty()) {
    std::vector<std::string_view> names;
    for (const Node& node : nodes) names.push_back(node.name);
    throw Error(ErrorKind::kUsage, "the model has no node '{}'{}", name,
                DidYouMeanOneOf(name, names));
  }
  const Node& last = *found.back();  // of several dispatches, as tensors are kept as last filled
  for (const Node* node : found) {
    if (node->full_name == last.full_name) continue;
    throw Error(ErrorKind::kUsage, "'{}' is the name of several nodes; say which, as '{}' or '{}'",
                name, node->full_name, last.full_name);
  }
  if (last.begin < last.end) return last;
  throw Error(ErrorKind::kUsage,
              "node '{}' ({}) is known while the model is read; no operator computes it", last.name,
              last.type);
}

TensorDesc ListIn(const ModelResources& resources, size_t number) {
  const ModelResources::Shape& shape = resources.shape(number);
  const DataType type = shape.type == DataType::kUnknown ? DataType::kUint8 : shape.type;
  const uint64_t count = shape.size.value_or(shape.initial_bytes) / ByteWidth(type);
  TensorDesc desc;
  desc.data_type = type;
  // Elements beyond the greatest size of a tensor are left out.
  desc.sizes.emplace({static_cast<uint32_t>(std::min<uint64_t>(count, UINT32_MAX))});
  return desc;
}

RunnableModel RunnableOf(const ModelDocument& model, ModelInputs&& inputs) {
  const auto resources = std::make_shared<ModelResources>(Filled(std::move(inputs.resources)));
  const auto run = std::make_shared<ModelRun>(model, *resources, std::move(inputs.bound));
  const auto each_dispatch = [&model](const auto& take) {
    for (size_t i = 0; i < model.commands().size(); ++i) {
      const auto* dispatch = std::get_if<DispatchCommand>(&model.commands()[i].what);
      if (dispatch != nullptr) take(i, model.dispatchables()[dispatch->dispatchable]);
    }
  };
  RunnableModel runnable{FilledTensors(model), {}, {}, nullptr, nullptr, nullptr};
  for (size_t i = 0; i < model.resources().size(); ++i) {
    const TensorDesc desc = ListIn(*resources, i);
    runnable.resources.push_back(
        {resources->name(i), {resources->bytes(i).data(), *desc.data_type, LayoutOf(desc)}, desc});
  }
  each_dispatch([&](size_t, const ModelDispatchable& dispatchable) {
    AddNodes(dispatchable, runnable.nodes);
  });
  runnable.for_each_step = [resources, run, each_dispatch](const VisitStep& visit) {
    each_dispatch([&](size_t i, const ModelDispatchable&) { run->ForEachStep(i, visit); });
  };
  runnable.run = [resources, run, each_dispatch](const StepWatch& watch) {
    each_dispatch([&](size_t i, const ModelDispatchable&) {
      if (!watch.goes_on || watch.goes_on()) run->Dispatch(i, watch);
    });
  };
  runnable.origin_of = [resources, run](const std::byte* data) { return run->OriginOf(data); };
  return Planned(std::move(runnable));
}

RunnableModel RunnableOf(const NamedGraph& named, std::vector<ConstTensorView> inputs) {
  const Graph& graph = named.graph;
  RunnableModel runnable{FilledTensors(named), {}, {}, nullptr, nullptr, nullptr};
  const std::vector<TensorSlot> slots = SlotsOf(graph);
  for (size_t i = 0; i < inputs.size(); ++i) {
    runnable.resources.push_back({slots[i].path, inputs[i], *slots[i].desc});
  }
  for (const ModelNode& node : named.nodes) {
    runnable.nodes.push_back(
        {node.name, node.name,
         node.version.empty() ? node.type : fmt::format("{} {}", node.type, node.version),
         node.begin, node.end});
  }
  runnable.origin_of = [&graph, slots,
                        inputs](const std::byte* data) -> std::optional<ModelRun::Origin> {
    const auto offset_in = [&](std::span<const std::byte> bytes) -> std::optional<int64_t> {
      const bool has_bytes = bytes.data() != nullptr;  // an input may not be bound
      const bool is_in = has_bytes && data >= bytes.data() && data < bytes.data() + bytes.size();
      return is_in ? std::optional(data - bytes.data()) : std::nullopt;
    };
    for (size_t i = 0; i < inputs.size(); ++i) {
      const TensorDesc* desc = slots[i].desc;
      const auto offset = offset_in({inputs[i].data, SizeInBytes(*desc)});
      if (offset) return ModelRun::Origin{slots[i].path, false, *offset, desc};
    }
    for (const GraphEdge& edge : graph.edges) {
      const auto offset = edge.constant ? offset_in(edge.constant->bytes) : std::nullopt;
      if (!offset) continue;
      return ModelRun::Origin{edge.name, true, *offset, edge.desc ? &*edge.desc : nullptr};
    }
    return std::nullopt;
  };
  runnable.name_of_input = [&named](size_t step, size_t input) {
    return named.tensors[EdgesOf(named.graph.nodes[step], TensorRole::kInput)[input]].name;
  };
  const auto outputs = std::make_shared<const GraphOutputs>(graph);
  runnable.for_each_step = [&graph, outputs, inputs](const VisitStep& visit) {
    ForEachStep(graph, inputs, outputs->views(), visit);
  };
  runnable.run = [&graph, outputs, inputs](const StepWatch& watch) {
    RunGraph(graph, inputs, outputs->views(), watch);
  };
  return Planned(std::move(runnable));
}

LoadedTensor LoadFilled(const std::string& path, const FilledTensors::One& tensor,
                        const TensorDesc& of_operator, FileShapes shapes) {
  LoadedTensor loaded = LoadCompared(path, *tensor.desc, shapes);
  const bool is_alike = loaded.view.type == *tensor.desc->data_type &&
                        loaded.view.layout.sizes == LayoutOf(*tensor.desc).sizes;
  if (!is_alike) return loaded;
  loaded.view.type = *of_operator.data_type;
  if (tensor.form && tensor.form->is_bool) loaded.is_bool = false;
  return ByCount(std::move(loaded), LayoutOf(of_operator).sizes, path, FileShapes::kByCount);
}

Computation ComputationOf(const Step& step) {
  Computation computation{step.op, step.inputs};
  for (ConstTensorView& view : computation.inputs) {
    if (!HasNibbles(view.type)) continue;
    const auto unpacked = std::make_shared<UnpackedNibbles>(view);
    view = AsConst(unpacked->view());
    computation.storage.push_back(unpacked);
  }
  return computation;
}

// --- filled tensors ------------------------------------------------------------------------------

FilledTensors::FilledTensors(const ModelDocument& model) {
  for (const ModelCommand& command : model.commands()) {
    const auto* dispatch = std::get_if<DispatchCommand>(&command.what);
    if (dispatch == nullptr) continue;
    const ModelDispatchable& dispatchable = model.dispatchables()[dispatch->dispatchable];
    if (!dispatchable.is_valid) continue;
    const bool is_graph = dispatchable.graph() != nullptr;
    for (FilledTensor& filled : TensorsFilledBy(dispatchable)) {
      std::string full =
          is_graph ? fmt::format("{}.{}", dispatchable.name, filled.name) : filled.name;
      by_name_[filled.name][dispatch->dispatchable] = all_.size();
      by_full_name_[full][dispatch->dispatchable] = all_.size();
      all_.push_back(
          {std::move(filled.name), std::move(full), filled.desc, dispatch->dispatchable});
    }
  }
}

FilledTensors::FilledTensors(const NamedGraph& named) {
  for (size_t n = 0; n < named.graph.nodes.size(); ++n) {
    const GraphNode& node = named.graph.nodes[n];
    for (const size_t edge : EdgesOf(node, TensorRole::kOutput)) {
      const GraphPort& port = named.tensors[edge];
      const std::string name = fmt::format("{}.{}", node.name, port.name);
      by_name_[port.name][0] = by_full_name_[name][0] = all_.size();
      all_.push_back({name, name, &*named.graph.edges[edge].desc, 0, n, edge, FormOf(port)});
    }
  }
}

const std::map<size_t, size_t>& FilledTensors::Meant(std::string_view name) const {
  static const std::map<size_t, size_t> kNone;
  for (const LastByName* names : {&by_full_name_, &by_name_}) {
    const auto found = names->find(name);
    if (found != names->end()) return found->second;
  }
  return kNone;
}

std::vector<size_t> FilledTensors::Find(std::string_view name) const {
  std::vector<size_t> found;
  for (const auto& [dispatchable, number] : Meant(name)) found.push_back(number);
  std::ranges::sort(found);
  return found;
}

const std::string& FilledTensors::ShortestName(size_t number) const {
  const One& one = all_[number];
  const auto& meant = Meant(one.name);
  const bool is_alone = meant.size() == 1 && all_[meant.begin()->second].full_name == one.full_name;
  return is_alone ? one.name : one.full_name;
}

std::vector<std::string_view> FilledTensors::ShortestNames() const {
  std::vector<std::string_view> names;
  std::set<std::string_view> known;
  for (size_t i = 0; i < all_.size(); ++i) {
    const std::string& name = ShortestName(i);
    if (known.insert(name).second) names.push_back(name);
  }
  return names;
}

std::string FilledTensors::SayWhich(std::string_view name, const std::vector<size_t>& found) const {
  std::vector<std::string_view> names;
  for (const size_t number : found) names.push_back(all_[number].full_name);
  return fmt::format("'{}' is a tensor of {} graphs; say which, as {}", name, found.size(),
                     Listed(names, " or "));
}

namespace {

std::span<const std::byte> BytesOf(const ConstTensorView& view) {
  const auto extent = static_cast<uint64_t>(Extent(view.layout));
  return {view.data, static_cast<size_t>(BufferBytes(view.type, extent))};
}

}  // namespace

bool Overlaps(const ConstTensorView& tensor, std::span<const std::byte> bytes) {
  const std::span<const std::byte> of_tensor = BytesOf(tensor);
  const std::less<> before;
  return before(of_tensor.data(), bytes.data() + bytes.size()) &&
         before(bytes.data(), of_tensor.data() + of_tensor.size());
}

void FilledMemory::Add(const Step& step) {
  for (const TensorView& output : step.outputs) filled_.push_back(BytesOf(AsConst(output)));
}

bool FilledMemory::IsReadBy(const Step& step) const {
  return std::ranges::any_of(step.inputs, [&](const ConstTensorView& input) {
    return std::ranges::any_of(
        filled_, [&](std::span<const std::byte> filled) { return Overlaps(input, filled); });
  });
}

std::optional<ErrorUnits> UnitsOf(const Step& step, size_t output) {
  const ConstTensorView exact = AsConst(step.outputs[output]);
  if (!IsFloat(exact.type)) return std::nullopt;
  return ErrorUnitsOf(step.op, ComputationOf(step).inputs, exact, output);
}

}  // namespace dmlop
