// The page: what it looks at is `look`, sent as a whole whenever it changes; pictures come when the last one was drawn.
import { Plot } from "./plot.js";
import { Timeline } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const canvas = $("picture");
const look = { camera: "", view: null, whole: false, output: "rgb", first: 0, count: 1, width: 640, height: 360, full: false, follow: -1,
  groups: [0, 1, 2], show: [], fisheye: 0, trail: -1, contacts: false, forces: false,
  timeline: false, plots: [] };
let facts = null, head = null, image = null, socket = null, plots = [], wait = 250, ended = false;
const timeline = new Timeline($("bars"));

function send(kind, entries = {}) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ do: kind, ...entries }));
}

let lookIsDue = false;
function sendLook() { // at most once a frame of the browser's
  if (lookIsDue) return;
  lookIsDue = true;
  requestAnimationFrame(() => {
    lookIsDue = false;
    if (facts) send("look", look);
  });
}

function say(sentence, seconds = 0) {
  $("message").textContent = sentence;
  if (seconds) setTimeout(() => $("message").textContent === sentence && say(""), 1000 * seconds);
}

// ---- the connection -------------------------------------------------------------------------------------------------

function connect() {
  const token = encodeURIComponent(location.hash.slice(1));
  socket = new WebSocket(`ws://${location.host}/socket?token=${token}`);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    say("");
    wait = 250;
    ended = false;
  };
  socket.onmessage = ({ data }) => (typeof data === "string" ? hear(JSON.parse(data)) : receive(data));
  socket.onclose = async ({ code, reason }) => {
    facts = null;
    ended = ended || code === 1001 && reason === "the run has ended"; // it said so itself
    const [why, final] = ended ? ["The run has ended", false] : reason ? [reason, false] : await findReason(token);
    say(final ? why : ended ? `${why}; a new one at this address is shown when it begins` : `${why} — trying again`);
    if (final) return;
    setTimeout(connect, wait);
    wait = Math.min(2 * wait, 5000);
  };
}

// Why there is no connection, and whether trying again is of no use: a browser tells a page neither.
async function findReason(token) {
  try {
    const answer = await fetch(`/token?token=${token}`);
    return answer.ok ? ["The connection is lost", false] : [await answer.text(), true];
  } catch {
    return ["No answer: the run was stopped, or the connection is lost", false];
  }
}

window.addEventListener("hashchange", () => location.reload()); // the address of another run

function hear(message) {
  if (message.facts) begin(message.facts);
  if (message.sentence) say(message.sentence, 4);
  if (message.picked) picked(message.picked);
}

async function receive(data) {
  const from = socket, size = new DataView(data).getUint32(0, true);
  const bitmap = await createImageBitmap(new Blob([new Uint8Array(data, 4 + size)], { type: "image/jpeg" }));
  if (from !== socket || !facts) return; // the connection was closed in between
  head = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, size)));
  image = bitmap;
  draw();
  show();
  send("shown");
}

// ---- the picture ----------------------------------------------------------------------------------------------------

function draw() {
  canvas.width = head.coarse * image.width; // so lines and numbers are as fine as ever
  canvas.height = head.coarse * image.height;
  const pen = canvas.getContext("2d");
  pen.imageSmoothingEnabled = look.output === "rgb" || look.output === "albedo"; // between two ids there is none
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  for (const [colour, places] of head.marks) drawMark(pen, colour, places.map(([x, y]) => [x * canvas.width, y * canvas.height]));
  if (head.count === 1) return;
  const faulty = new Set((head.faults?.first ?? []).map((row) => row[0]));
  const rows = Math.ceil(head.count / head.columns);
  const width = canvas.width / head.columns / head.sides, height = canvas.height / rows;
  pen.font = "12px system-ui";
  for (let k = 0; k < head.count * head.sides; ++k) {
    const world = head.first + (k % head.count), at = k % head.count, bad = faulty.has(world);
    const x = ((at % head.columns) + (k < head.count ? 0 : head.columns)) * width;
    const y = Math.floor(at / head.columns) * height;
    pen.strokeStyle = bad ? "#f44" : "#000a";
    pen.lineWidth = bad ? 4 : 1;
    pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
    pen.fillStyle = "#0008";
    pen.fillRect(x + 2, y + 2, pen.measureText(world).width + 6, 16);
    pen.fillStyle = "#fff";
    pen.fillText(world, x + 5, y + 14);
  }
}

function drawMark(pen, colour, points) { // a line; one point is a dot
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = 2;
  pen.beginPath();
  if (points.length === 1) pen.arc(...points[0], 4, 0, 7);
  for (const point of points) pen.lineTo(...point);
  points.length === 1 ? pen.fill() : pen.stroke();
}

function resize() {
  const stage = $("stage");
  look.width = Math.min(1280, Math.max(64, stage.clientWidth & ~1));
  look.height = Math.min(960, Math.max(64, stage.clientHeight & ~1));
  sendLook();
}
new ResizeObserver(resize).observe($("stage"));

// Where in the picture a mouse is, 0 to 1, or beside it; the picture is centred in its element.
function place(event) {
  const box = canvas.getBoundingClientRect(), scale = Math.min(box.width / canvas.width, box.height / canvas.height);
  const x = (event.clientX - box.left - box.width / 2) / (canvas.width * scale) + 0.5;
  const y = (event.clientY - box.top - box.height / 2) / (canvas.height * scale) + 0.5;
  return { x, y };
}

function placeInside(event) {
  const { x, y } = place(event);
  return x >= 0 && x <= 1 && y >= 0 && y <= 1 ? { x, y } : null;
}

function freeView() { // the numbers of the free camera, which is then looked through
  if (look.camera) {
    $("camera").value = look.camera = "";
    look.view = null;
  }
  return look.view ?? head?.view?.slice();
}

const radians = Math.PI / 180;
function keepAbove(v) { // the floor: what is looked at, and the free camera
  if (facts?.floor == null) return;
  v[5] = Math.max(v[5], facts.floor);
  const sine = (v[5] - facts.floor - 0.02 * v[2]) / v[2];
  v[1] = Math.min(v[1], sine < 1 ? Math.asin(Math.max(sine, -1)) / radians : 90);
}

function orbit(dx, dy) {
  const v = freeView();
  if (!v) return sendLook();
  v[0] = (v[0] - dx * 0.4) % 360;
  v[1] = Math.max(-90, Math.min(90, v[1] - dy * 0.4));
  keepAbove(v);
  look.view = v;
  sendLook();
}

function pan(dx, dy) {
  const v = freeView();
  if (!v) return sendLook();
  const metres = v[2] / canvas.clientHeight, a = v[0] * radians, e = v[1] * radians;
  const right = [Math.sin(a), -Math.cos(a), 0];
  const up = [-Math.sin(e) * Math.cos(a), -Math.sin(e) * Math.sin(a), Math.cos(e)];
  for (let k = 0; k < 3; ++k) v[3 + k] += metres * (up[k] * dy - right[k] * dx);
  keepAbove(v);
  look.view = v;
  follow(-1);
}

function zoom(factor) {
  const v = freeView();
  if (!v) return sendLook();
  v[2] = Math.max(1e-3, Math.min(1e5, v[2] * factor));
  keepAbove(v);
  look.view = v;
  sendLook();
}

function follow(body) {
  look.follow = body;
  $("follow").value = body;
  if (body >= 0) look.view = freeView() ?? null;
  sendLook();
}

let pulling = false;
canvas.onpointerdown = (event) => {
  canvas.setPointerCapture(event.pointerId);
  const at = placeInside(event);
  pulling = Boolean(at && event.button === 0 && (event.ctrlKey || event.metaKey));
  if (pulling) send("grab", at);
};
canvas.onlostpointercapture = () => {
  if (pulling) send("release");
  pulling = false;
};
let pullIsDue = null;
function pull(at) { // at most once a frame of the browser's
  if (!pullIsDue) requestAnimationFrame(() => {
    if (pulling) send("pull", pullIsDue);
    pullIsDue = null;
  });
  const within = (x) => Math.max(-9, Math.min(9, x));
  pullIsDue = { x: within(at.x), y: within(at.y) };
}
canvas.onpointermove = (event) => {
  if (!canvas.hasPointerCapture(event.pointerId) || !event.buttons) return;
  if (pulling) pull(place(event));
  else if (event.buttons & 1 && !event.shiftKey) orbit(event.movementX, event.movementY);
  else pan(event.movementX, event.movementY);
};
canvas.oncontextmenu = (event) => event.preventDefault();
canvas.onwheel = (event) => {
  event.preventDefault();
  zoom(Math.exp(event.deltaY * 0.001));
};
canvas.ondblclick = (event) => {
  const at = placeInside(event);
  if (at) send("pick", at);
};

function picked({ world, body }) {
  if (world < 0) return;
  if (look.count > 1) {
    setWorlds(world, 1);
  } else {
    follow(body > 0 ? body : -1);
    say(body > 0 ? `following ${facts.bodies[body] || "body " + body}` : "following nothing", 2);
  }
}

function setWorlds(first, count) {
  look.count = Math.max(1, Math.min(count || 1, facts.most));
  look.first = Math.max(0, Math.min(first || 0, facts.worlds - look.count));
  $("first").value = look.first;
  $("count").value = look.count;
  for (const plot of plots) plot.clear();
  sendLook();
}

// ---- what stands beside it ------------------------------------------------------------------------------------------

function fill(select, names, first = 0) {
  select.replaceChildren(...names.map((name, k) => new Option(name, k + first)));
}

let begun = false;
function begin(news) {
  facts = news;
  if (!begun) Object.assign(look, facts.look); // where a page begins; after that it is the reader's
  begun = true;
  if (!facts.cameras.includes(look.camera)) look.camera = "";
  if (look.follow >= facts.bodies.length) look.follow = -1;
  if (look.trail >= facts.bodies.length) look.trail = -1;
  fill($("camera"), ["free", ...facts.cameras]);
  [...$("camera").options].forEach((option, k) => (option.value = k ? facts.cameras[k - 1] : ""));
  fill($("output"), facts.outputs);
  $("show").replaceChildren("show", ...facts.decorations.map((name) => labelled(listBox("show", name, name), name)));
  [...$("output").options].forEach((option) => (option.value = option.text));
  for (const id of ["follow", "trail"])
    fill($(id), ["nothing", ...facts.bodies.map((name, k) => name || `body ${k}`)], -1);
  fill($("keyframe"), ["first", ...facts.keyframes.map((name, k) => name || `${k}`)], -1);
  if (facts.fields) {
    fill($("field"), facts.fields);
    [...$("field").options].forEach((option) => (option.value = option.text));
  }
  $("first").max = facts.worlds - 1;
  $("count").max = facts.most;
  for (const name of ["control", "device"])
    for (const part of document.querySelectorAll("." + name)) part.hidden = !facts[name];
  $("frame").hidden = $("again").hidden = !facts.frames;
  $("frame").max = Math.max(0, facts.frames - 1);
  for (const [id, value] of [["camera", look.camera], ["output", look.output], ["follow", look.follow], ["trail", look.trail]])
    $(id).value = value;
  setWorlds(look.first, look.count);
  makeSliders();
  makeEqualities();
}

function makeEqualities() {
  const names = facts.control ? facts.equalities : [];
  $("equalitytitle").hidden = !names.length;
  $("equalities").replaceChildren(...names.map((name, equality) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: facts.equalities_on[equality] });
    box.onchange = () => send("equality", { world: $("everywhere").checked ? -1 : look.first, equality, on: box.checked });
    return labelled(box, name);
  }));
}

function makeSliders() {
  $("sliders").replaceChildren(...(facts.control ? facts.actuators : []).map(([name, low, high, hold], actuator) => {
    const row = document.createElement("label");
    const said = row.appendChild(document.createElement("span"));
    const slider = row.appendChild(document.createElement("input"));
    const number = row.appendChild(document.createElement("output"));
    said.textContent = said.title = name;
    Object.assign(slider, { type: "range", min: low, max: high, step: (high - low) / 200 || 1, value: hold });
    const write = () => (number.value = +(+slider.value).toFixed(9) ? (+slider.value).toPrecision(3) : "0");
    write();
    slider.oninput = () => {
      write();
      send("control", { world: $("everywhere").checked ? -1 : look.first, actuator, value: +slider.value });
    };
    return row;
  }));
}

function show() {
  $("pause").textContent = head.paused ? "Go on" : "Pause";
  if (document.activeElement !== $("speed")) $("speed").value = head.speed;
  const at = facts.frames ? `frame ${head.steps} of ${facts.frames}` : `step ${head.steps}`;
  $("clock").textContent = `${head.time[0].toFixed(3)} s · ${at} · ${head.sent} pictures, ${head.skipped} steps skipped` +
    (head.rays > 1 ? ` · ${head.rays} rays a pixel` : "") +
    (head.coarse > 1 ? ` · ${image.width} × ${image.height} pixels while it moves` : "");
  if (facts.frames && document.activeElement !== $("frame")) $("frame").value = head.steps;
  (head.plots ?? []).forEach((row, k) => plots[k]?.add(head.time[0], row));
  showFaults(head.faults);
  if (head.apart) showApart(head.apart);
  showCounters(head.counters);
  showTimeline(head.timeline);
}

function showTimeline(events) {
  $("bars").hidden = !events?.length;
  $("frametime").textContent = !look.timeline ? "" : events?.length ?
    `${(events.at(-1)[2] + events.at(-1)[3] - events[0][2]).toPrecision(3)} ms` : "nothing was traced";
  if (events?.length) timeline.show(events);
}

function showApart({ most, field, world, item, first }) {
  $("apart").hidden = false;
  const link = Object.assign(document.createElement("a"), { textContent: `differ from frame ${first} on` });
  link.onclick = () => send("seek", { frame: first });
  $("apart").replaceChildren("right: the other recording, red where it differs. ",
    ...(first === null ? ["Their positions are equal."] : ["They ", link, "; here " + (most ?
      `by at most ${most.toPrecision(3)}: ${field}[${item}] of world ${world}` : "they are equal")]));
}

function showFaults(faults) {
  if (!faults?.count) {
    $("faults").textContent = "none";
    return;
  }
  const rows = faults.first.map(([world, names, at]) => {
    const link = document.createElement("a");
    link.textContent = `world ${world}: ${names.join(", ")}, ` + (facts.frames ? `frame ${at}` : `since step ${at}`);
    link.onclick = () => {
      setWorlds(world, 1);
      if (facts.frames) send("seek", { frame: at });
    };
    return link;
  });
  $("faults").replaceChildren(`${faults.count} of ${facts.worlds} worlds`, ...rows);
}

function showCounters(counters) { // of the last second
  if (!counters) return;
  const rows = [["mechanism", "hits", "misses", "launches", "MB spared"]];
  for (const [name, [hits, misses, launches, bytes]] of Object.entries(counters))
    rows.push([name, Math.round(hits), Math.round(misses), Math.round(launches), (bytes / 1e6).toFixed(1)]);
  $("counters").replaceChildren(...rows.map((cells, k) => {
    const line = document.createElement("tr");
    line.append(...cells.map((text) => Object.assign(document.createElement(k ? "td" : "th"), { textContent: text })));
    return line;
  }));
}

function setPlots(list) {
  plots = list;
  look.plots = plots.map((plot) => [plot.name, plot.item]);
  $("plots").replaceChildren(...plots.map((plot) => plot.element));
  sendLook();
}

$("add").onsubmit = (event) => {
  event.preventDefault();
  const plot = new Plot($("field").value, Math.max(0, Math.floor($("item").value)), (gone) =>
    setPlots(plots.filter((other) => other !== gone)));
  if (plots.length < 8) setPlots([...plots, plot]);
};

function labelled(box, text) {
  const label = document.createElement("label");
  label.append(box, ` ${text}`);
  return label;
}

function listBox(entry, one, title) { // a box that says whether `one` is in that list of the look
  const box = Object.assign(document.createElement("input"),
    { type: "checkbox", checked: look[entry].includes(one), title });
  box.onchange = () => {
    look[entry] = look[entry].filter((other) => other !== one).concat(box.checked ? [one] : []).sort();
    sendLook();
  };
  return box;
}
$("groups").append(...Array.from({ length: 6 }, (_, group) => labelled(listBox("groups", group, `geoms of group ${group}`), group)));
$("camera").onchange = () => { look.camera = $("camera").value; sendLook(); };
$("output").onchange = () => { look.output = $("output").value; sendLook(); };
$("follow").onchange = () => follow(+$("follow").value);
$("trail").onchange = () => { look.trail = +$("trail").value; sendLook(); };
$("fisheye").onchange = () => { look.fisheye = Math.max(0, Math.min(360, +$("fisheye").value)); sendLook(); };
for (const id of ["full", "contacts", "forces", "timeline"]) $(id).onchange = () => { look[id] = $(id).checked; sendLook(); };
$("first").onchange = $("count").onchange = () => setWorlds(Math.floor($("first").value), Math.floor($("count").value));
for (const [id, whole] of [["fit", true], ["moving", false]]) $(id).onclick = () => {
  $("camera").value = look.camera = "";
  Object.assign(look, { view: null, whole, follow: -1 }); // without follow(), which would keep the present view
  $("follow").value = -1;
  sendLook();
};
$("pause").onclick = () => send("pause", { on: !head?.paused });
$("step").onclick = () => send("step");
$("speed").onchange = () => { send("speed", { factor: +$("speed").value }); $("speed").blur(); };
$("loop").onchange = () => send("loop", { on: $("loop").checked });
$("frame").oninput = () => send("seek", { frame: +$("frame").value });
$("frame").onchange = () => $("frame").blur();
$("reset").onclick = () => send("reset", { world: look.first, keyframe: +$("keyframe").value });
$("resetall").onclick = () => send("reset", { world: -1, keyframe: +$("keyframe").value });
window.addEventListener("keydown", (event) => { // wherever the focus is, but where text or a choice is entered
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input:not([type=checkbox]), select, textarea")) return;
  if (event.key === " ") $("pause").click();
  else if (event.key === ".") $("step").click();
  else return;
  event.preventDefault();
});

export const lookOf = () => look; // for those who look from outside

connect();
