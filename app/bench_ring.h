// Memory that bench works on: copies of the same tensors one behind another. A call on the next
// copies finds nothing of them in the caches once all copies together are larger.
#pragma once

#include <vector>

#include "app/bench_case.h"
#include "core/ops/traffic.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// Numbers in [0, count), each once a turn, in leaps that no prefetcher follows.
class Rotation {
 public:
  explicit Rotation(int64_t count);

  int64_t Next() { return at_ = (at_ + leap_) % count_; }

 private:
  int64_t count_;
  int64_t leap_;
  int64_t at_ = 0;
};

// An operator on `copies` copies of its tensors.
class OperatorRing {
 public:
  OperatorRing(const BenchCase& of, int64_t copies);

  Traffic traffic() const { return TrafficOf(desc_, inputs_, outputs_); }
  int64_t work_bytes() const { return WorkBytes(desc_); }  // of a call

  // Bytes of one copy of the tensors.
  static int64_t BytesOf(const BenchCase& of);

  void Run() { dmlop::Run(desc_, inputs_, outputs_); }
  void Advance();

 private:
  struct Slot {
    Buffer copies;
    size_t pitch;
  };

  const OperatorDesc& desc_;
  Rotation rotation_;
  std::vector<Slot> input_slots_, output_slots_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
};

// The loop that moves as many bytes as quickly as memory lets it, on `copies` copies.
class LimitRing {
 public:
  LimitRing(Limit limit, int64_t bytes, int64_t copies);

  // Bytes of one copy of its memory.
  static int64_t BytesOf(Limit limit, int64_t bytes);

  // Which of two ways is quicker; `cold` calls are followed by Advance.
  void ChoosePath(bool cold);

  void Run();
  void Advance() { at_ = static_cast<size_t>(rotation_.Next()) * pitch_; }

 private:
  double SecondsOfCall(bool other_path, bool cold);

  Limit limit_;
  size_t size_;  // of the source, of the destination, or of both each
  size_t pitch_;
  Rotation rotation_;
  Buffer from_, to_;
  size_t at_ = 0;
  bool other_path_ = false;  // into the caches and in one stream, or else
};

}  // namespace dmlop
