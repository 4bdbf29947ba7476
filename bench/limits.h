// SPDX-License-Identifier: Apache-2.0
// The limits of memory, measured next to operators.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/engine/limits.h"
#include "core/tensor/sample_values.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A way to reach a limit; if there are two, the faster one is the limit.
struct LimitWay {
  const char* name;
  Limit limit;
  ReadPath read_path = ReadPath::kOneStream;  // only for kRead
};

inline constexpr LimitWay kLimitWays[] = {
    {"LimitCopy", Limit::kCopy},
    {"LimitWrite", Limit::kWrite},
    {"LimitRead/one_stream", Limit::kRead, ReadPath::kOneStream},
    {"LimitRead/few_streams", Limit::kRead, ReadPath::kFewStreams},
};

// Runs one of them, past the caches, on its own buffers.
class LimitWorkload {
 public:
  explicit LimitWorkload(const LimitWay& way)
      : way_(way),
        from_(way.limit == Limit::kWrite ? 0 : kBytes),
        to_(way.limit == Limit::kRead ? 0 : kBytes) {
    // Zeros would be faster than any other data.
    FillWithSampleValues(DataType::kUint8, {from_.data(), from_.size()});
  }

  void Run() {
    switch (way_.limit) {
      case Limit::kCopy:
        return CopyBytes({to_.data(), to_.size()}, from_.bytes(), WritePath::kStreamed);
      case Limit::kWrite:
        return WriteBytes({to_.data(), to_.size()}, WritePath::kStreamed);
      case Limit::kRead:
        return ReadBytes(from_.bytes(), way_.read_path);
      case Limit::kArithmetic:
        return MultiplyAdd(kBytes);
    }
  }

  int64_t bytes() const { return static_cast<int64_t>(from_.size() + to_.size()); }

 private:
  static constexpr size_t kBytes = size_t{1} << 28;

  LimitWay way_;
  Buffer from_, to_;
};

}  // namespace dmlop
