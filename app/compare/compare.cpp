// SPDX-License-Identifier: Apache-2.0

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/compare/judgement.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/raw_form.h"
#include "app/text/comparison_text.h"
#include "app/text/map_text.h"
#include "core/base/error.h"
#include "core/document/document_json.h"
#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/io/temporary_file.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

class CompareFiles {
 public:
  CompareFiles(const CompareOptions& options, const CommonOptions& common,
               const std::vector<SlicedFile>& files)
      : options_(options),
        common_(common),
        drawing_(options.drawing, common.color,
                 {.text = options.format == TextFormat::kText,
                  .json = options.format == TextFormat::kJson}),
        pair_(LoadPair(files[0].path, files[1].path, options.raw, options.rules.shapes)) {}

  // False if a slice does not fit, which has been said then.
  bool Select(const std::vector<SlicedFile>& files) {
    return SelectOf(files[0], pair_.actual) && SelectOf(files[1], pair_.expected);
  }

  ExitStatus Execute(const std::string& expected) {
    JudgeDetails details = drawing_.details();
    details.is_located = !common_.quiet;
    const Judgement judgement =
        Judge(Compared(pair_.actual), Compared(pair_.expected),
              options_.rules.tolerances.For(pair_.actual.view.type), options_.rules.leniency,
              Side::kExpected, /*units=*/{}, details);
    const bool draws = options_.drawing.draws();
    if (draws && judgement.mismatches.empty()) RequireElements(expected, judgement.shown.view);
    std::optional<ResultFile> picture = drawing_.MakePicture(judgement);
    if (!common_.quiet) Print(is_json() ? JsonText(judgement) : Text(judgement));
    if (picture) picture->Publish();
    if (draws && !judgement.mismatches.empty()) {
      PrintMessage("dmlop: there is no map of tensors of different types or shapes\n");
    }
    return judgement.passes() ? ExitStatus::kSuccess : ExitStatus::kDifferent;
  }

 private:
  bool SelectOf(const SlicedFile& file, LoadedTensor& tensor) const {
    if (file.slices.empty()) return true;
    try {
      tensor.view = dmlop::Select(tensor.view, file.slices[0]);
    } catch (const SliceError& error) {
      PrintSliceError(file.path, file.slices[0], error, UseColor(common_.color));
      return false;
    }
    return true;
  }

  // If a picture goes to standard output, text is a message.
  void Print(const std::string& text) const {
    IsStandardOutput(options_.drawing.picture) ? PrintMessage(text) : PrintResult(text);
  }

  bool is_json() const { return options_.format == TextFormat::kJson; }

  static std::string JsonText(const Judgement& judgement) {
    Json json = JudgementJson(judgement);
    if (judgement.mismatches.empty()) {
      json.update(DetailsJson(judgement.comparison, judgement.shown));
    }
    return Utf8Text(json) + "\n";
  }

  std::string Text(const Judgement& judgement) {
    return JudgementText(judgement) + drawing_.Text(judgement);
  }

  const CompareOptions& options_;
  const CommonOptions& common_;
  Drawing drawing_;
  LoadedPair pair_;
};

// The two files, each with a slice at most.
std::vector<SlicedFile> FilesOf(const CompareOptions& options) {
  std::vector<SlicedFile> files = SlicedFilesOf(options.files);
  for (const SlicedFile& file : files) {
    if (file.slices.size() < 2) continue;
    throw Error(ErrorKind::kUsage, "{} has {} slices; one is compared", file.path,
                file.slices.size());
  }
  if (files.size() == 2) return files;
  if (files.size() > 2) {
    throw Error(ErrorKind::kUsage, "'{}' is one argument too many", files[2].path);
  }
  throw Error(ErrorKind::kUsage, "{} is compared with nothing; EXPECTED is missing", files[0].path);
}

// Otherwise the folder next to it would be called faulty, or its name not that of a tensor file,
// although it may be meant as a folder, too.
void RequireThere(const std::string& path) {
  if (path.empty() || path == kStandardStream || ParseNpzPath(path)) return;
  std::error_code ignored;
  if (!std::filesystem::exists(FileOf(path), ignored)) FailFile(path, "cannot be opened", ENOENT);
}

}  // namespace

ExitStatus CompareCommand(const CompareOptions& options, const CommonOptions& common) {
  const std::vector<SlicedFile> files = FilesOf(options);
  const std::string& actual = files[0].path;
  const std::string& expected = files[1].path;
  const std::string& picture = options.drawing.picture;
  if (std::filesystem::is_directory(actual) && std::filesystem::is_directory(expected)) {
    if (options.files.size() > 2) {
      throw Error(ErrorKind::kUsage, "slices are of two files, not of folders");
    }
    return CompareFolders(options, common);
  }
  if (options.skip_missing) throw Error(ErrorKind::kUsage, "--skip-missing is for two folders");
  RequireThere(actual);
  RequireThere(expected);
  if (!picture.empty()) CheckPicturePath(picture);
  if (options.format == TextFormat::kJson && IsStandardOutput(picture)) {
    throw Error(ErrorKind::kUsage, "standard output cannot be both the picture and JSON");
  }
  if (!picture.empty() && !IsStandardOutput(picture)) OutliveReader();
  FileRoles roles;
  roles.ReadsTensor(actual, "the actual tensor");
  roles.ReadsTensor(expected, "the expected tensor");
  roles.Writes(picture, "the picture");
  roles.RequireSeparate();
  CompareFiles compared(options, common, files);
  return compared.Select(files) ? compared.Execute(expected) : ExitStatus::kUsage;
}

}  // namespace dmlop
