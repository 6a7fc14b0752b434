"use strict";

// Names come from the model and are shown as text only: nothing here writes markup.

const find = (id) => document.getElementById(id);

function quoted(name) {
  const element = document.createElement("bdi");
  element.textContent = name;
  return element;
}

function switchTheme() {
  const root = document.documentElement;
  const button = find("theme");
  const show = (dark) => button.setAttribute("aria-pressed", String(dark));
  const system = matchMedia("(prefers-color-scheme: dark)");
  show(system.matches);
  system.addEventListener("change", () => root.dataset.theme || show(system.matches));
  button.addEventListener("click", () => {
    const dark = button.getAttribute("aria-pressed") !== "true";
    root.dataset.theme = dark ? "dark" : "light";
    show(dark);
  });
}

function searchBars() {
  const table = find("bars");
  if (!table) return;
  const first = Number(document.querySelector("[data-first]").dataset.first);
  const rows = Array.from(table.tBodies[0].rows, (row) => ({
    row,
    name: row.cells[0].textContent.toLowerCase(),
    kind: row.dataset.class,
  }));
  const [words, select, all] = ["find", "class", "all"].map(find);

  function update() {
    const wanted = words.value.trim().toLowerCase();
    const only = select ? select.value : "";
    const most = all && all.getAttribute("aria-expanded") === "false" ? first : Infinity;
    let matching = 0;
    for (const { row, name, kind } of rows) {
      const fits = name.includes(wanted) && (only === "" || kind === only);
      matching += fits;
      row.classList.toggle("folded", !fits || matching > most);
    }
    find("shown").textContent = `${Math.min(matching, most)} of ${matching} shown`;
  }

  words.addEventListener("input", update);
  if (select) select.addEventListener("change", update);
  if (all) {
    all.addEventListener("click", () => {
      const expand = all.getAttribute("aria-expanded") === "false";
      all.setAttribute("aria-expanded", String(expand));
      all.textContent = expand ? all.dataset.less : all.dataset.more;
      update();
    });
  }
  update();
}

function lookAtRounds() {
  const looker = find("looker");
  if (!looker) return;
  const { names, rounds } = JSON.parse(looker.dataset.rounds);
  const slider = find("round");
  const charts = Array.from(document.querySelectorAll("svg[data-span]"), (chart) => ({
    chart,
    cursor: chart.querySelector(".cursor"),
    span: chart.dataset.span.split(" ").map(Number),
  }));

  function update() {
    const [round, sign, name, count, norm] = rounds[Number(slider.value)];
    const [feature, label] = names[name];
    // Where steps were searched for, all that is known is what was chosen.
    const after = norm === null ? "chosen so far" : `not zero, their sizes add up to ${norm}`;
    find("released").replaceChildren(
      `Round ${round} released ${sign > 0 ? "+" : "−"} `,
      quoted(feature),
      ...(label === null ? [] : [" for ", quoted(label)]),
      `. Coefficients: ${count} ${after}.`,
    );
    slider.setAttribute("aria-valuetext", `round ${round}`);
    for (const { cursor, span: [left, right, low, high] } of charts) {
      const x = left + (Math.max(0, round - low) / (high - low)) * (right - left);
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
    }
  }

  for (const { chart, span: [left, right, low, high] } of charts) {
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      const round = low + ((x - left) / (right - left)) * (high - low);
      // The listed rounds are evenly spread, from the first to the last.
      const place = ((round - 1) / Math.max(1, high - 1)) * (rounds.length - 1);
      slider.value = String(Math.round(place));
      update();
    });
  }
  slider.addEventListener("input", update);
  update();
}

// Paper cannot be unfolded.
function unfoldToPrint() {
  const folded = Array.from(document.querySelectorAll("details"));
  let before = [];
  addEventListener("beforeprint", () => {
    before = folded.map((element) => element.open);
    for (const element of folded) element.open = true;
  });
  addEventListener("afterprint", () => {
    folded.forEach((element, k) => { element.open = before[k]; });
  });
}

document.documentElement.classList.add("js");
switchTheme();
searchBars();
lookAtRounds();
unfoldToPrint();
