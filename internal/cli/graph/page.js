const search = document.getElementById("search");
const back = document.getElementById("all");
const rows = [...document.querySelectorAll("tbody tr")];
const drawn = [...document.querySelectorAll(".picture .node, .picture .edge")];
const pictures = [...document.querySelectorAll(".picture")];
const cards = [...document.querySelectorAll(".card")];
const ids = (row) => row.dataset.drawn.split(" ");

// show hides all other rows, and fades what they do not draw. On a page of many routes it draws the Service if
// there is one, and else offers those that there are.
function show(shown) {
  const kept = new Set(shown.flatMap(ids));
  const services = new Set(shown.map((row) => row.dataset.picture));
  const one = services.size === 1;
  rows.forEach((row) => { row.hidden = !shown.includes(row); });
  drawn.forEach((element) => element.classList.toggle("off", !kept.has(element.id)));
  pictures.forEach((picture) => {
    picture.hidden = !services.has(picture.id) || cards.length > 0 && !one;
    choose(picture, 0);
  });
  cards.forEach((card) => { card.hidden = one || !services.has(card.value); });
  if (back) {
    back.hidden = !one;
  }
  document.getElementById("count").textContent = `${shown.length} of ${rows.length} rows`;
}

// choose selects a class of requests of the picture; 0 stands for all.
function choose(picture, index) {
  const select = picture.querySelector("select");
  if (select) {
    select.selectedIndex = index;
    picture.querySelector("output").textContent = select.options[index].dataset.outcome ? "→ " + select.options[index].dataset.outcome : "";
  }
}

// find shows the rows that have all words of the search.
function find(text) {
  search.value = text;
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  show(rows.filter((row) => words.every((word) => row.textContent.toLowerCase().includes(word))));
}

search.addEventListener("input", () => find(search.value));
document.querySelectorAll("#legend button").forEach((button) => button.addEventListener("click", () => find(search.value === button.value ? "" : button.value)));
document.querySelectorAll(".node").forEach((node) => node.addEventListener("click", () => show(rows.filter((row) => ids(row).includes(node.id)))));
cards.forEach((card) => card.addEventListener("click", () => {
  show(rows.filter((row) => row.dataset.picture === card.value));
  scrollTo(0, 0);
}));
back?.addEventListener("click", () => find(""));
pictures.forEach((picture) => picture.querySelector("select")?.addEventListener("change", (event) => {
  const index = event.target.selectedIndex;
  const kept = new Set(event.target.value.split(" "));
  picture.querySelectorAll(".node, .edge").forEach((element) => element.classList.toggle("off", index > 0 && !kept.has(element.id)));
  choose(picture, index);
}));
let wanted = location.hash.slice(1);
try {
  wanted = decodeURIComponent(wanted);
} catch {
  // It is searched for as it is.
}
find(wanted);
if (self === top) {
  search.focus();
}
