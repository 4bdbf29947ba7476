#include "core/exact/exact_sum.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace dmlop {

bool SignMagnitude::IsZero() const {
  return std::all_of(digits.begin(), digits.end(), [](uint32_t digit) { return digit == 0; });
}

void ExactSum::Merge(const ExactSum& other) {
  ExactSum addend = other;
  if (uint64_t{pending_} + addend.pending_ >= kMaxPending) {
    Normalize();
    addend.Normalize();
  }
  for (size_t i = 0; i < limbs_.size(); ++i) limbs_[i] += addend.limbs_[i];
  pending_ += addend.pending_;
}

int ExactSum::Sign() const {
  const SignMagnitude value = ToSignMagnitude();
  if (value.negative) return -1;
  return value.IsZero() ? 0 : 1;
}

SignMagnitude ExactSum::ToSignMagnitude() const {
  ExactSum sum = *this;
  sum.Normalize();
  SignMagnitude value;
  value.negative = sum.limbs_.back() < 0;
  if (value.negative) {
    for (int64_t& limb : sum.limbs_) limb = -limb;
    sum.Normalize();
  }
  for (size_t i = 0; i < sum.limbs_.size(); ++i) {
    assert(sum.limbs_[i] <= int64_t{kPayloadMask});
    value.digits[i] = static_cast<uint32_t>(sum.limbs_[i]);
  }
  return value;
}

void ExactSum::Normalize() {
  int64_t carry = 0;
  for (size_t i = 0; i + 1 < limbs_.size(); ++i) {
    const int64_t limb = limbs_[i] + carry;
    limbs_[i] = limb & int64_t{kPayloadMask};
    carry = limb >> 32;
  }
  limbs_.back() += carry;
  pending_ = 1;
}

}  // namespace dmlop
