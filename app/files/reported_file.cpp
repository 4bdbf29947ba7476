// SPDX-License-Identifier: Apache-2.0
#include "app/files/reported_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nettle/sha2.h>

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "core/base/progress.h"

namespace dmlop {

std::string Sha256(std::span<const std::byte> bytes) {
  sha256_ctx context;
  sha256_init(&context);
  const Work work("hashing", static_cast<int64_t>(bytes.size()));
  ForEachStep(bytes.size(), [&](size_t begin, size_t size) {
    sha256_update(&context, size, reinterpret_cast<const uint8_t*>(bytes.data()) + begin);
  });
  std::array<uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&context, digest.size(), digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

Json FileJson(const ReportedFile& file) {
  Json json = {{"tensor", file.tensor}};
  SetPath("path", file.path, json);
  json["sha256"] = file.sha256;
  return json;
}

Json FilesJson(const std::vector<ReportedFile>& files) {
  Json array = Json::array();
  for (const ReportedFile& file : files) array.push_back(FileJson(file));
  return array;
}

}  // namespace dmlop
