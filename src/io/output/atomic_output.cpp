// SPDX-FileCopyrightText: The quietvox authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output/atomic_output.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <list>
#include <new>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "io/files/path_overlap.hpp"
#include "io/files/paths.hpp"

namespace quietvox::io {
namespace fs = std::filesystem;
using namespace std::chrono_literals;
namespace {

[[noreturn]] void throw_not_writable(const fs::path& path, const std::string& what, int error) {
  throw Error(Errc::not_writable, path.string() + ": " + what + ": " + std::generic_category().message(error));
}

/// Some file systems cannot sync a folder, and say so.
int sync(const Descriptor& file) { return file.is_open() && (fsync(file) == 0 || errno == EINVAL) ? 0 : errno; }

/// Syncs a file or folder to disk and gives it the access that it is to have. Returns an error number, or 0.
int finish_one(const fs::path& path, mode_t usual, const Access& most) {
  const Descriptor file(path, O_RDONLY | O_NOFOLLOW);
  if (!file.is_open()) return errno;
  if (const int error = give_access(file, usual, most)) return error;
  return sync(file);
}

/// Which file or folder stands at a path, if any. A new file may get the inode number of one that was removed, so size
/// and time count too. What a folder holds is examined elsewhere.
using Identity = std::tuple<dev_t, ino_t, off_t, time_t, long>;
Identity identity_of(const fs::path& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return {};
  if (S_ISDIR(status.st_mode)) status.st_size = status.st_mtim.tv_sec = status.st_mtim.tv_nsec = 0;
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

/// How an output comes to its place: what was staged is renamed to the target, and what it replaces stands under the
/// staged name then. `aside`: a free name beside the target, which nothing ever removes. `taken_back`: one in the
/// private folder.
struct Placement {
  fs::path staged, target, aside, taken_back;
  Identity made = identity_of(staged), replaced{};

  bool replaces() const { return replaced != Identity(); }
};
using Placements = std::vector<Placement>;
/// Which one failed, and an error number, or 0.
using Result = std::pair<std::size_t, int>;

// A forked child calls what follows: no memory may be allocated.

/// Renames only where nothing stands at `to`. Returns an error number, or 0.
int rename_to_free_name(const fs::path& from, const fs::path& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;  // else the file system does not know the flag
  if (stands_at(to)) return EEXIST;
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

/// Exchanges what was staged with what is replaced: at one instant where the file system can, else in three steps.
int exchange(const Placement& one) {
  if (renameat2(AT_FDCWD, one.staged.c_str(), AT_FDCWD, one.target.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (const int error = rename_to_free_name(one.target, one.aside)) return error;
  if (const int error = rename_to_free_name(one.staged, one.target)) return error;
  return rename_to_free_name(one.aside, one.staged);
}

/// However far they came, and were taken back. What is not ours comes to the target, or aside if that is taken by now.
Result roll_back(const Placements& placements) {
  for (const Placement& one : placements) {
    if (identity_of(one.target) == one.made &&
        renameat2(AT_FDCWD, one.staged.c_str(), AT_FDCWD, one.target.c_str(), RENAME_EXCHANGE) != 0) {
      rename_to_free_name(one.target, one.taken_back);
    }
    for (const fs::path* const name : {&one.staged, &one.taken_back}) {
      if (identity_of(*name) != one.made && rename_to_free_name(*name, one.target) == EEXIST) {
        rename_to_free_name(*name, one.aside);
      }
    }
    if (one.replaces()) rename_to_free_name(one.aside, one.target);
  }
  return {};
}

/// All, the first last, or none.
Result place(const Placements& placements) {
  for (std::size_t i = placements.size(); i-- > 0;) {
    const Placement& one = placements[i];
    int error = one.replaces() ? exchange(one) : rename_to_free_name(one.staged, one.target);
    if (error == 0 && identity_of(one.staged) != one.replaced) error = EEXIST;  // it took the place of that
    if (error == 0) continue;
    roll_back(placements);
    return {i, error};
  }
  return {};
}

/// What may take several renames runs in a child process, which goes on if this one is killed. If the child is killed,
/// this one rolls all back.
Result uninterrupted(Result (*work)(const Placements&), const Placements& placements) {
  if (placements.size() == 1 && !placements.front().replaces()) return work(placements);
  void* const shared = mmap(nullptr, sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return work(placements);
  auto* const child_result = new (shared) Result(0, EOWNERDEAD);
  const pid_t child = fork_apart();
  if (child <= 0) *child_result = work(placements);
  if (child == 0) _exit(0);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  const Result result = *child_result;
  munmap(shared, sizeof result);
  if (result.second == EOWNERDEAD) roll_back(placements);
  return result;
}

/// A lock on each folder itself, for which nothing is written; it ends with what is returned, or with the process.
/// After 20 seconds goes on without, as where the file system knows no such locks: what waits is finished work.
std::list<Descriptor> lock_folders(const std::set<fs::path>& folders, const Execution& execution) {
  std::list<Descriptor> held;
  constexpr std::chrono::milliseconds silent = 1s, longest = 20s, pause = 10ms;
  auto waited = 0ms;
  for (const fs::path& folder : folders) {  // in the same order in each process, so that no two wait for each other
    held.emplace_back(folder, O_RDONLY | O_DIRECTORY);
    for (; flock(held.back(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && waited < longest; waited += pause) {
      check_stop(execution.stop);
      if (execution.note && waited == silent) {
        execution.note(folder.string() + ": another process has locked this folder; waiting for it, 20 s at most");
      }
      std::this_thread::sleep_for(pause);
    }
  }
  return held;
}

}  // namespace

AtomicOutput::AtomicOutput(const fs::path& target, Kind kind, bool force, const fs::path& input, const Access& most,
                           Examine examine)
    : target_(without_trailing_slash(target)), examine_(std::move(examine)), kind_(kind), force_(force), most_(most) {
  try {
    const fs::path name = target_.filename();
    if (name.empty() || name == "." || name == "..") {
      throw Error(Errc::output_path, target.string() + ": cannot name an output", "give a file or a new folder");
    }
    if (kind_ == Kind::file && target_ != target) {
      throw Error(Errc::output_path, target.string() + ": is the name of a folder", "give the name of a file");
    }
    fs::path parent = parent_of(target_);
    if (!stands_at(parent)) parent = parent_of(without_trailing_slash(parent));
    if (!fs::is_directory(parent)) {
      throw Error(Errc::output_path, target_.string() + ": there is no folder " + parent_of(target_).string(),
                  "make it first or give another output");
    }
    if (!input.empty()) refuse_overlap(target_, input);
    // Another run may put its outputs there meanwhile: what is seen of two folders is no reason to refuse.
    while (fs::exists(fs::symlink_status(target_))) {
      const Identity before = identity_of(target_);
      try {
        examine_existing(target_, {});
        break;
      } catch (const std::exception&) {
        if (before != Identity() && identity_of(target_) == before) throw;
      }
    }
    if (faccessat(AT_FDCWD, parent.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
      throw_not_writable(target_, "cannot be created, as its folder must be readable and writable", errno);
    }
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(target_, "cannot be examined", error.code().value());
  }
}

void AtomicOutput::begin() {
  folder_.emplace(target_);
  const fs::path parent = folder_->beside("");
  most_ = most_.in(parent);  // a link above it may lead elsewhere by now
  int error = 0;
  if (folder_->made_parent()) {
    // Access to a folder that is made for it is that of its first output.
    error = finish_one(parent, folder_->usual_permissions(), most_);
    if (error == 0) error = sync(Descriptor(parent / "..", O_RDONLY | O_DIRECTORY));
  }
  if (error == 0 && kind_ == Kind::folder && mkdir(staging().c_str(), 0700) != 0) error = errno;
  if (error != 0) throw_not_writable(target_, "cannot be created", error);
}

std::vector<fs::path> AtomicOutput::examine_existing(const fs::path& found, const Execution& execution) const {
  const fs::file_status status = fs::status(found);
  const bool is_file = kind_ == Kind::file;
  if (fs::exists(status) && !(is_file ? fs::is_regular_file(status) : fs::is_directory(status))) {
    throw Error(Errc::output_path, target_.string() + (is_file ? ": is not a regular file; give the name of a file"
                                                               : ": is not a folder; give the name of a folder"));
  }
  check_stop(execution.stop);
  std::vector<fs::path> files = examine_ ? examine_(found, execution) : std::vector{found};
  if (!force_ || !(is_file || examine_)) {
    throw Error(Errc::exists, target_.string() + ": exists already", "use " + Parameter{"force"} + " to replace it");
  }
  return files;
}

void AtomicOutput::finish(const Execution& execution) {
  std::vector<fs::path> made{staging()};
  std::size_t files = kind_ == Kind::file ? 1 : 0;
  const auto check = [&](int error) {
    if (error == ENOENT) throw_not_writable(target_, "another program removed some of it", error);
    if (error != 0) throw_not_writable(target_, "cannot be synced", error);
  };
  for (std::size_t i = 0; i < made.size(); ++i) {  // one folder is open at a time, however deep they lie
    std::error_code error;
    for (fs::directory_iterator at(made[i], error), end; at != end; at.increment(error)) {
      made.push_back(at->path());
      files += at->is_directory() ? 0 : 1;
    }
    if (error != std::errc::not_a_directory) check(error.value());
  }
  if (files < expected_files_) check(ENOENT);
  parallel_for(execution.silent(), std::ssize(made), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      check(finish_one(made[static_cast<std::size_t>(i)], folder_->usual_permissions(), most_));
    }
  });
}

void AtomicOutput::fail_to_place(int error) const {
  if (error == EEXIST) {
    throw Error(Errc::exists, target_.string() + ": appeared while the output was being made",
                force_ ? "run again" : "use " + Parameter{"force"} + " to replace it");
  }
  const bool was_killed = error == EOWNERDEAD;
  throw_not_writable(target_, was_killed ? "the process that puts it in place was killed" : "cannot be put in place",
                     error);
}

void AtomicOutput::commit(const Execution& execution) { commit_together(std::array{this}, execution); }

void commit_together(std::span<AtomicOutput* const> outputs, const Execution& execution) {
  if (outputs.empty()) return;
  try {
    std::set<fs::path> folders;
    for (AtomicOutput* const output : outputs) {
      output->finish(execution);
      folders.insert(fs::canonical(output->folder_->beside("")));
    }
    const auto locks = lock_folders(folders, execution);
    const std::unique_lock whole = keep_stagings();
    Placements placements;
    for (AtomicOutput* const output : outputs) {
      const auto beside = [&](const fs::path& name) { return output->folder_->beside(name); };
      const fs::path staged = output->staging();
      const std::string aside = output->folder_->path().stem().string().substr(1) + ".replaced";
      placements.push_back({staged, beside(staged.filename()), beside(aside), *output->folder_ / aside});
      Placement& one = placements.back();
      if (output->force_) one.replaced = identity_of(one.target);
      if (!one.replaces()) continue;
      // It may be another than there was before, to which fewer people have access.
      const Access most = output->most_ & access_of(output->examine_existing(one.target, execution), one.target);
      if (most.bits == output->most_.bits && most.group == output->most_.group) continue;
      output->most_ = most;
      output->finish(execution);
    }
    const auto [failed, why] = uninterrupted(place, placements);
    if (why != 0) outputs[failed]->fail_to_place(why);
    try {
      // Nobody else can reach what was replaced any more: files may have been added to it until then.
      for (std::size_t i = 0; i < placements.size(); ++i) {
        check_stop(execution.stop);
        const fs::path& replaced = placements[i].staged;
        const bool leads_elsewhere = fs::is_symlink(fs::symlink_status(replaced));
        if (placements[i].replaces() && outputs[i]->examine_ && !leads_elsewhere) {
          outputs[i]->examine_(replaced, execution);
        }
      }
      for (const fs::path& folder : folders) {
        if (const int error = sync(Descriptor(folder, O_RDONLY | O_DIRECTORY))) {
          throw_not_writable(folder, "cannot be synced", error);
        }
      }
    } catch (...) {
      uninterrupted(roll_back, placements);
      throw;
    }
  } catch (const fs::filesystem_error& error) {
    throw_not_writable(outputs.front()->target_, "cannot be put in place", error.code().value());
  }
  // The outputs stand, whatever comes of this.
  for (AtomicOutput* const output : outputs) {
    const int error = output->folder_->remove();
    const bool is_ending = error == ETIME || execution.stop.stop_requested();  // the next run removes it
    if (error == 0 || is_ending || !execution.note) continue;
    execution.note(output->target_.string() + ": what it replaced cannot be removed: " +
                   std::generic_category().message(error) + "; it is left in " + output->folder_->path().string());
  }
}

}  // namespace quietvox::io
