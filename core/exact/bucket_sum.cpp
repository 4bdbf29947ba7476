#include "core/exact/bucket_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dmlop {
namespace {

constexpr int kMantissaBits = 23;
constexpr size_t kExponents = 256;
constexpr size_t kSpecialExponent = 255;
constexpr int kLeastExponent = -149;  // of the last place of a subnormal

// The exponent of the last place of a significand in that bucket.
int LastPlace(size_t bucket) {
  const int exponent = static_cast<int>(bucket % kExponents);
  return kLeastExponent + (exponent == 0 ? 0 : exponent - 1);
}

uint32_t Significand(uint32_t bits) {
  const uint32_t hidden = (bits & 0x7F800000u) != 0 ? 1u << kMantissaBits : 0u;
  return (bits & 0x7FFFFFu) | hidden;
}

}  // namespace

template <typename Term>
void BucketSum::AddTerms(const float* values, int64_t count, Term&& term) {
  constexpr int64_t kStep = static_cast<int64_t>(kTables);
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (size_t t = 0; t < kTables; ++t) {
      term(tables_[t], std::bit_cast<uint32_t>(values[i + static_cast<int64_t>(t)]));
    }
  }
  for (; i < count; ++i) term(tables_[0], std::bit_cast<uint32_t>(values[i]));
}

void BucketSum::Add(const float* values, int64_t count) {
  AddTerms(values, count,
           [](auto& table, uint32_t bits) { table[bits >> kMantissaBits] += Significand(bits); });
}

void BucketSum::AddMagnitudes(const float* values, int64_t count) {
  AddTerms(values, count, [](auto& table, uint32_t bits) {
    table[(bits >> kMantissaBits) % kExponents] += Significand(bits);
  });
}

void BucketSum::AddSquares(const float* values, int64_t count) {
  AddTerms(values, count, [](auto& table, uint32_t bits) {
    const uint64_t significand = Significand(bits);
    table[(bits >> kMantissaBits) % kExponents] += significand * significand;
  });
}

uint64_t BucketSum::Total(size_t bucket) const {
  uint64_t total = 0;
  for (const auto& table : tables_) total += table[bucket];
  return total;
}

bool BucketSum::has_special() const {
  return Total(kSpecialExponent) != 0 || Total(kSpecialExponent + kExponents) != 0;
}

bool BucketSum::has_only_zeros() const {
  return std::all_of(tables_.begin(), tables_.end(), [](const auto& table) {
    return std::all_of(table.begin(), table.end(), [](uint64_t total) { return total == 0; });
  });
}

template <typename Take>
void BucketSum::TakeAll(Take&& take) {
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const uint64_t total = Total(bucket);
    if (total != 0) take(bucket, total);
  }
  tables_ = {};
}

void BucketSum::MoveTo(ExactSum& sum) {
  TakeAll([&](size_t bucket, uint64_t total) {  // at most 40 bits
    const double magnitude = std::ldexp(static_cast<double>(total), LastPlace(bucket));
    sum.Add(bucket < kExponents ? magnitude : -magnitude);
  });
}

void BucketSum::MoveSquaresTo(ExactSum& sum) {
  TakeAll([&](size_t bucket, uint64_t total) {  // in two parts that a double holds
    const int last_place = 2 * LastPlace(bucket);
    sum.Add(std::ldexp(static_cast<double>(total & 0xFFFFFFFFu), last_place));
    sum.Add(std::ldexp(static_cast<double>(total >> 32), last_place + 32));
  });
}

}  // namespace dmlop
