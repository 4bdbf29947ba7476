#include "tests/fuzz/operator_input.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/reference/element.h"
#include "tests/support/desc.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

// Without bytes left every choice is the first, and nothing is unusual.
class DescReader {
 public:
  explicit DescReader(FuzzedDataProvider& data) : data_(data) {}

  OperatorDesc Read() {
    const auto operators = Operators();
    const size_t number = data_.ConsumeIntegralInRange<size_t>(0, operators.size() - 1);
    OperatorDesc desc(*operators[number]);
    ReadFields(desc);
    Complete(desc);
    for (const MutableTensorSlot& slot : TensorSlots(desc)) {
      if (slot.desc->complete()) Decorate(*slot.desc, slot.role());
    }
    return desc;
  }

 private:
  bool IsUnusual() { return data_.ConsumeIntegralInRange<int>(0, 31) == 31; }

  uint32_t Number(uint32_t low, uint32_t high) {
    return IsUnusual() ? data_.ConsumeIntegral<uint32_t>()
                       : data_.ConsumeIntegralInRange<uint32_t>(low, high);
  }

  std::vector<uint32_t> Numbers(size_t count, uint32_t low, uint32_t high) {
    std::vector<uint32_t> numbers(IsUnusual() ? Number(0, 9) % 16 : count);
    for (uint32_t& number : numbers) number = Number(low, high);
    return numbers;
  }

  DataType Type() {
    const bool unusual = IsUnusual();
    return static_cast<DataType>(
        data_.ConsumeIntegralInRange<int>(unusual ? 0 : 1, unusual ? 13 : 11));
  }

  std::vector<uint32_t> Sizes(size_t rank) {
    std::vector<uint32_t> sizes(rank);
    for (uint32_t& size : sizes) {
      const uint32_t longest[] = {3, 3, 9, 90};
      size = Number(1, data_.PickValueInArray(longest));
    }
    return sizes;
  }

  TensorDesc Tensor(DataType type, const std::vector<uint32_t>& sizes) {
    TensorDesc desc;
    desc.data_type = type;
    desc.sizes = sizes;
    return desc;
  }

  TensorDesc AnyTensor(size_t min_rank = 1) {
    const DataType type = Type();
    return Tensor(
        type, Sizes(data_.ConsumeIntegralInRange<size_t>(min_rank, IsUnusual() ? 9 : kMaxRank)));
  }

  // --- the fields; outputs are completed where they follow from the inputs ----------------------

  // All inputs have the sizes of the first one but along the axis, if there is one.
  void ReadFields(OperatorDesc& desc) {
    const bool has_windows = data_.ConsumeBool();
    first_ = AnyTensor(has_windows ? 3 : 1);
    const size_t rank = std::max<size_t>(first_.rank(), 1);
    count_ =
        has_windows ? std::max<size_t>(rank, 3) - 2 : data_.ConsumeIntegralInRange<size_t>(0, rank);
    axis_ = Axis(first_);
    for (size_t i = 0; i < desc.fields().size(); ++i) {
      desc.values()[i] = ReadField(*desc.fields()[i], desc.values()[i]);
    }
  }

  FieldValue ReadField(const Field& field, FieldValue value) {
    if (field.optional && data_.ConsumeBool()) return {};
    switch (field.kind) {
      case FieldKind::kTensor:
        if (field.role == TensorRole::kInput) return first_;
        if (data_.ConsumeBool()) std::get<TensorDesc>(value).data_type = Type();
        if (!std::get<TensorDesc>(value).data_type && data_.ConsumeBool()) {
          std::get<TensorDesc>(value).sizes = first_.sizes;
        }
        return value;
      case FieldKind::kTensors:
        return Parts(first_, axis_);
      case FieldKind::kCount:
        return IsUnusual() ? FieldValue(Number(0, 7)) : FieldValue();
      case FieldKind::kUint:
        return axis_;
      case FieldKind::kInt:
        return data_.ConsumeIntegral<int32_t>();
      case FieldKind::kFloat:
        return Factor();
      case FieldKind::kBool:
        return data_.ConsumeBool();
      case FieldKind::kEnum:
        return data_.ConsumeIntegralInRange<uint32_t>(
            0, static_cast<uint32_t>(field.names.names.size() - 1));
      case FieldKind::kDataType:
        return data_.ConsumeBool() ? FieldValue(Type()) : FieldValue();
      case FieldKind::kUints:
        return Uints(field.limits);
      case FieldKind::kInts:
        return Ints();
      case FieldKind::kScaleBias:
        return ScaleBias{Factor(), Factor()};
      case FieldKind::kScalar:
        return Value();
      default:
        return {};
    }
  }

  std::vector<uint32_t> Uints(const Limits& limits) {
    const size_t count = limits.per_dimension ? first_.rank() : count_;
    if (!limits.distinct) return Numbers(count, limits.min, 4);
    std::vector<uint32_t> numbers;
    for (uint32_t axis = 0; axis < first_.rank(); ++axis) {
      if (data_.ConsumeBool()) numbers.push_back(IsUnusual() ? Number(0, 9) : axis);
    }
    if (data_.ConsumeBool()) std::reverse(numbers.begin(), numbers.end());
    return numbers;
  }

  std::vector<int32_t> Ints() {
    std::vector<int32_t> numbers(first_.rank());
    for (int32_t& number : numbers) number = data_.ConsumeIntegralInRange<int32_t>(-3, 3);
    return numbers;
  }

  Scalar Value() {
    Scalar scalar{first_.data_type.value_or(DataType::kFloat32), {}};
    const uint64_t bits = data_.ConsumeIntegral<uint64_t>();
    std::memcpy(scalar.bytes.data(), &bits, sizeof bits);
    return scalar;
  }

  float Factor() {
    const float plain[] = {1.0f, 0.0f, -0.0f, -1.0f, 0.5f, 3.0f};
    if (data_.ConsumeBool()) return data_.PickValueInArray(plain);
    return reference::FromBits<float>(data_.ConsumeIntegral<uint32_t>());
  }

  uint32_t Axis(const TensorDesc& tensor) {
    return Number(0, static_cast<uint32_t>(std::max<size_t>(tensor.rank(), 1) - 1));
  }

  std::vector<TensorDesc> Parts(const TensorDesc& whole, uint32_t axis) {
    std::vector<TensorDesc> parts(data_.ConsumeIntegralInRange<size_t>(IsUnusual() ? 0 : 1, 5),
                                  whole);
    for (TensorDesc& part : parts) {
      if (axis < part.rank()) (*part.sizes)[axis] = Number(1, 5);
    }
    return parts;
  }

  // --- what may differ in any tensor
  // --------------------------------------------------------------

  void Decorate(TensorDesc& desc, TensorRole role) {
    ReadStrides(desc, role);
    if (!IsUnusual()) return;
    switch (data_.ConsumeIntegralInRange<int>(0, 5)) {
      case 0:
        desc.data_type = Type();
        break;
      case 1:
        desc.sizes = Sizes(Number(0, 9) % 12);
        break;
      case 2:
        desc.total_tensor_size_in_bytes = data_.ConsumeIntegral<uint64_t>();
        break;
      case 3:
        desc.total_tensor_size_in_bytes = data_.ConsumeIntegral<uint16_t>() * 4u;
        break;
      case 4:
        desc.guaranteed_base_offset_alignment = Number(0, 256);
        break;
      default:
        desc.owned_by_dml = role == TensorRole::kInput || data_.ConsumeBool();
    }
  }

  void ReadStrides(TensorDesc& desc, TensorRole role) {
    switch (data_.ConsumeIntegralInRange<int>(0, 5)) {
      case 0:
        break;
      case 1:
        desc.strides = Nested(*desc.sizes, 1, 0);
        break;
      case 2:
        desc.strides = Nested(*desc.sizes, 1, 3);
        break;
      case 3:
        desc.strides = Nested(*desc.sizes, 2, 2);
        break;
      case 4:
        desc.strides = Numbers(desc.rank(), 0, 90);
        break;
      default:
        desc.strides = Nested(*desc.sizes, 1, 1);
        for (uint32_t& stride : *desc.strides) {
          if (role == TensorRole::kInput && data_.ConsumeBool()) stride = 0;
        }
    }
  }

  // Dimensions nested in any order, the innermost with stride `step`, each behind a gap.
  std::vector<uint32_t> Nested(const std::vector<uint32_t>& sizes, uint32_t step,
                               uint32_t max_gap) {
    std::vector<size_t> order(sizes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[data_.ConsumeIntegralInRange<size_t>(0, i - 1)]);
    }
    std::vector<uint32_t> strides(sizes.size());
    for (const size_t d : order) {
      strides[d] = step;
      step = step * sizes[d] + data_.ConsumeIntegralInRange<uint32_t>(0, max_gap);
    }
    return strides;
  }

  FuzzedDataProvider& data_;
  TensorDesc first_;
  size_t count_ = 0;
  uint32_t axis_ = 0;
};

void FillFromBytes(FuzzedDataProvider& data, const TensorView& view) {
  reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
    reference::SetBitsAt(view, index, data.ConsumeIntegral<uint64_t>());
  });
}

}  // namespace

OperatorDesc ReadDesc(FuzzedDataProvider& data) {
  return DescReader(data).Read();
}

OperatorCall ReadCall(OperatorDesc desc, FuzzedDataProvider& data) {
  OperatorCall call{std::move(desc), {}, {}};
  for (const MutableTensorSlot& slot : TensorSlots(call.desc)) {
    const int64_t offset = data.ConsumeIntegralInRange<int64_t>(0, 9);
    TestTensor tensor(*slot.desc->data_type, LayoutOf(*slot.desc), offset);
    if (slot.role() == TensorRole::kOutput) {
      call.outputs.push_back(std::move(tensor));
      continue;
    }
    if (data.ConsumeBool()) {
      FillFromBytes(data, tensor.mutable_view());
    } else {
      Engine engine(data.ConsumeIntegral<uint64_t>());
      FillRandomly(engine, tensor);
    }
    call.inputs.push_back(std::move(tensor));
  }
  return call;
}

}  // namespace dmlop
