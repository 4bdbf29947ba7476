// Parts of a tensor that are looked for in memory: runs of a few elements along one dimension, from
// several places, and their neighbours along each other dimension.
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

// The elements of a type as numbers, of which those of floats are in the order of their values.
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

  // What 16 bits of the element's and the next one's bytes say of it: the sign, the exponent and
  // what follows of a float, and the low bits of an integer, which differ most.
  size_t key_begin() const { return is_float_ ? width_ - 2 : 0; }

  // Calls visit(key) for the keys of all that is near; `next` is the element behind one of a byte.
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
  // Floats that are summed in another order, or in a type of fewer bits, still agree in so many
  // bits of the fraction.
  static uint64_t ToleranceOf(DataType type) {
    if (type == DataType::kFloat16) return uint64_t{1} << 3;
    if (type == DataType::kFloat32) return uint64_t{1} << 13;
    if (type == DataType::kFloat64) return uint64_t{1} << 42;
    return 0;
  }

  uint64_t sign() const { return uint64_t{1} << (8 * width_ - 1); }

  // All bits of a negative float, and the sign of any other.
  uint64_t Flipped(uint64_t bits, bool all) const {
    const uint64_t every = (sign() - 1) | sign();
    return bits ^ (all ? every : sign());
  }

  size_t width_;
  bool is_float_;
  uint64_t tolerance_;
};

// Some elements that follow one another along a dimension.
struct TensorRun {
  Dims index;  // of the first one
  std::vector<uint64_t> codes;
  std::vector<uint64_t> places;  // where memory has them, in bytes
  bool is_common = false;        // at too many to be told
};

// A run along an axis, and one beside it along each other dimension that has one which differs.
struct RunGroup {
  size_t axis;
  size_t base;  // among all runs
  std::array<std::optional<size_t>, Dims::kMaxCount> beside{};
};

class TensorRuns {
 public:
  TensorRuns(std::span<const std::byte> memory, const ConstTensorView& tensor);

  // Looks for all runs, whose elements are `gap` elements apart.
  void Find(int64_t gap);

  const std::vector<RunGroup>& groups() const { return groups_; }
  const TensorRun& run(size_t i) const { return runs_[i]; }
  const ElementCode& code() const { return code_; }

  // True where memory has what begins each group at too many places.
  bool AreCommon() const;

  uint64_t CodeAt(const Dims& index) const {
    return code_.At(tensor_.data +
                    OffsetOf(tensor_.layout, index) * static_cast<int64_t>(code_.width()));
  }

  // The index of an element that is drawn at random.
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
  std::mt19937_64 random_;             // the same at each search
  std::vector<uint32_t> frequencies_;  // of keys
  std::vector<TensorRun> runs_;
  std::vector<RunGroup> groups_;
};

}  // namespace dmlop
