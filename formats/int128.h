#pragma once
// Room for products of two 64-bit numbers, under -Wpedantic, and their division.

namespace wide::formats {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/// a / b towards minus infinity, as Python divides; b is not 0.
inline int128 floor_div(int128 a, int128 b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

}  // namespace wide::formats
