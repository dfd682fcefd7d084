"""Count the lines of product code, without blanks, comments and docstrings: `python tools/count_lines.py [COMMIT]`.

Product code is `realtime/**/*.py` and the scripts of the pages. With a commit, its count is shown beside.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("realtime/", "web/src/", "web/packages/")
ENDINGS = {".py": "Python", ".ts": "scripts", ".js": "scripts"}
_BESIDE_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}


def python_lines(text: str) -> int:
    """Lines that hold code. A string that is a statement of its own is a docstring."""
    lines: set[int] = set()
    is_first = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            is_first = True
        elif token.type not in _BESIDE_CODE and token.type != tokenize.ENDMARKER:
            if not (is_first and token.type == tokenize.STRING):
                lines.update(range(token.start[0], token.end[0] + 1))
            is_first = False
    return len(lines)


def script_lines(text: str) -> int:
    """Lines that hold more than a comment."""
    count, in_comment = 0, False
    for line in map(str.strip, text.splitlines()):
        if in_comment or line.startswith("/*"):
            in_comment = "*/" not in line
        elif line and not line.startswith("//"):
            count += 1
    return count


def product_files(commit: str | None) -> dict[str, str]:
    """The text of each file, as it lies here or as a commit has it."""
    if commit is None:
        listed = _git("ls-files", "--cached", "--others", "--exclude-standard").splitlines()
        return {name: (ROOT / name).read_text(encoding="utf-8") for name in listed if is_product(name)}
    listed = _git("ls-tree", "-r", "--name-only", commit).splitlines()
    return {name: _git("show", f"{commit}:{name}") for name in listed if is_product(name)}


def is_product(name: str) -> bool:
    """Whether the file is written by hand and shipped."""
    is_made = ".generated." in name or "/dist/" in name or "/test/" in name
    return name.startswith(FOLDERS) and Path(name).suffix in ENDINGS and not is_made


def count(commit: str | None = None) -> Counter[str]:
    """Lines of code by language."""
    found: Counter[str] = Counter()
    for name, text in product_files(commit).items():
        language = ENDINGS[Path(name).suffix]
        found[language] += python_lines(text) if language == "Python" else script_lines(text)
    return found


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout


def main() -> None:
    """Print the counts."""
    here = count()
    base = count(sys.argv[1]) if len(sys.argv) > 1 else None
    for language in sorted(here):
        before = f" (before: {base[language]})" if base is not None else ""
        print(f"{language}: {here[language]}{before}")
    print(f"all: {here.total()}" + (f" (before: {base.total()})" if base is not None else ""))


if __name__ == "__main__":
    main()
