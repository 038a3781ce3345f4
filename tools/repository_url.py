"""Write ``repository.url`` of ``_config.yml`` wherever else the repository's address stands."""

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    new = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"]
    old = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["repository-code"]
    try:
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    except (FileNotFoundError, subprocess.CalledProcessError):
        sys.exit("git does not list the files of this folder: install git, and run this in a clone of the repository")
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".md", ".ipynb", ".cff", ".toml", ".py", ".json"} and path.is_file():
            text = path.read_text(encoding="utf-8")
            if old in text:
                path.write_text(text.replace(old, new), encoding="utf-8")
                print(name)


if __name__ == "__main__":
    main()
