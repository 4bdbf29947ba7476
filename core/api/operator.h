// SPDX-License-Identifier: Apache-2.0
// DirectML's tensor operators on the CPU: the text of a descriptor and buffers in, the result out.
//
//   const float x[] = {1, 2, 3, 4, 5, 6};
//   float sums[3];
//   const dmlop::Operator reduce(R"({"type": "REDUCE", "desc": {"Function": "SUM", "Axes": [0],
//       "InputTensor": {"DataType": "FLOAT32", "Sizes": [2, 3]}}})");
//   reduce.Run({std::as_bytes(std::span(x))}, {std::as_writable_bytes(std::span(sums))});
//   // sums is {5, 7, 9}
//
// The descriptor is what dmlop-descriptor(5) describes: every input has its DataType and Sizes.
// Members next to the operator, such as "bindings", are checked and otherwise ignored; no file is
// opened. The result's bits depend only on the descriptor and the inputs' values.
#pragma once

#if __cplusplus <= 201703L
#error "dmlop/operator.h needs C++20: compile with -std=c++20 or later"
#endif

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#define DMLOP_API __attribute__((visibility("default")))

namespace dmlop {

// A tensor of an operator.
struct TensorInfo {
  std::string name;               // its field: "InputTensor", "OutputTensors[1]"
  std::string data_type;          // DirectML's name: "FLOAT32"
  std::vector<uint32_t> sizes;    // 1 to 8 dimensions, in elements
  std::vector<uint32_t> strides;  // between neighbors along each dimension, in elements
  std::size_t element_bytes;      // size of one element; 1 if two of 4 bits share a byte
  std::size_t bytes;              // size of its buffer: TotalTensorSizeInBytes, a multiple of 4
};

// A descriptor that cannot run. what() has a line for each fault:
//
//   1:131: /desc/Axes/0: axis 4 is out of range for InputTensor with 2 dimensions [RED-3]
class DMLOP_API InvalidDescriptor : public std::invalid_argument {
 public:
  explicit InvalidDescriptor(const std::string& faults);
  InvalidDescriptor(const InvalidDescriptor&) noexcept;
  ~InvalidDescriptor() override;
};

// An operator that is ready to run, any number of times, from several threads at once. A moved-from
// operator can only be destroyed or assigned to.
class DMLOP_API Operator {
 public:
  // Reads and checks the JSON text, and keeps none of it. Throws InvalidDescriptor.
  explicit Operator(std::string_view descriptor);
  Operator(Operator&& other) noexcept;
  Operator& operator=(Operator&& other) noexcept;
  ~Operator();

  // The tensors in the order in which Run takes them; valid as long as the operator.
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;

  // Computes the outputs on all cores. The buffers belong to the caller; each begins at a multiple
  // of its tensor's element_bytes and reaches at least to the last element. The strides give the
  // positions of the elements, and what lies between those of an output is left alone. Two elements
  // of INT4 or UINT4 share a byte, the first one in its low half; the unused half of a last byte is
  // set to zero. Outputs must not overlap each other or the inputs, except that an operator that
  // runs in place, as most element-wise ones do, may write into an input of the same DataType,
  // Sizes and Strides. Only the bytes from a first to a last element count. Throws
  // std::invalid_argument for buffers that are too few, too many, too small, misaligned or
  // overlapping, and std::bad_alloc.
  void Run(const std::vector<std::span<const std::byte>>& inputs,
           const std::vector<std::span<std::byte>>& outputs) const;

  // Returns what is most likely wrong with the values of the inputs, although Run takes them, one
  // line each: indices of a tensor that are out of range. Mostly there is nothing, and the call
  // costs no more than reading such tensors. Throws as Run does.
  //
  //   IndicesTensor: 2 of 8 indices are out of range and clamped; the first is 9 at [0, 3]; such
  //   elements judge no device [IDX-5]
  std::vector<std::string> WarningsOf(const std::vector<std::span<const std::byte>>& inputs) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

// Sets the number of threads that the process computes with, at least 1; the default is the number
// of cores that it may use. Throws std::invalid_argument for less, and std::runtime_error if the
// system does not have so many. Must not be called while an operator runs.
DMLOP_API void SetMaximumThreads(int count);

// "0.1.0"
DMLOP_API std::string_view Version();

}  // namespace dmlop
