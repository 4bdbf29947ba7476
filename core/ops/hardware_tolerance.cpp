#include "core/ops/hardware_tolerance.h"

namespace dmlop {
namespace {

template <typename Desc>
uint64_t Ulp(const Desc&) {
  return 0;  // elements are only moved
}

// Hardware may multiply and add with one rounding or with two (ID-8).
uint64_t Ulp(const IdentityDesc& desc) {
  return desc.scale_bias ? 2 : 0;
}

uint64_t Ulp(const ReduceDesc& desc) {
  uint64_t n = 1;
  for (const uint32_t axis : *desc.axes) n *= (*desc.input_tensor.sizes)[axis];
  switch (*desc.function) {
    case ReduceFunction::kArgMax:
    case ReduceFunction::kArgMin:
    case ReduceFunction::kMax:
    case ReduceFunction::kMin:
      return 0;
    case ReduceFunction::kL1:
    case ReduceFunction::kMultiply:
    case ReduceFunction::kSum:
      return n;
    case ReduceFunction::kSumSquare:
      return 2 * n;
    case ReduceFunction::kAverage:
      return n + 2;
    case ReduceFunction::kL2:
      return 2 * n + 1;
    case ReduceFunction::kLogSum:
      return n + 18;
    case ReduceFunction::kLogSumExp:
      return 2 * n + 18;
  }
  return 0;
}

}  // namespace

uint64_t WebnnUlp(const OperatorDesc& desc) {
  if (!IsFloat(*TensorSlots(desc).front().desc->data_type)) return 0;
  return std::visit([](const auto& d) { return Ulp(d); }, desc);
}

}  // namespace dmlop
