// SPDX-License-Identifier: Apache-2.0
// The memory that bench works on: several copies of the same tensors. Once all copies are larger
// than the caches, a call on the next copy finds none of it cached.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/exit_status.h"
#include "app/files/file_roles.h"
#include "app/options/options.h"
#include "core/io/tensor_file.h"
#include "core/ops/operator.h"
#include "core/ops/pieces.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// --- operators and their inputs ------------------------------------------------------------------

struct BenchCase {
  std::string name;                  // unique; the rows' name
  OperatorDesc desc;                 // valid
  std::vector<LoadedTensor> inputs;  // without data if values are to be made up
};

// Appends the operators of all documents, in order, and adds the files that are read. Prints faults
// and returns their status.
ExitStatus ReadBenchCases(const BenchOptions& options, const CommonOptions& common,
                          std::vector<BenchCase>& cases, FileRoles& roles);

// --- memory --------------------------------------------------------------------------------------

// Numbers in [0, count), each once per turn, in leaps that no prefetcher follows.
class Rotation {
 public:
  explicit Rotation(int64_t count);

  int64_t Next() { return at_ = (at_ + leap_) % count_; }

 private:
  int64_t count_;
  int64_t leap_;
  int64_t at_ = 0;
};

// Memory that one row after another uses, as the system takes longer to give pages than most rows
// take.
class KeptMemory {
 public:
  // Returns that many bytes of any values.
  std::byte* Take(size_t size);

  // Returns sample values of a type, which are filled in only where they are not there any more.
  std::byte* TakeSamples(DataType type, size_t size);

  size_t size() const { return buffer_.size(); }

 private:
  void Grow(size_t size);

  Buffer buffer_;
  DataType type_ = DataType::kUnknown;  // of the samples
  size_t sampled_ = 0;                  // bytes in front that are samples
};

struct RingMemory {
  KeptMemory read, written;

  size_t size() const { return read.size() + written.size(); }
};

// An operator on `copies` copies of its tensors.
class OperatorRing {
 public:
  OperatorRing(const BenchCase& of, int64_t copies, RingMemory& memory);

  Traffic traffic() const { return TrafficOf(desc_, inputs_, outputs_); }
  int64_t operations() const { return OperationsOf(desc_); }
  int64_t work_bytes() const { return WorkBytes(desc_); }  // of a call

  // Size of one copy of the tensors.
  static int64_t BytesOf(const BenchCase& of);

  void Run() { dmlop::Run(desc_, inputs_, outputs_); }
  void Advance();

 private:
  struct Slot {
    std::byte* copies;
    size_t pitch;
  };

  const OperatorDesc& desc_;
  Rotation rotation_;
  std::vector<Slot> input_slots_, output_slots_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
};

// A loop that moves as many bytes as memory allows, on `copies` copies, or that only computes.
class LimitRing {
 public:
  // `work` is in bytes or multiply-adds.
  LimitRing(Limit limit, int64_t work, int64_t copies, RingMemory& memory);

  Limit limit() const { return limit_; }

  // Reads as much of its memory as caches hold, so that little else is left in them.
  void FillCaches(size_t size) const;

  // Size of one copy of its memory.
  static int64_t BytesOf(Limit limit, int64_t bytes);

  // Chooses the quicker of two ways; `cold` calls are each followed by Advance.
  void ChoosePath(bool cold);

  void Run() { Run(calls_, other_path_); }
  void Advance() { calls_.Advance(); }
  double SecondsOfCall() { return SecondsOfCall(calls_, other_path_, /*cold=*/false); }

  // Bytes per second of calls on large parts of all copies, few of which caches can hold: the rate
  // of memory itself. 0 for arithmetic.
  double MemoryRate();

 private:
  struct Walk {
    size_t size;   // of the source, of the destination, or of each
    size_t pitch;  // from one place to the next
    Rotation rotation;
    size_t at = 0;

    void Advance() { at = static_cast<size_t>(rotation.Next()) * pitch; }
  };

  static Walk WalkOf(size_t size, int64_t places);

  void Run(const Walk& walk, bool other_path);
  double SecondsOfCall(Walk& walk, bool other_path, bool cold);

  Limit limit_;
  int64_t work_;
  Walk calls_;
  std::span<std::byte> from_, to_;
  bool other_path_ = false;  // past the caches, or from several places in turn
};

}  // namespace dmlop
