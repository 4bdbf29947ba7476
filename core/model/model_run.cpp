// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/io/npy.h"
#include "core/io/picture_file.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// Formats a number as C++ streams do: with six significant digits.
template <typename T>
void AppendStreamed(T value, std::string& text) {
  if constexpr (std::is_same_v<T, Half>) {
    AppendStreamed(ToFloat(value), text);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (value != value) {
      text += "nan";
    } else {
      text += fmt::format("{:g}", value);
    }
  } else {
    text += fmt::format("{}", value);
  }
}

template <typename T>
std::string HexText(const std::byte* element) {
  std::string digits;
  for (size_t i = sizeof(T); i-- > 0;) {
    digits += fmt::format("{:02X}", std::to_integer<unsigned>(element[i]));
  }
  return digits;
}

}  // namespace

std::vector<FilledTensor> TensorsFilledBy(const ModelDispatchable& dispatchable) {
  std::vector<FilledTensor> filled;
  if (const OperatorDesc* op = dispatchable.op()) {
    for (const TensorSlot& slot : TensorSlots(*op, TensorRole::kOutput)) {
      filled.push_back(
          {fmt::format("{}.{}", dispatchable.name, DisplayName(slot.path)), slot.desc});
    }
    return filled;
  }
  const Graph& graph = *dispatchable.graph();
  for (const GraphNode& node : graph.nodes) {
    for (const size_t edge : EdgesOf(node, TensorRole::kOutput)) {
      filled.push_back({graph.edges[edge].name, &*graph.edges[edge].desc});
    }
  }
  return filled;
}

ModelRun::ModelRun(const ModelDocument& model, ModelResources& resources, BoundModel bound)
    : model_(model), resources_(resources), bound_(std::move(bound)) {
  for (size_t d = 0; d < model.dispatchables().size(); ++d) {
    const std::vector<TensorSlot> slots = model.dispatchables()[d].slots();
    std::vector<Buffer>& captured = owned_.emplace_back(slots.size());
    for (size_t i = 0; i < slots.size(); ++i) {
      const auto& source = bound_.initialization[d][i];
      if (!source) continue;
      captured[i] = Buffer(SizeInBytes(*slots[i].desc));
      std::copy_n(resources.bytes(source->resource).data() + source->offset, captured[i].size(),
                  captured[i].data());
    }
  }
}

const ModelDispatchable& ModelRun::DispatchableOf(size_t command) const {
  const auto& dispatch = std::get<DispatchCommand>(model_.commands()[command].what);
  return model_.dispatchables()[dispatch.dispatchable];
}

RoleViews ModelRun::TensorsOf(size_t command) {
  const size_t dispatchable =
      std::get<DispatchCommand>(model_.commands()[command].what).dispatchable;
  const std::vector<TensorSlot> slots = model_.dispatchables()[dispatchable].slots();
  RoleViews tensors;
  for (size_t i = 0; i < slots.size(); ++i) {
    const auto& bound = bound_.dispatches[command][i];
    std::byte* data = bound ? resources_.bytes(bound->resource).data() + bound->offset
                            : owned_[dispatchable][i].data();
    tensors.Add(slots[i].role(), {data, *slots[i].desc->data_type, LayoutOf(*slots[i].desc)});
  }
  return tensors;
}

void ModelRun::WarnOfValues(size_t command, Diagnostics& diagnostics) {
  const auto* object = std::get_if<OperatorObject>(&DispatchableOf(command).what);
  if (object != nullptr) object->WarnOfValues(TensorsOf(command).inputs, diagnostics);
}

Step ModelRun::StepOf(const ModelDispatchable& dispatchable, RoleViews tensors) const {
  Step step{std::move(tensors), dispatchable.name, *dispatchable.op(), {}};
  for (FilledTensor& filled : TensorsFilledBy(dispatchable)) {
    step.output_names.push_back(std::move(filled.name));
  }
  return step;
}

void ModelRun::Dispatch(size_t command, const StepWatch& watch) {
  const ModelDispatchable& dispatchable = DispatchableOf(command);
  RoleViews tensors = TensorsOf(command);
  if (const Graph* graph = dispatchable.graph()) {
    return RunGraph(*graph, tensors.inputs, tensors.outputs, watch);
  }
  RunStep(StepOf(dispatchable, std::move(tensors)), watch);
}

void ModelRun::ForEachStep(size_t command, const VisitStep& visit) {
  const ModelDispatchable& dispatchable = DispatchableOf(command);
  RoleViews tensors = TensorsOf(command);
  if (const Graph* graph = dispatchable.graph()) {
    return dmlop::ForEachStep(*graph, tensors.inputs, tensors.outputs, visit);
  }
  visit(StepOf(dispatchable, std::move(tensors)));
}

std::optional<ModelRun::Origin> ModelRun::OriginOf(const std::byte* place) const {
  const auto offset_in = [&](std::span<const std::byte> bytes) -> std::optional<int64_t> {
    const std::less<> before;
    if (before(place, bytes.data()) || !before(place, bytes.data() + bytes.size())) {
      return std::nullopt;
    }
    return place - bytes.data();
  };
  const auto& resources = model_.resources();
  for (size_t r = 0; r < resources.size(); ++r) {
    if (const auto offset = offset_in(resources_.bytes(r)))
      return Origin{resources[r].name, false, *offset};
  }
  for (size_t d = 0; d < owned_.size(); ++d) {
    for (size_t i = 0; i < owned_[d].size(); ++i) {
      const auto offset = offset_in(owned_[d][i].bytes());
      if (!offset) continue;
      const BoundTensor& source = *bound_.initialization[d][i];
      return Origin{resources[source.resource].name, false,
                    static_cast<int64_t>(source.offset) + *offset};
    }
    const Graph* graph = model_.dispatchables()[d].graph();
    if (graph == nullptr) continue;
    for (const GraphEdge& edge : graph->edges) {
      if (!edge.constant) continue;
      if (const auto offset = offset_in(edge.constant->bytes))
        return Origin{edge.name, true, *offset, edge.desc ? &*edge.desc : nullptr};
    }
  }
  return std::nullopt;
}

void ModelRun::Print(const PrintCommand& command,
                     const std::function<void(std::string_view)>& write) const {
  constexpr size_t kPiece = 1 << 16;
  const ModelResources::Shape& shape = resources_.shape(command.resource);
  const std::byte* data = resources_.bytes(command.resource).data();
  std::string text = fmt::format("Resource '{}':", model_.resources()[command.resource].name);
  const size_t count = shape.element_count();
  const size_t index_width = std::to_string(count).size();
  VisitDataType(AllTypes(), shape.type, [&]<typename T>() {
    for (size_t i = 0; i < count; ++i) {
      const std::byte* element = data + i * sizeof(T);
      const T value = ElementOf<T>(element);
      if (command.verbose) {
        text += fmt::format("\n[{:>{}}] ", i, index_width);
        AppendStreamed(value, text);
        text += fmt::format(" (0x{})", HexText<T>(element));
      } else {
        text += i == 0 ? " " : ", ";
        AppendStreamed(value, text);
      }
      if (text.size() < kPiece) continue;
      write(text);
      text.clear();
    }
  });
  text.push_back('\n');
  write(text);
}

ModelRun::FileContent ModelRun::Write(const WriteFileCommand& command) const {
  const std::span<const std::byte> data = resources_.bytes(command.resource);
  const bool is_picture = IsImage(command.target_path);
  if (!IsNpy(command.target_path) && !is_picture) return {"", data};
  const ModelResources::Shape& shape = resources_.shape(command.resource);
  Dims dimensions(command.dimensions.begin(), command.dimensions.end());
  if (dimensions.empty()) dimensions.push_back(static_cast<int64_t>(shape.element_count()));
  if (is_picture) {
    const ImageForm form =
        ImageFormOf(shape.type, dimensions, command.target_path, ErrorKind::kUsage);
    return {EncodePicture(command.target_path, form, data), {}};
  }
  const size_t bytes = static_cast<size_t>(Product(dimensions)) * ByteWidth(shape.type);
  return {FormatNpyHeader(shape.type, dimensions), data.first(bytes)};
}

}  // namespace dmlop
