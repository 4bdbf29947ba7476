// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/io/file.h"
#include "core/io/tensor_file.h"
#include "core/tensor/element.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// --- elements as JSON ----------------------------------------------------------------------------

// Returns the double with the shortest digits that round back to x.
double ShortestAsDouble(float x) {
  const double shortest = std::stod(fmt::format("{}", x));
  return static_cast<float>(shortest) == x ? shortest : static_cast<double>(x);
}

template <typename T>
Json ShortestJson(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else if constexpr (std::is_same_v<T, float>) {
    return NumberJson(std::isfinite(x) ? ShortestAsDouble(x) : static_cast<double>(x));
  } else {
    return NumberJson(AsDouble(x));
  }
}

// NaN is written without sign and payload, which a list of numbers cannot express.
template <typename T>
bool SurvivesAsNumber(T x) {
  if constexpr (std::is_same_v<T, float>) {
    return x == x || std::bit_cast<uint32_t>(x) == 0x7FC00000u;
  } else if constexpr (std::is_same_v<T, double>) {
    return x == x || std::bit_cast<uint64_t>(x) == 0x7FF8000000000000u;
  } else if constexpr (std::is_same_v<T, Half>) {
    return (x.bits & 0x7FFF) <= 0x7C00 || x.bits == 0x7E00;
  } else {
    return true;
  }
}

DataType UnsignedOfWidth(DataType type) {
  DataType same = type;
  VisitElementWidth(type, [&]<typename T>() { same = kDataTypeOf<T>; });
  return same;
}

// Returns the type of a resource with the elements: bytes if two share one.
DataType ResourceType(DataType type) {
  return HasNibbles(type) ? DataType::kUint8 : type;
}

// --- a descriptor as a model ---------------------------------------------------------------------

class ModelWriter {
 public:
  explicit ModelWriter(const OperatorCase& files) : files_(files), op_(files.document().op()) {}

  std::string Write() {
    Json dispatchable = OperatorJson(op_);
    Json dispatch_bindings = Json::object();
    Json owned_bindings = Json::object();
    const std::vector<TensorSlot> inputs = files_.Slots(TensorRole::kInput);
    for (size_t i = 0; i < inputs.size(); ++i) {
      AddInput(inputs[i], files_.inputs()[i]);
      Bind(inputs[i], inputs[i].desc->owned_by_dml ? owned_bindings : dispatch_bindings);
    }
    for (const TensorSlot& slot : files_.Slots(TensorRole::kOutput)) {
      AddBuffer(DisplayName(slot.path), *slot.desc);
      Bind(slot, dispatch_bindings);
    }
    if (!owned_bindings.empty()) dispatchable["bindings"] = owned_bindings;
    dispatchables_[kOperator] = dispatchable;
    AddDispatch(kOperator, dispatch_bindings);
    for (const TensorSlot& slot : files_.Slots(TensorRole::kOutput)) AddResult(slot);
    return Pretty({{"resources", resources_},
                   {"dispatchables", dispatchables_},
                   {"commands", commands_}}) +
           "\n";
  }

 private:
  static constexpr const char* kOperator = "operator";

  // Appends a member with a new name: with many members, looking for it would take long.
  static void Add(const std::string& name, Json member, Json& object) {
    object.get_ref<Json::object_t&>().emplace_back(name, std::move(member));
  }

  static void Bind(const TensorSlot& slot, Json& bindings) {
    SetSlot(slot.path, DisplayName(slot.path), bindings);
  }

  void AddDispatch(const std::string& dispatchable, const Json& bindings) {
    commands_.push_back(
        {{"type", "dispatch"}, {"dispatchable", dispatchable}, {"bindings", bindings}});
  }

  // Names a file that DxDispatch reads as the tensor's buffer, and writes anything else as values.
  void AddInput(const TensorSlot& slot, const LoadedTensor& tensor) {
    const std::string path = files_.PathOf(slot);
    Json resource;
    const bool is_buffer = HasExtension(path, ".npy")
                               ? IsBuffer(tensor, *slot.desc)
                               : !path.empty() && path != "-" && FileOf(path) == path;
    if (is_buffer) {
      resource = {{"initialValuesDataType", Name(ResourceType(*slot.desc->data_type))},
                  {"initialValues", {{"sourcePath", path}}}};
      if (HasExtension(path, ".npy")) resource["sizeInBytes"] = SizeInBytes(*slot.desc);
    } else {
      resource = ResourceOfValues(PhysicalBytes(tensor.view, *slot.desc).bytes(), *slot.desc);
    }
    Add(DisplayName(slot.path), std::move(resource), resources_);
  }

  // DxDispatch takes NumPy's bool for INT8.
  static bool IsBuffer(const LoadedTensor& tensor, const TensorDesc& desc) {
    return IsPacked(tensor.view.layout) && IsPacked(LayoutOf(desc)) && IsMapped(tensor) &&
           !tensor.is_bool && !HasNibbles(tensor.view.type);
  }

  // The view points into the file, so its elements are in the machine's byte order.
  static bool IsMapped(const LoadedTensor& tensor) {
    const std::byte* file = tensor.file_bytes.data();
    return tensor.view.data >= file && tensor.view.data < file + tensor.file_bytes.size();
  }

  // Returns the desc's buffer with the tensor's elements at their positions, up to the last one.
  static Buffer PhysicalBytes(const ConstTensorView& view, const TensorDesc& desc) {
    const Layout layout = LayoutOf(desc);
    Buffer buffer(static_cast<size_t>(Extent(layout)) * ByteWidth(view.type));
    CopyElements(view, {buffer.data(), view.type, layout});
    if (!HasNibbles(view.type)) return buffer;
    Buffer packed(BufferBytes(view.type, buffer.size()));
    PackNibbles(buffer.bytes(), {packed.data(), packed.size()});
    return packed;
  }

  void AddBuffer(const std::string& name, const TensorDesc& desc) {
    Add(name, ResourceOfZeros(desc), resources_);
  }

  // DxDispatch prints and writes the buffer. If that is not just the tensor, it is first copied
  // without gaps, except for elements of 4 bits, which no operator moves.
  void AddResult(const TensorSlot& slot) {
    const std::string path = files_.PathOf(slot);
    std::string name = DisplayName(slot.path);
    const bool is_raw = !path.empty() && path != "-" && !HasExtension(path, ".npy");
    const bool has_nibbles = HasNibbles(*slot.desc->data_type);
    const bool is_buffer = is_raw || has_nibbles;
    if (!is_buffer && !IsPacked(LayoutOf(*slot.desc))) name = AddPackedCopy(name, *slot.desc);
    if (path.empty() || path == "-") {
      commands_.push_back({{"type", "print"}, {"resource", name}});
      return;
    }
    Json command = {{"type", "writeFile"}, {"resource", name}, {"targetPath", path}};
    if (!is_buffer) command["dimensions"] = *slot.desc->sizes;
    commands_.push_back(command);
  }

  std::string AddPackedCopy(const std::string& name, const TensorDesc& desc) {
    const std::string packed_name = name + " packed";
    OperatorDesc op(CopyOperator());
    op.set(kInputTensor, desc);
    op.at(kOutputTensor).data_type = desc.data_type;
    op.at(kOutputTensor).sizes = desc.sizes;
    AddBuffer(packed_name, op[kOutputTensor]);
    Add(packed_name, OperatorJson(op), dispatchables_);
    AddDispatch(packed_name, {{"InputTensor", name}, {"OutputTensor", packed_name}});
    return packed_name;
  }

  const OperatorCase& files_;
  const OperatorDesc& op_;
  Json resources_ = Json::object();
  Json dispatchables_ = Json::object();
  Json commands_ = Json::array();
};

// --- a model's dispatchables as descriptors ------------------------------------------------------

// Writes operators as descriptors, with the values that their inputs have at a step.
class DescriptorWriter {
 public:
  DescriptorWriter(const WriteDescriptor& write, Diagnostics& diagnostics)
      : write_(write), diagnostics_(diagnostics) {}

  // The place is that of the step in a document, if it is in one.
  void Write(const Step& step, std::optional<JsonCursor> place) const {
    Write(step.name, step.op, BindingsOf(step, place));
  }

  void Write(std::string_view name, const OperatorDesc& op, const Json& bindings) const {
    Json descriptor = OperatorJson(op);
    descriptor["name"] = name;
    if (!bindings.empty()) descriptor["bindings"] = bindings;
    write_({op, name, Pretty(descriptor) + "\n"});
  }

 private:
  // A descriptor with more values should use tensor files.
  static constexpr int64_t kMostValues = 1 << 20;

  // Returns the inputs with their values, without fields of which a tensor cannot be written.
  Json BindingsOf(const Step& step, std::optional<JsonCursor> place) const {
    Json bindings = Json::object();
    std::set<std::string> left_out;
    const std::vector<TensorSlot> slots = TensorSlots(step.op, TensorRole::kInput);
    std::vector<ConstTensorView> tensors = step.inputs;
    std::vector<UnpackedNibbles> unpacked;
    unpacked.reserve(tensors.size());
    for (ConstTensorView& tensor : tensors) {
      if (HasNibbles(tensor.type)) tensor = AsConst(unpacked.emplace_back(tensor).view());
    }
    int64_t room = kMostValues;
    for (size_t i = 0; i < slots.size(); ++i) {
      const std::string field = slots[i].path.substr(0, slots[i].path.find('/'));
      room -= tensors[i].layout.element_count();
      if (room < 0 || !SurvivesAsNumbers(tensors[i])) {
        left_out.insert(field);
      } else {
        SetSlot(slots[i].path, NestedJson(tensors[i]), bindings);
      }
    }
    for (const std::string& field : left_out) {
      bindings.erase(field);
      diagnostics_.Warning(
          "DOC-4", place ? place->pointer() : "",
          fmt::format("the descriptor of '{}' leaves {} unbound: it has more than {} values, or a "
                      "NaN whose bits no number tells",
                      step.name, field, kMostValues),
          place ? std::optional(place->offset()) : std::nullopt);
    }
    return bindings;
  }

  static bool SurvivesAsNumbers(const ConstTensorView& tensor) {
    bool survives = true;
    VisitDataType(AllTypes(), tensor.type, [&]<typename T>() {
      const LoopNest<1> nest{tensor.layout.sizes, {tensor.layout.strides}};
      Walk<1> walk(nest, 0);
      for (int64_t i = tensor.layout.element_count(); i > 0; --i, walk.Next()) {
        survives &= SurvivesAsNumber(tensor.elements<T>()[walk.offset(0)]);
      }
    });
    return survives;
  }

  static Json NestedJson(const ConstTensorView& tensor) {
    Json values;
    VisitDataType(AllTypes(), tensor.type,
                  [&]<typename T>() { values = NestedJson<T>(tensor.data, tensor.layout, 0); });
    return values;
  }

  template <typename T>
  static Json NestedJson(const std::byte* data, const Layout& layout, size_t d) {
    if (d == layout.rank()) return ShortestJson(ElementOf<T>(data));
    Json array = Json::array();
    for (int64_t i = 0; i < layout.sizes[d]; ++i) {
      const std::byte* element = data + i * layout.strides[d] * static_cast<int64_t>(sizeof(T));
      array.push_back(NestedJson<T>(element, layout, d + 1));
    }
    return array;
  }

  const WriteDescriptor& write_;
  Diagnostics& diagnostics_;
};

}  // namespace

Json ResourceOfValues(std::span<const std::byte> bytes, const TensorDesc& desc) {
  DataType type = ResourceType(*desc.data_type);
  Json list = Json::array();
  bool survives = true;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
      const T x = ElementOf<T>(bytes.data() + i);
      survives &= SurvivesAsNumber(x);
      list.push_back(ShortestJson(x));
    }
  });
  if (!survives) {
    type = UnsignedOfWidth(type);
    list.clear();
    VisitElementWidth(type, [&]<typename T>() {
      for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        list.push_back(ElementOf<T>(bytes.data() + i));
      }
    });
  }
  return {{"initialValuesDataType", Name(type)},
          {"initialValues", list},
          {"sizeInBytes", SizeInBytes(desc)}};
}

Json ResourceOfZeros(const TensorDesc& desc) {
  const DataType type = *desc.data_type;
  const uint64_t extent = static_cast<uint64_t>(Extent(LayoutOf(desc)));
  const uint64_t count = HasNibbles(type) ? BufferBytes(type, extent) : extent;
  return {{"initialValuesDataType", Name(ResourceType(type))},
          {"initialValues", {{"valueCount", count}, {"value", 0}}},
          {"sizeInBytes", SizeInBytes(desc)}};
}

std::string ModelText(const OperatorCase& files) {
  return ModelWriter(files).Write();
}

void WriteDescriptors(const ModelDocument& model, ModelRun& run, const WriteDescriptor& write,
                      Diagnostics& diagnostics) {
  const DescriptorWriter writer(write, diagnostics);
  std::vector<bool> is_written(model.dispatchables().size());
  for (size_t i = 0; i < model.commands().size(); ++i) {
    const auto* dispatch = std::get_if<DispatchCommand>(&model.commands()[i].what);
    if (dispatch == nullptr) continue;
    StepWatch watch;
    if (!is_written[dispatch->dispatchable]) {
      watch.before = [&](const Step& step) { writer.Write(step, model.commands()[i].place); };
      is_written[dispatch->dispatchable] = true;
    }
    run.Dispatch(i, watch);
  }
  for (size_t d = 0; d < is_written.size(); ++d) {
    if (is_written[d]) continue;
    for (const auto& [name, op] : model.dispatchables()[d].operators()) {
      writer.Write(name, *op, Json::object());
    }
  }
}

void WriteDescriptors(const Graph& graph, InputViews inputs, OutputViews outputs,
                      const std::function<bool(std::string_view node)>& takes,
                      const WriteDescriptor& write, Diagnostics& diagnostics) {
  const DescriptorWriter writer(write, diagnostics);
  if (!std::ranges::all_of(inputs, &ConstTensorView::data)) {
    for (const GraphNode& node : graph.nodes) {
      if (takes(node.name)) writer.Write(node.name, node.op, Json::object());
    }
    return;
  }
  StepWatch watch;
  watch.before = [&](const Step& step) {
    if (takes(step.name)) writer.Write(step, std::nullopt);
  };
  RunGraph(graph, inputs, outputs, watch);
}

}  // namespace dmlop
