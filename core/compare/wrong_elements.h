// SPDX-License-Identifier: Apache-2.0
// The elements that do not pass a comparison: where they lie, and how their values are wrong.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A bitmap over the numbers of a tensor's elements, which takes memory only where bits are set.
class WrongElements {
 public:
  static constexpr int64_t kWordBits = 64;

  explicit WrongElements(int64_t element_count)
      : element_count_(element_count), words_(Zeros(word_count())) {}

  int64_t element_count() const { return element_count_; }

  // Adds elements from one thread. Neighbors are gathered before the bitmap is touched.
  class Writer {
   public:
    explicit Writer(WrongElements& wrong) : wrong_(&wrong) {}
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;
    ~Writer() { Flush(); }

    void Add(int64_t index) {
      if (index / kWordBits != word_) Flush();
      word_ = index / kWordBits;
      bits_ |= BitOf(index);
    }

   private:
    void Flush() {
      if (bits_ == 0) return;
      std::atomic_ref(wrong_->words_[static_cast<size_t>(word_)])
          .fetch_or(std::exchange(bits_, 0), std::memory_order_relaxed);
    }

    WrongElements* wrong_;
    int64_t word_ = 0;
    uint64_t bits_ = 0;
  };

  void Add(int64_t index) { words_[static_cast<size_t>(index / kWordBits)] |= BitOf(index); }

  bool Contains(int64_t index) const {
    return (words_[static_cast<size_t>(index / kWordBits)] & BitOf(index)) != 0;
  }

  int64_t count() const {
    int64_t count = 0;
    for (int64_t i = 0; i < word_count(); ++i)
      count += std::popcount(words_[static_cast<size_t>(i)]);
    return count;
  }

  // Calls visit(index) for the elements in [begin, end), in their order.
  template <typename Visit>
  void ForEachIn(int64_t begin, int64_t end, Visit&& visit) const {
    for (int64_t i = begin / kWordBits; i * kWordBits < end; ++i) {
      uint64_t bits = words_[static_cast<size_t>(i)];
      if (i * kWordBits < begin) bits &= ~uint64_t{0} << (begin % kWordBits);
      for (; bits != 0; bits &= bits - 1) {
        const int64_t index = i * kWordBits + std::countr_zero(bits);
        if (index >= end) return;
        visit(index);
      }
    }
  }

  template <typename Visit>
  void ForEach(Visit&& visit) const {
    ForEachIn(0, element_count_, visit);
  }

 private:
  int64_t word_count() const { return (element_count_ + kWordBits - 1) / kWordBits; }

  struct Free {
    void operator()(uint64_t* words) const { std::free(words); }
  };
  using Words = std::unique_ptr<uint64_t[], Free>;

  static uint64_t BitOf(int64_t index) { return uint64_t{1} << (index % kWordBits); }

  static Words Zeros(int64_t count) {
    auto* const words =
        static_cast<uint64_t*>(std::calloc(static_cast<size_t>(count) + 1, sizeof(uint64_t)));
    if (words == nullptr) throw std::bad_alloc();
    return Words(words);
  }

  int64_t element_count_;
  Words words_;
};

struct Where {
  std::string box;   // the least box around them: "[0..7, 3, 32..63, *]"; * is a whole dimension
  std::string text;  // what they have in common: "all have w = 55; every element there"
};

// Both are empty if there are no such elements. Takes time linear in their number.
Where WhereOf(const Dims& sizes, const WrongElements& wrong);

// The name of a dimension: n, c, h, w, as DirectML orders four, or n, c, d, h, w; else "axis 2".
std::string AxisName(size_t rank, size_t axis);

// Some of the wrong elements. An element may be in several classes.
struct ValueClass {
  std::string id;    // stable: "nan-for-number", "zero", "constant-difference", ...
  std::string text;  // "44 are 0"
  int64_t count;
};

// Returns the classes that have elements, in the order of the list in dmlop-compare(1). The views
// are those of a comparison: of equal sizes, and of equal types or two floats. Takes time linear in
// the number of elements.
std::vector<ValueClass> ClassesOf(const ConstTensorView& actual, const ConstTensorView& expected,
                                  const WrongElements& wrong);

}  // namespace dmlop
