// What the pages do without a kernel or a network: filters and graph of the ledger, previews of links, words
// that a search looked for, folds that open when a link leads into them, pictures that open large.
(() => {
  const root = document.documentElement.dataset.content_root || "./";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  const loaded = {};
  const load = (file) =>
    (loaded[file] ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src: root + "_static/" + file, onload: done, onerror: failed });
      document.head.append(script);
    }));

  // Until their formulas are set, lines with formulas wait and keep their room (book.css); if MathJax never comes, after eight
  // seconds they show as TeX.
  const html = document.documentElement, settled = () => html.classList.remove("math-pending");
  html.classList.add("math-pending");
  setTimeout(settled, 8000);

  // Read folds the code of checks and shows a verdict as one line; Verify opens all. The choice is kept, and made before paint.
  const CHECKS = "details.checks, details.verdict, details.verdicts";
  const kept = (() => {
    try { return localStorage.getItem("reading"); } catch { return null; }
  })();
  html.classList.toggle("verify", kept === "verify");
  if (kept === "verify") {
    const opener = new MutationObserver(() => all(CHECKS).forEach((fold) => (fold.open = true)));
    opener.observe(html, { childList: true, subtree: true });
    document.addEventListener("DOMContentLoaded", () => opener.disconnect());
  }
  const reading = () => {
    const button = document.querySelector(".reading-switch");
    const show = (verify) => {
      html.classList.toggle("verify", verify);
      button?.setAttribute("aria-checked", verify);
    };
    show(kept === "verify");
    button?.addEventListener("click", () => {
      const verify = !html.classList.contains("verify");
      // what stands at the top of the window stays there
      const seen = all("article :is(h1, h2, h3, p, figure, .cell)").find((one) => one.getBoundingClientRect().bottom > 80 && one.checkVisibility());
      const before = seen?.getBoundingClientRect().top;
      show(verify);
      all(CHECKS).forEach((fold) => (fold.open = verify));
      if (seen?.checkVisibility()) scrollBy({ top: seen.getBoundingClientRect().top - before, behavior: "instant" });
      try { localStorage.setItem("reading", verify ? "verify" : "read"); } catch { /* then it is not kept */ }
    });
  };

  // MathJax in an element that came later; pages without formulas load it only then
  let setting = Promise.resolve(); // one after the other, as MathJax wants it
  const typeset = (...elements) => (setting = setting.then(() => formulas(elements.filter((one) => one.matches(".math") || one.querySelector(".math")))));
  const formulas = async (elements) => {
    if (!elements.length) return;
    if (!window.MathJax?.startup?.promise) {
      const parts = ["core", "input/tex", "output/chtml", "a11y/assistive-mml"];
      window.MathJax = { loader: { load: parts }, ...window.MathJax, startup: { typeset: false } };
      await load("mathjax/startup.js");
    }
    await MathJax.startup.promise;
    await MathJax.typesetPromise(elements);
  };

  // Formulas are set where the reader looks, then near there, then, but for the thousands of a page of rows, everywhere, a few
  // at a time: a phone is never busy for long.
  const ROWS = ".ledger-row, .own, .erratum", LINES = "p, li, dt, dd, table, h1, h2, h3, h4, figcaption, summary, div.math";
  const FEW = 4; // formulas between two looks at what the reader does
  const idle = () => new Promise((done) => (window.requestIdleCallback ?? setTimeout)(done));
  const setInSight = () => {
    const script = document.querySelector("script[src*='mathjax']"), rows = !script && document.querySelector(ROWS);
    const blocks = rows ? all(`:is(${ROWS}):has(.math)`) : new Set(script ? all(".math").map((math) => math.closest(LINES) ?? math) : []);
    const set = (some) => {
      some.forEach((block) => near.unobserve(block));
      return typeset(...some).catch(() => {}).then(() => some.forEach((block) => block.classList.remove("unset")));
    };
    const near = new IntersectionObserver(
      async (seen) => {
        const close = seen.filter((one) => one.isIntersecting);
        const inView = ({ target }) => {
          const { top, bottom } = (target.closest("table") ?? target).getBoundingClientRect();
          return rows || (bottom > 0 && top < innerHeight); // a row moves those below it
        };
        // all cells of a table at once, since each may widen its column
        const whole = ({ target }) => [target, ...(target.closest("table")?.querySelectorAll(".unset") ?? [])];
        const [first, then] = [close.filter(inView), close.filter((one) => !inView(one))];
        await set([...new Set(first.flatMap(whole))]);
        settled();
        await set(then.map((one) => one.target).filter((block) => block.classList.contains("unset")));
        cut();
      },
      { rootMargin: "900px" },
    );
    for (const block of blocks) {
      block.classList.add("unset");
      near.observe(block);
    }
    if (![...blocks].length) settled();
    const others = async () => {
      for (let left; (left = all(".unset")).length; ) {
        await idle();
        let formulas = 0;
        await set(left.filter((block) => formulas < FEW && (formulas += Math.max(1, block.querySelectorAll(".math").length))));
      }
      cut();
    };
    if (!rows) addEventListener("load", () => setTimeout(others));
    addEventListener("beforeprint", () => set(all(".unset")));
  };

  // Folds -------------------------------------------------------------------------------------------------------------
  // What an address asks for and is not there is said in a sentence
  const missing = (sentence, asked) => {
    const said = Object.assign(document.createElement("p"), { className: "no-such-place" }), search = document.createElement("a");
    Object.assign(search, { href: `${root}search.html?${new URLSearchParams({ q: asked })}`, textContent: "Search for it" });
    said.setAttribute("role", "alert");
    said.append(`${sentence} `, search, ".");
    document.querySelector("article")?.prepend(said);
    scrollTo(0, 0);
  };
  const decoded = (words) => {
    try { return decodeURIComponent(words); } catch { return words; } // a stray percent sign
  };
  const reveal = () => {
    const asked = decoded(location.hash.slice(1)), target = asked && document.getElementById(asked);
    document.querySelector(".no-such-place.hash")?.remove();
    if (!target && asked) {
      missing(`This page has no place called “${asked}”.`, asked);
      document.querySelector(".no-such-place").classList.add("hash");
    }
    if (!target) return;
    if (target.matches(".moved")) return location.replace(target.href); // into the record, where it stands now
    let opened = false;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      opened ||= !fold.open;
      fold.open = true;
    }
    if (opened) target.scrollIntoView();
  };
  const unpack = (fold) => {
    for (const template of all(":scope > .ledger-more > template.box, :scope > template.box", fold)) {
      const box = document.createElement("div");
      box.append(template.content.cloneNode(true));
      template.replaceWith(box);
      typeset(box);
    }
  };
  document.addEventListener("toggle", (event) => event.target.open && (unpack(event.target), complete(event.target)), true);

  // To cite a statement: BibTeX and the address, each with a button that copies it
  const complete = (fold) => {
    if (fold.matches(".cite") && !fold.querySelector(".bibtex")) {
      const { claim, version, book, author, title } = fold.dataset, place = fold.querySelector("code").textContent;
      const bibtex = `@misc{${book}:${claim.replace("/", ":")},\n  author = {{${author}}},\n  title = {${title}: ${claim}},\n  version = {${version}},\n  url = {${place}}\n}`;
      const pre = Object.assign(document.createElement("pre"), { className: "bibtex", textContent: bibtex });
      const buttons = [["Copy BibTeX", bibtex], ["Copy address", place]].map(([name, text]) => {
        const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: name });
        button.addEventListener("click", async () => {
          await navigator.clipboard.writeText(text).then(() => (button.textContent = "Copied"), () => getSelection().selectAllChildren(pre));
          setTimeout(() => (button.textContent = name), 2000);
        });
        return button;
      });
      fold.append(pre, ...buttons);
    }
    // what uses a statement through others, from the rows' own lists
    const users = fold.matches(".ledger-row") && fold.querySelector(".users");
    if (!users || fold.dataset.complete) return;
    fold.dataset.complete = "";
    const direct = (row) => all(".users a", row).map((link) => link.hash.slice(1)).filter((id) => document.getElementById(id));
    const first = new Set(direct(fold)), found = new Set(first);
    for (const id of found) for (const next of direct(document.getElementById(id))) if (next !== fold.id) found.add(next);
    const through = [...found].filter((id) => !first.has(id));
    if (!through.length) return;
    const more = document.createElement("details"), line = document.createElement("summary");
    line.textContent = `through these by ${through.length} more`;
    more.className = "through";
    more.append(line);
    through.forEach((id, i) => more.append(i ? ", " : "", Object.assign(document.createElement("a"), { href: "#" + id, textContent: document.querySelector(`#${CSS.escape(id)} > summary > strong`).textContent })));
    users.after(" ", more);
  };

  // The ledger's filters stand in the address ---------------------------------------------------------------------------
  const filter = () => {
    const form = document.querySelector(".ledger-filters");
    if (!form) return;
    const rows = all(".ledger-row"), papers = all(".ledger-paper"), partsOf = (row) => all(":scope > summary, .ledger-note", row);
    // \sqrt{d}, √d and sqrt(d) are the same to who looks for them
    const flat = (text) => text.toLowerCase().replace(/(√|\\?sqrt)\s*/g, "sqrt").replace(/[\\(){}]/g, "");
    const words = rows.map((row) => row.id + " " + flat(partsOf(row).map((part) => part.textContent).join(" ")));
    const fields = ["paper", "outcome", "method", "kind", "own"];
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of asked) {
      const field = form.elements[name];
      if (field?.type === "checkbox") field.checked = value === "1";
      else if (field) field.value = value;
      if (field && field.type !== "checkbox" && field.value !== value) {
        field.value = "";
        missing(`No row of the ledger has the ${name} “${value}”; rows with any are shown.`, value);
      }
    }
    const apply = () => {
      const chosen = Object.fromEntries([...new FormData(form)].filter(([, value]) => value.trim()));
      const text = flat(chosen.q || "").split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !(fields.every((f) => !chosen[f] || row.dataset[f] === chosen[f]) && text.every((t) => words[i].includes(t)));
        shown += !row.hidden;
      });
      const active = Object.keys(chosen).length > 0;
      for (const paper of papers) {
        const some = paper.querySelector(".ledger-row:not([hidden])");
        paper.open = active && Boolean(some);
      }
      form.querySelector("output").textContent = active ? `${shown} of ${rows.length} statements` : `${rows.length} statements`;
      const query = new URLSearchParams(chosen).toString();
      history.replaceState(null, "", location.pathname + (query ? "?" + query : "") + location.hash);
    };
    form.addEventListener("input", apply);
    form.addEventListener("reset", () => setTimeout(apply));
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  };

  // The graph: lines behind the names, those of one statement in front -----------------------------------------------
  const graph = (box) => {
    const svg = box.querySelector("svg"), nodes = all(".node", box);
    const byId = Object.fromEntries(nodes.map((node) => [node.id, node]));
    const uses = Object.fromEntries(nodes.map((n) => [n.id, n.dataset.uses.split(" ").filter((use) => byId[use])]));
    const users = Object.fromEntries(nodes.map((n) => [n.id, nodes.filter((m) => uses[m.id].includes(n.id)).map((m) => m.id)]));
    const reach = (start, next) => {
      const found = new Set([start]);
      for (const id of found) next[id].forEach((other) => found.add(other));
      return found;
    };
    const lines = [];
    const draw = () => {
      const frame = box.getBoundingClientRect();
      svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
      svg.replaceChildren();
      lines.length = 0;
      for (const node of nodes)
        for (const use of uses[node.id]) {
          const [from, to] = [byId[use], node].map((n) => n.getBoundingClientRect());
          if (!from.width || !to.width) continue;
          const [x, y, u, v] = [from.x + from.width / 2, from.bottom, to.x + to.width / 2, to.y].map((value, i) => value - (i % 2 ? frame.y : frame.x));
          const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
          path.setAttribute("d", `M${x},${y}C${x},${(y + v) / 2} ${u},${(y + v) / 2} ${u},${v}`);
          svg.append(path);
          lines.push([path, use, node.id]);
        }
      show(shown);
    };
    let shown = "";
    const show = (id) => {
      shown = id;
      const near = id && new Set([...reach(id, uses), ...reach(id, users)]);
      for (const node of nodes) node.classList.toggle("far", Boolean(near) && !near.has(node.id));
      for (const [path, use, user] of lines) path.classList.toggle("near", Boolean(near) && near.has(use) && near.has(user));
    };
    const only = (id) => {
      const near = id && byId[id] && new Set([...reach(id, uses), ...reach(id, users)]);
      for (const node of nodes) node.parentElement.hidden = Boolean(near) && !near.has(node.id);
      for (const band of all("ol > li", box)) band.hidden = !band.querySelector("li:not([hidden])");
      box.querySelector("button")?.remove();
      if (near) {
        const button = document.createElement("button");
        button.textContent = `${byId[id].textContent}: ${near.size} of ${nodes.length} statements. Show all`;
        button.addEventListener("click", () => {
          history.replaceState(null, "", location.pathname);
          only("");
          show("");
        });
        box.prepend(button);
      }
      draw();
      if (near) show(id);
    };
    for (const node of nodes) {
      node.addEventListener("pointerenter", () => show(node.id));
      node.addEventListener("focus", () => show(node.id));
      node.addEventListener("pointerleave", () => show(""));
      node.addEventListener("blur", () => show(""));
    }
    const asked = new URLSearchParams(location.search).get("statement");
    only(asked ? "graph-" + asked : "");
    if (asked && byId["graph-" + asked]) box.scrollIntoView();
    new ResizeObserver(draw).observe(box);
    return !asked || Boolean(byId["graph-" + asked]);
  };

  // Previews: a link to a statement, an equation, a citation, a row or a function shows it ------------------------------
  const previews = () => {
    const page = location.pathname.slice(new URL(root, location.href).pathname.length) || "index.html";
    const file = "previews/" + decodeURIComponent(page).replace(/\.html$/, "").replaceAll("/", "-") + ".js";
    const tip = Object.assign(document.createElement("div"), { className: "preview", id: "preview", hidden: true });
    tip.setAttribute("role", "tooltip");
    (document.querySelector("main") || document.body).append(tip);
    let current = null, timer = 0;
    const hide = () => {
      clearTimeout(timer);
      current?.removeAttribute("aria-describedby");
      current = null;
      tip.hidden = true;
    };
    const show = async (link) => {
      await load(file).catch(() => {});
      const piece = window.bookPreviews?.[link.getAttribute("href").replace(/\?[^#]*/, "")];
      if (!piece || current !== link) return;
      tip.innerHTML = piece;
      tip.hidden = false;
      link.setAttribute("aria-describedby", "preview");
      await typeset(tip);
      const place = link.getBoundingClientRect(), own = tip.getBoundingClientRect();
      const below = place.bottom + own.height + 8 < innerHeight || place.top < own.height;
      tip.style.left = Math.max(8, Math.min(place.left, innerWidth - own.width - 16)) + "px";
      tip.style.top = (below ? place.bottom + 4 : place.top - own.height - 4) + "px";
    };
    const enter = (event) => {
      const link = event.target.closest?.("article a[href*='#']:not(.headerlink)");
      if (event.target.closest?.(".preview")) return clearTimeout(timer);
      if (!link || link === current) return;
      hide();
      current = link;
      timer = setTimeout(() => show(link), event.type === "focusin" ? 0 : 200);
    };
    const leave = (event) => {
      if (current && !event.relatedTarget?.closest?.(".preview")) {
        clearTimeout(timer);
        timer = setTimeout(hide, 200);
      }
    };
    document.addEventListener("pointerover", (event) => event.pointerType !== "touch" && enter(event));
    document.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && enter(event));
    document.addEventListener("pointerout", (event) => {
      if (current && (event.target.closest("a") === current || event.target.closest(".preview"))) leave(event);
    });
    document.addEventListener("focusout", leave);
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
    addEventListener("scroll", () => tip.hidden || tip.matches(":hover") || hide(), { passive: true });
  };

  // Words that a search looked for are marked where it leads, whole words only, and not inside formulas ------------------
  const mark = () => {
    const address = new URL(location.href), words = address.searchParams.get("marked")?.toLowerCase().split(" ").filter(Boolean);
    if (!words?.length) return;
    address.searchParams.delete("marked");
    history.replaceState(null, "", address);
    const walk = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT), found = [];
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(".math, pre, script, template, svg, button, .letters")) found.push(walk.currentNode);
    for (const text of found) {
      const pieces = text.data.split(/([\p{L}\p{N}_]+)/u);
      if (!pieces.some((piece) => words.includes(piece.toLowerCase()))) continue;
      text.replaceWith(...pieces.map((piece) => (words.includes(piece.toLowerCase()) ? Object.assign(document.createElement("mark"), { textContent: piece }) : piece)));
    }
  };

  // Pictures open large: fitted to the window, on a phone at their own size, which scrolls ------------------------------
  const enlarge = () => {
    const pictures = all("article img:not(a img)");
    if (!pictures.length) return;
    const dialog = document.createElement("dialog"), close = document.createElement("button");
    dialog.className = "enlarged";
    close.setAttribute("aria-label", "Close");
    close.innerHTML = '<i class="fa-xmark"></i>';
    for (const picture of pictures) {
      const button = Object.assign(document.createElement("button"), { type: "button", className: "enlarge" });
      button.setAttribute("aria-label", `Enlarge: ${picture.alt || "picture"}`);
      button.setAttribute("aria-haspopup", "dialog");
      picture.replaceWith(button);
      button.append(picture);
      button.addEventListener("click", async () => {
        picture.loading = "eager"; // a picture that is not there yet has no size
        await picture.decode().catch(() => {});
        const large = picture.cloneNode(), { naturalWidth: width, naturalHeight: height } = picture;
        large.style.width = `max(min(94vw, 90vh * ${width / height}), ${width}px)`;
        dialog.setAttribute("aria-label", picture.alt || "Picture");
        dialog.replaceChildren(close, large);
        dialog.showModal();
      });
    }
    dialog.addEventListener("click", (event) => event.target.matches("img") || dialog.close());
    document.querySelector("article").append(dialog);
  };

  // What is cut off says that it scrolls, and can be scrolled with keys ------------------------------------------------
  const SCROLL = "pre, span.math, mjx-container[display='true'], .scrolls, .cell_output table, article table, .movable details > div, .pst-scrollable-table-container";
  const cut = () => {
    // first all sizes are read, then all marks are made: one layout of the page, not one a box, and none of closed folds
    const boxes = all(SCROLL).filter((box) => box.checkVisibility()).map((box) => {
      // of an inline formula the part for screen readers sticks out; the picture counts
      const wide = box.matches("span.math") ? (box.querySelector("mjx-math")?.offsetWidth ?? 0) : box.scrollWidth;
      return [box, wide > box.clientWidth + 2 && getComputedStyle(box).overflowX !== "visible"];
    });
    for (const [box, over] of boxes) {
      box.classList.toggle("cut", over);
      if (over && !box.hasAttribute("tabindex")) box.tabIndex = 0;
    }
  };
  let waiting = 0; // once a frame, however many folds open in it
  const cutSoon = () => (waiting ||= requestAnimationFrame(() => ((waiting = 0), cut())));

  document.addEventListener("DOMContentLoaded", () => {
    filter();
    setInSight();
    const graphs = all(".graph"), asked = new URLSearchParams(location.search).get("statement");
    if (graphs.length && !graphs.map(graph).includes(true)) missing(`No graph has a statement called “${asked}”; all of them are shown.`, asked);
    previews();
    enlarge();
    reading();
    mark();
    reveal();
    addEventListener("hashchange", reveal);
    addEventListener("load", cutSoon);
    new ResizeObserver(cutSoon).observe(document.querySelector("article")); // and now
    document.addEventListener("toggle", cutSoon, true);
    addEventListener("beforeprint", () => all("main details").forEach((fold) => fold.matches(".ledger-row, .cite, .movable details, .checks:not(.whole)") || (fold.open = true)));
  });
})();
