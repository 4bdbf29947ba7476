// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <variant>

#include "app/commands.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/raw_form.h"
#include "app/graph/graph_model.h"
#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "app/text/map_text.h"
#include "app/text/table_text.h"
#include "app/text/tensor_text.h"
#include "core/base/error.h"
#include "core/compare/find_tensor.h"
#include "core/compare/statistics.h"
#include "core/document/document_json.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/npz.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

std::string ExtremeText(DataType type, const Number& number) {
  const double* value = std::get_if<double>(&number);
  if (value != nullptr) return NumberText(type, *value);
  return std::visit([](auto integer) { return fmt::format("{}", integer); }, number);
}

// Integers in full, floats with `digits` digits.
std::string LabelText(const Number& number, int digits) {
  const double* value = std::get_if<double>(&number);
  if (value != nullptr) return fmt::format("{:.{}g}", *value, digits);
  return std::visit([](auto integer) { return fmt::format("{}", integer); }, number);
}

// Labels have as many digits as it takes to distinguish the bins.
std::string ValueHistogramText(const std::vector<HistogramBin>& bins) {
  constexpr int kFewDigits = 5;
  constexpr int kAllDigits = 17;
  std::vector<HistogramRow> rows;
  for (int digits = kFewDigits; rows.empty() && digits <= kAllDigits; ++digits) {
    for (const HistogramBin& bin : bins) rows.push_back({LabelText(bin.least, digits), bin.count});
    const auto same = [](const auto& a, const auto& b) { return a.label == b.label; };
    const bool differ = std::adjacent_find(rows.begin(), rows.end(), same) == rows.end();
    if (!differ && digits < kAllDigits) rows.clear();
  }
  return HistogramText(rows);
}

std::string StatisticsText(DataType type, const Statistics& statistics) {
  const std::string subnormal =
      IsFloat(type) ? fmt::format(", subnormal {}", statistics.subnormal_count) : "";
  std::string text =
      fmt::format("count {}, zero {}{}, nan {}, inf {}, -inf {}\n", statistics.count,
                  statistics.zero_count, subnormal, statistics.nan_count,
                  statistics.positive_infinity_count, statistics.negative_infinity_count);
  if (!statistics.finite) return text;
  const FiniteStatistics& finite = *statistics.finite;
  text += fmt::format("min {}, max {}, mean {}, deviation {:.6g}\n", ExtremeText(type, finite.min),
                      ExtremeText(type, finite.max), finite.mean, finite.deviation);
  for (size_t i = 0; i < finite.percentiles.size(); ++i) {
    const int percent = FiniteStatistics::kPercents[i];
    const std::string name = percent == 50 ? "median" : fmt::format("{}%", percent);
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", name, LabelText(finite.percentiles[i], 6));
  }
  text += "\n";
  return text + ValueHistogramText(finite.histogram);
}

Json StatisticsJson(DataType type, const Statistics& statistics) {
  Json json = {{"count", statistics.count},
               {"zeroCount", statistics.zero_count},
               {"nanCount", statistics.nan_count},
               {"positiveInfinityCount", statistics.positive_infinity_count},
               {"negativeInfinityCount", statistics.negative_infinity_count}};
  if (IsFloat(type)) json["subnormalCount"] = statistics.subnormal_count;
  if (!statistics.finite) return json;
  const auto number = [](const Number& value) {
    return std::visit([](auto one) { return Json(one); }, value);
  };
  const FiniteStatistics& finite = *statistics.finite;
  json.update({{"min", number(finite.min)},
               {"max", number(finite.max)},
               {"mean", finite.mean},
               {"deviation", finite.deviation}});
  for (size_t i = 0; i < finite.percentiles.size(); ++i) {
    json["percentiles"][std::to_string(FiniteStatistics::kPercents[i])] =
        number(finite.percentiles[i]);
  }
  json["histogram"] = Json::array();
  for (const HistogramBin& bin : finite.histogram) {
    json["histogram"].push_back({{"least", number(bin.least)}, {"count", bin.count}});
  }
  return json;
}

std::string OrderText(const Layout& layout) {
  if (IsPacked(layout)) return "C";
  return layout.strides == FortranStrides(layout.sizes) ? "Fortran" : "strided";
}

// The tensor to find, and the file to search.
struct SoughtTensor {
  std::string memory_path;
  std::span<const std::byte> memory;
  std::string path;
  const RawForm& form;  // of `path`
  const ConstTensorView& view;
};

uint64_t OffsetIn(const SoughtTensor& sought, const FoundTensor& place) {
  return ParseRawPath(sought.memory_path).offset.value_or(0) + place.offset;
}

// The element with which a place begins, where memory is an array of its type.
std::optional<Dims> ElementAt(const SoughtTensor& sought, const FoundTensor& place) {
  if (!HasNpyMagic(sought.memory)) return std::nullopt;
  try {
    const NpyHeader header = ParseNpyHeader(sought.memory, sought.memory_path);
    const size_t bytes = place.offset - header.data_begin;
    const bool begins_one = header.type == sought.view.type && place.offset >= header.data_begin &&
                            place.offset < header.data_begin + header.data_size() &&
                            bytes % header.element_size() == 0;
    if (!begins_one) return std::nullopt;
    Dims sizes = header.shape;
    if (header.fortran_order) std::reverse(sizes.begin(), sizes.end());
    Dims index = IndexOf(sizes, static_cast<int64_t>(bytes / header.element_size()));
    if (header.fortran_order) std::reverse(index.begin(), index.end());
    return index;
  } catch (const Error&) {  // only its bytes count, whatever they begin with
    return std::nullopt;
  }
}

// The command that compares the tensor found with the one sought.
std::string CompareCommandOf(const SoughtTensor& sought, const FoundTensor& place) {
  if (HasNpyMagic(sought.memory) || ParseNpzPath(sought.memory_path)) return "";
  const Layout layout{sought.view.layout.sizes, place.strides};
  RawForms forms{{}, sought.form};
  forms.actual.type = sought.view.type;
  forms.actual.sizes.assign(layout.sizes.begin(), layout.sizes.end());
  if (!IsPacked(layout)) forms.actual.strides.assign(place.strides.begin(), place.strides.end());
  if (!forms.expected.type) forms.expected = forms.actual;  // which no raw file is described by
  std::string file = ParseRawPath(sought.memory_path).file;
  std::string link;
  if (!IsRaw(file)) {
    link = fmt::format("ln {} {} && ", PathWord(file), PathWord(file + ".bin"));
    file += ".bin";
  }
  return fmt::format("{}dmlop compare {} {}{}", link,
                     PathWord(fmt::format("{}@{:#x}", file, OffsetIn(sought, place))),
                     PathWord(sought.path), RawFormWords(forms));
}

std::string PlaceText(const SoughtTensor& sought, const FoundTensor& place) {
  const uint64_t offset = OffsetIn(sought, place);
  std::string text = fmt::format("  at byte {} ({:#x}), ", offset, offset);
  if (const auto element = ElementAt(sought, place)) {
    text += fmt::format("element [{}] of the array, ", fmt::join(*element, ", "));
  }
  text += fmt::format("Strides {}: {} of {} elements are equal", ToString(place.strides),
                      place.equal_count, sought.view.layout.element_count());
  if (place.near_count > place.equal_count) {
    text += fmt::format(", and {} nearly", place.near_count - place.equal_count);
  }
  return text + "\n";
}

std::string FoundText(const SoughtTensor& sought, const TensorSearch& search) {
  if (search.places.empty()) {
    return fmt::format(
        "{} is not in {}{}\n", Printable(sought.path), Printable(sought.memory_path),
        search.is_common ? ", as far as can be told: its values are all over it" : "");
  }
  std::string text =
      fmt::format("{} is in {}:\n", Printable(sought.path), Printable(sought.memory_path));
  for (const FoundTensor& place : search.places) text += PlaceText(sought, place);
  if (search.is_constant) text += "its elements are all equal, which no Strides can be told from\n";
  const std::string command = CompareCommandOf(sought, search.places[0]);
  if (command.empty()) return text;
  return text + fmt::format("to compare {}:\n  {}\n", search.places.size() > 1 ? "the first" : "it",
                            Printable(command));
}

std::string FoundJson(const SoughtTensor& sought, const TensorSearch& search) {
  Json json;
  SetPath("file", sought.memory_path, json);
  SetPath("find", sought.path, json);
  json["elementCount"] = sought.view.layout.element_count();
  json["allEqual"] = search.is_constant;
  json["places"] = Json::array();
  for (const FoundTensor& place : search.places) {
    Json& json_of_place = json["places"].emplace_back();
    json_of_place = {{"offset", OffsetIn(sought, place)},
                     {"strides", std::vector(place.strides.begin(), place.strides.end())},
                     {"equalCount", place.equal_count},
                     {"nearCount", place.near_count}};
    if (const auto element = ElementAt(sought, place)) {
      json_of_place["element"] = std::vector(element->begin(), element->end());
    }
    const std::string command = CompareCommandOf(sought, place);
    if (!command.empty()) json_of_place["command"] = command;
  }
  return Utf8Text(json) + "\n";
}

class Show {
 public:
  Show(const ShowOptions& options, const CommonOptions& common)
      : options_(options), common_(common), style_(StyleOf(common.color)) {}

  ExitStatus Execute() {
    const std::vector<SlicedFile> files = SlicedFilesOf(options_.files);
    if (!options_.find.empty()) return Find(files);
    if (!options_.picture.empty()) CheckPicture(files);
    for (const SlicedFile& file : files) {
      const ExitStatus status =
          IsModel(file) ? ShowGraphModel(file.path, options_, common_) : ShowFile(file);
      if (status != ExitStatus::kSuccess) return status;
    }
    TellOfRest(files);
    return ExitStatus::kSuccess;
  }

 private:
  ExitStatus Find(const std::vector<SlicedFile>& files) const {
    if (files.size() > 1 || !files[0].slices.empty()) {
      throw Error(ErrorKind::kUsage, "--find looks into one file, without slices");
    }
    const LoadedTensor tensor = LoadAsFormed(options_.find, options_.raw);
    RequireElements(options_.find, tensor.view);
    const InputFile memory = OpenBytes(files[0].path);
    const TensorSearch search = FindTensor(memory.bytes(), tensor.view);
    const SoughtTensor sought{files[0].path, memory.bytes(), options_.find, options_.raw,
                              tensor.view};
    const bool is_json = options_.format == TextFormat::kJson;
    PrintResult(is_json ? FoundJson(sought, search) : FoundText(sought, search));
    return search.places.empty() ? ExitStatus::kDifferent : ExitStatus::kSuccess;
  }

  void CheckPicture(const std::vector<SlicedFile>& files) const {
    CheckPicturePath(options_.picture);
    if (!IsStandardOutput(options_.picture)) OutliveReader();
    if (files.size() > 1 || files[0].slices.size() > 1) {
      throw Error(ErrorKind::kUsage,
                  options_.picture + ": a picture shows one tensor; there are several");
    }
    if (IsModel(files[0])) {
      throw Error(ErrorKind::kUsage, "{}: a picture shows a tensor; {} is a model",
                  options_.picture, files[0].path);
    }
    FileRoles roles;
    roles.ReadsTensor(files[0].path, "the tensor");
    roles.Writes(options_.picture, "the picture");
    roles.RequireSeparate();
  }

  // Further arrays in a stream would be missed without a note.
  void TellOfRest(const std::vector<SlicedFile>& files) const {
    const auto is_standard = [](const SlicedFile& file) { return file.path == kStandardStream; };
    if (common_.quiet || std::none_of(files.begin(), files.end(), is_standard)) return;
    if (!StandardInputGoesOn()) return;
    PrintMessage("dmlop: note: standard input has more behind this array; each - shows one\n");
  }

  bool IsModel(const SlicedFile& file) const {
    const bool may_be_one = !options_.raw.type && file.slices.empty();
    return may_be_one && (HasExtension(file.path, ".onnx") || IsSerializedGraph(file.path));
  }

  // Returns kUsage if a slice does not fit.
  ExitStatus ShowFile(const SlicedFile& file) const {
    const LoadedTensor tensor = LoadAsFormed(file.path, options_.raw);
    if (!tensor.picture.empty() && options_.format == TextFormat::kText) {
      Print(fmt::format("{}: {}\n", Printable(file.path), tensor.picture));
    }
    if (file.slices.empty()) ShowTensor({file.path, "", TypeName(tensor)}, tensor.view);
    for (const std::string& slice : file.slices) {
      try {
        ShowTensor({file.path, slice, TypeName(tensor)}, Select(tensor.view, slice));
      } catch (const SliceError& error) {
        PrintSliceError(file.path, slice, error, UseColor(common_.color));
        return ExitStatus::kUsage;
      }
    }
    return ExitStatus::kSuccess;
  }

  struct Origin {
    const std::string& path;
    std::string slice;  // empty for the whole tensor
    std::string_view type_name;
  };

  // If a picture goes to standard output, text is a message.
  void Print(std::string_view text) const {
    if (!IsStandardOutput(options_.picture)) return PrintResult(text);
    if (!common_.quiet) PrintMessage(text);
  }

  void ShowTensor(const Origin& origin, const ConstTensorView& tensor) const {
    if (options_.format == TextFormat::kJson) return ShowJson(origin, tensor);
    const std::string name = origin.path + origin.slice;
    Print(fmt::format("{}: (Sizes:{}, DataType:{}, order:{})\n", Printable(name),
                      ToString(tensor.layout.sizes), origin.type_name, OrderText(tensor.layout)));
    const bool draws = options_.map || !options_.picture.empty();
    if (draws) RequireElements(name, tensor);
    if (options_.map) Draw(tensor);
    if (!options_.picture.empty()) DrawPicture(tensor);
    if (!draws && shows_values()) {
      WriteValues(tensor, {.full = options_.full, .bits = options_.bits, .columns = OutputWidth()},
                  PrintResult);
    }
    if (options_.statistics) Print(StatisticsText(tensor.type, ComputeStatistics(tensor)));
  }

  // Statistics replace the values, unless those are asked for, too.
  bool shows_values() const { return !options_.statistics || options_.full || options_.bits; }

  void ShowJson(const Origin& origin, const ConstTensorView& tensor) const {
    Json json;
    SetPath("file", origin.path, json);
    if (!origin.slice.empty()) json["slice"] = origin.slice;
    json.update(TensorJson(tensor, options_.full));
    if (!shows_values()) json.erase("values");
    json["dataType"] = origin.type_name;
    json["order"] = OrderText(tensor.layout);
    if (options_.statistics) {
      json["statistics"] = StatisticsJson(tensor.type, ComputeStatistics(tensor));
    }
    PrintResult(Utf8Text(json) + "\n");
  }

  void Draw(const ConstTensorView& tensor) const {
    const Dims& sizes = tensor.layout.sizes;
    const MapLimits limits = MapLimitsOf(sizes, style_);
    Print(MapText(ComputeValueMap(tensor, limits), sizes, style_));
  }

  void DrawPicture(const ConstTensorView& tensor) const {
    const ValueMap map = ComputeValueMap(tensor, PictureLimitsOf(tensor.layout.sizes));
    const Picture picture = PictureOf(map, tensor.layout.sizes);
    ResultFile file(options_.picture, PngBytes(picture));
    Print(PictureText(options_.picture, picture, map, tensor.layout.sizes, style_));
    file.Publish();
  }

  const ShowOptions& options_;
  const CommonOptions& common_;
  const MapStyle style_;
};

}  // namespace

ExitStatus ShowCommand(const ShowOptions& options, const CommonOptions& common) {
  return Show(options, common).Execute();
}

}  // namespace dmlop
