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

// ask answers the question that is on the page once the program runs, and puts it into the link.
async function ask() {
  const change = $("change").checked;
  $("fields").hidden = change;
  $("changed").hidden = !change;
  if (change && $("changed").value === "") {
    $("changed").value = $("manifests").value;
  }
  const example = Object.fromEntries(fields.map((field) => [field, $(field).value]));
  example.changed = change ? example.changed : "";
  await started;
  show(JSON.parse(gammaguard(JSON.stringify(example))));
  $("link").href = "#" + encodeURIComponent(JSON.stringify(example));
}

// open puts the example of the link, or the first one, onto the page. A link may come from anybody.
async function open() {
  const link = location.hash.slice(1);
  const example = link ? JSON.parse(decodeURIComponent(link)) : { manifests: $("example").content.textContent, target: "service/cart.shop:80" };
  fields.forEach((field) => { $(field).value = String(example?.[field] ?? ""); });
  $("change").checked = $("changed").value !== "";
  $("request").checked = !$("change").checked;
}

// start unpacks the program, and runs it until the page is closed.
async function start() {
  const go = new Go();
  const packed = Uint8Array.from(atob($("program").content.textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  const { instance } = await WebAssembly.instantiate(await unpacked.arrayBuffer(), go.importObject);
  go.run(instance);
}

// explain adds to a failure what fails, and say shows it.
const explain = (step, what) => step.catch((error) => { throw `${what}: ${error}`; });
const say = (step) => step.catch((error) => { $("answer").textContent = `error: ${error}`; });
const begin = () => say(explain(open(), "this link has no example that can be read").then(ask));
const started = explain(start(), "this browser cannot run gammaguard");
let soon = 0;
document.addEventListener("input", () => {
  clearTimeout(soon);
  soon = setTimeout(() => say(ask()), 150);
});
addEventListener("hashchange", begin);
begin().then(() => { document.body.dataset.answered = Math.round(performance.now()); });
