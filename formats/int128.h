#pragma once
// Room for products of two 64-bit numbers, under -Wpedantic.

namespace wide::formats {

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

}  // namespace wide::formats
