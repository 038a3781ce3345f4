"""Write ``repository.url`` and ``repository.branch`` of ``_config.yml`` wherever else they stand
(``make url``).

An address with ``.git`` at its end or for ssh is written as its page on GitHub; one elsewhere than
on GitHub is refused, since Colab, the address of the pages and the links to lines of the library
rest on it.
"""

import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
FORM = re.compile(
    r"(?:(?:https?|ssh)://(?:[^@/\s]+@)?(?:www\.)?github\.com(?::\d+)?/|(?:[^@/\s]+@)?github\.com:)"
    r"([\w.-]+)/([\w.-]+?)(?:\.git)?/*"
)


def page(url: str) -> str:
    """The address of a repository as its page has it.

    Raises:
        ValueError: it is no repository on GitHub.
    """
    if not (found := FORM.fullmatch(str(url).strip())):
        raise ValueError(
            f"repository.url is {url!r}: write https://github.com/<owner>/<name>; Colab, the "
            "pages' address and the links to "
            "lines of the library work for GitHub only"
        )
    return "https://github.com/{}/{}".format(*found.groups())


def rewritten(text: str, old: str, new: str, branch: str) -> str:
    """A file's text with the new address, and with the branch in cells that install."""
    text = re.sub(
        rf"(git clone [^\n]*?)(?:--branch \S+ )?{re.escape(old)}",
        rf"\g<1>--branch {branch} {new}",
        text,
    )
    return text.replace(old, new)


def main() -> None:
    config = ROOT / "_config.yml"
    repository = yaml.safe_load(config.read_text(encoding="utf-8"))["repository"]
    old = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["repository-code"]
    try:
        new = page(repository["url"])
    except ValueError as error:
        sys.exit(str(error))
    try:
        tracked = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
    except (FileNotFoundError, subprocess.CalledProcessError):
        sys.exit(
            "git does not list the files of this folder: install git, and run this in a clone of "
            "the repository"
        )
    config.write_text(
        config.read_text(encoding="utf-8").replace(repository["url"], new), encoding="utf-8"
    )
    for name in tracked:
        path = ROOT / name
        if (
            path.suffix in {".md", ".ipynb", ".cff", ".toml", ".py", ".json", ".yml"}
            and path.is_file()
        ):
            text = path.read_text(encoding="utf-8")
            after = rewritten(text, old, new, repository["branch"])
            if path.suffix == ".yml":  # the workflow that publishes
                after = re.sub(r"(refs/heads/)[\w./-]+", rf"\g<1>{repository['branch']}", after)
            if after != text:
                path.write_text(after, encoding="utf-8")
                print(name)


if __name__ == "__main__":
    main()
