// SPDX-License-Identifier: Apache-2.0
// Poolings with windows so large that they slide: engine against reference, on any threads.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/engine/window/sliding_windows.h"
#include "core/tensor/element.h"
#include "tests/reference/element.h"
#include "tests/reference/operators.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

using Numbers = std::vector<uint32_t>;

struct Form {
  std::string name;
  Dims sizes;
  Numbers window, strides, start, end, dilations;

  PoolDims dims() const {
    PoolDims all(2);
    for (size_t d = 0; d < all.size(); ++d) all[d].size = sizes[d];
    for (size_t d = 0; d < window.size(); ++d) {
      all.push_back({sizes[d + 2], window[d], strides[d], dilations[d], start[d], end[d]});
    }
    return all;
  }
  Dims Pooled() const {
    Dims pooled = {sizes[0], sizes[1]};
    for (size_t d = 0; d < window.size(); ++d) {
      const int64_t extent = int64_t{window[d] - 1} * dilations[d] + 1;
      pooled.push_back((sizes[d + 2] + start[d] + end[d] - extent) / strides[d] + 1);
    }
    return pooled;
  }
};

const Form kForms[] = {
    {"a row", {1, 2, 1, 1600}, {1, 1100}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {"a padded row", {1, 1, 1, 1500}, {1, 1200}, {1, 2}, {0, 1000}, {0, 700}, {1, 1}},
    {"a row with gaps", {1, 1, 2, 4500}, {1, 1100}, {1, 2}, {1, 999}, {0, 500}, {1, 3}},
    {"planes", {2, 1, 70, 61}, {36, 33}, {1, 1}, {5, 0}, {0, 7}, {1, 1}},
    {"planes with gaps", {1, 1, 110, 100}, {40, 38}, {1, 1}, {5, 6}, {30, 7}, {2, 2}},
    {"more outputs than elements", {1, 1, 50, 40}, {45, 40}, {1, 1}, {44, 39}, {44, 39}, {1, 1}},
    {"volumes", {1, 1, 14, 13, 12}, {11, 10, 10}, {1, 1, 1}, {5, 5, 0}, {5, 5, 5}, {1, 1, 1}},
};

// --- values --------------------------------------------------------------------------------------

enum class Values { kTies, kWide, kSpecial, kZeros };
constexpr Values kValues[] = {Values::kTies, Values::kWide, Values::kSpecial, Values::kZeros};

double Draw(Values values, Engine& engine) {
  const double few = UniformInt(engine, 0, 8) - 4;
  switch (values) {
    case Values::kTies:
      return few / 4;
    case Values::kWide:
      return few * std::ldexp(1.0, UniformInt(engine, -12, 12));
    case Values::kSpecial:
      if (OneIn(engine, 500)) return few < 0 ? -INFINITY : few > 0 ? INFINITY : NAN;
      return few;
    case Values::kZeros:
      return OneIn(engine, 900) ? 0.0 : -0.0;
  }
  return 0;
}

TestTensor TensorOf(DataType type, const Dims& sizes, Values values, Engine& engine) {
  TestTensor tensor(type, PackedLayout(sizes), 1);
  reference::ForEachIndex(sizes, [&](const Dims& index) {
    const bool is_float = type == DataType::kFloat32 || type == DataType::kFloat16;
    const double value = Draw(is_float ? values : Values::kTies, engine);
    const ElementBytes bytes =
        ConvertElement(static_cast<float>(is_float ? value : 4 * value + 4), type);
    std::memcpy(reference::Address(tensor.mutable_view(), index), bytes.data(), ByteWidth(type));
  });
  return tensor;
}

// --- operators -----------------------------------------------------------------------------------

struct Pooling {
  std::string name;
  std::string_view op;
  DataType type = DataType::kFloat32;
  uint32_t number = 0;  // of its own field: P, or IncludePadding
  std::vector<DataType> outputs = {};

  bool is_gradient() const { return op.ends_with("GRAD"); }
  friend void PrintTo(const Pooling& pooling, std::ostream* out) { *out << pooling.name; }
};

std::vector<Pooling> Poolings() {
  using enum DataType;
  return {
      {"Average", "AVERAGE_POOLING1", kFloat32, 0},
      {"PaddedAverage", "AVERAGE_POOLING1", kFloat16, 1},
      {"L1", "LP_POOLING1", kFloat16, 1},
      {"L2", "LP_POOLING1", kFloat32, 2},
      {"L3", "LP_POOLING1", kFloat32, 3},
      {"L100000", "LP_POOLING1", kFloat16, 100000},
      {"Maximum", "MAX_POOLING", kFloat16},
      {"Winner", "MAX_POOLING2", kFloat32, 0, {kFloat32, kUint64}},
      {"WinnerOfIntegers", "MAX_POOLING2", kUint8, 0, {kUint8, kUint32}},
      {"QuantizedAverage", "QUANTIZED_LINEAR_AVERAGE_POOLING", kInt8, 1},
      {"AverageGradient", "AVERAGE_POOLING_GRAD", kFloat32, 0},
      {"PaddedAverageGradient", "AVERAGE_POOLING_GRAD", kFloat16, 1},
      {"MaximumGradient", "MAX_POOLING_GRAD", kFloat32},
  };
}

OperatorDesc DescOf(const Pooling& pooling, const Form& form) {
  OperatorDesc desc = OperatorNamed(pooling.op);
  for (const Field* field : TensorFieldsOf(desc.info())) {
    if (field->name == "OutputIndicesTensor" && !pooling.outputs.empty()) desc.AddTensor(*field);
  }
  Set(desc, "WindowSize", form.window);
  Set(desc, "Strides", form.strides);
  Set(desc, "StartPadding", form.start);
  Set(desc, "EndPadding", form.end);
  if (HasField(desc, "Dilations")) Set(desc, "Dilations", form.dilations);
  if (HasField(desc, "P")) Set(desc, "P", pooling.number);
  if (HasField(desc, "IncludePadding")) Set(desc, "IncludePadding", pooling.number != 0);
  return desc;
}

OperatorCall CallOf(const Pooling& pooling, const Form& form, Values values) {
  Engine engine = TestEngine();
  const auto tensor = [&](const Dims& sizes) {
    return TensorOf(pooling.type, sizes, values, engine);
  };
  std::vector<TestTensor> inputs, outputs;
  if (pooling.op != "AVERAGE_POOLING_GRAD") inputs.push_back(tensor(form.sizes));
  if (pooling.is_gradient()) inputs.push_back(tensor(form.Pooled()));
  if (pooling.op.starts_with("QUANTIZED")) {
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(TestTensor(DataType::kFloat32, PackedLayout({1})));
      reference::SetBitsAt(inputs.back().mutable_view(), {0},
                           reference::ToBits(i == 0 ? 3.0f : 0.7f));
    }
  }
  for (const DataType type :
       pooling.outputs.empty() ? std::vector{pooling.type} : pooling.outputs) {
    outputs.emplace_back(type, PackedLayout(pooling.is_gradient() ? form.sizes : form.Pooled()), 1);
  }
  return MakeCall(DescOf(pooling, form), std::move(inputs), std::move(outputs));
}

// --- tests ---------------------------------------------------------------------------------------

class LargeWindows : public testing::TestWithParam<Pooling> {
 protected:
  SettingsGuard guard_;
};

bool IsFor(const Form& form, const OperatorDesc& desc) {
  const bool has_gaps = form.dilations != Numbers(form.dilations.size(), 1);
  return !has_gaps || HasField(desc, "Dilations");
}

void ExpectReferenceAt(const OperatorCall& call, const Dims& index) {
  std::vector<ConstTensorView> inputs;
  for (const TestTensor& input : call.inputs) inputs.push_back(input.view());
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    const ConstTensorView output = call.outputs[i].view();
    const auto expected = reference::ExpectedAt(call.desc, inputs, i, index);
    const uint64_t bits = reference::BitsAt(output, index);
    EXPECT_TRUE(expected.Allows(output.type, bits))
        << "output " << i << " at " << ToString(index) << " has the bits " << bits;
  }
}

TEST_P(LargeWindows, AgreeWithReferenceHereAndThere) {
  const int64_t places = GetParam().is_gradient() ? 2 : 20;
  size_t kind = GetParam().name.size();
  for (const Form& form : kForms) {
    SCOPED_TRACE(form.name);
    if (!IsFor(form, DescOf(GetParam(), form))) continue;
    OperatorCall call = CallOf(GetParam(), form, kValues[kind++ % std::size(kValues)]);
    call.Run();
    const Dims& sizes = call.outputs[0].view().layout.sizes;
    const int64_t last = Product(sizes) - 1;
    for (int64_t i = 0; i <= places; ++i) {
      ExpectReferenceAt(call, IndexOf(sizes, last * i / places));
    }
  }
}

TEST_P(LargeWindows, GiveTheSameBitsOnAnyThreads) {
  for (const Form& form : kForms) {
    OperatorCall call = CallOf(GetParam(), form, Values::kWide);
    if (!IsFor(form, call.desc)) continue;
    OperatorCall other = call;
    SetThreadCount(1);
    call.Run();
    SetThreadCount(5);
    other.Run();
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      EXPECT_TRUE(HaveSameElements(call.outputs[i], other.outputs[i])) << form.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, LargeWindows, testing::ValuesIn(Poolings()), CaseName<Pooling>);

TEST(LargeWindowForms, Slide) {
  for (const Form& form : kForms) {
    const Dims none = Dims::Filled(form.sizes.size(), 0);
    EXPECT_TRUE(TapAxes(form.dims(), none, form.Pooled()).AreLarge()) << form.name;
  }
}

}  // namespace
}  // namespace dmlop
