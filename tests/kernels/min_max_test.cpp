// SPDX-License-Identifier: Apache-2.0
// The best elements of rows and columns on every instruction set, with sizes around the width of
// its vectors.

#include "core/kernels/reduce/min_max.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/exact/mpfr_oracle.h"
#include "tests/support/on_isa.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

// --- the best element by definition --------------------------------------------------------------

template <typename T>
bool IsNan(T x) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return std::isnan(ToDouble(x));
  }
}

// Whether x comes before y; among floats -0 comes before +0 if zeros differ.
template <typename T>
bool IsLess(T x, T y, bool zeros_differ) {
  if constexpr (std::is_integral_v<T>) {
    return x < y;
  } else {
    if (ToDouble(x) != ToDouble(y)) return ToDouble(x) < ToDouble(y);
    return zeros_differ && std::signbit(ToDouble(x)) && !std::signbit(ToDouble(y));
  }
}

// The number of the first best element that is not NaN; -1 if there is none.
template <typename T>
int64_t BestOf(const std::vector<T>& values, MinMax wanted, bool zeros_differ) {
  int64_t best = -1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (IsNan(values[i])) continue;
    const T& other = values[best < 0 ? i : static_cast<size_t>(best)];
    const bool is_better = wanted == MinMax::kMax ? IsLess(other, values[i], zeros_differ)
                                                  : IsLess(values[i], other, zeros_differ);
    if (best < 0 || is_better) best = static_cast<int64_t>(i);
  }
  return best;
}

// --- values --------------------------------------------------------------------------------------

template <typename T>
std::vector<T> InterestingValues() {
  if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {Limits::min(), Limits::max(), T{0}, T{1}, static_cast<T>(-1), T{7}};
  } else {
    const double kInfinity = std::numeric_limits<double>::infinity();
    const double kNan = std::numeric_limits<double>::quiet_NaN();
    std::vector<T> values;
    for (const double x : {-0.0, 0.0, 1.0, -1.0, 0x1p-24, -0x1p-24, kInfinity, -kInfinity, kNan}) {
      values.push_back(FromDouble<T>(x));
    }
    // NaNs of either sign that are closest to infinity, and farthest from it.
    using Bits = KeyOf<T>;
    for (const Bits sign : {Bits{0}, std::numeric_limits<Bits>::min()}) {
      for (const Bits nan : {Bits{KeyOfType<T>::kInfinity + 1}, std::numeric_limits<Bits>::max()}) {
        values.push_back(std::bit_cast<T>(static_cast<Bits>(sign | nan)));
      }
    }
    return values;
  }
}

// A few different values, so that most of them tie; in every fourth case a single value.
template <typename T>
std::vector<T> RandomValues(Engine& engine, int64_t count) {
  const std::vector<T> all = InterestingValues<T>();
  std::vector<T> some;
  const int different = OneIn(engine, 4) ? 1 : UniformInt(engine, 2, 8);
  for (int i = 0; i < different; ++i) some.push_back(OneOf(engine, all));
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = OneOf(engine, some);
  return values;
}

// --- on every instruction set --------------------------------------------------------------------

class MinMaxOnIsa : public OnIsa {};

// The kernels for one type, compared with BestOf.
template <typename T, MinMax kWanted>
class Checks {
 public:
  explicit Checks(Engine& engine) : engine_(engine) {}

  void Row(int64_t count) {
    const std::vector<T> values = RandomValues<T>(engine_, count);
    ExpectBest(values, value_.best_of_row(Data(values), count, kFlipped));
    ExpectFirst(values, index_.best_of_row(Data(values), count, kFlipped));
  }

  void Rows(int64_t rows, int64_t count) {
    const int64_t pitch = count + UniformInt(engine_, 0, 3);
    const std::vector<T> values = RandomValues<T>(engine_, (rows - 1) * pitch + count);
    std::vector<Key> best(static_cast<size_t>(rows), Order::kLeast);
    std::vector<Key> index_best(best.size(), IndexOrder::kLeast);
    value_.best_of_rows(Data(values), count, pitch, rows, kFlipped, best.data());
    index_.best_of_rows(Data(values), count, pitch, rows, kFlipped, index_best.data());
    for (int64_t row = 0; row < rows; ++row) {
      const auto first = values.begin() + row * pitch;
      const std::vector<T> elements(first, first + count);
      ExpectBest(elements, best[static_cast<size_t>(row)]);
      ExpectFirst(elements, index_best[static_cast<size_t>(row)]);
    }
  }

  void Columns(int64_t rows, int64_t columns) {
    const int64_t stride = columns + UniformInt(engine_, 0, 3);
    const std::vector<T> values = RandomValues<T>(engine_, rows * stride);
    const size_t count = static_cast<size_t>(columns);
    std::vector<Key> best(count, Order::kLeast);
    std::vector<Key> index_best(count, IndexOrder::kLeast), index(count);
    value_.best_of_columns(Data(values), rows, stride, columns, kFlipped, best.data());
    index_.index_of_columns(Data(values), rows, stride, columns, 0, kFlipped, index_best.data(),
                            index.data());
    for (size_t c = 0; c < count; ++c) {
      std::vector<T> column;
      for (size_t i = c; i < values.size(); i += static_cast<size_t>(stride)) {
        column.push_back(values[i]);
      }
      ExpectBest(column, best[c]);
      ExpectFirst(column, index_best[c]);
      EXPECT_EQ(static_cast<int64_t>(index[c]), ExpectedIndex(column)) << "column " << c;
    }
  }

 private:
  using Element = Ordered<T>;
  using Order = KeyOrder<Element>;
  using IndexOrder = KeyOrder<Element, kKeysForIndex<Element>>;
  using Key = typename Order::Key;

  static constexpr Key kFlipped = FlippedBits<T>(kWanted);

  static const Element* Data(const std::vector<T>& values) {
    return reinterpret_cast<const Element*>(values.data());
  }

  // The kernel leaves the index unchanged if nothing is better than the least key.
  static int64_t ExpectedIndex(const std::vector<T>& values) {
    const int64_t best = BestOf(values, kWanted, false);
    if (best < 0) return 0;
    const auto element = std::bit_cast<Element>(values[static_cast<size_t>(best)]);
    return IndexOrder::ToKey(element, kFlipped) == IndexOrder::kLeast ? 0 : best;
  }

  static void ExpectBest(const std::vector<T>& values, Key key) {
    const int64_t best = BestOf(values, kWanted, true);
    if (best < 0) {
      EXPECT_EQ(key, Order::kLeast) << "for " << values.size() << " values";
      return;
    }
    const T expected = values[static_cast<size_t>(best)];
    const T actual = std::bit_cast<T>(Order::FromKey(key, kFlipped));
    EXPECT_FALSE(IsNan(actual));
    EXPECT_FALSE(IsLess(actual, expected, true) || IsLess(expected, actual, true))
        << static_cast<int64_t>(key) << " for " << values.size() << " values";
  }

  // The first element with the best index key is the first best element.
  void ExpectFirst(const std::vector<T>& values, Key key) const {
    const int64_t count = std::ssize(values);
    const int64_t first = BestOf(values, kWanted, false);
    if (first < 0) {
      EXPECT_EQ(key, IndexOrder::kLeast) << "for " << count << " values";
      return;
    }
    EXPECT_EQ(index_.first_in_row(Data(values), count, kFlipped, key), first);
  }

  Engine& engine_;
  MinMaxKernels<Element> value_ = MinMaxKernelsFor<Element>();
  MinMaxIndexKernels<Element> index_ = MinMaxIndexKernelsFor<Element>();
};

template <typename Body>
void ForEachKind(Body&& body) {
  const auto both = [&]<typename T>(T) {
    body.template operator()<Checks<T, MinMax::kMax>>();
    body.template operator()<Checks<T, MinMax::kMin>>();
  };
  both(float{});
  both(Half{});
  both(int64_t{});
  both(uint64_t{});
  both(int32_t{});
  both(uint32_t{});
  both(int16_t{});
  both(uint16_t{});
  both(int8_t{});
  both(uint8_t{});
}

TEST_P(MinMaxOnIsa, OfRows) {
  int number = 0;
  ForEachKind([&]<typename Kind>() {
    for (int64_t count = 0; count < 300; ++count) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      Kind(engine).Row(count);
    }
    Engine engine = CaseEngine(number++);
    Kind(engine).Row(UniformInt(engine, 40000, 41000));  // several streams
  });
}

TEST_P(MinMaxOnIsa, OfShortRows) {
  int number = 0;
  ForEachKind([&]<typename Kind>() {
    for (int64_t count = 1; count <= 140; ++count) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      Kind(engine).Rows(UniformInt(engine, 1, 140), count);
    }
  });
}

TEST_P(MinMaxOnIsa, OfColumns) {
  int number = 0;
  ForEachKind([&]<typename Kind>() {
    for (int64_t columns = 1; columns <= 130; ++columns) {
      SCOPED_TRACE(CaseTrace(number));
      Engine engine = CaseEngine(number++);
      Kind(engine).Columns(OneIn(engine, 3) ? UniformInt(engine, 9, 128) : UniformInt(engine, 0, 9),
                           columns);
    }
    Engine engine = CaseEngine(number++);
    Kind(engine).Columns(MinMaxIndexKernels<int8_t>::kMaxRows, 300);
  });
}

INSTANTIATE_TEST_SUITE_P(Isas, MinMaxOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
