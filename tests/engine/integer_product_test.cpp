// SPDX-License-Identifier: Apache-2.0
// Products of bytes larger than each block of the engine, on every instruction set.
#include "core/engine/matrix/integer_product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/kernels/simd/isa.h"
#include "tests/support/on_isa.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

// A matrix of bytes, packed by rows or by columns.
class Bytes {
 public:
  Bytes(Engine& engine, DataType type, int64_t rows, int64_t columns, bool by_columns)
      : type_(type), bytes_(static_cast<size_t>(rows * columns)) {
    for (std::byte& byte : bytes_) byte = static_cast<std::byte>(engine());
    layout_ = {{rows, columns}, by_columns ? Dims{1, rows} : Dims{columns, 1}};
  }

  void Fill(std::byte value) { std::fill(bytes_.begin(), bytes_.end(), value); }
  ConstTensorView view() const { return {bytes_.data(), type_, layout_}; }
  int64_t At(int64_t row, int64_t column) const {
    const std::byte byte = bytes_[static_cast<size_t>(OffsetOf(layout_, {row, column}))];
    return type_ == DataType::kInt8 ? int64_t{static_cast<int8_t>(byte)}
                                    : int64_t{static_cast<uint8_t>(byte)};
  }

 private:
  DataType type_;
  std::vector<std::byte> bytes_;
  Layout layout_;
};

// The product, with the zero points -7 of the left matrix and c % 128 of column c.
template <typename Sum>
std::vector<Sum> ProductOf(const Bytes& a, const Bytes& b) {
  const int64_t rows = a.view().layout.sizes[0];
  const int64_t columns = b.view().layout.sizes[1];
  const std::vector<int64_t> a_zeros = {-7};
  std::vector<int64_t> b_zeros;
  for (int64_t c = 0; c < columns; ++c) b_zeros.push_back(c % 128);
  std::vector<Sum> sums(static_cast<size_t>(rows * columns), -1);
  const ViewLines left(MatrixView::Of(a.view(), 0, 1));
  const ViewLines right(MatrixView::Of(b.view(), 1, 0));
  MultiplyIntegers<Sum>(0, {left, a_zeros}, {right, b_zeros}, [&](const SumRow<Sum>& row) {
    std::copy(row.sums.begin(), row.sums.end(), sums.begin() + row.row * columns + row.column);
  });
  return sums;
}

template <typename Sum>
void ExpectProduct(const Bytes& a, const Bytes& b) {
  const int64_t rows = a.view().layout.sizes[0];
  const int64_t depth = a.view().layout.sizes[1];
  const int64_t columns = b.view().layout.sizes[1];
  const std::vector<Sum> sums = ProductOf<Sum>(a, b);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      int64_t sum = 0;
      for (int64_t k = 0; k < depth; ++k) sum += (a.At(r, k) + 7) * (b.At(k, c) - c % 128);
      ASSERT_EQ(sums[static_cast<size_t>(r * columns + c)], static_cast<Sum>(sum)) << r << ' ' << c;
    }
  }
}

struct Shape {
  int64_t rows, depth, columns;
};

class IntegerProductOnIsa : public OnIsa {};

TEST_P(IntegerProductOnIsa, BlocksAddUp) {
  Engine engine = CaseEngine(0);
  for (const Shape& shape : {Shape{261, 7, 13}, Shape{5, 6, 790}, Shape{9, 1029, 50}}) {
    for (const bool by_columns : {false, true}) {
      const Bytes a(engine, DataType::kInt8, shape.rows, shape.depth, by_columns);
      const Bytes b(engine, DataType::kUint8, shape.depth, shape.columns, by_columns);
      ExpectProduct<int32_t>(a, b);
      ExpectProduct<int64_t>(a, b);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, IntegerProductOnIsa, testing::ValuesIn(SupportedIsas()), IsaName);

TEST_P(IntegerProductOnIsa, TakesBothSignsToTheirEnds) {
  Engine engine = CaseEngine(2);
  for (const DataType left : {DataType::kInt8, DataType::kUint8}) {
    for (const DataType right : {DataType::kInt8, DataType::kUint8}) {
      for (const int end : {0x00, 0x7f, 0x80, 0xff}) {
        Bytes a(engine, left, 9, 1030, false);
        Bytes b(engine, right, 1030, 49, false);
        b.Fill(static_cast<std::byte>(end));
        ExpectProduct<int32_t>(a, b);
        a.Fill(static_cast<std::byte>(end));
        ExpectProduct<int64_t>(a, b);
      }
    }
  }
}

// More rows than a tile of bytes has, which fewer are not packed for.
constexpr int64_t kSomeRows = 9;

TEST_P(IntegerProductOnIsa, LongSumsAreExactOrWrap) {
  Engine engine = CaseEngine(1);
  Bytes a(engine, DataType::kUint8, kSomeRows, 70001, false);
  Bytes b(engine, DataType::kUint8, 70001, 3, false);
  a.Fill(std::byte{248});
  b.Fill(std::byte{255});
  ExpectProduct<int32_t>(a, b);
  ExpectProduct<int64_t>(a, b);
}

TEST_P(IntegerProductOnIsa, PartsOfLongLinesAddUp) {
  constexpr int64_t kDepth = (1 << 17) + 3;
  Engine engine = CaseEngine(3);
  Bytes a(engine, DataType::kUint8, kSomeRows, kDepth, false);
  Bytes b(engine, DataType::kUint8, kDepth, 2, false);
  a.Fill(std::byte{248});
  b.Fill(std::byte{255});
  std::vector<int64_t> sums;
  std::vector<int32_t> wrapped;
  for (int64_t row = 0; row < kSomeRows; ++row) {
    for (const int64_t right : {255, 254}) {
      sums.push_back(kDepth * 255 * right);
      wrapped.push_back(static_cast<int32_t>(sums.back()));
    }
  }
  EXPECT_EQ(ProductOf<int64_t>(a, b), sums);
  EXPECT_EQ(ProductOf<int32_t>(a, b), wrapped);
}

}  // namespace
}  // namespace dmlop
