#!/usr/bin/env bash
# install_test.sh BUILD-FOLDER EXAMPLE CXX CXX-FLAGS MODEL-FOLDER
set -euo pipefail
build=$1 example=$2 compiler=$3 flags=$4 model=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$build" --prefix "$folder/prefix" >"$folder/log" || { cat "$folder/log"; exit 1; }
cp -r "$example" "$folder/example"  # outside the tree: nothing is found by accident
cmake -G Ninja -S "$folder/example" -B "$folder/build" -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE=Release >"$folder/log" ||
  { cat "$folder/log"; exit 1; }
cmake --build "$folder/build" || exit 1
# What keeps the public headers quick to compile, and the planner and its pools out of sight.
if [ -f "$folder/prefix/include/wide/model.h" ]; then
  echo '#include <wide/model.h>' >"$folder/read.cpp"
  read=$("$compiler" -std=c++20 -M -I "$folder/prefix/include" "$folder/read.cpp") || exit 1
  if grep -E '/(ATen|c10|torch)/' <<<"$read"; then echo "<wide/model.h> reads headers of libtorch"; exit 1; fi
  [ ! -e "$folder/prefix/include/wide/core" ] || { echo "headers of core are installed"; exit 1; }
fi
"$folder/build/example_formats"
if [ -x "$folder/build/example_wide" ]; then
  "$folder/build/example_wide" "$model/model.pt2" "$model"/seed*.safetensors
fi
if [ -x "$folder/prefix/bin/widebench" ]; then
  "$folder/prefix/bin/widebench" info >/dev/null
fi
echo "installed, found and run: $(cd "$folder/build" && echo example_*[a-z])"
