// Small pictures out of sheets.

export async function thumbnail(box, app, draw) {
  const { width, height, columns } = app.source.overview.thumbs;
  const number = app.rows.thumb[draw];
  box.style.width = `${width}px`;
  box.style.height = `${height}px`;
  if (number < 0) { box.classList.add("empty"); return; }
  const size = app.source.overview.chunks.thumbs;
  const url = await app.source.thumbnails(Math.floor(number / size));
  const [x, y] = [number % size % columns, Math.floor(number % size / columns)];
  box.style.backgroundImage = `url("${url}")`;
  box.style.backgroundPosition = `${-x * width}px ${-y * height}px`;
}
