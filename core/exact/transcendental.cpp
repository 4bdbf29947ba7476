// SPDX-License-Identifier: Apache-2.0
#include "core/exact/transcendental.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>

#include "core/exact/elementary.h"

namespace dmlop {
namespace {

using F = ElementWiseFunction;

constexpr DoubleDouble kSqrtHalf{0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};

DoubleDouble WithSignOf(double x, DoubleDouble magnitude) {
  return std::signbit(x) ? -magnitude : magnitude;
}

DoubleDouble Sine(double x) {
  const auto [count, rest] = CountQuarterTurns(x);
  const DoubleDouble sine = count % 2 == 0 ? Sin(rest) : Cos(rest);
  return count < 2 ? sine : -sine;
}

DoubleDouble Cosine(double x) {
  const auto [count, rest] = CountQuarterTurns(x);
  const DoubleDouble cosine = count % 2 == 0 ? Cos(rest) : Sin(rest);
  return count == 0 || count == 3 ? cosine : -cosine;
}

DoubleDouble Tangent(double x) {
  const auto [count, rest] = CountQuarterTurns(x);
  return count % 2 == 0 ? Sin(rest) / Cos(rest) : -(Cos(rest) / Sin(rest));
}

// Returns sqrt(1 - x * x) accurately even for x close to 1.
DoubleDouble OtherLeg(double x) {
  return SquareRoot(TwoSum(1, x) * TwoSum(1, -x));
}

// Near 0, the result differs from a simple number by less than a double-double can hold. The first
// term of that difference then tells the side.
bool IsTiny(DoubleDouble x) {
  return std::fabs(x.head) < 0x1p-40;
}

// Returns x + c * x^3, the beginning of an odd function's series.
DoubleDouble WithCube(DoubleDouble x, double c) {
  return x * (kUnity + x.head * x.head * c);
}

DoubleDouble ArcSine(double x) {
  if (IsTiny({x, 0})) return WithCube({x, 0}, 1.0 / 6);
  return WithSignOf(x, Angle({std::fabs(x), 0}, OtherLeg(x)));
}

DoubleDouble HyperbolicSine(double x) {
  if (IsTiny({x, 0})) return WithCube({x, 0}, 1.0 / 6);
  const DoubleDouble t = Expm1({std::fabs(x), 0});
  return WithSignOf(x, Scale(t + t / (t + 1.0), 0.5));
}

DoubleDouble HyperbolicCosine(double x) {
  if (IsTiny({x, 0})) return kUnity + 0.5 * x * x;
  const DoubleDouble e = Exp({std::fabs(x), 0});
  return Scale(e + kUnity / e, 0.5);
}

// Returns t / (t + 2), or 1 - 2 / (t + 2) where that is close to 1.
DoubleDouble HyperbolicTangent(DoubleDouble x) {
  if (IsTiny(x)) return WithCube(x, -1.0 / 3);
  const DoubleDouble t = Expm1(Scale(WithSignOf(x.head, x), 2));
  const DoubleDouble magnitude = t.head > 2 ? kUnity - Scale(kUnity / (t + 2.0), 2) : t / (t + 2.0);
  return WithSignOf(x.head, magnitude);
}

// ln(x + sqrt(x^2 + 1)) = ln(1 + x + x^2 / (1 + sqrt(x^2 + 1))).
DoubleDouble AreaSine(double x) {
  if (IsTiny({x, 0})) return WithCube({x, 0}, -1.0 / 6);
  const DoubleDouble square = TwoProduct(x, x);
  const DoubleDouble rest = square / (SquareRoot(square + 1.0) + 1.0);
  return WithSignOf(x, Log1p(rest + std::fabs(x)));
}

DoubleDouble AreaCosine(double x) {
  const DoubleDouble d = TwoSum(x, -1);
  return Log1p(d + SquareRoot(d * (d + 2.0)));
}

DoubleDouble AreaTangent(double x) {
  if (IsTiny({x, 0})) return WithCube({x, 0}, 1.0 / 3);
  const double magnitude = std::fabs(x);
  const DoubleDouble ratio = DoubleDouble{2 * magnitude, 0} / TwoSum(1, -magnitude);
  return WithSignOf(x, Scale(Log1p(ratio), 0.5));
}

DoubleDouble ErrorFunction(double x) {
  const double magnitude = std::fabs(x);
  const DoubleDouble erf =
      magnitude <= 2 ? Erf({magnitude, 0}) : kUnity - Erfc({magnitude, 0}, TwoProduct(x, x));
  return WithSignOf(x, erf);
}

// Returns x / 2 + c * x for a c that is negligible compared with 1. Halves of odd FLOAT32
// subnormals are ties, which only c decides.
DoubleDouble NearHalf(double x, double c) {
  return {0.5 * x, c * x};
}

// Returns 1 / (1 + e^-x).
DoubleDouble Logistic(DoubleDouble x) {
  return kUnity / (Exp(-x) + 1.0);
}

// Returns x * (1 + erf(z)) / 2 with z = x / sqrt(2). Far to the left, 1 + erf(z) is erfc(-z).
DoubleDouble Gelu(double x) {
  constexpr double kSlope = 0x1.9884533d43651p-2;  // 1 / sqrt(2 * pi)
  if (std::fabs(x) < kNegligible) return NearHalf(x, kSlope * x);
  const DoubleDouble z = kSqrtHalf * std::fabs(x);
  const bool is_far = z.head > 2;
  const DoubleDouble tail = is_far ? Erfc(z, {0.5 * x * x, 0}) : -Erf(z);
  const DoubleDouble near = x < 0 ? tail : -tail;
  const DoubleDouble twice = is_far && x < 0 ? tail : near + (is_far ? 2.0 : 1.0);
  return Scale(twice * x, 0.5);
}

// Returns max(x, 0) + min(0, Alpha * (e^(x / Alpha) - 1)). Near 0 that is x + x^2 / (2 * Alpha),
// however the quotient is rounded.
DoubleDouble ContinuousUnit(double x, double alpha) {
  if (x > 0) return {x, 0};
  const DoubleDouble t = DoubleDouble{x, 0} / alpha;
  if (IsTiny(t)) return (kUnity + (t.head / 2 + t.head * t.head / 6)) * x;
  return Expm1(t) * alpha;
}

// Returns Gamma * x, or Gamma * Alpha * (e^x - 1).
DoubleDouble ScaledUnit(double x, double alpha, double gamma) {
  return x > 0 ? TwoProduct(x, gamma) : Expm1({x, 0}) * alpha * gamma;
}

// Returns ln(1 + e^x) as max(x, 0) + ln(1 + e^-|x|).
DoubleDouble SoftMaximum(DoubleDouble x) {
  const DoubleDouble rest = Log1p(Exp(-WithSignOf(x.head, x)));
  return x.head > 0 ? x + rest : rest;
}

DoubleDouble Softplus(double x, double steepness) {
  const DoubleDouble scaled = TwoProduct(x, steepness);
  const DoubleDouble rest = Log1p(Exp(-WithSignOf(scaled.head, scaled))) / steepness;
  return scaled.head > 0 ? rest + x : rest;
}

// Returns |x|^y.
DoubleDouble Power(double x, double y) {
  const DoubleDouble square = TwoProduct(x, x);
  if (y == 2) return square;
  if (y == 3) return square * std::fabs(x);
  if (y == 4) return square * square;
  return Exp(Log({std::fabs(x), 0}) * y);
}

// A power may be exactly a rounding boundary: a midpoint of FLOAT32 or FLOAT16, or an integer of 32
// bits, all of at most 33 bits. A value within 2^-90 of such a number is taken for it; another
// power comes that close only with probability 2^-57.
DoubleDouble SnapToShort(DoubleDouble value) {
  constexpr int kBits = 33;
  const double magnitude = std::fabs(value.head);
  if (magnitude >= 0x1p200 || magnitude < 0x1p-200) return value;
  const double shifter = std::ldexp(0x1.8p52, std::ilogb(magnitude) + 1 - kBits);
  const double snapped = (value.head + shifter) - shifter;
  const double distance = (value.head - snapped) + value.tail;
  if (std::fabs(snapped) == 1) return value;  // the exponent is tiny, but not zero
  return std::fabs(distance) <= magnitude * 0x1p-90 ? DoubleDouble{snapped, 0} : value;
}

// Returns x / (1 + e^-(a * x)).
DoubleDouble Swish(double x, double a) {
  const DoubleDouble scaled = TwoProduct(x, a);
  if (std::fabs(scaled.head) < kNegligible) return NearHalf(x, scaled.head / 4);
  return Logistic(scaled) * x;
}

// --- special values ------------------------------------------------------------------------------

double SpecialContinuousUnit(TranscendentalArguments v) {
  return (v.x > 0 ? v.x : 0.0) + std::fmin(0.0, v.a * std::expm1(v.x / v.a)) + 0.0;
}

double SpecialScaledUnit(TranscendentalArguments v) {
  if (v.x > 0) return v.b * v.x;
  return v.b * (std::isinf(v.a) ? v.a * std::exp(v.x) - v.a : v.a * std::expm1(v.x) + 0.0);
}

double SpecialSoftMaximum(TranscendentalArguments v) {
  return v.a * (v.a == 0 && std::isfinite(v.b * v.x) ? 1 : std::log1p(std::exp(v.b * v.x)));
}

// --- the functions -------------------------------------------------------------------------------

using Arguments = TranscendentalArguments;

constexpr auto kIsZero = [](Arguments v) { return v.x == 0; };
constexpr auto kIsPoint = [](Arguments v) { return v.x == 0 || v.a == 0; };
constexpr auto kIsAnyZero = [](Arguments v) { return v.x == 0 || v.a == 0 || v.b == 0; };

// For finite arguments; others are special.
struct Function {
  F function;
  bool (*is_special)(Arguments v);
  double (*special)(Arguments v);
  DoubleDouble (*value)(Arguments v);  // where it is not special
};

constexpr auto kIsSpecialPower = [](Arguments v) {
  return v.x == 0 || v.a == 0 || std::fabs(v.x) == 1 || (v.x < 0 && v.a != std::trunc(v.a));
};
constexpr auto kSpecialPower = [](Arguments v) { return std::pow(v.x, v.a); };
constexpr auto kPower = [](Arguments v) {
  return SnapToShort(WithSignOf(std::fmod(v.a, 2) != 0 ? v.x : 1, Power(v.x, v.a)));
};

constexpr DoubleDouble Exact(double x) {
  return {x, 0};
}

constexpr Function kFunctions[] = {
    {F::kExp, kIsZero, [](Arguments v) { return std::exp(v.x); },
     [](Arguments v) { return Exp(Exact(v.x)); }},
    {F::kLog, [](Arguments v) { return v.x <= 0; }, [](Arguments v) { return std::log(v.x); },
     [](Arguments v) { return Log(Exact(v.x)); }},
    {F::kSin, kIsZero, [](Arguments v) { return std::sin(v.x); },
     [](Arguments v) { return Sine(v.x); }},
    {F::kCos, kIsZero, [](Arguments v) { return std::cos(v.x); },
     [](Arguments v) { return Cosine(v.x); }},
    {F::kTan, kIsZero, [](Arguments v) { return std::tan(v.x); },
     [](Arguments v) { return Tangent(v.x); }},
    {F::kAsin, [](Arguments v) { return v.x == 0 || std::fabs(v.x) > 1; },
     [](Arguments v) { return std::asin(v.x); }, [](Arguments v) { return ArcSine(v.x); }},
    {F::kAcos, [](Arguments v) { return std::fabs(v.x) >= 1; },
     [](Arguments v) { return std::acos(v.x); },
     [](Arguments v) { return Angle(OtherLeg(v.x), Exact(v.x)); }},
    {F::kAtan, kIsZero, [](Arguments v) { return std::atan(v.x); },
     [](Arguments v) { return WithSignOf(v.x, Angle(Exact(std::fabs(v.x)), kUnity)); }},
    {F::kSinh, kIsZero, [](Arguments v) { return std::sinh(v.x); },
     [](Arguments v) { return HyperbolicSine(v.x); }},
    {F::kCosh, kIsZero, [](Arguments v) { return std::cosh(v.x); },
     [](Arguments v) { return HyperbolicCosine(v.x); }},
    {F::kTanh, kIsZero, [](Arguments v) { return std::tanh(v.x); },
     [](Arguments v) { return HyperbolicTangent(Exact(v.x)); }},
    {F::kAsinh, kIsZero, [](Arguments v) { return std::asinh(v.x); },
     [](Arguments v) { return AreaSine(v.x); }},
    {F::kAcosh, [](Arguments v) { return v.x <= 1; }, [](Arguments v) { return std::acosh(v.x); },
     [](Arguments v) { return AreaCosine(v.x); }},
    {F::kAtanh, [](Arguments v) { return v.x == 0 || std::fabs(v.x) >= 1; },
     [](Arguments v) { return std::atanh(v.x); }, [](Arguments v) { return AreaTangent(v.x); }},
    {F::kErf, kIsZero, [](Arguments v) { return std::erf(v.x); },
     [](Arguments v) { return ErrorFunction(v.x); }},
    {F::kSigmoid, kIsZero, [](Arguments v) { return 1 / (1 + std::exp(-v.x)); },
     [](Arguments v) { return Logistic(Exact(v.x)); }},
    {F::kGelu, kIsZero, [](Arguments v) { return 0.5 * v.x * (1 + std::erf(v.x)); },
     [](Arguments v) { return Gelu(v.x); }},
    {F::kElu, [](Arguments v) { return v.x >= 0 || v.a == 0; },
     [](Arguments v) { return v.x >= 0 ? v.x : v.a * std::expm1(v.x); },
     [](Arguments v) { return Expm1(Exact(v.x)) * v.a; }},
    {F::kCelu, kIsPoint, SpecialContinuousUnit,
     [](Arguments v) { return ContinuousUnit(v.x, v.a); }},
    {F::kScaledElu, kIsAnyZero, SpecialScaledUnit,
     [](Arguments v) { return ScaledUnit(v.x, v.a, v.b); }},
    {F::kScaledTanh, kIsAnyZero, [](Arguments v) { return v.a * std::tanh(v.b * v.x); },
     [](Arguments v) { return HyperbolicTangent(TwoProduct(v.x, v.b)) * v.a; }},
    {F::kSoftplus, [](Arguments v) { return v.a == 0; },
     [](Arguments v) { return std::log1p(std::exp(v.a * v.x)) / v.a; },
     [](Arguments v) { return Softplus(v.x, v.a); }},
    {F::kParametricSoftplus, [](Arguments v) { return v.a == 0; }, SpecialSoftMaximum,
     [](Arguments v) { return SoftMaximum(TwoProduct(v.x, v.b)) * v.a; }},
    {F::kSwish, kIsZero, [](Arguments v) { return v.x / (1 + std::exp(-v.a * v.x)); },
     [](Arguments v) { return Swish(v.x, v.a); }},
    {F::kConstantPow, kIsSpecialPower, kSpecialPower, kPower},
    {F::kPow, kIsSpecialPower, kSpecialPower, kPower},
    {F::kAtanYx, kIsPoint, [](Arguments v) { return std::atan2(v.x, v.a); },
     [](Arguments v) { return WithSignOf(v.x, Angle(Exact(std::fabs(v.x)), Exact(v.a))); }},
};

const Function& RowOf(F function) {
  const auto* const row = std::ranges::find(kFunctions, function, &Function::function);
  assert(row != std::end(kFunctions));
  return *row;
}

}  // namespace

bool IsSpecial(ElementWiseFunction function, const TranscendentalArguments& arguments) {
  const auto [x, a, b] = arguments;
  if (!std::isfinite(x) || !std::isfinite(a) || !std::isfinite(b)) return true;
  return RowOf(function).is_special(arguments);
}

double SpecialValue(ElementWiseFunction function, const TranscendentalArguments& arguments) {
  return RowOf(function).special(arguments);
}

HeadTail ExactTranscendental(ElementWiseFunction function,
                             const TranscendentalArguments& arguments) {
  if (IsSpecial(function, arguments)) return {SpecialValue(function, arguments), 0};
  return RowOf(function).value(arguments);
}

// --- elements ------------------------------------------------------------------------------------

HeadTail ExactElement(ElementWiseFunction function, std::span<const double> elements,
                      std::span<const double> numbers) {
  const double x = elements[0];
  if (function == ElementWiseFunction::kSoftsign) {
    return DoubleDouble{x, 0} / TwoSum(1.0, std::fabs(x));
  }
  const double a = elements.size() > 1 ? elements[1] : numbers[0];
  return ExactTranscendental(function, {x, a, numbers[1]});
}

bool NeedsExactElements(ElementWiseFunction function, std::span<const double> numbers) {
  using enum ElementWiseFunction;
  const bool divides = function == kCelu || function == kSoftplus;
  return !std::isfinite(numbers[0]) || !std::isfinite(numbers[1]) || (divides && numbers[0] == 0);
}

}  // namespace dmlop
