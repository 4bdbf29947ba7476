// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/elements.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "core/tensor/element.h"
#include "core/tensor/nibbles.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

template <typename T>
constexpr bool kIsFloat = !std::is_integral_v<T>;

// Limits of a float type.
template <typename T>
struct FloatRange {
  static constexpr double kMax = std::numeric_limits<T>::max();
  static constexpr double kLeastNormal = std::numeric_limits<T>::min();
  static constexpr double kLeast = std::numeric_limits<T>::denorm_min();
  static constexpr double kStep = std::numeric_limits<T>::epsilon();
};
template <>
struct FloatRange<Half> {
  static constexpr double kMax = 65504;
  static constexpr double kLeastNormal = 0x1p-14;
  static constexpr double kLeast = 0x1p-24;
  static constexpr double kStep = 0x1p-10;
};

double WithSign(RandomEngine& engine, double value) {
  return DrawBetween(engine, 0, 1) == 0 ? value : -value;
}

template <typename Numbers>
auto OneOf(RandomEngine& engine, const Numbers& numbers) {
  return numbers[DrawBetween(engine, 0, std::size(numbers) - 1)];
}

int64_t IntBetween(RandomEngine& engine, int64_t low, int64_t high) {
  return Entropy(engine).Int(low, high);
}

bool OneIn(RandomEngine& engine, uint64_t period) {
  return DrawBetween(engine, 1, period) == period;
}

// --- families ------------------------------------------------------------------------------------

double Uniform(RandomEngine& engine, double, double) {
  return DrawReal(engine, -1, 1);
}
double Normal(RandomEngine& engine, double, double) {
  return DrawNormal(engine);
}
double IllConditioned(RandomEngine& engine, double max, double) {
  const double big = max < 1e8 ? 4096.0 : 1e8;
  const uint64_t kind = DrawBetween(engine, 0, 2);
  return kind == 0 ? big : kind == 1 ? -big : DrawReal(engine, -1e-4, 1e-4);
}
double Huge(RandomEngine& engine, double max, double) {
  const double magnitude = max * DrawReal(engine, 0.5, 1);
  return WithSign(engine, magnitude);
}
double Subnormal(RandomEngine& engine, double, double least) {
  const double magnitude = least * static_cast<double>(DrawBetween(engine, 1, 1000));
  return WithSign(engine, magnitude);
}
// Avoids exp2, whose last bit differs between machines.
double AnyMagnitude(RandomEngine& engine, double max, double least) {
  const auto exponent = static_cast<int>(IntBetween(engine, std::ilogb(least), std::ilogb(max)));
  const double magnitude = std::min(max, std::ldexp(DrawReal(engine, 1, 2), exponent));
  return WithSign(engine, magnitude);
}

// --- single kinds --------------------------------------------------------------------------------

// Few small integers, so that ties, zeros of both signs and exact results are common.
template <typename T>
T FewNumbers(RandomEngine& engine) {
  const int64_t number = IntBetween(engine, -2, 3);
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(number == 0 && OneIn(engine, 2) ? -0.0 : static_cast<double>(number));
  } else {
    return static_cast<T>(number);
  }
}

template <typename T>
T SpecialValue(RandomEngine& engine) {
  if constexpr (kIsFloat<T>) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double values[] = {0.0,
                             -0.0,
                             kInfinity,
                             -kInfinity,
                             std::numeric_limits<double>::quiet_NaN(),
                             1.0,
                             FloatRange<T>::kLeast,
                             -FloatRange<T>::kLeast,
                             FloatRange<T>::kMax,
                             -FloatRange<T>::kMax};
    return FromDouble<T>(OneOf(engine, values));
  } else {
    const T values[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T{0}, T{1},
                        static_cast<T>(-1)};
    return OneOf(engine, values);
  }
}

template <typename T>
T AnyBits(RandomEngine& engine) {
  const uint64_t bits = engine();
  return ElementOf<T>(reinterpret_cast<const std::byte*>(&bits));
}

// Integers have any bit pattern.
template <typename T>
T OfFamily(const FloatFamily& family, RandomEngine& engine) {
  if constexpr (kIsFloat<T>) {
    return FromDouble<T>(family.draw(engine, FloatRange<T>::kMax, FloatRange<T>::kLeast));
  } else {
    return AnyBits<T>(engine);
  }
}

// --- all elements --------------------------------------------------------------------------------

// Elements that share a place have the value that is drawn last.
template <typename T, typename Draw>
void FillEach(const TensorView& view, Draw&& draw) {
  ForEachElement(view, [&](std::byte* element) {
    const T value = draw();
    std::memcpy(element, &value, sizeof value);
  });
}

// Two kinds, and the period in which the second one occurs.
template <typename T>
class Mixture {
 public:
  explicit Mixture(RandomEngine& engine)
      : common_(DrawBetween(engine, 0, kCount - 1)), rare_(DrawBetween(engine, 0, kCount - 1)) {
    constexpr uint64_t kPeriods[] = {2, 30, 1000};
    period_ = OneOf(engine, kPeriods);
  }

  T Draw(RandomEngine& engine) const {
    const uint64_t kind = OneIn(engine, period_) ? rare_ : common_;
    switch (kind) {
      case 0:
        return AnyBits<T>(engine);
      case 1:
        return FewNumbers<T>(engine);
      case 2:
        return SpecialValue<T>(engine);
      default:
        return OfFamily<T>(kFamilies[kind - 3], engine);
    }
  }

 private:
  static constexpr uint64_t kCount = 3 + std::size(kFamilies);

  uint64_t common_;
  uint64_t rare_;
  uint64_t period_ = 1;
};

// --- classes -------------------------------------------------------------------------------------

// Draws elements of one class in a domain.
template <typename T>
class ClassDrawer {
 public:
  ClassDrawer(RandomEngine& engine, DataType type, InputClass value_class,
              const ValueDomain& domain)
      : engine_(engine),
        type_(type),
        class_(value_class),
        domain_(domain),
        has_own_domain_(domain != ValueDomain()),
        style_(DrawBetween(engine, 0, 3)) {}

  T Draw() {
    if constexpr (kIsFloat<T>) {
      const T value = FromDouble<T>(Float());
      return IsWithin(value) ? value : FromDouble<T>(OrdinaryFloat());
    } else {
      const T value = Wrapped(type_, Integer());
      return IsWithin(value) ? value : OrdinaryInteger();
    }
  }

 private:
  bool IsWithin(T value) const {
    const double number = AsDouble(value);
    return !domain_.is_limited || (number >= domain_.least && number <= domain_.most);
  }

  double Float() {
    using Range = FloatRange<T>;
    switch (class_) {
      case InputClass::kTies: {
        const double values[] = {0.0,
                                 -0.0,
                                 0.5,
                                 -0.5,
                                 1.0,
                                 -1.0,
                                 1.5,
                                 -1.5,
                                 2.0,
                                 -2.0,
                                 2.5,
                                 3.0,
                                 1 + Range::kStep,
                                 -1 - Range::kStep,
                                 Range::kStep / 2,
                                 -Range::kStep / 2};
        return OneOf(engine_, values);
      }
      case InputClass::kCancellation:
        return IllConditioned(engine_, Range::kMax, Range::kLeast);
      case InputClass::kEnds: {
        const double values[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 Range::kMax,
                                 -Range::kMax,
                                 Range::kLeastNormal,
                                 -Range::kLeastNormal,
                                 1 - Range::kStep / 2};
        return OneOf(engine_, values);
      }
      case InputClass::kSubnormals:
        return NearSubnormal();
      case InputClass::kInfinities:
        if (!OneIn(engine_, 6)) return OrdinaryFloat();
        return WithSign(engine_, std::numeric_limits<double>::infinity());
      case InputClass::kNan:
        return OneIn(engine_, 6) ? std::numeric_limits<double>::quiet_NaN() : OrdinaryFloat();
      default:
        return OrdinaryFloat();
    }
  }

  double NearSubnormal() {
    const uint64_t kind = DrawBetween(engine_, 0, 3);
    if (kind == 0) return OrdinaryFloat();
    if (kind == 1) return Subnormal(engine_, FloatRange<T>::kMax, FloatRange<T>::kLeast);
    const double magnitude = FloatRange<T>::kLeastNormal * DrawReal(engine_, 0, kind == 2 ? 1 : 4);
    return WithSign(engine_, magnitude);
  }

  // Integers have none of the other classes.
  T Integer() {
    const auto [least, most] = RangeOf<T>(type_);
    switch (class_) {
      case InputClass::kTies:
        return FewNumbers<T>(engine_);
      case InputClass::kCancellation: {
        const T values[] = {static_cast<T>(most / 2), static_cast<T>(least / 2), T{1},
                            static_cast<T>(OneIn(engine_, 2) ? 0 : 3)};
        return OneOf(engine_, values);
      }
      case InputClass::kEnds: {
        const T values[] = {least, most, static_cast<T>(least + 1), static_cast<T>(most - 1),
                            T{0},  T{1}, static_cast<T>(-1)};
        return OneOf(engine_, values);
      }
      default:
        return OrdinaryInteger();
    }
  }

  // Without a domain: in [-1, 1], around 0, up to 64, or with few digits.
  double OrdinaryFloat() {
    if (domain_.is_whole) return static_cast<double>(WholeInDomain(domain_.least, domain_.most));
    if (has_own_domain_) return DrawReal(engine_, domain_.least, domain_.most);
    switch (style_) {
      case 0:
        return DrawReal(engine_, -1, 1);
      case 1:
        return DrawNormal(engine_);
      case 2:
        return DrawReal(engine_, -64, 64);
      default:
        return static_cast<double>(IntBetween(engine_, -128, 128)) / 16;
    }
  }

  T OrdinaryInteger() {
    constexpr double kFew = 100;
    const double least = has_own_domain_ ? domain_.least : -kFew;
    const double most = has_own_domain_ ? domain_.most : kFew;
    const auto [type_least, type_most] = RangeOf<T>(type_);
    return static_cast<T>(
        WholeInDomain(std::max(least, AsDouble(type_least)), std::min(most, AsDouble(type_most))));
  }

  int64_t WholeInDomain(double least, double most) {
    constexpr double kMost = 0x1p62;
    return IntBetween(engine_, static_cast<int64_t>(std::max(std::ceil(least), -kMost)),
                      static_cast<int64_t>(std::min(std::floor(most), kMost)));
  }

  RandomEngine& engine_;
  DataType type_;
  InputClass class_;
  const ValueDomain& domain_;
  bool has_own_domain_;
  uint64_t style_;
};

}  // namespace

const FloatFamily kFamilies[6] = {
    {"uniform", Uniform}, {"normal", Normal},       {"ill-conditioned", IllConditioned},
    {"huge", Huge},       {"subnormal", Subnormal}, {"all magnitudes", AnyMagnitude}};

std::string_view Name(InputClass value_class) {
  constexpr std::array<std::string_view, kInputClasses> kNames = {
      "ordinary", "ties", "cancellation", "ends", "subnormals", "infinities", "NaN", "below 0"};
  return kNames[static_cast<size_t>(value_class)];
}

void SetWhole(DataType type, int64_t number, std::byte* element) {
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (kIsFloat<T>) {
      const T value = FromDouble<T>(static_cast<double>(number));
      std::memcpy(element, &value, sizeof value);
    } else {
      const T value = Wrapped(type, static_cast<T>(number));
      std::memcpy(element, &value, sizeof value);
    }
  });
}

void FillByClass(RandomEngine& engine, InputClass value_class, const ValueDomain& domain,
                 const TensorView& view) {
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    ClassDrawer<T> drawer(engine, view.type, value_class, domain);
    FillEach<T>(view, [&] { return drawer.Draw(); });
  });
}

void FillRandomly(RandomEngine& engine, const TensorView& view) {
  VisitDataType(AllTypes(), view.type, [&]<typename T>() {
    const Mixture<T> mixture(engine);
    FillEach<T>(view, [&] {
      T value = mixture.Draw(engine);
      if constexpr (!kIsFloat<T>) value = Wrapped(view.type, value);
      return value;
    });
  });
}

}  // namespace dmlop
