// SPDX-License-Identifier: Apache-2.0
#include "app/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/batch/batch_files.h"
#include "app/compare/judgement.h"
#include "app/files/file_roles.h"
#include "app/files/output.h"
#include "app/files/raw_form.h"
#include "app/options/option_kinds.h"
#include "app/run/model_tensors.h"
#include "app/shell_word.h"
#include "app/text/table_text.h"
#include "app/text/tensor_text.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/io/file.h"
#include "core/io/npz.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// --- tensor files below a folder, and the arrays of archives -------------------------------------

// Files and folders that cannot be read, by name, with the reason.
using Unreadable = std::map<std::string, Error>;

// True if the link leads to a folder that it lies in, `depth` folders below the first one.
bool LeadsBack(const fs::path& link, int depth) {
  fs::path above = link;
  for (int i = 0; i <= depth; ++i) {
    above = above.parent_path();
    if (LiesIn(above, link)) return true;
  }
  return false;
}

// The kind of a special file, which is opened only if named, as it may have no end; else empty.
std::string_view SpecialKind(fs::file_type type) {
  if (type == fs::file_type::fifo) return "a pipe";
  if (type == fs::file_type::socket) return "a socket";
  const bool is_device = type == fs::file_type::character || type == fs::file_type::block;
  return is_device ? "a device" : "";
}

// Skips links that lead back, which would never end. Finds raw files that `raw` does not describe.
class FolderSearch {
 public:
  FolderSearch(const RawForm& raw, Unreadable& unreadable) : raw_(raw), unreadable_(unreadable) {}

  // Throws the Error of the folder itself.
  std::set<std::string> FilesBelow(const std::string& folder) {
    AddBelow(folder, "", 0);
    const auto self = unreadable_.find("");
    if (self != unreadable_.end()) throw Error(self->second);
    return std::move(names_);
  }

 private:
  void AddBelow(const fs::path& folder, const std::string& name, int depth) {
    std::error_code error;
    fs::directory_iterator at(folder, error);
    for (; !error && at != fs::directory_iterator(); at.increment(error)) {
      AddEntry(*at, (fs::path(name) / at->path().filename()).string(), depth);
    }
    if (!error) return;
    Refuse(name, fmt::format("{}: cannot be read: {}", folder.string(), error.message()));
  }

  void AddEntry(const fs::directory_entry& entry, const std::string& name, int depth) {
    std::error_code ignored;  // whatever has no status cannot be opened, either
    const fs::file_type type = entry.status(ignored).type();
    if (type == fs::file_type::directory) {
      const bool leads_back = entry.is_symlink() && LeadsBack(entry.path(), depth);
      if (!leads_back) AddBelow(entry.path(), name, depth + 1);
    } else if (IsNpz(name) || HasTensorExtension(name)) {
      AddFile(entry.path().string(), name, type);
    }
  }

  void AddFile(const std::string& path, const std::string& name, fs::file_type type) {
    const bool is_left_out = !IsNpz(name) && FormatOf(name) == FileFormat::kRaw && !raw_.type;
    const std::string_view kind = SpecialKind(type);
    if (!kind.empty() && !is_left_out) {
      Refuse(name, fmt::format("{}: is {}, not a file", path, kind));
    } else if (IsNpz(name)) {
      AddArrays(path, name);
    } else {
      names_.insert(name);
    }
  }

  void AddArrays(const std::string& archive, const std::string& name) {
    try {
      for (const std::string& array : ArraysOf(archive)) names_.insert(name + ":" + array);
    } catch (const Error& error) {
      unreadable_.emplace(name, error);
    }
  }

  void Refuse(const std::string& name, const std::string& message) {
    unreadable_.emplace(name, Error(ErrorKind::kFileSystem, message));
  }

  const RawForm& raw_;
  Unreadable& unreadable_;
  std::set<std::string> names_;
};

// --- pairs of files ------------------------------------------------------------------------------

constexpr size_t kShownFiles = 20;  // printed differing files, and printed failures

// Files of the same name in both folders, or what is wrong with them.
struct FilePair {
  std::string name;  // relative to either folder
  Judgement judgement;
  std::string error;  // empty if they were compared
  ExitStatus status = ExitStatus::kSuccess;
};

// True for an unreadable file or folder, and for whatever lies in one.
bool IsUnreadable(const std::string& name, const Unreadable& unreadable) {
  fs::path above = FileOf(name);
  while (!above.empty() && !unreadable.contains(above.string())) above = above.parent_path();
  return !above.empty();
}

// The names without their extensions.
std::set<std::string> StemsOf(const std::set<std::string>& names) {
  std::set<std::string> stems;
  for (const std::string& name : names) stems.insert(fs::path(name).replace_extension().string());
  return stems;
}

// The operator that run --keep-all names a file by, as in 0017-Conv_12.Y.npy: "node 17, Conv_12".
// Empty for other names.
std::string NodeOf(const std::string& name) {
  const auto [number, tensor] = TakeApart(name);
  if (number.empty()) return "";
  const std::string short_number =
      number.substr(std::min(number.find_first_not_of('0'), number.size() - 1));
  // With several dots it is not known which one ends the node's name.
  const size_t dot = tensor.find('.');
  const bool is_clear = dot != std::string::npos && tensor.find('.', dot + 1) == std::string::npos;
  return fmt::format("{} {}, {}", dot == std::string::npos ? "tensor" : "node", short_number,
                     is_clear ? tensor.substr(0, dot) : tensor);
}

class FolderComparison {
 public:
  FolderComparison(const CompareOptions& options, const CommonOptions& common)
      : options_(options),
        common_(common),
        actual_(options.files[0]),
        expected_(options.files[1]),
        drawing_(options.drawing, common.color,
                 {.text = options.format == TextFormat::kText,
                  .json = options.format == TextFormat::kJson}) {}

  ExitStatus Execute() {
    const Clock::time_point start = Clock::now();
    FindPairs();
    RequireSeparatePicture();
    // Compares small files side by side, then large ones one by one with all threads.
    ParallelFor(static_cast<int64_t>(pairs_.size()), 1, /*bytes=*/0,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    FilePair& pair = pairs_[static_cast<size_t>(i)];
                    if (!IsLarge(pair)) Compare(pair);
                  }
                });
    for (FilePair& pair : pairs_) {
      if (IsLarge(pair)) Compare(pair);
    }
    std::stable_sort(pairs_.begin(), pairs_.end(), [](const FilePair& a, const FilePair& b) {
      if (a.error.empty() != b.error.empty()) return !a.error.empty();
      return IsFurtherOff(a.judgement, b.judgement);
    });
    if (!common_.quiet) Print();
    DrawFurthest();
    TellErrors();
    if (!common_.quiet) PrintMessage(Summary(SecondsSince(start)));
    return Status();
  }

 private:
  void FindPairs() {
    Unreadable unreadable;
    const auto files_below = [&](const std::string& folder, const RawForm& raw) {
      return FolderSearch(raw, unreadable).FilesBelow(folder);
    };
    const std::set<std::string> actual = files_below(actual_, options_.raw.actual);
    const std::set<std::string> expected = files_below(expected_, options_.raw.expected);
    for (const auto& [name, error] : unreadable) {
      pairs_.push_back({name, {}, error.what(), StatusOf(error.kind())});
    }
    std::set<std::string> all = actual;
    all.insert(expected.begin(), expected.end());
    const std::set<std::string> stems = StemsOf(all);
    for (const std::string& name : all) {
      if (IsUnreadable(name, unreadable)) continue;
      if (FormatOf(name) == FileFormat::kRaw && !IsDescribed()) {
        ++undescribed_;
        continue;
      }
      const std::string* const without = !actual.contains(name)     ? &actual_
                                         : !expected.contains(name) ? &expected_
                                                                    : nullptr;
      // A batch writes inputs next to its golden files, but a device writes only outputs.
      if (without != nullptr && stems.contains(OutputBeside(name))) {
        ++inputs_;
        continue;
      }
      if (without == &actual_ && options_.skip_missing) {
        ++missing_;
        continue;
      }
      FilePair& pair = pairs_.emplace_back();
      pair.name = name;
      if (without == nullptr) continue;
      pair.error = fmt::format("{} has no {}", *without, name);
      pair.status = ExitStatus::kFileSystem;
    }
    if (pairs_.empty()) {
      const std::string missing = missing_ > 0 ? fmt::format("; {} missing", missing_) : "";
      throw Error(ErrorKind::kFileSystem, "{} and {} have no files to compare{}{}", actual_,
                  expected_, missing, undescribed_ > 0 ? UndescribedText() : "");
    }
  }

  bool IsDescribed() const { return options_.raw.actual.type && options_.raw.expected.type; }

  // Names the files that the comparison leaves out, to be appended to the rest of the text.
  std::string UndescribedText() const {
    return fmt::format("; {} left out, which --type would describe",
                       Counted(undescribed_, "raw file"));
  }

  bool IsLarge(const FilePair& pair) const {
    constexpr uintmax_t kLargeBytes = uintmax_t{8} << 20;
    std::error_code error;
    const uintmax_t size = fs::file_size(FileOf(PathOf(expected_, pair)), error);
    return !error && size >= kLargeBytes;
  }

  void Compare(FilePair& pair) const {
    if (!pair.error.empty()) return;
    try {
      const auto [actual, expected] = LoadPair(PathOf(actual_, pair), PathOf(expected_, pair),
                                               options_.raw, options_.rules.shapes);
      JudgeDetails details;
      if (options_.format == TextFormat::kJson) details = drawing_.details();
      details.picture = nullptr;  // which is of one file
      pair.judgement = JudgePair(actual, expected, details);
      if (!pair.judgement.passes()) pair.status = ExitStatus::kDifferent;
    } catch (const Error& error) {
      pair.error = error.what();
      pair.status = StatusOf(error.kind());
    }
  }

  Judgement JudgePair(const LoadedTensor& actual, const LoadedTensor& expected,
                      const JudgeDetails& details) const {
    return Judge(Compared(actual), Compared(expected),
                 options_.rules.tolerances.For(actual.view.type), options_.rules.leniency,
                 Side::kExpected, /*units=*/{}, details);
  }

  bool is_drawn() const { return options_.drawing.draws() || options_.drawing.most_listed > 0; }

  void RequireSeparatePicture() const {
    drawing_.RequireOne(1);
    if (options_.drawing.picture.empty()) return;
    FileRoles roles;
    for (const FilePair& pair : pairs_) {
      for (const std::string& folder : {actual_, expected_}) {
        roles.ReadsTensor(PathOf(folder, pair), "a tensor");
      }
    }
    roles.Writes(options_.drawing.picture, "the picture");
    roles.RequireSeparate();
  }

  // Lists and draws the differences of the file that is furthest off.
  void DrawFurthest() {
    const auto furthest = std::ranges::find_if(pairs_, [](const FilePair& pair) {
      return pair.error.empty() && pair.judgement.mismatches.empty();
    });
    if (!is_drawn() || furthest == pairs_.end()) return;
    const auto [actual, expected] =
        LoadPair(PathOf(actual_, *furthest), PathOf(expected_, *furthest), options_.raw,
                 options_.rules.shapes);
    const Judgement judgement = JudgePair(actual, expected, drawing_.details());
    std::optional<ResultFile> picture = drawing_.MakePicture(judgement);
    if (!common_.quiet && !judgement.passes() && options_.format == TextFormat::kText) {
      PrintResult(fmt::format("{}: {}{}", Printable(furthest->name), JudgementText(judgement),
                              drawing_.Text(judgement)));
    }
    if (picture) picture->Publish();
  }

  // Prints the first few, or all if asked to.
  void TellErrors() const {
    size_t count = 0;
    for (const FilePair& pair : pairs_) {
      if (pair.error.empty() || (++count > kShownFiles && !common_.verbose)) continue;
      PrintMessage("dmlop: {}\n", Printable(pair.error));
    }
    if (count > kShownFiles && !common_.verbose) {
      PrintMessage("dmlop: and {} more, which -v lists\n", count - kShownFiles);
    }
  }

  static std::string PathOf(const std::string& folder, const FilePair& pair) {
    return (fs::path(folder) / pair.name).string();
  }

  void Print() const {
    if (options_.format == TextFormat::kJson) {
      std::string text;
      for (const FilePair& pair : pairs_) text += Utf8Text(JsonOf(pair)) + "\n";
      return PrintResult(text);
    }
    std::vector<const FilePair*> shown;
    for (const FilePair& pair : pairs_) {
      if (pair.status == ExitStatus::kDifferent) shown.push_back(&pair);
    }
    if (shown.empty()) return;
    const FilePair& furthest = *shown.front();
    const FilePair& first =
        **std::min_element(shown.begin(), shown.end(),
                           [](const FilePair* a, const FilePair* b) { return a->name < b->name; });
    const bool is_one = shown.size() == 1;
    if (!common_.verbose && shown.size() > kShownFiles) shown.resize(kShownFiles);
    PrintResult(DifferencesText(shown));
    // --keep-all numbers the tensors that it writes: the first is of the first wrong operator.
    if (!is_one) PrintResult(fmt::format("first by name: {}\n", Printable(first.name)));
    const std::string node = NodeOf(first.name);
    if (!node.empty()) PrintResult(fmt::format("the first that differs is {}\n", Printable(node)));
    if (is_drawn()) return;
    std::string command = fmt::format("dmlop compare {} {}", PathWord(PathOf(actual_, furthest)),
                                      PathWord(PathOf(expected_, furthest)));
    command += RawFormWords(options_.raw) + RuleWords(options_.rules);
    PrintResult(fmt::format("more of the worst:\n  {}\n", Printable(command)));
  }

  static std::string DifferencesText(const std::vector<const FilePair*>& pairs) {
    std::string text;
    std::vector<std::vector<std::string>> rows = {
        {"file", "differ", "of", "ULP", "absolute", "relative", "NaN", "inf", "worst at"}};
    for (const FilePair* pair : pairs) {
      if (pair->judgement.mismatches.empty()) {
        rows.push_back(RowOf(*pair));
      } else {
        text += fmt::format("  {}: {}\n", Printable(pair->name), JudgementLine(pair->judgement));
      }
    }
    constexpr int kWorths[] = {kNeededColumn, 8, 2, 7, 5, 6, 4, 3, 1};
    const size_t width = TextColumns();
    return text + (rows.size() > 1 ? TableText(rows, kWorths, width) : "");
  }

  static std::vector<std::string> RowOf(const FilePair& pair) {
    const Judgement& judgement = pair.judgement;
    const Comparison& c = judgement.comparison;
    return {Printable(pair.name),
            fmt::format("{}", c.difference_count),
            fmt::format("{}", c.element_count),
            fmt::format("{}", c.failing.max_ulp_error),
            fmt::format("{:.3g}", c.failing.max_absolute_error),
            fmt::format("{:.3g}", c.failing.max_relative_error),
            fmt::format("{}", c.nan_mismatches),
            fmt::format("{}", c.infinity_mismatches),
            IndexText(judgement.shown.view.layout.sizes, c.worst->index)};
  }

  static Json JsonOf(const FilePair& pair) {
    Json json;
    SetPath("file", pair.name, json);
    if (pair.error.empty()) {
      json.update(JudgementJson(pair.judgement));
    } else {
      json["error"] = pair.error;
    }
    return json;
  }

  std::string Summary(double seconds) const {
    size_t different = 0, failed = 0;
    for (const FilePair& pair : pairs_) {
      different += pair.status == ExitStatus::kDifferent;
      failed += !pair.error.empty();
    }
    std::string text =
        fmt::format("dmlop: {} in {:.2f} s: {} equal", Counted(pairs_.size(), "file"), seconds,
                    pairs_.size() - different - failed);
    if (different > 0) text += fmt::format(", {} different", different);
    if (failed > 0) text += fmt::format(", {} not compared", failed);
    if (missing_ > 0) text += fmt::format(", {} missing", missing_);
    if (inputs_ > 0) text += fmt::format("; {} left out", Counted(inputs_, "input"));
    if (undescribed_ > 0) text += UndescribedText();
    return text + "\n";
  }

  ExitStatus Status() const {
    ExitStatus status = ExitStatus::kSuccess;
    for (const FilePair& pair : pairs_) status = std::max(status, pair.status);
    return status;
  }

  const CompareOptions& options_;
  const CommonOptions& common_;
  const std::string& actual_;
  const std::string& expected_;
  Drawing drawing_;
  std::vector<FilePair> pairs_;
  size_t missing_ = 0;      // of the actual folder, where these are left out
  size_t inputs_ = 0;       // next to their outputs, in one folder only
  size_t undescribed_ = 0;  // raw files whose content no option describes
};

}  // namespace

ExitStatus CompareFolders(const CompareOptions& options, const CommonOptions& common) {
  return FolderComparison(options, common).Execute();
}

}  // namespace dmlop
