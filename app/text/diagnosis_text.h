// SPDX-License-Identifier: Apache-2.0
// Diagnoses as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "app/compare/diagnosed_file.h"
#include "core/document/document_json.h"

namespace dmlop {

// Several lines. A cause that explains all outputs is told once, at the end.
std::string DiagnosisText(const std::vector<DiagnosedFile>& files);

// The ids of a cause, joined as people write them.
std::string IdsText(const Cause& cause);

// A line about why the output differs: "sums in FLOAT16, in order".
std::string DiagnosisLine(const DiagnosedFile& file);

Json DiagnosisJson(const DiagnosedFile& file);

}  // namespace dmlop
