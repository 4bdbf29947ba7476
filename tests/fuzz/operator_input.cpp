// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/operator_input.h"

#include "tests/reference/element.h"
#include "tests/support/random_calls.h"

namespace dmlop {
namespace {

// Changes a descriptor that may be valid in one place.
class DescBreaker {
 public:
  DescBreaker(const Entropy& from, OperatorDesc& op) : from_(from), op_(op) {}

  void Break() {
    const size_t i = from_.Index(op_.fields().size());
    const Field& field = *op_.fields()[i];
    FieldValue& value = op_.values()[i];
    if (from_.OneIn(16)) {
      value = FieldValue();
    } else if (field.kind == FieldKind::kEnum) {  // which are read by name
      value = static_cast<uint32_t>(from_.Index(field.names.names.size()));
    } else if (field.kind == FieldKind::kActivation &&
               !std::holds_alternative<std::monostate>(value)) {
      BreakValue(std::get<std::vector<OperatorDesc>>(value).front());  // there is always one
    } else {
      std::visit([this](auto& held) { BreakValue(held); }, value);
    }
  }

 private:
  void BreakValue(std::monostate&) {}
  void BreakValue(uint32_t& number) { number = AnyNumber(); }
  void BreakValue(int32_t& number) { number = static_cast<int32_t>(AnyNumber()); }
  void BreakValue(float& number) { number = RandomFactor(from_); }
  void BreakValue(bool& value) { value = !value; }
  void BreakValue(DataType& type) { type = AnyType(); }
  void BreakValue(ScaleBias& factors) { factors.scale = RandomFactor(from_); }
  void BreakValue(Size2d& size) { size.width = AnyNumber(); }
  // A scalar is always read in the type that other fields state.
  void BreakValue(Scalar& scalar) { scalar.bytes.fill(std::byte{0xFF}); }
  void BreakValue(OperatorDesc& activation) { DescBreaker(from_, activation).Break(); }

  template <typename T>
  void BreakValue(std::vector<T>& values) {
    if (!values.empty() && !from_.OneIn(4)) return BreakValue(values[from_.Index(values.size())]);
    if (!values.empty() && from_.OneIn(2)) {
      values.pop_back();
    } else if (!values.empty()) {
      values.push_back(values.back());
    }
  }

  void BreakValue(TensorDesc& tensor) {
    switch (from_.Index(8)) {
      case 0:
        tensor.data_type = AnyType();
        break;
      case 1:
        if (tensor.sizes) BreakValue(*tensor.sizes);
        break;
      case 2:
        if (tensor.strides) BreakValue(*tensor.strides);
        break;
      case 3:
        tensor.total_tensor_size_in_bytes = from_.Between(0, UINT64_MAX);
        break;
      case 4:
        tensor.total_tensor_size_in_bytes = from_.Between(0, UINT16_MAX) * 4;
        break;
      case 5:
        tensor.guaranteed_base_offset_alignment = AnyNumber();
        break;
      case 6:
        tensor.owned_by_dml = true;
        break;
      default:
        tensor.sizes.reset();
    }
  }

  uint32_t AnyNumber() {
    return static_cast<uint32_t>(from_.Between(0, from_.OneIn(4) ? UINT32_MAX : 9));
  }
  DataType AnyType() { return static_cast<DataType>(from_.Index(DataTypeNames().size())); }

  const Entropy& from_;
  OperatorDesc& op_;
};

Entropy EntropyOf(FuzzedDataProvider& data) {
  return Entropy([&data](uint64_t low, uint64_t high) {
    return data.ConsumeIntegralInRange<uint64_t>(low, high);
  });
}

void FillFromBytes(FuzzedDataProvider& data, const TensorView& view) {
  reference::ForEachIndex(view.layout.sizes, [&](const Dims& index) {
    reference::SetBitsAt(view, index, data.ConsumeIntegral<uint64_t>());
  });
}

}  // namespace

OperatorDesc ReadDesc(FuzzedDataProvider& data) {
  const Entropy from = EntropyOf(data);
  OperatorDesc desc = DrawDesc(from, OperatorDesc(*from.OneOf(Operators())));
  while (from.OneIn(4)) DescBreaker(from, desc).Break();
  return desc;
}

OperatorCall ReadCall(OperatorDesc desc, FuzzedDataProvider& data) {
  OperatorCall call = CallOf(EntropyOf(data), std::move(desc));
  for (TestTensor& input : call.inputs) {
    if (data.ConsumeBool()) FillFromBytes(data, input.mutable_view());
  }
  return call;
}

}  // namespace dmlop
