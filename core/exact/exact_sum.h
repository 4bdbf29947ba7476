// Sums of binary64 values without rounding, in an order that does not matter.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>

namespace dmlop {

// The value of an ExactSum as +-sum of digits[i] * 2^(32 * i + kLowExponent).
struct SignMagnitude {
  static constexpr int kLowExponent = -350;  // even, so that a square root halves it
  static constexpr int kDigitCount = 20;

  std::array<uint32_t, kDigitCount> digits{};  // least significant first
  bool negative = false;

  bool IsZero() const;
};

// A fixed-point number with 32 payload bits in each 64-bit limb; the other half of a limb collects
// carries, so an addition touches three limbs whatever the sum was before.
//
// Holds up to 2^33 terms, each a multiple of 2^-298 (the square of the least FLOAT32 subnormal)
// and below 2^257 in magnitude, or fewer and larger ones up to 2^273. Infinities and NaN are the
// caller's business.
class ExactSum {
 public:
  // Adds `value`, finite and below 2^273. A value below 2^-298 is dropped: only exponentials are
  // ever that small, and they stand beside a term of 1.
  void Add(double value);

  void Merge(const ExactSum& other);

  // -1, 0 or 1.
  int Sign() const;

  SignMagnitude ToSignMagnitude() const;

 private:
  static constexpr int kLimbCount = SignMagnitude::kDigitCount;
  static constexpr int kMantissaBits = 52;
  static constexpr int kLowestBiasedExponent = 1023 + kMantissaBits + SignMagnitude::kLowExponent;
  static constexpr int kHighestBiasedExponent = 1023 + 272;
  static constexpr uint32_t kMaxPending = (uint32_t{1} << 31) - 1;
  static constexpr uint64_t kPayloadMask = 0xFFFFFFFFu;

  // Moves carries up. Afterwards every limb but the last, which has the sign, is in [0, 2^32).
  void Normalize();

  std::array<int64_t, kLimbCount> limbs_{};
  uint32_t pending_ = 0;  // each limb's magnitude is at most pending_ * 2^32
};

inline void ExactSum::Add(double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const int biased_exponent = static_cast<int>((bits >> kMantissaBits) & 0x7FF);
  if (biased_exponent < kLowestBiasedExponent) return;
  assert(biased_exponent <= kHighestBiasedExponent);

  const uint64_t hidden_bit = uint64_t{1} << kMantissaBits;
  const uint64_t significand = (bits & (hidden_bit - 1)) | hidden_bit;
  const unsigned position = static_cast<unsigned>(biased_exponent - kLowestBiasedExponent);
  const unsigned shift = position % 32;
  const uint64_t low = significand << shift;
  const uint64_t high = (significand >> 32) >> (32 - shift);  // the bits shifted out of `low`

  // (x ^ sign) - sign negates x where the sign is -1.
  const int64_t sign = static_cast<int64_t>(bits) >> 63;
  int64_t* const limb = &limbs_[position / 32];
  limb[0] += (static_cast<int64_t>(low & kPayloadMask) ^ sign) - sign;
  limb[1] += (static_cast<int64_t>(low >> 32) ^ sign) - sign;
  limb[2] += (static_cast<int64_t>(high) ^ sign) - sign;
  if (++pending_ == kMaxPending) Normalize();
}

}  // namespace dmlop
