const $ = (id) => document.getElementById(id);
const fields = ["manifests", "changed", "mesh", "target", "from", "method", "path", "headers"];

// show writes what the program answers: text, and the picture into a frame that can reach nothing.
function show(answer) {
  $("answer").textContent = answer.Text;
  $("findings").replaceChildren(...(answer.Findings ?? []).map((finding) => {
    const item = document.createElement("li");
    const [effect, line, object] = ["b", "button", "strong"].map((tag) => document.createElement(tag));
    item.dataset.effect = effect.textContent = finding.Word;
    line.textContent = `line ${finding.line}`;
    line.addEventListener("click", () => goTo($(finding.file), finding.line));
    object.textContent = finding.Object;
    item.append(effect, " ", line, " ", object, " ", finding.Text);
    return item;
  }));
  $("picture").hidden = answer.Graph === "";
  if ($("picture").srcdoc !== answer.Graph) {
    $("picture").srcdoc = answer.Graph;
  }
}

// goTo selects a line of a text.
function goTo(area, line) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.focus();
  area.setSelectionRange(start, start + lines[line - 1].length);
}

// ask answers the question that is on the page, and puts it into the link.
function ask() {
  const change = $("change").checked;
  $("fields").hidden = change;
  $("changed").hidden = !change;
  if (change && $("changed").value === "") {
    $("changed").value = $("manifests").value;
  }
  const example = Object.fromEntries(fields.map((field) => [field, $(field).value]));
  example.changed = change ? example.changed : "";
  show(JSON.parse(gammaguard(JSON.stringify(example))));
  $("link").href = "#" + encodeURIComponent(JSON.stringify(example));
}

// open puts the example of the link, or the first one, onto the page. A link may come from anybody.
function open() {
  let example = { manifests: $("example").content.textContent, target: "service/cart.shop:80" };
  try {
    example = location.hash.length > 1 ? JSON.parse(decodeURIComponent(location.hash.slice(1))) : example;
    fields.forEach((field) => { $(field).value = String(example?.[field] ?? ""); });
  } catch {
    $("answer").textContent = "error: this link has no example that can be read";
    return;
  }
  $("change").checked = $("changed").value !== "";
  $("request").checked = !$("change").checked;
  ask();
}

let soon = 0;
document.addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(ask, 150);
});
addEventListener("hashchange", open);
const go = new Go();
const packed = Uint8Array.from(atob($("program").content.textContent), (letter) => letter.charCodeAt(0));
new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer().then((program) => WebAssembly.instantiate(program, go.importObject)).then(({ instance }) => {
  go.run(instance);
  open();
  document.body.dataset.answered = Math.round(performance.now());
}).catch((error) => { $("answer").textContent = "error: this browser cannot run the playground: " + error; });
