"""marked_processes - finds the processes of a test by a mark in their environment."""
import os
import time


class MarkedProcesses:
    """Has a path; its processes and all they start have MARK=path."""

    path = ""

    def processes(self):
        """All with this mark that are alive."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    environment = file.read()
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read()
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    state = file.read().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            # A worker hides its environment.
            is_worker = b"\0worker\0" in words and f"\0{self.path}/".encode() in words
            is_marked = is_worker or f"MARK={self.path}\0".encode() in environment
            if is_marked and state != "Z":
                found.append(int(pid))
        return found

    def wait_gone(self, seconds=120):
        """Waits until all have ended, and returns those that have not."""
        end = time.monotonic() + seconds
        while self.processes() and time.monotonic() < end:
            time.sleep(0.02)
        return self.processes()
