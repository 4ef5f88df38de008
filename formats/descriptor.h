#pragma once
// A file descriptor that closes itself.

#include <unistd.h>

#include <utility>

namespace wide {

class Descriptor {
 public:
  /// Negative: none.
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  /// Closes now and says whether that went well: some file systems report a failed write only here.
  bool close() { return !open() || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

}  // namespace wide
