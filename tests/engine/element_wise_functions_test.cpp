// SPDX-License-Identifier: Apache-2.0
// Every element-wise function with every type that it takes, on every instruction set, against
// exact arithmetic.

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "core/engine/element_wise/loop.h"
#include "core/tensor/visit_data_type.h"
#include "tests/reference/element_wise.h"
#include "tests/support/on_isa.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

using enum DataType;
using enum ElementWiseFunction;
using Types = std::vector<DataType>;

const Types kFloats = {kFloat16, kFloat32};
const Types kSigned = {kInt8, kInt16, kInt32};
const Types kSigned64 = {kInt8, kInt16, kInt32, kInt64};
const Types kUnsigned64 = {kUint8, kUint16, kUint32, kUint64};
const Types kInts = {kInt8, kUint8, kInt16, kUint16, kInt32, kUint32};
const Types kInts64 = {kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64};
const Types k32 = {kInt32, kUint32};

Types operator+(Types a, const Types& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Types kAll = kFloats + Types{kFloat64} + kInts64;

// Bits of any element of the type.
uint64_t RandomBits(Engine& engine, DataType type) {
  const uint64_t bits = engine();
  return BitWidth(type) == 64 ? bits : bits & ((uint64_t{1} << BitWidth(type)) - 1);
}

// Zeros, the limits of ranges, small numbers, infinities and NaN.
std::vector<uint64_t> EdgesOf(DataType type) {
  std::vector<uint64_t> edges;
  const unsigned width = BitWidth(type);
  const uint64_t mask = width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  const auto add = [&](uint64_t bits) { edges.push_back(bits & mask); };
  if (!IsFloat(type)) {
    for (uint64_t i = 0; i < 4; ++i) {
      add(i);
      add(~i);
      add((uint64_t{1} << (width - 1)) + i);
      add((uint64_t{1} << (width - 1)) - i);
      add((uint64_t{1} << (width / 2)) + i);
    }
    add(width - 1);
    add(width);
    add(width + 1);
    return edges;
  }
  const unsigned mantissa = width == 16 ? 10 : width == 32 ? 23 : 52;
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t one = ((uint64_t{1} << (width - 2 - mantissa)) - 1) << mantissa;
  const uint64_t infinity = mask >> 1 >> mantissa << mantissa;
  const uint64_t unit = uint64_t{1} << mantissa;
  for (const uint64_t bits :
       {uint64_t{0}, uint64_t{1}, unit - 1, unit, one, one + 1, one - 1, one - unit, one + unit,
        one + unit + unit / 4, one + 2 * unit, one + 3 * unit + 1, infinity - 1, infinity,
        infinity + 1, infinity + unit / 2, infinity + unit / 2 + 3}) {
    add(bits);
    add(bits | sign);
  }
  return edges;
}

// All exponents, and numbers near those where the rounding changes.
std::vector<uint64_t> StrataOf(Engine& engine, DataType type) {
  std::vector<uint64_t> strata = EdgesOf(type);
  if (type == kFloat16 || BitWidth(type) == 8) {
    strata.clear();
    for (uint64_t i = 0; i < uint64_t{1} << BitWidth(type); ++i) strata.push_back(i);
    return strata;
  }
  if (type == kFloat32) {
    for (uint64_t exponent = 0; exponent < 512; ++exponent) {
      for (const uint64_t mantissa : {uint64_t{0}, uint64_t{1}, uint64_t{0x400000},
                                      uint64_t{0x7FFFFF}, engine() % 0x800000}) {
        strata.push_back(exponent << 23 | mantissa);
      }
    }
    for (int i = 0; i < 40; ++i) {
      for (const float half : {static_cast<float>(i) + 0.5f, static_cast<float>(i) + 1.0f,
                               static_cast<float>(1 << (i % 24)) - 0.5f}) {
        for (const float x : {half, std::nextafter(half, 0.0f), std::nextafter(half, 1e9f)}) {
          strata.push_back(std::bit_cast<uint32_t>(x));
          strata.push_back(std::bit_cast<uint32_t>(-x));
        }
      }
    }
  }
  for (int i = 0; i < 1000; ++i) strata.push_back(RandomBits(engine, type));
  // Integers of all magnitudes.
  for (int i = 0; i < 500 && !IsFloat(type); ++i) {
    strata.push_back(RandomBits(engine, type) >> UniformInt(engine, 0, int(BitWidth(type)) - 1));
  }
  return strata;
}

// Elements at the same place of each input.
using Columns = std::vector<std::vector<uint64_t>>;

// Calls push(integer, FLOAT32) with products of up to 56 bits that are a midpoint of two FLOAT32
// numbers, or so close to one that FLOAT64 rounds to it.
template <typename Push>
void PushMiddles(Engine& engine, Push&& push) {
  for (int i = 0; i < 2000; ++i) {
    const unsigned width = i % 2 == 0 ? 31 : 32;
    const uint64_t modulus = uint64_t{1} << width;
    const uint64_t odd = 0x800001 | engine() % 0x800000;
    uint64_t inverse = odd;  // correct modulo 8; each step doubles the number of correct bits
    for (int step = 0; step < 4; ++step) inverse *= 2 - odd * inverse;
    const uint64_t rest = modulus / 2 + static_cast<uint64_t>(UniformInt(engine, -3, 3));
    push(rest * inverse % modulus, std::bit_cast<uint32_t>(static_cast<float>(odd)));
  }
}

Columns ColumnsFor(Engine& engine, const Types& types) {
  Columns columns(types.size());
  if (types.size() == 1) {
    columns[0] = StrataOf(engine, types[0]);
    return columns;
  }
  const auto push = [&](uint64_t a, uint64_t b) {
    columns[0].push_back(a);
    columns[1].push_back(b);
  };
  const std::vector<uint64_t> first = EdgesOf(types[0]);
  const std::vector<uint64_t> second = EdgesOf(types[1]);
  if (BitWidth(types[0]) == 8 && BitWidth(types[1]) == 8) {
    for (uint64_t i = 0; i < 1 << 16; ++i) push(i >> 8, i & 255);
  }
  for (const uint64_t a : first) {
    for (const uint64_t b : second) push(a, b);
  }
  for (int i = 0; i < 4000; ++i) {
    const uint64_t a = RandomBits(engine, types[0]);
    push(a, RandomBits(engine, types[1]));
    // Neighbours in magnitude, and small divisors.
    if (types[0] == types[1]) push(a, a ^ (RandomBits(engine, types[0]) >> BitWidth(types[0]) / 3));
    push(a, RandomBits(engine, types[1]) >> UniformInt(engine, 0, int(BitWidth(types[1])) - 1));
  }
  if (BitWidth(types[0]) == 32 && !IsFloat(types[0]) && types[1] == kFloat32) {
    PushMiddles(engine, push);
  }
  for (size_t k = 2; k < types.size(); ++k) {
    for (size_t i = 0; i < columns[0].size(); ++i) {
      columns[k].push_back(OneIn(engine, 3) ? 0 : RandomBits(engine, types[k]));
    }
  }
  return columns;
}

struct Case {
  ElementWiseFunction function;
  Types inputs;
  DataType output;
  ElementParameters parameters = {};
  std::optional<ScaleBias> scale_bias = {};

  ElementWiseCall Call() const { return {function, parameters, scale_bias}; }
  std::string Name() const {
    std::string name = "function " + std::to_string(static_cast<int>(function)) + " of";
    for (const DataType type : inputs) name += " " + std::string(dmlop::Name(type));
    name += " as " + std::string(dmlop::Name(output));
    for (const double number : parameters.numbers) name += " " + std::to_string(number);
    if (scale_bias) name += " scaled";
    return name;
  }
};

std::vector<Case> Cases();

std::vector<std::byte> Packed(DataType type, const std::vector<uint64_t>& bits) {
  std::vector<std::byte> bytes(bits.size() * ByteWidth(type));
  for (size_t i = 0; i < bits.size(); ++i) {
    std::memcpy(bytes.data() + i * ByteWidth(type), &bits[i], ByteWidth(type));
  }
  return bytes;
}

// The inputs and the expected output of a case.
struct Sample {
  Columns columns;
  std::vector<uint64_t> expected;

  explicit Sample(const Case& c, int number) {
    Engine engine = CaseEngine(number);
    columns = ColumnsFor(engine, c.inputs);
    if (c.function == kSequence && c.inputs[0] == kFloat64) {
      for (uint64_t& place : columns[0]) {  // limited to possible numbers of elements
        place = std::bit_cast<uint64_t>(static_cast<double>(place >> (14 + place % 50)));
      }
    }
    for (size_t i = 0; i < columns[0].size(); ++i) {
      std::vector<reference::StoredElement> elements;
      for (size_t k = 0; k < c.inputs.size(); ++k) {
        elements.push_back({c.inputs[k], columns[k][i]});
      }
      expected.push_back(reference::ElementOf(c.Call(), elements, c.output));
    }
  }
};

void Compare(const Case& c, const Sample& sample) {
  const Layout layout = PackedLayout({static_cast<int64_t>(sample.expected.size())});
  std::vector<std::vector<std::byte>> bytes;
  std::vector<ConstTensorView> inputs;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    bytes.push_back(Packed(c.inputs[k], sample.columns[k]));
    inputs.push_back({bytes.back().data(), c.inputs[k], layout});
  }
  const size_t width = ByteWidth(c.output);
  std::vector<std::byte> results(sample.expected.size() * width);
  ComputeElements(c.Call(), inputs, {results.data(), c.output, layout});
  int wrong = 0;
  for (size_t i = 0; i < sample.expected.size() && wrong < 5; ++i) {
    uint64_t result = 0;
    std::memcpy(&result, results.data() + i * width, width);
    if (result == sample.expected[i]) continue;
    ++wrong;
    std::string elements;
    for (const auto& column : sample.columns) elements += " " + std::to_string(column[i]);
    ADD_FAILURE() << c.Name() << ", " << CurrentIsa() << std::hex << ": element " << i << " is "
                  << result << ", not " << sample.expected[i] << "; inputs (decimal)" << elements;
  }
}

TEST(ElementWiseFunctions, AreExact) {
  const SettingsGuard before;
  int number = 0;
  for (const Case& c : Cases()) {
    ++number;
    if (!IsInShare()) continue;
    const Sample sample(c, number);
    for (const std::string_view isa : SupportedIsas()) {
      SelectIsa(isa);
      Compare(c, sample);
    }
  }
}

ElementParameters Numbers(float p, float q = 0) {
  return {{p, q, 0}, {}};
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class Table {
 public:
  // All tensors have the same type.
  void Same(ElementWiseFunction function, size_t inputs, const Types& types,
            const std::vector<ElementParameters>& parameters = {{}}) {
    for (const DataType type : types) {
      for (const ElementParameters& p : parameters) {
        cases_.push_back({function, Types(inputs, type), type, p, {}});
      }
    }
  }
  void Predicate(ElementWiseFunction function, size_t inputs, const Types& types,
                 const Types& outputs) {
    for (const DataType type : types) {
      for (const DataType output : outputs) {
        cases_.push_back({function, Types(inputs, type), output, {}, {}});
      }
    }
  }
  void Bounded(ElementWiseFunction function, size_t inputs, const Types& types) {
    for (const DataType type : types) {
      for (const auto& [min, max] : {std::pair{-2.5f, 7.9f},
                                     {0.1f, 100.3f},
                                     {2.0f, 1.0f},
                                     {kNan, 3.0f},
                                     {-0.0f, 0.0f},
                                     {-kInfinity, kNan}}) {
        cases_.push_back({function, Types(inputs, type), type, FloatBounds(type, min, max), {}});
      }
    }
  }
  void Scaled(ElementWiseFunction function, const Types& types, const ElementParameters& p = {}) {
    for (const DataType type : types) {
      for (const ScaleBias scale_bias :
           {ScaleBias{1.0f, 0.0f}, ScaleBias{0.1f, -3.3f}, ScaleBias{0x1.fffffep-1f, 0x1p-25f}}) {
        cases_.push_back({function, {type}, type, p, scale_bias});
      }
    }
  }
  void Add(Case c) { cases_.push_back(std::move(c)); }
  const std::vector<Case>& cases() const { return cases_; }

 private:
  std::vector<Case> cases_;
};

void AddUnary(Table& table) {
  table.Same(kAbs, 1, kFloats + kSigned64);
  table.Same(kNegate, 1, kFloats + kSigned64);
  table.Same(kSign, 1, kFloats + kInts64);
  for (const auto function : {kCeil, kFloor, kRoundHalvesToEven, kRoundTowardZero, kRoundHalvesAway,
                              kSqrt, kRecip, kSoftsign}) {
    table.Same(function, 1, kFloats);
  }
  table.Same(kRelu, 1, kFloats + kSigned);
  for (const auto function : {kIsNan, kIsInfinity, kIsPositiveInfinity, kIsNegativeInfinity}) {
    table.Predicate(function, 1, kFloats, {kUint8, kUint32});
  }
  for (const auto function : {kCeil, kFloor, kSqrt, kRecip}) table.Scaled(function, kFloats);
  table.Scaled(kAbs, kFloats + kSigned);
  table.Scaled(kClip, kFloats, FloatBounds(kFloat16, -1.5f, 3.25f));
  table.Scaled(kThreshold, kFloats, FloatBounds(kFloat16, 0.25f, 0));
  table.Scaled(kCast, kFloats + kInts);
}

void AddBinary(Table& table) {
  for (const auto function :
       {kAdd, kSubtract, kMultiply, kDivide, kMax, kMin, kModulusTruncate, kModulusFloor}) {
    table.Same(function, 2, kFloats + kInts64);
  }
  table.Same(kMean, 2, kFloats + k32);
  table.Same(kDifferenceSquare, 2, kFloats + k32);
  for (const auto function :
       {kEquals, kGreaterThan, kLessThan, kGreaterThanOrEqual, kLessThanOrEqual}) {
    table.Predicate(function, 2, kFloats + kInts64, {kUint8, kUint32});
  }
  for (const auto function : {kLogicalAnd, kLogicalOr, kLogicalXor}) {
    table.Same(function, 2, {kUint8, kUint32});
  }
  table.Same(kLogicalNot, 1, {kUint8, kUint32});
  for (const auto function : {kBitAnd, kBitOr, kBitXor}) table.Same(function, 2, kAll);
  table.Same(kBitNot, 1, kAll);
  table.Predicate(kBitCount, 1, kAll, {kUint8, kUint32});
  table.Same(kBitShiftLeft, 2, kUnsigned64);
  table.Same(kBitShiftRight, 2, kUnsigned64);
}

void AddActivations(Table& table) {
  table.Bounded(kClip, 1, kFloats + kInts64);
  table.Bounded(kThreshold, 1, kFloats + kInts);
  table.Bounded(kClipGrad, 2, kFloats + kInts64);
  table.Same(kReluGrad, 2, kFloats + kSigned);
  table.Same(kLeakyRelu, 1, kFloats, {Numbers(0.01f), Numbers(-3.3f), Numbers(kInfinity)});
  table.Same(kParameterizedRelu, 2, kFloats + kSigned);
  table.Same(kThresholdedRelu, 1, kFloats, {Numbers(1), Numbers(-0.1f), Numbers(kNan)});
  const std::vector<ElementParameters> affine = {
      Numbers(0.3f, -0.7f),          Numbers(0.2f, 0.5f),
      Numbers(0x1.555556p-3f, 0.5f), Numbers(-0x1p-100f, 1.0f),
      Numbers(1e30f, 1e-30f),        Numbers(0, -0.0f),
      Numbers(kInfinity, 1.0f),      Numbers(1.0f, kNan),
      Numbers(0x1p-149f, 0x1p-149f), Numbers(0x1.fffffep127f, 0x1.fffffep127f)};
  for (const auto function : {kHardSigmoid, kHardSwish}) {
    table.Same(function, 1, kFloats, affine);
  }
  table.Same(kMultiplyAdd, 2, kFloats, {Numbers(0.3f), Numbers(-1e30f), Numbers(kInfinity)});
  table.Add({kMultiplyAdd, {kFloat16, kFloat32}, kFloat16, Numbers(0.7f), {}});
  table.Same(kShrink, 1, kFloats + kInts,
             {Numbers(0.1f, 0.5f), Numbers(1e-20f, 0), Numbers(-1e9f, 3.5f), Numbers(kNan, 1),
              Numbers(kInfinity, -2.0f)});
}

void AddOthers(Table& table) {
  for (const DataType type : kAll) table.Add({kIf, {type, type, kUint8}, type, {}, {}});
  for (const DataType from : kAll) {
    for (const DataType to : kAll) table.Add({kCast, {from}, to, {}, {}});
  }
  for (const DataType to : {kInt8, kUint8}) {
    const ElementParameters range = to == kInt8 ? Numbers(-128, 127) : Numbers(0, 255);
    for (const DataType from : {kFloat16, kFloat32}) {
      table.Add({kQuantize, {from, from, to}, to, range, {}});
    }
    table.Add({kQuantize, {kInt32, kFloat32, to}, to, range, {}});
  }
  for (const DataType from : kInts) {
    for (const DataType to : kFloats) table.Add({kDequantize, {from, to, from}, to, {}, {}});
  }
}

void AddSums(Table& table) {
  using Numbers8 = std::array<double, 8>;
  for (const Numbers8& numbers :
       {Numbers8{0, 255, 0.5, 128, 0.25, 128, 0.5, 10},
        {-128, 127, double{0.1f}, 3, double{0.3f}, -7, double{0.02f}, -1},
        {0, 255, double{1e-30f}, 0, double{1e30f}, 0, double{0.7e30f}, 100},
        {0, 255, double{0x1.fffffep-1f}, 1, double{0x1p-40f}, 200, double{-0.07f}, 100},
        {0, 255, 1, 0, 1, 0, 0, 7},
        {-128, 127, INFINITY, 0, 1, 0, 1, 7}}) {
    for (const DataType a : {kInt8, kUint8}) {
      for (const DataType b : {kInt8, kUint8}) {
        for (const DataType output : {kInt8, kUint8}) {
          ElementParameters parameters{numbers, {}};
          parameters.numbers[0] = output == kInt8 ? -128 : 0;
          parameters.numbers[1] = output == kInt8 ? 127 : 255;
          table.Add({kQuantizedLinearAdd, {a, b}, output, parameters, {}});
        }
      }
    }
  }
}

void AddSequences(Table& table) {
  for (const auto& [start, delta] : {std::pair{3.2f, 1.5f},
                                     {0.0f, 0.1f},
                                     {-1e30f, 1e20f},
                                     {-0.0f, -1e-40f},
                                     {-3e9f, 0x1.fffffep8f},
                                     {kInfinity, 1.0f},
                                     {1.0f, kNan}}) {
    for (const DataType type : kFloats) {
      table.Add({kSequence, {kFloat64}, type, Numbers(start, delta), {}});
    }
  }
  for (const DataType type : kInts64) {
    table.Add({kSequence, {kUint64}, type, IntegerBounds(10, -2), {}});
    table.Add({kSequence, {kUint64}, type, IntegerBounds(-5, int64_t{1} << 40 | 77), {}});
  }
}

std::vector<Case> Cases() {
  Table table;
  AddSums(table);
  AddSequences(table);
  AddUnary(table);
  AddBinary(table);
  AddActivations(table);
  AddOthers(table);
  return table.cases();
}

}  // namespace
}  // namespace dmlop
