// One tensor beside another, whoever made them: by which rules they are compared, and the outcome.
#pragma once

#include <string>
#include <vector>

#include "app/files/reported_file.h"
#include "app/options/options.h"
#include "core/compare/alignment.h"
#include "core/compare/compare.h"
#include "core/document/operator_document.h"
#include "core/io/output_tensor.h"
#include "core/io/tensor_file.h"

namespace dmlop {

// The tolerance for an output of a document, whose own comes before that of the command line.
Tolerance ToleranceFor(const ComparisonRules& rules, const OperatorDocument& document,
                       DataType type);

struct Judgement {
  Tolerance tolerance;
  ComparedTensor shown{};                 // type and sizes of what was compared, without data
  std::vector<std::string> mismatches{};  // of type and shape; where there are, that is all
  Comparison comparison{};

  bool passes() const { return mismatches.empty() && comparison.passes(); }
};

// A file's tensor, of the type that the file names.
ComparedTensor Compared(const LoadedTensor& tensor);

// `shape`: as for Align.
Judgement Judge(const ComparedTensor& actual, const ComparedTensor& expected,
                const Tolerance& tolerance, const Leniency& leniency, Side shape = Side::kExpected);

// Whether `a` is to be told before `b`: different types or shapes come first, then mismatches of
// NaN and infinity, then the larger ULP error of what does not pass.
bool IsFurtherOff(const Judgement& a, const Judgement& b);

// What there is to say, and its first line.
std::string JudgementText(const Judgement& judgement);
std::string JudgementLine(const Judgement& judgement);

// Why the tensors could not be compared, or FiguresJson.
Json JudgementJson(const Judgement& judgement);

// A file beside the tensor that is computed here.
struct ComparedFile {
  ReportedFile file;            // of no path: the values that the document states
  Side side = Side::kExpected;  // where the file stands
  Judgement judgement;
};

ComparedFile CompareWith(const ReportedFile& file, const LoadedTensor& tensor, Side side,
                         const ConstTensorView& computed, const Tolerance& tolerance,
                         const Leniency& leniency);

// What a file holds, of whatever type and shape a .npy file is; of the desc's shape if it has as
// many elements, and shapes do not count.
LoadedTensor LoadCompared(const std::string& path, const TensorDesc& desc, FileShapes shapes);

// "OutputTensor differs from golden.npy", "gpu.npy differs from OutputTensor as computed here"
std::string DiffersText(const ComparedFile& compared);

// "OutputTensor and golden.npy agree: 3 elements, ..."
std::string AgreesText(const ComparedFile& compared);

// FileJson and JudgementJson with `role`, which is "actual" or "expected".
Json ComparedJson(const ComparedFile& compared);

// The name of the worst element of an output, as explain takes it; empty where none is known.
std::string WorstElement(const ComparedFile& compared);

}  // namespace dmlop
