// SPDX-License-Identifier: Apache-2.0
// Operators along one axis, on sequences long enough for several threads to share one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/tensor/element.h"
#include "tests/support/desc.h"
#include "tests/support/operator_call.h"
#include "tests/support/random_tensor.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

constexpr int kThreads[] = {1, 2, 3, 8};

class LongSequences : public testing::Test {
 protected:
  template <typename T>
  T* ElementsOf(TestTensor& tensor) {
    return reinterpret_cast<T*>(tensor.mutable_view().data);
  }

  void ExpectOutputs(const OperatorCall& fresh, const std::vector<TestTensor>& expected) {
    for (const int threads : kThreads) {
      SetThreadCount(threads);
      OperatorCall call = fresh;
      call.Run();
      for (size_t i = 0; i < expected.size(); ++i) {
        ASSERT_TRUE(HaveSameElements(call.outputs[i], expected[i])) << threads << " threads";
      }
    }
  }

  // `input` has a NaN where `is_nan` says so.
  template <typename T, typename IsNan>
  void ExpectFirst(DataType type, bool falling, int64_t count, const std::vector<T>& input,
                   const IsNan& is_nan) {
    const int64_t length = std::ssize(input);
    TestTensor tensor(type, PackedLayout({length}));
    std::copy(input.begin(), input.end(), ElementsOf<T>(tensor));
    std::vector<uint32_t> order(input.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (is_nan(input[a]) || is_nan(input[b])) return !is_nan(input[a]) && is_nan(input[b]);
      return falling ? Ordinal(input[b]) < Ordinal(input[a])
                     : Ordinal(input[a]) < Ordinal(input[b]);
    });
    std::vector<TestTensor> expected = {TestTensor(type, PackedLayout({count})),
                                        TestTensor(DataType::kUint32, PackedLayout({count}))};
    for (int64_t k = 0; k < count; ++k) {
      const uint32_t place = order[static_cast<size_t>(k)];
      ElementsOf<T>(expected[0])[k] = input[place];
      ElementsOf<uint32_t>(expected[1])[k] = place;
    }
    OperatorDesc desc = OperatorNamed("TOP_K1");
    Set(desc, "Axis", 0u);
    Set(desc, "K", static_cast<uint32_t>(count));
    Set(desc, "AxisDirection", falling ? 1u : 0u);
    ExpectOutputs(MakeCall(desc, {tensor},
                           {TestTensor(type, PackedLayout({count})),
                            TestTensor(DataType::kUint32, PackedLayout({count}))}),
                  expected);
  }

 private:
  SettingsGuard guard_;
};

// Integers that are small compared with 64 bits, so that their sums are known.
TEST_F(LongSequences, RunningSums) {
  constexpr int64_t kLength = 200003;
  Engine engine = CaseEngine(1);
  TestTensor input(DataType::kFloat32, PackedLayout({kLength}));
  for (int64_t i = 0; i < kLength; ++i) {
    const int64_t large = UniformInt(engine, 0, 999) == 0 ? int64_t{1} << 45 : 1;
    ElementsOf<float>(input)[i] = static_cast<float>(UniformInt(engine, -9, 9) * large);
  }
  for (const bool is_exclusive : {false, true}) {
    for (const bool from_the_end : {false, true}) {
      TestTensor expected = input;
      int64_t sum = 0;
      for (int64_t k = 0; k < kLength; ++k) {
        const int64_t i = from_the_end ? kLength - 1 - k : k;
        const int64_t before = sum;
        sum += static_cast<int64_t>(ElementsOf<float>(input)[i]);
        ElementsOf<float>(expected)[i] = static_cast<float>(is_exclusive ? before : sum);
      }
      OperatorDesc desc = OperatorNamed("CUMULATIVE_SUMMATION");
      Set(desc, "Axis", 0u);
      Set(desc, "AxisDirection", from_the_end ? 1u : 0u);
      Set(desc, "HasExclusiveSum", is_exclusive);
      ExpectOutputs(MakeCall(desc, {input}, {TestTensor(input.type(), input.layout())}),
                    {expected});
    }
  }
}

// An infinity, zeros, and numbers far below the sum, in different parts of the sequence.
TEST_F(LongSequences, RunningSumsOfSpecialNumbers) {
  constexpr int64_t kLength = 200000;
  TestTensor input(DataType::kFloat32, PackedLayout({kLength}));
  float* const x = ElementsOf<float>(input);
  std::fill_n(x, kLength, -0.0f);
  x[70000] = 0x1p-149f;
  x[120000] = 0x1p100f;
  x[130000] = -0x1p100f;
  x[180000] = INFINITY;
  TestTensor expected = input;
  float* const sums = ElementsOf<float>(expected);
  std::fill(sums + 70000, sums + kLength, 0x1p-149f);
  std::fill(sums + 120000, sums + 130000, 0x1p100f);
  std::fill(sums + 180000, sums + kLength, INFINITY);
  OperatorDesc desc = OperatorNamed("CUMULATIVE_SUMMATION");
  Set(desc, "Axis", 0u);
  Set(desc, "AxisDirection", 0u);
  Set(desc, "HasExclusiveSum", false);
  ExpectOutputs(MakeCall(desc, {input}, {TestTensor(input.type(), input.layout())}), {expected});
}

// Powers of two, whose products are known: far beyond any float in between, and 0 in the end.
TEST_F(LongSequences, RunningProducts) {
  constexpr int64_t kLength = 1003;
  constexpr int64_t kSequences = 37;
  Engine engine = CaseEngine(2);
  for (const bool is_exclusive : {false, true}) {
    for (const uint32_t axis : {0u, 1u}) {
      const Layout layout =
          PackedLayout(axis == 1 ? Dims{kSequences, kLength} : Dims{kLength, kSequences});
      TestTensor input(DataType::kFloat32, layout);
      TestTensor expected(DataType::kFloat32, layout);
      for (int64_t s = 0; s < kSequences; ++s) {
        int exponent = 0;
        float sign = 1;
        for (int64_t k = 0; k < kLength; ++k) {
          const int64_t i = axis == 1 ? s * kLength + k : k * kSequences + s;
          const int step = UniformInt(engine, -149, 127) / (k / 100 % 2 == 0 ? 1 : 40);
          float x = std::ldexp(UniformInt(engine, 0, 1) == 0 ? 1.0f : -1.0f, step);
          if (k > 900 + s) x *= 0;
          const float before = std::ldexp(sign, exponent);
          exponent = std::clamp(exponent + step, -100000, 100000);
          sign = x == 0 ? std::copysign(0.0f, sign) : sign;
          sign = std::signbit(x) ? -sign : sign;
          ElementsOf<float>(input)[i] = x;
          ElementsOf<float>(expected)[i] = is_exclusive ? before : std::ldexp(sign, exponent);
        }
      }
      OperatorDesc desc = OperatorNamed("CUMULATIVE_PRODUCT");
      Set(desc, "Axis", axis);
      Set(desc, "AxisDirection", 0u);
      Set(desc, "HasExclusiveProduct", is_exclusive);
      ExpectOutputs(MakeCall(desc, {input}, {TestTensor(input.type(), layout)}), {expected});
    }
  }
}

TEST_F(LongSequences, TheFirstInOrder) {
  constexpr int64_t kLength = 200003;
  Engine engine = CaseEngine(0);
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<Half> halves;
  for (int64_t i = 0; i < kLength; ++i) {
    const int number = UniformInt(engine, -2000, 2000);
    floats.push_back(number == 7 ? NAN : static_cast<float>(number) / 16);
    if (number == 0 && i % 2 == 0) floats.back() = -0.0f;
    integers.push_back(int64_t{number} * 0x0123456789ABCD);
    halves.push_back(ToHalf(number));
  }
  for (const int64_t count : {int64_t{10}, kLength / 2, kLength}) {
    for (const bool falling : {true, false}) {
      ExpectFirst(DataType::kFloat32, falling, count, floats,
                  [](float x) { return std::isnan(x); });
      ExpectFirst(DataType::kInt64, falling, count, integers, [](int64_t) { return false; });
      ExpectFirst(DataType::kFloat16, falling, count, halves, [](Half) { return false; });
    }
  }
}

// Zeros of both signs are equal, as are NaNs, which come up if there are too few numbers.
TEST_F(LongSequences, TheFirstOfManyEquals) {
  std::vector<float> zeros(5000, -1.0f);
  std::vector<float> nans(5000, NAN);
  for (size_t i = 0; i < zeros.size(); i += 7) zeros[i] = i % 3 == 0 ? 0.0f : -0.0f;
  for (size_t i = 4000; i < nans.size(); i += 300) nans[i] = -INFINITY;
  const auto is_nan = [](float x) { return std::isnan(x); };
  for (const bool falling : {true, false}) {
    ExpectFirst(DataType::kFloat32, falling, 10, zeros, is_nan);
    ExpectFirst(DataType::kFloat32, falling, 10, nans, is_nan);
  }
}

}  // namespace
}  // namespace dmlop
