"""Say what no other linter knows: the layers, the words, the documents, who may write what.

`python -m tools.lint_house`
"""

from __future__ import annotations

import sys

from tools import lint_docs, lint_layers, lint_words, lint_writers


def main() -> int:
    """Print what is wrong; the exit code."""
    found = [one for linter in (lint_layers, lint_words, lint_docs, lint_writers) for one in linter.complaints()]
    print("\n".join(found) or "the layers are kept, words are plain, documents name what exists, facts have one writer")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
