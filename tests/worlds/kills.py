"""The counted fault: work in forked children that stop dead at their k-th write, fsync, rename, …, for every k."""

STOP_AT = """
import os, sys

CALLS = ("fsync", "link", "mkdir", "pwrite", "rename", "replace", "rmdir", "unlink", "write")

MORE = []  # further calls to count, as pairs of an object and a name

def stop_at(call):
    left = [call]
    def counted(function):
        def wrapper(*arguments, **named):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return function(*arguments, **named)
        return wrapper
    for owner, name in [*((os, name) for name in CALLS), *MORE]:
        setattr(owner, name, counted(getattr(owner, name)))

def stop_at_each(prepare):
    # `prepare(call)` gives the work of the child that stops at that call; how many calls the work has, plus one.
    call = 0
    while True:
        call += 1
        work = prepare(call)
        if os.fork() == 0:
            stop_at(call)
            work()
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.wait()[1])
        if code == 0:
            return call
        if code != 9:
            sys.exit(f"call {call}: the work ended with code {code}")
"""
"""A script's beginning; `stop_at_each` runs the work once for each of its calls and once to its end."""
