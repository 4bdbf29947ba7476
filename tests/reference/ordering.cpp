// SPDX-License-Identifier: Apache-2.0
// Operators whose results depend on the order of elements along an axis, or on a state.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"
#include "tests/reference/exact.h"
#include "tests/reference/operators.h"
#include "tests/reference/reduce_float.h"
#include "tests/support/desc.h"

namespace dmlop::reference {
namespace {

using Views = std::span<const ConstTensorView>;
using Numbers = Join<Floats, Integers64, Integers32, Integers16, Integers8>;

bool IsDecreasing(const OperatorDesc& desc) {
  return Get<uint32_t>(desc, "AxisDirection") == 1;
}

template <typename T>
std::vector<T> SequenceAt(const ConstTensorView& view, Dims index, size_t axis) {
  std::vector<T> sequence;
  for (index[axis] = 0; index[axis] < view.layout.sizes[axis]; ++index[axis]) {
    sequence.push_back(FromBits<T>(BitsAt(view, index)));
  }
  return sequence;
}

template <typename T>
bool IsNumber(T x) {
  if constexpr (std::is_integral_v<T>) return true;
  if constexpr (!std::is_integral_v<T>) return !std::isnan(ToDouble(x));
}

template <typename T>
bool ComesBefore(T a, T b, bool falling) {
  if (!IsNumber(a) || !IsNumber(b)) return IsNumber(a) && !IsNumber(b);
  if constexpr (std::is_integral_v<T>) {
    return falling ? b < a : a < b;
  } else {
    return falling ? ToDouble(b) < ToDouble(a) : ToDouble(a) < ToDouble(b);
  }
}

// TPK-3, TPK-4: a stable sort.
Expectation Selected(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index,
                     bool falling) {
  const size_t axis = Get<uint32_t>(desc, "Axis");
  Expectation expected;
  VisitDataType(Numbers(), inputs[0].type, [&]<typename T>() {
    const std::vector<T> values = SequenceAt<T>(inputs[0], index, axis);
    std::vector<size_t> places(values.size());
    std::iota(places.begin(), places.end(), size_t{0});
    std::stable_sort(places.begin(), places.end(), [&](size_t a, size_t b) {
      return ComesBefore(values[a], values[b], falling);
    });
    const size_t place = places[static_cast<size_t>(index[axis])];
    expected.bits = output == 0 ? ToBits(values[place]) : place;
  });
  return expected;
}

Expectation TopK(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  return Selected(desc, inputs, output, index, /*falling=*/true);
}

Expectation TopK1(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  return Selected(desc, inputs, output, index, IsDecreasing(desc));
}

bool IsZero(const ConstTensorView& view, const Dims& index) {
  const uint64_t bits = BitsAt(view, index);
  const unsigned width = BitWidth(view.type);
  return bits == 0 || (IsFloat(view.type) && bits == uint64_t{1} << (width - 1));
}

// NZC-3, NZC-4: the rows are the places of the nonzero elements, in order.
Expectation Nonzero(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  std::vector<Dims> found;
  ForEachIndex(inputs[0].layout.sizes, [&](const Dims& source) {
    if (!IsZero(inputs[0], source)) found.push_back(source);
  });
  if (output == 0) return {found.size()};
  const size_t row = static_cast<size_t>(index[index.size() - 2]);
  if (row >= found.size()) return {0};
  const int64_t columns = Get<TensorDesc>(desc, "OutputCoordinatesTensor").sizes->back();
  const Dims& source = found[row];
  const int64_t first = static_cast<int64_t>(source.size()) - columns;
  return {static_cast<uint64_t>(source[static_cast<size_t>(first + index[index.size() - 1])])};
}

// --- running sums and products -------------------------------------------------------------------

// P(k) of the page.
template <typename T>
std::vector<T> Prefix(const OperatorDesc& desc, const ConstTensorView& view, const Dims& index,
                      std::string_view exclusive) {
  const size_t axis = Get<uint32_t>(desc, "Axis");
  std::vector<T> sequence = SequenceAt<T>(view, index, axis);
  int64_t count = index[axis] + 1;
  if (IsDecreasing(desc)) {
    std::reverse(sequence.begin(), sequence.end());
    count = view.layout.sizes[axis] - index[axis];
  }
  if (Get<bool>(desc, exclusive)) --count;
  sequence.resize(static_cast<size_t>(count));
  return sequence;
}

template <typename T>
T One() {
  if constexpr (std::is_same_v<T, Half>) return Half{0x3C00};
  if constexpr (!std::is_same_v<T, Half>) return T{1};
}

// CUM-2, CUM-3; CUM-4.
Expectation CumulativeSum(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  std::optional<Expectation> expected;
  VisitDataType(Join<Floats, Integers64, Integers32>(), inputs[0].type, [&]<typename T>() {
    const std::vector<T> prefix = Prefix<T>(desc, inputs[0], index, "HasExclusiveSum");
    if (prefix.empty()) {
      expected.emplace(Expectation{0});
    } else if constexpr (std::is_integral_v<T>) {
      std::make_unsigned_t<T> sum = 0;
      for (const T x : prefix) sum += static_cast<std::make_unsigned_t<T>>(x);
      expected.emplace(Expectation{sum});
    } else {
      expected.emplace(ReducedFloats(ReduceFunction::kSum, prefix));
    }
  });
  return *expected;
}

// CUM-5, CUM-6.
Expectation CumulativeProduct(const OperatorDesc& desc, Views inputs, size_t, const Dims& index) {
  std::optional<Expectation> expected;
  VisitDataType(Join<Floats, Integers64, Integers32>(), inputs[0].type, [&]<typename T>() {
    const std::vector<T> prefix = Prefix<T>(desc, inputs[0], index, "HasExclusiveProduct");
    if (prefix.empty()) {
      expected.emplace(Expectation{ToBits(One<T>())});
    } else if constexpr (std::is_integral_v<T>) {
      std::make_unsigned_t<T> product = 1;
      for (const T x : prefix) product *= static_cast<std::make_unsigned_t<T>>(x);
      expected.emplace(Expectation{product});
    } else {
      expected.emplace(ReducedFloats(ReduceFunction::kMultiply, prefix));
      if (expected->exact) expected->ulps = 0.5001;
    }
  });
  return *expected;
}

// --- RANDOM_GENERATOR ----------------------------------------------------------------------------

__extension__ using Counter = unsigned __int128;

struct PhiloxKey {
  uint32_t k0, k1;
};

uint32_t PhiloxNumber(Counter counter, PhiloxKey key, size_t lane) {
  uint32_t c[4];
  for (int word = 0; word < 4; ++word) c[word] = static_cast<uint32_t>(counter >> (32 * word));
  for (uint32_t round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * c[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(second >> 32) ^ c[1] ^ (key.k0 + round * 0x9E3779B9u),
        static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ c[3] ^ (key.k1 + round * 0xBB67AE85u),
        static_cast<uint32_t>(first)};
    std::copy(std::begin(next), std::end(next), std::begin(c));
  }
  return c[lane];
}

// RNG-2 and RNG-3.
Expectation Random(const OperatorDesc& desc, Views inputs, size_t output, const Dims& index) {
  uint32_t words[6];
  const Dims& state = inputs[0].layout.sizes;
  for (int64_t w = 0; w < 6; ++w) {
    words[w] = static_cast<uint32_t>(BitsAt(inputs[0], IndexOf(state, w)));
  }
  Counter counter = 0;
  for (int word = 3; word >= 0; --word) counter = counter << 32 | words[word];
  const std::vector<uint32_t>& sizes = *Get<TensorDesc>(desc, "OutputTensor").sizes;
  const Dims dims(sizes.begin(), sizes.end());
  if (output == 0) {
    const int64_t number = OffsetOf(PackedLayout(dims), index);
    return {PhiloxNumber(counter + static_cast<Counter>(number / 4), {words[4], words[5]},
                         static_cast<size_t>(number % 4))};
  }
  const int64_t word = index[index.size() - 1];
  if (word >= 4) return {words[word]};
  const Counter blocks = static_cast<Counter>((Product(dims) + 3) / 4);
  return {static_cast<uint32_t>((counter + blocks) >> (32 * word))};
}

constexpr NamedOracle kOracles[] = {
    {"CUMULATIVE_PRODUCT", CumulativeProduct},
    {"CUMULATIVE_SUMMATION", CumulativeSum},
    {"NONZERO_COORDINATES", Nonzero},
    {"RANDOM_GENERATOR", Random},
    {"TOP_K", TopK},
    {"TOP_K1", TopK1},
};

}  // namespace

std::span<const NamedOracle> OrderingOracles() {
  return kOracles;
}

}  // namespace dmlop::reference
