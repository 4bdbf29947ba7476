// SPDX-License-Identifier: Apache-2.0
// Dispatchables of a DxDispatch model that are operators of DirectML or serialized graphs of them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/model_document.h"

namespace dmlop {

// Reports unknown members of an object, and warns of those that are ignored.
void CheckKeys(const ValueReader& values, JsonCursor object,
               std::span<const std::string_view> known, std::span<const IgnoredKey> ignored);

class DispatchableReader {
 public:
  DispatchableReader(FeatureLevel level, const ModelDocument::OpenFile& open,
                     Diagnostics& diagnostics)
      : level_(level),
        open_(open),
        diagnostics_(diagnostics),
        values_(diagnostics, Dialect::kModel) {}

  // Reads a dispatchable without its bindings; returns nothing if it is not one that dmlop runs,
  // which is reported.
  std::optional<ModelDispatchable> Read(JsonCursor value) const;

 private:
  std::optional<ModelDispatchable> ReadGraphOf(JsonCursor value) const;
  std::shared_ptr<const Graph> GraphIn(const std::string& name, JsonCursor place,
                                       std::vector<ModelFile>& files) const;
  bool Open(const std::string& source_path, JsonCursor place, std::vector<ModelFile>& files) const;
  bool IsOurs(JsonCursor value) const;
  void ReadCompileType(JsonCursor value) const;
  void ReadExecutionFlags(JsonCursor value) const;

  FeatureLevel level_;
  const ModelDocument::OpenFile& open_;
  Diagnostics& diagnostics_;
  ValueReader values_;
};

}  // namespace dmlop
