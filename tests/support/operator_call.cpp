// SPDX-License-Identifier: Apache-2.0
#include "tests/support/operator_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/support/desc.h"

namespace dmlop {
namespace {

// A field that is not a tensor.
struct ValuePrinter {
  const Field& field;

  template <typename T>
  std::string operator()(const T& value) const {
    if constexpr (std::is_same_v<T, ScaleBias>) {
      return fmt::format(" Scale {:a} Bias {:a}", value.scale, value.bias);
    } else if constexpr (std::is_same_v<T, Size2d>) {
      return fmt::format(" {} {} x {}", field.name, value.width, value.height);
    } else if constexpr (std::is_same_v<T, Scalar>) {
      uint64_t bits = 0;
      std::memcpy(&bits, value.bytes.data(), sizeof bits);
      return fmt::format(" {} {:#x}", field.name, bits);
    } else if constexpr (std::is_same_v<T, uint32_t>) {
      if (field.kind == FieldKind::kEnum) return fmt::format(" {}", field.names.names[value]);
      return fmt::format(" {} {}", field.name, value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      return fmt::format(" {} {}", field.name, value);
    } else {
      return "";
    }
  }
  template <typename T>
  std::string operator()(const std::vector<T>& values) const {
    if constexpr (std::is_arithmetic_v<T>) {
      return fmt::format(" {} {{{}}}", field.name, fmt::join(values, ", "));
    }
    return "";
  }
};

std::vector<ConstTensorView> ViewsOf(const OperatorCall& call) {
  std::vector<ConstTensorView> views;
  for (const TestTensor& input : call.inputs) views.push_back(input.view());
  return views;
}

testing::AssertionResult IsValid(const OperatorCall& call) {
  Diagnostics diagnostics;
  OperatorDesc desc = call.desc;
  Check(desc, kHighestFeatureLevel, diagnostics);
  if (!diagnostics.has_errors()) return testing::AssertionSuccess();
  const Diagnostic& first = diagnostics.list().front();
  return testing::AssertionFailure()
         << ToString(call) << ": " << first.code << " " << first.pointer << ": " << first.message;
}

// Describes the first wrong element; empty if there is none.
std::string FirstMismatch(const OperatorCall& call, size_t output) {
  const std::vector<ConstTensorView> inputs = ViewsOf(call);
  const ConstTensorView actual = call.outputs[output].view();
  std::string mismatch;
  reference::ForEachIndex(actual.layout.sizes, [&](const Dims& index) {
    if (!mismatch.empty()) return;
    const auto expected = reference::ExpectedAt(call.desc, inputs, output, index);
    const uint64_t bits = reference::BitsAt(actual, index);
    if (expected.Allows(actual.type, bits)) return;
    mismatch = fmt::format("output {} at {} is {:#x}; expected {:#x}", output,
                           ToString(SizesOf(index)), bits, expected.bits);
  });
  return mismatch;
}

void Clear(const TensorView& view) {
  reference::ForEachIndex(view.layout.sizes,
                          [&](const Dims& index) { reference::SetBitsAt(view, index, 0); });
}

}  // namespace

OperatorCall MakeCall(OperatorDesc desc, std::vector<TestTensor> inputs,
                      std::vector<TestTensor> outputs) {
  size_t input = 0;
  size_t output = 0;
  for (const MutableTensorSlot& slot : TensorSlots(desc)) {
    *slot.desc =
        slot.role() == TensorRole::kInput ? inputs[input++].Desc() : outputs[output++].Desc();
  }
  Complete(desc);
  return {std::move(desc), std::move(inputs), std::move(outputs)};
}

void OperatorCall::Run() {
  // A cache keeps its content after its keys, which is zero here.
  const std::vector<TensorSlot> slots = TensorSlots(desc, TensorRole::kOutput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].path.starts_with("OutputPresent")) Clear(outputs[i].mutable_view());
  }
  std::vector<TensorView> output_views;
  for (TestTensor& output : outputs) output_views.push_back(output.mutable_view());
  dmlop::Run(desc, ViewsOf(*this), output_views);
}

std::string ToString(const OperatorCall& call) {
  std::string text(call.desc.name());
  for (size_t i = 0; i < call.desc.fields().size(); ++i) {
    text += std::visit(ValuePrinter{*call.desc.fields()[i]}, call.desc.values()[i]);
  }
  for (const TestTensor& input : call.inputs) text += fmt::format("\n  from {}", ToString(input));
  for (const TestTensor& output : call.outputs) text += fmt::format("\n  to {}", ToString(output));
  return text;
}

testing::AssertionResult OutputsMatchReference(const OperatorCall& call) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const std::string mismatch = FirstMismatch(call, i);
    if (mismatch.empty()) continue;
    return testing::AssertionFailure() << ToString(call) << ": " << mismatch;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult RunsLikeReference(OperatorCall& call) {
  if (const auto valid = IsValid(call); !valid) return valid;
  const std::vector<TestTensor> inputs_before = call.inputs;
  call.Run();
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].bytes() == inputs_before[i].bytes()) continue;
    return testing::AssertionFailure() << ToString(call) << ": input " << i << " was written";
  }
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i].GuardsAreIntact()) continue;
    return testing::AssertionFailure()
           << ToString(call) << ": a gap of output " << i << " was written";
  }
  return OutputsMatchReference(call);
}

bool MayRunInPlace(const OperatorCall& call) {
  if (!call.desc.info().in_place || call.inputs.empty()) return false;
  const TestTensor& input = call.inputs.front();
  const TestTensor& output = call.outputs.front();
  return input.type() == output.type() && input.layout().sizes == output.layout().sizes;
}

testing::AssertionResult RunsLikeReferenceInPlace(const OperatorCall& call) {
  TestTensor tensor = call.outputs[0];
  CopyElements(call.inputs[0], tensor);
  OperatorCall apart = call;
  apart.inputs[0] = tensor;
  apart = MakeCall(apart.desc, apart.inputs, apart.outputs);
  if (const auto right = RunsLikeReference(apart); !right) return right;

  std::vector<ConstTensorView> inputs = ViewsOf(apart);
  inputs[0] = tensor.view();
  std::vector<TestTensor> others(call.outputs.begin() + 1, call.outputs.end());
  std::vector<TensorView> outputs = {tensor.mutable_view()};
  for (TestTensor& other : others) outputs.push_back(other.mutable_view());
  Run(apart.desc, inputs, outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (HaveSameElements(i == 0 ? tensor : others[i - 1], apart.outputs[i])) continue;
    return testing::AssertionFailure() << ToString(apart) << ": differs in place";
  }
  if (!tensor.GuardsAreIntact()) {
    return testing::AssertionFailure() << ToString(apart) << ": a gap was written in place";
  }
  return testing::AssertionSuccess();
}

}  // namespace dmlop
