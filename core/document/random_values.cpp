// SPDX-License-Identifier: Apache-2.0
#include "core/document/random_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {

// --- random values -------------------------------------------------------------------------------

namespace {

constexpr std::array<std::string_view, 4> kKinds = {"uniform", "integers", "normal", "special"};
constexpr std::array<std::string_view, 2> kBounds = {"low", "high"};
constexpr std::array<std::string_view, 2> kMoments = {"mean", "deviation"};
constexpr int64_t kGrain = int64_t{1} << 14;

constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;

// Returns floor(bits * n / 2^64); n = 0 stands for 2^64.
uint64_t Below(uint64_t n, uint64_t bits) {
  __extension__ using Wide = unsigned __int128;
  return n == 0 ? bits : static_cast<uint64_t>((static_cast<Wide>(bits) * n) >> 64);
}

// Returns the positive float T with these bits: exponent field and fraction.
template <typename T>
T FloatOf(uint64_t bits) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t,
                                  std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;
  return std::bit_cast<T>(static_cast<Bits>(bits));
}

// Returns 0, 1, the largest subnormal, the least normal and subnormal, the largest, the number next
// to 1, infinity, each with both signs, and NaN.
template <typename T>
std::vector<T> SpecialFloats() {
  constexpr unsigned kFraction = sizeof(T) == 8 ? 52 : sizeof(T) == 4 ? 23 : 10;
  constexpr uint64_t kSign = uint64_t{1} << (8 * sizeof(T) - 1);
  constexpr uint64_t kInfinity = kSign - (uint64_t{1} << kFraction);
  constexpr uint64_t kOne = (kInfinity >> 1) & kInfinity;
  const uint64_t leading[] = {0,
                              kOne,
                              (uint64_t{1} << kFraction) - 1,
                              uint64_t{1} << kFraction,
                              1,
                              kInfinity - 1,
                              kOne + 1,
                              kInfinity};
  std::vector<T> values;
  for (const uint64_t bits : leading) {
    values.push_back(FloatOf<T>(bits));
    values.push_back(FloatOf<T>(bits | kSign));
  }
  values.push_back(FloatOf<T>(kInfinity | (uint64_t{1} << (kFraction - 1))));
  return values;
}

template <typename T>
std::vector<T> SpecialValues(DataType type) {
  if constexpr (std::is_integral_v<T>) {
    const auto [least, most] = RangeOf<T>(type);
    const T minus_one = Wrapped(type, static_cast<T>(-1));
    return {0, 1, minus_one, least, most, static_cast<T>(least + 1), static_cast<T>(most - 1)};
  } else {
    return SpecialFloats<T>();
  }
}

// Generates element i of a tensor.
template <typename T>
class Generator {
 public:
  Generator(const RandomValues& random, DataType type)
      : kind_(random.kind),
        key_(random.seed == 0 ? kStep : Mix(random.seed)),
        low_(ElementOf<T>(random.low)) {
    const T high = ElementOf<T>(random.high);
    if (kind_ == RandomKind::kSpecial) {
      special_ = SpecialValues<T>(type);
    } else if constexpr (std::is_integral_v<T>) {
      count_ = static_cast<uint64_t>(high) - static_cast<uint64_t>(low_) + 1;
    } else if (kind_ == RandomKind::kNormal) {
      width_ = AsDouble(high);
    } else if (kind_ == RandomKind::kIntegers) {
      count_ = static_cast<uint64_t>(AsDouble(high) - AsDouble(low_)) + 1;
    } else {
      width_ = AsDouble(high) - AsDouble(low_);
    }
  }

  T operator()(int64_t i) const {
    if constexpr (!std::is_integral_v<T>) {
      if (kind_ == RandomKind::kNormal) return Normal(static_cast<uint64_t>(i));
    }
    const uint64_t bits = BitsOf(static_cast<uint64_t>(i));
    if (kind_ == RandomKind::kSpecial) return special_[Below(special_.size(), bits)];
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(low_) + Below(count_, bits));
    } else if (kind_ == RandomKind::kIntegers) {
      return FromDouble<T>(AsDouble(low_) + static_cast<double>(Below(count_, bits)));
    } else {
      return FromDouble<T>(AsDouble(low_) + width_ * (static_cast<double>(bits >> 11) * 0x1p-53));
    }
  }

 private:
  uint64_t BitsOf(uint64_t i) const { return Mix(key_ + i * kStep); }

  T Normal(uint64_t i) const {
    constexpr uint64_t kTerms = 12;
    int64_t sum = -static_cast<int64_t>(kTerms / 2) * ((int64_t{1} << 53) - 1);
    for (uint64_t j = 0; j < kTerms; ++j) sum += static_cast<int64_t>(BitsOf(kTerms * i + j) >> 11);
    return FromDouble<T>(AsDouble(low_) + width_ * (static_cast<double>(sum) * 0x1p-53));
  }

  RandomKind kind_;
  uint64_t key_;
  T low_;
  double width_ = 0;  // width of the range, or the deviation
  uint64_t count_ = 0;
  std::vector<T> special_;
};

template <typename T>
void SetDefaultRange(DataType type, RandomValues& random) {
  if constexpr (std::is_integral_v<T>) {
    const auto [least, most] = RangeOf<T>(type);
    random.low = BytesOf(least);
    random.high = BytesOf(most);
  } else if (random.kind == RandomKind::kNormal) {
    random.low = BytesOf(FromDouble<T>(0));
    random.high = BytesOf(FromDouble<T>(1));
  } else {
    const double bound = random.kind == RandomKind::kIntegers ? 8 : 1;
    random.low = BytesOf(FromDouble<T>(-bound));
    random.high = BytesOf(FromDouble<T>(bound));
  }
}

constexpr std::string_view kLowAboveHigh = "'low' is above 'high'";

std::string TextOf(DataType type, const ElementBytes& element) {
  std::string text;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      text = fmt::format("{}", +ElementOf<T>(element));
    } else {
      text = NumberText(AsDouble(ElementOf<T>(element)));
    }
  });
  return text;
}

bool IsFinite(DataType type, const ElementBytes& element) {
  bool finite = true;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (!std::is_integral_v<T>) finite = std::isfinite(AsDouble(ElementOf<T>(element)));
  });
  return finite;
}

// Returns what is wrong with the range; empty if nothing is.
template <typename T>
std::string_view RangeFault(const RandomValues& random) {
  const T low = ElementOf<T>(random.low);
  const T high = ElementOf<T>(random.high);
  if constexpr (std::is_integral_v<T>) {
    if (random.kind == RandomKind::kNormal) return "normal values are of the float types";
    return low > high ? kLowAboveHigh : "";
  } else {
    const double least = AsDouble(low);
    const double most = AsDouble(high);
    if (random.kind == RandomKind::kNormal) return most >= 0 ? "" : "'deviation' is negative";
    if (!std::isfinite(most - least)) return "the range from 'low' to 'high' is not finite";
    if (least > most) return kLowAboveHigh;
    if (random.kind == RandomKind::kUniform) return "";
    constexpr double kMost = 0x1p53;
    const bool whole = std::trunc(least) == least && std::trunc(most) == most;
    return whole && least >= -kMost && most <= kMost ? ""
                                                     : "'low' and 'high' are not whole numbers "
                                                       "within 2^53";
  }
}

}  // namespace

std::optional<RandomValues> ReadRandom(JsonCursor initializer, DataType type, uint64_t seed,
                                       const ValueReader& values) {
  const auto kind = values.Enum(*initializer.Find("random"), "", kKinds);
  if (!kind) return std::nullopt;
  RandomValues random{static_cast<RandomKind>(*kind), seed};
  const auto& parameters = random.kind == RandomKind::kNormal ? kMoments : kBounds;
  const std::array<std::string_view, 5> keys = {"random", "seed", "valueCount", parameters[0],
                                                parameters[1]};
  const size_t known = random.kind == RandomKind::kSpecial ? keys.size() - 2 : keys.size();
  values.CheckKeys(initializer, std::span(keys).first(known));
  if (const auto stated = values.Find(initializer, "seed")) {
    const auto number = values.Uint64(*stated);
    if (!number) return std::nullopt;
    random.seed = *number;
  }
  VisitDataType(AllTypes(), type, [&]<typename T>() { SetDefaultRange<T>(type, random); });
  std::string left_out;  // the omitted parameters and their defaults
  for (const auto& [name, bound] :
       {std::pair(parameters[0], &random.low), {parameters[1], &random.high}}) {
    const auto member = values.Find(initializer, name);
    if (!member) {
      left_out += fmt::format(", and '{}' is {} where it is left out", name, TextOf(type, *bound));
      continue;
    }
    if (!values.Element(*member, type, bound->data())) return std::nullopt;
    if (IsFinite(type, *bound)) continue;
    values.Error(*member, "DOC-2", "'{}' is not finite in {}", name, Name(type));
    return std::nullopt;
  }
  std::string_view fault;
  VisitDataType(AllTypes(), type, [&]<typename T>() { fault = RangeFault<T>(random); });
  if (fault.empty()) return random;
  values.Error(initializer, "DOC-2", std::string(fault) + (fault == kLowAboveHigh ? left_out : ""));
  return std::nullopt;
}

void FillWith(const RandomValues& random, DataType type, int64_t count, std::byte* to) {
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    const Generator<T> generator(random, type);
    T* elements = reinterpret_cast<T*>(to);
    ParallelFor(count, kGrain, count * static_cast<int64_t>(sizeof(T)),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) elements[i] = generator(i);
                });
  });
}

// --- one or two numbers --------------------------------------------------------------------------

namespace {

constexpr int64_t kParallelFill = 1 << 20;  // fewer are not worth a second thread

template <typename T>
T Next(DataType type, T value, T delta) {
  if constexpr (std::is_integral_v<T>) {
    const auto sum = static_cast<uint64_t>(value) + static_cast<uint64_t>(delta);
    return Wrapped(type, static_cast<T>(sum));
  } else if constexpr (std::is_same_v<T, Half>) {
    return FromDouble<Half>(AsDouble(value) + AsDouble(delta));
  } else {
    return value + delta;
  }
}

template <typename T>
void FillInOrder(DataType type, T value, T delta, std::span<T> to) {
  ForEachStep(to.size_bytes(), [&](size_t begin, size_t size) {
    for (T& element : to.subspan(begin / sizeof(T), size / sizeof(T))) {
      element = value;
      value = Next(type, value, delta);
    }
  });
}

std::optional<ElementBytes> ReadElement(JsonCursor initializer, std::string_view name,
                                        DataType type, const ValueReader& values) {
  ElementBytes element{};
  const auto member = values.Require(initializer, name);
  if (!member || !values.Element(*member, type, element.data())) return std::nullopt;
  return element;
}

}  // namespace

std::optional<ValueSequence> ReadSequence(JsonCursor initializer, DataType type,
                                          const ValueReader& values) {
  if (initializer.Find("value")) {
    const auto value = ReadElement(initializer, "value", type, values);
    if (!value) return std::nullopt;
    return ValueSequence{*value, std::nullopt};
  }
  const auto start = ReadElement(initializer, "valueStart", type, values);
  const auto delta = ReadElement(initializer, "valueDelta", type, values);
  if (!start || !delta) return std::nullopt;
  return ValueSequence{*start, delta};
}

void FillWith(const ValueSequence& sequence, DataType type, int64_t count, std::byte* to) {
  const int64_t bytes = count * static_cast<int64_t>(ByteWidth(type));
  const Work work("filling in values", bytes);
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    T* const elements = reinterpret_cast<T*>(to);
    const T start = ElementOf<T>(sequence.start);
    if (sequence.delta) {
      FillInOrder(type, start, ElementOf<T>(*sequence.delta),
                  {elements, static_cast<size_t>(count)});
    } else {
      ParallelFor(count, kParallelFill, bytes, [&](int64_t begin, int64_t end) {
        std::fill(elements + begin, elements + end, start);
      });
    }
  });
}

}  // namespace dmlop
