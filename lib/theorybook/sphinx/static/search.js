// The search page. What is asked by its name (a statement, a permanent id, a function, a symbol) comes first; then MiniSearch
// ranks sections, statements, boxes and functions by their words.
(() => {
  const root = document.documentElement.dataset.content_root || "./";
  const [KIND, NAME, NAMES, ADDRESS, OUTCOME, TEXT] = [0, 1, 2, 3, 4, 5];
  const KINDS = { section: 1.2, symbol: 1.3, box: 1.2, statement: 0.8, function: 0.6, module: 0.5 };
  const IDLE = new Set("a an and are as at by does for from how in is it of on or that the this to what when where which who why with".split(" "));

  const documents = window.bookDocuments;
  const split = (text) => text.match(/[\p{L}\p{N}_]+(?:\.\d+)*/gu) ?? [];
  // also the parts of names: word_sensitivity is found under sensitivity
  const tokenize = (text) => split(text).flatMap((word) => (/[\p{L}\p{N}]_[\p{L}\p{N}]/u.test(word) ? [word, ...word.split("_")] : [word]));
  const stem = (word) => (word.length > 3 ? word.replace(/(?<=[^s])s$/, "") : word);
  const processTerm = (word) => (IDLE.has(word.toLowerCase()) ? null : stem(word.toLowerCase()));
  const key = (text) => split(text.toLowerCase()).filter((word) => !IDLE.has(word)).sort().join(" ");

  const engine = new MiniSearch({
    fields: ["names", "name", "text"],
    extractField: (document, field) => (field === "id" ? document.id : field === "names" ? document[NAMES].join(" ") : document[field === "name" ? NAME : TEXT]),
    tokenize,
    processTerm,
  });
  engine.addAll(documents.map((document, id) => Object.assign([...document], { id })));
  const named = new Map();
  documents.forEach((document, id) => {
    for (const name of new Set([document[NAME], ...document[NAMES]].map(key))) if (name) named.set(name, [...(named.get(name) ?? []), id]);
  });

  const options = {
    boost: { names: 2, name: 3 },
    prefix: (term) => term.length > 3,
    fuzzy: (term) => (term.length > 5 && !/[\d_]/.test(term) ? 0.15 : 0),
    weights: { prefix: 0.3, fuzzy: 0.15 },
    boostDocument: (id) => KINDS[documents[id][KIND]],
  };
  const find = (asked) => {
    const ids = named.get(key(asked)) ?? [];
    const own = tokenize(asked).map(processTerm), exact = ids.map((id) => ({ id, terms: own, queryTerms: own }));
    const seen = new Set(ids);
    for (const combineWith of ["AND", "OR"])
      for (const found of engine.search(asked, { ...options, combineWith })) if (!seen.has(found.id)) seen.add(found.id), exact.push(found);
    return exact;
  };

  // An excerpt: the text around the first word that was asked for, whole words marked
  const excerpt = (text, terms) => {
    const pieces = text.split(/([\p{L}\p{N}_]+(?:\.\d+)*)/u), hits = pieces.map((piece, i) => i % 2 === 1 && terms.has(processTerm(piece)));
    const first = Math.max(0, hits.indexOf(true) - 16), line = document.createElement("p");
    if (first) line.append("… ");
    for (let i = first, length = 0; i < pieces.length && length < 240; length += pieces[i++].length)
      line.append(hits[i] ? Object.assign(document.createElement("mark"), { textContent: pieces[i] }) : pieces[i]);
    if (line.textContent.length < text.length - first) line.append(" …");
    return line;
  };

  const list = document.getElementById("found"), count = document.querySelector(".found-count");
  const show = (asked) => {
    const found = asked.trim() ? find(asked) : [];
    count.textContent = !asked.trim() ? "" : found.length ? `${found.length} places${found.length > 30 ? ", the first 30" : ""}` : "Nothing has these words.";
    list.replaceChildren(
      ...found.slice(0, 30).map(({ id, terms, queryTerms }) => {
        const [kind, name, , address, outcome, text] = documents[id], item = document.createElement("li"), link = document.createElement("a");
        const target = new URL(root + address, location.href), words = new Set(terms.filter(Boolean));
        if (kind === "section") target.searchParams.set("marked", [...new Set(split(text.toLowerCase()).filter((word) => queryTerms.includes(processTerm(word))))].join(" "));
        Object.assign(link, { href: target, textContent: name });
        item.append(link, " ");
        const said = (className, textContent) => item.append(Object.assign(document.createElement("span"), { className, textContent }), " ");
        if (outcome) said(`outcome outcome-${outcome}`, outcome);
        said("kind", kind === "box" ? "in its chapter" : kind === "statement" ? "in the ledger" : kind);
        if (text) item.append(excerpt(text, words));
        return item;
      })
    );
  };

  const form = list.closest("article").querySelector("form"), field = form.querySelector("input[type=search]");
  const ask = () => {
    history.replaceState(null, "", "?" + new URLSearchParams({ q: field.value }));
    show(field.value);
  };
  form.addEventListener("submit", (event) => (event.preventDefault(), ask()));
  field.addEventListener("input", ask);
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  show(field.value);
  field.focus();
})();
