// SPDX-License-Identifier: Apache-2.0
// Initializers: every value follows from the one before, and long sequences report progress.

#include "core/document/random_values.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <vector>

#include "core/base/progress.h"
#include "tests/compare/tensor_of.h"

namespace dmlop {
namespace {

// More than two threads and two steps take, and a multiple of neither.
constexpr int64_t kCount = (int64_t{3} << 20) + 7;

template <typename T>
T Value(int number) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(number);
  } else {
    return static_cast<T>(number);
  }
}

// The sum, rounded or wrapped to the type.
template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_same_v<T, Half>) {
    return ToHalf(static_cast<double>(ToFloat(a)) + static_cast<double>(ToFloat(b)));
  } else if constexpr (std::is_integral_v<T>) {
    T sum;
    __builtin_add_overflow(a, b, &sum);
    return sum;
  } else {
    return a + b;
  }
}

class Filling : public testing::TestWithParam<DataType> {};

TEST_P(Filling, EachValueIsTheOneBeforePlusDelta) {
  VisitDataType(AllTypes(), GetParam(), [&]<typename T>() {
    const T delta = Value<T>(3);
    std::vector<T> actual(kCount);
    FillWith({BytesOf(Value<T>(100)), BytesOf(delta)}, GetParam(), kCount,
             reinterpret_cast<std::byte*>(actual.data()));
    T expected = Value<T>(100);
    for (int64_t i = 0; i < kCount; ++i, expected = Sum(expected, delta)) {
      const T value = actual[static_cast<size_t>(i)];
      ASSERT_EQ(std::memcmp(&value, &expected, sizeof(T)), 0) << i;
    }
  });
}

TEST_P(Filling, ConstantsAreAllTheSame) {
  VisitDataType(AllTypes(), GetParam(), [&]<typename T>() {
    const T expected = Value<T>(5);
    std::vector<T> actual(kCount);
    FillWith({BytesOf(expected), std::nullopt}, GetParam(), kCount,
             reinterpret_cast<std::byte*>(actual.data()));
    for (const T& value : actual) ASSERT_EQ(std::memcmp(&value, &expected, sizeof(T)), 0);
  });
}

TEST_P(Filling, SaysHowFarItIs) {
  for (const bool constant : {true, false}) {
    const ElementBytes bytes{};
    std::vector<std::byte> to(static_cast<size_t>(kCount) * ByteWidth(GetParam()));
    std::mutex mutex;
    int steps = 0;
    int64_t most = 0;
    WatchWork([&](const Work& work) {
      const std::lock_guard lock(mutex);
      ++steps;
      most = std::max(most, work.done_bytes());
      EXPECT_EQ(work.total_bytes(), static_cast<int64_t>(to.size()));
    });
    FillWith({bytes, constant ? std::nullopt : std::optional(bytes)}, GetParam(), kCount,
             to.data());
    WatchWork(nullptr);
    EXPECT_GT(steps, 2);
    EXPECT_EQ(most, static_cast<int64_t>(to.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Filling, testing::ValuesIn(TypesOf(AllTypes())), TypeName);

}  // namespace
}  // namespace dmlop
