// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/operators.h"

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/tensor/element.h"

namespace dmlop::reference {
namespace {

OperatorDesc OnTensor(OperatorDesc activation, const TensorDesc& tensor) {
  for (const Field* field : TensorFieldsOf(activation.info())) activation.AddTensor(*field);
  for (const MutableTensorSlot& slot : TensorSlots(activation)) *slot.desc = tensor;
  return activation;
}

// FUS-5: the activation of the rounded result. If that is only known within bounds, IDENTITY and
// RELU keep these bounds; RELU makes 0 of what may be negative.
Expectation Activated(OperatorDesc activation, DataType type, const Expectation& own) {
  const uint64_t rounded = own.bits;
  TensorDesc one;
  one.data_type = type;
  one.sizes = std::vector<uint32_t>{1};
  activation = OnTensor(std::move(activation), one);
  ElementBytes bytes{};
  std::memcpy(bytes.data(), &rounded, sizeof(rounded));
  const ConstTensorView input{bytes.data(), type, PackedLayout({1})};
  Expectation activated = ExpectedAt(activation, {&input, 1}, 0, {0});
  const bool is_relu = activation.name() == "ACTIVATION_RELU";
  if (!own.exact || (!is_relu && activation.name() != "ACTIVATION_IDENTITY")) return activated;
  activated.exact.emplace(is_relu && activated.bits == 0 ? Real(0.0) : *own.exact);
  activated.ulps = own.ulps;
  activated.slack = own.slack;
  return activated;
}

// The activation of a whole slice of exactly known results.
Expectation ActivatedSlice(const OperatorDesc& activation, const TensorDesc& output,
                           const Dims& index, const std::function<uint64_t(const Dims&)>& own) {
  const OperatorDesc alone = OnTensor(activation, output);
  const Dims sizes(output.sizes->begin(), output.sizes->end());
  const std::vector<uint32_t> axes = SoftmaxAxesOf(alone, sizes.size());
  // Dimensions without an axis are broadcast.
  Layout layout{sizes, Dims::Filled(sizes.size(), 0)};
  int64_t count = 1;
  for (const uint32_t axis : axes) {
    layout.strides[axis] = count;
    count *= sizes[axis];
  }
  const size_t width = ByteWidth(*output.data_type);
  std::vector<std::byte> slice(static_cast<size_t>(count) * width);
  for (int64_t k = 0; k < count; ++k) {
    Dims place = index;
    for (const uint32_t axis : axes) place[axis] = k / layout.strides[axis] % sizes[axis];
    const uint64_t bits = own(place);
    std::memcpy(slice.data() + static_cast<size_t>(k) * width, &bits, width);
  }
  const ConstTensorView input{slice.data(), *output.data_type, layout};
  return ExpectedAt(alone, {&input, 1}, 0, index);
}

// Tests ask for millions of elements, so that a search among all names would take longer than most
// oracles.
Oracle OracleNamed(std::string_view name) {
  static const std::unordered_map<std::string_view, Oracle> by_name = [] {
    std::unordered_map<std::string_view, Oracle> oracles;
    for (const auto of_source :
         {ActivationOracles(),     AttentionOracles(), ContractionOracles(),
          ElementWiseOracles(),    IndexingOracles(),  IntegerProductOracles(),
          LocalResponseOracles(),  MovementOracles(),  NormalizationOracles(),
          OrderingOracles(),       QuantizeOracles(),  RecurrentOracles(),
          ReductionOracles(),      RegionOracles(),    RegionPoolingOracles(),
          ResampleOracles(),       SoftmaxOracles(),   TrainingOracles(),
          TranscendentalOracles(), WindowOracles()}) {
      for (const NamedOracle& one : of_source) oracles.emplace(one.name, one.oracle);
    }
    return oracles;
  }();
  const auto found = by_name.find(name);
  if (found == by_name.end()) throw std::logic_error("no oracle for " + std::string(name));
  return found->second;
}

}  // namespace

Expectation ExpectedAt(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                       size_t output, const Dims& index) {
  const Oracle oracle = OracleNamed(desc.name());
  const OperatorDesc* activation = FusedActivationOf(desc);
  if (activation != nullptr && IsSoftmax(*activation)) {
    return ActivatedSlice(
        *activation, *TensorSlots(desc, TensorRole::kOutput)[0].desc, index,
        [&](const Dims& place) { return oracle(desc, inputs, output, place).bits; });
  }
  const Expectation own = oracle(desc, inputs, output, index);
  if (activation == nullptr || output > 0) return own;
  return Activated(*activation, *TensorSlots(desc, TensorRole::kOutput)[0].desc->data_type, own);
}

}  // namespace dmlop::reference
