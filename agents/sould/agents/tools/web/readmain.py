"""The program that takes the main text out of a web page: run as a child, so that no page can hold or fill the daemon.

`python -I readmain.py URL` reads the page's HTML as UTF-8 from standard input and writes Markdown. It imports nothing of
ours and opens nothing: what a page names is not fetched.
"""

import resource
import sys

MEMORY = 2 * 1024 * 1024 * 1024
CPU_SECONDS = 60
"""Ends a reader whose parent was killed."""
UNREADABLE = 3
"""The library that reads pages cannot be loaded; the reason is on standard error."""


def main() -> int:
    """Extract; the exit code."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        import trafilatura  # noqa: PLC0415 -- under the limits
    except ImportError as error:
        sys.stderr.write(str(error))
        return UNREADABLE

    html = sys.stdin.buffer.read().decode(errors="replace")
    found = trafilatura.extract(
        html, url=sys.argv[1], output_format="markdown", include_links=True, include_tables=True, include_comments=False
    )
    sys.stdout.write(found or trafilatura.html2txt(html))
    return 0


if __name__ == "__main__":
    sys.exit(main())
