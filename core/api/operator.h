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
// Members beside the operator, such as "bindings", are checked and otherwise left alone; no file is
// opened. The result's bits depend on the descriptor and the inputs' values alone.
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
  std::string data_type;          // as DirectML names it: "FLOAT32"
  std::vector<uint32_t> sizes;    // 1 to 8 dimensions, in elements
  std::vector<uint32_t> strides;  // between neighbours along each dimension, in elements
  std::size_t element_bytes;      // of one element; 1 where two of 4 bits share a byte
  std::size_t bytes;              // of its buffer: TotalTensorSizeInBytes, a multiple of 4
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

// An operator that is ready to run, as often as is wanted, from several threads at once. One that
// was moved from can only be destroyed or assigned to.
class DMLOP_API Operator {
 public:
  // Reads and checks the JSON text, of which nothing is kept. Throws InvalidDescriptor.
  explicit Operator(std::string_view descriptor);
  Operator(Operator&& other) noexcept;
  Operator& operator=(Operator&& other) noexcept;
  ~Operator();

  // In the order in which Run takes them; valid as long as the operator is.
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;

  // Computes the outputs on all cores. The buffers belong to the caller; each begins at a multiple
  // of its tensor's element_bytes and reaches to the last element at least. Elements lie as the
  // strides say, and what lies between those of an output is left alone. Two elements of INT4 or
  // UINT4 share a byte, the first one in its low half; behind a last one alone there is zero.
  // Outputs overlap neither one another nor inputs, but that of an operator which runs in place, as
  // most element-wise ones do, may be the buffer of an input of its DataType, Sizes and Strides.
  // Throws std::invalid_argument for buffers that are too few, too many, too small, not aligned or
  // overlap, and std::bad_alloc. Only what reaches from a first to a last element counts.
  void Run(const std::vector<std::span<const std::byte>>& inputs,
           const std::vector<std::span<std::byte>>& outputs) const;

  // What is most likely wrong with the values of the inputs, a line each, although Run takes them:
  // an index that is out of range, of a tensor of indices. Mostly nothing, and then this costs no
  // more than to read such tensors. Throws as Run does.
  //
  //   IndicesTensor: 2 of 8 indices are out of range and clamped; the first is 9 at [0, 3]; such
  //   elements judge no device [IDX-5]
  std::vector<std::string> WarningsOf(const std::vector<std::span<const std::byte>>& inputs) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

// Sets how many threads the process computes with, at least 1; at first, as many as the cores that
// it may use. Throws std::invalid_argument for fewer, and std::runtime_error where the system has
// not so many. Not to be called while an operator runs.
DMLOP_API void SetMaximumThreads(int count);

// "0.1.0"
DMLOP_API std::string_view Version();

}  // namespace dmlop
