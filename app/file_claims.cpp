#include "app/file_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <utility>

#include "app/output.h"
#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

struct NamedClaim {
  FileClaim claim;
  std::string path;
};

std::array<uint64_t, 2> HashOf(const std::string& path) {
  const std::string identity = IdentityOf(path);
  const std::hash<std::string> hash;
  return {hash(identity), hash(identity + '/')};
}

void Claim(const std::string& path, int64_t line, bool writes, std::vector<NamedClaim>& claims) {
  if (path.empty() || IsDevice(path)) return;
  claims.push_back({{HashOf(path), line, writes}, path});
}

// Calls `visit` with each text within a value.
template <typename Visit>
void ForEachText(JsonCursor value, Visit&& visit) {
  if (value.is_string()) visit(value.string());
  for (auto child = value.first_child(); child && value.is_array(); child = child->next()) {
    ForEachText(*child, visit);
  }
}

// Of a line only the bindings are read: its operator is not needed to tell inputs from outputs.
std::vector<NamedClaim> ClaimsOf(const Manifest& manifest, const ManifestLine& line,
                                 bool only_check) {
  std::vector<NamedClaim> claims;
  Diagnostics diagnostics;
  const std::optional<JsonDocument> json = JsonDocument::Parse(line.text, diagnostics);
  const auto bindings = json ? json->root().Find("bindings") : std::nullopt;
  if (!bindings || !bindings->is_object()) return claims;
  for (auto tensor = bindings->first_child(); tensor; tensor = tensor->next()) {
    const bool is_output = tensor->key().starts_with("Output");
    ForEachText(*tensor, [&](const std::string& path) {
      if (path == kStandardStream) return;
      try {
        const std::string whole = (std::filesystem::path(manifest.folder()) / path).string();
        Claim(whole, line.number, is_output && !only_check, claims);
      } catch (const std::exception&) {  // a path that is none fails its own case
      }
    });
  }
  return claims;
}

// Calls `body` with the claims of each line in turn.
template <typename Body>
void ForEachLine(Manifest& manifest, bool only_check, Body&& body) {
  manifest.Rewind();
  for (auto lines = manifest.Next(); !lines.empty(); lines = manifest.Next()) {
    std::vector<std::vector<NamedClaim>> claims(lines.size());
    ParallelFor(static_cast<int64_t>(lines.size()), 1, /*bytes=*/0,
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const size_t k = static_cast<size_t>(i);
                    claims[k] = ClaimsOf(manifest, lines[k], only_check);
                  }
                });
    for (const auto& of_line : claims) body(of_line);
  }
  manifest.Rewind();
}

// Of all pairs of claims that exclude one another, that which ends first.
std::optional<std::pair<FileClaim, FileClaim>> FindConflict(std::vector<FileClaim> claims) {
  std::sort(claims.begin(), claims.end());
  std::optional<std::pair<FileClaim, FileClaim>> conflict;
  const auto consider = [&](const FileClaim& first, const FileClaim& second) {
    if (!conflict || second.line < conflict->second.line) conflict = {first, second};
  };
  for (size_t begin = 0, end = 0; begin < claims.size(); begin = end) {
    while (end < claims.size() && claims[end].file == claims[begin].file) ++end;
    const std::span<const FileClaim> group(&claims[begin], end - begin);
    const auto writer = std::find_if(group.begin(), group.end(),
                                     [](const FileClaim& claim) { return claim.writes; });
    if (writer == group.end()) continue;
    for (const FileClaim& other : group) {
      if (&other == &*writer || (other.line == writer->line && !other.writes && other.line != 0)) {
        continue;
      }
      consider(std::min(*writer, other), std::max(*writer, other));
    }
  }
  return conflict;
}

std::string PathOf(Manifest& manifest, bool only_check, const FileClaim& wanted) {
  std::string path;
  ForEachLine(manifest, only_check, [&](const std::vector<NamedClaim>& claims) {
    for (const NamedClaim& named : claims) {
      if (named.claim == wanted) path = named.path;
    }
  });
  return path;
}

}  // namespace

void RequireSeparateFiles(Manifest& manifest, const std::string& report, bool only_check) {
  if (only_check && report.empty()) return;
  std::vector<NamedClaim> own;
  Claim(report, 0, /*writes=*/true, own);
  if (manifest.is_file()) Claim(manifest.name(), 0, /*writes=*/false, own);
  std::vector<FileClaim> claims;
  const auto add = [&](const std::vector<NamedClaim>& named) {
    for (const NamedClaim& one : named) claims.push_back(one.claim);
  };
  add(own);
  ForEachLine(manifest, only_check, add);
  const auto conflict = FindConflict(std::move(claims));
  if (!conflict) return;
  const auto& [first, second] = *conflict;
  const std::string other =
      first.line == 0 ? "the batch itself" : fmt::format("line {}", first.line);
  if (second.line == 0) {
    throw Error(ErrorKind::kUsage, fmt::format("{} cannot be the report too", manifest.name()));
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("{}:{}: {} is {} here and {} by {}", manifest.name(), second.line,
                          PathOf(manifest, only_check, second), second.writes ? "written" : "read",
                          first.writes ? "written" : "read", other));
}

}  // namespace dmlop
