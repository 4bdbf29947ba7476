// SPDX-License-Identifier: Apache-2.0
// Seeded initializers of bindings, with the same values on every machine:
//
//   {"random": "uniform", "seed": 7, "low": -1, "high": 1}       arbitrary floats in [low, high]
//   {"random": "integers", "seed": 7, "low": -9, "high": 9}      integers in [low, high]
//   {"random": "normal", "seed": 7, "mean": 0, "deviation": 1}   floats, mostly near the mean
//   {"random": "special", "seed": 7}                             zeros, ones, extremes, inf, NaN
//
// Element i (in row-major order, from 0) depends on the seed and i alone, by
//
//   bits(i) = Mix(Mix(seed) + i * 0x9E3779B97F4A7C15)          modulo 2^64
//
// where Mix is the finalizer of SplitMix64 (Steele, Lea, Flood, 2014). Mix(0) is 0, so the first of
// these numbers would always be 0 for a seed of 0, for which i counts from 1. The bits become
//
//   uniform   low + (high - low) * (floor(bits / 2^11) / 2^53) in binary64, each step rounded to
//             nearest even, then rounded to the type; of integer types, as integers
//   integers  low + floor(bits * (high - low + 1) / 2^64)
//   normal    mean + deviation * z, where z is (u0 + ... + u11 - 6 * (2^53 - 1)) / 2^53 with
//             uj = floor(bits(12 * i + j) / 2^11), an integer rounded to binary64 and divided;
//             each step rounded as above. No z is outside of [-6, 6].
//   special   entry floor(bits * n / 2^64) of the n special values
//
// Defaults: the caller gives each tensor another seed; low and high are -1 and 1 for floats (for
// "integers", -8 and 8), and the least and the largest value of an integer type; mean and deviation
// are 0 and 1.
#pragma once

#include <cstdint>
#include <optional>

#include "core/document/value_reader.h"
#include "core/tensor/data_type.h"
#include "core/tensor/element.h"

namespace dmlop {

constexpr uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

// --- one or two numbers --------------------------------------------------------------------------

// DxDispatch's initializers {"value": v} and {"valueStart": s, "valueDelta": d}, which give many
// elements by one or two numbers.

// Each value is the previous one plus delta in the elements' own type: integers wrap, floats round.
struct ValueSequence {
  ElementBytes start;
  std::optional<ElementBytes> delta;  // none to repeat the same value
};

// Reads the initializer's numbers; empty if one is missing or wrong, which is reported.
std::optional<ValueSequence> ReadSequence(JsonCursor initializer, DataType type,
                                          const ValueReader& values);

// Writes `count` adjacent elements to a place that is aligned for them.
void FillWith(const ValueSequence& sequence, DataType type, int64_t count, std::byte* to);

// --- random values -------------------------------------------------------------------------------

enum class RandomKind { kUniform, kIntegers, kNormal, kSpecial };

struct RandomValues {
  RandomKind kind = RandomKind::kUniform;
  uint64_t seed;
  ElementBytes low{};   // or the mean
  ElementBytes high{};  // or the deviation
};

// Uses `seed` if the initializer has none. Empty if a member is wrong, which is reported.
std::optional<RandomValues> ReadRandom(JsonCursor initializer, DataType type, uint64_t seed,
                                       const ValueReader& values);

// Writes `count` adjacent elements.
void FillWith(const RandomValues& random, DataType type, int64_t count, std::byte* to);

}  // namespace dmlop
