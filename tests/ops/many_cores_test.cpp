// SPDX-License-Identifier: Apache-2.0
// Operators that arithmetic limits have work for more cores than the machine has, and the same bits
// on any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/base/parallel.h"
#include "core/document/operator_document.h"
#include "core/tensor/sample_values.h"
#include "tests/support/case_name.h"
#include "tests/support/desc.h"
#include "tests/support/settings.h"

namespace dmlop {
namespace {

constexpr int kManyThreads = 64;
#ifdef DMLOP_SANITIZED  // several times slower
constexpr int kThreads[] = {1, 3, kManyThreads};
#else
constexpr int kThreads[] = {1, 2, 3, 7, 16, kManyThreads};
#endif

struct Work {
  std::string name;
  int64_t least_pieces;  // of the loop with the most, for kManyThreads; loops that pack have fewer
  const char* desc;
  size_t most_loops = SIZE_MAX;  // that wait for one another

  friend void PrintTo(const Work& work, std::ostream* out) { *out << work.name; }
};

// A word such as "F32[8,64]" stands for a tensor.
const Work kWork[] = {
    {"Gemm", 4 * kManyThreads,
     R"({"type":"GEMM","desc":{"ATensor":F32[1024,1024],"BTensor":F32[1024,1024],
         "TransA":"NONE","TransB":"NONE","Alpha":1,"Beta":0}})"},
    {"FewRowsOfAProduct", 2 * kManyThreads,
     R"({"type":"GEMM","desc":{"ATensor":F16[32,2048],"BTensor":F16[2048,4096],
         "TransA":"NONE","TransB":"NONE","Alpha":1,"Beta":0}})"},
    {"ProductOfBytes", 4 * kManyThreads,
     R"({"type":"MATRIX_MULTIPLY_INTEGER","desc":{"ATensor":S8[1024,1024],"BTensor":S8[1024,1024],
         "OutputTensor":S32[1024,1024]}})"},
    {"ConvolutionOfBytes", 4 * kManyThreads,
     R"({"type":"CONVOLUTION_INTEGER","desc":{"InputTensor":U8[8,64,56,56],
         "FilterTensor":S8[64,64,3,3],"OutputTensor":S32[8,64,56,56],"DimensionCount":2,
         "Strides":[1,1],"Dilations":[1,1],"StartPadding":[1,1],"EndPadding":[1,1],
         "GroupCount":1}})"},
    {"Convolution", 4 * kManyThreads,
     R"({"type":"CONVOLUTION","desc":{"InputTensor":F32[8,64,56,56],"FilterTensor":F32[64,64,3,3],
         "Mode":"CROSS_CORRELATION","Direction":"FORWARD","Strides":[1,1],"Dilations":[1,1],
         "StartPadding":[1,1],"EndPadding":[1,1],"OutputPadding":[0,0],"GroupCount":1}})"},
    {"AveragePooling", 4 * kManyThreads,
     R"({"type":"AVERAGE_POOLING","desc":{"InputTensor":F32[8,64,112,112],"Strides":[2,2],
         "WindowSize":[3,3],"StartPadding":[1,1],"EndPadding":[1,1],"IncludePadding":false}})",
     1},
    {"MaxPooling", 4 * kManyThreads,
     R"({"type":"MAX_POOLING","desc":{"InputTensor":F32[8,64,112,112],"Strides":[2,2],
         "WindowSize":[3,3],"StartPadding":[1,1],"EndPadding":[1,1]}})",
     1},
    {"AveragePoolingOfBytes", kManyThreads,
     R"({"type":"QUANTIZED_LINEAR_AVERAGE_POOLING","desc":{"InputTensor":U8[8,64,56,56],
         "InputScaleTensor":F32[1,1,1,1],"OutputScaleTensor":F32[1,1,1,1],
         "OutputTensor":U8[8,64,28,28],"Strides":[2,2],"WindowSize":[3,3],"Dilations":[1,1],
         "StartPadding":[1,1],"EndPadding":[1,1],"IncludePadding":false}})",
     1},
    {"Resample", 4 * kManyThreads,
     R"({"type":"RESAMPLE","desc":{"InputTensor":F32[2,64,56,56],"OutputTensor":F32[2,64,112,112],
         "InterpolationMode":"LINEAR","ScaleCount":4,"Scales":[1,1,2,2]}})"},
    {"Attention", kManyThreads,
     R"({"type":"MULTIHEAD_ATTENTION","desc":{"QueryTensor":F32[1,512,512],
         "KeyTensor":F32[1,512,512],"ValueTensor":F32[1,512,512],"OutputTensor":F32[1,512,512],
         "Scale":0.125,"MaskFilterValue":-10000,"HeadCount":8,"MaskType":"NONE"}})"},
    {"Softmax", 4 * kManyThreads,
     R"({"type":"ACTIVATION_SOFTMAX1","desc":{"InputTensor":F32[4096,1024],"Axes":[1]}})"},
    {"Scan", 2 * kManyThreads,
     R"({"type":"CUMULATIVE_SUMMATION","desc":{"InputTensor":F32[4096,1024],"Axis":1,
         "AxisDirection":"INCREASING","HasExclusiveSum":false}})"},
    {"SortedHalf", 2 * kManyThreads,
     R"({"type":"TOP_K","desc":{"InputTensor":F32[1,1048576],"Axis":1,"K":524288}})", 3},
    {"SortedBytes", 2 * kManyThreads,
     R"({"type":"TOP_K","desc":{"InputTensor":U8[3,100003],"Axis":1,"K":100003}})", 9},
    {"Lstm", 16,
     R"({"type":"LSTM","desc":{"InputTensor":F32[1,3,32,256],"WeightTensor":F32[1,1,1024,256],
         "RecurrenceTensor":F32[1,1,1024,256],"OutputSequenceTensor":F32[3,1,32,256],
         "ActivationDescs":[{"type":"ACTIVATION_SIGMOID"},{"type":"ACTIVATION_TANH"},
         {"type":"ACTIVATION_TANH"}],"Direction":"FORWARD","ClipThreshold":0,
         "UseClipThreshold":false,"CoupleInputForget":false}})",
     1 + 3 * 2},
    {"Gru", 16,
     R"({"type":"GRU","desc":{"InputTensor":F32[1,3,32,256],"WeightTensor":F32[1,1,768,256],
         "RecurrenceTensor":F32[1,1,768,256],"OutputSequenceTensor":F32[3,1,32,256],
         "ActivationDescs":[{"type":"ACTIVATION_SIGMOID"},{"type":"ACTIVATION_TANH"}],
         "Direction":"FORWARD","LinearBeforeReset":true}})"},
};

// Replaces the words for tensors.
std::string TextOf(std::string desc) {
  const std::pair<std::string_view, std::string_view> types[] = {
      {":F32[", "FLOAT32"}, {":F16[", "FLOAT16"}, {":S8[", "INT8"},
      {":U8[", "UINT8"},    {":S32[", "INT32"},
  };
  for (const auto& [word, type] : types) {
    for (size_t at; (at = desc.find(word)) != std::string::npos;) {
      desc.insert(desc.find(']', at) + 1, "}");
      desc.replace(at, word.size(),
                   std::string(R"(:{"DataType":")").append(type) + R"(","Sizes":[)");
    }
  }
  return desc;
}

// An operator with tensors of its own.
class OwnTensors {
 public:
  explicit OwnTensors(const std::string& text) {
    Diagnostics diagnostics;
    OperatorDocument document(JsonDocument::Parse(text, diagnostics).value(), "", diagnostics);
    document.Check(kHighestFeatureLevel, diagnostics);
    for (const Diagnostic& one : diagnostics.list()) ADD_FAILURE() << one.message;
    op_ = document.op();
    Complete(*op_);
    for (const TensorSlot& slot : TensorSlots(std::as_const(*op_))) {
      Buffer& buffer = buffers_.emplace_back(SizeInBytes(*slot.desc));
      const TensorView view{buffer.data(), *slot.desc->data_type, LayoutOf(*slot.desc)};
      if (slot.role() == TensorRole::kOutput) {
        outputs_.push_back(view);
      } else {
        FillWithSampleValues(view.type, {buffer.data(), buffer.size()});
        inputs_.push_back(AsConst(view));
      }
    }
  }

  void Run() { dmlop::Run(*op_, inputs_, outputs_); }

  std::vector<std::byte> Output() const {
    const TensorView& view = outputs_[0];
    return {view.data, view.data + view.element_bytes()};
  }
  void ClearOutput() { std::memset(outputs_[0].data, 0x55, Output().size()); }

 private:
  std::optional<OperatorDesc> op_;
  std::vector<Buffer> buffers_;
  std::vector<ConstTensorView> inputs_;
  std::vector<TensorView> outputs_;
};

class ManyCores : public testing::TestWithParam<Work> {
 protected:
  SettingsGuard guard_;
};

TEST_P(ManyCores, HaveWork) {
  OwnTensors tensors(TextOf(GetParam().desc));
  const WorkRecord record = RecordLoops(kManyThreads, [&] { tensors.Run(); });
  const auto most = std::ranges::max_element(record.loops, {}, &LoopRecord::pieces);
  ASSERT_NE(most, record.loops.end());
  EXPECT_GE(most->pieces, GetParam().least_pieces);
  EXPECT_LE(record.loops.size(), GetParam().most_loops);
}

TEST_P(ManyCores, GiveTheSameBits) {
  OwnTensors tensors(TextOf(GetParam().desc));
  std::vector<std::byte> first;
  for (const int threads : kThreads) {
    SetThreadCount(threads);
    tensors.ClearOutput();
    tensors.Run();
    if (first.empty()) first = tensors.Output();
    EXPECT_EQ(tensors.Output(), first) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Work, ManyCores, testing::ValuesIn(kWork), CaseName<Work>);

}  // namespace
}  // namespace dmlop
