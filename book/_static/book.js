// Each verdict card links to its row of the ledger, each card's claim being that row's anchor.
document.addEventListener("DOMContentLoaded", () => {
  const root = document.documentElement.dataset.content_root || "./";
  for (const card of document.querySelectorAll(".verdict[id^='verdict-']")) {
    const code = card.querySelector("code");
    const link = document.createElement("a");
    link.href = root + "book/ledger/ledger.html#" + card.id.slice("verdict-".length);
    code.replaceWith(link);
    link.append(code);
  }
});
