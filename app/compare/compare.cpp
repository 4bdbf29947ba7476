// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/compare/compare_folders.h"
#include "app/compare/judgement.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/raw_form.h"
#include "app/files/standard_output.h"
#include "app/text/comparison_text.h"
#include "app/text/map_text.h"
#include "app/text/picture.h"
#include "core/base/error.h"
#include "core/compare/alignment.h"
#include "core/document/document_json.h"
#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/io/open_file.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

constexpr MapLimits kJsonMap = {32, 64};  // independent of the screen

class CompareFiles {
 public:
  CompareFiles(const CompareOptions& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        style_(StyleOf(common.color)),
        pair_(LoadPair(options.actual, options.expected, options.raw, options.rules.shapes)) {}

  ExitStatus Execute() {
    const AlignedTensors aligned =
        Align(Compared(pair_.actual), Compared(pair_.expected), options_.rules.leniency);
    if (!aligned.mismatches.empty()) return ReportMismatches(aligned.mismatches);
    shown_ = aligned.shown();
    if (draws()) RequireElements(options_.expected, shown_.view);
    PrepareMaps();
    const Tolerance tolerance = options_.rules.tolerances.For(pair_.actual.view.type);
    const Comparison comparison =
        Compare(aligned, tolerance,
                {.maps = maps_, .most_listed = options_.most_listed, .is_located = !common_.quiet});
    std::optional<Picture> picture;
    std::optional<ResultFile> file;
    if (!options_.picture.empty()) {
      picture = PictureOf(maps_.back());
      file.emplace(options_.picture, PngBytes(*picture));
    }
    if (!common_.quiet) {
      Print(is_json() ? JsonText(comparison, tolerance) : Text(comparison, tolerance, picture));
    }
    if (file) file->Publish();
    return comparison.passes() ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  // If a picture goes to standard output, text is a message.
  void Print(const std::string& text) const {
    IsStandardOutput(options_.picture) ? PrintMessage(text) : PrintResult(text);
  }

  bool is_json() const { return options_.format == TextFormat::kJson; }
  bool draws() const { return options_.map || !options_.picture.empty(); }
  const Dims& sizes() const { return shown_.view.layout.sizes; }

  ExitStatus ReportMismatches(const std::vector<std::string>& mismatches) const {
    if (!common_.quiet) {
      const Json json = {{"equal", false},
                         {"mismatch", fmt::format("{}", fmt::join(mismatches, "; "))}};
      Print((is_json() ? Utf8Text(json) : fmt::format("{}", fmt::join(mismatches, "\n"))) + "\n");
    }
    if (draws()) {
      PrintMessage("dmlop: there is no map of tensors of different types or shapes\n");
    }
    return ExitStatus::kDifferent;
  }

  // The first map is for printing, the next for the picture.
  void PrepareMaps() {
    if (options_.map) {
      const MapLimits limits = is_json() ? kJsonMap : MapLimitsOf(sizes(), style_);
      maps_.emplace_back(sizes(), limits);
    }
    if (!options_.picture.empty()) {
      maps_.emplace_back(sizes(), PictureLimitsOf(sizes()));
    }
  }

  std::string JsonText(const Comparison& comparison, const Tolerance& tolerance) const {
    const DifferenceMap* map = options_.map ? &maps_.front() : nullptr;
    return Utf8Text(ComparisonJson(comparison, shown_, tolerance, map)) + "\n";
  }

  std::string Text(const Comparison& comparison, const Tolerance& tolerance,
                   const std::optional<Picture>& picture) const {
    std::string text = ComparisonText(comparison, shown_.view, tolerance);
    if (options_.map) text += MapText(maps_.front(), sizes(), style_);
    if (picture) text += PictureText(options_.picture, *picture, maps_.back(), sizes(), style_);
    return text;
  }

  const CompareOptions& options_;
  const CommonOptions& common_;
  const MapStyle style_;
  const LoadedPair pair_;
  ComparedTensor shown_;  // type and sizes compared
  std::vector<DifferenceMap> maps_;
};

// Otherwise the folder next to it would be called faulty, or its name not that of a tensor file,
// although it may be meant as a folder, too.
void RequireThere(const std::string& path) {
  if (path.empty() || path == kStandardStream || ParseNpzPath(path)) return;
  std::error_code ignored;
  if (!std::filesystem::exists(FileOf(path), ignored)) FailFile(path, "cannot be opened", ENOENT);
}

}  // namespace

ExitStatus CompareCommand(const CompareOptions& options, const CommonOptions& common) {
  if (std::filesystem::is_directory(options.actual) &&
      std::filesystem::is_directory(options.expected)) {
    if (options.map || !options.picture.empty() || options.most_listed > 0) {
      throw Error(ErrorKind::kUsage, "--map, -o and --list are for two files, not for folders");
    }
    return CompareFolders(options, common);
  }
  RequireThere(options.actual);
  RequireThere(options.expected);
  if (!options.picture.empty()) CheckPicturePath(options.picture);
  if (options.format == TextFormat::kJson && IsStandardOutput(options.picture)) {
    throw Error(ErrorKind::kUsage, "standard output cannot be both the picture and JSON");
  }
  if (!options.picture.empty() && !IsStandardOutput(options.picture)) OutliveReader();
  FileRoles roles;
  roles.ReadsTensor(options.actual, "the actual tensor");
  roles.ReadsTensor(options.expected, "the expected tensor");
  roles.Writes(options.picture, "the picture");
  roles.RequireSeparate();
  return CompareFiles(options, common).Execute();
}

}  // namespace dmlop
