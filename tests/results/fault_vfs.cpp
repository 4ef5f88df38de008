#include "tests/results/fault_vfs.h"

#include <sqlite3.h>

#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace wide::results::test {
namespace {

std::mutex guard;
Fault fault;
int seen = 0;
bool met = false;
bool logging = false;
std::vector<FileOperation> log;
sqlite3_vfs* real_vfs = nullptr;

struct FaultyFile {
  sqlite3_file base;  // first: SQLite casts
  std::string* name;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

FaultyFile* faulty(sqlite3_file* file) {
  return reinterpret_cast<FaultyFile*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return faulty(file)->real();
}

/// Counts one operation; true when it is to fail.
bool fails() {
  const std::lock_guard lock(guard);
  if (fault.at == 0) return false;
  ++seen;
  const bool now = fault.lasting ? seen >= fault.at : seen == fault.at;
  met = met || now;
  return now;
}

void note(FileOperation operation) {
  const std::lock_guard lock(guard);
  if (logging) log.push_back(std::move(operation));
}

using Kind = FileOperation::Kind;

int do_close(sqlite3_file* file) {
  const int code = real(file)->pMethods->xClose(real(file));
  delete faulty(file)->name;
  return code;
}
int do_read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  return real(file)->pMethods->xRead(real(file), to, bytes, offset);
}
int do_write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  if (fails()) return fault.full_disk ? SQLITE_FULL : SQLITE_IOERR_WRITE;
  note({Kind::kWrite, *faulty(file)->name, offset,
        std::string(static_cast<const char*>(from), static_cast<std::size_t>(bytes))});
  return real(file)->pMethods->xWrite(real(file), from, bytes, offset);
}
int do_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (fails()) return SQLITE_IOERR_TRUNCATE;
  note({Kind::kTruncate, *faulty(file)->name, size, ""});
  return real(file)->pMethods->xTruncate(real(file), size);
}
int do_sync(sqlite3_file* file, int flags) {
  if (fails()) return SQLITE_IOERR_FSYNC;
  note({Kind::kSync, *faulty(file)->name, 0, ""});
  return real(file)->pMethods->xSync(real(file), flags);
}
int do_size(sqlite3_file* file, sqlite3_int64* size) {
  return real(file)->pMethods->xFileSize(real(file), size);
}
int do_lock(sqlite3_file* file, int kind) {
  return real(file)->pMethods->xLock(real(file), kind);
}
int do_unlock(sqlite3_file* file, int kind) {
  return real(file)->pMethods->xUnlock(real(file), kind);
}
int do_reserved(sqlite3_file* file, int* out) {
  return real(file)->pMethods->xCheckReservedLock(real(file), out);
}
int do_control(sqlite3_file* file, int what, void* argument) {
  return real(file)->pMethods->xFileControl(real(file), what, argument);
}
int do_sector(sqlite3_file* file) {
  return real(file)->pMethods->xSectorSize(real(file));
}
int do_device(sqlite3_file* file) {
  return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int do_shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}
int do_shm_lock(sqlite3_file* file, int offset, int n, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, n, flags);
}
void do_shm_barrier(sqlite3_file* file) {
  real(file)->pMethods->xShmBarrier(real(file));
}
int do_shm_unmap(sqlite3_file* file, int remove) {
  return real(file)->pMethods->xShmUnmap(real(file), remove);
}

const sqlite3_io_methods kMethods = {
    2,           do_close,       do_read,      do_write,   do_truncate, do_sync,   do_size,
    do_lock,     do_unlock,      do_reserved,  do_control, do_sector,   do_device, do_shm_map,
    do_shm_lock, do_shm_barrier, do_shm_unmap, nullptr,    nullptr};

int do_open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out) {
  faulty(file)->base.pMethods = nullptr;
  if (fails()) return SQLITE_CANTOPEN;
  const int code = real_vfs->xOpen(real_vfs, name, real(file), flags, out);
  if (code != SQLITE_OK) return code;
  faulty(file)->name =
      new std::string(name == nullptr ? "" : std::filesystem::path(name).filename().string());
  faulty(file)->base.pMethods = &kMethods;
  return SQLITE_OK;
}

int do_delete(sqlite3_vfs*, const char* name, int sync) {
  note({Kind::kDelete, std::filesystem::path(name).filename().string(), 0, ""});
  return real_vfs->xDelete(real_vfs, name, sync);
}

sqlite3_mem_methods real_memory;
int allocations_left = 0;  // 0: never fails
bool allocation_met = false;

bool allocation_fails() {
  const std::lock_guard lock(guard);
  if (allocations_left == 0 || --allocations_left > 0) return false;
  allocation_met = true;
  return true;
}

}  // namespace

void install_fault_layer() {
  static bool done = false;
  if (std::exchange(done, true)) return;
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory) != SQLITE_OK)
    throw std::runtime_error("SQLite was already in use");
  static sqlite3_mem_methods memory = real_memory;
  memory.xMalloc = [](int bytes) { return allocation_fails() ? nullptr : real_memory.xMalloc(bytes); };
  memory.xRealloc = [](void* old, int bytes) {
    return allocation_fails() ? nullptr : real_memory.xRealloc(old, bytes);
  };
  sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
  sqlite3_initialize();
  real_vfs = sqlite3_vfs_find(nullptr);
  static sqlite3_vfs vfs = *real_vfs;
  vfs.zName = "faulty";
  vfs.szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_vfs->szOsFile;
  vfs.pNext = nullptr;
  vfs.xOpen = do_open;
  vfs.xDelete = do_delete;
  sqlite3_vfs_register(&vfs, 1);
}

void set_fault(const Fault& wanted) {
  const std::lock_guard lock(guard);
  fault = wanted;
  seen = 0;
  met = false;
}

bool fault_was_met() {
  const std::lock_guard lock(guard);
  return met;
}

void start_log() {
  const std::lock_guard lock(guard);
  log.clear();
  logging = true;
}

void stop_log() {
  const std::lock_guard lock(guard);
  logging = false;
}

const std::vector<FileOperation>& operations() {
  return log;
}

void play_back(const std::filesystem::path& folder, std::size_t count, bool torn, bool lazy) {
  std::map<std::string, std::string> seen_by_program, on_disk;
  std::map<std::string, bool> there;
  for (std::size_t i = 0; i < count; ++i) {
    const FileOperation& operation = log[i];
    std::string& content = seen_by_program[operation.file];
    there[operation.file] = operation.kind != Kind::kDelete;
    if (operation.kind == Kind::kWrite) {
      std::string bytes = operation.bytes;
      constexpr std::size_t kSector = 512;
      if (torn && i + 1 == count) bytes.resize(bytes.size() / 2 / kSector * kSector);
      const auto end = static_cast<std::size_t>(operation.offset) + bytes.size();
      if (content.size() < end && !bytes.empty()) content.resize(end);
      content.replace(static_cast<std::size_t>(operation.offset), bytes.size(), bytes);
    } else if (operation.kind == Kind::kTruncate) {
      content.resize(static_cast<std::size_t>(operation.offset));
    } else if (operation.kind == Kind::kDelete) {
      content.clear();
    }
    if (!lazy || operation.kind == Kind::kSync || operation.kind == Kind::kDelete)
      on_disk[operation.file] = content;
  }
  for (const auto& [name, content] : on_disk) {
    if (there[name]) std::ofstream(folder / name, std::ios::binary) << content;
  }
}

bool fail_allocation(int n) {
  const std::lock_guard lock(guard);
  allocations_left = n;
  return std::exchange(allocation_met, false);
}

}  // namespace wide::results::test
