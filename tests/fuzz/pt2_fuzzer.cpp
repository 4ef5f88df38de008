// Any bytes as a .pt2: a program or wide::Error. The mutator also changes members inside a sound archive, and
// inside the archive of example inputs in it, and seals them with right checksums, so that the readers of
// JSON, weights and pickled data are reached and not only the zip reader.
#include <algorithm>
#include <cstring>
#include <random>

#include "formats/error.h"
#include "formats/exported_program.h"
#include "zip_builder.h"

using namespace wide::formats;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    parse_exported_program(test::bytes_of({reinterpret_cast<const char*>(data), size}), "fuzz.pt2");
  } catch (const wide::Error&) {
  }
  return 0;
}

// Some member, or a member of it where it is an archive itself.
void mutate_member(std::string& archive, std::minstd_rand& random) {
  auto parts = test::unzip(archive);
  if (parts.empty()) throw wide::Error("load", "no members");
  auto& part = parts[random() % parts.size()];
  if (part.name.ends_with(".pt") && random() % 4 != 0) {
    mutate_member(part.bytes, random);
  } else {
    std::string& bytes = part.bytes;
    const std::size_t old = bytes.size();
    bytes.resize(old + 64);
    bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), old, bytes.size()));
  }
  archive = test::zip(parts);
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most,
                                               unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
  try {
    std::string file(reinterpret_cast<const char*>(data), size);
    mutate_member(file, random);
    if (file.size() > most) return LLVMFuzzerMutate(data, size, most);
    std::memcpy(data, file.data(), file.size());
    return file.size();
  } catch (const wide::Error&) {
    return LLVMFuzzerMutate(data, size, most);
  }
}
