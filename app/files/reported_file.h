// SPDX-License-Identifier: Apache-2.0
// The description of a file in reports.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/document/document_json.h"

namespace dmlop {

struct ReportedFile {
  std::string tensor;  // or the resource
  std::string path;
  std::string sha256;
};

std::string Sha256(std::span<const std::byte> bytes);

// An object with `tensor`, `path` and `sha256`.
Json FileJson(const ReportedFile& file);

Json FilesJson(const std::vector<ReportedFile>& files);

}  // namespace dmlop
