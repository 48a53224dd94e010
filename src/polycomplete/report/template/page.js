
(() => {
  "use strict";
  const FIRST = 50;
  const byId = (id) => document.getElementById(id);
  const table = byId("columns-table");

  const setUpTable = () => {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const state = { words: "", holes: false, all: rows.length <= FIRST + 10 };

    const show = () => {
      const matching = [...body.rows].filter((row) =>
        row.dataset.name.toLowerCase().includes(state.words) &&
        (!state.holes || Number(row.dataset.missing) > 0));
      const shown = new Set(state.all ? matching : matching.slice(0, FIRST));
      for (const row of rows) row.hidden = !shown.has(row);
      byId("count").textContent = `${shown.size} of ${rows.length} columns`;
      byId("more").hidden = shown.size === matching.length;
      byId("more").querySelector("button").textContent = `Show all ${matching.length} columns`;
    };

    const sortBy = (head) => {
      const key = head.dataset.key;
      const text = key === "name";
      const before = head.getAttribute("aria-sort");
      const up = before ? before === "descending" : text;
      for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const value = (row) => (text ? row.dataset.name : Number(row.dataset[key]));
      const compare = text
        ? (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true })
        : (a, b) => value(a) - value(b);
      const order = [...rows].sort((a, b) => (up ? compare(a, b) : compare(b, a)));
      body.append(...order);
      show();
    };

    for (const head of table.tHead.querySelectorAll("th[data-key]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sortBy(head));
      head.append(button);
    }
    byId("filter").addEventListener("input", (event) => {
      state.words = event.target.value.trim().toLowerCase();
      show();
    });
    byId("holes").addEventListener("change", (event) => {
      state.holes = event.target.checked;
      show();
    });
    byId("more").querySelector("button").addEventListener("click", () => {
      state.all = true;
      show();
    });
    byId("controls").hidden = false;
    show();
  };

  const setUpCopying = (box) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const text = box.querySelector("pre");
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
    });
    box.append(button);
  };

  if (table) setUpTable();
  document.querySelectorAll(".code").forEach(setUpCopying);
  addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
  });
})();
