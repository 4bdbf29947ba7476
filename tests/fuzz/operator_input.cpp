#include "tests/fuzz/operator_input.h"

#include <algorithm>
#include <numeric>

#include "tests/reference/element.h"
#include "tests/support/random_tensor.h"

namespace dmlop {
namespace {

// Without bytes left every choice is the first, and nothing is unusual.
class DescReader {
 public:
  explicit DescReader(FuzzedDataProvider& data) : data_(data) {}

  OperatorDesc Read() {
    const auto names = OperatorNames();
    OperatorDesc desc =
        *MakeOperator(names[data_.ConsumeIntegralInRange<size_t>(0, names.size() - 1)]);
    std::visit([&](auto& of) { ReadFields(of); }, desc);
    Complete(desc);
    for (const MutableTensorSlot& slot : TensorSlots(desc)) {
      if (slot.desc->complete()) Decorate(*slot.desc, slot.role);
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

  // --- the fields of each operator; outputs are completed where they follow from the inputs
  // -------

  void ReadFields(IdentityDesc& desc) {
    desc.input_tensor = AnyTensor();
    if (!data_.ConsumeBool()) return;
    desc.scale_bias = ScaleBias{Factor(), Factor()};
  }

  void ReadFields(JoinDesc& desc) {
    const TensorDesc whole = AnyTensor();
    desc.input_tensors = Parts(whole, desc.axis.emplace(Axis(whole)));
    if (IsUnusual()) desc.input_count = Number(0, 5);
  }

  void ReadFields(SplitDesc& desc) {
    desc.input_tensor = AnyTensor();
    const uint32_t axis = desc.axis.emplace(Axis(desc.input_tensor));
    desc.output_tensors = Parts(desc.input_tensor, axis);
    if (IsUnusual() || axis >= desc.input_tensor.rank()) return;
    uint32_t sum = 0;
    for (const TensorDesc& part : *desc.output_tensors) sum += (*part.sizes)[axis];
    (*desc.input_tensor.sizes)[axis] = sum;
  }

  void ReadFields(ReduceDesc& desc) {
    desc.function = static_cast<ReduceFunction>(
        data_.ConsumeIntegralInRange<size_t>(0, kReduceFunctionNames.size() - 1));
    desc.input_tensor = AnyTensor();
    desc.axes.emplace();
    for (uint32_t axis = 0; axis < desc.input_tensor.rank(); ++axis) {
      if (data_.ConsumeBool()) desc.axes->push_back(IsUnusual() ? Number(0, 9) : axis);
    }
    if (data_.ConsumeBool()) std::reverse(desc.axes->begin(), desc.axes->end());
    if (data_.ConsumeBool()) desc.output_tensor.data_type = Type();
  }

  void ReadFields(UnfoldDesc& desc) {
    desc.input_tensor = AnyTensor(3);
    const size_t count = std::max<size_t>(desc.input_tensor.rank(), 2) - 2;
    desc.window_sizes = Numbers(count, 1, 4);
    desc.strides = Numbers(count, 1, 3);
    desc.dilations = Numbers(count, 1, 3);
    desc.start_padding = Numbers(count, 0, 6);
    desc.end_padding = Numbers(count, 0, 6);
    if (IsUnusual()) desc.dimension_count = Number(0, 7);
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
  // ---------------------------------------------------------------

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
  OperatorCall call;
  for (const MutableTensorSlot& slot : TensorSlots(desc)) {
    const int64_t offset = data.ConsumeIntegralInRange<int64_t>(0, 9);
    TestTensor tensor(*slot.desc->data_type, LayoutOf(*slot.desc), offset);
    if (slot.role == TensorRole::kOutput) {
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
  call.desc = std::move(desc);
  return call;
}

}  // namespace dmlop
