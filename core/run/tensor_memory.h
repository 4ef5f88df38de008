#pragma once
// An allocator in front of libtorch's CPU allocator: a thread can have its tensors' memory from a source of
// its own. Nothing is in front of it until use_tensor_memory() is called.

#include <cstddef>
#include <cstdint>

namespace wide {

class MemorySource;

/// From now on every CPU tensor of the process is made by this allocator, so that pools and memory plans have
/// something to give. Without it they are idle, and models run in libtorch's own memory. Once is enough;
/// there is no way back. Tensors made before keep their own deleters.
void use_tensor_memory();
bool uses_tensor_memory();

/// Stands in front of every tensor's memory; as large as the alignment that libtorch promises.
struct alignas(64) BlockHeader {
  MemorySource* source = nullptr;  ///< null: the system
  std::size_t size = 0;            ///< of the whole block, this header included
  std::uint64_t watch = 0;         ///< of the watcher that saw it made; 0: none
  std::size_t number = 0;          ///< which of the watcher's blocks it is
  std::size_t lane = 0;            ///< of the source's lanes the one that it goes back to

  void* data() { return this + 1; }
  static BlockHeader* of(void* data) { return static_cast<BlockHeader*>(data) - 1; }
};
static_assert(sizeof(BlockHeader) == 64);

/// Gives blocks and takes them back. Blocks may come back on any thread.
class MemorySource {
 public:
  /// A block of at least `size` bytes with its header filled in. Throws std::bad_alloc, or c10::Error.
  virtual BlockHeader* take(std::size_t size) = 0;
  virtual void give_back(BlockHeader* block) noexcept = 0;

 protected:
  ~MemorySource() = default;
};

/// Told of blocks that it saw made when they are freed on its own thread.
class MemoryWatcher {
 public:
  virtual void freed(const BlockHeader& block) noexcept = 0;
  std::uint64_t id() const { return id_; }

 protected:
  MemoryWatcher();
  ~MemoryWatcher() = default;

 private:
  std::uint64_t id_;
};

/// This thread's tensors come from `source` and are watched by `watcher`, either of which may be null, until
/// the end of the scope.
class MemoryScope {
 public:
  MemoryScope(MemorySource* source, MemoryWatcher* watcher);
  ~MemoryScope();
  MemoryScope(const MemoryScope&) = delete;
  MemoryScope& operator=(const MemoryScope&) = delete;

 private:
  MemorySource* source_before_;
  MemoryWatcher* watcher_before_;
};

}  // namespace wide
