"""Runs the program in processes of its own that need not import it anew: forks of one that has.

Reads requests as lines of JSON from standard input, and answers each with the exit code. The program is the function
that the installed script calls; `test_installed.py` runs the script itself.
"""

import json
import os
import sys
import traceback

from unisvm.cli import main


def run(request):
    """Run the program in this process, and end it."""
    code = 1
    try:
        for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
            flags = os.O_RDONLY if name == "stdin" else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(request[name], flags), descriptor)
        # a stream that was read from has bytes of other requests
        sys.stdin = os.fdopen(0)
        os.chdir(request["cwd"])
        os.environ |= request["env"]
        sys.argv = ["unisvm", *request["arguments"]]
        code = main()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
