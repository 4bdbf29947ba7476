// SPDX-License-Identifier: Apache-2.0
// Sums and products of integers modulo 2^width, on every instruction set.

#include "core/kernels/reduce/integer_fold.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/kernels/kernel_cases.h"

namespace dmlop {
namespace {

constexpr IntegerFold kFolds[] = {IntegerFold::kSum, IntegerFold::kSumOfMagnitudes,
                                  IntegerFold::kSumOfSquares, IntegerFold::kProduct};

// Adds one element by definition: in 128 bits, of which the type keeps the low ones.
template <typename T>
T Step(IntegerFold fold, T state, T element) {
  const __int128 x = element;
  __int128 term = x;
  if (fold == IntegerFold::kSumOfMagnitudes && x < 0) term = -x;
  if (fold == IntegerFold::kSumOfSquares) {
    return static_cast<T>(static_cast<unsigned __int128>(x) * static_cast<unsigned __int128>(x) +
                          static_cast<unsigned __int128>(state));
  }
  const auto a = static_cast<unsigned __int128>(state);
  const auto b = static_cast<unsigned __int128>(term);
  return static_cast<T>(fold == IntegerFold::kProduct ? a * b : a + b);
}

// Kernels take integers for unsigned ones, which are their own magnitudes.
template <typename T>
IntegerFoldKernels<std::make_unsigned_t<T>> KernelsOf(IntegerFold fold) {
  const bool is_sum = std::is_unsigned_v<T> && fold == IntegerFold::kSumOfMagnitudes;
  return IntegerFoldKernelsFor<std::make_unsigned_t<T>>(is_sum ? IntegerFold::kSum : fold);
}

template <typename T>
auto* Bits(T* integers) {
  using Unsigned = std::make_unsigned_t<std::remove_const_t<T>>;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Unsigned, Unsigned>*>(
      integers);
}

template <typename Body>
void ForEachInteger(Body&& body) {
  body.template operator()<int32_t>();
  body.template operator()<uint32_t>();
  body.template operator()<int64_t>();
  body.template operator()<uint64_t>();
}

// Odd numbers, whose products never become zero, with the least and greatest numbers among them.
template <typename T>
std::vector<T> DrawIntegers(Engine& engine, int64_t count) {
  std::vector<T> values;
  for (int64_t i = 0; i < count; ++i) {
    const T value = static_cast<T>(engine() | 1);
    values.push_back(OneIn(engine, 40) ? std::numeric_limits<T>::max() : value);
  }
  if (OneIn(engine, 4)) values.back() = std::numeric_limits<T>::min();
  return values;
}

class IntegerFoldOnIsa : public OnIsa {};

TEST_P(IntegerFoldOnIsa, Rows) {
  ForEachInteger([]<typename T>() {
    int number = 0;
    for (const int64_t count : kCounts) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      const std::vector<T> row = DrawIntegers<T>(engine, count);
      for (const IntegerFold fold : kFolds) {
        T expected = T{7};
        for (const T x : row) expected = Step(fold, expected, x);
        T state = T{7};
        KernelsOf<T>(fold).fold_row(Bits(row.data()), count, Bits(&state));
        EXPECT_EQ(state, expected) << count << " elements";
      }
    }
  });
}

TEST_P(IntegerFoldOnIsa, Columns) {
  ForEachInteger([]<typename T>() {
    for (int number = 0; number < 60; ++number) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number);
      const int64_t rows = UniformInt(engine, 1, 50);
      const int64_t columns = UniformInt(engine, 1, 40);
      const int64_t stride = columns + UniformInt(engine, 0, 3);
      const std::vector<T> tile = DrawIntegers<T>(engine, rows * stride);
      for (const IntegerFold fold : kFolds) {
        std::vector<T> states(static_cast<size_t>(columns), T{3});
        std::vector<T> expected = states;
        KernelsOf<T>(fold).fold_columns(Bits(tile.data()), rows, stride, columns,
                                        Bits(states.data()));
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            T& state = expected[static_cast<size_t>(c)];
            state = Step(fold, state, tile[static_cast<size_t>(r * stride + c)]);
          }
        }
        EXPECT_EQ(states, expected);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Isas, IntegerFoldOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
