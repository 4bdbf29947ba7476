// SPDX-License-Identifier: Apache-2.0
#include "app/compare/judgement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "app/shell_word.h"
#include "app/text/comparison_text.h"
#include "app/text/tensor_text.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/compare/wrong_elements.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
#include "core/judge/varied_run.h"
#include "core/ops/fused.h"
#include "core/ops/hardware_tolerance.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

// The tolerance that a descriptor states for its results.
const std::optional<CaseTolerance>& OwnTolerance(const ComparisonRules& rules,
                                                 const OperatorDocument& document) {
  static const std::optional<CaseTolerance> kNone;
  return rules.have_precedence ? kNone : document.tolerance();
}

bool IsByWebnn(const ComparisonRules& rules, const OperatorDocument& document) {
  const auto& own = OwnTolerance(rules, document);
  return own ? own->webnn : rules.webnn_tolerance;
}

// The tolerance, widened to that of WebNN's tests for the operator.
Tolerance WithWebnn(Tolerance tolerance, const OperatorDesc& op) {
  const Tolerance webnn = WebnnTolerance(op);
  tolerance.absolute = std::max(tolerance.absolute, webnn.absolute);
  tolerance.ulp = std::max(tolerance.ulp, webnn.ulp);
  return tolerance;
}

}  // namespace

Tolerance ToleranceFor(const ComparisonRules& rules, const OperatorDocument& document,
                       DataType type) {
  const auto& own = OwnTolerance(rules, document);
  const Tolerance tolerance = own ? own->tolerance : rules.tolerances.For(type);
  return IsByWebnn(rules, document) ? WithWebnn(tolerance, document.op()) : tolerance;
}

Tolerance ToleranceFor(const ComparisonRules& rules, const OperatorDesc& op, DataType type) {
  const Tolerance tolerance = rules.tolerances.For(type);
  return rules.webnn_tolerance ? WithWebnn(tolerance, op) : tolerance;
}

std::string NameLackingTolerance(const ComparisonRules& rules, const OperatorDocument& document) {
  const OperatorDesc& op = document.op();
  if (!IsByWebnn(rules, document) || IsInWebnn(op)) return "";
  const OperatorDesc* activation = FusedActivationOf(op);
  return activation == nullptr ? std::string(op.name())
                               : fmt::format("{} with {}", op.name(), activation->name());
}

std::string LacksToleranceText(const std::vector<std::string>& operators) {
  return fmt::format("dmlop: WebNN has no tolerance for {}: equal values pass\n",
                     fmt::join(operators, ", "));
}

const UnitTolerance& UnitToleranceFor(const ComparisonRules& rules,
                                      const OperatorDocument& document) {
  const auto& own = OwnTolerance(rules, document);
  return own ? own->units : rules.units;
}

namespace {

bool AreAllEqual(const Comparison& comparison) {
  return comparison.element_count ==
         comparison.passing.ulp_histogram[0] + comparison.failing.ulp_histogram[0];
}

// The errors in units, if something differs. Sums in FLOAT16 and bfloat16 may be refused whatever
// the values.
std::optional<UnitErrors> UnitErrorsOf(const AlignedTensors& aligned, const OutputUnits& units,
                                       const Judgement& judgement) {
  const bool may_be_refused =
      units.tolerance.sums == DataType::kFloat16 ||
      (aligned.in_bfloat16 && units.tolerance.rule != UnitTolerance::Rule::kNone);
  const bool is_decided = AreAllEqual(judgement.comparison) && !may_be_refused;
  if (units.find == nullptr || is_decided || judgement.tolerance.bits) return std::nullopt;
  const auto& [actual, expected] = std::pair(aligned.actual.view, aligned.expected.view);
  if (!IsFloat(actual.type) || judgement.comparison.element_count == 0) return std::nullopt;
  std::optional<ErrorUnits> found = units.find();
  if (!found) return std::nullopt;
  found->in_bfloat16 = aligned.in_bfloat16;
  return MeasureErrors(*found, actual, expected, units.tolerance);
}

}  // namespace

ComparedTensor Compared(const LoadedTensor& tensor) {
  return {tensor.view, tensor.is_bfloat16 ? kBfloat16Name : TypeName(tensor), tensor.is_bfloat16};
}

namespace {

// ULP are those of the type that is compared in.
ElementError ErrorOf(const AlignedTensors& aligned, ErrorMeasure measure, const UnitErrors* units) {
  if (measure == ErrorMeasure::kUnits) {
    return [units](int64_t number) {
      const double error = units->UnitsOf(number);
      return std::isinf(error) ? std::numeric_limits<double>::quiet_NaN() : error;
    };
  }
  const ElementError error = ElementErrorOf(aligned.actual.view, aligned.expected.view, measure);
  if (!aligned.in_bfloat16 || measure != ErrorMeasure::kUlp) return error;
  return [error](int64_t number) { return error(number) / kFloatStepsOfBfloat16; };
}

MapSpace ReportSpace(const Dims&) {
  return {.most = {16, 32},
          .least = {16, 32},
          .gap = {0, 0},
          .cell_height = 1,
          .most_panels = 12,
          .is_fixed = true};
}

void DrawMaps(const AlignedTensors& aligned, const WrongElements& wrong, const UnitErrors* units,
              const JudgeDetails& details, Judgement& judgement) {
  const Dims& sizes = aligned.expected.view.layout.sizes;
  // Reports have a map of whatever fails.
  std::function<MapSpace(const Dims&)> json = details.json;
  if (!json && !judgement.passes()) json = ReportSpace;
  const bool draws = details.printed || json || details.picture;
  if (!draws || Product(sizes) == 0) return;
  if (details.measure == ErrorMeasure::kUnits && units == nullptr && wrong.count() > 0) {
    throw Error(ErrorKind::kUsage, "--measure units: there are no units of this comparison");
  }
  const ErrorMeasure best = units != nullptr ? ErrorMeasure::kUnits : ErrorMeasure::kUlp;
  const ErrorMeasure measure = details.measure.value_or(best);
  const ElementError error = ErrorOf(aligned, measure, units);
  const auto draw = [&](const auto& space, std::optional<DifferenceMap>& map) {
    if (space) map.emplace(sizes, wrong, error, measure, space(sizes));
  };
  draw(details.printed, judgement.printed);
  draw(json, judgement.json);
  draw(details.picture, judgement.picture);
}

}  // namespace

Judgement Judge(const ComparedTensor& actual, const ComparedTensor& expected,
                const Tolerance& tolerance, const Leniency& leniency, Side shape,
                const OutputUnits& units, const JudgeDetails& details) {
  Judgement judgement{tolerance, units.tolerance};
  AlignedTensors aligned = Align(actual, expected, leniency, shape);
  judgement.tolerance = aligned.LimitsOf(tolerance);
  judgement.mismatches = aligned.mismatches;
  judgement.comparison.element_count = expected.view.layout.element_count();
  if (!judgement.mismatches.empty()) return judgement;
  judgement.shown = aligned.shown();
  judgement.shown.view.data = nullptr;
  std::optional<WrongElements> wrong;
  const auto compare = [&](const UnitErrors* errors) {
    wrong.emplace(aligned.expected.view.layout.element_count());
    judgement.comparison = Compare(aligned, tolerance,
                                   {.most_listed = details.most_listed,
                                    .wrong = &*wrong,
                                    .is_located = details.is_located,
                                    .units = errors});
  };
  compare(nullptr);
  const std::optional<UnitErrors> errors = UnitErrorsOf(aligned, units, judgement);
  if (errors) compare(&*errors);
  if (!AreAllEqual(judgement.comparison)) {
    judgement.bias = BiasOf(aligned.actual.view, aligned.expected.view);
    judgement.ulp = UlpFiguresOf(aligned, judgement.comparison);
  }
  DrawMaps(aligned, *wrong, errors ? &*errors : nullptr, details, judgement);
  return judgement;
}

ExitStatus StatusOf(const Judgement& judgement) {
  if (judgement.passes()) return ExitStatus::kSuccess;
  return judgement.is_missing ? ExitStatus::kFileSystem : ExitStatus::kDifferent;
}

bool IsFurtherOff(const Judgement& a, const Judgement& b) {
  const auto distance = [](const Judgement& judgement) {
    const Comparison& comparison = judgement.comparison;
    const int64_t mismatches = comparison.nan_mismatches + comparison.infinity_mismatches;
    return std::tuple(!judgement.passes(), !judgement.is_missing, !judgement.mismatches.empty(),
                      mismatches > 0, comparison.units ? comparison.units->max : 0,
                      comparison.failing.max_ulp_error, comparison.difference_count);
  };
  return distance(a) > distance(b);
}

std::string JudgementText(const Judgement& judgement) {
  if (judgement.mismatches.empty()) {
    return ComparisonText(judgement.comparison, judgement.shown.view, judgement.tolerance,
                          judgement.units);
  }
  return fmt::format("{}\n", fmt::join(judgement.mismatches, "\n"));
}

std::string JudgementLine(const Judgement& judgement) {
  if (!judgement.mismatches.empty()) {
    return fmt::format("{}", fmt::join(judgement.mismatches, "; "));
  }
  const Comparison& comparison = judgement.comparison;
  const std::string text =
      fmt::format("{} in {}", DifferenceCountText(comparison), comparison.where.box);
  const std::string allowed = ToleranceText(judgement.tolerance, judgement.units);
  return allowed == ToleranceText({}) ? text : fmt::format("{}; allowed: {}", text, allowed);
}

Json JudgementJson(const Judgement& judgement) {
  if (judgement.mismatches.empty()) {
    Json json =
        FiguresJson(judgement.comparison, judgement.shown, judgement.tolerance, judgement.units);
    json.update(SpreadJson(judgement.comparison, judgement.ulp,
                           judgement.json ? &*judgement.json : nullptr));
    json["bias"] = {{"above", judgement.bias.above},
                    {"below", judgement.bias.below},
                    {"towardZero", judgement.bias.toward_zero}};
    return json;
  }
  Json json = {{"equal", false}, {"mismatch", JudgementLine(judgement)}};
  json["classes"] = {
      {{"id", MismatchClass(judgement.is_missing)}, {"count", judgement.comparison.element_count}}};
  return json;
}

std::string_view MismatchClass(bool is_missing) {
  return is_missing ? "missing" : "other-type-or-shape";
}

bool IsMissing(const std::string& path) {
  return path != kStandardStream && !IsStream(path) && !FileExists(FileOf(path));
}

ComparedFile MissingFile(const ReportedFile& file, Side side, int64_t elements) {
  ComparedFile missing{file, side, {}};
  missing.judgement.is_missing = true;
  missing.judgement.mismatches = {"the file is missing"};
  missing.judgement.comparison.element_count = elements;
  return missing;
}

ComparedFile CompareWith(const ReportedFile& file, const LoadedTensor& tensor, Side side,
                         const ConstTensorView& computed, const Tolerance& tolerance,
                         const Leniency& leniency, const OutputUnits& units, bool is_bool,
                         const JudgeDetails& details) {
  const ComparedTensor here{computed,
                            is_bool && tensor.is_bool ? TypeName(tensor) : Name(computed.type)};
  if (side == Side::kExpected) {
    return {file, side,
            Judge(here, Compared(tensor), tolerance, leniency, Side::kActual, units, details)};
  }
  return {file, side,
          Judge(Compared(tensor), here, tolerance, leniency, Side::kExpected, units, details)};
}

LoadedTensor LoadCompared(const std::string& path, const TensorDesc& desc, FileShapes shapes) {
  if (!IsDescribedBy(FormatOf(path))) return LoadInput(path, desc);
  LoadedTensor tensor = LoadArray(path, NpyTypes::kAndBfloat16);
  Layout& layout = tensor.view.layout;
  if (layout.sizes.empty()) layout = {{1}, {1}};  // DirectML has no scalars
  return ByCount(std::move(tensor), LayoutOf(desc).sizes, path, shapes);
}

std::string DiffersText(const ComparedFile& compared) {
  const auto& [tensor, path, hash] = compared.file;
  if (compared.judgement.is_missing) return fmt::format("{} for {}", path, tensor);
  if (compared.allowed > 1) {
    return fmt::format("{} differs from each of the {} results that {} may have",
                       compared.side == Side::kActual ? path : tensor, compared.allowed,
                       compared.side == Side::kActual ? tensor : "it");
  }
  if (compared.side == Side::kActual) {
    return fmt::format("{} differs from {} as computed here", path, tensor);
  }
  return fmt::format("{} differs from {}", tensor, path.empty() ? "what the case expects" : path);
}

std::string AgreesText(const ComparedFile& compared) {
  const Judgement& judgement = compared.judgement;
  const std::string& path = compared.file.path;
  const auto& units = judgement.comparison.units;
  return fmt::format("{} and {} agree: {}, largest ULP error {}{}; allowed: {}",
                     compared.file.tensor, path.empty() ? "what the case expects" : path,
                     Counted(judgement.comparison.element_count, "element"),
                     judgement.comparison.passing.max_ulp_error,
                     units ? fmt::format(", {:.3g} units", units->max) : "",
                     ToleranceText(judgement.tolerance, judgement.units));
}

Json ComparedJson(const ComparedFile& compared) {
  Json json =
      compared.file.path.empty() ? Json{{"tensor", compared.file.tensor}} : FileJson(compared.file);
  json["role"] = compared.side == Side::kActual ? "actual" : "expected";
  if (compared.allowed > 1) json["allowed"] = compared.allowed;
  json.update(JudgementJson(compared.judgement));
  return json;
}

Json ComparisonsJson(const std::vector<ComparedFile>& comparisons) {
  Json array = Json::array();
  for (const ComparedFile& comparison : comparisons) array.push_back(ComparedJson(comparison));
  return array;
}

std::string WorstElement(const ComparedFile& compared) {
  const auto& worst = compared.judgement.comparison.worst;
  if (!worst) return "";
  return compared.file.tensor + IndexText(compared.judgement.shown.view.layout.sizes, worst->index);
}

// --- drawings ------------------------------------------------------------------------------------

namespace {

// The room for a map in JSON, which does not depend on the screen.
MapSpace JsonSpace(const Dims&) {
  return {.most = {32, 64},
          .least = {32, 64},
          .gap = {0, 0},
          .cell_height = 1,
          .most_panels = 64,
          .is_fixed = true};
}

}  // namespace

Drawing::Drawing(const DrawingOptions& options, ColorMode color, Forms forms)
    : options_(options), style_(StyleOf(color)), forms_(forms) {}

void Drawing::RequireOne(size_t comparisons) const {
  if (options_.picture.empty()) return;
  CheckPicturePath(options_.picture);
  if (IsStandardOutput(options_.picture)) {
    throw Error(ErrorKind::kUsage, "--picture takes a file here; compare -o - writes to a pipe");
  }
  if (comparisons == 1) return;
  throw Error(ErrorKind::kUsage, "{}: a picture shows one comparison; there are {}",
              options_.picture, comparisons);
}

JudgeDetails Drawing::details() const {
  JudgeDetails details{.most_listed = options_.most_listed, .measure = options_.measure};
  if (options_.map && forms_.json) details.json = JsonSpace;
  if (options_.map && forms_.text) {
    details.printed = [this](const Dims& sizes) { return MapSpaceOf(sizes, style_); };
  }
  if (!options_.picture.empty()) details.picture = [](const Dims&) { return PictureSpace(); };
  return details;
}

std::string Drawing::Text(const Judgement& judgement) {
  const Dims& sizes = judgement.shown.view.layout.sizes;
  std::string text;
  if (judgement.printed) {
    text += MapText(*judgement.printed, sizes, style_, options_.measure.has_value());
  }
  if (picture_) text += PictureText(options_.picture, *picture_, *judgement.picture, sizes, style_);
  return text;
}

std::optional<ResultFile> Drawing::MakePicture(const Judgement& judgement) {
  if (!judgement.picture) return std::nullopt;
  picture_ = PictureOf(*judgement.picture, judgement.shown.view.layout.sizes);
  return ResultFile(options_.picture, PngBytes(*picture_));
}

// --- diagnoses -----------------------------------------------------------------------------------

namespace {

// Rounds the elements of a view to the type that the output has.
Buffer InType(const ConstTensorView& view, DataType type) {
  const size_t width = ByteWidth(type);
  Buffer buffer(static_cast<size_t>(view.layout.element_count()) * width);
  for (int64_t i = 0; i < view.layout.element_count(); ++i) {
    const std::byte* at =
        view.data + OffsetOfElement(view.layout, i) * static_cast<int64_t>(ByteWidth(view.type));
    const ElementBytes element = ConvertElement(static_cast<float>(ValueOf(view.type, at)), type);
    std::memcpy(buffer.data() + static_cast<size_t>(i) * width, element.data(), width);
  }
  return buffer;
}

// Every element is wrong.
DiagnosedFile Mismatched(const TensorSlot& slot, const std::string& path,
                         std::vector<std::string> mismatches) {
  DiagnosedFile file{DisplayName(slot.path), path, std::move(mismatches)};
  const Dims sizes = LayoutOf(*slot.desc).sizes;
  Diagnosis& diagnosis = file.diagnosis;
  diagnosis.elements = diagnosis.different = diagnosis.beyond_noise = Product(sizes);
  diagnosis.verdict = DiagnosisVerdict::kUnknown;
  WrongElements all(Product(sizes));
  for (int64_t i = 0; i < Product(sizes); ++i) all.Add(i);
  diagnosis.where = WhereOf(sizes, all);
  return file;
}

}  // namespace

DiagnosedFile DiagnoseFile(const Computation& computation, const ActualFile& actual,
                           const Leniency& leniency) {
  const auto& [output, path, tensor, options] = actual;
  const TensorSlot slot = TensorSlots(computation.op, TensorRole::kOutput)[output];
  if (!tensor) {
    DiagnosedFile missing = Mismatched(slot, path, {"the file is missing"});
    missing.is_missing = true;
    return missing;
  }
  const DataType type = StoredAs(*slot.desc->data_type);
  const Buffer whole = WholeOutput(computation, output);
  const ConstTensorView exact{whole.data(), type, PackedLayout(LayoutOf(*slot.desc).sizes)};
  const AlignedTensors aligned = Align(Compared(*tensor), {exact, Name(type)}, leniency);
  if (!aligned.mismatches.empty()) return Mismatched(slot, path, aligned.mismatches);
  std::array<Buffer, 2> converted;
  const auto in_type = [&](const ConstTensorView& view, Buffer& buffer) {
    if (view.type == type) return view;
    buffer = InType(view, type);
    return ConstTensorView{buffer.data(), type, exact.layout};
  };
  // Types of floats differ where they may. In bfloat16, the expected elements are rounded, too.
  const ConstTensorView view = in_type(aligned.actual.view, converted[0]);
  const ConstTensorView expected =
      aligned.in_bfloat16 ? in_type(aligned.expected.view, converted[1]) : exact;
  DiagnosisOptions limited = options;
  limited.tolerance = aligned.LimitsOf(options.tolerance);
  return {DisplayName(slot.path),
          path,
          {},
          false,
          Diagnose(computation, output, view, expected, limited, aligned.in_bfloat16)};
}

std::vector<DiagnosedFile> DiagnoseFiles(const Computation& computation,
                                         std::span<const ActualFile> actual,
                                         const Leniency& leniency) {
  std::vector<DiagnosedFile> files(actual.size());
  SideBySide(std::ssize(actual), [&](int64_t i) {
    const auto k = static_cast<size_t>(i);
    files[k] = DiagnoseFile(computation, actual[k], leniency);
  });
  TellCommonCause(files);
  return files;
}

void TellCommonCause(std::vector<DiagnosedFile>& files) {
  std::vector<Diagnosis*> diagnoses;
  for (DiagnosedFile& file : files) diagnoses.push_back(&file.diagnosis);
  TellCommonCause(diagnoses);
}

void AddChecks(const CheckCommand& command, DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  const bool has_noise = diagnosis.beyond_noise > 0 && diagnosis.beyond_noise < diagnosis.different;
  for (const Cause& cause : diagnosis.causes) {
    std::string text = command.begin;
    const bool is_computed = AreComputed(cause.ids);
    for (const std::string& id : cause.ids) {
      if (is_computed) text += " --as " + ShellWord(id);
    }
    const bool has_bits = cause.exact == cause.of && !has_noise;
    text += " --judge " + ShellWord(command.judged);
    text += is_computed && has_bits ? " --bits" : " --tolerance sums";
    if (!is_computed) text += " --map";
    file.checks.push_back(text + command.end);
  }
}

}  // namespace dmlop
