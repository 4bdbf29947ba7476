// SPDX-License-Identifier: Apache-2.0
#include "core/exact/exact_sum.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace dmlop {

bool SignMagnitude::IsZero() const {
  return std::all_of(digits.begin(), digits.end(), [](uint32_t digit) { return digit == 0; });
}

void ExactSum::Merge(const ExactSum& other) {
  Combine(other, 1);
}

void ExactSum::Remove(const ExactSum& other) {
  Combine(other, -1);
}

void ExactSum::Combine(const ExactSum& other, int64_t sign) {
  if (pending_ + other.pending_ >= kMaxPending) {
    Normalize();
    if (other.pending_ > 1) {
      ExactSum addend = other;
      addend.Normalize();
      return Combine(addend, sign);
    }
  }
  const Int128 mask = sign < 0 ? -1 : 0;  // (x ^ mask) - mask negates x where all bits are set
  for (size_t i = 0; i < parts_.size(); ++i) parts_[i] += (other.parts_[i] ^ mask) - mask;
  pending_ += other.pending_;
}

int ExactSum::Sign() const {
  const SignMagnitude value = ToSignMagnitude();
  if (value.negative) return -1;
  return value.IsZero() ? 0 : 1;
}

SignMagnitude ExactSum::ToSignMagnitude() const {
  // The parts become two's complement, with the sign in the carry.
  std::array<uint64_t, kPartCount> payloads;
  Int128 carry = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Int128 part = parts_[i] + carry;
    payloads[i] = static_cast<uint64_t>(part);
    carry = part >> kPartBits;
  }
  assert(carry == 0 || carry == -1);
  SignMagnitude value;
  value.negative = carry < 0;
  bool carries = value.negative;
  for (size_t i = 0; i < payloads.size(); ++i) {
    uint64_t payload = payloads[i];
    if (value.negative) payload = ~payload + (carries ? 1 : 0);
    carries = carries && payload == 0;
    value.digits[2 * i] = static_cast<uint32_t>(payload);
    value.digits[2 * i + 1] = static_cast<uint32_t>(payload >> 32);
  }
  return value;
}

void ExactSum::Normalize() {
  Int128 carry = 0;
  for (size_t i = 0; i + 1 < parts_.size(); ++i) {
    const Int128 part = parts_[i] + carry;
    parts_[i] = static_cast<uint64_t>(part);
    carry = part >> kPartBits;
  }
  parts_.back() += carry;
  pending_ = 1;
}

}  // namespace dmlop
