// Other programs, run as their users run them.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <vector>

#include "support/temporary_folder.hpp"

namespace rope_test {

/// How a program ended, and what it printed.
struct Outcome {
  int status;  ///< its exit status; -1 if a signal ended it
  int signal;  ///< that signal, or 0
  std::string out;
  std::string error;
};

/// A program that runs beside the test. wait() must be called.
class RunningProgram {
 public:
  /// Files that it writes, its output among them, may grow to `file_limit` bytes.
  explicit RunningProgram(const std::string& path, std::vector<std::string> arguments,
                          rlim_t file_limit = RLIM_INFINITY) {
    const std::string out = folder_ / "out";
    const std::string error = folder_ / "error";
    arguments.insert(arguments.begin(), path);
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    id_ = fork();
    if (id_ < 0) {
      throw std::system_error(errno, std::generic_category(), "fork");
    }
    if (id_ == 0) {
      const rlimit limit{file_limit, file_limit};
      const bool ready = redirect(STDOUT_FILENO, out) && redirect(STDERR_FILENO, error) &&
                         (file_limit == RLIM_INFINITY || setrlimit(RLIMIT_FSIZE, &limit) == 0);
      if (ready) execv(pointers[0], pointers.data());
      _exit(127);
    }
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  /// Also if it has ended, so that there is no race between a look and a signal.
  void send(int signal_number) const {
    if (kill(id_, signal_number) != 0) {
      throw std::system_error(errno, std::generic_category(), "kill");
    }
  }

  bool has_ended() const {
    siginfo_t information{};
    return waitid(P_PID, static_cast<id_t>(id_), &information, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           information.si_pid == id_;
  }

  Outcome wait() const {
    int status = 0;
    if (waitpid(id_, &status, 0) != id_) {
      throw std::system_error(errno, std::generic_category(), "waitpid");
    }
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            WIFSIGNALED(status) ? WTERMSIG(status) : 0, file_bytes(folder_ / "out"),
            file_bytes(folder_ / "error")};
  }

 private:
  static bool redirect(int descriptor, const std::string& path) {
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    return file >= 0 && dup2(file, descriptor) == descriptor;
  }

  TemporaryFolder folder_;
  pid_t id_ = 0;
};

/// Runs a program to its end.
inline Outcome run_program(const std::string& path, const std::vector<std::string>& arguments,
                           rlim_t file_limit = RLIM_INFINITY) {
  return RunningProgram(path, arguments, file_limit).wait();
}

}  // namespace rope_test
