// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/exact.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>

#include "core/tensor/visit_data_type.h"
#include "tests/reference/element.h"

namespace dmlop::reference {
namespace {

using enum DataType;

Integer Least(DataType type) {
  return IsSigned(type) ? -(Integer{1} << (BitWidth(type) - 1)) : 0;
}
Integer Greatest(DataType type) {
  return (Integer{1} << (BitWidth(type) - (IsSigned(type) ? 1 : 0))) - 1;
}

// The bits of a value that the type holds exactly, or of an infinity or NaN.
uint64_t BitsOfDouble(double value, DataType type) {
  if (type == kFloat16) return ToHalf(value).bits;
  if (type == kFloat32) {
    return std::isnan(value) ? 0x7FC00000u : std::bit_cast<uint32_t>(static_cast<float>(value));
  }
  return std::isnan(value) ? 0x7FF8ull << 48 : std::bit_cast<uint64_t>(value);
}

template <typename Visitor>
auto OfFloatType(DataType type, Visitor&& visit) {
  if (type == kFloat16) return visit(Half{});
  if (type == kFloat32) return visit(float{});
  return visit(double{});
}

}  // namespace

double FloatOf(const StoredElement& element) {
  switch (element.type) {
    case kFloat16:
      return ToFloat(FromBits<Half>(element.bits));
    case kFloat32:
      return FromBits<float>(element.bits);
    case kFloat64:
      return FromBits<double>(element.bits);
    default:
      assert(false);
      return 0;
  }
}

Integer IntegerOf(const StoredElement& element) {
  Integer value = 0;
  VisitDataType(Join<Integers64, Integers32, Integers16, Integers8>(), element.type,
                [&]<typename T>() { value = FromBits<T>(element.bits); });
  return value;
}

uint64_t Wrapped(Integer value, DataType type) {
  const auto low = static_cast<uint64_t>(value);
  return BitWidth(type) == 64 ? low : low & ((uint64_t{1} << BitWidth(type)) - 1);
}

uint64_t Clamped(const Real& value, DataType type) {
  if (mpfr_nan_p(value.get())) return 0;
  if (mpfr_inf_p(value.get())) {
    return Wrapped(mpfr_sgn(value.get()) < 0 ? Least(type) : Greatest(type), type);
  }
  mpz_t integer;
  mpz_init(integer);
  mpfr_get_z(integer, value.get(), MPFR_RNDZ);
  Integer result = mpz_sgn(integer) < 0 ? Least(type) : Greatest(type);
  if (mpz_sizeinbase(integer, 2) <= 64) {
    const Integer magnitude = mpz_get_ui(integer);
    const Integer signed_value = mpz_sgn(integer) < 0 ? -magnitude : magnitude;
    result = std::min(std::max(signed_value, Least(type)), Greatest(type));
  }
  mpz_clear(integer);
  return Wrapped(result, type);
}

double Quantity(const StoredElement& element) {
  return IsFloat(element.type) ? FloatOf(element) : static_cast<double>(IntegerOf(element));
}

uint64_t Rounded(const Exact& exact, double plain, DataType type) {
  if (!IsFloat(type)) {
    return Clamped(std::isfinite(plain) ? exact.real() : Real(plain), type);
  }
  if (!std::isfinite(plain) || mpfr_zero_p(exact.real().get())) return BitsOfDouble(plain, type);
  return OfFloatType(type,
                     [&]<typename T>(T) { return uint64_t{BitsOf(RoundReal<T>(exact.real()))}; });
}

}  // namespace dmlop::reference
