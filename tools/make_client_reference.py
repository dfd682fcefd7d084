"""Write the reference of the client package from its types: `python tools/make_client_reference.py [TYPES [FILE]]`.

TYPES is the folder of the built declarations (`web/dist/client/types` unless given: build the client before), FILE is
`docs/web-client-reference.md` unless given.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TYPES = ROOT / "web" / "dist" / "client" / "types"
FILE = ROOT / "docs" / "web-client-reference.md"
HEAD = """# The client package: reference

Written by `tools/make_client_reference.py` from the types of the package: change the comments in
`web/packages/client/src`, not this page. [The guide](web-client.md) shows how to use it. `RealtimeClient` passes on the
events of [the native protocol](protocol.md).
"""

COMMENT = r"(?:^ *)?/\*\*(?P<comment>(?:[^*]|\*(?!/))*)\*/\s*"
DECLARATION = re.compile(
    rf"(?:{COMMENT})?^export (?:declare )?(?P<kind>class|interface|type|function|const) (?P<name>\w+)(?P<rest>.*?)"
    r"(?=\n(?:export|/\*\*|declare|import)|\Z)",
    re.MULTILINE | re.DOTALL,
)
MEMBER = re.compile(rf"(?:{COMMENT})?^    (?P<member>[^\s/*#}}][^\n]*(?:\n(?: {{8}}|    }})[^\n]*)*);$", re.MULTILINE)


HOOK = (("useRealtime", "react"), ("Realtime", "react"))
"""The exported names of the second entry and the file that declares them."""
UNCALLED = ("constructor()", "connectedCallback", "disconnectedCallback")
"""Members that nobody calls by hand."""


def exported(entry: str) -> Iterator[tuple[str, str]]:
    """The exported names of the entry and the files that declare them, in order."""
    for names, file in re.findall(
        r'^export (?:type )?\{(.*?)\} from "\./([\w.-]+)\.js";', entry, re.MULTILINE | re.DOTALL
    ):
        for name in filter(None, (part.strip().removeprefix("type ") for part in names.split(","))):
            yield name, file


def plain(comment: str | None) -> str:
    """The text of a comment."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in (comment or "").strip().splitlines()]
    return "\n".join(lines).strip()


def one_line(code: str) -> str:
    """A declaration without its line breaks."""
    return re.sub(r"\s+", " ", code).strip()


def members(body: str) -> Iterator[str]:
    """A line for each public member: its declaration and what its comment says."""
    seen: set[str] = set()
    for found in MEMBER.finditer(body):
        member = one_line(found["member"])
        accessor = re.fullmatch(r"(get|set) (\w+)\(.*", member)
        if accessor is not None:
            if accessor[1] == "set":
                continue
            name = accessor[2]
            written = f"set {name}(" in body
            kind = member.partition("): ")[2]
            member = f"{name}: {kind}" if written else f"readonly {name}: {kind}"
        if member.startswith(UNCALLED) or member in seen:
            continue
        seen.add(member)
        text = " ".join(plain(found["comment"]).split())
        yield f"- `{member}`" + (f": {text[0].lower() if text[:2].istitle() else text[0]}{text[1:]}" if text else "")


def reference(types: Path) -> str:
    """The page, from the declarations in this folder. Raises LookupError for an export that is not declared."""
    parts = [HEAD]
    for name, file in [*exported((types / "realtime.d.ts").read_text(encoding="utf-8")), *HOOK]:
        text = (types / f"{file}.d.ts").read_text(encoding="utf-8")
        found = next((each for each in DECLARATION.finditer(text) if each["name"] == name), None)
        if found is None:
            raise LookupError(f"{file}.d.ts declares no {name}")
        head, brace, body = found["rest"].partition(" {\n")
        if found["kind"] in ("class", "interface") and brace:
            # The element has no base where there is no HTML.
            head = head.replace("extends Base", "extends HTMLElement")
            code, listed = one_line(f"{found['kind']} {name}{head}"), "\n".join(members(body)) + "\n"
        else:
            code, listed = one_line(f"{found['kind']} {name}{found['rest']}").rstrip(";"), ""
        sections = (f"## `{name}`\n", plain(found["comment"]) + "\n", f"```ts\n{code}\n```\n", listed)
        parts += [section for section in sections if section.strip()]
    return "\n".join(parts).rstrip() + "\n"


def main(arguments: list[str]) -> None:
    """Write the page."""
    types = Path(arguments[0]) if arguments else TYPES
    file = Path(arguments[1]) if len(arguments) > 1 else FILE
    file.write_text(reference(types), encoding="utf-8")
    print(file)


if __name__ == "__main__":
    main(sys.argv[1:])
