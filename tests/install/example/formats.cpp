// Writes a checkpoint, reads it back, and shows that a broken file is one clear error.
#include <array>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <vector>

#include "formats/error.h"
#include "formats/safetensors.h"

int main() {
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6};
  const auto path = std::filesystem::temp_directory_path() / "wide_example.safetensors";
  const wide::formats::SafetensorsEntry weight{
      "weight", wide::formats::Dtype::kFloat32, {2, 3}, std::as_bytes(std::span(values))};
  wide::formats::write_safetensors(path, {&weight, 1});

  const auto file = wide::formats::Safetensors::read(path);
  std::filesystem::remove(path);
  const auto* entry = file.find("weight");
  if (!entry || entry->shape != std::vector<std::int64_t>{2, 3}) return 1;
  if (std::memcmp(entry->bytes.data(), values.data(), sizeof values) != 0) return 1;

  try {
    wide::formats::Safetensors::parse(std::vector<std::byte>(4), "short.safetensors");
    return 1;
  } catch (const wide::Error& error) {
    std::cout << error.what() << '\n';
  }
  return 0;
}
