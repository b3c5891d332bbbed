const search = document.getElementById("search");
const rows = [...document.querySelectorAll("tbody tr")];
const drawn = [...document.querySelectorAll(".node, .edge")];
const ids = (row) => row.dataset.drawn.split(" ");

// show hides all other rows, and fades what they do not draw.
function show(shown) {
  const kept = new Set(shown.flatMap(ids));
  rows.forEach((row) => { row.hidden = !shown.includes(row); });
  drawn.forEach((element) => element.classList.toggle("off", !kept.has(element.id)));
  document.getElementById("count").textContent = `${shown.length} of ${rows.length} rows`;
  if (shown.length < rows.length) {
    document.querySelector(".node:not(.off)")?.scrollIntoView({block: "nearest", inline: "nearest"});
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
let wanted = location.hash.slice(1);
try {
  wanted = decodeURIComponent(wanted);
} catch {
  // It is searched for as it is.
}
find(wanted);
