#include "tests/support/operator_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/ops/field_visitor.h"
#include "tests/reference/element.h"
#include "tests/reference/operators.h"

namespace dmlop {
namespace {

// Writes the fields that are not tensors.
struct FieldPrinter : FieldVisitor {
  std::string text;

  template <typename E>
  void Enum(std::string_view, std::string_view, std::span<const std::string_view> names, E& field) {
    text += fmt::format(" {}", names[static_cast<size_t>(*field)]);
  }
  template <typename N>
  void Number(std::string_view name, N& number) {
    text += fmt::format(" {} {}", name, *number);
  }
  template <typename A>
  void Numbers(std::string_view name, A& array) {
    text += fmt::format(" {} {}", name, ToString(*array));
  }
  template <typename S>
  void ScaleAndBias(std::string_view, S& field) {
    if (field) text += fmt::format(" Scale {:a} Bias {:a}", field->scale, field->bias);
  }
};

std::vector<ConstTensorView> InputViews(const OperatorCall& call) {
  std::vector<ConstTensorView> views;
  for (const TestTensor& input : call.inputs) views.push_back(input.view());
  return views;
}

testing::AssertionResult IsValid(const OperatorCall& call) {
  Diagnostics diagnostics;
  Validate(call.desc, kHighestFeatureLevel, diagnostics);
  if (!diagnostics.has_errors()) return testing::AssertionSuccess();
  const Diagnostic& first = diagnostics.list().front();
  return testing::AssertionFailure()
         << ToString(call) << ": " << first.code << " " << first.pointer << ": " << first.message;
}

// Empty, or what the first wrong element is.
std::string FirstMismatch(const OperatorCall& call, size_t output) {
  const std::vector<ConstTensorView> inputs = InputViews(call);
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

}  // namespace

OperatorCall MakeCall(OperatorDesc desc, std::vector<TestTensor> inputs,
                      std::vector<TestTensor> outputs) {
  size_t input = 0;
  size_t output = 0;
  for (const MutableTensorSlot& slot : TensorSlots(desc)) {
    *slot.desc =
        slot.role == TensorRole::kInput ? inputs[input++].Desc() : outputs[output++].Desc();
  }
  Complete(desc);
  return {std::move(desc), std::move(inputs), std::move(outputs)};
}

void OperatorCall::Run() {
  std::vector<TensorView> output_views;
  for (TestTensor& output : outputs) output_views.push_back(output.mutable_view());
  dmlop::Run(desc, InputViews(*this), output_views);
}

std::string ToString(const OperatorCall& call) {
  std::string text = std::string(Name(call.desc)) + VisitAllFields(call.desc, FieldPrinter()).text;
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

testing::AssertionResult RunsLikeReferenceInPlace(const OperatorCall& call) {
  TestTensor tensor = call.outputs[0];
  CopyElements(call.inputs[0], tensor);
  OperatorCall apart = MakeCall(call.desc, {tensor}, call.outputs);
  if (const auto right = RunsLikeReference(apart); !right) return right;

  Run(apart.desc, std::vector{tensor.view()}, std::vector{tensor.mutable_view()});
  if (!HaveSameElements(tensor, apart.outputs[0])) {
    return testing::AssertionFailure() << ToString(apart) << ": differs in place";
  }
  if (!tensor.GuardsAreIntact()) {
    return testing::AssertionFailure() << ToString(apart) << ": a gap was written in place";
  }
  return testing::AssertionSuccess();
}

}  // namespace dmlop
