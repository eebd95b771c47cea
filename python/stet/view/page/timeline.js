// What the sim's device did in one frame: a bar each, those inside another below it.

const COLOURS = { phase: "#4a6f94", launch: "#ffc857", replay: "#e08e45", upload: "#6fb98f", stage: "#6fb98f",
  download: "#6fb98f", copy: "#6fb98f", compile: "#c66" };
const ROW = 18;

export class Timeline {
  constructor(canvas) {
    this.canvas = canvas;
    this.bars = []; // [x, y, width, sentence]
    canvas.onpointermove = (event) => {
      const bar = this.bars.findLast(([x, y, width]) => event.offsetX >= x && event.offsetX <= x + Math.max(width, 2) &&
        event.offsetY >= y && event.offsetY < y + ROW);
      canvas.title = bar ? bar[3] : "";
    };
  }

  show(events) { // [kind, name, begin, milliseconds], by their begin
    const ends = [], rows = events.map(([kind, name, begin, time]) => {
      while (ends.length && begin >= ends.at(-1)) ends.pop();
      ends.push(begin + time);
      return { kind, name, begin, time, depth: ends.length - 1 };
    });
    const first = rows[0]?.begin ?? 0, span = Math.max(...rows.map((row) => row.begin + row.time)) - first;
    const canvas = this.canvas, scale = devicePixelRatio, across = canvas.clientWidth;
    const down = ROW * (1 + Math.max(0, ...rows.map((row) => row.depth)));
    canvas.style.height = `${down}px`;
    canvas.width = across * scale;
    canvas.height = down * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "10px system-ui";
    this.bars = rows.map(({ kind, name, begin, time, depth }) => {
      const x = ((begin - first) / span) * across, width = (time / span) * across, y = depth * ROW;
      pen.fillStyle = COLOURS[kind] ?? "#888";
      pen.fillRect(x, y, Math.max(width - 0.5, 0.5), ROW - 2);
      if (width > 24) {
        pen.save();
        pen.beginPath();
        pen.rect(x, y, width - 2, ROW);
        pen.clip();
        pen.fillStyle = kind === "phase" ? "#fff" : "#16181c";
        pen.fillText(name, x + 3, y + 12);
        pen.restore();
      }
      return [x, y, width, `${kind} ${name}: ${time.toPrecision(3)} ms`];
    });
  }
}
