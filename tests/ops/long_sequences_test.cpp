// Operators along one axis, on sequences that are long enough for several threads to share one.

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

}  // namespace
}  // namespace dmlop
