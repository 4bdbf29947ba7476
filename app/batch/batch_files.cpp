#include "app/batch/batch_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "app/descriptor.h"
#include "app/file_roles.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

class BatchFiles {
 public:
  BatchFiles(Manifest& manifest, const std::string& report, bool only_check)
      : manifest_(manifest), report_(report), only_check_(only_check) {}

  void RequireSeparate() {
    std::vector<FileUse> uses;
    ForEachUse([&](const NamedUse& named) { uses.push_back(named.use); });
    const auto conflict = FindConflict(std::move(uses));
    if (!conflict) return;
    // Names are not kept, but found again. The two may be the same use by different names.
    std::optional<NamedUse> first, second;
    ForEachUse([&](const NamedUse& named) {
      if (!first && named.use == conflict->first) first = named;
      if (named.use == conflict->second) second = named;
    });
    const int64_t line = second->use.owner;
    if (line == 0) throw Error(ErrorKind::kUsage, ConflictText(*first, *second));
    if (first->use.owner != 0 && first->use.owner != line) {
      first->role += fmt::format(" of line {}", first->use.owner);
    }
    throw Error(ErrorKind::kUsage,
                fmt::format("{}:{}: {}", manifest_.name(), line, ConflictText(*first, *second)));
  }

 private:
  // Calls `visit` with what the batch itself uses, then with the uses of each line in turn.
  template <typename Visit>
  void ForEachUse(Visit&& visit) {
    const auto visit_all = [&](const std::vector<NamedUse>& uses) {
      for (const NamedUse& named : uses) visit(named);
    };
    std::vector<NamedUse> own;
    const bool is_stream = manifest_.name() == kStandardInputName;
    Add(is_stream ? std::string(kStandardStream) : manifest_.name(), "the manifest", {.file = {}},
        own);
    Add(report_, "the report", {.file = {}, .writes = true}, own);
    visit_all(own);
    manifest_.Rewind();
    for (auto lines = manifest_.Next(); !lines.empty(); lines = manifest_.Next()) {
      std::vector<std::vector<NamedUse>> uses(lines.size());
      ParallelFor(static_cast<int64_t>(lines.size()), 1, /*bytes=*/0,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      uses[static_cast<size_t>(i)] = UsesOf(lines[static_cast<size_t>(i)]);
                    }
                  });
      for (const auto& of_line : uses) visit_all(of_line);
    }
    manifest_.Rewind();
  }

  static void Add(const std::string& path, const std::string& role, const FileUse& use,
                  std::vector<NamedUse>& uses) {
    if (auto named = UseOf(path, role, use)) uses.push_back(*std::move(named));
  }

  // Of a line only the bindings are read: its operator is not needed to tell inputs from outputs.
  std::vector<NamedUse> UsesOf(const ManifestLine& line) const {
    std::vector<NamedUse> uses;
    Diagnostics diagnostics;
    const std::optional<JsonDocument> json = JsonDocument::Parse(line.text, diagnostics);
    const auto bindings = json ? json->root().Find("bindings") : std::nullopt;
    if (!bindings || !bindings->is_object()) return uses;
    for (auto tensor = bindings->first_child(); tensor; tensor = tensor->next()) {
      const std::string name(tensor->key());
      if (tensor->is_string()) AddTensor(*tensor, name, line.number, uses);
      size_t i = 0;
      for (auto one = tensor->first_child(); one && tensor->is_array(); one = one->next()) {
        if (one->is_string()) AddTensor(*one, fmt::format("{}[{}]", name, i), line.number, uses);
        ++i;
      }
    }
    return uses;
  }

  void AddTensor(JsonCursor path, const std::string& name, int64_t line,
                 std::vector<NamedUse>& uses) const {
    if (path.string() == kStandardStream) return;  // which no case can use
    const bool is_output = name.starts_with("Output");
    const std::string role = is_output && only_check_ ? "the golden file of " + name : name;
    Add((std::filesystem::path(manifest_.folder()) / path.string()).string(), role,
        {.file = {}, .owner = line, .writes = is_output && !only_check_, .is_tensor = true}, uses);
  }

  Manifest& manifest_;
  const std::string& report_;
  const bool only_check_;
};

}  // namespace

void RequireSeparateFiles(Manifest& manifest, const std::string& report, bool only_check) {
  if (only_check && report.empty()) return;
  BatchFiles(manifest, report, only_check).RequireSeparate();
}

}  // namespace dmlop
