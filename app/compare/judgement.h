// SPDX-License-Identifier: Apache-2.0
// The comparison of two tensors from any source: its rules and its outcome.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/exit_status.h"
#include "app/files/output.h"
#include "app/files/reported_file.h"
#include "app/options/options.h"
#include "app/text/map_text.h"
#include "core/compare/alignment.h"
#include "core/compare/error_measure.h"
#include "core/compare/map_plane.h"
#include "core/document/operator_document.h"
#include "core/io/output_tensor.h"
#include "core/io/tensor_file.h"
#include "core/judge/diagnosis.h"
#include "core/units/units.h"

namespace dmlop {

// The tolerance for an output: the document's own, or else the command line's.
Tolerance ToleranceFor(const ComparisonRules& rules, const OperatorDocument& document,
                       DataType type);
// The tolerance for an output of an operator without a document.
Tolerance ToleranceFor(const ComparisonRules& rules, const OperatorDesc& op, DataType type);
const UnitTolerance& UnitToleranceFor(const ComparisonRules& rules,
                                      const OperatorDocument& document);

// The units of an output, which are looked for only if they matter.
struct OutputUnits {
  std::function<std::optional<ErrorUnits>()> find = nullptr;  // null: there are none
  UnitTolerance tolerance{};
};

// Names the operator if WebNN's tolerance is asked for and its suite has no such one; else empty.
std::string NameLackingTolerance(const ComparisonRules& rules, const OperatorDocument& document);

// Says that once for all of these operators.
std::string LacksToleranceText(const std::vector<std::string>& operators);

// The records that a comparison keeps besides its figures.
struct JudgeDetails {
  bool is_located = true;  // where the differences lie and of what classes they are
  size_t most_listed = 0;
  // The room for a map that is printed, for one in JSON and one in a picture; null: there is none.
  std::function<MapSpace(const Dims& sizes)> printed = nullptr;
  std::function<MapSpace(const Dims& sizes)> json = nullptr;
  std::function<MapSpace(const Dims& sizes)> picture = nullptr;
  std::optional<ErrorMeasure> measure{};  // of the maps; empty: the best that is known
};

struct Judgement {
  Tolerance tolerance;
  UnitTolerance units{};
  ComparedTensor shown{};                 // type and sizes compared, without data
  std::vector<std::string> mismatches{};  // of type and shape; if any, nothing else was compared
  bool is_missing = false;                // the file, which is then a mismatch
  Comparison comparison{};
  UlpFigures ulp{};
  Bias bias{};                                                // if anything differs at all
  std::optional<DifferenceMap> printed{}, json{}, picture{};  // if asked for, of some elements

  bool passes() const { return mismatches.empty() && comparison.passes(); }
};

// A file's tensor, with the type that the file states.
ComparedTensor Compared(const LoadedTensor& tensor);

// `shape` is as for Align.
Judgement Judge(const ComparedTensor& actual, const ComparedTensor& expected,
                const Tolerance& tolerance, const Leniency& leniency, Side shape = Side::kExpected,
                const OutputUnits& units = {}, const JudgeDetails& details = {});

// kSuccess, kDifferent, or kFileSystem if the file is missing.
ExitStatus StatusOf(const Judgement& judgement);

// Returns whether `a` is reported before `b`: different types or shapes come first, then mismatches
// of NaN and infinity, then the larger ULP error beyond the tolerance.
bool IsFurtherOff(const Judgement& a, const Judgement& b);

// The judgement in words, and its first line.
std::string JudgementText(const Judgement& judgement);
std::string JudgementLine(const Judgement& judgement);

// The class of what could not be compared: "missing" or "other-type-or-shape".
std::string_view MismatchClass(bool is_missing);

// The reason why the tensors could not be compared, with its class, or FiguresJson with the map.
Json JudgementJson(const Judgement& judgement);

// A file compared with the tensor that is computed here.
struct ComparedFile {
  ReportedFile file;            // without a path: values stated in the document
  Side side = Side::kExpected;  // side of the file
  Judgement judgement;
  size_t allowed = 1;  // results, of which this is about the nearest one
};

// `is_bool` says that the computed elements are truth values, which files have as bool or UINT8.
ComparedFile CompareWith(const ReportedFile& file, const LoadedTensor& tensor, Side side,
                         const ConstTensorView& computed, const Tolerance& tolerance,
                         const Leniency& leniency, const OutputUnits& units = {},
                         bool is_bool = false, const JudgeDetails& details = {});

// Returns whether a file that is to be compared is not there.
bool IsMissing(const std::string& path);

// Returns the comparison with a missing file. `elements` counts those of the tensor beside it.
ComparedFile MissingFile(const ReportedFile& file, Side side, int64_t elements);

// Loads a file's tensor; a .npy file determines its type and shape. It gets the desc's shape if the
// counts of elements agree and shapes do not matter.
LoadedTensor LoadCompared(const std::string& path, const TensorDesc& desc, FileShapes shapes);

// "OutputTensor differs from golden.npy" or "gpu.npy differs from OutputTensor as computed here";
// "gpu.npy for OutputTensor" if it is missing.
std::string DiffersText(const ComparedFile& compared);

// "OutputTensor and golden.npy agree: 3 elements, ..."
std::string AgreesText(const ComparedFile& compared);

// FileJson and JudgementJson with `role`, "actual" or "expected".
Json ComparedJson(const ComparedFile& compared);
Json ComparisonsJson(const std::vector<ComparedFile>& comparisons);

// The name of an output's worst element in the form that explain takes; empty if unknown.
std::string WorstElement(const ComparedFile& compared);

// --- drawings ------------------------------------------------------------------------------------

// Shows more of differences than the figures: a list, a map, a picture.
class Drawing {
 public:
  // The forms of maps besides pictures.
  struct Forms {
    bool text = true;
    bool json = false;
  };

  Drawing(const DrawingOptions& options, ColorMode color, Forms forms);

  // Throws an Error of kind kUsage unless a picture is one of a single comparison, in a file.
  void RequireOne(size_t comparisons) const;

  // Returns the records that Judge must keep for it.
  JudgeDetails details() const;

  // The map to be printed and what the picture shows; none for tensors that cannot be compared.
  std::string Text(const Judgement& judgement);

  // Makes the file of the picture, which appears once it is published; null if there is none.
  std::optional<ResultFile> MakePicture(const Judgement& judgement);

 private:
  const DrawingOptions& options_;
  const MapStyle style_;
  const Forms forms_;
  std::optional<Picture> picture_;
};

// --- diagnoses -----------------------------------------------------------------------------------

// A device's file, and why it differs from an output.
struct DiagnosedFile {
  std::string tensor;  // such as "OutputTensors[1]"
  std::string path;
  std::vector<std::string> mismatches{};  // of type or shape; if any, there is no diagnosis
  bool is_missing = false;                // which is a mismatch
  Diagnosis diagnosis{};
  std::vector<std::string> checks{};  // for each cause, the command that shows that it is right

  bool passes() const {
    return mismatches.empty() && (diagnosis.verdict == DiagnosisVerdict::kEqual ||
                                  diagnosis.verdict == DiagnosisVerdict::kNoise);
  }
};

// A file that a device has written for an output, or should have.
struct ActualFile {
  size_t output;
  std::string path;
  std::optional<LoadedTensor> tensor;  // none if the file is missing
  DiagnosisOptions options;
};

DiagnosedFile DiagnoseFile(const Computation& computation, const ActualFile& actual,
                           const Leniency& leniency);

// Diagnoses outputs of one computation side by side, and tells first, for each, a cause that
// explains all that differ; see TellCommonCause of diagnoses.
std::vector<DiagnosedFile> DiagnoseFiles(const Computation& computation,
                                         std::span<const ActualFile> actual,
                                         const Leniency& leniency);

// Does so for outputs that have been diagnosed one by one.
void TellCommonCause(std::vector<DiagnosedFile>& files);

// The parts that the commands that show causes have in common.
struct CheckCommand {
  std::string begin;   // with the case and its inputs
  std::string judged;  // the argument of --judge
  std::string end{};
};

// Adds the command for each cause that computes as it says, and finds the device's file right; for
// a cause that computes nothing, the one that shows where the file is wrong.
void AddChecks(const CheckCommand& command, DiagnosedFile& file);

}  // namespace dmlop
