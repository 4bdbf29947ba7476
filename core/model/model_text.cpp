#include "core/model/model_text.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/document/document_json.h"
#include "core/ops/checks.h"
#include "core/tensor/loop_nest.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

// --- elements as JSON ----------------------------------------------------------------------------

// The shortest digits that a reader of binary64 numbers rounds back to x.
double ShortestAsDouble(float x) {
  const double shortest = std::stod(fmt::format("{}", x));
  return static_cast<float>(shortest) == x ? shortest : static_cast<double>(x);
}

Json FloatJson(double x) {
  if (x != x) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  return x;
}

template <typename T>
Json ElementJson(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else if constexpr (std::is_same_v<T, double>) {
    return FloatJson(x);
  } else if constexpr (std::is_same_v<T, Half>) {
    return FloatJson(static_cast<double>(ToFloat(x)));
  } else {
    return std::isfinite(x) ? FloatJson(ShortestAsDouble(x)) : FloatJson(static_cast<double>(x));
  }
}

template <typename T>
T ElementAt(const std::byte* element) {
  T x;
  std::memcpy(&x, element, sizeof(T));
  return x;
}

// NaN is written without sign and payload, which a list of numbers cannot tell.
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

  static void Bind(const TensorSlot& slot, Json& bindings) {
    const std::string name = DisplayName(slot.path);
    const size_t slash = slot.path.find('/');
    if (slash == std::string::npos) {
      bindings[slot.path] = name;
    } else {
      bindings[slot.path.substr(0, slash)].push_back(name);
    }
  }

  void AddDispatch(const std::string& dispatchable, const Json& bindings) {
    commands_.push_back(
        {{"type", "dispatch"}, {"dispatchable", dispatchable}, {"bindings", bindings}});
  }

  // A file that DxDispatch reads as the tensor's buffer is named, anything else written out.
  void AddInput(const TensorSlot& slot, const LoadedTensor& tensor) {
    const std::string path = files_.PathOf(slot);
    Json& resource = resources_[DisplayName(slot.path)];
    const bool is_buffer =
        path.ends_with(".npy") ? IsBuffer(tensor, *slot.desc) : !path.empty() && path != "-";
    if (is_buffer) {
      resource = {{"initialValuesDataType", Name(*slot.desc->data_type)},
                  {"initialValues", {{"sourcePath", path}}}};
      if (path.ends_with(".npy")) resource["sizeInBytes"] = SizeInBytes(*slot.desc);
    } else {
      resource = ValuesJson(PhysicalBytes(tensor.view, *slot.desc), *slot.desc);
    }
  }

  static bool IsBuffer(const LoadedTensor& tensor, const TensorDesc& desc) {
    return IsPacked(tensor.view.layout) && IsPacked(LayoutOf(desc)) && IsMapped(tensor);
  }

  // The elements lie in the file as they are used: they are in the machine's byte order.
  static bool IsMapped(const LoadedTensor& tensor) {
    const std::byte* file = tensor.file_bytes.data();
    return tensor.view.data >= file && tensor.view.data < file + tensor.file_bytes.size();
  }

  // The buffer of the desc with the tensor's elements at their places, up to the last one.
  static Buffer PhysicalBytes(const ConstTensorView& view, const TensorDesc& desc) {
    const Layout layout = LayoutOf(desc);
    const size_t width = ByteWidth(view.type);
    Buffer buffer(static_cast<size_t>(Extent(layout)) * width);
    const LoopNest<2> nest{layout.sizes, {layout.strides, view.layout.strides}};
    Walk<2> walk(nest, 0);
    for (int64_t i = 0; i < layout.element_count(); ++i, walk.Next()) {
      std::memcpy(buffer.data() + static_cast<size_t>(walk.offset(0)) * width,
                  view.data + walk.offset(1) * static_cast<int64_t>(width), width);
    }
    return buffer;
  }

  static Json ValuesJson(const Buffer& bytes, const TensorDesc& desc) {
    DataType type = *desc.data_type;
    Json list = Json::array();
    bool survives = true;
    VisitDataType(AllTypes(), type, [&]<typename T>() {
      for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
        const T x = ElementAt<T>(bytes.data() + i);
        survives &= SurvivesAsNumber(x);
        list.push_back(ElementJson(x));
      }
    });
    if (!survives) {
      type = UnsignedOfWidth(type);
      list.clear();
      VisitElementWidth(type, [&]<typename T>() {
        for (size_t i = 0; i < bytes.size(); i += sizeof(T)) {
          list.push_back(ElementAt<T>(bytes.data() + i));
        }
      });
    }
    return {{"initialValuesDataType", Name(type)},
            {"initialValues", list},
            {"sizeInBytes", SizeInBytes(desc)}};
  }

  void AddBuffer(const std::string& name, const TensorDesc& desc) {
    resources_[name] = {{"initialValuesDataType", Name(*desc.data_type)},
                        {"initialValues", {{"valueCount", Extent(LayoutOf(desc))}, {"value", 0}}},
                        {"sizeInBytes", SizeInBytes(desc)}};
  }

  // What DxDispatch prints and writes is the buffer. Where that is not the tensor, a copy without
  // gaps is.
  void AddResult(const TensorSlot& slot) {
    const std::string path = files_.PathOf(slot);
    std::string name = DisplayName(slot.path);
    const bool is_raw = !path.empty() && path != "-" && !path.ends_with(".npy");
    if (!is_raw && !IsPacked(LayoutOf(*slot.desc))) name = AddPackedCopy(name, *slot.desc);
    if (path.empty() || path == "-") {
      commands_.push_back({{"type", "print"}, {"resource", name}});
      return;
    }
    Json command = {{"type", "writeFile"}, {"resource", name}, {"targetPath", path}};
    if (!is_raw) command["dimensions"] = *slot.desc->sizes;
    commands_.push_back(command);
  }

  std::string AddPackedCopy(const std::string& name, const TensorDesc& desc) {
    const std::string packed_name = name + " packed";
    IdentityDesc copy;
    copy.input_tensor = desc;
    copy.output_tensor.data_type = desc.data_type;
    copy.output_tensor.sizes = desc.sizes;
    OperatorDesc op = copy;
    Complete(op);
    AddBuffer(packed_name, std::get<IdentityDesc>(op).output_tensor);
    dispatchables_[packed_name] = OperatorJson(op);
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

class DescriptorsWriter {
 public:
  DescriptorsWriter(const ModelDocument& model, ModelResources& resources, const BoundModel& bound)
      : model_(model), resources_(resources), bound_(bound) {}

  std::string Write() {
    std::vector<Json> bindings(model_.dispatchables().size(), Json::object());
    std::set<size_t> dispatched;
    for (size_t i = 0; i < model_.commands().size(); ++i) {
      const auto* dispatch = std::get_if<DispatchCommand>(&model_.commands()[i].what);
      if (dispatch == nullptr) continue;
      const size_t number = dispatch->dispatchable;
      if (dispatched.insert(number).second) bindings[number] = BindingsOf(number, i);
      MarkWritten(number, bound_.dispatches[i]);
    }
    std::string text;
    for (size_t d = 0; d < bindings.size(); ++d) {
      Json descriptor = OperatorJson(model_.dispatchables()[d].object.op());
      if (!bindings[d].empty()) descriptor["bindings"] = bindings[d];
      text += Pretty(descriptor) + "\n";
    }
    return text;
  }

 private:
  std::vector<TensorSlot> SlotsOf(size_t dispatchable) const {
    return TensorSlots(model_.dispatchables()[dispatchable].object.op());
  }

  Json BindingsOf(size_t dispatchable, size_t command) const {
    Json bindings = Json::object();
    const std::vector<TensorSlot> slots = SlotsOf(dispatchable);
    for (size_t i = 0; i < slots.size(); ++i) {
      const bool owned = slots[i].desc->owned_by_dml;
      const auto& bound =
          owned ? bound_.initialization[dispatchable][i] : bound_.dispatches[command][i];
      const Json value = slots[i].role == TensorRole::kInput ? InputJson(slots[i], *bound, owned)
                                                             : TargetJson(bound->resource, command);
      AddBinding(slots[i].path, value, bindings);
    }
    return bindings;
  }

  static void AddBinding(const std::string& path, const Json& value, Json& bindings) {
    const size_t slash = path.find('/');
    if (slash != std::string::npos) {
      bindings[path.substr(0, slash)].push_back(value);
    } else if (!value.is_null()) {
      bindings[path] = value;
    }
  }

  // The values that the tensor begins with; nothing where an earlier dispatch has made them.
  Json InputJson(const TensorSlot& slot, const BoundTensor& bound, bool owned) const {
    if (!owned && written_.contains(bound.resource)) return nullptr;
    const Layout layout = LayoutOf(*slot.desc);
    const std::byte* data = resources_.bytes(bound.resource).data() + bound.offset;
    Json values;
    VisitDataType(AllTypes(), *slot.desc->data_type,
                  [&]<typename T>() { values = NestedJson<T>(data, layout, 0); });
    return values;
  }

  template <typename T>
  static Json NestedJson(const std::byte* data, const Layout& layout, size_t d) {
    if (d == layout.rank()) return ElementJson(ElementAt<T>(data));
    Json array = Json::array();
    for (int64_t i = 0; i < layout.sizes[d]; ++i) {
      const std::byte* element = data + i * layout.strides[d] * static_cast<int64_t>(sizeof(T));
      array.push_back(NestedJson<T>(element, layout, d + 1));
    }
    return array;
  }

  // The .npy file that the resource is written to next.
  Json TargetJson(size_t resource, size_t command) const {
    for (size_t i = command + 1; i < model_.commands().size(); ++i) {
      const auto* write = std::get_if<WriteFileCommand>(&model_.commands()[i].what);
      if (write != nullptr && write->resource == resource && IsNpy(write->target_path)) {
        return write->target_path;
      }
    }
    return nullptr;
  }

  void MarkWritten(size_t dispatchable, const BoundTensors& bound) {
    const std::vector<TensorSlot> slots = SlotsOf(dispatchable);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (slots[i].role == TensorRole::kOutput) written_.insert(bound[i]->resource);
    }
  }

  const ModelDocument& model_;
  ModelResources& resources_;
  const BoundModel& bound_;
  std::set<size_t> written_;  // resources that a dispatch has changed
};

}  // namespace

std::string ModelText(const OperatorCase& files) {
  return ModelWriter(files).Write();
}

std::string DescriptorsText(const ModelDocument& model, ModelResources& resources,
                            const BoundModel& bound) {
  return DescriptorsWriter(model, resources, bound).Write();
}

}  // namespace dmlop
