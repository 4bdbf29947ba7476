// SPDX-License-Identifier: Apache-2.0
// Shows more of differences than the figures: a list, a map, a picture.
#pragma once

#include <optional>
#include <string>

#include "app/compare/judgement.h"
#include "app/files/output.h"
#include "app/options/options.h"
#include "app/text/map_text.h"

namespace dmlop {

class Drawing {
 public:
  // The forms of maps besides pictures.
  struct Forms {
    bool text = true;
    bool json = false;
  };

  Drawing(const DrawingOptions& options, ColorMode color, Forms forms);

  // Throws an Error of kind kUsage unless the picture, if any, is one of a single comparison, in a
  // file.
  void RequireOne(size_t comparisons) const;

  // Returns the records that Judge must keep for it.
  JudgeDetails details() const;

  // The map to be printed, and what the picture shows; empty if there are none, as for tensors that
  // cannot be compared.
  std::string Text(const Judgement& judgement);

  // Makes the file of the picture, which appears once it is published; null if there is none.
  std::optional<ResultFile> MakePicture(const Judgement& judgement);

 private:
  const DrawingOptions& options_;
  const MapStyle style_;
  const Forms forms_;
  std::optional<Picture> picture_;
};

}  // namespace dmlop
