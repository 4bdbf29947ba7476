// SPDX-License-Identifier: Apache-2.0
// The polynomial that interpolates (e^r - 1) / r at Chebyshev nodes for |r| <= ln 2 / 2, within
// 2^-49.2.
#pragma once

namespace dmlop {

inline constexpr double kExpm1Coefficients[] = {  // coefficients of r^0, r^1, ...
    0x1.0000000000006p+0,  0x1.0000000000001p-1,  0x1.5555555550d88p-3,  0x1.5555555553d68p-5,
    0x1.11111123bf154p-7,  0x1.6c16c17889ef1p-10, 0x1.a01994c849582p-13, 0x1.a019b9149a41cp-16,
    0x1.72e107c874de9p-19, 0x1.28917c89a43a7p-22};

}  // namespace dmlop
