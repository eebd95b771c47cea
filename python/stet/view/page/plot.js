// A plot of one item of a field over time: the world that is looked at as a line, all worlds as a band with their mean.

const KEPT = 400; // points

export class Plot {
  constructor(name, item, remove) {
    this.name = name;
    this.item = item;
    this.points = []; // [time, value, least, mean, greatest]
    this.element = document.createElement("div");
    this.title = this.element.appendChild(document.createElement("p"));
    this.canvas = this.element.appendChild(document.createElement("canvas"));
    this.canvas.title = "click: remove";
    this.canvas.onclick = () => remove(this);
  }

  clear() {
    this.points = [];
  }

  add(time, row) {
    this.title.textContent = `${this.name}[${this.item}] ` + (row ? (row[0] ?? NaN).toPrecision(4) : "is not there");
    if (!row || row.includes(null)) return;
    const last = this.points.at(-1);
    if (last && time < last[0]) this.clear(); // a reset, or a step back
    if (last && time === last[0]) this.points.pop();
    this.points.push([time, ...row]);
    if (this.points.length > KEPT) this.points.shift();
    this.draw();
  }

  draw() {
    const canvas = this.canvas, points = this.points;
    const width = (canvas.width = canvas.clientWidth * devicePixelRatio);
    const height = (canvas.height = canvas.clientHeight * devicePixelRatio);
    const pen = canvas.getContext("2d");
    const least = Math.min(...points.map((p) => p[2])), most = Math.max(...points.map((p) => p[4]));
    const begin = points[0][0], span = points.at(-1)[0] - begin || 1, range = most - least || 1;
    const x = (p) => ((p[0] - begin) / span) * width;
    const y = (value) => height - 3 - ((value - least) / range) * (height - 6);
    const line = (k, colour) => {
      pen.beginPath();
      for (const p of points) pen.lineTo(x(p), y(p[k]));
      pen.strokeStyle = colour;
      pen.stroke();
    };
    pen.beginPath();
    for (const p of points) pen.lineTo(x(p), y(p[4]));
    for (const p of points.toReversed()) pen.lineTo(x(p), y(p[2]));
    pen.fillStyle = "#2c4258";
    pen.fill();
    line(3, "#6f93b5");
    line(1, "#ffc857");
    pen.fillStyle = "#99a";
    pen.font = `${10 * devicePixelRatio}px system-ui`;
    pen.fillText(most.toPrecision(3), 3, 11 * devicePixelRatio);
    pen.fillText(least.toPrecision(3), 3, height - 4);
  }
}
