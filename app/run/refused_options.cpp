// SPDX-License-Identifier: Apache-2.0
#include "app/run/refused_options.h"

#include <fmt/format.h>

#include "core/base/error.h"

namespace dmlop {

void RefuseForModel(std::string_view options_are, std::string_view way) {
  throw Error(
      ErrorKind::kUsage,
      fmt::format("{} for operator descriptors; a model binds its tensors itself{}, and dmlop "
                  "validate --print-complete makes descriptors of its dispatchables",
                  options_are, way));
}

void RefuseForOperator(std::string_view folders_are, std::string_view instead) {
  throw Error(ErrorKind::kUsage,
              fmt::format("{} for models; name the folder in {}", folders_are, instead));
}

}  // namespace dmlop
