"""Chromium without a network, for the tests of the built pages, and axe-core."""

import shutil
from http.server import SimpleHTTPRequestHandler
from importlib.resources import files

from conftest import ROOT

BUILT = ROOT / "_build" / "html"
PAGES = [
    *sorted(path.relative_to(BUILT).as_posix() for path in (BUILT / "book").rglob("*.html")),
    "search.html",
    "genindex.html",
]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
LOOKS = [(1280, "light"), (360, "dark"), (1280, "dark"), (360, "light")]
WIDE, PHONE = LOOKS[:2]
#: Shifts of the layout while a page loads, as Chromium's performance observer sums them.
WATCH_SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifted += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


class Reader:
    """A browser window at one width and theme, with what its pages wanted from elsewhere and said on the console."""

    def __init__(self, browser, address, look, **options):
        self.look, (width, scheme) = look, look
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, **options)
        self.address, self.left, self.errors, self.tab = address, [], [], None
        self.context.add_init_script(WATCH_SHIFTS)
        self.context.on("request", self._note)
        self.context.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))

    def _note(self, request):
        if not request.url.startswith((self.address, "data:", "blob:")):
            self.left.append(request.url)

    def go(self, name, page):
        page.goto(f"{self.address}/{name}", wait_until="load")
        page.wait_for_function("!document.querySelector('.unset:not(.ledger-row, .own, .erratum)')")  # all formulas are set
        return page

    def look_at(self, name):
        """The page in the one tab that is there to look at things: a load in a new tab takes twice as long."""
        self.tab = self.tab or self.context.new_page()
        self.tab.set_viewport_size({"width": self.look[0], "height": 900})
        self.tab.emulate_media(color_scheme=self.look[1])
        return self.go(name, self.tab)

    def check(self):
        assert not self.left and not self.errors
        for page in self.context.pages:
            if page is not self.tab:
                page.close()


#: Leaves of a page what axe-core has to look at: boxes in the place of formulas, and marks on texts that are painted as an
#: earlier one, on this page or another (``known``): same ancestors as far as anything is painted, both in view or not.
#: Gives back the kinds of text that are new.
REDUCE = r"""known => {
  for (const element of document.querySelectorAll("[data-alike]")) delete element.dataset.alike;
  for (const folded of document.querySelectorAll("details:not([open]) > :not(summary)")) folded.remove();
  const formulas = [...document.querySelectorAll("mjx-container")].map((box) => [box, box.getBoundingClientRect()]);
  for (const [box, { width, height }] of formulas) {
    Object.assign(box.style, { width: `${width}px`, height: `${height}px`, overflow: "hidden" });
    box.replaceChildren(box.querySelector("mjx-assistive-mml")?.textContent ?? "");
  }
  const paint = ["color", "fill", "backgroundColor", "backgroundImage", "opacity", "filter", "fontSize", "fontWeight"];
  const seen = new Set(known), found = [], kinds = new Map();
  const number = (words) => {
    let [a, b] = [7, 11];
    for (let i = 0; i < words.length; i++) {
      a = Math.imul(a ^ words.charCodeAt(i), 0x9e3779b1);
      b = Math.imul(b ^ words.charCodeAt(i), 0x5f356495) ^ (a >>> 15);
    }
    return `${a}.${b}`;
  };
  const within = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
  const kindOf = (element) => {
    if (!element) return { kind: "", clip: null };
    if (!kinds.has(element)) {
      const above = kindOf(element.parentElement), style = getComputedStyle(element);
      const lies = ["absolute", "fixed", "sticky"].includes(style.position) ? `alone ${kinds.size} ${location}` : "";
      const words = [above.kind, element.localName, lies, ...paint.map((name) => style[name])].join("|");
      const cuts = style.overflowX !== "visible" || style.overflowY !== "visible";
      kinds.set(element, { kind: number(words), clip: cuts ? element : above.clip });
    }
    return kinds.get(element);
  };
  const frames = new Map();
  const frame = (element) => frames.get(element) ?? frames.set(element, element.getBoundingClientRect()).get(element);
  for (const element of document.body.querySelectorAll(":not(input, select, textarea)")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    if (text && element.checkVisibility({ visibilityProperty: true })) {
      const { kind, clip } = kindOf(element);
      const shown = element.checkVisibility({ contentVisibilityAuto: true });
      const whole = !shown || !clip || within(element.getBoundingClientRect(), frame(clip));
      const said = element.textContent.trim().length > 1 ? /[\p{L}\p{N}]/u.test(element.textContent) : "one sign";
      const key = number([kind, shown, whole, said].join("|"));
      if (!seen.has(key)) {
        seen.add(key);
        found.push(key);
        continue;
      }
    }
    element.dataset.alike = "";
  }
  for (const word of document.querySelectorAll(".highlight span[data-alike]:not([id])"))
    if (!word.childElementCount) word.replaceWith(word.textContent);
  return found;
}"""
KNOWN: set[str] = set()


def axe(page):
    """What axe-core finds on a page; the inner parts of MathJax's formulas are its own, and are gone afterwards.

    The contrast of every kind of text is measured once: the pages have thousands of coloured words of code in a dozen colours.
    """
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    new = page.evaluate(REDUCE, list(KNOWN))
    page.evaluate("axe.configure({rules: [{id: 'color-contrast', selector: ':not([data-alike])'}]})")
    found = page.evaluate("axe.run({exclude: ['mjx-container']}, {resultTypes: ['violations'], preload: false})")
    if not found["violations"]:
        KNOWN.update(new)
    return [(v["id"], len(v["nodes"]), v["nodes"][0]["html"][:200]) for v in found["violations"]]
