// SPDX-License-Identifier: Apache-2.0
// The same bits on every instruction set, with any number of threads, from packed and from strided
// tensors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/kernels/copy/stream.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_calls.h"
#include "tests/support/random_tensor.h"
#include "tests/support/reduce_forms.h"
#include "tests/support/reduce_functions.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

void Select(std::string_view isa, int threads) {
  ASSERT_TRUE(SelectIsa(isa));
  SetThreadCount(threads);
}

TestTensor InPackedLayout(const TestTensor& tensor) {
  return TestTensor(tensor.type(), PackedLayout(tensor.layout().sizes));
}

// The same call with packed tensors, before it runs.
OperatorCall Packed(const OperatorCall& call) {
  std::vector<TestTensor> inputs;
  for (const TestTensor& input : call.inputs) {
    inputs.push_back(InPackedLayout(input));
    CopyElements(input, inputs.back());
  }
  std::vector<TestTensor> outputs;
  for (const TestTensor& output : call.outputs) outputs.push_back(InPackedLayout(output));
  return MakeCall(call.desc, std::move(inputs), std::move(outputs));
}

void ExpectSameOutputs(const OperatorCall& actual, const OperatorCall& expected) {
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    ASSERT_TRUE(HaveSameElements(actual.outputs[i], expected.outputs[i]))
        << "output " << i << " of " << ToString(actual) << "\n  and of " << ToString(expected)
        << "\n  with " << CurrentIsa() << " and " << ThreadCount() << " threads";
  }
}

// Compares all bytes, including those of gaps.
void ExpectSameMemory(const OperatorCall& actual, const OperatorCall& expected) {
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    const std::vector<std::byte>& bytes = expected.outputs[i].bytes();
    ASSERT_EQ(std::memcmp(actual.outputs[i].bytes().data(), bytes.data(), bytes.size()), 0)
        << "output " << i << " of " << ToString(actual) << "\n  with " << CurrentIsa() << " and "
        << ThreadCount() << " threads";
  }
}

// --- small tensors -------------------------------------------------------------------------------

class SmallCalls : public testing::TestWithParam<RandomOperator> {
 protected:
  SettingsGuard guard_;
};

TEST_P(SmallCalls, GiveTheSameBits) {
  for (int i = 0; i < ShareOf(150, GetParam()); ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    const OperatorCall fresh = GetParam().draw(engine);
    const OperatorCall fresh_packed = Packed(fresh);
    OperatorCall first = fresh;
    Select(SupportedIsas().front(), 1);
    first.Run();
    for (const std::string_view isa : SupportedIsas()) {
      for (const OperatorCall& form : {fresh, fresh_packed}) {
        OperatorCall call = form;
        Select(isa, OneOf(engine, kThreadCounts));
        call.Run();
        ASSERT_NO_FATAL_FAILURE(ExpectSameOutputs(call, first));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, SmallCalls, testing::ValuesIn(RandomOperators()),
                         CaseName<RandomOperator>);

// --- reductions that threads share ---------------------------------------------------------------

class SharedReductions : public testing::TestWithParam<ReduceFunction> {
 protected:
  SettingsGuard guard_;
};

TEST_P(SharedReductions, GiveTheSameBits) {
  const Dims sizes{64, 20011};  // enough for eight threads
  const std::vector<uint32_t> axes_of_cases[] = {{0}, {1}, {0, 1}};
  for (int i = 0; i < 3; ++i) {
    SCOPED_TRACE(CaseTrace(i));
    Engine engine = CaseEngine(i);
    TestTensor input(DataType::kFloat32, PackedLayout(sizes));
    FillRandomly(engine, input);
    OperatorCall first = ReduceCall(GetParam(), axes_of_cases[i], input);
    Select("portable", 1);
    first.Run();
    const StrideForm& form = kStrideForms[i];
    ASSERT_TRUE(GivesTheSame(first, input, PackedStrides, kThreadCounts));
    ASSERT_TRUE(
        GivesTheSame(first, WithStrides(form.input(sizes), input), form.output, kThreadCounts));
  }
}

INSTANTIATE_TEST_SUITE_P(Functions, SharedReductions, testing::ValuesIn(AllReduceFunctions()),
                         FunctionName);

// --- outputs that bypass the caches --------------------------------------------------------------

struct TensorForm {
  DataType type;
  Dims sizes;
  Dims strides = {};  // empty if packed
};

TestTensor Make(const TensorForm& form) {
  const Dims strides = form.strides.empty() ? PackedStrides(form.sizes) : form.strides;
  return TestTensor(form.type, {form.sizes, strides}, 1);
}

struct LargeCase {
  std::string name;
  OperatorDesc desc;
  std::vector<TensorForm> inputs;
  std::vector<TensorForm> outputs;

  friend void PrintTo(const LargeCase& large, std::ostream* out) { *out << large.name; }
};

OperatorDesc ScaledBy(float scale, float bias) {
  OperatorDesc desc = OperatorNamed("ELEMENT_WISE_IDENTITY");
  Set(desc, "ScaleBias", ScaleBias{scale, bias});
  return desc;
}

OperatorDesc JoinAlong(uint32_t axis) {
  OperatorDesc desc = OperatorNamed("JOIN");
  Set(desc, "Axis", axis);
  Set(desc, "InputTensors", std::vector<TensorDesc>(3));
  return desc;
}

OperatorDesc SplitAlong(uint32_t axis) {
  OperatorDesc desc = OperatorNamed("SPLIT");
  Set(desc, "Axis", axis);
  Set(desc, "OutputTensors", std::vector<TensorDesc>(3));
  return desc;
}

OperatorDesc ReduceAlong(ReduceFunction function, uint32_t axis) {
  OperatorDesc desc = OperatorNamed("REDUCE");
  Set(desc, "Function", function);
  Set(desc, "Axes", {axis});
  return desc;
}

OperatorDesc Windows(const std::vector<uint32_t>& sizes) {
  OperatorDesc desc = OperatorNamed("UNFOLD");
  const std::vector<uint32_t> ones(sizes.size(), 1);
  Set(desc, "WindowSizes", sizes);
  Set(desc, "Strides", ones);
  Set(desc, "Dilations", ones);
  Set(desc, "StartPadding", ones);
  Set(desc, "EndPadding", ones);
  return desc;
}

std::vector<LargeCase> LargeCases() {
  using enum DataType;
  using enum ReduceFunction;
  return {
      {"CopyOfRows",
       OperatorNamed("ELEMENT_WISE_IDENTITY"),
       {{kInt64, {4001, 527}, {530, 1}}},
       {{kInt64, {4001, 527}}}},
      {"Transpose1",
       OperatorNamed("ELEMENT_WISE_IDENTITY"),
       {{kUint8, {4099, 4100}, {1, 4099}}},
       {{kUint8, {4099, 4100}}}},
      {"Transpose4",
       OperatorNamed("ELEMENT_WISE_IDENTITY"),
       {{kFloat32, {2049, 2050}, {1, 2049}}},
       {{kFloat32, {2049, 2050}}}},
      {"ScaleBias4", ScaledBy(-1.5f, 0.3f), {{kFloat32, {4200001}}}, {{kFloat32, {4200001}}}},
      {"ScaleBias4Transposed",
       ScaledBy(0.7f, 3.0f),
       {{kFloat32, {2049, 2050}, {1, 2049}}},
       {{kFloat32, {2049, 2050}}}},
      {"ScaleBias2", ScaledBy(1.1f, -1e-4f), {{kFloat16, {8400001}}}, {{kFloat16, {8400001}}}},
      {"ScaleBias1", ScaledBy(-0.9f, 2.5f), {{kInt8, {16800001}}}, {{kInt8, {16800001}}}},
      {"JoinOfNarrowRows",
       JoinAlong(1),
       {{kFloat32, {280001, 3}}, {kFloat32, {280001, 5}}, {kFloat32, {280001, 7}}},
       {{kFloat32, {280001, 15}}}},
      {"JoinOfWideRows",
       JoinAlong(1),
       {{kFloat16, {8001, 256}}, {kFloat16, {8001, 33}, {40, 1}}, {kFloat16, {8001, 800}}},
       {{kFloat16, {8001, 1089}}}},
      {"SplitIntoNarrowRows",
       SplitAlong(1),
       {{kUint8, {1200001, 15}}},
       {{kUint8, {1200001, 3}}, {kUint8, {1200001, 5}}, {kUint8, {1200001, 7}}}},
      {"SplitOfTheFirst",
       SplitAlong(0),
       {{kFloat32, {13, 700001}}},
       {{kFloat32, {6, 700001}}, {kFloat32, {1, 700001}}, {kFloat32, {6, 700001}}}},
      {"UnfoldOfPlanes",
       Windows({3, 3}),
       {{kFloat32, {2, 10, 162, 161}}},
       {{kFloat32, {2, 90, 162 * 161}}}},
      {"UnfoldOfStridedLines",
       Windows({3}),
       {{kFloat16, {1, 4, 800001}, {1, 1, 4}}},
       {{kFloat16, {1, 12, 800001}}}},
      {"ReduceToMax", ReduceAlong(kMax, 0), {{kFloat32, {2, 4200001}}}, {{kFloat32, {1, 4200001}}}},
      {"ReduceToIndex",
       ReduceAlong(kArgMin, 0),
       {{kFloat32, {2, 2100001}}},
       {{kInt64, {1, 2100001}}}},
  };
}

// Any bits except those of infinities and NaN.
void FillWithNumbers(Engine& engine, TestTensor& tensor) {
  const TensorView view = tensor.mutable_view();
  const int64_t width = static_cast<int64_t>(ByteWidth(view.type));
  const int64_t bytes = Extent(view.layout) * width;
  std::generate_n(view.data, bytes, [&] { return static_cast<std::byte>(engine()); });
  constexpr std::byte kTopOfExponent{0x40};
  for (int64_t i = width - 1; i < bytes; i += width) view.data[i] &= ~kTopOfExponent;
}

class LargeCalls : public testing::TestWithParam<LargeCase> {
 protected:
  SettingsGuard guard_;
};

TEST_P(LargeCalls, GiveTheSameBits) {
  SCOPED_TRACE(CaseTrace(0));
  Engine engine = CaseEngine(0);
  std::vector<TestTensor> inputs;
  for (const TensorForm& form : GetParam().inputs) {
    inputs.push_back(Make(form));
    FillWithNumbers(engine, inputs.back());
  }
  std::vector<TestTensor> outputs;
  int64_t bytes = 0;
  for (const TensorForm& form : GetParam().outputs) {
    outputs.push_back(Make(form));
    bytes += Product(form.sizes) * static_cast<int64_t>(ByteWidth(form.type));
  }
  ASSERT_GE(bytes, kStreamBytes);

  OperatorCall first = MakeCall(GetParam().desc, std::move(inputs), outputs);
  OperatorCall call = first;
  OperatorCall packed = Packed(first);
  const auto is_strided = [](const TensorForm& form) { return !form.strides.empty(); };
  const bool has_two_forms =
      std::any_of(GetParam().inputs.begin(), GetParam().inputs.end(), is_strided);
  Select("portable", 1);
  first.Run();
  for (const std::string_view isa : SupportedIsas()) {
    for (const int threads : kThreadCounts) {
      if (!IsInShare()) continue;
      Select(isa, threads);
      call.outputs = outputs;
      call.Run();
      ASSERT_NO_FATAL_FAILURE(ExpectSameMemory(call, first));
    }
    if (!has_two_forms) continue;
    packed.Run();
    ASSERT_NO_FATAL_FAILURE(ExpectSameOutputs(packed, first));
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, LargeCalls, testing::ValuesIn(LargeCases()),
                         CaseName<LargeCase>);

}  // namespace
}  // namespace dmlop
