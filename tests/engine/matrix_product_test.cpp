// SPDX-License-Identifier: Apache-2.0
// Matrix products against exact arithmetic, on every instruction set: families of numbers, long
// sums, several products and addends in one sum, and columns packed beforehand.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/engine/matrix/matrix_product.h"
#include "core/kernels/matrix/product.h"
#include "tests/exact/mpfr_oracle.h"
#include "tests/support/float_families.h"
#include "tests/support/on_isa.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

constexpr mpfr_prec_t kPrecision = 1200;  // holds every sum and its product with a FLOAT32 number

template <typename T>
constexpr DataType kType = DataType::kFloat32;
template <>
constexpr DataType kType<Half> = DataType::kFloat16;
template <>
constexpr DataType kType<double> = DataType::kFloat64;

template <typename T>
const std::byte* BytesOf(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

// Row-major or, if transposed, column-major.
template <typename T>
struct Matrix {
  int64_t rows, columns;
  bool is_transposed;
  std::vector<T> values;

  T& at(int64_t r, int64_t c) {
    return values[static_cast<size_t>(is_transposed ? c * rows + r : r * columns + c)];
  }
  const T& at(int64_t r, int64_t c) const { return const_cast<Matrix*>(this)->at(r, c); }
  int64_t row_stride() const { return is_transposed ? 1 : columns; }
  int64_t column_stride() const { return is_transposed ? rows : 1; }

  MatrixView RowLines() const {
    return {BytesOf(values), kType<T>, {{rows}, {row_stride()}}, {{columns}, {column_stride()}}};
  }
  MatrixView ColumnLines() const {
    return {BytesOf(values), kType<T>, {{columns}, {column_stride()}}, {{rows}, {row_stride()}}};
  }
  BasicMatrixPlaces<const std::byte> Places() const {
    return {BytesOf(values), kType<T>, {{rows}, {row_stride()}}, {{columns}, {column_stride()}}};
  }
};

template <typename T>
Matrix<T> Empty(Engine& engine, int64_t rows, int64_t columns) {
  return {rows, columns, OneIn(engine, 2), std::vector<T>(static_cast<size_t>(rows * columns))};
}

template <typename T, typename DrawOne>
Matrix<T> Filled(Engine& engine, int64_t rows, int64_t columns, DrawOne&& draw) {
  Matrix<T> matrix = Empty<T>(engine, rows, columns);
  for (T& value : matrix.values) value = FromDouble<T>(draw());
  return matrix;
}

template <typename T>
struct Problem {
  Matrix<T> a, b;
  float factor = 1;
  std::vector<Matrix<T>> addends = {};
  float addend_factor = 1;
};

// The expected result for finite numbers.
template <typename Result, typename T>
Result Expected(const Problem<T>& problem, int64_t r, int64_t c) {
  Real sum(0.0, kPrecision);
  bool all_are_negative_zeros = true;
  for (int64_t k = 0; k < problem.a.columns; ++k) {
    const double product = ToDouble(problem.a.at(r, k)) * ToDouble(problem.b.at(k, c));
    all_are_negative_zeros &= product == 0 && std::signbit(product);
    mpfr_add_d(sum.get(), sum.get(), product, MPFR_RNDN);
  }
  const bool is_zero = mpfr_zero_p(sum.get()) != 0;
  double plain = problem.factor * (is_zero                   ? (all_are_negative_zeros ? -0.0 : 0.0)
                                   : mpfr_sgn(sum.get()) < 0 ? -1.0
                                                             : 1.0);
  bool are_zeros = is_zero || problem.factor == 0;
  mpfr_mul_d(sum.get(), sum.get(), problem.factor, MPFR_RNDN);
  for (const Matrix<T>& addend : problem.addends) {
    const double term = ToDouble(addend.at(r, c)) * double{problem.addend_factor};
    plain += term;
    are_zeros &= term == 0;
    mpfr_add_d(sum.get(), sum.get(), term, MPFR_RNDN);
  }
  if (mpfr_zero_p(sum.get()) == 0) return RoundReal<Result>(sum);
  return FromDouble<Result>(are_zeros ? plain : 0.0);
}

template <typename T>
MatrixTerms TermsOf(const Problem<T>& problem) {
  MatrixTerms terms{problem.factor, {}};
  for (const Matrix<T>& addend : problem.addends) {
    terms.addends.push_back({addend.Places(), problem.addend_factor});
  }
  return terms;
}

template <typename Result>
MatrixOutput OutputIn(Matrix<Result>& matrix) {
  return {reinterpret_cast<std::byte*>(matrix.values.data()),
          kType<Result>,
          {{matrix.rows}, {matrix.row_stride()}},
          {{matrix.columns}, {matrix.column_stride()}}};
}

template <typename Result, typename T>
void ExpectExact(const Problem<T>& problem, const Matrix<Result>& actual) {
  for (int64_t r = 0; r < actual.rows; ++r) {
    for (int64_t c = 0; c < actual.columns; ++c) {
      const Result expected = Expected<Result>(problem, r, c);
      ASSERT_EQ(BitsOf(actual.at(r, c)), BitsOf(expected))
          << fmt::format("[{}, {}] of {} products: {}, expected {}", r, c, problem.a.columns,
                         ToDouble(actual.at(r, c)), ToDouble(expected));
    }
  }
}

template <typename Result, typename T>
void CheckProduct(Engine& engine, const Problem<T>& problem) {
  Matrix<Result> actual = Empty<Result>(engine, problem.a.rows, problem.b.columns);
  const ViewLines rows(problem.a.RowLines());
  const ViewLines columns(problem.b.ColumnLines());
  MultiplyMatrices(rows, columns, TermsOf(problem), OutputIn(actual));
  ExpectExact(problem, actual);
}

class MatrixProductOnIsa : public OnIsa {};

template <typename T>
void CheckFamilies(Engine& engine) {
  for (const FloatFamily& family : kFamilies) {
    SCOPED_TRACE(family.name);
    const auto draw = [&] { return Draw<T>(family, engine); };
    for (const int64_t length : {1, 2, 31, 256, 257, 700}) {
      const int64_t rows = UniformInt(engine, 1, 10);
      const int64_t columns = UniformInt(engine, 1, 30);
      Problem<T> problem{Filled<T>(engine, rows, length, draw),
                         Filled<T>(engine, length, columns, draw)};
      CheckProduct<T>(engine, problem);
      const float factors[] = {0.1f, -1.0f, 0.0f, -0.0f, 0x1p-100f};
      problem.factor = OneOf(engine, factors);
      problem.addend_factor = OneOf(engine, factors);
      for (int i = UniformInt(engine, 0, 2); i > 0; --i) {
        problem.addends.push_back(Filled<T>(engine, rows, columns, draw));
      }
      CheckProduct<T>(engine, problem);
    }
  }
}

TEST_P(MatrixProductOnIsa, FamiliesOfNumbers) {
  Engine engine = TestEngine();
  CheckFamilies<float>(engine);
  CheckFamilies<Half>(engine);
}

// Integers, whose sums are often zeros and ties, and sparse ones.
TEST_P(MatrixProductOnIsa, ExactSums) {
  Engine engine = TestEngine();
  for (const int most : {1, 3, 2000}) {
    const auto draw = [&] {
      return OneIn(engine, 3) ? WithRandomSign(engine, 0.0)
                              : static_cast<double>(UniformInt(engine, -most, most));
    };
    Problem<Half> problem{Filled<Half>(engine, 9, 40, draw), Filled<Half>(engine, 40, 25, draw)};
    CheckProduct<Half>(engine, problem);
    CheckProduct<float>(engine, problem);
    problem.addends.push_back(Filled<Half>(engine, 9, 25, draw));
    CheckProduct<Half>(engine, problem);
  }
}

// The second half of the products cancels the first, or nearly so.
TEST_P(MatrixProductOnIsa, CancellingSums) {
  Engine engine = TestEngine();
  std::normal_distribution<double> normal;
  for (const int bits : {8, 16, 24, 60}) {
    for (const int64_t half : {3, 200}) {
      Problem<float> problem{Empty<float>(engine, 7, 2 * half), Empty<float>(engine, 2 * half, 26)};
      for (int64_t k = 0; k < half; ++k) {
        for (int64_t r = 0; r < 7; ++r) {
          const double x = normal(engine);
          problem.a.at(r, k) = static_cast<float>(x);
          problem.a.at(r, half + k) =
              static_cast<float>(x * (1 + std::ldexp(normal(engine), -bits)));
        }
        for (int64_t c = 0; c < 26; ++c) {
          problem.b.at(k, c) = static_cast<float>(normal(engine));
          problem.b.at(half + k, c) = -problem.b.at(k, c);
        }
      }
      CheckProduct<float>(engine, problem);
    }
  }
}

// 1 + 2^-24, among numbers of all exponents that cancel.
TEST_P(MatrixProductOnIsa, TiesAmongNumbersOfAllExponents) {
  Engine engine = TestEngine();
  const auto draw = [&] {
    return std::ldexp(1 + UniformInt(engine, 0, (1 << 23) - 1) * 0x1p-23,
                      UniformInt(engine, -149, 60));
  };
  for (const int64_t pairs : {3, 31, 300}) {
    const int64_t length = 2 * pairs + 2;
    Problem<float> problem{Empty<float>(engine, 7, length), Empty<float>(engine, length, 26)};
    for (int64_t r = 0; r < 7; ++r) {
      problem.a.at(r, pairs) = 1;
      problem.a.at(r, pairs + 1) = r == 0 ? 0x1p-60f : 0x1p-24f;
    }
    for (int64_t c = 0; c < 26; ++c) {
      problem.b.at(pairs, c) = c % 2 == 0 ? 1 : -1;
      problem.b.at(pairs + 1, c) = problem.b.at(pairs, c);
    }
    for (int64_t k = 0; k < pairs; ++k) {
      for (int64_t r = 0; r < 7; ++r) {
        problem.a.at(r, k) = problem.a.at(r, length - 1 - k) = static_cast<float>(draw());
      }
      for (int64_t c = 0; c < 26; ++c) {
        problem.b.at(k, c) = static_cast<float>(draw());
        problem.b.at(length - 1 - k, c) = -problem.b.at(k, c);
      }
    }
    CheckProduct<float>(engine, problem);
    problem.addends.push_back(Filled<float>(engine, 7, 26, draw));
    CheckProduct<float>(engine, problem);
    problem.factor = 0.1f;
    CheckProduct<float>(engine, problem);
  }
}

TEST_P(MatrixProductOnIsa, LongSums) {
  Engine engine = TestEngine();
  for (const int64_t length : {4096, 16384}) {
    const auto draw = [&] { return Uniform(engine, -1, 1); };
    for (const auto& [rows, columns] : {std::pair(3, 2), std::pair(1, 5), std::pair(5, 1)}) {
      CheckProduct<float>(engine, Problem<float>{Filled<float>(engine, rows, length, draw),
                                                 Filled<float>(engine, length, columns, draw)});
    }
  }
}

// [X H] [W; R], with columns that are packed once.
TEST_P(MatrixProductOnIsa, JoinedAndPackedLines) {
  Engine engine = TestEngine();
  const auto draw = [&] { return Uniform(engine, -1, 1); };
  const Problem<float> joined{Filled<float>(engine, 5, 300, draw),
                              Filled<float>(engine, 300, 50, draw)};
  const Matrix<float>& a = joined.a;
  const Matrix<float>& b = joined.b;
  const auto part = [](MatrixView view, int64_t begin, int64_t count) {
    view.data += begin * view.inner.strides[0] * static_cast<int64_t>(sizeof(float));
    view.inner.sizes[0] = count;
    return view;
  };
  const auto parts = [&](const MatrixView& view) {
    return std::array{part(view, 0, 70), part(view, 70, 230)};
  };
  const ViewLines rows(parts(a.RowLines()));
  const ViewLines columns(parts(b.ColumnLines()));
  const PackedLines packed(columns, {0, 50}, PanelSide::kColumns);
  for (int i = 0; i < 2; ++i) {
    Matrix<float> actual = Empty<float>(engine, 5, 50);
    MultiplyMatrices(rows, columns, packed, {}, OutputIn(actual));
    ExpectExact(joined, actual);
  }
}

// Exact products of other numbers may be addends.
TEST_P(MatrixProductOnIsa, WideAddends) {
  Engine engine = TestEngine();
  const auto draw = [&] { return Uniform(engine, -1, 1); };
  const Problem<float> problem{Filled<float>(engine, 3, 4, draw),
                               Filled<float>(engine, 4, 30, draw)};
  Matrix<double> addend = Empty<double>(engine, 3, 30);
  for (double& value : addend.values) {
    const float factor = static_cast<float>(draw());
    value = static_cast<double>(factor) * static_cast<float>(draw());
  }
  Matrix<float> actual = Empty<float>(engine, 3, 30);
  const ViewLines rows(problem.a.RowLines());
  const ViewLines columns(problem.b.ColumnLines());
  MultiplyMatrices(rows, columns, {1, {{addend.Places()}}}, OutputIn(actual));
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 30; ++c) {
      Real sum(addend.at(r, c), kPrecision);
      for (int64_t k = 0; k < 4; ++k) {
        const double product = double{problem.a.at(r, k)} * problem.b.at(k, c);
        mpfr_add_d(sum.get(), sum.get(), product, MPFR_RNDN);
      }
      ASSERT_EQ(BitsOf(actual.at(r, c)), BitsOf(RoundReal<float>(sum)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, MatrixProductOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

}  // namespace
}  // namespace dmlop
