// SPDX-License-Identifier: Apache-2.0
// Finds a tensor with known elements in memory: its byte offset, and its strides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"

namespace dmlop {

struct FoundTensor {
  uint64_t offset;      // offset of the first element, in bytes
  Dims strides;         // in elements
  int64_t equal_count;  // number of elements with the same bits
  int64_t near_count;   // these and, for floats, those that agree in their leading bits
};

struct TensorSearch {
  std::vector<FoundTensor> places;  // the best ones come first
  bool is_common = false;           // the runs that were searched for are almost everywhere
  bool is_constant = false;         // all elements are equal, so that no strides can be told
};

// Returns a few of the places where at least half of the elements are near. In one dimension,
// elements must be adjacent or have one of a few strides; the strides of the other dimensions are
// arbitrary. A tensor of equal elements is looked for without gaps, in places that do not overlap.
// The elements are at least a byte wide.
TensorSearch FindTensor(std::span<const std::byte> memory, const ConstTensorView& tensor);

// --- runs of elements ----------------------------------------------------------------------------

// Parts of a tensor to be searched for in memory: runs of a few elements along one dimension, from
// several places, and their neighbors along each other dimension.

// Encodes the elements of a type as numbers; those of floats ascend with the values.
class ElementCode {
 public:
  explicit ElementCode(DataType type)
      : width_(ByteWidth(type)), is_float_(IsFloat(type)), tolerance_(ToleranceOf(type)) {}

  size_t width() const { return width_; }

  uint64_t At(const std::byte* element) const {
    uint64_t bits = 0;
    std::memcpy(&bits, element, width_);
    return is_float_ ? Flipped(bits, (bits & sign()) != 0) : bits;
  }

  bool IsNear(uint64_t a, uint64_t b) const { return (a > b ? a - b : b - a) <= tolerance_; }

  // A key has 16 bits of an element or, at one byte each, of it and the next one: sign, exponent
  // and leading fraction of a float, and the low bits of an integer, which vary most.
  size_t key_begin() const { return is_float_ ? width_ - 2 : 0; }

  // Calls visit(key) for the keys of all elements near to the code; `next` follows one of a byte.
  template <typename Visit>
  void ForEachKey(uint64_t code, uint64_t next, Visit&& visit) const {
    if (width_ == 1) return visit(static_cast<uint16_t>(code | next << 8));
    if (!is_float_) return visit(static_cast<uint16_t>(code));
    const size_t shift = 8 * key_begin();
    const uint64_t most = (sign() - 1) | sign();
    const uint64_t first = (code - std::min(code, tolerance_)) >> shift;
    const uint64_t last = (code + std::min(most - code, tolerance_)) >> shift;
    for (uint64_t top = first; top <= last; ++top) {
      const uint64_t bits = top << shift;
      visit(static_cast<uint16_t>(Flipped(bits, (bits & sign()) == 0) >> shift));
    }
  }

 private:
  // Floats that are summed in another order, or in a narrower type, still agree within this.
  static uint64_t ToleranceOf(DataType type) {
    if (type == DataType::kFloat16) return uint64_t{1} << 3;
    if (type == DataType::kFloat32) return uint64_t{1} << 13;
    if (type == DataType::kFloat64) return uint64_t{1} << 42;
    return 0;
  }

  uint64_t sign() const { return uint64_t{1} << (8 * width_ - 1); }

  // Flips all bits of a negative float, and only the sign of any other.
  uint64_t Flipped(uint64_t bits, bool all) const {
    const uint64_t every = (sign() - 1) | sign();
    return bits ^ (all ? every : sign());
  }

  size_t width_;
  bool is_float_;
  uint64_t tolerance_;
};

// Some consecutive elements along a dimension.
struct TensorRun {
  Dims index;  // index of the first one
  std::vector<uint64_t> codes;
  std::vector<uint64_t> places;  // positions in memory, in bytes
  bool is_common = false;        // occurs too often to be useful
};

// A run along an axis, and for each other dimension a differing one next to it, if any.
struct RunGroup {
  size_t axis;
  size_t base;  // index into all runs
  std::array<std::optional<size_t>, Dims::kMaxCount> beside{};
};

class TensorRuns {
 public:
  TensorRuns(std::span<const std::byte> memory, const ConstTensorView& tensor);

  // Searches for all runs, with elements `gap` elements apart.
  void Find(int64_t gap);

  const std::vector<RunGroup>& groups() const { return groups_; }
  const TensorRun& run(size_t i) const { return runs_[i]; }
  const ElementCode& code() const { return code_; }

  // Returns true if the first run of each group occurs too often.
  bool AreCommon() const;

  uint64_t CodeAt(const Dims& index) const {
    return code_.At(tensor_.data +
                    OffsetOf(tensor_.layout, index) * static_cast<int64_t>(code_.width()));
  }

  // Draws the index of an element at random.
  Dims AnyIndex();

 private:
  void CountKeys();
  bool IsBase(const TensorRun& run, size_t axis) const;
  void AddGroups(size_t axis);
  TensorRun RunAt(const Dims& index, size_t axis) const;
  std::optional<TensorRun> RarestBeside(const TensorRun& run, size_t axis, size_t dimension);
  double Commonness(const TensorRun& run) const;
  uint16_t KeyAt(size_t place, int64_t gap) const;
  bool IsAt(const TensorRun& run, size_t place, int64_t gap) const;
  template <typename Visit>
  void ForEachKey(const TensorRun& run, size_t element, Visit&& visit) const;

  const std::span<const std::byte> memory_;
  const ConstTensorView& tensor_;
  const ElementCode code_;
  const Dims sizes_;
  std::mt19937_64 random_;             // seeded alike for each search
  std::vector<uint32_t> frequencies_;  // of each key, as samples tell
  std::vector<TensorRun> runs_;
  std::vector<RunGroup> groups_;
};

}  // namespace dmlop
